"""Which numbers of a parameter one trajectory has: all of them, or those of its own row.

An array whose first axes are those of the batch has a value for each trajectory, if the torque function takes such
values: it is called or traced with them, and must give a torque for each degree of freedom. If it takes the whole array
too, as `kp * (target - q)` takes n numbers in a batch of n trajectories, the call is refused: (n, 1) is one for each,
(1, n) are n for all. Axes of length 1 in front are repeated as NumPy repeats them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..api.configuration import neutral
from ..errors import near_miss
from ..kernels.interface import described
from ..robot import Robot
from .parameters import PREFIX, PerTrajectory, called, parameters_of
from .traced import TracedFunction, UntraceableFunctionError, traced

Shape = tuple[int, ...]
Shapes = dict[str, Shape]
Examples = Callable[[Shapes], Mapping[str, Any]]  # numbers of one trajectory, for shapes


def checked_parameters(
    arm: Robot, torque: Any, values: Mapping[str, Any] | None, batch: Shape
) -> dict[str, np.ndarray]:
    """An array (*batch, ...) of each parameter that has a value, in the order of their names."""
    known, values = parameters_of(torque), values or {}
    if not known and not values:
        return {}
    for name in values:
        if name not in known:
            expected = f"expected {', '.join(known)}" if known else "it has no parameters after arm, t, q and qd"
            raise ValueError(
                f"parameters: {name!r} is not a parameter of the torque function{near_miss(name, known)} ({expected})"
            )
    for name, needed in known.items():
        if needed and name not in values:
            raise ValueError(f"the torque function has a parameter {name!r} (expected a number for it, or a default)")
    arrays = {name: real_numbers(name, values[name]) for name in sorted(values)}
    fixed = {name: a.shape[len(batch) :] for name, a in arrays.items() if isinstance(values[name], PerTrajectory)}

    def repeated(own: Shapes) -> dict[str, np.ndarray]:
        return {name: np.broadcast_to(array, (*batch, *own[name])) for name, array in arrays.items()}

    def of_the_first(own: Shapes) -> dict[str, np.ndarray]:
        return {name: array.reshape(-1, *own[name])[0] for name, array in repeated(own).items()}

    shapes = {name: array.shape for name, array in arrays.items()}
    return repeated(own_shapes(arm, torque, shapes, batch, fixed, of_the_first)[0])


def real_numbers(name: str, value: Any) -> np.ndarray:
    given = value.values if isinstance(value, PerTrajectory) else value
    array = np.array(np.asarray(given))
    if array.dtype.kind not in "fiu":
        raise TypeError(f"parameters: {name!r} is {described(given)} (expected real numbers)")
    array = array.astype(float)
    if not np.isfinite(array).all():
        where = tuple(np.argwhere(~np.isfinite(array))[0].tolist())
        raise ValueError(
            f"parameters: {name!r}{list(where) if where else ''} is {array[where]} (expected finite numbers)"
        )
    return array


def own_shapes(
    arm: Robot, torque: Any, shapes: Shapes, batch: Shape, fixed: Shapes, examples: Examples | None = None
) -> tuple[Shapes, TracedFunction | None]:
    """What one trajectory has of each parameter, and the torque function as it was traced with that, if it was.

    Those in `fixed` are known. With `examples` it is first called with numbers, which is quicker.
    """
    if isinstance(torque, TracedFunction):
        return traced_shapes(torque, shapes, batch), torque
    choices = {name: [fixed[name]] if name in fixed else readings(shape, batch) for name, shape in shapes.items()}
    usual = {name: choice[0] for name, choice in choices.items()}
    if all(len(choice) == 1 for choice in choices.values()):
        return usual, None
    numeric = [] if examples is None else [called_with(examples)]
    for attempt in (*numeric, as_traced):
        for own in combinations(choices):
            works, function = attempt(arm, torque, own)
            if works:
                if math.prod(batch) > 1:
                    refuse_both(arm, torque, choices, own, attempt)
                return own, function
    return usual, None  # there is another mistake, which is told when the function is used


def traced_shapes(torque: TracedFunction, shapes: Shapes, batch: Shape) -> Shapes:
    """The shapes that the function was traced with; an error where an array has another."""
    traced_with = {port.name: port.shape for port in torque.program.inputs}
    known = {name: traced_with[PREFIX + name] for name in shapes}
    for name, shape in shapes.items():
        if known[name] not in readings(shape, batch):
            each = f", or {(*batch, *known[name])}" if batch else ""
            raise ValueError(
                f"parameters: {name!r} has shape {shape} (expected {known[name]}{each}: the torque function was traced"
                f" with {known[name]} for each trajectory)"
            )
    return known


def readings(shape: Shape, batch: Shape) -> list[Shape]:
    """The shapes that one trajectory may have of an array, the likelier first."""
    front, rest = shape[: len(batch)], shape[len(batch) :]
    if not batch or len(front) < len(batch):
        return [shape]
    if front == batch:
        return [rest, shape]
    return [shape, rest] if all(size in (1, wanted) for size, wanted in zip(front, batch, strict=True)) else [shape]


def combinations(choices: Mapping[str, Sequence[Shape]]) -> Iterator[Shapes]:
    """The likeliest reading of all, others of one parameter each, and others of all."""
    usual, other = ({name: choice[k] for name, choice in choices.items()} for k in (0, -1))
    yield usual
    for name in choices:
        if other[name] != usual[name]:
            yield {**usual, name: other[name]}
    yield other


Attempt = Callable[[Robot, Any, Shapes], tuple[bool, TracedFunction | None]]


def as_traced(arm: Robot, torque: Any, own: Shapes) -> tuple[bool, TracedFunction | None]:
    """Whether the function, traced with parameters of these shapes, gives torques."""
    try:
        function = traced(torque, arm, "the torque function", tuple(sorted(own.items())))
    except UntraceableFunctionError:
        return False, None
    return function.program.outputs[0].shape == (arm.n,), function


def called_with(examples: Examples) -> Attempt:
    def attempt(arm: Robot, torque: Any, own: Shapes) -> tuple[bool, TracedFunction | None]:
        try:
            with np.errstate(all="ignore"):
                tau = called(torque, arm, 0.0, neutral(arm), np.zeros(arm.n), examples(own))
            return np.shape(tau) == (arm.n,), None
        except Exception:  # of any kind: with other numbers it may work
            return False, None

    return attempt


def refuse_both(arm: Robot, torque: Any, choices: Mapping[str, Sequence[Shape]], own: Shapes, attempt: Attempt) -> None:
    """A vector that may be a number for each trajectory, or one for each degree of freedom."""
    n = arm.n
    for name, choice in choices.items():
        if own[name] == () and (n,) in choice and attempt(arm, torque, {**own, name: (n,)})[0]:
            raise ValueError(
                f"parameters: {name!r} has shape ({n},), which may be a number for each of {n} trajectories or {n}"
                f" numbers for all of them (expected shape ({n}, 1) for the former, (1, {n}) for the latter)"
            )
