"""A motion of the joints in time, made of pieces.

A trajectory runs from t = 0 to its duration; before and after, the joints stand still where it starts and ends.
Angles in radians, displacements in m, times in s.
"""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..robot.layout import Layout
from .checks import counted, even_times
from .csv_writer import motion_columns, write_csv
from .pieces import JointMotion, Piece, choice

SLACK = 1e-12  # how far outside its duration, in units of it, a time still counts as an end: rounding
TRACED = 64  # formulas: a trajectory of more is not traced, since each adds a choice for every coefficient
GAP = 1e-9  # how far apart, relative to their size, an end and the start that follows it may be


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """A motion of n joints from t = 0 to t = duration; call it with a time, or an array of times.

    Make one with `lw.cycloid`, `lw.cubic`, `lw.quintic`, `lw.septic`, `lw.trapezoid`, `lw.spline`, `lw.fourier`,
    `lw.excitation` or `lw.trajectory_from_csv`, and join them with `then`.

    >>> import linkwise as lw
    >>> move = lw.cycloid(start=[0, 0], end=[1, 2], duration=4)
    >>> q, qd, qdd = move(2.0)
    >>> q, qd
    (array([0.5, 1. ]), array([0.5, 1. ]))
    """

    pieces: tuple[Piece, ...]
    name: str
    layout: Layout | None = None  # of the robot's coordinates, where the trajectory was made for one

    def __eq__(self, other: object) -> bool:
        """Whether both have the same numbers: laws that follow equal trajectories are compiled once."""
        return isinstance(other, Trajectory) and (self is other or contents(self) == contents(other))

    def __hash__(self) -> int:
        return hash(contents(self))

    def __repr__(self) -> str:
        return f"<Trajectory of {self._moved}: {self.name}, {self.duration:g} s>"

    @property
    def _moved(self) -> str:
        several = self.layout is not None and self.layout.labelled
        return f"{self.n} degrees of freedom" if several else counted(self.n)

    @property
    def duration(self) -> float:
        return sum(piece.duration for piece in self.pieces)

    @property
    def n(self) -> int:
        """How many degrees of freedom move: how many numbers qd and qdd have."""
        return self.pieces[0].n

    @property
    def nq(self) -> int:
        """How many numbers q has."""
        return self.n if self.layout is None else self.layout.nq

    @property
    def _quaternions(self) -> tuple[int, ...]:
        return () if self.layout is None else tuple(p for p, _ in self.layout.quaternions)

    def __call__(self, t: Any, *, extrapolate: bool = False) -> JointMotion:
        """Positions, rates and accelerations at the times t, of any shape (...,): three arrays (..., n); q (..., nq).

        Before 0 and after the duration the joints stand where they start or end, with rates and accelerations of zero;
        with `extrapolate=True` the first and the last formula go on instead. At a time where the formula changes, the
        later one holds. t may also be a node of a graph, in a function that is traced or compiled: it means the same.
        """
        times = as_times(t)
        formulas = sum(piece.formulas for piece in self.pieces)
        if times.dtype == object and formulas > TRACED:
            raise TypeError(
                f"t is {times.flat[0]!r}, which has no value to look up, and the trajectory has {formulas} formulas"
                f" (expected numbers, or a trajectory of at most {TRACED})"
            )
        flat = times.reshape(-1)
        motion = self._at(flat) if extrapolate else self._held(flat)
        return JointMotion(*(part.reshape((*times.shape, part.shape[-1])) for part in motion))

    def _held(self, t: Any) -> JointMotion:
        end, slack = self.duration, SLACK * self.duration
        first, last = self._at(np.array([0.0, end])).q
        motion, column = self._at(t if t.dtype == object else np.clip(t, 0.0, end)), t[:, None]
        inside = choice(column + slack, (end + slack) - column, -1.0)
        standing = JointMotion(choice(column - end, last, choice(-column, first, column)), 0.0, 0.0)  # NaN stays NaN
        return JointMotion(*(choice(inside, *both) for both in zip(motion, standing, strict=True)))

    def _at(self, t: Any) -> JointMotion:
        """By the formula of the piece in which each time lies; before and after, of the first and the last."""
        motion, begin = self.pieces[0].at(t), 0.0
        for before, piece in itertools.pairwise(self.pieces):
            begin += before.duration
            past = (t - begin)[:, None]
            motion = JointMotion(*(choice(past, *both) for both in zip(piece.at(t - begin), motion, strict=True)))
        return motion

    def then(self, following: Trajectory) -> Trajectory:
        """This motion, and after it another, which must start where this one ends; rates may jump there.

        >>> import linkwise as lw
        >>> out, back = lw.cycloid([0], [1], duration=2), lw.quintic([1], [0], duration=3)
        >>> out.then(back)
        <Trajectory of 1 joint: cycloid, then quintic, 5 s>
        """
        if not isinstance(following, Trajectory):
            raise TypeError(f"what follows is {following!r} (expected a Trajectory)")
        if (following.n, following._quaternions) != (self.n, self._quaternions):
            raise ValueError(f"a trajectory of {following._moved} cannot follow one of {self._moved}")
        end, start = self(self.duration).q, following(0.0).q
        for p in self._quaternions:
            if end[p : p + 4] @ start[p : p + 4] < 0.0:
                start[p : p + 4] *= -1.0  # the same orientation
        apart = np.abs(end - start) > GAP * np.maximum(1.0, np.abs(end))
        if apart.any():
            k = int(np.argmax(apart))
            joint = f"{self.layout.q_names[k]!r}" if self.layout and self.layout.labelled else f"joint {k + 1}"
            raise ValueError(f"{joint} would jump from {end[k]:.9g}, where one ends, to {start[k]:.9g}")
        name = f"{self.name}, then {following.name}"
        return Trajectory(self.pieces + following.pieces, name, self.layout or following.layout)

    def to_csv(self, path: str | os.PathLike[str], samples: int = 501) -> None:
        """Write t, q1.., qd1.., qdd1.. at evenly spaced times, in full precision, for `lw.trajectory_from_csv`.

        Of a robot with joints of several degrees of freedom the columns are named after them: q.base.x, qd.base.wx.
        """
        t = even_times(self.duration, samples)
        write_csv(path, motion_columns(t, self(t), self.layout or Layout.numbered(self.n)))


def contents(x: Any) -> Any:
    """All numbers of a piece or a trajectory, to be compared to the last bit."""
    if isinstance(x, np.ndarray):
        return x.shape, x.tobytes()
    if isinstance(x, tuple):
        return tuple(map(contents, x))
    if is_dataclass(x) and not isinstance(x, Layout):
        return type(x), *(contents(getattr(x, field.name)) for field in fields(x))
    return x


def as_times(t: Any) -> Any:
    """Times as an array of floats, all finite; or of objects, where they are nodes or numbers of many digits."""
    times = np.asarray(t)
    if times.dtype == object and all(isinstance(x, (int, float, Fraction, np.number)) for x in times.flat):
        times = times.astype(float)
    if times.dtype.kind not in "fiuO":
        raise TypeError(f"t has dtype {times.dtype} (expected times in s)")
    if times.dtype.kind != "O" and not np.isfinite(times).all():
        raise ValueError(f"t is {times[~np.isfinite(times)][0]} (expected finite times in s)")
    return times if times.dtype.kind == "O" else times.astype(np.float64)
