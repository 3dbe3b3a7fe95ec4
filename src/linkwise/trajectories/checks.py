"""Check the arguments of trajectories: one number for each joint, or a row for each time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import is_integer
from ..robot.named_arrays import plain_numbers

Floats = NDArray[np.float64]
ROUNDING = 1e-12  # relative to the duration: an end so little after a sample coincides with it


def end_points(start: Any, end: Any) -> tuple[Floats, Floats]:
    first, last = joint_numbers(start, "start"), joint_numbers(end, "end")
    if len(first) != len(last):
        raise ValueError(
            f"start has {len(first)} and end has {len(last)} number{'s' * (len(last) != 1)} (expected the same: one for"
            " each joint)"
        )
    return first, last


def joint_numbers(value: Any, name: str, dims: int = 1) -> Floats:
    """A frozen array of finite numbers with one axis for joints, or with one for times before it."""
    array = np.atleast_1d(plain_numbers(name, value, EXPECTED[dims], "; or robot=..., the robot that has them"))
    if array.ndim == 1 and dims == 2:
        array = array[:, None]  # one joint needs no brackets
    if array.ndim != dims or 0 in array.shape:
        raise ValueError(f"{name} has shape {array.shape} (expected {EXPECTED[dims]})")
    if not np.isfinite(array).all():
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name}{list(index)} is {array[index]} (expected finite numbers)")
    return frozen_array(array)


EXPECTED = {1: "one number for each joint", 2: "a row for each time, of one number for each joint"}


def broadcast_to_joints(value: Any, n: int, name: str) -> Floats:
    """Broadcast one number for all joints, or check that there is one for each."""
    array = joint_numbers(value, name)
    if len(array) not in (1, n):
        raise ValueError(f"{name} has {len(array)} numbers (expected one, or {n}: one for each joint)")
    return np.broadcast_to(array, (n,))


def positive_number(value: Any, name: str) -> float:
    try:
        x = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {value!r} (expected a positive number)") from None
    if not 0.0 < x < math.inf:
        raise ValueError(f"{name} is {x:g} (expected a positive number)")
    return x


def frozen_array(values: Any) -> Floats:
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


def joint_count_text(n: int) -> str:
    return f"{n} joint" + ("s" if n != 1 else "")


def even_times(duration: float, samples: Any, rate: Any = None) -> Floats:
    """`samples` times from 0 to the duration; with a rate, k / rate for k = 0, 1, ... until the end is reached."""
    if rate is not None:
        count = math.ceil(duration * positive_number(rate, "rate") * (1.0 - ROUNDING))
        return np.asarray(np.arange(count + 1) / float(rate))
    if not is_integer(samples) or samples < 2:
        raise ValueError(f"samples is {samples!r} (expected a whole number of at least 2, including both ends)")
    return np.linspace(0.0, duration, int(samples))
