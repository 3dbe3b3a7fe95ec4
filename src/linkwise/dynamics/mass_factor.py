"""The factor m of the inertia matrix and its rate: [Kozłowski] (26)-(32), for trees without rotor inertias.

    m = (1 + H Φ K) D^½      𝓜 = m m*                                                       (26)
    ṁ = H Φ (Ω_δ Φ P + ½ (1 + τ̄) Ṗ) H* D^-½                                                 (29)
      = H Φ (Ω_δ (Φ - 1) P + ½ (1 + τ̄) λ̇) H* D^-½                                           (30)
    ṁ ν = H Φ (Ω_δ Φ K H P + ½ (X + X*) + ½ (E_Ψ λ̇ - λ̇ E_Ψ*)) V                             (31)
    θ̇* 𝓜_θ θ̇ = 2 H Φ (Ω_δ (1 + Φ K H) P - V × M) V                                         (32)

θ̇* 𝓜_θ θ̇ is the vector whose k-th component is θ̇* (∂𝓜/∂θ_k) θ̇. In (31) print has a commutator of E_Ψ and λ̇.
"""

from ..robot import Robot
from ..spatial import Scalars, sqrt
from ..spatial.dense import Column, Dense, apply, diagonal, identity, minus, plus, product, times, transposed
from .kinematics import twists
from .operator_matrices import crosses, operators
from .operator_rates import operator_rates


def mass_factor(robot: Robot, q: Scalars) -> Dense:
    op = operators(robot, q)
    root = diagonal([sqrt(op.D[i][i]) for i in range(robot.n)])
    return product(plus(identity(robot.n), product(op.H, op.phi, op.K)), root)  # (26)


def mass_factor_rate(robot: Robot, q: Scalars, qd: Scalars, *, by: str = "P") -> Dense:
    """ṁ by (29), with Ṗ, or by (30), with λ̇ (`by="lambda"`)."""
    robot.refuse_rotors("the rates of the mass factor")
    op, rate = operators(robot, q), operator_rates(robot, q, qd)
    one = identity(6 * robot.n)
    phi, derivative = (op.phi, rate.P_dot) if by == "P" else (minus(op.phi, one), rate.lambda_dot)
    half = times(product(plus(one, op.tau_bar), derivative), 0.5)
    inner = plus(product(rate.omega_delta, phi, op.P), half)
    inverse_root = diagonal([1.0 / sqrt(op.D[i][i]) for i in range(robot.n)])
    return product(op.H, op.phi, inner, transposed(op.H), inverse_root)


def mass_factor_rate_times_nu(robot: Robot, q: Scalars, qd: Scalars) -> Column:
    """ṁ ν by (31)."""
    robot.refuse_rotors("the rates of the mass factor")
    op, rate = operators(robot, q), operator_rates(robot, q, qd)
    X = product(rate.omega_delta, op.P)
    swap = minus(product(op.E_psi, rate.lambda_dot), product(rate.lambda_dot, transposed(op.E_psi)))
    inner = plus(
        product(rate.omega_delta, op.phi, op.K, op.H, op.P), times(plus(X, transposed(X)), 0.5), times(swap, 0.5)
    )
    return apply(product(op.H, op.phi, inner), stacked(robot, q, qd))


def kinetic_gradient(robot: Robot, q: Scalars, qd: Scalars) -> Column:
    """θ̇* 𝓜_θ θ̇ by (32)."""
    robot.refuse_rotors("the rates of the mass factor")
    op, rate = operators(robot, q), operator_rates(robot, q, qd)
    spins = crosses(twists(robot, q, qd))  # V×
    articulated = product(plus(identity(6 * robot.n), product(op.phi, op.K, op.H)), op.P)
    inner = minus(product(rate.omega_delta, articulated), product(spins, op.M))
    return [2.0 * x for x in apply(product(op.H, op.phi, inner), stacked(robot, q, qd))]


def stacked(robot: Robot, q: Scalars, qd: Scalars) -> Column:
    """V as one column."""
    return [x for twist in twists(robot, q, qd) for x in twist]
