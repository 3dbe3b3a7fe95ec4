"""Text for people: descriptions and reports at the prompt, equations in notebooks, warnings at the caller's line."""

from __future__ import annotations

import sys
import unicodedata
import warnings
from collections.abc import Collection, Sequence
from importlib import import_module
from typing import Any, Self

from .errors import printable

PACKAGE = __name__.partition(".")[0]


class Description(str):
    """Text that is shown without quotes at the prompt; names and notes of files in it are escaped."""

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        return super().__new__(cls, printable(text))

    def __repr__(self) -> str:
        return str(self)


def display_width(text: str) -> int:
    """Columns on the screen. Combining accents take none."""
    return len(text) if text.isascii() else sum(not unicodedata.combining(character) for character in text)


def align_columns(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """Align rows of cells in columns: left, or right for columns in `right`."""
    widths = [max(map(display_width, column)) for column in zip(*rows, strict=True)]

    def padded(k: int, cell: str) -> str:
        space = " " * (widths[k] - display_width(cell))
        return space + cell if k in right else cell + space

    return ["  ".join(padded(k, cell) for k, cell in enumerate(row)).rstrip() for row in rows]


def notebook_html(value: Any) -> str:
    """The HTML of a robot or a recording for a notebook, with control characters escaped.

    `notebook` is above the packages of robots and recordings, so it is imported by name when it is needed.
    """
    text: str = import_module(".notebook", __package__).html_of(value)
    return printable(text)


class Equations(str):
    """LaTeX text that a notebook shows as equations, and the prompt as plain text.

    Attributes
    ----------
    text : str
        The same equations as plain text: m2 (l1^2 + 2 l1 l2 c2), with s1 = sin(q1), c12 = cos(q1 + q2).
    """

    __slots__ = ("text",)
    text: str

    def __new__(cls, latex: str, text: str) -> Self:
        equations = super().__new__(cls, latex)
        equations.text = text
        return equations

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        return str(self), self.text

    def __repr__(self) -> str:
        return self.text

    def _repr_latex_(self) -> str:
        """Without comments, which a notebook would show as text."""
        return "\n".join(line for line in self.splitlines() if not line.startswith("%"))


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that points to the line of the user's code that called the package."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == PACKAGE:
        frame, level = frame.f_back, level + 1
    warnings.warn(printable(message), category, stacklevel=level)
