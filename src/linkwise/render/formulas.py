"""A program as SymPy expressions."""

from __future__ import annotations

from fractions import Fraction
from sys import float_info
from typing import Any

from ..graph import Node, Program

SMALL = 1_000_000  # a constant is written as a fraction if its denominator is no larger
EPSILON = float_info.epsilon


def rational(x: float) -> Fraction | None:
    """The fraction with a small denominator that the number is, to rounding: 33/1000 for 0.033."""
    near = Fraction(x).limit_denominator(SMALL)
    return near if abs(float(near) - x) <= 8 * EPSILON * abs(x) else None


def normal_form(expression: Any) -> Any:
    """Numerator and denominator as sums of products of sines and cosines, of sums of angles where that is shorter."""
    import sympy

    def flat(x: Any) -> Any:
        return sympy.expand(sympy.trigsimp(sympy.expand(x)))

    above, below = sympy.fraction(sympy.together(expression))
    return flat(above) / flat(below)


def sympy_expressions(program: Program, named: bool) -> tuple[list[tuple[Any, Any]], list[Any]]:
    """Named intermediates (none if not asked for) and, for each output, a SymPy matrix, array or expression."""
    try:
        import sympy
    except ImportError:
        raise ImportError("SymPy is not installed: pip install sympy, or linkwise[symbolic]") from None

    functions = {"sin": sympy.sin, "cos": sympy.cos, "sqrt": sympy.sqrt, "sign": sympy.sign}
    uses: dict[int, int] = {}
    for node in program.nodes:
        for a in node.args:
            uses[a.index] = uses.get(a.index, 0) + 1
    value: dict[int, Any] = {}
    intermediates: list[tuple[Any, Any]] = []

    def made(node: Node) -> Any:
        if node.op == "const":
            near = rational(node.payload)
            return sympy.Float(node.payload, 17) if near is None else sympy.Rational(near.numerator, near.denominator)
        if node.op == "input":
            name, position = node.payload
            port = next(p for p in program.inputs if p.name == name)
            return sympy.Symbol(f"{name}{position + 1}" if port.shape else name, real=True)
        operands = [value[a.index] for a in node.args]
        if node.op in functions:
            return functions[node.op](*operands)
        if node.op == "neg":
            return -operands[0]
        a, b = operands
        return {"add": lambda: a + b, "sub": lambda: a - b, "mul": lambda: a * b, "div": lambda: a / b}[node.op]()

    for node in program.nodes:
        found = made(node)
        if named and node.args and uses.get(node.index, 0) > 1:
            symbol = sympy.Symbol(f"t{len(intermediates) + 1}", real=True)
            intermediates.append((symbol, found))
            found = symbol
        value[node.index] = found
    outputs = []
    for port, flat in zip(program.outputs, program.results, strict=True):
        numbers = [value[node.index] for node in flat]
        if len(port.shape) > 2:
            outputs.append(sympy.ImmutableDenseNDimArray(numbers, port.shape))
        elif port.shape:
            rows, columns = (port.shape[0], 1) if len(port.shape) == 1 else port.shape
            outputs.append(sympy.Matrix(rows, columns, numbers))
        else:
            outputs.append(numbers[0])
    return intermediates, outputs
