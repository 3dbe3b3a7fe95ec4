"""The Coriolis terms of the diagonalized equations by components: [Kozłowski] (48), for trees.

    s_ki = Σ_m  H_k Ψ_km P_m Ω_δ*_m Ψ*_im H*_i      m in the subtrees of both; k at i or between i and the base
    normalized     c_ki = D_k^-½ s_ki D_i^-½ = -c_ik,  c_kk = 0          C(θ, ν) = c ν + D^-½ H Ψ b      (48)
    unnormalized   c_ki = s_ki = -c_ik,  c_kk = s_kk = ½ H λ̇ H*          C(θ, ξ) = c ξ + H Ψ b

Print has Ω_δ for Ω_δ*, which is the wrong sign where joints turn, and gives the elements of C(θ, ξ) by (48) too, D_k^-½
and D_i^-½ included. O(n³); the recursions are in `diagonal`.
"""

from collections.abc import Iterator, Sequence

from ..robot import Link, Robot, inward, outward
from ..spatial import Scalar, Twist, Wrench, add, cross_twist, mul, power, sub
from ..spatial.dense import Column, Dense, apply, zeros
from .diagonal import QuasiMotion, through
from .udu import Articulated


def articulated_columns(robot: Robot, bodies: Sequence[Articulated]) -> list[dict[int, Twist]]:
    """Ψ*_im H*_i at each link m, for every i between it and the base; V_m is made of them by (49)."""

    def step(link: Link, above: dict[int, Twist], body: Articulated) -> dict[int, Twist]:
        here: dict[int, Twist] = {}
        for i, twist in above.items():
            carried = twist.to_child(body.pose)
            here[i] = carried - link.joint.axis * power(carried, body.psi)  # ψ*
        return here | {link.index: link.joint.axis}

    return outward(robot, step, {}, bodies)


def summands(
    robot: Robot,
    bodies: Sequence[Articulated],
    motions: Sequence[QuasiMotion],
    columns: Sequence[dict[int, Twist]],
) -> Iterator[tuple[int, int, int, Scalar]]:
    """k, i, m and that summand of s_ki, for k = i or on the way from i to the base."""
    for link, body, motion, here in zip(robot.links, bodies, motions, columns, strict=True):
        joint = link.joint.axis * motion.qd
        for i, twist in here.items():
            wrench = body.inertia @ cross_twist(twist, joint)  # P Ω_δ*
            for k, other in here.items():
                if k <= i:
                    yield k, i, link.index, power(other, wrench)


def sums(robot: Robot, bodies: Sequence[Articulated], motions: Sequence[QuasiMotion]) -> Dense:
    """s_ki, for k = i or on the way from i to the base, and zeros elsewhere."""
    s = zeros(robot.n, robot.n)
    for k, i, _, value in summands(robot, bodies, motions, articulated_columns(robot, bodies)):
        s[k][i] = add(s[k][i], value)
    return s


def psi_b(robot: Robot, bodies: Sequence[Articulated], b: Sequence[Wrench]) -> list[Scalar]:
    """H Ψ b"""

    def step(link: Link, children: Wrench, body: Articulated, b: Wrench) -> tuple[Scalar, Wrench]:
        return power(link.joint.axis, b + children), through(link, body, b + children)

    return inward(robot, step, Wrench.zero(), bodies, b)


def coriolis_xi(
    robot: Robot, bodies: Sequence[Articulated], motions: Sequence[QuasiMotion], b: Sequence[Wrench]
) -> Column:
    """C(θ, ξ)"""
    upper, n = sums(robot, bodies, motions), robot.n
    matrix = [[upper[k][i] if k <= i else sub(0.0, upper[i][k]) for i in range(n)] for k in range(n)]
    return total(matrix, robot, bodies, motions, b)


def twice_coriolis_nu(
    robot: Robot, bodies: Sequence[Articulated], motions: Sequence[QuasiMotion], b: Sequence[Wrench]
) -> Column:
    """2 D^½ C(θ, ν)"""
    upper, n = sums(robot, bodies, motions), robot.n
    matrix = [[upper[k][i] if k < i else sub(0.0, upper[i][k]) for i in range(n)] for k in range(n)]
    for k in range(n):
        matrix[k][k] = 0.0
    return [mul(2.0, x) for x in total(matrix, robot, bodies, motions, b)]


def total(
    matrix: Dense, robot: Robot, bodies: Sequence[Articulated], motions: Sequence[QuasiMotion], b: Sequence[Wrench]
) -> Column:
    """c ξ + H Ψ b"""
    moved = apply(matrix, [motion.xi for motion in motions])
    return [add(x, y) for x, y in zip(moved, psi_b(robot, bodies, b), strict=True)]
