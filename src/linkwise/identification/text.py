"""Numbers as text, and tables of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..printing import align_columns

ROUNDING = 1e-13  # of the largest number of its kind
MARK = "*"  # after a number that is not identifiable by itself
FEWEST, MOST = 0, 6  # decimals of a value with its σ; outside this range powers of ten are printed


def percent(x: float) -> str:
    if not np.isfinite(x):
        return "-"
    return f"{100.0 * x:.2g} %" if x < 0.995 else f"{100.0 * x:.0f} %" if x < 10.0 else "> 1000 %"


def digits(x: float, count: int, largest: float = 0.0) -> str:
    """A number to `count` digits; zero if it is rounding compared with the largest number of its kind."""
    return "-" if np.isnan(x) else f"{0.0 if abs(x) < ROUNDING * largest else x:.{count}g}"


def share(r2: float) -> str:
    return "-" if not np.isfinite(r2) else f"{r2:.4f}"


def within(x: float, sigma: float) -> str:
    """A value to the digits that σ allows, "4.1994 ± 0.0030"; with a mark where it is not identifiable."""
    if np.isnan(x):
        return "-"
    if np.isinf(sigma):
        return digits(x, 4) + MARK
    return " ± ".join(rounded(x, sigma)) if sigma > 0.0 else digits(x, 4)


def rounded(x: float, sigma: float) -> tuple[str, str]:
    """A value and its finite σ, both to two digits of σ."""
    if not sigma > 0.0:
        return digits(x, 4), digits(sigma, 2)
    places = 1 - math.floor(math.log10(sigma))
    if not FEWEST <= places <= MOST:
        return f"{x:.3e}", f"{sigma:.1e}"
    return f"{x:.{places}f}", f"{sigma:.{places}f}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], indent: str = "") -> list[str]:
    """Aligned: the first column at the left, numbers at the right, words at the left."""
    right = [k for k in range(1, len(head)) if all(is_number(row[k]) for row in rows)]
    return [(indent + line).rstrip() for line in align_columns([head, *rows], right)]


def is_number(cell: str) -> bool:
    return cell[:1] in "-0123456789>." and " ± " not in cell
