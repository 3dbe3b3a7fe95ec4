"""Passes: optional changes of a program, by name. Each gives a legal program of the same meaning.

common-factors   a·b + a·c = a·(b + c), and with minus, where neither product is used elsewhere: saves a product.
                 Rounding differs by about an ulp.
push-signs       -(a - b) = b - a and -(c·x) = (-c)·x, where the inner node is not used elsewhere: saves a
                 change of sign. Exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .grammar import check
from .node import Graph, Node
from .program import Port, Program
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
