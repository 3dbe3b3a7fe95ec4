"""Pictures of recordings."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import one_of
from ..figures import joint_style, new_figure
from ..robot import Robot
from ..robot.layout import Layout
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
MOST_LINES = 50  # trajectories that are drawn one by one
BAND = (5.0, 50.0, 95.0)  # percentiles


def figure_of(recording: Recording, joints: str | int | Sequence[str | int] | None = None) -> Figure:
    robot = recording.robot
    shown = chosen(robot, joints)
    layout, sorts = Layout.of(robot), kinds_of(robot)
    plain = {v: p for p, v in layout.plain if v in shown}
    turning = [p + i for p, v in layout.quaternions if {v, v + 1, v + 2} & set(shown) for i in range(4)]
    kinds = [kind for kind in "RP" if any(sorts[k] == kind for k in shown)]
    acted = bool((np.nan_to_num(recording.tau[..., shown]) != 0.0).any())
    quantities = [name for name in LABELS if name != "tau" or acted]
    panels: list[Any] = [[name + kind for kind in kinds] for name in quantities] + [["imbalance"] * len(kinds)]
    if turning:
        angles = any(sorts[v] == "R" for v in plain)
        panels[0] = [name if angles or name != "qR" else QUATERNION for name in panels[0]]
        panels = [[QUATERNION] * len(kinds)] * angles + panels
    figure = new_figure(3.5 + 5.0 * len(kinds), 1.0 + 2.0 * len(panels))
    axes = figure.subplot_mosaic(panels, sharex=True)
    for name in quantities:
        values = getattr(recording, name)
        for k in plain if name == "q" else shown:
            kind = sorts[k]
            draw(axes[name + kind], recording, values[..., plain[k] if name == "q" else k], joint_style(k))
            axes[name + kind].set_ylabel(LABELS[name][kind])
    for p in turning:
        draw(axes[QUATERNION], recording, recording.q[..., p], joint_style(robot.n + p))
        axes[QUATERNION].set_ylabel(QUATERNION)
    draw(axes["imbalance"], recording, recording.imbalance, {"color": "0.25"})
    axes["imbalance"].set_ylabel(IMBALANCE)
    events = events_by_name(recording)
    for panel in axes.values():
        tidy(panel, recording)
        mark_events(panel, recording, events)
    for name in {"imbalance", *panels[-2]} if len(kinds) > 1 else {"imbalance"}:  # wherever nothing like it is below
        axes[name].tick_params(labelbottom=True)
        axes[name].set_xlabel("time (s)")
    legend(figure, recording, shown, turning, events)
    figure.align_ylabels()
    figure.suptitle(title(recording), x=0.01, horizontalalignment="left")  # the legend is on the right
    return figure


def kinds_of(robot: Robot) -> list[str]:
    """Of each degree of freedom: whether it is a displacement, P, or a rotation, R."""
    coupled = {coupling.link for coupling in robot.couplings}
    own = [link for index, link in enumerate(robot.links) if index not in coupled]
    return ["P" if link.joint.kind == "prismatic" else "R" for link in own]


def chosen(robot: Robot, joints: str | int | Sequence[str | int] | None) -> list[int]:
    """Degrees of freedom by number, as asked for by name or number."""
    if joints is None:
        return list(range(robot.n))
    indices: list[int] = []
    for joint in [joints] if isinstance(joints, (str, int, np.integer)) else joints:
        if isinstance(joint, str):
            one_of(joint, dict.fromkeys([*robot.names, *robot.v_names]), "joints: a link")
            indices += range(robot.n)[robot.v_slice(joint)] if joint in robot.names else [robot.v_names.index(joint)]
        elif isinstance(joint, bool) or not isinstance(joint, (int, np.integer)) or not -robot.n <= joint < robot.n:
            raise ValueError(f"joints: {joint!r} (expected a number from 0 to {robot.n - 1} or a link's name)")
        else:
            indices.append(int(joint) % robot.n)
    if not indices:
        raise ValueError("joints is empty (expected some to show, or None for all)")
    return sorted(set(indices))


def draw(axes: Axes, recording: Recording, values: np.ndarray, style: dict[str, Any]) -> None:
    """One quantity (..., samples): lines, or median and band."""
    t = recording.t
    lines = values.reshape(-1, len(t))
    if len(lines) <= MOST_LINES:
        many = len(lines) > 1
        width, alpha = (0.8, max(0.25, len(lines) ** -0.4)) if many else (1.6, 1.0)
        alone = np.isfinite(lines).sum(axis=1).max(initial=0) < 2  # a line of one point would not be seen
        axes.plot(t, lines.T, **style, linewidth=width, alpha=alpha, marker="." if alone else "")
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # where no trajectory arrived there is nothing to draw
        low, middle, high = np.nanpercentile(lines, BAND, axis=0)
    axes.fill_between(t, low, high, color=style["color"], alpha=0.2, linewidth=0)
    axes.plot(t, middle, **style, linewidth=1.6)


def tidy(axes: Axes, recording: Recording) -> None:
    """What all panels share: grid, the line at zero, and where trajectories ended early."""
    first, last = float(recording.t[0]), float(recording.t[-1])
    furthest = float(np.max(recording.reached, initial=first))
    if first < furthest < 0.8 * last:  # the rest of the time is empty
        last = first + 1.1 * (furthest - first)
    axes.set_xlim((first, last) if last > first else (first - 0.5, first + 0.5))
    axes.grid(color="0.92")
    low, high = axes.get_ylim()
    if low < 0.0 < high:
        axes.axhline(0.0, color="0.6", linewidth=0.8, zorder=0)
    axes.spines[["top", "right"]].set_visible(False)
    ended = np.asarray(recording.reached)[np.asarray(recording.status) != "done"]
    if not recording.batch:
        marked = {t for _, t, _ in recording.event_list}  # by the lines of the events
        for time in (time for time in np.atleast_1d(ended).tolist() if time not in marked):
            axes.axvline(time, color=ENDED, linewidth=1.0, linestyle=(0, (4, 3)))
    elif ended.size:
        axes.vlines(ended, 0.0, 0.06, color=ENDED, linewidth=1.0, transform=axes.get_xaxis_transform())


def events_by_name(recording: Recording) -> dict[str, list[float]]:
    """The times of each event, in all trajectories."""
    times: dict[str, list[float]] = {}
    for _, t, name in recording.event_list:
        times.setdefault(name, []).append(t)
    return times


def event_style(k: int, recording: Recording) -> dict[str, Any]:
    dotted = {"linestyle": (0, (1, 1.5)), "linewidth": 1.4}
    return {"color": EVENTS[k % len(EVENTS)], **({"linewidth": 1.0} if recording.batch else dotted)}


def mark_events(axes: Axes, recording: Recording, events: dict[str, list[float]]) -> None:
    """Lines from bottom to top, or marks at the top where there are several trajectories."""
    low = 0.94 if recording.batch else 0.0
    for k, times in enumerate(events.values()):
        axes.vlines(times, low, 1.0, transform=axes.get_xaxis_transform(), zorder=1, **event_style(k, recording))


def legend(
    figure: Figure, recording: Recording, shown: list[int], turning: list[int], events: dict[str, list[float]]
) -> None:
    from matplotlib.lines import Line2D

    robot = recording.robot
    handles = [Line2D([], [], label=robot.v_names[k], **joint_style(k)) for k in shown]
    handles += [Line2D([], [], label=robot.q_names[p], **joint_style(robot.n + p)) for p in turning]
    for k, (name, times) in enumerate(events.items()):
        label = name if len(times) == 1 else f"{name} (×{len(times)})"
        handles.append(Line2D([], [], label=label, **event_style(k, recording)))
    figure.legend(handles=handles, loc="outside right upper", frameon=False, ncols=1 + (len(handles) - 1) // 24)


def title(recording: Recording) -> str:
    count = int(np.prod(recording.batch, dtype=int))
    text = f"{recording.robot.name}: {recording.extent}"
    if count > MOST_LINES:
        text += f"; median and {BAND[0]:g} to {BAND[-1]:g} % band"
    if bool((np.asarray(recording.status) != "done").any()):
        text += f"\n{recording.ends}" + (" (red marks: where they ended)" if recording.batch else "")
    return text
