"""Torque and event functions as they are at the time of a call.

A user's function may read globals, attributes of a controller, lists. So it is traced for every simulation, alone, into
a small program of t, q and qd. Two programs with the same operations and the same numbers are equal, also if they come
from different functions, and share compiled code.
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

BLOCK = 4_000_000  # numbers that are held at once where many states are evaluated
Shapes = tuple[tuple[str, tuple[int, ...]], ...]  # of parameters, by name
PACKAGE = str(Path(__file__).parent.parent)


class TracedFunction:
    """A function of (robot, t, q, qd), frozen: called like it, it runs the operations that were traced.

    `parameters` are names of further arguments that it was traced with; these have to be given.
    """

    def __init__(self, program: Program, name: str, parameters: tuple[str, ...] = ()) -> None:
        self.program, self.__name__, self.parameters = program, name, parameters

    def __call__(self, robot: Robot, t: Any, q: Any, qd: Any, /, **own: Any) -> Any:
        if isinstance(t, Node):
            flat = {PREFIX + name: np.ravel(np.array(value, dtype=object)) for name, value in own.items()}
            return self.replay(t, {"q": q, "qd": qd, **flat})
        rows = {name: np.asarray(value)[None] for name, value in own.items()}
        return self.values_at(np.array([t], dtype=float), np.asarray(q)[None], np.asarray(qd)[None], rows)[0]

    def replay(self, t: Node, arrays: dict[str, Any]) -> np.ndarray:
        """The same operations on nodes of another graph; symbols of the robot are inputs there, by the same name."""
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
        self, t: np.ndarray, q: np.ndarray, qd: np.ndarray, own: Mapping[str, np.ndarray] = NONE
    ) -> np.ndarray:
        """The values at many states: t (count,), q and qd (count, n), and parameters (count, ...)."""
        inputs = {"t": t, "q": q, "qd": qd, **{PREFIX + name: array for name, array in own.items()}}
        arrays = [inputs[port.name] for port in self.program.inputs]
        step = max(1, BLOCK // max(1, len(self.program.nodes)))
        parts = [slice(first, first + step) for first in range(0, max(1, len(t)), step)]
        with np.errstate(all="ignore"):
            return np.concatenate([evaluate(self.program, *(a[part] for a in arrays))[0] for part in parts])

    @cached_property
    def fingerprint(self) -> tuple[Any, ...]:
        """All that the program computes: operations in order, with their operands and numbers, inputs and results."""
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
        return f"<{self.__name__}, as it was traced>"


def trace_function(function: Callable[..., Any], robot: Robot, what: str, own: Shapes = ()) -> TracedFunction:
    """The function as it is now; `what` it is, for the message where it cannot be traced.

    `own` are the parameters that it is to have as inputs, with their shapes.
    """
    if isinstance(function, TracedFunction):
        return function

    def values(robot: Robot, t: Any, q: Any, qd: Any, **parameters: Any) -> np.ndarray:
        return np.asarray(call_torque(function, robot, t, q, qd, strip_prefix(parameters)))

    try:
        with prefer_fewest():
            inputs: dict[str, Any] = {PREFIX + name: Input(*shape) for name, shape in own}
            program = trace(values, robot, t=Input(), q=Input(robot.nq), qd=Input(robot.n), **inputs)
    except Exception as error:  # of any kind: a call with numbers tells whether it is a mistake in the function
        shapes = f"; {describe_shapes(own)}" if own and isinstance(error, ValueError) else ""
        message = f"{what} cannot be traced{user_line(error)}: {message_of(error)}{shapes}"
        raise UntraceableFunctionError(message) from error
    return TracedFunction(program, function_name(function), tuple(name for name, _ in own))


def describe_shapes(own: Shapes) -> str:
    """The parameters and their shapes, for messages."""
    shapes = ", ".join(f"{name} {shape}" for name, shape in own)
    return f"a trajectory has {shapes}; an array is for all trajectories, unless it is lw.per_trajectory(array)"


def exact_payload(node: Node) -> Any:
    """What a node holds, with numbers by their bits: 0.0 and -0.0 are equal and give different results."""
    return node.payload.hex() if node.op == "const" else node.payload


def user_line(error: BaseException) -> str:
    """', line 7 of law.py: return max(q[0], 0)': the last line outside of packages that led to the error."""
    packages = (PACKAGE, *(path for path in sys.path if path.endswith("site-packages")))
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith(packages):
            code = f": {frame.line}" if frame.line else ""
            return f" (line {frame.lineno} of {Path(frame.filename).name}{code})"
    return ""


def message_of(error: BaseException) -> str:
    return str(error) if isinstance(error, TypeError) else f"{type(error).__name__}: {error}"
