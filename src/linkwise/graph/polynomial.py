"""Polynomials: dictionaries from products of powers of atoms to coefficients, fractions or floats.

Atoms are numbered; the code that makes a polynomial knows what they stand for. Sines occur to the first power only,
s² = 1 - c², so that equal trigonometric polynomials are equal dictionaries.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from sys import float_info

Number = Fraction | float
Key = tuple[tuple[int, int], ...]  # atoms, ascending, each with its exponent
Polynomial = dict[Key, Number]

SMALL = 1_000_000  # a constant is a fraction if its denominator is no larger
EPSILON = float_info.epsilon
ARITHMETIC = ("neg", "add", "sub", "mul", "div")


class TooManyTermsError(Exception):
    """A polynomial has more terms than wanted."""


def constant(x: float) -> Number:
    """The fraction with a small denominator that the number is, to rounding, such as 33/1000; otherwise the number."""
    near = Fraction(x).limit_denominator(SMALL)
    return near if abs(float(near) - x) <= 8 * EPSILON * abs(x) else x


def of_number(x: float) -> Polynomial:
    return {(): constant(x)} if x else {}


def size(x: Number) -> float:
    return abs(float(x))


def power(atom: int, exponent: int = 1) -> Polynomial:
    return {((atom, exponent),): Fraction(1)}


def scaled(a: Polynomial, factor: Number) -> Polynomial:
    return {key: factor * x for key, x in a.items()}


def without_zeros(a: Polynomial) -> Polynomial:
    return {key: x for key, x in a.items() if x}


def cleaned(a: Polynomial) -> Polynomial:
    """Without the rounding residue of terms that cancel."""
    if not any(isinstance(x, float) for x in a.values()):
        return a
    least = 4 * EPSILON * max(size(x) for x in a.values())
    return {key: x for key, x in a.items() if size(x) > least}


def frozen(a: Polynomial) -> tuple[tuple[Key, Number], ...]:
    return tuple(sorted(a.items()))


def shifted(key: Key, away: Iterable[int], to: Iterable[int]) -> Key:
    """The product with some atoms taken away and others put in."""
    powers = dict(key)
    for atom in away:
        powers[atom] -= 1
    for atom in to:
        powers[atom] = powers.get(atom, 0) + 1
    return tuple(sorted((x, e) for x, e in powers.items() if e))


class Algebra:
    """Arithmetic on polynomials.

    No product may have more than `limit` terms. Coefficients that cancel to within `rounding`, relatively, are dropped.
    """

    def __init__(self, limit: float = math.inf, rounding: float = 0.0) -> None:
        self.limit, self.rounding = limit, rounding
        self.cosine: dict[int, int] = {}  # of each sine, both by their atoms
        self._products: dict[tuple[Key, Key], tuple[tuple[Key, int], ...]] = {}

    def arithmetic(self, op: str, *operands: Polynomial) -> Polynomial:
        """The value of one of the operations in ARITHMETIC."""
        match op:
            case "neg":
                return scaled(operands[0], -1)
            case "add":
                return self.plus(*operands)
            case "sub":
                return self.plus(operands[0], scaled(operands[1], -1))
            case "mul":
                return self.times(*operands)
        return self.over(*operands)

    def plus(self, a: Polynomial, b: Polynomial) -> Polynomial:
        total = dict(a)
        for key, x in b.items():
            self._accumulate(total, key, x)
        return without_zeros(total)

    def times(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """Multiplied out."""
        total: Polynomial = {}
        for key_a, x in a.items():
            for key_b, y in b.items():
                for key, sign in self._product(key_a, key_b):
                    self._accumulate(total, key, x * y if sign > 0 else -x * y)
        if len(total) > self.limit:
            raise TooManyTermsError
        return without_zeros(total)

    def over(self, a: Polynomial, b: Polynomial) -> Polynomial:
        raise NotImplementedError

    def _accumulate(self, total: Polynomial, key: Key, x: Number) -> None:
        """Add a term to the total; where it cancels, the coefficient 0 stays."""
        before = total.get(key, 0)
        after = before + x
        cancels = self.rounding and size(after) <= self.rounding * size(before)
        total[key] = 0.0 if cancels else after

    def _product(self, a: Key, b: Key) -> tuple[tuple[Key, int], ...]:
        """Powers added, squared sines replaced: one key, or several with their signs."""
        if not a or not b:
            return ((a or b, 1),)
        product = self._products.get((a, b))
        if product is None:
            merged = dict(a)
            for atom, exponent in b:
                merged[atom] = merged.get(atom, 0) + exponent
            terms = [(merged, 1)]
            for sine in [x for x, e in merged.items() if e > 1 and x in self.cosine]:
                for powers, _ in terms:
                    powers[sine] -= 2
                c = self.cosine[sine]
                terms += [({**powers, c: powers.get(c, 0) + 2}, -sign) for powers, sign in terms]
            product = tuple((tuple(sorted((x, e) for x, e in powers.items() if e)), sign) for powers, sign in terms)
            self._products[a, b] = product
        return product
