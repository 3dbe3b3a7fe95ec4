"""The reference interpreter: it defines the meaning of operations and programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import rules
from .program import Port, Program
from .tensors import ARITHMETIC, evaluate_tensors, library_of


def meaning(op: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy, which takes nodes and numbers of many digits one by one."""

    def evaluated(*operands: Any) -> Any:
        if any(np.asarray(x).dtype == object for x in operands):
            return np.frompyfunc(lambda *xs: of_objects(op, *xs), len(operands), 1)(*operands)
        return function(*operands)

    return evaluated


def of_objects(op: str, *operands: Any) -> Any:
    digits = next((x.context for x in operands if type(x).__module__.partition(".")[0] == "mpmath"), None)
    return rules.OPERATIONS[op](*operands) if digits is None else of_many_digits(op, digits, *operands)


def of_many_digits(op: str, digits: Any, *operands: Any) -> Any:
    """An operation on numbers of mpmath, in their own context."""
    x, *others = map(digits.convert, operands)
    if op in rules.COMPARED:
        y, a, b = others
        return a if rules.COMPARED[op](x, y) else b
    if op == "select":
        return others[0] if x >= 0 else others[1]
    if op in ("min", "max"):
        (y,) = others
        return x if digits.isnan(x) or (x <= y if op == "min" else y <= x) else y
    return abs(x) if op == "abs" else getattr(digits, op)(x, *others)


def selected(x: Any, a: Any, b: Any) -> Any:
    """a where x ≥ 0, otherwise b; two constants take the precision of x."""
    return np.asarray(np.where(x >= 0, a, b), dtype=np.result_type(x, a, b))


def chosen(compared: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def where(x: Any, y: Any, a: Any, b: Any) -> Any:
        return np.asarray(np.where(compared(x, y), a, b), dtype=np.result_type(x, y, a, b))

    return where


MEANING: dict[str, Callable[..., Any]] = {
    **ARITHMETIC,
    **{op: meaning(op, getattr(np, op)) for op in ("sin", "cos", "sign", "sqrt")},
    "select": meaning("select", selected),
    **{op: meaning(op, getattr(np, name)) for op, name in rules.NUMPY_NAMES.items()},
    **{op: meaning(op, chosen(compared)) for op, compared in rules.COMPARED.items()},
}


def evaluate(program: Program, *arrays: Any) -> tuple[np.ndarray, ...]:
    """The outputs for arrays of shape (..., *port.shape), one per input, in order; of torch or JAX where these are."""
    if len(arrays) != len(program.inputs):
        names = ", ".join(port.name for port in program.inputs)
        raise TypeError(f"the program takes {len(program.inputs)} arrays ({names}), not {len(arrays)}")
    tensors = library_of(arrays)
    if tensors is not None:
        return evaluate_tensors(tensors, program, arrays)
    inputs = {port.name: rows(port, a) for port, a in zip(program.inputs, arrays, strict=True)}
    batch = np.broadcast_shapes(*(a.shape[:-1] for a in inputs.values()))
    value: dict[int, Any] = {}
    for node in program.nodes:
        if node.op == "const":
            value[node.index] = node.payload
        elif node.op == "input":
            name, position = node.payload
            value[node.index] = inputs[name][..., position]
        else:
            value[node.index] = MEANING[node.op](*(value[a.index] for a in node.args))
    outputs = []
    for port, result in zip(program.outputs, program.results, strict=True):
        flat = [np.broadcast_to(value[node.index], batch) for node in result]
        stacked = np.stack(flat, axis=-1) if flat else np.zeros((*batch, 0))
        outputs.append(stacked.reshape((*batch, *port.shape)))
    return tuple(outputs)


def rows(port: Port, value: Any) -> np.ndarray:
    """The numbers of an input, floating, with the port's shape laid out along the last axis."""
    of_columns = getattr(getattr(value, "dtype", None), "names", None)
    if of_columns or hasattr(value, "to_numpy") or hasattr(value, "_fields"):
        raise TypeError(f"{port.name} is a {type(value).__name__}, whose names are not looked at (expected an array)")
    array = np.asarray(value)
    dims = array.ndim - len(port.shape)
    if dims < 0 or array.shape[dims:] != port.shape:
        expected = ", ".join(("...", *map(str, port.shape)))
        raise ValueError(f"{port.name} has shape {array.shape} (expected ({expected}))")
    if array.dtype.kind in "iu":
        array = array.astype(np.float64)
    return array.reshape((*array.shape[:dims], port.size))
