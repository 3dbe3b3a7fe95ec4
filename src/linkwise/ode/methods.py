"""Embedded Runge-Kutta methods, read from tableaux.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from importlib import resources
from typing import Any

import numpy as np

Table = list[list[Fraction]]
Condition = tuple[Fraction | int, int, list[Fraction]]


@dataclass(frozen=True)
class Method:
    """An embedded Runge-Kutta method; the letters are those of tableaux.toml."""

    name: str
    order: int
    a: tuple[tuple[float, ...], ...]  # including the stages that only dense output needs
    b: tuple[float, ...]
    c: tuple[float, ...]
    error: tuple[float, ...]
    damp: tuple[float, ...] = ()
    fixed: bool = False  # no error control
    first_is_last: bool = False
    dense: tuple[tuple[float, ...], ...] = ()  # weights of all stages, and last of Σ b k, by powers

    @property
    def stages(self) -> int:
        """The stages of a step, without those for dense output."""
        return len(self.b)

    @property
    def slots(self) -> int:
        """The vectors needed for all stages and Σ b k."""
        return max(len(self.a), len(self.dense))

    @property
    def degree(self) -> int:
        """The degree of dense output; 0 if there is none."""
        return len(self.dense[0]) if self.dense else 0


@lru_cache(maxsize=1)
def entries() -> dict[str, Any]:
    text = resources.files(__package__).joinpath("tableaux.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@lru_cache(maxsize=16)
def method(name: str) -> Method:
    entry = entries()[name]
    rows, dense = extended_tableau(entry)
    scale = Fraction(entry.get("scale", 1))
    weights = {key: [Fraction(x) for x in entry.get(key, [])] for key in ("b", "error", "damp")}
    return Method(
        name,
        entry["order"],
        tuple(round_keeping_sum([*row, *[Fraction(0)] * (s - len(row))]) for s, row in enumerate(rows)),
        round_keeping_sum(weights["b"]),
        tuple(float(sum(row)) for row in rows),
        round_keeping_sum([scale * x for x in weights["error"]]),
        round_keeping_sum(weights["damp"]),
        fixed=entry.get("fixed", False),
        first_is_last=entry.get("last") == "first",
        dense=tuple(zip(*(round_keeping_sum(column) for column in zip(*dense, strict=True)), strict=True)),
    )


@lru_cache(maxsize=16)
def stability_limit(name: str) -> float:
    """The end x of the real stability interval: |R(-x)| = 1 with R(z) = 1 + Σ z^k bᵀ A^(k-1) 1."""
    tableau, growth = method(name), [1.0]
    k = [1.0] * tableau.stages
    for _ in range(tableau.stages):
        growth.append(sum(w * x for w, x in zip(tableau.b, k, strict=True)) * (-1.0) ** len(growth))
        k = [sum(w * x for w, x in zip(row, k, strict=False)) for row in tableau.a[: tableau.stages]]
    ends = [np.roots([*growth[:0:-1], 1.0 - level]) for level in (1.0, -1.0)]
    return min(float(x.real) for x in np.concatenate(ends) if abs(x.imag) < 1e-9 and x.real > 1e-9)


def round_keeping_sum(weights: Sequence[Fraction]) -> tuple[float, ...]:
    """The weights as floats, the smallest chosen so that the sum is exact: stages are similar, so errors would add."""
    floats = [float(x) for x in weights]
    nonzero = [k for k, x in enumerate(weights) if x]
    if len(nonzero) > 1:
        smallest = min(nonzero, key=lambda k: abs(weights[k]))
        others = sum(Fraction(x) for k, x in enumerate(floats) if k != smallest)
        floats[smallest] = float(sum(weights) - others)
    return tuple(floats)


def extended_tableau(entry: dict[str, Any]) -> tuple[Table, Table]:
    """The rows of all stages, and the polynomials of dense output for these and Σ b k."""
    rows = [[Fraction(x) for x in row] for row in entry["a"] + entry.get("extra", [])]
    last, points = len(entry["a"]) - 1, [Fraction(x) for x in entry.get("refine", [])]
    if not points:
        return rows, []
    slopes: list[Condition] = [(0, 1, unit_weights(0)), (1, 1, unit_weights(last))]
    if "dense" in entry:
        first = [[Fraction(x) for x in row] for row in entry["dense"]]
    else:  # through the states and slopes of the extra stages
        slopes += [(sum(row), 1, unit_weights(stage)) for stage, row in enumerate(rows[last + 1 :], last + 1)]
        extra: list[Condition] = [(sum(row), 0, row) for row in rows[last + 1 :]]
        first = interpolating_polynomials([(1, 0, [Fraction(x) for x in entry["b"]]), *slopes, *extra], len(rows))
    slopes += [(x, 1, unit_weights(stage)) for stage, x in enumerate(points, len(rows))]
    rows += [[sum((w * x**j for j, w in enumerate(row, 1)), Fraction(0)) for row in first] for x in points]
    return rows, interpolating_polynomials([(1, 0, unit_weights(len(rows))), *slopes], len(rows) + 1)


def unit_weights(stage: int) -> list[Fraction]:
    return [*[Fraction(0)] * stage, Fraction(1)]


def interpolating_polynomials(known: list[Condition], stages: int) -> Table:
    """The polynomial in θ, without a constant term, with as many powers as `known` has conditions.

    A condition (θ, 0 or 1, weights): its value or slope at θ is the sum of the stages with these weights.
    """
    powers = range(1, len(known) + 1)
    matrix = [[Fraction(x) ** j if not slope else j * Fraction(x) ** (j - 1) for j in powers] for x, slope, _ in known]
    right = [[*weights, *[Fraction(0)] * (stages - len(weights))] for _, _, weights in known]
    return [list(column) for column in zip(*solve_exactly(matrix, right), strict=True)]


def solve_exactly(matrix: Table, right: Table) -> Table:
    """Gauss-Jordan elimination in fractions."""
    rows = [[*left, *other] for left, other in zip(matrix, right, strict=True)]
    for i in range(len(rows)):
        pivot = next(k for k in range(i, len(rows)) if rows[k][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for k in range(len(rows)):
            if k != i and rows[k][i]:
                rows[k] = [x - rows[k][i] * y for x, y in zip(rows[k], rows[i], strict=True)]
    return [row[len(matrix) :] for row in rows]
