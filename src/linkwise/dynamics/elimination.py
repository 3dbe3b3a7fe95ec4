"""Reverse Gaussian elimination of the inertia matrix itself: [Saha IJRR] sections 5.1 and 5.2, element by element.

    m̂_k  = i_kk - Σ m̂_l α_kl²                         l = k+1, ..., n                      (33), (46)
    α_ik = (i_ik - Σ m̂_l α_il α_kl) / m̂_k              i < k                                (45)
    α'_k = α_k - Σ α_lk α'_l                           l = 2, ..., k-1                      (39)
    I⁻¹  = U⁻ᵀ D⁻¹ U⁻¹      off the diagonal of U⁻¹ -α'_ij, D = diag(m̂)                     (36), (48)

U, D and I⁻¹ are those of the recursions in `udu` and `inverse_inertia`, which are cheaper, O(n) for a column against
O(n²) here. These are the formulas in which people write them, in the elements of I: for three links (45) to (48).
Print has I_2 as l_2 in (45), lacks a factor in α'_13 of (47) and the squares in (48).

`step` is given each α, m̂ and α' with its letter and indices, and returns what goes on in its place: a symbol, where the
steps are written out.
"""

from collections.abc import Callable

from ..robot import Robot
from ..spatial import Scalar, Scalars, add, mul, reciprocal, sub
from ..spatial.dense import Dense, identity, zeros
from .composite import inertia_matrix

Step = Callable[[str, tuple[int, ...], Scalar], Scalar]


def unchanged(letter: str, index: tuple[int, ...], value: Scalar) -> Scalar:
    return value


def udu(robot: Robot, q: Scalars) -> tuple[Dense, list[Scalar]]:
    """U and the diagonal of D."""
    return udu_of(inertia_matrix(robot, q))


def udu_of(matrix: Dense, step: Step = unchanged) -> tuple[Dense, list[Scalar]]:
    n = len(matrix)
    left = [list(row) for row in matrix]
    upper = identity(n)
    for k in reversed(range(n)):
        left[k][k] = step("m_hat", (k,), left[k][k])
        pivot = reciprocal(left[k][k])
        for i in range(k):
            upper[i][k] = step("alpha", (i, k), mul(left[i][k], pivot))  # (45)
        for i in range(k):
            for j in range(i + 1):
                taken = mul(left[k][k], mul(upper[i][k], upper[j][k]))
                left[i][j] = left[j][i] = sub(left[i][j], taken)  # (46)
    return upper, [left[k][k] for k in range(n)]


def inverse_inertia_matrix(robot: Robot, q: Scalars) -> Dense:
    return inverse_of(inertia_matrix(robot, q))


def inverse_of(matrix: Dense, step: Step = unchanged) -> Dense:
    n = len(matrix)
    upper, diagonal = udu_of(matrix, step)
    alpha = zeros(n, n)  # α'
    for k in range(n):
        for i in range(k):
            alpha[i][k] = upper[i][k]
            for l in range(i + 1, k):
                alpha[i][k] = sub(alpha[i][k], mul(upper[l][k], alpha[i][l]))  # (39)
            alpha[i][k] = step("alpha'", (i, k), alpha[i][k])
    inverse = zeros(n, n)
    for k, pivot in enumerate(diagonal):
        row = [*(0.0,) * k, -1.0, *alpha[k][k + 1 :]]  # of U⁻¹, with its sign turned
        share = reciprocal(pivot)
        for i in range(k, n):
            for j in range(k, i + 1):
                inverse[i][j] = inverse[j][i] = add(inverse[i][j], mul(share, mul(row[i], row[j])))  # (36)
    return inverse
