"""Torques that are constant or polynomials between instants: sampled control and torque histories.

Sampled control (`control.sampled_laws`): laws that are computed at their own times and held in between.

A held torque is a parameter of the right-hand side, one for each trajectory, so code is compiled as for constant
torques. The integration runs from one instant to the next. There the laws that are due are computed for all
trajectories at once: by kernels or, if they cannot be traced, in Python.

Torque histories (`trajectories.torque_history`): the integration runs from one sample of the torques to the next.

Between two samples torques are polynomials of time, whose coefficients are parameters of the right-hand side. So code
is compiled once for all histories, of any length.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from ..control.drives import Sum
from ..control.sampled_laws import Sampled
from ..errors import UntraceableFunctionError
from ..graph import Program, evaluate
from ..ode.lanes import DONE, RUNNING, Trajectories
from ..recording.recording import Recording
from ..robot import Robot
from ..tracing import Input, trace
from ..tracing.tracing import Prepared, prefer_fewest
from ..trajectories.torque_history import (
    Interpolation,
    TorqueHistory,
    check_robot_of,
    loads_beside,
    torque_history,
    with_its_loads,
)
from .parameters import PREFIX
from .problem import Problem
from .traced_functions import TracedFunction, message_of, user_line

INSTANT_TOLERANCE = 1e-9  # in periods: instants that are closer are one, but for rounding


class TracedStep(TracedFunction, Prepared):
    """One sample of a law as a program of t, q, qd and its state: torques and the next state, concatenated."""

    def program_for(self, robot: Robot) -> Program:
        return self.program


def split_sampled_laws(torque: Any) -> tuple[Any, tuple[Sampled, ...]]:
    """Split a torque into the part that acts continuously, if any, and its sampled laws."""
    parts = torque.parts if isinstance(torque, Sum) else (torque,)
    laws = tuple(part for part in parts if isinstance(part, Sampled))
    if not laws:
        return torque, ()
    others = tuple(part for part in parts if not isinstance(part, Sampled))
    return (Sum(others) if len(others) > 1 else others[0] if others else None), laws


def trace_step(law: Sampled, robot: Robot) -> TracedStep:
    """Trace one sample of a law."""
    if isinstance(law.law, TracedStep):
        return law.law

    def values(robot: Robot, t: Any, q: Any, qd: Any, state: Any = ()) -> Any:
        return np.concatenate(law.step(robot, t, q, qd, state))

    size = len(law.initial_state(robot))
    inputs: dict[str, Any] = {"t": Input(), "q": Input(robot.nq), "qd": Input(robot.n)}
    if size:
        inputs["state"] = Input(size)
    try:
        with prefer_fewest():
            return TracedStep(trace(values, robot, **inputs), "step")
    except Exception as error:  # of any kind: a call with numbers shows mistakes of the law
        raise UntraceableFunctionError(f"{law!r} cannot be traced{user_line(error)}: {message_of(error)}") from error


def freeze_laws(laws: Sequence[Sampled], robot: Robot) -> tuple[Sampled, ...]:
    """The laws with traced steps."""
    return tuple(replace(law, law=trace_step(law, robot)) for law in laws)


@lru_cache(maxsize=64)
def step_kernel(step: TracedStep, robot: Robot) -> Callable[..., Any]:
    from ..kernels.kernel import Compiled  # imported only when something is compiled
    from ..kernels.spec import KernelSpec

    try:
        return Compiled(KernelSpec(step, robot, "float64", {}))
    except ImportError:  # no LLVM here
        return lambda *arrays: evaluate(step.program, *arrays)[0]


class SampledLaw:
    """A law in a simulation, with the states and the held torques of all trajectories."""

    def __init__(self, law: Sampled, problem: Problem, count: int, compiled: bool | None) -> None:
        self.law, self.problem = law, problem
        self.states = np.tile(law.initial_state(problem.robot), (count, 1))
        self.torques = np.zeros((count, problem.robot.n))
        self.kernel: Callable[..., Any] | None = None
        if compiled is not False:
            try:
                self.kernel = step_kernel(trace_step(law, problem.robot), problem.robot)
            except UntraceableFunctionError:
                if compiled:
                    raise

    def compute(self, t: float, q: np.ndarray, qd: np.ndarray, which: np.ndarray) -> None:
        """Compute the torques of some trajectories from t on."""
        n, robot = self.problem.robot.n, self.problem.robot
        with np.errstate(all="ignore"):
            if self.kernel is None:
                for k in which.tolist():
                    tau, state = self.law.step(robot, t, q[k].copy(), qd[k].copy(), self.states[k].copy())
                    self.torques[k], self.states[k] = tau, state
            elif len(which):
                states = [self.states[which]] if self.states.shape[1] else []
                results = self.kernel(np.full(len(which), t), q[which], qd[which], *states)
                self.torques[which], self.states[which] = results[:, :n], results[:, n:]


class Sampler:
    """Compute the laws of a simulation when they are due. `held` has their torques at the sample times."""

    def __init__(
        self, laws: Sequence[Sampled], problem: Problem, times: np.ndarray, count: int, compiled: bool | None
    ) -> None:
        self.problem, self.times = problem, times
        self.laws = [SampledLaw(law, problem, count, compiled) for law in laws]
        self.held = np.zeros((count, len(times), problem.robot.n))

    @property
    def compiled(self) -> bool:
        """Whether no law runs in Python."""
        return all(law.kernel is not None for law in self.laws)

    def run(
        self,
        trajectories: Trajectories,
        parameters: np.ndarray,
        end: float,
        first_step: float,
        integrate: Callable[[float], None],
    ) -> None:
        """Call `integrate(until)` from instant to instant for the trajectories that are running."""
        column = parameters[:, self.problem.columns["tau"]]  # changed in place
        periods = [part.law.dt for part in self.laws]
        same = INSTANT_TOLERANCE * min(periods)
        for (t, laws), (until, _) in itertools.pairwise(itertools.chain(due_times(periods, end), [(end, [])])):
            which = on_their_way(trajectories)
            q, v = self.problem.split(trajectories.y)
            q, qd = self.problem.normalized(q), np.asarray(self.problem.rates(q, v))
            for k in laws:
                self.laws[k].compute(t, q, qd, which)
            column[:] = sum(part.torques for part in self.laws)
            first, last = np.searchsorted(self.times, (t - same, until - same))
            self.held[:, first : last if until < end else None] = column[:, None]
            advance(trajectories, which, until, min(first_step, until - t), integrate)


def on_their_way(trajectories: Trajectories) -> np.ndarray:
    return np.flatnonzero((trajectories.status == RUNNING) | (trajectories.status == DONE))


def advance(
    trajectories: Trajectories, which: np.ndarray, until: float, first_step: float, integrate: Callable[[float], None]
) -> None:
    """Call `integrate(until)` anew for the trajectories that are still running."""
    trajectories.status[which] = np.where(trajectories.t[which] < until, RUNNING, DONE)
    trajectories.restart(which, first_step)
    if (trajectories.status == RUNNING).any():
        integrate(until)


def due_times(periods: Sequence[float], end: float) -> Iterator[tuple[float, list[int]]]:
    """The sorted instants before the end, each with the laws that are due."""
    same = INSTANT_TOLERANCE * min(periods)

    def instants(law: int) -> Iterator[tuple[float, int]]:
        times = (k * periods[law] for k in itertools.count())
        return ((t, law) for t in itertools.takewhile(lambda t: t < end - same, times))

    t, laws = 0.0, list[int]()
    for time, law in heapq.merge(*map(instants, range(len(periods)))):
        if time - t > same:
            yield t, laws
            t, laws = time, []
        laws.append(law)
    yield t, laws


class HistoryPlayer:
    """Sets the parameters of the right-hand side for each piece of a torque history."""

    def __init__(self, history: TorqueHistory, problem: Problem, batch: tuple[int, ...], fixed: bool) -> None:
        self.history, self.problem, self.batch, self.fixed = history, problem, batch, fixed

    def run(
        self,
        trajectories: Trajectories,
        parameters: np.ndarray,
        end: float,
        first_step: float,
        integrate: Callable[[float], None],
    ) -> None:
        """Call `integrate(until)` from row to row. Adaptive steps first try a full piece, since torques do not jump."""
        knots = [t for t in self.history.t[:-1].tolist() if t < end] + [end]
        for piece, (t, until) in enumerate(itertools.pairwise(knots)):
            for name, value in of_batch(self.history, piece, self.batch).items():
                parameters[:, self.problem.columns[PREFIX + name]] = value.reshape(
                    len(parameters), math.prod(value.shape[len(self.batch) :])
                )
            step = first_step if self.fixed or piece == 0 else until - t
            advance(trajectories, on_their_way(trajectories), until, min(step, until - t), integrate)


def history_of(robot: Robot, torque: Any, interpolation: Interpolation) -> TorqueHistory | None:
    """The history that a torque argument is, as `torque_history`; recordings too."""
    if isinstance(torque, Recording):
        check_robot_of(robot, torque, "the torques")
        if not (np.isfinite(torque.tau).all() or np.all(torque.status == "done")):
            raise ValueError(
                f"torque: the recording has no torques up to its last time: {torque.ends} (expected one that is done;"
                " or times and torques until then, torque=(t, tau))"
            )
        history = torque_history(robot, (torque.t, np.moveaxis(torque.tau, -2, 0)), interpolation)
        return history and replace(history, also=loads_beside(torque))
    return torque_history(robot, torque, interpolation)


def history_or_torque(robot: Robot, torque: Any, interpolation: Interpolation, **loads: Any) -> Any:
    """The torque argument of a simulation with these loads, base and wrench, as a `TorqueHistory` where it is one."""
    history = history_of(robot, torque, interpolation)
    if history is None and interpolation != "cubic":
        raise ValueError(f"interpolation is {interpolation!r} (expected a torque history too: torque=(t, tau))")
    return torque if history is None else with_its_loads(history, **loads)


def check_end(history: TorqueHistory, duration: float) -> None:
    if duration > (1.0 + INSTANT_TOLERANCE) * history.duration:
        raise ValueError(
            f"duration is {duration:.12g} (expected at most {history.duration:.12g}: the torque history ends there)"
        )


def of_batch(history: TorqueHistory, piece: int, batch: tuple[int, ...]) -> dict[str, np.ndarray]:
    """The parameters of a piece, with the axes of the batch in front."""
    values: dict[str, Any] = history.parameters(piece)
    coefficients = np.moveaxis(values["coefficients"], 0, -2)
    values["coefficients"] = np.broadcast_to(coefficients, (*batch, *coefficients.shape[-2:]))
    return {name: np.broadcast_to(x, batch) if np.ndim(x) == 0 else x for name, x in values.items()}
