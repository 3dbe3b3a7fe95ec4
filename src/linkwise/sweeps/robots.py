"""The robots of a chunk's rows, by family."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..errors import RobotError
from ..robot import Robot
from ..robot.entries import TENSOR, TURNS
from ..robot.layout import no_orientation
from ..robot.tables import DRIVE
from .family import Family, FamilyMap, families
from .samples import STATE, Samples, table_entries, varied

Vary = Callable[[Robot, Mapping[str, Any]], Robot]
Errors = dict[int, str]  # what is wrong with a row


class FamilyChunk(NamedTuple):
    """Rows of a chunk whose robots are of one family, and the numbers of each (rows, symbols)."""

    family: Family
    rows: np.ndarray
    numbers: np.ndarray
    robot: Callable[[int], Robot]  # that of a row

    def part(self, which: np.ndarray) -> FamilyChunk:
        """Some of the rows."""
        return self._replace(rows=self.rows[which], numbers=self.numbers[which])


class Row(UserDict[str, Any]):
    """A row of samples that records which of them are read."""

    def __init__(self, numbers: Mapping[str, Any], read: set[str]) -> None:
        super().__init__(numbers)
        self.read = read

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return super().__getitem__(name)


def check_motion(arm: Robot, rows: Samples, vary: Vary | None, errors: Errors) -> None:
    """Add to the errors the rows whose state, loads, parameters or duration cannot be simulated."""
    motion = {*STATE, "wrench", "duration"} if vary else set(rows) - set(table_entries(rows, arm))
    for name in (name for name in rows if name in motion):
        flat = rows[name].reshape(len(rows[name]), -1)
        for k in np.flatnonzero(~np.isfinite(flat).all(axis=1)).tolist():
            errors.setdefault(k, f"{name} is {rows[name][k].tolist()} (expected finite numbers)")
    for p in arm.quaternions:
        for k in np.flatnonzero(~rows["q0"][:, p : p + 4].any(axis=1)).tolist():
            errors.setdefault(k, no_orientation(arm, f"q0[{p}]", p))
    for k in np.flatnonzero(rows["duration"] <= 0.0).tolist() if "duration" in rows else ():
        errors.setdefault(k, f"duration is {rows['duration'][k]} (expected a number above 0)")


def chunk_of_table(rows: Samples, family_map: FamilyMap, errors: Errors) -> FamilyChunk:
    """All rows but those with errors; the numbers of their robots without the robots, which are made when asked for."""
    entries = {name: rows[name] for name in family_map.varying}

    def robot(k: int) -> Robot:
        return varied(family_map.arm, {name: array[k] for name, array in entries.items()})

    for k in np.flatnonzero(perhaps_invalid(entries)).tolist():
        try:
            robot(k)
        except RobotError as error:
            errors.setdefault(k, str(error))
    good = np.array([k for k in range(len(rows["q0"])) if k not in errors], dtype=int)
    numbers = family_map.numbers({name: array[good] for name, array in entries.items()})
    return FamilyChunk(family_map.family, good, numbers, robot)


def perhaps_invalid(rows: Samples) -> np.ndarray:
    """The rows of which no robot can be made, and perhaps some more."""
    invalid = np.zeros(len(next(iter(rows.values()))), dtype=bool)
    for name, array in rows.items():
        key, flat = name.rpartition(".")[2], array.reshape(len(array), -1)
        invalid |= ~np.isfinite(flat).all(axis=1)
        if key in ("mass", *DRIVE):
            invalid |= (flat < 0.0).any(axis=1)
        if key in ("alpha", "theta"):
            invalid |= (np.abs(flat) > TURNS).any(axis=1)
        if key == "inertia":
            tensors = np.where(np.isfinite(array), array, 0.0)
            slack = 0.5 * TENSOR * np.abs(tensors).max(axis=(1, 2))  # half of what is allowed
            small, middle, large = np.linalg.eigvalsh(tensors).T
            invalid |= (tensors != tensors.transpose(0, 2, 1)).any(axis=(1, 2))
            invalid |= (small < -slack) | (small + middle < large - slack)
    return invalid


def chunks_of_robots(arm: Robot, rows: Samples, vary: Vary | None, errors: Errors, read: set[str]) -> list[FamilyChunk]:
    """The robot of each row without an error, then their families. `read`: names of samples that `vary` looked at."""
    names = table_entries(rows, arm)
    robots: dict[bytes, Robot] = {}
    groups: dict[Robot, list[int]] = {}
    for k in range(len(rows["q0"])):
        if k in errors:
            continue
        row = {name: array[k] for name, array in rows.items()}
        key = b"".join(row[name].tobytes() for name in names)
        try:
            if key not in robots:
                robots[key] = varied(arm, {name: row[name] for name in names}) if names else arm
            robot = robots[key] if vary is None else checked_robot(vary(robots[key], Row(row, read)), arm)
        except RobotError as error:
            errors[k] = str(error)
            continue
        groups.setdefault(robot, []).append(k)
    different = list(groups)
    chunks = []
    for family, members, numbers in families(different):
        robot_of_row = {k: different[m] for m in members for k in groups[different[m]]}
        repeats = [len(groups[different[m]]) for m in members]
        table = np.repeat(numbers, repeats, axis=0)
        chunks.append(FamilyChunk(family, np.array(list(robot_of_row)), table, robot_of_row.__getitem__))
    return chunks


def checked_robot(robot: Any, arm: Robot) -> Robot:
    if not isinstance(robot, Robot) or robot.n != arm.n or robot.quaternions != arm.quaternions or robot.symbolic:
        kinds = ", its orientations where they were" if arm.quaternions else ""
        raise TypeError(f"vary gave {robot!r} (expected a Robot of numbers with {arm.n} joints{kinds})")
    return robot
