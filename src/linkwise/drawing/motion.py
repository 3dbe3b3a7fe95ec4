"""One trajectory as the frames of a moving picture: configurations at equal times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..api.integration import configuration_rate, normalize
from ..robot import Robot
from .skeleton import Floats

MOST_FRAMES = 20_000


def frame_count(duration: float, fps: float, speed: float) -> int:
    """How many steps from frame to frame there are, the last one perhaps shorter."""
    count = float(np.ceil(duration / (speed / fps) - 1e-9))
    if not count < MOST_FRAMES:
        expected = f"expected less than {MOST_FRAMES}: a larger speed or a smaller fps"
        raise ValueError(f"{duration:g} s at {fps:g} frames per second are {count:.0f} frames ({expected})")
    return int(count)


@dataclass(frozen=True)
class Motion:
    """A robot at the times t, (n,), of which q, (n, nq), and qd, (n, nv), are finite.

    `note` says how the motion ended, if it did not come to its end.
    """

    robot: Robot
    t: Floats
    q: Floats
    qd: Floats
    title: str
    note: str = ""

    @property
    def duration(self) -> float:
        return float(self.t[-1] - self.t[0])

    def frame_times(self, fps: float, speed: float) -> Floats:
        """From the first time to the last, 1/fps apart as they are shown; the last step may be shorter."""
        count = frame_count(self.duration, fps, speed)
        times: Floats = self.t[0] + np.minimum(speed / fps * np.arange(count + 1), self.duration)
        return times

    def at(self, times: Floats) -> Floats:
        """Configurations at these times: cubic polynomials between samples that have their positions and rates."""
        if len(self.t) == 1:
            return np.repeat(self.q, len(times), axis=0)
        q = self.q.copy()
        rates = np.asarray(configuration_rate(self.robot, q, self.qd), float)
        for start in self.robot.quaternions:  # the same orientation has two signs
            part = slice(start, start + 4)
            turned = np.sign(np.sum(q[1:, part] * q[:-1, part], axis=-1))
            signs = np.cumprod(np.concatenate([[1.0], np.where(turned < 0.0, -1.0, 1.0)]))
            q[:, part] *= signs[:, None]
            rates[:, part] *= signs[:, None]
        k = np.clip(np.searchsorted(self.t, times, side="right") - 1, 0, len(self.t) - 2)
        h = (self.t[k + 1] - self.t[k])[:, None]
        s = (times - self.t[k])[:, None] / h
        before = (1.0 + 2.0 * s) * (1.0 - s) ** 2 * q[k] + s * (1.0 - s) ** 2 * h * rates[k]
        after = s**2 * (3.0 - 2.0 * s) * q[k + 1] + s**2 * (s - 1.0) * h * rates[k + 1]
        return np.asarray(normalize(self.robot, before + after), float)
