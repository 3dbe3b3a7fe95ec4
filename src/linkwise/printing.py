"""Functions whose result is text to read: `lw.describe`, `lw.cite`, `Recording.summary` and `Loads.peaks`.

The rule: such a call prints its result if it stands on a line of its own, at the prompt and in a script; used as a
value (`text = lw.describe(arm)`, `print(lw.describe(arm))`) it is the text and prints nothing.

At the prompt, in a doctest and on the last line of a notebook's cell Python shows the value itself. Everywhere else a
value that is not used is dropped, and a function cannot tell that from its arguments. It can tell it from the code of
its caller: a call whose value is dropped is followed by the instruction POP_TOP.
"""

from __future__ import annotations

import dis
import sys
from importlib import import_module
from typing import Any, Self, TypeVar

from .errors import printable

Printed = TypeVar("Printed")


class Description(str):
    """Text that shows itself as it is at the prompt; names and notes of files in it are escaped."""

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        return super().__new__(cls, printable(text))

    def __repr__(self) -> str:
        return str(self)


def print_if_dropped(result: Printed) -> Printed:
    """The result of a public function, which calls this last; printed first where its caller drops the value."""
    caller = sys._getframe(2)
    following = (step.opname for step in dis.get_instructions(caller.f_code) if step.offset > caller.f_lasti)
    if next(following, "") == "POP_TOP":
        print(result)
    return result


def notebook_html(value: Any) -> str:
    """How a notebook shows a robot or a recording.

    The module that knows it draws, and is above the packages of what it shows: it is imported by its name, when a
    notebook asks.
    """
    text: str = import_module(".notebook", __package__).html_of(value)
    return text


class Equations(str):
    """LaTeX text that a notebook sets as equations."""

    __slots__ = ()

    def _repr_latex_(self) -> str:
        """Without comments, which a notebook would show as text."""
        return "\n".join(line for line in self.splitlines() if not line.startswith("%"))
