"""Results that are tuples of arrays, compared as a whole."""

from __future__ import annotations

import numpy as np


class ComparesArrays(tuple[object, ...]):
    """Equal if all arrays are, and all attributes: one truth value, where tuples would ask each array for one."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ComparesArrays) or type(other) is not type(self) or vars(self) != vars(other):
            return False
        return all(np.array_equal(a, b) for a, b in zip(self, other, strict=True))  # type: ignore[arg-type]

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]
