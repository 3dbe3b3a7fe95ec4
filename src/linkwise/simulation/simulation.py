"""`simulate`: from an initial state to a recording."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal, Never

from ..api.call import BaseMotion
from ..api.states import Array
from ..control.drives import TorqueFunction
from ..control.events import Event, EventFunction
from ..errors import SimulationError, SimulationInterrupted
from ..kernels.target import target_by_name
from ..ode.registry import DEFAULT
from ..ode.registry import integrator as integrator_of
from ..printing import warn
from ..recording.recording import FAILED, Recording
from ..robot import Friction, Robot
from ..trajectories.torque_history import History, Interpolation, TorqueHistory
from .base_motions import MotionOfTime
from .equations import SimulationMotion
from .friction_steps import SUPPRESSED, warn_of_long_steps
from .histories import HistoryPlayer, check_end, history_or_torque
from .integration import integrate_problem
from .preparation import check_numbers, prepare, refuse_others, sample_times
from .problem import Coordinates
from .recordings import AppliedTorques, failure_message, make_recording
from .small_motions import warning_text
from .traced_functions import TracedFunction

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def simulate(
    robot: Robot,
    q0: Array,
    qd0: Array | None = None,
    duration: float | None = None,
    torque: Array | TorqueFunction | History | None = None,
    wrench: Array | None = None,
    *,
    interpolation: Interpolation = "cubic",
    point: Array | None = None,
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
        Constant torques, or torque(robot, t, q, qd). A function over `lw` pieces is traced at each call and compiled
        with the integrator; any other runs in Python, slower. Laws with memory are `lw.control.sampled`. A torque
        history is a pair of times (k,) and torques (k, n) or (k, ..., n), `Loads`, or a .csv file.
    interpolation : {"cubic", "held"}
        Torques between the rows of a history: by cubic splines, or those of the row before.
    wrench, point : array_like, (..., 6) or (..., m, 6); (3,) or (m, 3), optional
        Constant external wrench and where it acts, as for `inverse_dynamics`; the point is one for all trajectories.
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
        Most steps of a trajectory, rejected ones included: ten million, for "rk4" no limit.
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
    refuse_unknown(unknown)
    scheme = integrator_of(integrator)
    machine = target_by_name(target)
    machine.check_run(threads)
    torque = history_or_torque(robot, torque, interpolation)
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
        robot, q0, qd0, torque, wrench, point=point, friction=friction, coordinates=coordinates, method=method,
        events=events, parameters=parameters, base=base,
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
        run.problem, inputs.tau, inputs.wrench, inputs.torque_parameters, held, inputs.history is not None
    )
    recording = make_recording(acting, inputs.batch, times, run, scheme, numbers)
    if not (run.problem.torque is None or isinstance(run.problem.torque, TracedFunction)):
        _ = recording.tau  # computed now: the function may change later
    if not (run.problem.base is None or isinstance(run.problem.base, TracedFunction)):
        _ = recording.qdd
    if run.interrupted is not None:
        raise SimulationInterrupted(recording) from run.interrupted
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
