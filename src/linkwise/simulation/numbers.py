"""The numbers of a simulation, checked: duration, tolerances, steps, and the times of the samples."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ..errors import is_integer, is_real
from ..ode.chattering import TOO_FAR
from ..ode.interface import Integrator

MOST_STEPS = 10_000_000  # of each trajectory, unless its step is fixed
LEAST_RTOL = 100 * float(np.finfo(float).eps)  # below that, the estimate of an error is rounding
FIRST_STEP = 1e-3  # seconds; it grows tenfold a step where it is too small


def checked_numbers(
    scheme: Integrator, duration: Any, rtol: Any, atol: Any = None, step: Any = None, max_steps: Any = None
) -> dict[str, float]:
    numbers = checked(duration=duration, rtol=rtol, step=FIRST_STEP if step is None else step)
    if numbers["rtol"] < LEAST_RTOL:
        raise ValueError(f"rtol is {rtol!r} (expected at least {LEAST_RTOL:.3g}: less is lost in rounding)")
    if max_steps is None:
        numbers["most"], numbers["too_far"] = math.inf if scheme.fixed else MOST_STEPS, TOO_FAR
    elif not is_integer(max_steps):
        raise TypeError(f"max_steps is {max_steps!r} (expected a whole number, or None)")
    elif max_steps < 1:
        raise ValueError(f"max_steps is {max_steps} (expected at least 1)")
    else:
        numbers["most"] = numbers["too_far"] = int(max_steps)
    numbers["atol"] = numbers["rtol"] / 100 if atol is None else checked(atol=atol)["atol"]
    if scheme.fixed and step is None:
        raise ValueError(f"integrator {scheme.name!r} has no step of its own (expected step=...)")
    return numbers


def checked(**numbers: Any) -> dict[str, float]:
    positive = {}
    for name, value in numbers.items():
        if not is_real(value):
            raise TypeError(f"{name} is {value!r} (expected a number)")
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"{name} is {value!r} (expected a finite number above 0)")
        positive[name] = float(value)
    return positive


def sample_times(samples: Any, end: float) -> np.ndarray:
    if is_integer(samples):
        if samples < 2:
            raise ValueError(f"samples is {samples} (expected at least 2, or an array of times)")
        return even_times(int(samples), end).copy()
    times = np.array(samples, dtype=float, order="C")
    if times.ndim != 1 or not times.size:
        raise ValueError(f"samples has shape {times.shape} (expected a number of samples, or an array of times)")
    if not (np.isfinite(times).all() and (np.diff(times) > 0).all() and times[0] >= 0 and times[-1] <= end):
        raise ValueError(f"samples are not increasing times from 0 to {end:g}")
    return times


@lru_cache(maxsize=16)
def even_times(samples: int, end: float) -> np.ndarray:
    return np.linspace(0.0, end, samples)
