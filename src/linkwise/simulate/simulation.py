"""`simulate`: from an initial state to a recording."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .. import edge
from ..edge.arrays import States
from ..render.llvm_lanes import CHATTERING, DONE, LOST, RUNNING, STUCK, TOO_MANY
from ..render.llvm_stages import Method
from ..robot import Friction, Robot
from .chattering import TOO_FAR, WINDOW, Bounds, Chattering
from .events import Happening, events_of
from .implicit import ImplicitMachine, run_implicit
from .machine import MachineIntegrator
from .plain import Integrator, Progress
from .problem import Problem
from .progress import Watch
from .recording import FAILED, STATUS, Recording
from .stretches import follow
from .tableaux import DEFAULT, RADAU
from .tableaux import method as tableau

ROOM = 32  # events of each trajectory that machine code logs before Python takes them over
MOST_STEPS = 10_000_000  # of each trajectory, unless its step is fixed
LEAST_RTOL = 100 * float(np.finfo(float).eps)  # below that, the estimate of an error is rounding
FIRST_STEP = 1e-3  # seconds; it grows tenfold a step where it is too small


class SimulationError(RuntimeError):
    """A trajectory could not be followed to its end; `recording` holds it as far as it went."""

    def __init__(self, message: str, recording: Recording) -> None:
        super().__init__(message)
        self.recording = recording


@dataclass(frozen=True)
class Acting:
    """What acted in a simulation, to be asked again at its samples."""

    problem: Problem
    tau: np.ndarray | None
    wrench: np.ndarray | None

    def torques(self, t: np.ndarray, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        given = np.zeros(q.shape[-1]) if self.tau is None else self.tau[..., None, :]
        found = np.broadcast_to(given, q.shape).copy()
        if self.problem.torque is not None:
            for index in np.ndindex(q.shape[:-1]):
                time = float(t[index[-1]])
                found[index] += np.asarray(self.problem.torque(self.problem.robot, time, q[index], qd[index]), float)
        return found

    def accelerations(self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> np.ndarray:
        drag = 0.0 if self.problem.friction is None else self.problem.friction.torque(self.problem.robot, qd)
        wrench = None if self.wrench is None else self.wrench[..., None, :]
        if self.wrench is not None and self.problem.wrench is not None and len(self.problem.wrench) == 2:
            wrench = self.wrench[..., None, :, :]
        if self.problem.sticking is not None:
            return self.problem.sticking.accelerations(self.problem.robot, q, qd, tau, wrench)
        return np.asarray(edge.forward_dynamics(self.problem.robot, q, qd, tau - drag, wrench))


def simulate(
    arm: Robot,
    q0: Any,
    qd0: Any,
    duration: float,
    torque: Any = None,
    wrench: Any = None,
    *,
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
) -> Recording:
    """The motion of the robot from q0 and qd0 over `duration` seconds.

    q0 and qd0 are (..., n): a batch is integrated side by side, every trajectory with steps of its own. `torque` is
    None, an array (..., n) of constant torques, or a function torque(arm, t, q, qd) that gives them; one over `lw`
    pieces is compiled together with the integrator, any other runs in Python, which is slower. `wrench` is constant, as
    for `forward_dynamics`. `friction` is the same law as there: True for the robot's
    own coefficients, or a `Friction`; with `Friction(smooth=0)` joints stick.

    `integrator` is one of `lw.integrators()`; the error of a step is kept below atol + rtol |y|, where atol is a
    hundredth of rtol if it is not given. "radau" is for stiff springs and friction; it needs SciPy.
    `samples` is how many there are, at equal distances, or the times themselves.
    `events` are functions of (arm, t, q, qd) whose crossing of zero is recorded, `lw.Event`s that may also stop, or
    `lw.joint_limits(arm)`. `step` is the first step, or the step of "rk4". No trajectory makes more than `max_steps`
    steps, refused ones counted: ten million if not given, without a bound for "rk4". Long runs show how far they are on
    a terminal, and with `progress=True` anywhere; Ctrl-C raises `SimulationInterrupted`, which keeps what was computed.

    >>> import linkwise as lw
    >>> fall = lw.simulate(lw.load("planar3"), [0, 0, 0], [0, 0, 0], 1.0, rtol=1e-10)
    >>> fall.q.shape, fall.status, bool(abs(fall.imbalance).max() < 1e-8)
    ((501, 3), 'done', True)
    """
    scheme = tableau(integrator)
    numbers = checked_numbers(scheme, duration, rtol, atol, step, max_steps)
    times = sample_times(samples, numbers["duration"])
    constant = None if callable(torque) or torque is None else torque
    arrays = {"q0": q0, "qd0": qd0} | ({} if constant is None else {"torque": constant})
    states = States(arm, arrays, wrench, True)
    if not states.numeric:
        raise TypeError("q0 and qd0 are not plain numbers (expected NumPy arrays or lists of them)")
    full = {name: full_array(states, name) for name in states.arrays}
    problem = Problem(
        arm,
        torque if callable(torque) else None,
        constant is not None,
        None if wrench is None else full["wrench"].shape[len(states.batch) :],
        Friction.of(friction),
        coordinates,
        method,
        events_of(events),
    )
    count = math.prod(states.batch)
    start = problem.initial(full["q0"], full["qd0"]).reshape(count, problem.size)
    constants = [full[name] for name in ("torque", "wrench") if name in full]
    pieces = [x.reshape(count, math.prod(x.shape[len(states.batch) :])) for x in constants]
    if problem.sticking is not None:
        pieces.append(np.zeros((count, arm.n + 1)))  # modes of the joints, and since when
    parameters = np.concatenate(pieces, axis=1) if pieces else np.zeros((count, 0))
    run = integrated(problem, scheme, start, parameters, times, numbers, threads, compiled, progress)
    acting = Acting(problem, full.get("torque"), full.get("wrench"))
    recording = recorded(acting, states.batch, times, run.out, run.now, scheme, numbers, run.compiled)
    if run.interrupted is not None:
        raise SimulationInterrupted(recording) from run.interrupted
    if not states.batch and recording.status in FAILED:
        raise SimulationError(run.given_up.get(0) or reason(problem, parameters, run.now, recording), recording)
    return recording


class Run(NamedTuple):
    """What the integration gave: y at the sample times (count, times, size), and where each trajectory is."""

    out: np.ndarray
    now: Progress
    compiled: bool
    interrupted: BaseException | None
    given_up: dict[int, str]  # trajectories in which joints neither stick nor slide, and why


def integrated(
    problem: Problem,
    scheme: Method,
    start: np.ndarray,
    parameters: np.ndarray,
    times: np.ndarray,
    numbers: dict[str, float],
    threads: int | None,
    compiled: bool | None,
    progress: bool | None,
) -> Run:
    """From the start (count, size), each trajectory with its row of parameters."""
    end = numbers["duration"]
    out = np.full((len(start), len(times), problem.size), np.nan)
    now = Progress(start, min(numbers["step"], end), len(problem.crossings), ROOM)
    if times[0] == 0.0:
        out[:, 0] = start
        now.next = 1
    tolerance = problem.tolerance(numbers["atol"])
    machine = machine_for(problem, scheme.name, compiled)
    interrupted: BaseException | None = None
    watch = Watch(end, progress)
    watched = not scheme.fixed and (machine is None or scheme.name == RADAU)  # machine code is fast enough without
    bounds = Bounds(numbers["most"], Chattering(len(start), problem.size, numbers["too_far"]) if watched else None)

    def integrate() -> None:
        if machine is not None:
            machine.run(now, end, times, out, parameters, numbers["rtol"], tolerance, threads, watch, bounds)
        elif scheme.name == RADAU:
            run_implicit(problem, parameters, now, end, times, out, numbers["rtol"], tolerance, watch, bounds)
        else:
            gauge = problem.plain_gauge(parameters) if problem.crossings else None
            side = problem.plain_side(parameters)
            plain = Integrator(scheme, side, numbers["rtol"], tolerance, gauge, problem.crossings, bounds)
            while plain.advance(now, end, times, out, 100):
                watch(now)

    given_up: dict[int, str] = {}
    try:
        given_up = follow(problem, parameters, now, end, times, out, integrate)
    except KeyboardInterrupt as error:
        interrupted = error
    finally:
        if now.log.size:
            now.empty_logs()
        watch.close()
    return Run(out, now, machine is not None, interrupted, given_up)


def checked_numbers(
    scheme: Method, duration: Any, rtol: Any, atol: Any = None, step: Any = None, max_steps: Any = None
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
    found = {}
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
            raise TypeError(f"{name} is {value!r} (expected a number)")
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"{name} is {value!r} (expected a finite number above 0)")
        found[name] = float(value)
    return found


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
    array = states.arrays[name]
    if name == "wrench" and states.tip is not None:
        array = array[..., 0, :]
    own = array.shape[array.ndim - (states.trailing[name] - (name == "wrench" and states.tip is not None)) :]
    shape = (*states.batch, *own)
    return (array if array.shape == shape else np.broadcast_to(array, shape)).astype(float)


def machine_for(problem: Problem, integrator: str, compiled: bool | None) -> MachineIntegrator | ImplicitMachine | None:
    """The compiled integrator, or None where it is to run in Python."""
    if compiled is False:
        return None
    try:
        return machine_of(problem, integrator)
    except (TypeError, ImportError) as reason:
        if compiled:
            raise
        warnings.warn(f"this simulation runs in Python, which is slower: {reason}", RuntimeWarning, stacklevel=4)
        return None


@lru_cache(maxsize=64)
def machine_of(problem: Problem, integrator: str) -> MachineIntegrator | ImplicitMachine:
    if integrator == RADAU:
        return ImplicitMachine(problem)
    return MachineIntegrator(problem.program(), tableau(integrator), problem.crossings)


def recorded(
    acting: Acting,
    batch: tuple[int, ...],
    times: np.ndarray,
    out: np.ndarray,
    now: Progress,
    scheme: Method,
    numbers: dict[str, float],
    compiled: bool,
) -> Recording:
    problem, n = acting.problem, acting.problem.robot.n
    shaped = out.reshape((*batch, len(times), problem.size))
    q = shaped[..., :n].copy()
    each: dict[str, Any] = {"reached": now.t, "steps": now.steps, "rejected": now.rejected}
    each = {name: column.copy().reshape(batch) if batch else column.item() for name, column in each.items()}
    words = [STATUS[code] for code in now.status.tolist()]
    each["status"] = np.array(words).reshape(batch) if batch else words[0]
    if now.evaluations is None:
        each["evaluations"] = (each["steps"] + each["rejected"]) * (scheme.stages - scheme.first_is_last)
    else:
        each["evaluations"] = now.evaluations.reshape(batch) if batch else now.evaluations.item()
    happenings = [happened(problem, now, k) for k in range(len(now.met))] if problem.events else []
    work, heat = (shaped[..., 2 * n + k].copy() if problem.accounted else None for k in range(2))
    return Recording(
        problem.robot,
        times,
        q,
        problem.rates(q, shaped[..., n : 2 * n].copy()),
        integrator=scheme.name,
        rtol=numbers["rtol"],
        atol=numbers["atol"],
        compiled=compiled,
        work=work,
        heat=heat,
        acting=acting,
        events=shaped_list(happenings, batch) if problem.events else (),
        **each,
    )


def happened(problem: Problem, now: Progress, k: int) -> tuple[Happening, ...]:
    """The events of one trajectory."""
    found, n = [], problem.robot.n
    for t, which, *state in now.met[k]:
        q, v = np.array(state[:n]), np.array(state[n : 2 * n])
        names = tuple(event.name for e, event in enumerate(problem.events) if int(which) >> e & 1)
        found.append(Happening(float(t), names, q, np.asarray(problem.rates(q, v))))
    return tuple(found)


def shaped_list(values: list[Any], batch: tuple[int, ...]) -> Any:
    """Nested tuples of the batch's shape."""
    if not batch:
        return values[0]
    size = len(values) // batch[0] if batch[0] else 0
    return tuple(shaped_list(values[i * size : (i + 1) * size], batch[1:]) for i in range(batch[0]))


def reason(problem: Problem, parameters: np.ndarray, now: Progress, recording: Recording) -> str:
    """Why a trajectory ended early: the joint, the time and the state."""
    n, robot, status = problem.robot.n, problem.robot, int(now.status[0])
    q, v, h = now.y[0, :n], now.y[0, n : 2 * n], float(now.h[0])
    where = f"robot {robot.name!r} at t = {now.t[0]:.9g} s, q = {q.tolist()}, qd = "
    side = problem.plain_side(parameters)
    try:
        rates = problem.rates(q, v)
        where += f"{np.asarray(rates).tolist()}"
        with np.errstate(all="ignore"):
            here = side(now.t, now.y)
            there = side(now.t + h, now.y + h * here)
    except (ValueError, ArithmeticError) as error:
        return f"{where}: {error}"
    jump = np.abs(there - here)[0, n : 2 * n]
    worst = int(np.argmax(np.where(np.isfinite(jump), jump, np.inf)))
    if 0 in now.chattering:
        worst = now.chattering[0] % n if now.chattering[0] < 2 * n else worst
    tried = int(now.steps[0] + now.rejected[0])
    what = {
        LOST: "a number is no longer finite",
        STUCK: f"the step shrank to {h:.3g} s",
        TOO_MANY: f"{tried} steps were tried, as many as max_steps allows, the last of {h:.3g} s",
        CHATTERING: f"of the last {WINDOW} steps, of about {h:.3g} s, many went to and fro; the end is out of reach",
        RUNNING: "it was stopped",
        DONE: "it is done",
    }[status]
    return (
        f"{where}: {what}; joint of link {robot.names[worst]!r} moves at {rates[worst]:.6g} and accelerates at"
        f" {here[0, n + worst]:.6g}, {h:.3g} s later at {there[0, n + worst]:.6g}.{WAY_OUT.get(status, '')}"
        f" The recording until then is in `.recording` of this error ({len(recording.t)} samples)"
    )


JUMPS = (
    " If a torque jumps there (np.sign, a comparison): lw.Friction(smooth=...) or another smooth function instead of"
    " np.sign, lw.Friction(smooth=0) for joints that stick, or integrator='rk4' with a fixed step"
)
WAY_OUT = {
    STUCK: f"{JUMPS}.",
    CHATTERING: f"{JUMPS}; max_steps=... to go on all the same.",
    TOO_MANY: f"{JUMPS}; integrator='radau' for stiff springs and friction; or max_steps=... for a longer run.",
}
