"""The normal form of a program's numbers: polynomials in its inputs, in sines and cosines, and in named quotients.

    s² = 1 - c²      cos(a + b) = c_a c_b - s_a s_b      sin(a + b) = s_a c_b + c_a s_b

Equal trigonometric polynomials are equal dictionaries, however they were computed. Quotients are not expanded. The
following are atoms: a denominator, a longer sum over an atom, and a sum with such atoms that is used more than once.

Sines and cosines of sums of angles are recognised in a normal form: c_23 for c_2 c_3 - s_2 s_3, s² for 1 - c².

A polynomial in sines and cosines of a run of angles equals a sum of sines and cosines of integer combinations of them
(its Fourier form). Terms that differ only in these angles are written in the shorter form. The run that shortens the
polynomial most is chosen, repeatedly until nothing gets shorter.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

from ..graph import Node, Program
from ..graph.polynomial import (
    ARITHMETIC,
    EPSILON,
    Algebra,
    Key,
    Number,
    Polynomial,
    accumulate,
    constant_polynomial,
    drop_rounding_residue,
    drop_zeros,
    power,
    scale,
    shift_exponents,
    size,
    sorted_terms,
)
from ..graph.rules import OPERATIONS

TURNS = 8  # cos(k q) is expanded up to this k
DEFINED = ("sum", "ratio", "function", "call")  # atoms that have a definition


@dataclass(frozen=True)
class Atom:
    """A factor of products.

    input      payload (name, position)
    sin, cos   payload ((input, multiplier), ...): the argument is a sum of inputs
    function   payload (operation, polynomial): any other argument
    call       payload (operation, polynomial, ...): several arguments, such as a choice between two
    sum        payload polynomial: a denominator
    ratio      payload (polynomial, key): a longer sum over a product
    """

    op: str
    payload: Any


class Normal(Algebra):
    """The atoms of a program, and the polynomials of its nodes, with at most `limit` terms."""

    def __init__(self, program: Program, limit: float = math.inf) -> None:
        super().__init__(limit)
        self.atoms: list[Atom] = []
        self._known: dict[Any, int] = {}
        value: dict[int, Polynomial] = {}
        uses = Counter(a.index for node in program.nodes for a in node.args)
        uses.update({node.index for flat in program.results for node in flat})
        for node in program.nodes:
            if node.op == "div":
                value[node.args[1].index] = self.named(value[node.args[1].index])
            polynomial = self._polynomial(node, [value[a.index] for a in node.args])
            value[node.index] = (
                self.named(polynomial) if uses[node.index] > 1 and self.has_quotients(polynomial) else polynomial
            )
        self.results = [[drop_rounding_residue(value[node.index]) for node in flat] for flat in program.results]

    def _polynomial(self, node: Node, operands: list[Polynomial]) -> Polynomial:
        match node.op:
            case "const":
                return constant_polynomial(node.payload)
            case "input":
                return power(self.atom("input", node.payload))
        if node.op in ARITHMETIC:
            return self.arithmetic(node.op, *operands)
        return self._function(node.op, operands[0]) if len(operands) == 1 else self._call(node.op, *operands)

    def atom(self, op: str, payload: Any) -> int:
        """The number of the atom; a new one is added."""
        number = self._known.get((op, payload))
        if number is None:
            number = self._known[op, payload] = len(self.atoms)
            self.atoms.append(Atom(op, payload))
        return number

    def times(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """Expand the product; a longer sum over an atom becomes an atom."""
        for quotient, numerator in ((a, b), (b, a)):
            if len(quotient) == 1 and len(self.with_squared_sines(numerator)) > 1:
                ((key, factor),) = quotient.items()
                below = tuple((x, -e) for x, e in key if e < 0 and self.atoms[x].op in DEFINED)
                if below:
                    above = tuple((x, e) for x, e in key if (x, -e) not in below)
                    ratio = self.atom("ratio", (sorted_terms(drop_rounding_residue(numerator)), below))
                    return self.times({above: factor}, power(ratio))
        return super().times(a, b)

    def over(self, a: Polynomial, b: Polynomial) -> Polynomial:
        if not b:
            raise ZeroDivisionError("the function divides by an expression that is zero everywhere")
        ((key, factor),) = b.items()
        return self.times(a, {tuple((x, -e) for x, e in key): 1 / factor})

    def named(self, a: Polynomial) -> Polynomial:
        """Define an atom by the polynomial, unless it is already a number times an atom."""
        if not a or (len(a) == 1 and len(next(iter(a))) <= 1):
            return a
        return power(self.atom("sum", sorted_terms(drop_rounding_residue(a))))

    def _call(self, op: str, *operands: Polynomial) -> Polynomial:
        *compared, a, b = operands
        if compared and a == b:
            return a
        if all(set(x) <= {()} for x in compared or operands):
            known = [float(x.get((), 0)) for x in compared or operands]
            if not compared:
                return constant_polynomial(OPERATIONS[op](*known))
            return a if OPERATIONS[op](*known, True, False) else b
        parts = (self.named(part) if len(part) > 1 else part for part in operands)
        return power(self.atom("call", (op, *map(sorted_terms, parts))))

    def definition(self, atom: int) -> tuple[Polynomial, Key]:
        """The numerator and the denominator that define an atom."""
        op, payload = self.atoms[atom].op, self.atoms[atom].payload
        if op == "ratio":
            return dict(payload[0]), payload[1]
        return dict(payload if op == "sum" else payload[1]), ()

    def has_quotients(self, a: Polynomial) -> bool:
        return len(a) > 1 and any(self.atoms[x].op in DEFINED for key in a for x, _ in key)

    def with_squared_sines(self, a: Polynomial) -> Polynomial:
        """Write x - x c² as x s², for display only."""
        result = dict(a)
        for sine, c in self.cosine.items():
            for key, x in a.items():
                if key in result and dict(key).get(c, 0) >= 2:
                    without = shift_exponents(key, (c, c), ())
                    if without in result and math.isclose(result[without], -x, rel_tol=1e-12):
                        del result[key], result[without]
                        squared = shift_exponents(without, (), (sine, sine))
                        result[squared] = result.get(squared, 0) - x
        return drop_zeros(result)

    def _function(self, op: str, argument: Polynomial) -> Polynomial:
        angles = self._angles(argument) if op in ("sin", "cos") else None
        if angles is None:
            inside = self.named(argument) if len(argument) > 1 else argument
            return power(self.atom("function", (op, sorted_terms(inside))))
        offset = float(argument.get((), 0))
        sine, cosine = (
            constant_polynomial(x if abs(x) > EPSILON else 0.0) for x in (math.sin(offset), math.cos(offset))
        )
        for angle, turns in angles:
            c, s = self.angle(angle)
            for _ in range(abs(turns)):
                along, across = power(c), scale(power(s), 1 if turns > 0 else -1)
                sine, cosine = (
                    self.plus(self.times(sine, along), self.times(cosine, across)),
                    self.plus(self.times(cosine, along), scale(self.times(sine, across), -1)),
                )
        return sine if op == "sin" else cosine

    def _angles(self, argument: Polynomial) -> list[tuple[int, int]] | None:
        """The inputs and integer multipliers whose sum, plus a constant, is the argument; otherwise None."""
        angles = []
        for key, factor in argument.items():
            if key:
                if len(key) > 1 or key[0][1] != 1 or self.atoms[key[0][0]].op != "input":
                    return None
                if int(factor) != factor or size(factor) > TURNS:
                    return None
                angles.append((key[0][0], int(factor)))
        return sorted(angles)

    def angle(self, atom: int) -> tuple[int, int]:
        """The cosine and the sine of an input, which are neighbouring atoms."""
        angles = ((self.atoms[atom].payload, 1),)
        c, s = self.atom("cos", angles), self.atom("sin", angles)
        self.cosine[s] = c
        return c, s


Waves = dict[tuple[int, ...], Number]  # coefficients of exp(i k·q) by k


def shorten(normal: Normal, polynomial: Polynomial) -> Polynomial:
    """Rewrite with sines and cosines of sums where that is shorter."""
    while True:
        options = [fourier_form(normal, polynomial, run) for run in runs(normal, polynomial)]
        best = min(options, key=lambda p: length(normal, p), default=polynomial)
        if length(normal, best) >= length(normal, polynomial):
            return normal.with_squared_sines(polynomial)
        polynomial = best


def length(normal: Normal, polynomial: Polynomial) -> int:
    """The length of the text: terms, factors, and differences and multiples of angles."""
    return sum(1 + sum(abs(e) + extra_length(normal.atoms[x]) for x, e in key) for key in polynomial)


def extra_length(atom: Atom) -> int:
    return sum(abs(k - 1) for _, k in atom.payload) if atom.op in ("sin", "cos") else 0


def runs(normal: Normal, polynomial: Polynomial) -> Iterable[list[int]]:
    """Squared angles, and runs of neighbouring angles in which each adjacent pair shows an angle sum.

    An angle is represented by the atom of its cosine; the next atom is its sine.
    """
    cosines = sorted(normal.cosine.values(), key=lambda c: normal.atoms[c].payload)
    bound = [c for c in cosines if any(x in (c, c + 1) for key in polynomial for x, _ in key)]
    links = [shows_angle_sum(normal, polynomial, a, b) for a, b in pairwise(bound)]
    for i, c in enumerate(bound):
        if any(x == c and e > 1 for key in polynomial for x, e in key):
            yield [c]
        for j in range(i + 1, len(bound)):
            if not links[j - 1]:
                break
            yield bound[i : j + 1]


def shows_angle_sum(normal: Normal, polynomial: Polynomial, a: int, b: int) -> bool:
    """Whether there are terms x c_a c_b and ±x s_a s_b, or x s_a c_b and ±x c_a s_b."""
    for key, x in polynomial.items():
        powers = dict(key)
        for here, there in (((a, b), (a + 1, b + 1)), ((a + 1, b), (a, b + 1))):
            if all(powers.get(atom, 0) > 0 for atom in here):
                other = shift_exponents(key, here, there)
                if math.isclose(size(polynomial.get(other, 0)), size(x), rel_tol=1e-12):
                    return True
    return False


def fourier_form(normal: Normal, polynomial: Polynomial, run: list[int]) -> Polynomial:
    """Rewrite the angles of the run in Fourier form where that is shorter."""
    inside = {atom for c in run for atom in (c, c + 1)}
    groups: dict[Key, Polynomial] = {}
    for key, x in polynomial.items():
        rest = tuple(p for p in key if p[0] not in inside)
        groups.setdefault(rest, {})[key] = x
    shorter: Polynomial = {}
    for rest, group in groups.items():
        waves = fourier(normal, rest, group, run)
        shorter.update(waves if length(normal, waves) < length(normal, normal.with_squared_sines(group)) else group)
    return shorter


def fourier(normal: Normal, rest: Key, group: Polynomial, run: list[int]) -> Polynomial:
    total: Polynomial = {}
    angles = [normal.atoms[c].payload[0][0] for c in run]
    for key, x in group.items():
        powers = dict(key)
        waves: Waves = {(): x}
        for c in run:
            step = wave_coefficients(powers.get(c, 0), powers.get(c + 1, 0))
            waves = {(*k, turns): y * z for k, y in waves.items() for turns, z in step}
        sines = sum(powers.get(c + 1, 0) for c in run)
        for k, y in waves.items():
            sign = (-1) ** (sines // 2)  # i⁻ˢ without the factor -i, for odd s, that turns exp(i x) into a sine
            if next((turns for turns in k if turns), 0) < 0:
                k = tuple(-turns for turns in k)
                sign *= (-1) ** (sines % 2)
            of = tuple((angle, turns) for angle, turns in zip(angles, k, strict=True) if turns)
            if of or sines % 2 == 0:
                atom = ((normal.atom("sin" if sines % 2 else "cos", of), 1),) if of else ()
                product = tuple(sorted((*rest, *atom)))
                accumulate(total, product, sign * y)
    return drop_rounding_residue(drop_zeros(total))


@cache
def wave_coefficients(cosines: int, sines: int) -> tuple[tuple[int, Fraction], ...]:
    """Coefficients of cᵐ (i s)ⁿ of one angle in exp(i k q)."""
    waves: dict[int, Fraction] = {0: Fraction(1)}
    for sign in (*(1,) * cosines, *(-1,) * sines):
        raised: dict[int, Fraction] = {}
        for k, x in waves.items():
            raised[k + 1] = raised.get(k + 1, Fraction(0)) + x / 2
            raised[k - 1] = raised.get(k - 1, Fraction(0)) + sign * x / 2
        waves = raised
    return tuple((k, x) for k, x in waves.items() if x)
