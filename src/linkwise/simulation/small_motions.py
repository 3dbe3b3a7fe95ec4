"""Motions that are small beside what the default tolerance is measured by.

Where |y| stays below a part p of its scale, a step may be off by rtol (1 + 0.01 / p) |y|, see `Problem.tolerance`. A
motion is small where p is `SMALL` for all of q and qd: a joint that hardly moves beside others does not make it one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ode.registry import integrator as integrator_of
from ..robot import Robot
from ..robot.scales import metre, state_scales

SMALL = 1e-4
ROUNDING = 1e-13  # what moves less from rest at zero does not move


def warning_text(robot: Robot, integrator: str, atol: Any, start: np.ndarray, *later: np.ndarray) -> str:
    """What to say of trajectories, if one is small: q and qd (count, times, nq + n), NaN where they did not get."""
    if integrator_of(integrator).fixed or atol is not None:
        return ""

    def largest(states: np.ndarray) -> np.ndarray:
        most = np.fmax(np.fmax.reduce(states, axis=1), -np.fmin.reduce(states, axis=1))
        return np.asarray(np.fmax.reduce(most / state_scales(robot), axis=1, initial=0.0))

    begun = largest(start)
    if not (begun < SMALL).any():
        return ""
    moved = begun.copy()
    for states in later:
        middle = states.shape[1] // 2
        for some in (states[:, middle : middle + 1], states):  # one of them tells of most trajectories
            small = moved < SMALL
            moved[small] = np.fmax(moved[small], largest(some[small]))
    if not ((moved < SMALL) & ((begun > 0.0) | (moved > ROUNDING))).any():
        return ""
    return (
        f"a motion in which q and qd stay below {SMALL:g} rad, {SMALL * metre(robot):g} m, and these per second, is"
        " small beside the default atol, and may be exact to few digits (expected atol=..., a hundredth of rtol times"
        " the largest of q and qd)"
    )
