"""Derivatives of programs: new nodes in the same graph, by forward or by reverse mode.

    forward   for each input x_k:   ∂(node)/∂x_k = Σ ∂(node)/∂(operand) · ∂(operand)/∂x_k,   from the inputs on
    reverse   for each output y:    ∂y/∂(operand) += ∂y/∂(node) · ∂(node)/∂(operand),        from the output back

Of select(x, a, b) the derivative is select(x, that of a, that of b), and so for all choices. At a kink it is one of the
slopes beside it or, for sign and |x|, zero: |x|' = sign x, which is 0 at 0, and min and max of two equal numbers have
the slope of the first; so the slope of clip is 1 from bound to bound, both included.

Both give the same numbers, also where a branch that is not taken has a slope that is not finite. Reverse mode would
multiply it by 0, which is NaN. So it also follows whether a node is in use: 1, or 0 if it is in branches alone that are
not taken; where 0, nothing is passed on to its operands. Zeros add no nodes, and expressions that derivatives share are
built once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

from . import rules
from .grammar import check
from .node import Node
from .program import Port, Program


class Moves(NamedTuple):
    """How an input moves that has constraints: at which rates with `size` speeds, which are free."""

    size: int
    rates: Callable[[Sequence[Node], Sequence[Any]], Sequence[Any]]  # of the input's numbers, and the speeds


PARTIAL: dict[str, Callable[..., tuple[Any, ...]]] = {  # of each operation by its operands; `y` is the operation itself
    "neg": lambda y, a: (-1.0,),
    "add": lambda y, a, b: (1.0, 1.0),
    "sub": lambda y, a, b: (1.0, -1.0),
    "mul": lambda y, a, b: (b, a),
    "div": lambda y, a, b: (1.0 / b, -(y / b)),
    "sin": lambda y, a: (a.cos(),),
    "cos": lambda y, a: (-a.sin(),),
    "sqrt": lambda y, a: (0.5 / y,),
    "sign": lambda y, a: (0.0,),  # wherever it has a derivative
    "abs": lambda y, a: (a.sign(),),
    "exp": lambda y, a: (y,),
    "log": lambda y, a: (1.0 / a,),
    "tanh": lambda y, a: (1.0 - y * y,),
    "asin": lambda y, a: (1.0 / ((1.0 - a) * (1.0 + a)).sqrt(),),
    "acos": lambda y, a: (-1.0 / ((1.0 - a) * (1.0 + a)).sqrt(),),
    "atan2": lambda y, a, b: (b / (a * a + b * b), -(a / (a * a + b * b))),
}


POLES = ("div", "sqrt", "exp", "log", "asin", "acos")  # operations that are not finite everywhere


Choice = tuple[Callable[[Any, Any], Any], Node, Node]  # how one of two numbers is chosen, and the two


def choice(op: str, x: Node, y: Node, a: Node, b: Node) -> Choice:
    return (lambda u, v: rules.where(op, x, y, u, v)), a, b


CHOICES: dict[str, Callable[..., Choice]] = {  # operations that are one of their operands
    "select": lambda x, a, b: ((lambda u, v: rules.select(x, u, v)), a, b),
    "min": lambda a, b: choice("where_le", a, b, a, b),
    "max": lambda a, b: choice("where_le", b, a, a, b),
    **{op: partial(choice, op) for op in rules.COMPARED},
}


def derivative(
    program: Program,
    wrt: str | Sequence[str],
    mode: str = "forward",
    moves: Mapping[str, Moves] | None = None,
    value: bool = False,
) -> Program:
    """The program of the derivatives of every output by each input of `wrt`: outputs of shape (*output, *input).

    By an input in `moves` they are by its speeds: of shape (*output, speeds). With `value` the outputs of the program
    itself come first.
    """
    if mode not in ("forward", "reverse"):
        raise ValueError(f"mode is {mode!r} (expected 'forward' or 'reverse')")
    names = [wrt] if isinstance(wrt, str) else list(wrt)
    moves = moves or {}
    found = differentiable(program, names)
    seeds = [seed for port, inputs in found for seed in unit_seeds(inputs, moves.get(port.name))]
    shapes = [own_shape(port, moves.get(port.name)) for port, _ in found]
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


def own_shape(port: Port, move: Moves | None) -> tuple[int, ...]:
    """Of a derivative by this input."""
    return port.shape if move is None else (move.size,)


def unit_seeds(inputs: Sequence[Node], move: Moves | None) -> list[dict[int, Any]]:
    """One for each number of an input, or for each of its speeds alone."""
    if move is None:
        return [{node.index: 1.0} for node in inputs]
    units = ([float(i == k) for i in range(move.size)] for k in range(move.size))
    return [seed_of(inputs, move.rates(inputs, unit)) for unit in units]


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
        rows.append([[along(seed, adjoint) for seed in seeds] for adjoint in slopes])
    return rows


def adjoints(program: Program, weights: dict[int, Any]) -> dict[int, Any]:
    """The derivatives of Σ weight · node by every node, by their indices."""
    adjoint, used = dict(weights), dict.fromkeys(weights, cast(Any, 1.0))
    for node in reversed(program.nodes):
        if node.index in adjoint:
            for operand, step, use in pulled_back(node, adjoint[node.index], used[node.index]):
                if not is_zero(step):
                    adjoint[operand.index] = adjoint.get(operand.index, 0.0) + step
                    used[operand.index] = either(used.get(operand.index, 0.0), use)
    return adjoint


def either(a: Any, b: Any) -> Any:
    """Of two that are 0 or 1."""
    if isinstance(a, Node) and isinstance(b, Node):
        return rules.extreme("max", a, b)
    return (a or b) if not isinstance(a, Node) else (b or a)


def along(seed: dict[int, Any], adjoint: dict[int, Any]) -> Any:
    """The derivative along a vector, from those by its components."""
    total: Any = 0.0
    for index, x in seed.items():
        total = total + x * adjoint.get(index, 0.0)
    return total


def pulled_back(node: Node, adjoint: Any, used: Any) -> list[tuple[Node, Any, Any]]:
    """What each operand adds to its derivative, from that of the output by the node; and whether it is in use."""
    if node.op in CHOICES:
        choose, a, b = CHOICES[node.op](*node.args)
        return [(a, choose(adjoint, 0.0), choose(used, 0.0)), (b, choose(0.0, adjoint), choose(0.0, used))]
    steps = ((operand, partial, partial * adjoint) for operand, partial in partials(node))
    if not isinstance(used, Node):
        return [(operand, step, used) for operand, _, step in steps]
    return [(x, rules.where("where_eq", used, 0.0, 0.0, y) if may_blow_up(p) else y, used) for x, p, y in steps]


def may_blow_up(slope: Any) -> bool:
    """Whether a number may be infinite or NaN though those that it is computed from are not."""
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
    """The derivatives of a node by its operands, constants included; those by what a choice compares are 0."""
    if not node.args:
        return ()
    if node.op in CHOICES:
        choose, _, _ = CHOICES[node.op](*node.args)
        return (*(0.0,) * (len(node.args) - 2), choose(1.0, 0.0), choose(0.0, 1.0))
    return PARTIAL[node.op](node, *(a.payload if a.op == "const" else a for a in node.args))


def is_zero(x: Any) -> bool:
    return not isinstance(x, Node) and x == 0.0
