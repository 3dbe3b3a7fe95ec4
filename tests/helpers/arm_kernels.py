"""Kernels of an arm, and the arrays they are called with."""

from functools import cache
from typing import Any

import numpy as np
import pytest

import linkwise as lw

ARM = lw.load("planar3")
DTYPES = ["float64", "float32"]
every_dtype = pytest.mark.parametrize("dtype", DTYPES)


@cache
def kernel(function: Any = lw.inverse_dynamics, dtype: str = "float64", robot: lw.Robot = ARM, **keywords: Any) -> Any:
    return lw.compile(function, robot, dtype=dtype, **keywords)


def motion(*batch: int, dtype: str = "float64", seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *batch]).normal(size=(3, *batch, 3)).astype(dtype)


def same(one: Any, other: Any) -> bool:
    one, other = np.asarray(one), np.asarray(other)
    return one.dtype == other.dtype and one.shape == other.shape and np.array_equal(one, other, equal_nan=True)
