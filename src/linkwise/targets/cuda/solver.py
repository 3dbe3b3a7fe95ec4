"""The integrator's driver on a GPU: one thread for each trajectory, with its own step sizes."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ...codegen.llvm.flow import Layout
from ...graph import Program
from ...kernels.llvm import load_or_compile
from ...ode.events import Crossing
from ...ode.interface import Task
from ...ode.methods import Method
from ...ode.trajectories import RUNNING, Trajectories
from ..driver_text import advance_texts
from .driver import device
from .memory import DeviceArray
from .target import CudaTarget
from .text.kernel import Shape
from .text.trajectories import cuda_driver_text

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
