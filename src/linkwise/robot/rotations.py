"""The rotation nearest to a matrix that is a rotation up to a few digits.

    A = R S      polar decomposition: of all rotations, R is nearest to A
    R ← R + ½ R (1 - RᵀR)      converges to it from nearby, the error squared in each step

Zeros are kept: they are put back after each step, which then halves the error. The result is the nearest rotation that
has them.
"""

from __future__ import annotations

from ..spatial import Matrix, Rotation, add, is_zero, mul, sub

ORTHOGONAL = 1e-15  # a defect of this size is rounding
SLOWEST = 0.95  # what a step leaves of the defect at most, as long as it is not rounding


def nearest_rotation(matrix: Rotation) -> Rotation:
    """A rotation, orthogonal to rounding; entries that are 0, 1 or -1 within 1e-12 become so where that is possible."""
    snapped = matrix.snapped()
    if all(type(x) is float and x in (0.0, 1.0, -1.0) for row in snapped.rows for x in row):  # quarter turns
        return snapped
    rotation = polar(snapped, [[not is_zero(x) for x in row] for row in snapped.rows])
    if defect(rotation) > 2.0 * ORTHOGONAL:  # no rotation near by has these zeros
        rotation = polar(matrix, [[True] * 3] * 3)
    return rotation


def polar(matrix: Rotation, free: list[list[bool]]) -> Rotation:
    """The nearest rotation that is 0 where it is not free."""
    turn, left = matrix, defect(matrix)
    while left > ORTHOGONAL:
        step = turn @ (Rotation.identity() - turn.T @ turn)
        closer = Rotation(
            [
                [add(x, mul(0.5, dx)) if may else 0.0 for x, dx, may in zip(*lines, strict=True)]
                for lines in zip(turn.rows, step.rows, free, strict=True)
            ]
        )
        before, left = left, defect(closer)
        if not left < SLOWEST * before:
            break
        turn = closer
    return turn


def defect(turn: Matrix) -> float:
    """The largest entry of R Rᵀ - 1."""
    product = (turn @ turn.T).rows
    return max(abs(float(sub(product[i][j], float(i == j)))) for i in range(3) for j in range(3))


def distance(a: Rotation, b: Rotation) -> float:
    """The largest difference of two entries."""
    pairs = zip(a.rows, b.rows, strict=True)
    return max(abs(float(x) - float(y)) for rows in pairs for x, y in zip(*rows, strict=True))
