"""The largest positions, rates, accelerations and torques of a Fourier series at any time, and what they leave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...api.functions import inverse_dynamics
from ...robot import Friction, Robot
from ...trajectories.limits import Floats, Margins, MotionLimits
from ...trajectories.profiles import Fourier
from .series import bounds, times_of_period

PER_HARMONIC = 512  # samples in a period of the highest harmonic
SLACK = 1e-9  # of a limit: rounding


@dataclass(frozen=True, eq=False)
class MotionPeaks:
    """Bounds of what a motion reaches, (n,) each.

    Those of positions, rates and accelerations hold for the series at every time. Torques are no series: to their
    largest sample is added twice what a parabola through three samples can rise above them, a quarter of the largest
    second difference. Dry friction is taken in both directions, since it jumps where a rate changes its sign.
    """

    lower: Floats
    upper: Floats
    velocity: Floats
    acceleration: Floats
    effort: Floats

    @staticmethod
    def of(robot: Robot, piece: Fourier, law: Friction | None) -> MotionPeaks:
        harmonics = len(piece.sines)
        samples = PER_HARMONIC * harmonics
        motion = piece.at(times_of_period(piece.duration, samples))
        lower, upper = bounds(motion.q, harmonics)
        velocity, acceleration = (np.maximum(*map(np.abs, bounds(x, harmonics))) for x in (motion.qd, motion.qdd))
        torques = [inverse_dynamics(robot, *motion)]
        if law is not None:
            ones = np.ones_like(motion.qd)
            torques = [torques[0] + law.torque(robot, motion.qd, side * ones) for side in (-1.0, 1.0)]
        effort = np.max([np.abs(tau).max(axis=0) + np.abs(bend(tau)).max(axis=0) / 4.0 for tau in torques], axis=0)
        return MotionPeaks(lower, upper, velocity, acceleration, effort)

    def within(self, limits: MotionLimits) -> bool:
        slack = SLACK * np.where(np.isfinite(limits.half), limits.half, 1.0)
        travel = (self.lower >= limits.lower - slack) & (self.upper <= limits.upper + slack)
        pairs = [(getattr(self, kind), getattr(limits, kind)) for kind in ("velocity", "acceleration", "effort")]
        return bool(travel.all() and all((peak <= limit * (1.0 + SLACK)).all() for peak, limit in pairs))

    def margins(self, joints: tuple[str, ...], limits: MotionLimits) -> Margins:
        nearest = np.minimum(self.lower - limits.lower, limits.upper - self.upper)
        with np.errstate(invalid="ignore"):
            parts = [nearest / limits.half]  # NaN where travel has no end
        for kind in ("velocity", "acceleration", "effort"):
            limit = getattr(limits, kind)
            parts.append(np.where(np.isfinite(limit), 1.0 - getattr(self, kind) / limit, np.nan))
        return Margins(joints, *parts)


def bend(values: Floats) -> Floats:
    """Second differences of a period."""
    return np.asarray(np.roll(values, 1, axis=0) - 2.0 * values + np.roll(values, -1, axis=0))
