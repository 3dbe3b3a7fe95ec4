"""Rollouts: trajectories in steps of one length, in machine code for this processor or for GPUs."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..codegen.llvm.block import Layout
from ..codegen.llvm.rollout import Rollout, Stages, rollout_text
from ..graph import Program, count
from ..kernels.cuda.driver import MULTIPROCESSORS, device
from ..kernels.cuda.target import CudaTarget
from ..kernels.host import host_target
from ..kernels.interface import REALS, SHARE
from ..kernels.kernel import resolved
from ..kernels.loader import load_or_compile
from .methods import entries, method

SLICE = 1_000_000_000  # operations between two looks at the keyboard: less than a second
LAUNCH = 4_000_000_000_000  # operations of a launch on a GPU: some 0.3 s where all of it works
THREAD = 100_000_000  # and of one thread, which waits for most of its own
NUMBER = 5_000  # operations beside which reading and writing a number takes less than a hundredth
WHOLE, POINTER = ctypes.c_int64, ctypes.c_void_p
TARGET = CudaTarget(threads=256)  # 2 to 3 % faster than blocks of 64
FLOATS: dict[str, Any] = {"float64": ctypes.c_double, "float32": ctypes.c_float}


class Settings(NamedTuple):
    """How far, how often it is sampled, and how long a step is."""

    steps: int
    every: int  # 0: no samples
    samples: int  # rows of each trajectory
    step: float
    hold: int = 1  # steps that a row of the table lasts


class Part(NamedTuple):
    """The steps that one call makes, as its machine code takes them."""

    first: int  # step
    stop: int  # the step after its last
    steps: int  # of the whole rollout
    every: int
    until: int  # the next sample
    samples: int
    sample: int  # which one is next; 0: also the start is one
    hold: int


def parts_of(settings: Settings, most: int) -> Iterator[Part]:
    """All steps, in parts of at most so many."""
    steps, every, samples, _, hold = settings
    for first in range(0, steps, most):
        until, sample = (every - first % every, first // every + bool(first)) if every else (0, 1)
        yield Part(first, min(first + most, steps), steps, every, until, samples, sample, hold)


class Rows(NamedTuple):
    """An array, by its address: so many numbers for each trajectory, 0 where all share them."""

    address: int
    stride: int


def in_parts(
    settings: Settings,
    most: int,
    sizes: Sequence[int],
    inputs: Sequence[Rows],
    outputs: Sequence[int],
    spare: Sequence[int],
) -> Iterator[tuple[Part, list[Rows], list[int]]]:
    """The arrays of each part: states go to and fro between q_end and qd_end, where the last part ends, and `spare`."""
    states, left = list(inputs[:2]), -(-settings.steps // most)
    for part in parts_of(settings, most):
        left -= 1
        to = list(spare if left % 2 else outputs[:2])
        yield part, [*states, *inputs[2:]], [*to, *outputs[2:]]
        states = [Rows(place, size) for place, size in zip(to, sizes, strict=False)]


def fixed_step_integrators() -> list[str]:
    return [name for name, entry in entries().items() if entry.get("fixed")]


def rollout_of(
    program: Program, integrator: str, configuration: int, quaternions: tuple[int, ...] = (), table: str = ""
) -> Rollout:
    """What is compiled, for a method each of whose stages needs the one before alone; see `codegen.llvm.rollout`."""
    known = method(integrator)
    before = tuple(row[s - 1] for s, row in enumerate(known.a) if s)
    assert not any(x for s, row in enumerate(known.a) for j, x in enumerate(row) if j != s - 1)
    return Rollout(program, Stages(before, known.b, known.c), configuration, quaternions, table)


def cost_of(rollout: Rollout) -> int:
    """Operations of a step."""
    return len(rollout.stages.b) * (count(rollout.program).total + 1)


class HostRollout:
    """On this processor: as many trajectories at a time as its vectors hold, on as many threads as pay."""

    def __init__(self, rollout: Rollout, dtype: str) -> None:
        target = host_target()
        self.lanes = target.lanes(dtype)
        text = rollout_text(rollout, Layout(REALS[dtype], self.lanes, target.fused))
        self.code = load_or_compile("rollout", text, target)
        inputs, outputs = len(rollout.inputs), len(rollout.outputs)
        kinds = [*[WHOLE] * (2 + len(Part._fields)), FLOATS[dtype], *[WHOLE] * inputs, *[POINTER] * (inputs + outputs)]
        self.function = ctypes.CFUNCTYPE(None, *kinds)(self.code.address("rollout"))
        self.cost = cost_of(rollout)
        self.sizes = rollout.inputs

    def most(self, trajectories: int) -> int:
        """How many steps are made at once."""
        return max(1, SLICE // (self.lanes * self.cost))

    def run(
        self,
        trajectories: int,
        settings: Settings,
        inputs: Sequence[Rows],
        outputs: Sequence[int],
        threads: int | None,
        spare: Sequence[int] = (),
    ) -> None:
        """Fill the outputs, given by their addresses; `spare` are such for q and qd, if there are several parts."""
        most = self.most(trajectories)
        group = self.lanes * settings.steps * self.cost  # operations of as many trajectories as there are lanes
        groups = -(-trajectories // self.lanes)
        workers = resolved(threads, groups, max(1, SHARE // group))
        size = self.lanes * max(1, min(SLICE // group, -(-groups // workers)))
        waiting, lock, ended = iter(range(0, trajectories, size)), threading.Lock(), threading.Event()

        def work() -> None:
            while not ended.is_set():
                with lock:
                    first = next(waiting, None)
                if first is None:
                    return
                for part, rows, places in in_parts(settings, most, self.sizes, inputs, outputs, spare):
                    if ended.is_set():
                        return
                    arrays = (*(x.stride for x in rows), *(x.address for x in rows), *places)
                    self.function(first, min(first + size, trajectories), *part, settings.step, *arrays)

        others = [threading.Thread(target=work) for _ in range(workers - 1)]
        for thread in others:
            thread.start()
        try:
            work()
        except BaseException:
            ended.set()
            raise
        finally:
            for thread in others:  # they write into the caller's arrays
                thread.join()


class CudaRollout:
    """On a GPU: a thread for each trajectory."""

    def __init__(self, rollout: Rollout, dtype: str, target: CudaTarget = TARGET) -> None:
        from ..codegen.llvm.cuda.kernel import Shape
        from ..codegen.llvm.cuda.rollout import cuda_rollout_text

        self.ir = cuda_rollout_text(rollout, REALS[dtype], Shape(target.threads, target.blocks or 0))
        self.code = load_or_compile("rollout", self.ir, target)
        self.real = FLOATS[dtype]
        self.cost, self.sizes = cost_of(rollout), rollout.inputs

    def most(self, trajectories: int) -> int:
        """How many steps a launch makes: a fraction of a second, in which reading and writing states takes little."""
        least = NUMBER * sum(self.sizes[:2])
        return max(1, max(least, min(LAUNCH // trajectories, THREAD)) // self.cost)

    def arguments(
        self,
        trajectories: int,
        settings: Settings,
        inputs: Sequence[Rows],
        outputs: Sequence[int],
        part: Part | None = None,
    ) -> tuple[Any, list[Any]]:
        """What a launch takes, and what it refers to; without a part, of all steps."""
        whole = [trajectories, *(part or next(parts_of(settings, settings.steps)))]
        values: list[Any] = [*map(WHOLE, whole), self.real(settings.step), *(WHOLE(rows.stride) for rows in inputs)]
        values += [ctypes.c_uint64(place) for place in (*(rows.address for rows in inputs), *outputs)]
        return (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values)), values

    def launch(
        self,
        ordinal: int,
        trajectories: int,
        settings: Settings,
        inputs: Sequence[Rows],
        outputs: Sequence[int],
        stream: int,
        spare: Sequence[int] = (),
        waits: bool = False,
    ) -> None:
        """Start it on a stream of this GPU; the arrays are there, among them `spare` for several parts.

        If it is to be waited for, each part is, so that Ctrl-C has an effect.
        """
        gpu, module = device(ordinal), self.code.module(ordinal)
        threads = self.threads(trajectories, gpu.attribute(MULTIPROCESSORS))
        most = self.most(trajectories)
        for part, rows, addresses in in_parts(settings, most, self.sizes, inputs, outputs, spare):
            places, _values = self.arguments(trajectories, settings, rows, addresses, part)
            module.launch(-(-trajectories // threads), threads, places, stream)
            if waits and part.stop < part.steps:
                gpu.synchronize(stream)

    def threads(self, trajectories: int, multiprocessors: int) -> int:
        """In a block: as many as may be, unless with fewer the busiest multiprocessor had clearly less to do."""

        def busiest(threads: int) -> int:
            return threads * -(-trajectories // (threads * multiprocessors))

        choices = [threads for threads in (256, 128, 64, 32) if threads <= self.code.threads]
        least = min(map(busiest, choices))
        return next(threads for threads in choices if busiest(threads) <= 1.02 * least)
