"""Passes: named changes of a program that are made only when asked for. Each gives a legal program of the same meaning.

common-factors   a·b + a·c = a·(b + c), and with minus, where neither product is needed elsewhere: one product less.
                 Rounding differs by an ulp or so, which is why it is never done unasked.
push-signs       -(a - b) = b - a and -(c·x) = (-c)·x, where the inner node is needed nowhere else: one change of
                 sign less. Exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from .grammar import check
from .node import Graph, Node
from .program import Program
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


def rebuilt(program: Program, change: Callable[[Node, dict[int, Any], Graph], Any]) -> Program:
    """The program made again in a new graph; `change` may give a node another value, or None for the usual one."""
    graph = Graph()
    made: dict[int, Any] = {}
    for node in program.nodes:
        if node.op == "const":
            found = node.payload
        elif node.op == "input":
            found = graph.input(*node.payload)
        else:
            found = change(node, made, graph)
            if found is None:
                found = OPERATIONS[node.op](*(made[a.index] for a in node.args))
        made[node.index] = found
    values = [[made[node.index] for node in result] for result in program.results]
    return Program.of(graph, program.inputs, program.outputs, values)


def common_factors(program: Program) -> Program:
    """Until nothing changes: each round may bring new factors together."""
    while True:
        uses = use_counts(program)

        def change(node: Node, made: dict[int, Any], graph: Graph, uses: Counter[int] = uses) -> Any:
            if node.op not in ("add", "sub"):
                return None
            a, b = node.args
            if a.op != "mul" or b.op != "mul" or uses[a.index] > 1 or uses[b.index] > 1:
                return None
            shared = next((x for x in a.args if any(x is y for y in b.args)), None)
            if shared is None:
                return None
            rest_a, rest_b = (m.args[1] if m.args[0] is shared else m.args[0] for m in (a, b))
            inner = OPERATIONS[node.op](made[rest_a.index], made[rest_b.index])
            return OPERATIONS["mul"](made[shared.index], inner)

        changed = rebuilt(program, change)
        if len(changed.nodes) >= len(program.nodes):
            return program
        program = changed


def push_signs(program: Program) -> Program:
    uses = use_counts(program)

    def change(node: Node, made: dict[int, Any], graph: Graph) -> Any:
        if node.op != "neg" or uses[node.args[0].index] > 1:
            return None
        inner = node.args[0]
        if inner.op == "sub":
            return graph.make("sub", *(graph.node(made[a.index]) for a in reversed(inner.args)))
        if inner.op == "mul" and any(a.op == "const" for a in inner.args):
            constant, other = sorted(inner.args, key=lambda a: a.op != "const")
            return graph.make("mul", graph.node(made[other.index]), graph.constant(-constant.payload))
        return None

    changed = rebuilt(program, change)
    return changed if len(changed.nodes) < len(program.nodes) else program


ALL_PASSES = {"common-factors": common_factors, "push-signs": push_signs}
