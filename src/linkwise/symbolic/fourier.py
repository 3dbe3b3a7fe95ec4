"""Sines and cosines of sums of angles, recognised in a normal form: c_23 for c_2 c_3 - s_2 s_3, s² for 1 - c².

Over a run of angles a polynomial in their sines and cosines is as well a sum of sines and cosines of whole combinations
of them (its Fourier form). Terms that agree in everything but these angles are written in whichever form is shorter,
and the run is the one that shortens the polynomial most; then again, until nothing gets shorter.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from itertools import pairwise

from ..graph.polynomial import Key, Number, Polynomial, cleaned, shifted, size, without_zeros
from .normal_form import Atom, Normal

Waves = dict[tuple[int, ...], Number]  # coefficients of exp(i k·q) by k


def shortened(normal: Normal, polynomial: Polynomial) -> Polynomial:
    """The same value, with atoms for the sines and cosines of sums where that is shorter."""
    while True:
        options = [in_waves(normal, polynomial, run) for run in runs(normal, polynomial)]
        best = min(options, key=lambda p: length(normal, p), default=polynomial)
        if length(normal, best) >= length(normal, polynomial):
            return normal.with_squared_sines(polynomial)
        polynomial = best


def length(normal: Normal, polynomial: Polynomial) -> int:
    """How much there is to read: terms, factors, and differences and multiples of angles."""
    return sum(1 + sum(abs(e) + extra_length(normal.atoms[x]) for x, e in key) for key in polynomial)


def extra_length(atom: Atom) -> int:
    return sum(abs(k - 1) for _, k in atom.payload) if atom.op in ("sin", "cos") else 0


def runs(normal: Normal, polynomial: Polynomial) -> Iterable[list[int]]:
    """Angles that occur squared, and neighbouring angles of which each two next to each other show a sum somewhere.

    An angle is the atom of its cosine here; that of its sine is the next.
    """
    cosines = sorted(normal.cosine.values(), key=lambda c: normal.atoms[c].payload)
    bound = [c for c in cosines if any(x in (c, c + 1) for key in polynomial for x, _ in key)]
    links = [joined(normal, polynomial, a, b) for a, b in pairwise(bound)]
    for i, c in enumerate(bound):
        if any(x == c and e > 1 for key in polynomial for x, e in key):
            yield [c]
        for j in range(i + 1, len(bound)):
            if not links[j - 1]:
                break
            yield bound[i : j + 1]


def joined(normal: Normal, polynomial: Polynomial, a: int, b: int) -> bool:
    """Whether some x c_a c_b stands beside an equal x s_a s_b, or x s_a c_b beside x c_a s_b."""
    for key, x in polynomial.items():
        powers = dict(key)
        for here, there in (((a, b), (a + 1, b + 1)), ((a + 1, b), (a, b + 1))):
            if all(powers.get(atom, 0) > 0 for atom in here):
                other = shifted(key, here, there)
                if math.isclose(size(polynomial.get(other, 0)), size(x), rel_tol=1e-12):
                    return True
    return False


def in_waves(normal: Normal, polynomial: Polynomial, run: list[int]) -> Polynomial:
    """With the angles of the run in Fourier form, where that is shorter."""
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
            step = single(powers.get(c, 0), powers.get(c + 1, 0))
            waves = {(*k, turns): y * z for k, y in waves.items() for turns, z in step}
        sines = sum(powers.get(c + 1, 0) for c in run)
        for k, y in waves.items():
            sign = (-1) ** (sines // 2)  # i⁻ˢ, but for the -i of an odd number of sines that makes exp(i x) a sine
            if next((turns for turns in k if turns), 0) < 0:
                k = tuple(-turns for turns in k)
                sign *= (-1) ** (sines % 2)
            of = tuple((angle, turns) for angle, turns in zip(angles, k, strict=True) if turns)
            if of or sines % 2 == 0:
                atom = ((normal.atom("sin" if sines % 2 else "cos", of), 1),) if of else ()
                whole = tuple(sorted((*rest, *atom)))
                total[whole] = total.get(whole, 0) + sign * y
    return cleaned(without_zeros(total))


@cache
def single(cosines: int, sines: int) -> tuple[tuple[int, Fraction], ...]:
    """cᵐ (i s)ⁿ of one angle in exp(i k q)."""
    waves: dict[int, Fraction] = {0: Fraction(1)}
    for sign in (*(1,) * cosines, *(-1,) * sines):
        turned: dict[int, Fraction] = {}
        for k, x in waves.items():
            turned[k + 1] = turned.get(k + 1, Fraction(0)) + x / 2
            turned[k - 1] = turned.get(k - 1, Fraction(0)) + sign * x / 2
        waves = turned
    return tuple((k, x) for k, x in waves.items() if x)
