"""Tables of comma-separated values: all reading and writing of CSV.

A table has a header, then a row for each sample; lines that begin with # are comments. Column names with commas or
quotes are quoted. Numbers are ASCII digits with a point. Errors begin with file:line. `robot.layout` maps columns to
joints.
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from .errors import FileError
from .files import atomic_write

RECORDING = "Linkwise recording"  # the key of the first comment of a recording's table
ROWS = 10_000  # converted to text at a time
LINE_END = re.compile(r"\r\n|\r|\n")  # as in editors; str.splitlines has more line ends
Row = tuple[int, list[str]]  # line number and cells


def parse_number(text: str) -> float:
    """Parse a number in ASCII digits, as other programs do; only Python reads 1_0 as ten."""
    if "_" in text or not text.isascii():
        raise ValueError(f"{text!r} is not a number")
    return float(text)


def is_number(text: str, finite: bool = True) -> bool:
    """Whether a text is a number, and finite if required."""
    try:
        return math.isfinite(parse_number(text)) or not finite
    except ValueError:
        return False


def read_text(file: Path) -> str:
    try:
        return decode(file, file.read_bytes())
    except OSError as error:
        raise FileError(f"{file}: cannot be read ({error.strerror})") from None


def decode(file: Path, content: bytes) -> str:
    """Decode a file in UTF-8, with or without a byte order mark."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FileError(f"{file}:{line}: is not text (expected a table of comma-separated numbers in UTF-8)") from None


def split_rows(text: str, delimiter: str = ",") -> list[Row]:
    """Split a table into rows with line numbers; comments are empty rows."""
    lines = LINE_END.split(text.removesuffix("\n"))
    reader = csv.reader(("" if line.startswith("#") else line for line in lines), delimiter=delimiter)
    return [(reader.line_num, row) for row in reader]


def comments_of(text: str) -> list[tuple[int, str]]:
    """The comment lines of a table, with line numbers and without #."""
    return [(k, line[1:].strip()) for k, line in enumerate(LINE_END.split(text), 1) if line.startswith("#")]


class Table(NamedTuple):
    """A header and the rows below it."""

    file: Path
    line: int  # of the header, or the last line without one
    names: list[str]
    rows: list[Row]

    @property
    def where(self) -> str:
        """File and line of the header, for errors."""
        return f"{self.file}:{self.line}"

    def numbers(
        self, names: Sequence[str] | None = None, picked: Iterable[int] | None = None, finite: bool = True
    ) -> list[list[float]]:
        """The rows as numbers. `names` are those of all columns; `picked` columns are returned in order."""
        names = self.names if names is None else names
        columns = range(len(names)) if picked is None else list(picked)
        parsed = []
        for line, cells in self.rows:
            if len(cells) != len(names):
                listed = ", ".join(names)
                raise FileError(f"{self.file}:{line}: has {len(cells)} cells (expected {len(names)}: {listed})")
            try:
                row = [parse_number(cells[k]) for k in columns]
            except ValueError:
                row = None
            if row is None or (finite and not all(map(math.isfinite, row))):
                name, cell = next((names[k], cells[k]) for k in columns if not is_number(cells[k], finite))
                expected = "a finite number" if finite else "a number, or nan"
                raise FileError(f"{self.file}:{line}: column {name!r} is {cell!r} (expected {expected})")
            parsed.append(row)
        return parsed


def parse_table(file: Path, text: str, strip: bool = True) -> Table:
    """Parse a table; the first row that is not empty is the header. `strip` removes spaces around cells."""
    rows = [(line, [cell.strip() for cell in row] if strip else row) for line, row in split_rows(text)]
    filled = [(line, row) for line, row in rows if any(row)]
    if not filled:
        return Table(file, max((line for line, _ in rows), default=1), [], [])
    (line, names), *below = filled
    return Table(file, line, names, below)


def read_table(file: Path) -> Table:
    return parse_table(file, read_text(file))


def refuse_separator(where: str, names: Sequence[str]) -> None:
    """Raise if the header is one cell with semicolons or tabs, as some spreadsheets write tables."""
    for sign, word in ((";", "semicolons"), ("\t", "tabs")):
        if len(names) == 1 and sign in names[0]:
            raise FileError(f"{where}: {word} stand between the columns (expected commas, and points in numbers)")


def write_table(file: BinaryIO, columns: Mapping[str, Any], comments: Iterable[str] = ()) -> None:
    """Write comments, the column names, and a row for each entry of the arrays, with all digits."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    text.writelines(f"# {comment}\n" for comment in comments)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for start in range(0, max(map(len, columns.values()), default=0), ROWS):
        part = (column[start : start + ROWS].tolist() for column in columns.values())
        writer.writerows(zip(*part, strict=True))
    text.detach()


def save_table(path: str | os.PathLike[str], columns: Mapping[str, Any]) -> None:
    """Write a table atomically: an interruption leaves an earlier file unchanged."""
    with atomic_write(Path(path)) as file:
        write_table(file, columns)
