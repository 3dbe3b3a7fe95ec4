"""Which functions have derivatives in closed form, and their programs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ..api.states import States
from ..dynamics import inverse_derivatives
from ..graph import Port, Program
from ..kernels.sources import own_name
from ..robot import Robot
from ..tracing import Input, trace
from ..tracing.tracing import function_name
from .closed_form_derivatives import forward_dynamics_derivatives, loads_on


class ClosedForm(NamedTuple):
    """A function of all derivatives, and what its results are by, in order."""

    function: Callable[..., Any]
    by: tuple[str, ...]


def inverse_slopes(arm: Robot, q: Any, qd: Any, qdd: Any, wrench: Any = None, point: Any = None) -> tuple[Any, ...]:
    """∂τ/∂q, ∂τ/∂qd and ∂τ/∂qdd, which share their composite bodies."""
    states = States(arm, {"q": q, "qd": qd, "qdd": qdd}, wrench, point=point)
    motion = states.positions(), states.rates(), states.accelerations()
    matrices = inverse_derivatives.inverse_dynamics_derivatives(arm, *motion, loads_on(states))
    return tuple(states.join(matrix, (arm.n, arm.n)) for matrix in matrices)


CLOSED_FORMS = {  # by the names of the functions
    "inverse_dynamics": ClosedForm(inverse_slopes, ("q", "qd", "qdd")),
    "forward_dynamics": ClosedForm(forward_dynamics_derivatives, ("q", "qd", "tau")),
}
LOADS = ("wrench", "point")  # the options that they take, as inputs


def has_closed_form(function: Callable[..., Any], wrt: Sequence[str], keywords: Mapping[str, Any]) -> bool:
    """Whether the derivatives of a call with these options are in the table."""
    form = CLOSED_FORMS.get(function_name(function))
    if form is None or own_name(function) is None or not set(wrt) <= set(form.by):
        return False
    return all(name in LOADS and isinstance(value, Input) for name, value in keywords.items())


def closed_form(
    function: Callable[..., Any], robot: Robot, wrt: Sequence[str], keywords: Mapping[str, Any], value: bool
) -> Program:
    """The program of the derivatives by `wrt`, after the results of the function itself with `value`."""
    name, form = function_name(function), CLOSED_FORMS[function_name(function)]

    def wanted(arm: Robot, **arrays: Any) -> tuple[Any, ...]:
        derivatives = dict(zip(form.by, form.function(arm, **arrays), strict=True))
        own = (function(arm, **arrays),) if value else ()
        return (*own, *(derivatives[each] for each in wrt))

    vars(wanted)["__signature__"] = inspect.signature(function)
    program = trace(wanted, robot, **keywords)
    names = [*([name] if value else []), *(f"d_{name}_d_{each}" for each in wrt)]
    outputs = tuple(Port(each, port.shape) for each, port in zip(names, program.outputs, strict=True))
    return replace(program, outputs=outputs)
