"""`lw.draw`: a picture of a robot at a configuration, or at several."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..api.functions import poses
from ..figures import new_figure, save_figure
from ..robot import KINDS, Robot, require_robot
from ..robot.configurations import neutral
from ..robot.labels import in_order
from ..robot.layout import in_order, no_orientation
from .camera import Camera, Mesh, cameras_of, paleness
from .faces import Mesh, paleness
from .painter import INK, Painter, show_window, window_of
from .scene import Scene, Shown, scene_of, world
from .skeleton import Floats, skeleton_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TALLEST, LOWEST = 7.5, 2.4  # inches, of a panel
PANEL, SIDE_BY_SIDE, NARROWEST = 6.4, 4.6, 3.4  # inches, the width of one panel, of several, and the least
ENTRY = 1.1  # inches, of the legend
MOST_GHOSTS = 200
LETTER = 0.62  # the width of a letter, relative to the size of the font


def draw(
    arm: Robot,
    q: Any = None,
    path: str | os.PathLike[str] | None = None,
    *,
    view: str | tuple[float, float] | None = None,
    views: Sequence[str | tuple[float, float]] | None = None,
    frames: bool | None = None,
    centres: bool | None = None,
    labels: bool | None = None,
    bodies: bool | None = None,
    title: str | None = None,
) -> Figure:
    """A picture of the robot at the configuration q, as a matplotlib figure; `path` is a file to write it to.

    q is (nq,), or (k, nq) for several configurations in one picture: the last is drawn in full, earlier ones pale.
    Without it the robot is drawn at `lw.neutral(arm)`. `view` is "3d", "front", "side", "top", "plane" (of a robot that
    moves in one) or a pair of azimuth and elevation in degrees; `views` are several, side by side. Without them planar
    robots are seen in their plane and others obliquely. Up in the picture is against gravity.

    Colours tell the kinds of joints. `frames` (the links' table frames, x red, y green, z blue) and `labels` are shown
    for small robots, `centres` (of mass, larger for heavier links) up to 40 links, and `bodies`, boxes with the masses
    and inertias of the links, for links that float; True and False choose otherwise. `title` replaces the robot's name.

    >>> import linkwise as lw
    >>> figure = lw.draw(lw.load("stanford"), [0.4, 1.2, 0.3, 0, 0.5, 0], views=("3d", "top"))
    >>> [axes.get_title() for axes in figure.axes]
    ['3d', 'top']
    """
    require_robot(arm)
    skeleton = skeleton_of(arm)
    poses = poses_at(arm, configurations(arm, q))
    scene = scene_of(skeleton, poses, Shown(frames, centres, labels, bodies))
    points = world(skeleton.points(), poses).reshape(-1, 3)
    cameras = cameras_of(view, views, skeleton, poses[-1], points)
    return save_figure(picture(scene, poses, cameras, arm.name if title is None else title), path)


def numbers(q: Any) -> Floats:
    if isinstance(q, (str, os.PathLike)):
        raise TypeError(f"q is {os.fspath(q)!r} (expected numbers; the name of a picture comes after them: path=...)")
    try:
        given = np.asarray(q)
        if given.dtype.kind not in "biufO":
            raise TypeError(f"numbers of type {given.dtype}")
        return np.asarray(given, float)
    except (TypeError, ValueError) as problem:
        raise TypeError(f"q is not an array of numbers: {problem} (expected such as [0.1, 0.2])") from None


def configurations(arm: Robot, q: Any) -> Floats:
    """(k, nq), of finite numbers."""
    values = numbers(neutral(arm) if q is None else in_order(arm, "q", q))
    if values.ndim not in (1, 2) or values.shape[-1] != arm.nq or values.size == 0:
        expected = f"(expected {arm.nq} numbers, or (k, {arm.nq}) for several configurations)"
        raise ValueError(f"q has the shape {values.shape} {expected}")
    rows = values.reshape(-1, arm.nq)
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=-1))
    if len(bad):
        where = f" in configuration {bad[0]}" if len(rows) > 1 else ""
        raise ValueError(f"q is not finite{where}: {rows[bad[0]].tolist()} (expected numbers)")
    for start in arm.quaternions:
        without = np.flatnonzero(~rows[:, start : start + 4].any(axis=-1))
        if len(without):
            index = start if values.ndim == 1 else f"{without[0]}, {start}"
            raise ValueError(no_orientation(arm, f"q[{index}]", start))
    if len(rows) > MOST_GHOSTS:
        raise ValueError(f"q has {len(rows)} configurations (expected at most {MOST_GHOSTS}, as in q[::10])")
    return rows


def poses_at(arm: Robot, q: Floats) -> Floats:
    """Of the base, which is the first frame, and of the links: (k, 1 + links, 4, 4)."""
    links = np.asarray(poses(arm, q), float)
    return np.concatenate([np.broadcast_to(np.eye(4), (len(q), 1, 4, 4)), links], axis=1)


def picture(scene: Scene, poses: Floats, cameras: Sequence[Camera], title: str) -> Figure:
    mesh = Mesh(scene)
    margin = 3.0 * scene.radius
    corners = [np.concatenate([seen_corners(mesh, camera, pose) for pose in poses]) for camera in cameras]
    windows = [
        window_of(part, margin, not camera.measures, bool(scene.labels))
        for part, camera in zip(corners, cameras, strict=True)
    ]
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
            painter.ghost(pose, paleness(k, len(poses)))
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
    """A title that is broken where it would not fit."""
    letters = max(12, int(72.0 * inches / (LETTER * size)))
    text = "\n".join(textwrap.fill(line, letters) for line in title.splitlines())
    figure.suptitle(text, x=0.015, ha="left", fontsize=size, color=INK, parse_math=False)


def seen_corners(mesh: Mesh, camera: Camera, pose: Floats) -> Floats:
    return np.concatenate([np.empty((0, 2)), *mesh.seen_by(camera, pose).polygons])


def legend(figure: Figure, scene: Scene) -> None:
    """The colours of the kinds of joints."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], linestyle="none", marker="s", markersize=6, color=KINDS[kind].colour, label=kind)
        for kind in scene.kinds
    ]
    if handles:
        columns = max(1, min(len(handles), int(figure.get_figwidth() / ENTRY)))
        entries = figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False, fontsize=8)
        for text in entries.get_texts():
            text.set_color(INK)
