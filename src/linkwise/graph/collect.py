"""Expressions multiplied out: sums of products of symbols and functions, in one order whatever made them.

    l1*(m2 + m1) - 0.5*l1*m1   ->   0.5*l1*m1 + l1*m2          sin(a)² = 1 - cos(a)²

A sum is a dictionary from products to their factors; a product is a tuple of pairs, atom and power, in the order of the
atoms' names. Atoms are symbols, functions of collected expressions, and sums that something is divided by.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import rules
from .node import Node

Product = tuple[tuple[str, int], ...]
Sum = dict[Product, float]
CANCELLED = 1e-13  # what is left of two factors, relatively, when they cancel


class Collector:
    """Multiplies expressions of one graph out, and remembers what their atoms are."""

    def __init__(self) -> None:
        self.atoms: dict[str, Node] = {}
        self._sums: dict[int, Sum] = {}

    def __call__(self, x: Any) -> Any:
        """The expression multiplied out; a number stays one."""
        return self.built(self.sum(x))

    def sum(self, x: Any) -> Sum:
        if rules.is_number(x):
            return {(): float(x)} if x != 0.0 else {}
        if x.op == "const":
            return {(): x.payload}
        if x.index not in self._sums:
            self._sums[x.index] = self._sum(x)
        return self._sums[x.index]

    def _sum(self, x: Node) -> Sum:
        if x.op == "input":
            return self.atom(str(x), x)
        parts = [self.sum(a) for a in x.args]
        match x.op:
            case "neg":
                return scaled(parts[0], -1.0)
            case "add":
                return plus(parts[0], parts[1])
            case "sub":
                return plus(parts[0], scaled(parts[1], -1.0))
            case "mul":
                return self.product(parts[0], parts[1])
            case "div":
                return self.product(parts[0], self.inverse(parts[1]))
        operands = [self.built(part) for part in parts]
        value = rules.select(*operands) if x.op == "select" else rules.function(x.op, operands[0])
        if rules.is_number(value) or any(value is operand for operand in operands):
            return self.sum(value)
        return self.atom(f"{x.op}({', '.join(text(part, exact) for part in parts)})", value)

    def atom(self, name: str, node: Node) -> Sum:
        self.atoms[name] = node
        return {((name, 1),): 1.0}

    def inverse(self, x: Sum) -> Sum:
        if len(x) == 1:
            ((product, factor),) = x.items()
            return {tuple((name, -power) for name, power in product): 1.0 / factor}
        name = f"({text(x, exact)})"
        self.atom(name, self.built(x))
        return {((name, -1),): 1.0}

    def product(self, x: Sum, y: Sum) -> Sum:
        total: Sum = {}
        for p, a in x.items():
            for r, b in y.items():
                take(total, self.without_squares({joined(p, r): a * b}))
        return total

    def without_squares(self, x: Sum) -> Sum:
        """sin² written as 1 - cos², in a sum of one product."""
        ((product, factor),) = x.items()
        name = next((name for name, power in product if name.startswith("sin(") and power > 1), None)
        if name is None:
            return x
        other = "cos" + name.removeprefix("sin")
        self.atoms[other] = rules.cos(self.atoms[name].args[0])
        rest = joined(product, ((name, -2),))
        both = self.without_squares({rest: factor}), self.without_squares({joined(rest, ((other, 2),)): -factor})
        return plus(*both)

    def built(self, x: Sum) -> Any:
        """The sum as an expression, added up in pairs, so that it is not deep."""
        terms = [self.built_term(product, factor) for product, factor in ordered(x)]
        while len(terms) > 1:
            pairs = zip(terms[::2], [*terms[1::2], 0.0], strict=False)
            terms = [rules.add(a, b) for a, b in pairs]
        return terms[0] if terms else 0.0

    def built_term(self, product: Product, factor: float) -> Any:
        value: Any = factor
        for name, power in product:
            value = rules.mul(value, rules.power(self.atoms[name], max(power, 0)))
            for _ in range(-power):
                value = rules.div(value, self.atoms[name])
        return value


def joined(p: Product, r: Product) -> Product:
    powers = dict(p)
    for name, power in r:
        powers[name] = powers.get(name, 0) + power
    return tuple(sorted((name, power) for name, power in powers.items() if power))


def plus(x: Sum, y: Sum) -> Sum:
    total = dict(x)
    take(total, y)
    return total


def take(total: Sum, y: Sum) -> None:
    """Add y to the total; what cancels is gone."""
    for product, factor in y.items():
        before = total.get(product, 0.0)
        if abs(before + factor) > CANCELLED * abs(before):
            total[product] = before + factor
        else:
            total.pop(product, None)


def scaled(x: Sum, by: float) -> Sum:
    return {product: by * factor for product, factor in x.items()}


def ordered(x: Sum) -> list[tuple[Product, float]]:
    return sorted(x.items())


def brief(x: float) -> str:
    return f"{x:.6g}"


def exact(x: float) -> str:
    """All digits: for the names of atoms, which must differ where the atoms do."""
    return repr(x).removesuffix(".0")


def text(x: Sum, number: Callable[[float], str] = brief) -> str:
    """`0.5*l1*m1 - l1**2*m2`"""
    signs = ("-" if factor < 0.0 else "+" for _, factor in ordered(x))
    sizes = (term(product, number(abs(factor))) for product, factor in ordered(x))
    terms = " ".join(f"{sign} {size}" for sign, size in zip(signs, sizes, strict=True))
    return terms.replace("- ", "-", 1) if terms.startswith("-") else terms.removeprefix("+ ") or "0"


def term(product: Product, factor: str) -> str:
    above = [raised(name, power) for name, power in product if power > 0]
    below = [f"/{raised(name, -power)}" for name, power in product if power < 0]
    return "*".join(above if above and factor == "1" else [factor, *above]) + "".join(below)


def raised(name: str, power: int) -> str:
    return name if power == 1 else f"{name}**{power}"


def written(x: Any) -> str:
    """An expression or a number as text, multiplied out."""
    return text(Collector().sum(x))
