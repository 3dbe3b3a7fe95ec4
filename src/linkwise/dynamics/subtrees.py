"""What a small motion of one joint affects: the subtrees of the links, and the axes that it carries along.

With ω, U, a as in `fewest` and s the axis of a joint, as a twist at the origin O_j of its link, the motion of j's
parent seen from O_j carries s along:

    ṡ_j = ω_j × s_j                                    (1)   both parts; ω of the parent does the same
    s̈_j = (U_j z,  U_j d + a_j × z)                    (2)   z turns and d slides: s = (z, d)

Of the subtree of each link i: M̃_i its frozen inertia, w̃_i its wrench in inverse dynamics, and the wrench K_i ρ of its
Coriolis forces when all of it joins in a rotation ρ; r and ṙ are seen from O_i:

    K_i ρ = Σ dm (r × (ρ × 2ṙ),  ρ × 2ṙ)               (3)   of one body D = -2 [ω×] Π, p = 2 ω × h (`TurningMap`)
    D + h × (· × 2u),  p + 2 m u                       (4)   seen from O_β, after the move there; u is O_i's velocity

External wrenches do not turn with the links: X_i ρ = Σ (ρ × n + r × (ρ × f), ρ × f) is what they lack of that. A joint
may turn its own axes (`Axis.turned_by`): in (1), (2) ω and U are for them those of the body before the joint.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..robot import Axis, Link, Robot, inward
from ..spatial import (
    Matrix,
    RigidInertia,
    Scalar,
    Scalars,
    TurningMap,
    Twist,
    Vector,
    Wrench,
    cross,
    cross_matrix,
    double_cross,
    mul,
)
from . import fewest
from .fewest import TensorMotion, angular_acceleration_tensor


class Subtree(NamedTuple):
    """Of a link and all that it carries."""

    inertia: RigidInertia  # M̃
    coriolis: TurningMap  # K
    outside: TurningMap  # X
    wrench: Wrench  # w̃

    def __add__(self, other: Subtree) -> Subtree:  # type: ignore[override]
        pairs: Iterable[tuple[Any, Any]] = zip(self, other, strict=True)
        return Subtree(*(a + b for a, b in pairs))


NOTHING = Subtree(RigidInertia.zero(), TurningMap.zero(), TurningMap.zero(), Wrench.zero())


class Load(NamedTuple):
    """What acts on a link from outside, about the link's origin, in the link's frame."""

    wrench: Wrench
    unturned: TurningMap  # X of those wrenches that do not turn with the link

    @staticmethod
    def zero() -> Load:
        return Load(Wrench.zero(), TurningMap.zero())

    @staticmethod
    def at(wrench: Wrench, point: Vector, turns: bool) -> Load:
        """A wrench that acts at this point, and turns with the link or keeps its axes."""
        unturned = TurningMap.zero() if turns else TurningMap.of_wrench(wrench).acting_at(point)
        return Load(wrench.acting_at(point), unturned)

    def __add__(self, other: Load) -> Load:  # type: ignore[override]
        return Load(self.wrench + other.wrench, self.unturned + other.unturned)


class Along(NamedTuple):
    """An axis, and its rates as the links before it carry it along."""

    axis: Axis
    rate: Twist  # ṡ, from the parent
    both: Twist  # ṡ from the parent and from the link itself: 2 ṡ where these are the same
    second: Twist  # s̈


def gather(link: Link, carried: Subtree, motion: TensorMotion, twice_u: Vector, load: Load) -> tuple[Subtree, Subtree]:
    second, w = link.body.pseudo(), motion.omega
    coriolis = TurningMap(cross_matrix(-w) @ (second + second), cross(w, link.body.moment * 2.0))  # (3)
    own = Subtree(link.body, coriolis, load.unturned, fewest.motion_wrench(link, motion) - load.wrench)
    composite, pose = own + carried, motion.pose
    inertia, moved = composite.inertia.to_parent(pose), composite.coriolis.to_parent(pose)
    shifted = TurningMap(double_cross(inertia.moment, twice_u), twice_u * inertia.mass)  # (4)
    passed = Subtree(inertia, moved + shifted, composite.outside.to_parent(pose), composite.wrench.to_parent(pose))
    return composite, passed


def twice_origin_velocity(link: Link, motion: TensorMotion, parent: Vector, qd: Scalar) -> Vector:
    """2u, in the parent's frame."""
    pose = motion.pose
    return cross(parent, pose.translation * 2.0) + pose.rotation @ link.joint.slide(mul(2.0, qd))


def carried_along(axis: Axis, motion: TensorMotion, turning: tuple[Vector, Matrix] | None) -> Along:
    """`turning`: ω and U of the body before a joint that turns the axis, in the link's frame."""
    z, d = axis.twist.angular, axis.twist.linear
    before, tensor = turning or (motion.omega, motion.tensor)
    rate, own = (Twist(cross(w, z), cross(w, d)) for w in (before, motion.omega))  # (1)
    second = Twist(tensor @ z, tensor @ d + cross(motion.acceleration, z))  # (2)
    return Along(axis, rate, rate + own if turning else rate * 2.0, second)


def turning_before(robot: Robot, axes: Sequence[Axis], motions: Sequence[TensorMotion]) -> tuple[Vector, Matrix] | None:
    """ω and U of the body before a joint, in the frame of its last link; None if it turns no axis of its own."""
    if not axes or not axes[0].turned_by:
        return None
    parent = robot.links[axes[0].turned_by[0]].parent
    vectors = [motions[parent].omega, motions[parent].omega_dot] if parent >= 0 else [Vector.zero()] * 2
    for index in axes[0].turned_by:
        vectors = [motions[index].pose.rotation.T @ vector for vector in vectors]
    omega, omega_dot = vectors
    return omega, angular_acceleration_tensor(omega, omega_dot)


class Dynamics(NamedTuple):
    """The motions, subtrees and axes of all links."""

    motions: list[TensorMotion]
    velocities: list[Vector]  # 2u, in the parent's frame
    subtrees: list[Subtree]
    along: list[list[Along]]


def subtree_dynamics(robot: Robot, q: Scalars, qd: Scalars, qdd: Scalars, loads: Sequence[Load]) -> Dynamics:
    """q, q̇, q̈ and the loads are those of the links; the axes are those of the robot's velocities."""
    tree = robot.uncoupled.regrouped()
    motions = fewest.link_motions(tree, q, qd, qdd)
    omegas = [motions[link.parent].omega if link.parent >= 0 else Vector.zero() for link in tree.links]
    velocities = list(map(twice_origin_velocity, tree.links, motions, omegas, qd))
    subtrees = inward(tree, gather, NOTHING, motions, velocities, loads)
    along = []
    for link, axes in zip(tree.links, robot.axes, strict=True):
        turning = turning_before(tree, axes, motions)
        along.append([carried_along(axis, motions[link.index], turning) for axis in axes])
    return Dynamics(motions, velocities, subtrees, along)
