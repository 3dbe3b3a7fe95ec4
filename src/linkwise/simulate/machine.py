"""The integration in machine code: blocks of trajectories, one in each lane, on as many threads as pay."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from functools import cached_property

import numpy as np

from ..compile import cache
from ..compile.kernel import resolved
from ..compile.machine import Code, Processor, processor
from ..edge.recipes import surroundings
from ..graph import Program, count
from ..render.llvm_block import Layout
from ..render.llvm_events import Crossing
from ..render.llvm_integrator import CONTEXT, RUNNING, Method, integrator_text, memory
from .plain import Progress

FLOATS = ("t", "h", "error", "again")
WHOLES = ("next", "steps", "rejected", "status", "logged")
Watcher = Callable[[Progress], None]  # told where all trajectories are, now and then; may raise to stop
SLICE = 1_000_000_000  # operations between two looks: less than a second


class MachineIntegrator:
    """A program of t, y and parameters, with the method that integrates it."""

    def __init__(self, program: Program, method: Method, crossings: tuple[Crossing, ...] = ()) -> None:
        self.program, self.method = program, method
        self.memory = memory(program, method)
        self.target: Processor = processor()
        lanes = self.target.lanes("float64")
        layouts = [Layout("double", width, self.target.fused) for width in sorted({1, lanes})]
        text = integrator_text(program, method, layouts, crossings)
        key = cache.key("integrator", text, repr(self.target), *surroundings())
        kept = cache.load(key)
        self.code = Code(self.target, made=kept[1]) if kept else Code(self.target, text=text)
        if kept is None:
            cache.store(key, {}, self.code.made)
        self.lanes = lanes

    @cached_property
    def cost(self) -> int:
        """Operations of one step."""
        stages = len(self.method.b)
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
    ) -> None:
        """Integrate to the end, from wherever `now` is; it is kept up to date, whatever stops the run."""
        total = len(now.y)
        width = self.lanes if total > 1 else 1
        blocks = [slice(k, min(k + width, total)) for k in range(0, total, width)]
        workers = resolved(threads, len(blocks), 1)
        tries = max(1, SLICE // (self.cost * width * max(1, len(blocks) // workers)))
        while (now.status == RUNNING).any():
            waiting = [block for block in blocks if (now.status[block] == RUNNING).any()]
            lock = threading.Lock()

            def work(waiting: list[slice] = waiting, lock: threading.Lock = lock) -> None:
                while True:
                    with lock:
                        if not waiting:
                            return
                        block = waiting.pop(0)
                    self._advance(now, block, width, end, times, out, parameters, rtol, atol, tries)

            others = [threading.Thread(target=work) for _ in range(min(workers, len(waiting)) - 1)]
            for thread in others:
                thread.start()
            work()
            for thread in others:
                thread.join()
            if watch is not None:
                watch(now)

    def _advance(
        self,
        now: Progress,
        block: slice,
        width: int,
        end: float,
        times: np.ndarray,
        out: np.ndarray,
        parameters: np.ndarray,
        rtol: float,
        atol: np.ndarray,
        tries: int,
    ) -> None:
        where, count = self.memory, block.stop - block.start
        context = np.zeros((where.vectors(), width))
        wholes = context.view(np.int64)
        at = {name: k for k, name in enumerate(CONTEXT)}
        wholes[at["status"]] = RUNNING + 1  # lanes without a trajectory are done
        context[at["end"]] = end
        context[at["h"], :] = context[at["error"], :] = 1.0
        for name in FLOATS:
            context[at[name], :count] = getattr(now, name)[block]
        for name in WHOLES:
            wholes[at[name], :count] = getattr(now, name)[block]
        context[where.y() : where.p(), :count] = now.y[block].T
        context[where.y() : where.p(), count:] = now.y[block.start, :, None]
        context[where.p() : where.k(), :count] = parameters[block].T
        context[where.p() : where.k(), count:] = parameters[block.start, :, None]
        samples, log = out[block], now.log[block]
        self._function(width)(
            context.ctypes.data, times.ctypes.data, len(times), samples.ctypes.data, len(times) * where.size,
            rtol, atol.ctypes.data, log.ctypes.data, log.shape[1], tries,
        )  # fmt: skip
        for name in FLOATS:
            getattr(now, name)[block] = context[at[name], :count]
        for name in WHOLES:
            getattr(now, name)[block] = wholes[at[name], :count]
        now.y[block] = context[where.y() : where.p(), :count].T

    def _function(self, width: int) -> Callable[..., int]:
        whole, pointer, real = ctypes.c_int64, ctypes.c_void_p, ctypes.c_double
        kind = ctypes.CFUNCTYPE(whole, pointer, pointer, whole, pointer, whole, real, pointer, pointer, whole, whole)
        return kind(self.code.function(f"advance_{width}"))
