"""Matrices of any size as lists of rows, over generic scalars: for the formulations that are written in matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from .scalar import Scalar, add, dot_product, mul, reciprocal, sqrt, sub

Dense = list[list[Scalar]]
Column = list[Scalar]


def zeros(rows: int, columns: int) -> Dense:
    return [[0.0] * columns for _ in range(rows)]


def identity(n: int) -> Dense:
    return [[float(i == j) for j in range(n)] for i in range(n)]


def diagonal(values: Sequence[Scalar]) -> Dense:
    matrix = zeros(len(values), len(values))
    for i, value in enumerate(values):
        matrix[i][i] = value
    return matrix


def transposed(a: Dense) -> Dense:
    return [list(column) for column in zip(*a, strict=True)]


def plus(*terms: Dense) -> Dense:
    return elementwise(add, *terms)


def minus(*terms: Dense) -> Dense:
    """The first less all the others."""
    return elementwise(sub, *terms)


def elementwise(operation: Callable[[Scalar, Scalar], Scalar], first: Dense, *others: Dense) -> Dense:
    result = first
    for other in others:
        result = [[operation(x, y) for x, y in zip(ra, rb, strict=True)] for ra, rb in zip(result, other, strict=True)]
    return result


def times(a: Dense, s: Scalar) -> Dense:
    return [[mul(x, s) for x in row] for row in a]


def product(*factors: Dense) -> Dense:
    """The matrix product; zeros that are constants cost nothing."""
    result, *others = factors
    for other in others:
        rows, width = [nonzero(row) for row in other], len(other[0])
        result = [sparse_row(nonzero(row), rows, width) for row in result]
    return result


def nonzero(line: Sequence[Scalar]) -> dict[int, Scalar]:
    return {k: x for k, x in enumerate(line) if not (type(x) is float and x == 0.0)}


def sparse_row(row: dict[int, Scalar], rows: Sequence[dict[int, Scalar]], width: int) -> Column:
    """The row times the matrix of these rows."""
    total: Column = [0.0] * width
    for k, x in row.items():
        for j, y in rows[k].items():
            total[j] = add(total[j], mul(x, y))
    return total


def apply(a: Dense, x: Column) -> Column:
    return [dot_product(row, x) for row in a]


def put(target: Dense, block: Dense, row: int, column: int) -> None:
    """Write a block, whose upper left corner goes to (row, column), into a matrix in the making."""
    for i, values in enumerate(block):
        target[row + i][column : column + len(values)] = values


def cholesky(a: Dense) -> Dense:
    """L, lower triangular, of the symmetric positive definite A = L Lᵀ."""
    n = len(a)
    lower = zeros(n, n)
    for j in range(n):
        rest = sub(a[j][j], dot_product(lower[j][:j], lower[j][:j]))
        lower[j][j] = sqrt(rest)
        for i in range(j + 1, n):
            lower[i][j] = sub(a[i][j], dot_product(lower[i][:j], lower[j][:j])) / lower[j][j]
    return lower


def cholesky_solve(a: Dense, b: Column) -> Column:
    """x of A x = b, A symmetric positive definite."""
    lower, n = cholesky(a), len(b)
    y: Column = []
    for i in range(n):
        y.append(sub(b[i], dot_product(lower[i][:i], y)) / lower[i][i])
    x: Column = [0.0] * n
    for i in reversed(range(n)):
        known = dot_product([lower[k][i] for k in range(i + 1, n)], x[i + 1 :])
        x[i] = sub(y[i], known) / lower[i][i]
    return x


def gauss_solve(a: Dense, b: Column) -> Column:
    """x of A x = b by Gaussian elimination; A needs no pivoting, as a positive definite matrix does not."""
    n = len(b)
    a, b = [list(row) for row in a], list(b)
    for k in range(n):
        for i in range(k + 1, n):
            factor = a[i][k] / a[k][k]
            a[i][k + 1 :] = [sub(x, mul(factor, y)) for x, y in zip(a[i][k + 1 :], a[k][k + 1 :], strict=True)]
            b[i] = sub(b[i], mul(factor, b[k]))
    x: Column = [0.0] * n
    for i in reversed(range(n)):
        x[i] = sub(b[i], dot_product(a[i][i + 1 :], x[i + 1 :])) / a[i][i]
    return x


class UDU(NamedTuple):
    """A = U D Uᵀ by elimination from the last row up: U above the diagonal, stored transposed, and D⁻¹."""

    below: Dense  # [k][i] is U_ik, i < k
    inverse: Column

    @staticmethod
    def of(a: Dense) -> UDU:
        a, n = [list(row) for row in a], len(a)
        inverse: Column = [0.0] * n
        for k in reversed(range(n)):
            inverse[k] = reciprocal(a[k][k])
            for i in range(k):
                u = mul(a[i][k], inverse[k])
                for j in range(i + 1):  # the upper triangle alone
                    a[j][i] = sub(a[j][i], mul(u, a[j][k]))
                a[k][i] = u
        return UDU(a, inverse)

    def eliminate(self, b: Column) -> Column:
        """U⁻¹ b"""
        x = list(b)
        for k in reversed(range(len(x))):
            for i in range(k):
                x[i] = sub(x[i], mul(self.below[k][i], x[k]))
        return x

    def solve(self, b: Column) -> Column:
        """x of A x = b."""
        return self.substitute(self.eliminate(b))

    def substitute(self, b: Column) -> Column:
        """U⁻ᵀ D⁻¹ b"""
        x = list(b)
        for k in range(len(x)):
            x[k] = mul(x[k], self.inverse[k])
            for i in range(k):
                x[k] = sub(x[k], mul(self.below[k][i], x[i]))
        return x
