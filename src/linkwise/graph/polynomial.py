"""Polynomials: dictionaries from products of powers of atoms to coefficients, fractions or floats.

Atoms are integers, whose meaning the caller knows. Since s² = 1 - c², sines occur to the first power only, and equal
trigonometric polynomials are equal dictionaries.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from sys import float_info

Number = Fraction | float
Key = tuple[tuple[int, int], ...]  # atoms, ascending, each with its exponent
Polynomial = dict[Key, Number]

CANCELLED = 1e-13  # relative remainder of two coefficients that cancel
SMALL = 1_000_000  # largest denominator of a constant that is a fraction
EPSILON = float_info.epsilon
ARITHMETIC = ("neg", "add", "sub", "mul", "div")


class TooManyTermsError(Exception):
    """A polynomial has more terms than the limit."""


def constant(x: float) -> Number:
    """The number as a fraction with a small denominator, such as 33/1000, if it equals one up to rounding."""
    near = Fraction(x).limit_denominator(SMALL)
    return near if abs(float(near) - x) <= 8 * EPSILON * abs(x) else x


def constant_polynomial(x: float) -> Polynomial:
    return {(): constant(x)} if x else {}


def size(x: Number) -> float:
    return abs(float(x))


def power(atom: int, exponent: int = 1) -> Polynomial:
    return {((atom, exponent),): Fraction(1)}


def scale(a: Polynomial, factor: Number) -> Polynomial:
    return {key: factor * x for key, x in a.items()}


def accumulate(total: Polynomial, key: Key, x: Number) -> None:
    """Add a term to the total. A term that cancels keeps the coefficient 0."""
    before = total.get(key)
    after = before + x if before else x  # a fraction remains a fraction
    total[key] = 0.0 if before and size(after) <= CANCELLED * size(before) else after


def drop_zeros(a: Polynomial) -> Polynomial:
    return {key: x for key, x in a.items() if x}


def drop_rounding_residue(a: Polynomial) -> Polynomial:
    """The polynomial without rounding errors of terms that cancel."""
    if not any(isinstance(x, float) for x in a.values()):
        return a
    least = 4 * EPSILON * max(size(x) for x in a.values())
    return {key: x for key, x in a.items() if size(x) > least}


def sorted_terms(a: Polynomial) -> tuple[tuple[Key, Number], ...]:
    return tuple(sorted(a.items()))


def shift_exponents(key: Key, away: Iterable[int], to: Iterable[int]) -> Key:
    """The product divided by the atoms `away` and multiplied by the atoms `to`."""
    powers = dict(key)
    for atom in away:
        powers[atom] -= 1
    for atom in to:
        powers[atom] = powers.get(atom, 0) + 1
    return tuple(sorted((x, e) for x, e in powers.items() if e))


class Algebra:
    """Arithmetic on polynomials.

    No product may have more than `limit` terms. Coefficients that cancel to rounding vanish.
    """

    def __init__(self, limit: float = math.inf) -> None:
        self.limit = limit
        self.cosine: dict[int, int] = {}  # atom of a sine -> atom of its cosine
        self._products: dict[tuple[Key, Key], tuple[tuple[Key, int], ...]] = {}

    def arithmetic(self, op: str, *operands: Polynomial) -> Polynomial:
        """The value of one of the operations in ARITHMETIC."""
        match op:
            case "neg":
                return scale(operands[0], -1)
            case "add":
                return self.plus(*operands)
            case "sub":
                return self.plus(operands[0], scale(operands[1], -1))
            case "mul":
                return self.times(*operands)
        return self.over(*operands)

    def plus(self, a: Polynomial, b: Polynomial) -> Polynomial:
        total = dict(a)
        for key, x in b.items():
            accumulate(total, key, x)
        return drop_zeros(total)

    def times(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """The product, multiplied out."""
        total: Polynomial = {}
        for key_a, x in a.items():
            for key_b, y in b.items():
                for key, sign in self._product(key_a, key_b):
                    accumulate(total, key, x * y if sign > 0 else -x * y)
        if len(total) > self.limit:
            raise TooManyTermsError
        return drop_zeros(total)

    def over(self, a: Polynomial, b: Polynomial) -> Polynomial:
        raise NotImplementedError

    def _product(self, a: Key, b: Key) -> tuple[tuple[Key, int], ...]:
        """The product of two keys as keys with signs: powers added, squared sines replaced."""
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
