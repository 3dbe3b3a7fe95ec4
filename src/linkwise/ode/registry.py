"""All integrators: Radau, and the explicit Runge-Kutta methods, which are the driver over arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..errors import one_of
from ..graph import Program
from ..lazy import cached_property
from .driver import Driver
from .events import Crossing
from .interface import Bind, FunctionOf, Integrator, Task, bind_program
from .lanes import LOG_FULL, RUNNING, NumpyLanes, Trajectories
from .methods import Method, entries, method
from .radau import Radau

DEFAULT = "verner65"
ATTEMPTS = 100  # between two calls of `watch`


class RungeKutta:
    def __init__(self, name: str) -> None:
        self.name = name
        self.fixed = bool(entries()[name].get("fixed", False))

    @cached_property
    def method(self) -> Method:
        return method(self.name)

    def array_solver(self, bind: Bind, crossings: tuple[Crossing, ...]) -> RungeKuttaSolver:
        return RungeKuttaSolver(self.method, bind, crossings)

    def program_solver(
        self, program: Program, function_of: FunctionOf, crossings: tuple[Crossing, ...]
    ) -> RungeKuttaSolver:
        return self.array_solver(bind_program(program, function_of), crossings)

    def evaluations(self, trajectories: Trajectories) -> np.ndarray:
        per_step = self.method.stages - self.method.first_is_last
        return np.asarray((trajectories.steps + trajectories.rejected) * per_step)


@dataclass(frozen=True)
class RungeKuttaSolver:
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
                    stepped = (trajectories.steps > steps) & (trajectories.status == RUNNING)
                    task.chattering.watch(trajectories, np.flatnonzero(stepped), trajectories.y - before, end)
                attempts += 1
                if task.watch is not None and attempts % ATTEMPTS == 0:
                    task.watch(trajectories)
        trajectories.empty_logs()


@lru_cache(maxsize=1)
def members() -> dict[str, Integrator]:
    integrators: list[Integrator] = [*map(RungeKutta, entries()), Radau()]
    return {integrator.name: integrator for integrator in integrators}


def integrators() -> list[str]:
    """The names of all integrators."""
    return list(members())


def integrator(name: str) -> Integrator:
    one_of(name, members(), "integrator")
    return members()[name]
