"""Rollouts on this processor: one trajectory per vector lane, on several threads."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from typing import Any

from ...codegen.llvm.flow import Layout
from ...codegen.llvm.rollout import Rollout, rollout_text
from ...kernels.arrays import Arrays, addresses
from ...kernels.interface import REALS, SHARE
from ...kernels.kernel import thread_count
from ...kernels.llvm import load_or_compile
from ...ode.rollout import Part, Rows, Settings, cost_of, parts_with_arrays
from .host import host_target

SLICE = 1_000_000_000  # operations between two chances for Ctrl-C: less than a second
WHOLE, POINTER = ctypes.c_int64, ctypes.c_void_p
FLOATS: dict[str, Any] = {"float64": ctypes.c_double, "float32": ctypes.c_float}


class HostRollout:
    """A compiled rollout, with one trajectory per vector lane."""

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
        """Steps of one call."""
        return max(1, SLICE // (self.lanes * self.cost))

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
        self.run(trajectories, settings, rows, places, threads, spare)

    def run(
        self,
        trajectories: int,
        settings: Settings,
        inputs: Sequence[Rows],
        outputs: Sequence[int],
        threads: int | None,
        spare: Sequence[int] = (),
    ) -> None:
        """Fill the outputs, given by address; `spare` are buffers for q and qd between several parts."""
        most = self.most(trajectories)
        group = self.lanes * settings.steps * self.cost  # operations of as many trajectories as there are lanes
        groups = -(-trajectories // self.lanes)
        workers = thread_count(threads, groups, max(1, SHARE // group))
        size = self.lanes * max(1, min(SLICE // group, -(-groups // workers)))
        waiting, lock, ended = iter(range(0, trajectories, size)), threading.Lock(), threading.Event()

        def work() -> None:
            while not ended.is_set():
                with lock:
                    first = next(waiting, None)
                if first is None:
                    return
                for part, rows, places in parts_with_arrays(settings, most, self.sizes, inputs, outputs, spare):
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
