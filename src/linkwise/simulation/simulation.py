"""`simulate`: from an initial state to a recording."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal, Never

import numpy as np

from ..api.call import COMPONENTS, BaseMotion
from ..api.functions import forward_dynamics
from ..api.states import Array, ComponentAxes
from ..api.wrenches import constant_loads
from ..control.drives import TorqueFunction
from ..control.events import Event, EventFunction
from ..errors import SimulationError, SimulationInterrupted
from ..kernels.target import target_by_name
from ..ode.driver import SHORTEST_AT_0
from ..ode.interface import Integrator
from ..ode.lanes import (
    CHATTERING,
    DONE,
    NOT_FINITE,
    RUNNING,
    STEP_TOO_SMALL,
    STOPPED,
    TOO_MANY_STEPS,
    WINDOW,
    Trajectories,
)
from ..ode.registry import DEFAULT
from ..ode.registry import integrator as integrator_of
from ..printing import warn
from ..recording.recording import FAILED, STATUS, End, EventRecord, Recording
from ..robot import Friction, Robot, WrenchFrames
from ..trajectories.torque_history import History, Interpolation, TorqueHistory
from .base_motions import MotionOfTime, motion_at, warn_of_other_rates
from .equations import SimulationMotion
from .friction_steps import SUPPRESSED, warn_of_long_steps
from .integration import Run, integrate_problem
from .parameters import call_torque
from .preparation import check_numbers, prepare, refuse_others, sample_times
from .problem import Coordinates, Problem
from .sampling import HistoryPlayer, check_end, history_or_torque
from .small_motions import warning_text
from .traced_functions import TracedFunction

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


CODES = DONE, RUNNING, STEP_TOO_SMALL, NOT_FINITE, STOPPED, TOO_MANY_STEPS, CHATTERING
STATUS_OF = dict(zip(CODES, STATUS, strict=True))

JUMPS = (
    " If a torque jumps there (np.sign, a comparison): lw.Friction(smooth=...) or another smooth function instead of"
    " np.sign, lw.Friction(smooth=0) for joints that stick, lw.control.sampled(law, 0.001) for a controller with steps,"
    " or integrator='rk4' with dt=..."
)
REMEDIES = {
    STEP_TOO_SMALL: f"{JUMPS}.",
    CHATTERING: f"{JUMPS}; max_steps=... to go on all the same.",
    TOO_MANY_STEPS: f"{JUMPS}; integrator='radau' for stiff springs and friction; or max_steps=... for a longer run.",
}


def duration_hint(h: float, duration: float) -> str:
    """A hint if a step is too small only in comparison with the duration."""
    if not h < SHORTEST_AT_0 * duration:
        return ""
    return f", below {SHORTEST_AT_0:g} of the {duration:g} s to simulate (expected a shorter duration)"


def failure_message(problem: Problem, parameters: np.ndarray, trajectories: Trajectories, recording: Recording) -> str:
    """The reason why a trajectory ended early, with the joint, the time and the state."""
    robot, status, h = problem.robot, int(trajectories.status[0]), float(trajectories.h[0])
    q, v = problem.split(trajectories.y[0])
    where = f"robot {robot.name!r} at t = {trajectories.t[0]:.9g} s, q = {q.tolist()}, qd = "
    rhs = problem.plain_rhs(parameters)
    try:
        rates = problem.rates(q, v)
        where += f"{np.asarray(rates).tolist()}"
        with np.errstate(all="ignore"):
            here = rhs(trajectories.t, trajectories.y)
            there = rhs(trajectories.t + h, trajectories.y + h * here)
    except (ValueError, ArithmeticError) as error:
        return f"{where}: {error}"
    here, there = problem.split(here[0])[1], problem.split(there[0])[1]
    jump = np.abs(there - here)
    worst = int(np.argmax(np.where(np.isfinite(jump), jump, np.inf)))
    if 0 in trajectories.chattering:
        component = trajectories.chattering[0] - robot.nq
        worst = component if 0 <= component < robot.n else worst
    tried = int(trajectories.steps[0] + trajectories.rejected[0])
    what = {
        NOT_FINITE: "a number is no longer finite",
        STEP_TOO_SMALL: f"the step shrank to {h:.3g} s{duration_hint(h, float(recording.t[-1]))}",
        TOO_MANY_STEPS: f"{tried} steps were tried, as many as max_steps allows, the last of {h:.3g} s",
        CHATTERING: f"in {WINDOW} steps of about {h:.3g} s the direction kept reversing; the run would not end",
        RUNNING: "it was stopped",
        DONE: "it is done",
    }[status]
    return (
        f"{where}: {what}; joint of link {robot.v_names[worst]!r} moves at {rates[worst]:.6g} and accelerates at"
        f" {here[worst]:.6g}, {h:.3g} s later at {there[worst]:.6g}.{REMEDIES.get(status, '')}"
        f" The recording until then is in `.recording` of this error ({len(recording.t)} samples)"
    )


@dataclass(frozen=True)
class AppliedTorques:
    """The torques and wrench of a simulation, from which those at its samples and accelerations are computed."""

    problem: Problem
    tau: np.ndarray | None
    wrench: np.ndarray | None
    torque_parameters: dict[str, np.ndarray]  # parameters of the torque function, each with the batch in front
    held: np.ndarray | None = None  # torques of sampled laws at the samples, with the batch in front
    samples: np.ndarray | None = None  # their times
    history: TorqueHistory | None = None  # instead of a function

    @property
    def point(self) -> np.ndarray | WrenchFrames | None:
        point = self.problem.point
        return point if point is None or isinstance(point, WrenchFrames) else np.array(point)

    def known_torques(self, t: np.ndarray) -> np.ndarray | float:
        """Those of a history, or of sampled laws since their last sample; t may end between two samples."""
        if self.history is not None:
            return self.history.at(t)
        if self.held is None or self.samples is None:
            return 0.0
        return self.held[..., np.searchsorted(self.samples, t, side="right") - 1, :]

    def torques(self, t: np.ndarray, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """The torques at the samples; NaN at samples that a trajectory did not reach."""
        problem, reached = self.problem, np.isfinite(q).all(axis=-1)
        constant = np.zeros(qd.shape[-1]) if self.tau is None else self.tau[..., None, :]
        torques = np.where(reached[..., None], constant + self.known_torques(t), np.nan)
        if problem.torque is None or self.history is not None or not reached.any():
            return torques
        states = np.broadcast_to(t, reached.shape)[reached], q[reached], qd[reached]
        batch = np.nonzero(reached)[:-1]
        values = {
            name: array[batch] if batch else np.broadcast_to(array, (len(states[0]), *array.shape))
            for name, array in self.torque_parameters.items()
        }
        if isinstance(problem.torque, TracedFunction):
            torques[reached] += problem.torque.values_at(*states, values)
        else:
            every = enumerate(zip(states[0].tolist(), *states[1:], strict=True))
            rows = [(*row, {name: array[k] for name, array in values.items()}) for k, row in every]
            # copied row by row: the function may reuse one array for its results
            given = [np.array(call_torque(problem.torque, problem.robot, *row), dtype=float) for row in rows]
            torques[reached] += np.array(given)
        return torques

    def base_motion(self, t: np.ndarray) -> BaseMotion | None:
        """The motion of the base at these times, (times, 3)."""
        robot = self.problem.robot
        return motion_at(self.problem.base, robot, t, np.zeros((len(t), robot.nq)), np.zeros((len(t), robot.n)))

    def accelerations(self, t: np.ndarray, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> np.ndarray:
        friction = self.problem.friction
        drag = 0.0 if friction is None else friction.torque(self.problem.robot, qd, applied=tau)
        robot, base = self.problem.robot, self.base_motion(t)
        if self.problem.sticking is None:
            loads = constant_loads(self.wrench, self.point, q.ndim - 2)
            return np.asarray(forward_dynamics(robot, q, qd, tau - drag, base=base, **loads))
        if base is not None:
            parts = (np.broadcast_to(getattr(base, name), (*q.shape[:-1], 3)) for name in COMPONENTS)
            base = BaseMotion(*(part.reshape(-1, 3) for part in parts))
        wrench = self.wrench
        if wrench is not None:
            wrench = wrench[..., None, :] if self.problem.wrench == (6,) else wrench[..., None, :, :]
        return self.problem.sticking.accelerations(robot, q, qd, tau, wrench, base)


def make_recording(
    acting: AppliedTorques,
    batch: tuple[int, ...],
    times: np.ndarray,
    run: Run,
    scheme: Integrator,
    numbers: dict[str, float],
) -> Recording:
    problem, now = acting.problem, run.trajectories
    shaped = run.out.reshape((*batch, len(times), problem.size))
    q, v = (part.copy() for part in problem.split(shaped))
    each: dict[str, Any] = {"reached": now.t, "steps": now.steps, "rejected": now.rejected}
    each["evaluations"] = scheme.evaluations(now)
    each = {name: column.copy().reshape(batch) if batch else column.item() for name, column in each.items()}
    words = [STATUS_OF[code] for code in now.status.tolist()]
    each["status"] = np.array(words).reshape(batch) if batch else words[0]
    records = [event_records(problem, now, k) for k in range(len(now.met))] if problem.events else []
    work, heat = (shaped[..., problem.rest + k].copy() if problem.has_energy_balance else None for k in range(2))
    return Recording(
        problem.robot,
        times,
        problem.normalized(q),
        problem.rates(q, v),
        integrator=scheme.name,
        rtol=numbers["rtol"],
        atol=numbers.get("atol", numbers["rtol"] / 100),
        compiled=run.compiled,
        work=work,
        heat=heat,
        acting=acting,
        events=nest(records, batch) if problem.events else (),
        end=end_state(problem, now.y.copy().reshape((*batch, problem.size))),
        **each,
    )


def end_state(problem: Problem, y: np.ndarray) -> End:
    (q, v), rest = problem.split(y), problem.rest
    work_heat = (y[..., rest], y[..., rest + 1]) if problem.has_energy_balance else (None, None)
    return End(problem.normalized(q), problem.rates(q, v), *work_heat)


def event_records(problem: Problem, now: Trajectories, k: int) -> tuple[EventRecord, ...]:
    """The events of one trajectory."""
    records = []
    for t, which, *state in now.met[k]:
        q, v = problem.split(np.array(state))
        names = tuple(event.name for e, event in enumerate(problem.events) if int(which) >> e & 1)
        records.append(EventRecord(float(t), names, problem.normalized(q), np.asarray(problem.rates(q, v))))
    return tuple(records)


def nest(values: list[Any], batch: tuple[int, ...]) -> Any:
    """Nest a list into tuples of the batch's shape."""
    if not batch:
        return values[0]
    size = len(values) // batch[0] if batch[0] else 0
    return tuple(nest(values[i * size : (i + 1) * size], batch[1:]) for i in range(batch[0]))


def simulate(
    robot: Robot,
    q0: Array,
    qd0: Array | None = None,
    duration: float | None = None,
    torque: Array | TorqueFunction | History | Recording | None = None,
    wrench: Array | Mapping[str, Array] | None = None,
    *,
    interpolation: Interpolation = "cubic",
    point: Array | None = None,
    axes: ComponentAxes = "base",
    friction: bool | Friction = False,
    base: BaseMotion | MotionOfTime | None = None,
    coordinates: Coordinates = "joint",
    method: str | None = None,
    integrator: str = DEFAULT,
    rtol: float = 1e-8,
    atol: float | None = None,
    samples: int | ArrayLike = 501,
    events: Event | EventFunction | Iterable[Event | EventFunction] = (),
    dt: float | None = None,
    first_step: float | None = None,
    max_steps: int | None = None,
    threads: int | None = None,
    compiled: bool | None = None,
    progress: bool | None = None,
    parameters: Mapping[str, Array] | None = None,
    target: Literal["cpu", "cuda"] = "cpu",
    **unknown: Never,
) -> Recording:
    """Integrate the motion of a robot from q0 and qd0 over `duration` seconds.

    Parameters
    ----------
    robot : Robot
    q0, qd0 : array_like, (..., nq) and (..., n)
        Start in rad, m and rad/s, m/s; qd0 is zero by default. Each trajectory of a batch has its own steps.
    duration : float
        Seconds; with a torque history by default its length.
    torque : array_like, (..., n), or callable, or history, optional
        Constant torques, or torque(robot, t, q, qd). A function written with `lw` is traced at each call and compiled
        with the integrator; any other runs in Python, slower. Laws with memory are `lw.control.sampled`. A torque
        history is a pair of times (k,) and torques (k, n) or (k, ..., n), `Loads`, a `Recording`, or a table or .csv
        file with the columns t, tau1, ...
    interpolation : {"cubic", "held"}
        Torques between the rows of a history: by cubic splines, or those of the row before.
    wrench, point, axes : mapping or array_like, (..., 6) or (..., m, 6); (3,) or (m, 3); optional
        Constant external wrenches, by frame or in an array, and where an array acts, as for `inverse_dynamics`; the
        point is one for all trajectories.
    friction : bool or Friction
        True takes the robot's own coefficients. With `Friction(smooth=0)` joints stick.
    base : BaseMotion or callable, optional
        Prescribed motion of the base in its own axes, one for all trajectories: constant, or a function of t that
        returns one. Gravity stays `robot.gravity` in these axes. The work of inertia forces is part of the work.
    coordinates : {"joint", "normalized", "unnormalized"}
        The velocities that are integrated: joint rates, or quasi-velocities.
    method, integrator : str, optional
        One of `lw.methods(lw.forward_dynamics)` and of `lw.methods(lw.simulate)`; "radau" is for stiff systems.
    rtol, atol : float, optional
        The error of a step stays below atol + rtol |y|. By default atol is rtol / 100, less for displacements of
        robots smaller than 0.1 m (docs/simulation.md).
    samples : int or array_like, (times,)
        The number of samples at equal distances, or their times.
    events : Event, callable(robot, t, q, qd), or sequence of them
        Zero crossings to record; an `lw.Event` may stop the trajectory.
    dt, first_step : float, optional
        Seconds: dt for every step of "rk4"; first_step for the first step of the other integrators.
    max_steps : int, optional
        Maximum number of steps of a trajectory, rejected ones included: ten million, for "rk4" no limit.
    threads : int, optional
    compiled : bool, optional
        True: an error if it cannot be compiled; False: run in Python.
    progress : bool, optional
        By default long runs show their progress on a terminal.
    parameters : mapping from str to array_like, optional
        Numbers for arguments of the torque function after qd. An array is for all trajectories, unless it is
        `lw.per_trajectory(array)`.
    target : {"cpu", "cuda"}
        "cuda" integrates each trajectory in a GPU thread. Results equal those of the CPU bit for bit.

    Returns
    -------
    Recording

    Raises
    ------
    SimulationError
        One trajectory did not reach its end; the error holds the recording until then. A batch has `.status` instead.
    SimulationInterrupted
        Ctrl-C; the error holds the recording until then.

    Examples
    --------
    >>> import linkwise as lw
    >>> fall = lw.simulate(lw.load("planar3"), [0, 0, 0], duration=1.0, rtol=1e-10)
    >>> fall.q.shape, fall.status, bool(abs(fall.imbalance).max() < 1e-8)
    ((501, 3), 'done', True)
    """
    if unknown:
        refuse_unknown(unknown)
    scheme = integrator_of(integrator)
    machine = target_by_name(target)
    machine.check_run(threads)
    torque = history_or_torque(robot, torque, interpolation, base=base, wrench=wrench)
    if duration is None and isinstance(torque, TorqueHistory):
        duration = torque.duration
    if duration is None:
        given = "" if qd0 is None else f"; the third argument, {qd0!r}, is qd0"
        raise TypeError(f"duration is missing (expected seconds: simulate(robot, q0, duration=2.0){given})")
    numbers = check_numbers(scheme, duration, rtol, atol, dt, first_step, max_steps)
    times = sample_times(samples, numbers["duration"])
    if isinstance(torque, TorqueHistory):
        check_end(torque, numbers["duration"])
    inputs = prepare(
        robot, q0, qd0, torque, wrench, point=point, axes=axes, friction=friction, coordinates=coordinates,
        method=method, events=events, parameters=parameters, base=base,
    )  # fmt: skip
    if scheme.fixed and inputs.problem.friction is not None:
        warn_of_long_steps(robot, inputs.problem.friction, min(numbers["step"], numbers["duration"]), integrator)
    player = HistoryPlayer(inputs.history, inputs.problem, inputs.batch, scheme.fixed) if inputs.history else None
    run = integrate_problem(
        inputs.problem, scheme, inputs.start, inputs.parameters, times, numbers, threads, compiled, progress,
        inputs.laws, machine, player,
    )  # fmt: skip
    held = None if run.held is None else run.held.reshape((*inputs.batch, *run.held.shape[1:]))
    acting = AppliedTorques(
        run.problem, inputs.tau, inputs.wrench, inputs.torque_parameters, held, times, inputs.history
    )
    recording = make_recording(acting, inputs.batch, times, run, scheme, numbers)
    if not (run.problem.torque is None or isinstance(run.problem.torque, TracedFunction)):
        _ = recording.tau  # computed now: the function may change later
    if not (run.problem.base is None or isinstance(run.problem.base, TracedFunction)):
        _ = recording.base, recording.qdd
    if run.interrupted is not None:
        raise SimulationInterrupted(recording) from run.interrupted
    warn_of_other_rates(run.problem.base, robot, numbers["duration"])
    if not SUPPRESSED.get():
        states = (inputs.start[:, None], run.trajectories.y[:, None], run.out)
        if message := warning_text(robot, integrator, atol, *(y[..., : inputs.problem.rest] for y in states)):
            warn(message)
    if not inputs.batch and recording.status in FAILED:
        why = run.given_up.get(0) or failure_message(run.problem, inputs.parameters, run.trajectories, recording)
        raise SimulationError(why, recording)
    return recording


simulate.motion = SimulationMotion()  # type: ignore[attr-defined]


def arguments() -> dict[str, Any]:
    """The arguments of `simulate` with their defaults."""
    every = signature(simulate).parameters.values()
    return {p.name: p.default for p in every if p.kind is not p.VAR_KEYWORD}


def refuse_unknown(names: Iterable[str], function: str = "lw.simulate", without: Sequence[str] = ()) -> None:
    """Raise a TypeError if a name is not an argument of `simulate`, or of a function that has all but some of them."""
    refuse_others(names, function, [argument for argument in arguments() if argument not in without])
