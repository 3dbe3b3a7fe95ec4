"""Moving pictures as a page: the scene, the poses and a player in one HTML file that needs no network.

The poses are 32-bit floats in base64: for every frame and link the position, less `centre`, and the quaternion
(w, x, y, z) of the table frame, as `lw.poses` has it.
"""

from __future__ import annotations

import base64
import html
import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from ..robot import KINDS
from .camera import axis_view, orbit_view, plane_normal
from .motion import MOST_TRAILS
from .scene import to_base, up_of
from .skeleton import Floats, Point

if TYPE_CHECKING:
    from .film import Animation

DIGITS = 6  # of lengths in the scene, relative to the robot's size


def page_of(animation: Animation) -> str:
    data = json.dumps(scene_data(animation), separators=(",", ":"), allow_nan=False)
    title = animation.motion.title
    here = files(__package__)
    page, style, script = ((here / f"player.{kind}").read_text(encoding="utf-8") for kind in ("html", "css", "js"))
    return page.format(
        title=html.escape(title),
        heading=html.escape(animation.framing.titled(title)),
        style=style,
        script=script,
        scene=data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"),
    )


def scene_data(animation: Animation) -> dict[str, Any]:
    scene, framing, poses = animation.scene, animation.framing, animation.poses
    skeleton, size = scene.skeleton, scene.size
    boxes = [Point(part.frame, corner) for part in scene.parts if part.clear for corner in part.solid.points]
    outline = (*skeleton.points(), *boxes)  # the extent of the picture
    points = to_base(outline, poses).reshape(-1, 3)
    centre = (points.min(axis=0) + points.max(axis=0)) / 2
    up = up_of(skeleton)
    normal = plane_normal(skeleton, poses[0])
    views = [animation.camera] + [axis_view(up, name) for name in ("front", "side", "top")]
    if normal is not None and animation.camera.name == "plane":
        views.append(orbit_view(up, -60.0, 22.0))
    return {
        "robot": skeleton.robot.name,
        "links": list(skeleton.robot.names),
        "note": animation.motion.note,
        "times": animation.times.tolist(),
        "speed": animation.speed,
        "centre": centre.tolist(),
        "radius": round_number(scene.radius, size),
        "outline": [point_entry(point, size) for point in outline],
        "size": size,
        "up": up.tolist(),
        "gravity": [float(x) for x in skeleton.robot.gravity],
        "views": [[view.name, *(axis.tolist() for axis in view[1:])] for view in views],
        "kinds": [[kind, KINDS[kind].colour] for kind in scene.kinds],
        "solids": [
            [part.frame, part.colour, int(part.clear), round_list(part.solid.points, size), list(part.solid.faces)]
            for part in scene.parts
        ],
        "tubes": [
            [*point_entry(tube.start, size), *point_entry(tube.end, size), round_number(tube.radius, size), tube.colour]
            for tube in scene.tubes
        ],
        "centres": [[*point_entry(each.point, size), round_number(each.radius, size)] for each in scene.centres],
        "trails": [point_entry(tip, size) for tip in skeleton.tips] if len(skeleton.tips) <= MOST_TRAILS else [],
        "follow": round_list(framing.shift, size) if framing.follows else [],
        "middle": (framing.middle - centre).tolist(),
        "reach": framing.reach,
        "poses": packed_poses(poses[:, 1:], centre),
    }


def packed_poses(poses: Floats, centre: Floats) -> str:
    """(frames, links, 7) as base64."""
    numbers = np.concatenate([poses[..., :3, 3] - centre, quaternions(poses[..., :3, :3])], axis=-1)
    return base64.b64encode(np.ascontiguousarray(numbers, "<f4").tobytes()).decode("ascii")


def quaternions(rotations: Floats) -> Floats:
    """(w, x, y, z) of rotation matrices (..., 3, 3), by the formula with the largest divisor."""
    m = np.moveaxis(rotations, (-2, -1), (0, 1))
    w, x, y, z = (
        1.0 + m[0, 0] + m[1, 1] + m[2, 2],
        1.0 + m[0, 0] - m[1, 1] - m[2, 2],
        1.0 - m[0, 0] + m[1, 1] - m[2, 2],
        1.0 - m[0, 0] - m[1, 1] + m[2, 2],
    )
    a, b, c = m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]
    d, e, f = m[1, 0] + m[0, 1], m[0, 2] + m[2, 0], m[2, 1] + m[1, 2]
    table = np.stack([np.stack(row, -1) for row in ((w, a, b, c), (a, x, d, e), (b, d, y, f), (c, e, f, z))], axis=-2)
    largest = np.argmax(np.stack([w, x, y, z], axis=-1), axis=-1)
    chosen = np.take_along_axis(table, largest[..., None, None], axis=-2)[..., 0, :]
    unit: Floats = chosen / np.linalg.norm(chosen, axis=-1, keepdims=True)
    return unit


def round_number(x: float, size: float) -> float:
    return float(f"{round(x / size, DIGITS) * size:.{DIGITS + 2}g}")


def round_list(points: Floats, size: float) -> list[float]:
    return [round_number(float(x), size) for x in points.ravel()]


def point_entry(point: Point, size: float) -> list[float]:
    return [point.frame, *round_list(point.at, size)]
