"""States to test generated code on, with the results of the plain run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..graph import Graph, Program
from ..graph.cancel import Transplant
from ..robot import Robot
from ..robot.symbols import symbols_of
from ..tracing import Input
from ..tracing.tracing import Prepared, function_name
from .revealing_states import Chosen, revealing_states, split

ROUNDINGS = 4.0  # are allowed, of the size of each result

Numbers = list[float]


class SelfTest(NamedTuple):
    """Of each state the inputs, the results, and the sizes of the terms of the results, to which deviations relate."""

    states: list[list[Numbers]]
    results: list[list[Numbers]]
    sizes: list[list[Numbers]]
    tolerance: float
    chosen: Chosen


def samples(
    function: Callable[..., Any], arm: Robot, program: Program, keywords: Mapping[str, Any], dtype: str
) -> SelfTest:
    """Inputs and results of a few states, always the same, and how far the results of correct code may be off."""
    if not any(port.size for port in program.outputs):
        name = function_name(function)
        raise ValueError(f"{name} of robot {arm.name!r} has no results, so self_test=True has nothing to compare with")
    symbols = symbols_of(arm)
    tolerance = ROUNDINGS * float(np.finfo(dtype).eps)
    chosen = revealing_states(program, symbols, tolerance)
    if not len(chosen.states):
        raise not_finite(function)
    arrays = split(program, chosen.states)
    names = [port.name for port in program.inputs]
    states = [dict(zip(names, (a[k] for a in arrays), strict=True)) for k in range(len(chosen.states))]
    fixed = {key: value for key, value in keywords.items() if not isinstance(value, Input)}
    results = [plain_run(function, arm, symbols, fixed, state) for state in states]
    ends = np.cumsum([port.size for port in program.outputs])[:-1]
    return SelfTest(
        [[np.ravel(x).tolist() for x in state.values()] for state in states],
        [[x.ravel().tolist() for x in result] for result in results],
        [[x.tolist() for x in np.split(size, ends)] for size in chosen.sizes],
        tolerance,
        chosen,
    )


def not_finite(function: Callable[..., Any]) -> ValueError:
    name = function_name(function)
    return ValueError(f"{name} gives numbers that are not finite, so self_test=True has nothing to compare with")


def plain_run(
    function: Callable[..., Any],
    arm: Robot,
    symbols: tuple[str, ...],
    fixed: Mapping[str, Any],
    state: Mapping[str, Any],
) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        if isinstance(function, Prepared) and function.maker:
            output = function.plain(arm, **fixed, **state)  # the robot's symbols are arguments too
        else:
            values = {name: float(state[name]) for name in symbols}
            arguments = {**fixed, **{name: x for name, x in state.items() if name not in symbols}}
            output = function(arm.mapped(Transplant(Graph(), values)) if arm.non_floats else arm, **arguments)
    results = [np.asarray(x, dtype=float) for x in (output if isinstance(output, tuple) else (output,))]
    if not all(np.isfinite(x).all() for x in results):
        raise not_finite(function)
    return results
