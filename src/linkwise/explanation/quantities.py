"""Every intermediate of the formulations for one state, by name, each as its paper has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ..api.budgets.budget import by_joint, rows, sum_summands, summand_rows
from ..api.budgets.terms import term_table
from ..api.functions import differences
from ..api.recentring import quasi_rates, recentred_coriolis
from ..dynamics import budget, composite, constraints, coriolis, denoc, inverse_inertia, operators, quasi, udu
from ..dynamics.diagonal import QuasiMotion, from_joint_rates, rates
from ..dynamics.kinematics import poses
from ..dynamics.operator_matrices import of_twists
from ..robot import Robot, inward
from ..spatial import Placement, RigidInertia, Scalar, Wrench, add, cross_wrench, mul
from ..spatial.dense import Dense, identity, minus, product, transposed

SAHA, INVERSE, KOZLOWSKI, ANGELES = "saha1999jam", "saha1999ijrr", "kozlowski1995", "angeles"
CENTRES = "base frame, at the mass centres"
ORIGINS = "joint-aligned frames, at the joints"

DEFINITIONS = {  # name: symbol, LaTeX, meaning, source, equation
    "B": ("B_ij", r"\mathbf{B}", f"carries the twist of link j to link i; {CENTRES}", SAHA, "(13)"),
    "p": ("p_i", r"\mathbf{p}", f"axis of joint i; {CENTRES}", SAHA, "(13), (15)"),
    "M": ("M_i", r"\mathbf{M}", f"inertia of link i; {CENTRES}", SAHA, "(2)"),
    "M_tilde": ("M̃_i", r"\tilde{\mathbf{M}}", f"composite inertia, joints beyond i frozen; {CENTRES}", SAHA, "(23b)"),
    "M_hat": ("M̂_i", r"\hat{\mathbf{M}}", f"articulated inertia, joints beyond i free; {CENTRES}", SAHA, "(50)"),
    "psi_hat": ("ψ̂_i", r"\hat{\boldsymbol{\psi}}", f"M̂_i p_i; {CENTRES}", SAHA, "(47)"),
    "m_hat": ("m̂_i", r"\hat{m}", "articulated inertia along joint i, p_i · ψ̂_i, the rotor's with it", SAHA, "(47)"),
    "psi": ("ψ_i", r"\boldsymbol{\psi}", f"ψ̂_i / m̂_i; {CENTRES}", SAHA, "(48)"),
    "N_l": ("N_l", r"\mathbf{N}_l", f"lower factor of the complement N = N_l N_d; {CENTRES}", SAHA, "(16)"),
    "N_d": ("N_d", r"\mathbf{N}_d", f"diagonal factor of the complement; {CENTRES}", SAHA, "(16)"),
    "I": ("I", r"\mathbf{I}", "inertia matrix", SAHA, "(24)"),
    "E": ("E_k", r"\mathbf{E}", "elementary matrix of the reverse Gaussian elimination, column k", SAHA, "(44)"),
    "U": ("U", r"\mathbf{U}", "unit upper triangular factor of I = U D Uᵀ", SAHA, "(46), (53)"),
    "D": ("D", r"\mathbf{D}", "diagonal of D in I = U D Uᵀ", SAHA, "(54)"),
    "Psi": ("Ψ_i", r"\boldsymbol{\Psi}", f"articulation transform 1 - ψ_i p_iᵀ; {CENTRES}", INVERSE, "after (35)"),
    "B_hat": ("B̂_ji", r"\hat{\mathbf{B}}", f"carries twists, joints between free; {CENTRES}", INVERSE, "(41)"),
    "alpha_prime": ("α'", r"\boldsymbol{\alpha}'", "p_i · B̂_jiᵀ ψ_j above the diagonal", INVERSE, "(41)"),
    "U_inverse": ("U⁻¹", r"\mathbf{U}^{-1}", "1 - α'", INVERSE, "(38)"),
    "I_inverse": ("I⁻¹", r"\mathbf{I}^{-1}", "inverse of the inertia matrix", INVERSE, "(36)"),
    "K": ("K", r"\mathbf{K}", f"constraint matrix, K t = 0; {CENTRES}", ANGELES, "(7.50)"),
    "T": ("T", r"\mathbf{T}", f"natural orthogonal complement, t = T θ̇, K T = 0; {CENTRES}", ANGELES, "(7.54)"),
    "P": ("P(k)", "P", f"articulated inertia: M̂ about another point; {ORIGINS}", KOZLOWSKI, "(12)"),
    "D_k": ("D(k)", "D", "P along joint k: m̂", KOZLOWSKI, "(12)"),
    "G": ("G(k)", "G", f"gain P H* / D: ψ about another point; {ORIGINS}", KOZLOWSKI, "(12)"),
    "r": ("r(k)", "r", f"composite inertia: M̃ about another point; {ORIGINS}", KOZLOWSKI, "(39)"),
    "C": ("C", r"\mathbf{C}", "Coriolis matrix, İ - 2C skew", SAHA, "(29)"),
    "V": ("V(k)", "V", f"twist; {ORIGINS}", KOZLOWSKI, "nomenclature"),
    "lambda_dot": ("λ̇(k)", r"\dot{\lambda}", f"rate of P seen from the parent; {ORIGINS}", KOZLOWSKI, "(18)-(21)"),
    "a": ("a(k)", "a", f"bias acceleration V × H* θ̇, of a ball joint as three; {ORIGINS}", KOZLOWSKI, "nomenclature"),
    "b": ("b(k)", "b", f"bias force V × M V, without gravity; {ORIGINS}", KOZLOWSKI, "nomenclature"),
    "nu": ("ν", r"\nu", "normalized quasi-velocities D^½ Uᵀ θ̇", KOZLOWSKI, "(28)"),
    "xi": ("ξ", r"\xi", "unnormalized quasi-velocities Uᵀ θ̇", KOZLOWSKI, "(34)"),
    "C_nu": ("C(θ,ν)", r"C(\theta,\nu)", "Coriolis forces for ν, without gravity: ν · C = 0", KOZLOWSKI, "(42)"),
    "C_xi": ("C(θ,ξ)", r"C(\theta,\xi)", "Coriolis forces for ξ, without gravity", KOZLOWSKI, "(45)"),
    "c_nu": ("c", "c", "elements c_ki of C(θ,ν), c_ki = -c_ik: C(θ,ν) = c ν and the bias forces", KOZLOWSKI, "(48)"),
    "c_xi": ("c", "c", "elements c_ki of C(θ,ξ): C(θ,ξ) = c ξ and the bias forces", KOZLOWSKI, "(48)"),
    "tau": ("τ", r"\boldsymbol{\tau}", "joint torques and forces", SAHA, "(30)"),
    "tau_qdd": (
        "τ_kj",
        r"\tau^{\ddot\theta}",
        "share of the acceleration of joint j, rotors with it",
        KOZLOWSKI,
        "(39)",
    ),
    "tau_a": ("τ_kj", r"\tau^{a}", "share of the bias acceleration of link j", KOZLOWSKI, "(39)"),
    "tau_b": ("τ_kj", r"\tau^{b}", "share of the bias force of link j", KOZLOWSKI, "(39)"),
    "tau_g": ("τ_kj", r"\tau^{g}", "share of the weight of link j", KOZLOWSKI, "(39)"),
}
Values = dict[tuple[int, ...], Any]  # by indices of links, from 0, or () for the whole robot


@dataclass(frozen=True)
class Quantity:
    """A named quantity with its values: scalars, lists of scalars, or lists of rows."""

    name: str
    symbol: str
    latex: str
    meaning: str
    source: str
    equation: str
    values: Values


def quantities(
    robot: Robot, q: Sequence[Scalar], qd: Sequence[Scalar] | None, qdd: Sequence[Scalar] | None
) -> list[Quantity]:
    """The quantities of q alone; with qd also those of the rates; with qdd also the torques."""
    q = robot.coordinates.positions(q)
    values = {**saha_quantities(robot, q), **angeles_quantities(robot, q), **kozlowski_quantities(robot, q)}
    if qd is not None:
        values |= rate_quantities(robot, q, qd)
    if qd is not None and qdd is not None:
        still, accelerations = [Wrench.zero()] * robot.n, robot.coordinates.accelerations(qd, qdd)
        values["tau"] = {(): denoc.inverse_dynamics(robot, q, qd, accelerations, still)}
        values |= torque_quantities(robot, q, qd, qdd)
    return [Quantity(name, *DEFINITIONS[name], values=values[name]) for name in DEFINITIONS if name in values]


def per_link(values: Sequence[Any]) -> Values:
    return {(i,): value for i, value in enumerate(values)}


def saha_quantities(robot: Robot, q: Sequence[Scalar]) -> dict[str, Values]:
    bodies = udu.articulated_bodies(robot, q)
    N_l, N_d = denoc.matrices(robot, q)
    upper, diagonal = udu.udu(robot, q)
    inverse_upper = inverse_inertia.inverse_upper(robot, bodies)
    local = [link.pose(q_i) for link, q_i in zip(robot.links, q, strict=True)]
    composites = inward(robot, composite.freeze, RigidInertia.zero(), local)
    # each link's joint-aligned frame, seen from its mass centre with the axes of the base
    seats = [
        Placement(pose.axes, pose.translation - pose.point(link.com))
        for pose, link in zip(poses(robot, q), robot.links, strict=True)
    ]

    def inertia(values: Sequence[Any]) -> Values:
        shifted = (value.to_parent(seat) for value, seat in zip(values, seats, strict=True))
        return per_link([of_twists(value.__matmul__) for value in shifted])

    axes = [[row[i] for row in N_d[6 * i : 6 * i + 6]] for i in range(robot.n)]
    psi = [list(body.psi.to_parent(seat)) for body, seat in zip(bodies, seats, strict=True)]
    Psi = [minus(identity(6), [[mul(a, b) for b in p] for a in w]) for w, p in zip(psi, axes, strict=True)]
    B: Values = {(k.index, k.parent): block(N_l, k.index, k.parent) for k in robot.links if k.parent >= 0}
    return {
        "B": B,
        "p": per_link(axes),
        "M": inertia([link.rigid for link in robot.links]),
        "M_tilde": inertia(composites),
        "M_hat": inertia([body.inertia for body in bodies]),
        "psi_hat": per_link([[mul(x, body.pivot) for x in w] for w, body in zip(psi, bodies, strict=True)]),
        "m_hat": per_link(diagonal),
        "psi": per_link(psi),
        "N_l": {(): N_l},
        "N_d": {(): N_d},
        "I": {(): denoc.inertia_matrix(robot, q)},
        "E": {(robot.n - 1 - k,): e for k, e in enumerate(udu.elimination_matrices(robot, q))},
        "U": {(): upper},
        "D": {(): diagonal},
        "Psi": per_link(Psi),
        "B_hat": articulated_transforms(robot, B, Psi),
        "alpha_prime": {(): minus(identity(robot.n), inverse_upper)},
        "U_inverse": {(): inverse_upper},
        "I_inverse": {(): inverse_inertia.inverse_inertia_matrix(robot, q)},
    }


def block(matrix: Dense, i: int, j: int) -> Dense:
    return [row[6 * j : 6 * j + 6] for row in matrix[6 * i : 6 * i + 6]]


def articulated_transforms(robot: Robot, B: Values, Psi: Sequence[Dense]) -> Values:
    """B̂_ji for every link j and every i between it and the base."""
    B_hat: Values = {}
    for j in range(robot.n):
        way = robot.ancestors(j)
        for below, i in pairwise(way):
            step = B[below, i]
            B_hat[j, i] = step if below == j else product(B_hat[j, below], transposed(Psi[below]), step)
    return B_hat


def angeles_quantities(robot: Robot, q: Sequence[Scalar]) -> dict[str, Values]:
    K, T = constraints.matrices(robot, q)
    return {"K": {(): K}, "T": {(): T}}


def kozlowski_quantities(robot: Robot, q: Sequence[Scalar]) -> dict[str, Values]:
    bodies = udu.articulated_bodies(robot, q)
    composites = inward(robot, composite.freeze, RigidInertia.zero(), [body.pose for body in bodies])
    return {
        "P": per_link([of_twists(body.inertia.__matmul__) for body in bodies]),
        "D_k": per_link([body.pivot for body in bodies]),
        "G": per_link([list(body.psi) for body in bodies]),
        "r": per_link([of_twists(body.__matmul__) for body in composites]),
    }


def rate_quantities(robot: Robot, q: Sequence[Scalar], qd: Sequence[Scalar]) -> dict[str, Values]:
    bodies = udu.articulated_bodies(robot, q)
    motions = from_joint_rates(robot, bodies, qd)
    nu, xi = quasi.normalized.velocity(robot, q, qd), quasi.unnormalized.velocity(robot, q, qd)
    return {
        "C": {(): recentred_coriolis(robot, q, qd, coriolis.coriolis_matrix(robot, q, qd))},
        "V": per_link([list(motion.twist) for motion in motions]),
        "lambda_dot": per_link([of_twists(rate.lambda_dot.__matmul__) for rate in rates(robot, bodies, motions)]),
        "a": per_link([list(a) for a in operators.bias_acceleration(robot, [m.twist for m in motions], qd)]),
        "b": per_link(
            [list(cross_wrench(m.twist, k.body @ m.twist)) for k, m in zip(robot.links, motions, strict=True)]
        ),
        "c_nu": {(): elements(quasi.normalized, robot, q, bodies, motions)},
        "c_xi": {(): elements(quasi.unnormalized, robot, q, bodies, motions)},
        "nu": {(): nu},
        "xi": {(): xi},
        "C_nu": {(): coriolis_forces(quasi.normalized, robot, q, nu)},
        "C_xi": {(): coriolis_forces(quasi.unnormalized, robot, q, xi)},
    }


def elements(
    kind: quasi.Unnormalized,
    robot: Robot,
    q: Sequence[Scalar],
    bodies: Sequence[udu.Articulated],
    motions: Sequence[QuasiMotion],
) -> Dense:
    """c_ki"""
    shares = budget.quasi_shares(robot, q, bodies, motions, [Wrench.zero()] * robot.n)
    return sum_summands(summand_rows(kind, robot, bodies, motions, shares))


def torque_quantities(
    robot: Robot, q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar]
) -> dict[str, Values]:
    """The torques by their terms; the rates of one ball joint make no bias acceleration."""
    shares, table = budget.shares(robot, q, qd, qdd, [Wrench.zero()] * robot.n), term_table(robot)
    accelerations = by_joint(table, shares.acceleration)
    for k, link in enumerate(robot.links):
        accelerations[k][k] = add(accelerations[k][k], mul(link.joint.rotor_inertia, qdd[k]))

    def bias_column(j: int, i: int, _: int) -> int | None:
        return j if table.key(j, i, j) in table.accelerations else None

    return {
        "tau_qdd": {(): accelerations},
        "tau_a": {(): rows(table, shares.bias_acceleration, robot.n, bias_column)},
        "tau_b": {(): rows(table, shares.bias_force, robot.n, lambda m, *_: m)},
        "tau_g": {(): rows(table, shares.gravity, robot.n, lambda m: m)},
    }


def coriolis_forces(kind: quasi.Unnormalized, robot: Robot, q: Sequence[Scalar], velocity: Sequence[Scalar]) -> Any:
    """C(θ, ν) or C(θ, ξ) without gravity."""
    forces = kind.coriolis(robot.with_gravity((0.0, 0.0, 0.0)), q, velocity, [Wrench.zero()] * robot.n)
    return differences(forces, quasi_rates(kind, robot, q, velocity)[1]) if robot.balls else forces
