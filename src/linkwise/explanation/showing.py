"""Quantities as text, LaTeX and HTML. Stacked matrices are shown by their blocks: where they are, and then each one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, NamedTuple

import numpy as np

from ..printing import align_columns, display_width
from ..robot import Robot
from ..robot.symbols import is_expression
from ..symbolic.expressions import Expressions
from ..symbolic.latex.format import decimal
from .definitions import Blocks
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
        index = ",".join(str(i + 1) for i in key)
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


def expression_texts(quantity: Quantity, digits: int) -> tuple[list[tuple[str, str]], Texts]:
    """The common subexpressions, by name, and the text of each expression."""
    nodes = nodes_of(quantity)
    if not nodes:
        return [], NO_EXPRESSIONS
    shared, texts = Expressions(nodes, digits, NOISE).texts()
    return shared, {node.index: text for node, text in zip(nodes, texts, strict=True)}


def as_text(quantity: Quantity, robot: Robot, digits: int) -> str:
    head = f"{quantity.symbol}   {quantity.meaning}   [{quantity.source}, {quantity.equation}]"
    return "\n".join([head, *value_lines(quantity, robot, digits)])


def value_lines(quantity: Quantity, robot: Robot, digits: int, most: int | None = None) -> list[str]:
    """The values as lines of text, the first `most` of them, and the shared subexpressions."""
    shared, write = expression_texts(quantity, digits)
    parts, lines = list(parts_of(quantity, robot)), []
    for part in parts[:most]:
        rows = format_rows(part.value, digits, write) if part.pattern is None else align_columns(part.pattern[0])
        lead = f"  {part.label}: " if part.label else "  "
        lines += [lead + rows[0], *(" " * display_width(lead) + row for row in rows[1:])]
    if most is not None and len(parts) > most:
        lines.append(f"  and {len(parts) - most} more")
    return lines + [f"  with {name} = {text}" for name, text in shared]


def as_latex(quantity: Quantity, robot: Robot, digits: int) -> str:
    nodes = nodes_of(quantity)
    shared, cells = Expressions(nodes, digits, NOISE).latex() if nodes else ([], [])
    write = {node.index: cell for node, cell in zip(nodes, cells, strict=True)}
    lines = list(shared)
    source = rf" \quad\text{{{quantity.equation} of {quantity.source}}}"
    for part in parts_of(quantity, robot):
        right = latex_array(part.pattern[1]) if part.pattern else latex_value(part.value, digits, write)
        lines.append(rf"\[ {part.latex} = {right}{source} \]")
        source = "" if part.pattern else source  # once for a stacked matrix and its blocks
    return "\n".join(lines)


def as_html(quantity: Quantity, robot: Robot, digits: int) -> str:
    """A summary that unfolds to the values, as many as a page can bear."""
    head = f"<b>{escape(quantity.symbol)}</b> <code>{escape(quantity.name)}</code> {escape(quantity.meaning)}"
    values = escape("\n".join(value_lines(quantity, robot, digits, MOST_FOLDED)))
    summary = f"<summary>{head} <small>{escape(quantity.equation)}</small></summary>"
    return f'<details>{summary}<pre style="overflow-x:auto">{values}</pre></details>'


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


def is_sympy(x: Any) -> bool:
    return type(x).__module__.startswith("sympy")
