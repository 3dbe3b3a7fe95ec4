"""Sines and cosines of sums of angles, recognised in a program: c_2 c_3 - s_2 s_3 becomes cos(q_2 + q_3)."""

from __future__ import annotations

from typing import Any

from ..graph import Graph, Node, Program
from ..graph.passes import rebuilt

Angles = tuple[tuple[tuple[str, int], int], ...]  # inputs, ascending, each with its multiplier


def angle_sums(program: Program) -> Program:
    """The same program with sines and cosines of sums in place of their addition theorems."""

    def change(node: Node, values: dict[int, Any], graph: Graph) -> Any:
        if node.op not in ("add", "sub") or any(a.op != "mul" for a in node.args):
            return None
        factors = [[values[x.index] for x in a.args] for a in node.args]
        if not all(isinstance(x, Node) and x.op in ("sin", "cos") for pair in factors for x in pair):
            return None
        (a, b), (c, d) = factors
        if a.args[0] is not c.args[0]:
            c, d = d, c
        if a.args[0] is not c.args[0] or b.args[0] is not d.args[0]:
            return None
        x, y = angles_of(a.args[0]), angles_of(b.args[0])
        if not x or not y:
            return None
        sign = 1 if node.op == "add" else -1
        match (a.op + b.op, c.op + d.op):
            case ("coscos", "sinsin"):
                return of_sum(graph, "cos", x, y, -sign)
            case ("sinsin", "coscos"):
                return sign * of_sum(graph, "cos", x, y, -sign)
            case ("sincos", "cossin"):
                return of_sum(graph, "sin", x, y, sign)
            case ("cossin", "sincos"):
                return of_sum(graph, "sin", y, x, sign)
        return None

    return rebuilt(program, change)


def of_sum(graph: Graph, op: str, x: Angles, y: Angles, sign: int) -> Any:
    """The sine or cosine of x + y, or of x - y; the first angle counts positive inside."""
    total = dict(x)
    for angle, k in y:
        total[angle] = total.get(angle, 0) + sign * k
    terms = sorted((angle, k) for angle, k in total.items() if k)
    if not terms:
        return 1.0 if op == "cos" else 0.0
    flip = -1 if terms[0][1] < 0 else 1
    argument: Any = 0.0
    for (name, position), k in terms:
        argument = argument + flip * k * graph.input(name, position)
    return argument.cos() if op == "cos" else flip * argument.sin()


def angles_of(node: Node) -> Angles | None:
    """The inputs of which the node is a sum with whole multipliers, if it is one."""
    if node.op == "input":
        return ((node.payload, 1),)
    if node.op not in ("add", "sub", "mul"):
        return None
    a, b = node.args
    if node.op == "mul":
        number, other = (a, b) if a.op == "const" else (b, a)
        if other.op != "input" or number.op != "const" or number.payload % 1:
            return None
        return ((other.payload, int(number.payload)),)
    x, y = angles_of(a), angles_of(b)
    if x is None or y is None:
        return None
    total = dict(x)
    for angle, k in y:
        total[angle] = total.get(angle, 0) + (k if node.op == "add" else -k)
    return tuple(sorted((angle, k) for angle, k in total.items() if k)) or None
