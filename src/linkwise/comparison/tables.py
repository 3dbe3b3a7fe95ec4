"""Compare two tables of one convention entry by entry, and read tables in the other convention.

If two tables have the same rows, a typing error is one entry: "d of 'link3': 0.3 in a, 0.316 in b". The search of
`alignment` would report its several effects instead: a displaced joint and another mass centre.
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
from .dynamics import DynamicParameters, parameters_of
from .findings import Finding, compare_values, displacement_text
from .rigid import EYE, Array, inverse, make_pose, pose_difference
from .skeleton import Skeleton, skeleton_of

DH = {"a": "a", "b": "d", "alpha": "alpha", "theta": "theta"}  # keys of rows and their names in messages
ANGLES = ("alpha", "theta")
OTHER = {"standard": "modified", "modified": "standard"}
SAME = 1e-10  # radians, and of the robot's size
MOST = 12  # tables with more differing entries are not compared


@dataclass(frozen=True)
class Step:
    """An entry that differs, with the parameters of robot a after correcting it and those before it."""

    unit: int
    finding: Finding
    numbers: DynamicParameters


@dataclass(frozen=True)
class TableDifference:
    start: DynamicParameters
    steps: tuple[Step, ...]
    corrected: Skeleton  # a with the placements of b


def table_difference(a: Skeleton, b: Skeleton, order: list[int], size: float) -> TableDifference | None:
    """The differing entries of joint placements; None if the tables do not have the same rows."""
    robot_a, robot_b = a.robot, b.robot
    rows_a, rows_b = ([dict(row) for row in robot.rows] for robot in (robot_a, robot_b))
    if robot_a.convention != robot_b.convention or structure(rows_a) != structure(rows_b):
        return None
    changes = [
        (k, *change) for k in range(len(rows_a)) for change in row_differences(robot_a, rows_a[k], rows_b[k], size)
    ]
    if not 0 < len(changes) <= MOST:
        return None
    steps, corrected = [], a
    for k, message, kind, keys in changes:
        link = str(rows_a[k]["name"])
        where = link if kind == "DH parameter" else str(rows_a[k].get("joint_name", link))
        values = [row_placement(row).tolist() if len(keys) > 1 else row.get(keys[0]) for row in (rows_a[k], rows_b[k])]
        rows_a[k] = {key: x for key, x in rows_a[k].items() if key not in keys}
        rows_a[k] |= {key: rows_b[k][key] for key in keys if key in rows_b[k]}
        try:
            corrected = skeleton_of(rebuild(robot_a, rows_a, robot_a.convention))
        except RobotError:
            return None  # entries that depend on each other
        finding = Finding(kind, where, message, *values)
        steps.append(Step(unit_of(a, link), finding, parameters_of(corrected.kept(order))))
    return TableDifference(parameters_of(a.kept(order)), tuple(steps), corrected.kept(order))


def structure(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """For each row the kind of its joint, its parent and its leader, independent of names."""
    index = {row["name"]: k for k, row in enumerate(rows)}
    return [(row["joint"], index.get(row["parent"]), index.get(row.get("coupled_to"))) for row in rows]


def row_placement(row: Mapping[str, Any]) -> Array:
    """The placement of a row of frames."""
    return make_pose(row.get("rotation", np.eye(3)), row.get("translation", np.zeros(3)))


def row_differences(
    robot: Robot, one: Mapping[str, Any], other: Mapping[str, Any], size: float
) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Message, kind and keys of each difference in the placement of a joint."""
    name = one["name"]
    if robot.convention != "frames":
        for key, word in DH.items():
            x, y = float(one.get(key, 0.0)), float(other.get(key, 0.0))
            if abs(x - y) > SAME * (1.0 if key in ANGLES else size):
                unit, times = (" deg", np.degrees(1.0)) if key in ANGLES else (" m", 1.0)
                yield f"{word} of {name!r}: {compare_values(x * times, y * times, unit)}", "DH parameter", (key,)
        return
    place, other_place = row_placement(one), row_placement(other)
    joint = one.get("joint_name", name)
    if pose_difference(place, other_place, size) > SAME:
        on_link = any(row["name"] == one["parent"] for row in robot.rows)
        frame = f"the frame of {one['parent']!r}" if on_link else "the base frame"
        what = f"frame {name!r}" if one["joint"] == "fixed" else f"joint {joint!r}"
        text = f"{what} stands in another place in b: {displacement_text(place, other_place, size)}, in {frame}"
        yield text, "placement", ("translation", "rotation")
    for key, default, scale in (("axis", (0.0, 0.0, 1.0), 1.0), ("anchor", (0.0, 0.0, 0.0), size)):
        lines = [np.array(row.get(key, default), dtype=float) for row in (one, other)]
        if np.abs(lines[0] - lines[1]).max() > SAME * scale:
            yield f"{key} of joint {joint!r}: {compare_values(lines[0], lines[1])}", key, (key,)


def unit_of(a: Skeleton, link: str) -> int:
    """The unit of a row's joint; for a fixed row, the unit that carries it."""
    for unit in a.units:  # of several degrees of freedom, the first
        if unit.link == link or unit.link.startswith(f"{link}."):
            return unit.index
    return next((frame.unit for frame in a.frames if frame.name == link), -1)


def identity_alignment(count: int) -> Alignment:
    """The alignment of tables with the same frames: q_b = q_a."""
    return Alignment(EYE, tuple(JointAlignment(EYE, EYE, 0.0, 1, 0.0) for _ in range(count)), 0.0)


def rebuild(robot: Robot, rows: list[dict[str, Any]], convention: str) -> Robot:
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", UserWarning
        )  # about inertias that are not physically consistent: the robot has them
        return from_table(rows, convention, robot.gravity, robot.name, unphysical="warn")


def reattach(robot: Robot, parents: Mapping[str, str]) -> Iterator[tuple[Robot, str]]:
    """The robot with some links on other parents, and a note: with the same rows, then with the same poses at q = 0.

    Nothing if the result is no tree; the second only for tables of frames.
    """
    left = [{**row, "parent": parents.get(row["name"], row["parent"])} for row in robot.rows]
    rows = sort_parents_first(left)
    if rows is None:
        return
    yield rebuild(robot, rows, robot.convention), ""
    if robot.convention != "frames":
        return
    poses = {"": EYE}
    for row in robot.rows:
        poses[row["name"]] = poses.get(row["parent"], EYE) @ row_placement(row)
    for k, row in enumerate(rows):
        if row["name"] in parents:
            place = inverse(poses.get(row["parent"], EYE)) @ poses[row["name"]]
            rows[k] = {**row, "translation": place[:3, 3].tolist(), "rotation": place[:3, :3].tolist()}
    yield rebuild(robot, rows, robot.convention), ", at the same place at q = 0"


def sort_parents_first(remaining: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
    """The rows with parents first; None if there is a cycle."""
    remaining = list(remaining)
    rows: list[dict[str, Any]] = []
    while remaining:
        names = {row["name"] for row in remaining}
        ready = next((row for row in remaining if row["parent"] not in names), None)
        if ready is None:
            return None
        remaining.remove(ready)
        rows.append(ready)
    return rows


def other_conventions(a: Skeleton, b: Skeleton) -> Iterator[tuple[Skeleton, Skeleton, str]]:
    """The two robots with one DH table read in the other convention, and the message for it."""
    for robot, which in ((b, "b"), (a, "a")):
        convention = robot.robot.convention
        if convention not in OTHER:
            continue
        try:
            reread = skeleton_of(rebuild(robot.robot, [dict(row) for row in robot.robot.rows], OTHER[convention]))
        except RobotError:
            continue
        same_as, other = ("b", b) if which == "a" else ("a", a)
        text = f"the DH table of {which} is read as {convention}; read as {OTHER[convention]} it is the robot {same_as}"
        if other.robot.convention == OTHER[convention]:
            text = f"one DH table, read as {a.robot.convention} in a and as {b.robot.convention} in b"
        yield (reread, b, text) if which == "a" else (a, reread, text)
