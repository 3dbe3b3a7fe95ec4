"""Sums in which terms cancel or add up: l1 + (r1 - l1) = r1, l1 - l1/2 = 0.5*l1, l1 - l1/3 = 2*l1/3.

Coefficients are added without rounding; in printed equations numbers are, 0.396 + 0.491 = 0.887. The results round
differently, so this is done only for robots with symbols and for printed equations.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from . import rules
from .node import Graph, Node
from .passes import rebuild
from .polynomial import Algebra, Key, Polynomial, power, scale
from .program import Program

INTEGERS = 2**53  # up to here all integers are floats
LONGEST = 16  # terms of a sum that is expanded; a longer one is a term itself


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
