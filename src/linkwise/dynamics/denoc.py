"""The decoupled natural orthogonal complement (DeNOC), [Saha JAM] sections 3 to 5.1, for trees.

    t_i  = B_iβ t_β + p_i θ̇_i               (12)   β is the parent of i; all twists: t = N_l N_d θ̇   (16), (17)
    i_ij = p_iᵀ M̃_i B_ij p_j                (24)   i in the subtree of j; M̃ is the composite inertia of (23b)

Inverse dynamics (RIDIM, 5.1), whose ν is a twist and ξ its rate; a base at rest has ν_0 = 0, ξ_0 = [0; -g]  (32):

    ν_i = B_iβ ν_β + p_i θ̇_i                                     outward; print lacks this B_iβ
    ξ_i = B_iβ ξ_β + Ḃ_iβ ν_β + p_i θ̈_i + Ω_i p_i θ̇_i             ċ of Ḃ has ḃ e where joint i slides
    γ_i = M_i ξ_i + Ṁ_i ν_i - w_i + Σ_k B_kiᵀ γ_k                inward; k runs over the children of i
    τ_i = p_iᵀ γ_i                          (30)

Rates are rates in space, of points fixed to the links. Link i: in its own frame, about O_i. Ω_i = diag(ω_i×, ω_i×).
Ṁ_i is not a derivative but what makes M_i ṫ_i + Ṁ_i t_i the wrench on link i (7), (8), here about O_i, not C_i.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ..robot import Link, Robot, inward, outward
from ..spatial import (
    Placement,
    RigidInertia,
    Scalar,
    Scalars,
    Twist,
    Vector,
    Wrench,
    add,
    cross,
    cross_matrix,
    mul,
    power,
)
from ..spatial.dense import Dense, identity, put, zeros
from .composite import freeze
from .kinematics import poses as base_poses
from .newton_euler import LinkMotion, base_twists


class TwistRate(NamedTuple):
    """A twist of a link and its rate in space."""

    pose: Placement
    twist: Twist
    rate: Twist


def spin(omega: Vector, t: Twist) -> Twist:
    """Ω t"""
    return Twist(cross(omega, t.angular), cross(omega, t.linear))


def carry(link: Link, pose: Placement, omega: Vector, qd: Scalar, t: Twist, rate: Twist) -> tuple[Twist, Twist]:
    """B t and B ṫ + Ḃ t, for a twist t of the parent, turning with ω; the lever between the origins changes at ṡ."""
    s_dot = cross(omega, pose.translation) + link.placement.rotation @ link.joint.slide(qd)
    b_dot = Twist(Vector.zero(), pose.rotation.T @ cross(t.angular, s_dot))
    return t.to_child(pose), rate.to_child(pose) + b_dot


def move(link: Link, parent: TwistRate, q: Scalar, qd: Scalar, qdd: Scalar) -> TwistRate:
    pose = link.pose(q)
    twist, rate = carry(link, pose, parent.twist.angular, qd, parent.twist, parent.rate)
    nu = twist + link.joint.axis * qd
    xi = rate + link.joint.axis * qdd + spin(nu.angular, link.joint.axis * qd)
    return TwistRate(pose, nu, xi)


def load(link: Link, children: Wrench, motion: TwistRate, external: Wrench) -> tuple[Wrench, Wrench]:
    omega = motion.twist.angular
    at_origin = external.acting_at(link.com)
    momentum = link.body @ Twist(omega, Vector.zero())  # of the turning about O_i: [J ω; ω × h]
    gyroscopic_wrench = Wrench(cross(omega, momentum.moment), cross(omega, momentum.force))  # Ṁ ν
    gamma = link.body @ motion.rate + gyroscopic_wrench - at_origin + children
    return gamma, gamma.to_parent(motion.pose)


def base_motion(robot: Robot, base: LinkMotion | None = None) -> TwistRate:
    twist, rate = base_twists(base)
    return TwistRate(Placement.identity(), twist, Twist(Vector.zero(), -Vector.of(robot.gravity)) + rate)  # (32)


def stages(
    robot: Robot, q: Scalars, qd: Scalars, qdd: Scalars, external: Sequence[Wrench], base: LinkMotion | None = None
) -> tuple[list[TwistRate], list[Wrench]]:
    """ν_i and ξ_i; γ_i"""
    motions = outward(robot, move, base_motion(robot, base), q, qd, qdd)
    return motions, inward(robot, load, Wrench.zero(), motions, external)


def inverse_dynamics(
    robot: Robot, q: Scalars, qd: Scalars, qdd: Scalars, external: Sequence[Wrench], base: LinkMotion | None = None
) -> list[Scalar]:
    _, gammas = stages(robot, q, qd, qdd, external, base)
    return [
        add(power(link.joint.axis, gamma), mul(link.joint.rotor_inertia, qdd_i))  # (30)
        for link, gamma, qdd_i in zip(robot.links, gammas, qdd, strict=True)
    ]


def inertia_matrix(robot: Robot, q: Scalars) -> list[list[Scalar]]:
    poses = [link.pose(q_i) for link, q_i in zip(robot.links, q, strict=True)]
    composites = inward(robot, freeze, RigidInertia.zero(), poses)
    matrix: list[list[Scalar]] = [[0.0] * robot.n for _ in robot.links]
    for link in robot.links:
        j, propagated = link.index, {link.index: link.joint.axis}
        for i in robot.subtree(j):
            body = robot.links[i]
            if i != j:
                propagated[i] = propagated[body.parent].to_child(poses[i])  # B_ij p_j
            matrix[i][j] = matrix[j][i] = power(body.joint.axis, composites[i] @ propagated[i])  # (24)
        matrix[j][j] = add(matrix[j][j], link.joint.rotor_inertia)
    return matrix


def matrices(robot: Robot, q: Scalars) -> tuple[Dense, Dense]:
    """N_l (6n × 6n) and N_d (6n × n) as the paper has them: base frame, twists at the mass centres."""
    frames = base_poses(robot, q)
    centres = [pose.point(link.com) for pose, link in zip(frames, robot.links, strict=True)]
    N_l, N_d = identity(6 * robot.n), zeros(6 * robot.n, robot.n)
    for link, pose in zip(robot.links, frames, strict=True):
        i = link.index
        for j in robot.ancestors(i)[1:]:
            put(N_l, identity(6), 6 * i, 6 * j)
            lever = cross_matrix(centres[j] - centres[i])
            put(N_l, [list(row) for row in lever.rows], 6 * i + 3, 6 * j)  # B_ij, (13)
        turning, sliding = pose.rotation @ link.joint.axis.angular, pose.rotation @ link.joint.axis.linear
        p = [*turning, *(sliding + cross(turning, centres[i] - pose.translation))]  # (13), (15)
        put(N_d, [[x] for x in p], 6 * i, i)
    return N_l, N_d
