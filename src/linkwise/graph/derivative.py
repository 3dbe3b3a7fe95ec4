"""Derivatives of programs: new nodes in the same graph, by forward or by reverse mode; their products with vectors.

    forward   for each input x_k:   ∂(node)/∂x_k = Σ ∂(node)/∂(operand) · ∂(operand)/∂x_k,   from inputs to outputs
    reverse   for each output y:    ∂y/∂(operand) += ∂y/∂(node) · ∂(node)/∂(operand),        from outputs to inputs

The derivative of select(x, a, b) is select(x, a', b'), and so for all choices. At a kink it is one of the slopes beside
it: |x|' = sign x is 0 at 0, and min and max of equal numbers have the slope of the first. So the slope of clip is 1
from bound to bound, both included.

Both modes give the same numbers, also where the branch that is not taken has a slope that is not finite. In reverse
mode 0 times this slope would be NaN. So reverse mode computes a mask of each node: 1, or 0 if only branches that are
not taken use it. A masked node passes nothing to its operands. Zeros add no nodes, and shared expressions are built
once.

Products of a program's derivative J with vectors, without J: J ẋ by forward mode, Jᵀ λ by reverse mode.

Each takes a small multiple of the program's operations, for any number of inputs and outputs. The vectors are further
inputs: dq for q, and `weight`; or dq2, weight2, ... where these names are in use.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

from . import rules
from .node import Graph, Node
from .program import Port, Program, check


class TangentMap(NamedTuple):
    """The rates of a constrained input (a quaternion, for instance) as a function of `size` free speeds."""

    size: int
    rates: Callable[[Sequence[Node], Sequence[Any]], Sequence[Any]]  # (numbers of the input, speeds) -> rates


PARTIAL: dict[str, Callable[..., tuple[Any, ...]]] = {  # derivatives by the operands; `y` is the operation
    "neg": lambda y, a: (-1.0,),
    "add": lambda y, a, b: (1.0, 1.0),
    "sub": lambda y, a, b: (1.0, -1.0),
    "mul": lambda y, a, b: (b, a),
    "div": lambda y, a, b: (1.0 / b, -(y / b)),
    "sin": lambda y, a: (a.cos(),),
    "cos": lambda y, a: (-a.sin(),),
    "sqrt": lambda y, a: (0.5 / y,),
    "sign": lambda y, a: (0.0,),
    "abs": lambda y, a: (a.sign(),),
    "exp": lambda y, a: (y,),
    "log": lambda y, a: (1.0 / a,),
    "tanh": lambda y, a: (1.0 - y * y,),
    "asin": lambda y, a: (1.0 / ((1.0 - a) * (1.0 + a)).sqrt(),),
    "acos": lambda y, a: (-1.0 / ((1.0 - a) * (1.0 + a)).sqrt(),),
    "atan2": lambda y, a, b: (b / (a * a + b * b), -(a / (a * a + b * b))),
}


POLES = ("div", "sqrt", "exp", "log", "asin", "acos")  # not finite for all finite operands


Choice = tuple[Callable[[Any, Any], Any], Node, Node]  # a function that chooses, and the two operands


def choice(op: str, x: Node, y: Node, a: Node, b: Node) -> Choice:
    return (lambda u, v: rules.where(op, x, y, u, v)), a, b


CHOICES: dict[str, Callable[..., Choice]] = {  # operations that select an operand
    "select": lambda x, a, b: ((lambda u, v: rules.select(x, u, v)), a, b),
    "min": lambda a, b: choice("where_le", a, b, a, b),
    "max": lambda a, b: choice("where_le", b, a, a, b),
    **{op: partial(choice, op) for op in rules.COMPARED},
}


def derivative(
    program: Program,
    wrt: str | Sequence[str],
    mode: str = "forward",
    tangent_maps: Mapping[str, TangentMap] | None = None,
    value: bool = False,
) -> Program:
    """The program of the derivatives of each output by each input of `wrt`, of shape (*output, *input).

    For an input in `tangent_maps` the derivatives are by its speeds, of shape (*output, speeds). With `value` the
    program's own outputs come first.
    """
    if mode not in ("forward", "reverse"):
        raise ValueError(f"mode is {mode!r} (expected 'forward' or 'reverse')")
    names = [wrt] if isinstance(wrt, str) else list(wrt)
    tangent_maps = tangent_maps or {}
    inputs = differentiable(program, names)
    seeds = [seed for port, inputs in inputs for seed in unit_seeds(inputs, tangent_maps.get(port.name))]
    shapes = [derivative_shape(port, tangent_maps.get(port.name)) for port, _ in inputs]
    outputs = list(program.outputs) if value else []
    columns: list[Sequence[Any]] = list(program.results) if value else []
    for out, rows in zip(program.outputs, (forward if mode == "forward" else reverse)(program, seeds), strict=True):
        start = 0
        for name, shape in zip(names, shapes, strict=True):
            end = start + math.prod(shape)
            outputs.append(Port(f"d_{out.name}_d_{name}", (*out.shape, *shape)))
            columns.append([x for row in rows for x in row[start:end]])
            start = end
    return check(Program.of(program.nodes[0].graph, program.inputs, outputs, columns))


def differentiable(program: Program, names: Sequence[str]) -> list[tuple[Port, list[Node]]]:
    """The inputs of these names, with their nodes."""
    ports = {port.name: port for port in program.inputs}
    for name in names:
        if name not in ports:
            raise ValueError(f"wrt is {name!r} (expected one of the inputs: {', '.join(ports)})")
    if not program.nodes:
        raise ValueError("the program has no outputs to differentiate")
    graph = program.nodes[0].graph
    return [(ports[name], [graph.input(name, k) for k in range(ports[name].size)]) for name in names]


def derivative_shape(port: Port, tangent_map: TangentMap | None) -> tuple[int, ...]:
    """The shape of a derivative by this input, without that of the output."""
    return port.shape if tangent_map is None else (tangent_map.size,)


def unit_seeds(inputs: Sequence[Node], tangent_map: TangentMap | None) -> list[dict[int, Any]]:
    """Unit vectors: one for each number of an input, or for each of its speeds."""
    if tangent_map is None:
        return [{node.index: 1.0} for node in inputs]
    units = ([float(i == k) for i in range(tangent_map.size)] for k in range(tangent_map.size))
    return [seed_of(inputs, tangent_map.rates(inputs, unit)) for unit in units]


def seed_of(inputs: Sequence[Node], rates: Sequence[Any]) -> dict[int, Any]:
    """The components of a vector, by input."""
    return {node.index: x for node, x in zip(inputs, rates, strict=True) if not is_zero(x)}


def forward(program: Program, seeds: Sequence[dict[int, Any]]) -> list[list[list[Any]]]:
    """For each number of each output, its derivatives along each seed: the components of a vector, by input."""
    by_seed = []
    for seed in seeds:
        tangent: dict[int, Any] = dict(seed)
        for node in program.nodes:
            total: Any = 0.0
            if node.op in CHOICES:
                choose, a, b = CHOICES[node.op](*node.args)
                total = choose(tangent.get(a.index, 0.0), tangent.get(b.index, 0.0))
            else:
                for operand, partial in partials(node):
                    if operand.index in tangent:
                        total = total + partial * tangent[operand.index]
            if not is_zero(total):
                tangent[node.index] = total
        by_seed.append(tangent)
    return [[[tangent.get(node.index, 0.0) for tangent in by_seed] for node in result] for result in program.results]


def reverse(program: Program, seeds: Sequence[dict[int, Any]]) -> list[list[list[Any]]]:
    """For each number of each output, its derivatives along each seed."""
    rows = []
    for result in program.results:
        slopes = (adjoints(program, {output.index: 1.0}) for output in result)
        rows.append([[directional_derivative(seed, adjoint) for seed in seeds] for adjoint in slopes])
    return rows


def adjoints(program: Program, weights: dict[int, Any]) -> dict[int, Any]:
    """The derivatives of Σ weight · node by every node, by their indices."""
    adjoint, used = dict(weights), dict.fromkeys(weights, cast(Any, 1.0))
    for node in reversed(program.nodes):
        if node.index in adjoint:
            for operand, step, use in pull_back(node, adjoint[node.index], used[node.index]):
                if not is_zero(step):
                    adjoint[operand.index] = adjoint.get(operand.index, 0.0) + step
                    used[operand.index] = use_of_either(used.get(operand.index, 0.0), use)
    return adjoint


def use_of_either(a: Any, b: Any) -> Any:
    """The logical or of two masks, which are 0 or 1."""
    if isinstance(a, Node) and isinstance(b, Node):
        return rules.extreme("max", a, b)
    return (a or b) if not isinstance(a, Node) else (b or a)


def directional_derivative(seed: dict[int, Any], adjoint: dict[int, Any]) -> Any:
    """The derivative along a vector, from the derivatives by its components."""
    total: Any = 0.0
    for index, x in seed.items():
        total = total + x * adjoint.get(index, 0.0)
    return total


def pull_back(node: Node, adjoint: Any, used: Any) -> list[tuple[Node, Any, Any]]:
    """For each operand: the term of its adjoint, and its mask, from those of the node."""
    if node.op in CHOICES:
        choose, a, b = CHOICES[node.op](*node.args)
        return [(a, choose(adjoint, 0.0), choose(used, 0.0)), (b, choose(0.0, adjoint), choose(0.0, used))]
    steps = ((operand, partial, partial * adjoint) for operand, partial in partials(node))
    if not isinstance(used, Node):
        return [(operand, step, used) for operand, _, step in steps]
    return [(x, rules.where("where_eq", used, 0.0, 0.0, y) if may_blow_up(p) else y, used) for x, p, y in steps]


def may_blow_up(slope: Any) -> bool:
    """Whether a number may be infinite or NaN for finite inputs."""
    waiting, seen = ([slope] if isinstance(slope, Node) else []), set[int]()
    while waiting:
        node = waiting.pop()
        if node.op in POLES and node.args[-1].op != "const":
            return True
        fresh = [x for x in node.args if x.index not in seen]
        seen.update(x.index for x in fresh)
        waiting += fresh
    return False


def partials(node: Node) -> list[tuple[Node, Any]]:
    """The operands that are not constants, each with the derivative of the node by it."""
    return [(a, p) for a, p in zip(node.args, slopes(node), strict=True) if a.op != "const"]


def slopes(node: Node) -> tuple[Any, ...]:
    """The derivatives of a node by all its operands. Those by the compared operands of a choice are 0."""
    if not node.args:
        return ()
    if node.op in CHOICES:
        choose, _, _ = CHOICES[node.op](*node.args)
        return (*(0.0,) * (len(node.args) - 2), choose(1.0, 0.0), choose(0.0, 1.0))
    return PARTIAL[node.op](node, *(a.payload if a.op == "const" else a for a in node.args))


def is_zero(x: Any) -> bool:
    return not isinstance(x, Node) and x == 0.0


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
