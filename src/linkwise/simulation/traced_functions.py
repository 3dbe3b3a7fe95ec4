"""Torque and event functions, traced at the time of a call.

A user's function may read globals, attributes of a controller, or lists. So it is traced for every simulation into a
small program of t, q and qd. Two programs with the same operations and numbers are equal, even if they come from
different functions, and share compiled code.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..control.drives import function_name
from ..errors import UntraceableFunctionError
from ..graph import Node, Program, evaluate
from ..graph.rules import OPERATIONS
from ..lazy import cached_property
from ..robot import Robot
from ..tracing import Input, trace
from ..tracing.tracing import prefer_fewest
from .parameters import NONE, PREFIX, call_torque, strip_prefix

BLOCK = 4_000_000  # numbers in memory at a time when many states are evaluated
Shapes = tuple[tuple[str, tuple[int, ...]], ...]  # of parameters, by name
PACKAGE = str(Path(__file__).parent.parent)


class TracedFunction:
    """A traced function of (robot, t, q, qd). A call runs the traced operations.

    `parameters` are the names of further arguments, which every call needs.
    """

    def __init__(self, program: Program, name: str, parameters: tuple[str, ...] = ()) -> None:
        self.program, self.__name__, self.parameters = program, name, parameters

    def __call__(self, robot: Robot, t: Any, q: Any, qd: Any, /, **parameters: Any) -> Any:
        if isinstance(t, Node):
            flat = {PREFIX + name: np.ravel(np.array(value, dtype=object)) for name, value in parameters.items()}
            return self.replay(t, {"q": q, "qd": qd, **flat})
        rows = {name: np.asarray(value)[None] for name, value in parameters.items()}
        return self.values_at(np.array([t], dtype=float), np.asarray(q)[None], np.asarray(qd)[None], rows)[0]

    def replay(self, t: Node, arrays: dict[str, Any]) -> np.ndarray:
        """Run the operations on nodes of another graph, in which symbols of the robot are inputs of the same name."""
        value: dict[int, Any] = {}
        for node in self.program.nodes:
            if node.op == "const":
                value[node.index] = node.payload
            elif node.op == "input":
                name, position = node.payload
                symbol = t if name == "t" else t.graph.input(name)
                value[node.index] = arrays[name][position] if name in arrays else symbol
            else:
                value[node.index] = OPERATIONS[node.op](*(value[a.index] for a in node.args))
        result = np.empty(len(self.program.results[0]), dtype=object)
        result[:] = [value[node.index] for node in self.program.results[0]]
        return result.reshape(self.program.outputs[0].shape)

    def values_at(
        self, t: np.ndarray, q: np.ndarray, qd: np.ndarray, parameters: Mapping[str, np.ndarray] = NONE
    ) -> np.ndarray:
        """The values at many states: t (count,), q and qd (count, n), and parameters (count, ...)."""
        inputs = {"t": t, "q": q, "qd": qd, **{PREFIX + name: array for name, array in parameters.items()}}
        arrays = [inputs[port.name] for port in self.program.inputs]
        step = max(1, BLOCK // max(1, len(self.program.nodes)))
        parts = [slice(first, first + step) for first in range(0, max(1, len(t)), step)]
        with np.errstate(all="ignore"):
            return np.concatenate([evaluate(self.program, *(a[part] for a in arrays))[0] for part in parts])

    @cached_property
    def fingerprint(self) -> tuple[Any, ...]:
        """The identity of the program: operations in order, with operands and numbers, inputs and results."""
        order = {node.index: k for k, node in enumerate(self.program.nodes)}
        nodes = tuple((n.op, exact_payload(n), *(order[a.index] for a in n.args)) for n in self.program.nodes)
        results = tuple(tuple(order[node.index] for node in result) for result in self.program.results)
        return nodes, self.program.inputs, tuple(port.shape for port in self.program.outputs), results

    @cached_property
    def _hash(self) -> int:
        return hash(self.fingerprint)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TracedFunction) and (self is other or self.fingerprint == other.fingerprint)

    def __repr__(self) -> str:
        return f"<traced function {self.__name__}>"


def trace_function(function: Callable[..., Any], robot: Robot, what: str, parameters: Shapes = ()) -> TracedFunction:
    """Trace a function. Messages call it `what`.

    `parameters` become inputs with these shapes.
    """
    if isinstance(function, TracedFunction):
        return function

    def values(robot: Robot, t: Any, q: Any, qd: Any, **parameters: Any) -> np.ndarray:
        return np.asarray(call_torque(function, robot, t, q, qd, strip_prefix(parameters)))

    try:
        with prefer_fewest():
            inputs: dict[str, Any] = {PREFIX + name: Input(*shape) for name, shape in parameters}
            program = trace(values, robot, t=Input(), q=Input(robot.nq), qd=Input(robot.n), **inputs)
    except Exception as error:  # of any kind: a call with numbers shows mistakes of the function
        shapes = f"; {describe_shapes(parameters)}" if parameters and isinstance(error, ValueError) else ""
        message = f"{what} cannot be traced{user_line(error)}: {message_of(error)}{shapes}"
        raise UntraceableFunctionError(message) from error
    return TracedFunction(program, function_name(function), tuple(name for name, _ in parameters))


def describe_shapes(parameters: Shapes) -> str:
    """The shapes of the parameters, for messages."""
    shapes = ", ".join(f"{name} {shape}" for name, shape in parameters)
    return (
        f"shapes for one trajectory: {shapes}; an array is for all trajectories, unless it is lw.per_trajectory(array)"
    )


def exact_payload(node: Node) -> Any:
    """The payload of a node, numbers as hexadecimal text: 0.0 and -0.0 are equal and give different results."""
    return node.payload.hex() if node.op == "const" else node.payload


def user_line(error: BaseException) -> str:
    """' (line 7 of law.py: return max(q[0], 0))': the last line outside of packages that led to the error."""
    packages = (PACKAGE, *(path for path in sys.path if path.endswith("site-packages")))
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith(packages):
            code = f": {frame.line}" if frame.line else ""
            return f" (line {frame.lineno} of {Path(frame.filename).name}{code})"
    return ""


def message_of(error: BaseException) -> str:
    return str(error) if isinstance(error, TypeError) else f"{type(error).__name__}: {error}"
