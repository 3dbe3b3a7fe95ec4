"""A program as SymPy expressions."""

from __future__ import annotations

from typing import Any

from ..graph import Node, Program


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
            return sympy.Integer(int(node.payload)) if node.payload.is_integer() else sympy.Float(node.payload, 17)
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
