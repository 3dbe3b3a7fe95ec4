"""What the screen and JSON say of limits of effort, velocity and travel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import linkwise as lw

from ..trajectories.limits import PassedLimit, effort_shares, limit_kinds, outside_travel, passed_limits, zero_limits
from .screen import Cell, number, sentence, table, warn

UNITS = {  # of a joint that turns, and of one that slides
    "effort": ("N m", "N"),
    "velocity": ("rad/s", "m/s"),
    "travel": ("deg", "m"),
}
OF_LIMIT = "of limit (%)"


def with_shares(robot: lw.Robot, head: list[str], rows: Sequence[Sequence[Cell]], tau: Any) -> None:
    """A table of torques, with a column of what they take of the drives' limits, if there are some."""
    shares = effort_shares(robot, tau)
    if shares is None:
        table(head, rows)
        return
    percents = [None if share is None else 100.0 * share for share in shares]
    table([*head, OF_LIMIT], [[*row, percent] for row, percent in zip(rows, percents, strict=True)])


def show_limits(robot: lw.Robot, q: Any, qd: Any, tau: Any, where: Sequence[float] | None, heading: str) -> None:
    """Which limits are passed; `where` has the time or row of each sample, which `heading` names."""
    known, found = limit_kinds(robot), list(passed_limits(robot, q, qd, tau))
    if known and not found:
        sentence(f"Within the robot's limits of {', '.join(known[:-1])}{' and ' if known[1:] else ''}{known[-1]}.")
    if found:
        head = ["joint", "limit of", "limit", "largest", OF_LIMIT, *([heading] if where is not None else [])]
        rows = [[*row_of(each), *([where[each.first]] if where is not None else [])] for each in found]
        table(head, rows, heading="Limits that are passed")
    if zeros := zero_limits(robot):
        listed = "; ".join(f"{what} of {', '.join(names)}" for what, names in zeros.items())
        sentence(f"Limits of zero are not compared: {listed}.")


def warn_of_start(robot: lw.Robot, q: Any) -> None:
    """A start outside the travel of joints, which is no event: one line."""
    rows = len(q) if q.ndim > 1 else 0
    said = [
        f"{each.joint} starts at {shown(each, each.largest)} {unit_of(each)}"
        f"{f' (first in row {each.first + 1})' if rows else ''}, outside its travel of {limit_text(each)}"
        for each in outside_travel(robot, q)
    ]
    if said:
        warn(f"{'; '.join(said)}: --limits stops {'it' if len(said) == 1 else 'them'} only where"
             f" {'it leaves its' if len(said) == 1 else 'they leave their'} travel again")  # fmt: skip


def row_of(passed: PassedLimit) -> list[Cell]:
    share = passed.share
    return [passed.joint, passed.what, limit_text(passed), f"{shown(passed, passed.largest)} {unit_of(passed)}",
            None if share is None else 100.0 * share]  # fmt: skip


def limit_text(passed: PassedLimit) -> str:
    low, high = passed.limits
    ends = f"{shown(passed, low)} to " if passed.what == "travel" else ""
    return f"{ends}{shown(passed, high)} {unit_of(passed)}"


def unit_of(passed: PassedLimit) -> str:
    return UNITS[passed.what][passed.slides]


def shown(passed: PassedLimit, x: float) -> str:
    return number(math.degrees(x) if unit_of(passed) == "deg" else x)


def as_json(
    robot: lw.Robot, q: Any, qd: Any, tau: Any, where: Sequence[float] | None, key: str
) -> list[dict[str, Any]]:
    """The limits that are passed, in radians and metres."""
    return [
        {
            "joint": each.joint,
            "what": each.what,
            "limit": each.limits if each.what == "travel" else each.limits[1],
            "largest": each.largest,
            **({} if where is None else {key: where[each.first]}),
        }
        for each in passed_limits(robot, q, qd, tau)
    ]
