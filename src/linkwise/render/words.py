"""Names, numbers and arrays in LaTeX."""

from __future__ import annotations

import re
from fractions import Fraction

from ..graph import Program
from .polynomial import Number

LETTERS = {"q": "q", "qd": r"\dot{q}", "qdd": r"\ddot{q}", "tau": r"\tau"}
SIMPLE = 12  # the largest denominator of a number written as a fraction
WIDTH = 80  # characters in a line, about
Shapes = dict[str, tuple[int, ...]]


def decimal(x: float, digits: int) -> str:
    mantissa, _, exponent = f"{x:.{digits}g}".partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa


def number(x: Number, digits: int, fractions: bool) -> str:
    """As a decimal; or thirds, quarters and the like as fractions."""
    if fractions and isinstance(x, Fraction) and 1 < x.denominator <= SIMPLE and x.denominator % 5:
        return rf"\tfrac{{{x.numerator}}}{{{x.denominator}}}"
    return decimal(float(x), digits)


def indexed(letter: str, shape: tuple[int, ...], position: int) -> str:
    if not shape:
        return letter
    index: list[int] = []
    for size in reversed(shape):
        position, k = divmod(position, size)
        index.append(k + 1)
    return f"{letter}_{{{','.join(map(str, reversed(index)))}}}"


def word(name: str) -> str:
    """A name as upright text: l1 as l with the index 1, longer words whole."""
    if len(name) > 1 and name[0].isalpha() and name[1:].isdigit():
        return f"{name[0]}_{{{name[1:]}}}"
    return name if len(name) == 1 else r"\mathrm{" + name.replace("_", r"\_") + "}"


def input_text(shapes: Shapes, name: str, position: int) -> str:
    return indexed(LETTERS.get(name, word(name)), shapes[name], position)


def angle_sum(shapes: Shapes, op: str, angles: tuple[tuple[tuple[str, int], int], ...]) -> str:
    """c_{23} for cos(q_2 + q_3), c_{2-3} for cos(q_2 - q_3), and the cosine written out for other combinations."""
    angles = tuple(sorted(angles, key=lambda angle: angle[1] < 0))
    if angles[0][1] > 0 and all(name == "q" and abs(k) == 1 for (name, _), k in angles):
        comma = "," if any(position > 8 for (_, position), _ in angles) else ""
        first, *rest = [("-" if k < 0 else comma, str(position + 1)) for (_, position), k in angles]
        return f"{op[0]}_{{{first[1]}{''.join(sign + index for sign, index in rest)}}}"
    terms = [(k, input_text(shapes, *place)) for place, k in angles]
    texts = [("- " if k < 0 else "+ ") + (rf"{abs(k)} \, {x}" if abs(k) > 1 else x) for k, x in terms]
    return function(op, " ".join(texts).removeprefix("+ "))


def cases(x: str, a: str, b: str) -> str:
    """select(x, a, b)"""
    return rf"\begin{{cases}} {a} & {x} \ge 0 \\ {b} & \text{{otherwise}} \end{{cases}}"


def function(op: str, argument: str) -> str:
    if op == "sqrt":
        return rf"\sqrt{{{argument}}}"
    name = rf"\{op}" if op in ("sin", "cos") else r"\operatorname{sign}"
    return rf"{name}\left({argument}\right)"


def array(shape: tuple[int, ...], cells: list[str]) -> str:
    if not shape:
        return cells[0]
    columns = shape[-1] if len(shape) > 1 else 1
    rows = [cells[i : i + columns] for i in range(0, len(cells), columns)]
    gap = r" \\[4pt] " if any("frac" in cell for cell in cells) else r" \\ "
    body = gap.join(" & ".join(row) for row in rows)
    return rf"\left[\begin{{array}}{{{'c' * columns}}} {body} \end{{array}}\right]"


def visible(text: str) -> int:
    """About how many characters the text has on paper."""
    return len(re.sub(r"\\[a-z]+|\\,|[{}^_ ]", "", text)) + 2


def too_wide(text: str, shape: tuple[int, ...]) -> bool:
    """Whether the text is too long for a cell of the array."""
    return bool(shape) and visible(text) > WIDTH / (shape[-1] if len(shape) > 1 else 1)


def free_letter(program: Program) -> str:
    """A letter for intermediates that no symbol of the robot has."""
    taken = {port.name[0] for port in program.inputs if not port.shape and word(port.name)[0] != chr(92)}
    return next((x for x in "txyzw" if x not in taken), r"\xi")
