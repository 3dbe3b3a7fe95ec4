"""A program as LaTeX: intermediates in order of use, then the results. Needs amsmath."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence

from ...graph import Node, Program
from ..styles import Angles, Equation
from .format import RELATIONS, array, decimal, function, too_wide
from .names import ABBREVIATION, LatexNames, angles_of

IN_CASES = ("select", *RELATIONS)  # written as cases, in separate equations
RANK = {"add": 1, "sub": 1, "neg": 2, "mul": 3}
CONTINUED = " \\\\\n  &\\quad "  # between the lines of a long equation
ONE_PAGE = 30  # equations
SINE = re.compile(rf"(?<![A-Za-z\\}}]){ABBREVIATION}")
ABBREVIATED = "s_i = sin q_i, c_ij = cos(q_i + q_j)"
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

    def equations(self, elements: bool | None = None, symmetric: Collection[int] = ()) -> list[Equation]:
        """Every named intermediate and then every output, as an array or element by element, as in `ClosedForm`."""
        singly = [
            bool(names) and (len(port.shape) == 1 if elements is None else elements)
            for names, port in zip(self.latex_names.elements, self.program.outputs, strict=True)
        ]
        for names, nodes, alone in zip(self.latex_names.elements, self.program.results, singly, strict=True):
            if alone or self.latex_names.chosen:
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
                if singly[k]:
                    if k in symmetric and position // port.shape[-1] > position % port.shape[-1]:
                        continue
                    if self.names.get(node.index) != names[position]:
                        equations.append((names[position], [self.text(node)]))
                elif self.leaf(node) is None and too_wide(self.text(node), port.shape):
                    equations.append(self.named(node))
            if not singly[k]:
                cells = [self.text(node) for node in nodes]
                equations.append((self.latex_names.outputs[k], [array(port.shape, cells)]))
        return equations

    def named(self, node: Node) -> Equation:
        text = self.operation(node)
        name = self.elements.get(node.index)
        if name is None:
            self.count += 1
            name = self.latex_names.intermediate(self.count)
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
    equations: list[Equation],
    latex_names: LatexNames,
    title: str,
    remarks: Sequence[str] = (),
    environment: str | None = "align*",
) -> str:
    """Equations below comment lines: a title, remarks, and what the abbreviations mean."""
    lines = display_equations(equations, environment)
    abbreviated = latex_names.abbreviates and any(SINE.search(line) for line in lines)
    meaning = f"{ABBREVIATED}; " if abbreviated else ""
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
