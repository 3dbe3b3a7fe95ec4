"""Text for people: descriptions and reports at the prompt, equations in notebooks, warnings at the caller's line."""

from __future__ import annotations

import sys
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


def align_columns(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """Align rows of cells in columns: left, or right for columns in `right`."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    put = [str.rjust if k in right else str.ljust for k in range(len(widths))]
    return ["  ".join(side(x, w) for side, x, w in zip(put, row, widths, strict=True)).rstrip() for row in rows]


def notebook_html(value: Any) -> str:
    """The HTML of a robot or a recording for a notebook, with control characters escaped.

    `notebook` is above the packages of robots and recordings, so it is imported by name when it is needed.
    """
    text: str = import_module(".notebook", __package__).html_of(value)
    return printable(text)


class Equations(str):
    """LaTeX text that a notebook shows as equations."""

    __slots__ = ()

    def _repr_latex_(self) -> str:
        """Without comments, which a notebook would show as text."""
        return "\n".join(line for line in self.splitlines() if not line.startswith("%"))


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that points to the line of the user's code that called the package."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == PACKAGE:
        frame, level = frame.f_back, level + 1
    warnings.warn(printable(message), category, stacklevel=level)
