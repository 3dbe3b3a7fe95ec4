"""Counts and forms as cells of the page's tables."""

from __future__ import annotations

from fractions import Fraction

import linkwise as lw

from .cases import KINDS, counted
from .forms import Polynomial, case_form, polynomial, written


def number(x: Fraction | int) -> str:
    return f"{int(x):,}" if Fraction(x).denominator == 1 else str(x)


def pair(count: lw.results.Count) -> str:
    return f"{number(count.multiplications)}, {number(count.additions)}"


def of_label(label: str, kind: str, family: str = "chain") -> str:
    return str(case_form(label, family, kind))


def measured_cells(function: str, method: str | None) -> list[str]:
    if method is None:
        return ["", "", "", ""]
    label = f"{function}/{method}"
    return [f'`"{method}"`', *both(label), pair(counted(label, "chain", 6))]


def both(label: str, family: str = "chain") -> list[str]:
    return [of_label(label, kind, family) for kind in ("multiplications", "additions")]


def times_n(pair_: tuple[int, int]) -> str:
    return ", ".join(written(polynomial(x, 0)) if x else "0" for x in pair_)


def plain(form: tuple[int, int]) -> Polynomial:
    return polynomial(*form) if form[0] else polynomial(form[1])


def four(count: lw.results.Count) -> str:
    return ", ".join(number(getattr(count, kind)) for kind in KINDS)
