"""Colour where a person reads: on a terminal, unless NO_COLOR or --no-color forbid it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import IO

CODES = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "cyan": 36}
forbidden = False  # by --no-color

Style = Callable[[str, str], str]


def on_terminal(stream: IO[str]) -> bool:
    """Whether a person reads it."""
    return bool(os.environ.get("FORCE_COLOR")) or (hasattr(stream, "isatty") and stream.isatty())


def wanted(stream: IO[str]) -> bool:
    off = forbidden or bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return on_terminal(stream) and not off


def painted(text: str, look: str) -> str:
    codes = ";".join(str(CODES[word]) for word in look.split())
    return f"\x1b[{codes}m{text}\x1b[0m"


def unpainted(text: str, look: str) -> str:
    return text


def stdout() -> Style:
    return painted if wanted(sys.stdout) else unpainted


def stderr() -> Style:
    return painted if wanted(sys.stderr) else unpainted
