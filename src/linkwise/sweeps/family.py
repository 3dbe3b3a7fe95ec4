"""Families: robots of one structure. Their joints, parents and names are the same, some of their numbers differ.

One robot of symbols stands for all members: it has a symbol where members differ and a number where they agree, so
that zeros and ones still simplify. The symbols stand for what algorithms read of a link, rotations and inertias, not
for the angles and lengths of the table. Base parameters are included: each member was regrouped before, in
numbers. So one program with the symbols as inputs serves every member.

If the samples are entries of tables, all rows of a chunk are of one known family. Otherwise the robot of each row is
made, and robots are sorted into families.
"""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..control.events import events_of
from ..errors import RobotError
from ..graph import Graph, Node, Port, Program, check, evaluate
from ..lazy import cached_property
from ..robot import Friction, Robot, WrenchFrames, before_regrouping
from ..robot.entries import TENSOR, TURNS
from ..robot.layout import zero_quaternion_message
from ..robot.tables import DRIVE, FURTHER_FRICTION
from ..simulation.parameters import check_parameters
from ..simulation.problem import Problem
from ..simulation.sampling import split_sampled_laws
from ..tracing import trace
from ..tracing.loop_tracing import Column, Columns
from .samples import STATE, Samples, replace_entries, table_entries

Entries = Mapping[str, np.ndarray]  # of tables, by name
Entry = float | Column  # a number that all members share, or a column
Vary = Callable[[Robot, Mapping[str, Any]], Robot]
Errors = dict[int, str]  # messages by row


class Structure(NamedTuple):
    """What the robots of one family have in common."""

    robot: Robot  # regrouped, of zeros
    table: Any  # of zeros; equality of robots ignores tables
    convention: str


@dataclass(frozen=True)
class Family:
    """The common structure of the members, and the places in which their numbers differ."""

    structure: Structure
    entries: tuple[Entry, ...]  # in the order of `Robot.mapped`

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """The names of the symbols, one for each different column of numbers."""
        count = 1 + max((entry[0] for entry in self.entries if isinstance(entry, tuple)), default=-1)
        return tuple(f"number_{k:05d}" for k in range(count))

    @property
    def robot(self) -> Robot:
        """The robot of symbols. Equal families share it, and so its code."""
        return robot_of(self)

    def evaluate_members(self, function: Callable[..., Any], numbers: np.ndarray, **arrays: np.ndarray) -> np.ndarray:
        """Evaluate function(robot, ...) for members with these rows of numbers; arrays are (members, samples, n)."""
        program = trace_for_family(function, self)
        columns = {name: column[:, None] for name, column in zip(self.symbols, numbers.T, strict=True)}
        values = {**arrays, **columns}
        with np.errstate(all="ignore"):
            return evaluate(program, *(values[port.name] for port in program.inputs))[0]


@lru_cache(maxsize=64)
def robot_of(family: Family) -> Robot:
    tape = Graph(scalar_inputs=True)
    symbols = [tape.input(name) for name in family.symbols]
    scalars = iter([symbols[e[0]] * e[1] if isinstance(e, tuple) else e for e in family.entries])
    return before_regrouping(family.structure.robot.mapped(lambda _: next(scalars)))


@lru_cache(maxsize=64)
def trace_for_family(function: Callable[..., Any], family: Family) -> Program:
    return trace(function, family.robot)


def family_problem(family: Family, options: Mapping[str, Any], loads: Mapping[str, np.ndarray], like: Robot) -> Problem:
    """The problem of a family; `like` is the robot of the sweep."""
    torque, where = options["torque"], options["point"]
    return Problem(
        family.robot,
        torque if callable(torque) else None,
        "tau" in loads,
        loads["wrench"].shape[1:] if "wrench" in loads else None,
        Friction.of(options["friction"]),
        options["coordinates"],
        options["method"],
        events_of(options["events"]),
        family.symbols,
        tuple((name, loads[name].shape[1:]) for name in loads if name not in ("tau", "wrench")),
        where if where is None or isinstance(where, WrenchFrames) else tuple(map(plain_tuple, where)),
        like=like,
    )


def loads_of(options: Mapping[str, Any], count: int) -> dict[str, np.ndarray]:
    """Torques, wrenches and parameters of each trajectory, in the order of `Problem.loads`."""
    torque = split_sampled_laws(options["torque"])[0]
    constant = {"tau": None if callable(torque) else torque, "wrench": options["wrench"]}
    loads = {name: spread(load, count) for name, load in constant.items() if load is not None}
    return {**loads, **check_parameters(torque, options.get("parameters"), (count,))}


def plain_tuple(x: Any) -> Any:
    """A number as a float, a row of numbers as a tuple."""
    return tuple(map(float, x)) if np.ndim(x) else float(x)


def spread(load: Any, count: int) -> np.ndarray:
    """A load for each trajectory, from one load for all or from an array of loads."""
    array = np.asarray(load, dtype=float)
    return np.broadcast_to(array, (count, *(array.shape if array.ndim == 1 else array.shape[1:])))


class FamilyMembers(NamedTuple):
    """Members of one family, by their index among the robots, with their numbers (members, symbols)."""

    family: Family
    members: list[int]
    numbers: np.ndarray


def families(robots: Iterable[Robot]) -> list[FamilyMembers]:
    """Sort robots into families, in order of appearance."""
    groups: dict[Structure, list[tuple[int, list[float]]]] = {}
    for k, robot in enumerate(robots):
        structure, numbers = structure_of(robot)
        groups.setdefault(structure, []).append((k, [float(x) for x in numbers]))
    members = []
    for structure, rows in groups.items():
        table = np.array([row for _, row in rows])
        entries, columns = differing_columns(table)
        members.append(FamilyMembers(Family(structure, entries), [k for k, _ in rows], table[:, columns]))
    return members


def structure_of(robot: Robot) -> tuple[Structure, list[Any]]:
    """The structure of a robot, and its numbers or the nodes in their place."""
    numbers: list[Any] = []

    def record(x: Any) -> float:
        numbers.append(x)
        return 0.0

    bare = replace(robot.regrouped().mapped(record), name="family", about="")
    return Structure(bare, bare.table, bare.convention), numbers


def differing_columns(rows: np.ndarray) -> tuple[tuple[Entry, ...], list[int]]:
    """The entry of each column, and the indices of the different columns whose rows differ."""
    columns = Columns()
    entries: list[Entry] = []
    kept: list[int] = []
    for k, column in enumerate(rows.T + 0.0):  # without -0.0
        if (column == column[0]).all():
            entries.append(float(column[0]))
            continue
        entries.append(columns.place(column.tobytes(), (0.0 - column).tobytes()))
        if columns.count > len(kept):
            kept.append(k)
    return tuple(entries), kept


@dataclass(frozen=True, eq=False)
class FamilyMap:
    """The family of the robots that differ in some entries of their tables, and a program for members' numbers.

    It is pickled as the arguments of `family_map`.
    """

    robot: Robot
    row: Entries
    varying: Entries
    family: Family
    program: Program  # entries of a table -> numbers of a member

    def numbers(self, rows: Entries) -> np.ndarray:
        flat = [rows[port.name].reshape(-1, port.size) for port in self.program.inputs]
        with np.errstate(all="ignore"):
            return evaluate(self.program, *flat)[0]

    def __reduce__(self) -> tuple[Any, ...]:
        return family_map, (self.robot, self.row, self.varying)


def family_map(robot: Robot, row: Entries, varying: Entries) -> FamilyMap:
    """The map for robots like `robot` with the entries of one row; `varying` masks the numbers that differ."""
    tape, entries = Graph(), {}
    ports = [Port(name, (which.size,)) for name, which in varying.items()]
    for name, which in varying.items():
        entries[name] = np.array(row[name], dtype=object)
        for position, index in enumerate(np.ndindex(which.shape)):
            if which[index]:
                entries[name][index] = tape.input(name, position)
    structure, numbers = structure_of(replace_entries(robot, entries))
    columns = Columns()
    kept: list[Node] = []
    parts: list[Entry] = []
    for node in map(tape.node, numbers):
        if node.op == "const":
            parts.append(node.payload)
            continue
        parts.append(columns.place(node.index, node.args[0].index if node.op == "neg" else None))
        if columns.count > len(kept):
            kept.append(node)
    program = Program.of(tape, ports, [Port("numbers", (len(kept),))], [kept])
    return FamilyMap(robot, row, varying, Family(structure, tuple(parts)), check(program))


class FamilyChunk(NamedTuple):
    """Rows of a chunk with robots of one family, and their numbers (rows, symbols)."""

    family: Family
    rows: np.ndarray
    numbers: np.ndarray
    robot: Callable[[int], Robot]  # by row

    def part(self, which: np.ndarray) -> FamilyChunk:
        """Some of the rows."""
        return self._replace(rows=self.rows[which], numbers=self.numbers[which])


class Row(UserDict[str, Any]):
    """A row of samples that records which names are read."""

    def __init__(self, numbers: Mapping[str, Any], read: set[str]) -> None:
        super().__init__(numbers)
        self.read = read

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return super().__getitem__(name)


def check_motion(robot: Robot, rows: Samples, vary: Vary | None, errors: Errors) -> None:
    """Add an error for each row whose state, loads, parameters or duration cannot be simulated."""
    motion = {*STATE, "wrench", "duration"} if vary else set(rows) - set(table_entries(rows, robot))
    for name in (name for name in rows if name in motion):
        flat = rows[name].reshape(len(rows[name]), -1)
        for k in np.flatnonzero(~np.isfinite(flat).all(axis=1)).tolist():
            errors.setdefault(k, f"{name} is {rows[name][k].tolist()} (expected finite numbers)")
    for p in robot.quaternions:
        for k in np.flatnonzero(~rows["q0"][:, p : p + 4].any(axis=1)).tolist():
            errors.setdefault(k, zero_quaternion_message(robot, f"q0[{p}]", p))
    for k in np.flatnonzero(rows["duration"] <= 0.0).tolist() if "duration" in rows else ():
        errors.setdefault(k, f"duration is {rows['duration'][k]} (expected a number above 0)")


def chunk_of_table(rows: Samples, family_map: FamilyMap, law: Friction | None, errors: Errors) -> FamilyChunk:
    """All rows without errors, with the numbers of their robots. A robot itself is made when it is asked for."""
    entries = {name: rows[name] for name in family_map.varying}

    def robot(k: int) -> Robot:
        return replace_entries(family_map.robot, {name: array[k] for name, array in entries.items()})

    for k in np.flatnonzero(possibly_invalid(family_map.robot, entries, law)).tolist():
        try:
            check_friction(robot(k), law)
        except RobotError as error:
            errors.setdefault(k, str(error))
    good = np.array([k for k in range(len(rows["q0"])) if k not in errors], dtype=int)
    numbers = family_map.numbers({name: array[good] for name, array in entries.items()})
    return FamilyChunk(family_map.family, good, numbers, robot)


def check_friction(robot: Robot, law: Friction | None) -> Robot:
    """The robot, or an error if the law of friction would drive its joints."""
    if law is not None:
        law.refuse_driving(robot)
    return robot


def possibly_invalid(robot: Robot, rows: Samples, law: Friction | None = None) -> np.ndarray:
    """The rows that may not give a robot for this law: all that do not, and perhaps others."""
    keys = {name.rpartition(".")[2] for name in rows}
    further = any(key in row for row in robot.rows for key in FURTHER_FRICTION)
    depends = "coulomb_friction" in keys and (further or (law is not None and law.depends_on_coulomb()))
    invalid = np.full(len(next(iter(rows.values()))), depends or not keys.isdisjoint(FURTHER_FRICTION))
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


def chunks_of_robots(
    robot: Robot, rows: Samples, vary: Vary | None, law: Friction | None, errors: Errors, read: set[str]
) -> list[FamilyChunk]:
    """Make the robot of each row without an error, and sort them into families.

    `read` collects the names of samples that `vary` reads.
    """
    names = table_entries(rows, robot)
    robots: dict[bytes, Robot] = {}
    groups: dict[Robot, list[int]] = {}
    for k in range(len(rows["q0"])):
        if k in errors:
            continue
        row = {name: array[k] for name, array in rows.items()}
        key = b"".join(row[name].tobytes() for name in names)
        try:
            if key not in robots:
                robots[key] = replace_entries(robot, {name: row[name] for name in names}) if names else robot
            member = robots[key] if vary is None else check_robot(vary(robots[key], Row(row, read)), robot)
            check_friction(member, law)
        except RobotError as error:
            errors[k] = str(error)
            continue
        groups.setdefault(member, []).append(k)
    different = list(groups)
    chunks = []
    for family, members, numbers in families(different):
        robot_of_row = {k: different[m] for m in members for k in groups[different[m]]}
        repeats = [len(groups[different[m]]) for m in members]
        table = np.repeat(numbers, repeats, axis=0)
        chunks.append(FamilyChunk(family, np.array(list(robot_of_row)), table, robot_of_row.__getitem__))
    return chunks


def check_robot(member: Any, robot: Robot) -> Robot:
    """The result of `vary`; raise a TypeError unless it is a robot of numbers with the joints of `robot`."""
    if (
        not isinstance(member, Robot)
        or member.n != robot.n
        or member.quaternions != robot.quaternions
        or member.symbolic
    ):
        kinds = ", quaternions in the same places" if robot.quaternions else ""
        raise TypeError(f"vary returned {member!r} (expected a Robot of numbers with {robot.n} joints{kinds})")
    return member
