"""RIDIM about mass centres, [Saha JAM] section 5.1 in the frames of the paper, for trees.

Link i: in its table frame, about its mass centre C_i, see `table_frames`; without index: of the parent. With the lever
a_i = Qᵀ (δ + b e) + ρ_i from C to C_i, whose rate is ȧ_i = ω × a_i + (the linear part of p_i θ̇_i):

    p_i = [e; e × d_i]  or  [0; e]                               (13), (15)   constants, d_i from O_i to C_i
    ν_i = B_i ν + p_i θ̇_i                                        outward; print lacks this B_i
    ξ_i = B_i ξ + Ḃ_i ν + p_i θ̈_i + Ω_i p_i θ̇_i,   ξ_0 = [0; -g]  (32)
    B t = [ω; v + ω × a],   Ḃ t = [0; ω × ȧ]                     (13)
    γ_i = M_i ξ_i + Ṁ_i ν_i - w_i + Σ B_kᵀ γ_k                   inward; k runs over the children of i
    τ_i = p_iᵀ γ_i                                               (30)

M = diag(I, m 1), Ṁ = diag(ω × I, 0) and Ω = diag(ω ×, ω ×) as in (4), (8). Print does not say what Ḃ is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..robot import Link, Robot, inward, outward
from ..spatial import Scalar, Scalars, Twist, Vector, Wrench, add, cross, mul, power
from .denoc import spin
from .newton_euler import LinkMotion, base_twists
from .table_frames import NO_TURN, TableLink, Turn, in_table_frame, table_links


class CentreTwist(NamedTuple):
    turn: Turn
    lever: Vector  # a
    twist: Twist  # ν
    rate: Twist  # ξ


def move(link: Link, parent: CentreTwist, body: TableLink, q: Scalar, qd: Scalar, qdd: Scalar) -> CentreTwist:
    turn, before = body.turn(link, q), body.before.T
    omega, v, omega_dot, v_dot = (turn.inward(before @ x) for t in parent[2:] for x in (t.angular, t.linear))
    along = body.axis * qd  # p θ̇
    a = turn.inward(body.delta + link.joint.motion(q).translation) + body.rho
    a_dot = cross(omega, a) + along.linear
    nu = Twist(omega, v + cross(omega, a)) + along
    carried = Twist(omega_dot, v_dot + cross(omega_dot, a) + cross(omega, a_dot))  # B ξ + Ḃ ν
    return CentreTwist(turn, a, nu, carried + body.axis * qdd + spin(nu.angular, along))


def load(link: Link, children: Wrench, body: TableLink, motion: CentreTwist, external: Wrench) -> tuple[Wrench, Wrench]:
    I, omega, xi, turn = body.inertia, motion.twist.angular, motion.rate, motion.turn
    inertial = Wrench(I @ xi.angular + cross(omega, I @ omega), xi.linear * link.mass)  # M ξ + Ṁ ν
    gamma = inertial - external + children
    moment = gamma.moment + cross(motion.lever, gamma.force)
    return gamma, Wrench(turn.before @ turn.outward(moment), turn.before @ turn.outward(gamma.force))


def starting_from(nu: Twist, xi: Twist) -> CentreTwist:
    """The motion of the base."""
    return CentreTwist(NO_TURN, Vector.zero(), nu, xi)


def recursion(
    robot: Robot,
    bodies: Sequence[TableLink],
    base: CentreTwist,
    q: Scalars,
    qd: Scalars,
    qdd: Scalars,
    external: Sequence[Wrench],
) -> list[Wrench]:
    """γ of every link; external wrenches in the frames of the links."""
    motions = outward(robot, move, base, bodies, q, qd, qdd)
    return inward(robot, load, Wrench.zero(), bodies, motions, external)


def inverse_dynamics(
    robot: Robot, q: Scalars, qd: Scalars, qdd: Scalars, external: Sequence[Wrench], base: LinkMotion | None = None
) -> list[Scalar]:
    (nu, rate), bodies = base_twists(base), table_links(robot)
    xi = Twist(Vector.zero(), -Vector.of(robot.gravity)) + rate  # (32)
    wrenches = [in_table_frame(link, wrench) for link, wrench in zip(robot.links, external, strict=True)]
    gammas = recursion(robot, bodies, starting_from(nu, xi), q, qd, qdd, wrenches)
    return [
        add(power(body.axis, gamma), mul(link.joint.rotor_inertia, qdd_i))  # (30)
        for link, body, gamma, qdd_i in zip(robot.links, bodies, gammas, qdd, strict=True)
    ]
