"""Trajectories of every kind."""

import numpy as np
import pytest

import linkwise as lw
from linkwise.trajectories.trajectory import Trajectory

PAPER = {  # Eqs. (38) and (39), with amplitudes that reach the stated ends
    "planar3R": (np.zeros(3), np.full(3, np.pi)),
    "stanford": (np.array([0, np.pi / 2, 0, 0, 0, 0]), np.array([1, 1, 0.3 / np.pi, 1, 1, 1]) * np.pi / 3),
}


def points(seed: int, count: int, n: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return np.append(0.0, np.cumsum(rng.uniform(0.1, 2.0, count - 1))), rng.normal(size=(count, n))


def periodic(seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    times, values = points(seed, count)
    return times, np.concatenate([values[:-1], values[:1]])


def smooth() -> dict[str, Trajectory]:
    a, b, *rest = np.random.default_rng(5).normal(size=(8, 3))
    return {
        "cycloid": lw.trajectories.cycloid(a, b, 3.0),
        "cubic": lw.trajectories.cubic(a, b, 2.0, *rest[:2]),
        "quintic": lw.trajectories.quintic(a, b, 0.7, *rest[:4]),
        "septic": lw.trajectories.septic(a, b, 5.0, *rest[:6]),
        "fourier": lw.trajectories.fourier(a, rest[:3], rest[3:6], 4.0),
    }


def kinds() -> dict[str, Trajectory]:
    """One of each kind; being in this list is being held to the laws."""
    a, b = np.random.default_rng(6).normal(size=(2, 3))
    return {
        **smooth(),
        "trapezoid": lw.trajectories.trapezoid(a, b, speed=[1.0, 2.0, 3.0], acceleration=4.0),
        "triangle": lw.trajectories.trapezoid(a, b, speed=50.0, acceleration=4.0),
        "clamped": lw.trajectories.spline(*points(1, 9)),
        "natural": lw.trajectories.spline(*points(2, 9), ends="natural"),
        "periodic": lw.trajectories.spline(*periodic(3, 9), ends="periodic"),
        "joined": lw.trajectories.cycloid(a, b, 3.0)
        .then(lw.trajectories.septic(b, a, 2.0))
        .then(lw.trajectories.spline([0, 1, 2], [a, b, a])),
    }


over_kinds = pytest.mark.parametrize("kind", kinds())
over_smooth = pytest.mark.parametrize("kind", smooth())
