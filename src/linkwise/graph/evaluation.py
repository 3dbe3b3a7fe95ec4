"""The reference interpreter: it defines the meaning of operations and programs; programs on arrays of torch and JAX."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import rules
from .program import Port, Program

MODULES = {"torch": "torch", "jax": "jax.numpy", "jaxlib": "jax.numpy"}


def library_of(arrays: Sequence[Any]) -> Any:
    """torch or jax.numpy if one of the arrays belongs to it, otherwise None."""
    packages = (type(x).__module__.partition(".")[0] for x in arrays)
    return next((sys.modules[MODULES[name]] for name in packages if name in MODULES), None)


def evaluate_tensors(xp: Any, program: Program, arrays: Sequence[Any]) -> tuple[Any, ...]:
    like = next(x for x in arrays if library_of([x]) is not None)
    keywords = {"dtype": like.dtype, **({"device": like.device} if xp.__name__ == "torch" else {})}
    tensors = [x if library_of([x]) is not None else xp.asarray(x, **keywords) for x in arrays]
    inputs = {port.name: flatten_input(port, x) for port, x in zip(program.inputs, tensors, strict=True)}
    batch = np.broadcast_shapes(*(tuple(x.shape[:-1]) for x in inputs.values()))
    value: dict[int, Any] = {}
    for node in program.nodes:
        if node.op == "const":
            value[node.index] = xp.asarray(node.payload, **keywords)
        elif node.op == "input":
            name, position = node.payload
            value[node.index] = inputs[name][..., position]
        else:
            value[node.index] = operation(xp, node.op)(*(value[a.index] for a in node.args))
    outputs = []
    for port, result in zip(program.outputs, program.results, strict=True):
        flat = [xp.broadcast_to(value[node.index], batch) for node in result]
        stacked = xp.stack(flat, -1) if flat else xp.zeros((*batch, 0), **keywords)
        outputs.append(stacked.reshape((*batch, *port.shape)))
    return tuple(outputs)


def operation(xp: Any, op: str) -> Callable[..., Any]:
    if op in ARITHMETIC:
        return ARITHMETIC[op]
    if op in rules.COMPARED:
        compared = rules.COMPARED[op]
        return lambda x, y, a, b: xp.where(compared(x, y), a, b)
    if op == "select":
        return lambda x, a, b: xp.where(x >= 0, a, b)
    function: Callable[..., Any] = getattr(xp, rules.NUMPY_NAMES.get(op, op))
    return function


ARITHMETIC: dict[str, Callable[..., Any]] = {
    "neg": lambda a: -a,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
}


def flatten_input(port: Port, array: Any) -> Any:
    dims = array.ndim - len(port.shape)
    if dims < 0 or tuple(array.shape[dims:]) != port.shape:
        expected = ", ".join(("...", *map(str, port.shape)))
        raise ValueError(f"{port.name} has shape {tuple(array.shape)} (expected ({expected}))")
    return array.reshape((*array.shape[:dims], math.prod(port.shape)))


def meaning(op: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy that is applied element by element to nodes and numbers of extended precision."""

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
    """The outputs for arrays (..., *port.shape), one per input, in order: arrays of the library of the inputs."""
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
        raise TypeError(f"{port.name} is a {type(value).__name__}, whose names are not used here (expected an array)")
    array = np.asarray(value)
    dims = array.ndim - len(port.shape)
    if dims < 0 or array.shape[dims:] != port.shape:
        expected = ", ".join(("...", *map(str, port.shape)))
        raise ValueError(f"{port.name} has shape {array.shape} (expected ({expected}))")
    if array.dtype.kind in "iu":
        array = array.astype(np.float64)
    return array.reshape((*array.shape[:dims], port.size))
