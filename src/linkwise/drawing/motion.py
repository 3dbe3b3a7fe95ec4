"""Motions as pictures: configurations of a trajectory at the times of frames, the framing, and a page with its
player.

The picture shows the entire motion unless the robot would be tiny in it. A robot that travels more than FAR times its
reach is followed, and parts that move farther than that from it, such as a free slide, leave the picture.

Moving pictures as a page: the scene, the poses and a player in one HTML file that needs no network.

The poses are 32-bit floats in base64: for every frame and link the position, less `centre`, and the quaternion
(w, x, y, z) of the table frame, as `lw.poses` has it.
"""

from __future__ import annotations

import base64
import html
import json
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..robot import KINDS, Robot
from ..robot.layout import Layout
from ..trajectories.pieces import check_configurations, coordinate_derivatives, hermite
from ..trajectories.profiles import trajectory_through
from .camera import Camera, axis_view, orbit_view, plane_normal
from .scene import Scene, to_base, up_of
from .skeleton import Floats, Point, Skeleton

if TYPE_CHECKING:
    from .film import Animation


MOST_FRAMES = 20_000
FAR = 2.0
MOST_TRAILS = 6


def frame_count(duration: float, fps: float, speed: float) -> int:
    """The number of steps between frames; the last one may be shorter."""
    count = float(np.ceil(duration / (speed / fps) - 1e-9))
    if not count < MOST_FRAMES:
        expected = f"expected less than {MOST_FRAMES}: a larger speed or a smaller fps"
        raise ValueError(f"{duration:g} s at {fps:g} frames per second are {count:.0f} frames ({expected})")
    return int(count)


@dataclass(frozen=True)
class Motion:
    """A robot's finite q (n, nq) and qd (n, nv) at times t (n,).

    `note` says why the motion ended early, if it did.
    """

    robot: Robot
    t: Floats
    q: Floats
    qd: Floats
    title: str
    note: str = ""

    @property
    def duration(self) -> float:
        return float(self.t[-1] - self.t[0])

    def frame_times(self, fps: float, speed: float) -> Floats:
        """Times from the first to the last, shown 1/fps apart; the last step may be shorter."""
        steps = speed / fps * np.arange(frame_count(self.duration, fps, speed) + 1)
        return np.asarray(self.t[0] + np.minimum(steps, self.duration))

    def at(self, times: Floats) -> Floats:
        """Configurations at these times, by cubic interpolation of positions and rates."""
        if len(self.t) == 1:
            return np.repeat(self.q, len(times), axis=0)
        points = coordinate_derivatives(
            Layout.of(self.robot), check_configurations(self.q, "q", self.robot, dims=2), self.qd
        )
        curve = trajectory_through(self.robot, hermite(self.t - self.t[0], points), self.title)
        return np.asarray(curve(times - self.t[0]).q)


class Framing(NamedTuple):
    """The movement of the picture, and its middle and reach in the base frame."""

    shift: Floats  # (frames, 3)
    middle: Floats  # (3,)
    reach: float

    @property
    def follows(self) -> bool:
        return bool(self.shift.any())

    def titled(self, title: str) -> str:
        """The title of the picture."""
        return f"{title}, followed" if self.follows else title

    def of(self, poses: Floats) -> Floats:
        """Shift poses (frames, 1 + links, 4, 4) with the picture."""
        if not self.follows:
            return poses
        moved = poses.copy()
        moved[..., :3, 3] -= self.shift[:, None]
        return moved

    def limited(self, points: Floats, camera: Camera) -> Floats:
        """Clip points (..., 2) to the picture."""
        middle, _ = camera.project(self.middle)
        return np.clip(points, middle - self.reach, middle + self.reach)


def framing_of(scene: Scene, poses: Floats) -> Framing:
    """The framing of a motion (frames, 1 + links, 4, 4)."""
    skeleton = scene.skeleton
    far = FAR * max(scene.size, longest_reach(skeleton, poses[0]))
    if not skeleton.floating:
        return Framing(np.zeros((len(poses), 3)), poses[0, 0, :3, 3], far)
    anchors = poses[:, sorted(skeleton.floating)][..., :3, 3].mean(axis=1)
    shift = anchors - anchors[0]
    travel = float(np.linalg.norm(shift, axis=-1).max())
    if travel <= far:
        return Framing(np.zeros_like(shift), anchors[0], far + travel)
    return Framing(shift, anchors[0], far)


def longest_reach(skeleton: Skeleton, poses: Floats) -> float:
    """The longest path along the links from the base, or a floating link, to a tip, with slides at their limits."""
    hubs, ways = [poses[0, :3, 3]], [0.0]
    for joint in skeleton.joints:  # parents come first
        hubs.append((poses[joint.frame] @ joint.after)[:3, 3])
        way = float(np.linalg.norm(hubs[-1] - hubs[joint.parent])) + slide_travel(skeleton, joint.frame)
        ways.append(0.0 if joint.frame in skeleton.floating else ways[joint.parent] + way)
    points = skeleton.points()
    ends = zip(points, to_base(points, poses[None])[0], strict=True)
    return max((ways[point.frame] + float(np.linalg.norm(at - hubs[point.frame])) for point, at in ends), default=0.0)


def slide_travel(skeleton: Skeleton, frame: int) -> float:
    """The travel of sliding joints with limits."""
    joint = skeleton.robot.moving[frame - 1]
    link_joints = [link.joint for link in skeleton.robot.links[joint.first : joint.link + 1]]
    slides = [joint for joint in link_joints if joint.slides and not joint.turns]
    return sum(abs(float(x.axis.linear.z)) * (float(x.limits[1]) - float(x.limits[0])) for x in slides if x.limits)


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
