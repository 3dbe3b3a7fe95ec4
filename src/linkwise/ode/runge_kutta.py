"""The explicit Runge-Kutta methods as integrators: the driver over arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..graph import Program
from ..lazy import cached_property
from .driver import Driver
from .events import Crossing
from .interface import Bind, FunctionOf, Task, bind_program
from .lanes import NumpyLanes
from .methods import Method, entries, method
from .trajectories import LOG_FULL, RUNNING, Trajectories

ATTEMPTS = 100  # between two calls of the watch


class RungeKutta:
    def __init__(self, name: str) -> None:
        self.name = name
        self.fixed = bool(entries()[name].get("fixed", False))

    @cached_property
    def method(self) -> Method:
        return method(self.name)

    def plain(self, bind: Bind, crossings: tuple[Crossing, ...]) -> PlainDriver:
        return PlainDriver(self.method, bind, crossings)

    def over(self, program: Program, function_of: FunctionOf, crossings: tuple[Crossing, ...]) -> PlainDriver:
        return self.plain(bind_program(program, function_of), crossings)

    def evaluations(self, trajectories: Trajectories) -> np.ndarray:
        of_a_step = self.method.stages - self.method.first_is_last
        return np.asarray((trajectories.steps + trajectories.rejected) * of_a_step)


@dataclass(frozen=True)
class PlainDriver:
    method: Method
    bind: Bind
    crossings: tuple[Crossing, ...] = ()

    def run(self, trajectories: Trajectories, task: Task, end: float) -> None:
        functions, (_, size) = self.bind(task.parameters), trajectories.y.shape
        lanes = NumpyLanes(
            trajectories, functions, end, task.times, task.out, task.rtol, task.atol, max_steps=task.max_steps
        )
        driver, attempts = Driver(lanes, self.method, size, self.crossings), 0
        with np.errstate(all="ignore"):
            driver.begin()
            while (active := trajectories.status == RUNNING).any():
                before, steps = trajectories.y.copy(), trajectories.steps.copy()
                driver.attempt(active)
                if (trajectories.status == LOG_FULL).any():
                    trajectories.empty_logs()
                if task.chattering is not None:
                    moved = (trajectories.steps > steps) & (trajectories.status == RUNNING)
                    task.chattering.watch(trajectories, np.flatnonzero(moved), trajectories.y - before, end)
                attempts += 1
                if task.watch is not None and attempts % ATTEMPTS == 0:
                    task.watch(trajectories)
        trajectories.empty_logs()
