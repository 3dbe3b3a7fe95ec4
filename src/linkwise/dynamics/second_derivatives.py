"""Second derivatives of inverse dynamics in closed form, for trees; after Singh, Russell and Wensing (2023).

All in the base frame, about its origin and against its rest, where nothing has to be moved from link to link. With ṡ,
s̈, M̃, K, w̃ of `subtrees`, the wrenches c_i of (3) and e_i of (4) in `inverse_derivatives`, g_i = M̃_i s_i and k_i = K_iᵀ
s_i: what a subtree has changes with a joint i in it, N_i t being the K of the frozen subtree i that moves by t,

    by q_i     M̃ by F_i = s_i × M̃_i - M̃_i s_i ×    K by P_i = s_i × K_i - K_i z_i × + N_i ṡ_i    w̃ by e_i    (1)
    by q̇_i                                         K by R_i = N_i s_i                           w̃ by c_i    (2)

With i carried by j, j by k, and m any joint on the way from i to the base; in brackets where j is carried by m:

    ∂²τ_m/∂q_i∂q_j = s_m · (P_i ż_j + F_i s̈_j + [s_j × e_i])         (3)   m ≠ i, also for j = i
    ∂²τ_m/∂q_i∂q̇_j = s_m · (P_i z_j + 2 F_i ṡ_j)                     (4)   m ≠ i
    ∂²τ_m/∂q_j∂q̇_i = s_m · (R_i ż_j + [s_j × c_i])                   (5)   m ≠ i, also for j = i
    ∂²τ_m/∂q̇_i∂q̇_j = s_m · R_i z_j                                   (6)   m ≠ i, also for j = i
    ∂I_mj/∂q_i = s_m · F_i s_j,    ∂I_mi/∂q_j = [s_m · (s_j × g_i)]  (7)
    ∂²τ_i/∂q_j∂q_k = α · ż_k + β · s̈_k     ∂²τ_i/∂q_j∂q̇_k = α · z_k + 2 β · ṡ_k    (8)   also for j = i
    ∂²τ_i/∂q_k∂q̇_j = γ · ż_k               ∂²τ_i/∂q̇_j∂q̇_k = γ · z_k                (9)   also for j = i, k = j
    α = (N_i ṡ_j)ᵀ s_i + z_j × k_i         β = s_j × g_i         γ = (N_i s_j)ᵀ s_i      (10)

The first of (8) holds for k = j, too. Two axes of one joint take the place of j = i or k = j. They do not commute: the
element [i, j] of ∂²τ/∂q² is along i first and then j. There 2 ṡ is ṡ of the body before plus that of its own body,
and (6) and the second of (9) are half the sum over both orders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ..robot import Robot
from ..spatial import (
    Scalar,
    Scalars,
    Twist,
    Vector,
    add,
    cross,
    cross_matrix,
    cross_wrench,
    dot,
    double_cross,
    mul,
    power,
)
from .base_frame import Joint, coriolis_of, inertia_rate, joints_in_base_frame, turning_rate
from .subtrees import Load

Tensor = list[list[list[Scalar]]]
Element = tuple[int, int, int, int, Scalar]  # of which tensor, its three indices, and a part of its value
Q_Q, Q_QD, QD_QD, INERTIA = range(4)


def second_derivatives(
    robot: Robot, q: Scalars, qd: Scalars, qdd: Scalars, loads: Sequence[Load]
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """∂²τ/∂q², ∂²τ/∂q∂q̇, ∂²τ/∂q̇² and ∂I/∂q, of torques (or I) i by velocities j, k; without external loads."""
    n, joints = robot.n, joints_in_base_frame(robot, q, qd, qdd, loads)
    tensors = tuple([[[0.0] * n for _ in range(n)] for _ in range(n)] for _ in range(4))
    for i in joints:
        way = [joint for joint in joints if joint.link in robot.ancestors(i.link)]
        for which, row, first, then, value in (*own_torque(i, way), *torques_before(i, way)):
            line = tensors[which][row][first]
            line[then] = add(line[then], value)
    q_q, q_qd, qd_qd, inertia = tensors
    return q_q, q_qd, qd_qd, inertia


def own_torque(i: Joint, way: Sequence[Joint]) -> Iterator[Element]:
    """Of joint i itself, by two joints on its way to the base."""
    momentum, turning, row = i.inertia @ i.s, i.coriolis.power(i.s), motion_row(i)
    for j in way:
        alpha = row(j.rate) + cross(j.s.angular, turning)  # (10)
        beta, gamma = cross_wrench(j.s, momentum), row(j.s)
        for k in way:
            if k.link > j.link:
                continue
            by_q = add(dot(alpha, k.rate.angular), power(k.second, beta))  # (8)
            by_qd = dot(gamma, k.s.angular)  # (9)
            yield Q_QD, i.v, k.v, j.v, dot(gamma, k.rate.angular)
            yield Q_Q, i.v, j.v, k.v, by_q
            if k.link < j.link:
                yield Q_Q, i.v, k.v, j.v, by_q
                yield Q_QD, i.v, j.v, k.v, add(dot(alpha, k.s.angular), power(k.both, beta))  # (8)
            yield from either_order(i.v, j, k, by_qd)


def torques_before(i: Joint, way: Sequence[Joint]) -> Iterator[Element]:
    """Of the joints that carry i, by i and another one on its way to the base."""
    momentum = i.inertia @ i.s
    c = i.coriolis @ i.s.angular + i.inertia @ i.both
    e = i.coriolis @ i.rate.angular + i.inertia @ i.second + cross_wrench(i.s, i.wrench)
    F, R = inertia_rate(i.inertia, i.s), coriolis_of(i.inertia, i.s)  # (1), (2)
    P = turning_rate(i.coriolis, i.s) + coriolis_of(i.inertia, i.rate)
    for j in way:
        second, mixed = P @ j.rate.angular + F @ j.second, R @ j.rate.angular
        of_i, by_qd, slope = P @ j.s.angular + F @ j.both, R @ j.s.angular, F @ j.s
        turned, turned_mixed = second + cross_wrench(j.s, e), mixed + cross_wrench(j.s, c)
        turned_slope = cross_wrench(j.s, momentum)
        for m in way:
            if m.link == i.link:
                continue
            before = m.link < j.link
            by_q = power(m.s, turned if before else second)  # (3)
            yield Q_Q, m.v, i.v, j.v, by_q
            yield Q_QD, m.v, j.v, i.v, power(m.s, turned_mixed if before else mixed)  # (5)
            yield from either_order(m.v, i, j, power(m.s, by_qd))  # (6)
            if j.link < i.link:
                yield Q_Q, m.v, j.v, i.v, by_q
                yield Q_QD, m.v, i.v, j.v, power(m.s, of_i)  # (4)
                yield INERTIA, m.v, j.v, i.v, power(m.s, slope)  # (7)
            if before:
                value = power(m.s, turned_slope)
                yield INERTIA, m.v, i.v, j.v, value
                yield INERTIA, i.v, m.v, j.v, value


def either_order(row: int, i: Joint, j: Joint, value: Scalar) -> Iterator[Element]:
    """∂²τ/∂q̇_i∂q̇_j, which does not depend on the order; two axes of one joint come along in both orders."""
    value = mul(0.5, value) if i.link == j.link else value
    yield QD_QD, row, i.v, j.v, value
    yield QD_QD, row, j.v, i.v, value


def motion_row(i: Joint) -> Callable[[Twist], Vector]:
    """(N_i t)ᵀ s_i as a function of t: 2 (v × f + Σ dm (r (s_i(r) · ω) - (r · s_i(r)) ω)), f the force of M̃_i s_i."""
    z, d, h = i.s.angular, i.s.linear, i.inertia.moment
    force = (i.inertia @ i.s).force * 2.0
    spread = (cross_matrix(z) @ i.inertia.pseudo()).T - double_cross(d, h)
    twice = spread + spread
    return lambda t: twice @ t.angular + cross(t.linear, force)
