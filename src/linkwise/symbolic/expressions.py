"""Expressions of symbols as text and LaTeX, with names for shared subexpressions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ..graph import Node, Port, Program
from ..graph.assignments import assignments, free_letter
from ..graph.cancel import cancel_terms
from ..graph.polynomial import Key, Number, Polynomial, TooManyTermsError
from ..graph.text import call_text, expression_text
from .collect import power_text, quotient_text, sum_text
from .latex.closed_form import CLOSED, ClosedForm
from .latex.format import SIMPLE
from .latex.program import PATIENCE, Writer, display_equations
from .sympy_expressions import sympy_expressions


def program_of(nodes: Sequence[Node]) -> Program:
    """A program whose results are these nodes and whose inputs are their symbols."""
    program = Program.of(nodes[0].graph, (), [Port("values", (len(nodes),))], [nodes])
    names = sorted(node.payload[0] for node in program.nodes if node.op == "input")
    return Program(tuple(Port(name, ()) for name in names), program.nodes, program.outputs, program.results)


class Expressions:
    """Nodes in closed form where that is small, otherwise with named intermediates.

    Terms of a closed form without named intermediates are dropped below `noise` times its largest coefficient.
    """

    def __init__(self, nodes: Sequence[Node], digits: int, noise: float = 0.0) -> None:
        self.nodes, self.digits = nodes, digits
        self.program = program_of(nodes)
        self.form: ClosedForm | None
        try:
            self.form = ClosedForm(self.program, PATIENCE * CLOSED, digits)
        except TooManyTermsError:
            self.form = None
        if noise and self.form is not None and not self.form.definitions:
            self.form.results = [without_noise(flat, noise) for flat in self.form.results]

    def texts(self) -> tuple[list[tuple[str, str]], list[str]]:
        """Names with their expressions, in order, and the text of each node."""
        taken = [port.name for port in self.program.inputs]
        if self.form is not None:
            return closed_texts(self.form, free_letter(taken))
        program = cancel_terms(self.program)

        def leaf(node: Node) -> str:
            return f"{node.payload:.{self.digits}g}" if node.op == "const" else str(node.payload[0])

        lines, named = assignments(program, leaf, taken)
        return lines, [expression_text(node, named) for node in program.results[0]]

    def latex(self) -> tuple[list[str], list[str]]:
        """Display equations of the names, in order, and the LaTeX of each node."""
        if self.form is not None:
            *equations, _ = self.form.equations()
            return display_equations(equations, None), [
                self.form.cell(polynomial) for polynomial in self.form.results[0]
            ]
        program = cancel_terms(self.program)
        writer = Writer(program, self.digits)
        *equations, _ = writer.equations()
        return display_equations(equations, None), [writer.text(node) for node in program.results[0]]


def without_noise(flat: Sequence[Polynomial], noise: float) -> list[Polynomial]:
    least = noise * max((abs(float(x)) for polynomial in flat for x in polynomial.values()), default=0.0)
    return [{key: x for key, x in polynomial.items() if abs(float(x)) >= least} for polynomial in flat]


def closed_texts(form: ClosedForm, letter: str) -> tuple[list[tuple[str, str]], list[str]]:
    names = {atom: f"{letter}{k + 1}" for k, atom in enumerate(form.definitions)}

    def total(polynomial: Polynomial) -> str:
        """`0.5*l1*m1 - l1**2*m2`"""
        terms = ((polynomial[key], key) for key in form.ordered(polynomial))
        return sum_text((x < 0, product(-x if x < 0 else x, key)) for x, key in terms)

    def product(x: Number, key: Key) -> str:
        above, below = coefficient(x, form.digits)
        for atom, exponent in sorted(key, key=lambda power: form.rank(power[0])):
            (above if exponent > 0 else below).append(power_text(atom_text(atom), abs(exponent)))
        return quotient_text(above, below)

    def atom_text(atom: int) -> str:
        op, payload = form.normal.atoms[atom].op, form.normal.atoms[atom].payload
        if op == "input":
            return str(payload[0])
        if atom in names:
            return names[atom]
        return f"{op}({sum_text((k < 0, multiple(abs(k), name)) for (name, _), k in payload)})"

    def definition(atom: int) -> str:
        above, below = form.definitions[atom]
        kind = form.normal.atoms[atom]
        if kind.op == "function":
            return f"{kind.payload[0]}({total(above)})"
        if kind.op == "call":
            return call_text(kind.payload[0], [total(part) for part in form.calls[atom]])
        text = f"({total(above)})" if below and len(above) > 1 else total(above)
        return text + "".join(f"/{power_text(atom_text(x), exponent)}" for x, exponent in below)

    lines = [(names[atom], definition(atom)) for atom in form.definitions]
    return lines, [total(polynomial) for polynomial in form.results[0]]


def coefficient(x: Number, digits: int) -> tuple[list[str], list[str]]:
    """Numerator and denominator of a positive number as texts: a third is 1/3, one is empty."""
    if isinstance(x, Fraction) and x.denominator <= SIMPLE and x.denominator % 5:
        above = [] if x.numerator == 1 else [str(x.numerator)]
        return above, [] if x.denominator == 1 else [str(x.denominator)]
    return [f"{float(x):.{digits}g}"], []


def multiple(k: int, name: str) -> str:
    return name if k == 1 else f"{k}*{name}"


def as_sympy(node: Node) -> Any:
    """The node as a SymPy expression of symbols with the same names."""
    _, (column,) = sympy_expressions(program_of([node]), named=False)
    return column[0]
