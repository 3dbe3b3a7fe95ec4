"""Motions that are of little use however small their condition number is, in sentences.

Columns are scaled by what random motions within the same limits give, so that limits or a duration under which every
motion is small or slow do not show in the condition number. In torques with noise they do.
"""

from __future__ import annotations

import numpy as np

from ...api.functions import gravity_torque, inverse_dynamics
from ...robot import Robot
from ...trajectories.trajectory import Trajectory

TRAVEL = {"N m": 0.01, "N": 0.001}  # rad, m: a joint that moves by less tells nothing
RATE = 0.01  # rad/s, m/s: no joint is faster in a motion that tells nothing of inertias
INERTIAL = 0.01  # of the largest torque: what is not gravity


def weaknesses(arm: Robot, motion: Trajectory, times: np.ndarray) -> list[str]:
    q, qd, qdd = (np.asarray(x) for x in motion(times))
    still = [
        f"{name} ({span:.2g} {'rad' if unit == 'N m' else 'm'})"
        for name, span, unit in zip(arm.v_names, np.ptp(q, axis=0), arm.effort_units, strict=True)
        if span < TRAVEL[unit]
    ]
    found = []
    if still:
        found.append(
            f"hardly moves: {', '.join(still)}; what only this motion tells is lost in the noise of torques, whatever"
            " the condition number is (expected wider limits of position or velocity)"
        )
    tau, held = np.asarray(inverse_dynamics(arm, q, qd, qdd)), np.asarray(gravity_torque(arm, q))
    moving, all_of_it = (float(np.sqrt(np.mean(x**2, axis=0)).max()) for x in (tau - held, tau))
    why = "inertias are lost in the noise of torques, whatever the condition number is"
    hint = "(expected a shorter duration or wider limits)"
    if moving < INERTIAL * all_of_it:
        found.append(
            f"so slow that rates and accelerations make {100.0 * moving / all_of_it:.2g} % of the torques, the rest is"
            f" gravity: {why} {hint}"
        )
    elif np.abs(qd).max() < RATE:
        found.append(f"so slow that no rate is above {np.abs(qd).max():.2g} rad/s or m/s: {why} {hint}")
    return found
