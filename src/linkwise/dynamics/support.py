"""A robot on a free joint that stands on its contacts: what drives and contacts must do for a motion.

    t = I q̈ + bias           what the motion takes, contacts and drives together
    τ + Kᵀ f = t             K: rows of Jacobians of the contacts; f: what the ground exerts on them        (1)
    G f = t_b                the rows of (1) at the free joint, which nothing drives; G is 6 × m            (2)
    f = Gᵀ (G Gᵀ)⁺ t_b       the solution of least length                                                   (3)

What contacts cannot give, such as a moment about the line through two feet, is left over: t_b - G f.

A quadratic program for f adds what contacts can exert and what drives can hold. With the normal n of the ground, s and
t along it, and μ the coefficient of friction, the pyramid in the cone of friction is

    n·f ≥ f_min      ± s·f ≤ μ/√2 n·f      ± t·f ≤ μ/√2 n·f                                                 (4)
    -τ_max ≤ t - Kᵀ f ≤ τ_max                                                                               (5)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..spatial import add, sub
from ..spatial.dense import Column, Dense, apply, product, transposed
from .constrained import differences
from .rank import Gram

UNBOUNDED = 1e30  # what solvers of quadratic programs take for infinity


class Support(NamedTuple):
    tau: Column  # zero at the free joint
    forces: Column
    missing: Column  # at the free joint


def least_forces(needed: Column, jacobian: Dense, base: slice) -> Support:
    """(3) of t and K; `base` is the free joint."""
    G = transposed(jacobian)[base]
    pull = Gram.of(product(G, transposed(G))).solve(needed[base])
    forces = apply(transposed(G), pull)  # (3)
    tau = differences(needed, apply(transposed(jacobian), forces))  # (1)
    missing, tau[base] = tau[base], [0.0] * 6
    return Support(tau, forces, missing)


class Bounds(NamedTuple):
    """lower ≤ A f ≤ upper."""

    A: Dense
    lower: Column
    upper: Column


def friction_bounds(
    needed: Column, jacobian: Dense, base: slice, limits: Sequence[float], pyramid: Dense, least: float
) -> Bounds:
    """(2), (4) for contacts of three rows, (5) for the joints with limits.

    `pyramid` are n, then ± s - μ/√2 n and ± t - μ/√2 n; `limits` are τ_max, infinite without one.
    """
    columns, width = transposed(jacobian), len(jacobian)
    A, lower, upper = columns[base], needed[base], needed[base]  # (2)
    for first in range(0, width, 3):
        A = [*A, *([*[0.0] * first, *row, *[0.0] * (width - first - 3)] for row in pyramid)]
        lower, upper = [*lower, least, *[-UNBOUNDED] * 4], [*upper, UNBOUNDED, *[0.0] * 4]  # (4)
    driven = limited(limits, base)
    A = [*A, *(columns[k] for k in driven)]
    lower = [*lower, *(sub(needed[k], limits[k]) for k in driven)]
    upper = [*upper, *(add(needed[k], limits[k]) for k in driven)]  # (5)
    return Bounds(A, lower, upper)


def limited(limits: Sequence[float], base: slice) -> list[int]:
    """The joints with limits."""
    return [k for k, limit in enumerate(limits) if not base.start <= k < base.stop and limit < UNBOUNDED]
