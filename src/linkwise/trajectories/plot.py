"""Plot a motion: a row for each joint, with panels for positions, rates, accelerations and torques, and limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..api.functions import inverse_dynamics
from ..figures import joint_style, new_figure, plot_text, style_axes, theme_colour
from ..robot import Friction, Robot
from ..robot.layout import Layout
from .limits import UNITS, Floats, MotionLimits, even_times, is_angular
from .loads import check_joints

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .trajectory import Trajectory

TITLES = {"position": "position", "velocity": "rate", "acceleration": "acceleration", "effort": "torque of the drive"}
FAR = 2.5  # relative to the curve's reach from the middle: farther limits are written as text
GREY = "0.35"


class Quantity(NamedTuple):
    """One column of the picture; NaN where a joint has no such curve."""

    kind: str
    curves: Floats  # (samples, n)
    lower: Floats  # (n,) infinite where there is no limit
    upper: Floats
    units: tuple[str, ...]

    @property
    def title(self) -> str:
        title = "force of the drive" if set(self.units) == {"N"} else TITLES[self.kind]
        return f"{title} ({self.units[0]})" if len(set(self.units)) == 1 else title


def draw_motion(
    motion: Trajectory,
    robot: Robot | None,
    limits: MotionLimits | None,
    title: str,
    samples: int = 501,
    friction: bool | Friction = False,
    degrees: bool = False,
) -> Figure:
    if robot is not None:
        check_joints(robot, motion)
    t = even_times(motion.duration, samples)
    columns = quantities(motion, t, robot, limits, friction, degrees)
    layout = motion.layout or Layout.numbered(motion.n)
    names = layout.v_names if robot is None else robot.v_names
    named = robot is not None or motion.layout is not None
    figure = new_figure(1.2 + 3.0 * len(columns), 0.9 + 1.25 * motion.n)
    grid = figure.subplots(motion.n, len(columns), squeeze=False, sharex=True)
    for k, (row, name) in enumerate(zip(grid, names, strict=True)):
        for axes, column in zip(row, columns, strict=True):
            draw_panel(axes, t, column, k)
        row[0].set_ylabel(plot_text(name) if named else f"joint {name}", rotation=0, ha="right", va="center")
    for axes, column in zip(grid[0], columns, strict=True):
        axes.set_title(column.title, fontsize="medium")
    for axes in grid[-1]:
        axes.set(xlabel="time (s)", xlim=(0.0, motion.duration))
    figure.align_ylabels(grid[:, 0])
    drawn = any(len(axes.lines) > 1 for axes in grid.flat)
    figure.suptitle(f"{title}; limits dashed" if drawn else title)
    return figure


def quantities(
    motion: Trajectory, t: Floats, robot: Robot | None, limits: MotionLimits | None, friction: Any, degrees: bool
) -> list[Quantity]:
    q, qd, qdd = motion(t)
    layout = motion.layout or Layout.numbered(motion.n)
    position = np.full_like(qd, np.nan)
    for place, k in layout.plain:
        position[:, k] = q[:, place]
    curves = {"position": position, "velocity": qd, "acceleration": qdd}
    if robot is not None:
        curves["effort"] = np.asarray(inverse_dynamics(robot, q, qd, qdd, friction=friction))
    return [quantity(kind, values, robot, limits, degrees) for kind, values in curves.items()]


def quantity(kind: str, curves: Floats, robot: Robot | None, limits: MotionLimits | None, degrees: bool) -> Quantity:
    n = curves.shape[1]
    upper = np.full(n, np.inf) if limits is None else getattr(limits, "upper" if kind == "position" else kind)
    lower = limits.lower if limits is not None and kind == "position" else -upper
    turns = [robot is None or is_angular(robot, k) for k in range(n)]
    angle, length = UNITS[kind]
    if robot is None:
        return Quantity(kind, curves, lower, upper, (f"{angle}, {length}",) * n)
    scale = np.ones(n)
    if degrees and kind != "effort":
        angle, scale = angle.replace("rad", "deg"), np.where(turns, np.degrees(1.0), 1.0)
    units = tuple(angle if turn else length for turn in turns)
    return Quantity(kind, curves * scale, lower * scale, upper * scale, units)


def draw_panel(axes: Axes, t: Floats, column: Quantity, k: int) -> None:
    curve, ends = column.curves[:, k], (float(column.lower[k]), float(column.upper[k]))
    if np.isnan(curve).all():
        axes.tick_params(left=False, labelleft=False, bottom=False)
        axes.spines[:].set_visible(False)
        return
    axes.plot(t, curve, **{**joint_style(k), "linestyle": "-"})
    middle, half = sum(ends) / 2.0, (ends[1] - ends[0]) / 2.0
    if np.isfinite(half):
        if half <= FAR * float(np.abs(curve - middle).max()):
            for end in ends:
                axes.axhline(end, color=theme_colour(GREY), linestyle="--", linewidth=0.9)
        else:
            words = f"limits {ends[0]:.4g} to {ends[1]:.4g}" if column.kind == "position" else f"limit {ends[1]:.4g}"
            corner: dict[str, Any] = {"transform": axes.transAxes, "ha": "right", "va": "top"}
            axes.text(0.99, 0.97, words, fontsize="x-small", color=theme_colour(GREY), **corner)
            axes.margins(y=0.2)
    if len(set(column.units)) > 1:
        axes.set_title(column.units[k], loc="left", fontsize="x-small", pad=2.0)
    style_axes(axes, zero=0.0)
    axes.tick_params(labelsize="small")
