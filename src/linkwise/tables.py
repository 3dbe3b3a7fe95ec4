"""Tables of comma-separated values: their rows and their numbers."""

from __future__ import annotations

import csv
import math
from pathlib import Path

from .errors import FileError


def csv_rows(file: Path, delimiter: str = ",") -> list[tuple[int, list[str]]]:
    """The rows of a table, each with its line; lines that begin with # are comments."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise FileError(f"{file}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise FileError(f"{file}: is not text (expected a table of comma-separated numbers in UTF-8)") from None
    lines = ("" if line.startswith("#") else line for line in text.splitlines())
    reader = csv.reader(lines, delimiter=delimiter)
    return [(reader.line_num, row) for row in reader]


def parse_number(text: str) -> float:
    """A number in ASCII digits, as other programs read it; Python alone reads 1_0 as ten."""
    if "_" in text or not text.isascii():
        raise ValueError(f"{text!r} is not a number")
    return float(text)


def is_number(text: str) -> bool:
    """Whether a text is a finite number."""
    try:
        return math.isfinite(parse_number(text))
    except ValueError:
        return False
