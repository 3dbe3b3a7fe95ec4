"""The integrator's driver in machine code: one trajectory per vector lane, on several threads."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import numpy as np

from ...codegen.llvm.flow import Layout
from ...graph import Program, count
from ...kernels.kernel import thread_count
from ...kernels.llvm import load_or_compile
from ...lazy import cached_property
from ...ode.events import Crossing
from ...ode.interface import Task
from ...ode.lanes import RUNNING, Trajectories
from ...ode.methods import Method
from ..driver_text import driver_text
from .host import HostTarget, host_target

SLICE = 1_000_000_000  # operations between two calls of `watch`: less than a second
WHOLE, POINTER, REAL = ctypes.c_int64, ctypes.c_void_p, ctypes.c_double
ADVANCE = ctypes.CFUNCTYPE(
    None, POINTER, POINTER, WHOLE, POINTER, POINTER, REAL, POINTER, WHOLE, POINTER, REAL, POINTER, POINTER, WHOLE,
    WHOLE, WHOLE,
)  # fmt: skip  # as in codegen.llvm.integrator


def address(array: Any) -> int:
    """The address of the array's numbers; faster than `array.ctypes`."""
    return ctypes.addressof(ctypes.c_char.from_buffer(array)) if array.size else 0


class CompiledDriver:
    """A program of t, y and parameters, with the method that integrates it."""

    def __init__(self, program: Program, method: Method, crossings: tuple[Crossing, ...] = ()) -> None:
        self.program, self.method = program, method
        target: HostTarget = host_target()
        self.lanes = target.lanes("float64")
        layouts = [Layout("double", width, target.fused) for width in sorted({1, self.lanes})]
        text, self.vectors = driver_text(program, method, layouts, crossings)
        self.code = load_or_compile("integrator", text, target)
        self.functions = {width: ADVANCE(self.code.address(f"advance_{width}")) for width in {1, self.lanes}}

    @cached_property
    def cost(self) -> int:
        """Operations of one step."""
        stages = self.method.stages
        return stages * count(self.program).total + stages * stages * self.program.inputs[1].size

    def run(self, trajectories: Trajectories, task: Task, end: float) -> None:
        """Integrate all running trajectories to `end`. They are up to date even if `watch` raises."""
        records, log = trajectories.with_parameters(task.parameters), trajectories.log
        alone = len(records) == 1 and task.threads is None
        width = self.lanes if len(records) > 1 else 1
        workers = 1 if alone else thread_count(task.threads, -(-len(records) // width), 1)
        budget = max(1, SLICE // (self.cost * width))
        function, vectors = self.functions[width], self.vectors
        max_steps = int(min(task.max_steps, 1 << 62))
        waiting = (trajectories.status == RUNNING).nonzero()[0]
        while len(waiting):
            queue = np.zeros(1, dtype=np.int64)

            def work(waiting: np.ndarray = waiting, queue: np.ndarray = queue) -> None:
                context = np.zeros((vectors, width))
                function(
                    address(records), address(waiting), len(waiting), address(queue), address(context), end,
                    address(task.times), len(task.times), address(task.out), task.rtol, address(task.atol),
                    address(log), log.shape[1], max_steps, budget,
                )  # fmt: skip

            others = [threading.Thread(target=work) for _ in range(min(workers, len(waiting)) - 1)]
            for thread in others:
                thread.start()
            work()
            for thread in others:
                thread.join()
            if log.size:
                trajectories.empty_logs()
            if task.watch is not None:
                task.watch(trajectories)
            waiting = (trajectories.status == RUNNING).nonzero()[0]
