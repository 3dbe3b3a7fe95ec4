"""What columns of regressors are scaled by, and what a motion is worth in these scales.

The scale of a column is the root-mean-square torque that one unit of its parameter makes at states all over the limits:
positions, rates and accelerations are independent of each other. It depends on the robot, its limits and the noise
alone. Scales that random motions of the same duration and harmonics give would be small for slow motions, so that a
slow motion would have as small a condition number as a fast one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...trajectories.limits import Floats, MotionLimits

STATES = 1000
SWING = 2.0 * math.pi  # 1/s: accelerations that have no limit are those of a swing in one second at the largest rate
MEASURED = 1000  # samples, of one period or of several: deviations are for so many


def reference_states(limits: MotionLimits) -> tuple[Floats, Floats, Floats]:
    """Positions, rates and accelerations (STATES, n), the same for the same limits."""
    rng = np.random.default_rng(0)
    half = np.where(np.isfinite(limits.half), limits.half, math.pi)
    acceleration = np.where(np.isfinite(limits.acceleration), limits.acceleration, SWING * limits.velocity)
    q, qd, qdd = rng.uniform(-1.0, 1.0, (3, STATES, len(half)))
    return limits.middle + half * q, limits.velocity * qd, acceleration * qdd


class Worth(NamedTuple):
    """Of a motion: the numbers of its regressor, rows divided by the noise and columns by their scales."""

    condition: float
    log_det: float
    deviations: Floats  # (p,) standard deviations of the scaled parameters
    worst: float  # the standard deviation in the worst direction

    @staticmethod
    def of(matrix: Floats, samples: int) -> Worth:
        """Of the regressor at so many times of a period; deviations are for `MEASURED` of them."""
        _, singular, directions = np.linalg.svd(matrix, full_matrices=False)
        if not singular[-1] > 0.0:
            return Worth(math.inf, -math.inf, np.full(len(singular), np.inf), math.inf)
        fewer = math.sqrt(samples / MEASURED)
        deviations = fewer * np.linalg.norm(directions / singular[:, None], axis=0)
        condition, log_det = float(singular[0] / singular[-1]), 2.0 * float(np.log(singular).sum())
        return Worth(condition, log_det, deviations, fewer / float(singular[-1]))
