"""Finite Fourier series as linear functions of free coefficients, bounds of them that hold at all times, and their
largest positions, rates, accelerations and torques.

    q(t) = offset + Σ_k s_k sin(k ω t) + c_k cos(k ω t),   k = 1 ... harmonics
    Σ k s_k = 0,   Σ k² c_k = 0                            at rest, and without acceleration, at t = 0 and at the end

Between equally spaced samples a series passes their largest magnitude by little: with N samples of a period,
max |p| ≤ max_samples |p| / cos(π harmonics / N). H. Ehlich and K. Zeller, Schwankung von Polynomen zwischen
Gitterpunkten, Mathematische Zeitschrift 86 (1964).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...api.functions import inverse_dynamics
from ...robot import Friction, Robot
from ...trajectories.limits import Floats, Margins, MotionLimits
from ...trajectories.profiles import Fourier


@dataclass(frozen=True, eq=False)
class SeriesBasis:
    """Series of one period whose free coefficients (count, n) are an offset and rate amplitudes."""

    harmonics: int
    duration: float
    sines: Floats  # (harmonics, count): amplitudes s_k and c_k of each free coefficient
    cosines: Floats

    @staticmethod
    def make(harmonics: int, duration: float, rest: bool) -> SeriesBasis:
        k = np.arange(1.0, harmonics + 1.0)[:, None]
        frequency = 2.0 * math.pi / duration * k
        # amplitudes of the rate: Σ k ω s_k = 0, and of its derivative: Σ k (k ω c_k) = 0
        of_sines, of_cosines = (across(row) if rest else np.eye(harmonics) for row in (k[:, 0] ** 0, k[:, 0]))
        none, constant = np.zeros((harmonics, of_sines.shape[1])), np.zeros((harmonics, 1))
        return SeriesBasis(
            harmonics,
            duration,
            np.hstack([constant, of_sines / frequency, none]),
            np.hstack([constant, none, of_cosines / frequency]),
        )

    @property
    def count(self) -> int:
        return int(self.sines.shape[1])

    def times(self, samples: int) -> Floats:
        """The times of one period without its end, which equals the start."""
        return times_of_period(self.duration, samples)

    def matrices(self, samples: int) -> tuple[Floats, Floats, Floats]:
        """From free coefficients to positions, rates and accelerations at the times: (samples, count) each."""
        offset = np.zeros(self.count)
        offset[0] = 1.0
        motion = Fourier(offset, self.sines, self.cosines, self.duration).at(self.times(samples))
        return motion.q, motion.qd, motion.qdd

    def piece(self, free: Floats) -> Fourier:
        """The series of free coefficients (count, n)."""
        parts = [free[0].copy(), self.sines @ free, self.cosines @ free]
        for part in parts:
            part.setflags(write=False)
        return Fourier(parts[0], parts[1], parts[2], self.duration)


def times_of_period(duration: float, samples: int) -> Floats:
    """Equally spaced times of a period without its end."""
    return np.asarray(np.arange(samples) * (duration / samples), dtype=float)


def across(row: Floats) -> Floats:
    """An orthonormal basis (m, m - 1) of the vectors on which the row is zero."""
    return np.asarray(np.linalg.svd(row[None, :])[2][1:].T)


def overshoot(harmonics: int, samples: int) -> float:
    """The largest magnitude of a series, divided by that of its samples, is at most this."""
    return 1.0 / math.cos(math.pi * harmonics / samples)


def bounds(values: Floats, harmonics: int) -> tuple[Floats, Floats]:
    """Below and above a series of which the values (samples, n) of a period are known."""
    low, high = values.min(axis=0), values.max(axis=0)
    middle, half = (low + high) / 2.0, (high - low) / 2.0 * overshoot(harmonics, len(values))
    return middle - half, middle + half


PER_HARMONIC = 512  # samples in a period of the highest harmonic
SLACK = 1e-9  # of a limit: rounding


@dataclass(frozen=True, eq=False)
class MotionPeaks:
    """Bounds of the largest values of a motion, (n,) each.

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
