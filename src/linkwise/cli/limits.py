"""Limits of effort, velocity and travel, on the screen and in JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import linkwise as lw

from ..trajectories.limits import PassedLimit, effort_shares, limit_kinds, outside_travel, passed_limits, zero_limits
from .screen import Cell, format_number, print_sentence, print_table, warn

UNITS = {  # of an angle, and of a length
    "effort": ("N m", "N"),
    "velocity": ("rad/s", "m/s"),
    "travel": ("deg", "m"),
}
OF_LIMIT = "of limit (%)"


def print_torques(robot: lw.Robot, head: list[str], rows: Sequence[Sequence[Cell]], tau: Any) -> None:
    """A table of torques, with their share of the drives' limits where these are known."""
    shares = effort_shares(robot, tau)
    if shares is None:
        print_table(head, rows)
        return
    percents = [None if share is None else 100.0 * share for share in shares]
    print_table([*head, OF_LIMIT], [[*row, percent] for row, percent in zip(rows, percents, strict=True)])


def print_limits(robot: lw.Robot, q: Any, qd: Any, tau: Any, where: Sequence[float] | None, heading: str) -> None:
    """Print the limits that are passed. `where` has the time or row of each sample, and `heading` names it."""
    known, passed = limit_kinds(robot), list(passed_limits(robot, q, qd, tau))
    if known and not passed:
        print_sentence(
            f"Within the robot's limits of {', '.join(known[:-1])}{' and ' if known[1:] else ''}{known[-1]}."
        )
    if passed:
        head = ["joint", "limit of", "limit", "largest", OF_LIMIT, *([heading] if where is not None else [])]
        rows = [[*limit_row(each), *([where[each.first]] if where is not None else [])] for each in passed]
        print_table(head, rows, heading="Limits that are passed")
    if zeros := zero_limits(robot):
        zero_limits_text = "; ".join(f"{what} of {', '.join(names)}" for what, names in zeros.items())
        print_sentence(f"Limits of zero are not compared: {zero_limits_text}.")


def warn_of_start(robot: lw.Robot, q: Any) -> None:
    """Warn in one line of joints that start outside their travel, which triggers no event."""
    rows = len(q) if q.ndim > 1 else 0
    starts = [
        f"{each.joint} starts at {limit_number(each, each.largest)} {limit_unit(each)}"
        f"{f' (first in row {each.first + 1})' if rows else ''}, outside its travel of {limit_text(each)}"
        for each in outside_travel(robot, q)
    ]
    if starts:
        warn(f"{'; '.join(starts)}: --limits stops {'it' if len(starts) == 1 else 'them'} only where"
             f" {'it leaves its' if len(starts) == 1 else 'they leave their'} travel again")  # fmt: skip


def limit_row(passed: PassedLimit) -> list[Cell]:
    largest = f"{limit_number(passed, passed.largest)} {limit_unit(passed)}"
    share = None if passed.share is None else 100.0 * passed.share
    return [passed.joint, passed.what, limit_text(passed), largest, share]


def limit_text(passed: PassedLimit) -> str:
    low, high = passed.limits
    ends = f"{limit_number(passed, low)} to " if passed.what == "travel" else ""
    return f"{ends}{limit_number(passed, high)} {limit_unit(passed)}"


def limit_unit(passed: PassedLimit) -> str:
    return UNITS[passed.what][passed.slides]


def limit_number(passed: PassedLimit, x: float) -> str:
    return format_number(math.degrees(x) if limit_unit(passed) == "deg" else x)


def passed_limits_json(
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
