"""Joints that stand still in a recording but for the noise of their encoders.

The low-pass filter of the motion leaves `e |taps|` of white noise of size e, and e is seen in what it takes away. A
joint whose filtered position varies by no more than some times that does not move: its rates and accelerations are
noise, and a regressor of noise would be fitted to torques.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..robot import Robot
from .filtering import MOTION, LowPass
from .preparing import STILL, Filtering, Motion
from .samples import Samples

TOLD = 4.0  # times the noise that passes the filter: a motion below that is not told from noise
UNFILTERED = 0.1  # of the sampling rate: the cut-off where none is given


def still_joints(arm: Robot, samples: Samples, filtering: Filtering) -> np.ndarray:
    """Which joints do not move in a recording: (n,); none of robots with quaternions."""
    if arm.quaternions:
        return np.zeros(arm.n, dtype=bool)
    span = np.ptp(samples.q, axis=0)
    low_pass = LowPass.design(samples.rate, filtering.motion or UNFILTERED * samples.rate, MOTION)
    if len(samples.q) < 4 * low_pass.half:
        return np.asarray(span < STILL)
    smooth = low_pass.apply(samples.q)
    passed = np.linalg.norm(low_pass.taps)
    taken = np.std(samples.q[low_pass.half : len(samples.q) - low_pass.half] - smooth, axis=0)
    noise = taken / np.sqrt(max(1.0 - 2.0 * low_pass.taps[low_pass.half] + passed**2, 1e-3))
    return np.asarray((span < STILL) | (np.std(smooth, axis=0) <= TOLD * passed * noise))


def at_rest(motion: Motion, still: np.ndarray) -> Motion:
    """The motion with these joints at their mean position, without rates and accelerations."""
    if not still.any():
        return motion
    moving = ~still
    q = np.where(moving, motion.q, motion.q.mean(axis=0))
    return replace(motion, q=q, qd=motion.qd * moving, qdd=motion.qdd * moving)


def notes_on_still_joints(arm: Robot, every: list[np.ndarray]) -> list[str]:
    """Joints that are still in all recordings: (n,) of each."""
    names = [name for name, still in zip(arm.v_names, np.all(every, axis=0), strict=True) if still]
    if not names:
        return []
    stand = "stands" if len(names) == 1 else "stand"
    return [
        f"{', '.join(names)} {stand} still but for noise: rotor and friction there, and what only this motion would"
        " tell, stay those of the nominal robot"
    ]
