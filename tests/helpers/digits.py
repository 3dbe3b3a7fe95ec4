"""Numbers of many digits."""

import mpmath
import numpy as np


def apart(a: np.ndarray, b: np.ndarray) -> mpmath.mpf:
    """The largest difference, relative to the largest number."""
    return max(map(abs, (a - b).ravel())) / max(map(abs, b.ravel()))


def many_digits(array: np.ndarray) -> np.ndarray:
    return np.vectorize(mpmath.mpf, otypes=[object])(array)
