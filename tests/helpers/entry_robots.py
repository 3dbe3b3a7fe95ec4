"""Robots whose kernels are called directly."""

from functools import cache
from typing import Any

import linkwise as lw

CHAIN = lw.chain(4, seed=3, joints="RRPR")
PLANAR = lw.load("planar3")


@cache
def compiled(function: Any, robot: lw.Robot, dtype: str = "float64", **keywords: Any) -> Any:
    return lw.compile(function, robot, dtype=dtype, **keywords)
