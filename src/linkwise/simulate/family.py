"""Families: robots of one structure. Their joints, parents and names are the same, some of their numbers differ.

One robot of symbols stands for all of them: a symbol wherever members differ, the number wherever they do not, so that
zeros and ones still simplify. What is symbols here is what algorithms read of a link, rotations and inertias as the
table made them, not the table's own angles and lengths. Base parameters too: each member was regrouped before, in
numbers. So one program, of which the symbols are inputs, is that of every member.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..graph import Program, evaluate, symbols
from ..robot import Robot
from ..trace import trace

Entry = float | tuple[int, float]  # a number that all have, or a column of numbers and 1 or -1 times it


class Member(Robot):
    """A robot that was regrouped before its numbers became symbols; one made of it with other links was not."""

    def regrouped(self) -> Robot:
        return self.shelf.get("regrouped") or super().regrouped()

    def mapped(self, convert: Callable[[Any], Any], *, orthonormal: bool = False) -> Robot:
        return member(self.regrouped(), lambda robot: Robot.mapped(robot, convert, orthonormal=orthonormal))


def member(grouped: Robot, change: Callable[[Robot], Robot]) -> Member:
    made = change(grouped)
    links = tuple(replace(link, grouped=None) for link in made.links)
    plain = Member(made.name, links, made.frames, made.gravity, made.table, made.convention, made.about)
    plain.shelf["regrouped"] = made
    return plain


@dataclass(frozen=True)
class Family:
    """What the members have in common, and where each has a number of its own."""

    structure: Robot  # regrouped, of zeros
    entries: tuple[Entry, ...]  # in the order in which `Robot.mapped` meets the numbers
    table: Any = field(repr=False)  # and convention: robots are equal without them

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """As many as there are different columns of numbers."""
        count = 1 + max((entry[0] for entry in self.entries if isinstance(entry, tuple)), default=-1)
        return tuple(f"number_{k:05d}" for k in range(count))

    @cached_property
    def robot(self) -> Robot:
        """The robot of symbols."""
        named = symbols(" ".join(self.symbols)) if self.symbols else ()
        scalars = iter([named[e[0]] * e[1] if isinstance(e, tuple) else e for e in self.entries])
        return member(self.structure, lambda robot: robot.mapped(lambda _: next(scalars)))

    def evaluated(self, function: Callable[..., Any], numbers: np.ndarray, **arrays: np.ndarray) -> np.ndarray:
        """function(robot, ...) of each member, whose numbers are a row; arrays are (members, samples, n)."""
        program = traced(function, self)
        given = {**arrays, **{name: column[:, None] for name, column in zip(self.symbols, numbers.T, strict=True)}}
        with np.errstate(all="ignore"):
            return evaluate(program, *(given[port.name] for port in program.inputs))[0]


@lru_cache(maxsize=64)
def traced(function: Callable[..., Any], family: Family) -> Program:
    return trace(function, family.robot)


class Kin(NamedTuple):
    """Members of one family, by their place among the robots that were given, with their numbers (members, symbols)."""

    family: Family
    members: list[int]
    numbers: np.ndarray


def families(robots: Iterable[Robot], others: Iterable[Robot] = ()) -> list[Kin]:
    """The robots by family, in the order in which these appear.

    What differs between members also differs between `others`, robots that are like them and elsewhere: so that the
    family is the same whichever of its members are here.
    """
    found: dict[Any, list[tuple[int, list[float]]]] = {}
    beside: dict[Any, list[list[float]]] = {}
    for k, robot in enumerate(robots):
        key, numbers = anatomy(robot)
        found.setdefault(key, []).append((k, numbers))
    for robot in others:
        key, numbers = anatomy(robot)
        beside.setdefault(key, []).append(numbers)
    kin = []
    for key, rows in found.items():
        here = np.array([numbers for _, numbers in rows])
        entries, columns = differing(np.array([*here, *beside.get(key, [])]))
        structure, *table = key
        kin.append(Kin(Family(structure, entries, tuple(table)), [k for k, _ in rows], here[:, columns]))
    return kin


def anatomy(robot: Robot) -> tuple[tuple[Any, ...], list[float]]:
    """The structure of a robot, to compare, and all its numbers."""
    numbers: list[float] = []

    def record(x: Any) -> float:
        numbers.append(float(x))
        return 0.0

    bare = replace(robot.regrouped().mapped(record), name="family", about="")
    return (bare, bare.table, bare.convention), numbers


def differing(rows: np.ndarray) -> tuple[tuple[Entry, ...], Sequence[int]]:
    """What is in each column, and where those columns are that differ from row to row and from each other."""
    known: dict[bytes, Entry] = {}
    entries: list[Entry] = []
    kept: list[int] = []
    for k, column in enumerate(rows.T + 0.0):  # without -0.0
        if (column == column[0]).all():
            entries.append(float(column[0]))
            continue
        key = column.tobytes()
        if key not in known:
            known[(0.0 - column).tobytes()] = len(kept), -1.0
            known[key] = len(kept), 1.0
            kept.append(k)
        entries.append(known[key])
    return tuple(entries), kept
