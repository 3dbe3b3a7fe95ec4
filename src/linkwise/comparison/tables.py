"""Two tables of one convention, row by row: which of their entries differ, and tables read in the other convention.

Where two tables have the same rows, a slip of the pen is one entry: "d of 'link3': 0.3 in a, 0.316 in b". The search of
`alignment` would find its effects, which are several: a joint in another place, and a mass centre.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import RobotError
from ..robot import Robot, from_table
from .alignment import Alignment, JointAlignment
from .dynamics import Numbers, numbers_of
from .findings import Finding, both, moved_in_words
from .rigid import EYE, Array, apart, inverse, placed
from .skeleton import Skeleton, skeleton_of

DH = {"a": "a", "b": "d", "alpha": "alpha", "theta": "theta"}  # keys of rows, and what they are called
ANGLES = ("alpha", "theta")
OTHER = {"standard": "modified", "modified": "standard"}
SAME = 1e-10  # radians, and of the robot's size
MOST = 12  # with more entries that differ, they are other tables


@dataclass(frozen=True)
class Step:
    """An entry that differs, with the numbers of robot a after it, and those before it, are as in b."""

    unit: int
    finding: Finding
    numbers: Numbers


@dataclass(frozen=True)
class TableDifference:
    start: Numbers
    steps: tuple[Step, ...]
    corrected: Skeleton  # a with the places of b


def table_difference(a: Skeleton, b: Skeleton, order: list[int], size: float) -> TableDifference | None:
    """The entries by which the places of joints differ; None if the tables are not of the same rows."""
    own, theirs = a.robot, b.robot
    rows_a, rows_b = ([dict(row) for row in robot.rows] for robot in (own, theirs))
    if own.convention != theirs.convention or structure(rows_a) != structure(rows_b):
        return None
    changes = [(k, *change) for k in range(len(rows_a)) for change in row_changes(own, rows_a[k], rows_b[k], size)]
    if not 0 < len(changes) <= MOST:
        return None
    steps, corrected = [], a
    for k, message, kind, keys in changes:
        link = str(rows_a[k]["name"])
        where = link if kind == "DH parameter" else str(rows_a[k].get("joint_name", link))
        values = [place_in(row).tolist() if len(keys) > 1 else row.get(keys[0]) for row in (rows_a[k], rows_b[k])]
        rows_a[k] = {key: x for key, x in rows_a[k].items() if key not in keys}
        rows_a[k] |= {key: rows_b[k][key] for key in keys if key in rows_b[k]}
        try:
            corrected = skeleton_of(read_again(own, rows_a, own.convention))
        except RobotError:
            return None  # entries that depend on each other
        finding = Finding(kind, where, message, *values)
        steps.append(Step(unit_of(a, link), finding, numbers_of(corrected.kept(order))))
    return TableDifference(numbers_of(a.kept(order)), tuple(steps), corrected.kept(order))


def structure(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Of each row the kind of its joint, and the rows on which it stands and that it follows; names do not matter."""
    index = {row["name"]: k for k, row in enumerate(rows)}
    return [(row["joint"], index.get(row["parent"]), index.get(row.get("coupled_to"))) for row in rows]


def place_in(row: Mapping[str, Any]) -> Array:
    """The placement that a row of frames has."""
    return placed(row.get("rotation", np.eye(3)), row.get("translation", np.zeros(3)))


def row_changes(
    robot: Robot, one: Mapping[str, Any], other: Mapping[str, Any], size: float
) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Of each difference in the place of a joint: the message, its kind, and the keys of the row."""
    name = one["name"]
    if robot.convention != "frames":
        for key, word in DH.items():
            x, y = float(one.get(key, 0.0)), float(other.get(key, 0.0))
            if abs(x - y) > SAME * (1.0 if key in ANGLES else size):
                unit, times = (" deg", np.degrees(1.0)) if key in ANGLES else (" m", 1.0)
                yield f"{word} of {name!r}: {both(x * times, y * times, unit)}", "DH parameter", (key,)
        return
    place, there = place_in(one), place_in(other)
    joint = one.get("joint_name", name)
    if apart(place, there, size) > SAME:
        on_link = any(row["name"] == one["parent"] for row in robot.rows)
        frame = f"the frame of {one['parent']!r}" if on_link else "the base frame"
        what = f"frame {name!r}" if one["joint"] == "fixed" else f"joint {joint!r}"
        text = f"{what} stands in another place in b: {moved_in_words(place, there, size)}, in {frame}"
        yield text, "placement", ("translation", "rotation")
    for key, default, scale in (("axis", (0.0, 0.0, 1.0), 1.0), ("anchor", (0.0, 0.0, 0.0), size)):
        lines = [np.array(row.get(key, default), dtype=float) for row in (one, other)]
        if np.abs(lines[0] - lines[1]).max() > SAME * scale:
            yield f"{key} of joint {joint!r}: {both(lines[0], lines[1])}", key, (key,)


def unit_of(a: Skeleton, link: str) -> int:
    """The unit of a row's joint; of a fixed row, the unit that carries it."""
    for unit in a.units:  # of several degrees of freedom, the first
        if unit.link == link or unit.link.startswith(f"{link}."):
            return unit.index
    return next((frame.unit for frame in a.frames if frame.name == link), -1)


def as_they_are(count: int) -> Alignment:
    """The alignment of tables with the same frames: q_b = q_a."""
    return Alignment(EYE, tuple(JointAlignment(EYE, EYE, 0.0, 1, 0.0) for _ in range(count)), 0.0)


def read_again(robot: Robot, rows: list[dict[str, Any]], convention: str) -> Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of bodies that cannot exist: they are the robot's
        return from_table(rows, convention, robot.gravity, robot.name, unphysical="warn")


def reattached(robot: Robot, parents: Mapping[str, str]) -> Iterator[tuple[Robot, str]]:
    """The robot with some links on other parents, and words: each with its own row, then each where it is at q = 0.

    Nothing, if that is no tree; the second for tables of frames alone.
    """
    left = [{**row, "parent": parents.get(row["name"], row["parent"])} for row in robot.rows]
    rows = in_tree_order(left)
    if rows is None:
        return
    yield read_again(robot, rows, robot.convention), ""
    if robot.convention != "frames":
        return
    poses = {"": EYE}
    for row in robot.rows:
        poses[row["name"]] = poses.get(row["parent"], EYE) @ place_in(row)
    for k, row in enumerate(rows):
        if row["name"] in parents:
            place = inverse(poses.get(row["parent"], EYE)) @ poses[row["name"]]
            rows[k] = {**row, "translation": place[:3, 3].tolist(), "rotation": place[:3, :3].tolist()}
    yield read_again(robot, rows, robot.convention), ", at the same place at q = 0"


def in_tree_order(left: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
    """The rows with parents first; None where some carry each other."""
    left = list(left)
    rows: list[dict[str, Any]] = []
    while left:
        names = {row["name"] for row in left}
        ready = next((row for row in left if row["parent"] not in names), None)
        if ready is None:
            return None
        left.remove(ready)
        rows.append(ready)
    return rows


def other_conventions(a: Skeleton, b: Skeleton) -> Iterator[tuple[Skeleton, Skeleton, str]]:
    """One of the two robots with its DH table read in the other convention, and what that would mean."""
    for robot, which in ((b, "b"), (a, "a")):
        convention = robot.robot.convention
        if convention not in OTHER:
            continue
        try:
            again = skeleton_of(read_again(robot.robot, [dict(row) for row in robot.robot.rows], OTHER[convention]))
        except RobotError:
            continue
        right, other = ("b", b) if which == "a" else ("a", a)
        text = f"the DH table of {which} is read as {convention}; read as {OTHER[convention]} it is the robot {right}"
        if other.robot.convention == OTHER[convention]:
            text = f"one DH table, read as {a.robot.convention} in a and as {b.robot.convention} in b"
        yield (again, b, text) if which == "a" else (a, again, text)
