"""The matrix C of convective inertia terms, with İ - 2C skew: [Saha JAM] (25)-(29), for trees.

    c_ij = p_iᵀ (M̃_i (B_ij Ω_j + Ḃ_ij) + Z_i B_ij) p_j        i in the subtree of j  (29)
    c_ij = p_iᵀ B_jiᵀ (M̃_j Ω_j + Z_j) p_j                     j a descendant of i    (29)
    Z_i  = Ṁ_i + Σ_k B_kiᵀ (M̃_k Ḃ_ki + Z_k B_ki)              k a child of i         (28)

Z_i joins the two recursions of (28): the tilde of Ṁ_i, and B_{i+1,i}ᵀ H̃_{i+1,i}. In print the dots are lost
(H̃_ij has Ḃ_ij), and (29) has H̃_{j+1,i} for H̃_{j+1,j}. Ṁ is the one of (8), not the derivative of M: with the
derivative C θ̇ would be the same, but İ - 2C not skew. C is not the matrix of Christoffel symbols; C θ̇ is the
same vector. Frames and points as in `denoc`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..robot import Link, Robot, inward, outward, toward_base
from ..spatial import RigidInertia, Rotation, Scalar, Scalars, Twist, Vector, Wrench, cross, power
from .denoc import TwistRate, base_motion, carry, move, spin

UNITS = tuple(Vector.of(row) for row in Rotation.identity().rows)


class Composite:
    """M̃_i, and the columns of Z_i for unit angular velocities; those for linear velocities are zero."""

    def __init__(self, inertia: RigidInertia, columns: Sequence[Wrench]) -> None:
        self.inertia, self.columns = inertia, columns

    @staticmethod
    def zero() -> Composite:
        return Composite(RigidInertia.zero(), [Wrench.zero()] * 3)

    def __add__(self, other: Composite) -> Composite:
        columns = [a + b for a, b in zip(self.columns, other.columns, strict=True)]
        return Composite(self.inertia + other.inertia, columns)

    def wrench(self, t: Twist, rate: Twist) -> Wrench:
        """M̃ ṫ + Z t"""
        total = self.inertia @ rate
        for column, component in zip(self.columns, t.angular, strict=True):
            total = total + column * component
        return total


def gyroscopic(link: Link, omega: Vector, angular: Vector) -> Wrench:
    """Ṁ t, which depends on the angular part of t alone: (8), moved from C_i to O_i."""
    force = cross(angular, cross(omega, link.com)) * link.mass
    return Wrench(cross(omega, link.inertia @ angular) + cross(link.com, force), force)


def compose(
    link: Link, children: Composite, motion: TwistRate, parent: Vector, qd: Scalar
) -> tuple[Composite, Composite]:
    omega, pose = motion.twist.angular, motion.pose
    own = Composite(link.rigid, [gyroscopic(link, omega, unit) for unit in UNITS])
    composite = own + children
    passed = []
    for unit in UNITS:  # of the parent's frame
        t, b_dot = carry(link, pose, parent, qd, Twist(unit, Vector.zero()), Twist.zero())
        passed.append(composite.wrench(t, b_dot).to_parent(pose))  # (28)
    return composite, Composite(composite.inertia.to_parent(pose), passed)


def coriolis_matrix(robot: Robot, q: Scalars, qd: Scalars) -> list[list[Scalar]]:
    motions = outward(robot, move, base_motion(robot), q, qd, [0.0] * robot.n)
    still = Vector.zero()
    parents = [motions[link.parent].twist.angular if link.parent >= 0 else still for link in robot.links]
    composites = inward(robot, compose, Composite.zero(), motions, parents, qd)
    matrix: list[list[Scalar]] = [[0.0] * robot.n for _ in robot.links]
    for link in robot.links:
        j, axis = link.index, link.joint.axis
        spun = spin(motions[j].twist.angular, axis)  # Ω_j p_j
        carried = {j: (axis, spun)}
        for i in robot.subtree(j):
            body = robot.links[i]
            if i != j:
                t, rate = carried[body.parent]
                carried[i] = carry(body, motions[i].pose, parents[i], qd[i], t, rate)
            matrix[i][j] = power(body.joint.axis, composites[i].wrench(*carried[i]))  # (29), i in the subtree of j
        own = composites[j].wrench(axis, spun)
        for ancestor, wrench in toward_base(robot, link, own, [motion.pose for motion in motions]):
            matrix[ancestor.index][j] = power(ancestor.joint.axis, wrench)  # (29), j a descendant of i
    return matrix
