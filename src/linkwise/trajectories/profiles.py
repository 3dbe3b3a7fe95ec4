"""Motions of the joints in time, whose value, rate and acceleration come from the same formula.

    q(t)  = q(0) + (q(T) − q(0)) [s − sin(2πs) / 2π],   s = t / T      cycloid, [Saha99] eqs. (38), (39)
    q(t)  = Σ c_k sᵏ,   s = (t − t_j) / (t_{j+1} − t_j)                 cubic, quintic, septic, trapezoid, splines

The amplitude of the cycloid is that which reaches its end, (q(T) − q(0)) / 2π. Eq. (38) prints 1/2, which turns a joint
by π; eq. (39) prints 1/2 too, where its stated ends (60 deg, 0.1 m) need 1/6, −1/12 and 0.1/2π.

A trajectory runs from t = 0 to its duration; before and after, the joints stand still where it starts and ends.
Angles in radians, displacements in m, times in s.
"""

from __future__ import annotations

import csv
import itertools
import math
import os
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..graph import rules

Floats = NDArray[np.float64]
SLACK = 1e-12  # how far outside its duration, in units of it, a time still counts as an end: rounding
TRACED = 64  # formulas: a trajectory of more is not traced, since each adds a choice for every coefficient
NOTHING = 1e-100  # a way too short to be one
SIDES = ("start", "end")
GAP = 1e-9  # how far apart, relative to their size, an end and the start that follows it may be
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
            at_knots(t, self.knots, each)
            for each in (self.knots[:-1, None], np.diff(self.knots)[:, None], self.coefficients)
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
    found: Any = values[0]
    inner = t[(..., *[None] * (values.ndim - 1))]
    for knot, later in zip(knots[1:-1], values[1:], strict=True):
        found = choice(inner - knot, later, found)
    return found


CHOICE = np.frompyfunc(rules.select, 3, 1)


def choice(x: Any, a: Any, b: Any) -> Any:
    """a where x ≥ 0, otherwise b, also where x has no value yet."""
    return CHOICE(x, a, b) if x.dtype == object else np.where(x >= 0.0, a, b)


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """A motion of n joints from t = 0 to t = duration; call it with a time, or an array of times.

    Make one with `lw.cycloid`, `lw.cubic`, `lw.quintic`, `lw.septic`, `lw.trapezoid`, `lw.spline` or
    `lw.trajectory_from_csv`, and join them with `then`.

    >>> import linkwise as lw
    >>> move = lw.cycloid(start=[0, 0], end=[1, 2], duration=4)
    >>> q, qd, qdd = move(2.0)
    >>> q, qd
    (array([0.5, 1. ]), array([0.5, 1. ]))
    """

    pieces: tuple[Piece, ...]
    name: str

    def __repr__(self) -> str:
        return f"<Trajectory of {counted(self.n)}: {self.name}, {self.duration:g} s>"

    @property
    def duration(self) -> float:
        return sum(piece.duration for piece in self.pieces)

    @property
    def n(self) -> int:
        """How many joints move."""
        return self.pieces[0].n

    def __call__(self, t: Any, *, extrapolate: bool = False) -> JointMotion:
        """Positions, rates and accelerations at the times t, of any shape (...,): three arrays (..., n).

        Before 0 and after the duration the joints stand where they start or end, with rates and accelerations of zero;
        with `extrapolate=True` the first and the last formula go on instead. At a time where the formula changes, the
        later one holds. t may also be a node of a graph, in a function that is traced or compiled: it means the same.
        """
        times = as_times(t)
        formulas = sum(piece.formulas for piece in self.pieces)
        if times.dtype == object and formulas > TRACED:
            raise TypeError(
                f"t is {times.flat[0]!r}, which has no value to look up, and the trajectory has {formulas} formulas"
                f" (expected numbers, or a trajectory of at most {TRACED})"
            )
        flat = times.reshape(-1)
        found = self._at(flat) if extrapolate else self._held(flat)
        return JointMotion(*(part.reshape((*times.shape, self.n)) for part in found))

    def _held(self, t: Any) -> JointMotion:
        end, slack = self.duration, SLACK * self.duration
        first, last = self._at(np.array([0.0, end])).q
        found, column = self._at(t if t.dtype == object else np.clip(t, 0.0, end)), t[:, None]
        inside = choice(column + slack, (end + slack) - column, -1.0)
        standing = JointMotion(choice(column - end, last, choice(-column, first, column)), 0.0, 0.0)  # NaN stays NaN
        return JointMotion(*(choice(inside, *both) for both in zip(found, standing, strict=True)))

    def _at(self, t: Any) -> JointMotion:
        """By the formula of the piece in which each time lies; before and after, of the first and the last."""
        found, begin = self.pieces[0].at(t), 0.0
        for before, piece in itertools.pairwise(self.pieces):
            begin += before.duration
            past = (t - begin)[:, None]
            found = JointMotion(*(choice(past, *both) for both in zip(piece.at(t - begin), found, strict=True)))
        return found

    def then(self, following: Trajectory) -> Trajectory:
        """This motion, and after it another, which must start where this one ends; rates may jump there.

        >>> import linkwise as lw
        >>> out, back = lw.cycloid([0], [1], duration=2), lw.quintic([1], [0], duration=3)
        >>> out.then(back)
        <Trajectory of 1 joint: cycloid, then quintic, 5 s>
        """
        if not isinstance(following, Trajectory):
            raise TypeError(f"what follows is {following!r} (expected a Trajectory)")
        if following.n != self.n:
            raise ValueError(f"a trajectory of {counted(following.n)} cannot follow one of {counted(self.n)}")
        end, start = self(self.duration).q, following(0.0).q
        apart = np.abs(end - start) > GAP * np.maximum(1.0, np.abs(end))
        if apart.any():
            k = int(np.argmax(apart))
            raise ValueError(f"joint {k + 1} would jump from {end[k]:.9g}, where one ends, to {start[k]:.9g}")
        return Trajectory(self.pieces + following.pieces, f"{self.name}, then {following.name}")

    def to_csv(self, path: str | os.PathLike[str], samples: int = 501) -> None:
        """Write t, q1.., qd1.., qdd1.. at evenly spaced times, in full precision, for `lw.trajectory_from_csv`."""
        t = even_times(self.duration, samples)
        write_csv(path, motion_columns(t, self(t)))


def cycloid(start: Any, end: Any, duration: float) -> Trajectory:
    """From rest to rest along a cycloid, accelerations starting and ending at zero: [Saha99] eqs. (38), (39).

    `start` and `end` are n numbers, one for each joint (or plain numbers, for one joint).

    >>> import numpy as np
    >>> cycloid(0, np.pi, duration=10)(5.0).q.round(6)
    array([1.570796])
    """
    first, last = both_ends(start, end)
    return Trajectory((Cycloid(first, frozen(last - first), positive(duration, "duration")),), "cycloid")


def cubic(start: Any, end: Any, duration: float, start_rate: Any = 0.0, end_rate: Any = 0.0) -> Trajectory:
    """The cubic with the given positions and rates at its ends (rates: numbers, or one for each joint).

    >>> cubic(0, 1, duration=2, end_rate=0.5)(2.0).qd
    array([0.5])
    """
    return two_point("cubic", start, end, duration, [("rate", start_rate, end_rate)])


def quintic(
    start: Any,
    end: Any,
    duration: float,
    start_rate: Any = 0.0,
    end_rate: Any = 0.0,
    start_acceleration: Any = 0.0,
    end_acceleration: Any = 0.0,
) -> Trajectory:
    """The polynomial of degree 5 with the given positions, rates and accelerations at its ends."""
    given = [("rate", start_rate, end_rate), ("acceleration", start_acceleration, end_acceleration)]
    return two_point("quintic", start, end, duration, given)


def septic(
    start: Any,
    end: Any,
    duration: float,
    start_rate: Any = 0.0,
    end_rate: Any = 0.0,
    start_acceleration: Any = 0.0,
    end_acceleration: Any = 0.0,
    start_jerk: Any = 0.0,
    end_jerk: Any = 0.0,
) -> Trajectory:
    """The polynomial of degree 7 with the given positions, rates, accelerations and jerks at its ends."""
    given = [("rate", start_rate, end_rate), ("acceleration", start_acceleration, end_acceleration)]
    return two_point("septic", start, end, duration, [*given, ("jerk", start_jerk, end_jerk)])


def two_point(name: str, start: Any, end: Any, duration: float, given: list[tuple[str, Any, Any]]) -> Trajectory:
    first, last = both_ends(start, end)
    knots = frozen([0.0, positive(duration, "duration")])
    derivatives = [[first, last]]
    for word, *pair in given:
        derivatives.append([spread(x, len(first), f"{side}_{word}") for side, x in zip(SIDES, pair, strict=True)])
    return Trajectory((hermite(knots, np.array(derivatives)),), name)


def hermite(knots: Floats, derivatives: Floats) -> Polynomials:
    """Through given values, rates and so on at the knots: (k, m + 1, n) with k of 2, 3, 4 gives degree 2k − 1."""
    count = len(derivatives)
    width = np.diff(knots)[:, None]
    scaled = [row * width**k for k, row in enumerate(derivatives[:, :-1])]  # of s, at the left of each interval
    beyond = [row * width**k for k, row in enumerate(derivatives[:, 1:])]
    known = [beyond[0] - scaled[0]]
    for left, right in zip(scaled[1:], beyond[1:], strict=True):
        known += [left, right]
    lower = [row / math.factorial(k) for k, row in enumerate(scaled)]
    upper = [sum(factor * x for factor, x in zip(row, known, strict=True)) for row in HERMITE[count]]
    return Polynomials(frozen(knots), frozen(np.stack([*lower, *upper], axis=1)))


def trapezoid(
    start: Any,
    end: Any,
    *,
    duration: float | None = None,
    speed: Any = None,
    acceleration: Any = None,
) -> Trajectory:
    """Constant acceleration, constant rate, constant deceleration, all joints in step: a straight line in joint space.

    Exactly two of three are given; one leaves the motion open, three contradict each other:

    - `speed` and `acceleration`: the shortest motion in which no joint exceeds its own (it peaks without a stretch of
      constant rate where the speed is never reached);
    - `duration` and `speed`: the joint that needs it cruises at its speed; the acceleration follows;
    - `duration` and `acceleration`: the joint that needs it takes its acceleration; the speed follows.

    Speed and acceleration are a number for all joints or one for each. Accelerations jump.

    >>> trapezoid([0, 0], [1, 2], speed=1.0, acceleration=2.0)
    <Trajectory of 2 joints: trapezoid, 2.5 s>
    """
    first, last = both_ends(start, end)
    change = last - first
    given = {"duration": duration, "speed": speed, "acceleration": acceleration}
    names = [name for name, value in given.items() if value is not None]
    if len(names) != 2:
        state = "under-determined" if len(names) < 2 else "over-determined"
        said = ", ".join(names) or "nothing"
        raise ValueError(f"trapezoid: {state} by {said} (expected two of duration, speed and acceleration)")
    T = None if duration is None else positive(duration, "duration")
    v, a = (
        None if value is None else per_unit(value, change, name)
        for name, value in (("speed", speed), ("acceleration", acceleration))
    )
    if np.abs(change).max() < NOTHING:
        if T is None:
            raise ValueError("trapezoid: start and end are the same (expected a duration, for which to stand there)")
        return Trajectory((hermite(frozen([0.0, T]), np.array([[first, last], [change, change]])),), "trapezoid")
    T, blend = unit_profile(T, v, a)
    rate = change / (T - blend)
    part = rate * blend / 2.0  # of the change, made while accelerating, and again while slowing down
    brake, zero = T - blend, 0.0 * change
    rows = [
        (0.0, blend, [first, zero, part]),
        (blend, brake, [first + part, rate * (brake - blend), zero]),
        (brake, T, [last - part, 2.0 * part, -part]),
    ]
    kept = [row for row in rows if row[1] - row[0] > SLACK * T]
    knots = frozen([*(begin for begin, _, _ in kept), T])
    return Trajectory((Polynomials(knots, frozen([c for _, _, c in kept])),), "trapezoid")


def per_unit(limits: Any, change: Floats, name: str) -> float:
    """The largest speed or acceleration of the way from 0 to 1 that keeps every joint within its limit."""
    each = spread(limits, len(change), name)
    if not (each > 0.0).all():
        k = int(np.argmin(each > 0.0))
        raise ValueError(f"{name} of joint {k + 1} is {each[k]:g} (expected a positive number, whatever the direction)")
    return 1.0 / max(float(np.max(np.abs(change) / each)), NOTHING)


def unit_profile(T: float | None, v: float | None, a: float | None) -> tuple[float, float]:
    """Of a way of length 1: its duration and the time spent accelerating, from two of duration, speed, acceleration."""
    if T is None:
        assert v is not None
        assert a is not None
        blend = min(v / a, 1.0 / math.sqrt(a))
        return blend + 1.0 / (a * blend), blend
    if v is not None:
        if not 1.0 < v * T <= 2.0 * (1.0 + SLACK):
            problem = "does not arrive" if v * T <= 1.0 else "is more than such a motion can use"
            raise ValueError(
                f"trapezoid: in {T:g} s this speed {problem} (expected a duration above {1 / v:.6g} s, or the"
                f" acceleration would be infinite, and of at most {2 / v:.6g} s, or the speed would not be reached)"
            )
        return T, min(T - 1.0 / v, T / 2.0)
    assert a is not None
    if a * T**2 < 4.0 * (1.0 - SLACK):
        raise ValueError(
            f"trapezoid: in {T:g} s this acceleration does not arrive (expected a duration of at least"
            f" {2 / math.sqrt(a):.6g} s)"
        )
    return T, min(2.0 / (a * (T + math.sqrt(max(T**2 - 4.0 / a, 0.0)))), T / 2.0)


def as_times(t: Any) -> Any:
    """Times as an array of floats, all finite; or of objects, where they are nodes or numbers of many digits."""
    times = np.asarray(t)
    if times.dtype == object and all(isinstance(x, (int, float, Fraction, np.number)) for x in times.flat):
        times = times.astype(float)
    if times.dtype.kind not in "fiuO":
        raise TypeError(f"t has dtype {times.dtype} (expected times in s)")
    if times.dtype.kind != "O" and not np.isfinite(times).all():
        raise ValueError(f"t is {times[~np.isfinite(times)][0]} (expected finite times in s)")
    return times if times.dtype.kind == "O" else times.astype(np.float64)


def both_ends(start: Any, end: Any) -> tuple[Floats, Floats]:
    first, last = numbers(start, "start"), numbers(end, "end")
    if len(first) != len(last):
        raise ValueError(
            f"start has {len(first)} and end has {len(last)} numbers (expected the same: one for each joint)"
        )
    return first, last


def numbers(value: Any, name: str, dims: int = 1) -> Floats:
    """A frozen array of finite numbers with one axis for joints, or with one for times before it."""
    try:
        array = np.array(value, dtype=np.float64, ndmin=1)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {value!r} (expected {NUMBERS[dims]})") from None
    if array.ndim == 1 and dims == 2:
        array = array[:, None]  # one joint needs no brackets
    if array.ndim != dims or 0 in array.shape:
        raise ValueError(f"{name} has shape {array.shape} (expected {NUMBERS[dims]})")
    if not np.isfinite(array).all():
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name}{list(index)} is {array[index]} (expected finite numbers)")
    return frozen(array)


NUMBERS = {1: "one number for each joint", 2: "a row for each time, of one number for each joint"}


def spread(value: Any, n: int, name: str) -> Floats:
    """One number for all joints, or one for each."""
    array = numbers(value, name)
    if len(array) not in (1, n):
        raise ValueError(f"{name} has {len(array)} numbers (expected one, or {n}: one for each joint)")
    return np.broadcast_to(array, (n,))


def positive(value: Any, name: str) -> float:
    try:
        found = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {value!r} (expected a positive number)") from None
    if not 0.0 < found < math.inf:
        raise ValueError(f"{name} is {found:g} (expected a positive number)")
    return found


def frozen(values: Any) -> Floats:
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


def counted(n: int) -> str:
    return f"{n} joint" + ("s" if n != 1 else "")


def even_times(duration: float, samples: Any) -> Floats:
    if isinstance(samples, bool) or not isinstance(samples, (int, np.integer)) or samples < 2:
        raise ValueError(f"samples is {samples!r} (expected a whole number of at least 2, both ends among them)")
    return np.linspace(0.0, duration, int(samples))


def motion_columns(t: Floats, motion: JointMotion) -> dict[str, Floats]:
    columns = {"t": t}
    for word, values in motion._asdict().items():
        columns |= {f"{word}{k}": column for k, column in enumerate(values.T, 1)}
    return columns


def write_csv(path: str | os.PathLike[str], columns: dict[str, Floats]) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*(map(repr, column.tolist()) for column in columns.values()), strict=True))
