"""Passes: optional changes of a program, by name. Each gives a legal program of the same meaning.

common-factors   a·b + a·c = a·(b + c), and with minus, where neither product is used elsewhere: saves a product.
                 Rounding differs by about an ulp.
push-signs       -(a - b) = b - a and -(c·x) = (-c)·x, where the inner node is not used elsewhere: saves a
                 change of sign. Exact.

Sums in which terms cancel or add up: l1 + (r1 - l1) = r1, l1 - l1/2 = 0.5*l1, l1 - l1/3 = 2*l1/3.

Coefficients are added without rounding; in printed equations numbers are, 0.396 + 0.491 = 0.887. The results round
differently, so this is done only for robots with symbols and for printed equations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from . import rules
from .node import Graph, Node
from .polynomial import Algebra, Key, Polynomial, power, scale
from .program import Port, Program, check
from .rules import OPERATIONS


def apply_passes(program: Program, names: Iterable[str]) -> Program:
    """The program after the named passes, in the order given, each checked against the grammar."""
    for name in names:
        if name not in ALL_PASSES:
            raise ValueError(f"the pass {name!r} is not known (expected some of: {', '.join(ALL_PASSES)})")
        program = check(ALL_PASSES[name](program))
    return program


def use_counts(program: Program) -> Counter[int]:
    uses = Counter(a.index for node in program.nodes for a in node.args)
    uses.update(node.index for result in program.results for node in result)
    return uses


def rebuild(program: Program, change: Callable[[Node, dict[int, Any], Graph], Any]) -> Program:
    """The program in a new graph. `change` returns another value for a node, or None to keep it."""
    graph = Graph()
    values: dict[int, Any] = {}
    for node in program.nodes:
        if node.op == "const":
            value = node.payload
        elif node.op == "input":
            value = graph.input(*node.payload)
        else:
            value = change(node, values, graph)
            if value is None:
                value = OPERATIONS[node.op](*(values[a.index] for a in node.args))
        values[node.index] = value
    results = [[values[node.index] for node in result] for result in program.results]
    return Program.of(graph, program.inputs, program.outputs, results)


def common_factors(program: Program) -> Program:
    """Factor out until nothing changes: each round may expose new common factors."""
    while True:
        uses = use_counts(program)

        def change(node: Node, values: dict[int, Any], graph: Graph, uses: Counter[int] = uses) -> Any:
            if node.op not in ("add", "sub"):
                return None
            a, b = node.args
            if a.op != "mul" or b.op != "mul" or uses[a.index] > 1 or uses[b.index] > 1:
                return None
            shared = next((x for x in a.args if any(x is y for y in b.args)), None)
            if shared is None:
                return None
            rest_a, rest_b = (m.args[1] if m.args[0] is shared else m.args[0] for m in (a, b))
            inner = OPERATIONS[node.op](values[rest_a.index], values[rest_b.index])
            return OPERATIONS["mul"](values[shared.index], inner)

        changed = rebuild(program, change)
        if len(changed.nodes) >= len(program.nodes):
            return program
        program = changed


def push_signs(program: Program) -> Program:
    uses = use_counts(program)

    def change(node: Node, values: dict[int, Any], graph: Graph) -> Any:
        if node.op != "neg" or uses[node.args[0].index] > 1:
            return None
        inner = node.args[0]
        if inner.op == "sub":
            return graph.make("sub", *(graph.node(values[a.index]) for a in reversed(inner.args)))
        if inner.op == "mul" and any(a.op == "const" for a in inner.args):
            constant, other = sorted(inner.args, key=lambda a: a.op != "const")
            return graph.make("mul", graph.node(values[other.index]), graph.constant(-constant.payload))
        return None

    changed = rebuild(program, change)
    return changed if len(changed.nodes) < len(program.nodes) else program


def pack_results(program: Program, name: str) -> tuple[Program, tuple[np.ndarray, ...]]:
    """The program with one result, its distinct nonzero values, and their positions in each of the former results.

    Position -1 stands for 0.
    """
    nonzero = {
        node.index for flat in program.results for node in flat if not (node.op == "const" and node.payload == 0)
    }
    values = tuple(node for node in program.nodes if node.index in nonzero)
    number = {node.index: k for k, node in enumerate(values)}
    places = tuple(
        np.array([number.get(node.index, -1) for node in flat], np.int32).reshape(port.shape)
        for port, flat in zip(program.outputs, program.results, strict=True)
    )
    return Program(program.inputs, program.nodes, (Port(name, (len(values),)),), (values,)), places


ALL_PASSES = {"common-factors": common_factors, "push-signs": push_signs}


INTEGERS = 2**53  # up to this number all integers are exact floats
LONGEST = 16  # terms of a sum that is expanded; a longer sum is kept as one term


class Sums(Algebra):
    """Adds and subtracts nodes of one graph, term by term where this leaves fewer terms.

    A sum is a polynomial of degree one, whose atoms are indices of nodes. With `printed`, sums of numbers may round.
    """

    def __init__(self, graph: Graph, printed: bool = False) -> None:
        super().__init__()
        self.graph, self.printed = graph, printed
        self._terms: dict[int, Polynomial] = {}

    def __call__(self, op: str, a: Any, b: Any) -> Any:
        """a + b or a - b."""
        x, y = self.terms(a), self.terms(b)
        if x.keys() & y.keys():
            total = self.arithmetic(op, x, y)
            if len(total) <= max(len(x), len(y)) and all(self.exact(key, c) for key, c in total.items()):
                return self.build(total)
        return rules.OPERATIONS[op](a, b)

    def exact(self, key: Key, factor: Any) -> bool:
        """Whether a coefficient is a float or a quotient of two integers that are floats."""
        quotient = bool(key) and max(abs(factor.numerator), factor.denominator) <= INTEGERS
        return quotient or Fraction(float(factor)) == factor or (self.printed and not key)

    def terms(self, x: Any) -> Polynomial:
        if rules.is_number(x):
            return {(): Fraction(x)} if x else {}
        if x.index not in self._terms:
            self._terms[x.index] = self._expand(x)
        return self._terms[x.index]

    def _expand(self, x: Node) -> Polynomial:
        if x.op == "const":
            return self.terms(x.payload)
        terms: Polynomial | None = None
        if x.op in ("neg", "add", "sub"):
            terms = self.arithmetic(x.op, *map(self.terms, x.args))
        elif x.op == "mul" and any(a.op == "const" for a in x.args):
            constant, other = sorted(x.args, key=lambda a: a.op != "const")
            terms = scale(self.terms(other), Fraction(constant.payload))
        elif x.op == "div" and x.args[1].op == "const":
            terms = scale(self.terms(x.args[0]), 1 / Fraction(x.args[1].payload))
        return power(x.index) if terms is None or len(terms) > LONGEST else terms

    def build(self, total: Polynomial) -> Any:
        """The sum of the terms, those with a plus sign first."""
        result: Any = 0.0
        for key, factor in sorted(total.items(), key=lambda term: term[1] < 0):
            size = abs(Fraction(factor))
            if not key:
                term: Any = float(size)
            elif Fraction(float(size)) == size:
                term = rules.mul(float(size), self.graph.nodes[key[0][0]])
            else:
                term = rules.div(rules.mul(float(size.numerator), self.graph.nodes[key[0][0]]), float(size.denominator))
            result = rules.add(result, term) if factor > 0 else rules.sub(result, term)
        return result


def cancel_terms(program: Program) -> Program:
    """The program without terms that cancel."""
    sums: list[Sums] = []

    def change(node: Node, values: dict[int, Any], graph: Graph) -> Any:
        if node.op not in ("add", "sub"):
            return None
        if not sums:
            sums.append(Sums(graph, printed=True))
        return sums[0](node.op, *(values[a.index] for a in node.args))

    return rebuild(program, change)


class Transplant:
    """Copies expressions of symbols into another graph, each once; `values` replaces symbols by numbers.

    Terms that cancel are left out: l1 + (r1 - l1) becomes r1.
    """

    def __init__(self, graph: Graph, values: Mapping[str, float] | None = None) -> None:
        self.graph, self.values = graph, values or {}
        self._copies: dict[int, Any] = {}
        self._sums = Sums(graph)

    def __call__(self, x: Any) -> Any:
        if not isinstance(x, Node):
            return float(x)
        if x.graph is self.graph and not self.values:
            return x
        if x.index not in self._copies:
            self._copies[x.index] = self._copy(x)
        return self._copies[x.index]

    def _copy(self, x: Node) -> Any:
        if x.op == "const":
            return x.payload
        if x.op == "input":
            name = x.payload[0]
            return float(self.values[name]) if name in self.values else self.graph.input(name)
        operands = [self(a) for a in x.args]
        return self._sums(x.op, *operands) if x.op in ("add", "sub") else rules.OPERATIONS[x.op](*operands)
