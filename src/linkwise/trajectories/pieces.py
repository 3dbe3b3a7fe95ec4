"""Pieces of a trajectory: formulas for position, rate and acceleration; rates of cubic splines at their knots.

    q(t)  = q(0) + (q(T) − q(0)) [s − sin(2πs) / 2π],   s = t / T      cycloid, [Saha99] eqs. (38), (39)
    q(t)  = Σ c_k sᵏ,   s = (t − t_j) / (t_{j+1} − t_j)                 polynomials between knots

The amplitude of the cycloid that reaches its end is (q(T) − q(0)) / 2π. Eq. (38) prints 1/2, which turns a joint by π;
eq. (39) prints 1/2 too, but its stated ends (60 deg, 0.1 m) need 1/6, −1/12 and 0.1/2π.

Times may be nodes of a graph: `select_by_sign` then replaces the search of the interval.

For robots with quaternions pieces give q (nq numbers) and its exact rates (n):

    q(t) = q(0) (cos α/2, a sin α/2),   ω = α̇ a,   ω̇ = α̈ a            from one orientation to another: axis a is fixed
    q(t) = Q / |Q|,   ω = 2 Im(Q* Q̇) / |Q|²,                            through many: Q(t) by polynomials, each of its
                      ω̇ = 2 Im(Q* Q̈) / |Q|² - 2 ω (Q · Q̇) / |Q|²       four components by itself

The first is the shortest way, with the rate of the profile, while positions move along a straight line. The second has
as many continuous derivatives as Q and does not depend on the axes of the orientations: rotating all of them multiplies
Q by a constant. Of the two quaternions of each point, the one nearer to the previous point is used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..api.kinematics import difference
from ..equality import ComparesArrays
from ..graph import rules
from ..robot import Robot, require_robot
from ..robot.layout import Layout, reorder_columns, zero_quaternion_message
from ..spatial import cos, dot_product, quaternion_product, quaternion_rate, sin, sqrt
from .limits import Floats, end_points, frozen_array, joint_numbers


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


AT_REST = "at rest: for another motion give points or a table with rates"

# The upper half of the coefficients of the polynomial in s with the change Δ from s = 0 to 1 and given derivatives at
# both ends. A row has the factors of Δ, rate(0), rate(1), acceleration(0), ..., jerk(1) for one coefficient.
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
    """Positions (..., nq), rates and accelerations (..., n): `lw.inverse_dynamics(robot, *trajectory(t))`."""


class Piece(Protocol):
    """A part of a trajectory, in its own time from 0 to its duration."""

    @property
    def duration(self) -> float: ...
    @property
    def n(self) -> int: ...
    @property
    def formulas(self) -> int:
        """The number of formulas that follow one another."""
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
    """A polynomial between each two knots, in s from 0 to 1. At a knot the later one holds."""

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
        """Horner's scheme for the value, its first derivative and half its second."""
        begin, width, coefficients = (
            interval_values(t, self.knots, values)
            for values in (self.knots[:-1, None], np.diff(self.knots)[:, None], self.coefficients)
        )
        s = (t[..., None] - begin) / width
        *lower, value = np.moveaxis(coefficients, -2, 0)
        rate, half = np.zeros_like(value), np.zeros_like(value)
        for coefficient in reversed(lower):
            half, rate, value = half * s + rate, rate * s + value, value * s + coefficient
        return JointMotion(value, rate / width, 2.0 * half / width**2)


def interval_values(t: Any, knots: Floats, values: Floats) -> Any:
    """The values (m, ...) of the interval of each time; before and after, the outermost."""
    last = len(values) - 1
    if t.dtype != object or last == 0:
        j = 0 if last == 0 else np.clip(np.searchsorted(knots, t, side="right") - 1, 0, last)
        return values[j]
    value: Any = values[0]
    inner = t[(..., *[None] * (values.ndim - 1))]
    for knot, later in zip(knots[1:-1], values[1:], strict=True):
        value = select_by_sign(inner - knot, later, value)
    return value


SELECT = np.frompyfunc(rules.select, 3, 1)


def select_by_sign(x: Any, a: Any, b: Any) -> Any:
    """a where x ≥ 0, otherwise b; x may be a graph node."""
    return SELECT(x, a, b) if x.dtype == object else np.where(x >= 0.0, a, b)


def hermite(knots: Floats, derivatives: Floats) -> Polynomials:
    """Interpolate derivatives (k, m + 1, n) at the knots: values, rates, ... of k = 2, 3, 4 give degree 2k − 1."""
    count = len(derivatives)
    width = np.diff(knots)[:, None]
    begin, end = ([row * width**k for k, row in enumerate(side)] for side in (derivatives[:, :-1], derivatives[:, 1:]))
    known = [end[0] - begin[0]]  # derivatives by s, at the ends of each interval
    for left, right in zip(begin[1:], end[1:], strict=True):
        known += [left, right]
    lower = [row / math.factorial(k) for k, row in enumerate(begin)]
    upper = [sum(factor * x for factor, x in zip(row, known, strict=True)) for row in HERMITE[count]]
    return Polynomials(frozen_array(knots), frozen_array(np.stack([*lower, *upper], axis=1)))


class StraightLine(NamedTuple):
    """The way between two configurations, in coordinates in which it is a straight line."""

    first: Floats
    last: Floats
    change: Floats  # (n,), proportional to the rates
    layout: Layout | None = None  # of the robot, where one was given
    starts: tuple[Floats, ...] = ()  # quaternions
    axes: tuple[Floats, ...] = ()

    @staticmethod
    def between(start: Any, end: Any, robot: Robot | None) -> StraightLine:
        if robot is not None:
            start, end = reorder_columns(robot, "start", start), reorder_columns(robot, "end", end)
        first, last = end_points(start, end)
        if robot is None:
            return StraightLine(first, last, last - first)
        layout = layout_of(robot)
        first, last = (check_configurations(x, name, robot) for x, name in ((first, "start"), (last, "end")))
        if not layout.quaternions:
            return StraightLine(first, last, last - first, layout)
        places, change = [p for p, _ in layout.plain], difference(robot, first, last)
        turns = [change[v : v + 3] for _, v in layout.quaternions]
        angles = [math.hypot(*turn) for turn in turns]
        axes = tuple(frozen_array(turn / (angle or 1.0)) for turn, angle in zip(turns, angles, strict=True))
        starts = tuple(frozen_array(first[p : p + 4]) for p, _ in layout.quaternions)
        begin, until = [*first[places], *(0.0 for _ in angles)], [*last[places], *angles]
        return StraightLine(frozen_array(begin), frozen_array(until), change, layout, starts, axes)

    def at_ends(self, values: Floats, name: str) -> Floats:
        """Convert derivatives at an end, given for each degree of freedom, to these coordinates."""
        if not self.starts or self.layout is None:
            return values
        for _, v in self.layout.quaternions:
            for k in range(v, v + 3):
                if values[k] != 0.0:
                    raise ValueError(f"{name} of {self.layout.v_names[k]!r} is {values[k]:g} (expected 0, {AT_REST})")
        return np.array([*(values[v] for _, v in self.layout.plain), *(0.0 for _ in self.starts)])

    def piece(self, straight: Piece) -> Piece:
        return RotationPiece(straight, self.layout, self.starts, self.axes) if self.starts and self.layout else straight


@dataclass(frozen=True, eq=False)
class RobotPiece:
    """A piece in a robot's coordinates that is computed from another piece."""

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
class RotationPiece(RobotPiece):
    """Orientations turn about fixed axes: the last coordinates of the line are the angles."""

    starts: tuple[Floats, ...]
    axes: tuple[Floats, ...]

    def at(self, t: Any) -> JointMotion:
        line = self.line.at(t)
        parts = MotionColumns(self.layout, line, range(len(self.layout.plain)))
        for k, (p, v) in enumerate(self.layout.quaternions, len(self.layout.plain)):
            start, axis = (x[k - len(self.layout.plain)].tolist() for x in (self.starts, self.axes))
            half = 0.5 * line.q[..., k]
            cosine, sine = cos(half), sin(half)
            orientation = quaternion_product(start, (cosine, *(a * sine for a in axis)))
            parts.put(p, v, orientation, *([a * x[..., k] for a in axis] for x in (line.qd, line.qdd)))
        return parts.motion()


class QuaternionPiece(RobotPiece):
    """Polynomials for all numbers of q; quaternions are divided by their lengths."""

    def at(self, t: Any) -> JointMotion:
        curve = self.line.at(t)
        parts = MotionColumns(self.layout, curve, [p for p, _ in self.layout.plain])
        for p, v in self.layout.quaternions:
            Q, rate, acceleration = ([x[..., p + i] for i in range(4)] for x in curve)
            conjugate = (Q[0], -Q[1], -Q[2], -Q[3])
            square = dot_product(Q, Q)
            spin = [2.0 * x / square for x in quaternion_product(conjugate, rate)[1:]]
            spin_rate = [2.0 * x / square for x in quaternion_product(conjugate, acceleration)[1:]]
            growth = 2.0 * dot_product(Q, rate) / square
            unit = [x / sqrt(square) for x in Q]
            parts.put(p, v, unit, spin, [x - growth * w for x, w in zip(spin_rate, spin, strict=True)])
        return parts.motion()


class MotionColumns:
    """Collects the columns of a motion; plain coordinates are copied from another motion, at these places."""

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


def check_configurations(values: Any, name: str, robot: Robot, dims: int = 1) -> Floats:
    """Check configurations (nq,) or (m, nq); quaternions get unit length and the sign nearest to the previous row."""
    array = np.array(joint_numbers(reorder_columns(robot, name, values), name, dims))
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
    return frozen_array(array)


def coordinate_derivatives(layout: Layout, q: Floats, *rates: Floats) -> Floats:
    """q and, as far as given, q̇ and q̈ from configurations (m, nq), rates and accelerations (m, n)."""
    derivatives = np.zeros((1 + len(rates), *q.shape))
    derivatives[0] = q
    for p, v in layout.plain:
        for k, x in enumerate(rates, 1):
            derivatives[k, :, p] = x[:, v]
    for p, v in layout.quaternions:
        Q = list(q[:, p : p + 4].T)
        spin, *accelerations = ([x[:, v + i] for i in range(3)] for x in rates)
        first = quaternion_rate(Q, spin)
        derivatives[1, :, p : p + 4] = np.transpose(first)
        for rate in accelerations:
            both = zip(quaternion_rate(first, spin), quaternion_rate(Q, rate), strict=True)
            derivatives[2, :, p : p + 4] = np.transpose([a + b for a, b in both])
    return derivatives
