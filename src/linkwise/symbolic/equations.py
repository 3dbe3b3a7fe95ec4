"""Programs as equations, in LaTeX and as plain text: in closed form where that is small, else with intermediates;
expressions of symbols as text and LaTeX.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple

from ..graph import Node, Port, Program
from ..graph.assignments import assignments
from ..graph.passes import cancel_terms
from ..graph.text import expression_text
from .closed_form import CLOSED, PATIENCE, ClosedForm, Names, closed_form
from .latex.names import LatexNames, angle_sums
from .latex.program import Writer
from .plain_names import ABBREVIATION, PlainNames
from .styles import LATEX, PYTHON, TEXTBOOK, Equation, Style, Terms, terms_of, whole
from .sympy_expressions import sympy_expressions


def program_of(nodes: Sequence[Node]) -> Program:
    """A program whose results are these nodes and whose inputs are their symbols."""
    program = Program.of(nodes[0].graph, (), [Port("values", (len(nodes),))], [nodes])
    names = sorted(node.payload[0] for node in program.nodes if node.op == "input")
    return Program(tuple(Port(name, ()) for name in names), program.nodes, program.outputs, program.results)


class Expressions:
    """Nodes in closed form where that is small, otherwise with named intermediates.

    Terms of a closed form without named intermediates are dropped below `noise` times its largest coefficient.
    `first` and `arrays` are as in `ClosedForm`. Intermediates are numbered from `before` + 1. `components` is the LaTeX
    of some symbols; sines and cosines of those in the array "q" are abbreviated, c_{12}.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        digits: int,
        noise: float = 0.0,
        first: Collection[str] = (),
        arrays: Mapping[str, str] | None = None,
        before: int = 0,
        components: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.nodes, self.digits, self.noise, self.first, self.arrays = nodes, digits, noise, first, arrays
        self.before, self.components = before, components or {}
        self.program = program_of(nodes)

    def closed_form(self, names: Names, style: Style) -> ClosedForm | None:
        limit, noise = PATIENCE * CLOSED, self.noise
        return closed_form(self.program, self.digits, names, style, limit, self.first, self.arrays, noise)

    def texts(self) -> tuple[list[tuple[str, str]], list[str]]:
        """Names with their expressions, in order, and the text of each node."""
        definitions, nodes = self.terms()
        return [(name, whole(terms)) for name, terms in definitions], [whole(terms) for terms in nodes]

    def terms(self) -> tuple[list[tuple[str, Terms]], list[Terms]]:
        """The same in terms, between which lines may break."""
        form = self.closed_form(PlainNames(self.program, before=self.before), PYTHON)
        if form is not None:
            return form.defined(), [form.written(polynomial) for polynomial in form.results[0]]
        program = cancel_terms(self.program)

        def leaf(node: Node) -> str:
            return f"{node.payload:.{self.digits}g}" if node.op == "const" else str(node.payload[0])

        names = [port.name for port in self.program.inputs]
        lines, named = assignments(program, leaf, names, before=self.before)
        definitions = [(name, terms_of(text)) for name, text in lines]
        return definitions, [terms_of(expression_text(node, named)) for node in program.results[0]]

    def latex(self) -> tuple[list[Equation], list[str]]:
        """Equations of the names, in order, and the LaTeX of each node."""
        angles = [name for name in self.components if (self.arrays or {}).get(name) == "q"]
        names = LatexNames(self.program, components=self.components, angles=angles, before=self.before)
        form = self.closed_form(names, LATEX)
        if form is not None:
            *equations, _ = form.equations(elements=False)
            return equations, [form.cell(polynomial) for polynomial in form.results[0]]
        program = cancel_terms(self.program)
        writer = Writer(program, self.digits, names)
        *equations, _ = writer.equations(elements=False)
        return equations, [writer.text(node) for node in program.results[0]]


class Intermediates:
    """Names of intermediates of several texts, numbered through; equal ones are one."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}  # by what they are

    @property
    def count(self) -> int:
        """For `Expressions(before=...)`."""
        return len(self.names)

    def share(self, defined: Sequence[Equation], texts: Sequence[str]) -> tuple[list[Equation], list[str]]:
        """The intermediates that are new, and the texts with their names."""
        names: dict[str, str] = {}
        new: list[Equation] = []
        any_name = "|".join(rf"(?<![A-Za-z\\]){re.escape(name)}(?!\d)" for name, _ in defined)

        def renamed(text: str) -> str:
            return re.sub(any_name, lambda match: names[match[0]], text) if defined else text

        for name, lines in defined:
            lines = [*map(renamed, lines)]
            key = " ".join(lines)
            if key not in self.names:
                self.names[key] = re.sub(r"\d+", str(len(self.names) + 1), name)
                new.append((self.names[key], lines))
            names[name] = self.names[key]
        return new, [*map(renamed, texts)]


def as_sympy(node: Node) -> Any:
    """The node as a SymPy expression of symbols with the same names."""
    _, (column,) = sympy_expressions(program_of([node]), named=False)
    return column[0]


class TwoNames(NamedTuple):
    """The names of a program's inputs, outputs and intermediates."""

    latex: LatexNames
    plain: PlainNames

    def of_outputs(self, places: Sequence[int]) -> TwoNames:
        """The names for a program of these outputs alone."""
        return TwoNames(*(names_of_outputs(names, places) for names in self))


class Written(NamedTuple):
    """The same equations twice. Vectors and, in plain text, matrices are written element by element."""

    latex: list[Equation]
    plain: list[Equation]


def write(
    program: Program,
    digits: int,
    names: TwoNames,
    *,
    closed: bool | None = None,
    elements: bool | None = None,
    first: Collection[str] = (),
    symmetric: Collection[int] = (),
    limit: int = CLOSED,
) -> Written:
    """Write in closed form if `closed`, or if it is None and the form is small; else with intermediates.

    A closed form is small up to `limit` terms. `elements`, `first`, `symmetric`: as in `ClosedForm`.
    """
    if closed is not False:
        patience = math.inf if closed else PATIENCE * limit
        form = closed_form(program, digits, names.latex, LATEX, patience, first)
        if form is not None and (closed or form.terms <= limit):
            plain = form.restyled(names.plain, TEXTBOOK)
            return Written(form.equations(elements, symmetric), plain.equations(True, symmetric))
    latex = Writer(cancel_terms(angle_sums(program)), digits, names.latex).equations(elements, symmetric)
    return Written(latex, plain_assignments(cancel_terms(program), digits, names.plain, symmetric))


def write_each(
    program: Program,
    digits: int,
    names: TwoNames,
    *,
    first: Collection[str] = (),
    symmetric: Collection[int] = (),
    limit: int = CLOSED,
) -> Written:
    """Write each output in closed form that has a small one without quotients; the others follow, with intermediates.

    Every output is written element by element.
    """
    written, others = Written([], []), []
    for k in range(len(program.outputs)):
        alone, chosen = outputs_of(program, [k]), names.of_outputs([k])
        form = closed_form(alone, digits, chosen.latex, LATEX, PATIENCE * limit, first)
        if form is None or form.definitions or form.terms > limit:
            others.append(k)
        else:
            place = (0,) if k in symmetric else ()
            written.latex.extend(form.equations(True, place))
            written.plain.extend(form.restyled(chosen.plain, TEXTBOOK).equations(True, place))
    if others:
        places = [place for place, k in enumerate(others) if k in symmetric]
        chosen = names.of_outputs(others)
        rest = write(outputs_of(program, others), digits, chosen, closed=False, elements=True, symmetric=places)
        written.latex.extend(rest.latex)
        written.plain.extend(rest.plain)
    return written


def outputs_of(program: Program, places: Sequence[int]) -> Program:
    """The program of some of the outputs."""
    results = [program.results[k] for k in places]
    return Program.of(program.nodes[0].graph, program.inputs, [program.outputs[k] for k in places], results)


def names_of_outputs(names: Any, places: Sequence[int]) -> Any:
    chosen = copy(names)
    chosen.outputs = [names.outputs[k] for k in places]
    chosen.elements = [names.elements[k] for k in places]
    return chosen


def plain_assignments(
    program: Program, digits: int, names: PlainNames, symmetric: Collection[int] = ()
) -> list[Equation]:
    """Intermediates, then every element of every output, in the order of computation."""

    def leaf(node: Node) -> str:
        return f"{node.payload:.{digits}g}" if node.op == "const" else names.input(*node.payload)

    lines, named = assignments(program, leaf, [*names.inputs.values(), *names.outputs])
    equations = [(name, TEXTBOOK.lines(name, terms_of(text))) for name, text in lines]
    for k, (port, nodes) in enumerate(zip(program.outputs, program.results, strict=True)):
        for position, node in enumerate(nodes):
            if not (k in symmetric and position // port.shape[-1] > position % port.shape[-1]):
                left = names.elements[k][position] if port.shape else names.outputs[k]
                equations.append((left, TEXTBOOK.lines(left, terms_of(expression_text(node, named)))))
    return equations


def plain_text(equations: Iterable[Equation]) -> str:
    """Equations below one another, their later lines indented."""
    indented = ((left, ("\n" + " " * (len(left) + 3)).join(lines)) for left, lines in equations)
    return "\n".join(f"{left} = {right}" for left, right in indented)


def add_meaning(text: str, names: PlainNames, more: str = "") -> str:
    """The text with a line that says what its abbreviations are: a sine, a cosine, one of a sum of angles; and more."""
    every = set(re.findall(rf"\b{ABBREVIATION}\b", text)) if names.abbreviates else set()
    used = sorted(every, key=lambda name: (len(name), name))
    kinds = (lambda name: name[0] == "s", lambda name: name[0] == "c", lambda name: len(name) > 2)
    shown = dict.fromkeys(name for kind in kinds for name in [*filter(kind, used)][:1])
    abbreviated = ", ".join([*map(meaning_of, shown), *(["..."] if len(used) > len(shown) else [])])
    meaning = "; ".join(part for part in (abbreviated, more) if part)
    return f"{text}\nwhere {meaning}" if meaning else text


def meaning_of(name: str) -> str:
    """c12 = cos(q1 + q2)"""
    angles = [("-" if sign else "+", f"q{k}") for sign, k in re.findall(r"(-?)(\d)", name)]
    text = " ".join(part for angle in angles for part in angle).removeprefix("+ ")
    return f"{name} = {'sin' if name[0] == 's' else 'cos'}({text})"
