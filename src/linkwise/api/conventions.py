"""States and torques in the coordinates of other libraries: Pinocchio, MuJoCo and Drake.

A library writes each joint in its own numbers q' with its own velocities

    v' = T(q) v        T orthogonal: a rotation into other axes, or another order
    v̇' = T v̇ + Ṫ v
    τ' = T τ           of the same power, τ'ᵀ v' = τᵀ v

Joints that are not listed for a library have the same numbers there. The joints keep the order of the robot.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import RobotError, one_of
from ..kernels.interface import EXPECTED
from ..robot import Robot
from ..robot.coordinates import MovingJoint
from ..robot.joint_space import QUATERNION
from ..spatial import Rotation, quaternion_product, rotation_of
from .states import Array, States, require_robot


class SameNumbers:
    """A joint with the same coordinates and velocities as in Linkwise."""

    def __init__(self, arm: Robot, joint: MovingJoint) -> None:
        self.size = len(joint.kind.q_labels)  # of their q

    def theirs(self, q: np.ndarray) -> np.ndarray:
        return q

    def ours(self, q: np.ndarray) -> np.ndarray:
        return q

    def to_theirs(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        """T x, of a velocity or a force; q is ours here and below."""
        return x

    def to_ours(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Tᵀ x."""
        return x

    def drift(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Ṫ v."""
        return np.zeros_like(v)


class PinocchioBall(SameNumbers):
    """JointModelSpherical: the quaternion is (x, y, z, w)."""

    def theirs(self, q: np.ndarray) -> np.ndarray:
        return q[..., [1, 2, 3, 0]]

    def ours(self, q: np.ndarray) -> np.ndarray:
        return q[..., [3, 0, 1, 2]]


class PinocchioFree(SameNumbers):
    """JointModelFreeFlyer: the quaternion is (x, y, z, w), the linear velocity is in the body's axes."""

    def theirs(self, q: np.ndarray) -> np.ndarray:
        return q[..., [0, 1, 2, 4, 5, 6, 3]]

    def ours(self, q: np.ndarray) -> np.ndarray:
        return q[..., [0, 1, 2, 6, 3, 4, 5]]

    def to_theirs(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        return joined(turned_back(q, x[..., :3]), x[..., 3:])

    def to_ours(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        return joined(turned(q, x[..., :3]), x[..., 3:])

    def drift(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """-ω × v in the body's axes."""
        return joined(np.cross(turned_back(q, v[..., :3]), v[..., 3:]), np.zeros_like(v[..., 3:]))


class PinocchioPlanar(SameNumbers):
    """JointModelPlanar: x, y, cosine and sine of the angle; the linear velocity is in the body's axes."""

    def __init__(self, arm: Robot, joint: MovingJoint) -> None:
        self.size = 4

    def theirs(self, q: np.ndarray) -> np.ndarray:
        return joined(q[..., :2], np.cos(q[..., 2:]), np.sin(q[..., 2:]))

    def ours(self, q: np.ndarray) -> np.ndarray:
        cosine, sine = q[..., 2:3], q[..., 3:4]
        nowhere = (cosine == 0.0) & (sine == 0.0)
        return joined(q[..., :2], np.where(nowhere, np.nan, np.arctan2(sine, cosine)))

    def to_theirs(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        return in_plane(-q[..., 2], x)

    def to_ours(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        return in_plane(q[..., 2], x)

    def drift(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        x, y, w = np.moveaxis(in_plane(-q[..., 2], v), -1, 0)
        return np.stack([w * y, -w * x, np.zeros_like(w)], axis=-1)


class MujocoFree(SameNumbers):
    """A free joint: its pose is in the world, not in the frame in which the table places the joint."""

    def __init__(self, arm: Robot, joint: MovingJoint) -> None:
        super().__init__(arm, joint)
        seat = arm.links[joint.first].placement.then(joint.kind.joint_frame)
        self.axes = np.array([[float(x) for x in row] for row in seat.axes.rows])
        self.origin = np.array([float(x) for x in seat.translation])
        self.quaternion = quaternion_of(self.axes)
        self.at_base = seat.axes == Rotation.identity() and not self.origin.any()

    def theirs(self, q: np.ndarray) -> np.ndarray:
        if self.at_base:
            return q
        position = self.origin + rotated(self.axes, q[..., :3])
        return joined(position, product(self.quaternion, q[..., 3:]))

    def ours(self, q: np.ndarray) -> np.ndarray:
        if self.at_base:
            return q
        back = self.quaternion * (1.0, -1.0, -1.0, -1.0)
        position = rotated(self.axes.T, q[..., :3] - self.origin)
        return joined(position, product(back, q[..., 3:]))

    def to_theirs(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        return x if self.at_base else joined(rotated(self.axes, x[..., :3]), x[..., 3:])

    def to_ours(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        return x if self.at_base else joined(rotated(self.axes.T, x[..., :3]), x[..., 3:])


class DrakeBall(SameNumbers):
    """BallRpyJoint: roll, pitch and yaw, R = R_z(yaw) R_y(pitch) R_x(roll); angular velocity in the parent's axes."""

    def __init__(self, arm: Robot, joint: MovingJoint) -> None:
        self.size = 3

    def theirs(self, q: np.ndarray) -> np.ndarray:
        """From half the sum and half the difference of yaw and roll, which is safe at a pitch of ±π/2.

        There one of the two is without meaning, and without effect; Linkwise gives what the arctangent gives.
        """
        w, x, y, z = np.moveaxis(q, -1, 0)
        half_sum, half_difference = np.arctan2(x + z, w - y), np.arctan2(z - x, w + y)
        pitch = 2.0 * np.arctan2(np.hypot(z - x, w + y), np.hypot(x + z, w - y)) - math.pi / 2.0
        return np.stack([wrapped(half_sum - half_difference), pitch, wrapped(half_sum + half_difference)], axis=-1)

    def ours(self, q: np.ndarray) -> np.ndarray:
        (cr, cp, cy), (sr, sp, sy) = (np.moveaxis(f(0.5 * q), -1, 0) for f in (np.cos, np.sin))
        yaw, pitch, roll = (cy, 0.0, 0.0, sy), (cp, 0.0, sp, 0.0), (cr, sr, 0.0, 0.0)
        return np.stack(quaternion_product(quaternion_product(yaw, pitch), roll), axis=-1)

    def to_theirs(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        return turned(q, x)

    def to_ours(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        return turned_back(q, x)


class DrakeFree(SameNumbers):
    """QuaternionFloatingJoint: quaternion, then position; angular, then linear velocity, both in the parent's axes."""

    def theirs(self, q: np.ndarray) -> np.ndarray:
        return q[..., [3, 4, 5, 6, 0, 1, 2]]

    def ours(self, q: np.ndarray) -> np.ndarray:
        return q[..., [4, 5, 6, 0, 1, 2, 3]]

    def to_theirs(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        return joined(turned(q, x[..., 3:]), x[..., :3])

    def to_ours(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        return joined(x[..., 3:], turned_back(q, x[..., :3]))


CONVENTIONS: dict[str, dict[str, type[SameNumbers]]] = {
    "linkwise": {},
    "pinocchio": {"ball": PinocchioBall, "free": PinocchioFree, "planar": PinocchioPlanar},
    "mujoco": {"free": MujocoFree},
    "drake": {"ball": DrakeBall, "free": DrakeFree},
}
TITLES = {"linkwise": "Linkwise", "pinocchio": "Pinocchio", "mujoco": "MuJoCo", "drake": "Drake"}


def convert_state(
    arm: Robot,
    q: Array,
    v: Array | None = None,
    a: Array | None = None,
    *,
    source: str | None = None,
    target: str | None = None,
    check: bool = False,
) -> Any:
    """A state in the coordinates of another library: q, or (q, v), or (q, v, a) with accelerations, as given.

    `source` and `target` are "linkwise", "pinocchio", "mujoco" or "drake"; one may be left out: "linkwise". q, v and a
    are NumPy arrays of any batch shape, in the numbers of `source`. The joints keep the order of the robot: the other
    library's model must have them in this order, with the same joint frames, each joint of one degree of freedom as an
    angle or a displacement. Quaternions come out with unit length. What a state means in each library:
    docs/coordinates.md.

    >>> import linkwise as lw
    >>> arm = lw.load("planar3").with_free_base()
    >>> q, v = [1, 2, 3, 0, 0, 0, 1, 0.1, 0.2, 0.3], [1, 0, 0, 0, 0, 0, 0.1, 0.2, 0.3]
    >>> q_pin, v_pin = lw.convert_state(arm, q, v, target="pinocchio")    # turned by π about z
    >>> q_pin
    array([1. , 2. , 3. , 0. , 0. , 1. , 0. , 0.1, 0.2, 0.3])
    >>> v_pin
    array([-1. ,  0. ,  0. ,  0. ,  0. ,  0. ,  0.1,  0.2,  0.3])
    """
    if a is not None and v is None:
        raise ValueError("a is given without v (expected both: accelerations depend on the velocities)")
    rates = {name: x for name, x in (("v", v), ("a", a)) if x is not None}
    return converted(arm, q, rates, *libraries(source, target), check)


def convert_force(
    arm: Robot,
    q: Array,
    tau: Array,
    *,
    source: str | None = None,
    target: str | None = None,
    check: bool = False,
) -> Array:
    """Torques and forces of the joints, tau (..., n), for the velocities of another library: of the same power.

    q and tau are in the numbers of `source`; the rest as for `convert_state`.

    >>> import linkwise as lw
    >>> ball = lw.chain(1, joints="S")
    >>> lw.convert_force(ball, [1, 0, 0, 1], [1, 2, 3], target="drake")    # into the parent's axes
    array([-2.,  1.,  3.])
    """
    return converted(arm, q, {"tau": tau}, *libraries(source, target), check)[1]


def libraries(source: str | None, target: str | None) -> tuple[str, str]:
    """From which library, and to which: one that is not given is Linkwise."""
    if source is None and target is None:
        raise TypeError("neither source nor target is given (expected one of them: source='pinocchio')")
    return "linkwise" if source is None else source, "linkwise" if target is None else target


def converted(arm: Robot, q: Array, rates: dict[str, Any], source: str, target: str, check: bool) -> Any:
    """q, velocities, accelerations and torques in the numbers of the target."""
    joints = joint_pairs(arm, source, target)
    states, q, rates = checked_arrays(arm, q, rates, source, sum(old.size for _, old, _ in joints), check)
    good = states.finite()
    parts: dict[str, list[np.ndarray]] = {name: [] for name in ("q", *rates)}
    begin = 0
    with np.errstate(all="ignore"):
        for joint, old, new in joints:
            own_q = old.ours(q[..., begin : begin + old.size])
            begin += old.size
            if not joint.kind.bounded:
                own_q = with_unit_quaternion(own_q)
            good = good & np.isfinite(own_q).all(axis=-1)
            parts["q"].append(new.theirs(own_q))
            given = {name: x[..., joint.v] for name, x in rates.items()}
            own = {name: old.to_ours(own_q, x) for name, x in given.items()}
            if "a" in own:
                own["a"] = old.to_ours(own_q, given["a"] - old.drift(own_q, own["v"]))
            for name, x in own.items():
                extra = new.drift(own_q, own["v"]) if name == "a" else 0.0
                parts[name].append(new.to_theirs(own_q, x) + extra)
    results = [np.where(good[..., None], joined(*part), np.nan).astype(q.dtype, copy=False) for part in parts.values()]
    return results[0] if len(results) == 1 else tuple(results)


def checked_arrays(
    arm: Robot, q: Any, rates: dict[str, Any], source: str, nq: int, check: bool
) -> tuple[States, np.ndarray, dict[str, np.ndarray]]:
    """The arrays, of real numbers, of one dtype and batch shape."""
    if source == "linkwise":
        states = States(arm, {"q": q, **rates}, check=check)
        name = "q"
    else:
        name = f"q, in {TITLES[source]}'s coordinates,"
        states = States(arm, rates, check=check, others={name: (q, (nq,))})
    if not states.numeric:
        kinds = ", ".join(f"{key} {x.dtype}" for key, x in states.arrays.items())
        raise TypeError(f"the arrays are of {states.xp.__name__}: {kinds} ({EXPECTED}, in NumPy arrays)")
    return states, states.rows(name, (nq,)), {key: states.rows(key, (arm.n,)) for key in rates}


def joint_pairs(arm: Robot, source: str, target: str) -> list[tuple[MovingJoint, SameNumbers, SameNumbers]]:
    """The joints that have coordinates, each with its form in either library."""
    require_robot(arm)
    one_of(source, CONVENTIONS, "source")
    one_of(target, CONVENTIONS, "target")
    for library in (source, target):
        refuse_foreign_joints(arm, library)

    def form(library: str, joint: MovingJoint) -> SameNumbers:
        return CONVENTIONS[library].get(joint.kind.name, SameNumbers)(arm, joint)

    return [(joint, form(source, joint), form(target, joint)) for joint in arm.moving if joint.coupling is None]


def refuse_foreign_joints(arm: Robot, library: str) -> None:
    """Raise an error that names the joint, if the library has none of this kind."""
    for joint in arm.moving:
        reason = ""
        if joint.coupling is not None and library in ("mujoco", "drake"):
            reason = "coupled joints have coordinates of their own there, and a constraint"
        elif joint.kind.name == "screw" and library == "mujoco":
            reason = "it has no screw joints"
        elif joint.kind.name == "free" and library == "mujoco" and arm.links[joint.first].parent >= 0:
            reason = "it has free joints on the world alone"
        if reason:
            raise RobotError(
                f"robot {arm.name!r}, joint {joint.joint!r} ({joint.kind.name}) has no form in {TITLES[library]}:"
                f" {reason}"
            )


def with_unit_quaternion(q: np.ndarray) -> np.ndarray:
    """The last four numbers with length one; NaN where they have none."""
    quaternion = q[..., -QUATERNION:]
    square = (quaternion**2).sum(axis=-1, keepdims=True)
    good = np.isfinite(square) & np.isfinite(1.0 / square)
    return joined(q[..., :-QUATERNION], np.where(good, quaternion / np.sqrt(square), np.nan))


def joined(*parts: np.ndarray) -> np.ndarray:
    return np.concatenate(parts, axis=-1)


def product(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Of a quaternion (4,) and others (..., 4)."""
    return np.stack(quaternion_product(p.tolist(), list(np.moveaxis(q, -1, 0))), axis=-1)


def rotated(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return np.asarray((matrix @ vector[..., None])[..., 0])


def turned(q: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """From the body's axes into the parent's, by the quaternion at the end of q."""
    return rotated(axes_of(q), vector)


def turned_back(q: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return rotated(np.swapaxes(axes_of(q), -1, -2), vector)


def axes_of(q: np.ndarray) -> np.ndarray:
    rows = rotation_of(list(np.moveaxis(q[..., -QUATERNION:], -1, 0))).rows
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def in_plane(angle: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """The first two numbers turned by the angle."""
    x, y, w = np.moveaxis(vector, -1, 0)
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([c * x - s * y, s * x + c * y, w], axis=-1)


def wrapped(angle: np.ndarray) -> np.ndarray:
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
