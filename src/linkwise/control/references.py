"""Motions that controllers follow, at rest from their end on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import is_real
from ..robot.named_arrays import refuse_labels


@dataclass(frozen=True)
class Held:
    """`motion(t)` up to its end, its last position at rest from then on."""

    motion: Callable[[Any], Any]
    end: float

    @property
    def __name__(self) -> str:
        return f"held {getattr(self.motion, '__name__', 'motion')}"

    def __call__(self, t: Any) -> tuple[Any, Any, Any]:
        motion = self.motion(np.minimum(t, self.end))
        if not isinstance(motion, (tuple, list)) or len(motion) != 3:
            raise ValueError(f"{self.__name__}: the motion gave {motion!r} (expected three arrays: q, qd and qdd)")
        q, qd, qdd = arrays_of(motion, self.__name__)
        over = t > self.end
        if np.ndim(t) and qd.ndim > np.ndim(t):  # an array of times: a row of joints for each
            over = np.asarray(over)[..., None]
        return q, np.where(over, np.zeros(qd.shape), qd), np.where(over, np.zeros(qdd.shape), qdd)


def arrays_of(motion: Iterable[Any], function: str) -> list[np.ndarray]:
    """What a function of t gave for q, qd and qdd, as arrays without names."""
    parts = list(motion)
    for name, part in zip(("q", "qd", "qdd"), parts, strict=False):  # fewer have the wrong shapes
        refuse_labels(f"{name} of {function}", part)
    return [np.asarray(part) for part in parts]


def held(motion: Callable[[Any], Any], end: float) -> Held:
    """A function of t that gives q, qd and qdd, held from `end` on: there q stays, and qd and qdd are 0.

    It can be traced if the function can. The trajectories of Linkwise hold their ends without it.

    >>> import numpy as np, linkwise as lw
    >>> def swing(t):
    ...     return np.array([np.sin(t)]), np.array([np.cos(t)]), np.array([-np.sin(t)])
    >>> lw.control.held(swing, np.pi / 2)(10.0)
    (array([1.]), array([0.]), array([0.]))
    """
    if not callable(motion):
        raise TypeError(f"motion is {motion!r} (expected a function of t that gives q, qd and qdd)")
    if not is_real(end) or not end >= 0.0 or end == float("inf"):
        raise ValueError(f"end is {end!r} (expected a time in seconds)")
    return Held(motion, float(end))
