"""Numbers in words."""

from __future__ import annotations

import numpy as np


def percent(x: float) -> str:
    if not np.isfinite(x):
        return "-"
    return f"{100.0 * x:.2g} %" if x < 0.995 else f"{100.0 * x:.0f} %" if x < 10.0 else "> 1000 %"
