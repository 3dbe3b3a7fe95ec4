"""Numbers, functions and arrays in LaTeX, and their widths."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TypeGuard

from ...errors import is_integer
from ...graph.polynomial import Number

SIMPLE = 12  # the largest denominator of a number written as a fraction
THIRDS = 432  # denominators that are multiples of 3 and divide it: what decimals do not hold
MOST_DIGITS = 17  # which any float has
WIDTH = 80  # characters in a line, about


def check_digits(digits: object) -> None:
    if not is_integer(digits) or not 1 <= digits <= MOST_DIGITS:
        raise ValueError(f"digits is {digits!r} (expected a number of significant digits, 1 to {MOST_DIGITS})")


def is_simple(x: Number, digits: int) -> TypeGuard[Fraction]:
    """Whether the number is written as an integer or a fraction, with at most these digits above the bar."""
    if not isinstance(x, Fraction) or abs(x.numerator) >= 10**digits:
        return False
    short = x.denominator <= SIMPLE and x.denominator % 5 > 0
    return short or (x.denominator % 3 == 0 and THIRDS % x.denominator == 0)


def decimal(x: float, digits: int) -> str:
    mantissa, _, exponent = f"{x:.{digits}g}".partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa


def number(x: Number, digits: int, fractions: bool) -> str:
    """Format as a decimal, or a simple fraction."""
    if fractions and is_simple(x, digits) and x.denominator > 1:
        return rf"\tfrac{{{x.numerator}}}{{{x.denominator}}}"
    return decimal(float(x), digits)


NAMES = {"log": r"\ln", "sign": r"\operatorname{sign}", "asin": r"\arcsin", "acos": r"\arccos"}
NAMES |= {"atan2": r"\operatorname{atan2}", **{op: rf"\{op}" for op in ("sin", "cos", "tanh", "exp", "min", "max")}}
RELATIONS = {"where_lt": "<", "where_le": r"\le", "where_eq": "="}


def function(op: str, *arguments: str) -> str:
    """Any operation that is not arithmetic."""
    if op == "select":
        return cases(rf"{arguments[0]} \ge 0", *arguments[1:])
    if op in RELATIONS:
        x, y, a, b = arguments
        return cases(f"{x} {RELATIONS[op]} {y}", a, b)
    if op == "sqrt":
        return rf"\sqrt{{{arguments[0]}}}"
    if op == "abs":
        return rf"\left|{arguments[0]}\right|"
    return rf"{NAMES[op]}\left({', '.join(arguments)}\right)"


def cases(condition: str, a: str, b: str) -> str:
    return rf"\begin{{cases}} {a} & {condition} \\ {b} & \text{{otherwise}} \end{{cases}}"


def array(shape: tuple[int, ...], cells: list[str]) -> str:
    if not shape:
        return cells[0]
    columns = shape[-1] if len(shape) > 1 else 1
    rows = [cells[i : i + columns] for i in range(0, len(cells), columns)]
    gap = r" \\[4pt] " if any("frac" in cell for cell in cells) else r" \\ "
    body = gap.join(" & ".join(row) for row in rows)
    return rf"\left[\begin{{array}}{{{'c' * columns}}} {body} \end{{array}}\right]"


def visible_length(text: str) -> int:
    """Estimate the number of printed characters."""
    return len(re.sub(r"\\[a-z]+|\\,|[{}^_ ]", "", text)) + 2


def too_wide(text: str, shape: tuple[int, ...]) -> bool:
    """Whether the text is too long for a cell of the array."""
    return bool(shape) and visible_length(text) > WIDTH / (shape[-1] if len(shape) > 1 else 1)
