"""A robot as plain arrays: joints of one degree of freedom, balls and free joints, each with its body.

Placements and bodies as 4 x 4 arrays of numbers.

A body is its pseudo-inertia Σ = ∫ (x, 1)(x, 1)ᵀ dm: mass, first moments and second moments. Transformed by T it is
T Σ Tᵀ. Pseudo-inertias of bodies that move together add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import RobotError
from ..robot import Joint, Robot
from ..robot.link import own_numbers
from ..spatial import Placement, RigidInertia, Symmetric, Vector

Array = np.ndarray
FLIP = np.diag([1.0, -1.0, -1.0, 1.0])  # half a turn about x
EYE = np.eye(4)
EYE.flags.writeable = FLIP.flags.writeable = False


def matrix(placement: Placement) -> Array:
    return np.array([[float(x) for x in row] for row in placement.matrix()])


def make_pose(rotation: Any = None, point: Any = None) -> Array:
    T = np.eye(4)
    if rotation is not None:
        T[:3, :3] = rotation
    if point is not None:
        T[:3, 3] = point
    return T


def inverse(T: Array) -> Array:
    R = T[:3, :3].T
    return make_pose(R, -R @ T[:3, 3])


def pose_difference(T: Array, U: Array, size: float) -> float:
    """The largest difference of two placements: of rotation entries, and of positions relative to a length."""
    return float(max(np.abs(T[:3, :3] - U[:3, :3]).max(), np.abs(T[:3, 3] - U[:3, 3]).max() / size))


def about_z(angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return make_pose([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def along_z(distance: float) -> Array:
    return make_pose(point=(0.0, 0.0, distance))


def angle_of(R: Array) -> float:
    """The angle of a rotation; accurate also for small angles."""
    R = R[:3, :3]
    axis = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    return float(np.arctan2(np.linalg.norm(axis) / 2.0, (np.trace(R) - 1.0) / 2.0))


def axis_of(R: Array) -> Array:
    """The unit axis of a rotation."""
    R = R[:3, :3]
    values, vectors = np.linalg.eig(R)
    axis = np.real(vectors[:, np.argmin(np.abs(values - 1.0))])
    turn = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    return np.asarray(axis if axis @ turn >= 0.0 else -axis)


def shortest_turn(source: Array, target: Array) -> Array:
    """The rotation of least angle that maps one direction to another."""
    a, b = source / np.linalg.norm(source), target / np.linalg.norm(target)
    v, c = np.cross(a, b), float(a @ b)
    if c < -1.0 + 1e-12:  # half a turn, about any axis across
        across = np.eye(3)[np.argmin(np.abs(a))]
        across = across - a * (a @ across)
        across /= np.linalg.norm(across)
        return 2.0 * np.outer(across, across) - np.eye(3)
    K = np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])
    return np.asarray(np.eye(3) + K + K @ K / (1.0 + c))


def nearest_rotation(R: Array) -> Array:
    U, _, V = np.linalg.svd(R)
    return np.asarray(U @ np.diag([1.0, 1.0, np.sign(np.linalg.det(U @ V))]) @ V)


def pseudo_inertia(mass: float, com: Any, inertia: Any) -> Array:
    """The pseudo-inertia of mass, mass centre and tensor about the mass centre."""
    c, inertia = np.asarray(com, dtype=float), np.asarray(inertia, dtype=float)
    S = np.zeros((4, 4))
    S[:3, :3] = np.trace(inertia) / 2.0 * np.eye(3) - inertia + mass * np.outer(c, c)
    S[:3, 3] = S[3, :3] = mass * c
    S[3, 3] = mass
    return S


def mass_properties(body: Array) -> tuple[float, Array, Array]:
    """Mass, mass centre (the origin if there is no mass) and tensor about it."""
    mass = float(body[3, 3])
    com = body[:3, 3] / mass if mass else np.zeros(3)
    second = body[:3, :3] - mass * np.outer(com, com)
    return mass, com, np.asarray(np.trace(second) * np.eye(3) - second)


def transform_body(body: Array, T: Array) -> Array:
    return np.asarray(T @ body @ T.T)


def parallel_axis_term(mass: float, com: Array) -> Array:
    """The tensor about the origin minus that about the mass centre."""
    return np.asarray(mass * (com @ com * np.eye(3) - np.outer(com, com)))


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
