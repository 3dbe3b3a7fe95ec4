"""The message of a trajectory that ended early."""

from __future__ import annotations

import numpy as np

from ..ode.chattering import WINDOW
from ..ode.driver import SHORTEST_AT_0
from ..ode.status import CHATTERING, DONE, NOT_FINITE, RUNNING, STEP_TOO_SMALL, TOO_MANY_STEPS
from ..ode.trajectories import Trajectories
from ..recording.recording import Recording
from .problem import Problem

JUMPS = (
    " If a torque jumps there (np.sign, a comparison): lw.Friction(smooth=...) or another smooth function instead of"
    " np.sign, lw.Friction(smooth=0) for joints that stick, lw.sampled(law, 0.001) for a controller with steps, or"
    " integrator='rk4' with a fixed step"
)
REMEDIES = {
    STEP_TOO_SMALL: f"{JUMPS}.",
    CHATTERING: f"{JUMPS}; max_steps=... to go on all the same.",
    TOO_MANY_STEPS: f"{JUMPS}; integrator='radau' for stiff springs and friction; or max_steps=... for a longer run.",
}


def beside_duration(h: float, duration: float) -> str:
    """Where a step is too small only because there is so much time to simulate."""
    if not h < SHORTEST_AT_0 * duration:
        return ""
    return f", below {SHORTEST_AT_0:g} of the {duration:g} s to simulate (expected a shorter duration)"


def reason(problem: Problem, parameters: np.ndarray, trajectories: Trajectories, recording: Recording) -> str:
    """Why a trajectory ended early: the joint, the time and the state."""
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
        STEP_TOO_SMALL: f"the step shrank to {h:.3g} s{beside_duration(h, float(recording.t[-1]))}",
        TOO_MANY_STEPS: f"{tried} steps were tried, as many as max_steps allows, the last of {h:.3g} s",
        CHATTERING: f"in {WINDOW} steps of about {h:.3g} s the direction kept reversing; the end is out of reach",
        RUNNING: "it was stopped",
        DONE: "it is done",
    }[status]
    return (
        f"{where}: {what}; joint of link {robot.v_names[worst]!r} moves at {rates[worst]:.6g} and accelerates at"
        f" {here[worst]:.6g}, {h:.3g} s later at {there[worst]:.6g}.{REMEDIES.get(status, '')}"
        f" The recording until then is in `.recording` of this error ({len(recording.t)} samples)"
    )
