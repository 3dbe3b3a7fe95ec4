"""What a moving picture shows: the whole motion, unless the robot would be tiny in it.

A robot that travels more than FAR times its reach is followed, and what moves further than that from it, as a slide
that nothing holds, leaves the picture.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .camera import Camera
from .scene import Scene, world
from .skeleton import Floats, Skeleton

FAR = 2.0


class Framing(NamedTuple):
    """How the picture moves, and how far from a point of the base frame it shows anything."""

    shift: Floats  # (frames, 3)
    middle: Floats  # (3,)
    reach: float

    @property
    def follows(self) -> bool:
        return bool(self.shift.any())

    def titled(self, title: str) -> str:
        """What stands above the picture."""
        return f"{title}, followed" if self.follows else title

    def of(self, poses: Floats) -> Floats:
        """Poses (frames, 1 + links, 4, 4) as the picture has them."""
        if not self.follows:
            return poses
        moved = poses.copy()
        moved[..., :3, 3] -= self.shift[:, None]
        return moved

    def limited(self, points: Floats, camera: Camera) -> Floats:
        """Points of the picture, (..., 2), those outside it moved to its edge."""
        middle, _ = camera.project(self.middle)
        return np.clip(points, middle - self.reach, middle + self.reach)


def framing_of(scene: Scene, poses: Floats) -> Framing:
    """For a motion, (frames, 1 + links, 4, 4)."""
    skeleton = scene.skeleton
    far = FAR * max(scene.size, longest(skeleton, poses[0]))
    if not skeleton.floating:
        return Framing(np.zeros((len(poses), 3)), poses[0, 0, :3, 3], far)
    anchors = poses[:, sorted(skeleton.floating)][..., :3, 3].mean(axis=1)
    shift = anchors - anchors[0]
    travel = float(np.linalg.norm(shift, axis=-1).max())
    if travel <= far:
        return Framing(np.zeros_like(shift), anchors[0], far + travel)
    return Framing(shift, anchors[0], far)


def longest(skeleton: Skeleton, poses: Floats) -> float:
    """The longest way along the links, from the base or from what floats to a tip; slides as far as limits let them."""
    hubs, ways = [poses[0, :3, 3]], [0.0]
    for joint in skeleton.joints:  # parents come first
        hubs.append((poses[joint.frame] @ joint.after)[:3, 3])
        way = float(np.linalg.norm(hubs[-1] - hubs[joint.parent])) + travel_of(skeleton, joint.frame)
        ways.append(0.0 if joint.frame in skeleton.floating else ways[joint.parent] + way)
    points = skeleton.points()
    ends = zip(points, world(points, poses[None])[0], strict=True)
    return max((ways[point.frame] + float(np.linalg.norm(at - hubs[point.frame])) for point, at in ends), default=0.0)


def travel_of(skeleton: Skeleton, frame: int) -> float:
    """How far a joint can slide, where the table says it."""
    joint = skeleton.robot.moving[frame - 1]
    own = [link.joint for link in skeleton.robot.links[joint.first : joint.link + 1]]
    pairs = [slide.limits for slide in own if slide.kind == "prismatic" and slide.limits is not None]
    return sum(float(high) - float(low) for low, high in pairs)
