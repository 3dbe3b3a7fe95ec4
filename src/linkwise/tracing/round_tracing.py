"""Tracing in parallel rounds for robots of thousands of links: contractions as programs over rows of numbers.

A function made of contractions (`robot.contraction`) becomes alternating phases and contractions. A phase has a program
for each kind of joint, which maps the data of a link to its element, a row of numbers, or in the last phase to its
results. A contraction has four programs over pairs of rows, the same in all rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..graph import Graph, Node, Port, Program
from ..graph.node import is_scalar
from ..robot import Contraction, Robot
from ..robot.walk import OfLinks, PerLink, Step
from .loop_tracing import (
    UNKNOWN,
    NotRollableError,
    Placeholder,
    general_link,
    is_leaf,
    leaves,
    map_leaves,
    parts,
    with_leaves,
)

NUMBER = Placeholder()  # marks a scalar of a form that is stored in rows; other scalars are constants
MOST_FORMS = 8  # attempts to find a common form of all elements


class RowContraction(NamedTuple):
    """Programs over rows. A pair is two element rows; ends are x and z of one element."""

    series: Program  # pair -> joined, seam
    beside: Program  # pair -> merged
    between: Program  # pair, seam, ends of the joined element -> ends of the first, then of the second
    apart: Program  # ends of two merged elements -> ends of each
    base: tuple[float, ...]  # ends on the base


@dataclass(frozen=True)
class Rounds:
    """Phases, a program for each kind of joint, with the contractions between them, and the numbers of one robot."""

    phases: tuple[tuple[Program, ...], ...]
    contractions: tuple[RowContraction, ...]
    kinds: tuple[tuple[int, ...], ...]  # the links of each kind
    tables: tuple[np.ndarray, ...]  # their numbers, a row per link


def trace_rounds(
    function: Callable[..., Any], robot: Robot, arrays: dict[str, tuple[int, ...]], **keywords: Any
) -> Rounds:
    """The rounds of `function(robot, ...)`. `arrays` are its inputs, with their shapes for one link."""
    return RoundTracer(robot).rounds(function, arrays, keywords)


class RoundTracer:
    """Records contractions on a robot whose links each represent a kind of joint."""

    def __init__(self, robot: Robot) -> None:
        types = [type(link.joint) for link in robot.links]
        self.kinds = tuple(tuple(i for i, t in enumerate(types) if t is kind) for kind in dict.fromkeys(types))
        self.links, self.graph = robot.links, Graph()
        self.columns: list[list[Sequence[float]]] = []
        links = []
        for k, members in enumerate(self.kinds):
            link, columns = general_link([robot.links[i] for i in members], self.graph, f"table{k}")
            links.append(replace(link, index=UNKNOWN, parent=UNKNOWN, virtual=False, joint_kind=""))
            self.columns.append(list(columns))
        about = (), robot.gravity, (), robot.convention, robot.about
        self.robot = Robot(robot.name, tuple(links), *about, walk=self)
        self.elements: list[list[list[Any]]] = []  # rows by contraction and kind
        self.contractions: list[RowContraction] = []
        self.ends: list[Port] = []

    def rounds(
        self, function: Callable[..., Any], arrays: dict[str, tuple[int, ...]], keywords: dict[str, Any]
    ) -> Rounds:
        inputs = {}
        for name, shape in arrays.items():
            inputs[name] = np.empty((len(self.kinds), *shape), dtype=object)
            for k in range(len(self.kinds)):
                for position, index in enumerate(np.ndindex(*shape)):
                    inputs[name][(k, *index)] = self.graph.input(f"{name}{k}", position)
        result = np.asarray(function(self.robot, **inputs, **keywords))
        if result.shape[:1] != (len(self.kinds),) or not all(is_scalar(x) for x in result.flat):
            raise NotRollableError(f"the result has shape {result.shape} (expected one row per link)")
        outputs = [*self.elements, result.reshape(len(self.kinds), -1).tolist()]
        for columns, members in zip(self.columns, self.kinds, strict=True):
            if not columns:  # a single link, whose numbers are all constants
                columns.append([0.0] * len(members))
        tables = tuple(np.array(columns, dtype=float).T for columns in self.columns)
        return Rounds(self._phases(arrays, outputs), tuple(self.contractions), self.kinds, tables)

    def _phases(self, arrays: dict[str, tuple[int, ...]], outputs: Sequence[Any]) -> tuple[tuple[Program, ...], ...]:
        phases = []
        for done, rows in enumerate(outputs):
            programs = []
            for k, row in enumerate(rows):
                inputs = [Port(f"{name}{k}", shape) for name, shape in arrays.items()]
                ends = [Port(f"{port.name}_{k}", port.shape) for port in self.ends[:done]]
                ports = [Port(f"table{k}", (len(self.columns[k]),)), *inputs, *ends]
                programs.append(Program.of(self.graph, ports, [Port("out", (len(row),))], [row]))
            phases.append(tuple(programs))
        return tuple(phases)

    def outward(self, robot: Robot, step: Step, base: Any, per_link: PerLink) -> list[Any]:
        raise NotRollableError("this function goes from link to link (expected one that is made of contractions)")

    inward = outward

    def of_tree(self, robot: Robot, values: OfLinks) -> list[Any]:
        """Add the values as columns of the tables."""
        result, every = [], values(self.links)
        for k, members in enumerate(self.kinds):
            rows = [numbers(every[i]) for i in members]
            nodes = []
            for column in zip(*rows, strict=True):
                if len(set(column)) > 1:
                    nodes.append(self.graph.input(f"table{k}", len(self.columns[k])))
                    self.columns[k].append(column)
                else:
                    nodes.append(column[0])
            result.append(with_leaves(every[members[0]], nodes))
        return result

    def contracted(self, robot: Robot, how: Contraction, base: Any, elements: Sequence[Any]) -> list[Any]:
        form = form_of(elements[0])
        for element in elements[1:]:
            form = unify(form, form_of(element))
        for _ in range(MOST_FORMS):
            larger = unify(form, form_of(how.series(*from_row(Graph(), "pair", (form, form)))[1]))
            if numbers(larger) == numbers(form):
                break
            form = larger
        else:
            raise NotRollableError("elements change their form in every round")
        ends = map_leaves(lambda _: NUMBER, (base, how.nothing))
        self.contractions.append(row_contraction(how, form, ends, numbers((base, how.nothing))))
        self.elements.append([to_row(form, element) for element in elements])
        c = len(self.ends)
        self.ends.append(Port(f"ends{c}", (numbers(ends).count(NUMBER),)))
        return [from_row(self.graph, f"ends{c}_{k}", ends) for k in range(len(self.kinds))]


def row_contraction(how: Contraction, form: Any, ends: Any, base: Sequence[Any]) -> RowContraction:
    size, wide = numbers(form).count(NUMBER), numbers(ends).count(NUMBER)
    graph = Graph()
    pair = Port("pair", (2 * size,))
    near, far = from_row(graph, "pair", (form, form))
    kept, joined = how.series(near, far)
    seam = [x for x in dict.fromkeys(numbers(kept)) if isinstance(x, Node) and x.op not in ("input", "const")]
    ports = [Port("joined", (size,)), Port("seam", (len(seam),))]
    series = Program.of(graph, [pair], ports, [to_row(form, joined), seam])
    merged = Program.of(graph, [pair], ports[:1], [to_row(form, how.beside(near, far))])
    place = {node.index: graph.input("seam", k) for k, node in enumerate(seam)}
    known = map_leaves(lambda x: place.get(x.index, x) if isinstance(x, Node) else x, kept)
    x, z = from_row(graph, "ends", ends)
    y, z_near, z_far = how.between(known, x, z)
    opened = [*to_row(ends, (x, z_near)), *to_row(ends, (y, z_far))]
    outer, inner = Port("ends", (wide,)), Port("opened", (2 * wide,))
    between = Program.of(graph, [pair, ports[1], outer], [inner], [opened])
    apart = Program.of(graph, [outer], [inner], [[*to_row(ends, (x, z)), *to_row(ends, (x, how.nothing))]])
    return RowContraction(series, merged, between, apart, tuple(float(x) for x in base))


# --- forms: structures whose scalars are NUMBER or constants ----------------------------------------------------------


def numbers(value: Any) -> list[Any]:
    """The scalars of a structure, in order."""
    return [x for _, x in leaves(value)]


def form_of(value: Any) -> Any:
    return map_leaves(lambda x: NUMBER if isinstance(x, Node) and x.op != "const" else float_of(x), value)


def float_of(x: Any) -> Any:
    return float(x.payload) if isinstance(x, Node) else x


def unify(a: Any, b: Any) -> Any:
    """A common form of both; shorter tuples are padded with zeros."""
    return map_leaves(lambda x, y: x if x is y or (NUMBER not in (x, y) and x == y) else NUMBER, a, b)


def to_row(form: Any, value: Any) -> list[Any]:
    """The numbers of a structure in a row of this form."""
    if is_leaf(form):
        return [value] if form is NUMBER else []
    pieces, values = [part for _, part in parts(form)], [part for _, part in parts(value)]
    values += [map_leaves(lambda _: 0.0, part) for part in pieces[len(values) :]]
    return [x for piece, part in zip(pieces, values, strict=True) for x in to_row(piece, part)]


def from_row(graph: Graph, port: str, form: Any) -> Any:
    """The structure of a form, with inputs for its numbers."""
    position = iter(range(numbers(form).count(NUMBER)))
    return map_leaves(lambda x: graph.input(port, next(position)) if x is NUMBER else x, form)
