"""Sums of products as textbooks print them: m_2 (l_1² + l_c2² + 2 l_1 l_c2 c_2), -m_2 l_1 l_c2 s_2 (2 q̇_1 q̇_2 + q̇_2²).

A polynomial in normal form is multiplied out. Here it becomes a nested sum, by one rule that is applied from outside
to inside:

1. Terms with accelerations, terms with rates, and terms with neither are separate sums.
2. A factor that all terms have to the same power is factored out; one with different powers stays, as in
   l_c2² + l_1 l_c2 c_2. A number is factored out if all coefficients equal it; in sums with rates, it or twice it.
3. x² + 2 x y + y² is the square (x + y)², for any number of terms.
4. Terms are grouped. Where each has a sine or cosine (torques of gravity, Coriolis terms): by sines and cosines first,
   then by the symbols in which the sum is linear, then by rates. Otherwise (inertias): by accelerations and rates
   first, then by these symbols (masses), then by sines and cosines. A sine or cosine that different products of them
   share is drawn out alone. Inside a group that was made by symbols no other is made by symbols.
5. Groups of symbols or rates that have the same sum are one: x S + y S = (x + y) S. Groups of sines and cosines are one
   if all have the same sum of rates.

Each step is an identity.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

from ..graph.polynomial import Key, Number, Polynomial, size

SYMBOL, NAMED, VARIABLE, SUM, TRIGONOMETRIC, CARRIER = range(6)  # the order of factors
EQUAL = 1e-12  # relative difference of coefficients that are equal to rounding
ONE = Fraction(1)
Rank = tuple[int, Any]


class Product(NamedTuple):
    """A number times powers of factors: atoms, and sums, which are tuples of products."""

    number: Number
    powers: tuple[tuple[Any, int], ...] = ()


Sum = tuple[Product, ...]


@dataclass(frozen=True)
class Textbook:
    """Nests polynomials.

    `rank` has the kind of an atom and its place among others of that kind. Carriers are accelerations, rates and
    torques; `array` is the name of the array that a carrier belongs to. Atoms in `first` stand first in a product.
    """

    rank: Callable[[int], Rank]
    array: Callable[[int], str]
    first: Collection[int] = ()

    def sum(self, polynomial: Polynomial) -> Sum:
        """The nested sum that equals a polynomial; empty for zero."""
        classes = self.split(polynomial, self.carriers)
        ordered = sorted(classes, key=lambda arrays: (not arrays, [-len(name) for name in arrays]))
        return tuple(product for arrays in ordered for product in self.nested(classes[arrays]))

    def carriers(self, key: Key) -> tuple[str, ...]:
        """The arrays of the carriers of a term, one for each factor."""
        carriers = ((x, e) for x, e in key if self.rank(x)[0] == CARRIER)
        return tuple(sorted(name for x, e in carriers for name in [self.array(x)] * max(e, 1)))

    def nested(self, polynomial: Polynomial, symbols: bool = True) -> Sum:
        """The nested sum of terms of one class; `symbols` says whether they may be grouped by symbols."""
        if len(polynomial) <= 1:
            return tuple(Product(x, key) for key, x in polynomial.items())
        number, common, rest = self.drawn_out(polynomial)
        if number == 1 and not common:
            return self.grouped(polynomial, symbols)
        return (times(Product(number, common), positive_first(self.grouped(rest, symbols))),)

    def drawn_out(self, polynomial: Polynomial) -> tuple[Number, Key, Polynomial]:
        """The number and the powers that all terms share, and the terms without them."""
        first, *others = polynomial
        common = tuple(p for p in first if all(p in key for key in others))
        numbers = list(polynomial.values())
        least = min(map(size, numbers))
        multiples = (1, 2) if any(map(self.carriers, polynomial)) else (1,)
        alike = all(any(math.isclose(size(x), k * least, rel_tol=EQUAL) for k in multiples) for x in numbers)
        number: Number = min(numbers, key=size) if alike else ONE
        number = -number if number < 0 else number
        if all(x < 0 for x in numbers) and (common or number != 1):
            number = -number
        rest = {key: Fraction(round(x / number)) if alike else x / number for key, x in polynomial.items()}
        return number, common, {without(key, common): x for key, x in rest.items()}

    def grouped(self, polynomial: Polynomial, symbols: bool) -> Sum:
        """A sum without common factors."""
        root, number = self.square(polynomial)
        if root:
            used = {multiplied(x, y) for x in root for y in root}
            rest = self.nested({key: x for key, x in polynomial.items() if key not in used}, symbols)
            square = Product(number, ((tuple(Product(x, key) for key, x in root.items()), 2),))
            return tuple(sorted((square, *rest), key=lambda product: self.order(leading(product))))
        for kind, powers in self.groupings(polynomial, symbols):
            groups = self.split(polynomial, partial(part_in, powers))
            if 1 < len(groups) < len(polynomial):
                again = symbols and kind != SYMBOL
                products = [product for part in groups for product in self.group(part, groups[part], again)]
                return self.merged(products, symbols, rates=kind == TRIGONOMETRIC)
        return tuple(Product(polynomial[key], key) for key in self.ordered(polynomial))

    def group(self, part: tuple[tuple[Any, int], ...], polynomial: Polynomial, symbols: bool) -> Sum:
        """The terms with a part in common."""
        if not part:
            return self.nested(polynomial, symbols)
        sign = -ONE if max(polynomial.values()) < 0 else ONE
        inner = self.nested({without(key, part): sign * x for key, x in polynomial.items()}, symbols)
        return (times(Product(sign, part), positive_first(inner)),)

    def groupings(self, polynomial: Polynomial, symbols: bool) -> Iterator[tuple[int, set[tuple[int, int]]]]:
        """Powers by which terms may be grouped, each with the kind; what makes groups first is used."""
        powers = {power for key in polynomial for power in key}
        turns, rates = ({p for p in powers if self.rank(p[0])[0] == kind} for kind in (TRIGONOMETRIC, CARRIER))
        linear = {(x, 1) for x in self.linear(polynomial)} if symbols else set()
        products = {tuple(p for p in key if p in turns) for key in polynomial}
        uses = Counter(p for product in products for p in product)
        shared = [p for p in sorted(uses, key=lambda p: (-uses[p], self.rank(p[0]), p)) if uses[p] > 1]
        by_turns = [(TRIGONOMETRIC, {p}) for p in shared] + [(TRIGONOMETRIC, turns)]
        if () in products:
            yield from ((CARRIER, rates), (SYMBOL, linear), *by_turns)
        else:
            yield from (*by_turns, (SYMBOL, linear), (CARRIER, rates))

    def linear(self, polynomial: Polynomial) -> set[int]:
        """Symbols in which the sum is linear, no two in one term, preferring those in most terms."""
        uses = Counter(x for key in polynomial for x, _ in key if self.rank(x)[0] == SYMBOL)
        uses.subtract({x: len(polynomial) for key in polynomial for x, e in key if e != 1})
        symbols: set[int] = set()
        for x in sorted(uses, key=lambda x: (-uses[x], self.rank(x))):
            if uses[x] > 0 and not any(x in dict(key) and symbols & set(dict(key)) for key in polynomial):
                symbols.add(x)
        return symbols

    def square(self, polynomial: Polynomial) -> tuple[Polynomial, Number]:
        """The root of the first square in a polynomial, and the number before the square; empty if there is none."""
        roots = [half for half in map(square_root, self.ordered(polynomial)) if half is not None]
        for first in roots:
            number = polynomial[multiplied(first, first)]
            root: dict[Key, Number] = {first: ONE}
            for key in roots[roots.index(first) + 1 :]:
                shares: list[Number] = [
                    polynomial.get(multiplied(key, x), 0) / (2 * number * sign) for x, sign in root.items()
                ]
                sign = ONE if shares[0] > 0 else -ONE
                shares.append(sign * polynomial[multiplied(key, key)] / number)
                if all(math.isclose(x, sign, rel_tol=EQUAL) for x in shares):
                    root[key] = sign
            if len(root) > 1:
                return root, number
        return {}, 0

    def merged(self, products: Sequence[Product], symbols: bool, rates: bool) -> Sum:
        """Products with the same sum become one; with `rates` only if all have the same, a sum of rates."""
        alike: dict[Any, list[Product]] = {}
        for product in products:
            sums = sums_of(product)
            alike.setdefault(rounded(sums) if len(sums) == 1 else product, []).append(product)
        if rates and (len(alike) > 1 or self.place(sums_of(products[0])[0][0])[1][0] != CARRIER):
            return tuple(products)
        return tuple(
            term
            for same in alike.values()
            for term in (self.group(sums_of(same[0]), dict(map(apart, same)), symbols) if same[1:] else same)
        )

    def split(self, polynomial: Polynomial, part: Callable[[Key], Any]) -> dict[Any, Polynomial]:
        """The terms by a part of them, in order."""
        parts: dict[Any, Polynomial] = {}
        for key in self.ordered(polynomial):
            parts.setdefault(part(key), {})[key] = polynomial[key]
        return parts

    def ordered(self, keys: Iterable[Key]) -> list[Key]:
        return sorted(keys, key=self.order)

    def order(self, key: Key) -> Any:
        """Terms are sorted by number of sines and cosines, by their factors in `first`, then by all factors."""
        ranks = sorted((self.rank(x), -e) for x, e in key)
        first = sorted(self.rank(x) for x, _ in key if x in self.first)
        return [sum(rank[0] == TRIGONOMETRIC for rank, _ in ranks), first, ranks]

    def factors(self, product: Product) -> list[tuple[Any, int]]:
        """The powers in the order of print: symbols, sums of them, sines and cosines, sums with those, rates."""
        return sorted(product.powers, key=lambda power: self.place(power[0]))

    def place(self, factor: Any) -> tuple[bool, Any]:
        if isinstance(factor, int):
            return factor not in self.first, self.rank(factor)
        places = [self.place(x) for product in factor for x, _ in product.powers]
        later, (kind, _) = max(places, default=(True, (SUM, ())))
        return later, (kind, (math.inf,)) if kind in (TRIGONOMETRIC, CARRIER) else (SUM, ())


def times(product: Product, total: Sum) -> Product:
    """A product times a sum, which stays in parentheses if it has several terms."""
    if len(total) > 1:
        return Product(product.number, (*product.powers, (total, 1)))
    return Product(product.number * total[0].number, multiplied(product.powers, total[0].powers))


def multiplied(a: Sequence[tuple[Any, int]], b: Sequence[tuple[Any, int]]) -> tuple[tuple[Any, int], ...]:
    powers: dict[Any, int] = dict(a)
    for x, e in b:
        powers[x] = powers.get(x, 0) + e
    atoms = sorted((x, e) for x, e in powers.items() if e and isinstance(x, int))
    return (*atoms, *((x, e) for x, e in powers.items() if e and not isinstance(x, int)))


def part_in(powers: Collection[tuple[int, int]], key: Key) -> Key:
    return tuple(power for power in key if power in powers)


def without(key: Key, part: Key) -> Key:
    return tuple(power for power in key if power not in part)


def square_root(key: Key) -> Key | None:
    return tuple((x, e // 2) for x, e in key) if all(e % 2 == 0 for _, e in key) else None


def positive_first(total: Sum) -> Sum:
    """The sum with its first positive term in front."""
    return tuple(sorted(total, key=lambda product: product is not next((x for x in total if x.number > 0), total[0])))


def leading(product: Product) -> Key:
    """The first term of a product, multiplied out."""
    key: Key = ()
    for factor, exponent in product.powers:
        inner = ((factor, 1),) if isinstance(factor, int) else leading(factor[0])
        key = multiplied(key, [(x, e * exponent) for x, e in inner])
    return key


def sums_of(product: Product) -> tuple[tuple[Sum, int], ...]:
    return tuple(power for power in product.powers if not isinstance(power[0], int))


def apart(product: Product) -> tuple[Key, Number]:
    """The term without its sums."""
    return tuple(power for power in product.powers if isinstance(power[0], int)), product.number


def rounded(factor: Any) -> Any:
    """Nested tuples in which numbers that are equal to rounding are equal."""
    if isinstance(factor, tuple):
        return tuple(map(rounded, factor))
    return factor if isinstance(factor, int) else f"{float(factor):.12e}"


def depth(total: Sum) -> int:
    """How many sums are inside one another, below this one."""
    return max((1 + depth(factor) for product in total for factor, _ in sums_of(product)), default=0)
