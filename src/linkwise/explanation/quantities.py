"""Every intermediate of the formulations for one state, by name, each as its paper has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..robot import Robot
from ..spatial import Scalar
from . import angeles, kozlowski, saha
from .definitions import DEFINITIONS, Definition
from .link_values import Values
from .rounding import without_noise


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
                values |= paper.accelerations(robot, angles, qd, robot.coordinates.accelerations(qd, qdd), qdd)
    if qd is not None and tau is not None:
        values |= saha.forces(robot, angles, qd, tau) | kozlowski.forces(robot, angles, qd, tau)
    return [
        Quantity(name, definition, {key: without_noise(value) for key, value in values[name].items()})
        for name, definition in DEFINITIONS.items()
        if name in values
    ]
