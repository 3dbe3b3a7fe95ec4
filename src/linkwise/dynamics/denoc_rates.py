"""What the convective inertia terms are made of, in the frame of the paper: [Saha JAM] (2)-(10), (25)-(28), for trees.

    Ω_i  = diag(ω_i×, ω_i×)      Ṁ_i = W_i M_i      W_i = diag(ω_i×, 0)              (2), (8); W: Ω in [Saha IJRR]
    Ḃ_ij = [0, 0; ċ_ij×, 0]      ċ_ij = v_j - v_i                                   not in print
    Ṅ_d  = Ω N_d                                                                    (26)
    N_lᵀ M Ṅ_l   block (i, j): H̃_ij, i beyond j;  Σ_k B_kiᵀ H̃_kj of the children k of j, j at or beyond i   (27)
    N_lᵀ Ṁ N_l   block (i, j): the tilde of Ṁ of the farther of i and j             (27)
    H̃_ij = M̃_i Ḃ_ij + Σ_k B_kiᵀ H̃_ki            tilde of Ṁ_i = Ṁ_i + Σ_k tilde of Ṁ_k      k a child of i    (28)
    M̃'   = N_lᵀ M Ṅ_l + M̃ Ω + N_lᵀ Ṁ N_l       C = N_dᵀ M̃' N_d                     (25)

Print lacks the dots of (25)-(28). `coriolis` has the same C by a recursion. Base frame; twists at the mass centres.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ..robot import Robot
from ..spatial import Scalars, Twist, Vector, cross, cross_matrix
from ..spatial.dense import Dense, identity, plus, product, put, transposed, zeros
from .kinematics import poses, twists
from .operator_matrices import block_diagonal

Blocks = dict[tuple[int, ...], Dense]  # by two links


class ConvectiveTerms(NamedTuple):
    B_dot: Blocks  # of any two links
    N_l_dot: Dense
    Omega: list[Dense]
    W: list[Dense]
    M_dot: list[Dense]
    M_dot_tilde: list[Dense]
    H_tilde: Blocks
    inertial: Dense  # N_lᵀ M Ṅ_l
    gyroscopic: Dense  # N_lᵀ Ṁ N_l
    M_tilde_prime: Dense


def centres(robot: Robot, q: Scalars) -> list[Vector]:
    return [pose.point(link.com) for pose, link in zip(poses(robot, q), robot.links, strict=True)]


def centre_twists(robot: Robot, q: Scalars, qd: Scalars) -> list[Twist]:
    """t_i"""
    return [
        Twist(pose.rotation @ t.angular, pose.rotation @ (t.linear + cross(t.angular, link.com)))
        for link, pose, t in zip(robot.links, poses(robot, q), twists(robot, q, qd), strict=True)
    ]


def masses(robot: Robot, q: Scalars) -> list[Dense]:
    """M_i"""
    matrices = []
    for link, pose in zip(robot.links, poses(robot, q), strict=True):
        tensor = pose.axes.turned(link.inertia)
        rows = [[*row, 0.0, 0.0, 0.0] for row in tensor.rows]
        matrices.append([*rows, *([link.mass if j == i else 0.0 for j in range(6)] for i in (3, 4, 5))])
    return matrices


def propagation(lever: Vector) -> Dense:
    """B of the lever c"""
    matrix = identity(6)
    put(matrix, [list(row) for row in cross_matrix(lever).rows], 3, 0)
    return matrix


def propagations(points: Sequence[Vector]) -> Blocks:
    """B_ij of any two links."""
    n = range(len(points))
    return {(i, j): propagation(points[j] - points[i]) for i in n for j in n if i != j}


def composite(robot: Robot, of_links: Sequence[Dense], B: Blocks) -> list[Dense]:
    """X_i + Σ_k B_kiᵀ X_k B_ki"""
    total = list(of_links)
    for link in reversed(robot.links):
        if link.parent >= 0:
            step = B[link.index, link.parent]
            total[link.parent] = plus(total[link.parent], product(transposed(step), total[link.index], step))
    return total


def stacked_composite(robot: Robot, tilde: Sequence[Dense], B: Blocks) -> Dense:
    """N_lᵀ X N_l: (22) of M, (27) of Ṁ"""
    matrix = block_diagonal(tilde)
    for i in range(robot.n):
        for j in robot.ancestors(i)[1:]:
            below = product(tilde[i], B[i, j])
            put(matrix, below, 6 * i, 6 * j)
            put(matrix, product(transposed(B[i, j]), tilde[i]), 6 * j, 6 * i)
    return matrix


def convective_terms(robot: Robot, q: Scalars, qd: Scalars, carriers: Sequence[int] | None = None) -> ConvectiveTerms:
    """The axis of joint i turns with link `carriers[i]`, by default i."""
    t, points, n = centre_twists(robot, q, qd), centres(robot, q), range(robot.n)
    M, B = masses(robot, q), propagations(points)
    M_tilde = composite(robot, M, B)
    spins = [[list(row) for row in cross_matrix(twist.angular).rows] for twist in t]
    Omega = [block_diagonal([spins[i], spins[i]]) for i in carriers or n]
    W = [block_diagonal([w, zeros(3, 3)]) for w in spins]
    M_dot = list(map(product, W, M))  # (8)
    B_dot: Blocks = {}
    for i in n:
        for j in n:
            if i != j:
                rate = cross_matrix(t[j].linear - t[i].linear)
                put(B_dot.setdefault((i, j), zeros(6, 6)), [list(row) for row in rate.rows], 3, 0)
    N_l_dot, M_dot_tilde = zeros(6 * robot.n, 6 * robot.n), composite(robot, M_dot, B)
    H_tilde: Blocks = {}
    passed = [zeros(6, 6) for _ in n]  # Σ_k B_kiᵀ H̃_ki
    inertial = zeros(6 * robot.n, 6 * robot.n)
    for link in reversed(robot.links):
        i = link.index
        put(inertial, passed[i], 6 * i, 6 * i)
        for j in robot.ancestors(i)[1:]:
            put(N_l_dot, B_dot[i, j], 6 * i, 6 * j)
            H_tilde[i, j] = plus(product(M_tilde[i], B_dot[i, j]), passed[i])  # (28)
            put(inertial, H_tilde[i, j], 6 * i, 6 * j)
            put(inertial, product(transposed(B[i, j]), passed[i]), 6 * j, 6 * i)  # (27)
        if link.parent >= 0:
            up = product(transposed(B[i, link.parent]), H_tilde[i, link.parent])
            passed[link.parent] = plus(passed[link.parent], up)
    gyroscopic = stacked_composite(robot, M_dot_tilde, B)
    turned = product(stacked_composite(robot, M_tilde, B), block_diagonal(Omega))
    prime = plus(inertial, turned, gyroscopic)  # (25)
    H_tilde = dict(sorted(H_tilde.items()))
    return ConvectiveTerms(B_dot, N_l_dot, Omega, W, M_dot, M_dot_tilde, H_tilde, inertial, gyroscopic, prime)
