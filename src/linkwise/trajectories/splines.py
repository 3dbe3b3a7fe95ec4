"""Trajectories through points: the cubic spline with continuous accelerations.

The spline is known by its rates d_j at the knots. With h_j = t_{j+1} − t_j and the slopes m_j = (q_{j+1} − q_j) / h_j,
accelerations that agree at the inner knots mean

    h_j d_{j−1} + 2 (h_{j−1} + h_j) d_j + h_{j−1} d_{j+1} = 3 (h_j m_{j−1} + h_{j−1} m_j)

and the ends add two equations: rates of zero (clamped), accelerations of zero (natural), or rates and accelerations
that agree with each other (periodic). C. de Boor, A Practical Guide to Splines, 1978, chapter IV.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import one_of
from ..robot import Robot
from .checks import Floats, numbers
from .orientations import Normalized, configurations, layout_of
from .pieces import Polynomials, hermite
from .trajectory import Trajectory

ENDS = ("clamped", "natural", "periodic")
ALIKE = 1e-12  # how far apart, relative to the largest, the ends of a periodic spline may be: rounding


def spline(times: Any, points: Any, *, ends: str = "clamped", arm: Robot | None = None) -> Trajectory:
    """The cubic spline through points (m, n) at m increasing times from 0 on: rates and accelerations are continuous.

    `ends` says how it begins and ends: "clamped" at rest, "natural" without acceleration, "periodic" as it began, ready
    to be run again (the last point is then the first). `arm` is the robot, if it has quaternions: points are then
    configurations (m, nq), and orientations follow the spline of their quaternions, divided by its length.

    >>> wave = spline([0, 1, 2], [[0, 0], [1, 2], [0, 0]])
    >>> wave([0, 1, 2]).q
    array([[0., 0.],
           [1., 2.],
           [0., 0.]])
    """
    one_of(ends, ENDS, "ends")
    knots = numbers(times, "times")
    values = numbers(points, "points", dims=2) if arm is None else configurations(points, "points", arm, dims=2)
    if len(knots) != len(values):
        raise ValueError(f"times has {len(knots)} numbers and points has {len(values)} rows (expected a row each)")
    check_times(knots)
    if ends == "periodic":
        check_periodic(values, () if arm is None else arm.quaternions)
    name = f"{ends} spline through {len(knots)} points"
    return through(arm, hermite(knots, np.stack([values, rates_at_knots(knots, values, ends)])), name)


def through(arm: Robot | None, curve: Polynomials, name: str) -> Trajectory:
    """The trajectory of polynomials for all numbers of q."""
    layout = None if arm is None else layout_of(arm)
    turning = layout is not None and bool(layout.quaternions)
    return Trajectory((Normalized(curve, layout) if layout and turning else curve,), name, layout)


def check_times(knots: Floats) -> None:
    if len(knots) < 2:
        raise ValueError(f"times has {len(knots)} number (expected at least two points to move between)")
    if knots[0] != 0.0:
        raise ValueError(f"times[0] is {knots[0]:g} (expected 0, where trajectories begin: subtract it from all)")
    if not (np.diff(knots) > 0.0).all():
        k = int(np.argmin(np.diff(knots) > 0.0)) + 1
        raise ValueError(f"times[{k}] is {knots[k]:.9g}, after {knots[k - 1]:.9g} (expected increasing times)")


def check_periodic(values: Floats, quaternions: tuple[int, ...] = ()) -> None:
    if len(values) < 3:
        raise ValueError(f"points has {len(values)} rows (expected at least three for a periodic spline)")
    for p in quaternions:
        if values[0, p : p + 4] @ values[-1, p : p + 4] < 0.0:
            raise ValueError(
                f"the orientation at q[{p}] turns all the way round, to the opposite quaternion, which a periodic"
                " spline does not (expected other ends, such as 'clamped')"
            )
    apart = np.abs(values[-1] - values[0]) > ALIKE * np.abs(values).max(axis=0)
    if apart.any():
        k = int(np.argmax(apart))
        raise ValueError(
            f"joint {k + 1} starts at {values[0, k]:.9g} and ends at {values[-1, k]:.9g} (a periodic spline must end"
            " where it starts)"
        )


def rates_at_knots(knots: Floats, values: Floats, ends: str) -> Floats:
    h = np.diff(knots)
    slope = np.diff(values, axis=0) / h[:, None]
    if ends == "periodic":
        h, slope = np.append(h[-1], h), np.concatenate([slope[-1:], slope])
    before, here, after = h[1:], 2.0 * (h[:-1] + h[1:]), h[:-1]
    right = 3.0 * (h[1:, None] * slope[:-1] + h[:-1, None] * slope[1:])
    if ends == "periodic":
        rates = solve_cyclic(before, here, after, right)
        return np.concatenate([rates, rates[:1]])
    first, last = ((1.0, 0.0), (0.0, 1.0)) if ends == "clamped" else ((2.0, 1.0), (1.0, 2.0))
    edges = (0.0 * slope[:1], 0.0 * slope[:1]) if ends == "clamped" else (3.0 * slope[:1], 3.0 * slope[-1:])
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
    """The same in a ring, where the first row's `before` belongs to the last unknown and the last row's `after` to the
    first: the last unknown as a parameter, found from the last equation."""
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
