"""`simulate`: from an initial state to a recording."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from inspect import signature
from typing import Any, Never

from ..errors import SimulationError, SimulationInterrupted
from ..kernels.target import target_by_name
from ..ode.registry import DEFAULT
from ..ode.registry import integrator as integrator_of
from ..printing import warn
from ..recording.recording import FAILED, Recording
from ..robot import Friction, Robot
from .equations import SimulationMotion
from .friction_steps import SUPPRESSED, warn_of_long_steps
from .integration import integrate_problem
from .preparation import check_numbers, prepare, refuse_others, sample_times
from .recordings import AppliedTorques, failure_message, make_recording
from .small_motions import warning_text
from .traced_functions import TracedFunction


def simulate(
    robot: Robot,
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
    dt: float | None = None,
    first_step: float | None = None,
    max_steps: int | None = None,
    threads: int | None = None,
    compiled: bool | None = None,
    progress: bool | None = None,
    parameters: Mapping[str, Any] | None = None,
    target: str = "cpu",
    **unknown: Never,
) -> Recording:
    """The motion of the robot from q0 and qd0, at rest without it, over `duration` seconds.

    q0 and qd0 are (..., n): a batch is integrated side by side, every trajectory with steps of its own. `torque` is
    None, an array (..., n) of constant torques, or a function torque(robot, t, q, qd) that gives them; one over `lw`
    pieces is traced, anew at each call, and compiled together with the integrator, any other runs in Python, which is
    slower. It must depend on its arguments alone while a simulation runs; laws with a memory, and laws that a computer
    runs at equal times, are `lw.control.sampled`. `wrench` is constant, as for `inverse_dynamics`: (..., 6) on the tip
    or (..., m, 6) on every link of m, beside a batch (1, m, 6) where they are the same for all trajectories; `point` is
    the point of the link at which it acts, (3,) or (m, 3), the same for all trajectories. `friction` is the same law as
    there: True for the robot's own coefficients, or a `Friction`; with `Friction(smooth=0)` joints stick. `parameters`
    are numbers, by name, for what the torque function takes after qd, such as torque(robot, t, q, qd, kp): an array is
    for all trajectories as it stands; `lw.per_trajectory(array)` has the batch's axes in front, a value for each.

    `integrator` is one of `lw.methods(lw.simulate)`; the error of a step is kept below atol + rtol |y|. `atol` is a
    number for radians, metres, rates and joules alike; if it is not given it is a hundredth of rtol, of displacements
    of robots smaller than 0.1 m less (docs/simulation.md). "radau" is for stiff springs and friction; it needs SciPy.
    `samples` is how many there are, at equal distances, or the times themselves.
    `events` are functions of (robot, t, q, qd) whose crossing of zero is recorded, `lw.Event`s that may also stop, or
    `lw.control.joint_limits(robot)`. `first_step` is the length of the first step; with "rk4" `dt` is that
    of every step. No trajectory makes more than `max_steps` steps, refused ones counted: ten million if not given,
    without a bound for "rk4". Long runs show how far they are on a terminal, and with `progress=True` anywhere; Ctrl-C
    raises `SimulationInterrupted`, which keeps what was computed. With `target="cuda"` a GPU integrates each trajectory
    in a thread, with the same bits.

    >>> import linkwise as lw
    >>> fall = lw.simulate(lw.load("planar3"), [0, 0, 0], duration=1.0, rtol=1e-10)
    >>> fall.q.shape, fall.status, bool(abs(fall.imbalance).max() < 1e-8)
    ((501, 3), 'done', True)
    """
    refuse_unknown(unknown)
    scheme = integrator_of(integrator)
    machine = target_by_name(target)
    machine.check_run(threads)
    if duration is None:
        given = "" if qd0 is None else f"; the third argument, {qd0!r}, is qd0"
        raise TypeError(f"duration is missing (expected seconds: simulate(robot, q0, duration=2.0){given})")
    numbers = check_numbers(scheme, duration, rtol, atol, dt, first_step, max_steps)
    times = sample_times(samples, numbers["duration"])
    inputs = prepare(
        robot, q0, qd0, torque, wrench, point=point, friction=friction, coordinates=coordinates, method=method,
        events=events, parameters=parameters,
    )  # fmt: skip
    if scheme.fixed and inputs.problem.friction is not None:
        warn_of_long_steps(robot, inputs.problem.friction, min(numbers["step"], numbers["duration"]), integrator)
    run = integrate_problem(
        inputs.problem, scheme, inputs.start, inputs.parameters, times, numbers, threads, compiled, progress,
        inputs.laws, machine,
    )  # fmt: skip
    held = None if run.held is None else run.held.reshape((*inputs.batch, *run.held.shape[1:]))
    acting = AppliedTorques(run.problem, inputs.tau, inputs.wrench, inputs.own, held)
    recording = make_recording(acting, inputs.batch, times, run, scheme, numbers)
    if not (run.problem.torque is None or isinstance(run.problem.torque, TracedFunction)):
        _ = recording.tau  # asked now: later the function may be another
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
    """The names of the arguments of `simulate`, with their defaults."""
    every = signature(simulate).parameters.values()
    return {p.name: p.default for p in every if p.kind is not p.VAR_KEYWORD}


def refuse_unknown(names: Iterable[str], function: str = "lw.simulate", without: Sequence[str] = ()) -> None:
    """Raise an error for a name that is no argument of `simulate`, or of another function that has most of them."""
    refuse_others(names, function, [argument for argument in arguments() if argument not in without])
