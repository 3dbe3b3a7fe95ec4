"""UDUᵀ of the inertia matrix and forward dynamics in O(n): [Saha JAM] section 5.2 and appendix B, for trees.

Articulated bodies, inward (k runs over the children of i; rotor inertia joins m̂):

    M̂_i = M_i + Σ B_kiᵀ (M̂_k - ψ̂_k ψ_kᵀ) B_ki                              (50)
    ψ̂_i = M̂_i p_i      m̂_i = p_iᵀ ψ̂_i      ψ_i = ψ̂_i / m̂_i                 (47), (48)

The factors of I = U D Uᵀ, with D = diag(m̂) and U unit upper triangular, from the elimination by E_k:

    u_ik = p_iᵀ B_kiᵀ ψ_k                                                  (46)   i on the way from k to the base
    E_k  = 1 - Σ_i u_ik e_i e_kᵀ      U = (E_2 ... E_n)⁻¹                   (44), (51)-(53)

Forward dynamics U D Uᵀ θ̈ = φ, with φ = τ - bias (RFDSIM):

    η̄_i = Σ B_kiᵀ η_k      τ̂_i = φ_i - p_iᵀ η̄_i      η_i = ψ_i τ̂_i + η̄_i   (34), (35)   inward
    τ̃_i = τ̂_i / m̂_i
    μ̄_i = B_iβ μ_β      θ̈_i = τ̃_i - ψ_iᵀ μ̄_i      μ_i = p_i θ̈_i + μ̄_i      (36), (37)   outward

Printed (35) has τ̂_{i-1} for τ̂_{i+1}, and (49) M̂ for M̃. Everything of link i is in its own frame about O_i, not
about the mass centre as printed: the small inertias of a wrist are then not differences of large numbers.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from ..robot import Link, Robot, inward, outward, toward_base
from ..spatial import ArticulatedInertia, Placement, Scalar, Scalars, Twist, Wrench, add, mul, power, reciprocal, sub
from ..spatial.dense import Dense, identity
from .newton_euler import LinkMotion, driving_torques


class Articulated(NamedTuple):
    pose: Placement  # in the parent
    inertia: ArticulatedInertia  # M̂
    psi: Wrench  # ψ
    pivot: Scalar  # m̂
    inverse_pivot: Scalar  # 1 / m̂


def articulate(link: Link, children: ArticulatedInertia, q: Scalar) -> tuple[Articulated, ArticulatedInertia]:
    pose = link.pose(q)
    inertia = ArticulatedInertia.of_rigid(link.body) + children
    psi_hat = inertia @ link.joint.axis
    pivot = add(power(link.joint.axis, psi_hat), link.joint.rotor_inertia)
    inverse_pivot = reciprocal(pivot)
    psi = link.joint.share(psi_hat, inverse_pivot)  # (47) (48)
    return Articulated(pose, inertia, psi, pivot, inverse_pivot), link.joint.release(inertia, psi_hat, psi).to_parent(
        pose
    )  # (50)


def articulated_bodies(robot: Robot, q: Scalars) -> list[Articulated]:
    return inward(robot, articulate, ArticulatedInertia.zero(), q)


def udu(robot: Robot, q: Scalars) -> tuple[list[list[Scalar]], list[Scalar]]:
    """U and the diagonal of D."""
    bodies = articulated_bodies(robot, q)
    poses = [body.pose for body in bodies]
    upper: list[list[Scalar]] = [[float(i == k) for k in range(robot.n)] for i in range(robot.n)]
    for link, body in zip(robot.links, bodies, strict=True):
        for ancestor, wrench in toward_base(robot, link, body.psi, poses):
            upper[ancestor.index][link.index] = power(ancestor.joint.axis, wrench)  # (46)
    return upper, [body.pivot for body in bodies]


def elimination_matrices(robot: Robot, q: Scalars) -> list[Dense]:
    """E_n, ..., E_2 of the reverse Gaussian elimination: E_2 ... E_n I is lower triangular."""
    upper, _ = udu(robot, q)
    matrices = []
    for k in reversed(range(1, robot.n)):
        matrix = identity(robot.n)
        for i in range(k):
            matrix[i][k] = sub(0.0, upper[i][k])  # (44)
        matrices.append(matrix)
    return matrices


def inertia_matrix(robot: Robot, q: Scalars) -> list[list[Scalar]]:
    """U D Uᵀ multiplied out."""
    upper, diagonal = udu(robot, q)
    matrix: list[list[Scalar]] = [[0.0] * robot.n for _ in robot.links]
    for i in range(robot.n):
        for j in range(i + 1):
            for k in range(i, robot.n):
                matrix[i][j] = add(matrix[i][j], mul(mul(upper[i][k], diagonal[k]), upper[j][k]))
            matrix[j][i] = matrix[i][j]
    return matrix


def eliminate(link: Link, eta: Wrench, body: Articulated, phi: Scalar) -> tuple[Scalar, Wrench]:
    tau_hat = sub(phi, power(link.joint.axis, eta))  # (34)
    return tau_hat, (body.psi * tau_hat + eta).to_parent(body.pose)  # (35)


def accelerate(link: Link, parent: tuple[Twist, Scalar], body: Articulated, tau_hat: Scalar) -> tuple[Twist, Scalar]:
    mu = parent[0].to_child(body.pose)
    qdd = sub(mul(tau_hat, body.inverse_pivot), power(mu, body.psi))  # (36)
    return link.joint.axis * qdd + mu, qdd  # (37)


def solve(robot: Robot, bodies: Sequence[Articulated], phi: Scalars) -> list[Scalar]:
    """θ̈ of I θ̈ = φ."""
    tau_hat = inward(robot, eliminate, Wrench.zero(), bodies, phi)
    return [qdd for _, qdd in outward(robot, accelerate, (Twist.zero(), 0.0), bodies, tau_hat)]


def solver(robot: Robot, q: Scalars) -> Callable[[Scalars], list[Scalar]]:
    """The function that gives θ̈ of I θ̈ = φ for any φ, from one set of articulated bodies."""
    return partial(solve, robot, articulated_bodies(robot, q))


def forward_dynamics(
    robot: Robot, q: Scalars, qd: Scalars, tau: Scalars, external: Sequence[Wrench], base: LinkMotion | None = None
) -> list[Scalar]:
    phi = driving_torques(robot, q, qd, tau, external, base)
    return solve(robot, articulated_bodies(robot, q), phi)
