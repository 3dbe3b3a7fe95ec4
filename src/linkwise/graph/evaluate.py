"""The reference interpreter: it defines the meaning of operations and programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import rules
from .program import Port, Program

MEANING: dict[str, Callable[..., Any]] = {
    "neg": lambda a: -a,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "sin": np.sin,
    "cos": np.cos,
    "sign": lambda a: signed(a),
    "sqrt": np.sqrt,
    "select": lambda x, a, b: selected(x, a, b),
}


def evaluate(program: Program, *arrays: Any) -> tuple[np.ndarray, ...]:
    """The outputs for arrays of shape (..., *port.shape), one per input, in order."""
    if len(arrays) != len(program.inputs):
        names = ", ".join(port.name for port in program.inputs)
        raise TypeError(f"the program takes {len(program.inputs)} arrays ({names}), not {len(arrays)}")
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


def signed(a: Any) -> Any:
    return np.frompyfunc(rules.sign, 1, 1)(a) if np.asarray(a).dtype == object else np.sign(a)


def selected(x: Any, a: Any, b: Any) -> Any:
    """a where x ≥ 0, otherwise b; two constants take the precision of x."""
    if np.asarray(x).dtype == object:  # of nodes, which cannot be compared
        return np.frompyfunc(rules.select, 3, 1)(x, a, b)
    return np.asarray(np.where(x >= 0, a, b), dtype=np.result_type(x, a, b))


def rows(port: Port, value: Any) -> np.ndarray:
    """The numbers of an input, floating, with the port's shape laid out along the last axis."""
    array = np.asarray(value)
    dims = array.ndim - len(port.shape)
    if dims < 0 or array.shape[dims:] != port.shape:
        expected = ", ".join(("...", *map(str, port.shape)))
        raise ValueError(f"{port.name} has shape {array.shape} (expected ({expected}))")
    if array.dtype.kind in "iu":
        array = array.astype(np.float64)
    return array.reshape((*array.shape[:dims], port.size))
