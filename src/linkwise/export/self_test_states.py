"""States to test generated code on, with the results of the plain run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..api.derived import DerivedFunction
from ..graph import Graph, Program, evaluate
from ..robot import Robot
from ..symbolic import Transplant
from ..tracing import Input, symbols_of
from ..tracing.tracing import function_name

STATES = 4
TOLERANCE = {"float64": 1e-12, "float32": 1e-5}  # relative to the largest result; more where rounding is amplified
MARGIN, LARGEST = 10.0, 0.01  # so many times the rounding that is seen in single precision; but never more than this

Numbers = list[float]


def samples(
    function: Callable[..., Any], arm: Robot, program: Program, keywords: Mapping[str, Any], dtype: str
) -> tuple[list[list[Numbers]], list[list[Numbers]], float]:
    """Inputs and results of a few states, always the same, and how far the results of correct code may be off."""
    random = np.random.default_rng(0)
    symbols = symbols_of(arm)
    # numbers that are exact in either precision; those of symbols positive, as lengths and masses are
    arrays = [
        random.integers(32 if port.name in symbols else -96, 97, size=(STATES, *port.shape)) / 64.0
        for port in program.inputs
    ]
    names = [port.name for port in program.inputs]
    states = [dict(zip(names, state, strict=True)) for state in zip(*arrays, strict=True)] or [{}]
    fixed = {key: value for key, value in keywords.items() if not isinstance(value, Input)}
    results = [plain_run(function, arm, symbols, fixed, state) for state in states]
    return (
        [[np.ravel(x).tolist() for x in state.values()] for state in states],
        [[x.ravel().tolist() for x in result] for result in results],
        allowance(program, arrays, results, dtype),
    )


def plain_run(
    function: Callable[..., Any],
    arm: Robot,
    symbols: tuple[str, ...],
    fixed: Mapping[str, Any],
    state: Mapping[str, Any],
) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        if isinstance(function, DerivedFunction):
            output = function.plain(arm, **fixed, **state)  # the robot's symbols are arguments too
        else:
            values = {name: float(state[name]) for name in symbols}
            arguments = {**fixed, **{name: x for name, x in state.items() if name not in symbols}}
            output = function(arm.mapped(Transplant(Graph(), values)) if arm.non_floats else arm, **arguments)
    results = [np.asarray(x, dtype=float) for x in (output if isinstance(output, tuple) else (output,))]
    if not all(np.isfinite(x).all() for x in results):
        name = function_name(function)
        raise ValueError(f"{name} gives numbers that are not finite, so self_test=True has nothing to compare with")
    return results


def allowance(program: Program, arrays: list[np.ndarray], results: list[list[np.ndarray]], dtype: str) -> float:
    """How far correct code may be off: measured in single precision, in proportion to rounding for double."""
    with np.errstate(all="ignore"):
        single = evaluate(program, *(a.astype(np.float32) for a in arrays))
        off = max(
            float(np.abs(rough - fine).max(initial=0.0) / max(np.abs(fine).max(initial=0.0), 1e-6))
            for single_output, outputs in zip(single, zip(*results, strict=True), strict=True)
            for rough, fine in zip(np.broadcast_to(single_output, np.shape(outputs)), outputs, strict=True)
        )
    times = float(np.finfo(dtype).eps / np.finfo(np.float32).eps)
    largest = min(off if np.isfinite(off) else 1.0, 1.0)
    return float(f"{min(max(TOLERANCE[dtype], MARGIN * times * largest), LARGEST):.1e}")
