"""Families: robots of one structure. Their joints, parents and names are the same, some of their numbers differ.

One robot of symbols stands for all of them: a symbol wherever members differ, the number wherever they do not, so that
zeros and ones still simplify. The symbols are what algorithms read of a link: rotations and inertias as the table made
them, not the table's own angles and lengths. Base parameters too: each member was regrouped before, in numbers. So one
program, of which the symbols are inputs, is that of every member.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..graph import Graph, Node, Port, Program, check, evaluate
from ..lazy import cached_property
from ..robot import Robot, before_regrouping
from ..spatial import Scalar
from ..tracing import trace
from ..tracing.loop_tracing import Column, Columns
from .samples import varied

Entries = Mapping[str, np.ndarray]  # of tables, by name
Entry = float | Column  # a number that all members share, or a column


class Structure(NamedTuple):
    """What makes robots members of one family."""

    robot: Robot  # regrouped, of zeros
    table: Any  # of zeros too; robots are equal without it
    convention: str


@dataclass(frozen=True)
class Family:
    """What the members have in common, and where each has a number of its own."""

    structure: Structure
    entries: tuple[Entry, ...]  # in the order in which `Robot.mapped` meets the numbers

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """As many as there are different columns of numbers."""
        count = 1 + max((entry[0] for entry in self.entries if isinstance(entry, tuple)), default=-1)
        return tuple(f"number_{k:05d}" for k in range(count))

    @property
    def robot(self) -> Robot:
        """The robot of symbols; the same one for equal families, so that its code is found again."""
        return robot_of(self)

    def evaluated(self, function: Callable[..., Any], numbers: np.ndarray, **arrays: np.ndarray) -> np.ndarray:
        """function(robot, ...) of each member, whose numbers are a row; arrays are (members, samples, n)."""
        program = traced(function, self)
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
def traced(function: Callable[..., Any], family: Family) -> Program:
    return trace(function, family.robot)


class FamilyMembers(NamedTuple):
    """Members of one family, by their index among the robots, with their numbers (members, symbols)."""

    family: Family
    members: list[int]
    numbers: np.ndarray


def families(robots: Iterable[Robot]) -> list[FamilyMembers]:
    """The robots by family, in the order in which these appear."""
    groups: dict[Structure, list[tuple[int, list[float]]]] = {}
    for k, robot in enumerate(robots):
        structure, numbers = structure_of(robot)
        groups.setdefault(structure, []).append((k, [float(x) for x in numbers]))
    members = []
    for structure, rows in groups.items():
        table = np.array([row for _, row in rows])
        entries, columns = differing(table)
        members.append(FamilyMembers(Family(structure, entries), [k for k, _ in rows], table[:, columns]))
    return members


def structure_of(robot: Robot) -> tuple[Structure, list[Scalar]]:
    """The structure of a robot, and all its numbers, or the nodes that it has in place of them."""
    numbers: list[Scalar] = []

    def record(x: Scalar) -> float:
        numbers.append(x)
        return 0.0

    bare = replace(robot.regrouped().mapped(record), name="family", about="")
    return Structure(bare, bare.table, bare.convention), numbers


def differing(rows: np.ndarray) -> tuple[tuple[Entry, ...], list[int]]:
    """What each column is, and the indices of the columns that differ from row to row and from each other."""
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
    """The family of all robots that differ in some entries of their tables, and the numbers of members from these.

    It is pickled as the arguments of `family_map`.
    """

    arm: Robot
    row: Entries
    varying: Entries
    family: Family
    program: Program  # entries of a table -> numbers of a member

    def numbers(self, rows: Entries) -> np.ndarray:
        flat = [rows[port.name].reshape(-1, port.size) for port in self.program.inputs]
        with np.errstate(all="ignore"):
            return evaluate(self.program, *flat)[0]

    def __reduce__(self) -> tuple[Any, ...]:
        return family_map, (self.arm, self.row, self.varying)


def family_map(arm: Robot, row: Entries, varying: Entries) -> FamilyMap:
    """Robots like `arm`, with the entries of one row; `varying` says which numbers of these differ between robots."""
    tape, entries = Graph(), {}
    ports = [Port(name, (which.size,)) for name, which in varying.items()]
    for name, which in varying.items():
        entries[name] = np.array(row[name], dtype=object)
        for position, index in enumerate(np.ndindex(which.shape)):
            if which[index]:
                entries[name][index] = tape.input(name, position)
    structure, numbers = structure_of(varied(arm, entries))
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
    return FamilyMap(arm, row, varying, Family(structure, tuple(parts)), check(program))
