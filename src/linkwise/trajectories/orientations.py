"""Motions of robots whose configurations have quaternions: pieces that give q (nq numbers) and its exact rates (n).

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
from typing import Any, NamedTuple

import numpy as np

from ..api.integration import difference
from ..robot import Robot, require_robot
from ..robot.layout import Layout, in_order, no_orientation
from ..spatial import cos, dot_product, quaternion_product, quaternion_rate, sin, sqrt
from .checks import Floats, both_ends, frozen, numbers
from .pieces import JointMotion, Piece

AT_REST = "at rest: for another motion give points or a table with rates"


class Way(NamedTuple):
    """From one configuration to another, in coordinates in which that is a straight line."""

    first: Floats
    last: Floats
    change: Floats  # (n,), to which rates are proportional on the way
    layout: Layout | None = None  # of the robot, where one was given
    starts: tuple[Floats, ...] = ()  # quaternions
    axes: tuple[Floats, ...] = ()

    @staticmethod
    def between(start: Any, end: Any, arm: Robot | None) -> Way:
        if arm is not None:
            start, end = in_order(arm, "start", start), in_order(arm, "end", end)
        first, last = both_ends(start, end)
        if arm is None:
            return Way(first, last, last - first)
        layout = layout_of(arm)
        first, last = (configurations(x, name, arm) for x, name in ((first, "start"), (last, "end")))
        if not layout.quaternions:
            return Way(first, last, last - first, layout)
        places, change = [p for p, _ in layout.plain], difference(arm, first, last)
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
class Turning:
    """About a fixed axis each: the last coordinates of the motion along the line are angles."""

    line: Piece
    layout: Layout
    starts: tuple[Floats, ...]
    axes: tuple[Floats, ...]

    @property
    def duration(self) -> float:
        return self.line.duration

    @property
    def n(self) -> int:
        return self.layout.n

    @property
    def formulas(self) -> int:
        return self.line.formulas

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


@dataclass(frozen=True, eq=False)
class Normalized:
    """Along polynomials for all numbers of q; quaternions are divided by their lengths."""

    curve: Piece
    layout: Layout

    @property
    def duration(self) -> float:
        return self.curve.duration

    @property
    def n(self) -> int:
        return self.layout.n

    @property
    def formulas(self) -> int:
        return self.curve.formulas

    def at(self, t: Any) -> JointMotion:
        curve = self.curve.at(t)
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


def layout_of(arm: Any) -> Layout:
    require_robot(arm, "arm", ", whose configurations these are")
    return Layout.of(arm)


def configurations(values: Any, name: str, arm: Robot, dims: int = 1) -> Floats:
    """Configurations of the robot, (nq,) or (m, nq); quaternions of unit length, near to those of the row before."""
    array = np.array(numbers(in_order(arm, name, values), name, dims))
    if array.shape[-1] != arm.nq:
        expected = f"{arm.nq} for robot {arm.name!r}: {', '.join(arm.q_names)}"
        raise ValueError(f"{name} has {array.shape[-1]} numbers (expected {expected})")
    for p in arm.quaternions:
        part = array[..., p : p + 4]
        length = np.sqrt((part * part).sum(axis=-1, keepdims=True))
        if not (length > 0.0).all():
            at = [*map(int, np.argwhere(length[..., 0] == 0.0)[0]), p]
            raise ValueError(no_orientation(arm, f"{name}{at}", p))
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
