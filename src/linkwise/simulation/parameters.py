"""Parameters of a torque function: numbers such as gains and targets that each trajectory has for itself.

They are the arguments that the function has after (arm, t, q, qd), or the numbers that one of Linkwise's own laws, such
as `lw.pd_gravity`, was made with, also within `lw.limited` and sums, where no other part has a number of that name. In
the compiled program they are inputs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np

from ..api.torque_functions import check_arguments
from ..control.drives import Law, Limited, Sum, function_name

STATE = 4  # arguments of every torque function: arm, t, q, qd
NONE: Mapping[str, Any] = {}
PREFIX = "own_"  # of the program's inputs, so that a parameter may be called tau


class PerTrajectory(NamedTuple):
    """Values of a parameter, of which each trajectory certainly has its own: those of a sweep."""

    values: np.ndarray


def parameters_of(torque: Any) -> dict[str, bool]:
    """The names of the parameters, and whether each must be given; none where the torque is not a function."""
    if not callable(torque):
        return {}
    if isinstance(getattr(torque, "parameters", None), tuple):  # a function that was traced with them
        return dict.fromkeys(torque.parameters, True)
    if isinstance(torque, Law):
        names = [name for law in laws_in(torque) for name in numbers_of(law)]
        return {name: False for name in names if names.count(name) == 1}
    check_arguments(torque, parameters=True)
    try:
        every = list(inspect.signature(torque).parameters.values())
    except (TypeError, ValueError):  # a function of another language
        return {}
    further = [p for p in every[STATE:] if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    return {p.name: p.default is p.empty for p in further}


def torque_parameters(torque: Any, samples: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Those samples that are parameters of the torque function."""
    return {name: samples[name] for name in parameters_of(torque) if name in samples}


def laws_in(torque: Any) -> list[Law]:
    """A law, and those that it limits or adds up."""
    if not isinstance(torque, Law):
        return []
    inner = torque.parts if isinstance(torque, Sum) else (torque.torque,) if isinstance(torque, Limited) else ()
    return [torque, *(law for part in inner for law in laws_in(part))]


def numbers_of(law: Law) -> list[str]:
    return [field.name for field in fields(law) if is_number(getattr(law, field.name))]  # type: ignore[arg-type]


def with_numbers(torque: Any, numbers: Mapping[str, Any]) -> Any:
    """A law with these in place of the numbers of that name, in itself or in what it limits or adds up."""
    if not isinstance(torque, Law):
        return torque
    changed = {name: numbers[name] for name in numbers_of(torque) if name in numbers}
    if isinstance(torque, Sum):
        changed["parts"] = tuple(with_numbers(part, numbers) for part in torque.parts)
    if isinstance(torque, Limited):
        changed["torque"] = with_numbers(torque.torque, numbers)
    return replace(torque, **changed)  # type: ignore[type-var]


def is_number(value: Any) -> bool:
    return isinstance(value, float) or (
        isinstance(value, tuple) and bool(value) and all(isinstance(x, float) for x in value)
    )


def called(torque: Callable[..., Any], arm: Any, t: Any, q: Any, qd: Any, own: Mapping[str, Any]) -> Any:
    """What the function gives, with the parameters in place of its own."""
    if own and isinstance(torque, Law):
        numbers = {name: value[0] if np.shape(value) == (1,) else value for name, value in own.items()}
        return with_numbers(torque, numbers)(arm, t, q, qd)
    tau = torque(arm, t, q, qd, **own)
    if tau is None:
        name = function_name(torque)
        raise ValueError(f"the function {name!r} returned None (expected numbers: is its `return` missing?)")
    return tau


def without_prefix(own: Mapping[str, Any]) -> dict[str, Any]:
    return {name.removeprefix(PREFIX): value for name, value in own.items()}
