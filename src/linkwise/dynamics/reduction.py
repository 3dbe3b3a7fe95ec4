"""The inertia matrix while its columns are eliminated: [Saha JAM] appendix B, [Saha IJRR] appendix, for trees.

    L_k = I^(k) = E_k ... E_n I                              (40), (45); IJRR (49)
    i_ij^(k) = p_iᵀ M̂_ik B_ij p_j              i, j < k       (46); IJRR (50)
    M̂_ik = M̃_i - Ψ_ik                                        (49)
         = M_i + Σ_l B_liᵀ M̂_lk B_li           i < k, l a child of i      (50)
    M̂_kk = M̂_k - ψ̂_k ψ_kᵀ                                    (50)   Ψ_k M̂_k in IJRR

M̂_ik is the inertia that link i shows when the joints of link k and of those after it are free, and the others frozen:
M̂_i,n+1 = M̃_i, M̂_i,i+1 = M̂_i. Row k of L_k and those below are the rows of the result, (ψ̂_kᵀ B_kj p_j); above the
diagonal they are zero. Print has M̂_i for M̃_i in (49) and Ĵ_k Ψ_kᵀ for the dyad in (50). Link i: in its own frame
about O_i.
"""

from collections.abc import Sequence

from ..robot import Link, Robot, inward
from ..spatial import ArticulatedInertia, Twist, add, power
from ..spatial.dense import Dense, zeros
from .udu import Articulated


def released(link: Link, body: Articulated) -> ArticulatedInertia:
    """M̂_kk: what is left of M̂_k where joint k is free."""
    left: ArticulatedInertia = link.joint.release(body.inertia, body.inertia @ link.joint.axis, body.psi)
    return left


def reduced_inertias(robot: Robot, bodies: Sequence[Articulated], k: int) -> list[ArticulatedInertia]:
    """M̂_ik for the links i before k, and M̂_ii for the links from k on."""

    def step(
        link: Link, children: ArticulatedInertia, body: Articulated
    ) -> tuple[ArticulatedInertia, ArticulatedInertia]:
        inertia = ArticulatedInertia.of_rigid(link.body) + children
        left = released(link, body) if link.index >= k else inertia
        return left, left.to_parent(body.pose)  # (50)

    return inward(robot, step, ArticulatedInertia.zero(), bodies)


def reduced_matrix(robot: Robot, bodies: Sequence[Articulated], left: Sequence[ArticulatedInertia], k: int) -> Dense:
    """I^(k), element by element, from M̂_ik."""
    matrix = zeros(robot.n, robot.n)
    for link in robot.links:
        j, moved = link.index, {link.index: link.joint.axis}
        for i in robot.subtree(j):
            body = robot.links[i]
            if i != j:
                moved[i] = Twist.to_child(moved[body.parent], bodies[i].pose)  # B_ij p_j
            inertia = left[i] if i < k else bodies[i].inertia
            matrix[i][j] = power(body.joint.axis, inertia @ moved[i])  # (46)
            if i < k:
                matrix[j][i] = matrix[i][j]
        matrix[j][j] = add(matrix[j][j], link.joint.rotor_inertia)
    return matrix
