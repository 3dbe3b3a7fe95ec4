"""Sums in which terms cancel or add up: l1 + (r1 - l1) = r1, l1 - 0.5*l1 = 0.5*l1.

Exact algebra, with factors that are added without rounding. But it changes what rounding does to the numbers, so it is
done only where a robot of symbols is traced, and for equations that are printed.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from . import rules
from .node import Graph, Node

LONGEST = 16  # terms of a sum that is taken apart; a longer one is a term itself
Terms = dict[int | None, Fraction]  # factors of nodes, by index; that of None is a constant


class Sums:
    """Adds and subtracts nodes of one graph, term by term where that leaves fewer terms."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._terms: dict[int, Terms] = {}

    def __call__(self, op: str, a: Any, b: Any) -> Any:
        """a + b or a - b."""
        x, y = self.terms(a), self.terms(b)
        if x.keys() & y.keys():
            total = merged(x, y, 1 if op == "add" else -1)
            if len(total) <= max(len(x), len(y)) and all(Fraction(float(each)) == each for each in total.values()):
                return self.built(total)
        return rules.add(a, b) if op == "add" else rules.sub(a, b)

    def terms(self, x: Any) -> Terms:
        if rules.is_number(x):
            return {None: Fraction(x)} if x else {}
        if x.index not in self._terms:
            self._terms[x.index] = self._taken_apart(x)
        return self._terms[x.index]

    def _taken_apart(self, x: Node) -> Terms:
        if x.op == "const":
            return self.terms(x.payload)
        found: Terms | None = None
        if x.op == "neg":
            found = merged({}, self.terms(x.args[0]), -1)
        elif x.op in ("add", "sub"):
            a, b = x.args
            found = merged(self.terms(a), self.terms(b), 1 if x.op == "add" else -1)
        elif x.op == "mul" and any(a.op == "const" for a in x.args):
            constant, other = sorted(x.args, key=lambda a: a.op != "const")
            found = {key: factor * Fraction(constant.payload) for key, factor in self.terms(other).items()}
        return {x.index: Fraction(1)} if found is None or len(found) > LONGEST else found

    def built(self, total: Terms) -> Any:
        """The sum of the terms, those with a plus sign first."""
        result: Any = 0.0
        for key, factor in sorted(total.items(), key=lambda term: term[1] < 0):
            size = rules.mul(abs(float(factor)), self.graph.nodes[key]) if key is not None else abs(float(factor))
            result = rules.add(result, size) if factor > 0 else rules.sub(result, size)
        return result


def merged(x: Terms, y: Terms, sign: int) -> Terms:
    total = dict(x)
    for key, factor in y.items():
        total[key] = total.get(key, Fraction(0)) + sign * factor
    return {key: factor for key, factor in total.items() if factor}
