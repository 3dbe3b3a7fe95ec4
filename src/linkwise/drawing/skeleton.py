"""The geometry of a robot for pictures: joints, links and mass centres.

Points are given in frames: frame 0 is the base, frame k + 1 the table frame of link k, as in `lw.poses`. A picture at a
configuration needs only the poses.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..robot import Joint, Link, Robot
from ..robot.coordinates import MovingJoint
from ..robot.kinds import JointKind
from ..robot.symbols import refuse_symbols

Floats = np.ndarray[Any, np.dtype[np.float64]]
NEAR = 1e-9  # relative to the link's size: points that count as one


class Point(NamedTuple):
    """A point fixed in a frame."""

    frame: int
    at: Floats


class Rod(NamedTuple):
    """A straight part of a link between two points, with the colour of a body."""

    start: Point
    end: Point
    body: int
    thin: bool = False  # the sliding part of a joint


@dataclass(frozen=True)
class DrawnJoint:
    """A joint: its frame in that of the parent, and the frame of its link's axis in that of the link."""

    kind: str
    symbol: str
    slides: bool  # whether its link can move away from it
    parent: int
    before: Floats  # 4 × 4, z along the axis
    frame: int
    after: Floats  # 4 × 4, z along the last axis


@dataclass(frozen=True)
class Body:
    """A box with the mass and inertia of a link, in the link's frame."""

    frame: int
    mass: float
    com: Floats
    axes: Floats  # 3 × 3, columns: the principal axes
    half: Floats  # half the sides of the box


@dataclass(frozen=True)
class Skeleton:
    robot: Robot
    joints: tuple[DrawnJoint, ...]
    rods: tuple[Rod, ...]
    bodies: tuple[Body, ...]
    tips: tuple[Point, ...]  # the ends of the links that carry no other
    floating: frozenset[int]  # frames of links with free joints on the base

    def points(self) -> tuple[Point, ...]:
        """All points that a picture must show, without its symbols."""
        ends = [point for rod in self.rods for point in (rod.start, rod.end)]
        hubs = [Point(joint.frame, joint.after[:3, 3]) for joint in self.joints]
        return (*ends, *hubs, *self.tips, *(Point(body.frame, body.com) for body in self.bodies))


def skeleton_of(robot: Robot) -> Skeleton:
    refuse_symbols(robot)
    frame_of = {joint.link: k for k, joint in enumerate(robot.moving, 1)} | {-1: 0}
    joints = tuple(drawn_joint(robot, joint, frame_of) for joint in robot.moving)
    hubs = {0: np.zeros(3)} | {joint.frame: joint.after[:3, 3] for joint in joints}
    bodies = tuple(body_of(robot.links[joint.link], frame_of[joint.link]) for joint in robot.moving)
    carrying = Counter(joint.parent for joint in joints if joint.kind != "free")
    starts = dict(hubs)
    for body in bodies:  # links with several children are drawn from their mass centre, not as a fan
        if robot.convention == "frames" and carrying[body.frame] > 1 and body.mass > 0.0:
            starts[body.frame] = body.com
    rods = [rod for frame in starts for rod in chain_of_rods(frame, [hubs[frame], starts[frame]])]
    for joint in joints:
        if joint.kind != "free":
            path = link_path(robot.convention, joint.parent, starts[joint.parent], joint.before[:3, 3])
            rods += chain_of_rods(joint.parent, path)
        if joint.slides and joint.kind != "free":
            start = Point(joint.parent, joint.before[:3, 3])
            rods.append(Rod(start, Point(joint.frame, hubs[joint.frame]), joint.frame, thin=True))
    tips: list[Point] = []
    for body in bodies:
        if body.frame in carrying:
            continue  # its frames are mostly sensors: lines to them would look like links
        tools = [matrix(frame.placement) for frame in robot.frames if frame.carrier == body.frame - 1]
        ends = [tool[:3, 3] for tool in tools] or [leaf_end(hubs[body.frame], body)]
        tips += [Point(body.frame, end) for end in ends]
        for end in ends:
            rods += chain_of_rods(body.frame, link_path(robot.convention, body.frame, hubs[body.frame], end))
    on_base = [matrix(frame.placement)[:3, 3] for frame in robot.frames if frame.on_base]
    rods += [rod for end in on_base for rod in chain_of_rods(0, [hubs[0], end])]
    free = frozenset(joint.frame for joint in joints if joint.kind == "free" and joint.parent == 0)
    return Skeleton(robot, joints, tuple(rods), bodies, tuple(tips), free)


def drawn_joint(robot: Robot, joint: MovingJoint, frame_of: dict[int, int]) -> DrawnJoint:
    first, last = robot.links[joint.first], robot.links[joint.link]
    in_parent = matrix(first.placement.then(joint.kind.joint_frame))
    if first.parent >= 0:
        in_parent = inverse(matrix(robot.links[first.parent].frame)) @ in_parent
    slides = any(link.joint.slides for link in robot.links[joint.first : joint.link + 1])
    parent, frame, after = frame_of[first.parent], frame_of[joint.link], inverse(matrix(last.frame))
    return DrawnJoint(joint.kind.name, symbol_of(joint.kind, last.joint), slides, parent, in_parent, frame, after)


def symbol_of(kind: JointKind, joint: Joint) -> str:
    """The symbol of a joint: that of its kind, or for one degree of freedom that of its motion."""
    if kind.symbol or kind.degrees > 1:
        return kind.symbol or kind.name
    return ("screw" if joint.slides else "revolute") if joint.turns else "prismatic"


def link_path(convention: str, frame: int, hub: Floats, end: Floats) -> list[Floats]:
    """The path along a link from its own joint to another point. DH links have the corners of the table.

    In the frames of the table the distance along x is from (-a, 0, 0) to the origin (standard), or from there to
    (a, 0, 0) (modified); the rest is along z of one of the two joints.
    """
    if convention == "standard" and frame:
        return [hub, np.array([hub[0], 0.0, 0.0]), np.zeros(3), end]
    if convention == "modified":
        return [hub, np.array([end[0], 0.0, 0.0]), end]
    return [hub, end]


def leaf_end(hub: Floats, body: Body) -> Floats:
    """The end of a link without children: its table frame, or beyond its mass centre by half its box.

    The box has the same mass and inertia; at most the distance of the mass centre is added.
    """
    size = float(np.linalg.norm(hub))
    lever = body.com - hub
    distance = float(np.linalg.norm(lever))
    near = NEAR * max(size, distance, float(body.half.max()))
    if size > near or distance <= near or body.mass <= 0.0:
        return np.zeros(3)
    direction = lever / distance
    reach = float(np.abs(body.axes.T @ direction) @ body.half)
    end: Floats = body.com + direction * min(reach, distance)
    return end


def chain_of_rods(frame: int, path: list[Floats]) -> list[Rod]:
    return [Rod(Point(frame, a), Point(frame, b), frame) for a, b in pairwise(path) if np.linalg.norm(b - a) > 0.0]


def body_of(link: Link, frame: int) -> Body:
    to_table = inverse(matrix(link.frame))
    com = (to_table @ [*map(float, link.com), 1.0])[:3]
    tensor = np.array([[float(x) for x in row] for row in link.inertia.rows])
    mass = float(link.mass)
    moments, axes = np.linalg.eigh(to_table[:3, :3] @ tensor @ to_table[:3, :3].T)
    squares = (moments.sum() / 2.0 - moments) / mass if mass > 0.0 else np.zeros(3)  # ∫ x² dm / m = side² / 12
    return Body(frame, mass, com, axes, np.sqrt(3.0 * np.maximum(squares, 0.0)))


def matrix(placement: Any) -> Floats:
    return np.array(placement.matrix(), float)


def inverse(pose: Floats) -> Floats:
    turned = pose[:3, :3].T
    return np.block([[turned, -turned @ pose[:3, 3:]], [np.zeros((1, 3)), np.ones((1, 1))]])
