"""Rows in which a joint is near rest, where friction is not what the law says.

A drive at rest holds any torque up to that at which it breaks loose, and just above it friction falls before it grows.
No law of viscous and Coulomb friction has that, so that such rows are worse than others by several times on most arms.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..robot import Robot
from .factors import Factors
from .least_squares import Solution, least_squares
from .preparing import Motion
from .text import percent

SHARE = 0.1  # of the root mean square of a joint's rate: below it is near rest
WORSE = 2.0  # times the residuals of other rows: rows near rest are left out
ENOUGH = 8  # rows near rest, to tell
ROUNDING = 1e-6  # of a joint's torques: smaller residuals tell nothing
MOVING = 0.2  # of a joint's rows, at least, are in motion


def slow_speeds(motions: Sequence[Motion]) -> np.ndarray:
    """Of each joint the rate below which it is near rest: (n,)."""
    squares = np.concatenate([motion.qd**2 for motion in motions])
    return np.asarray(SHARE * np.sqrt(squares.mean(axis=0)))


def without_rest(
    fast: Factors, slow: Factors, nominal: np.ndarray, weighted: bool
) -> tuple[Factors, Solution, np.ndarray]:
    """All rows but those near rest of joints where these are much worse than others, the fit, and those ratios (n,).

    The ratio is 0 for a joint of which all rows are kept. Rows that the rank depends on are kept.
    """
    joints = range(fast.joints)
    every = fast.with_rows_of(slow, joints)
    solution = least_squares(every, nominal, weighted)
    judge = solution  # or, better, what rows in motion say alone
    if sum(map(fast.samples, joints)) >= 2 * fast.columns:
        alone = least_squares(fast, nominal, weighted)
        judge = alone if alone.rank >= solution.rank else solution
    ratios = np.zeros(fast.joints)
    for j in joints:
        few, many = slow.samples(j), fast.samples(j)
        if few >= ENOUGH and many >= MOVING * (few + many):
            near, other = slow.errors(j, judge.x) / few, fast.errors(j, judge.x) / many
            if near > (ROUNDING * every.variation(j)[0]) ** 2:
                ratios[j] = np.sqrt(near / other) if other > 0.0 else 0.0
    ratios = np.where(ratios > WORSE, ratios, 0.0)
    if not ratios.any():
        return every, solution, ratios
    chosen = fast.with_rows_of(slow, [j for j in joints if not ratios[j]])
    if sum(map(chosen.samples, joints)) < 2 * chosen.columns:
        return every, solution, np.zeros(fast.joints)
    again = least_squares(chosen, nominal, weighted)
    if again.rank < solution.rank:
        return every, solution, np.zeros(fast.joints)
    return chosen, again, ratios


def notes_on_rest(robot: Robot, slow: Factors, fast: Factors, speeds: np.ndarray, ratios: np.ndarray) -> list[str]:
    names = [f"{name} (below {v:.2g})" for name, v, x in zip(robot.v_names, speeds, ratios, strict=True) if x]
    if not names:
        return []
    rows = [j for j in range(robot.n) if ratios[j]]
    share = sum(map(slow.samples, rows)) / sum(slow.samples(j) + fast.samples(j) for j in rows)
    worst = f"up to {ratios.max():.2g} times" if len(names) > 1 else f"{ratios.max():.2g} times"
    return [
        f"rows near rest are left out: {', '.join(names)}; {percent(share)} of the rows there, with residuals {worst}"
        " those of the others: friction at rest is not what the law says (minimum_speed=0 keeps them)"
    ]
