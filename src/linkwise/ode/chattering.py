"""Chattering: a right-hand side that jumps, as np.sign of a rate does, and is held at the jump.

A method with error control then makes step after step of one small size, and a rate goes to and fro: at that size,
the end of the motion is out of reach. Such a trajectory is given up, rather than integrated for hours or days.
"""

from __future__ import annotations

import numpy as np

from .trajectories import CHATTERING, Trajectories

WINDOW = 1000  # accepted steps after which it is asked again
SHARE, RARE = 0.25, 0.1  # of them: so often a rate turns
TOO_FAR = 1_000_000  # steps that would be left: in Python, the better part of an hour
HOPELESS = 30  # times that many, a day: then also where it turns more rarely, as a fast vibration may too


class Chattering:
    """Counts how often numbers of the state turn; a trajectory is given up with more than `too_far` steps to go."""

    def __init__(self, too_far: float = TOO_FAR) -> None:
        self.too_far = too_far
        self.steps: np.ndarray | None = None

    def start(self, count: int, size: int) -> np.ndarray:
        self.direction = np.zeros((count, size))
        self.turns = np.zeros((count, size), dtype=int)
        self.since = np.full(count, np.nan)
        return np.zeros(count, dtype=int)

    def watch(self, trajectories: Trajectories, which: np.ndarray, change: np.ndarray, end: float) -> None:
        """After a step of some trajectories; `change` is that of all states."""
        if self.steps is None:
            self.steps = self.start(*change.shape)
        direction = np.sign(change[which])
        self.turns[which] += direction * self.direction[which] < 0
        self.direction[which] = direction
        self.steps[which] += 1
        for k in which[self.steps[which] >= WINDOW].tolist():
            advance = (trajectories.t[k] - self.since[k]) / WINDOW  # not known at first
            worst = int(np.argmax(self.turns[k]))
            longest = (end - trajectories.t[k]) / self.too_far  # step that is too short
            turns = self.turns[k, worst] / WINDOW
            if (advance < longest and turns > SHARE) or (advance < longest / HOPELESS and turns > RARE):
                trajectories.status[k] = CHATTERING
                trajectories.chattering[k] = worst
            self.turns[k], self.steps[k], self.since[k] = 0, 0, trajectories.t[k]
