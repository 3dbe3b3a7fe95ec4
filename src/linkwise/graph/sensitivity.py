"""The effect of each operand of a program on its results in given states: reverse mode, on numbers.

A relative change δ of the operand x of a node y changes a result r by δ |∂r/∂y ∂y/∂x x|: δ times its *effect*. The sum
of the effects of all operands is the *size* of the result: rounding changes the result by at most about the size times
the machine epsilon. Each choice is a further result: the difference of the numbers that it compares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from . import rules
from .derivative import slopes
from .evaluation import MEANING, evaluate
from .node import Node
from .program import Port, Program

Operand = tuple[int, int]  # the index of a node, and which of its operands
OTHER_BRANCH: dict[str, Callable[..., Any]] = {  # the value of a choice that takes the other branch
    "select": lambda own, x, a, b: np.where(x >= 0, b, a),
    "sign": lambda own, x: np.where(x > 0, -1.0, 1.0),
    "abs": lambda own, x: -own,
    **{op: (lambda own, x, y: np.where(own == x, y, x)) for op in ("min", "max")},
    "where_lt": lambda own, x, y, a, b: np.where(x < y, b, a),
    "where_le": lambda own, x, y, a, b: np.where(x <= y, b, a),
    "where_eq": lambda own, x, y, a, b: np.where(x == y, b, a),
}
JUMPS = ("select", "sign", *rules.COMPARED)  # choices that are not continuous at their tie


def compared_operands(node: Node) -> tuple[Node, Node]:
    """The two numbers that a choice compares: it depends on the sign of their difference."""
    one = node.op in ("select", "sign", "abs")
    return node.args[0], node.graph.constant(0.0) if one else node.args[1]


class Dependence:
    """The rows that depend on each node of a program. Rows are the numbers of all outputs, then the choices."""

    def __init__(self, program: Program) -> None:
        self.program, self.choices = program, [node for node in program.nodes if node.op in OTHER_BRANCH]
        self.place = {node.index: k for k, node in enumerate(program.nodes)}
        self.after = later_nodes(program, self.choices)
        self.results = [node for result in program.results for node in result]
        self.compared = [compared_operands(node) for node in self.choices]
        self.slopes = {(node.index, k): s for node in program.nodes for k, s in enumerate(slopes(node))}
        self.moving = {key for key, s in self.slopes.items() if isinstance(s, Node) or s != 0.0}
        self.rows = self.reached_rows()

    def seeds(self) -> dict[int, list[tuple[int, float]]]:
        """The rows of which a node is a term, with ∂row/∂node."""
        row_terms = [[(node, 1.0)] for node in self.results] + [[(x, 1.0), (y, -1.0)] for x, y in self.compared]
        seeds: dict[int, list[tuple[int, float]]] = {}
        for row, terms in enumerate(row_terms):
            for node, sign in terms:
                seeds.setdefault(node.index, []).append((row, sign))
        return seeds

    def reached_rows(self) -> dict[int, np.ndarray]:
        """The rows that depend on each node, in order. In a large program most nodes affect few rows."""
        masks: dict[int, int] = {}  # bit k: row k
        for index, terms in self.seeds().items():
            for row, _ in terms:
                masks[index] = masks.get(index, 0) | 1 << row
        for node in reversed(self.program.nodes):
            for k, operand in enumerate(node.args):
                if node.index in masks and (node.index, k) in self.moving:
                    masks[operand.index] = masks.get(operand.index, 0) | masks[node.index]
        rows = {mask: bits(mask) for mask in set(masks.values())}
        return {index: rows[mask] for index, mask in masks.items()}

    def work(self) -> int:
        """The approximate number of values that a `Sensitivity` computes for each state."""
        effects = sum(len(self.rows[node]) for node, _ in self.moving if node in self.rows)
        return effects + sum(map(len, self.after)) + len(self.choices) * len(self.choices)


class Sensitivity(Dependence):
    """The effects of a program's operands in a batch of states."""

    def __init__(self, program: Program, arrays: list[np.ndarray]) -> None:
        super().__init__(program)
        graph = program.nodes[0].graph
        differences = [x - y for x, y in self.compared]
        needed = [*program.nodes, *self.slopes.values(), *differences]
        extended = Program.of(graph, program.inputs, [Port("values", (len(needed),))], [needed])
        with np.errstate(all="ignore"):
            table = np.atleast_2d(evaluate(extended, *arrays)[0]).T
        self.states = table.shape[1]
        lines = iter(table)
        self.value = {node.index: next(lines) for node in program.nodes}
        self.slope = {key: next(lines) for key in self.slopes}
        self.difference: np.ndarray = table[len(table) - len(differences) :]
        self.gradient: dict[int, np.ndarray] = {}  # of every difference by each input
        self.size = np.abs([self.value[node.index] for node in self.results])
        self.size = np.concatenate([self.size, np.zeros_like(self.difference)])
        for (node, k), rows, effect in self.effects():
            if not is_zero(graph.nodes[node].args[k]):
                self.size[rows] += np.abs(effect)

    def unit(self, node: Node) -> np.ndarray:
        """The number to which changes of a node are relative: its value, or 1 for the constant 0."""
        return np.ones(self.states) if is_zero(node) else np.asarray(self.value[node.index])

    def magnitude(self, node: Node) -> np.ndarray:
        return np.asarray(np.abs(self.unit(node)))

    def effects(self) -> Iterator[tuple[Operand, np.ndarray, np.ndarray]]:
        """Each operand, the rows that depend on it, and its effects on them: (rows, states)."""
        outputs = len(self.results)
        for row, (x, y) in enumerate(self.compared, outputs):  # the comparison uses its operands too
            choice = self.choices[row - outputs]
            for k, (node, operand, sign) in enumerate(zip((x, y), choice.args, (1.0, -1.0), strict=False)):
                if node is operand:
                    yield (choice.index, k), np.array([row]), sign * self.unit(node)[None]
        adjoint: dict[int, np.ndarray] = {}
        for index, terms in self.seeds().items():
            adjoint[index] = np.zeros((len(self.rows[index]), self.states))
            for row, sign in terms:
                adjoint[index][np.searchsorted(self.rows[index], row)] += sign
        with np.errstate(all="ignore"):
            for node in reversed(self.program.nodes):
                slopes_of_rows = adjoint.pop(node.index, None)
                if slopes_of_rows is None:
                    continue
                rows = self.rows[node.index]
                if node.op == "input":
                    first = int(np.searchsorted(rows, outputs))
                    self.gradient[node.index] = np.zeros_like(self.difference)
                    self.gradient[node.index][rows[first:] - outputs] = slopes_of_rows[first:]
                for k, operand in enumerate(node.args):
                    if (node.index, k) in self.moving:
                        step = product(slopes_of_rows, self.slope[node.index, k])
                        yield (node.index, k), rows, product(step, self.unit(operand))
                        wider = self.rows[operand.index]
                        if operand.index not in adjoint:
                            adjoint[operand.index] = np.zeros((len(wider), self.states))
                        adjoint[operand.index][... if wider is rows else np.searchsorted(wider, rows)] += step

    def deviations(self, groups: Iterable[list[int]]) -> Iterator[np.ndarray]:
        """For each group of choices, by their rows, the change of the results where all take the other branch.

        (results, states).
        """
        with np.errstate(all="ignore"):
            for group in groups:
                turned = {self.choices[row].index: self.choices[row] for row in group}
                later = turned | {node.index: node for row in group for node in self.after[row]}
                changed: dict[int, np.ndarray] = {}
                for index, node in sorted(later.items()):
                    if index in turned or any(a.index in changed for a in node.args):
                        operands = [changed.get(a.index, self.value[a.index]) for a in node.args]
                        x = MEANING[node.op](*operands)
                        if index in turned:
                            x = OTHER_BRANCH[node.op](x, *operands)
                        if not np.array_equal(x, self.value[index]):
                            changed[index] = x
                values = [self.value[node.index] for node in self.results]
                yield np.array([abs(changed.get(n.index, x) - x) for n, x in zip(self.results, values, strict=True)])


def later_nodes(program: Program, choices: list[Node]) -> list[list[Node]]:
    """The nodes that depend on each choice, in order."""
    users: dict[int, list[Node]] = {}
    for node in program.nodes:
        for operand in node.args:
            users.setdefault(operand.index, []).append(node)
    dependents = []
    for choice in choices:
        reached, left = {choice.index: choice}, [choice]
        while left:
            new = [node for node in users.get(left.pop().index, ()) if node.index not in reached]
            reached |= {node.index: node for node in new}
            left += new
        dependents.append([reached[index] for index in sorted(reached)[1:]])
    return dependents


def bits(mask: int) -> np.ndarray:
    """The positions of the bits that are 1."""
    octets = np.frombuffer(mask.to_bytes(mask.bit_length() // 8 + 1, "little"), dtype=np.uint8)
    return np.flatnonzero(np.unpackbits(octets, bitorder="little"))


def is_zero(node: Node) -> bool:
    return node.op == "const" and node.payload == 0.0


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a * b, but 0 where a is 0 and b is not finite: a branch that is not taken has no effect."""
    return a * b if np.isfinite(b).all() else np.where(a == 0.0, 0.0, a * b)
