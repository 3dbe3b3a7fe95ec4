"""Polynomials as dictionaries from products of powers of atoms to coefficients: fractions, or floats where need be."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from sys import float_info

Number = Fraction | float
Key = tuple[tuple[int, int], ...]  # atoms, ascending, each with its exponent
Polynomial = dict[Key, Number]

SMALL = 1_000_000  # a constant is a fraction if its denominator is no larger
EPSILON = float_info.epsilon


def rational(x: float) -> Fraction | None:
    """The fraction with a small denominator that the number is, to rounding: 33/1000 for 0.033."""
    near = Fraction(x).limit_denominator(SMALL)
    return near if abs(float(near) - x) <= 8 * EPSILON * abs(x) else None


def constant(x: float) -> Number:
    near = rational(x)
    return x if near is None else near


def of_number(x: float) -> Polynomial:
    return {(): constant(x)} if x else {}


def size(x: Number) -> float:
    return abs(float(x))


def power(atom: int, exponent: int = 1) -> Polynomial:
    return {((atom, exponent),): Fraction(1)}


def plus(a: Polynomial, b: Polynomial) -> Polynomial:
    found = dict(a)
    for key, x in b.items():
        found[key] = found.get(key, 0) + x
    return without_zeros(found)


def scaled(a: Polynomial, factor: Number) -> Polynomial:
    return {key: factor * x for key, x in a.items()}


def without_zeros(a: Polynomial) -> Polynomial:
    return {key: x for key, x in a.items() if x}


def cleaned(a: Polynomial) -> Polynomial:
    """Without what rounding left of terms that cancel."""
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
