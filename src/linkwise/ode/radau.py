"""Stiff problems: SciPy's Radau; right-hand side and exact Jacobian are functions of a target.

Radau IIA of order 5 (Hairer and Wanner, Solving Ordinary Differential Equations II, section IV.8) is implicit. Its step
is not limited by the fastest time constant, as that of explicit methods is. It finds the state after the step by
Newton's method with ∂f/∂y, which comes from the graph of f, as in `lw.derivative`. If that has more than MAX_JACOBIAN
operations, SciPy takes finite differences.

Trajectories of a batch are integrated one after another, each step driven from Python. Samples and events use the dense
output of degree 3, which is slightly less exact than the steps. An event that does not stop the trajectory leaves the
step unchanged.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..extras import import_optional
from ..graph import Program, count
from ..graph.derivative import derivative
from .events import Crossing, Events
from .interface import Bind, FunctionOf, Task, result_of
from .lanes import (
    DONE,
    NOT_FINITE,
    RUNNING,
    STEP_TOO_SMALL,
    STOPPED,
    TOO_MANY_STEPS,
    Function,
    Functions,
    NumpyLanes,
    Trajectories,
)

Jacobian = Callable[[float, np.ndarray], np.ndarray]  # t, y (m,) -> ∂y'/∂y (m, m)
MAX_JACOBIAN = 6_000  # operations: longer ones take long to compile
LARGEST_DIFFERENCE = 1.0  # step of SciPy's numerical derivatives, relative to y
WATCH_INTERVAL = 1.0  # seconds between two calls of `watch`


class TrajectoryFunctions(NamedTuple):
    """The functions of one trajectory, for one state or many; without a Jacobian SciPy takes differences."""

    rhs: Callable[[Any, np.ndarray], np.ndarray]  # t, y (..., m) -> (..., m)
    event_values: Function | None = None
    jacobian: Jacobian | None = None


class Radau:
    name, fixed, method = "radau", False, None

    def array_solver(self, bind: Bind, crossings: tuple[Crossing, ...]) -> RadauSolver:
        def trajectory_functions(row: np.ndarray) -> TrajectoryFunctions:
            def rhs(t: Any, y: np.ndarray) -> np.ndarray:
                states = np.atleast_2d(y)
                functions = bind(np.broadcast_to(row, (len(states), len(row))))
                return functions.rhs(np.full(len(states), t), states).reshape(y.shape)

            return TrajectoryFunctions(rhs, bind(row[None]).event_values)

        return RadauSolver(trajectory_functions, crossings)

    def program_solver(self, program: Program, function_of: FunctionOf, crossings: tuple[Crossing, ...]) -> RadauSolver:
        return RadauSolver(ProgramFunctions(program, function_of).trajectory_functions, crossings)

    def evaluations(self, trajectories: Trajectories) -> np.ndarray:
        none = np.zeros_like(trajectories.steps)
        return none if trajectories.evaluations is None else trajectories.evaluations


class ProgramFunctions:
    """The right-hand side of a program, its derivative and its events, as functions of a target."""

    def __init__(self, program: Program, function_of: FunctionOf) -> None:
        rates, *events = (result_of(program, k) for k in range(len(program.outputs)))
        slope = derivative(rates, "y") if is_short(rates) else None  # a derivative is longer than its function
        self.parameters = program.inputs[2:]
        self.rhs = function_of(rates, "rhs")
        self.jacobian = function_of(slope, "jacobian") if slope and is_short(slope) else None
        self.event_values = function_of(events[0], "event_values") if events else None

    def trajectory_functions(self, row: np.ndarray) -> TrajectoryFunctions:
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
    def __init__(
        self, trajectory_functions: Callable[[np.ndarray], TrajectoryFunctions], crossings: tuple[Crossing, ...]
    ) -> None:
        self.trajectory_functions, self.crossings = trajectory_functions, crossings

    def run(self, trajectories: Trajectories, task: Task, end: float) -> None:
        """Integrate one trajectory after another."""
        radau, called = scipy_radau(), time.monotonic()
        if trajectories.evaluations is None:
            trajectories.evaluations = np.zeros_like(trajectories.steps)
        for k in np.flatnonzero(trajectories.status == RUNNING).tolist():
            one, functions = trajectories.single(k), self.trajectory_functions(task.parameters[k])
            step = RadauStep(one, functions, self.crossings, task, end) if functions.event_values else None
            rhs = RateCounter(functions.rhs, int(trajectories.evaluations[k]))
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
                            if task.watch is not None and time.monotonic() - called > WATCH_INTERVAL:
                                called = time.monotonic()
                                task.watch(trajectories)
                if one.status[0] == RUNNING:
                    failed = NOT_FINITE if rhs.not_finite else STEP_TOO_SMALL
                    one.status = DONE if solver.status == "finished" else failed
            except ValueError as error:
                if "NaN" not in str(error):  # SciPy's message for a Jacobian that is not finite
                    raise
                one.status = NOT_FINITE
            finally:
                one.empty_logs()


def bound_differences(solver: Any) -> None:
    """Keep the steps of SciPy's finite differences finite.

    SciPy multiplies the relative step of a component by ten if it had no effect on f. Work and heat never have one, so
    their step would overflow after some 300 Jacobians.
    """
    if solver.jac_factor is not None:
        np.minimum(solver.jac_factor, LARGEST_DIFFERENCE, out=solver.jac_factor)


class RateCounter:
    """A right-hand side in SciPy's form, y (m,) or (m, states), that counts its evaluations."""

    def __init__(self, rhs: Callable[[Any, np.ndarray], np.ndarray], states: int = 0) -> None:
        self.rhs, self.states = rhs, states  # number of evaluated states
        self.begin()

    def begin(self) -> None:
        """Begin a step."""
        self.times: set[float] = set()
        self.not_finite = False

    def __call__(self, t: float, y: np.ndarray) -> np.ndarray:
        self.times.add(t)
        self.states += 1 if y.ndim == 1 else y.shape[1]
        rates = self.rhs(t, y) if y.ndim == 1 else self.rhs(t, np.ascontiguousarray(y.T)).T
        self.not_finite = self.not_finite or not np.isfinite(rates).all()
        return rates

    @property
    def tries(self) -> int:
        """Attempted steps. Each evaluates at three times, some also at their start or end."""
        return max(1, len(self.times) // 3)


class RadauStep:
    """An accepted step of one trajectory as a `Step` of `events`, with SciPy's dense output."""

    can_probe = True

    def __init__(
        self, one: Trajectories, functions: TrajectoryFunctions, crossings: tuple[Crossing, ...], task: Task, end: float
    ) -> None:
        lane_functions = Functions(functions.rhs, functions.event_values)
        self.lanes = NumpyLanes(one, lane_functions, end, task.times, task.out, task.rtol, task.atol)
        self.size = one.y.shape[1]
        self.z, self.z_there = self.lanes.array(self.size), self.lanes.array(self.size)
        self.start: Any = one.t
        self.events = Events(self.lanes, crossings, self)
        self.events.begin()

    def search(self, solver: Any, curve: Any) -> tuple[float, np.ndarray] | None:
        """Log the events of a step; time and state of the first that stops the trajectory."""
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
        """SciPy has computed the dense output."""

    def interpolate(self, short: Any, part: Any) -> None:
        self.z_there[:] = self.curve(self.start + short)

    def step_to(self, time: Any, t: Any, mask: Any) -> None:
        self.z_there[:] = self.curve(time)

    def replace(self, mask: Any, target: np.ndarray, source: np.ndarray) -> None:
        target[:] = np.where(mask, source, target)


def advance(one: Trajectories, solver: Any, step: RadauStep | None, times: np.ndarray, out: np.ndarray) -> None:
    """Take over an accepted step: its samples, its events and its end."""
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
    return import_optional("scipy.integrate").Radau
