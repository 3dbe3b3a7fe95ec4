"""Warnings that point to the line of the user's code that called the package."""

from __future__ import annotations

import sys
import warnings

from .errors import printable

PACKAGE = __name__.partition(".")[0]


def warn(message: str) -> None:
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == PACKAGE:
        frame, level = frame.f_back, level + 1
    warnings.warn(printable(message), UserWarning, stacklevel=level)
