"""What shows itself: descriptions, citations and reports at the prompt, robots and equations in a notebook."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from importlib import import_module
from typing import Any, Self

from .errors import printable


class Description(str):
    """Text that shows itself as it is at the prompt; names and notes of files in it are escaped."""

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        return super().__new__(cls, printable(text))

    def __repr__(self) -> str:
        return str(self)


def aligned(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """Rows of cells as lines, each column at the left, or at the right where it is in `right`."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    put = [str.rjust if k in right else str.ljust for k in range(len(widths))]
    return ["  ".join(side(x, w) for side, x, w in zip(put, row, widths, strict=True)).rstrip() for row in rows]


def notebook_html(value: Any) -> str:
    """How a notebook shows a robot or a recording; what a terminal would obey is escaped.

    The module that knows it draws, and is above the packages of what it shows: it is imported by its name, when a
    notebook asks.
    """
    text: str = import_module(".notebook", __package__).html_of(value)
    return printable(text)


class Equations(str):
    """LaTeX text that a notebook sets as equations."""

    __slots__ = ()

    def _repr_latex_(self) -> str:
        """Without comments, which a notebook would show as text."""
        return "\n".join(line for line in self.splitlines() if not line.startswith("%"))
