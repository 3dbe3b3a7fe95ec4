"""Derivatives of functions by their arguments, as functions that can be called, compiled, printed and derived again."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import one_of
from ..graph import Node, Port, Program, count, evaluate
from ..graph.derivative import derivative as differentiate
from ..kernels import dispatch
from ..kernels.interface import batch_of
from ..kernels.lock import LOCK
from ..robot import Robot
from ..trace import symbols_of, trace
from ..trace.tracing import Prepared, function_name
from .singular import explain_non_finite
from .states import REAL, as_array, has_length

if TYPE_CHECKING:
    from ..kernels.compiler import Compiled


class Derivative(Prepared):
    """The derivative of a function by one of its arguments, for one robot: call it with the function's arrays.

    It is a function of the robot and these arrays wherever Linkwise takes one: `lw.compile(slope, arm)`, `lw.count`,
    `lw.trace`, `lw.c_source`, `lw.latex`, `lw.sympy`, `lw.python_source`, `lw.derivative` again; for another robot than
    its own it is derived anew. Called on batches, or often, it runs compiled, by the rule of the public functions.

    `program` is its straight-line code, `count` its operations, `function_count` those of the function itself, `mode`
    "forward" or "reverse".
    """

    def __init__(
        self, function: Callable[..., Any], robot: Robot, wrt: str, asked: str, keywords: dict[str, Any]
    ) -> None:
        self.function, self.robot, self.wrt, self._asked, self._keywords = function, robot, wrt, asked, keywords
        original = trace(function, robot, **keywords)
        one_of(wrt, [port.name for port in original.inputs], "wrt")
        modes = ("forward", "reverse") if asked == "fewest" else (asked,)
        port = next(port for port in original.inputs if port.name == wrt)
        along = self._velocities if port.quaternions else None
        programs = {mode: differentiate(original, wrt, mode, along) for mode in modes}
        self.mode = min(programs, key=lambda mode: count(programs[mode]).total)
        self.program: Program = programs[self.mode]
        self.count, self.function_count = count(self.program), count(original)
        self.__name__ = f"d_{function_name(function)}_d_{wrt}"
        self.__doc__ = f"The derivative of {function_name(function)} by {wrt}."
        self.__signature__ = signature(self.program, symbols_of(robot) if robot.non_floats else ())
        self._spent = 0.0  # seconds that plain calls have taken
        self._kernels: dict[str, Compiled | None] = {}  # None: too long to compile
        self._others: dict[Robot, Derivative] = {}

    def _velocities(self, q: list[Node]) -> list[list[Any]]:
        """How q changes at each velocity alone."""
        return [self.robot.coordinates.configuration_rates(q, v) for v in np.eye(self.robot.n).tolist()]

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """`slope(q, qd, qdd)`, or `slope(arm, q, qd, qdd)`, which always runs plain Python."""
        if arguments and isinstance(arguments[0], Robot):
            own = self.of(arguments[0])
            return own._plain(own._arrays(arguments[1:], named))
        arrays = self._arrays(arguments, named)
        kernel = self._kernel(arrays)
        if kernel is not None:
            return kernel(*arrays)
        started = dispatch.clock()
        result = self._plain(arrays)
        self._spent += dispatch.clock() - started
        return result

    def __getstate__(self) -> dict[str, Any]:
        """Without machine code, which is of this process."""
        return {**vars(self), "_kernels": {}}

    def of(self, robot: Robot) -> Derivative:
        """The same derivative for this robot."""
        own = robot is self.robot or not (robot.non_floats or self.robot.non_floats or robot != self.robot)
        if own:
            return self
        if robot not in self._others:
            self._others[robot] = Derivative(self.function, robot, self.wrt, self._asked, self._keywords)
        return self._others[robot]

    def prepared(self, robot: Robot) -> Program:
        return self.of(robot).program

    def _arrays(self, positional: Sequence[Any], named: dict[str, Any]) -> list[np.ndarray]:
        """One array for each input."""
        names = [port.name for port in self.program.inputs]
        values = dict(zip(names, positional, strict=False)) | named
        twice = [name for name in names[: len(positional)] if name in named]
        if len(positional) > len(names) or twice or set(values) != set(names):
            raise TypeError(
                f"{self.__name__} takes the arrays {', '.join(names)} (it was given {len(positional)} in order"
                f"{''.join(f', {name}' for name in named)})"
            )
        return [as_array(np, values[name], name, None) for name in names]

    def _plain(self, arrays: Sequence[np.ndarray]) -> Any:
        """By the interpreter; a state with a number that is not finite gives NaN throughout."""
        batch = batch_of(self.program.inputs, arrays)
        with np.errstate(all="ignore"):
            results = evaluate(self.program, *arrays)
        if all(array.dtype.kind == "f" for array in arrays):
            finite = self._finite(batch, arrays)
            dtype = np.result_type(*arrays)
            results = tuple(
                np.where(finite.reshape((*batch, *(1,) * len(port.shape))), result, np.nan).astype(dtype, copy=False)
                for port, result in zip(self.program.outputs, results, strict=True)
            )
            self._explain(arrays, batch, finite, results)
        return results[0][()] if len(results) == 1 else tuple(result[()] for result in results)

    def _finite(self, batch: tuple[int, ...], arrays: Sequence[np.ndarray]) -> np.ndarray:
        """Which states have finite numbers only, and quaternions of some length."""
        finite = np.ones(batch, dtype=bool)
        for port, array in zip(self.program.inputs, arrays, strict=True):
            finite &= np.isfinite(array).all(axis=own_axes(port, array))
            for start in port.quaternions:
                finite &= has_length(np, array, start)
        return finite

    def _explain(
        self, arrays: Sequence[np.ndarray], batch: tuple[int, ...], finite: np.ndarray, results: Sequence[np.ndarray]
    ) -> None:
        """Let the function itself say why a finite state has no finite derivative: it may raise an error."""
        good = [np.isfinite(x).all(axis=own_axes(p, x)) for p, x in zip(self.program.outputs, results, strict=True)]
        non_finite = finite & ~np.all(good, axis=0)
        if self.robot.non_floats or not non_finite.any():
            return
        index = tuple(np.argwhere(non_finite)[0])
        ports = self.program.inputs
        state = {p.name: np.broadcast_to(a, (*batch, *p.shape))[index] for p, a in zip(ports, arrays, strict=True)}
        options = {name: value for name, value in self._keywords.items() if name not in state}
        with np.errstate(all="ignore"):
            self.function(self.robot, **state, **options)

    def _kernel(self, arrays: Sequence[np.ndarray]) -> Compiled | None:
        """The compiled derivative, once that pays: see `kernels.dispatch`."""
        dtype = np.result_type(*arrays).name
        mode = dispatch.current_mode()
        if mode == "never" or dtype not in REAL:
            return None
        if dtype not in self._kernels:
            pays = self._spent >= dispatch.expected_seconds(self, self.robot.n)
            if not (mode == "always" or pays or math.prod(batch_of(self.program.inputs, arrays)) >= dispatch.BATCH):
                return None
            with LOCK:
                self._kernels[dtype] = self._compiled(dtype)
        return self._kernels[dtype]

    def _compiled(self, dtype: str) -> Compiled | None:
        from ..kernels.compiler import Compiled  # imported only when something is compiled
        from ..kernels.spec import KernelSpec

        if self.count.total > dispatch.MAX_STRAIGHT_OPERATIONS:
            return None
        try:
            return Compiled(KernelSpec(self, self.robot, dtype, {}), explain_non_finite)
        except ImportError:
            dispatch.warn_without_llvm()
            return None

    def __repr__(self) -> str:
        names = ", ".join(f"{port.name} {port.shape}" for port in self.program.outputs)
        times = self.count.total / max(1, self.function_count.total)
        return f"<derivative {names}: {self.count}; {times:.1f} times the function, by {self.mode} mode>"


def own_axes(port: Port, array: np.ndarray) -> tuple[int, ...]:
    """The axes of an array that belong to one state."""
    return tuple(range(array.ndim - len(port.shape), array.ndim))


def signature(program: Program, symbols: Sequence[str]) -> inspect.Signature:
    """Of a function of the robot, which has its symbols in itself, and of arrays."""
    names = ["arm", *(port.name for port in program.inputs if port.name not in symbols)]
    return inspect.Signature([inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names])


def derivative(
    function: Callable[..., Any], robot: Robot, wrt: str, *, mode: str = "fewest", **keywords: Any
) -> Derivative:
    """The exact derivative of `function(robot, ...)` by its argument `wrt`, from its graph.

    The result takes the function's arrays and gives (..., *output, *argument). `mode` is "forward", "reverse", or
    "fewest" for whichever takes fewer operations. Keywords as for `lw.trace`. The function may be a derivative itself.
    By a configuration (q, q0, q1) it is along the velocities: (..., *output, n), for a ball joint by the three
    components of a small rotation in the body's frame, not by the four numbers of the quaternion.

    >>> import numpy as np, linkwise as lw
    >>> arm = lw.load("planar3")
    >>> slope = lw.derivative(lw.inverse_dynamics, arm, "qdd")
    >>> q, qd, qdd = np.random.default_rng(0).normal(size=(3, 3))
    >>> np.allclose(slope(q, qd, qdd), lw.inertia_matrix(arm, q))
    True
    >>> print(lw.count(slope, arm))
    39 multiplications, 28 additions, 0 divisions, 4 functions
    """
    one_of(mode, ("fewest", "forward", "reverse"), "mode")
    return Derivative(function, robot, wrt, mode, keywords)
