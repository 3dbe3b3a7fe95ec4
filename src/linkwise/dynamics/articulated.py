"""Forward dynamics by articulated bodies, Featherstone (1983), for trees. β is the parent of link i.

Outward:
    v_i = X_i v_β + S_i q̇_i      c_i = v_i × S_i q̇_i      p_i = v_i × I_i v_i - f_i          (1)
Inward, I^A and p^A being those of the link and, summed, what its children pass:
    U_i = I_i^A S_i      D_i = S_iᵀ U_i      u_i = τ_i - S_iᵀ p_i^A                          (2)
    I^a = I_i^A - U_i D_i⁻¹ U_iᵀ      p^a = p_i^A + I^a c_i + U_i D_i⁻¹ u_i                  (3)
    passed to β:  X_iᵀ I^a X_i,  X_iᵀ p^a                                                    (4)
Outward, a_0 = -g, and the acceleration of a base that moves:
    a' = X_i a_β + c_i      q̈_i = (u_i - U_iᵀ a') / D_i      a_i = a' + S_i q̈_i              (5)

Rotor inertia joins D. Link i: in its own frame about O_i; accelerations are seen from the moving frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..robot import Link, Robot, inward, outward
from ..spatial import (
    ArticulatedInertia,
    Placement,
    Scalar,
    Scalars,
    Twist,
    Vector,
    Wrench,
    add,
    cross_twist,
    cross_wrench,
    mul,
    power,
    reciprocal,
    sub,
)
from .newton_euler import LinkMotion, base_twists


class LinkVelocity(NamedTuple):
    pose: Placement
    twist: Twist
    bias: Twist  # c


class Freed:
    """An articulated body: its inertia and its bias wrench."""

    def __init__(self, inertia: ArticulatedInertia, bias: Wrench) -> None:
        self.inertia, self.bias = inertia, bias

    def __add__(self, other: Freed) -> Freed:
        return Freed(self.inertia + other.inertia, self.bias + other.bias)


class Solved(NamedTuple):
    U: Wrench
    inverse: Scalar
    u: Scalar


def move(link: Link, parent: LinkVelocity, q: Scalar, qd: Scalar) -> LinkVelocity:
    pose, joint = link.pose(q), link.joint.axis * qd
    twist = parent.twist.to_child(pose) + joint
    return LinkVelocity(pose, twist, cross_twist(twist, joint))  # (1)


def free(link: Link, children: Freed, motion: LinkVelocity, tau: Scalar, external: Wrench) -> tuple[Solved, Freed]:
    at_origin = external.acting_at(link.com)
    own = cross_wrench(motion.twist, link.body @ motion.twist) - at_origin  # (1)
    body = Freed(ArticulatedInertia.of_rigid(link.body), own) + children
    U = body.inertia @ link.joint.axis
    inverse = reciprocal(add(power(link.joint.axis, U), link.joint.rotor_inertia))
    u = sub(tau, power(link.joint.axis, body.bias))  # (2)
    inertia = link.joint.release(body.inertia, U, link.joint.share(U, inverse))
    bias = body.bias + inertia @ motion.bias + U * mul(inverse, u)  # (3)
    return Solved(U, inverse, u), Freed(inertia.to_parent(motion.pose), bias.to_parent(motion.pose))  # (4)


def accelerate(link: Link, parent: tuple[Twist, Scalar], motion: LinkVelocity, solved: Solved) -> tuple[Twist, Scalar]:
    drift = parent[0].to_child(motion.pose) + motion.bias
    qdd = mul(sub(solved.u, power(drift, solved.U)), solved.inverse)  # (5)
    return drift + link.joint.axis * qdd, qdd


def forward_dynamics(
    robot: Robot, q: Scalars, qd: Scalars, tau: Scalars, external: Sequence[Wrench], base: LinkMotion | None = None
) -> list[Scalar]:
    twist, rate = base_twists(base)
    motions = outward(robot, move, LinkVelocity(Placement.identity(), twist, Twist.zero()), q, qd)
    solved = inward(robot, free, Freed(ArticulatedInertia.zero(), Wrench.zero()), motions, tau, external)
    lift = Twist(Vector.zero(), -Vector.of(robot.gravity)) + rate
    return [qdd for _, qdd in outward(robot, accelerate, (lift, 0.0), motions, solved)]
