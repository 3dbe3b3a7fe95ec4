"""The result of a simulation: samples, events, energies, wrenches; its summary, plots and animation."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from ..api.call import BaseMotion
from ..api.functions import forward_dynamics, joint_wrenches, kinetic_energy, potential_energy
from ..api.states import ComponentAxes
from ..api.wrenches import constant_loads
from ..equality import ComparesArrays, identical
from ..errors import printable
from ..lazy import cached_property
from ..printing import Description, align_columns, notebook_html
from ..robot import Robot, WrenchFrames
from ..robot.description import size_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..drawing import Animation, View

STATUS = ("done", "interrupted", "step too small", "diverged", "stopped", "too many steps", "chattering")
MOST_EVENTS = 20  # in the summary of one trajectory
FAILED = ("step too small", "diverged", "too many steps", "chattering")


class TimeNamesAndState(NamedTuple):
    t: float
    names: tuple[str, ...]
    q: np.ndarray
    qd: np.ndarray


class EventRecord(ComparesArrays, TimeNamesAndState):
    """An event of a trajectory: its time, the names of the functions that crossed zero, and the state."""


class End(NamedTuple):
    """The state at the end of each trajectory, at the time `reached`; work and heat if they were integrated."""

    q: np.ndarray
    qd: np.ndarray
    work: np.ndarray | None
    heat: np.ndarray | None


@dataclass(frozen=True, repr=False, eq=False)
class Recording:
    """Trajectories sampled at the times `t`, from `lw.simulate` or `lw.load_recording`. Times not reached are NaN.

    Torques `tau`, accelerations `qdd` and `energy` are computed when they are first read.

    Attributes
    ----------
    t : ndarray
        Times in s.
    q, qd : ndarray
        Configurations (..., len(t), nq) and rates (..., len(t), n).
    status : str or ndarray of str
        Of each trajectory: "done", "stopped" (by an event), "interrupted", "step too small", "diverged" (a number
        was not finite), "too many steps" (see `max_steps`) or "chattering" (a torque jumps back and forth).
    reached : float or ndarray
        Last time of each trajectory.
    steps, rejected, evaluations : int or ndarray
        Accepted and rejected steps; evaluations of the right-hand side, without those for samples and events.
    work, heat : ndarray or None
        Work of torques and wrench, and heat from friction, since the start (J).
    events : tuple of EventRecord
        In order of time; nested as the batch.
    """

    simulated: ClassVar[bool] = True  # so that `lw.identify` accepts torques of zero as torques

    robot: Robot
    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    status: Any
    reached: Any
    steps: Any
    rejected: Any
    evaluations: Any
    integrator: str
    rtol: float
    atol: float
    compiled: bool
    work: np.ndarray | None = None
    heat: np.ndarray | None = None
    events: Any = ()
    acting: Any = field(default=None, compare=False)  # the problem and its parameters, to compute torques again
    end: End | None = field(default=None, compare=False)  # not in files

    def __repr__(self) -> str:
        how = "" if self.compiled else ", in Python"
        return printable(
            f"<Recording of {self.robot.name!r}: {self.extent}, {self.ends};"
            f" {int(np.sum(self.steps))} steps of {self.integrator}{how}>"
        )

    def _repr_html_(self) -> str:
        return notebook_html(self)

    def __eq__(self, other: object) -> bool:
        """Whether motion, torques, wrenches and the motion of the base are equal bit for bit.

        Accelerations and energy are not compared: they follow from these, and depend on whether they are compiled.
        """
        if not isinstance(other, Recording):
            return NotImplemented
        names = [field.name for field in fields(self) if field.compare] + ["tau", "wrench", "point", "base"]
        return all(identical(getattr(self, name), getattr(other, name)) for name in names)

    @property
    def batch(self) -> tuple[int, ...]:
        return tuple(self.q.shape[:-2])

    @property
    def extent(self) -> str:
        """Number of trajectories, duration and samples, as text."""
        count = " x ".join(map(str, self.batch))
        many = f"{count} trajector{'y' if count == '1' else 'ies'}, " if count else ""
        return f"{many}{self.t[-1]:g} s, {len(self.t)} sample{'s' * (len(self.t) != 1)}"

    @property
    def ends(self) -> str:
        """The status as text: 'done', 'stopped at 1.3 s', '198 done, 2 diverged'."""
        if not self.batch:
            return str(self.status) if self.status == "done" else f"{self.status} at {self.reached:.6g} s"
        kinds, counts = np.unique(self.status, return_counts=True)
        count = dict(zip(kinds.tolist(), counts.tolist(), strict=True))
        known = [kind for kind in STATUS if kind in count]
        return ", ".join(f"{count[kind]} {kind}" for kind in dict.fromkeys([*known, *count])) or "none"

    @property
    def event_list(self) -> list[tuple[tuple[int, ...], float, str]]:
        """All events, by trajectory and time: index of the trajectory, time and name."""
        rows = []
        for index in np.ndindex(self.batch) if self.events else ():
            records = self.events
            for k in index:
                records = records[k]
            rows += [(index, record.t, name) for record in records for name in record.names]
        return rows

    @cached_property
    def tau(self) -> np.ndarray:
        """Applied torques (..., len(t), n), without friction."""
        if self.acting is None:
            reached = np.isfinite(self.q).all(axis=-1, keepdims=True)
            return np.where(reached, 0.0, np.nan)[..., [0] * self.robot.n]
        return np.asarray(self.acting.torques(self.t, self.q, self.qd))

    @cached_property
    def qdd(self) -> np.ndarray:
        """Accelerations (..., len(t), n)."""
        if self.acting is None:
            return np.asarray(forward_dynamics(self.robot, self.q, self.qd, np.zeros(self.robot.n)))
        return np.asarray(self.acting.accelerations(self.t, self.q, self.qd, self.tau))

    @cached_property
    def energy(self) -> np.ndarray:
        """Kinetic energy and potential energy of gravity in J, (..., len(t)); as seen from a moving base."""
        kinetic = kinetic_energy(self.robot, self.q, self.qd)
        return np.asarray(kinetic + potential_energy(self.robot, self.q))

    @cached_property
    def wrench(self) -> np.ndarray | None:
        """The constant applied wrench, on the tip (..., 6), on every link (..., links, 6) or at each of some frames
        (..., frames, 6); or None.
        """
        wrench: np.ndarray | None = getattr(self.acting, "wrench", None)
        return wrench

    @cached_property
    def point(self) -> np.ndarray | WrenchFrames | None:
        """Where `wrench` acts: points (3,) or (links, 3) in the table frames, the frames, or None, mass centres."""
        point: np.ndarray | WrenchFrames | None = getattr(self.acting, "point", None)
        return point

    @cached_property
    def base(self) -> BaseMotion | None:
        """The prescribed motion of the base at the samples, its arrays (len(t), 3); None of a base at rest."""
        motion: BaseMotion | None = None if self.acting is None else self.acting.base_motion(self.t)
        return motion

    @property
    def imbalance(self) -> np.ndarray:
        """The energy balance, energy - work + heat, relative to the start: integration error in J, (..., len(t))."""
        balance = self.energy if self.work is None or self.heat is None else self.energy - (self.work - self.heat)
        return np.asarray(balance - balance[..., :1])

    def joint_wrenches(self, axes: ComponentAxes = "base") -> np.ndarray:
        """The wrenches in the joints (..., len(t), links, 6), as `lw.joint_wrenches` gives them.

        Parameters
        ----------
        axes : {"base", "frame"}, optional
            Axes of the components: of the base, or of each joint frame.
        """
        motion = self.q, self.qd, self.qdd
        loads = constant_loads(self.wrench, self.point, len(self.batch))
        return np.asarray(joint_wrenches(self.robot, *motion, axes=axes, base=self.base, **loads))

    def summary(self) -> Description:
        """Time reached, number of steps, energy balance and events, as text.

        Examples
        --------
        >>> import linkwise as lw
        >>> print(lw.simulate(lw.load("planar3"), [0, 0, 0], [0, 0, 0], 1.0, samples=11).summary())
        planar3: 3 joints (RRR)
        samples            11, from 0 to 1 s
        status             done
        steps              ...
        rejected           ...
        evaluations        ...
        integrator         ..., rtol 1e-08, atol 1e-10, compiled
        largest imbalance  ... J at ... s; kinetic energy up to ... J
        """
        robot = self.robot
        t = self.t
        rows = {"trajectories": " x ".join(map(str, self.batch))} if self.batch else {}
        rows |= {
            "samples": f"{len(t)}, from {t[0]:g} to {t[-1]:g} s",
            "status": self.ends,
            "steps": count_summary(self.steps),
            "rejected": count_summary(self.rejected),
            "evaluations": count_summary(self.evaluations),
            "integrator": f"{self.integrator}, rtol {self.rtol:g}, atol {self.atol:g}, "
            + ("compiled" if self.compiled else "in Python"),
            "largest imbalance": largest_imbalance(self),
        }
        width = max(map(len, rows))
        title = f"{robot.name}: {size_of(robot)}"
        lines = [title, *(f"{name:{width}}  {text}" for name, text in rows.items()), *event_lines(self)]
        return Description("\n".join(lines))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a .npz, .csv or .parquet file. `lw.load_recording` reads it back bit for bit."""
        from .files import save

        save(self, path)

    def to_numpy(self) -> dict[str, np.ndarray]:
        """All arrays by name; status, steps, ... as arrays of the batch's shape."""
        from .files import values_of

        skipped = ("integrator", "rtol", "atol", "compiled")
        return {name: np.asarray(value) for name, value in values_of(self).items() if name not in skipped}

    def to_pandas(self) -> Any:
        """A DataFrame, one row per sample: [trajectory,] t, q1, ..., qd1, ..., qdd1, ..., tau1, ..., energy.

        If joints have several degrees of freedom, the columns are q.base.x, ..., qd.base.wx, ...
        """
        from .files import to_pandas

        return to_pandas(self)

    def plot(
        self, path: str | os.PathLike[str] | None = None, joints: str | int | Sequence[str | int] | None = None
    ) -> Figure:
        """Plot positions, rates, torques (if any) and the energy imbalance over time.

        Up to 50 trajectories are lines; more are a median and the band from the 5th to the 95th percentile. Events are
        vertical lines, or marks at the top if there are several trajectories. Quaternions have their own panel.

        Parameters
        ----------
        path : path, optional
            Picture to write.
        joints : str, int or sequence, optional
            Joints to show: names of links, labels of `robot.q_names` and `robot.v_names`, or numbers of degrees of
            freedom from 0. By default all; of large robots with free or ball joints, those that move most.

        Returns
        -------
        matplotlib Figure
        """
        from ..figures import save_figure
        from .plot import figure_of

        return save_figure(figure_of(self, joints), path)

    def animate(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        fps: float = 30.0,
        speed: float = 1.0,
        trajectory: int | tuple[int, ...] | None = None,
        view: View | None = None,
        width: int = 560,
        pause: float = 0.5,
        trail: bool | None = None,
        frames: bool = False,
        centres: bool | None = None,
        bodies: bool | None = None,
        progress: bool | None = None,
    ) -> Animation:
        """Animate the robot in real time; notebooks show the result.

        Parameters
        ----------
        path : path, optional
            File to write: .gif, .mp4 (needs ffmpeg), or .html, a single interactive page that needs no network.
        fps : float, optional
            Frames per second, interpolated between the samples.
        speed : float, optional
            0.1 is slow motion.
        trajectory : int or tuple of int, optional
            Which trajectory of a batch; by default the first.
        width, pause : optional
            Of .gif and .mp4: width in pixels, and seconds at the end.
        trail : bool, optional
            False: do not draw the paths of the tips.
        view, frames, centres, bodies : optional
            As in `lw.draw`.
        progress : bool, optional
            Show a progress bar; by default on a terminal.

        Returns
        -------
        Animation
        """
        from ..drawing import SceneOptions, animate
        from .one_trajectory import motion_of

        return animate(
            motion_of(self, trajectory),
            path,
            fps=fps,
            speed=speed,
            view=view,
            width=width,
            pause=pause,
            trail=trail,
            options=SceneOptions(frames, centres, False, bodies),
            progress=progress,
        )


def event_lines(recording: Recording) -> list[str]:
    """A table of all events of one trajectory; for a batch, the number of events of each name."""
    events = recording.event_list
    if not events:
        return []
    if not recording.batch:
        shown = [(f"{t:.6g} s", name) for _, t, name in events[:MOST_EVENTS]]
        more = [f"and {len(events) - MOST_EVENTS} more"] if len(events) > MOST_EVENTS else []
        return [f"events: {len(events)}", *align_columns([("time", "name"), *shown]), *more]
    rows = [("name", "met", "trajectories", "first", "last")]
    for name in dict.fromkeys(name for _, _, name in events):
        matches = [(index, t) for index, t, other in events if other == name]
        times = [t for _, t in matches]
        ends = f"{min(times):.6g} s", f"{max(times):.6g} s"
        rows.append((name, str(len(matches)), str(len({index for index, _ in matches})), *ends))
    return [f"events: {len(events)}", *align_columns(rows)]


def count_summary(counts: Any) -> str:
    array = np.asarray(counts)
    if not array.ndim or not array.size:
        return f"{int(array.sum())}"
    return f"{array.min()} to {array.max()}, median {np.median(array):g}, {array.sum()} in all"


def largest_imbalance(recording: Recording) -> str:
    size = np.abs(recording.imbalance)
    if not np.isfinite(size).any():
        return "unknown"
    worst_at = np.unravel_index(int(np.nanargmax(size)), size.shape)
    batch = worst_at[:-1]
    where = f" of trajectory {batch[0] if len(batch) == 1 else tuple(map(int, batch))}" if batch else ""
    kinetic = np.nanmax(kinetic_energy(recording.robot, recording.q[batch], recording.qd[batch]))
    when = f"at {recording.t[worst_at[-1]]:g} s{where}"
    return f"{size[worst_at]:.2g} J {when}; kinetic energy up to {kinetic:.3g} J"
