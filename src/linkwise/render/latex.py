"""A program as LaTeX: intermediates in the order in which they are read, then the results. Needs amsmath."""

from __future__ import annotations

import math
from collections import Counter

from ..graph import Node, Program
from .angles import Angles, angle_sums, angles_of
from .closed import CLOSED, ClosedForm
from .normal import TooManyTermsError
from .words import angle_sum, array, cases, decimal, free_letter, function, input_text, too_wide, word

RANK = {"add": 1, "sub": 1, "neg": 2, "mul": 3}
PATIENCE = 6  # a closed form is given up once what leads to it has so many times the terms that it may have
INLINE = 4  # an expression used once is written where it is used, if it has at most so many operations


class Writer:
    """Names what is used more than once or grows long, and writes the rest where it is used."""

    def __init__(self, program: Program, digits: int) -> None:
        self.program, self.digits = program, digits
        self.shapes = {port.name: port.shape for port in program.inputs}
        self.uses = Counter(a.index for node in program.nodes if self.angles(node) is None for a in node.args)
        self.uses.update(node.index for result in program.results for node in result)
        self.letter = free_letter(program)
        self.names: dict[int, str] = {}
        self.sizes: dict[int, int] = {}

    def equations(self) -> list[str]:
        """Every named intermediate and then every output, as `name = expression`."""
        found = []
        for node in self.program.nodes:
            if not node.args or not self.uses[node.index] or self.leaf(node) is not None:
                continue
            size = 1 + sum(self.sizes.get(a.index, 0) for a in node.args if a.index not in self.names)
            self.sizes[node.index] = size
            if node.op == "select" or (node.op != "neg" and (self.uses[node.index] > 1 or size > INLINE)):
                found.append(self.named(node))
        for port, nodes in zip(self.program.outputs, self.program.results, strict=True):
            for node in nodes:
                if self.leaf(node) is None and too_wide(self.text(node), port.shape):
                    found.append(self.named(node))
            found.append(f"{word(port.name)} = {array(port.shape, [self.text(node) for node in nodes])}")
        return found

    def named(self, node: Node) -> str:
        text = self.operation(node)
        self.names[node.index] = f"{self.letter}_{{{len(self.names) + 1}}}"
        return f"{self.names[node.index]} = {text}"

    def angles(self, node: Node) -> Angles | None:
        return angles_of(node.args[0]) if node.op in ("sin", "cos") else None

    def leaf(self, node: Node) -> str | None:
        """What needs no expression: numbers, inputs, and the sine and cosine of a joint's variable."""
        if node.op == "const":
            return decimal(node.payload, self.digits)
        if node.op == "input":
            return input_text(self.shapes, *node.payload)
        angles = self.angles(node)
        if angles is not None:
            return angle_sum(self.shapes, node.op, angles)
        return self.names.get(node.index)

    def text(self, node: Node) -> str:
        return self.leaf(node) or self.operation(node)

    def operation(self, node: Node) -> str:
        parts = [self.text(a) for a in node.args]
        if node.op == "div":
            return rf"\frac{{{parts[0]}}}{{{parts[1]}}}"
        if node.op == "select":
            return cases(*parts)
        if node.op not in RANK:
            return function(node.op, parts[0])
        rank = RANK[node.op]
        for k, a in enumerate(node.args):
            own = 9 if self.leaf(a) is not None else RANK.get(a.op, 9)
            if own < rank + (k if node.op == "sub" else 0) or (k and parts[k].startswith("-")):
                parts[k] = rf"\left({parts[k]}\right)"
        if node.op == "neg":
            return f"-{parts[0]}"
        if node.op == "mul":
            constant_last = node.args[1].op == "const" and node.args[0].op != "const"
            return r" \, ".join(reversed(parts) if constant_last else parts)
        return f"{parts[0]} {'+' if node.op == 'add' else '-'} {parts[1]}"


def latex_text(program: Program, title: str, digits: int, closed: bool | None) -> str:
    """In closed form if wanted, or, where that is left open, if it is small; otherwise with named intermediates."""
    equations = closed_equations(program, digits, closed) if closed is not False else None
    if equations is None:
        equations = Writer(angle_sums(program), digits).equations()
    head = [f"% {title}", r"% s_i = sin q_i, c_ij = cos(q_i + q_j); needs amsmath"]
    return "\n".join([*head, *(rf"\[ {equation} \]" for equation in equations), ""])


def closed_equations(program: Program, digits: int, wanted: bool | None) -> list[str] | None:
    try:
        form = ClosedForm(program, math.inf if wanted else PATIENCE * CLOSED, digits)
    except TooManyTermsError:
        return None
    return form.equations() if wanted or form.terms <= CLOSED else None
