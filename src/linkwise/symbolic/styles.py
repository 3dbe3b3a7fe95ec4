"""How products, sums and quotients are written: in LaTeX, as plain text of a textbook, and as Python.

LaTeX      \\tfrac{1}{3} \\, m_{2} \\, l_{2}^{2} + \\frac{a}{t_{1}}
textbook   1/3 m2 l2^2 + a/t1
Python     m2*l2**2/3 + a/t1
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..graph.polynomial import Number
from ..graph.text import call_text
from .latex import format as latex

Angles = tuple[tuple[tuple[str, int], int], ...]  # inputs, ascending, each with its multiplier
Equation = tuple[str, list[str]]  # the left side, and the lines of the right side
Terms = list[list[str]]  # of a sum, each in pieces, between which lines may break where they must
COLUMNS = 79  # of plain text
SHORT_NAME = 6  # characters on the left of LaTeX; longer names shorten the lines of all equations


class Style:
    """Sums are lists of pieces, between which lines may break. This style is Python."""

    between, exponent = "*", "**{}"
    fractions = False  # whether numerators stand above bars, without parentheses

    def __init__(self, width: float = COLUMNS) -> None:
        self.width = width

    def room(self, name: str, outputs: Sequence[str]) -> float:
        """The characters in a line of an equation, beside the name on its left."""
        return self.width - len(name) - 3

    def lines(self, name: str, terms: Terms, outputs: Sequence[str] = ()) -> list[str]:
        """The right side of an equation: one line, or several where that is too long, between terms if possible."""
        room = self.room(name, outputs)
        lines: list[list[str]] = [[]]
        left = room
        for term in terms:
            lengths = [*map(self.length, term)]
            together = sum(lengths) <= room
            parts = [(" ".join(term), sum(lengths))] if together else zip(term, lengths, strict=True)
            for piece, length in parts:
                if lines[-1] and length > left:
                    lines.append([])
                    left = room
                lines[-1].append(piece)
                left -= length
        return [" ".join(line) for line in lines]

    def length(self, text: str) -> int:
        return len(text) + 1

    def power(self, text: str, exponent: int) -> str:
        return text if exponent == 1 else text + self.exponent.format(exponent)

    def enclose(self, pieces: list[str], depth: int) -> list[str]:
        """The pieces in parentheses, in which there are `depth` others."""
        return wrapped("(", pieces, ")")

    def product(
        self, x: Number, above: Sequence[list[str]], below: Sequence[str], digits: int, symbolic: bool
    ) -> list[str]:
        """The pieces of a product: a positive number times factors, divided by others."""
        numerator, denominator = self.number(x, digits)
        factors = [*([[numerator]] if numerator else []), *above]
        return wrapped("", joined(factors or [["1"]], self.between), self.over([*denominator, *below]))

    def number(self, x: Number, digits: int) -> tuple[str, list[str]]:
        """Numerator and denominator of a positive number; empty for one. A third is 1/3."""
        if latex.is_simple(x, digits):
            return str(x.numerator) * (x.numerator != 1), [str(x.denominator)] * (x.denominator != 1)
        return f"{float(x):.{digits}g}", []

    def over(self, below: Sequence[str]) -> str:
        return "".join(f"/{factor}" for factor in below)

    def quotient(self, above: list[str], below: Sequence[str]) -> list[str]:
        return wrapped("", self.enclose(above, 0) if len(above) > 1 else above, self.over(below))

    def function(self, op: str, *arguments: str) -> str:
        return call_text(op, arguments) if len(arguments) > 1 else f"{op}({arguments[0]})"

    def array(self, shape: tuple[int, ...], cells: list[str]) -> str:
        return f"[{', '.join(cells)}]" if shape else cells[0]

    def too_wide(self, text: str, shape: tuple[int, ...]) -> bool:
        return False


class TextbookStyle(Style):
    """Factors stand side by side."""

    between, exponent = " ", "^{}"

    def number(self, x: Number, digits: int) -> tuple[str, list[str]]:
        above, below = super().number(x, digits)
        return f"{above or 1}/{below[0]}" if below else above, []

    def over(self, below: Sequence[str]) -> str:
        return "" if not below else f"/{below[0]}" if len(below) == 1 else f"/({' '.join(below)})"


class LatexStyle(Style):
    between, fractions = r" \, ", True

    def room(self, name: str, outputs: Sequence[str]) -> float:
        return self.width - max(0, max(map(self.length, outputs)) - SHORT_NAME)

    def length(self, text: str) -> int:
        return latex.visible_length(text)

    def power(self, text: str, exponent: int) -> str:
        if exponent == 1:
            return text
        if "'" in text:  # a prime is an exponent
            return f"{{{text}}}^{{{exponent}}}"
        grouped = " " in text and not text.startswith(OPENING)
        return rf"\left({text}\right)^{{{exponent}}}" if grouped else f"{text}^{{{exponent}}}"

    def enclose(self, pieces: list[str], depth: int) -> list[str]:
        return wrapped(BRACKETS[min(depth, 2)][0], pieces, BRACKETS[min(depth, 2)][1])

    def product(
        self, x: Number, above: Sequence[list[str]], below: Sequence[str], digits: int, symbolic: bool
    ) -> list[str]:
        first = [] if x == 1 else [[latex.number(x, digits, symbolic)]]
        if below:
            top = " ".join(joined(above, self.between)) or "1"
            above = [[rf"\frac{{{top}}}{{{self.between.join(below)}}}"]]
        return joined([*first, *above] or [["1"]], self.between)

    def quotient(self, above: list[str], below: Sequence[str]) -> list[str]:
        return [rf"\frac{{{' '.join(above)}}}{{{self.between.join(below)}}}"]

    def function(self, op: str, *arguments: str) -> str:
        return latex.function(op, *arguments)

    def array(self, shape: tuple[int, ...], cells: list[str]) -> str:
        return latex.array(shape, cells)

    def too_wide(self, text: str, shape: tuple[int, ...]) -> bool:
        return latex.too_wide(text, shape)


BRACKETS = ((r"\bigl( ", r" \bigr)"), (r"\Bigl[ ", r" \Bigr]"), (r"\biggl\{ ", r" \biggr\}"))  # by the depth of nesting
OPENING = tuple(opening.strip() for opening, _ in BRACKETS)
LATEX, TEXTBOOK, PYTHON = LatexStyle(latex.WIDTH), TextbookStyle(), Style()


def terms_of(text: str) -> Terms:
    """The terms of a sum as it is written; sums inside parentheses stay whole."""
    return [[term] for term in re.split(r" (?=[+-] )(?![^(]*\))", text)]


def whole(terms: Terms) -> str:
    return " ".join(piece for term in terms for piece in term)


def wrapped(before: str, pieces: list[str], after: str) -> list[str]:
    closed = [*pieces[:-1], pieces[-1] + after]
    return [before + closed[0], *closed[1:]]


def joined(factors: Sequence[list[str]], between: str) -> list[str]:
    """The pieces of a product of factors of one or several pieces."""
    pieces: list[str] = []
    for factor in factors:
        pieces = [*pieces[:-1], pieces[-1] + between + factor[0], *factor[1:]] if pieces else list(factor)
    return pieces
