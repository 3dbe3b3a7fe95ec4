"""Finite Fourier series as linear functions of free coefficients, and bounds of them that hold at every time.

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

from ...trajectories.limits import Floats
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
        """Of one period, the end left out: it is the start."""
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
    """At equal distances, the end left out."""
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
