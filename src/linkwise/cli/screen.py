"""What a command shows: sentences and tables, with colours on a terminal, plain aligned text elsewhere."""

from __future__ import annotations

import math
import os
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from . import colour

DIGITS = 4
NOTHING = 1e-12
Cell = str | float | int | None


def say(text: str = "") -> None:
    """A sentence of the result, on stdout."""
    print(text)


def title(text: str) -> None:
    print(colour.stdout()(text, "bold"))


def note(text: str) -> None:
    """Something beside the result, such as which file was written: on stderr, so that pipes do not carry it."""
    print(colour.stderr()(text, "dim"), file=sys.stderr)


def number(x: float, digits: int = DIGITS) -> str:
    """Four digits, without a minus before zero; rounding errors are zero; - where there is no number."""
    return "-" if math.isnan(x) else f"{0.0 if abs(x) < NOTHING else float(x):.{digits}g}"


def wide(text: str) -> int:
    """Columns that it takes: accents that stand above a letter take none."""
    return sum(not unicodedata.combining(character) for character in text)


def padded(text: str, width: int, right: bool) -> str:
    pad = " " * (width - wide(text))
    return pad + text if right else text + pad


def shown(cell: Cell) -> str:
    if cell is None:
        return "-"
    return cell if isinstance(cell, str) else f"{cell}" if isinstance(cell, (int, bool)) else number(float(cell))


def is_number(cell: Cell) -> bool:
    return isinstance(cell, (int, float)) or cell is None


def table(head: Sequence[str], rows: Iterable[Sequence[Cell]], heading: str = "") -> None:
    """Columns of numbers are aligned at the right. On a terminal, one that is too wide continues below itself."""
    rows = [list(row) for row in rows]
    if heading:
        title(heading)
    right = [all(is_number(row[k]) for row in rows) and bool(rows) for k in range(len(head))]
    cells = [[shown(cell) for cell in row] for row in rows]
    width = room()
    for part in parts(head, cells, width):
        picked = [[row[k] for k in part] for row in cells]
        draw([head[k] for k in part], picked, [right[k] for k in part], width)


def room() -> int | None:
    """Columns of the terminal; None in a pipe, unless COLUMNS says how many there are."""
    if colour.on_terminal(sys.stdout) or os.environ.get("COLUMNS"):
        return shutil.get_terminal_size().columns
    return None


def parts(head: Sequence[str], cells: list[list[str]], width: int | None) -> list[list[int]]:
    """Which columns stand beside each other: all, or as many as there is room for, each time after the first one."""
    widths = [max([wide(head[k]), *(wide(row[k]) for row in cells)]) for k in range(len(head))]
    found, used = [[0]], widths[0]
    for k in range(1, len(head)):
        if width is not None and used + 2 + widths[k] > width and len(found[-1]) > 1:
            found.append([0])
            used = widths[0]
        found[-1].append(k)
        used += 2 + widths[k]
    return found


def draw(head: Sequence[str], cells: list[list[str]], right: list[bool], width: int | None) -> None:
    if colour.on_terminal(sys.stdout):
        rich_table(head, cells, right, width)
        return
    widths = [max([wide(head[k]), *(wide(row[k]) for row in cells)]) for k in range(len(head))]
    for row in [list(head), *cells]:
        line = "  ".join(padded(c, w, r) for c, w, r in zip(row, widths, right, strict=True))
        print(line.rstrip())
    print()


def rich_table(head: Sequence[str], cells: list[list[str]], right: list[bool], width: int | None) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=SIMPLE_HEAD, padding=(0, 2, 0, 0), pad_edge=False, show_edge=False, header_style="bold cyan")
    for k, name in enumerate(head):
        drawn.add_column(Text(name), justify="right" if right[k] else "left", overflow="fold")
    for row in cells:
        drawn.add_row(*(Text(cell, style="bold" if k == 0 else "") for k, cell in enumerate(row)))
    plain = None if colour.wanted(sys.stdout) else True
    Console(file=sys.stdout, width=width, no_color=plain, highlight=False).print(drawn)
    print()


def facts(pairs: Iterable[tuple[str, Any]]) -> None:
    """Names and values below each other."""
    pairs = list(pairs)
    widest = max(len(name) for name, _ in pairs)
    style = colour.stdout()
    for name, value in pairs:
        print(f"{style(name, 'cyan')}{' ' * (widest - len(name))}  {value}")
