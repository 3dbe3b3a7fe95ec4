"""Motions that are of little use, or of less than their limits allow, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...api.functions import gravity_torque, inverse_dynamics
from ...robot.scales import coordinate_scales
from ...trajectories.limits import KINDS, UNITS, Floats, is_angular

if TYPE_CHECKING:
    from .optimization import Excitation

TRAVEL = {"N m": 0.01, "N": 0.001}  # rad, and of the robot's size: a joint that moves by less tells nothing
RATE = 0.01  # rad or of the robot's size per second: no joint is faster in a motion that tells nothing of inertias
INERTIAL = 0.01  # of the largest torque: what is not gravity
SLOW = {"velocity": 0.5, "acceleration": 0.25}  # of its limits: half the joints of a slow motion use less
HELD = 0.1  # of the limits of velocity, likewise, where those of acceleration are reached
TORQUE = 0.2  # of a torque limit: a motion that leaves less is not called slow
NEAR = 0.02  # of a limit: a motion that comes so near to the margin is held back by it


def weaknesses(move: Excitation) -> list[str]:
    robot, (q, qd, qdd) = move.robot, (np.asarray(x) for x in move(move.times))
    scales = coordinate_scales(robot)
    still = [
        f"{name} ({span:.2g} {'rad' if unit == 'N m' else 'm'})"
        for name, span, unit, scale in zip(robot.v_names, np.ptp(q, axis=0), robot.effort_units, scales, strict=True)
        if span < TRAVEL[unit] * scale
    ]
    found = []
    if still:
        found.append(
            f"hardly moves: {', '.join(still)}; what only this motion tells is lost in the noise of torques"
            " (expected wider limits of position or velocity)"
        )
    tau, held = np.asarray(inverse_dynamics(robot, q, qd, qdd)), np.asarray(gravity_torque(robot, q))
    moving, all_of_it = (float(np.sqrt(np.mean(x**2, axis=0)).max()) for x in (tau - held, tau))
    why, hint = (
        "inertias are lost in the noise of torques",
        f"(expected a shorter duration or wider limits{holding_back(move)})",
    )
    if moving < INERTIAL * all_of_it:
        found.append(
            f"so slow that rates and accelerations make {100.0 * moving / all_of_it:.2g} % of the torques, the rest is"
            f" gravity: {why} {hint}"
        )
    elif (np.abs(qd) < RATE * scales).all():
        found.append(f"so slow that no rate is above {np.abs(qd).max():.2g} rad/s or m/s: {why} {hint}")
    elif not found and (slow := slowness(move)):
        found.append(slow)
    return found


def slowness(move: Excitation) -> str:
    """Of a motion that hardly comes near to its limits: which, and why, unless torques hold it back."""
    used = {kind: reached(getattr(move.margins, kind)) for kind in ("velocity", "acceleration")}
    shares = [f"{100.0 * share:.0f} % of their {kind} limit" for kind, share in used.items() if share <= 1.0]
    half = f"half of the joints reach no more than {' and '.join(shares)}"
    if np.nanmin([*move.margins.effort, 1.0]) < TORQUE:
        return ""
    fastest = "acceleration" if used["acceleration"] < np.inf else "velocity"
    if used[fastest] < SLOW[fastest]:
        return (
            f"slower than its limits allow: {half}; a faster motion determines inertias better (expected more harmonics"
            f" than {len(move.series.sines)}, or a shorter duration than {move.duration:g} s)"
        )
    if used["velocity"] < HELD:
        return f"slow: {half}; a faster motion determines inertias better (expected wider limits{holding_back(move)})"
    return ""


def reached(margins: Floats) -> float:
    """The share of their limits that half of the joints do not pass; infinite without limits."""
    return float(1.0 - np.nanmedian(margins)) if np.isfinite(margins).any() else np.inf


def holding_back(move: Excitation) -> str:
    """The kind of limit that holds back most joints, in words."""
    left = np.array([getattr(move.margins, kind) for kind in KINDS])
    near = left <= np.nanmin(left) + NEAR
    row = int(np.argmax(near.sum(axis=1)))
    if KINDS[row] == "position":
        return ""
    k = int(np.argmax(near[row]))
    size, unit = getattr(move.limits, KINDS[row])[k], UNITS[KINDS[row]][not is_angular(move.robot, k)]
    return f" of {KINDS[row]}, such as the {size:.4g} {unit} of {move.margins.joints[k]!r}"
