"""Joint coordinates q' and velocities v' of other libraries

    v' = T(q) v        T orthogonal: a rotation into other axes, or another order
    v̇' = T v̇ + Ṫ v
    τ' = T τ           the power is the same, τ'ᵀ v' = τᵀ v

Joints that are not listed for a library have the same coordinates there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..robot import Robot
from ..robot.coordinates import QUATERNION, MovingJoint
from ..spatial import quaternion_product, rotation_of


class SameNumbers:
    """A joint with the same coordinates and velocities as in Linkwise."""

    size_there: ClassVar[int | None] = None  # of their q, if it differs from ours

    def __init__(self, robot: Robot, joint: MovingJoint) -> None:
        self.size = self.size_there or len(joint.kind.q_labels)  # of their q

    def theirs(self, q: np.ndarray) -> np.ndarray:
        return q

    def ours(self, q: np.ndarray) -> np.ndarray:
        return q

    def to_theirs(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        """T x for a velocity or a force; q is ours here and below."""
        return x

    def to_ours(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Tᵀ x."""
        return x

    def drift(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Ṫ v."""
        return np.zeros_like(v)


class OtherOrder(SameNumbers):
    """A ball or free joint with its numbers in another order, and its velocities in other axes."""

    q_order: tuple[int, ...]  # indices of their numbers in ours
    angular_first = False  # of their velocities
    linear_in_body = False  # whether the linear velocity is in the body's axes, not the parent's
    angular_in_parent = False  # whether the angular velocity is in the parent's axes, not the body's

    def theirs(self, q: np.ndarray) -> np.ndarray:
        return q[..., self.q_order]

    def ours(self, q: np.ndarray) -> np.ndarray:
        return q[..., np.argsort(self.q_order)]

    def to_theirs(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        linear, angular = x[..., :-3], x[..., -3:]
        linear = to_body_axes(q, linear) if self.linear_in_body else linear
        angular = to_parent_axes(q, angular) if self.angular_in_parent else angular
        return concatenate(angular, linear) if self.angular_first else concatenate(linear, angular)

    def to_ours(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        angular, linear = (x[..., :3], x[..., 3:]) if self.angular_first else (x[..., -3:], x[..., :-3])
        linear = to_parent_axes(q, linear) if self.linear_in_body else linear
        return concatenate(linear, to_body_axes(q, angular) if self.angular_in_parent else angular)

    def drift(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """-ω × v for a linear velocity in the body's axes."""
        if not self.linear_in_body:
            return np.zeros_like(v)
        return concatenate(np.cross(to_body_axes(q, v[..., :3]), v[..., 3:]), np.zeros_like(v[..., 3:]))


class PinocchioBall(OtherOrder):
    """JointModelSpherical: the quaternion is (x, y, z, w)."""

    q_order = (1, 2, 3, 0)


class PinocchioFree(OtherOrder):
    """JointModelFreeFlyer: the quaternion is (x, y, z, w), the linear velocity is in the body's axes."""

    q_order = (0, 1, 2, 4, 5, 6, 3)
    linear_in_body = True


class PinocchioPlanar(SameNumbers):
    """JointModelPlanar: x, y, cosine and sine of the angle; the linear velocity is in the body's axes."""

    size_there = 4

    def theirs(self, q: np.ndarray) -> np.ndarray:
        return concatenate(q[..., :2], np.cos(q[..., 2:]), np.sin(q[..., 2:]))

    def ours(self, q: np.ndarray) -> np.ndarray:
        return concatenate(q[..., :2], angle(q[..., 2:3], q[..., 3:4]))

    def to_theirs(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        return rotate_in_plane(-q[..., 2], x)

    def to_ours(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        return rotate_in_plane(q[..., 2], x)

    def drift(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        x, y, w = np.moveaxis(rotate_in_plane(-q[..., 2], v), -1, 0)
        return np.stack([w * y, -w * x, np.zeros_like(w)], axis=-1)


class MujocoFree(SameNumbers):
    """A free joint: its pose is expressed in the world, not in the joint's frame at q = 0."""

    def __init__(self, robot: Robot, joint: MovingJoint) -> None:
        super().__init__(robot, joint)
        seat = robot.links[joint.first].placement.then(joint.kind.joint_frame)
        self.axes = np.array([[float(x) for x in row] for row in seat.axes.rows])
        self.origin = np.array([float(x) for x in seat.translation])
        self.quaternion = quaternion_of(self.axes)

    def theirs(self, q: np.ndarray) -> np.ndarray:
        position = self.origin + rotate(self.axes, q[..., :3])
        return concatenate(position, multiply_quaternions(self.quaternion, q[..., 3:]))

    def ours(self, q: np.ndarray) -> np.ndarray:
        back = self.quaternion * (1.0, -1.0, -1.0, -1.0)
        position = rotate(self.axes.T, q[..., :3] - self.origin)
        return concatenate(position, multiply_quaternions(back, q[..., 3:]))

    def to_theirs(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        return concatenate(rotate(self.axes, x[..., :3]), x[..., 3:])

    def to_ours(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        return concatenate(rotate(self.axes.T, x[..., :3]), x[..., 3:])


def mujoco_free(robot: Robot, joint: MovingJoint) -> SameNumbers:
    form = MujocoFree(robot, joint)
    at_base = (form.axes == np.eye(3)).all() and not form.origin.any()
    return SameNumbers(robot, joint) if at_base else form


class DrakeBall(OtherOrder):
    """BallRpyJoint: roll, pitch and yaw, R = R_z(yaw) R_y(pitch) R_x(roll); angular velocity in the parent's axes."""

    size_there = 3
    angular_in_parent = True

    def theirs(self, q: np.ndarray) -> np.ndarray:
        """Compute half the sum and half the difference of yaw and roll, which is accurate at a pitch of ±π/2.

        There one of the two is arbitrary, and is what the arctangent gives.
        """
        w, x, y, z = np.moveaxis(q, -1, 0)
        half_sum, half_difference = np.arctan2(x + z, w - y), np.arctan2(z - x, w + y)
        pitch = 2.0 * np.arctan2(np.hypot(z - x, w + y), np.hypot(x + z, w - y)) - math.pi / 2.0
        return np.stack(
            [wrap_angle(half_sum - half_difference), pitch, wrap_angle(half_sum + half_difference)], axis=-1
        )

    def ours(self, q: np.ndarray) -> np.ndarray:
        (cr, cp, cy), (sr, sp, sy) = (np.moveaxis(f(0.5 * q), -1, 0) for f in (np.cos, np.sin))
        yaw, pitch, roll = (cy, 0.0, 0.0, sy), (cp, 0.0, sp, 0.0), (cr, sr, 0.0, 0.0)
        return np.stack(quaternion_product(quaternion_product(yaw, pitch), roll), axis=-1)


class DrakeFree(OtherOrder):
    """QuaternionFloatingJoint: quaternion, then position; angular, then linear velocity, both in the parent's axes."""

    q_order = (3, 4, 5, 6, 0, 1, 2)
    angular_first = angular_in_parent = True


class PerDegree(SameNumbers):
    """A joint with one number for each degree of freedom, or cosine and sine of its angle."""

    def __init__(self, unbounded: Sequence[bool]) -> None:
        self.unbounded = tuple(unbounded)
        self.size = len(self.unbounded) + sum(self.unbounded)

    def theirs(self, q: np.ndarray) -> np.ndarray:
        parts = [q[..., k : k + 1] for k in range(len(self.unbounded))]
        pairs = zip(parts, self.unbounded, strict=True)
        return concatenate(*(concatenate(np.cos(x), np.sin(x)) if turning else x for x, turning in pairs))

    def ours(self, q: np.ndarray) -> np.ndarray:
        parts, begin = [], 0
        for turning in self.unbounded:
            x = q[..., begin : begin + 1 + turning]
            parts.append(angle(x[..., :1], x[..., 1:]) if turning else x)
            begin += 1 + turning
        return concatenate(*parts)


@dataclass(frozen=True)
class ModelJoint:
    """A joint of a model object, with where its numbers are in q and v."""

    name: str  # in the robot of the model
    whole: str  # its name in the model, where the joint may have several parts
    link: str
    kind: str
    q: range
    v: range
    value: float | None = None  # of q, where the model holds the joint

    @property
    def unbounded(self) -> bool:
        """Whether q has a cosine and a sine for one angle."""
        return self.kind == "revolute" and len(self.q) == 2


class JointPlace(NamedTuple):
    """The form of a joint, and the indices of its numbers."""

    form: SameNumbers
    q: list[int]
    v: list[int]


class Follower(NamedTuple):
    """A joint that is coupled in the robot and has its own coordinates in the model."""

    place: JointPlace
    q: int  # of its leader, in the robot's q and v
    v: int
    ratio: float
    offset: float


@dataclass(frozen=True)
class StateLayout:
    """The layout of a state in a library; `places` has an entry for each independent joint of the robot."""

    title: str
    nq: int
    nv: int
    places: tuple[JointPlace, ...]
    followers: tuple[Follower, ...] = ()
    locked: tuple[tuple[int, float], ...] = ()  # index and value of q of joints that are fixed in the robot

    def add_torques(self, ours: np.ndarray, given: np.ndarray) -> None:
        """Add torques of coupled joints, times their ratio, to those of their leaders."""
        for place, _, v, ratio, _ in self.followers:
            ours[..., v] += ratio * given[..., place.v[0]]

    def fill(self, results: Mapping[str, np.ndarray], our_q: np.ndarray, ours: Mapping[str, np.ndarray]) -> None:
        """Fill in the coordinates of coupled and locked joints. Torques go to the leaders alone."""
        for index, value in self.locked:
            results["q"][..., index] = value
        for place, q, v, ratio, offset in self.followers:
            results["q"][..., place.q] = place.form.theirs(ratio * our_q[..., q : q + 1] + offset)
            for name, x in ours.items():
                if name != "tau":
                    results[name][..., place.v] = ratio * x[..., v : v + 1]


Forms = Mapping[str, Callable[[Robot, MovingJoint], SameNumbers]]  # by kinds of joints
CONVENTIONS: dict[str, Forms] = {
    "linkwise": {},
    "pinocchio": {"ball": PinocchioBall, "free": PinocchioFree, "planar": PinocchioPlanar},
    "mujoco": {"free": mujoco_free},
    "drake": {"ball": DrakeBall, "free": DrakeFree},
}
TITLES = {"linkwise": "Linkwise", "pinocchio": "Pinocchio", "mujoco": "MuJoCo", "drake": "Drake"}


def angle(cosine: np.ndarray, sine: np.ndarray) -> np.ndarray:
    """The angle of cosine and sine; NaN where both are zero."""
    nowhere = (cosine == 0.0) & (sine == 0.0)
    return np.where(nowhere, np.nan, np.arctan2(sine, cosine))


def normalize_quaternion(q: np.ndarray) -> np.ndarray:
    """Normalize the last four numbers; NaN where their length is not positive and finite."""
    quaternion = q[..., -QUATERNION:]
    square = (quaternion**2).sum(axis=-1, keepdims=True)
    valid = np.isfinite(square) & np.isfinite(1.0 / square)
    return concatenate(q[..., :-QUATERNION], np.where(valid, quaternion / np.sqrt(square), np.nan))


def concatenate(*parts: np.ndarray) -> np.ndarray:
    return np.concatenate(parts, axis=-1)


def multiply_quaternions(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Multiply quaternions (..., 4)."""
    return np.stack(quaternion_product(*(list(np.moveaxis(x, -1, 0)) for x in np.broadcast_arrays(p, q))), axis=-1)


def rotate(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return np.asarray((matrix @ vector[..., None])[..., 0])


def to_parent_axes(q: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """From the body's axes into the parent's, by the quaternion at the end of q."""
    return rotate(axes_of(q), vector)


def to_body_axes(q: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return rotate(np.swapaxes(axes_of(q), -1, -2), vector)


def axes_of(q: np.ndarray) -> np.ndarray:
    rows = rotation_of(list(np.moveaxis(q[..., -QUATERNION:], -1, 0))).rows
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def rotate_in_plane(turn: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Rotate the first two numbers by the angle."""
    x, y, w = np.moveaxis(vector, -1, 0)
    c, s = np.cos(turn), np.sin(turn)
    return np.stack([c * x - s * y, s * x + c * y, w], axis=-1)


def wrap_angle(angle: np.ndarray) -> np.ndarray:
    """The same angle in [-π, π]."""
    return np.asarray(angle - 2.0 * math.pi * np.round(angle / (2.0 * math.pi)))


def quaternion_of(axes: np.ndarray) -> np.ndarray:
    """The unit quaternion of a rotation matrix (3, 3): the column of largest norm of 4 q qᵀ."""
    (a, b, c), (d, e, f), (g, h, i) = axes
    products = np.array(
        [
            [1.0 + a + e + i, h - f, c - g, d - b],
            [h - f, 1.0 + a - e - i, b + d, c + g],
            [c - g, b + d, 1.0 - a + e - i, f + h],
            [d - b, c + g, f + h, 1.0 - a - e + i],
        ]
    )
    column = products[np.argmax(products.diagonal())]
    return np.asarray(column / np.linalg.norm(column))
