"""Expressions of symbols as text and LaTeX, with names for shared subexpressions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ..graph import Node, Port, Program
from ..graph.assignments import assignments
from ..graph.passes import cancel_terms
from ..graph.text import expression_text
from .closed_form import CLOSED, PATIENCE, ClosedForm, Names, closed_form
from .latex.names import LatexNames
from .latex.program import Writer, display_equations
from .plain_names import PlainNames
from .styles import LATEX, PYTHON, Style, Terms, terms_of, whole
from .sympy_expressions import sympy_expressions


def program_of(nodes: Sequence[Node]) -> Program:
    """A program whose results are these nodes and whose inputs are their symbols."""
    program = Program.of(nodes[0].graph, (), [Port("values", (len(nodes),))], [nodes])
    names = sorted(node.payload[0] for node in program.nodes if node.op == "input")
    return Program(tuple(Port(name, ()) for name in names), program.nodes, program.outputs, program.results)


class Expressions:
    """Nodes in closed form where that is small, otherwise with named intermediates.

    Terms of a closed form without named intermediates are dropped below `noise` times its largest coefficient.
    `first` and `arrays` are as in `ClosedForm`.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        digits: int,
        noise: float = 0.0,
        first: Collection[str] = (),
        arrays: Mapping[str, str] | None = None,
    ) -> None:
        self.nodes, self.digits, self.noise, self.first, self.arrays = nodes, digits, noise, first, arrays
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
        form = self.closed_form(PlainNames(self.program), PYTHON)
        if form is not None:
            return form.defined(), [form.written(polynomial) for polynomial in form.results[0]]
        program = cancel_terms(self.program)

        def leaf(node: Node) -> str:
            return f"{node.payload:.{self.digits}g}" if node.op == "const" else str(node.payload[0])

        lines, named = assignments(program, leaf, [port.name for port in self.program.inputs])
        definitions = [(name, terms_of(text)) for name, text in lines]
        return definitions, [terms_of(expression_text(node, named)) for node in program.results[0]]

    def latex(self) -> tuple[list[str], list[str]]:
        """Display equations of the names, in order, and the LaTeX of each node."""
        form = self.closed_form(LatexNames(self.program), LATEX)
        if form is not None:
            *equations, _ = form.equations(elements=False)
            return display_equations(equations, None), [form.cell(polynomial) for polynomial in form.results[0]]
        program = cancel_terms(self.program)
        writer = Writer(program, self.digits)
        *equations, _ = writer.equations(elements=False)
        return display_equations(equations, None), [writer.text(node) for node in program.results[0]]


def as_sympy(node: Node) -> Any:
    """The node as a SymPy expression of symbols with the same names."""
    _, (column,) = sympy_expressions(program_of([node]), named=False)
    return column[0]
