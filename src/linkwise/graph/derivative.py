"""Derivatives of programs: new nodes in the same graph, by forward or by reverse mode.

    forward   for each input x_k:   ∂(node)/∂x_k = Σ ∂(node)/∂(operand) · ∂(operand)/∂x_k,   from the inputs on
    reverse   for each output y:    ∂y/∂(operand) += ∂y/∂(node) · ∂(node)/∂(operand),        from the output back

Of select(x, a, b) the derivative is select(x, that of a, that of b). Both give the same numbers, except where a branch
that is not taken has a slope that is not finite: reverse mode multiplies it by 0, which is NaN. Zeros add
no nodes, and expressions that derivatives share are built once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import rules
from .grammar import check
from .node import Node
from .program import Port, Program

Directions = Callable[[list[Node]], list[list[Any]]]

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
}


def derivative(program: Program, wrt: str, mode: str = "forward", directions: Directions | None = None) -> Program:
    """The program of the derivatives of every output by the input `wrt`: outputs of shape (*output, *input).

    With `directions`, which makes vectors of the input's nodes, they are along these: of shape (*output, directions).
    """
    ports = {port.name: port for port in program.inputs}
    if wrt not in ports:
        raise ValueError(f"wrt is {wrt!r} (expected one of the inputs: {', '.join(ports)})")
    if mode not in ("forward", "reverse"):
        raise ValueError(f"mode is {mode!r} (expected 'forward' or 'reverse')")
    port = ports[wrt]
    if not program.nodes:
        raise ValueError("the program has no outputs to differentiate")
    graph = program.nodes[0].graph
    inputs = [graph.input(wrt, k) for k in range(port.size)]
    seeds: list[dict[int, Any]] = [{node.index: 1.0} for node in inputs]
    shape = port.shape
    if directions is not None:
        vectors = [zip(inputs, vector, strict=True) for vector in directions(inputs)]
        seeds = [{node.index: x for node, x in vector if not is_zero(x)} for vector in vectors]
        shape = (len(seeds),)
    columns = forward(program, seeds) if mode == "forward" else reverse(program, seeds)
    outputs = [Port(f"d_{out.name}_d_{wrt}", (*out.shape, *shape)) for out in program.outputs]
    return check(Program.of(graph, program.inputs, outputs, columns))


def forward(program: Program, seeds: list[dict[int, Any]]) -> list[list[Any]]:
    """For each output, row by row, its derivatives along each seed: the components of a vector, by input."""
    by_seed = []
    for seed in seeds:
        tangent: dict[int, Any] = dict(seed)
        for node in program.nodes:
            total: Any = 0.0
            if node.op == "select":
                x, a, b = node.args
                total = rules.select(x, tangent.get(a.index, 0.0), tangent.get(b.index, 0.0))
            else:
                for operand, partial in partials(node):
                    if operand.index in tangent:
                        total = total + partial * tangent[operand.index]
            if not is_zero(total):
                tangent[node.index] = total
        by_seed.append(tangent)
    return [[tangent.get(node.index, 0.0) for node in result for tangent in by_seed] for result in program.results]


def reverse(program: Program, seeds: list[dict[int, Any]]) -> list[list[Any]]:
    """For each output, row by row, its derivatives along each seed."""
    rows = []
    for result in program.results:
        row: list[Any] = []
        for output in result:
            adjoint: dict[int, Any] = {output.index: 1.0}
            for node in reversed(program.nodes):
                if node.index in adjoint:
                    for operand, step in pulled_back(node, adjoint[node.index]):
                        if not is_zero(step):
                            adjoint[operand.index] = adjoint.get(operand.index, 0.0) + step
            row += [along(seed, adjoint) for seed in seeds]
        rows.append(row)
    return rows


def along(seed: dict[int, Any], adjoint: dict[int, Any]) -> Any:
    """The derivative along a vector, from those by its components."""
    total: Any = 0.0
    for index, x in seed.items():
        total = total + x * adjoint.get(index, 0.0)
    return total


def pulled_back(node: Node, adjoint: Any) -> list[tuple[Node, Any]]:
    """What each operand adds to its derivative of the output, from that of the output by the node."""
    if node.op == "select":
        x, a, b = node.args
        return [(a, rules.select(x, adjoint, 0.0)), (b, rules.select(x, 0.0, adjoint))]
    return [(operand, partial * adjoint) for operand, partial in partials(node)]


def partials(node: Node) -> list[tuple[Node, Any]]:
    """The operands that are not constants, each with the derivative of the node by it."""
    if not node.args:
        return []
    values = [a.payload if a.op == "const" else a for a in node.args]
    return [(a, p) for a, p in zip(node.args, PARTIAL[node.op](node, *values), strict=True) if a.op != "const"]


def is_zero(x: Any) -> bool:
    return not isinstance(x, Node) and x == 0.0
