"""Programs on arrays of torch and JAX, by their own functions, which they can differentiate."""

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
