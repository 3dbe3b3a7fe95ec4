"""Parameters of a torque function: numbers such as gains and targets that each trajectory has for itself.

They are the arguments that the function has after (arm, t, q, qd), or the numbers that one of Linkwise's own laws, such
as `lw.pd_gravity`, was made with. In the compiled program they are inputs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from ..control.drives import Law, named
from ..errors import near_miss

STATE = 4  # arguments of every torque function: arm, t, q, qd
NONE: Mapping[str, Any] = {}
PREFIX = "own_"  # of the program's inputs, so that a parameter may be called tau


def parameters_of(torque: Any) -> dict[str, bool]:
    """The names of the parameters, and whether each must be given; none where the torque is no function."""
    if not callable(torque):
        return {}
    if isinstance(getattr(torque, "parameters", None), tuple):  # a function that was traced with them
        return dict.fromkeys(torque.parameters, True)
    if isinstance(torque, Law):
        numbers = (each.name for each in fields(torque) if is_number(getattr(torque, each.name)))  # type: ignore[arg-type]
        return dict.fromkeys(numbers, False)
    try:
        every = list(inspect.signature(torque).parameters.values())
    except (TypeError, ValueError):  # a function of another language
        return {}
    named = [p for p in every[STATE:] if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    return {p.name: p.default is p.empty for p in named}


def torque_parameters(torque: Any, samples: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Those samples that are parameters of the torque function."""
    return {name: samples[name] for name in parameters_of(torque) if name in samples}


def is_number(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, tuple) and all(isinstance(x, float) for x in value))


def called(torque: Callable[..., Any], arm: Any, t: Any, q: Any, qd: Any, own: Mapping[str, Any]) -> Any:
    """What the function gives, with the parameters in place of its own."""
    if own and isinstance(torque, Law):
        return replace(torque, **own)(arm, t, q, qd)  # type: ignore[type-var]
    found = torque(arm, t, q, qd, **own)
    if found is None:
        raise ValueError(f"the function {named(torque)!r} returned None (expected numbers: is its `return` missing?)")
    return found


def without_prefix(own: Mapping[str, Any]) -> dict[str, Any]:
    return {name.removeprefix(PREFIX): value for name, value in own.items()}


def checked_parameters(torque: Any, given: Mapping[str, Any] | None, batch: tuple[int, ...]) -> dict[str, np.ndarray]:
    """An array (*batch, ...) of each parameter that is given, in the order of their names."""
    known = parameters_of(torque)
    given = given or {}
    for name in given:
        if name not in known:
            expected = f"expected {', '.join(known)}" if known else "it has no parameters after arm, t, q and qd"
            raise ValueError(
                f"parameters: {name!r} is none of the torque function{near_miss(name, known)} ({expected})"
            )
    for name, needed in known.items():
        if needed and name not in given:
            raise ValueError(f"the torque function has a parameter {name!r} (expected a number for it, or a default)")
    found = {}
    for name in sorted(given):
        array = np.array(given[name])
        if array.dtype.kind not in "fiu":
            raise TypeError(f"parameters: {name!r} is {given[name]!r} (expected real numbers)")
        array = array.astype(float)
        own = array.shape[len(batch) :] if array.shape[: len(batch)] == batch else array.shape
        found[name] = np.broadcast_to(array, (*batch, *own))
        if not np.isfinite(array).all():
            raise ValueError(f"parameters: {name!r} is {given[name]!r} (expected finite numbers)")
    return found
