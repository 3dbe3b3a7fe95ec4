"""Trajectories that are finite Fourier series: periodic, with exact derivatives.

    q(t) = offset + Σ_k s_k sin(k ω t) + c_k cos(k ω t),   ω = 2π / duration,   k = 1 ... harmonics

It is at rest at its ends where Σ k s_k = 0 (rates) and Σ k² c_k = 0 (accelerations).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..robot import Robot
from ..robot.layout import Layout
from .checks import Floats, numbers, positive
from .orientations import layout_of
from .pieces import JointMotion
from .trajectory import Trajectory


@dataclass(frozen=True, eq=False)
class Fourier:
    offset: Floats  # (n,)
    sines: Floats  # (harmonics, n)
    cosines: Floats
    duration: float
    formulas = 1

    @property
    def n(self) -> int:
        return len(self.offset)

    def at(self, t: Any) -> JointMotion:
        frequencies = 2.0 * math.pi / self.duration * np.arange(1, len(self.sines) + 1)
        angles, w = t[..., None] * frequencies, frequencies[:, None]
        sine, cosine = np.sin(angles), np.cos(angles)
        return JointMotion(
            self.offset + sine @ self.sines + cosine @ self.cosines,
            cosine @ (w * self.sines) - sine @ (w * self.cosines),
            -(sine @ (w**2 * self.sines)) - cosine @ (w**2 * self.cosines),
        )


def fourier(offset: Any, sines: Any, cosines: Any, duration: float, *, arm: Robot | None = None) -> Trajectory:
    """The Fourier series with these amplitudes, one period of it: q = offset + Σ_k s_k sin(k ω t) + c_k cos(k ω t).

    `offset` has a number for each joint, `sines` and `cosines` (harmonics, n) a row for each harmonic k = 1, 2, ...;
    ω is 2π / duration. With `arm` its joints name the columns of files; joints with quaternions have no such series.

    >>> wave = fourier(offset=[1.0], sines=[[0.0], [0.5]], cosines=[[0.2], [0.0]], duration=2.0)
    >>> wave([0.0, 0.25, 2.0]).q.round(6)[:, 0]
    array([1.2     , 1.641421, 1.2     ])
    """
    middle = numbers(offset, "offset")
    s, c = numbers(sines, "sines", dims=2), numbers(cosines, "cosines", dims=2)
    shape = (len(s), len(middle))
    for x, name in ((s, "sines"), (c, "cosines")):
        if x.shape != shape:
            expected = f"{shape}: a row for each harmonic, of a number for each joint"
            raise ValueError(f"{name} has shape {x.shape} (expected {expected})")
    piece = Fourier(middle, s, c, positive(duration, "duration"))
    return Trajectory((piece,), series_name(len(s)), None if arm is None else checked_layout(arm, len(middle)))


def series_name(harmonics: int) -> str:
    return f"Fourier series of {harmonics} harmonic{'s' * (harmonics != 1)}"


def checked_layout(arm: Robot, n: int) -> Layout:
    layout = layout_of(arm)
    if layout.quaternions:
        raise ValueError(f"robot {arm.name!r} has quaternions (expected joints that a number each describes)")
    if n != arm.n:
        raise ValueError(f"offset has {n} numbers, robot {arm.name!r} has {arm.n} joints: {', '.join(arm.v_names)}")
    return layout
