"""Trajectories on a GPU, one thread for each: the integrator's driver, with step sizes for each, and rollouts."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...codegen.llvm.flow import Layout
from ...codegen.llvm.rollout import Rollout
from ...graph import Program
from ...kernels.arrays import Arrays, addresses
from ...kernels.interface import REALS
from ...kernels.llvm import load_or_compile
from ...ode.events import Crossing
from ...ode.interface import Task
from ...ode.methods import Method
from ...ode.rollout import Part, Rows, Settings, cost_of, parts_of, parts_with_arrays
from ...ode.trajectories import RUNNING, Trajectories
from ..driver_text import advance_texts
from .driver import MULTIPROCESSORS, device
from .memory import DeviceArray
from .target import CudaTarget
from .text.kernel import Shape
from .text.trajectories import cuda_driver_text, cuda_rollout_text

BUDGET = 2000  # attempted steps of each thread between two calls of `watch`: well below a second
MOST_THREADS = 1 << 20  # threads of a launch; more trajectories take turns


class CudaDriver:
    """A program of t, y and parameters, with the method that integrates it."""

    def __init__(self, program: Program, method: Method, crossings: tuple[Crossing, ...] = ()) -> None:
        target = CudaTarget()
        texts, vectors = advance_texts(program, method, Layout("double", 1, True), crossings)
        shape = Shape(target.threads, 0)
        self.ir = cuda_driver_text(program.nodes, "\n".join(texts), vectors, shape)
        self.code = load_or_compile("integrator", self.ir, target)

    def run(self, trajectories: Trajectories, task: Task, end: float) -> None:
        """Integrate all running trajectories to `end`. They are up to date even if `watch` raises."""
        records, log = trajectories.with_parameters(task.parameters), trajectories.log
        waiting = (trajectories.status == RUNNING).nonzero()[0]
        if not len(waiting):
            return
        device(0).refuse_capture(0, "a simulation")
        buffers = {
            name: on_gpu(array)
            for name, array in (("records", records), ("times", task.times), ("out", task.out), ("atol", task.atol))
        }
        logged = on_gpu(log)
        max_steps = int(min(task.max_steps, 1 << 62))
        try:
            while len(waiting):
                indices, queue = on_gpu(waiting.astype(np.int64)), on_gpu(np.zeros(1, np.int64))
                self.launch(
                    min(len(waiting), MOST_THREADS), buffers["records"], indices, len(waiting), queue, end,
                    buffers["times"], len(task.times), buffers["out"], task.rtol, buffers["atol"], logged, log.shape[1],
                    max_steps, BUDGET,
                )  # fmt: skip
                records[:] = buffers["records"].copy_to_host()
                if log.size and trajectories.logged.any():
                    log[:] = logged.copy_to_host()
                    trajectories.empty_logs()
                    buffers["records"].copy_from(records)
                if task.watch is not None:
                    task.watch(trajectories)
                waiting = (trajectories.status == RUNNING).nonzero()[0]
        finally:
            task.out[:] = buffers["out"].copy_to_host()

    def launch(self, threads: int, *arguments: Any) -> None:
        values: list[Any] = [ctypes.c_int64(threads)]
        for x in arguments:
            if isinstance(x, DeviceArray):
                values.append(ctypes.c_uint64(x.pointer))
            else:
                values.append(ctypes.c_int64(x) if isinstance(x, int) else ctypes.c_double(x))
        places = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        of_block = self.code.threads
        self.code.module(0).launch(-(-threads // of_block), of_block, places, 0)


def on_gpu(array: np.ndarray) -> DeviceArray:
    """Copy an array of float64 or int64 to the GPU."""
    return DeviceArray(device(0), array.shape, array.dtype.name).copy_from(array)


LAUNCH = 4_000_000_000_000  # operations of a launch: some 0.3 s on a fully used GPU
THREAD = 100_000_000  # operations of one thread, which has little parallelism
NUMBER = 5_000  # operations per number: reading and writing it then takes less than a hundredth of the time
TARGET = CudaTarget(threads=256)  # 2 to 3 % faster than blocks of 64
FLOATS: dict[str, Any] = {"float64": ctypes.c_double, "float32": ctypes.c_float}


class CudaRollout:
    """A compiled rollout, with one thread for each trajectory."""

    def __init__(self, rollout: Rollout, dtype: str, target: CudaTarget = TARGET) -> None:
        self.ir = cuda_rollout_text(rollout, REALS[dtype], Shape(target.threads, target.blocks or 0))
        self.code = load_or_compile("rollout", self.ir, target)
        self.real = FLOATS[dtype]
        self.cost, self.sizes = cost_of(rollout), rollout.inputs

    def most(self, trajectories: int) -> int:
        """Steps of a launch: a fraction of a second, dominated by computation."""
        least = NUMBER * sum(self.sizes[:2])
        return max(1, max(least, min(LAUNCH // trajectories, THREAD)) // self.cost)

    def fill(
        self,
        arrays: Arrays,
        trajectories: int,
        settings: Settings,
        inputs: Sequence[tuple[Any, int]],
        results: Sequence[Any],
        between: Sequence[Any],
        threads: int | None,
    ) -> None:
        rows, places, spare = addresses(arrays, inputs, results, between)
        self.launch(arrays.ordinal, trajectories, settings, rows, places, arrays.stream, spare, arrays.waits)
        arrays.after_launch()

    def arguments(
        self,
        trajectories: int,
        settings: Settings,
        inputs: Sequence[Rows],
        outputs: Sequence[int],
        part: Part | None = None,
    ) -> tuple[Any, list[Any]]:
        """The argument array of a launch and the values that it points to; without a part, for all steps."""
        integers = [trajectories, *(part or next(parts_of(settings, settings.steps)))]
        values: list[Any] = [
            *map(ctypes.c_int64, integers),
            self.real(settings.step),
            *(ctypes.c_int64(rows.stride) for rows in inputs),
        ]
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
        """Start the rollout on a stream of this GPU; `spare` are the buffers between several parts.

        With `waits`, each part is waited for, so that Ctrl-C has an effect.
        """
        gpu, module = device(ordinal), self.code.module(ordinal)
        threads = self.threads(trajectories, gpu.attribute(MULTIPROCESSORS))
        most = self.most(trajectories)
        for part, rows, to in parts_with_arrays(settings, most, self.sizes, inputs, outputs, spare):
            places, _values = self.arguments(trajectories, settings, rows, to, part)
            module.launch(-(-trajectories // threads), threads, places, stream)
            if waits and part.stop < part.steps:
                gpu.synchronize(stream)

    def threads(self, trajectories: int, multiprocessors: int) -> int:
        """Threads of a block: the largest number, unless fewer balance the multiprocessors clearly better."""

        def busiest(threads: int) -> int:
            return threads * -(-trajectories // (threads * multiprocessors))

        choices = [threads for threads in (256, 128, 64, 32) if threads <= self.code.threads]
        least = min(map(busiest, choices))
        return next(threads for threads in choices if busiest(threads) <= 1.02 * least)
