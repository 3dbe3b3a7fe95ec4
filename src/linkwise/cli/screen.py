"""What a command shows: sentences and tables; rich lays tables out on a terminal, elsewhere they are plain text.

What a terminal or pipe cannot hold, as under many Windows encodings, is spelled out in ASCII.
"""

from __future__ import annotations

import codecs
import io
import math
import os
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

import typer

from ..errors import printable

DIGITS = 4
NOTHING = 1e-12  # of what a number is small beside
FOLDED = 30  # columns that a text which may be broken needs
Cell = str | float | int | None
HANDLER = "linkwise.spell"
SPELLED = {
    "τ": "tau", "θ": "theta", "ν": "nu", "ξ": "xi", "ψ": "psi", "Ψ": "Psi", "λ": "lambda", "ω": "omega", "π": "pi",
    "α": "alpha", "Δ": "d", "Σ": "sum", "·": "*", "×": "x", "–": "-", "—": "-", "−": "-", "…": "...", "≤": "<=",
    "≥": ">=", "±": "+-", "→": "->", "µ": "u", "μ": "u", "°": " deg", "ł": "l", "Ł": "L", "✓": "ok", "✗": "no",
    "⁻": "^-", "ᵀ": "'", "‘": "'", "’": "'", "“": '"', "”": '"', "─": "-", "━": "-", "│": "|", "½": "1/2",
    "\u0302": "^", "\u0303": "~", "\u0304": "-", "\u0307": "'", "\u0308": "''",
}  # fmt: skip
colourless = False  # by --no-color


class Gap:
    """A blank line after a table, if something follows it."""

    due = False

    def close(self) -> None:
        if self.due:
            emit()
        self.due = False


gap = Gap()


def on_terminal(stream: IO[str]) -> bool:
    """Whether a person reads it."""
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


def coloured(stream: IO[str]) -> bool:
    off = colourless or bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return on_terminal(stream) and not off


def styled(text: str, look: str, stream: IO[str] | None = None) -> str:
    """The text in these looks, such as "bold red", where a person reads it in colour."""
    if not look or not coloured(stream or sys.stdout):
        return text
    marks = {word: True for word in look.split() if word in ("bold", "dim")}
    return typer.style(text, fg=next((word for word in look.split() if word not in marks), None), **marks)


def emit(text: str = "", look: str = "", *, error: bool = False, end: str = "\n") -> None:
    """Print text as it is, with escapes of control characters: the one way of a command to stdout and stderr."""
    stream = sys.stderr if error else sys.stdout
    print(styled(printable(text), look, stream), file=stream, end=end)


def echo(text: str = "") -> None:
    """Lines of the result, on stdout."""
    gap.close()
    emit(text)


def wrapped(text: str, first: str = "", others: str = "") -> list[str]:
    """Lines as wide as the terminal, with these indents; one line in a pipe."""
    width = room()
    if width is None:
        return [first + text]
    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=others, break_on_hyphens=False)


def sentence(text: str, others: str = "") -> None:
    """A line of the result that may be broken where a terminal is narrow; `others` indents later lines."""
    echo("\n".join(wrapped(text, others=others)))


def below(text: str, others: str = "") -> None:
    """A sentence that belongs to the table above it."""
    gap.due = False
    sentence(text, others)
    gap.due = True


def title(text: str) -> None:
    """The heading of what follows."""
    gap.close()
    for line in wrapped(text):
        emit(line, "bold")


def note(text: str) -> None:
    """Something beside the result, such as which file was written: on stderr, so that pipes do not carry it."""
    emit(text, "dim", error=True)


def warn(text: str) -> None:
    """What is probably not meant, on stderr."""
    emit("warning:", "bold yellow", error=True, end=" ")
    emit(text, error=True)


def complain(text: str) -> None:
    """What went wrong, on stderr: on a terminal in lines that are not broken within words."""
    if on_terminal(sys.stderr):
        width = shutil.get_terminal_size().columns
        lines = f"error: {text}".splitlines()
        text = "\n".join(textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False) for line in lines)
        text = text.removeprefix("error:").lstrip()
    emit("error:", "bold red", error=True, end=" ")
    emit(text, error=True)


def number(x: float, digits: int = DIGITS, size: float = 1.0) -> str:
    """Four digits, without a minus before zero; rounding errors beside the size are zero; - if there is none."""
    return "-" if math.isnan(x) else f"{0.0 if abs(x) < NOTHING * size else float(x) + 0.0:.{digits}g}"


def wide(text: str) -> int:
    """Columns that it takes: accents that stand above a letter take none."""
    return sum(not unicodedata.combining(character) for character in text)


def cell_text(cell: Cell) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, str):
        return printable(cell)
    return f"{cell}" if isinstance(cell, int) else number(float(cell))


def is_number(cell: Cell) -> bool:
    """Also as text; * marks a variable, % may follow."""
    if not isinstance(cell, str):
        return True
    try:
        return cell == "-" or float(cell.removeprefix("> ").rstrip("* %")) is not None
    except ValueError:
        return False


def table(head: Sequence[str], rows: Iterable[Sequence[Cell]], heading: str = "") -> None:
    """Columns of numbers are aligned at the right. On a terminal, one that is too wide continues below itself."""
    head, rows = [printable(name) for name in head], [list(row) for row in rows]
    gap.close()
    if heading:
        title(heading)
    right = [all(is_number(row[k]) for row in rows) and bool(rows) for k in range(len(head))]
    cells = [[cell_text(cell) for cell in row] for row in rows]
    width = room()
    for part in parts(head, cells, width, folds=not right[-1]):
        gap.close()
        picked = [[row[k] for k in part] for row in cells]
        draw([head[k] for k in part], picked, [right[k] for k in part], width)
        gap.due = True


def room() -> int | None:
    """Columns of the terminal; None in a pipe, unless COLUMNS says how many there are."""
    if on_terminal(sys.stdout) or os.environ.get("COLUMNS"):
        return shutil.get_terminal_size().columns
    return None


def parts(head: Sequence[str], cells: list[list[str]], width: int | None, folds: bool) -> list[list[int]]:
    """Which columns stand beside each other: all, or as many as there is room for, each time after the first one.

    The last one may be text, which folds.
    """
    widths = [max([wide(head[k]), *(wide(row[k]) for row in cells)]) for k in range(len(head))]
    if folds and width is not None:
        widths[-1] = min(widths[-1], FOLDED)
    found, used = [[0]], widths[0]
    for k in range(1, len(head)):
        if width is not None and used + 2 + widths[k] > width and len(found[-1]) > 1:
            found.append([0])
            used = widths[0]
        found[-1].append(k)
        used += 2 + widths[k]
    return found


def draw(head: Sequence[str], cells: list[list[str]], right: list[bool], width: int | None) -> None:
    if width is not None:
        rich_table(head, cells, right, width)
        return
    widths = [max([wide(head[k]), *(wide(row[k]) for row in cells)]) for k in range(len(head))]
    for row in [head, *cells]:
        pads = [" " * (widths[k] - wide(cell)) for k, cell in enumerate(row)]
        emit("  ".join(p + c if r else c + p for c, p, r in zip(row, pads, right, strict=True)).rstrip())


def rich_table(head: Sequence[str], cells: list[list[str]], right: list[bool], width: int) -> None:
    """For people: rich needs a millisecond for a row."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold cyan")
    for k, name in enumerate(head):
        justify, last = "right" if right[k] else "left", k == len(head) - 1
        drawn.add_column(Text(name), justify=justify, no_wrap=not last or right[k])
    for row in cells:
        drawn.add_row(*(Text(cell, style="bold" if k == 0 else "") for k, cell in enumerate(row)))
    colours = coloured(sys.stdout)
    Console(file=sys.stdout, width=width, force_terminal=colours, no_color=not colours, highlight=False).print(drawn)


def facts(pairs: Iterable[tuple[str, Any]]) -> None:
    """Names and values below each other."""
    gap.close()
    pairs = [(printable(name), str(value)) for name, value in pairs]
    widest = max(len(name) for name, _ in pairs)
    width = room()
    for name, value in pairs:
        first, *rest = textwrap.wrap(value, max(20, width - widest - 2)) if width and value else [value]
        emit(name, "cyan", end=" " * (widest - len(name) + 2))
        emit(first)
        for line in rest:
            emit(f"{' ' * widest}  {line}")


@contextmanager
def shown() -> Iterator[None]:
    """What is shown before files are written: these are written even if the reader of a pipe goes away (`| head`)."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        silence_stdout()


def silence_stdout() -> None:
    """The reader of a pipe went away (`| head`): nothing more is written, and Python does not complain at its end."""
    try:
        stream = sys.stdout.fileno()
    except OSError:  # a stream of Python alone
        return
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, stream)
    os.close(devnull)


def spelled(character: str) -> str:
    """ASCII that says the same; ? where there is none."""
    if character in SPELLED:
        return SPELLED[character]
    parts = unicodedata.normalize("NFKD", character)
    return "".join(part if part.isascii() else SPELLED.get(part, "") for part in parts) or "?"


def spell(error: UnicodeError) -> tuple[str, int]:
    """The error handler: what cannot be encoded is spelled out."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(spelled, error.object[error.start : error.end])), error.end


def encodable(text: str) -> str:
    """The text as stdout will show it; for what others print there, who would choose another encoding."""
    name = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(name, HANDLER).decode(name)


def never_fail() -> None:
    """From now on nothing that is printed raises a UnicodeEncodeError."""
    codecs.register_error(HANDLER, spell)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=HANDLER)
