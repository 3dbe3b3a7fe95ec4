"""The inverse of the inertia matrix, element by element: [Saha IJRR] section 5.2, for trees.

    Ψ_k   = 1 - ψ_k p_kᵀ                        articulation transform, after (35)
    B̂_ji  = B_j,j-1 Π Ψ_kᵀ B_k,k-1              (41)   k = j-1, ..., i+1: the links between j and i
    α'_ij = p_iᵀ B̂_jiᵀ ψ_j                      (41)   i on the way from j to the base
    U⁻¹   = 1 - Σ α'_k λ_kᵀ                     (38)   unit upper triangular, off the diagonal -α'_ij
    I⁻¹   = U⁻ᵀ D⁻¹ U⁻¹                         (36)

Print has +α' in (38) and (40) but a minus in (39), interchanges i and j in B̂ of (41), and lacks the squares in
(48). Column j of I⁻¹ is the acceleration under a unit torque at joint j: D⁻¹ times column j of U⁻¹, then U⁻ᵀ by the
recursion (36), (37) of [Saha JAM]; O(n) for a column, O(n²) for all. Link i: in its own frame about O_i.
"""

from collections.abc import Sequence

from ..robot import Robot, outward
from ..spatial import Scalar, Scalars, Twist, Wrench, mul, power
from ..spatial.dense import Dense, apply, identity, zeros
from .newton_euler import LinkMotion, driving_torques
from .udu import Articulated, accelerate, articulated_bodies


def inverse_upper(robot: Robot, bodies: Sequence[Articulated]) -> Dense:
    """U⁻¹"""
    inverse = identity(robot.n)
    for link in robot.links:
        wrench, below = bodies[link.index].psi, link
        while below.parent >= 0:
            wrench = wrench.to_parent(bodies[below.index].pose)
            below = robot.links[below.parent]
            alpha = power(below.joint.axis, wrench)  # (41)
            inverse[below.index][link.index] = mul(-1.0, alpha)  # (38)
            wrench = wrench - bodies[below.index].psi * alpha  # Ψ_k, on the way to the next
    return inverse


def inverse_inertia_matrix(robot: Robot, q: Scalars) -> Dense:
    bodies = articulated_bodies(robot, q)
    upper = inverse_upper(robot, bodies)
    inverse = zeros(robot.n, robot.n)
    for j in range(robot.n):
        eliminated = [upper[i][j] for i in range(robot.n)]
        column = outward(robot, accelerate, (Twist.zero(), 0.0), bodies, eliminated)  # (36)
        for i in range(j + 1):
            inverse[i][j] = inverse[j][i] = column[i][1]
    return inverse


def forward_dynamics(
    robot: Robot, q: Scalars, qd: Scalars, tau: Scalars, external: Sequence[Wrench], base: LinkMotion | None = None
) -> list[Scalar]:
    phi = driving_torques(robot, q, qd, tau, external, base)
    return apply(inverse_inertia_matrix(robot, q), phi)
