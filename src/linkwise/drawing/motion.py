"""Configurations of a trajectory at the times of frames, and the framing of the picture.

The picture shows the whole motion unless the robot would be tiny in it. A robot that travels more than FAR times its
reach is followed, and parts that move farther than that from it, such as a free slide, leave the picture.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..robot import Robot
from ..robot.layout import Layout
from ..trajectories.pieces import check_configurations, coordinate_derivatives, hermite
from ..trajectories.profiles import trajectory_through
from .camera import Camera
from .scene import Scene, to_base
from .skeleton import Floats, Skeleton

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
