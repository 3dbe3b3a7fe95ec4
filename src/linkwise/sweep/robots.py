"""The robots of a chunk's rows, by family."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..errors import RobotError
from ..robot import Robot
from ..robot.entries import TENSOR, TURNS
from ..robot.tables import DRIVE
from .family import Family, Kinship, families, kinship
from .samples import STATE, Samples, parameters, varied

Vary = Callable[[Robot, Mapping[str, Any]], Robot]
Errors = dict[int, str]  # what is wrong with a row


class Crew(NamedTuple):
    """Rows of a chunk whose robots are of one family, and the numbers of each (rows, symbols)."""

    family: Family
    rows: np.ndarray
    numbers: np.ndarray
    robot: Callable[[int], Robot]  # that of a row


class Row(dict[str, Any]):
    """A row of samples that notes which of them are read."""

    def __init__(self, numbers: Mapping[str, Any], read: set[str]) -> None:
        super().__init__(numbers)
        self.read = read

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.read.add(name)
        return super().get(name, default)

    def __iter__(self) -> Iterator[str]:
        self.read.update(self.keys())
        return super().__iter__()

    def items(self) -> Any:
        self.read.update(self.keys())
        return super().items()

    def values(self) -> Any:
        self.read.update(self.keys())
        return super().values()


def crews(
    arm: Robot, rows: Samples, differ: Samples, vary: Vary | None, errors: Errors, read: set[str] | None = None
) -> list[Crew]:
    """All rows but those that something is wrong with, which are added to the errors.

    `read` gets the names of the samples that `vary` looked at.

    `differ` says which numbers of the parameters differ anywhere in the sweep. The family is then known before its
    robots are, and none needs to be made.
    """
    motion = set(rows) - set(parameters(rows, arm)) if vary is None else {*STATE, "wrench", "duration"}
    for name in (name for name in rows if name in motion):
        flat = rows[name].reshape(len(rows[name]), -1)
        for k in np.flatnonzero(~np.isfinite(flat).all(axis=1)).tolist():
            errors.setdefault(k, f"{name} is {rows[name][k].tolist()} (expected finite numbers)")
    for k in np.flatnonzero(rows["duration"] <= 0.0).tolist() if "duration" in rows else ():
        errors.setdefault(k, f"duration is {rows['duration'][k]} (expected a number above 0)")
    if vary is None and differ:
        try:
            kin = kinship(partial(varied, arm), {name: rows[name][0] for name in differ}, differ)
        except (TypeError, RobotError):  # a rotation or an axis is never of symbols; what is wrong, each row says
            return crews_of_robots(arm, rows, vary, errors, set())
        return [crew_of_table(arm, rows, kin, differ, errors)]
    return crews_of_robots(arm, rows, vary, errors, set() if read is None else read)


def crew_of_table(arm: Robot, rows: Samples, kin: Kinship, differ: Samples, errors: Errors) -> Crew:
    entries = {name: rows[name] for name in differ}

    def robot(k: int) -> Robot:
        return varied(arm, {name: array[k] for name, array in entries.items()})

    for k in np.flatnonzero(doubtful(entries)).tolist():
        try:
            robot(k)
        except RobotError as error:
            errors.setdefault(k, str(error))
    good = np.array([k for k in range(len(rows["q0"])) if k not in errors], dtype=int)
    return Crew(kin.family, good, kin.numbers({name: array[good] for name, array in entries.items()}), robot)


def doubtful(rows: Samples) -> np.ndarray:
    """The rows that a robot may not be made of: all that are wrong, and perhaps some that are not."""
    found = np.zeros(len(next(iter(rows.values()))), dtype=bool)
    for name, array in rows.items():
        word, flat = name.rpartition(".")[2], array.reshape(len(array), -1)
        found |= ~np.isfinite(flat).all(axis=1)
        if word in ("mass", *DRIVE):
            found |= (flat < 0.0).any(axis=1)
        if word in ("alpha", "theta"):
            found |= (np.abs(flat) > TURNS).any(axis=1)
        if word == "inertia":
            tensors = np.where(np.isfinite(array), array, 0.0)
            slack = 0.5 * TENSOR * np.abs(tensors).max(axis=(1, 2))  # half of what is allowed
            small, middle, large = np.linalg.eigvalsh(tensors).T
            found |= (tensors != tensors.transpose(0, 2, 1)).any(axis=(1, 2))
            found |= (small < -slack) | (small + middle < large - slack)
    return found


def crews_of_robots(arm: Robot, rows: Samples, vary: Vary | None, errors: Errors, read: set[str]) -> list[Crew]:
    names = parameters(rows, arm)
    made: dict[bytes, Robot] = {}
    groups: dict[Robot, list[int]] = {}
    for k in range(len(rows["q0"])):
        if k in errors:
            continue
        row = {name: array[k] for name, array in rows.items()}
        numbers = b"".join(row[name].tobytes() for name in names)
        try:
            if numbers not in made:
                made[numbers] = varied(arm, {name: row[name] for name in names}) if names else arm
            own = made[numbers] if vary is None else checked_robot(vary(made[numbers], Row(row, read)), arm)
        except RobotError as error:
            errors[k] = str(error)
            continue
        groups.setdefault(own, []).append(k)
    robots = list(groups)
    found = []
    for kin in families(robots):
        each = {k: robots[m] for m in kin.members for k in groups[robots[m]]}
        times = [len(groups[robots[m]]) for m in kin.members]
        found.append(Crew(kin.family, np.array(list(each)), np.repeat(kin.numbers, times, axis=0), each.__getitem__))
    return found


def checked_robot(made: Any, arm: Robot) -> Robot:
    if not isinstance(made, Robot) or made.n != arm.n or made.symbolic:
        raise TypeError(f"vary gave {made!r} (expected a Robot of numbers with {arm.n} joints)")
    return made
