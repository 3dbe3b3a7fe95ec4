"""Products of a program's derivative J with vectors, without J: J ẋ by forward mode, Jᵀ λ by reverse mode.

Each takes a small multiple of the program's operations, for any number of inputs and outputs. The vectors are further
inputs: dq for q, and `weight`; or dq2, weight2, ... where these names are in use.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .derivative import (
    TangentMap,
    adjoints,
    derivative_shape,
    differentiable,
    directional_derivative,
    forward,
    seed_of,
    unit_seeds,
)
from .grammar import check
from .node import Graph, Node
from .program import Port, Program


def jvp(
    program: Program, names: Sequence[str], tangent_maps: Mapping[str, TangentMap], extra: int, value: bool = False
) -> Program:
    """J ẋ: a further input d<name> for each of the names, before the last `extra` inputs; outputs as the program's."""
    inputs_of_names = differentiable(program, names)
    graph = program.nodes[0].graph
    seed: dict[int, Any] = {}
    tangents = tangent_ports([port for port, _ in inputs_of_names], tangent_maps, program.inputs)
    for (port, inputs), tangent in zip(inputs_of_names, tangents, strict=True):
        tangent_map = tangent_maps.get(port.name)
        speeds = input_nodes(graph, tangent)
        seed |= seed_of(inputs, speeds if tangent_map is None else tangent_map.rates(inputs, speeds))
    columns = [[x for (x,) in rows] for rows in forward(program, [seed])]
    outputs = [Port(f"jvp_{out.name}", out.shape) for out in program.outputs]
    return extend_program(program, tangents, extra, outputs, columns, value)


def vjp(
    program: Program, names: Sequence[str], tangent_maps: Mapping[str, TangentMap], extra: int, value: bool = False
) -> Program:
    """Jᵀ λ: a further input `weight` for each output, before the last `extra` inputs; an output for each name."""
    inputs_of_names = differentiable(program, names)
    graph, several = program.nodes[0].graph, len(program.outputs) > 1
    ends = [f"_{k}" if several else "" for k in range(len(program.outputs))]
    names = free_names([("weight", end) for end in ends], program.inputs)
    weights = [Port(name, out.shape) for name, out in zip(names, program.outputs, strict=True)]
    start: dict[int, Any] = {}
    for port, result in zip(weights, program.results, strict=True):
        for node, weight in zip(result, input_nodes(graph, port), strict=True):
            start[node.index] = start[node.index] + weight if node.index in start else weight
    adjoint = adjoints(program, start)
    outputs, columns = [], []
    for port, inputs in inputs_of_names:
        tangent_map = tangent_maps.get(port.name)
        outputs.append(Port(f"vjp_d_{port.name}", derivative_shape(port, tangent_map)))
        columns.append([directional_derivative(seed, adjoint) for seed in unit_seeds(inputs, tangent_map)])
    return extend_program(program, weights, extra, outputs, columns, value)


def tangent_ports(along: Sequence[Port], tangent_maps: Mapping[str, TangentMap], inputs: Iterable[Port]) -> list[Port]:
    """The vectors of J ẋ: one for each input in `along`."""
    names = free_names([(f"d{port.name}", "") for port in along], inputs)
    return [
        Port(name, derivative_shape(port, tangent_maps.get(port.name))) for name, port in zip(names, along, strict=True)
    ]


def free_names(stems_and_ends: Sequence[tuple[str, str]], inputs: Iterable[Port]) -> list[str]:
    """Names stem + end, or with the first number from 2 between them for which all are unused."""
    used = {port.name for port in inputs}
    for number in itertools.chain([""], itertools.count(2)):
        names = [f"{stem}{number}{end}" for stem, end in stems_and_ends]
        if not used & set(names):
            break
    return names


def input_nodes(graph: Graph, port: Port) -> list[Node]:
    return [graph.input(port.name, k) for k in range(port.size)]


def extend_program(
    program: Program, more: Sequence[Port], extra: int, outputs: list[Port], columns: list[list[Any]], value: bool
) -> Program:
    cut = len(program.inputs) - extra
    inputs = [*program.inputs[:cut], *more, *program.inputs[cut:]]
    before = (list(program.outputs), list(program.results)) if value else ([], [])
    graph = program.nodes[0].graph
    return check(Program.of(graph, inputs, [*before[0], *outputs], [*before[1], *columns]))
