"""A program as SymPy expressions."""

from __future__ import annotations

import operator as op
from collections import Counter
from typing import Any

from ..extras import import_optional
from ..graph import Node, Port, Program
from ..graph.assignments import free_letter
from ..graph.polynomial import Number, Polynomial, constant
from .normal_form import DEFINED, Normal, shorten
from .plain_names import Components, input_names

SAME = ("sin", "cos", "sqrt", "sign", "exp", "log", "tanh", "asin", "acos", "atan2")  # same names in SymPy


def sympy_expressions(
    program: Program, named: bool, components: Components = None
) -> tuple[list[tuple[Any, Any]], list[Any]]:
    """Intermediates, if `named`, and for each output a SymPy matrix, array or expression."""
    sympy = import_optional("sympy")
    functions = functions_of(sympy)
    inputs, letter = input_symbols(sympy, program, components)
    uses = Counter(a.index for node in program.nodes for a in node.args)
    value: dict[int, Any] = {}
    intermediates: list[tuple[Any, Any]] = []

    def built(node: Node) -> Any:
        if node.op == "const":
            return number(sympy, constant(node.payload))
        if node.op == "input":
            return inputs[node.payload]
        return functions[node.op](*(value[a.index] for a in node.args))

    for node in program.nodes:
        expression = built(node)
        if named and node.args and uses[node.index] > 1:
            name = sympy.Symbol(f"{letter}{len(intermediates) + 1}", real=True)
            intermediates.append((name, expression))
            expression = name
        value[node.index] = expression
    results = [[value[node.index] for node in flat] for flat in program.results]
    return intermediates, [shape_output(sympy, *output) for output in zip(program.outputs, results, strict=True)]


def normal_expressions(
    program: Program, named: bool, components: Components = None
) -> tuple[list[tuple[Any, Any]], list[Any]]:
    """The same in normal form: expanded, with sums of angles. Intermediates are the quotients."""
    sympy = import_optional("sympy")
    inputs, letter = input_symbols(sympy, program, components)
    normal = Normal(program)
    value: dict[int, Any] = {}
    intermediates: list[tuple[Any, Any]] = []

    def factor(index: int) -> Any:
        if index not in value:
            definition = built(index)
            if named and normal.atoms[index].op in DEFINED:
                name = sympy.Symbol(f"{letter}{len(intermediates) + 1}", real=True)
                intermediates.append((name, definition))
                definition = name
            value[index] = definition
        return value[index]

    def expression(polynomial: Polynomial) -> Any:
        terms = shorten(normal, polynomial).items()
        return sympy.Add(*(sympy.Mul(number(sympy, x), *(factor(a) ** e for a, e in key)) for key, x in terms))

    def built(index: int) -> Any:
        atom = normal.atoms[index]
        if atom.op == "input":
            return inputs[atom.payload]
        if atom.op in ("sin", "cos"):
            argument = sum(k * inputs[input_] for input_, k in atom.payload)
            return functions_of(sympy)[atom.op](argument)
        if atom.op == "call":
            operation, *parts = atom.payload
            return functions_of(sympy)[operation](*(expression(dict(part)) for part in parts))
        above, below = normal.definition(index)
        definition = expression(above) / sympy.Mul(*(factor(a) ** e for a, e in below))
        return functions_of(sympy)[atom.payload[0]](definition) if atom.op == "function" else definition

    results = [[expression(polynomial) for polynomial in flat] for flat in normal.results]
    return intermediates, [shape_output(sympy, *output) for output in zip(program.outputs, results, strict=True)]


def functions_of(sympy: Any) -> dict[str, Any]:
    def select(x: Any, a: Any, b: Any) -> Any:
        return sympy.Piecewise((a, x >= 0), (b, True))

    def where(relation: Any) -> Any:
        return lambda x, y, a, b: sympy.Piecewise((a, relation(x, y)), (b, True))

    arithmetic = {"neg": op.neg, "add": op.add, "sub": op.sub, "mul": op.mul, "div": op.truediv, "select": select}
    choices = {"where_lt": where(sympy.Lt), "where_le": where(sympy.Le), "where_eq": where(sympy.Eq)}
    others = {"abs": sympy.Abs, "min": sympy.Min, "max": sympy.Max}
    return arithmetic | choices | others | {name: getattr(sympy, name) for name in SAME}


def number(sympy: Any, x: Number) -> Any:
    return sympy.Float(x, 17) if isinstance(x, float) else sympy.Rational(x.numerator, x.denominator)


def input_symbols(
    sympy: Any, program: Program, components: Components = None
) -> tuple[dict[tuple[str, int], Any], str]:
    """Symbols for all input numbers, and the first letter of intermediates."""
    names = input_names(program, components)
    return {key: sympy.Symbol(name, real=True) for key, name in names.items()}, free_letter(names.values())


def shape_output(sympy: Any, port: Port, numbers: list[Any]) -> Any:
    if len(port.shape) > 2:
        return sympy.ImmutableDenseNDimArray(numbers, port.shape)
    if not port.shape:
        return numbers[0]
    rows, columns = (port.shape[0], 1) if len(port.shape) == 1 else port.shape
    return sympy.Matrix(rows, columns, numbers)
