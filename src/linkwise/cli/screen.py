"""Output of commands: sentences and tables. On a terminal rich lays tables out, elsewhere they are plain text.

Characters that the encoding of stdout lacks, as on Windows, are spelled out in ASCII.
"""

from __future__ import annotations

import codecs
import io
import math
import os
import re
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

import typer

from ..errors import printable
from ..printing import display_width

DIGITS = 4
NOTHING = 1e-12  # relative size below which a number is printed as 0
FOLDED = 30  # smallest width of a column that wraps
Cell = str | float | int | None
HANDLER = "linkwise.spell"
SPELLED = {
    "λ": "lambda", "Δ": "d", "Σ": "sum", "∂": "d", "·": "*", "×": "x", "–": "-", "—": "-", "−": "-", "…": "...",
    "≤": "<=", "≥": ">=", "±": "+-", "→": "->", "µ": "u", "μ": "u", "°": " deg", "ł": "l", "Ł": "L", "✓": "ok",
    "✗": "no", "⁻": "^-", "ᵀ": "'", "‘": "'", "’": "'", "“": '"', "”": '"', "─": "-", "━": "-", "│": "|", "½": "1/2",
    "\u0302": "^", "\u0303": "~", "\u0304": "-", "\u0307": "'", "\u0308": "''",
}  # fmt: skip
no_colours = False  # set by --no-color


class Gap:
    """A blank line after a table, if something follows it."""

    due = False

    def close(self) -> None:
        if self.due:
            emit()
        self.due = False


gap = Gap()


def on_terminal(stream: IO[str]) -> bool:
    """Whether a person reads the stream."""
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


def has_colours(stream: IO[str]) -> bool:
    off = no_colours or bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return on_terminal(stream) and not off


def style(text: str, look: str, stream: IO[str] | None = None) -> str:
    """The text in a look such as "bold red", where the stream has colours."""
    if not look or not has_colours(stream or sys.stdout):
        return text
    marks = {word: True for word in look.split() if word in ("bold", "dim")}
    return typer.style(text, fg=next((word for word in look.split() if word not in marks), None), **marks)


def emit(text: str = "", look: str = "", *, error: bool = False, end: str = "\n") -> None:
    """Print text with control characters escaped. Commands write to stdout and stderr by this function alone."""
    stream = sys.stderr if error else sys.stdout
    print(style(printable(text), look, stream), file=stream, end=end)


def echo(text: str = "") -> None:
    """Print lines of the result on stdout."""
    gap.close()
    emit(text)


def wrap(text: str, first: str = "", others: str = "") -> list[str]:
    """Lines as wide as the terminal, with indents `first` and `others`; one line in a pipe."""
    width = terminal_width()
    if width is None:
        return [first + text]
    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=others, break_on_hyphens=False)


def print_sentence(text: str, others: str = "") -> None:
    """Print a sentence of the result, wrapped on a terminal; `others` indents later lines."""
    echo("\n".join(wrap(text, others=others)))


def footnote(text: str, others: str = "") -> None:
    """Print a sentence right below a table."""
    gap.due = False
    print_sentence(text, others)
    gap.due = True


def print_title(text: str) -> None:
    """Print a heading."""
    gap.close()
    for line in wrap(text):
        emit(line, "bold")


def note(text: str) -> None:
    """Print a remark, such as which file was written, on stderr: pipes carry results alone."""
    emit(text, "dim", error=True)


def warn(text: str) -> None:
    """Print a warning on stderr."""
    emit("warning:", "bold yellow", error=True, end=" ")
    emit(text, error=True)


def complain(text: str) -> None:
    """Print an error on stderr, wrapped between words on a terminal."""
    if on_terminal(sys.stderr):
        width = shutil.get_terminal_size().columns
        lines = f"error: {text}".splitlines()
        text = "\n".join(textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False) for line in lines)
        text = text.removeprefix("error:").lstrip()
    emit("error:", "bold red", error=True, end=" ")
    emit(text, error=True)


def format_number(x: float, digits: int = DIGITS, size: float = 1.0) -> str:
    """Four digits; 0 for -0.0 and for rounding errors relative to `size`; - for NaN."""
    return "-" if math.isnan(x) else f"{0.0 if abs(x) < NOTHING * size else float(x) + 0.0:.{digits}g}"


def cell_text(cell: Cell) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, str):
        return printable(cell)
    return f"{cell}" if isinstance(cell, int) else format_number(float(cell))


def is_numeric(cell: Cell) -> bool:
    """Whether a cell is a number, also as text; * marks a variable, % may follow."""
    if not isinstance(cell, str):
        return True
    try:
        return cell == "-" or float(cell.removeprefix("> ").rstrip("* %")) is not None
    except ValueError:
        return False


def print_table(head: Sequence[str], rows: Iterable[Sequence[Cell]], heading: str = "") -> None:
    """Print a table, numbers aligned at the right. Columns that do not fit the terminal follow below."""
    head, rows = [printable(name) for name in head], [list(row) for row in rows]
    gap.close()
    if heading:
        print_title(heading)
    right = [all(is_numeric(row[k]) for row in rows) and bool(rows) for k in range(len(head))]
    cells = [[cell_text(cell) for cell in row] for row in rows]
    width = terminal_width()
    for part in column_groups(head, cells, width, folds=not right[-1]):
        gap.close()
        picked = [[row[k] for k in part] for row in cells]
        draw_table([head[k] for k in part], picked, [right[k] for k in part], width)
        gap.due = True


def terminal_width() -> int | None:
    """Columns of the terminal; None in a pipe where COLUMNS is not set."""
    if on_terminal(sys.stdout) or os.environ.get("COLUMNS"):
        return shutil.get_terminal_size().columns
    return None


def column_groups(head: Sequence[str], cells: list[list[str]], width: int | None, folds: bool) -> list[list[int]]:
    """Groups of columns that fit the terminal side by side, each with the first column.

    `folds`: the last column is text, which wraps.
    """
    widths = [max([display_width(head[k]), *(display_width(row[k]) for row in cells)]) for k in range(len(head))]
    if folds and width is not None:
        widths[-1] = min(widths[-1], FOLDED)
    groups, width_used = [[0]], widths[0]
    for k in range(1, len(head)):
        if width is not None and width_used + 2 + widths[k] > width and len(groups[-1]) > 1:
            groups.append([0])
            width_used = widths[0]
        groups[-1].append(k)
        width_used += 2 + widths[k]
    return groups


def draw_table(head: Sequence[str], cells: list[list[str]], right: list[bool], width: int | None) -> None:
    if width is not None:
        rich_table(head, cells, right, width)
        return
    widths = [max([display_width(head[k]), *(display_width(row[k]) for row in cells)]) for k in range(len(head))]
    for row in [head, *cells]:
        pads = [" " * (widths[k] - display_width(cell)) for k, cell in enumerate(row)]
        emit("  ".join(p + c if r else c + p for c, p, r in zip(row, pads, right, strict=True)).rstrip())


def rich_table(head: Sequence[str], cells: list[list[str]], right: list[bool], width: int) -> None:
    """Print a table with colours. rich takes a millisecond a row."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold cyan")
    for k, name in enumerate(head):
        justify, last = "right" if right[k] else "left", k == len(head) - 1
        drawn.add_column(Text(name), justify=justify, no_wrap=not last or right[k])
    for row in cells:
        drawn.add_row(*(Text(cell, style="bold" if k == 0 else "") for k, cell in enumerate(row)))
    colours = has_colours(sys.stdout)
    Console(file=sys.stdout, width=width, force_terminal=colours, no_color=not colours, highlight=False).print(drawn)


def print_facts(pairs: Iterable[tuple[str, Any]]) -> None:
    """Print names and values, a line for each."""
    gap.close()
    pairs = [(printable(name), str(value)) for name, value in pairs]
    widest = max(len(name) for name, _ in pairs)
    width = terminal_width()
    for name, value in pairs:
        first, *rest = textwrap.wrap(value, max(20, width - widest - 2)) if width and value else [value]
        emit(name, "cyan", end=" " * (widest - len(name) + 2))
        emit(first)
        for line in rest:
            emit(f"{' ' * widest}  {line}")


@contextmanager
def tolerate_closed_pipe() -> Iterator[None]:
    """Print within this, then write files: they are written also where the reader of a pipe leaves (`| head`)."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        silence_stdout()


def silence_stdout() -> None:
    """Send stdout to nowhere after the reader of a pipe left, so that Python does not complain at its end."""
    try:
        stream = sys.stdout.fileno()
    except OSError:  # stdout is no file
        return
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, stream)
    os.close(devnull)


def ascii_spelling(character: str) -> str:
    """ASCII for a character; ? where there is none."""
    if character in SPELLED:
        return SPELLED[character]
    greek = re.fullmatch(r"GREEK (SMALL|CAPITAL) LETTER (\w+)", unicodedata.name(character, ""))
    if greek:
        return greek[2].lower() if greek[1] == "SMALL" else greek[2].capitalize()
    parts = unicodedata.normalize("NFKD", character)
    return "".join(part if part.isascii() else SPELLED.get(part, "") for part in parts) or "?"


def spell_unencodable(error: UnicodeError) -> tuple[str, int]:
    """Error handler of codecs: spell out what cannot be encoded."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(ascii_spelling, error.object[error.start : error.end])), error.end


def as_stdout_shows(text: str) -> str:
    """The text as stdout shows it, for libraries that print with another encoding."""
    name = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(name, HANDLER).decode(name)


def install_spelling() -> None:
    """From now on, printing never raises a UnicodeEncodeError."""
    codecs.register_error(HANDLER, spell_unencodable)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=HANDLER)


ARGUMENTS = (  # whose options have the same names
    "base|cutoff|degrees|delay|dt|first_step|friction|gains|ignore|integrator|mimic|minimum_speed|offset|physical|regularization"
    "|torque_cutoff|unphysical|urdf_rotors"
)
ARGUMENT = re.compile(rf"""\b({ARGUMENTS})=(?:(\.\.\.|True\b)|(False\b)|\[?"([^"\]]*)"\]?|(-?\d[.\d]*(?<!\.)))""")
COMMAND_LINE: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"limits=\{'position': \{'([^']+)': \(lower, upper\)\}\}", r"--position \1=LOWER:UPPER"),
    (r"\(-np\.inf, np\.inf\) if it turns", "-inf:inf if it turns"),
    (r"limits=\{'velocity': \{'([^']+)': \.\.\.\}\}", r"--velocity \1=NUMBER"),
    (r"limits\['(\w+)'\]", r"--\1"),
    (r"\ba smaller margin\b", "a smaller --margin"),
    (r"columns=\{'(\w+)': \[?\.\.\.\]?\}", r"--columns \1=NAMES"),
    (
        r"columns=\{'t': 0, 'q': \[1, \.\.\.\], 'tau': \[\.\.\.\]\}",
        "--columns t=0 --columns q=1,2,... --columns tau=...",
    ),
    (r"\b(columns|free) has (?=')", r"--\1 has "),
    (r"\bphysical=True finds\b", "without --no-physical it finds"),
    (r"; fit\.payload\('([^']+)'\) (gives|then gives)", r"; --frame \1 \2"),
    (r"\bslower than minimum_speed\b", "slower than --minimum-speed"),
    (r"\bwith_payload\(mass, com\) is\b", "--payload KG,X,Y,Z is"),
    (r"fit\.predict includes them, fit\.robot and its file do not", "the robot that --save writes has none"),
    (r"\brecorded_rates=False\b", "--no-rates"),
    (r"lw\.LIBRARY lists", "linkwise robots lists"),
    (r"robot\.with_gravity\(\(([^()]*)\)\)", lambda found: f"--gravity {found[1].replace(' ', '')}"),
    (r"(?<=as many as )max_steps allows", "--max-steps allows"),
    (r"\(expected joints that move on their own\)", "(expected joints that move on their own: --mimic independent)"),
    (r"urdf_rotors belongs", "--urdf-rotors belongs"),
    (r"expected a shorter duration", "expected a shorter --duration"),
    (r"a larger speed or a smaller fps", "a larger --speed or a smaller --fps"),
)


def to_command_line(text: str) -> str:
    """A message with options of the command line in place of arguments of functions."""
    for pattern, words in COMMAND_LINE:
        text = re.sub(pattern, words, text)
    return ARGUMENT.sub(option_text, text)


def option_text(given: re.Match[str]) -> str:
    """--cutoff, --no-friction or --mimic independent for cutoff=..., friction=False and mimic="independent"."""
    name, _, off, word, number = given.groups()
    return f"--{'no-' if off else ''}{name.replace('_', '-')}{f' {word or number}' if word or number else ''}"
