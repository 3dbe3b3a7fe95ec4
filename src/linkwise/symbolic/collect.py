"""Expand expressions of symbols into sums of products, sorted by name.

    l1*(m2 + m1) - 0.5*l1*m1   ->   0.5*l1*m1 + l1*m2          sin(a)² = 1 - cos(a)²

Atoms of the polynomials are symbols, functions of expanded expressions, and sums in denominators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..graph import Node, rules
from ..graph.polynomial import ARITHMETIC, Algebra, Key, Number, Polynomial, constant_polynomial, power, size

CANCELLED = 1e-13  # relative remainder of two coefficients that cancel


class Collector(Algebra):
    """Expands expressions of one graph. Atoms are numbered; `names` and `nodes` describe them."""

    def __init__(self) -> None:
        super().__init__(rounding=CANCELLED)
        self.names: list[str] = []
        self.nodes: list[Any] = []
        self._atoms: dict[str, int] = {}
        self._polynomials: dict[int, Polynomial] = {}  # of nodes, by index

    def __call__(self, x: Any) -> Any:
        """Expand an expression; a number stays one."""
        return float(x) + 0.0 if rules.is_number(x) else self.built(self.polynomial(x))

    def polynomial(self, x: Any) -> Polynomial:
        if rules.is_number(x):
            return constant_polynomial(float(x))
        if x.index not in self._polynomials:
            self._polynomials[x.index] = self._polynomial(x)
        return self._polynomials[x.index]

    def _polynomial(self, x: Node) -> Polynomial:
        if x.op == "const":
            return constant_polynomial(x.payload)
        if x.op == "input":
            return power(self.atom(str(x), x))
        parts = [self.polynomial(a) for a in x.args]
        if x.op in ARITHMETIC:
            return self.arithmetic(x.op, *parts)
        operands = [self.built(part) for part in parts]
        as_it_is = x.op in ("sin", "cos", "sqrt", "sign") and not rules.is_number(operands[0])
        value = rules.apply_function(x.op, operands[0]) if as_it_is else rules.OPERATIONS[x.op](*operands)
        if rules.is_number(value) or any(value is operand for operand in operands):
            return self.polynomial(value)
        inside = f"({', '.join(self.text(part, all_digits) for part in parts)})"
        atom = self.atom(f"{x.op}{inside}", value)
        if x.op == "sin":
            self.cosine[atom] = self.atom(f"cos{inside}", rules.cos(value.args[0]))
        return power(atom)

    def atom(self, name: str, node: Any) -> int:
        """The number of the atom with this name; a new one gets the next number."""
        if name not in self._atoms:
            self._atoms[name] = len(self.names)
            self.names.append(name)
            self.nodes.append(node)
        return self._atoms[name]

    def over(self, a: Polynomial, b: Polynomial) -> Polynomial:
        if len(b) != 1:
            return self.times(a, power(self.atom(f"({self.text(b, all_digits)})", self.built(b)), -1))
        ((key, factor),) = b.items()
        return self.times(a, {tuple((atom, -exponent) for atom, exponent in key): 1 / factor})

    def built(self, x: Polynomial) -> Any:
        """The polynomial as an expression, summed in pairs to keep it shallow."""
        terms = [self._built_term(product, factor) for product, factor in self.ordered(x)]
        while len(terms) > 1:
            pairs = zip(terms[::2], [*terms[1::2], 0.0], strict=False)
            terms = [rules.add(a, b) for a, b in pairs]
        return terms[0] if terms else 0.0

    def _built_term(self, key: Key, factor: Number) -> Any:
        value: Any = float(factor)
        for atom, exponent in key:
            value = rules.mul(value, rules.power(self.nodes[atom], max(exponent, 0)))
            for _ in range(-exponent):
                value = rules.div(value, self.nodes[atom])
        return value

    def ordered(self, x: Polynomial) -> list[tuple[Key, Number]]:
        """The terms and their factors, sorted by name."""

        def named(key: Key) -> list[tuple[str, int]]:
            return sorted((self.names[atom], exponent) for atom, exponent in key)

        terms = sorted((named(key), factor) for key, factor in x.items())
        return [(tuple((self._atoms[name], e) for name, e in key), factor) for key, factor in terms]

    def text(self, x: Polynomial, digits: Callable[[float], str]) -> str:
        """`0.5*l1*m1 - l1**2*m2`"""
        terms = []
        for key, factor in self.ordered(x):
            number = digits(size(factor))
            above = [power_text(self.names[atom], exponent) for atom, exponent in key if exponent > 0]
            below = [power_text(self.names[atom], -exponent) for atom, exponent in key if exponent < 0]
            terms.append((factor < 0, quotient_text(above if above and number == "1" else [number, *above], below)))
        return sum_text(terms)


def six_digits(x: float) -> str:
    return f"{x:.6g}"


def all_digits(x: float) -> str:
    """Format with all digits, for names of atoms, which must be unique."""
    return repr(x).removesuffix(".0")


def sum_text(terms: Iterable[tuple[bool, str]]) -> str:
    """`a - b + c` of terms, each with whether it is negative."""
    text = " ".join(f"{'-' if negative else '+'} {term}" for negative, term in terms)
    return text.replace("- ", "-", 1) if text.startswith("-") else text.removeprefix("+ ") or "0"


def quotient_text(above: list[str], below: list[str]) -> str:
    return "*".join(above or ["1"]) + "".join(f"/{factor}" for factor in below)


def power_text(text: str, exponent: int) -> str:
    return text if exponent == 1 else f"{text}**{exponent}"


def collected_text(x: Any) -> str:
    """An expression or a number as text, expanded."""
    collector = Collector()
    return collector.text(collector.polynomial(x), six_digits)
