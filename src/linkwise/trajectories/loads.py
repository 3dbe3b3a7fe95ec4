"""The torques of a robot's drives and the loads of its joints along a trajectory, and the peaks of both."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..api.call import BaseMotion
from ..api.functions import inverse_dynamics, joint_wrenches
from ..api.states import AXES, Array, ComponentAxes
from ..errors import one_of
from ..figures import grey_style, joint_style, new_figure, plot_text, save_figure, style_axes
from ..robot import Friction, Robot, require_robot
from ..robot.description import grid
from ..robot.layout import Layout
from ..robot.symbols import refuse_symbols
from ..tables import save_table
from .limits import Floats, even_times, joint_count_text
from .trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COMPONENTS = ("mx", "my", "mz", "fx", "fy", "fz")
BEARING = ("radial", "axial", "tilting")  # force across the joint's axis, force along it, moment across it
FRAMES = {"base": "base", "frame": "joint"}  # names of the axes in titles
MOST_GREYS = 2


@dataclass(frozen=True, eq=False, repr=False)
class Peaks:
    """Largest magnitudes among the samples, for each joint; printed, a table.

    Torques have n entries, one for each degree of freedom, loads m, one for each body that joints carry.
    """

    title: str
    joints: tuple[str, ...]  # the links' names, or "base.wx" where a joint has several degrees of freedom
    units: tuple[str, ...]  # "N m" or "N"
    tau: Floats  # (n,) the largest |tau|
    when: Floats  # (n,) the time of that, the first if there are several
    rms: Floats  # (n,) the root of the mean over time of tau²
    power: Floats  # (n,) the largest |tau qd|, W
    loads: Floats | None  # (m, 6) the largest magnitude of each component
    radial: Floats | None  # (m,) the largest force across the joint's axis, N; NaN where it has several
    axial: Floats | None  # (m,) the largest force along it, N
    tilting: Floats | None  # (m,) the largest moment across it, N m
    links: tuple[str, ...] = ()  # of the loads

    def __repr__(self) -> str:
        head = ["joint", "unit", "|tau|", "at (s)", "rms tau", "power (W)"]
        drives = [
            [joint, unit, *(format_number(x[k]) for x in (self.tau, self.when, self.rms, self.power))]
            for k, (joint, unit) in enumerate(zip(self.joints, self.units, strict=True))
        ]
        if self.loads is None:
            return "\n".join([self.title, *grid(head, drives)])
        names = [*(f"|{name}|" for name in COMPONENTS), *BEARING]
        bearings = np.column_stack([getattr(self, name) for name in BEARING])
        load_rows = [
            [*map(format_number, row), *("-" if np.isnan(x) else format_number(x) for x in bearing_loads)]
            for row, bearing_loads in zip(self.loads, bearings, strict=True)
        ]
        if self.links == self.joints:
            both = [[*drive, *loads] for drive, loads in zip(drives, load_rows, strict=True)]
            return "\n".join([self.title, *grid([*head, *names], both)])
        labelled_rows = [[link, *loads] for link, loads in zip(self.links, load_rows, strict=True)]
        return "\n".join([self.title, *grid(head, drives), "", *grid(["link", *names], labelled_rows)])


@dataclass(frozen=True, eq=False, repr=False)
class Loads:
    """Torques and loads of a robot along a trajectory. The first axis of each array is that of the samples.

    Attributes
    ----------
    robot : Robot
    t : ndarray, shape (samples,)
        Times, s.
    q, qd, qdd : ndarray, shapes (samples, nq), (samples, n), (samples, n)
    tau : ndarray, shape (samples, n)
        Torques of revolute joints (N m), forces of prismatic ones (N).
    loads : ndarray, shape (samples, m, 6), or None
        Moment, then force, that each of m links, `robot.names`, gets from its parent.
    axes : {"base", "frame"}
        Whose axes the components of `loads` have.
    bearings : ndarray, shape (samples, m, 3), or None
        Force across the joint's axis, force along it, moment across it.
    wrench, base : as given to `lw.torque_along`, or None
    """

    robot: Robot
    t: Floats  # (samples,)
    q: Floats  # (samples, nq)
    qd: Floats  # (samples, n)
    qdd: Floats
    tau: Floats  # (samples, n) torques of revolute joints (N m), forces of prismatic ones (N)
    loads: Floats | None  # (samples, m, 6) what each link gets from its parent: moment, then force
    axes: ComponentAxes  # of their components: those of the base frame, or of the joint frame
    bearings: Floats | None  # (samples, m, 3) forces across and along the joint's axis, moment across it
    wrench: Array | Mapping[str, Array] | None = None
    base: BaseMotion | None = None

    def __repr__(self) -> str:
        return f"<Loads of robot {self.robot.name!r}: {self._span}>"

    @property
    def _span(self) -> str:
        return f"{len(self.t)} samples over {self.t[-1]:g} s"

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the m joints that carry the links."""
        return tuple(joint.joint for joint in self.robot.moving)

    @property
    def power(self) -> Floats:
        """Power of each drive in W, negative where it brakes: (samples, n)."""
        return self.tau * self.qd

    @property
    def radial(self) -> Floats | None:
        """The force across each joint's axis, in N, never negative: (samples, m)."""
        return None if self.bearings is None else self.bearings[..., 0]

    @property
    def axial(self) -> Floats | None:
        """The force along each joint's axis, in N, with that of a prismatic joint's drive: (samples, m)."""
        return None if self.bearings is None else self.bearings[..., 1]

    @property
    def tilting(self) -> Floats | None:
        """The moment across each joint's axis, in N m, never negative: (samples, m)."""
        return None if self.bearings is None else self.bearings[..., 2]

    @property
    def units(self) -> tuple[str, ...]:
        """Units of the torques and forces, "N m" or "N" for each."""
        return units_of(self.robot)

    def peaks(self) -> Peaks:
        """Return the largest magnitudes among the samples, for each joint.

        Between samples there may be larger ones; more samples show them.
        """
        size = np.abs(self.tau)
        weights = np.full(len(self.t), self.t[1])  # the trapezoidal rule over evenly spaced times
        weights[[0, -1]] /= 2.0
        bearing = "" if self.loads is None else f"; loads in the {FRAMES[self.axes]} frame, moments in N m, forces in N"
        return Peaks(
            title=f"{self.robot.name}, largest magnitudes of {self._span}{bearing}",
            joints=self.robot.v_names,
            links=self.robot.names,
            units=self.units,
            tau=size.max(axis=0),
            when=self.t[size.argmax(axis=0)],
            rms=np.sqrt(weights @ self.tau**2 / self.t[-1]),
            power=np.abs(self.power).max(axis=0),
            loads=None if self.loads is None else np.abs(self.loads).max(axis=0),
            **{name: None if (load := getattr(self, name)) is None else np.abs(load).max(axis=0) for name in BEARING},
        )

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the motion, torques and loads as CSV, with all digits.

        The columns are t, q1.., qd1.., qdd1.., tau1.. and mx1, .., fz1, radial1, axial1, tilting1, mx2, ...
        With joints of several degrees of freedom they are q.base.x, .., tau.base.wx, .., mx.base, ...
        `lw.trajectories.read_csv` reads the motion back.
        """
        save_table(path, self.columns())

    def columns(self) -> dict[str, Floats]:
        """The columns that `to_csv` writes, by name."""
        columns = Layout.of(self.robot).table(self.t, q=self.q, qd=self.qd, qdd=self.qdd, tau=self.tau)
        if self.loads is not None and self.bearings is not None:
            columns |= load_columns(self.robot, self.loads, self.bearings)
        return columns

    def plot(self, path: str | os.PathLike[str] | None = None, *, loads: bool = False) -> Figure:
        """Plot the torques and forces, or with `loads=True` also the six components at each joint.

        Parameters
        ----------
        path : str or path, optional
            File to write the picture to.
        loads : bool

        Returns
        -------
        matplotlib.figure.Figure
        """
        if loads and self.loads is None:
            raise ValueError("the loads were left out (expected lw.torque_along(..., loads=True))")
        several = self.joints != self.robot.v_names  # degrees of freedom of a joint, or none
        drives = [unit for unit in ("N m", "N") if unit in self.units]
        figure = new_figure(*((11, 9) if loads else (9, 1 + 3.4 * len(drives))))
        if loads and self.loads is not None:
            above, below = figure.subfigures(2, 1, squeeze=False, height_ratios=(1, 2)).flat
            panels = list(above.subplots(1, len(drives), squeeze=False).flat)
            for axes, name, curves in zip(below.subplots(2, 3).flat, COMPONENTS, self.loads.T, strict=True):
                label = f"${name[0]}_{name[1]}$ ({'N m' if name[0] == 'm' else 'N'})"
                self._draw(axes, curves, label, self.joints, self._link_styles())
            if several:  # otherwise the legends above name both
                look = legend_style(len(self.joints), rows=24)
                below.legend(*axes.get_legend_handles_labels(), title="loads of", loc="outside right upper", **look)
        else:
            panels = list(figure.subplots(len(drives), 1, squeeze=False).flat)
        for axes, unit in zip(panels, drives, strict=True):
            curves = np.where(np.array(self.units)[:, None] == unit, self.tau.T, np.nan)
            label = f"{'torque' if unit == 'N m' else 'force'} of the drive ({unit})"
            self._draw(axes, curves, label, self.robot.v_names, [joint_style(k) for k in range(self.robot.n)])
            look = legend_style(self.units.count(unit) if several else 0, rows=12 if loads else 16)
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), **look)
        frame = f"; loads in the {FRAMES[self.axes]} frame" if loads else ""
        figure.suptitle(f"{plot_text(self.robot.name)}: what the trajectory asks of its joints{frame}")
        return save_figure(figure, path)

    def _link_styles(self) -> list[dict[str, Any]]:
        """Styles of link loads: that of the joint's torque, or grey without one degree of freedom."""
        first_dof = [
            joint.v.start if joint.kind.degrees == 1 and joint.coupling is None else -1 for joint in self.robot.moving
        ]
        if first_dof.count(-1) > MOST_GREYS:
            return [joint_style(k) for k in range(len(first_dof))]
        return [joint_style(v) if v >= 0 else grey_style(first_dof[:k].count(-1)) for k, v in enumerate(first_dof)]

    def _draw(
        self, axes: Axes, curves: Floats, label: str, names: tuple[str, ...], styles: list[dict[str, Any]]
    ) -> None:
        """Draw curves (n, samples), a line for each name, except those that are NaN."""
        for name, curve, style in zip(names, curves, styles, strict=True):
            if not np.isnan(curve).all():
                axes.plot(self.t, curve, **style, label=plot_text(name))
        axes.set(xlabel="time (s)", ylabel=label, xlim=(self.t[0], self.t[-1]))
        style_axes(axes)


def torque_along(
    robot: Robot,
    trajectory: Trajectory,
    samples: int = 501,
    *,
    rate: float | None = None,
    wrench: Array | Mapping[str, Array] | None = None,
    point: Array | None = None,
    wrench_axes: ComponentAxes = "base",
    base: BaseMotion | None = None,
    friction: bool | Friction = False,
    method: str | None = None,
    loads: bool = True,
    axes: ComponentAxes = "base",
) -> Loads:
    """Compute torques, and all six components of the load of each joint, along a trajectory.

    Parameters
    ----------
    robot : Robot
    trajectory : Trajectory
    samples : int
        Number of evenly spaced times.
    rate : float, optional
        Samples per second, in place of `samples`; the last is at the end or just after it.
    wrench : mapping, or array_like (6,), (samples, 6), (1, m, 6) or (samples, m, 6), optional
        External wrench as in `lw.inverse_dynamics`: (6,) or (samples, 6) by frame, on the tip link, or on each of m
        links.
    point : array_like, shape (3,) or (m, 3), or with the samples in front, optional
        Where an array of wrenches acts; by default at the mass centre.
    wrench_axes : {"base", "frame"}
        Axes of wrenches by frame, as `axes` of `lw.inverse_dynamics`.
    base : BaseMotion, optional
        Prescribed motion of the base, as in `lw.inverse_dynamics`: arrays (3,) or (samples, 3).
    friction : bool or Friction
        Whether to add friction of the joints to the torques.
    method : str, optional
        Formulation of the torques, one of `lw.methods(lw.inverse_dynamics)`.
    loads : bool
        Whether to compute the loads: those of `lw.joint_wrenches`, about the origins of the joint
        frames, and of the bearings. The latter are NaN for joints of several degrees of freedom.
    axes : {"base", "frame"}
        Axes of the loads. With "frame", z is along the joint's axis; the component there is the torque
        or force of the drive without the part for the rotor's inertia and friction.

    Returns
    -------
    Loads

    Examples
    --------
    >>> import linkwise as lw
    >>> arm = lw.load("planar3")
    >>> along = lw.torque_along(arm, lw.trajectories.cycloid([0, 0, 0], [1, 1, 1], duration=2))
    >>> along.tau.shape, along.loads.shape
    ((501, 3), (501, 3, 6))
    """
    require_robot(robot)
    if not isinstance(trajectory, Trajectory):
        raise TypeError(
            f"the second argument is of type {type(trajectory).__name__} (expected a Trajectory, which"
            " lw.trajectories.spline(t, q, robot=arm) and lw.trajectories.read_csv(path, robot=arm) make of a table)"
        )
    check_joints(robot, trajectory)
    refuse_symbols(robot)
    one_of(axes, AXES, "axes")
    t = even_times(trajectory.duration, samples, rate)
    motion = trajectory(t)
    external: dict[str, Any] = {"wrench": wrench, "point": point, "base": base}
    tau = inverse_dynamics(robot, *motion, axes=wrench_axes, friction=friction, method=method, **external)
    if not loads:
        return Loads(robot, t, *motion, tau, None, axes, None, wrench, base)
    link_loads, bearings = loads_at(robot, motion, axes, wrench_axes=wrench_axes, **external)
    return Loads(robot, t, *motion, tau, link_loads, axes, bearings, wrench, base)


def check_joints(robot: Robot, trajectory: Trajectory) -> None:
    """Raise if the motion is that of another robot."""
    if (trajectory.n, trajectory.nq) != (robot.n, robot.nq):
        names = ", ".join(robot.v_names)
        hint = f" (expected one made with robot=..., of {robot.nq} coordinates)" if robot.quaternions else ""
        raise ValueError(
            f"the trajectory has {joint_count_text(trajectory.n)}, robot {robot.name!r} has {robot.n}: {names}{hint}"
        )


def loads_at(robot: Robot, motion: Any, axes: ComponentAxes, **external: Any) -> tuple[Floats, Floats]:
    """Loads (..., m, 6) along the axes, and bearing loads (..., m, 3), at states (q, qd, qdd)."""
    one_of(axes, AXES, "axes")
    loads = partial(joint_wrenches, robot, *motion, **external)
    in_joint_frame = loads(axes="frame")
    in_axes = in_joint_frame if axes == "frame" else loads(axes=axes)
    mx, my, _, fx, fy, fz = np.moveaxis(in_joint_frame, -1, 0)
    bearings = np.stack([np.hypot(fx, fy), fz, np.hypot(mx, my)], axis=-1)  # across z, along z, moment across z
    bearings[..., [joint.kind.degrees > 1 for joint in robot.moving], :] = np.nan
    return in_axes, bearings


def load_columns(robot: Robot, loads: Floats, bearings: Floats) -> dict[str, Floats]:
    """The columns mx1, .., fz1, radial1, axial1, tilting1, mx2, ... of loads (samples, m, 6)."""
    columns: dict[str, Floats] = {}
    labelled = Layout.of(robot).labelled
    for k, joint in enumerate(robot.moving):
        of = f".{joint.name}" if labelled else f"{k + 1}"
        columns |= {f"{name}{of}": loads[:, k, i] for i, name in enumerate(COMPONENTS)}
        if joint.kind.degrees == 1:
            columns |= {f"{name}{of}": bearings[:, k, i] for i, name in enumerate(BEARING)}
    return columns


def units_of(robot: Robot) -> tuple[str, ...]:
    """Units of the torque or force of each degree of freedom."""
    return robot.effort_units


def legend_style(count: int, rows: int) -> dict[str, Any]:
    """The style of a legend beside panels: small and in columns if it is long."""
    return {"frameon": False} | ({"fontsize": "x-small", "ncols": 1 + (count - 1) // rows} if count > rows else {})


def format_number(x: float) -> str:
    return f"{float(x) + 0.0:.4g}"
