"""Products of a program's derivative J with vectors, without J: J ẋ by forward mode, Jᵀ λ by reverse mode.

Either takes a few times the operations of the program, however many numbers go in and come out. The vectors are
further inputs: dq for q, and `weight`; dq2, weight2, ... where the program has an input of that name itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
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
    tangents = directions([port for port, _ in found], moves, program.inputs)
    for (port, inputs), tangent in zip(found, tangents, strict=True):
        move = moves.get(port.name)
        speeds = nodes(graph, tangent)
        seed |= seed_of(inputs, speeds if move is None else move.rates(inputs, speeds))
    columns = [[x for (x,) in rows] for rows in forward(program, [seed])]
    outputs = [Port(f"jvp_{out.name}", out.shape) for out in program.outputs]
    return finished(program, tangents, extra, outputs, columns, value)


def vjp(program: Program, names: Sequence[str], moves: Mapping[str, Moves], extra: int, value: bool = False) -> Program:
    """Jᵀ λ: a further input `weight` for each output, before the last `extra` inputs; an output for each name."""
    found = differentiable(program, names)
    graph, several = program.nodes[0].graph, len(program.outputs) > 1
    ends = [f"_{k}" if several else "" for k in range(len(program.outputs))]
    names = free_names([("weight", end) for end in ends], program.inputs)
    weights = [Port(name, out.shape) for name, out in zip(names, program.outputs, strict=True)]
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


def directions(along: Sequence[Port], moves: Mapping[str, Moves], inputs: Iterable[Port]) -> list[Port]:
    """The vectors of J ẋ: one for each input that it is along."""
    names = free_names([(f"d{port.name}", "") for port in along], inputs)
    return [Port(name, own_shape(port, moves.get(port.name))) for name, port in zip(names, along, strict=True)]


def free_names(stems_and_ends: Sequence[tuple[str, str]], inputs: Iterable[Port]) -> list[str]:
    """The names without a number between stem and end, or with the first, from 2 on, where none of them is taken."""
    taken = {port.name for port in inputs}
    for number in itertools.chain([""], itertools.count(2)):
        names = [f"{stem}{number}{end}" for stem, end in stems_and_ends]
        if not taken & set(names):
            break
    return names


def nodes(graph: Graph, port: Port) -> list[Node]:
    return [graph.input(port.name, k) for k in range(port.size)]


def finished(
    program: Program, more: Sequence[Port], extra: int, outputs: list[Port], columns: list[list[Any]], value: bool
) -> Program:
    cut = len(program.inputs) - extra
    inputs = [*program.inputs[:cut], *more, *program.inputs[cut:]]
    before = (list(program.outputs), list(program.results)) if value else ([], [])
    graph = program.nodes[0].graph
    return check(Program.of(graph, inputs, [*before[0], *outputs], [*before[1], *columns]))
