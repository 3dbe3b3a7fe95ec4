"""A program as equations, in LaTeX and as plain text: in closed form where that is small, else with intermediates."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Sequence
from copy import copy
from typing import Any, NamedTuple

from ..graph import Node, Program
from ..graph.assignments import assignments
from ..graph.passes import cancel_terms
from ..graph.text import expression_text
from .closed_form import CLOSED, PATIENCE, closed_form
from .latex.names import LatexNames, angle_sums
from .latex.program import Writer
from .plain_names import ABBREVIATION, PlainNames
from .styles import LATEX, TEXTBOOK, Equation, terms_of

MEANING = "where s1 = sin(q1), c12 = cos(q1 + q2), ..."


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


def add_meaning(text: str, names: PlainNames) -> str:
    """The text with a line that says what its abbreviations are."""
    abbreviated = names.abbreviates and re.search(rf"\b{ABBREVIATION}\b", text)
    return f"{text}\n{MEANING}" if abbreviated else text
