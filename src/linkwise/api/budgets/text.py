"""The terms of one joint in words, as a table and in LaTeX, the largest first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...errors import is_integer, near_miss
from ...robot.description import grid
from ...robot.entries import is_symbol
from ...symbolic.equations import Expressions
from ...symbolic.latex.format import decimal

UNITS = {"N m": r"\mathrm{N\,m}", "N": r"\mathrm{N}", "√J/s": r"\sqrt{\mathrm{J}}/\mathrm{s}"}
MARKS = str.maketrans(  # within \text{}
    {mark: rf"\{mark}" for mark in "_&%$#{}"}
    | {"ν": r"$\nu$", "ξ": r"$\xi$"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}
)
NOISE = 1e-9  # beside the sum of magnitudes: smaller terms are not shown


@dataclass(frozen=True, repr=False)
class JointBudget:
    """The terms of one joint at one state. Prints as a table; `sentence()` and `why()` are shorter."""

    name: str
    symbol: str  # of the total
    unit: str
    total: float
    limit: float  # of the magnitude; infinite without a limit
    terms: tuple[tuple[str, float], ...]  # labels and values
    through: Mapping[str, str] = field(default_factory=dict)  # by label: first link of the composite body
    when: str = ""  # the state of a batch
    beyond: str = ""  # how long a trajectory exceeds the limit
    most: int | None = None  # terms to list

    @property
    def scale(self) -> float:
        """The sum of the magnitudes of all terms."""
        return math.fsum(abs(x) for _, x in self.terms)

    @property
    def largest(self) -> list[tuple[str, float]]:
        """The terms that are not negligible, the largest first."""
        seen = [(label, x) for label, x in self.terms if not abs(x) <= NOISE * self.scale]
        return sorted(seen, key=lambda term: -abs(term[1]))

    def shortened(self, most: int | None) -> list[tuple[str, float]]:
        """The `most` largest terms, and the sum of the others as one."""
        return largest_and_rest(self.largest, most)

    def __getitem__(self, label: str) -> float:
        terms = dict(self.terms)
        if label not in terms:
            raise KeyError(f"{label!r} is not a term{near_miss(label, terms)} (expected one of {', '.join(terms)})")
        return terms[label]

    @property
    def _at(self) -> str:
        return f" at {self.when}" if self.when else ""

    def sentence(self, most: int = 4) -> str:
        """The total as a sum on one line, with the `most` largest terms and the rest."""
        if math.isnan(self.total):
            return self._not_finite
        terms = self.shortened(most)
        first = not terms and "0"
        parts = [f"{'-' if x < 0 else '+'} {format_number(abs(x))} {label}" for label, x in terms]
        text = first or " ".join(parts).removeprefix("+ ").replace("- ", "-", 1 if terms[0][1] < 0 else 0)
        return f"{self.name}: {format_number(self.total)} {self.unit} = {text}{self._at}"

    def why(self, most: int = 4) -> str:
        """The terms that drive the total and those that oppose it, as shares of the limit, or of the total."""
        if math.isnan(self.total):
            return self._not_finite
        base, of = (self.limit, "limit") if math.isfinite(self.limit) else (abs(self.total), "total")
        head = f"{self.name}: {format_number(self.total)} {self.unit}{self._at}"
        if of == "limit":
            share = format_percent(abs(self.total), self.limit)
            head += f", {share} of its limit of {format_number(self.limit)} {self.unit}"
            head += f", which it passes for {self.beyond}" if self.beyond else ""
        if not self.largest:
            return f"{head}: nothing acts on it"
        if abs(self.total) <= NOISE * self.scale:
            base, of = self.scale, "sum of magnitudes"
        sign = math.copysign(1.0, self.total)
        lines = [f"{head}. Of the {of}:"]
        for words, way in (("towards it", sign), ("against it", -sign)):
            driving_terms = largest_and_rest([(label, x) for label, x in self.largest if x * way > 0], most)
            if driving_terms:
                text = ", ".join(
                    f"{format_percent(sign * x, base)} {label}{self.passed(label)}" for label, x in driving_terms
                )
                lines.append(f"  {words}: {text}")
        return "\n".join(lines)

    def passed(self, label: str) -> str:
        """The body through which an acceleration acts, in words."""
        return f" (through the body from {self.through[label]} on)" if label in self.through else ""

    @property
    def _not_finite(self) -> str:
        return f"{self.name}: nan {self.unit}{self._at}, of a state with a number that is not finite"

    def __str__(self) -> str:
        if math.isnan(self.total):
            return self._not_finite
        limited, terms = math.isfinite(self.limit), self.shortened(self.most)
        head = [self.name, self.unit, f"of |{self.symbol}|"]
        rows = [[label, format_number(x), format_percent(x, self.whole)] for label, x in terms]
        rows.append([self.symbol, format_number(self.total), format_percent(self.total, self.whole)])
        if limited:
            head.append("of limit")
            values = [*(x for _, x in terms), self.total]
            for row, x in zip(rows, values, strict=True):
                row.append(format_percent(x, self.limit))
        if any(label in self.through for label, _ in terms):
            head.append("through the body from")
            for row in rows:
                row.append(self.through.get(row[0], ""))
        lines = grid(head, rows, right=range(1, 3 + limited))
        if limited:
            lines.append(f"limit {format_number(self.limit)} {self.unit}")
        return "\n".join(([f"{self.name}{self._at}"] if self.when else []) + lines)

    __repr__ = __str__

    @property
    def whole(self) -> float:
        """|total|, or 0 where it is negligible beside its terms."""
        return abs(self.total) if abs(self.total) > NOISE * self.scale else 0.0


def largest_and_rest(terms: Sequence[tuple[str, float]], most: int | None) -> list[tuple[str, float]]:
    """The first terms, and the sum of the others as one."""
    if most is not None:
        check_most(most)
    if most is None or len(terms) <= most + 1:
        return list(terms)
    rest = terms[most:]
    return [*terms[:most], (f"({len(rest)} others)", math.fsum(x for _, x in rest))]


def check_most(most: int) -> None:
    if not is_integer(most) or most < 1:
        raise ValueError(f"most is {most!r} (expected a number of terms, 1 or more)")


def format_number(x: float) -> str:
    return f"{float(x) + 0.0:.4g}"


def format_percent(x: float, whole: float) -> str:
    """A share in percent; "-" of a total of zero."""
    return "-" if whole == 0.0 else f"{100.0 * x / whole:.3g} %"


def joint_latex(
    total: str,
    labels: Sequence[str],
    values: Sequence[Any],
    unit: str,
    digits: int,
    most: int | None,
    symbols: Mapping[str, str],
) -> str:
    """An aligned display: the total, and a line for each term with its symbol and its name."""
    labelled = list(zip(labels, values, strict=True))
    if any(is_symbol(x) for x in values):
        shared, cells = Expressions([x for x in values if is_symbol(x)], digits).latex()
        texts = iter(cells)
        lines = [(label, next(texts) if is_symbol(x) else decimal(float(x), digits)) for label, x in labelled]
        return "\n".join([*shared, display(total, [line for line in lines if line[1] not in ("0", "-0")], symbols)])
    terms = tuple((label, float(x)) for label, x in labelled)
    joint_budget = JointBudget("", total, unit, math.fsum(x for _, x in terms), math.inf, terms)
    left = rf"{total} = {decimal(joint_budget.total + 0.0, digits)}\,{UNITS[unit]}"
    return display(left, [(label, decimal(x, digits)) for label, x in joint_budget.shortened(most)], symbols)


def display(left: str, lines: Sequence[tuple[str, str]], symbols: Mapping[str, str]) -> str:
    rows = []
    for place, (label, text) in enumerate(lines):
        sign = "" if text.startswith("-") or not place else "+"
        symbol = f" && {symbols[label]}" if label in symbols else " &&" if symbols else ""
        rows.append(rf"{sign}{text}{symbol} && \text{{{label.translate(MARKS)}}}")
    body = " \\\\\n    &\\phantom{=}\\;".join(rows) if rows else "0"
    return f"\\begin{{align*}}\n  {left} &= {body}\n\\end{{align*}}"
