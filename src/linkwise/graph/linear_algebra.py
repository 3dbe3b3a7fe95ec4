"""Systems of linear equations over generic scalars, without branches on numbers: the text of np.linalg on nodes.

    positive definite     P A Pᵀ = L D Lᵀ without exchanges by size; the row with the fewest elements comes first
    others                P A = L U; in each column the largest element becomes the pivot, by choices between two rows
    least squares         A = Q R by modified Gram-Schmidt, with the right-hand sides as further columns
    least norm            Aᵀ = Q R likewise, x built up from the last column of Q to the first (Björck 1996, sec. 2.4)
    determinant           by minors, without divisions: its derivatives exist where elimination has no pivot

Python floats are constants; zeros cost nothing. A pivot of 0 gives NaN; one that is the constant 0 is an error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .conditions import Condition

Scalar = Any
Column = list[Any]
Rows = list[list[Any]]


def is_zero(x: Scalar) -> bool:
    return type(x) is float and x == 0.0


def choose(condition: Any, a: Scalar, b: Scalar) -> Scalar:
    """a where the condition holds, otherwise b."""
    if a is b or (is_zero(a) and is_zero(b)):
        return a
    if isinstance(condition, Condition):
        return condition.choose(a, b)
    return np.where(condition, a, b) if isinstance(condition, np.ndarray) else a if condition else b


def reciprocal(pivot: Scalar) -> Scalar:
    """1 / pivot; NaN where the pivot is 0."""
    if is_zero(pivot):
        raise np.linalg.LinAlgError("the matrix is singular, whatever the numbers that are not known yet")
    inverse = 1.0 / pivot
    if type(inverse) is float and math.isinf(inverse):
        raise np.linalg.LinAlgError(
            f"the matrix has the pivot {pivot!r}, whose inverse overflows (expected a matrix in other units)"
        )
    return inverse if type(inverse) is float else inverse * (pivot * inverse)  # NaN for 0


def reciprocal_unless_zero(pivot: Scalar) -> Scalar:
    """1 / pivot; 0 for the constant 0, whose column is 0 for all numbers."""
    return pivot if is_zero(pivot) else reciprocal(pivot)


def root(x: Scalar) -> Scalar:
    if type(x) is float and x < 0.0:
        raise np.linalg.LinAlgError("the matrix is not positive definite, whatever the numbers that are not known yet")
    return x**0.5


def dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def less(a: Sequence[Scalar], factor: Scalar, b: Sequence[Scalar]) -> Column:
    """a - factor b"""
    return [x - factor * y for x, y in zip(a, b, strict=True)]


def transposed(a: Sequence[Sequence[Scalar]]) -> Rows:
    return [list(column) for column in zip(*a, strict=True)]


def eliminate(rows: Rows, invert: Callable[[Scalar], Scalar] = reciprocal) -> tuple[Rows, Column, Scalar]:
    """[A B] with A made upper triangular, the inverses of its diagonal, and the sign of the permutation."""
    rows, inverses, sign, n = list(rows), [], 1.0, len(rows)
    for k in range(n):
        for i in (i for i in range(k + 1, n) if not is_zero(rows[i][k])):
            larger = is_zero(rows[k][k]) or abs(rows[i][k]) > abs(rows[k][k])
            pairs = list(zip(rows[i], rows[k], strict=True))
            rows[k], rows[i] = [choose(larger, x, y) for x, y in pairs], [choose(larger, y, x) for x, y in pairs]
            sign = choose(larger, -sign, sign)
        inverses.append(invert(rows[k][k]))
        for i in range(k + 1, n):
            factor = rows[i][k] * inverses[k]
            rows[i] = [*[0.0] * (k + 1), *less(rows[i][k + 1 :], factor, rows[k][k + 1 :])]
    return rows, inverses, sign


def substitute_back(rows: Rows, inverses: Column) -> Rows:
    """X of R X = B, from rows [R B], R upper triangular."""
    x = [row[len(rows) :] for row in rows]
    for k in reversed(range(len(x))):
        for j in range(k + 1, len(x)):
            x[k] = less(x[k], rows[k][j], x[j])
        x[k] = [inverses[k] * value for value in x[k]]
    return x


def solve(a: Rows, b: Rows) -> Rows:
    """X of A X = B; a lower triangular A is upper triangular, if read from its end."""
    step = -1 if all(is_zero(x) for k, row in enumerate(a) for x in row[k + 1 :]) else 1
    rows, inverses, _ = eliminate([[*row[::step], *right] for row, right in zip(a, b, strict=True)][::step])
    return substitute_back(rows, inverses)[::step]


def determinant(a: Rows) -> Scalar:
    """The product of the pivots; NaN where one before the last is 0."""
    rows, _, product = eliminate(a, reciprocal_unless_zero)
    for k, row in enumerate(rows):
        product = product * row[k]
    return product


def determinant_by_minors(a: Rows) -> Scalar:
    """Laplace expansion without divisions, n 2ⁿ⁻¹ products: each minor of the last rows once, by its set of columns."""
    order = sorted(range(len(a)), key=lambda i: (-sum(not is_zero(x) for x in a[i]), i))  # rows with few elements last
    minors: dict[tuple[int, ...], Scalar] = {(): 1.0}
    for row in (a[i] for i in reversed(order)):
        terms: dict[tuple[int, ...], list[tuple[int, Scalar]]] = {}
        for j, x in ((j, x) for j, x in enumerate(row) if not is_zero(x)):
            for columns, minor in minors.items():
                if j not in columns:
                    place = sum(i < j for i in columns)
                    terms.setdefault((*columns[:place], j, *columns[place:]), []).append((place % 2, x * minor))
        minors = {columns: alternating(signed) for columns, signed in terms.items()}
    odd = sum(i > k for n, k in enumerate(order) for i in order[:n]) % 2
    return alternating([(odd, minors.get(tuple(range(len(a))), 0.0))])


def alternating(terms: Sequence[tuple[int, Scalar]]) -> Scalar:
    """The sum of terms (odd, x), of which the odd ones are subtracted."""
    total: Scalar = 0.0
    for odd, x in terms:
        total = total - x if odd else total + x
    return total


class Definite:
    """P A Pᵀ = L D Lᵀ of a positive definite A, of which the lower triangle is read; all by the rows of A."""

    def __init__(self, a: Rows, invert: Callable[[Scalar], Scalar] = reciprocal) -> None:
        left = [[a[max(i, j)][min(i, j)] for j in range(len(a))] for i in range(len(a))]
        self.inverses: Column = [None] * len(a)
        self.determinant: Scalar = 1.0
        self.columns: dict[int, dict[int, Scalar]] = {}  # in the order of elimination
        waiting = list(range(len(a)))
        while waiting:
            k = min(waiting, key=lambda k: (sum(not is_zero(left[k][i]) for i in waiting), -k))
            waiting.remove(k)
            self.inverses[k] = invert(left[k][k])
            self.determinant = self.determinant * left[k][k]
            others = [i for i in waiting if not is_zero(left[i][k])]
            self.columns[k] = {i: left[i][k] * self.inverses[k] for i in others}
            for i, j in ((i, j) for i in others for j in others if j <= i):
                left[i][j] = left[j][i] = left[i][j] - self.columns[k][i] * left[k][j]

    def eliminate(self, b: Rows) -> Rows:
        """L⁻¹ P B, in the order of B."""
        x = list(b)
        for k, column in self.columns.items():
            for i, factor in column.items():
                x[i] = less(x[i], factor, x[k])
        return x

    def solve(self, b: Rows) -> Rows:
        """X of A X = B."""
        x = self.eliminate(b)
        for k, column in reversed(self.columns.items()):
            x[k] = [self.inverses[k] * value for value in x[k]]
            for i, factor in column.items():
                x[k] = less(x[k], factor, x[i])
        return x

    def congruent(self, b: Rows) -> Rows:
        """Bᵀ A⁻¹ B = (L⁻¹ P B)ᵀ D⁻¹ (L⁻¹ P B), symmetric to the last bit."""
        columns = transposed(self.eliminate(b))
        shares = [[x * inverse for x, inverse in zip(column, self.inverses, strict=True)] for column in columns]
        n, lower = len(columns), [[dot(x, y) for y in columns[: k + 1]] for k, x in enumerate(shares)]
        return [[lower[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]


def cholesky(a: Rows) -> Rows:
    """L, lower triangular, of A = L Lᵀ, of which the lower triangle is read."""
    n, lower = len(a), [[0.0] * len(a) for _ in a]
    for k in range(n):
        pivot = root(a[k][k] - dot(lower[k][:k], lower[k][:k]))
        inverse = reciprocal(pivot)
        lower[k][k] = pivot * (pivot * inverse)  # NaN for 0
        for i in range(k + 1, n):
            lower[i][k] = (a[i][k] - dot(lower[i][:k], lower[k][:k])) * inverse
    return lower


def orthonormal(columns: Sequence[Column]) -> tuple[Rows, Rows, Column]:
    """The columns of Q, the rows of R, and the inverses of its diagonal, of Q R of full rank."""
    rest, n = list(columns), len(columns)
    q, r, inverses = [], [[0.0] * n for _ in range(n)], []
    for k in range(n):
        r[k][k] = root(dot(rest[k], rest[k]))
        inverses.append(reciprocal(r[k][k]))
        q.append([x * inverses[k] for x in rest[k]])
        for j in range(k + 1, n):
            r[k][j] = dot(q[k], rest[j])
            rest[j] = less(rest[j], r[k][j], q[k])
    return q, r, inverses


def least_squares(a: Rows, b: Rows) -> tuple[Rows, Rows]:
    """X with the shortest columns of B - A X, and these; A is not wider than high, and of full rank."""
    (q, r, inverses), residuals = orthonormal(transposed(a)), transposed(b)
    for row, direction in zip(r, q, strict=True):
        row += (shares := [dot(direction, residual) for residual in residuals])
        residuals = [less(x, share, direction) for x, share in zip(residuals, shares, strict=True)]
    return substitute_back(r, inverses), residuals


def least_norm(a: Rows, b: Rows) -> Rows:
    """The shortest X of A X = B; the rows of A are independent."""
    q, r, _ = orthonormal(a)
    columns = [[0.0] * len(a[0]) for _ in b[0]]
    for c, shares in enumerate(transposed(solve(transposed(r), b))):
        for direction, share in zip(reversed(q), reversed(shares), strict=True):
            columns[c] = less(columns[c], dot(direction, columns[c]) - share, direction)
    return transposed(columns)
