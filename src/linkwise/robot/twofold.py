"""Numbers of twice as many digits: the unevaluated sum of two floats (Dekker 1971), some 32 digits.

For constants of a robot that are found by adding and subtracting many of its numbers, and rounded once at the end.
"""

from __future__ import annotations

import math

SPLITTER = 2.0**27 + 1.0


class Twofold:
    __slots__ = ("high", "low")

    def __init__(self, high: float, low: float = 0.0) -> None:
        self.high, self.low = high, low

    def __float__(self) -> float:
        return self.high  # `low` is at most half a unit in its last place

    def __repr__(self) -> str:
        return f"Twofold({self.high!r}, {self.low!r})"

    def __neg__(self) -> Twofold:
        return Twofold(-self.high, -self.low)

    def __add__(self, other: Number) -> Twofold:
        high, low = parts(other)
        total, error = two_sum(self.high, high)
        rest, error_of_rest = two_sum(self.low, low)
        total, error = quick_two_sum(total, error + rest)
        return Twofold(*quick_two_sum(total, error + error_of_rest))

    def __sub__(self, other: Number) -> Twofold:
        return self + -other

    def __mul__(self, other: Number) -> Twofold:
        high, low = parts(other)
        product, error = two_product(self.high, high)
        return Twofold(*quick_two_sum(product, error + (self.high * low + self.low * high)))

    def __truediv__(self, other: Number) -> Twofold:
        high, _ = parts(other)
        guess = Twofold(self.high / high)
        for _ in range(2):
            guess = guess + float(self - guess * other) / high
        return guess

    def __radd__(self, other: float) -> Twofold:
        return self + other

    def __rsub__(self, other: float) -> Twofold:
        return -self + other

    def __rmul__(self, other: float) -> Twofold:
        return self * other

    def __rtruediv__(self, other: float) -> Twofold:
        return Twofold(other) / self

    def sqrt(self) -> Twofold:
        guess = Twofold(math.sqrt(self.high))
        return guess + float(self - guess * guess) / (2.0 * guess.high) if guess.high else guess


Number = Twofold | float


def parts(x: Number) -> tuple[float, float]:
    return (x.high, x.low) if isinstance(x, Twofold) else (float(x), 0.0)


def two_sum(a: float, b: float) -> tuple[float, float]:
    """The rounded sum, and what rounding took from it (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def quick_two_sum(a: float, b: float) -> tuple[float, float]:
    """The same where a is not smaller than b."""
    total = a + b
    return total, b - (total - a)


def two_product(a: float, b: float) -> tuple[float, float]:
    """The rounded product, and what rounding took from it (Veltkamp and Dekker)."""
    product = a * b
    (a1, a2), (b1, b2) = split(a), split(b)
    return product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


def split(a: float) -> tuple[float, float]:
    """The upper and the lower half of the digits."""
    c = SPLITTER * a
    upper = c - (c - a)
    return upper, a - upper
