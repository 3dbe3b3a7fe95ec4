"""What motions ask of a robot beside its limits: effort, velocity and travel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..robot import Robot
from ..robot.layout import angles
from .checks import Floats

WORDS = ("effort", "velocity", "travel")
SLACK = 1e-9  # of the limit: a motion that ends at a limit does not pass it


@dataclass(frozen=True)
class Passed:
    """A limit that is passed: whose, which, the limit or both ends of travel, the first sample, and the largest."""

    joint: str
    what: str
    limits: tuple[float, float]  # below and above; -x and x for efforts and velocities
    first: int
    largest: float  # the value that is furthest beyond, with its sign
    slides: bool

    @property
    def share(self) -> float | None:
        """Of an effort or a velocity: the largest magnitude, where the limit is 1."""
        return None if self.what == "travel" else abs(self.largest) / self.limits[1]


def ends_of(arm: Robot) -> dict[str, tuple[Floats, Floats]]:
    """Of efforts, velocities and travel the lower and the upper ends; those that are zero are infinite."""
    both = {}
    for what, ratings in (("effort", arm.effort_limits), ("velocity", arm.velocity_limits)):
        upper = np.array([limit or np.inf for limit in ratings], dtype=float)
        both[what] = (-upper, upper)
    travel = np.array(arm.limits, dtype=float).reshape(-1, 2)
    return both | {"travel": (travel[:, 0], travel[:, 1])}


def of_limits(arm: Robot, tau: Any) -> list[float | None] | None:
    """The share of each drive's effort limit that torques (n,) take; None where there is no limit at all."""
    upper = ends_of(arm)["effort"][1]
    if not np.isfinite(upper).any():
        return None
    return [float(abs(x) / end) if np.isfinite(end) else None for x, end in zip(tau, upper, strict=True)]


def known_limits(arm: Robot) -> list[str]:
    """Which kinds of limits the robot has."""
    return [what for what, ends in ends_of(arm).items() if np.isfinite(ends).any()]


def zero_limits(arm: Robot) -> dict[str, list[str]]:
    """Joints whose limit is zero, as programs write it where none was given: they are not compared."""
    ratings = {"effort": arm.effort_limits, "velocity": arm.velocity_limits}
    found = {what: [arm.v_names[k] for k, x in enumerate(limits) if x == 0.0] for what, limits in ratings.items()}
    return {what: names for what, names in found.items() if names}


def outside_travel(arm: Robot, q: Any) -> list[Passed]:
    """Joints that configurations, (nq,) or (rows, nq), put outside their travel."""
    rows = np.atleast_2d(np.asarray(q, dtype=float))
    still = np.zeros((len(rows), arm.n))
    return [each for each in passed_limits(arm, rows, still, still) if each.what == "travel"]


def passed_limits(arm: Robot, q: Any, qd: Any, tau: Any) -> Iterator[Passed]:
    """The limits that samples pass: q (samples, nq), qd and tau (samples, n), joint by joint."""
    slides, names = {}, {}
    for what, word in zip(WORDS, ("qd", "qd", "q"), strict=True):
        slides[what] = [not turns for turns in angles(arm, word)]
        names[what] = arm.q_names if word == "q" else arm.v_names
    values = dict(zip(WORDS, (tau, qd, q), strict=True))
    for what, (low, high) in ends_of(arm).items():
        for k, name in enumerate(names[what]):
            x, below, above = np.asarray(values[what])[:, k], float(low[k]), float(high[k])
            finite = [abs(end) for end in (below, above) if np.isfinite(end)]
            if not finite:
                continue
            beyond = np.maximum(below - x, x - above)
            out = beyond > SLACK * max(finite)
            if out.any():
                largest = float(x[int(np.argmax(beyond))])
                yield Passed(name, what, (below, above), int(np.argmax(out)), largest, slides[what][k])
