"""A motion of the joints in time, made of pieces.

A trajectory runs from t = 0 to its duration; before and after, the joints stand still where it starts and ends.
Angles in radians, displacements in m, times in s.
"""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass, field, fields, is_dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ..robot import Friction, Robot
from ..robot.layout import Layout, angle_mask
from ..robot.named_arrays import refuse_gradients
from ..tables import save_table
from .checks import counted, even_times
from .limits import MotionLimits
from .pieces import JointMotion, Piece, choice

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SLACK = 1e-12  # how far outside its duration, in units of it, a time still counts as an end: rounding
TRACED = 64  # formulas: a trajectory of more is not traced, since each adds a choice for every coefficient
GAP = 1e-9  # how far apart, relative to their size, an end and the start that follows it may be


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """A motion of n joints from t = 0 to t = duration; call it with a time, or an array of times.

    Make one with `cycloid`, `cubic`, `quintic`, `septic`, `trapezoid`, `spline`, `fourier` or `read_csv` of
    `lw.trajectories`, or with `lw.excitation`, and join them with `then`.

    >>> import linkwise as lw
    >>> move = lw.trajectories.cycloid(start=[0, 0], end=[1, 2], duration=4)
    >>> q, qd, qdd = move(2.0)
    >>> q, qd
    (array([0.5, 1. ]), array([0.5, 1. ]))
    """

    pieces: tuple[Piece, ...]
    name: str
    layout: Layout | None = None  # of the robot's coordinates, where the trajectory was made for one
    robot: Robot | None = field(default=None, kw_only=True, compare=False)  # of an excitation, also joined to others
    limits: MotionLimits | None = field(default=None, kw_only=True, compare=False)  # likewise

    def __eq__(self, other: object) -> bool:
        """Whether both have the same numbers: laws that follow equal trajectories are compiled once."""
        return isinstance(other, Trajectory) and (self is other or contents(self) == contents(other))

    def __hash__(self) -> int:
        return hash(contents(self))

    def __repr__(self) -> str:
        return f"<Trajectory of {self._moved}: {self.name}, {self.duration:g} s>"

    @property
    def _title(self) -> str:
        return self.name

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
        >>> out, back = lw.trajectories.cycloid([0], [1], duration=2), lw.trajectories.quintic([1], [0], duration=3)
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
        robot, limits = common(self.robot, following.robot), common(self.limits, following.limits)
        layout = self.layout or following.layout
        return Trajectory(self.pieces + following.pieces, name, layout, robot=robot, limits=limits)

    def to_csv(
        self,
        path: str | os.PathLike[str],
        samples: int = 501,
        *,
        rate: float | None = None,
        names: bool = False,
        degrees: bool = False,
    ) -> None:
        """Write t, q1.., qd1.., qdd1.. at evenly spaced times, in full precision, for `lw.trajectories.read_csv`.

        There are so many `samples`, or with `rate` so many in each second: t = k / rate until the end is reached, where
        the joints stand. With `names=True` columns are named after the joints, q_link1, qd_link1, ..., with
        `degrees=True` angles are in degrees: the robot must be known, as that of `lw.excitation`, also after an
        approach. Of a robot with joints of several degrees of freedom the columns are named after them: q.base.x,
        qd.base.wx.
        """
        t, layout = even_times(self.duration, samples, rate), self.layout or Layout.numbered(self.n)
        columns = layout.table(t, **self(t)._asdict())
        for word in JointMotion._fields:
            own = layout.columns(word)
            if degrees:
                turning = angle_mask(self._known_arm("degrees=True"), word)
                columns |= {name: np.degrees(columns[name]) for name, turns in zip(own, turning, strict=True) if turns}
            if names and not layout.labelled:
                joints = self._known_arm("names=True").v_names if self.layout is None else layout.v_names
                longer = {name: f"{word}_{joint}" for name, joint in zip(own, joints, strict=True)}
                columns = {longer.get(name, name): values for name, values in columns.items()}
        save_table(path, columns)

    def _known_arm(self, what: str) -> Robot:
        if self.robot is None:
            raise ValueError(f"{what}: the trajectory knows no robot (expected one of lw.excitation, or joined to one)")
        return self.robot

    def plot(
        self,
        path: str | os.PathLike[str] | None = None,
        samples: int = 501,
        *,
        robot: Robot | None = None,
        limits: Any = None,
        friction: bool | Friction = False,
        degrees: bool = False,
    ) -> Figure:
        """A matplotlib figure of positions, rates and accelerations; `path` is a picture to write.

        Of the robot `robot`, or that of an excitation which is part of the motion, it has the torques of the drives as
        well, with `friction` if it is given. Limits are dashed: those of the excitation, or the robot's own and what
        `limits` has in their place, as `lw.excitation` takes them. A limit that is far from the curve is a number.
        """
        from ..figures import plain, save_figure
        from .plot import draw_motion

        known = self.limits if robot is None and limits is None else None
        robot = self.robot if robot is None else robot
        if degrees and robot is None:
            raise TypeError("degrees=True without a robot (expected robot=..., which tells angles from lengths)")
        if robot is not None and known is None:
            known = MotionLimits.of(robot, limits, complete=False)
        title = self._title if robot is None else f"{plain(robot.name)}: {self._title}"
        return save_figure(draw_motion(self, robot, known, title, samples, friction, degrees), path)


def common(first: Any, second: Any) -> Any:
    """What two motions that are joined have in common: of one that does not know, what the other knows."""
    if first is None or second is None:
        return second if first is None else first
    return first if first is second or contents(first) == contents(second) else None


def contents(x: Any) -> Any:
    """All numbers of a piece or a trajectory, to be compared to the last bit."""
    if isinstance(x, np.ndarray):
        return x.shape, x.tobytes()
    if isinstance(x, tuple):
        return tuple(map(contents, x))
    if is_dataclass(x) and not isinstance(x, Layout):
        return type(x), *(contents(getattr(x, field.name)) for field in fields(x) if field.compare)
    return x


def as_times(t: Any) -> Any:
    """Times as an array of floats, all finite; or of objects, where they are nodes or numbers of many digits."""
    refuse_gradients("t", t)
    times = np.asarray(t)
    if times.dtype == object and all(isinstance(x, (int, float, Fraction, np.number)) for x in times.flat):
        times = times.astype(float)
    if times.dtype.kind not in "fiuO":
        raise TypeError(f"t has dtype {times.dtype} (expected times in s)")
    if times.dtype.kind != "O" and not np.isfinite(times).all():
        raise ValueError(f"t is {times[~np.isfinite(times)][0]} (expected finite times in s)")
    return times if times.dtype.kind == "O" else times.astype(np.float64)
