"""Parameters of a torque function: gains, targets and other numbers.

They are the arguments of the function after (robot, t, q, qd), or the numbers of a law of `lw.control`, such as
`pd_gravity`. Of functions and laws within `limited` and sums they are parameters if no other part has one of that name.
In the compiled program they are inputs.

An array is for all trajectories, unless it is marked by `lw.per_trajectory`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any

import numpy as np

from ..api.states import as_array
from ..api.torque_functions import check_arguments
from ..control.drives import Law, Limited, Sum, function_name
from ..errors import near_miss
from ..kernels.arrays import on_gpu
from ..kernels.interface import describe_value, numpy_array
from ..robot import Robot
from ..robot.named_arrays import PerTrajectory, call_with_numbers, refuse_gradients, refuse_labels

NUMBERS = "expected numbers: parameters={{{name!r}: ...}}"
STATE = 4  # arguments of every torque function: robot, t, q, qd
NONE: Mapping[str, Any] = {}
PREFIX = "own_"  # of the inputs of programs, so that a parameter may be called tau


Shape = tuple[int, ...]


def per_trajectory(array: Any) -> PerTrajectory:
    """Mark an array that has a value for each trajectory: its first axes are those of the batch.

    For `parameters=` of `lw.simulate` and `lw.rollout`, values of symbols included, and for samples of `lw.sweep`. An
    array without the mark is for all trajectories.

    Parameters
    ----------
    array : array of real numbers, (*batch, ...)
        `batch` are the axes that q0 has before its last one.

    Returns
    -------
    PerTrajectory
        Holds the array as `.values`. It is not an array itself: other functions refuse it.

    Examples
    --------
    >>> import numpy as np
    >>> import linkwise as lw
    >>> robot = lw.load("planar3")
    >>> law = lambda robot, t, q, qd, kp: -kp * q
    >>> options = {"steps": 10, "dt": 0.01, "torque": law}
    >>> gains = np.array([1.0, 2.0, 3.0])
    >>> same = lw.rollout(robot, np.ones((3, 3)), parameters={"kp": gains}, **options)      # one gain a joint
    >>> each = lw.rollout(robot, np.ones((3, 3)), parameters={"kp": lw.per_trajectory(gains)}, **options)
    >>> bool((same.q_end[0] == same.q_end[2]).all()), bool((each.q_end[0] == each.q_end[2]).all())
    (True, False)
    """
    name, value = "the array of lw.per_trajectory", unmark(array)
    if on_gpu(value):
        return PerTrajectory(value)
    numbers = as_array(np, value, name, None)
    if numbers.dtype.kind != "f":
        raise TypeError(f"{name} holds {numbers.flat[0]!r} (expected plain numbers)")
    return PerTrajectory(value if hasattr(type(value), "__dlpack__") else numbers)  # a tensor stays one


def unmark(value: Any) -> Any:
    """The value without the mark, if it has one."""
    return value.values if isinstance(value, PerTrajectory) else value


def trajectory_shape(name: str, value: Any, shape: Shape, batch: Shape, declared: Shape | None = None) -> Shape:
    """The shape of a parameter for one trajectory; `declared` is the one it was traced with."""
    one_shape = shape
    if isinstance(value, PerTrajectory):
        front, one_shape = shape[: len(batch)], shape[len(batch) :]
        if not batch:
            raise ValueError(
                f"parameters: {name!r} is marked lw.per_trajectory, and there is one trajectory (expected a batch of q0"
                " or qd0, or an array without the mark)"
            )
        if len(front) < len(batch) or any(size not in (1, wanted) for size, wanted in zip(front, batch, strict=True)):
            raise ValueError(
                f"parameters: {name!r} has shape {shape} (expected {batch} in front, as q0 has: it is marked"
                " lw.per_trajectory)"
            )
    if declared is not None and one_shape != declared:
        each = f", or lw.per_trajectory of {(*batch, *declared)}" if batch else ""
        raise ValueError(
            f"parameters: {name!r} has shape {shape} (expected {declared} for all trajectories{each}: the torque"
            f" function was traced with {declared})"
        )
    return one_shape


def check_names(
    torque: Any,
    given: Mapping[str, Any],
    robot: Robot | None = None,
    symbols: Sequence[str] = (),
    expected: str = NUMBERS,
) -> None:
    """Raise a ValueError for an unknown parameter, and for one that needs a value and has none.

    Parameters of the torque function and symbols of the robot are known. `expected` describes values in the message.
    """
    laws = parameters_of(torque)
    known = {**dict.fromkeys(symbols, True), **laws}
    for name in given:
        if name not in known:
            what = f"neither a symbol of robot {robot.name!r} nor a" if robot is not None else "not a"
            choices = f"expected {', '.join(known)}" if known else "it has none after robot, t, q and qd"
            raise ValueError(
                f"parameters: {name!r} is {what} parameter of the torque function{near_miss(name, known)} ({choices})"
            )
    for name in symbols:
        if name in laws:
            raise ValueError(
                f"{name!r} is a symbol of the robot and also a parameter of the torque function (expected different"
                " names)"
            )
    for name, needed in known.items():
        if needed and name not in given:
            raise ValueError(f"parameters: {name!r} has no value ({expected.format(name=name)})")


def check_parameters(torque: Any, values: Mapping[str, Any] | None, batch: Shape) -> dict[str, np.ndarray]:
    """Arrays (*batch, ...) of the parameters that have values, sorted by name."""
    values = values or {}
    check_names(torque, values)
    arrays, declared = {}, declared_shapes(torque)
    for name in sorted(values):
        array = real_numbers(name, values[name])
        one_shape = trajectory_shape(name, values[name], array.shape, batch, declared.get(name))
        arrays[name] = np.broadcast_to(array, (*batch, *one_shape))
    check_law_numbers(torque, {name: (array, array.shape[len(batch) :]) for name, array in arrays.items()})
    return arrays


def check_law_numbers(torque: Any, values: Mapping[str, tuple[np.ndarray, Shape]]) -> None:
    """Raise the error of a law that refuses its numbers; each array (..., *shape) is given with its shape."""
    if isinstance(torque, Law):
        replace_numbers(torque, {name: array if shape else array[..., None] for name, (array, shape) in values.items()})


def declared_shapes(torque: Any) -> dict[str, Shape]:
    """The shapes of the parameters of a traced function; {} if it was not traced."""
    if not isinstance(getattr(torque, "parameters", None), tuple):
        return {}
    shapes = {port.name: port.shape for port in torque.program.inputs}
    return {name: shapes[PREFIX + name] for name in torque.parameters}


def real_numbers(name: str, value: Any) -> np.ndarray:
    """The numbers of a parameter as an array of finite floats."""
    given = unmark(value)
    array = np.array(numpy_array(f"parameters: {name!r}", given))
    if array.dtype.kind not in "fiu":
        raise TypeError(f"parameters: {name!r} is {describe_value(given)} (expected real numbers)")
    array = array.astype(float)
    if not np.isfinite(array).all():
        where = tuple(np.argwhere(~np.isfinite(array))[0].tolist())
        raise ValueError(
            f"parameters: {name!r}{list(where) if where else ''} is {array[where]} (expected finite numbers)"
        )
    return array


def parameters_of(torque: Any) -> dict[str, bool]:
    """The names of the parameters, and whether each needs a value; {} if the torque is not a function."""
    if not callable(torque):
        return {}
    if isinstance(getattr(torque, "parameters", None), tuple):  # a traced function
        return dict.fromkeys(torque.parameters, True)
    if not isinstance(torque, Law):
        return function_parameters(torque)
    parts = parts_in(torque)
    of_each = [dict.fromkeys(numbers_of(x), False) if isinstance(x, Law) else function_parameters(x) for x in parts]
    names = [name for each in of_each for name in each]
    for part, each in zip(parts, of_each, strict=True):
        for name, needed in each.items():
            if needed and names.count(name) > 1:
                raise ValueError(
                    f"parameters: {name!r} is an argument of {function_name(part)}, and a parameter of another part of"
                    f" {torque!r} (expected another name)"
                )
    return {name: needed for each in of_each for name, needed in each.items() if names.count(name) == 1}


def function_parameters(function: Any) -> dict[str, bool]:
    """The arguments of a function after (robot, t, q, qd), and whether each needs a value."""
    check_arguments(function, parameters=True)
    try:
        every = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a function of another language has no signature
        return {}
    further = [p for p in every[STATE:] if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    return {p.name: p.default is p.empty for p in further}


def torque_parameters(torque: Any, samples: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The samples that are parameters of the torque function."""
    return {name: samples[name] for name in parameters_of(torque) if name in samples}


def parts_in(torque: Any) -> list[Any]:
    """A torque function, and the functions and laws that it limits or adds up."""
    inner = torque.parts if isinstance(torque, Sum) else (torque.torque,) if isinstance(torque, Limited) else ()
    return [torque, *(each for part in inner for each in parts_in(part))]


def numbers_of(law: Law) -> list[str]:
    """The names of the fields of a law that are numbers."""
    return [field.name for field in fields(law) if is_number(getattr(law, field.name))]  # type: ignore[arg-type]


def replace_numbers(torque: Any, numbers: Mapping[str, Any]) -> Any:
    """A law with other numbers, also in the functions and laws that it limits or adds up."""
    if not isinstance(torque, Law):
        values = {name: numbers[name] for name in function_parameters(torque) if name in numbers}
        if not values:
            return torque
        function = partial(torque, **values)
        function.__name__ = function_name(torque)  # type: ignore[attr-defined]
        return function
    changed = {name: numbers[name] for name in numbers_of(torque) if name in numbers}
    if isinstance(torque, Sum):
        changed["parts"] = tuple(replace_numbers(part, numbers) for part in torque.parts)
    if isinstance(torque, Limited):
        changed["torque"] = replace_numbers(torque.torque, numbers)
    return replace(torque, **changed)  # type: ignore[type-var]


def is_number(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, tuple) and bool(value) and all(map(is_number, value)))


def call_torque(torque: Callable[..., Any], robot: Any, t: Any, q: Any, qd: Any, parameters: Mapping[str, Any]) -> Any:
    """Call a torque function with these parameters."""
    if parameters and isinstance(torque, Law):
        return replace_numbers(torque, parameters)(robot, t, q, qd)
    tau = call_with_numbers(torque, function_name(torque), robot, t, q, qd, **parameters)
    refuse_labels("the torque", tau)
    refuse_gradients("the torque", tau)
    if tau is None:
        name = function_name(torque)
        raise ValueError(f"the function {name!r} returned None (expected numbers: is its `return` missing?)")
    return tau


def strip_prefix(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name.removeprefix(PREFIX): value for name, value in parameters.items()}
