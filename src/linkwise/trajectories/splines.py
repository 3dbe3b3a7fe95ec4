"""Rates of cubic splines at their knots."""

from __future__ import annotations

import numpy as np

from .checks import Floats


def spline_rates(knots: Floats, values: Floats) -> Floats:
    """Rates at the knots of the cubic spline whose rates at the ends are those of cubics through four points there."""
    k = min(4, len(knots))
    first, last = (end_rate(knots[side], values[side]) for side in (slice(None, k), slice(None, -k - 1, -1)))
    return rates_at_knots(knots, values, "clamped", (first, last))


def end_rate(knots: Floats, values: Floats) -> Floats:
    """The rate at the first knot of the polynomial through all of them, by divided differences."""
    table, product = values, 1.0
    rate: Floats = np.zeros_like(values[0])
    for k in range(1, len(knots)):
        table = np.diff(table, axis=0) / (knots[k:] - knots[:-k])[:, None]
        rate = rate + product * table[0]
        product = product * (knots[0] - knots[k])
    return rate


def rates_at_knots(
    knots: Floats, values: Floats, ends: str, rates: tuple[Floats | float, Floats | float] = (0.0, 0.0)
) -> Floats:
    """Rates (m, n) of the spline through values; `rates` are those at clamped ends."""
    h = np.diff(knots)
    slope = np.diff(values, axis=0) / h[:, None]
    if ends == "periodic":
        h, slope = np.append(h[-1], h), np.concatenate([slope[-1:], slope])
    before, here, after = h[1:], 2.0 * (h[:-1] + h[1:]), h[:-1]
    right = 3.0 * (h[1:, None] * slope[:-1] + h[:-1, None] * slope[1:])
    if ends == "periodic":
        inner = solve_cyclic(before, here, after, right)
        return np.concatenate([inner, inner[:1]])
    first, last = ((1.0, 0.0), (0.0, 1.0)) if ends == "clamped" else ((2.0, 1.0), (1.0, 2.0))
    edges = (3.0 * slope[:1], 3.0 * slope[-1:])
    if ends == "clamped":
        edges = (0.0 * slope[:1] + rates[0], 0.0 * slope[:1] + rates[1])
    return solve_tridiagonal(
        np.concatenate([[0.0], before, last[:1]]),
        np.concatenate([first[:1], here, last[1:]]),
        np.concatenate([first[1:], after, [0.0]]),
        np.concatenate([edges[0], right, edges[1]]),
    )


def solve_tridiagonal(before: Floats, here: Floats, after: Floats, right: Floats) -> Floats:
    """before[j] x[j−1] + here[j] x[j] + after[j] x[j+1] = right[j], rows (n,): diagonally dominant, so no pivoting."""
    factors, rows = [after[0] / here[0]], [right[0] / here[0]]
    for j in range(1, len(here)):
        pivot = here[j] - before[j] * factors[-1]
        factors.append(after[j] / pivot)
        rows.append((right[j] - before[j] * rows[-1]) / pivot)
    for j in reversed(range(len(here) - 1)):
        rows[j] = rows[j] - factors[j] * rows[j + 1]
    return np.array(rows)


def solve_cyclic(before: Floats, here: Floats, after: Floats, right: Floats) -> Floats:
    """Solve the cyclic system: before[0] multiplies the last unknown, after[-1] the first.

    The others are solved in terms of the last unknown, which follows from the last equation.
    """
    if len(here) == 2:
        ring = np.array([[here[0], before[0] + after[0]], [before[1] + after[1], here[1]]])
        return np.linalg.solve(ring, right)
    effect = np.zeros((len(here) - 1, 1))
    effect[0, 0], effect[-1, 0] = before[0], after[-2]
    both = solve_tridiagonal(before[:-1], here[:-1], after[:-1], np.concatenate([right[:-1], effect], axis=1))
    without, share = both[:, :-1], both[:, -1:]
    last = (right[-1] - before[-1] * without[-1] - after[-1] * without[0]) / (
        here[-1] - before[-1] * share[-1] - after[-1] * share[0]
    )
    return np.concatenate([without - share * last, last[None]])
