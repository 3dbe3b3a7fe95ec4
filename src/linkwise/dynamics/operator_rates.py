"""The rates of the spatial operators: [Kozłowski] (13)-(21) and Table 1, for trees without rotors.

Rates seen from the links' own frames, and inertial ones, with [A, B] = A B - B A and Ω = diag(ω×); links base first:

              local                            inertial
    E_Φ       E_Φ Ω_δ                          + [Ω, E_Φ]             print has a Φ too many
    Φ         Φ E_Φ Ω_δ Φ                      + Φ [Ω, E_Φ] Φ
    H         0                                - H Ω
    M         0                                [Ω, M]
    D         H Ṗ H*                           the same
    G         τ̄ Ṗ H* D⁻¹                       + Ω G
    τ̄         - Ġ H                            + [Ω, τ̄]
    E_Ψ       E_Ψ (Ω_δ τ̄ - Ṗ H* D⁻¹ H)         + [Ω, E_Ψ]

Ω_δ = (H* θ̇)×, also where joints slide. Then H Ω_δ = 0, so E_Ψ Ω_δ τ̄ is E_Φ Ω_δ τ̄, which is right for any motion of
frames (`turns`). The mass factor and its rate, (26)-(32), are in `mass_factor`.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ..robot import Robot
from ..spatial import Scalars, Twist, Vector
from ..spatial.dense import Dense, diagonal, minus, plus, product, times, transposed, zeros
from .diagonal import from_joint_rates, rates
from .operator_matrices import block_diagonal, crosses, of_twists, operators
from .udu import articulated_bodies


class OperatorRates(NamedTuple):
    local: dict[str, Dense]  # Table 1
    inertial: dict[str, Dense]
    P_dot: Dense
    lambda_dot: Dense
    omega: Dense  # Ω
    omega_delta: Dense  # Ω_δ


def operator_rates(
    robot: Robot,
    q: Scalars,
    qd: Scalars,
    turns: Sequence[Twist] | None = None,
    spins: Sequence[Vector] | None = None,
) -> OperatorRates:
    """`turns` move the links' frames against those of their parents, `spins` turn them: by default H* θ̇ and ω."""
    bodies, op = articulated_bodies(robot, q), operators(robot, q)
    motions = from_joint_rates(robot, bodies, qd)
    if turns is None or spins is None:
        turns = [link.joint.axis * x for link, x in zip(robot.links, qd, strict=True)]
        spins = [motion.twist.angular for motion in motions]
    of_links = rates(robot, bodies, motions, turns)
    P_dot = block_diagonal([of_twists(r.P_dot.__matmul__) for r in of_links])
    lambda_dot = block_diagonal([of_twists(r.lambda_dot.__matmul__) for r in of_links])
    delta, omega = crosses(turns), crosses(Twist(spin, Vector.zero()) for spin in spins)
    inverse_D = diagonal([body.inverse_pivot for body in bodies])
    H_star = transposed(op.H)
    G_dot = product(op.tau_bar, P_dot, H_star, inverse_D)
    local = {
        "E_phi": product(op.E_phi, delta),
        "phi": product(op.phi, op.E_phi, delta, op.phi),
        "H": zeros(robot.n, 6 * robot.n),
        "M": zeros(6 * robot.n, 6 * robot.n),
        "D": product(op.H, P_dot, H_star),
        "G": G_dot,
        "tau_bar": times(product(G_dot, op.H), -1.0),
        "E_psi": minus(product(op.E_phi, delta, op.tau_bar), product(op.E_psi, P_dot, H_star, inverse_D, op.H)),
    }

    def commutator(x: Dense) -> Dense:
        return minus(product(omega, x), product(x, omega))

    inertial = {
        "E_phi": plus(local["E_phi"], commutator(op.E_phi)),
        "phi": plus(local["phi"], product(op.phi, commutator(op.E_phi), op.phi)),
        "H": times(product(op.H, omega), -1.0),
        "M": commutator(op.M),
        "D": local["D"],
        "G": plus(G_dot, product(omega, op.G)),
        "tau_bar": plus(local["tau_bar"], commutator(op.tau_bar)),
        "E_psi": plus(local["E_psi"], commutator(op.E_psi)),
    }
    return OperatorRates(local, inertial, P_dot, lambda_dot, omega, delta)
