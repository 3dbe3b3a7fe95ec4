"""Tracing for any number of links: a pass becomes a loop, and its step is traced once for each kind of joint.

Arguments and results of a step are nested values: tuples and objects, down to the leaves, which are scalars and arrays.
Numbers that differ from link to link are columns of a table. Equal and opposite columns are stored once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..graph import Graph, Node, Port
from ..graph.loops import LoopProgram, Recursion, schedule_loops
from ..graph.node import is_scalar
from ..robot import Contraction, Link, Regrouping, Robot, StandIn, before_regrouping
from ..robot.link import NumberMap
from ..robot.walk import OfLinks, PerLink, Step


class NotRollableError(TypeError):
    """A function uses more of a robot than passes over its links."""


class Unknown:
    """Index and parent of a link that represents many."""

    def _refuse(self, *_: object) -> Any:
        raise NotRollableError("the position of a link in the robot is not known in a loop over all links")

    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = __index__ = __add__ = __sub__ = _refuse
    __hash__ = None  # type: ignore[assignment]


UNKNOWN: Any = Unknown()


class Loops:
    """Records passes as recursions."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.recursions: list[Recursion] = []

    def outward(self, robot: Robot, step: Step, base: Any, per_link: PerLink) -> list[Any]:
        def both(link: Link, parent: Any, *values: Any) -> tuple[Any, Any]:
            result = step(link, parent, *values)
            return result, result

        return self._recursion(True, robot.links, both, base, per_link)

    def inward(self, robot: Robot, step: Step, nothing: Any, per_link: PerLink) -> list[Any]:
        return self._recursion(False, robot.links, step, nothing, per_link)

    def contracted(self, robot: Robot, how: Contraction, base: Any, elements: Sequence[Any]) -> list[Any]:
        raise NotRollableError("this function works on all links at once (expected one that passes from link to link)")

    def of_tree(self, robot: Robot, values: OfLinks) -> list[Any]:
        raise NotRollableError("this function needs the tree in other ways than passes from link to link")

    def _recursion(self, outward: bool, links: Sequence[Link], step: Step, start: Any, per_link: PerLink) -> list[Any]:
        rows = list(zip(links, *per_link, strict=True))
        form = passed_form(rows, step, start)
        carried: dict[str, Node] = {}

        def carry(path: str) -> Node:
            return carried.setdefault(path, self.graph.input(f"carried{len(self.recursions)}", len(carried)))

        received = with_leaves(form, [carry(path) for path, _ in leaves(form)])
        results = [step(link, received, *values) for link, *values in rows]
        passed = []
        for _, value in results:
            scalars = dict(leaves(value))
            passed.append(tuple(self.graph.node(scalars[path]) if path in scalars else None for path in carried))
        known = dict(leaves(start))
        begin = tuple(known.get(path) for path in carried)
        self.recursions.append(Recursion(outward, tuple(carried.values()), begin, tuple(passed)))
        return [kept for kept, _ in results]


def passed_form(rows: Sequence[tuple[Any, ...]], step: Callable[..., Any], start: Any) -> Any:
    """A value that a step passes on, computed from the start value; only its structure is used.

    A link without a body may then divide by zero; the next link is taken instead.
    """
    for row, (link, *values) in enumerate(rows):
        try:
            return step(link, start, *values)[1]
        except ZeroDivisionError:
            if row == len(rows) - 1:
                raise
    raise AssertionError("a robot has links")


@dataclass(frozen=True)
class Rolled:
    """A program of loops, and the numbers of one robot."""

    program: LoopProgram
    table: np.ndarray  # a row per link in the order of visits
    tree: np.ndarray  # topology; see `codegen.llvm.loops`
    kinds: tuple[int, ...]  # kind of each link
    chain: bool  # whether each link's parent is the previous link


def trace_rolled(
    function: Callable[..., Any], robot: Robot, arrays: dict[str, tuple[int, ...]], **keywords: Any
) -> Rolled:
    """The loops of `function(robot, ...)`. `arrays` are its inputs, with their shapes for one link."""
    loops = Loops(Graph())
    general = general_robot(robot, loops)
    program = traced_loops(TracedRobot(general.robot, general.tables, loops), function, arrays, keywords)
    table = np.zeros((robot.n, max(map(len, program.columns))))
    order, tree = tree_of(robot, general.kind_of)
    for k, columns in enumerate(program.columns):
        here = [row for row, i in enumerate(order) if general.kind_of[i] == k]
        table[here, : len(columns)] = general.table[np.array(order)[here]][:, columns]
    chain = all(link.parent == link.index - 1 for link in robot.links)
    return Rolled(program, table, tree, tuple(general.kind_of), chain)


class TracedRobot(NamedTuple):
    """A robot with one link for each kind, the names of their tables, and the recorder of passes."""

    robot: StandIn
    tables: tuple[str, ...]
    loops: Loops


def traced_loops(
    traced: TracedRobot, function: Callable[..., Any], arrays: dict[str, tuple[int, ...]], keywords: dict[str, Any]
) -> LoopProgram:
    robot, tables, loops = traced
    graph, kinds = loops.graph, robot.n
    inputs = {}
    for name, shape in arrays.items():
        inputs[name] = np.empty((kinds, *shape), dtype=object)
        for position, index in enumerate(np.ndindex(kinds, *shape)):
            inputs[name][index] = graph.input(name, position)
        if name == "q" and shape:  # each link uses as many of these numbers as its joint has
            widths = [link.joint.width for link in robot.links]
            inputs[name] = np.concatenate([row[:width] for row, width in zip(inputs[name], widths, strict=True)])
    result = np.asarray(function(robot, **inputs, **keywords))
    if result.shape[:1] != (kinds,) or not all(is_scalar(x) for x in result.flat):
        raise NotRollableError(f"the result has shape {result.shape} (expected one row per link)")
    results = [[graph.node(x) for x in row] for row in result.reshape(kinds, -1)]
    ports = [Port(name, shape) for name, shape in arrays.items()]
    return schedule_loops(loops.recursions, ports, [Port("result", result.shape[1:])], tables, results)


def tree_of(robot: Robot, kind_of: Sequence[int]) -> tuple[list[int], np.ndarray]:
    """The order of visits, and the `tree` of the loops; see `codegen.llvm.loops`."""
    order, depths = depth_first(robot)
    visits = ((i, depths[i], kind_of[i]) for i in order)
    return order, np.array([(max(depths) + 2, 0, 0), *visits], dtype=np.int32)


def depth_first(robot: Robot) -> tuple[list[int], list[int]]:
    """The links in depth-first order, every link followed by its subtree, and their depths."""
    children: list[list[int]] = [[] for _ in robot.links]
    depths: list[int] = []
    for link in robot.links:
        depths.append(depths[link.parent] + 1 if link.parent >= 0 else 0)
        if link.parent >= 0:
            children[link.parent].append(link.index)
    order: list[int] = []
    waiting = [link.index for link in reversed(robot.links) if link.parent < 0]
    while waiting:
        index = waiting.pop()
        order.append(index)
        waiting.extend(reversed(children[index]))
    return order, depths


@dataclass(frozen=True)
class GeneralRobot:
    robot: StandIn
    tables: tuple[str, ...]
    table: np.ndarray
    kind_of: list[int]


def general_robot(robot: Robot, loops: Loops) -> GeneralRobot:
    """A robot with one link for each kind of joint, whose numbers are columns of a table."""
    grouped = robot.regrouped().links
    kinds = list(dict.fromkeys(type(link.joint) for link in grouped))
    kind_of = [kinds.index(type(link.joint)) for link in grouped]
    tables = tuple(f"table{k}" for k in range(len(kinds)))
    links, columns = [], []
    for k, name in enumerate(tables):
        members = [link for link, kind in zip(grouped, kind_of, strict=True) if kind == k]
        link, kept = general_link(members, loops.graph, name)
        links.append(replace(link, index=UNKNOWN, parent=UNKNOWN, virtual=False, joint_kind=""))
        columns.append(kept)
    table = np.zeros((robot.n, max(map(len, columns))))
    for k, kept in enumerate(columns):
        rows = [i for i, kind in enumerate(kind_of) if kind == k]
        for j, column in enumerate(kept):
            table[rows, j] = column
    known = Regrouping(tuple(links), tuple(links))
    about = (), robot.gravity, (), robot.convention, robot.about
    rolled = StandIn(robot.name, known.links, *about, walk=loops, regrouping=known)
    return GeneralRobot(before_regrouping(rolled) if robot.links[0].grouped is None else rolled, tables, table, kind_of)


def general_link(members: Sequence[Link], graph: Graph, table: str) -> tuple[Link, list[tuple[float, ...]]]:
    """A link that represents all members, and the columns of numbers in which they differ."""
    columns = Columns()
    kept: list[tuple[float, ...]] = []

    def node(column: tuple[float, ...]) -> Any:
        number, sign = columns.place(column, tuple(-x for x in column))
        if columns.count > len(kept):
            kept.append(column)
        value = graph.input(table, number)
        return value if sign > 0 else -value

    return common_link(members, node), kept


def common_link(members: Sequence[Link], scalar: Callable[[tuple[float, ...]], Any]) -> Link:
    """A link that represents all members: `scalar` maps each column in which they differ to a scalar."""
    numbers: list[list[float]] = []
    for member in members:
        numbers.append([])
        NumberMap(recorder(numbers[-1])).link(member)
    columns = zip(*numbers, strict=True)
    scalars = iter([column[0] if len(set(column)) == 1 else scalar(column) for column in columns])
    return NumberMap(lambda _: next(scalars)).link(members[0])


def recorder(into: list[float]) -> Callable[[float], float]:
    def record(x: float) -> float:
        into.append(float(x))
        return x

    return record


class Placeholder:
    """A leaf that represents a number."""


def is_leaf(value: Any) -> bool:
    return type(value) is float or hasattr(value, "dtype") or is_scalar(value) or isinstance(value, Placeholder)


def parts(value: Any) -> list[tuple[str, Any]]:
    """The parts of a nested value by name."""
    if isinstance(value, tuple):
        return [(str(k), part) for k, part in enumerate(value)]
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    names = slots or list(vars(value))
    return [(name, getattr(value, name)) for name in names]


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves with their paths."""
    if is_leaf(value):
        yield path, value
        return
    for name, part in parts(value):
        yield from leaves(part, f"{path}.{name}")


def map_leaves(leaf: Callable[..., Any], *values: Any) -> Any:
    """Apply `leaf` to the leaves of values of the same structure. Shorter tuples are padded with zeros."""
    longest = max(values, key=len) if isinstance(values[0], tuple) else values[0]
    if is_leaf(longest):
        return leaf(*values)
    if isinstance(longest, tuple):
        zeros = [map_leaves(lambda _: 0.0, part) for part in longest]
        columns = zip(*((*value, *zeros[len(value) :]) for value in values), strict=True)
        new = [map_leaves(leaf, *column) for column in columns]
        return type(longest)(*new) if hasattr(longest, "_fields") else tuple(new)
    copy = object.__new__(type(longest))
    for name, _ in parts(longest):
        object.__setattr__(copy, name, map_leaves(leaf, *(getattr(value, name) for value in values)))
    return copy


def with_leaves(value: Any, new: Sequence[Any]) -> Any:
    """The value with its leaves replaced in order."""
    replacements = iter(new)
    return map_leaves(lambda _: next(replacements), value)


class Column(NamedTuple):
    number: int  # of the stored column
    sign: float  # 1.0 or -1.0


class Columns:
    """Numbers of columns, by keys that are equal for equal columns."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Column] = {}
        self.count = 0

    def place(self, key: Hashable, opposite: Hashable) -> Column:
        """The column of this key, a new one if needed; `opposite` is the key of the negated column."""
        if key not in self._known:
            if opposite in self._known:
                number, sign = self._known[opposite]
                self._known[key] = Column(number, -sign)
            else:
                self._known[key] = Column(self.count, 1.0)
                self.count += 1
        return self._known[key]
