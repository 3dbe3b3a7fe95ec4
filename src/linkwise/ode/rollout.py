"""Rollouts: trajectories in steps of one length, in machine code for this processor or for GPUs."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
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
WHOLE, POINTER = ctypes.c_int64, ctypes.c_void_p
TARGET = CudaTarget(threads=256)  # 2 to 3 % faster than blocks of 64
FLOATS: dict[str, Any] = {"float64": ctypes.c_double, "float32": ctypes.c_float}


class Settings(NamedTuple):
    """How far, how often it is sampled, and how long a step is."""

    steps: int
    every: int  # 0: no samples
    samples: int  # rows of each trajectory
    step: float


class Rows(NamedTuple):
    """An array, by its address: so many numbers for each trajectory, 0 where all share them."""

    address: int
    stride: int


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


class HostRollout:
    """On this processor: as many trajectories at a time as its vectors hold, on as many threads as pay."""

    def __init__(self, rollout: Rollout, dtype: str) -> None:
        target = host_target()
        self.lanes = target.lanes(dtype)
        text = rollout_text(rollout, Layout(REALS[dtype], self.lanes, target.fused))
        self.code = load_or_compile("rollout", text, target)
        inputs, outputs = len(rollout.inputs), len(rollout.outputs)
        kinds = [*[WHOLE] * 5, FLOATS[dtype], *[WHOLE] * inputs, *[POINTER] * (inputs + outputs)]
        self.function = ctypes.CFUNCTYPE(None, *kinds)(self.code.address("rollout"))
        self.cost = len(rollout.stages.b) * (count(rollout.program).total + 1)  # of a step

    def run(
        self, trajectories: int, settings: Settings, inputs: Sequence[Rows], outputs: Sequence[int], threads: int | None
    ) -> None:
        """Fill the outputs, given by their addresses."""
        arguments = [*settings, *(rows.stride for rows in inputs), *(rows.address for rows in inputs), *outputs]
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
                self.function(first, min(first + size, trajectories), *arguments)

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

    def arguments(
        self, trajectories: int, settings: Settings, inputs: Sequence[Rows], outputs: Sequence[int]
    ) -> tuple[Any, list[Any]]:
        """What a launch takes, and what it refers to."""
        whole = [trajectories, *settings[:3]]
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
    ) -> None:
        """Start it on a stream of this GPU; the arrays are there."""
        places, _values = self.arguments(trajectories, settings, inputs, outputs)
        threads = self.threads(trajectories, device(ordinal).attribute(MULTIPROCESSORS))
        self.code.module(ordinal).launch(-(-trajectories // threads), threads, places, stream)

    def threads(self, trajectories: int, multiprocessors: int) -> int:
        """In a block: as many as may be, unless with fewer the busiest multiprocessor had clearly less to do."""

        def busiest(threads: int) -> int:
            return threads * -(-trajectories // (threads * multiprocessors))

        choices = [threads for threads in (256, 128, 64, 32) if threads <= self.code.threads]
        least = min(map(busiest, choices))
        return next(threads for threads in choices if busiest(threads) <= 1.02 * least)
