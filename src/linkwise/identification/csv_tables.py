"""Recordings from tables of text: a header, then numbers between commas, or between semicolons with decimal commas."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..errors import FileError
from ..tables import Row, is_number, parse_number, read_text, refuse_separator, split_rows
from .columns import time_unit
from .recorded import Arrays

SEMICOLON = ";"
MISSING = ("nan", "na", "n/a", "null", "none", "-")  # what stands for no number
Words = dict[str, tuple[int, str]]  # of columns that have text: the line of the first one, and that text


def csv_table(path: Path, numbered: bool = False) -> tuple[Arrays, Words]:
    """The columns of a file by the names of its header, and which of them have cells that are no numbers.

    `numbered`: the file may have no header; its columns are then called 0, 1, ...
    """
    names: list[str] = []
    rows: list[list[float]] = []
    words: Words = {}
    for line, row in rows_of(path):
        cells = [cell.strip() for cell in row]
        if not names and len(cells) > 1 and time_unit(cells[0].removeprefix("%")) is not None:
            cells[0] = cells[0].removeprefix("%")  # %time
        if not any(cells) or cells[0].startswith("%"):
            continue
        if not names:
            names = cells[:-1] if not cells[-1] else cells
            bare = all(map(is_number, names))
            if bare and not numbered:
                raise FileError(
                    f"{path}:{line}: the first row is of numbers (expected a header with the names of the columns, in a"
                    " line that is no comment: t, q1, ..., tau1, ...; or columns={'t': 0, 'q': [1, ...], 'tau': [...]}"
                    " by their numbers, from 0)"
                )
            refuse_separator(f"{path}:{line}", names)
            if bare:
                names, rows = [str(k) for k in range(len(names))], [list(map(float, names))]
                continue
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                raise FileError(f"{path}:{line}: column {twice!r} occurs twice")
            continue
        if len(cells) == len(names) + 1 and not cells[-1]:  # a comma ends each line
            cells.pop()
        if len(cells) != len(names):
            raise FileError(f"{path}:{line}: has {len(cells)} cells (expected {len(names)}, as the header has)")
        try:
            rows.append(list(map(parse_number, cells)))
        except ValueError:
            rows.append([number_or_nan(cell) for cell in cells])
            for name, cell in zip(names, cells, strict=True):
                if cell and name not in words and np.isnan(number_or_nan(cell)) and cell.lower() not in MISSING:
                    words[name] = line, cell
    if not rows:
        raise FileError(f"{path}: has no rows of numbers (expected a header, then a row for each sample)")
    return dict(zip(names, np.array(rows).T, strict=True)), words


def rows_of(path: Path) -> list[Row]:
    """The rows of a file with their lines.

    Spreadsheets of many countries write semicolons between columns, and decimal commas. A table is taken for such a one
    if its header has semicolons alone, and its numbers commas alone or points alone.
    """
    text = read_text(path)
    rows = split_rows(text)
    first = next((row for _, row in rows if any(row) and not row[0].startswith("%")), [])
    bare = is_numbers(",".join(first).split(SEMICOLON))
    if SEMICOLON not in "".join(first) or (len(first) > 1 and not bare):
        return rows
    parted = split_rows(text, SEMICOLON)
    header = 0 if bare else next(k for k, (_, row) in enumerate(parted) if any(row) and not row[0].startswith("%")) + 1
    points, commas = (any(sign in cell for _, row in parted[header:] for cell in row) for sign in ".,")
    if points and commas:
        return rows  # which of them begins the decimals is not known
    numbers = [(line, [cell.replace(",", ".") for cell in row]) for line, row in parted[header:]]
    return [*parted[:header], *numbers]


def is_numbers(cells: Sequence[str]) -> bool:
    """Whether cells are numbers with decimal commas, as in a table without a header."""
    return all(is_number(cell.replace(",", ".")) for cell in cells if cell)


def number_or_nan(cell: str) -> float:
    """Columns of text may stand in a table; those that are used are checked for numbers that are not finite."""
    try:
        return parse_number(cell)
    except ValueError:
        return float("nan")
