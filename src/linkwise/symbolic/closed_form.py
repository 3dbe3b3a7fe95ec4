"""A program in closed form: its normal form, nested as in textbooks, in one of the styles of `styles`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from typing import Any, Protocol

from ..graph import Program
from ..graph.polynomial import Key, Number, Polynomial, TooManyTermsError
from ..lazy import cached_property
from .normal_form import DEFINED, Normal, shorten
from .styles import Angles, Equation, Style, Terms, whole
from .textbook import CARRIER, NAMED, ONE, SYMBOL, TRIGONOMETRIC, VARIABLE, Product, Rank, Sum, Textbook, depth

CLOSED = 50  # a closed form is preferred up to this number of terms in all results
PATIENCE = 6  # limit of intermediate terms of a closed form, relative to the allowed terms
SHORT = 3  # terms that a numerator holds
UNBROKEN = 0.4  # of a line: shorter sums in parentheses stay on one


class Names(Protocol):
    """The texts of a program's inputs, outputs and intermediates."""

    outputs: list[str]
    elements: list[list[str]]  # of each output; empty where it is one number
    chosen: bool  # whether the elements of outputs have names worth using

    def input(self, name: str, position: int) -> str: ...
    def sine_or_cosine(self, op: str, angles: Angles) -> str: ...
    def intermediate(self, number: int) -> str: ...


class ClosedForm:
    """The results of a program and their quotients, each in its shortest form.

    `limit` is the largest number of terms of intermediate polynomials. Of the symbols in a product, those in `first`
    stand first, by default those in which all results are linear. `arrays` has the arrays (q, qd, ...) of symbols that
    stand for their numbers.
    """

    def __init__(
        self,
        program: Program,
        limit: float,
        digits: int,
        names: Names,
        style: Style,
        first: Collection[str] = (),
        arrays: Mapping[str, str] | None = None,
    ) -> None:
        self.program, self.digits, self.texts, self.style, self.first = program, digits, names, style, first
        self.arrays = {port.name: port.name for port in program.inputs if port.shape} | dict(arrays or {})
        self.normal = Normal(program, limit)
        if sum(len(polynomial) for flat in self.normal.results for polynomial in flat) > limit:
            raise TooManyTermsError
        self.symbolic = not all(port.shape for port in program.inputs)
        self.names: dict[Any, str] = {}
        self.count = 0  # of intermediates named so far
        self.definitions: dict[int, tuple[Polynomial, Key]] = {}
        self.calls: dict[int, list[Polynomial]] = {}  # the operands of each call
        self.results = [[self._prepared(polynomial) for polynomial in flat] for flat in self.normal.results]

    def _prepared(self, polynomial: Polynomial, below: Key = ()) -> Polynomial:
        """Shorten the polynomial; define its atoms, and those of its denominator, first."""
        short = shorten(self.normal, polynomial)
        for x in sorted({x for key in (*short, below) for x, _ in key}):
            if self.normal.atoms[x].op == "call" and x not in self.definitions:
                self.calls[x] = [self._prepared(dict(part)) for part in self.normal.atoms[x].payload[1:]]
                self.definitions[x] = ({}, ())
            elif self.normal.atoms[x].op in DEFINED and x not in self.definitions:
                definition = self.normal.definition(x)
                self.definitions[x] = (self._prepared(*definition), definition[1])
        return short

    def restyled(self, names: Names, style: Style) -> ClosedForm:
        """The same form with other names, in another style."""
        other = copy(self)
        other.texts, other.style, other.names, other.count = names, style, {}, 0
        return other

    @property
    def terms(self) -> int:
        """The number of terms, counting equal results once."""
        distinct = {frozenset(polynomial.items()) for flat in self.results for polynomial in flat}
        return sum(map(len, distinct)) + sum(len(above) or 3 for above, _ in self.definitions.values())

    @cached_property
    def textbook(self) -> Textbook:
        def array(atom: int) -> str:
            return self.arrays[self.normal.atoms[atom].payload[0]]

        inputs = {k: atom.payload[0] for k, atom in enumerate(self.normal.atoms) if atom.op == "input"}
        first = {k for k, name in inputs.items() if name in self.first}
        everything: Polynomial = {key: 1.0 for flat in self.results for polynomial in flat for key in polynomial}
        return Textbook(self.rank, array, first or Textbook(self.rank, array).linear(everything))

    def equations(self, elements: bool | None = None, symmetric: Collection[int] = ()) -> list[Equation]:
        """Every quotient and then every output, as an array or element by element; by default vectors by element.

        Of the outputs in `symmetric` only the upper triangle is written.
        """
        equations = [self._equation(name, terms) for name, terms in self.defined()]
        for k, (port, flat) in enumerate(zip(self.program.outputs, self.results, strict=True)):
            elements_of = self.texts.elements[k] if port.shape else [self.texts.outputs[k]]
            singly = not port.shape or (len(port.shape) == 1 if elements is None else elements)
            cells = []
            for position, polynomial in enumerate(flat):
                key = frozenset(polynomial.items())
                terms = self.written(polynomial)
                if singly:
                    if not (k in symmetric and position // port.shape[-1] > position % port.shape[-1]):
                        text = [[self.names[key]]] if key in self.names else terms
                        equations.append(self._equation(elements_of[position], text))
                    if len(terms) > 1 or len(terms[0]) > 1:
                        self.names.setdefault(key, elements_of[position])
                elif key not in self.names and self.style.too_wide(whole(terms), port.shape):
                    name = self.names.setdefault(key, elements_of[position]) if self.texts.chosen else self._name(key)
                    equations.append(self._equation(name, terms))
                cells.append(self.cell(polynomial))
            if not singly:
                equations.append((self.texts.outputs[k], [self.style.array(port.shape, cells)]))
        return equations

    def _equation(self, name: str, terms: Terms) -> Equation:
        return name, self.style.lines(name, terms, self.texts.outputs)

    def cell(self, polynomial: Polynomial) -> str:
        """The text of a result in an array: its name or its terms."""
        return self.names.get(frozenset(polynomial.items())) or whole(self.written(polynomial))

    def _name(self, key: Any) -> str:
        if key not in self.names:
            self.count += 1
            self.names[key] = self.texts.intermediate(self.count)
        return self.names[key]

    def defined(self) -> list[tuple[str, Terms]]:
        """The names of quotients and functions, in order, with what they are."""
        return [(self._name(atom), self._defined(atom)) for atom in self.definitions]

    def _defined(self, atom: int) -> Terms:
        if atom in self.calls:
            operands = (whole(self.written(part)) for part in self.calls[atom])
            return [[self.style.function(self.normal.atoms[atom].payload[0], *operands)]]
        above, below = self.definitions[atom]
        total = self.textbook.sum(above)
        if len(total) == 1 and below:
            return self._terms((Product(total[0].number, (*total[0].powers, *((x, -e) for x, e in below))),))
        terms = self._terms(total) or [["0"]]
        if self.normal.atoms[atom].op == "function":
            return [[self.style.function(self.normal.atoms[atom].payload[0], whole(terms))]]
        if not below:
            return terms
        pieces = [piece for term in terms for piece in term]
        denominator = [" ".join(self._power(x, e)) for x, e in below]
        if len(above) > SHORT:
            return [self.style.product(ONE, [self.style.enclose(pieces, 1)], denominator, self.digits, self.symbolic)]
        return [self.style.quotient(pieces, denominator)]

    def written(self, polynomial: Polynomial) -> Terms:
        """The terms of a sum, each in pieces; all but the first begin with their sign."""
        return self._terms(self.textbook.sum(polynomial)) or [["0"]]

    def _terms(self, total: Sum) -> Terms:
        terms: Terms = []
        for product in total:
            number = product.number if product.number > 0 else -product.number
            term = self._product(number, self.textbook.factors(product))
            lead = ("- " if product.number < 0 else "+ ") if terms else "-" * (product.number < 0)
            terms.append([lead + term[0], *term[1:]])
        return terms

    def _product(self, x: Number, powers: Sequence[tuple[Any, int]]) -> list[str]:
        """A positive number times powers of atoms and sums."""
        over = [(factor, e) for factor, e in powers if e > 0]
        above = [self._power(factor, e) for factor, e in over]
        if self.style.fractions and len(over) == 1 < len(powers) and over[0][1] == 1:
            factor = over[0][0]  # above a bar it needs no parentheses
            above = above if isinstance(factor, int) else [[whole(self._terms(factor))]]
        below = [" ".join(self._power(factor, -e)) for factor, e in powers if e < 0]
        return self.style.product(x, above, below, self.digits, self.symbolic)

    def _power(self, factor: Any, exponent: int) -> list[str]:
        """The pieces of a power of an atom or a sum."""
        if isinstance(factor, int):
            return [self.style.power(self._atom(factor), exponent)]
        inside = [piece for term in self._terms(factor) for piece in term]
        pieces = self.style.enclose(inside, depth(factor))
        text = " ".join(pieces)
        short = exponent > 1 or self.style.length(text) < UNBROKEN * self.style.width
        return [self.style.power(text, exponent)] if short else pieces

    def _atom(self, atom: int) -> str:
        op, payload = self.normal.atoms[atom].op, self.normal.atoms[atom].payload
        if op == "input":
            return self.texts.input(*payload)
        return self._name(atom) if op in DEFINED else self.texts.sine_or_cosine(op, payload)

    def rank(self, atom: int) -> Rank:
        op, payload = self.normal.atoms[atom].op, self.normal.atoms[atom].payload
        if op == "input":
            array = self.arrays.get(payload[0])
            if array is None:
                return SYMBOL, payload
            return (VARIABLE, payload) if array == "q" else (CARRIER, (-len(array), payload))
        return (NAMED, (atom,)) if op in DEFINED else (TRIGONOMETRIC, (len(payload), payload))


def closed_form(
    program: Program,
    digits: int,
    names: Names,
    style: Style,
    limit: float,
    first: Collection[str] = (),
    arrays: Mapping[str, str] | None = None,
    noise: float = 0.0,
) -> ClosedForm | None:
    """The closed form, or None where it needs more terms than the limit.

    Without named quotients, terms are dropped below `noise` times the largest coefficient of all.
    """
    try:
        form = ClosedForm(program, limit, digits, names, style, first, arrays)
    except TooManyTermsError:
        return None
    if noise and not form.definitions:
        form.results = [without_noise(flat, noise) for flat in form.results]
    return form


def without_noise(flat: Sequence[Polynomial], noise: float) -> list[Polynomial]:
    least = noise * max((abs(float(x)) for polynomial in flat for x in polynomial.values()), default=0.0)
    return [{key: x for key, x in polynomial.items() if abs(float(x)) >= least} for polynomial in flat]
