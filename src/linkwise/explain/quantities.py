"""Every intermediate of the formulations for one state, by name, each as its paper has it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..dynamics import composite, constraints, coriolis, denoc, inverse_inertia, quasi, udu
from ..dynamics.diagonal import from_joint_rates, rates
from ..dynamics.kinematics import poses
from ..dynamics.operator_matrices import of_twists
from ..robot import Robot, inward
from ..spatial import Placement, RigidInertia, Scalar, Wrench
from ..spatial.dense import Dense

SAHA, INVERSE, KOZLOWSKI, ANGELES = "saha1999jam", "saha1999ijrr", "kozlowski1995", "angeles"
CENTRES = "base frame, at the mass centres"
ORIGINS = "links' joint-aligned frames, at the joints"


@dataclass(frozen=True)
class Quantity:
    """A named thing: for the whole robot (`values` has one entry, under ()), or by link or pair of links."""

    name: str
    symbol: str
    latex: str
    meaning: str
    source: str
    equation: str
    values: dict[tuple[int, ...], Any]  # indices of links, from 0; scalars, lists of scalars, or lists of rows


def quantities(
    robot: Robot, q: Sequence[Scalar], qd: Sequence[Scalar] | None, qdd: Sequence[Scalar] | None
) -> Iterator[Quantity]:
    yield from by_saha(robot, q)
    yield from by_angeles(robot, q)
    yield from by_kozlowski(robot, q)
    if qd is not None:
        yield from with_rates(robot, q, qd)
        if qdd is not None:
            yield from with_accelerations(robot, q, qd, qdd)


def whole(name: str, symbol: str, latex: str, meaning: str, source: str, equation: str, value: Any) -> Quantity:
    return Quantity(name, symbol, latex, meaning, source, equation, {(): value})


def each(
    name: str, symbol: str, latex: str, meaning: str, source: str, equation: str, values: Sequence[Any]
) -> Quantity:
    return Quantity(name, symbol, latex, meaning, source, equation, {(i,): v for i, v in enumerate(values)})


def cut(matrix: Dense, i: int, j: int, width: int = 6) -> Dense:
    return [row[width * j : width * (j + 1)] for row in matrix[6 * i : 6 * (i + 1)]]


def by_saha(robot: Robot, q: Sequence[Scalar]) -> Iterator[Quantity]:
    n, links = robot.n, range(robot.n)
    frames = poses(robot, q)
    # each link's joint-aligned frame, seen from its mass centre with the axes of the base
    seats = [
        Placement(pose.axes, pose.translation - pose.point(link.com))
        for pose, link in zip(frames, robot.links, strict=True)
    ]
    local = [link.pose(q_i) for link, q_i in zip(robot.links, q, strict=True)]
    composites = inward(robot, composite.freeze, RigidInertia.zero(), local)
    bodies = udu.articulated_bodies(robot, q)
    N_l, N_d = denoc.matrices(robot, q)
    upper, diagonal = udu.udu(robot, q)
    eliminations = udu.elimination_matrices(robot, q)
    inverse_upper = inverse_inertia.inverse_upper(robot, bodies)

    def about_centre(inertia: Any, i: int) -> Dense:
        return of_twists(inertia.to_parent(seats[i]).__matmul__)

    def at_centre(wrench: Wrench, i: int) -> list[Scalar]:
        return list(wrench.to_parent(seats[i]))

    neighbours: dict[tuple[int, ...], Dense] = {
        (i, robot.links[i].parent): cut(N_l, i, robot.links[i].parent) for i in links if robot.links[i].parent >= 0
    }
    yield Quantity(
        "B", "B_ij", r"\mathbf{B}", f"carries the twist of link j to link i; {CENTRES}", SAHA, "(13)", neighbours
    )
    axes = [[row[i] for row in N_d[6 * i : 6 * i + 6]] for i in links]
    yield each("p", "p_i", r"\mathbf{p}", f"axis of joint i; {CENTRES}", SAHA, "(13), (15)", axes)
    yield each(
        "M",
        "M_i",
        r"\mathbf{M}",
        f"inertia of link i; {CENTRES}",
        SAHA,
        "(2)",
        [about_centre(k.body, k.index) for k in robot.links],
    )
    yield each(
        "M_tilde",
        "M̃_i",
        r"\tilde{\mathbf{M}}",
        f"composite inertia, joints beyond i frozen; {CENTRES}",
        SAHA,
        "(23b)",
        [about_centre(c, i) for i, c in enumerate(composites)],
    )
    yield each(
        "M_hat",
        "M̂_i",
        r"\hat{\mathbf{M}}",
        f"articulated inertia, joints beyond i free; {CENTRES}",
        SAHA,
        "(50)",
        [about_centre(b.inertia, i) for i, b in enumerate(bodies)],
    )
    yield each(
        "psi_hat",
        "ψ̂_i",
        r"\hat{\boldsymbol{\psi}}",
        f"M̂_i p_i; {CENTRES}",
        SAHA,
        "(47)",
        [at_centre(b.psi * b.pivot, i) for i, b in enumerate(bodies)],
    )
    yield each(
        "m_hat",
        "m̂_i",
        r"\hat{m}",
        "articulated inertia along joint i, p_i · ψ̂_i, the rotor's with it",
        SAHA,
        "(47)",
        diagonal,
    )
    yield each(
        "psi",
        "ψ_i",
        r"\boldsymbol{\psi}",
        f"ψ̂_i / m̂_i; {CENTRES}",
        SAHA,
        "(48)",
        [at_centre(b.psi, i) for i, b in enumerate(bodies)],
    )
    yield whole(
        "N_l",
        "N_l",
        r"\mathbf{N}_l",
        f"lower block triangular factor of the complement N = N_l N_d; {CENTRES}",
        SAHA,
        "(16)",
        N_l,
    )
    yield whole("N_d", "N_d", r"\mathbf{N}_d", f"block diagonal factor of the complement; {CENTRES}", SAHA, "(16)", N_d)
    yield whole("I", "I", r"\mathbf{I}", "inertia matrix", SAHA, "(24)", denoc.inertia_matrix(robot, q))
    yield Quantity(
        "E",
        "E_k",
        r"\mathbf{E}",
        "elementary matrix of the reverse Gaussian elimination, column k",
        SAHA,
        "(44)",
        {(n - 1 - k,): e for k, e in enumerate(eliminations)},
    )
    yield whole("U", "U", r"\mathbf{U}", "unit upper triangular factor of I = U D Uᵀ", SAHA, "(46), (53)", upper)
    yield whole("D", "D", r"\mathbf{D}", "diagonal of D in I = U D Uᵀ", SAHA, "(54)", diagonal)
    yield whole("U_inverse", "U⁻¹", r"\mathbf{U}^{-1}", "off the diagonal -α'_ij", INVERSE, "(38)-(41)", inverse_upper)
    yield whole(
        "I_inverse",
        "I⁻¹",
        r"\mathbf{I}^{-1}",
        "inverse of the inertia matrix",
        INVERSE,
        "(36)",
        inverse_inertia.inverse_inertia_matrix(robot, q),
    )


def by_angeles(robot: Robot, q: Sequence[Scalar]) -> Iterator[Quantity]:
    K, T = constraints.matrices(robot, q)
    yield whole("K", "K", r"\mathbf{K}", f"constraint matrix, K t = 0; {CENTRES}", ANGELES, "(7.50)", K)
    yield whole(
        "T", "T", r"\mathbf{T}", f"natural orthogonal complement, t = T θ̇, K T = 0; {CENTRES}", ANGELES, "(7.54)", T
    )


def by_kozlowski(robot: Robot, q: Sequence[Scalar]) -> Iterator[Quantity]:
    bodies = udu.articulated_bodies(robot, q)
    P = [of_twists(b.inertia.__matmul__) for b in bodies]
    yield each("P", "P(k)", "P", f"articulated inertia: M̂ about another point; {ORIGINS}", KOZLOWSKI, "(12)", P)
    yield each("D_k", "D(k)", "D", "P along joint k: m̂", KOZLOWSKI, "(12)", [b.pivot for b in bodies])
    yield each(
        "G",
        "G(k)",
        "G",
        f"gain P H* / D: ψ about another point; {ORIGINS}",
        KOZLOWSKI,
        "(12)",
        [list(b.psi) for b in bodies],
    )


def with_rates(robot: Robot, q: Sequence[Scalar], qd: Sequence[Scalar]) -> Iterator[Quantity]:
    bodies = udu.articulated_bodies(robot, q)
    motions = from_joint_rates(robot, bodies, qd)
    nu, xi = quasi.normalized.velocity(robot, q, qd), quasi.unnormalized.velocity(robot, q, qd)
    still = [Wrench.zero()] * robot.n
    floating = robot.with_gravity((0.0, 0.0, 0.0))
    lambdas = [of_twists(r.lambda_dot.__matmul__) for r in rates(robot, bodies, motions)]
    yield whole(
        "C", "C", r"\mathbf{C}", "Coriolis matrix, İ - 2C skew", SAHA, "(29)", coriolis.coriolis_matrix(robot, q, qd)
    )
    yield each("V", "V(k)", "V", f"twist; {ORIGINS}", KOZLOWSKI, "nomenclature", [list(m.twist) for m in motions])
    yield each(
        "lambda_dot",
        "λ̇(k)",
        r"\dot{\lambda}",
        f"rate of P seen from the parent; {ORIGINS}",
        KOZLOWSKI,
        "(18)-(21)",
        lambdas,
    )
    yield whole("nu", "ν", r"\nu", "normalized quasi-velocities D^½ Uᵀ θ̇", KOZLOWSKI, "(28)", nu)
    yield whole("xi", "ξ", r"\xi", "unnormalized quasi-velocities Uᵀ θ̇", KOZLOWSKI, "(34)", xi)
    yield whole(
        "C_nu",
        "C(θ,ν)",
        r"C(\theta,\nu)",
        "Coriolis forces for ν, without gravity: ν · C = 0",
        KOZLOWSKI,
        "(42)",
        quasi.normalized.coriolis(floating, q, nu, still),
    )
    yield whole(
        "C_xi",
        "C(θ,ξ)",
        r"C(\theta,\xi)",
        "Coriolis forces for ξ, without gravity",
        KOZLOWSKI,
        "(45)",
        quasi.unnormalized.coriolis(floating, q, xi, still),
    )


def with_accelerations(
    robot: Robot, q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar]
) -> Iterator[Quantity]:
    external = [Wrench.zero()] * robot.n
    yield whole(
        "tau",
        "τ",
        r"\boldsymbol{\tau}",
        "joint torques and forces",
        SAHA,
        "(30)",
        denoc.inverse_dynamics(robot, q, qd, qdd, external),
    )
