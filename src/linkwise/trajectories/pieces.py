"""Pieces of a trajectory, each with one formula or one for each interval; value, rate and acceleration from the same.

    q(t)  = q(0) + (q(T) − q(0)) [s − sin(2πs) / 2π],   s = t / T      cycloid, [Saha99] eqs. (38), (39)
    q(t)  = Σ c_k sᵏ,   s = (t − t_j) / (t_{j+1} − t_j)                 polynomials between knots

The amplitude of the cycloid is that which reaches its end, (q(T) − q(0)) / 2π. Eq. (38) prints 1/2, which turns a joint
by π; eq. (39) prints 1/2 too, where its stated ends (60 deg, 0.1 m) need 1/6, −1/12 and 0.1/2π.

Times may be nodes of a graph: `choice` takes the place of looking up the interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..graph import rules
from ..robot.layout import Layout
from .checks import Floats, frozen

# The upper half of the coefficients of the polynomial in s that has the change Δ of its value from s = 0 to 1 and, at
# both ends, given derivatives: a row for each, of the factors of Δ, rate(0), rate(1), acceleration(0), ..., jerk(1).
HERMITE = {
    2: ((3, -2, -1), (-2, 1, 1)),
    3: (
        (10, -6, -4, -3 / 2, 1 / 2),
        (-15, 8, 7, 3 / 2, -1),
        (6, -3, -3, -1 / 2, 1 / 2),
    ),
    4: (
        (35, -20, -15, -5, 5 / 2, -2 / 3, -1 / 6),
        (-84, 45, 39, 10, -7, 1, 1 / 2),
        (70, -36, -34, -15 / 2, 13 / 2, -2 / 3, -1 / 2),
        (-20, 10, 10, 2, -2, 1 / 6, 1 / 6),
    ),
}


class JointMotion(NamedTuple):
    """Positions, rates and accelerations of the joints, each (..., n): `lw.inverse_dynamics(arm, *trajectory(t))`."""

    q: Any
    qd: Any
    qdd: Any

    def columns(self, t: Floats, layout: Layout) -> dict[str, Floats]:
        """The columns of a table: t, q1, q2, ..., qd1, ..., qdd1, ..."""
        columns = {"t": t}
        for word, values in self._asdict().items():
            columns |= dict(zip(layout.columns(word), values.T, strict=True))
        return columns


class Piece(Protocol):
    """A stretch of a trajectory with a formula of its own, in its own time from 0 to its duration."""

    @property
    def duration(self) -> float: ...
    @property
    def n(self) -> int: ...
    @property
    def formulas(self) -> int:
        """How many follow one another."""
        ...

    def at(self, t: Any) -> JointMotion: ...


@dataclass(frozen=True, eq=False)
class Cycloid:
    start: Floats  # (n,)
    change: Floats
    duration: float
    formulas = 1

    @property
    def n(self) -> int:
        return len(self.start)

    def at(self, t: Any) -> JointMotion:
        turn, rate = 2.0 * math.pi, self.change / self.duration
        s = t[..., None] / self.duration
        sine, cosine = np.sin(turn * s), np.cos(turn * s)
        return JointMotion(
            self.start + self.change * (s - sine / turn),
            rate * (1.0 - cosine),
            turn / self.duration * rate * sine,
        )


@dataclass(frozen=True, eq=False)
class Polynomials:
    """A polynomial between any two knots, in s that runs from 0 to 1 there. At a knot, the later one holds."""

    knots: Floats  # (m + 1,)
    coefficients: Floats  # (m, degree + 1, n), lowest power first

    @property
    def duration(self) -> float:
        return float(self.knots[-1])

    @property
    def n(self) -> int:
        return int(self.coefficients.shape[-1])

    @property
    def formulas(self) -> int:
        return len(self.coefficients)

    def at(self, t: Any) -> JointMotion:
        """Horner's scheme, for the value and at once for its first derivative and half its second."""
        begin, width, coefficients = (
            at_knots(t, self.knots, values)
            for values in (self.knots[:-1, None], np.diff(self.knots)[:, None], self.coefficients)
        )
        s = (t[..., None] - begin) / width
        *lower, value = np.moveaxis(coefficients, -2, 0)
        rate, half = np.zeros_like(value), np.zeros_like(value)
        for coefficient in reversed(lower):
            half, rate, value = half * s + rate, rate * s + value, value * s + coefficient
        return JointMotion(value, rate / width, 2.0 * half / width**2)


def at_knots(t: Any, knots: Floats, values: Floats) -> Any:
    """Of values (m, ...), those between the knots around each time: (..., ...). Before and after, the outermost."""
    last = len(values) - 1
    if t.dtype != object or last == 0:
        j = 0 if last == 0 else np.clip(np.searchsorted(knots, t, side="right") - 1, 0, last)
        return values[j]
    chosen: Any = values[0]
    inner = t[(..., *[None] * (values.ndim - 1))]
    for knot, later in zip(knots[1:-1], values[1:], strict=True):
        chosen = choice(inner - knot, later, chosen)
    return chosen


CHOICE = np.frompyfunc(rules.select, 3, 1)


def choice(x: Any, a: Any, b: Any) -> Any:
    """a where x ≥ 0, otherwise b, also where x has no value yet."""
    return CHOICE(x, a, b) if x.dtype == object else np.where(x >= 0.0, a, b)


def hermite(knots: Floats, derivatives: Floats) -> Polynomials:
    """Through given values, rates and so on at the knots: (k, m + 1, n) with k of 2, 3, 4 gives degree 2k − 1."""
    count = len(derivatives)
    width = np.diff(knots)[:, None]
    begin, end = ([row * width**k for k, row in enumerate(side)] for side in (derivatives[:, :-1], derivatives[:, 1:]))
    known = [end[0] - begin[0]]  # derivatives by s, at the ends of each interval
    for left, right in zip(begin[1:], end[1:], strict=True):
        known += [left, right]
    lower = [row / math.factorial(k) for k, row in enumerate(begin)]
    upper = [sum(factor * x for factor, x in zip(row, known, strict=True)) for row in HERMITE[count]]
    return Polynomials(frozen(knots), frozen(np.stack([*lower, *upper], axis=1)))
