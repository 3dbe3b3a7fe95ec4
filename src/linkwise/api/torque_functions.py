"""Torque functions of users: their arguments and their results are checked."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ..kernels.interface import host_array as host_array
from ..robot import Robot
from ..robot.named_arrays import call_with_numbers, refuse_gradients, refuse_labels, refuse_mark

STATE = ("t", "q", "qd")


def check_arguments(
    function: Callable[..., Any], *, memory: bool = False, parameters: bool = False, hint: str = ""
) -> None:
    """Raise an error unless this is a function of (robot, t, q, qd), in this order; with `memory` also of a state.

    With `parameters` it may need further arguments; otherwise `hint` ends the error message about them.
    """
    if hasattr(function, "interface"):
        raise TypeError(f"{function!r} is compiled already (expected the function itself, not its kernel)")
    expected = ("robot", *STATE, *(("state",) if memory else ()))
    try:
        arguments = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a function of another language
        return
    in_order = [p for p in arguments if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    for p in arguments:
        refuse_mark(f"the default of {p.name!r} of {getattr(function, '__name__', repr(function))}", p.default)
    few = len(in_order) < len(expected) and not any(p.kind is p.VAR_POSITIONAL for p in arguments)
    rest = [*in_order[len(expected) :], *(p for p in arguments if p.kind is p.KEYWORD_ONLY)]
    further = not parameters and any(p.default is p.empty for p in rest)
    names = [p.name for p in in_order[1:4]]
    if few or further or (set(names) == set(STATE) and names != list(STATE)):
        hint = hint if further else ""
        raise TypeError(
            f"{getattr(function, '__name__', repr(function))} is a function of ({', '.join(p.name for p in arguments)})"
            f" (expected a function of ({', '.join(expected)}){hint})"
        )


def evaluate_torques(function: Callable[..., Any], robot: Robot, t: Any, q: Any, qd: Any, name: str = "") -> np.ndarray:
    """Call the function and check its result, a torque for each degree of freedom."""
    name = name or str(getattr(function, "__name__", repr(function)))
    value = call_with_numbers(function, name, robot, t, q, qd)
    if value is None:
        raise ValueError(f"{name} returned None (expected numbers: is its `return` missing?)")
    refuse_labels(f"the torque of {name}", value)
    refuse_gradients(f"the torque of {name}", value)
    tau = np.asarray(host_array(f"the torque of {name}", value))
    if tau.shape[-1:] != (robot.n,):
        each = "joints" if len(robot.joints) == robot.n else "degrees of freedom"
        raise ValueError(f"{name} gave shape {tau.shape} (expected one torque for each of {robot.n} {each})")
    return tau
