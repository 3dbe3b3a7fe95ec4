"""Make a `Recording` from the results of an integration."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..api.call import BaseMotion
from ..api.functions import forward_dynamics
from ..ode.driver import SHORTEST_AT_0
from ..ode.interface import Integrator
from ..ode.trajectories import (
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
from ..recording.recording import STATUS, End, EventRecord, Recording
from .base_motions import COMPONENTS, motion_at
from .integration import Run
from .parameters import call_torque
from .problem import Problem
from .traced_functions import TracedFunction

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
    held: np.ndarray | None = None  # torques of sampled laws or of a history at the samples, with the batch in front
    in_full: bool = False  # whether these are all torques, so that no function is called for them

    @property
    def point(self) -> np.ndarray | None:
        return None if self.problem.point is None else np.array(self.problem.point)

    def torques(self, t: np.ndarray, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """The torques at the samples; NaN at samples that a trajectory did not reach."""
        problem, reached = self.problem, np.isfinite(q).all(axis=-1)
        constant = np.zeros(qd.shape[-1]) if self.tau is None else self.tau[..., None, :]
        torques = np.where(reached[..., None], constant if self.held is None else constant + self.held, np.nan)
        if problem.torque is None or self.in_full or not reached.any():
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

    def base_motion(self, t: np.ndarray, q: np.ndarray, qd: np.ndarray) -> BaseMotion | None:
        """The motion of the base at the samples."""
        times, robot = np.broadcast_to(t, q.shape[:-1]), self.problem.robot
        flat = motion_at(self.problem.base, robot, times.ravel(), q.reshape(-1, robot.nq), qd.reshape(-1, robot.n))
        if flat is None:
            return None
        return replace(flat, **{name: getattr(flat, name).reshape((*times.shape, 3)) for name in COMPONENTS})

    def accelerations(self, t: np.ndarray, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> np.ndarray:
        drag = 0.0 if self.problem.friction is None else self.problem.friction.torque(self.problem.robot, qd)
        wrench = None if self.wrench is None else self.wrench[..., None, :]
        if self.wrench is not None and self.problem.wrench is not None and len(self.problem.wrench) == 2:
            wrench = self.wrench[..., None, :, :]
        robot, base = self.problem.robot, self.base_motion(t, q, qd)
        if self.problem.sticking is None:
            return np.asarray(forward_dynamics(robot, q, qd, tau - drag, wrench, point=self.point, base=base))
        if base is not None:
            base = replace(base, **{name: getattr(base, name).reshape(-1, 3) for name in COMPONENTS})
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
