"""A motion of the joints in time, composed of pieces.

A trajectory runs from t = 0 to its duration; before and after, the joints stand still where it starts and ends.
Angles in radians, displacements in m, times in s.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ..robot import Friction, Robot
from ..robot.layout import Layout, angle_mask
from ..robot.named_arrays import refuse_gradients
from ..tables import save_table
from .limits import MotionLimits, even_times, joint_count_text
from .pieces import JointMotion, Piece, select_by_sign

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SLACK = 1e-12  # relative to the duration: times so little outside it count as its ends
TRACED = 64  # most formulas of a traced trajectory: each adds a choice for every coefficient
GAP = 1e-9  # largest relative difference between an end and the start that follows it


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """A motion of n joints from t = 0 to t = duration; call it with a time, or an array of times.

    `cycloid`, `cubic`, `quintic`, `septic`, `trapezoid`, `spline`, `fourier` and `read_csv` of
    `lw.trajectories`, and `lw.excitation`, make one; `then` joins two. Trajectories with equal numbers
    are equal.

    Examples
    --------
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
        """Whether both have the same numbers: functions that follow equal trajectories are compiled once."""
        return isinstance(other, Trajectory) and (self is other or exact_contents(self) == exact_contents(other))

    def __hash__(self) -> int:
        return hash(exact_contents(self))

    def __repr__(self) -> str:
        return f"<Trajectory of {self._moved}: {self.name}, {self.duration:g} s>"

    @property
    def _title(self) -> str:
        return self.name

    @property
    def _moved(self) -> str:
        several = self.layout is not None and self.layout.labelled
        return f"{self.n} degrees of freedom" if several else joint_count_text(self.n)

    @property
    def duration(self) -> float:
        return sum(piece.duration for piece in self.pieces)

    @property
    def n(self) -> int:
        """Number of degrees of freedom, that of qd and qdd."""
        return self.pieces[0].n

    @property
    def nq(self) -> int:
        """Number of coordinates, that of q."""
        return self.n if self.layout is None else self.layout.nq

    @property
    def _quaternions(self) -> tuple[int, ...]:
        return () if self.layout is None else tuple(p for p, _ in self.layout.quaternions)

    def __call__(self, t: Any, *, extrapolate: bool = False) -> JointMotion:
        """Evaluate the motion. At a time where the formula changes, the later one holds.

        Parameters
        ----------
        t : array_like, shape (...,), or graph node
            Times in s. In a function that is traced or compiled t is a node and means the same.
        extrapolate : bool
            Whether the first and the last formula continue before 0 and after the duration. By default the
            joints stand still there.

        Returns
        -------
        JointMotion
            q (..., nq), qd (..., n) and qdd (..., n).
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
        inside = select_by_sign(column + slack, (end + slack) - column, -1.0)
        standing = JointMotion(
            select_by_sign(column - end, last, select_by_sign(-column, first, column)), 0.0, 0.0
        )  # NaN stays NaN
        return JointMotion(*(select_by_sign(inside, *both) for both in zip(motion, standing, strict=True)))

    def _at(self, t: Any) -> JointMotion:
        """Evaluate the piece of each time; before and after, the first and the last."""
        motion, begin = self.pieces[0].at(t), 0.0
        for before, piece in itertools.pairwise(self.pieces):
            begin += before.duration
            past = (t - begin)[:, None]
            motion = JointMotion(
                *(select_by_sign(past, *both) for both in zip(piece.at(t - begin), motion, strict=True))
            )
        return motion

    def then(self, following: Trajectory) -> Trajectory:
        """Join another motion, which must start where this one ends; rates may jump there.

        Examples
        --------
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
        robot, limits = shared_value(self.robot, following.robot), shared_value(self.limits, following.limits)
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
        """Write the motion as CSV in full precision, for `lw.trajectories.read_csv`.

        The columns are t, q1.., qd1.., qdd1.. With joints of several degrees of freedom they are named
        after the coordinates: q.base.x, qd.base.wx.

        Parameters
        ----------
        path : str or path
        samples : int
            Number of evenly spaced times.
        rate : float, optional
            Samples per second, in place of `samples`: t = k / rate until the end is reached.
        names : bool
            Whether columns are named after the joints: q_link1, qd_link1, ...
        degrees : bool
            Whether angles are in degrees. `names` and `degrees` need a trajectory that has a robot: one of
            `lw.excitation`, also after `then`, or one made with `robot=`.
        """
        t, layout = even_times(self.duration, samples, rate), self.layout or Layout.numbered(self.n)
        columns = layout.table(t, **self(t)._asdict())
        for word in JointMotion._fields:
            labels = layout.columns(word)
            if degrees:
                turning = angle_mask(self._known_arm("degrees=True"), word)
                columns |= {
                    name: np.degrees(columns[name]) for name, turns in zip(labels, turning, strict=True) if turns
                }
            if names and not layout.labelled:
                joints = self._known_arm("names=True").v_names if self.layout is None else layout.v_names
                renamed = {name: f"{word}_{joint}" for name, joint in zip(labels, joints, strict=True)}
                columns = {renamed.get(name, name): values for name, values in columns.items()}
        save_table(path, columns)

    def _known_arm(self, what: str) -> Robot:
        if self.robot is None:
            raise ValueError(
                f"{what}: the trajectory has no robot (expected robot=..., or a trajectory of lw.excitation or joined"
                " to one)"
            )
        return self.robot

    def plot(
        self,
        path: str | os.PathLike[str] | None = None,
        samples: int = 501,
        *,
        robot: Robot | None = None,
        limits: Mapping[str, Any] | None = None,
        friction: bool | Friction = False,
        degrees: bool = False,
    ) -> Figure:
        """Plot positions, rates and accelerations, and torques of the drives where the robot is known.

        Limits are dashed, and a limit that is far from the curve is a number.

        Parameters
        ----------
        path : str or path, optional
            File to write the picture to.
        samples : int
        robot : Robot, optional
            Default: that of an excitation which is part of the motion.
        limits : mapping, optional
            Limits as in `lw.excitation`, in place of the robot's own.
        friction : bool or Friction
            Whether to add friction to the torques.
        degrees : bool
            Whether angles are in degrees.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from ..figures import plot_text, save_figure
        from .plot import draw_motion

        shown_limits = self.limits if robot is None and limits is None else None
        robot = self.robot if robot is None else robot
        if degrees and robot is None:
            raise TypeError("degrees=True without a robot (expected robot=..., which tells angles from lengths)")
        if robot is not None and shown_limits is None:
            shown_limits = MotionLimits.of(robot, limits, complete=False)
        title = self._title if robot is None else f"{plot_text(robot.name)}: {self._title}"
        return save_figure(draw_motion(self, robot, shown_limits, title, samples, friction, degrees), path)


def shared_value(first: Any, second: Any) -> Any:
    """The value that two joined motions share, or the value of the only one that has it; otherwise None."""
    if first is None or second is None:
        return second if first is None else first
    return first if first is second or exact_contents(first) == exact_contents(second) else None


def exact_contents(x: Any) -> Any:
    """All numbers of a piece or a trajectory, for comparison bit by bit."""
    if isinstance(x, np.ndarray):
        return x.shape, x.tobytes()
    if isinstance(x, tuple):
        return tuple(map(exact_contents, x))
    if is_dataclass(x) and not isinstance(x, Layout):
        return type(x), *(exact_contents(getattr(x, field.name)) for field in fields(x) if field.compare)
    return x


def as_times(t: Any) -> Any:
    """Times as an array of finite floats, or of objects if they are nodes or numbers of many digits."""
    refuse_gradients("t", t)
    times = np.asarray(t)
    if times.dtype == object and all(isinstance(x, (int, float, Fraction, np.number)) for x in times.flat):
        times = times.astype(float)
    if times.dtype.kind not in "fiuO":
        raise TypeError(f"t has dtype {times.dtype} (expected times in s)")
    if times.dtype.kind != "O" and not np.isfinite(times).all():
        raise ValueError(f"t is {times[~np.isfinite(times)][0]} (expected finite times in s)")
    return times if times.dtype.kind == "O" else times.astype(np.float64)
