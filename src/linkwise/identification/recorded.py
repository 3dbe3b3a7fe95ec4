"""What a recording holds, as it was found."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..errors import is_real
from .units import Unit

LEAST = 20  # samples
MASKED = "masked"
Arrays = dict[str, Any]


@dataclass(frozen=True)
class Recorded:
    """What one recording holds, t, q, qd, qdd and tau as they were found, and the units that its columns' names say."""

    values: Arrays
    name: str
    units: dict[str, list[Unit | None]] = field(default_factory=dict)
    columns: tuple[str, ...] = ()  # all that there are
    index: bool = False  # whether it is a DataFrame whose index could be the time
    text: dict[str, str] = field(default_factory=dict)  # of quantities with text in a column: the line and what it is
    simulated: bool = False  # so that torques of zero are torques

    def without(self, *quantities: str) -> Recorded:
        return replace(self, values={key: value for key, value in self.values.items() if key not in quantities})


def plain(value: Any) -> np.ndarray:
    """An array; the numbers that a mask hides must not be used."""
    if np.ma.is_masked(value):
        return np.where(np.ma.getmaskarray(value), MASKED, np.asarray(value.data, dtype=object))
    return np.asarray(value)


def is_number(value: Any) -> bool:
    """Whether an option is one finite number."""
    real = is_real(value)
    return real and math.isfinite(value)
