"""Closed forms in n: polynomials with rational coefficients, through counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial

import linkwise as lw

from .cases import SEEDS, SIZES, counted

Polynomial = tuple[Fraction, ...]  # highest power first


def polynomial(*coefficients: str | int) -> Polynomial:
    return tuple(Fraction(c) for c in coefficients)


def at(form: Polynomial, n: int) -> Fraction:
    value = Fraction(0)
    for coefficient in form:
        value = value * n + coefficient
    return value


def through(values: dict[int, int]) -> Polynomial:
    """The polynomial of lowest degree through all values (Lagrange, exact)."""
    result = [Fraction(0)] * len(values)
    for n, value in values.items():
        term = [Fraction(value)]
        for other in values:
            if other != n:
                scale = Fraction(1, n - other)
                shifted = [Fraction(0), *term]
                term = [(a - b * other) * scale for a, b in zip([*term, Fraction(0)], shifted, strict=True)]
        result = [a + b for a, b in zip(result, term, strict=True)]
    while len(result) > 1 and result[0] == 0:
        result.pop(0)
    return tuple(result)


def fitted(values: dict[int, int]) -> Polynomial | None:
    """A polynomial, of degree 3 at most, from the smallest n on which it holds for all larger n: one at least."""
    sizes = sorted(values)
    for start in range(3):
        for degree in range(4):
            used, others = sizes[start : start + degree + 1], sizes[start + degree + 1 :]
            if not others:
                continue
            form = through({n: values[n] for n in used})
            if all(at(form, n) == values[n] for n in others):
                return form
    return None


@dataclass(frozen=True)
class Form:
    """A closed form. `spread`: how much more some arms take, where it is that of the lowest counts and not of all."""

    polynomial: Polynomial | None
    spread: int = 0

    @property
    def exact(self) -> bool:
        return self.polynomial is not None and self.spread == 0

    def __str__(self) -> str:
        text = "none" if self.polynomial is None else written(self.polynomial)
        return text + (" †" if self.spread else "")


Series = Callable[[int, int], lw.results.Count]  # of n and the seed


def form_of(series: Series, kind: str) -> Form:
    """The form of the first arm's counts; failing that, of the lowest of two arms, then of three."""
    every: dict[int, list[int]] = {n: [] for n in SIZES}
    found = None
    for seed in SEEDS:
        for n, several in every.items():
            several.append(getattr(series(n, seed), kind))
        found = fitted({n: min(several) for n, several in every.items()})
        if found is not None:
            break
    return Form(found, max(max(several) - min(several) for several in every.values()))


def forms(series: Series) -> list[str]:
    """M and A, as text."""
    return [str(form_of(series, kind)) for kind in ("multiplications", "additions")]


@cache
def case_form(label: str, family: str, kind: str) -> Form:
    return form_of(partial(counted, label, family), kind)


def written(form: Polynomial) -> str:
    powers = {3: "n³", 2: "n²", 1: "n", 0: ""}
    text = ""
    for power_, coefficient in zip(reversed(range(len(form))), form, strict=True):
        if coefficient == 0 and len(form) > 1:
            continue
        sign = (" − " if coefficient < 0 else " + ") if text else ("−" if coefficient < 0 else "")
        size = str(abs(coefficient))
        if power_ and "/" in size:
            size = f"({size})"
        text += sign + ("" if size == "1" and power_ else size) + powers[power_]
    return text or "0"
