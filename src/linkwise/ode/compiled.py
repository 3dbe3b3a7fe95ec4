"""The integration in machine code: blocks of trajectories, one in each lane, on as many threads as pay."""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..codegen.llvm.block import Layout
from ..codegen.llvm.events import Crossing
from ..codegen.llvm.integrator import integrator_text, memory
from ..codegen.llvm.lanes import RUNNING
from ..codegen.llvm.stages import Method
from ..graph import Program, count
from ..kernels.host import HostTarget, host_target
from ..kernels.kernel import resolved
from ..kernels.loader import load_or_compile
from ..lazy import cached_property
from .chattering import Bounds
from .numpy_driver import Progress

Watcher = Callable[[Progress], None]  # told where all trajectories are, now and then; may raise to stop
SLICE = 1_000_000_000  # operations between two looks: less than a second


WHOLE, POINTER, REAL = ctypes.c_int64, ctypes.c_void_p, ctypes.c_double
ADVANCE = ctypes.CFUNCTYPE(
    None, POINTER, POINTER, WHOLE, POINTER, POINTER, REAL, POINTER, WHOLE, POINTER, REAL, POINTER, POINTER, WHOLE,
    WHOLE, WHOLE,
)  # fmt: skip  # as in codegen.llvm.integrator


def address(array: Any) -> int:
    """Where its numbers are; sooner told than by `array.ctypes`."""
    return ctypes.addressof(ctypes.c_char.from_buffer(array)) if array.size else 0


class MachineIntegrator:
    """A program of t, y and parameters, with the method that integrates it."""

    def __init__(self, program: Program, method: Method, crossings: tuple[Crossing, ...] = ()) -> None:
        self.program, self.method = program, method
        self.memory = memory(program, method)
        self.vectors = self.memory.vectors
        self.target: HostTarget = host_target()
        lanes = self.target.lanes("float64")
        layouts = [Layout("double", width, self.target.fused) for width in sorted({1, lanes})]
        text = integrator_text(program, method, layouts, crossings)
        self.code = load_or_compile("integrator", text, self.target)
        self.lanes = lanes
        self.functions = {width: ADVANCE(self.code.address(f"advance_{width}")) for width in {1, lanes}}

    @cached_property
    def cost(self) -> int:
        """Operations of one step."""
        stages = self.method.stages
        return stages * count(self.program).total + stages * stages * self.memory.size

    def run(
        self,
        now: Progress,
        end: float,
        times: np.ndarray,
        out: np.ndarray,
        parameters: np.ndarray,
        rtol: float,
        atol: np.ndarray,
        threads: int | None = None,
        watch: Watcher | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        """Integrate to the end, from wherever `now` is; it is kept up to date, whatever stops the run."""
        book = now.give(parameters)
        alone = len(book) == 1 and threads is None
        width = self.lanes if len(book) > 1 else 1
        workers = 1 if alone else resolved(threads, -(-len(book) // width), 1)
        tries = max(1, SLICE // (self.cost * width))
        function, vectors = self.functions[width], self.vectors
        most = int(min(bounds.most if bounds else math.inf, 1 << 62))
        waiting = (now.status == RUNNING).nonzero()[0]
        while len(waiting):
            queue = np.zeros(1, dtype=np.int64)

            def work(waiting: np.ndarray = waiting, queue: np.ndarray = queue) -> None:
                context = np.zeros((vectors, width))
                arrays = (book, waiting, queue, context, times, out, atol, now.log)
                rows, order, turn, room, when, samples, allowed, log = map(address, arrays)
                function(
                    rows, order, len(waiting), turn, room, end, when, len(times), samples, rtol, allowed, log,
                    now.log.shape[1], most, tries,
                )  # fmt: skip

            others = [threading.Thread(target=work) for _ in range(min(workers, len(waiting)) - 1)]
            for thread in others:
                thread.start()
            work()
            for thread in others:
                thread.join()
            if now.log.size:
                now.empty_logs()
            if watch is not None:
                watch(now)
            waiting = (now.status == RUNNING).nonzero()[0]
