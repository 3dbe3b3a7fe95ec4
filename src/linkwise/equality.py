"""Equality of results with arrays, as one truth value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np


def identical(a: Any, b: Any) -> bool:
    """Whether two values are equal bit for bit; NaN equals NaN."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        if a.dtype.kind != "f":
            return bool((a == b).all())
        return bool(((a == b) & (np.signbit(a) == np.signbit(b)) | np.isnan(a) & np.isnan(b)).all())
    if isinstance(a, tuple) and not isinstance(a, ComparesArrays):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(identical, a, b))
    if isinstance(a, Mapping):
        return isinstance(b, Mapping) and a.keys() == b.keys() and all(identical(a[key], b[key]) for key in a)
    return type(a) is type(b) and bool(a == b or (a != a and b != b))


class ComparesArrays:
    """Compares all attributes and, for named tuples, all entries; must be the first base class."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self) or not identical(vars(self), vars(other)):
            return False
        return not isinstance(self, tuple) or identical(tuple(self), tuple(cast(tuple[Any, ...], other)))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        raise TypeError(f"unhashable type: {type(self).__name__!r}, which holds arrays")
