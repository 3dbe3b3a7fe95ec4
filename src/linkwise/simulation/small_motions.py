"""Motions that are small in comparison with the scales of the default tolerance.

If |y| stays below a fraction p of its scale, the error of a step may reach rtol (1 + 0.01 / p) |y|, see
`Problem.tolerance`. A motion is small if p is below `SMALL` for all of q and qd; one joint that hardly moves does not
make a motion small.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ode.registry import integrator as integrator_of
from ..robot import Robot
from ..robot.scales import metre, state_scales

SMALL = 1e-4
ROUNDING = 1e-13  # smaller motions from rest at zero are rounding errors


def warning_text(robot: Robot, integrator: str, atol: Any, start: np.ndarray, *later: np.ndarray) -> str:
    """The warning if a trajectory is small, otherwise "". States are (count, times, nq + n), NaN if not reached."""
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
        for some in (states[:, middle : middle + 1], states):  # one sample is enough for most trajectories
            small = moved < SMALL
            moved[small] = np.fmax(moved[small], largest(some[small]))
    if not ((moved < SMALL) & ((begun > 0.0) | (moved > ROUNDING))).any():
        return ""
    return (
        f"q and qd stay below {SMALL:g} rad, {SMALL * metre(robot):g} m, and these per second, which is small in"
        " comparison with the default atol: few digits may be correct (expected atol=..., a hundredth of rtol times the"
        " largest of q and qd)"
    )
