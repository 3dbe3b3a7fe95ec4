"""Forward dynamics by the four methods of Walker and Orin (1982), for trees. All take φ = τ - bias from one
inverse dynamics with q̈ = 0.

    1   column j of I: inverse dynamics with q̈ = e_j, q̇ = 0, g = 0, through every link; then elimination
    2   as 1, but only the subtree of joint j moves, and only its rows are kept; then Cholesky
    3   composite bodies, (23b) and (24) of [Saha JAM]; then Cholesky
    4   conjugate gradients on I q̈ = φ, each product I p by one inverse dynamics with q̇ = 0, g = 0

Method 4 needs n steps in exact arithmetic. Rounding errors need more where I is ill conditioned, so 3 n are always
made: an algorithm may not branch on a residual. They are too few for long chains and for trees with many free bodies,
with errors of 1e-3 and more. A residual of exactly zero stays zero, as 0 / 1. Others go on falling,
far below ε; derivatives of quotients of such small numbers overflow. So residual and direction are scaled: the residual
is as long as φ at every step. Derivatives through the steps are those of the iteration. They are not those of q̈ where
a residual is zero, or nothing but rounding errors, long before n steps: where φ = 0, or loads few joints, as at rest.
For derivatives there are the other methods.
"""

from collections.abc import Sequence

from ..robot import Robot
from ..spatial import Scalar, Scalars, Wrench, add, dot_product, mul, sign, sqrt, sub
from ..spatial.dense import Column, Dense, cholesky_solve, gauss_solve, transposed, zeros
from .composite import inertia_matrix
from .newton_euler import LinkMotion, driving_torques, inverse_dynamics


def inertia_times(robot: Robot, q: Scalars, qdd: Scalars) -> Column:
    """I q̈"""
    floating = robot.with_gravity((0.0, 0.0, 0.0))
    return inverse_dynamics(floating, q, [0.0] * robot.n, qdd, [Wrench.zero()] * robot.n)


def one_if_zero(x: Scalar) -> Scalar:
    """1 for 0, and 0 for what is above."""
    return sub(1.0, sign(x))


def unit(n: int, j: int) -> Column:
    return [float(i == j) for i in range(n)]


def method_1(
    robot: Robot, q: Scalars, qd: Scalars, tau: Scalars, external: Sequence[Wrench], base: LinkMotion | None = None
) -> Column:
    columns = [inertia_times(robot, q, unit(robot.n, j)) for j in range(robot.n)]
    return gauss_solve(transposed(columns), driving_torques(robot, q, qd, tau, external, base))


def method_2(
    robot: Robot, q: Scalars, qd: Scalars, tau: Scalars, external: Sequence[Wrench], base: LinkMotion | None = None
) -> Column:
    matrix: Dense = zeros(robot.n, robot.n)
    for j in range(robot.n):
        column = inertia_times(robot, q, unit(robot.n, j))  # links that do not move cost nothing: their zeros fold
        for i in range(j, robot.n):
            matrix[i][j] = matrix[j][i] = column[i]
    return cholesky_solve(matrix, driving_torques(robot, q, qd, tau, external, base))


def method_3(
    robot: Robot, q: Scalars, qd: Scalars, tau: Scalars, external: Sequence[Wrench], base: LinkMotion | None = None
) -> Column:
    return cholesky_solve(inertia_matrix(robot, q), driving_torques(robot, q, qd, tau, external, base))


def method_4(
    robot: Robot, q: Scalars, qd: Scalars, tau: Scalars, external: Sequence[Wrench], base: LinkMotion | None = None
) -> Column:
    residual = driving_torques(robot, q, qd, tau, external, base)
    direction, solution, length = [0.0] * robot.n, [0.0] * robot.n, 1.0
    square = dot_product(residual, residual)
    square = add(square, one_if_zero(square))
    for _ in range(3 * robot.n):
        size = dot_product(residual, residual) / square
        zero = one_if_zero(size)
        ratio = sqrt(add(size, zero))  # to the length before; β is its square
        residual = [r / ratio for r in residual]
        direction = [add(r, mul(sub(ratio, zero), p)) for r, p in zip(residual, direction, strict=True)]
        length = mul(length, ratio)
        image = inertia_times(robot, q, direction)
        step = mul(sign(size), square) / add(dot_product(direction, image), zero)
        solution = [add(x, mul(mul(length, step), p)) for x, p in zip(solution, direction, strict=True)]
        residual = [sub(r, mul(step, y)) for r, y in zip(residual, image, strict=True)]
    return solution
