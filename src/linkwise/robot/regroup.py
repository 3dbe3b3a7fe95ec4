"""Base inertial parameters: fewer numbers for the same torques and the same inertia matrix.

From the tips to the base, each joint splits its body in two (`Joint.split`): a part to keep, and a part that can move
to the parent without changing any torque. The second part is added to the parent's body, which is split in turn; at the
base it is dropped. A revolute joint keeps seven of ten numbers (h_x, h_y and five of the tensor, J_zz = J_xx + J_yy), a
prismatic joint four (mass and first moment). The set is that of Gautier and Khalil (1990) with a different choice in
the tensor: they make J_yy zero; ours needs fewer products.

Parameters without effect on torques (such as the tensor of a first link except about its axis) stay: they cost nothing,
because unused nodes are not computed.

The tensor that is kept is a difference of large Steiner terms, such as (J_xx - J_yy + J_zz) / 2. Robots made of floats
are therefore regrouped with 80 decimal digits and rounded at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from decimal import Context, Decimal

from ..spatial import RigidInertia, Scalar, Symmetric, Vector
from .joint import LinkMobility, Revolute
from .link import Link, NumberMap, numbers_of

TEN = ("m", "hx", "hy", "hz", "Jxx", "Jxy", "Jxz", "Jyy", "Jyz", "Jzz")  # about the joint's origin
DIGITS = Context(prec=80, traps=[])  # a sum of two floats has up to 60 digits; overflow gives infinity, as with floats


def decimal_operation(
    function: Callable[[Decimal, Decimal], Decimal], swapped: bool = False
) -> Callable[..., LongDecimal]:
    def method(self: LongDecimal, other: LongDecimal | float) -> LongDecimal:
        x = other.value if isinstance(other, LongDecimal) else Decimal(other)
        return LongDecimal(function(x, self.value) if swapped else function(self.value, x))

    return method


class LongDecimal:
    """A decimal of 80 digits that mixes with floats, as every scalar of a robot must."""

    __slots__ = ("value",)

    def __init__(self, value: Decimal) -> None:
        self.value = value

    def __float__(self) -> float:
        return float(self.value)

    def __neg__(self) -> LongDecimal:
        return LongDecimal(DIGITS.minus(self.value))

    def sqrt(self) -> LongDecimal:
        return LongDecimal(DIGITS.sqrt(self.value))

    __add__ = __radd__ = decimal_operation(DIGITS.add)
    __mul__ = __rmul__ = decimal_operation(DIGITS.multiply)
    __sub__, __rsub__ = decimal_operation(DIGITS.subtract), decimal_operation(DIGITS.subtract, swapped=True)
    __truediv__, __rtruediv__ = decimal_operation(DIGITS.divide), decimal_operation(DIGITS.divide, swapped=True)


def regrouped_bodies(links: Sequence[Link]) -> list[RigidInertia]:
    """The inertia of each link after regrouping."""
    bodies = move_to_parents(links)
    if not all(type(x) is float for link in links for x in numbers_of(link)):
        return bodies
    finer = move_to_parents(list(map(NumberMap(long_decimal, orthonormal=True).link, links)))
    return list(map(round_body, links, bodies, finer))


def long_decimal(x: float) -> Scalar:
    return x if x in (0.0, 1.0, -1.0) else LongDecimal(Decimal(x))  # 0 and ±1 fold


def round_body(link: Link, plain: RigidInertia, fine: RigidInertia) -> RigidInertia:
    """The numbers of `fine` as floats; those that are 0 in `plain` are exactly 0."""

    def number(rough: Scalar, better: Scalar) -> float:
        x = float(better)
        return x if rough != 0.0 and math.isfinite(x) else float(rough)

    mass = number(plain.mass, fine.mass)
    moment = Vector(*map(number, plain.moment, fine.moment))
    xx, xy, xz, yy, yz, zz = map(number, plain.tensor.upper, fine.tensor.upper)
    if type(link.joint).split is Revolute.split:
        zz = xx + yy  # to the last bit, so that Π_zz vanishes
    return RigidInertia(mass, moment, Symmetric(xx, xy, xz, yy, yz, zz))


def move_to_parents(links: Sequence[Link]) -> list[RigidInertia]:
    bodies = [link.rigid for link in links]
    for link in reversed(links):
        bodies[link.index], passed = link.joint.split(bodies[link.index])
        if link.parent >= 0:
            bodies[link.parent] = bodies[link.parent] + passed.to_parent(link.placement)
    return bodies


def identifiable_parameters(
    links: Sequence[Link], mobilities: Sequence[LinkMobility], bodies: Sequence[RigidInertia]
) -> list[dict[str, Scalar]]:
    """The minimal set of parameters that torques depend on, for each link by name."""
    bodies = list(bodies)
    parameters: list[dict[str, Scalar]] = [{} for _ in links]
    for link, mobility in zip(reversed(links), reversed(mobilities), strict=True):
        parameters[link.index], passed = link.joint.identifiable(bodies[link.index], mobility)
        if link.parent >= 0:
            bodies[link.parent] = bodies[link.parent] + passed.to_parent(link.placement)
    return parameters


def ten_numbers(body: RigidInertia) -> tuple[Scalar, ...]:
    return (body.mass, *body.moment, *body.tensor.upper)


def body_of(numbers: Iterable[Scalar]) -> RigidInertia:
    mass, hx, hy, hz, *tensor = numbers
    return RigidInertia(mass, Vector(hx, hy, hz), Symmetric(*tensor))
