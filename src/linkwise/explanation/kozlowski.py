"""Kozłowski's quantities: spatial operators and their rates, quasi-velocities, filter and smoother."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ..api.budgets.budget import by_joint, rows, sum_summands, summand_rows
from ..api.budgets.text import term_table
from ..api.functions import differences
from ..api.quasi import quasi_rates, recentred_factor_rate, recentred_gradient
from ..dynamics import budget, composite, kalman, mass_factor, operator_matrices, operators, quasi, udu
from ..dynamics.diagonal import QuasiMotion, from_joint_rates
from ..dynamics.diagonal import rates as inertia_rates
from ..dynamics.operator_matrices import of_wrenches
from ..dynamics.operator_rates import operator_rates
from ..robot import Robot, inward, outward
from ..spatial import Placement, RigidInertia, Scalar, Scalars, Twist, Vector, Wrench, add, cross_wrench, mul, power
from ..spatial.dense import Dense, apply, identity, minus, plus, product
from .ball_frames import bias_accelerations, spins, turns
from .definitions import TABLE_1, Values, matrices, per_link, vectors

FIELDS = {"M_k": "M", "D_stacked": "D", "G_stacked": "G", "E_Phi": "E_phi", "Phi": "phi", "E_Psi": "E_psi"}


def configuration(robot: Robot, q: Scalars) -> dict[str, Values]:
    bodies, op = udu.articulated_bodies(robot, q), operator_matrices.operators(robot, q)
    composites = inward(robot, composite.freeze, RigidInertia.zero(), [body.pose for body in bodies])
    return {
        "P": matrices(body.inertia for body in bodies),
        "D_k": per_link([body.pivot for body in bodies]),
        "G": vectors(body.psi for body in bodies),
        "r": matrices(composites),
        "m": {(): mass_factor.mass_factor(robot, q)},
        **{name: {(): getattr(op, FIELDS.get(name, name))} for name in TABLE_1},
        "Psi_k": {(): op.psi},
        "K_k": {(): op.K},
    }


def rates(robot: Robot, q: Scalars, qd: Scalars) -> dict[str, Values]:
    bodies = udu.articulated_bodies(robot, q)
    motions = from_joint_rates(robot, bodies, qd)
    delta = turns(robot, bodies, qd)
    of_links = inertia_rates(robot, bodies, motions, delta)
    turning = [Twist(spin, Vector.zero()) for spin in spins(robot, bodies, motions)]
    Omega_delta = [of_wrenches(partial(cross_wrench, t)) for t in delta]
    P = [operator_matrices.of_twists(body.inertia.__matmul__) for body in bodies]
    nu, xi = quasi.normalized.velocity(robot, q, qd), quasi.unnormalized.velocity(robot, q, qd)
    return {
        "V": vectors(motion.twist for motion in motions),
        "Omega_k": per_link([of_wrenches(partial(cross_wrench, t)) for t in turning]),
        "Omega_delta": per_link(Omega_delta),
        "X": per_link(list(map(product, Omega_delta, P))),
        "P_dot": matrices(rate.P_dot for rate in of_links),
        "lambda_dot": matrices(rate.lambda_dot for rate in of_links),
        "a": vectors(bias_accelerations(robot, bodies, motions, qd)),
        "b": vectors(cross_wrench(m.twist, k.body @ m.twist) for k, m in zip(robot.links, motions, strict=True)),
        **table_1(robot, q, qd, bodies, motions),
        **({} if any(link.joint.has_rotor for link in robot.links) else factor_rates(robot, q, qd, nu)),
        "c_nu": {(): elements(quasi.normalized, robot, q, bodies, motions)},
        "c_xi": {(): elements(quasi.unnormalized, robot, q, bodies, motions)},
        "nu": {(): nu},
        "xi": {(): xi},
        "C_nu": {(): coriolis_forces(quasi.normalized, robot, q, nu)},
        "C_xi": {(): coriolis_forces(quasi.unnormalized, robot, q, xi)},
    }


def table_1(
    robot: Robot, q: Scalars, qd: Scalars, bodies: Sequence[udu.Articulated], motions: Sequence[QuasiMotion]
) -> dict[str, Values]:
    """Both columns of Table 1, and with them the rate of 1 + H Φ K = 1 + H (Φ - 1) G (35)."""
    rate = operator_rates(robot, q, qd, turns(robot, bodies, qd), spins(robot, bodies, motions))
    op = operator_matrices.operators(robot, q)
    table: dict[str, Values] = {}
    for name in TABLE_1:
        field = FIELDS.get(name, name)
        table[f"{name}_dot"], table[f"{name}_inertial"] = {(): rate.local[field]}, {(): rate.inertial[field]}
    moved = product(rate.local["phi"], op.G)
    gained = product(minus(op.phi, identity(6 * robot.n)), rate.local["G"])
    table["U_dot"] = {(): product(op.H, plus(moved, gained))}
    return table


def factor_rates(robot: Robot, q: Scalars, qd: Scalars, nu: Scalars) -> dict[str, Values]:
    m_dot = mass_factor.mass_factor_rate(robot, q, qd)
    gradient = mass_factor.kinetic_gradient(robot, q, qd)
    if robot.balls:
        m_dot = recentred_factor_rate(robot, qd, mass_factor.mass_factor(robot, q), m_dot)
        gradient = recentred_gradient(robot, q, qd, gradient)
        product_with_nu = apply(m_dot, list(nu))
    else:
        product_with_nu = mass_factor.mass_factor_rate_times_nu(robot, q, qd)  # (31)
    return {"m_dot": {(): m_dot}, "m_dot_nu": {(): product_with_nu}, "kinetic_gradient": {(): gradient}}


def elements(
    kind: quasi.Unnormalized,
    robot: Robot,
    q: Scalars,
    bodies: Sequence[udu.Articulated],
    motions: Sequence[QuasiMotion],
) -> Dense:
    """c_ki"""
    shares = budget.quasi_shares(robot, q, bodies, motions, [Wrench.zero()] * robot.n)
    return sum_summands(summand_rows(kind, robot, bodies, motions, shares))


def coriolis_forces(kind: quasi.Unnormalized, robot: Robot, q: Scalars, velocity: Scalars) -> Any:
    """C(θ, ν) or C(θ, ξ) without gravity."""
    forces = kind.coriolis(robot.with_gravity((0.0, 0.0, 0.0)), q, velocity, [Wrench.zero()] * robot.n)
    return differences(forces, quasi_rates(kind, robot, q, velocity)[1]) if robot.balls else forces


def accelerations(robot: Robot, q: Scalars, qd: Scalars, qdd: Scalars) -> dict[str, Values]:
    bodies = udu.articulated_bodies(robot, q)
    steps, motions = [body.pose for body in bodies], from_joint_rates(robot, bodies, qd)
    V = [motion.twist for motion in motions]
    a = bias_accelerations(robot, bodies, motions, qd)
    b = operators.bias_wrenches(robot, q, V, [Wrench.zero()] * robot.n)
    driven = operators.h_star(robot, qdd)
    alpha = operators.phi_star(robot, steps, [x + y for x, y in zip(driven, a, strict=True)])
    gain_rates = inertia_rates(robot, bodies, motions, turns(robot, bodies, qd))
    inertial = [link.body @ x + y for link, x, y in zip(robot.links, alpha, b, strict=True)]
    by_P = [
        mul(body.inverse_pivot, power(link.joint.axis, rate.P_dot @ (m.twist - link.joint.axis * m.xi)))
        for link, body, m, rate in zip(robot.links, bodies, motions, gain_rates, strict=True)
    ]
    by_a = seen_by_gain(operators.phi_star(robot, steps, a), bodies)
    of_parents = from_parents(robot, steps, operators.phi_star(robot, steps, driven))
    by_qdd = list(map(add, seen_by_gain(of_parents, bodies), qdd))
    return {
        "alpha": vectors(alpha),
        "f": vectors(operators.phi(robot, steps, inertial)),
        "xi_dot_P": {(): by_P},
        "xi_dot_a": {(): by_a},
        "xi_dot_qdd": {(): by_qdd},
        "xi_dot": {(): [add(add(x, y), z) for x, y, z in zip(by_P, by_a, by_qdd, strict=True)]},
        **torque_terms(robot, q, qd, qdd),
    }


def from_parents(robot: Robot, steps: Sequence[Placement], x: Sequence[Twist]) -> list[Twist]:
    """E_Φ* x"""
    return [
        x[link.parent].to_child(step) if link.parent >= 0 else Twist.zero()
        for link, step in zip(robot.links, steps, strict=True)
    ]


def seen_by_gain(x: Sequence[Twist], bodies: Sequence[udu.Articulated]) -> list[Scalar]:
    """G* x"""
    return [power(t, body.psi) for t, body in zip(x, bodies, strict=True)]


def torque_terms(robot: Robot, q: Scalars, qd: Scalars, qdd: Scalars) -> dict[str, Values]:
    """The torques by their terms; the rates of one ball joint make no bias acceleration."""
    shares, table = budget.shares(robot, q, qd, qdd, [Wrench.zero()] * robot.n), term_table(robot)
    by_acceleration = by_joint(table, shares.acceleration)
    for k, link in enumerate(robot.links):
        by_acceleration[k][k] = add(by_acceleration[k][k], mul(link.joint.rotor_inertia, qdd[k]))

    def bias_column(j: int, i: int, _: int) -> int | None:
        return j if table.key(j, i, j) in table.accelerations else None

    return {
        "tau_qdd": {(): by_acceleration},
        "tau_a": {(): rows(table, shares.bias_acceleration, robot.n, bias_column)},
        "tau_b": {(): rows(table, shares.bias_force, robot.n, lambda m, *_: m)},
        "tau_g": {(): rows(table, shares.gravity, robot.n, lambda m: m)},
    }


def forces(robot: Robot, q: Scalars, qd: Scalars, tau: Scalars) -> dict[str, Values]:
    """ε, κ, and the stages of filter and smoother."""
    bodies = udu.articulated_bodies(robot, q)
    steps, still = [body.pose for body in bodies], [Wrench.zero()] * robot.n
    motions = from_joint_rates(robot, bodies, qd)
    a = bias_accelerations(robot, bodies, motions, qd)
    b = operators.bias_wrenches(robot, q, [motion.twist for motion in motions], still)
    nu = inward(robot, kalman.filtered, Wrench.zero(), bodies, tau, a, b)
    moved = outward(robot, kalman.smoothed, (Twist.zero(), 0.0), bodies, nu, a)
    alpha, qdd = [x for x, _ in moved], [x for _, x in moved]
    innovation = [mul(x, body.pivot) for x, body in zip(nu, bodies, strict=True)]
    local = [y + body.inertia @ x for body, x, y in zip(bodies, a, b, strict=True)]  # b + P a
    gained = [x + body.psi * y for x, body, y in zip(local, bodies, innovation, strict=True)]
    z_plus = operators.phi(robot, steps, gained)
    z = [x + y for x, y in zip(operators.e_phi(robot, steps, z_plus), local, strict=True)]
    return {
        "epsilon": {(): quasi.normalized.force(robot, q, tau)},
        "kappa": {(): quasi.unnormalized.force(robot, q, tau)},
        "filter_z": vectors(z),
        "filter_epsilon": {(): innovation},
        "filter_nu": {(): nu},
        "filter_z_plus": vectors(z_plus),
        "smoother_alpha_plus": vectors(from_parents(robot, steps, alpha)),
        "smoother_qdd": {(): qdd},
        "smoother_alpha": vectors(alpha),
    }
