"""The times at which a sweep keeps q and qd."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..simulate.simulation import sample_times


def kept_times(keep: str, options: Mapping[str, Any], duration: float) -> np.ndarray:
    """The times of one trajectory: those of `samples=` up to its duration, or as many as asked for over it."""
    if keep != "samples":
        return np.zeros(0)
    samples = options["samples"]
    if np.ndim(samples):
        times = np.asarray(samples, dtype=float)
        return sample_times(times, max(duration, float(times[-1])))[times <= duration]
    return sample_times(samples, duration)


def most_times(keep: str, options: Mapping[str, Any]) -> int:
    """The number of times of a trajectory that is long enough for all of them."""
    samples = options["samples"]
    return len(samples) if keep == "samples" and np.ndim(samples) else len(kept_times(keep, options, 1.0))
