"""Which column of a table is which quantity of which joint.

Column names are free: q1, q_1, q[0], joint1_pos, /joint_states/panda_joint1/position, actual_qd_3, tau.link2, effort4.
A name is a word for the quantity and a joint: its name, that of its link, or a number from 0 or 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..errors import near_miss
from ..robot import Robot
from ..robot.layout import places

WORDS = {
    "q": ("q", "pos", "position", "positions", "angle", "angles", "theta"),
    "qd": ("qd", "dq", "qdot", "vel", "velocity", "velocities", "speed", "rate", "omega"),
    "qdd": ("qdd", "ddq", "qddot", "acc", "accel", "acceleration", "accelerations"),
    "tau": ("tau", "torque", "torques", "effort", "efforts", "moment", "force", "trq"),
}
TIME = ("t", "time", "timestamp", "seconds", "secs", "s", "timesec", "times")
QUANTITY = {word: quantity for quantity, words in WORDS.items() for word in words}
BESIDE = {"joint", "joints", "state", "states", "actual", "measured", "meas", "act", "robot", "arm", "axis", "j", "m"}
BESIDE |= {
    "rad",
    "deg",
    "nm",
    "n",
    "s",
    "data",
    "msg",
    "field",
    "value",
    "motor",
    "link",
    "degrees",
    "radians",
    "external",
}
OTHERS = {"target", "desired", "des", "command", "commanded", "cmd", "ref", "reference", "error", "setpoint", "goal"}
NUMBER = re.compile(r"\d+")
Columns = dict[str, list[str]]


def columns_of(arm: Robot, names: Sequence[str], given: Mapping[str, Any] | None, where: str) -> Columns:
    """The columns of t, q, tau and, where there are, of qd and qdd, in the order of the robot's joints."""
    found = named_by_user(names, given or {}, where)
    times = [name for name in names if simple(name) in TIME]
    if "t" not in found and times:
        found["t"] = times[:1]
    for quantity in WORDS:
        if quantity not in found:
            taken = {name for columns in found.values() for name in columns}
            columns = recognised(arm, [name for name in names if name not in taken], quantity, where)
            if columns:
                found[quantity] = columns
    for quantity, columns in found.items():
        wanted = arm.nq if quantity == "q" else 1 if quantity == "t" else arm.n
        if len(columns) != wanted:
            raise ValueError(
                f"{where}: {len(columns)} columns of {quantity} ({', '.join(columns)}; expected {wanted}, in the order"
                f" {', '.join(arm.q_names if quantity == 'q' else arm.v_names)}: columns={{{quantity!r}: [...]}})"
            )
    return found


def named_by_user(names: Sequence[str], given: Mapping[str, Any], where: str) -> Columns:
    found: Columns = {}
    for quantity, columns in given.items():
        if quantity not in ("t", *WORDS):
            raise ValueError(
                f"columns has {quantity!r}{near_miss(quantity, ('t', *WORDS))} (expected t, q, qd, qdd, tau, each with"
                " the names of its columns)"
            )
        found[quantity] = [columns] if isinstance(columns, str) else [str(name) for name in columns]
        for name in found[quantity]:
            if name not in names:
                raise ValueError(
                    f"{where}: there is no column {name!r}, which columns={{{quantity!r}: ...}} names"
                    f"{near_miss(name, names)} (there are {listed(names)})"
                )
    return found


def recognised(arm: Robot, names: Sequence[str], quantity: str, where: str) -> list[str]:
    """The columns of one quantity, or none; an error where some joints have one and others none, or two."""
    labels = places(arm, "q" if quantity == "q" else "qd")
    size = arm.nq if quantity == "q" else arm.n
    by_name: dict[int, list[str]] = {}
    by_number: dict[int, list[str]] = {}
    for name in names:
        joint, number = joint_of(name, quantity, labels)
        if joint is not None:
            by_name.setdefault(joint, []).append(name)
        elif number is not None:
            by_number.setdefault(number, []).append(name)
    found = by_name
    if not found:
        first = 0 if 0 in by_number else 1
        found = {k - first: columns for k, columns in by_number.items()}
    if not found:
        return []
    twice = next((columns for columns in found.values() if len(columns) > 1), None)
    if twice is not None:
        raise ValueError(
            f"{where}: the columns {' and '.join(map(repr, twice))} could both be {quantity} of one joint (expected"
            f" columns={{{quantity!r}: [...]}}, which names those to take)"
        )
    missing = [k for k in range(size) if k not in found]
    more = [k for k in found if k >= size]
    if missing or more:
        labels_in_order = arm.q_names if quantity == "q" else arm.v_names
        lacking = f"none of {labels_in_order[missing[0]]!r}" if missing else f"{found[more[0]][0]!r} of no joint"
        raise ValueError(
            f"{where}: columns of {quantity} are {listed(columns[0] for columns in found.values())}, {lacking}"
            f" (expected one for each of {', '.join(labels_in_order)}; columns={{{quantity!r}: [...]}} names them)"
        )
    return [found[k][0] for k in range(size)]


def joint_of(name: str, quantity: str, labels: Mapping[str, int]) -> tuple[int | None, int | None]:
    """Which joint a column belongs to, by name or by number, if it is of this quantity."""
    low = name.lower()
    own = [label for label in labels if re.search(rf"(?<![a-z0-9]){re.escape(label.lower())}(?![a-z0-9])", low)]
    if own:
        label = max(own, key=len)
        rest = low.replace(label.lower(), " ")
        if quantity_of(rest) == quantity or (quantity == "q" and not rest.strip(" ._/")):
            return labels[label], None
    numbers = NUMBER.findall(low)
    if not numbers:
        return None, None
    start = low.rindex(numbers[-1])
    rest = f"{low[:start]} {low[start + len(numbers[-1]) :]}"
    return None, int(numbers[-1]) if quantity_of(rest) == quantity else None


def quantity_of(text: str) -> str | None:
    """The quantity that the words of a column's name say, if they say one and nothing unknown besides."""
    words = re.findall(r"[a-z]+", text)
    if any(word in OTHERS for word in words):
        return None
    joined = "".join(words)  # q_dot
    if joined in QUANTITY:
        return QUANTITY[joined]
    known = {QUANTITY[word] for word in words if word in QUANTITY}
    if len(known) != 1 or any(word not in QUANTITY and word not in BESIDE for word in words):
        return None
    return known.pop()


def simple(name: str) -> str:
    return re.sub(r"\[.*\]|\(.*\)|[^a-z]", "", name.lower())


def listed(names: Iterable[str], most: int = 12) -> str:
    names = list(map(str, names))
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
