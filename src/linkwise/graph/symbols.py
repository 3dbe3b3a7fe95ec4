"""Symbols: named numbers that a robot may be made of instead of known ones."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from . import rules
from .node import Graph, Node

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SHARED = Graph(
    scalar_inputs=True
)  # one graph for all symbols, so that those made at different times can meet in one robot


def symbols(names: str) -> tuple[Node, ...]:
    """Symbols by name, for the lengths, masses, inertias and gravity of a robot.

    >>> import linkwise as lw
    >>> l1, m1 = lw.symbols("l1 m1")
    >>> rod = {"joint": "revolute", "a": l1, "b": 0, "alpha": 0, "mass": m1, "com": (-0.5 * l1, 0, 0),
    ...        "inertia": [[0, 0, 0], [0, m1 * l1**2 / 12, 0], [0, 0, m1 * l1**2 / 12]]}
    >>> pendulum = lw.Robot.from_dh([rod], convention="standard", gravity=(0, -9.81, 0), name="pendulum")
    >>> [port.name for port in lw.trace(lw.inertia_matrix, pendulum).inputs]
    ['q', 'l1', 'm1']
    """
    found = names.replace(",", " ").split()
    for name in found:
        if not NAME.fullmatch(name):
            raise ValueError(f"the symbol {name!r} is no name (expected letters, digits and underscores)")
    if not found:
        raise ValueError("no symbols are named (expected names with spaces between them, such as 'l1 m1')")
    return tuple(_SHARED.input(name) for name in found)


def shared_graph() -> Graph:
    return _SHARED


class Transplant:
    """Copies expressions of symbols into another graph, each once; `values` replaces symbols by numbers."""

    def __init__(self, graph: Graph, values: dict[str, float] | None = None) -> None:
        self.graph, self.values = graph, values or {}
        self.names: list[str] = []  # the symbols met that have no value, in the order in which they were met
        self._copies: dict[int, object] = {}

    def __call__(self, x: object) -> object:
        if not isinstance(x, Node):
            return number(x)
        if x.graph is self.graph and not self.values:
            return x
        if x.index not in self._copies:
            self._copies[x.index] = self._copy(x)
        return self._copies[x.index]

    def _copy(self, x: Node) -> object:
        if x.op == "const":
            return x.payload
        if x.op == "input":
            name = x.payload[0]
            if name in self.values:
                return float(self.values[name])
            if name not in self.names:
                self.names.append(name)
            return self.graph.input(name)
        operands = [self(a) for a in x.args]
        return OPERATIONS[x.op](*operands)


def number(x: Any) -> float:
    """A number of another library as a float; its symbols cannot become nodes."""
    try:
        return float(x)
    except TypeError:
        raise TypeError(
            f"{x!r} of the robot is no number and no symbol of linkwise.symbols, so it cannot be traced"
        ) from None


OPERATIONS: dict[str, Callable[..., Any]] = {
    "neg": rules.neg,
    "add": rules.add,
    "sub": rules.sub,
    "mul": rules.mul,
    "div": rules.div,
    "sin": rules.sin,
    "cos": rules.cos,
    "sign": rules.sign,
    "sqrt": lambda a: rules.function("sqrt", a),
    "select": rules.select,
}
