"""A robot as plain arrays: joints of one degree of freedom, balls and free joints, each with its body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import RobotError
from ..robot import Joint, Robot
from ..robot.link import own_numbers
from ..spatial import RigidInertia, Symmetric, Vector
from .rigid import EYE, Array, inverse, matrix, pseudo_inertia, transform_body

WIDTHS = {"ball": (4, 3), "free": (7, 6)}  # sizes of q and v; others have one each


@dataclass(frozen=True)
class Unit:
    """A joint and its body. Its frame moves with the body; at q = 0 it is `placement` in the parent's frame.

    A joint of one degree of freedom moves about or along z of its frame.
    """

    index: int
    name: str  # of the joint, or "wrist.rx" where it is one of several degrees of freedom of a joint
    link: str
    kind: str
    parent: int
    placement: Array
    body: Array
    joint: Joint  # of its last link
    q: slice  # in q and v of the robot without couplings
    v: slice
    links: slice  # of `Robot.links`
    frame: Array  # the table frame in the unit's frame
    coupling: tuple[int, float, float] | None = None  # leader, ratio and offset

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, self.link)

    def motion(self, q: float) -> Array:
        """The motion of a joint of one degree of freedom."""
        return matrix(self.joint.motion(float(q)))

    @property
    def form(self) -> str:
        """The form of motion: "ball", "free", "slide" (only along the axis) or "turn"."""
        if self.kind in WIDTHS:
            return self.kind
        return "turn" if self.joint.turns else "slide"

    @property
    def travel(self) -> float:
        """The displacement of a sliding joint for each unit of its coordinate."""
        return float(self.joint.axis.linear.z)

    @property
    def numbers(self) -> dict[str, float]:
        """The parameters specific to its kind of joint."""
        return {name: float(getattr(self.joint, name)) for name in own_numbers(type(self.joint))}


@dataclass(frozen=True)
class FixedFrame:
    """A frame of a fixed joint, with the body of its row."""

    name: str
    unit: int
    placement: Array
    body: Array | None
    locked: bool = False  # whether it replaces a joint that only one robot has


@dataclass(frozen=True)
class Skeleton:
    robot: Robot
    units: tuple[Unit, ...]
    frames: tuple[FixedFrame, ...]
    gravity: Array

    @property
    def name(self) -> str:
        return self.robot.name

    def ancestors(self, index: int) -> list[int]:
        """The parent, its parent, and so on; without the base."""
        path = []
        while (index := self.units[index].parent) >= 0:
            path.append(index)
        return path

    def children(self, index: int) -> list[int]:
        return [unit.index for unit in self.units if unit.parent == index]

    def zero_poses(self) -> list[Array]:
        """Poses of the units at q = 0 in the base frame."""
        poses: list[Array] = []
        for unit in self.units:
            poses.append((poses[unit.parent] if unit.parent >= 0 else EYE) @ unit.placement)
        return poses

    def kept(self, order: Sequence[int]) -> Skeleton:
        """The skeleton of these units, in this order; the others are locked at q = 0 and their bodies merged."""
        place = {index: k for k, index in enumerate(order)}
        at = {-1: (-1, EYE)}  # the kept unit that carries each one, and where
        bodies = {k: np.zeros((4, 4)) for k in range(-1, len(order))}
        parents: dict[int, tuple[int, Array]] = {}
        for unit in self.units:
            parent, where = at[unit.parent]
            if unit.index in place:
                k = place[unit.index]
                parents[k] = parent, where @ unit.placement
                at[unit.index] = k, EYE
                bodies[k] = bodies[k] + unit.body
            else:
                at[unit.index] = parent, where @ unit.placement
                bodies[parent] = bodies[parent] + transform_body(unit.body, at[unit.index][1])
        units = []
        for k, index in enumerate(order):
            parent, placement = parents[k]
            old = self.units[index]
            units.append(replace(old, index=k, parent=parent, placement=placement, body=bodies[k]))
        frames = []
        for frame in self.frames:
            k, where = at[frame.unit]
            frames.append(replace(frame, unit=k, placement=where @ frame.placement))
        for unit in self.units:
            if unit.index not in place:
                k, where = at[unit.index]
                body = transform_body(unit.body, inverse(unit.frame))
                frames.append(FixedFrame(unit.link, k, where @ unit.frame, body, locked=True))
        return replace(self, units=tuple(units), frames=tuple(frames))


def skeleton_of(robot: Robot) -> Skeleton:
    if robot.symbolic:
        raise RobotError(f"robot {robot.name!r} has symbols (expected numbers: lw.bind puts them in)")
    robot = robot.mapped(float)
    uncoupled = robot.uncoupled
    units: list[Unit] = []
    unit_of: dict[int, int] = {-1: -1}
    for joint in uncoupled.moving:
        free_or_ball = joint.kind.name in WIDTHS
        spans = [(joint.first, joint.link)] if free_or_ball else [(k, k) for k in range(joint.first, joint.link + 1)]
        for part, (first, last) in enumerate(spans):
            name = joint.joint + (f".{joint.kind.v_labels[part]}" if len(spans) > 1 else "")
            units.append(
                make_unit(uncoupled, name, joint.kind.name if free_or_ball else "", first, last, unit_of, len(units))
            )
            unit_of |= dict.fromkeys(range(first, last + 1), len(units) - 1)
    for coupling in robot.couplings:
        k = unit_of[coupling.link]
        follows = unit_of[coupling.to], float(coupling.ratio), float(coupling.offset)
        units[k] = replace(units[k], coupling=follows)
    rows = {row["name"]: row for row in robot.rows}
    frames = tuple(
        FixedFrame(frame.name, unit_of[link], matrix(placement), body_in_row(rows.get(frame.name)))
        for frame in robot.frames
        for link, placement in [robot.seat(frame)]
    )
    return Skeleton(robot, tuple(units), frames, np.array(robot.gravity, dtype=float))


def make_unit(robot: Robot, name: str, kind: str, first: int, last: int, unit_of: dict[int, int], index: int) -> Unit:
    links = robot.links[first : last + 1]
    placement, slots = np.eye(4), robot.slots
    for link in links:
        placement = placement @ matrix(link.placement) @ neutral_motion(link.joint)
    joint, body = links[-1].joint, links[-1]
    width = links[0].joint.width if not kind else 0
    q = slice(slots[first].q, slots[first].q + (WIDTHS[kind][0] if kind else width))
    v = slice(slots[first].v, slots[last].v + 1)
    return Unit(
        index=index,
        name=name,
        link=body.name,
        kind=kind or joint.kind,
        parent=unit_of[links[0].parent],
        placement=placement,
        body=pseudo_inertia(float(body.mass), [float(x) for x in body.com], body.inertia.rows),
        joint=joint,
        q=q,
        v=v,
        links=slice(first, last + 1),
        frame=matrix(body.frame),
    )


def neutral_motion(joint: Any) -> Array:
    values = (1.0, 0.0, 0.0, 0.0) if joint.width == 4 else (0.0,) * joint.width
    return matrix(joint.motion(joint.coordinate(values)))


def body_in_row(row: Any) -> Array | None:
    """The body of a fixed row in its own frame. A row may have a tensor without mass."""
    if row is None or not (row.get("mass") or np.any(row.get("inertia", 0.0))):
        return None
    return pseudo_inertia(float(row["mass"]), row["com"], row["inertia"])


def inertia_of(body: Array) -> RigidInertia:
    """The inertia about the origin. The body may have batch axes before its last two."""
    S = body
    trace = S[..., 0, 0] + S[..., 1, 1] + S[..., 2, 2]
    xx, yy, zz = (trace - S[..., k, k] for k in range(3))
    tensor = Symmetric(xx, -S[..., 0, 1], -S[..., 0, 2], yy, -S[..., 1, 2], zz)
    return RigidInertia(S[..., 3, 3], Vector(S[..., 0, 3], S[..., 1, 3], S[..., 2, 3]), tensor)
