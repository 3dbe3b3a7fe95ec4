"""Stretches of links, which can be joined in any order: the elements of forward dynamics in O(log n) rounds.

A stretch leads from its head, the link that carries it, to its tail, its own last link. x and y are the accelerations
of head and tail, w is the wrench that the tail bears, v the one that the head bears:

    y = A x + b + Σ f_k z_k      z_k = -d_k f_kᵀ w      v = J x + p + Aᵀ w                                   (1)

Nothing more need be known of the joints on the way: seen from its tail, a stretch of any length is a rigid link behind
six joints with the axes f_k, which move nothing but rotors of the inertias 1 / d_k. So what hangs on stretch 1, stretch
2, is freed from the joints of 1 as an articulated body is, from J⁶ = J_2 and p⁶ = p_2 inward:

    U_k = J^k f_k      g_k = d_k / (1 + d_k f_kᵀ U_k)      u_k = f_kᵀ p^k                                    (2)
    J^(k-1) = J^k - U_k g_k U_kᵀ      p^(k-1) = p^k - U_k g_k u_k                                            (3)
    J = J_1 + A_1ᵀ J⁰ A_1             p = p_1 + A_1ᵀ (p⁰ + J⁰ b_1)                                           (4)
and outward, from what comes along 1 to where 2 begins:
    y⁰ = A_1 x + b_1      z_k = ζ_k - g_k (U_kᵀ y^(k-1) + u_k)      y^k = y^(k-1) + f_k z_k                  (5)
    A = A_2 y⁶ for y⁰ the columns of A_1, u = ζ = 0      b = b_2 + A_2 y⁶ for x = 0, ζ = 0                   (6)
    the axes of 1 in the joined stretch: A_2 y⁶ for y^k = f_k, u = ζ = 0, with d_k = g_k; then those of 2    (7)

ζ is z of the axes (7). More than six of them, F with D, become six by the weighted Gram-Schmidt process of factorized
Kalman filters (Thornton 1976):

    F = L R,   R D Rᵀ = D',   L unit lower triangular:   F D Fᵀ = L D' Lᵀ,   ζ = D Rᵀ D'⁻¹ z                 (8)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..spatial import Scalar, Scalars, Twist, Vector, Wrench, add, dot_product, mul, power, reciprocal, sign, sub
from .articulated import Freed
from .columns import Columns, passed, returned, seen

STILL = (0.0,) * 6
NOTHING = 1e-30  # far below the mobility of any body: what is left there is rounding, and has no reciprocal


class Axis(NamedTuple):
    screw: Twist  # f
    mobility: Scalar  # d


class Stretch(NamedTuple):
    head: Freed  # J, p
    passage: Columns  # A
    drift: Twist  # b
    axes: tuple[Axis, ...]


class Pivot(NamedTuple):
    screw: Twist  # f
    column: Wrench  # U
    gain: Scalar  # g
    torque: Scalar  # u


class Seam(NamedTuple):
    """Where two stretches were joined."""

    passage: Columns  # A_1
    drift: Twist  # b_1
    pivots: tuple[Pivot, ...]
    shares: tuple[tuple[Scalar, ...], ...]  # the rows of D'⁻¹ R D


def series(near: Stretch, far: Stretch) -> tuple[Seam, Stretch]:
    freed, bias = far.head.inertia, far.head.bias
    pivots: list[Pivot] = []
    for screw, mobility in reversed(near.axes):
        column, u = freed @ screw, power(screw, bias)
        gain = mobility / add(1.0, mul(mobility, power(screw, column)))  # (2)
        freed, bias = freed.less(column, column * gain), bias - column * mul(gain, u)  # (3)
        pivots.insert(0, Pivot(screw, column, gain, u))
    head = Freed(seen(near.passage, freed), returned(near.passage, bias + freed @ near.drift)) + near.head  # (4)
    passage = tuple(passed(far.passage, carried(pivots, x)) for x in near.passage)
    drift = passed(far.passage, settled(pivots, near.drift, STILL)[0]) + far.drift  # (6)
    screws = [carried(pivots[k:], pivot.screw) for k, pivot in enumerate(pivots, 1)]
    axes = [Axis(passed(far.passage, f), pivot.gain) for f, pivot in zip(screws, pivots, strict=True)]  # (7)
    six, shares = condensed([*axes, *far.axes])
    return Seam(near.passage, near.drift, tuple(pivots), shares), Stretch(head, passage, drift, six)


def beside(one: Stretch, leaf: Stretch) -> Stretch:
    """Two on one head; beyond a leaf there is nothing."""
    return one._replace(head=one.head + leaf.head)


def between(seam: Seam, x: Twist, z: Scalars) -> tuple[Twist, tuple[Scalar, ...], tuple[Scalar, ...]]:
    """The acceleration where two stretches meet, and z of both."""
    if seam.shares:
        z = [dot_product(z[:6], column) for column in zip(*seam.shares, strict=True)]  # (8)
    y, own = settled(seam.pivots, passed(seam.passage, x) + seam.drift, z)
    return y, tuple(own), tuple(z[len(seam.pivots) :])


def settled(pivots: Sequence[Pivot], y: Twist, z: Scalars) -> tuple[Twist, list[Scalar]]:
    """y⁶ and z of (5)."""
    own: list[Scalar] = []
    for pivot, pushed in zip(pivots, z, strict=False):
        own.append(sub(pushed, mul(pivot.gain, add(power(y, pivot.column), pivot.torque))))
        y = y + pivot.screw * own[-1]
    return y, own


def carried(pivots: Sequence[Pivot], y: Twist) -> Twist:
    """y⁶ of (5) for u = ζ = 0."""
    for pivot in pivots:
        y = y - pivot.screw * mul(pivot.gain, power(y, pivot.column))
    return y


def condensed(axes: Sequence[Axis]) -> tuple[tuple[Axis, ...], tuple[tuple[Scalar, ...], ...]]:
    """(8); where a row of R vanishes, as in a plane, d = 0."""
    if len(axes) <= 6:
        return tuple(axes), ()
    six, shares, rows = [], [], [list(row) for row in zip(*(axis.screw for axis in axes), strict=True)]
    while rows:
        row, *rows = rows
        weighted = [mul(f, axis.mobility) for f, axis in zip(row, axes, strict=True)]
        size = dot_product(row, weighted)
        inverse = reciprocal(add(size, sub(1.0, sign(sub(size, NOTHING)))))  # 1/2, where there is nothing to divide by
        share = [mul(x, inverse) for x in weighted]
        factors = [dot_product(other, share) for other in rows]
        rows = [[sub(x, mul(l, y)) for x, y in zip(o, row, strict=True)] for l, o in zip(factors, rows, strict=True)]
        x, y, z, *linear = [0.0] * (5 - len(rows)) + [1.0] + factors
        six.append(Axis(Twist(Vector(x, y, z), Vector(*linear)), size))
        shares.append(tuple(share))
    return tuple(six), tuple(shares)
