"""A program in closed form as LaTeX: its normal form, grouped as in textbooks.

Terms are grouped by accelerations, rates and torques first, then by symbols in which the sum is linear, such as masses:
m_2 (l_1² + l_1 l_2 c_2) + m_3 (...).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from ...graph import Program
from ...graph.polynomial import Key, Number, Polynomial, TooManyTermsError
from ..normal_form import DEFINED, Normal, shorten
from .format import WIDTH, Equation, array, function, number, too_wide, visible_length
from .names import LatexNames

CLOSED = 50  # a closed form is preferred up to this number of terms in all results
SHORT_NAME = 6  # characters on the left; longer names shorten the lines of all equations
SHORT = 3  # terms that a numerator holds

SYMBOL, NAMED, VARIABLE, TRIGONOMETRIC, CARRIER = range(5)  # the order of factors; carriers are rates and torques


class ClosedForm:
    """The results of a program and their quotients, each in its shortest form.

    `limit` is the largest number of terms of intermediate polynomials.
    """

    def __init__(self, program: Program, limit: float, digits: int, latex_names: LatexNames | None = None) -> None:
        self.program, self.digits, self.latex_names = program, digits, latex_names or LatexNames(program)
        self.normal = Normal(program, limit)
        if sum(len(polynomial) for flat in self.normal.results for polynomial in flat) > limit:
            raise TooManyTermsError
        self.shapes = {port.name: port.shape for port in program.inputs}
        self.symbolic = not all(self.shapes.values())
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

    @property
    def terms(self) -> int:
        """The number of terms, counting equal results once."""
        distinct = {frozenset(polynomial.items()) for flat in self.results for polynomial in flat}
        return sum(map(len, distinct)) + sum(len(above) or 3 for above, _ in self.definitions.values())

    def equations(self, elements: bool = False) -> list[Equation]:
        """Every quotient and then every output, as an array or element by element."""
        width = WIDTH - max(0, max(map(visible_length, self.latex_names.outputs)) - SHORT_NAME)
        equations = [equation(self._name(atom), self._defined(atom), width) for atom in self.definitions]
        for k, (port, flat) in enumerate(zip(self.program.outputs, self.results, strict=True)):
            elements_of = self.latex_names.elements[k]
            cells = []
            for position, polynomial in enumerate(flat):
                key = frozenset(polynomial.items())
                pieces = self.pieces(polynomial)
                if elements and elements_of:
                    equations.append(
                        equation(elements_of[position], [self.names[key]] if key in self.names else pieces, width)
                    )
                    if len(pieces) > 1:
                        self.names.setdefault(key, elements_of[position])
                elif key not in self.names and too_wide(" ".join(pieces), port.shape):
                    name = (
                        self.names.setdefault(key, elements_of[position])
                        if self.latex_names.chosen
                        else self._name(key)
                    )
                    equations.append(equation(name, pieces, width))
                cells.append(self.cell(polynomial))
            if not (elements and elements_of):
                equations.append((self.latex_names.outputs[k], [array(port.shape, cells)]))
        return equations

    def cell(self, polynomial: Polynomial) -> str:
        """The text of a result in an array: its name or its terms."""
        return self.names.get(frozenset(polynomial.items())) or " ".join(self.pieces(polynomial))

    def _name(self, key: Any) -> str:
        if key not in self.names:
            self.count += 1
            self.names[key] = f"{self.latex_names.letter}_{{{self.count}}}"
        return self.names[key]

    def _defined(self, atom: int) -> list[str]:
        if atom in self.calls:
            operands = (" ".join(self.pieces(part)) for part in self.calls[atom])
            return [function(self.normal.atoms[atom].payload[0], *operands)]
        above, below = self.definitions[atom]
        pieces = self.pieces(above)
        if self.normal.atoms[atom].op == "function":
            return [function(self.normal.atoms[atom].payload[0], " ".join(pieces))]
        if not below:
            return pieces
        if len(above) > SHORT:
            return parenthesize(self._product(1, tuple((x, -e) for x, e in below)), pieces, "")
        return [rf"\frac{{{' '.join(pieces)}}}{{{self._product(1, below)}}}"]

    def pieces(self, polynomial: Polynomial, flat: bool = False) -> list[str]:
        """The terms of a sum, between which lines may break; all but the first begin with their sign."""
        pieces: list[str] = []
        for before, inner, after in self._groups(polynomial, flat):
            negative = all(x < 0 for x in inner.values())
            positive = {key: -x for key, x in inner.items()} if negative else inner
            if len(positive) == 1:
                ((key, x),) = positive.items()
                group = [self._product(x, before, key, after) or "1"]
            else:
                group = parenthesize(
                    self._product(1, before), self.pieces(positive, flat=bool(before)), self._product(1, after)
                )
            lead = ("- " if negative else "+ ") if pieces else "-" * negative
            pieces += [lead + group[0], *group[1:]]
        return pieces or ["0"]

    def _groups(self, polynomial: Polynomial, flat: bool) -> list[tuple[Key, Polynomial, Key]]:
        """Factors before, terms in, and factors after parentheses; or a single term."""
        if flat:
            return [((), {key: polynomial[key]}, ()) for key in self.ordered(polynomial)]
        carriers = {x for key in polynomial for x, _ in key if self.rank(x)[0] == CARRIER}
        parts = self._split(polynomial, carriers or self._linear(polynomial))
        groups: list[tuple[Key, Polynomial, Key]] = []
        for part, inner in parts:
            if not part:
                groups += self._groups(inner, flat=not carriers)
            elif not carriers:
                groups.append((part, inner, ()))
            else:
                common = self._split(inner, self._linear(inner))
                groups.append((*(common[0] if len(common) == 1 else ((), inner)), part))
        return groups

    def _split(self, polynomial: Polynomial, atoms: set[int]) -> list[tuple[Key, Polynomial]]:
        """Group the terms by their powers of these atoms."""
        parts: dict[Key, Polynomial] = {}
        for key in self.ordered(polynomial):
            part = tuple(p for p in key if p[0] in atoms)
            parts.setdefault(part, {})[tuple(p for p in key if p[0] not in atoms)] = polynomial[key]
        return [(part, parts[part]) for part in sorted(self.ordered(parts), key=lambda part: not part)]

    def _linear(self, polynomial: Polynomial) -> set[int]:
        """Symbols in which the sum is linear, no two in one term, preferring those in most terms."""
        uses = Counter(x for key in polynomial for x, _ in key if self.rank(x)[0] == SYMBOL)
        uses.subtract({x: len(polynomial) for key in polynomial for x, e in key if e != 1})
        symbols: set[int] = set()
        for x in sorted(uses, key=lambda x: (-uses[x], self.rank(x))):
            if uses[x] > 0 and not any(x in dict(key) and symbols & set(dict(key)) for key in polynomial):
                symbols.add(x)
        return symbols

    def rank(self, atom: int) -> tuple[int, Any]:
        op, payload = self.normal.atoms[atom].op, self.normal.atoms[atom].payload
        if op == "input":
            name = payload[0]
            if self.shapes[name] and name != "q":
                return CARRIER, (-len(name), payload)  # accelerations before rates
            return (VARIABLE if self.shapes[name] else SYMBOL), payload
        return (NAMED, (atom,)) if op in DEFINED else (TRIGONOMETRIC, (len(payload), payload))

    def ordered(self, keys: Any) -> list[Key]:
        """Sort by number of sines and cosines, then by the ranks of factors."""

        def order(key: Key) -> Any:
            ranks = sorted((self.rank(x), -e) for x, e in key)
            return [sum(rank[0] == TRIGONOMETRIC for rank, _ in ranks), ranks]

        return sorted(keys, key=order)

    def _product(self, x: Number, *keys: Key) -> str:
        """A number times powers of atoms, part by part; empty for one."""
        powers = [(a, e) for key in keys for a, e in sorted(key, key=lambda p: self.rank(p[0]))]
        above = [self._power(a, e) for a, e in powers if e > 0]
        below = [self._power(a, -e) for a, e in powers if e < 0]
        first = [] if x == 1 else [number(x, self.digits, self.symbolic)]
        if below:
            return join_factors([*first, rf"\frac{{{join_factors(above) or 1}}}{{{join_factors(below)}}}"])
        return join_factors([*first, *above])

    def _power(self, atom: int, exponent: int) -> str:
        text = self._atom(atom)
        if exponent == 1:
            return text
        return rf"\left({text}\right)^{{{exponent}}}" if " " in text else f"{text}^{{{exponent}}}"

    def _atom(self, atom: int) -> str:
        op, payload = self.normal.atoms[atom].op, self.normal.atoms[atom].payload
        if op == "input":
            return self.latex_names.input(*payload)
        return self._name(atom) if op in DEFINED else self.latex_names.sine_or_cosine(op, payload)


def join_factors(factors: list[str]) -> str:
    return r" \, ".join(factors)


def parenthesize(before: str, pieces: list[str], after: str) -> list[str]:
    """The pieces in parentheses, with a factor on either side."""
    opened = [rf"{before} \, \bigl( " if before else r"\bigl( ", *[""] * (len(pieces) - 1)]
    closed = [*[""] * (len(pieces) - 1), rf" \bigr) \, {after}" if after else r" \bigr)"]
    return [a + piece + b for a, piece, b in zip(opened, pieces, closed, strict=True)]


def equation(name: str, pieces: list[str], width: int) -> Equation:
    """One line, or several where that is too long."""
    lines, length = [[pieces[0]]], visible_length(pieces[0])
    for piece in pieces[1:]:
        length += visible_length(piece)
        if length > width:
            lines.append([])
            length = visible_length(piece)
        lines[-1].append(piece)
    return name, [" ".join(line) for line in lines]
