"""Small pictures as SVG text, for notebooks: without matplotlib, whose import takes longer than all the rest."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from ..robot import Robot
from .camera import SEEN_THROUGH, Mesh, camera_of, paleness
from .painter import INK
from .pictures import poses_at
from .scene import Shown, scene_of, world
from .skeleton import Floats, skeleton_of

FRAME = (44.0, 8.0, 8.0, 22.0)  # room at the left, right, top and bottom of curves, in pixels


class Curve(NamedTuple):
    values: Floats
    colour: str
    label: str


def robot_svg(robot: Robot, q: Floats, width: float = 320.0, height: float = 280.0) -> str:
    """The robot at configurations (k, nq): the last as it is, those before pale."""
    skeleton = skeleton_of(robot)
    poses = poses_at(robot, q)
    scene = scene_of(skeleton, poses, Shown(labels=False))
    mesh = Mesh(scene)
    camera = camera_of(None, skeleton, poses[-1], world(skeleton.points(), poses).reshape(-1, 3))
    layers = [mesh.seen_by(camera, pose, paleness(k, len(poses))) for k, pose in enumerate(poses[:-1])]
    layers.append(mesh.seen_by(camera, poses[-1]))
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
            fill = hexadecimal(colour)
            seen = f' fill-opacity="{SEEN_THROUGH}"' if clear else ""
            parts.append(f'<path d="M{path(pixels(polygon))}Z" fill="{fill}" stroke="{fill}"{seen}/>')
    for centre in scene.centres:
        flat, _ = camera.project(world((centre.point,), poses[-1:])[0, 0])
        parts.append(quartered(pixels(flat), centre.radius * scale))
    return svg(width, height, f'<g stroke-width=".5" stroke-linejoin="round">{"".join(parts)}</g>', robot.name)


def quartered(middle: Floats, radius: float) -> str:
    """A mass centre: two quarters black and two white."""
    (x, y), r = middle, max(radius, 1.5)
    arc = f"a{r:.1f} {r:.1f} 0 0 1"
    halves = f"M{x:.1f} {y:.1f}h{r:.1f}{arc}-{r:.1f} {r:.1f}zh-{r:.1f}{arc} {r:.1f}-{r:.1f}z"
    circle = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}" fill="white" stroke="{INK}"/>'
    return circle + f'<path d="{halves}" fill="{INK}"/>'


def curves_svg(
    t: Floats, curves: Sequence[Curve], unit: str, size: float = 1.0, width: float = 420.0, height: float = 130.0
) -> str:
    """Curves over time with a scale of their own; what is rounding beside the size, in their unit, is constant."""
    left, right, top, bottom = FRAME
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
            line = path(np.stack([x[seen], y[seen]], axis=-1))
            title = f"<title>{escape(curve.label)}</title>"
            parts.append(f'<path d="M{line}" fill="none" stroke="{curve.colour}" stroke-width="1.4">{title}</path>')
    for text, at, anchor in (
        (f"{snapped(high, high - low):.3g}", (left - 4, top + 9), "end"),
        (f"{snapped(low, high - low):.3g}", (left - 4, height - bottom), "end"),
        (f"{t[0]:g}", (left, height - 6), "start"),
        (f"{t[-1]:g} s", (width - right, height - 6), "end"),
        (unit, (left + 5, top + 13), "start"),
    ):
        place = f'x="{at[0]:.1f}" y="{at[1]:.1f}" text-anchor="{anchor}"'
        parts.append(f'<text {place} font-size="11" font-family="sans-serif" fill="{INK}">{escape(text)}</text>')
    return svg(width, height, "".join(parts), unit)


def snapped(x: float, span: float) -> float:
    """Zero where it is zero but for rounding."""
    return 0.0 if abs(x) < 1e-9 * span else x


BORDER = 'fill="white" stroke="#c9d0d6"'


def svg(width: float, height: float, content: str, label: str) -> str:
    size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(label)}" {size}>{content}</svg>'


def path(points: Floats) -> str:
    return "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def hexadecimal(colour: Floats) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in np.clip(colour[:3], 0.0, 1.0))
