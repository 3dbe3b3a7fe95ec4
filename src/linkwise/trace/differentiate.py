"""Derivatives of functions by their arguments, as programs that can be called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import one_of
from ..graph import Count, Program, count, evaluate
from ..graph.derivative import derivative as differentiate
from ..robot import Robot
from .tracing import trace


class Derivative:
    """The derivative of a function by one of its arguments, for one robot: call it with the function's arrays.

    `program` is its straight-line code, `count` its operations, `function_count` those of the function itself, `mode`
    the road that was taken.
    """

    def __init__(self, program: Program, function_count: Count, mode: str) -> None:
        self.program, self.function_count, self.mode = program, function_count, mode
        self.count = count(program)

    def __call__(self, *arrays: Any) -> Any:
        results = evaluate(self.program, *arrays)
        return results[0] if len(results) == 1 else results

    def __repr__(self) -> str:
        names = ", ".join(f"{port.name} {port.shape}" for port in self.program.outputs)
        times = self.count.total / max(1, self.function_count.total)
        return f"<derivative {names}: {self.count}; {times:.1f} times the function, by {self.mode} mode>"


def derivative(
    function: Callable[..., Any], robot: Robot, wrt: str, *, mode: str = "fewest", **keywords: Any
) -> Derivative:
    """The exact derivative of `function(robot, ...)` by its argument `wrt`, from its graph.

    The result takes the function's arrays and gives (..., *output, *argument). `mode` is "forward", "reverse", or
    "fewest" for whichever takes fewer operations. Keywords as for `lw.trace`.

    >>> import numpy as np, linkwise as lw
    >>> arm = lw.load("planar3")
    >>> slope = lw.derivative(lw.inverse_dynamics, arm, "qdd")
    >>> q, qd, qdd = np.random.default_rng(0).normal(size=(3, 3))
    >>> np.allclose(slope(q, qd, qdd), lw.inertia_matrix(arm, q))
    True
    """
    one_of(mode, ("fewest", "forward", "reverse"), "mode")
    program = trace(function, robot, **keywords)
    one_of(wrt, [port.name for port in program.inputs], "wrt")
    modes = ("forward", "reverse") if mode == "fewest" else (mode,)
    found = {m: differentiate(program, wrt, m) for m in modes}
    best = min(found, key=lambda m: count(found[m]).total)
    return Derivative(found[best], count(program), best)
