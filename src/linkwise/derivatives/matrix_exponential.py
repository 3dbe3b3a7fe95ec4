"""exp(X) and φ(X) = ∫₀¹ exp(s X) ds of many matrices at once: Taylor's series, scaling and squaring.

    φ(X) = Σ X^k / (k + 1)!         exp(X) = 1 + X φ(X)
    G = exp(X) - 1                  exp(2X) - 1 = 2 G + G²                  φ(2X) = φ(X) + φ(X) G / 2

A series of degree m for φ is that of degree m + 1 for the exponential: its error, seen as a change of X, is about
|X|^(m+1) / (m+2)! of X, less than 2⁻⁵³ for the 1-norms of `DEGREES`. Larger matrices are halved first, and squared
afterwards. The series is summed with few products (Paterson and Stockmeyer, SIAM J. Comput. 2 (1973)): polynomials of
degree b - 1 in X are the coefficients of one in X^b. G instead of the exponential is squared, since 1 would round off
the digits of small elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import factorial

import numpy as np

DEGREES = ((5, 2, 9e-3), (8, 3, 0.09), (11, 4, 0.306), (15, 4, 0.81))  # degree m, width b, largest 1-norm
WIDEST = max(width for _, width, _ in DEGREES)
LARGEST = DEGREES[-1][-1]
CHUNK = 100_000  # bytes of the matrices that are worked on together, so that they stay in the cache


def held(A: np.ndarray, B: np.ndarray, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """exp(A dt) and φ(A dt) B dt for A (..., n, n) and B (..., n, m); NaN where one of them is not finite."""
    n, m = B.shape[-2:]
    flat, beside = A.reshape(-1, n, n), B.reshape(-1, n, m)
    after, by_input = np.empty(flat.shape, flat.dtype), np.empty(beside.shape, beside.dtype)
    size = max(1, min(len(flat), CHUNK // max(1, 8 * n * n)))
    room = Room(size, n)
    with np.errstate(all="ignore"):
        norm = norms(flat, size) * dt
        for chunk, degree, width in chunks(norm, size):
            X = np.multiply(flat[chunk], dt, dtype=float)
            exponential, integral = room.scaled_and_squared(X, norm[chunk], degree, width)
            driven = integral @ np.multiply(beside[chunk], dt, dtype=float)
            if not (np.isfinite(exponential).all() and np.isfinite(driven).all()):
                blank = ~(np.isfinite(exponential).all(axis=(-2, -1)) & np.isfinite(driven).all(axis=(-2, -1)))
                exponential[blank], driven[blank] = np.nan, np.nan
            after[chunk], by_input[chunk] = exponential, driven
    return after.reshape(A.shape), by_input.reshape(B.shape)


def norms(matrices: np.ndarray, size: int) -> np.ndarray:
    """The 1-norms, the largest sums of a column."""
    result = np.empty(len(matrices))
    for start in range(0, len(matrices), size):
        part = slice(start, start + size)
        result[part] = np.abs(matrices[part]).sum(axis=-2, dtype=float).max(axis=-1, initial=0.0)
    return result


def chunks(norm: np.ndarray, size: int) -> Iterator[tuple[np.ndarray, int, int]]:
    """Which matrices are worked on together, in the order of their norms, with the degree and width of their series."""
    order = np.argsort(norm)  # those that are not finite come last
    ends = np.searchsorted(norm[order], [high for _, _, high in DEGREES[:-1]], side="right")
    for (degree, width, _), first, last in zip(DEGREES, [0, *ends], [*ends, len(order)], strict=True):
        for start in range(first, last, size):
            yield order[start : min(start + size, last)], degree, width


class Room:
    """Memory for so many matrices. New memory for each product would take longer than the products."""

    def __init__(self, count: int, n: int) -> None:
        self.powers, self.terms = np.empty((2, count * WIDEST, n, n))
        self.high, self.G, self.sum, self.product = np.empty((4, count, n, n))
        self.one = np.eye(n)

    def scaled_and_squared(
        self, X: np.ndarray, norm: np.ndarray, degree: int, width: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """exp(X) and φ(X), valid until the next call. The matrices are in the order of their norms; X is changed."""
        halvings = np.where(np.isfinite(norm), np.maximum(0, np.ceil(np.log2(norm / LARGEST))), 0.0).astype(int)
        if halvings.any():
            X *= (0.5**halvings)[:, None, None]
        integral = self.series(X, degree, width)
        G = np.matmul(X, integral, out=self.G[: len(X)])
        for k in range(int(halvings.max(initial=0))):
            more = slice(int(np.argmax(halvings > k)), None)
            product = self.product[: len(X)][more]
            np.matmul(integral[more], G[more], out=product)
            product *= 0.5
            integral[more] += product
            np.matmul(G[more], G[more], out=product)
            G[more] *= 2.0
            G[more] += product
        G += self.one
        return G, integral

    def series(self, X: np.ndarray, degree: int, width: int) -> np.ndarray:
        """Σ X^k / (k + 1)!, for k to the degree."""
        factors = np.array([1.0 / factorial(k + 1) for k in range(degree + 1)]).reshape(-1, width)
        count, n, rows = len(X), X.shape[-1], len(factors)
        powers = self.powers[: count * width].reshape(count, width, n, n)
        powers[:, 0], powers[:, 1] = self.one, X
        for k in range(2, width):
            np.matmul(powers[:, k - 1], X, out=powers[:, k])
        high = np.matmul(powers[:, -1], X, out=self.high[:count])
        terms = self.terms[: count * rows].reshape(count, rows, n, n)
        np.matmul(factors, powers.reshape(count, width, n * n), out=terms.reshape(count, rows, n * n))
        result, product = terms[:, -1], self.product[:count]
        for k in reversed(range(rows - 1)):
            np.matmul(result, high, out=product)
            result = np.add(product, terms[:, k], out=self.sum[:count])
        return result
