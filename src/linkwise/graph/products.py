"""Products of a program's derivative J with vectors, without J: J ẋ by forward mode, Jᵀ λ by reverse mode.

Either takes a few times the operations of the program, however many numbers go in and come out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .derivative import Moves, adjoints, along, differentiable, forward, own_shape, seed_of, unit_seeds
from .grammar import check
from .node import Graph, Node
from .program import Port, Program


def jvp(program: Program, names: Sequence[str], moves: Mapping[str, Moves], extra: int, value: bool = False) -> Program:
    """J ẋ: a further input d<name> for each of the names, before the last `extra` inputs; outputs as the program's."""
    found = differentiable(program, names)
    graph = program.nodes[0].graph
    seed: dict[int, Any] = {}
    tangents = []
    for port, inputs in found:
        move = moves.get(port.name)
        tangents.append(Port(f"d{port.name}", own_shape(port, move)))
        speeds = nodes(graph, tangents[-1])
        seed |= seed_of(inputs, speeds if move is None else move.rates(inputs, speeds))
    columns = [[x for (x,) in rows] for rows in forward(program, [seed])]
    outputs = [Port(f"jvp_{out.name}", out.shape) for out in program.outputs]
    return finished(program, tangents, extra, outputs, columns, value)


def vjp(program: Program, names: Sequence[str], moves: Mapping[str, Moves], extra: int, value: bool = False) -> Program:
    """Jᵀ λ: a further input `weight` for each output, before the last `extra` inputs; an output for each name."""
    found = differentiable(program, names)
    graph, several = program.nodes[0].graph, len(program.outputs) > 1
    weights = [Port(f"weight_{k}" if several else "weight", out.shape) for k, out in enumerate(program.outputs)]
    start: dict[int, Any] = {}
    for port, result in zip(weights, program.results, strict=True):
        for node, weight in zip(result, nodes(graph, port), strict=True):
            start[node.index] = start[node.index] + weight if node.index in start else weight
    adjoint = adjoints(program, start)
    outputs, columns = [], []
    for port, inputs in found:
        move = moves.get(port.name)
        outputs.append(Port(f"vjp_d_{port.name}", own_shape(port, move)))
        columns.append([along(seed, adjoint) for seed in unit_seeds(inputs, move)])
    return finished(program, weights, extra, outputs, columns, value)


def nodes(graph: Graph, port: Port) -> list[Node]:
    return [graph.input(port.name, k) for k in range(port.size)]


def finished(
    program: Program, more: Sequence[Port], extra: int, outputs: list[Port], columns: list[list[Any]], value: bool
) -> Program:
    taken = {port.name for port in program.inputs}
    for port in more:
        if port.name in taken:
            raise ValueError(f"the function has an argument {port.name!r} itself (expected another name for it)")
    cut = len(program.inputs) - extra
    inputs = [*program.inputs[:cut], *more, *program.inputs[cut:]]
    before = (list(program.outputs), list(program.results)) if value else ([], [])
    graph = program.nodes[0].graph
    return check(Program.of(graph, inputs, [*before[0], *outputs], [*before[1], *columns]))
