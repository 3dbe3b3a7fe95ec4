"""exp(M) of many matrices at once: scaling and squaring with Padé approximants of degree 3 to 13.

Higham, The scaling and squaring method for the matrix exponential revisited, SIAM J. Matrix Anal. Appl. 26 (2005): the
degree m is good to 2⁻⁵³ for matrices of 1-norm at most θ_m; beyond θ_13 exp(M) = exp(M / 2^s)^(2^s).
"""

from __future__ import annotations

import numpy as np

THETA = {  # by the degree
    3: 1.495585217958292e-2,
    5: 2.539398330063230e-1,
    7: 9.504178996162932e-1,
    9: 2.097847961257068,
    13: 5.371920351148152,
}


def matrix_exponential(matrices: np.ndarray) -> np.ndarray:
    """exp of each matrix of (..., n, n); NaN where a matrix is not finite, or its exponential is not."""
    matrices = np.asarray(matrices, dtype=float)
    shape = matrices.shape
    flat = matrices.reshape(-1, *shape[-2:])
    result = np.full(flat.shape, np.nan)
    norm = np.abs(flat).sum(axis=-2).max(axis=-1, initial=0.0)
    low = -1.0
    for degree, theta in THETA.items():
        high = theta if degree < 13 else np.inf
        here = np.flatnonzero((norm > low) & (norm <= high) & np.isfinite(norm))
        low = high
        if len(here):
            result[here] = scaled_and_squared(flat[here], norm[here], degree)
    result[~np.isfinite(result).all(axis=(-2, -1))] = np.nan
    return result.reshape(shape)


def scaled_and_squared(M: np.ndarray, norm: np.ndarray, degree: int) -> np.ndarray:
    with np.errstate(all="ignore"):
        squarings = np.maximum(0, np.ceil(np.log2(norm / THETA[13]))).astype(int) if degree == 13 else 0 * norm
        result = pade(M / 2.0 ** squarings[:, None, None], degree)
        for k in range(int(squarings.max(initial=0))):
            more = squarings > k
            result[more] = result[more] @ result[more]
    return result


def pade(M: np.ndarray, degree: int) -> np.ndarray:
    """The approximant (V - U)⁻¹ (V + U): U and V are the odd and even terms of Σ b_k M^k."""
    b = coefficients(degree)
    powers = [np.broadcast_to(np.eye(M.shape[-1]), M.shape), M @ M]  # M⁰, M², M⁴, ...
    while len(powers) <= (3 if degree == 13 else degree // 2):
        powers.append(powers[-1] @ powers[1])
    U = terms(b[1:9:2], powers) if degree == 13 else terms(b[1::2], powers)
    V = terms(b[0:8:2], powers) if degree == 13 else terms(b[0::2], powers)
    if degree == 13:
        U = U + powers[3] @ terms(b[9::2], powers[1:])
        V = V + powers[3] @ terms(b[8::2], powers[1:])
    U = M @ U
    return np.asarray(np.linalg.solve(V - U, V + U))


def coefficients(degree: int) -> list[float]:
    """Of the numerator, b_0 to b_m: b_k / b_{k-1} = (m - k + 1) / (k (2m - k + 1)), with b_0 = 1."""
    b = [1.0]
    for k in range(1, degree + 1):
        b.append(b[-1] * (degree - k + 1) / (k * (2 * degree - k + 1)))
    return b


def terms(factors: list[float], powers: list[np.ndarray]) -> np.ndarray:
    return np.asarray(sum(x * power for x, power in zip(factors, powers, strict=True)))
