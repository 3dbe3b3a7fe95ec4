"""Solutions with a matrix S = W Wᵀ of any rank: S⁺ b; no branch depends on a number.

    S = L D Lᵀ            column by column; row k of W counts (c_k = 1) if its pivot d_k > e_k, otherwise c_k = 0
    e_i = c ε s_ii + Σ l_ik² e_k            k < i; ε is the rounding error of the numbers at hand            (1)
    l_kk = c_k, and column k of L is zero where c_k = 0, as 1/d_k is                                         (2)
    S⁺ = L⁻ᵀ D⁻¹ L⁻¹             if all rows count; otherwise                                                (3)
    S⁺ = L H⁻¹ D⁻¹ H⁻¹ Lᵀ        H = Lᵀ L, with 1 on the diagonal where a column is zero                     (4)

d_k is the square of what row k of W adds to the rows before it; e_k bounds the rounding error of d_k: that of S, with
what earlier pivots have made of it. So a row does not count if it is not distinguishable from a combination of others,
and a small pivot that counts does not turn the rounding errors of later rows into pivots. The rule does not depend on
the lengths of rows, and thus not on units.

S⁺ b is the shortest solution. Where S x = b has none, it is the shortest of those with the least error.
"""

from __future__ import annotations

from typing import NamedTuple

from ..spatial import Scalar, add, dot_product, mul, reciprocal, sign, sub
from ..spatial.dense import UDU, Column, Dense, apply, identity, product, transposed, zeros

NEGLIGIBLE = 500.0  # c: rounding errors of s_ii itself were below 10, pivots of independent rows above 10⁷
TINY = 1e-36  # the least bound of a pivot: rows of zeros do not count


class Gram(NamedTuple):
    """The factors of S."""

    lower: Dense  # L
    inverse: Column  # D⁻¹
    square: UDU  # of Lᵀ L, with 1 on the diagonal where a row does not count
    deficient: Scalar  # 0 if all rows count, otherwise 1

    @staticmethod
    def of(matrix: Dense) -> Gram:
        n, left = len(matrix), [list(row) for row in matrix]
        lower, inverse, full = zeros(n, n), [], 1.0
        negligible = mul(NEGLIGIBLE, rounding_error(dot_product([1.0] * n, [left[i][i] for i in range(n)])))
        bound = [add(mul(negligible, left[i][i]), TINY) for i in range(n)]
        for k in range(n):
            counts = is_positive(sub(left[k][k], bound[k]))
            inverse.append(mul(counts, reciprocal(add(mul(counts, left[k][k]), sub(1.0, counts)))))
            lower[k][k], full = counts, mul(full, counts)
            for i in range(k + 1, n):
                lower[i][k] = mul(left[i][k], inverse[k])  # (2)
                bound[i] = add(bound[i], mul(mul(lower[i][k], lower[i][k]), bound[k]))  # (1)
                for j in range(k + 1, i + 1):
                    left[i][j] = sub(left[i][j], mul(lower[i][k], left[j][k]))
        square = product(transposed(lower), lower)
        for k in range(n):
            square[k][k] = add(square[k][k], sub(1.0, lower[k][k]))
        return Gram(lower, inverse, UDU.of(square), sub(1.0, full))

    def solve(self, b: Column) -> Column:
        """S⁺ b"""
        x = self.square.solve(apply(transposed(self.lower), b))
        shortest = apply(self.lower, self.square.solve(weighted(x, self.inverse)))  # (4)
        return [self.chosen(*pair) for pair in zip(self.regular_solution(b), shortest, strict=True)]

    def chosen(self, regular: Scalar, shortest: Scalar) -> Scalar:
        """A number by (3) or (4)."""
        return sub(regular, mul(self.deficient, sub(regular, shortest)))

    def regular_solution(self, b: Column) -> Column:
        """L⁻ᵀ D⁻¹ L⁻¹ b"""
        x: Column = []
        for k, row in enumerate(self.lower):
            x.append(sub(b[k], dot_product(row[:k], x)))
        x = weighted(x, self.inverse)
        for k in reversed(range(len(x))):
            x[k] = sub(x[k], dot_product([row[k] for row in self.lower[k + 1 :]], x[k + 1 :]))
        return x

    def pseudoinverse(self) -> Dense:
        """S⁺"""
        regular = [self.regular_solution(unit) for unit in identity(len(self.lower))]
        half = [self.square.solve(row) for row in self.lower]  # L H⁻¹
        rows = [weighted(row, self.inverse) for row in half]
        lower = [
            [self.chosen(regular[j][i], dot_product(rows[i], half[j])) for j in range(i + 1)] for i in range(len(half))
        ]
        return [[lower[max(i, j)][min(i, j)] for j in range(len(half))] for i in range(len(half))]


def weighted(x: Column, weights: Column) -> Column:
    return [mul(x_k, w) for x_k, w in zip(x, weights, strict=True)]


def is_positive(x: Scalar) -> Scalar:
    """1 for x > 0, 0 for x < 0."""
    return mul(0.5, add(1.0, sign(x)))


def rounding_error(x: Scalar) -> Scalar:
    """ε of the arithmetic of x ≥ 0, in single precision as in double: without rounding (4/3 - 1) 3 would be 1."""
    one = add(x, TINY) / add(x, TINY)
    difference = sub(mul(3.0, sub(mul(4.0 / 3.0, one), one)), one)
    return mul(difference, sign(difference))
