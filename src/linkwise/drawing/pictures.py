"""Still pictures: `lw.draw`, and small SVGs for notebooks without matplotlib, which loads slowly."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..api.kinematics import poses
from ..api.states import Array
from ..figures import new_figure, save_figure
from ..robot import KINDS, Robot, require_robot
from ..robot.configurations import neutral
from ..robot.layout import reorder_columns, zero_quaternion_message
from ..robot.named_arrays import refuse_gradients
from .camera import SEEN_THROUGH, Camera, Mesh, View, camera_of, cameras_of, ghost_paleness
from .painter import INK, Painter, show_window, window_of
from .scene import Scene, SceneOptions, scene_of, to_base
from .skeleton import Floats, skeleton_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TALLEST, LOWEST = 7.5, 2.4  # inches, of a panel
PANEL, SIDE_BY_SIDE, NARROWEST = 6.4, 4.6, 3.4  # inches, the width of one panel, of several, and the least
ENTRY = 1.1  # inches, of the legend
MOST_GHOSTS = 200
ROBOT, CURVES = (320.0, 280.0), (420.0, 130.0)  # pixels, of small pictures
LETTER = 0.62  # the width of a letter, relative to the size of the font
FRAME = (44.0, 8.0, 8.0, 22.0)  # room at the left, right, top and bottom of curves, in pixels
BORDER = 'fill="white" stroke="#c9d0d6"'


def draw(
    robot: Robot,
    q: Array | None = None,
    path: str | os.PathLike[str] | None = None,
    *,
    view: View | None = None,
    views: Sequence[View] | None = None,
    frames: bool | None = None,
    centres: bool | None = None,
    labels: bool | None = None,
    bodies: bool | None = None,
    title: str | None = None,
) -> Figure:
    """Draw a robot at a configuration.

    Colours distinguish the kinds of joints. Up in the picture is against gravity.

    Parameters
    ----------
    robot : Robot
    q : array_like, shape (nq,) or (k, nq), optional
        Of k configurations the last is drawn in full, the others pale. Default: `lw.neutral(robot)`.
    path : str or path, optional
        File to write the picture to.
    view : {"3d", "front", "side", "top", "plane"} or (azimuth, elevation) in degrees, optional
        By default a planar robot is seen in its plane, others obliquely.
    views : sequence of views, optional
        Several, side by side.
    frames, labels : bool, optional
        Table frames of the links (x red, y green, z blue) and their names; by default of small robots.
    centres : bool, optional
        Mass centres, larger for heavier links; by default up to 40 links.
    bodies : bool, optional
        Boxes with the masses and inertias of the links; by default of links that float.
    title : str, optional
        In place of the robot's name.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import linkwise as lw
    >>> figure = lw.draw(lw.load("stanford"), [0.4, 1.2, 0.3, 0, 0.5, 0], views=("3d", "top"))
    >>> [axes.get_title() for axes in figure.axes]
    ['3d', 'top']
    """
    require_robot(robot)
    skeleton = skeleton_of(robot)
    poses = poses_at(robot, check_configurations(robot, q))
    scene = scene_of(skeleton, poses, SceneOptions(frames, centres, labels, bodies))
    points = to_base(skeleton.points(), poses).reshape(-1, 3)
    cameras = cameras_of(view, views, skeleton, poses[-1], points)
    return save_figure(picture(scene, poses, cameras, robot.name if title is None else title), path)


def check_array(q: Any) -> Floats:
    if isinstance(q, (str, os.PathLike)):
        raise TypeError(f"q is {os.fspath(q)!r} (expected numbers; the file of a picture is path=...)")
    refuse_gradients("q", q)
    try:
        array = np.asarray(q)
        if array.dtype.kind not in "biufO":
            raise TypeError(f"numbers of type {array.dtype}")
        return np.asarray(array, float)
    except (TypeError, ValueError) as problem:
        raise TypeError(f"q is not an array of numbers: {problem} (expected such as [0.1, 0.2])") from None


def check_configurations(robot: Robot, q: Any) -> Floats:
    """Check configurations: (k, nq), finite."""
    values = check_array(neutral(robot) if q is None else reorder_columns(robot, "q", q))
    if values.ndim not in (1, 2) or values.shape[-1] != robot.nq or values.size == 0:
        expected = f"(expected {robot.nq} numbers, or (k, {robot.nq}) for several configurations)"
        raise ValueError(f"q has the shape {values.shape} {expected}")
    rows = values.reshape(-1, robot.nq)
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=-1))
    if len(bad):
        where = f" in configuration {bad[0]}" if len(rows) > 1 else ""
        raise ValueError(f"q is not finite{where}: {rows[bad[0]].tolist()} (expected numbers)")
    for start in robot.quaternions:
        without = np.flatnonzero(~rows[:, start : start + 4].any(axis=-1))
        if len(without):
            index = start if values.ndim == 1 else f"{without[0]}, {start}"
            raise ValueError(zero_quaternion_message(robot, f"q[{index}]", start))
    if len(rows) > MOST_GHOSTS:
        raise ValueError(f"q has {len(rows)} configurations (expected at most {MOST_GHOSTS}, as in q[::10])")
    return rows


def poses_at(robot: Robot, q: Floats) -> Floats:
    """Poses of the base and of the links: (k, 1 + links, 4, 4)."""
    links = np.asarray(poses(robot, q), float)
    return np.concatenate([np.broadcast_to(np.eye(4), (len(q), 1, 4, 4)), links], axis=1)


def picture(scene: Scene, poses: Floats, cameras: Sequence[Camera], title: str) -> Figure:
    mesh = Mesh(scene)
    margin = 3.0 * scene.radius
    corners = [np.concatenate([seen_corners(mesh, camera, pose) for pose in poses]) for camera in cameras]
    pairs = zip(corners, cameras, strict=True)
    windows = [window_of(part, margin, not camera.measures, bool(scene.labels)) for part, camera in pairs]
    widest = PANEL if len(cameras) == 1 else SIDE_BY_SIDE
    shapes = [window.width / window.height for window in windows]
    height = float(np.clip(max(widest / shape for shape in shapes), LOWEST, TALLEST))
    widths = [float(np.clip(height * shape, NARROWEST, widest)) for shape in shapes]
    figure = new_figure(sum(widths), height + 0.75)
    figure.set_facecolor("white")
    panels = figure.subplots(1, len(cameras), squeeze=False, width_ratios=widths)[0]
    for axes, camera, window, width in zip(panels, cameras, windows, widths, strict=True):
        show_window(axes, window, camera, scene.size, camera.measures)
        painter = Painter(axes, scene, mesh, camera)
        for k, pose in enumerate(poses[:-1]):
            painter.ghost(pose, ghost_paleness(k, len(poses)))
        drawn = painter.paint(poses[-1])
        inches = min(0.93 * width, 0.93 * height * window.width / window.height)
        painter.label(poses[-1], drawn, window, 72.0 * inches / window.width)
        if not camera.measures:
            painter.foot(window)
        if len(cameras) > 1:
            axes.set_title(camera.name, fontsize=9, color=INK)
    heading(figure, title, sum(widths), 11)
    legend(figure, scene)
    return figure


def heading(figure: Figure, title: str, inches: float, size: int) -> None:
    """Write a title, wrapped to the width."""
    letters = max(12, int(72.0 * inches / (LETTER * size)))
    text = "\n".join(textwrap.fill(line, letters) for line in title.splitlines())
    figure.suptitle(text, x=0.015, ha="left", fontsize=size, color=INK, parse_math=False)


def seen_corners(mesh: Mesh, camera: Camera, pose: Floats) -> Floats:
    return np.concatenate([np.empty((0, 2)), *mesh.seen_by(camera, pose).polygons])


def legend(figure: Figure, scene: Scene) -> None:
    """Draw a legend of the colours of the kinds of joints."""
    from matplotlib.lines import Line2D

    look: dict[str, Any] = {"linestyle": "none", "marker": "s", "markersize": 6}
    handles = [Line2D([], [], color=KINDS[kind].colour, label=kind, **look) for kind in scene.kinds]
    if handles:
        columns = max(1, min(len(handles), int(figure.get_figwidth() / ENTRY)))
        place: dict[str, Any] = {"loc": "outside lower center", "ncols": columns, "frameon": False}
        figure.legend(handles=handles, fontsize=8, labelcolor=INK, **place)


class Curve(NamedTuple):
    values: Floats
    colour: str
    label: str


def robot_svg(robot: Robot, q: Floats) -> str:
    """Draw the robot at configurations (k, nq): the last in full, the others pale."""
    width, height = ROBOT
    skeleton = skeleton_of(robot)
    poses = poses_at(robot, q)
    scene = scene_of(skeleton, poses, SceneOptions(labels=False))
    mesh = Mesh(scene)
    camera = camera_of(None, skeleton, poses[-1], to_base(skeleton.points(), poses).reshape(-1, 3))
    pale = [*(ghost_paleness(k, len(poses)) for k in range(len(poses) - 1)), 0.0]
    layers = [mesh.seen_by(camera, pose, each) for pose, each in zip(poses, pale, strict=True)]
    corners = np.concatenate([polygon for layer in layers for polygon in layer.polygons])
    low, high = corners.min(axis=0), corners.max(axis=0)
    scale = 0.94 * min(width / max(high[0] - low[0], 1e-300), height / max(high[1] - low[1], 1e-300))
    middle = (low + high) / 2

    def pixels(points: Floats) -> Floats:
        flat: Floats = np.array([width, height]) / 2 + (points - middle) * (scale, -scale)
        return flat

    parts = []
    for layer in layers:
        for polygon, colour, clear in zip(layer.polygons, layer.colours, layer.clear, strict=True):
            fill = hex_colour(colour)
            seen = f' fill-opacity="{SEEN_THROUGH}"' if clear else ""
            parts.append(f'<path d="M{svg_path(pixels(polygon))}Z" fill="{fill}" stroke="{fill}"{seen}/>')
    for centre in scene.centres:
        flat, _ = camera.project(to_base((centre.point,), poses[-1:])[0, 0])
        parts.append(mass_centre_svg(pixels(flat), centre.radius * scale))
    return svg(width, height, f'<g stroke-width=".5" stroke-linejoin="round">{"".join(parts)}</g>', robot.name)


def mass_centre_svg(middle: Floats, radius: float) -> str:
    """A mass centre symbol: two quarters black and two white."""
    (x, y), r = middle, max(radius, 1.5)
    arc = f"a{r:.1f} {r:.1f} 0 0 1"
    halves = f"M{x:.1f} {y:.1f}h{r:.1f}{arc}-{r:.1f} {r:.1f}zh-{r:.1f}{arc} {r:.1f}-{r:.1f}z"
    circle = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}" fill="white" stroke="{INK}"/>'
    return circle + f'<path d="{halves}" fill="{INK}"/>'


def curves_svg(t: Floats, curves: Sequence[Curve], unit: str, size: float = 1.0) -> str:
    """Plot curves over time; variations that are rounding relative to `size`, in their unit, are drawn as constant."""
    (width, height), (left, right, top, bottom) = CURVES, FRAME
    values = np.stack([curve.values for curve in curves])
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    size = max(size, abs(low), abs(high))
    if high - low < 1e-12 * size:
        low, high = low - 0.5 * size, high + 0.5 * size
    span = float(t[-1] - t[0]) or 1.0
    x = left + (width - left - right) * (t - t[0]) / span
    parts = [f'<rect x="{left}" y="{top}" width="{width - left - right}" height="{height - top - bottom}" {BORDER}/>']
    for curve in curves:
        y = top + (height - top - bottom) * (high - curve.values) / (high - low)
        seen = np.isfinite(y)
        if seen.any():
            line = svg_path(np.stack([x[seen], y[seen]], axis=-1))
            title = f"<title>{escape(curve.label)}</title>"
            parts.append(f'<path d="M{line}" fill="none" stroke="{curve.colour}" stroke-width="1.4">{title}</path>')
    ends = [0.0 if abs(x) < 1e-9 * (high - low) else x for x in (high, low)]  # rounding errors are zero
    for text, at, anchor in (
        (f"{ends[0]:.3g}", (left - 4, top + 9), "end"),
        (f"{ends[1]:.3g}", (left - 4, height - bottom), "end"),
        (f"{t[0]:g}", (left, height - 6), "start"),
        (f"{t[-1]:g} s", (width - right, height - 6), "end"),
        (unit, (left + 5, top + 13), "start"),
    ):
        place = f'x="{at[0]:.1f}" y="{at[1]:.1f}" text-anchor="{anchor}"'
        parts.append(f'<text {place} font-size="11" font-family="sans-serif" fill="{INK}">{escape(text)}</text>')
    return svg(width, height, "".join(parts), unit)


def svg(width: float, height: float, content: str, label: str) -> str:
    size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(label)}" {size}>{content}</svg>'


def svg_path(points: Floats) -> str:
    return "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def hex_colour(colour: Floats) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in np.clip(colour[:3], 0.0, 1.0))
