"""The limits of a motion: positions, rates, accelerations and torques, from the robot's table or from the user.

And what motions ask of a robot beside the limits of its table: effort, velocity and travel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import one_of
from ..robot import Robot
from ..robot.description import grid
from ..robot.layout import Layout, angle_mask, coordinate_indices
from ..robot.named_arrays import plain_numbers
from .checks import Floats as Floats

KINDS = ("position", "velocity", "acceleration", "effort")
UNITS = {  # of joints that turn, and of joints that slide
    "position": ("rad", "m"),
    "velocity": ("rad/s", "m/s"),
    "acceleration": ("rad/s²", "m/s²"),
    "effort": ("N m", "N"),
}
WORDS = ("effort", "velocity", "travel")
SLACK = 1e-9  # of the limit: a motion that ends at a limit does not pass it


@dataclass(frozen=True, eq=False, repr=False)
class MotionLimits:
    """Lower and upper ends of travel, and the largest magnitudes; infinite where there is no limit. All (n,).

    Printed, a table.
    """

    joints: tuple[str, ...]
    lower: Floats
    upper: Floats
    velocity: Floats
    acceleration: Floats
    effort: Floats

    def __repr__(self) -> str:
        sizes = np.stack([self.velocity, self.acceleration, self.effort], axis=-1)
        rows = [
            [joint, f"{low:.4g} to {high:.4g}", *(f"{x:.4g}" if np.isfinite(x) else "-" for x in row)]
            for joint, low, high, row in zip(self.joints, self.lower, self.upper, sizes, strict=True)
        ]
        return "\n".join(["limits, in rad or m, s, N m or N", *grid(["joint", *KINDS], rows)])

    @staticmethod
    def of(robot: Robot, given: Any, complete: bool = True) -> MotionLimits:
        """Those that are given, and for the others the robot's own; `complete` ones bound positions and rates."""
        given = {} if given is None else given
        if not isinstance(given, Mapping):
            example = "{'velocity': 1.0, 'acceleration': [2.0, 2.0, 4.0]}"
            raise TypeError(f"limits is {given!r} (expected a mapping such as {example})")
        for key in given:
            one_of(key, KINDS, "a key of limits")
        own = own_limits(robot)
        pairs = per_joint(robot, given.get("position"), "position", own["position"])
        sizes = [per_joint(robot, given.get(kind), kind, own[kind])[:, 0] for kind in KINDS[1:]]
        limits = MotionLimits(robot.v_names, pairs[:, 0], pairs[:, 1], *sizes)
        if complete:
            limits.refuse_missing(robot, said(robot, given.get("position")))
        return limits

    def refuse_missing(self, robot: Robot, said: list[bool]) -> None:
        """Rates are needed, and travel unless it was said to be infinite. These two bound the motion."""
        for k, name in enumerate(robot.v_names):
            joint, turns = f"joint {name!r} of robot {robot.name!r}", turning(robot, k)
            ends = np.isfinite([self.lower[k], self.upper[k]])
            if not ends.all() and not (said[k] and turns and not ends.any()):
                endless = ", or (-np.inf, np.inf) if it turns without end" if turns else ""
                raise ValueError(
                    f"{joint} has no limits of its position (expected limits={{'position': {{{name!r}: (lower, upper)"
                    f"}}}} in {UNITS['position'][not turns]}{endless})"
                )
            if not np.isfinite(self.velocity[k]):
                raise ValueError(
                    f"{joint} has no velocity limit (expected limits={{'velocity': {{{name!r}: ...}}}} in"
                    f" {UNITS['velocity'][not turns]}, or one number for all joints)"
                )
            if self.lower[k] >= self.upper[k]:
                raise ValueError(
                    f"{joint} cannot move: its travel is from {self.lower[k]:g} to {self.upper[k]:g} (expected some"
                    f" travel, or the robot robot.with_locked({name!r}, {self.lower[k]:g}))"
                )

    @property
    def half(self) -> Floats:
        """Half the travel, infinite where there is no end."""
        return (self.upper - self.lower) / 2.0

    @property
    def middle(self) -> Floats:
        """Of the travel; zero where there is no end."""
        lower, upper = (np.where(np.isfinite(end), end, 0.0) for end in (self.lower, self.upper))
        return (lower + upper) / 2.0

    def kept(self, share: float) -> MotionLimits:
        """A share of each limit: travel is shortened at both ends."""
        middle, half = self.middle, share * self.half
        rest = (share * limit for limit in (self.velocity, self.acceleration, self.effort))
        return MotionLimits(self.joints, middle - half, middle + half, *rest)


def own_limits(robot: Robot) -> dict[str, Floats]:
    """Of the robot's table, a row for each degree of freedom.

    A rating of zero is none; coupled joints limit their leaders.
    """
    travel = np.tile([-np.inf, np.inf], (robot.n, 1))
    for place, k in Layout.of(robot).plain:  # quaternions have none
        travel[k] = robot.limits[place]
    rates = np.array([limit or np.inf for limit in robot.velocity_limits])
    efforts = np.array([limit or np.inf for limit in robot.effort_limits])
    ratings = {row["name"]: row.get("velocity_limit") or np.inf for row in robot.rows}
    for joint in robot.moving:
        if joint.coupling is None:
            continue
        k, ratio, offset = joint.v.start, float(joint.coupling.ratio), float(joint.coupling.offset)
        if ratio == 0.0:
            continue
        ends = robot.links[joint.link].joint.limits or (-np.inf, np.inf)
        low, high = sorted((end - offset) / ratio for end in ends)
        travel[k] = max(travel[k, 0], low), min(travel[k, 1], high)
        rates[k] = min(rates[k], ratings[joint.name] / abs(ratio))
    unlimited = np.full(robot.n, np.inf)
    return {
        "position": travel,
        "velocity": rates[:, None],
        "acceleration": unlimited[:, None],
        "effort": efforts[:, None],
    }


def per_joint(robot: Robot, value: Any, kind: str, own: Floats) -> Floats:
    """The limits of one kind, a row for each joint: one for all joints, one for each, or by the names of some."""
    if value is None:
        return own
    name, width = f"limits[{kind!r}]", own.shape[1]
    if isinstance(value, Mapping):
        where, table = coordinate_indices(robot, "qd"), np.array(own)
        for joint, x in value.items():
            one_of(joint, where, f"a joint of {name}")
            table[where[joint]] = numbers(x, f"{name}[{joint!r}]", width, 1)[0]
    else:
        table = np.array(np.broadcast_to(numbers(value, name, width, robot.n), (robot.n, width)))
    good = table[:, 0] < table[:, 1] if width == 2 else table[:, 0] > 0.0
    for k in np.flatnonzero(~good & np.array(said(robot, value))).tolist():
        expected = "(lower, upper), lower first" if width == 2 else "a positive number"
        raise ValueError(f"{name} of joint {robot.v_names[k]!r} is {table[k].tolist()} (expected {expected})")
    return table


def said(robot: Robot, value: Any) -> list[bool]:
    """For which joints limits of a kind were given."""
    if isinstance(value, Mapping):
        where = coordinate_indices(robot, "qd")
        return [k in {where[joint] for joint in value} for k in range(robot.n)]
    return [value is not None] * robot.n


def numbers(value: Any, name: str, width: int, n: int) -> Floats:
    """Rows of `width` numbers, one or n; infinite ones are allowed, NaN is not."""
    each = "a pair (lower, upper)" if width == 2 else "a number"
    expected = f"{each}{f' for all joints, or one for each of {n}' if n > 1 else ''}"
    array = plain_numbers(name, value, expected)
    rows = array.reshape(-1, 1) if width == 1 and array.ndim < 2 else np.atleast_2d(array)
    if rows.ndim != 2 or rows.shape[1] != width or len(rows) not in (1, n) or np.isnan(rows).any():
        raise ValueError(f"{name} is {value!r} (expected {expected})")
    return rows


def turning(robot: Robot, k: int) -> bool:
    return robot.effort_units[k] != "N"


@dataclass(frozen=True, eq=False, repr=False)
class Margins:
    """The share of each limit that a motion leaves, (n,) each: 1 for a joint that stands still, NaN without a limit.

    Of positions: the distance to the nearer end of travel, divided by half the travel. Printed, a table.
    """

    joints: tuple[str, ...]
    position: Floats
    velocity: Floats
    acceleration: Floats
    effort: Floats

    def __repr__(self) -> str:
        rows = [
            [joint, *("-" if np.isnan(x) else f"{100.0 * x:.1f} %" for x in (getattr(self, kind)[k] for kind in KINDS))]
            for k, joint in enumerate(self.joints)
        ]
        return "\n".join(["what is left of each limit", *grid(["joint", *KINDS], rows)])

    @property
    def least(self) -> tuple[str, str, float]:
        """The kind of limit and the joint with the least margin, and that margin."""
        table = np.array([getattr(self, kind) for kind in KINDS])
        row, column = np.unravel_index(int(np.nanargmin(table)), table.shape)
        return KINDS[row], self.joints[column], float(table[row, column])


@dataclass(frozen=True)
class Passed:
    """A limit that is passed: whose, which, the limit or both ends of travel, the first sample, and the largest."""

    joint: str
    what: str
    limits: tuple[float, float]  # below and above; -x and x for efforts and velocities
    first: int
    largest: float  # the value that is furthest beyond, with its sign
    slides: bool

    @property
    def share(self) -> float | None:
        """Of an effort or a velocity: the largest magnitude, where the limit is 1."""
        return None if self.what == "travel" else abs(self.largest) / self.limits[1]


def ends_of(robot: Robot) -> dict[str, tuple[Floats, Floats]]:
    """Of efforts, velocities and travel the lower and the upper ends; those that are zero are infinite."""
    both = {}
    for what, ratings in (("effort", robot.effort_limits), ("velocity", robot.velocity_limits)):
        upper = np.array([limit or np.inf for limit in ratings], dtype=float)
        both[what] = (-upper, upper)
    travel = np.array(robot.limits, dtype=float).reshape(-1, 2)
    return both | {"travel": (travel[:, 0], travel[:, 1])}


def of_limits(robot: Robot, tau: Any) -> list[float | None] | None:
    """The share of each drive's effort limit that torques (n,) take; None where there is no limit at all."""
    upper = ends_of(robot)["effort"][1]
    if not np.isfinite(upper).any():
        return None
    return [float(abs(x) / end) if np.isfinite(end) else None for x, end in zip(tau, upper, strict=True)]


def known_limits(robot: Robot) -> list[str]:
    """Which kinds of limits the robot has."""
    return [what for what, ends in ends_of(robot).items() if np.isfinite(ends).any()]


def zero_limits(robot: Robot) -> dict[str, list[str]]:
    """Joints whose limit is zero, as programs write it where none was given: they are not compared."""
    ratings = {"effort": robot.effort_limits, "velocity": robot.velocity_limits}
    found = {what: [robot.v_names[k] for k, x in enumerate(limits) if x == 0.0] for what, limits in ratings.items()}
    return {what: names for what, names in found.items() if names}


def outside_travel(robot: Robot, q: Any) -> list[Passed]:
    """Joints that configurations, (nq,) or (rows, nq), put outside their travel."""
    rows = np.atleast_2d(np.asarray(q, dtype=float))
    still = np.zeros((len(rows), robot.n))
    return [each for each in passed_limits(robot, rows, still, still) if each.what == "travel"]


def passed_limits(robot: Robot, q: Any, qd: Any, tau: Any) -> Iterator[Passed]:
    """The limits that samples pass: q (samples, nq), qd and tau (samples, n), joint by joint."""
    slides, names = {}, {}
    for what, word in zip(WORDS, ("qd", "qd", "q"), strict=True):
        slides[what] = [not turns for turns in angle_mask(robot, word)]
        names[what] = robot.q_names if word == "q" else robot.v_names
    values = dict(zip(WORDS, (tau, qd, q), strict=True))
    for what, (low, high) in ends_of(robot).items():
        for k, name in enumerate(names[what]):
            x, below, above = np.asarray(values[what])[:, k], float(low[k]), float(high[k])
            finite = [abs(end) for end in (below, above) if np.isfinite(end)]
            if not finite:
                continue
            beyond = np.maximum(below - x, x - above)
            out = beyond > SLACK * max(finite)
            if out.any():
                largest = float(x[int(np.argmax(beyond))])
                yield Passed(name, what, (below, above), int(np.argmax(out)), largest, slides[what][k])
