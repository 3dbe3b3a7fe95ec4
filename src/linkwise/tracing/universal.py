"""Loops over the links of any robot, whose numbers are all data.

The traced robot has one link of each kind of joint in a fixed order. All kinds share the columns of one table, and
gravity is an input of three numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..graph import Graph
from ..graph.loops import GRAVITY, LoopProgram
from ..robot import Link, Regrouping, Robot, StandIn, before_regrouping
from ..robot.joint import Joint
from ..robot.kinds import joint_numbers, link_joints
from ..robot.link import DRIVE, NumberMap, empty_link, number_fields
from .loop_tracing import UNKNOWN, Loops, TracedRobot, recorder, traced_loops

PLACED = (  # the numbers of a link besides those of its joint
    *(f"placement.rotation.{row}{column}" for row in "xyz" for column in "xyz"),
    *(f"placement.translation.{axis}" for axis in "xyz"),
    "mass",
    *(f"com.{axis}" for axis in "xyz"),
    *(f"inertia.{axes}" for axes in ("xx", "xy", "xz", "yy", "yz", "zz")),
    *(f"frame.rotation.{row}{column}" for row in "xyz" for column in "xyz"),
    *(f"frame.translation.{axis}" for axis in "xyz"),
    "regrouped.mass",
    *(f"regrouped.moment.{axis}" for axis in "xyz"),
    *(f"regrouped.tensor.{axes}" for axes in ("xx", "xy", "xz", "yy", "yz", "zz")),
)


def link_columns() -> tuple[str, ...]:
    """The names of a link's numbers in the order of the table."""
    return (*DRIVE, *PLACED, *joint_numbers())


def trace_universal(function: Callable[..., Any], arrays: dict[str, tuple[int, ...]], **keywords: Any) -> LoopProgram:
    """The loops of `function(robot, ...)` for any robot. `arrays` maps its inputs to their shapes for one link."""
    graph = Graph()
    loops = Loops(graph)
    kinds, columns_of = link_joints(), link_columns()
    tables = tuple(f"table{k}" for k in range(len(kinds)))
    links = [
        general_link(kind, [graph.input(table, k) for k in range(len(columns_of))])
        for kind, table in zip(kinds, tables, strict=True)
    ]
    x, y, z = (graph.input(GRAVITY, k) for k in range(3))
    known = Regrouping(tuple(links), tuple(links))
    robot = StandIn("any robot", known.links, (), (x, y, z), (), "frames", walk=loops, regrouping=known)
    program = traced_loops(TracedRobot(before_regrouping(robot), tables, loops), function, arrays, keywords)
    for loop in program.loops:
        for body, columns in zip(loop.bodies, program.columns, strict=True):
            body.numbers = {index: columns[place] for index, place in body.numbers.items()}
    return replace(program, columns=(tuple(range(len(columns_of))),) * len(kinds))


def general_link(kind: type[Joint], numbers: Sequence[Any]) -> Link:
    """A link of this kind with the given numbers."""
    link = replace(empty_link(kind()), index=UNKNOWN, parent=UNKNOWN)
    column = dict(zip(link_columns(), numbers, strict=True))
    visited = iter([column[name] for name in (*number_fields(kind), *PLACED)])
    return NumberMap(lambda _: next(visited)).link(link)


def link_table(robot: Robot) -> np.ndarray:
    """The numbers of all links in the order of `link_columns()`: (links, columns)."""
    rows, columns = [], joint_numbers()
    for link in robot.regrouped().links:
        row: list[float] = []
        NumberMap(recorder(row)).link(link)
        of_joint = number_fields(type(link.joint))
        known = dict(zip(of_joint, row, strict=False))
        rest = row[len(of_joint) :]
        rows.append([*(known[name] for name in DRIVE), *rest, *(known.get(name, 0.0) for name in columns)])
    return np.array(rows).reshape(len(rows), -1)


def link_kinds(robot: Robot) -> list[int]:
    """The kind of each link, as its position in `link_joints()`."""
    kinds = link_joints()
    for link in robot.links:
        if type(link.joint) not in kinds:
            raise TypeError(
                f"robot {robot.name!r}, joint of link {link.name!r}: {type(link.joint).__name__} is not among the"
                f" joints of modules for any robot (expected one of {', '.join(kind.__name__ for kind in kinds)})"
            )
    return [kinds.index(type(link.joint)) for link in robot.links]
