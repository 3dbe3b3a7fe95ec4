"""Pieces of a trajectory, each with one formula or one for each interval; value, rate and acceleration from the same.

    q(t)  = q(0) + (q(T) − q(0)) [s − sin(2πs) / 2π],   s = t / T      cycloid, [Saha99] eqs. (38), (39)
    q(t)  = Σ c_k sᵏ,   s = (t − t_j) / (t_{j+1} − t_j)                 polynomials between knots

The amplitude of the cycloid is that which reaches its end, (q(T) − q(0)) / 2π. Eq. (38) prints 1/2, which turns a joint
by π; eq. (39) prints 1/2 too, where its stated ends (60 deg, 0.1 m) need 1/6, −1/12 and 0.1/2π.

Times may be nodes of a graph: `choice` takes the place of looking up the interval.

Of robots with quaternions pieces give q (nq numbers) and its exact rates (n):

    q(t) = q(0) (cos α/2, a sin α/2),   ω = α̇ a,   ω̇ = α̈ a            from one orientation to another: axis a is fixed
    q(t) = Q / |Q|,   ω = 2 Im(Q* Q̇) / |Q|²,                            through many: Q(t) by polynomials, each of its
                      ω̇ = 2 Im(Q* Q̈) / |Q|² - 2 ω (Q · Q̇) / |Q|²       four components by itself

The first is the shortest way, at a rate that is the profile's; positions move along a straight line meanwhile. The
second has as many continuous derivatives as Q, and does not depend on the axes in which orientations are given: turning
them all multiplies Q by a constant. Of the two quaternions of each point that nearer to the point before is taken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..api.integration import difference
from ..equality import ComparesArrays
from ..graph import rules
from ..robot import Robot, require_robot
from ..robot.layout import Layout, reorder_columns, zero_quaternion_message
from ..spatial import cos, dot_product, quaternion_product, quaternion_rate, sin, sqrt
from .checks import Floats, both_ends, frozen, numbers

AT_REST = "at rest: for another motion give points or a table with rates"

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


class PositionsRatesAccelerations(NamedTuple):
    q: Any
    qd: Any
    qdd: Any


class JointMotion(ComparesArrays, PositionsRatesAccelerations):
    """Positions, rates and accelerations of the joints, each (..., n): `lw.inverse_dynamics(robot, *trajectory(t))`."""


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


class Way(NamedTuple):
    """From one configuration to another, in coordinates in which that is a straight line."""

    first: Floats
    last: Floats
    change: Floats  # (n,), to which rates are proportional on the way
    layout: Layout | None = None  # of the robot, where one was given
    starts: tuple[Floats, ...] = ()  # quaternions
    axes: tuple[Floats, ...] = ()

    @staticmethod
    def between(start: Any, end: Any, robot: Robot | None) -> Way:
        if robot is not None:
            start, end = reorder_columns(robot, "start", start), reorder_columns(robot, "end", end)
        first, last = both_ends(start, end)
        if robot is None:
            return Way(first, last, last - first)
        layout = layout_of(robot)
        first, last = (configurations(x, name, robot) for x, name in ((first, "start"), (last, "end")))
        if not layout.quaternions:
            return Way(first, last, last - first, layout)
        places, change = [p for p, _ in layout.plain], difference(robot, first, last)
        turns = [change[v : v + 3] for _, v in layout.quaternions]
        angles = [math.hypot(*turn) for turn in turns]
        axes = tuple(frozen(turn / (angle or 1.0)) for turn, angle in zip(turns, angles, strict=True))
        starts = tuple(frozen(first[p : p + 4]) for p, _ in layout.quaternions)
        begin, until = [*first[places], *(0.0 for _ in angles)], [*last[places], *angles]
        return Way(frozen(begin), frozen(until), change, layout, starts, axes)

    def at_ends(self, values: Floats, name: str) -> Floats:
        """Rates and the like at an end, given for each degree of freedom, in these coordinates."""
        if not self.starts or self.layout is None:
            return values
        for _, v in self.layout.quaternions:
            for k in range(v, v + 3):
                if values[k] != 0.0:
                    raise ValueError(f"{name} of {self.layout.v_names[k]!r} is {values[k]:g} (expected 0, {AT_REST})")
        return np.array([*(values[v] for _, v in self.layout.plain), *(0.0 for _ in self.starts)])

    def piece(self, straight: Piece) -> Piece:
        return Turning(straight, self.layout, self.starts, self.axes) if self.starts and self.layout else straight


@dataclass(frozen=True, eq=False)
class Carried:
    """A piece that follows another one, in a robot's coordinates."""

    line: Piece
    layout: Layout

    @property
    def duration(self) -> float:
        return self.line.duration

    @property
    def n(self) -> int:
        return self.layout.n

    @property
    def formulas(self) -> int:
        return self.line.formulas


@dataclass(frozen=True, eq=False)
class Turning(Carried):
    """About a fixed axis each: the last coordinates of the motion along the line are angles."""

    starts: tuple[Floats, ...]
    axes: tuple[Floats, ...]

    def at(self, t: Any) -> JointMotion:
        line = self.line.at(t)
        parts = Parts(self.layout, line, range(len(self.layout.plain)))
        for k, (p, v) in enumerate(self.layout.quaternions, len(self.layout.plain)):
            start, axis = (x[k - len(self.layout.plain)].tolist() for x in (self.starts, self.axes))
            half = 0.5 * line.q[..., k]
            cosine, sine = cos(half), sin(half)
            turned = quaternion_product(start, (cosine, *(a * sine for a in axis)))
            parts.put(p, v, turned, *([a * x[..., k] for a in axis] for x in (line.qd, line.qdd)))
        return parts.motion()


class Normalized(Carried):
    """Along polynomials for all numbers of q; quaternions are divided by their lengths."""

    def at(self, t: Any) -> JointMotion:
        curve = self.line.at(t)
        parts = Parts(self.layout, curve, [p for p, _ in self.layout.plain])
        for p, v in self.layout.quaternions:
            Q, rate, acceleration = ([x[..., p + i] for i in range(4)] for x in curve)
            conjugate = (Q[0], -Q[1], -Q[2], -Q[3])
            square = dot_product(Q, Q)
            spin = [2.0 * x / square for x in quaternion_product(conjugate, rate)[1:]]
            faster = [2.0 * x / square for x in quaternion_product(conjugate, acceleration)[1:]]
            growth = 2.0 * dot_product(Q, rate) / square
            unit = [x / sqrt(square) for x in Q]
            parts.put(p, v, unit, spin, [x - growth * w for x, w in zip(faster, spin, strict=True)])
        return parts.motion()


class Parts:
    """The columns of a motion, put together; plain coordinates are those of another motion, at these places."""

    def __init__(self, layout: Layout, motion: JointMotion, places: Sequence[int]) -> None:
        self.columns: list[dict[int, Any]] = [{}, {}, {}]
        for (p, v), place in zip(layout.plain, places, strict=True):
            self.put(p, v, *([x[..., place]] for x in motion))

    def put(self, p: int, v: int, *parts: Any) -> None:
        for columns, start, values in zip(self.columns, (p, v, v), parts, strict=True):
            columns.update(enumerate(values, start))

    def motion(self) -> JointMotion:
        return JointMotion(
            *(np.stack(np.broadcast_arrays(*(c[k] for k in range(len(c)))), axis=-1) for c in self.columns)
        )


def layout_of(robot: Any) -> Layout:
    require_robot(robot, "robot", ", whose configurations these are")
    return Layout.of(robot)


def configurations(values: Any, name: str, robot: Robot, dims: int = 1) -> Floats:
    """Configurations of the robot, (nq,) or (m, nq); quaternions of unit length, near to those of the row before."""
    array = np.array(numbers(reorder_columns(robot, name, values), name, dims))
    if array.shape[-1] != robot.nq:
        expected = f"{robot.nq} for robot {robot.name!r}: {', '.join(robot.q_names)}"
        raise ValueError(f"{name} has {array.shape[-1]} numbers (expected {expected})")
    for p in robot.quaternions:
        part = array[..., p : p + 4]
        length = np.sqrt((part * part).sum(axis=-1, keepdims=True))
        if not (length > 0.0).all():
            at = [*map(int, np.argwhere(length[..., 0] == 0.0)[0]), p]
            raise ValueError(zero_quaternion_message(robot, f"{name}{at}", p))
        part /= length
        if dims == 2:
            part[1:] *= np.cumprod(np.where((part[1:] * part[:-1]).sum(axis=-1) < 0.0, -1.0, 1.0))[:, None]
    return frozen(array)


def with_rates(layout: Layout, q: Floats, *rates: Floats) -> Floats:
    """q, q̇ and q̈ from configurations (m, nq), rates and accelerations (m, n), as far as they are given."""
    derivatives = np.zeros((1 + len(rates), *q.shape))
    derivatives[0] = q
    for p, v in layout.plain:
        for k, x in enumerate(rates, 1):
            derivatives[k, :, p] = x[:, v]
    for p, v in layout.quaternions:
        Q = list(q[:, p : p + 4].T)
        spin, *faster = ([x[:, v + i] for i in range(3)] for x in rates)
        first = quaternion_rate(Q, spin)
        derivatives[1, :, p : p + 4] = np.transpose(first)
        for own in faster:
            both = zip(quaternion_rate(first, spin), quaternion_rate(Q, own), strict=True)
            derivatives[2, :, p : p + 4] = np.transpose([a + b for a, b in both])
    return derivatives
