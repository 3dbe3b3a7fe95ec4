"""A program as LaTeX: intermediates in order of use, then the results. Needs amsmath."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from ...graph import Node, Program
from ...graph.cancel import cancel_terms
from ...graph.polynomial import TooManyTermsError
from .closed_form import CLOSED, ClosedForm
from .format import RELATIONS, Equation, array, decimal, function, too_wide
from .names import ABBREVIATION, Angles, LatexNames, angle_sums, angles_of

IN_CASES = ("select", *RELATIONS)  # written as cases, in separate equations
RANK = {"add": 1, "sub": 1, "neg": 2, "mul": 3}
PATIENCE = 6  # limit of intermediate terms of a closed form, relative to the allowed terms
CONTINUED = " \\\\\n  &\\quad "  # between the lines of a long equation
ONE_PAGE = 30  # equations
SINE = re.compile(rf"(?<![A-Za-z\\}}]){ABBREVIATION}")
INLINE = 4  # operations up to which an expression that is used once has no name


class Writer:
    """Writes equations; expressions that are long or used more than once get names."""

    def __init__(self, program: Program, digits: int, latex_names: LatexNames | None = None) -> None:
        self.program, self.digits, self.latex_names = program, digits, latex_names or LatexNames(program)
        self.uses = Counter(a.index for node in program.nodes if self.angles(node) is None for a in node.args)
        self.uses.update(node.index for result in program.results for node in result)
        self.count = 0  # of intermediates named so far
        self.elements: dict[int, str] = {}  # names of the elements of outputs
        self.names: dict[int, str] = {}
        self.sizes: dict[int, int] = {}

    def equations(self, elements: bool = False) -> list[Equation]:
        """Every named intermediate and then every output, as an array or element by element."""
        if elements or self.latex_names.chosen:
            for names, nodes in zip(self.latex_names.elements, self.program.results, strict=True):
                for text, node in zip(names, nodes, strict=False):
                    self.elements.setdefault(node.index, text)
        equations = []
        for node in self.program.nodes:
            if not node.args or not self.uses[node.index] or self.leaf(node) is not None:
                continue
            size = 1 + sum(self.sizes.get(a.index, 0) for a in node.args if a.index not in self.names)
            self.sizes[node.index] = size
            if node.op in IN_CASES or (node.op != "neg" and (self.uses[node.index] > 1 or size > INLINE)):
                equations.append(self.named(node))
        for k, (port, nodes) in enumerate(zip(self.program.outputs, self.program.results, strict=True)):
            names = self.latex_names.elements[k]
            for position, node in enumerate(nodes):
                if elements and names:
                    if self.names.get(node.index) != names[position]:
                        equations.append((names[position], [self.text(node)]))
                elif self.leaf(node) is None and too_wide(self.text(node), port.shape):
                    equations.append(self.named(node))
            if not (elements and names):
                cells = [self.text(node) for node in nodes]
                equations.append((self.latex_names.outputs[k], [array(port.shape, cells)]))
        return equations

    def named(self, node: Node) -> Equation:
        text = self.operation(node)
        name = self.elements.get(node.index)
        if name is None:
            self.count += 1
            name = f"{self.latex_names.letter}_{{{self.count}}}"
        self.names[node.index] = name
        return name, [text]

    def angles(self, node: Node) -> Angles | None:
        return angles_of(node.args[0]) if node.op in ("sin", "cos") else None

    def leaf(self, node: Node) -> str | None:
        """The text of a number, an input, a sine or cosine of angles, or a named node; otherwise None."""
        if node.op == "const":
            return decimal(node.payload, self.digits)
        if node.op == "input":
            return self.latex_names.input(*node.payload)
        angles = self.angles(node)
        if angles is not None:
            return self.latex_names.sine_or_cosine(node.op, angles)
        return self.names.get(node.index)

    def text(self, node: Node) -> str:
        return self.leaf(node) or self.operation(node)

    def operation(self, node: Node) -> str:
        parts = [self.text(a) for a in node.args]
        if node.op == "div":
            return rf"\frac{{{parts[0]}}}{{{parts[1]}}}"
        if node.op not in RANK:
            return function(node.op, *parts)
        rank = RANK[node.op]
        for k, a in enumerate(node.args):
            inner_rank = 9 if self.leaf(a) is not None else RANK.get(a.op, 9)
            if inner_rank < rank + (k if node.op == "sub" else 0) or (k and parts[k].startswith("-")):
                parts[k] = rf"\left({parts[k]}\right)"
        if node.op == "neg":
            return f"-{parts[0]}"
        if node.op == "mul":
            constant_last = node.args[1].op == "const" and node.args[0].op != "const"
            return r" \, ".join(reversed(parts) if constant_last else parts)
        return f"{parts[0]} {'+' if node.op == 'add' else '-'} {parts[1]}"


def latex_text(
    program: Program,
    title: str,
    digits: int,
    closed: bool | None,
    *,
    names: Sequence[str] | None = None,
    elements: bool = False,
    environment: str | None = "align*",
    components: Mapping[str, Sequence[str]] | None = None,
    remarks: Sequence[str] = (),
) -> str:
    """Write the program in closed form if `closed`, or if it is None and the form is small; else with intermediates.

    `components` are the texts of the numbers of some inputs, and `remarks` are comment lines about them.
    """
    latex_names = LatexNames(program, names, components)
    equations = closed_form_equations(program, digits, closed, latex_names, elements) if closed is not False else None
    if equations is None:
        equations = Writer(cancel_terms(angle_sums(program)), digits, latex_names).equations(elements)
    lines = display_equations(equations, environment)
    abbreviated = latex_names.abbreviates and any(SINE.search(line) for line in lines)
    meaning = "s_i = sin q_i, c_ij = cos(q_i + q_j); " if abbreviated else ""
    breaks = r", and \allowdisplaybreaks for its length" if environment and len(equations) > ONE_PAGE else ""
    head = [f"% {title}", *(f"% {line}" for line in remarks), f"% {meaning}needs amsmath{breaks}"]
    return "\n".join([*head, *lines, ""])


def display_equations(equations: list[Equation], environment: str | None) -> list[str]:
    """The equations in one environment, or each as a separate display."""
    if environment is None:
        return [rf"\[ {display(*equation)} \]" for equation in equations]
    number = r" \nonumber" if environment == "align" else ""  # one for each equation, not for each line
    lines = (f"{left} &= {(number + CONTINUED).join(lines)}" for left, lines in equations)
    return [rf"\begin{{{environment}}}", " \\\\\n".join(lines), rf"\end{{{environment}}}"]


def display(left: str, lines: list[str]) -> str:
    if len(lines) == 1:
        return f"{left} = {lines[0]}"
    body = r" \\ & \quad ".join(lines)
    return rf"\begin{{aligned}} {left} = {{}} & {body} \end{{aligned}}"


def closed_form_equations(
    program: Program, digits: int, forced: bool | None, latex_names: LatexNames, elements: bool
) -> list[Equation] | None:
    try:
        form = ClosedForm(program, math.inf if forced else PATIENCE * CLOSED, digits, latex_names)
    except TooManyTermsError:
        return None
    return form.equations(elements) if forced or form.terms <= CLOSED else None
