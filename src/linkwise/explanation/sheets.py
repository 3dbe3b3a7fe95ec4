"""Quantities as text, LaTeX and HTML. Stacked matrices are shown by their blocks: where they are, and then each one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ..printing import align_columns, display_width
from ..robot import Robot
from ..robot.symbols import is_expression
from ..symbolic.equations import Expressions, Intermediates
from ..symbolic.latex.format import decimal
from ..symbolic.latex.names import ARRAYS
from ..symbolic.latex.program import ABBREVIATED, SINE, display_equations
from .definitions import KOZLOWSKI, Blocks
from .identities import is_sympy
from .quantities import Quantity

Texts = Mapping[int, str]  # of nodes, by index
NO_EXPRESSIONS: Texts = {}
NOISE = 1e-13  # relative to the largest coefficient of a closed form: terms below are rounding errors
MAX_WIDTH = 120  # characters of a row; a matrix with longer ones is shown element by element
MOST_FOLDED = 60  # values of a quantity that unfold in HTML
LONG = 9  # links beyond which indices are separated by commas


class Part(NamedTuple):
    """One value of a quantity, with its label, or the pattern of a stacked matrix: texts in rows."""

    label: str
    latex: str  # left side of the equation
    value: Any
    pattern: tuple[list[list[str]], list[list[str]]] | None = None  # as text and as LaTeX


def parts_of(quantity: Quantity, robot: Robot) -> Iterator[Part]:
    """The values of a quantity with their labels."""
    blocks = quantity.definition.blocks
    for key, value in quantity.values.items():
        if blocks is not None:
            yield from block_parts(quantity, blocks, value)
            continue
        label = ", ".join(robot.links[i].name for i in key)
        index = ("," if robot.n > LONG else "").join(str(i + 1) for i in key)
        yield Part(label, f"{quantity.latex}_{{{index}}}" if index else quantity.latex, value)


def block_parts(quantity: Quantity, blocks: Blocks, matrix: list[list[Any]]) -> Iterator[Part]:
    """The pattern of a stacked matrix, and each block that is neither zero nor an identity."""
    rows, columns = len(matrix) // blocks.rows, len(matrix[0]) // blocks.columns
    cells = {
        (i, j): [
            row[blocks.columns * j : blocks.columns * (j + 1)]
            for row in matrix[blocks.rows * i : blocks.rows * (i + 1)]
        ]
        for i in range(rows)
        for j in range(columns)
    }
    kept = {key: block for key, block in cells.items() if not is_constant(block, 0.0)}
    diagonal = all(i == j for i, j in kept)
    text, latex, named = [], [], []
    for i in range(rows):
        text.append(["0"] * columns)
        latex.append([r"\mathbf{O}"] * columns)
        for j in range(columns):
            if (i, j) not in kept:
                continue
            if i == j and is_constant(cells[i, j], 1.0):
                text[i][j], latex[i][j] = "1", r"\mathbf{1}"
                continue
            index = str(i + 1) if diagonal else f"{i + 1}{',' if max(rows, columns) > LONG else ''}{j + 1}"
            text[i][j], latex[i][j] = f"{blocks.symbol}_{index}", f"{blocks.latex}_{{{index}}}"
            named.append(Part(text[i][j], latex[i][j], in_shape(cells[i, j])))
    yield Part("", quantity.latex, None, (text, latex))
    yield from named


def is_constant(block: list[list[Any]], diagonal: float) -> bool:
    """Whether the block is `diagonal` times the identity, as constants."""
    return all(
        isinstance(x, float) and x == (diagonal if i == j or not diagonal else 0.0)
        for i, row in enumerate(block)
        for j, x in enumerate(row)
    )


def in_shape(block: list[list[Any]]) -> Any:
    """A number, a vector or a matrix."""
    if len(block[0]) == 1:
        column = [row[0] for row in block]
        return column if len(column) > 1 else column[0]
    return block[0] if len(block) == 1 else block


def nodes_of(quantity: Quantity) -> list[Any]:
    """The expressions among the numbers of a quantity, each once."""
    nodes: dict[int, Any] = {}

    def visit(x: Any) -> None:
        if isinstance(x, list):
            for part in x:
                visit(part)
        elif is_expression(x):
            nodes[x.index] = x

    for value in quantity.values.values():
        visit(value)
    return list(nodes.values())


class Symbols(NamedTuple):
    """How symbols are printed: masses, which stand first, and those of the state by their array and place."""

    masses: frozenset[str] = frozenset()
    state: Mapping[str, tuple[str, int]] = MappingProxyType({})

    @property
    def components(self) -> dict[str, list[str]]:
        """The LaTeX of symbols of the state with the usual names: qd1 is \\dot{q}_{1}."""
        usual = {name: place for name, place in self.state.items() if name == f"{place[0]}{place[1] + 1}"}
        return {name: [f"{ARRAYS[array]}_{{{k + 1}}}"] for name, (array, k) in usual.items()}

    def expressions(self, nodes: list[Any], digits: int, before: int) -> Expressions:
        """`before` intermediates have names already."""
        arrays = {name: array for name, (array, _) in self.state.items()}
        return Expressions(nodes, digits, NOISE, self.masses, arrays, before, self.components)


class Sheet:
    """Quantities of a robot, one after the other.

    Intermediates are numbered through; equal ones of two quantities are one.
    """

    def __init__(self, robot: Robot, symbols: Symbols, digits: int) -> None:
        self.robot, self.symbols, self.digits = robot, symbols, digits
        self.intermediates = Intermediates()
        self.turned = False  # whether a quantity counts its links from the tip in print

    def text(self, quantities: Iterable[Quantity]) -> str:
        texts = [
            "\n".join([f"{x.symbol}   {x.meaning}   [{x.source}, {x.equation}]", *self.lines(x)]) for x in quantities
        ]
        return "\n\n".join([*texts, *self.remark()])

    def latex(self, quantities: Iterable[Quantity]) -> str:
        lines = [line for quantity in quantities for line in self.displays(quantity)]
        lines += [rf"\[ \text{{{remark}}} \]" for remark in self.remark()]
        abbreviated = any(SINE.search(line) for line in lines)
        return "\n".join([*([f"% {ABBREVIATED}"] if abbreviated else []), *lines])

    def html(self, quantities: Iterable[Quantity]) -> str:
        parts = [self.folded(quantity) for quantity in quantities]
        return "".join([*parts, *(f"<p><small>{escape(remark)}</small></p>" for remark in self.remark())])

    def lines(self, quantity: Quantity, most: int | None = None) -> list[str]:
        """The values as lines of text, the first `most` of them, and the shared subexpressions."""
        self.note(quantity)
        shared, write = self.expression_texts(quantity)
        parts, lines = list(parts_of(quantity, self.robot)), []
        for part in parts[:most]:
            rows = (
                format_rows(part.value, self.digits, write) if part.pattern is None else align_columns(part.pattern[0])
            )
            lead = f"  {part.label}: " if part.label else "  "
            lines += [lead + rows[0], *(" " * display_width(lead) + row for row in rows[1:])]
        if most is not None and len(parts) > most:
            lines.append(f"  and {len(parts) - most} more")
        return lines + [f"  with {name} = {text}" for name, text in shared]

    def expression_texts(self, quantity: Quantity) -> tuple[list[tuple[str, str]], Texts]:
        """The common subexpressions, by name, and the text of each expression."""
        nodes = nodes_of(quantity)
        if not nodes:
            return [], NO_EXPRESSIONS
        shared, texts = self.symbols.expressions(nodes, self.digits, self.intermediates.count).texts()
        defined, texts = self.intermediates.share([(name, [text]) for name, text in shared], texts)
        return [(name, text) for name, (text,) in defined], dict(zip((x.index for x in nodes), texts, strict=True))

    def displays(self, quantity: Quantity) -> list[str]:
        """Display equations: the shared subexpressions, and the values with their source."""
        self.note(quantity)
        nodes = nodes_of(quantity)
        write, lines = NO_EXPRESSIONS, list[str]()
        if nodes:
            shared, cells = self.symbols.expressions(nodes, self.digits, self.intermediates.count).latex()
            defined, cells = self.intermediates.share(shared, cells)
            write = dict(zip((node.index for node in nodes), cells, strict=True))
            lines += display_equations(defined, None)
        source = rf" \quad\text{{{quantity.equation} of {quantity.source}}}"
        for part in parts_of(quantity, self.robot):
            right = latex_array(part.pattern[1]) if part.pattern else latex_value(part.value, self.digits, write)
            lines.append(rf"\[ {part.latex} = {right}{source} \]")
            source = "" if part.pattern else source  # once for a stacked matrix and its blocks
        return lines

    def folded(self, quantity: Quantity) -> str:
        """A summary that unfolds to the values, as many as a page can bear."""
        name, meaning = f"<code>{escape(quantity.name)}</code>", with_indices(quantity.meaning)
        head = f"<b>{with_indices(quantity.symbol)}</b> {name} {meaning}"
        values = escape("\n".join(self.lines(quantity, MOST_FOLDED)))
        summary = f"<summary>{head} <small>[{escape(quantity.source)}, {escape(quantity.equation)}]</small></summary>"
        return f'<details>{summary}<pre style="overflow-x:auto">{values}</pre></details>'

    def note(self, quantity: Quantity) -> None:
        self.turned |= quantity.source == KOZLOWSKI

    def remark(self) -> list[str]:
        """How the numbers of links differ from print, once for all quantities."""
        n = self.robot.n
        if not self.turned or n < 2:
            return []
        chain = all(link.parent == link.index - 1 for link in self.robot.links)
        turn = f": link i here is its link k = {n + 1} - i" if chain else ""
        return [f"{KOZLOWSKI} counts links from the tip; here they are counted from the base{turn}"]


def with_indices(text: str) -> str:
    """HTML with lower indices: B_ij, Ω_δ(k)."""
    return re.sub(r"_([A-Za-z\dδΦΨ]+)", r"<sub>\1</sub>", escape(text))


def format_scalar(x: Any, digits: int, texts: Texts = NO_EXPRESSIONS) -> str:
    if is_expression(x):
        return texts[x.index]
    return f"{float(x) + 0.0:.{digits}g}" if isinstance(x, (float, int, np.floating)) else str(x)


def format_rows(value: Any, digits: int, texts: Texts = NO_EXPRESSIONS) -> list[str]:
    """A scalar, vector or matrix as aligned rows of text; where rows are too wide, its elements that are not zero."""
    if not isinstance(value, list):
        return [format_scalar(value, digits, texts)]
    rows = value if isinstance(value[0], list) else [value]
    cells = [[format_scalar(x, digits, texts) for x in row] for row in rows]
    widths = [max(len(row[k]) for row in cells) for k in range(len(cells[0]))]
    if texts and sum(widths) > MAX_WIDTH:
        matrix = isinstance(value[0], list)
        elements = [
            (f"{i + 1},{j + 1}" if matrix else f"{j + 1}", x) for i, row in enumerate(cells) for j, x in enumerate(row)
        ]
        return [f"[{index}] = {x}" for index, x in elements if x != "0"]
    return align_columns(cells, right=range(len(widths)))


def latex_value(value: Any, digits: int, texts: Texts) -> str:
    if not isinstance(value, list):
        return latex_scalar(value, digits, texts)
    rows = value if isinstance(value[0], list) else [[x] for x in value]
    return latex_array([[latex_scalar(x, digits, texts) for x in row] for row in rows])


def latex_array(rows: list[list[str]]) -> str:
    body = r" \\ ".join(" & ".join(row) for row in rows)
    return rf"\left[\begin{{array}}{{{'c' * len(rows[0])}}} {body} \end{{array}}\right]"


def latex_scalar(x: Any, digits: int, texts: Texts) -> str:
    if is_expression(x):
        return texts[x.index]
    if is_sympy(x):
        import sympy

        return str(sympy.latex(x))
    if not isinstance(x, (float, int, np.floating)):
        return rf"\mathtt{{{x}}}"
    return decimal(float(x) + 0.0, digits)
