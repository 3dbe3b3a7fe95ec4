"""Columns of a table, assigned to quantities and joints by their names.

Column names are free: q1, q_1, q[0], joint1_pos, /joint_states/panda_joint1/position, actual_qd_3, tau.link2, effort4.
A name has a word for the quantity, and a joint: its name, the name of its link, or a number from 0 or 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from ..errors import near_miss
from ..robot import Robot
from ..robot.layout import OF_NO_JOINT, coordinate_indices, join_names, refuse_half
from .recorded import Unit, unit_of, without_unit

WORDS = {
    "q": ("q", "pos", "position", "positions", "angle", "angles", "theta"),
    "qd": ("qd", "dq", "qdot", "vel", "velocity", "velocities", "speed", "rate", "omega"),
    "qdd": ("qdd", "ddq", "qddot", "acc", "accel", "acceleration", "accelerations"),
    "tau": ("tau", "torque", "torques", "effort", "efforts", "moment", "force", "trq"),
}
CURRENTS = ("current", "currents", "amps")
TIME = ("t", "time", "times", "timestamp", "stamp")
QUANTITY = {word: quantity for quantity, words in WORDS.items() for word in words}
BESIDE = {"joint", "joints", "state", "states", "actual", "measured", "meas", "act", "robot", "arm", "axis", "j", "m"}
BESIDE |= {"s", "data", "msg", "field", "value", "link"}
OTHERS = {"target", "desired", "des", "command", "commanded", "cmd", "ref", "reference", "error", "setpoint", "goal"}
OTHERS |= {"external", "ext", "motor", "d"}  # not of the drive; before the gear; q_d is a desired position, qd a rate
KNOWN = {*QUANTITY, *CURRENTS, *BESIDE, *OTHERS}
NUMBER = re.compile(r"\d+")
COLUMN = re.compile(r"[a-z]+[^a-z0-9.]*\d+[^a-z0-9]*")  # of a joint by number: q1, q_1, q[1]; q.1 is by name
Units = dict[str, list[Unit | None]]


class Columns(NamedTuple):
    """The columns of each quantity, in the order of the joints, or one for all joints; and their units."""

    names: dict[str, list[str]]
    units: Units


def columns_of(
    robot: Robot,
    names: Sequence[str],
    given: Mapping[str, Any] | None,
    where: str,
    blocks: Sequence[str] = (),
    currents: bool = False,
) -> Columns:
    """The columns of t, q, tau and, where they exist, of qd and qdd. `blocks`: columns that hold all joints at once.

    `currents`: columns of motor currents are taken for torques, to be multiplied by gains.
    """
    every = [*names, *blocks]
    found = named_by_user(every, given, where)
    if "t" not in found:
        times = [name for name in names if time_unit(name) is not None]
        if len(times) > 1:
            raise ValueError(
                f"{where}: the columns {' and '.join(map(repr, times))} could both be the time (expected"
                " columns={'t': ...}, which names the one to take)"
            )
        if times or "t" in blocks:
            found["t"] = times or ["t"]
    taken = {name for columns in found.values() for name in columns}
    wanted = [quantity for quantity in WORDS if quantity not in found]
    found |= {quantity: [quantity] for quantity in wanted if quantity in blocks and quantity not in taken}
    free = [name for name in names if name not in taken]
    found |= recognised(robot, free, [quantity for quantity in wanted if quantity not in found], where, currents)
    for quantity in wanted:
        columns = found.get(quantity) or whole(blocks, quantity, taken, where, currents)
        if columns:
            found[quantity] = columns
    for quantity, columns in found.items():
        check_count(robot, quantity, columns, blocks, where)
    user = given or {}
    units: Units = {
        quantity: [
            (quantity == "t" and time_unit(name)) or unit_in(robot, name, quantity in user, quantity == "t")
            for name in columns
        ]
        for quantity, columns in found.items()
    }
    return Columns(found, units)


def unit_in(robot: Robot, name: str, by_user: bool, time: bool) -> Unit | None:
    """The unit in a column's name. If the user names the column, brackets without a unit mean something else."""
    low = name.lower()
    own = [
        label for label in (*coordinate_indices(robot, "q"), *coordinate_indices(robot, "qd")) if label.lower() in low
    ]
    if own:
        start = low.index(max(own, key=len).lower())
        name = f"joint {name[:start]} {name[start + len(max(own, key=len)) :]}"
    unit = without_unit(name, KNOWN)[1]
    if unit is None and time:  # clock_ms
        last = unit_of(re.split(r"[^a-zµμ]", low)[-1])
        return last if last is not None and last.of == "time" else None
    return None if by_user and unit is not None and not unit.of else unit


def check_count(robot: Robot, quantity: str, columns: Sequence[str], blocks: Sequence[str], where: str) -> None:
    block = next((name for name in columns if name in blocks), None)
    if block is not None and len(columns) > 1:
        raise ValueError(f"{where}: {block!r} holds all joints (expected columns={{{quantity!r}: {block!r}}} alone)")
    if block is not None and quantity == "t":
        raise ValueError(f"{where}: {block!r} has several columns (expected times, one for each sample)")
    wanted = robot.nq if quantity == "q" else 1 if quantity == "t" else robot.n
    if block is None and len(columns) != wanted:
        raise ValueError(
            f"{where}: {len(columns)} columns of {quantity} ({', '.join(columns)}; expected {wanted}, in the order"
            f" {', '.join(robot.q_names if quantity == 'q' else robot.v_names)}: columns={{{quantity!r}: [...]}})"
        )


def time_unit(name: str) -> Unit | None:
    """The unit of a column of times, seconds by default; None if the column has no times."""
    plain, unit = without_unit(name, KNOWN)
    plain = re.sub(r"[^a-z0-9µμ]+", "_", plain.lower()).strip("_")
    if plain.replace("_", "") in TIME:
        return unit or Unit("", "time")
    head, _, tail = plain.rpartition("_")
    tail = tail.removeprefix("time") if not head else tail  # timesec
    own = unit_of(tail) if unit is None else None
    return own if own is not None and own.of == "time" and head in ("", *TIME) and not own.order else None


def whole(blocks: Sequence[str], quantity: str, taken: set[str], where: str, currents: bool) -> list[str]:
    """The one array that holds a quantity of all joints, if there is one."""
    found = [name for name in blocks if name not in taken and quantity_of(bare(name), currents) == quantity]
    if len(found) > 1:
        refuse_two(found, quantity, where)
    return found


def refuse_two(names: Sequence[str], quantity: str, where: str) -> NoReturn:
    raise ValueError(
        f"{where}: the columns {' and '.join(map(repr, names))} could both be {quantity} of one joint (expected"
        f" columns={{{quantity!r}: [...]}}, which names those to take)"
    )


def named_by_user(names: Sequence[str], given: Mapping[str, Any] | None, where: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f"columns is {given!r} (expected a mapping of t, q, qd, qdd, tau to the names of columns)")
    for quantity, columns in (given or {}).items():
        if quantity not in ("t", *WORDS):
            raise ValueError(
                f"columns has {quantity!r}{near_miss(quantity, ('t', *WORDS))} (expected t, q, qd, qdd, tau, each with"
                " the names of its columns)"
            )
        if isinstance(columns, (str, int)):
            columns = [columns]
        if not isinstance(columns, Iterable):
            raise TypeError(f"columns[{quantity!r}] is {columns!r} (expected the name of a column, or a list of names)")
        found[quantity] = [str(name) for name in columns]
        for name in found[quantity]:
            if name not in names:
                raise ValueError(
                    f"{where}: there is no column {name!r}, which columns={{{quantity!r}: ...}} names"
                    f"{near_miss(name, names)} (there are {join_names(names)})"
                )
    return found


def recognised(
    robot: Robot, names: Sequence[str], quantities: Iterable[str], where: str, currents: bool
) -> dict[str, list[str]]:
    """The columns of each quantity in the table: all by the names of joints, or all by number.

    If some joints have a column and others have none or two, that is an error.
    """
    found: dict[str, list[str]] = {}
    named: dict[str, int] = {}
    numbered: list[str] = []
    firsts: set[int] = set()
    for quantity in quantities:
        labels = coordinate_indices(robot, "q" if quantity == "q" else "qd")
        size = robot.nq if quantity == "q" else robot.n
        own = {name: joint_of(name, quantity, labels, size == 1, currents) for name in names}
        first = 0 if any(number == 0 for _, number in own.values()) else 1
        by_name = {name: joint for name, (joint, _) in own.items() if joint is not None}
        by_number = {name: number - first for name, (_, number) in own.items() if number is not None}
        for name, joint in by_name.items():
            if COLUMN.fullmatch(bare(name.lower())) and by_number.get(name, joint) != joint:
                refuse_guess(robot, name, quantity, joint, by_number[name], where)
        if by_name:
            named |= by_name
        else:
            numbered += by_number
            firsts.add(first)
        columns = one_each(robot, by_name or by_number, quantity, size, where)
        if columns:
            found[quantity] = columns
    for first in firsts:
        refuse_half(where, robot, named, numbered, first)
    return found


def one_each(robot: Robot, joints: Mapping[str, int], quantity: str, size: int, where: str) -> list[str]:
    """One column for each joint, in order, or none at all."""
    found: dict[int, list[str]] = {}
    for name, joint in joints.items():
        found.setdefault(joint, []).append(name)
    if not found:
        return []
    twice = next((columns for columns in found.values() if len(columns) > 1), None)
    if twice is not None:
        refuse_two(twice, quantity, where)
    missing = [k for k in range(size) if k not in found]
    more = [k for k in found if k >= size]
    if missing or more:
        labels_in_order = robot.q_names if quantity == "q" else robot.v_names
        lacking = f"none of {labels_in_order[missing[0]]!r}" if missing else f"{found[more[0]][0]!r} of no joint"
        raise ValueError(
            f"{where}: columns of {quantity} are {join_names(columns[0] for columns in found.values())}, {lacking}"
            f" (expected one for each of {', '.join(labels_in_order)}; columns={{{quantity!r}: [...]}} names them)"
        )
    return [found[k][0] for k in range(size)]


def refuse_guess(robot: Robot, name: str, quantity: str, joint: int, number: int, where: str) -> NoReturn:
    labels = robot.q_names if quantity == "q" else robot.v_names
    other = f"{labels[number]!r}, the joint of that number" if number < len(labels) else "a number beyond all joints"
    raise ValueError(
        f"{where}: column {name!r} could be {quantity} of {labels[joint]!r}, by name, or of {other} (expected names"
        f" such as {f'{quantity}.{labels[joint]}'!r}, or columns={{{quantity!r}: [...]}})"
    )


def joint_of(
    name: str, quantity: str, labels: Mapping[str, int], single: bool, currents: bool
) -> tuple[int | None, int | None]:
    """The joint of a column by name and by number, if the column has this quantity; a single joint needs neither."""
    low = name.lower()
    joint = None
    own = {label: rest for label in labels if (rest := without_label(label.lower().strip(), low)) != low}
    if own and low not in OF_NO_JOINT:
        label = max(own, key=len)
        rest = bare(f"joint {own[label]}")
        alone = not rest.removeprefix("joint").strip(" ._/")  # which is a position, unless the name says another one
        if ((quantity_of(bare(low), currents) or "q") if alone else quantity_of(rest, currents)) == quantity:
            joint = labels[label]
    low = bare(low)
    numbers = NUMBER.findall(low)
    if not numbers:
        return 0 if joint is None and single and quantity_of(low, currents) == quantity else joint, None
    start = low.rindex(numbers[-1])
    rest = f"{low[:start]} {low[start + len(numbers[-1]) :]}"
    return joint, int(numbers[-1]) if quantity_of(rest, currents) == quantity else None


def without_label(label: str, text: str) -> str:
    """A text without a label that is a word of it; a label that is a number may follow letters, as in q2."""
    if label not in text:
        return text
    before = "0-9" if label.isdecimal() else "a-z0-9"
    return re.sub(rf"(?<![{before}]){re.escape(label)}(?![a-z0-9])", " ", text)


def quantity_of(text: str, currents: bool = False) -> str | None:
    """The quantity that a column's name states, if it states one and has no unknown words besides."""
    words = re.findall(r"[a-z]+", text.lower())
    if currents and any(word in CURRENTS for word in words):
        words = ["tau" if word in CURRENTS else word for word in words if word != "motor"]
    if any(word in OTHERS for word in words):
        return None
    joined = "".join(words)  # q_dot
    if joined in QUANTITY:
        return QUANTITY[joined]
    known = {QUANTITY[word] for word in words if word in QUANTITY}
    if len(known) != 1 or any(word not in QUANTITY and word not in BESIDE for word in words):
        return None
    return known.pop()


def is_current(name: str) -> bool:
    return any(word in CURRENTS for word in re.findall(r"[a-z]+", name.lower()))


def bare(name: str) -> str:
    return without_unit(name, KNOWN)[0]
