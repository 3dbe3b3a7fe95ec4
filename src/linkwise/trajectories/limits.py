"""Checks of the arguments of trajectories; limits of positions, rates, accelerations and torques, from the robot's
table or from the user.

Margins that a motion leaves, and limits of effort, velocity and travel that samples exceed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import is_integer, one_of
from ..robot import Robot
from ..robot.description import grid
from ..robot.layout import Layout, angle_mask, coordinate_indices
from ..robot.named_arrays import plain_numbers

Floats = NDArray[np.float64]
ROUNDING = 1e-12  # relative to the duration: an end so little after a sample coincides with it


def end_points(start: Any, end: Any) -> tuple[Floats, Floats]:
    first, last = joint_numbers(start, "start"), joint_numbers(end, "end")
    if len(first) != len(last):
        raise ValueError(
            f"start has {len(first)} and end has {len(last)} number{'s' * (len(last) != 1)} (expected the same: one for"
            " each joint)"
        )
    return first, last


def joint_numbers(value: Any, name: str, dims: int = 1) -> Floats:
    """A frozen array of finite numbers with one axis for joints, or with one for times before it."""
    array = np.atleast_1d(plain_numbers(name, value, EXPECTED[dims], "; or robot=..., the robot that has them"))
    if array.ndim == 1 and dims == 2:
        array = array[:, None]  # one joint needs no brackets
    if array.ndim != dims or 0 in array.shape:
        raise ValueError(f"{name} has shape {array.shape} (expected {EXPECTED[dims]})")
    if not np.isfinite(array).all():
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name}{list(index)} is {array[index]} (expected finite numbers)")
    return frozen_array(array)


EXPECTED = {1: "one number for each joint", 2: "a row for each time, of one number for each joint"}


def broadcast_to_joints(value: Any, n: int, name: str) -> Floats:
    """Broadcast one number for all joints, or check that there is one for each."""
    array = joint_numbers(value, name)
    if len(array) not in (1, n):
        raise ValueError(f"{name} has {len(array)} numbers (expected one, or {n}: one for each joint)")
    return np.broadcast_to(array, (n,))


def positive_number(value: Any, name: str) -> float:
    try:
        x = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {value!r} (expected a positive number)") from None
    if not 0.0 < x < math.inf:
        raise ValueError(f"{name} is {x:g} (expected a positive number)")
    return x


def frozen_array(values: Any) -> Floats:
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


def joint_count_text(n: int) -> str:
    return f"{n} joint" + ("s" if n != 1 else "")


def even_times(duration: float, samples: Any, rate: Any = None) -> Floats:
    """`samples` times from 0 to the duration; with a rate, k / rate for k = 0, 1, ... until the end is reached."""
    if rate is not None:
        count = math.ceil(duration * positive_number(rate, "rate") * (1.0 - ROUNDING))
        return np.asarray(np.arange(count + 1) / float(rate))
    if not is_integer(samples) or samples < 2:
        raise ValueError(f"samples is {samples!r} (expected a whole number of at least 2, including both ends)")
    return np.linspace(0.0, duration, int(samples))


KINDS = ("position", "velocity", "acceleration", "effort")
UNITS = {  # of revolute and of prismatic joints
    "position": ("rad", "m"),
    "velocity": ("rad/s", "m/s"),
    "acceleration": ("rad/s²", "m/s²"),
    "effort": ("N m", "N"),
}
WORDS = ("effort", "velocity", "travel")
SLACK = 1e-9  # relative to the limit: a motion that ends at a limit does not exceed it


@dataclass(frozen=True, eq=False, repr=False)
class MotionLimits:
    """Lower and upper ends of travel, and the largest magnitudes, (n,) each; infinite without a limit.

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
        """The given limits, and otherwise the robot's own. `complete`: positions and rates must be limited."""
        given = {} if given is None else given
        if not isinstance(given, Mapping):
            example = "{'velocity': 1.0, 'acceleration': [2.0, 2.0, 4.0]}"
            raise TypeError(f"limits is {given!r} (expected a mapping such as {example})")
        for key in given:
            one_of(key, KINDS, "a key of limits")
        defaults = robot_limits(robot)
        pairs = per_joint(robot, given.get("position"), "position", defaults["position"])
        sizes = [per_joint(robot, given.get(kind), kind, defaults[kind])[:, 0] for kind in KINDS[1:]]
        limits = MotionLimits(robot.v_names, pairs[:, 0], pairs[:, 1], *sizes)
        if complete:
            limits.refuse_missing(robot, given_joints(robot, given.get("position")))
        return limits

    def refuse_missing(self, robot: Robot, said: list[bool]) -> None:
        """Raise if a limit of rates is missing, or of travel unless it was explicitly infinite."""
        for k, name in enumerate(robot.v_names):
            joint, turns = f"joint {name!r} of robot {robot.name!r}", is_angular(robot, k)
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
        """The middle of the travel; zero where there is no end."""
        lower, upper = (np.where(np.isfinite(end), end, 0.0) for end in (self.lower, self.upper))
        return (lower + upper) / 2.0

    def kept(self, share: float) -> MotionLimits:
        """The limits times a share; travel is shortened at both ends."""
        middle, half = self.middle, share * self.half
        rest = (share * limit for limit in (self.velocity, self.acceleration, self.effort))
        return MotionLimits(self.joints, middle - half, middle + half, *rest)


def robot_limits(robot: Robot) -> dict[str, Floats]:
    """The limits in the robot's table, a row for each degree of freedom.

    A rating of zero means no limit; coupled joints limit their leaders.
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


def per_joint(robot: Robot, value: Any, kind: str, default: Floats) -> Floats:
    """Limits of one kind, a row for each joint, given for all joints at once, for each, or by names."""
    if value is None:
        return default
    name, width = f"limits[{kind!r}]", default.shape[1]
    if isinstance(value, Mapping):
        index_of, table = coordinate_indices(robot, "qd"), np.array(default)
        for joint, x in value.items():
            one_of(joint, index_of, f"a joint of {name}")
            table[index_of[joint]] = limit_rows(x, f"{name}[{joint!r}]", width, 1)[0]
    else:
        table = np.array(np.broadcast_to(limit_rows(value, name, width, robot.n), (robot.n, width)))
    valid = table[:, 0] < table[:, 1] if width == 2 else table[:, 0] > 0.0
    for k in np.flatnonzero(~valid & np.array(given_joints(robot, value))).tolist():
        expected = "(lower, upper), lower first" if width == 2 else "a positive number"
        raise ValueError(f"{name} of joint {robot.v_names[k]!r} is {table[k].tolist()} (expected {expected})")
    return table


def given_joints(robot: Robot, value: Any) -> list[bool]:
    """The joints for which limits of a kind were given."""
    if isinstance(value, Mapping):
        where = coordinate_indices(robot, "qd")
        return [k in {where[joint] for joint in value} for k in range(robot.n)]
    return [value is not None] * robot.n


def limit_rows(value: Any, name: str, width: int, n: int) -> Floats:
    """One or n rows of `width` numbers; infinity is allowed, NaN is not."""
    each = "a pair (lower, upper)" if width == 2 else "a number"
    expected = f"{each}{f' for all joints, or one for each of {n}' if n > 1 else ''}"
    array = plain_numbers(name, value, expected)
    rows = array.reshape(-1, 1) if width == 1 and array.ndim < 2 else np.atleast_2d(array)
    if rows.ndim != 2 or rows.shape[1] != width or len(rows) not in (1, n) or np.isnan(rows).any():
        raise ValueError(f"{name} is {value!r} (expected {expected})")
    return rows


def is_angular(robot: Robot, k: int) -> bool:
    return robot.effort_units[k] != "N"


@dataclass(frozen=True, eq=False, repr=False)
class Margins:
    """The unused share of each limit, (n,) each: 1 for a joint that stands still, NaN without a limit.

    For positions it is the distance to the nearer end of travel, divided by half the travel. Printed, a table.
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
class PassedLimit:
    """A limit that samples exceed."""

    joint: str
    what: str
    limits: tuple[float, float]  # lower and upper; -x and x for efforts and velocities
    first: int  # the first such sample
    largest: float  # the value furthest beyond the limit, with its sign
    slides: bool

    @property
    def share(self) -> float | None:
        """The largest effort or velocity relative to its limit."""
        return None if self.what == "travel" else abs(self.largest) / self.limits[1]


def limit_ends(robot: Robot) -> dict[str, tuple[Floats, Floats]]:
    """Lower and upper limits of effort, velocity and travel; ratings of zero are infinite."""
    both = {}
    for what, ratings in (("effort", robot.effort_limits), ("velocity", robot.velocity_limits)):
        upper = np.array([limit or np.inf for limit in ratings], dtype=float)
        both[what] = (-upper, upper)
    travel = np.array(robot.limits, dtype=float).reshape(-1, 2)
    return both | {"travel": (travel[:, 0], travel[:, 1])}


def effort_shares(robot: Robot, tau: Any) -> list[float | None] | None:
    """Torques (n,) relative to the effort limits; None for joints without a limit, or if there are no limits."""
    upper = limit_ends(robot)["effort"][1]
    if not np.isfinite(upper).any():
        return None
    return [float(abs(x) / end) if np.isfinite(end) else None for x, end in zip(tau, upper, strict=True)]


def limit_kinds(robot: Robot) -> list[str]:
    """The kinds of limits that the robot has."""
    return [what for what, ends in limit_ends(robot).items() if np.isfinite(ends).any()]


def zero_limits(robot: Robot) -> dict[str, list[str]]:
    """Joints with a limit of zero, which programs write where none was given: it is ignored."""
    ratings = {"effort": robot.effort_limits, "velocity": robot.velocity_limits}
    zeros = {what: [robot.v_names[k] for k, x in enumerate(limits) if x == 0.0] for what, limits in ratings.items()}
    return {what: names for what, names in zeros.items() if names}


def outside_travel(robot: Robot, q: Any) -> list[PassedLimit]:
    """The joints that configurations, (nq,) or (rows, nq), put outside their travel."""
    rows = np.atleast_2d(np.asarray(q, dtype=float))
    still = np.zeros((len(rows), robot.n))
    return [each for each in passed_limits(robot, rows, still, still) if each.what == "travel"]


def passed_limits(robot: Robot, q: Any, qd: Any, tau: Any) -> Iterator[PassedLimit]:
    """The limits that samples exceed: q (samples, nq), qd and tau (samples, n), joint by joint."""
    slides, names = {}, {}
    for what, word in zip(WORDS, ("qd", "qd", "q"), strict=True):
        slides[what] = [not turns for turns in angle_mask(robot, word)]
        names[what] = robot.q_names if word == "q" else robot.v_names
    values = dict(zip(WORDS, (tau, qd, q), strict=True))
    for what, (low, high) in limit_ends(robot).items():
        for k, name in enumerate(names[what]):
            x, below, above = np.asarray(values[what])[:, k], float(low[k]), float(high[k])
            finite = [abs(end) for end in (below, above) if np.isfinite(end)]
            if not finite:
                continue
            beyond = np.maximum(below - x, x - above)
            out = beyond > SLACK * max(finite)
            if out.any():
                largest = float(x[int(np.argmax(beyond))])
                yield PassedLimit(name, what, (below, above), int(np.argmax(out)), largest, slides[what][k])
