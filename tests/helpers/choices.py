"""A function of every choice that a program makes, and states in which it shows what each does with ties and NaN."""

from typing import Any

import numpy as np

import linkwise as lw
from linkwise.graph import rules

SPECIAL = [
    *([0.0, -0.0, 1.0], [np.nan, np.inf, -np.inf], [-np.inf, 0.0, np.nan], [1e-320, -1e-320, 1e300]),
    *([2.0, 2.0, -0.0], [1.0, np.nan, 3.0], [np.nan, 1.0, 3.0], [-2.0, -1.0, 4.0]),
]


def choices(arm: lw.Robot, q: Any) -> Any:
    x, y, z = q[0], q[1], q[2]
    compared = [np.where(c, z, 1.0) for c in (x < y, x <= y, x == y, x > y, x >= y)]
    return np.stack([np.minimum(x, y), np.maximum(x, y), np.abs(x), rules.select(x, y, z), *compared])
