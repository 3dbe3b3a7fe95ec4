"""Stiff problems: SciPy's Radau, with the right-hand side and its exact derivative as functions of a target.

Radau IIA of order 5 (Hairer and Wanner, Solving Ordinary Differential Equations II, section IV.8) is implicit: where an
explicit method must keep its steps shorter than the time in which the fastest spring or friction dies out, it steps
over that, and solves for the state after the step by Newton's method with ∂f/∂y. That comes from the graph of f, as in
`lw.derivative`, up to as many operations as compile in a moment; beyond, SciPy takes differences.

Trajectories of a batch are integrated one after another, each step driven from Python. Samples and events lie on the
polynomial of degree 3 through the stages of a step: near, but not quite as exact as, the steps. An event that does not
stop leaves the step as it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..extras import imported
from ..graph import Program, count
from ..graph.derivative import derivative
from .events import Crossing, Events
from .interface import Bind, FunctionOf, Task, result_of
from .lanes import Function, Functions, NumpyLanes
from .trajectories import DONE, NOT_FINITE, RUNNING, STEP_TOO_SMALL, STOPPED, TOO_MANY_STEPS, Trajectories

Jacobian = Callable[[float, np.ndarray], np.ndarray]  # t, y (m,) -> ∂y'/∂y (m, m)
MAX_JACOBIAN = 6_000  # operations: longer ones take long to compile
LARGEST_DIFFERENCE = 1.0  # of y, in SciPy's differences
MOMENT = 1.0  # seconds between two calls of the watch


class TrajectoryFunctions(NamedTuple):
    """The functions of one trajectory, for one of its states or many; without a Jacobian differences are taken."""

    rhs: Callable[[Any, np.ndarray], np.ndarray]  # t, y (..., m) -> (..., m)
    event_values: Function | None = None
    jacobian: Jacobian | None = None


class Radau:
    name, fixed, method = "radau", False, None

    def plain(self, bind: Bind, crossings: tuple[Crossing, ...]) -> RadauSolver:
        def of_one(row: np.ndarray) -> TrajectoryFunctions:
            def rhs(t: Any, y: np.ndarray) -> np.ndarray:
                states = np.atleast_2d(y)
                functions = bind(np.broadcast_to(row, (len(states), len(row))))
                return functions.rhs(np.full(len(states), t), states).reshape(y.shape)

            return TrajectoryFunctions(rhs, bind(row[None]).event_values)

        return RadauSolver(of_one, crossings)

    def over(self, program: Program, function_of: FunctionOf, crossings: tuple[Crossing, ...]) -> RadauSolver:
        return RadauSolver(ProgramFunctions(program, function_of).of_one, crossings)

    def evaluations(self, trajectories: Trajectories) -> np.ndarray:
        none = np.zeros_like(trajectories.steps)
        return none if trajectories.evaluations is None else trajectories.evaluations


class ProgramFunctions:
    """The right-hand side of a program, its derivative and its events, as functions of a target."""

    def __init__(self, program: Program, function_of: FunctionOf) -> None:
        rates, *events = (result_of(program, k) for k in range(len(program.outputs)))
        slope = derivative(rates, "y") if is_short(rates) else None  # which is longer still
        self.parameters = program.inputs[2:]
        self.rhs = function_of(rates, "rhs")
        self.jacobian = function_of(slope, "jacobian") if slope and is_short(slope) else None
        self.event_values = function_of(events[0], "event_values") if events else None

    def of_one(self, row: np.ndarray) -> TrajectoryFunctions:
        parts, start = [], 0
        for port in self.parameters:
            parts.append(row[start : start + port.size].reshape(port.shape).copy())
            start += port.size

        def at(function: Callable[..., Any]) -> Any:
            return lambda t, y: np.asarray(function(np.asarray(t, float), np.ascontiguousarray(y), *parts))

        return TrajectoryFunctions(
            at(self.rhs), self.event_values and at(self.event_values), self.jacobian and at(self.jacobian)
        )


def is_short(program: Program) -> bool:
    return count(program).total <= MAX_JACOBIAN


class RadauSolver:
    def __init__(self, of_one: Callable[[np.ndarray], TrajectoryFunctions], crossings: tuple[Crossing, ...]) -> None:
        self.of_one, self.crossings = of_one, crossings

    def run(self, trajectories: Trajectories, task: Task, end: float) -> None:
        """Integrate one trajectory after another."""
        radau, called = scipy_radau(), time.monotonic()
        if trajectories.evaluations is None:
            trajectories.evaluations = np.zeros_like(trajectories.steps)
        for k in np.flatnonzero(trajectories.status == RUNNING).tolist():
            one, functions = trajectories.only(k), self.of_one(task.parameters[k])
            step = RadauStep(one, functions, self.crossings, task, end) if functions.event_values else None
            rhs = Counted(functions.rhs, int(trajectories.evaluations[k]))
            options: dict[str, Any] = {"first_step": min(one.h[0], end - one.t[0])}
            options |= {"jac": functions.jacobian} if functions.jacobian else {"vectorized": True}
            try:
                with np.errstate(all="ignore"):
                    solver = radau(rhs, one.t[0], one.y[0].copy(), end, rtol=task.rtol, atol=task.atol, **options)
                    while solver.status == "running" and one.status[0] == RUNNING:
                        rhs.begin()
                        solver.step()
                        bound_differences(solver)
                        change = solver.y - trajectories.y
                        trajectories.evaluations[k] = rhs.states
                        one.rejected += rhs.tries - (solver.status != "failed")
                        if solver.status != "failed":
                            advance(one, solver, step, task.times, task.out[k])
                        if one.status[0] == RUNNING and solver.status == "running":
                            if task.chattering is not None:
                                task.chattering.watch(trajectories, np.array([k]), change, end)
                            if one.status[0] == RUNNING and one.steps[0] + one.rejected[0] >= task.max_steps:
                                one.status = TOO_MANY_STEPS
                            if task.watch is not None and time.monotonic() - called > MOMENT:
                                called = time.monotonic()
                                task.watch(trajectories)
                if one.status[0] == RUNNING:
                    failed = NOT_FINITE if rhs.not_finite else STEP_TOO_SMALL
                    one.status = DONE if solver.status == "finished" else failed
            except ValueError as error:
                if "NaN" not in str(error):  # which is what SciPy says of a derivative that is not finite
                    raise
                one.status = NOT_FINITE
            finally:
                one.empty_logs()


def bound_differences(solver: Any) -> None:
    """Keep the steps of SciPy's differences finite.

    It takes ten times the step, relative to y, at the next derivative wherever a number of y had no effect, as work and
    heat never have: after some 300 derivatives that is infinite.
    """
    if solver.jac_factor is not None:
        np.minimum(solver.jac_factor, LARGEST_DIFFERENCE, out=solver.jac_factor)


class Counted:
    """A right-hand side as SciPy wants it: y is (m,), or (m, states) where differences are taken."""

    def __init__(self, rhs: Callable[[Any, np.ndarray], np.ndarray], states: int = 0) -> None:
        self.rhs, self.states = rhs, states  # how many states it was asked for
        self.begin()

    def begin(self) -> None:
        """A step."""
        self.times: set[float] = set()
        self.not_finite = False  # whether a rate was not

    def __call__(self, t: float, y: np.ndarray) -> np.ndarray:
        self.times.add(t)
        self.states += 1 if y.ndim == 1 else y.shape[1]
        rates = self.rhs(t, y) if y.ndim == 1 else self.rhs(t, np.ascontiguousarray(y.T)).T
        self.not_finite = self.not_finite or not np.isfinite(rates).all()
        return rates

    @property
    def tries(self) -> int:
        """Steps that were tried: each asks at three times of its own, and some once more where they start or end."""
        return max(1, len(self.times) // 3)


class RadauStep:
    """An accepted step of one trajectory, as `events` wants it: all states within it are on its polynomial."""

    can_probe = True

    def __init__(
        self, one: Trajectories, functions: TrajectoryFunctions, crossings: tuple[Crossing, ...], task: Task, end: float
    ) -> None:
        known = Functions(functions.rhs, functions.event_values)
        self.lanes = NumpyLanes(one, known, end, task.times, task.out, task.rtol, task.atol)
        self.size = one.y.shape[1]
        self.z, self.z_there = self.lanes.array(self.size), self.lanes.array(self.size)
        self.start: Any = one.t
        self.events = Events(self.lanes, crossings, self)
        self.events.begin()

    def search(self, solver: Any, curve: Any) -> tuple[float, np.ndarray] | None:
        """Log the events of a step, one after another; where the first of them that stops does."""
        one, self.curve, self.start = self.lanes.state, curve, self.lanes.state.t.copy()
        while self.start[0] < solver.t:
            self.z[:, 0] = solver.y
            end = np.array([solver.t])
            landed, _, stopped = self.events.search(self.start, end - self.start, end, np.array([True]))
            if one.logged[0] >= self.lanes.room:
                one.empty_logs()
            if stopped[0]:
                return float(landed[0]), self.z[:, 0].copy()
            self.start = np.maximum(landed, np.nextafter(self.start, end))
        return None

    def probe(self, part: float, step: Any) -> None:
        self.z_there[:] = self.curve(self.start + part * step)

    def prepare(self, t: Any, step: Any) -> None:
        """The polynomial is there."""

    def interpolate(self, short: Any, part: Any) -> None:
        self.z_there[:] = self.curve(self.start + short)

    def step_to(self, time: Any, t: Any, mask: Any) -> None:
        self.z_there[:] = self.curve(time)

    def replace(self, mask: Any, target: np.ndarray, source: np.ndarray) -> None:
        target[:] = np.where(mask, source, target)


def advance(one: Trajectories, solver: Any, step: RadauStep | None, times: np.ndarray, out: np.ndarray) -> None:
    """A step was made: the samples and events on its way, and where it led."""
    curve = solver.dense_output()
    t, y, next_ = solver.t, solver.y, int(one.next[0])
    stopped = None if step is None else step.search(solver, curve)
    if stopped is not None:
        one.status = STOPPED
        t, y = stopped
    reached = int(np.searchsorted(times, t, side="right"))
    if reached > next_:
        out[next_:reached] = curve(times[next_:reached]).T
        one.next = reached
    one.t, one.y[0], one.h = t, y, solver.step_size
    one.steps += 1


def scipy_radau() -> Any:
    return imported("scipy.integrate").Radau
