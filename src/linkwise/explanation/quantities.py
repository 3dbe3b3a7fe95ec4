"""Every intermediate of the formulations for one state, by name, each as its paper has it; numbers with an estimate
of their rounding error.

Numbers with an estimate of their rounding error, so that a zero can be written as one.

A number that is zero for every state comes out of a computation as 3.5e-18: it is a difference of equal terms, each
rounded. A `Rounded` number carries the variance of its error along, as if all roundings were independent and each were
as large as it can be (first order, Henrici 1962):

    x + y    var x + var y + (u (x + y))²            x y      y² var x + x² var y + (u x y)²
    f(x)     f'(x)² var x + (u f(x))²                u = 2⁻⁵³

What is below `CERTAIN` standard deviations is zero. As a rule it has no correct digit, not even its sign; where the
roundings happen to be small it has some, as 4e-16 had two in a sum with 1.75. Coordinates, rates and
the robot's numbers are taken as rounded themselves, so that the cosine of π/2 is zero. In independent errors an
orthogonal matrix does not make errors grow, so long chains are no reason for zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..robot import Robot
from ..spatial import Scalar
from . import angeles, kozlowski, saha
from .definitions import DEFINITIONS, Definition, Values

UNIT = 2.0**-53
SQUARE = UNIT * UNIT
CERTAIN = 32.0  # standard deviations


class Rounded:
    """A number of double precision and the variance of its rounding error."""

    __slots__ = ("value", "variance")
    __array_ufunc__ = None

    def __init__(self, value: float, variance: float) -> None:
        self.value, self.variance = value, variance

    @staticmethod
    def of(x: Scalar) -> Rounded:
        """A number as it is stored, rounded once."""
        value = float(x)
        return Rounded(value, SQUARE * value * value)

    def __repr__(self) -> str:
        return f"Rounded({self.value!r}, {self.variance!r})"

    def __add__(self, other: Rounded | float) -> Rounded:
        x, y = parts(other)
        value = self.value + x
        return Rounded(value, self.variance + y + SQUARE * value * value)

    __radd__ = __add__

    def __sub__(self, other: Rounded | float) -> Rounded:
        x, y = parts(other)
        value = self.value - x
        return Rounded(value, self.variance + y + SQUARE * value * value)

    def __rsub__(self, other: float) -> Rounded:
        return -self + other

    def __neg__(self) -> Rounded:
        return Rounded(-self.value, self.variance)

    def __mul__(self, other: Rounded | float) -> Rounded:
        x, y = parts(other)
        v = self.value
        value = v * x
        return Rounded(value, x * x * self.variance + v * v * y + SQUARE * value * value)

    __rmul__ = __mul__

    def __truediv__(self, other: Rounded | float) -> Rounded:
        x, y = parts(other)
        value = float(np.float64(self.value) / x)
        return Rounded(value, (self.variance + value * value * y) / (x * x) + SQUARE * value * value)

    def __rtruediv__(self, other: float) -> Rounded:
        return Rounded(*parts(other)) / self

    def _of(self, value: float, slope: float) -> Rounded:
        return Rounded(value, slope * slope * self.variance + SQUARE * value * value)

    def sin(self) -> Rounded:
        return self._of(float(np.sin(self.value)), float(np.cos(self.value)))

    def cos(self) -> Rounded:
        return self._of(float(np.cos(self.value)), float(np.sin(self.value)))

    def sqrt(self) -> Rounded:
        root = float(np.sqrt(self.value))
        return self._of(root, 0.5 / root) if root else Rounded(root, self.variance)

    def sign(self) -> Rounded:
        return Rounded(float(np.sign(self.value)), 0.0)

    def rounded(self) -> float:
        """The value, or zero where it is nothing but rounding errors."""
        noise = self.value * self.value < CERTAIN * CERTAIN * self.variance  # not where both overflow
        return 0.0 if noise else self.value


def parts(x: Rounded | float) -> tuple[float, float]:
    """Value and variance; a constant that is met on the way was rounded once."""
    if type(x) is Rounded:
        return x.value, x.variance
    value = float(x)  # type: ignore[arg-type]
    return value, SQUARE * value * value


def rounded_robot(robot: Robot) -> Robot:
    """The robot in such numbers; zeros and ones stay constants, which fold."""
    return robot.mapped(lambda x: x if x in (0.0, 1.0, -1.0) else Rounded.of(x))


def without_noise(value: Any) -> Any:
    """Nested lists of floats, zeros where numbers are nothing but rounding errors."""
    if isinstance(value, list):
        return [without_noise(x) for x in value]
    return value.rounded() if isinstance(value, Rounded) else value


@dataclass(frozen=True)
class Quantity:
    """A named quantity with its values: scalars, lists of scalars, or lists of rows."""

    name: str
    definition: Definition
    values: Values

    @property
    def symbol(self) -> str:
        return self.definition.symbol

    @property
    def latex(self) -> str:
        return self.definition.latex

    @property
    def meaning(self) -> str:
        return self.definition.meaning

    @property
    def source(self) -> str:
        return self.definition.source

    @property
    def equation(self) -> str:
        return self.definition.equation


def quantities(
    robot: Robot,
    q: Sequence[Scalar],
    qd: Sequence[Scalar] | None = None,
    qdd: Sequence[Scalar] | None = None,
    tau: Sequence[Scalar] | None = None,
) -> list[Quantity]:
    """The quantities of q; with qd also those of the rates, with qdd of inverse, with tau of forward dynamics."""
    angles = robot.coordinates.positions(q)
    values: dict[str, Values] = {}
    for paper in (saha, angeles, kozlowski):
        values |= paper.configuration(robot, angles)
        if qd is not None:
            values |= paper.rates(robot, angles, qd)
            if qdd is not None:
                values |= paper.accelerations(robot, angles, qd, qdd)
    if qd is not None and tau is not None:
        values |= saha.forces(robot, angles, qd, tau) | kozlowski.forces(robot, angles, qd, tau)
    return [
        Quantity(name, definition, {key: without_noise(value) for key, value in values[name].items()})
        for name, definition in DEFINITIONS.items()
        if name in values
    ]
