"""Plots of recordings."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import is_integer, near_miss
from ..figures import grey_style, joint_style, new_figure, plot_text, style_axes, theme_colour
from ..robot import Robot
from ..robot.layout import Layout
from ..robot.scales import reach, torque_scales
from .recording import Recording

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LABELS = {  # of angles and of displacements
    "q": {"R": "angle (rad)", "P": "displacement (m)"},
    "qd": {"R": "rate (rad/s)", "P": "rate (m/s)"},
    "tau": {"R": "torque (N m)", "P": "force (N)"},
}
QUATERNION = "quaternion"
IMBALANCE = "energy imbalance (J)"
ENDED = "#b00020"
EVENTS = ("0.1", "#5e35b1", "#00695c", "#8d6e63", "0.5", "#ad1457")  # colours by name of the event, dotted
MOST_ENTRIES = 24  # of the legend; large robots with free or ball joints show no more degrees of freedom by default
ROUNDING = 1e-12  # rounding errors of curves, relative to their size, or to the robot's lengths and torques
FLAT = 0.055  # half the y range of a constant curve, as matplotlib's for zero
MOST_LINES = 50  # trajectories that are drawn one by one
BAND = (5.0, 50.0, 95.0)  # percentiles


def figure_of(recording: Recording, joints: str | int | Sequence[str | int] | None = None) -> Figure:
    robot = recording.robot
    layout, sorts = Layout.of(robot), kinds_of(robot)
    large = layout.labelled and robot.n + 4 * len(layout.quaternions) > MOST_ENTRIES
    crowded = large and joints is None
    shown = largest_movers(recording) if crowded else select_degrees(robot, joints)
    plain = {v: p for p, v in layout.plain if v in shown}
    turning = [b for b, (_, v) in enumerate(layout.quaternions) if {v, v + 1, v + 2} & set(shown)]
    spins = {v + i for b in turning for v in [layout.quaternions[b][1]] for i in range(3)}
    numbered = enumerate(sorted({*shown, *spins}))
    styles = {k: joint_style(i if large else k) for i, k in numbered}
    kinds = [kind for kind in "RP" if any(sorts[k] == kind for k in shown)]
    torques = np.nan_to_num(recording.tau)
    acts = {kind: any(torques[..., k].any() for k in shown if sorts[k] == kind) for kind in kinds}
    quantities = [name for name in LABELS if name != "tau" or any(acts.values())]
    panels: list[Any] = [[name + kind for kind in kinds] for name in quantities] + [["imbalance"] * len(kinds)]
    if layout.labelled and not all(acts.values()) and any(acts.values()):  # forces on the base that are zero
        panels[-2] = [f"tau{kind}" for kind in kinds if acts[kind]] * len(kinds)
    if turning:
        angles = any(sorts[v] == "R" for v in plain)
        panels[0] = [name if angles or name != "qR" else QUATERNION for name in panels[0]]
        panels = [[QUATERNION] * len(kinds)] * angles + panels
    figure = new_figure(3.5 + 5.0 * len(kinds), 1.0 + 2.0 * len(panels))
    axes = figure.subplot_mosaic(panels, sharex=True)
    acting = recording.acting
    stairs = (
        {"drawstyle": "steps-post"} if getattr(acting, "held", None) is not None and not acting.problem.torque else {}
    )
    for name in quantities:
        values = getattr(recording, name)
        for k in plain if name == "q" else shown:
            kind = sorts[k]
            if name + kind in axes:
                style = styles[k] | (stairs if name == "tau" else {})
                draw_quantity(axes[name + kind], recording, values[..., plain[k] if name == "q" else k], style)
                axes[name + kind].set_ylabel(LABELS[name][kind])
    quaternions: dict[int, dict[str, Any]] = {}
    for i, (p, v) in enumerate(layout.quaternions[b] for b in turning):  # qx, qy, qz look as wx, wy, wz do
        quaternions |= {p: grey_style(i), **{p + k + 1: styles[v + k] for k in range(3)}}
    for p, style in quaternions.items():
        draw_quantity(axes[QUATERNION], recording, recording.q[..., p], style)
        axes[QUATERNION].set_ylabel(QUATERNION)
    draw_quantity(axes["imbalance"], recording, recording.imbalance, {"color": theme_colour("0.25")})
    axes["imbalance"].set_ylabel(IMBALANCE)
    events = events_by_name(recording)
    sizes = panel_sizes(recording)
    for name, panel in axes.items():
        if name != "imbalance":
            show_rounding_as_constant(panel, sizes.get(name, 1.0))
        finish_panel(panel, recording)
        mark_events(panel, recording, events)
    for name in {"imbalance", *panels[-2]} if len(kinds) > 1 else {"imbalance"}:  # the lowest panels of each column
        axes[name].tick_params(labelbottom=True)
        axes[name].set_xlabel("time (s)")
    add_legend(figure, recording, {k: styles[k] for k in shown}, quaternions, events)
    figure.align_ylabels()
    text = figure_title(recording)
    if crowded:
        free = "free joints and " if any(joint.kind.name == "free" for joint in robot.moving) else ""
        text += f"\n{len(shown)} of {robot.n} degrees of freedom: {free}those that move most; joints=... chooses others"
    figure.suptitle(text, x=0.01, horizontalalignment="left")  # the legend is on the right
    return figure


def largest_movers(recording: Recording) -> list[int]:
    """The degrees of freedom of free joints and of the joints that move most, as many as the legend holds."""
    robot = recording.robot
    q = np.where(np.isfinite(recording.q), recording.q, np.nan)
    span = np.fmax.reduce(q, axis=-2) - np.fmin.reduce(q, axis=-2)  # NaN of trajectories that never started
    span = np.nan_to_num(span).reshape(-1, robot.nq).max(axis=0)
    joints = [joint for joint in robot.moving if joint.coupling is None]
    degrees: list[int] = []
    room = MOST_ENTRIES
    for joint in sorted(joints, key=lambda joint: (joint.kind.name != "free", -span[joint.q].max())):
        entries = joint.kind.degrees + (0 if joint.kind.bounded else 4)
        if entries <= room:
            degrees += range(robot.n)[joint.v]
            room -= entries
    return sorted(degrees)


def kinds_of(robot: Robot) -> list[str]:
    """For each degree of freedom, P if it is a displacement, R if it is a rotation."""
    return ["R" if link.joint.angular else "P" for link, _ in robot.driving]


def select_degrees(robot: Robot, joints: str | int | Sequence[str | int] | None) -> list[int]:
    """The numbers of the degrees of freedom that `joints` names or numbers."""
    if joints is None:
        return list(range(robot.n))
    labels = degrees_by_name(robot)
    indices: list[int] = []
    for joint in [joints] if isinstance(joints, (str, int, np.integer)) else joints:
        if isinstance(joint, str) and joint in labels:
            indices += labels[joint]
        elif not is_integer(joint):
            known = ", ".join(map(repr, robot.joint_names))
            others = [name for name in labels if name not in robot.names]
            example = f", a coordinate such as {others[-1]!r}" if others else ""
            raise ValueError(
                f"joints: robot {robot.name!r} has no joint {joint!r}{near_miss(joint, labels)} (expected one of"
                f" {known}{example}, or a number from 0 to {robot.n - 1})"
            )
        elif not -robot.n <= joint < robot.n:
            raise ValueError(f"joints: {joint!r} (expected a number from 0 to {robot.n - 1} or a joint's name)")
        else:
            indices.append(int(joint) % robot.n)
    if not indices:
        raise ValueError("joints is empty (expected at least one joint, or None for all)")
    return sorted(set(indices))


def degrees_by_name(robot: Robot) -> dict[str, list[int]]:
    """The degrees of freedom of each joint and label of q or qd; a quaternion has those of its angular velocity."""
    layout = Layout.of(robot)
    degrees = {robot.q_names[p]: [v] for p, v in layout.plain}
    degrees |= {robot.q_names[p + i]: [v, v + 1, v + 2] for p, v in layout.quaternions for i in range(4)}
    degrees |= {name: [v] for v, name in enumerate(robot.v_names)}
    return degrees | {name: list(range(robot.n))[robot.v_slice(name)] for name in robot.names}


def draw_quantity(axes: Axes, recording: Recording, values: np.ndarray, style: dict[str, Any]) -> None:
    """One quantity (..., samples): lines, or median and band."""
    t = recording.t
    lines = values.reshape(-1, len(t))
    if len(lines) <= MOST_LINES:
        many = len(lines) > 1
        width, alpha = (0.8, max(0.25, len(lines) ** -0.4)) if many else (1.6, 1.0)
        single = np.isfinite(lines).sum(axis=1).max(initial=0) < 2  # a line of one point is invisible
        axes.plot(t, lines.T, **style, linewidth=width, alpha=alpha, marker="." if single else "")
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of times that no trajectory reached
        low, middle, high = np.nanpercentile(lines, BAND, axis=0)
    axes.fill_between(t, low, high, color=style["color"], alpha=0.2, linewidth=0)
    axes.plot(t, middle, **style, linewidth=1.6)


def finish_panel(axes: Axes, recording: Recording) -> None:
    """Grid, line at zero, and marks at early ends of trajectories."""
    first, last = float(recording.t[0]), float(recording.t[-1])
    furthest = float(np.max(recording.reached, initial=first))
    if first < furthest < 0.8 * last:  # the rest of the time is empty
        last = first + 1.1 * (furthest - first)
    axes.set_xlim((first, last) if last > first else (first - 0.5, first + 0.5))
    low, high = axes.get_ylim()
    style_axes(axes, zero=0.8 if low < 0.0 < high else 0.0)
    ended = np.asarray(recording.reached)[np.asarray(recording.status) != "done"]
    if not recording.batch:
        marked = {t for _, t, _ in recording.event_list}
        for time in (time for time in np.atleast_1d(ended).tolist() if time not in marked):
            axes.axvline(time, color=theme_colour(ENDED), linewidth=1.0, linestyle=(0, (4, 3)))
    elif ended.size:
        axes.vlines(ended, 0.0, 0.06, color=theme_colour(ENDED), linewidth=1.0, transform=axes.get_xaxis_transform())


def events_by_name(recording: Recording) -> dict[str, list[float]]:
    """The times of each event, in all trajectories."""
    times: dict[str, list[float]] = {}
    for _, t, name in recording.event_list:
        times.setdefault(name, []).append(t)
    return times


def event_style(k: int, recording: Recording) -> dict[str, Any]:
    dotted = {"linestyle": (0, (1, 1.5)), "linewidth": 1.4}
    return {"color": theme_colour(EVENTS[k % len(EVENTS)]), **({"linewidth": 1.0} if recording.batch else dotted)}


def mark_events(axes: Axes, recording: Recording, events: dict[str, list[float]]) -> None:
    """Vertical lines, or marks at the top for a batch."""
    low = 0.94 if recording.batch else 0.0
    for k, times in enumerate(events.values()):
        axes.vlines(times, low, 1.0, transform=axes.get_xaxis_transform(), zorder=1, **event_style(k, recording))


def panel_sizes(recording: Recording) -> dict[str, float]:
    """The scale of each panel's quantity, to judge rounding errors by: 1 for angles and quaternions."""
    robot = recording.robot
    if robot.symbolic:
        return {}
    size = reach(robot)
    first = recording.q[..., :1, :].reshape(-1, robot.nq)
    scales = torque_scales(robot, first[np.isfinite(first).all(axis=-1)])
    forces = np.array(robot.effort_units) == "N"
    turning, sliding = (float(scales[:, which].max(initial=0.0)) for which in (~forces, forces))
    return {"qP": size, "qdP": size, "tauR": turning or 1.0, "tauP": sliding or 1.0}


def show_rounding_as_constant(axes: Axes, least: float) -> None:
    """Choose the y range such that variations by rounding errors, relative to `least` or the curve, look flat."""
    low, high = axes.dataLim.intervaly
    middle, size = (low + high) / 2.0, max(least, abs(low), abs(high))
    constant = low == high and not 0.0 < abs(low) <= ROUNDING * least  # matplotlib scales these well
    if high - low <= ROUNDING * size and not constant:
        axes.set_ylim(middle - FLAT * size, middle + FLAT * size)


def add_legend(
    figure: Figure,
    recording: Recording,
    styles: dict[int, dict[str, Any]],
    quaternions: dict[int, dict[str, Any]],
    events: dict[str, list[float]],
) -> None:
    from matplotlib.lines import Line2D

    robot = recording.robot
    names = rate_labels(robot)
    handles = [Line2D([], [], label=plot_text(names[k]), **style) for k, style in styles.items()]
    if quaternions:
        turns = [Line2D([], [], label=plot_text(robot.q_names[p]), **style) for p, style in quaternions.items()]
        headings = [Line2D([], [], linestyle="", label=text) for text in ("quaternions", "positions and rates")]
        handles = [headings[0], *turns, headings[1], *handles]
    for k, (name, times) in enumerate(events.items()):
        label = plot_text(name) if len(times) == 1 else f"{plot_text(name)} (×{len(times)})"
        handles.append(Line2D([], [], label=label, **event_style(k, recording)))
    small = bool(quaternions) and len(handles) > MOST_ENTRIES
    rows = int(figure.get_figheight() / 0.22) if small else MOST_ENTRIES
    figure.legend(
        handles=handles,
        loc="outside right upper",
        frameon=False,
        ncols=1 + (len(handles) - 1) // rows,
        fontsize="small" if small else None,
    )


def rate_labels(robot: Robot) -> list[str]:
    """The label of each degree of freedom: "base.x, vx" if the labels of position and rate differ."""
    names = list(robot.v_names)
    for p, v in Layout.of(robot).plain:
        if robot.q_names[p] != names[v]:
            names[v] = f"{robot.q_names[p]}, {names[v].rpartition('.')[2]}"
    return names


def figure_title(recording: Recording) -> str:
    count = int(np.prod(recording.batch, dtype=int))
    text = f"{plot_text(recording.robot.name)}: {recording.extent}"
    if count > MOST_LINES:
        text += f"; median and {BAND[0]:g} to {BAND[-1]:g} % band"
    if bool((np.asarray(recording.status) != "done").any()):
        text += f"\n{recording.ends}" + (" (red marks: where they ended)" if recording.batch else "")
    return text
