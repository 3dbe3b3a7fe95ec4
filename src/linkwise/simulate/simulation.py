"""`simulate`: from an initial state to a recording."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from inspect import signature
from typing import Any, NamedTuple, Never

import numpy as np

from .. import api
from ..api.singular import neutral
from ..api.states import States
from ..errors import near_miss
from ..ode.chattering import TOO_FAR, Chattering
from ..ode.interface import Integrator, Task
from ..ode.registry import DEFAULT
from ..ode.registry import integrator as integrator_of
from ..ode.trajectories import Trajectories
from ..recording.recording import FAILED, STATUS, End, EventRecord, Recording
from ..robot import Friction, Robot
from ..trace import refuse_symbols
from .backend import backend_for, freshly_traced
from .breaks import breaks_of, with_breaks
from .events import events_of
from .failure import reason
from .mode_changes import with_mode_changes
from .parameters import PREFIX, called, checked_parameters
from .problem import Problem
from .progress import ProgressCallback
from .sticking import Point
from .traced import TracedFunction

ROOM = 32  # events of each trajectory that machine code logs before Python takes them over
MOST_STEPS = 10_000_000  # of each trajectory, unless its step is fixed
LEAST_RTOL = 100 * float(np.finfo(float).eps)  # below that, the estimate of an error is rounding
FIRST_STEP = 1e-3  # seconds; it grows tenfold a step where it is too small


class SimulationError(RuntimeError):
    """A trajectory could not be integrated to its end; `recording` holds the part before."""

    def __init__(self, message: str, recording: Recording) -> None:
        super().__init__(message)
        self.recording = recording


@dataclass(frozen=True)
class Acting:
    """What acted in a simulation, to compute torques and accelerations at its samples."""

    problem: Problem
    tau: np.ndarray | None
    wrench: np.ndarray | None
    own: dict[str, np.ndarray]  # parameters of the torque function, each with the batch in front

    @property
    def point(self) -> np.ndarray | None:
        return None if self.problem.point is None else np.array(self.problem.point)

    def torques(self, t: np.ndarray, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """At the samples; NaN at those that a trajectory did not reach, for which a function is not called."""
        problem, reached = self.problem, np.isfinite(q).all(axis=-1)
        constant = np.zeros(qd.shape[-1]) if self.tau is None else self.tau[..., None, :]
        torques = np.where(reached[..., None], constant, np.nan)
        if problem.torque is None or not reached.any():
            return torques
        states = np.broadcast_to(t, reached.shape)[reached], q[reached], qd[reached]
        batch = np.nonzero(reached)[:-1]
        own = {
            name: array[batch] if batch else np.broadcast_to(array, (len(states[0]), *array.shape))
            for name, array in self.own.items()
        }
        if isinstance(problem.torque, TracedFunction):
            torques[reached] += problem.torque.at(*states, own)
        else:
            every = enumerate(zip(states[0].tolist(), *states[1:], strict=True))
            rows = [(*row, {name: array[k] for name, array in own.items()}) for k, row in every]
            torques[reached] += np.array([called(problem.torque, problem.robot, *row) for row in rows], dtype=float)
        return torques

    def accelerations(self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> np.ndarray:
        drag = 0.0 if self.problem.friction is None else self.problem.friction.torque(self.problem.robot, qd)
        wrench = None if self.wrench is None else self.wrench[..., None, :]
        if self.wrench is not None and self.problem.wrench is not None and len(self.problem.wrench) == 2:
            wrench = self.wrench[..., None, :, :]
        if self.problem.sticking is not None:
            return self.problem.sticking.accelerations(self.problem.robot, q, qd, tau, wrench)
        return np.asarray(api.forward_dynamics(self.problem.robot, q, qd, tau - drag, wrench, point=self.point))


def simulate(
    arm: Robot,
    q0: Any,
    qd0: Any = None,
    duration: float | None = None,
    torque: Any = None,
    wrench: Any = None,
    *,
    point: Any = None,
    friction: bool | Friction = False,
    coordinates: str = "joint",
    method: str | None = None,
    integrator: str = DEFAULT,
    rtol: float = 1e-8,
    atol: float | None = None,
    samples: Any = 501,
    events: Any = (),
    step: float | None = None,
    max_steps: int | None = None,
    threads: int | None = None,
    compiled: bool | None = None,
    progress: bool | None = None,
    parameters: Mapping[str, Any] | None = None,
    **unknown: Never,
) -> Recording:
    """The motion of the robot from q0 and qd0, at rest without it, over `duration` seconds.

    q0 and qd0 are (..., n): a batch is integrated side by side, every trajectory with steps of its own. `torque` is
    None, an array (..., n) of constant torques, or a function torque(arm, t, q, qd) that gives them; one over `lw`
    pieces is traced, anew at each call, and compiled together with the integrator, any other runs in Python, which is
    slower. It must depend on its arguments alone while a simulation runs. `wrench` is constant, as for
    `forward_dynamics`; `point` is the point of the link at which it acts, (3,) or (n, 3), the same for all
    trajectories. `friction` is the same law as there: True for the robot's own coefficients, or a `Friction`; with
    `Friction(smooth=0)` joints stick. `parameters` are numbers, by name, for what the torque function takes after qd,
    such as torque(arm, t, q, qd, kp): one for all trajectories or, with the batch's axes in front, one for each.

    `integrator` is one of `lw.integrators()`; the error of a step is kept below atol + rtol |y|, where atol is a
    hundredth of rtol if it is not given. "radau" is for stiff springs and friction; it needs SciPy.
    `samples` is how many there are, at equal distances, or the times themselves.
    `events` are functions of (arm, t, q, qd) whose crossing of zero is recorded, `lw.Event`s that may also stop, or
    `lw.joint_limits(arm)`. `step` is the first step, or the step of "rk4". No trajectory makes more than `max_steps`
    steps, refused ones counted: ten million if not given, without a bound for "rk4". Long runs show how far they are on
    a terminal, and with `progress=True` anywhere; Ctrl-C raises `SimulationInterrupted`, which keeps what was computed.

    >>> import linkwise as lw
    >>> fall = lw.simulate(lw.load("planar3"), [0, 0, 0], duration=1.0, rtol=1e-10)
    >>> fall.q.shape, fall.status, bool(abs(fall.imbalance).max() < 1e-8)
    ((501, 3), 'done', True)
    """
    refuse_unknown(unknown)
    scheme = integrator_of(integrator)
    if duration is None:
        given = "" if qd0 is None else f"; the third argument, {qd0!r}, is qd0"
        raise TypeError(f"duration is missing (expected seconds: simulate(arm, q0, duration=2.0){given})")
    numbers = checked_numbers(scheme, duration, rtol, atol, step, max_steps)
    times = sample_times(samples, numbers["duration"])
    constant = None if callable(torque) or torque is None else torque
    arrays = {"q0": q0, "qd0": np.zeros(arm.n) if qd0 is None and isinstance(arm, Robot) else qd0} | (
        {} if constant is None else {"torque": constant}
    )
    states = States(arm, arrays, wrench, True, point=point)
    refuse_symbols(arm)
    if not states.numeric:
        raise TypeError("q0 and qd0 are not plain numbers (expected NumPy arrays or lists of them)")
    full = {name: full_array(states, name) for name in states.arrays}
    own = checked_parameters(torque, parameters, states.batch)
    shapes = tuple((name, array.shape[len(states.batch) :]) for name, array in own.items())
    problem = problem_of(states, full, torque, friction, coordinates, method, events, shapes)
    count = math.prod(states.batch)
    start = problem.initial(full["q0"], full["qd0"]).reshape(count, problem.size)
    constants = [full[name] for name in ("torque", "wrench") if name in full]
    pieces = [x.reshape(count, math.prod(x.shape[len(states.batch) :])) for x in constants]
    if problem.sticking is not None:
        pieces.append(np.zeros((count, arm.n + 1)))  # modes of the joints, and since when
    pieces += [x.reshape(count, math.prod(x.shape[len(states.batch) :])) for x in own.values()]
    constants_of_each = np.concatenate(pieces, axis=1) if pieces else np.zeros((count, 0))
    run = integrated(problem, scheme, start, constants_of_each, times, numbers, threads, compiled, progress)
    acting = Acting(run.problem, full.get("torque"), full.get("wrench"), own)
    recording = recorded(acting, states.batch, times, run.out, run.trajectories, scheme, numbers, run.compiled)
    if not (run.problem.torque is None or isinstance(run.problem.torque, TracedFunction)):
        _ = recording.tau  # asked now: later the function may be another
    if run.interrupted is not None:
        raise SimulationInterrupted(recording) from run.interrupted
    if not states.batch and recording.status in FAILED:
        why = run.given_up.get(0) or reason(run.problem, constants_of_each, run.trajectories, recording)
        raise SimulationError(why, recording)
    return recording


def arguments() -> dict[str, Any]:
    """The names of the arguments of `simulate`, with their defaults."""
    every = signature(simulate).parameters.values()
    return {p.name: p.default for p in every if p.kind is not p.VAR_KEYWORD}


def refuse_unknown(names: Iterable[str]) -> None:
    for name in names:
        known = arguments()
        if name not in known:
            raise TypeError(f"lw.simulate has no argument {name!r}{near_miss(name, known)} (it has {', '.join(known)})")


def problem_of(
    states: States,
    full: dict[str, np.ndarray],
    torque: Any = None,
    friction: bool | Friction = False,
    coordinates: str = "joint",
    method: str | None = None,
    events: Any = (),
    own: tuple[tuple[str, tuple[int, ...]], ...] = (),
) -> Problem:
    return Problem(
        states.robot,
        torque if callable(torque) else None,
        "torque" in full,
        full["wrench"].shape[len(states.batch) :] if "wrench" in full else None,
        Friction.of(friction),
        coordinates,
        method,
        events_of(events),
        torque_parameters=own,
        point=constant_point(states) if "point" in states.arrays else None,
    )


class Run(NamedTuple):
    """What the integration gave: y at the sample times (count, times, size), and where each trajectory is."""

    problem: Problem  # the user's functions in it are those that acted
    out: np.ndarray
    trajectories: Trajectories
    compiled: bool
    interrupted: BaseException | None
    given_up: dict[int, str]  # trajectories in which joints neither stick nor slide, and why


def integrated(
    problem: Problem,
    scheme: Integrator,
    start: np.ndarray,
    parameters: np.ndarray,
    times: np.ndarray,
    numbers: dict[str, float],
    threads: int | None,
    compiled: bool | None,
    progress: bool | None,
) -> Run:
    """From the start (count, size), each trajectory with its row of parameters."""
    end, first_step = numbers["duration"], min(numbers["step"], numbers["duration"])
    out = np.full((len(start), len(times), problem.size), np.nan)
    trajectories = Trajectories(start, first_step, len(problem.crossings), ROOM)
    if times[0] == 0.0:
        out[:, 0] = start
        trajectories.next = 1
    problem, solver, in_code = backend_for(problem, scheme, start, parameters, compiled)
    chattering = None if scheme.fixed else Chattering(numbers["too_far"])
    watch, interrupted = ProgressCallback(end, progress), None
    tolerance = problem.tolerance(numbers["atol"], numbers["rtol"])
    task = Task(
        times, out, parameters, numbers["rtol"], tolerance, numbers["most"], chattering, threads, watch,
    )  # fmt: skip
    groups = breaks_of(problem, start, parameters)

    def integrate() -> None:
        with_breaks(trajectories, groups, end, first_step, lambda until: solver.run(trajectories, task, until))

    given_up: dict[int, str] = {}
    try:
        given_up = with_mode_changes(problem, parameters, trajectories, end, times, out, integrate)
    except KeyboardInterrupt as error:
        interrupted = error
    finally:
        if trajectories.log.size:
            trajectories.empty_logs()
        watch.close()
    return Run(problem, out, trajectories, in_code, interrupted, given_up)


def checked_numbers(
    scheme: Integrator, duration: Any, rtol: Any, atol: Any = None, step: Any = None, max_steps: Any = None
) -> dict[str, float]:
    numbers = checked(duration=duration, rtol=rtol, step=FIRST_STEP if step is None else step)
    if numbers["rtol"] < LEAST_RTOL:
        raise ValueError(f"rtol is {rtol!r} (expected at least {LEAST_RTOL:.3g}: less is lost in rounding)")
    if max_steps is None:
        numbers["most"], numbers["too_far"] = math.inf if scheme.fixed else MOST_STEPS, TOO_FAR
    elif isinstance(max_steps, bool) or not isinstance(max_steps, (int, np.integer)):
        raise TypeError(f"max_steps is {max_steps!r} (expected a whole number, or None)")
    elif max_steps < 1:
        raise ValueError(f"max_steps is {max_steps} (expected at least 1)")
    else:
        numbers["most"] = numbers["too_far"] = int(max_steps)
    numbers["atol"] = numbers["rtol"] / 100 if atol is None else checked(atol=atol)["atol"]
    if scheme.fixed and step is None:
        raise ValueError(f"integrator {scheme.name!r} has no step of its own (expected step=...)")
    return numbers


class SimulationInterrupted(KeyboardInterrupt):
    """Ctrl-C during a simulation; `recording` holds what was computed until then."""

    def __init__(self, recording: Recording) -> None:
        super().__init__(f"interrupted: {recording!r} is kept as .recording of this exception")
        self.recording = recording


def checked(**numbers: Any) -> dict[str, float]:
    positive = {}
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
            raise TypeError(f"{name} is {value!r} (expected a number)")
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"{name} is {value!r} (expected a finite number above 0)")
        positive[name] = float(value)
    return positive


def sample_times(samples: Any, end: float) -> np.ndarray:
    if isinstance(samples, (int, np.integer)) and not isinstance(samples, bool):
        if samples < 2:
            raise ValueError(f"samples is {samples} (expected at least 2, or an array of times)")
        return even_times(int(samples), end).copy()
    times = np.array(samples, dtype=float, order="C")
    if times.ndim != 1 or not times.size:
        raise ValueError(f"samples has shape {times.shape} (expected a number of samples, or an array of times)")
    if not (np.isfinite(times).all() and (np.diff(times) > 0).all() and times[0] >= 0 and times[-1] <= end):
        raise ValueError(f"samples are not increasing times from 0 to {end:g}")
    return times


@lru_cache(maxsize=16)
def even_times(samples: int, end: float) -> np.ndarray:
    return np.linspace(0.0, end, samples)


def full_array(states: States, name: str) -> np.ndarray:
    array = states.own(name)
    shape = (*states.batch, *dict(states.acting).get(name, (states.robot.size_of(name),)))
    return (array if array.shape == shape else np.broadcast_to(array, shape)).astype(float)


def constant_point(states: States) -> Point:
    """Where the wrench acts: numbers that are the same for all trajectories."""
    point, own = states.own("point"), dict(states.acting)["point"]
    if point.shape != own:
        raise ValueError(f"point has shape {point.shape} (expected {own}: one for all trajectories)")
    return tuple(tuple(x) if isinstance(x, list) else x for x in point.tolist())


def prepared(
    arm: Robot,
    torque: Any = None,
    wrench: Any = None,
    *,
    point: Any = None,
    integrator: str = DEFAULT,
    parameters: Mapping[str, Any] | None = None,
    **options: Any,
) -> Problem:
    """What `simulate` would integrate with these options, its functions frozen and its code compiled."""
    constant = {} if callable(torque) or torque is None else {"torque": torque}
    states = States(arm, {"q0": neutral(arm), **constant}, wrench, True, point=point)
    refuse_symbols(arm)
    full = {name: full_array(states, name) for name in states.arrays}
    names = ("friction", "coordinates", "method", "events")
    own = {name: np.asarray(array) for name, array in checked_parameters(torque, parameters, ()).items()}
    shapes = tuple((name, array.shape) for name, array in own.items())
    given = {name: options[name] for name in names if name in options}
    problem = problem_of(states, full, torque, **given, own=shapes)
    start = problem.initial(neutral(arm), np.zeros(arm.n))[None]
    row = np.zeros((1, sum(math.prod(each.shape) for each in problem.parameters.values())))
    for name, array in own.items():
        row[0, problem.columns[PREFIX + name]] = array.ravel()
    traced = freshly_traced(problem, start, row, None)
    return backend_for(traced, integrator_of(integrator), start, row, None).problem


def recorded(
    acting: Acting,
    batch: tuple[int, ...],
    times: np.ndarray,
    out: np.ndarray,
    now: Trajectories,
    scheme: Integrator,
    numbers: dict[str, float],
    compiled: bool,
) -> Recording:
    problem = acting.problem
    shaped = out.reshape((*batch, len(times), problem.size))
    q, v = problem.split(shaped)
    each: dict[str, Any] = {"reached": now.t, "steps": now.steps, "rejected": now.rejected}
    each["evaluations"] = scheme.evaluations(now)
    each = {name: column.copy().reshape(batch) if batch else column.item() for name, column in each.items()}
    words = [STATUS[code] for code in now.status.tolist()]
    each["status"] = np.array(words).reshape(batch) if batch else words[0]
    records = [event_records(problem, now, k) for k in range(len(now.met))] if problem.events else []
    work, heat = (shaped[..., problem.rest + k].copy() if problem.has_energy_balance else None for k in range(2))
    return Recording(
        problem.robot,
        times,
        problem.normalized(q),
        problem.rates(q, v.copy()),
        integrator=scheme.name,
        rtol=numbers["rtol"],
        atol=numbers["atol"],
        compiled=compiled,
        work=work,
        heat=heat,
        acting=acting,
        events=shaped_list(records, batch) if problem.events else (),
        end=end_of(problem, now.y.reshape((*batch, problem.size))),
        **each,
    )


def end_of(problem: Problem, y: np.ndarray) -> End:
    q, v = problem.split(y)
    work_heat = [y[..., problem.rest + k].copy() if problem.has_energy_balance else None for k in range(2)]
    return End(problem.normalized(q), problem.rates(q, v.copy()), *work_heat)


def event_records(problem: Problem, now: Trajectories, k: int) -> tuple[EventRecord, ...]:
    """The events of one trajectory."""
    records = []
    for t, which, *state in now.met[k]:
        q, v = problem.split(np.array(state))
        names = tuple(event.name for e, event in enumerate(problem.events) if int(which) >> e & 1)
        records.append(EventRecord(float(t), names, problem.normalized(q), np.asarray(problem.rates(q, v))))
    return tuple(records)


def shaped_list(values: list[Any], batch: tuple[int, ...]) -> Any:
    """Nested tuples of the batch's shape."""
    if not batch:
        return values[0]
    size = len(values) // batch[0] if batch[0] else 0
    return tuple(shaped_list(values[i * size : (i + 1) * size], batch[1:]) for i in range(batch[0]))
