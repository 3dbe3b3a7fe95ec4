"""First derivatives of forward dynamics: those of inverse dynamics at the accelerations that it gives, solved with I.

    ∂q̈/∂τ = I⁻¹                                  (1)
    ∂q̈/∂q = -I⁻¹ ∂τ/∂q,   ∂q̈/∂q̇ = -I⁻¹ ∂τ/∂q̇     (2)

by the factors I = U D Uᵀ from the tip, in which the zeros between branches stay zeros. I⁻¹ is symmetric: of each column
the elements down to the diagonal are computed. Carpentier and Mansard (2018).
"""

from __future__ import annotations

from collections.abc import Sequence

from ..robot import Robot
from ..spatial import Scalars
from ..spatial.dense import UDU, Dense, transposed, zeros
from .inverse_derivatives import inverse_dynamics_derivatives
from .subtrees import Load


def forward_dynamics_derivatives(
    robot: Robot, q: Scalars, qd: Scalars, qdd: Scalars, loads: Sequence[Load]
) -> tuple[Dense, Dense, Dense]:
    """∂q̈/∂q, ∂q̈/∂q̇ and ∂q̈/∂τ, where forward dynamics gives the accelerations q̈; else as `inverse_derivatives`."""
    by_q, by_qd, inertia = inverse_dynamics_derivatives(robot, q, qd, qdd, loads)
    factors = UDU.of(inertia)
    less = UDU(factors.below, [-d for d in factors.inverse])  # of -I
    return solved(less, by_q), solved(less, by_qd), inverse(factors)


def solved(factors: UDU, matrix: Dense) -> Dense:
    return transposed([factors.solve(column) for column in transposed(matrix)])


def inverse(factors: UDU) -> Dense:
    n = len(factors.inverse)
    matrix = zeros(n, n)
    for k in range(n):
        column = factors.solve([float(i == k) for i in range(n)])
        for i in range(k + 1):
            matrix[i][k] = matrix[k][i] = column[i]
    return matrix
