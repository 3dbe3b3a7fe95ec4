"""Friction of the joints: the one law, over generic scalars, that all functions with `friction=` take.

    τ = b q̇ + (c + (s - c) / (1 + (q̇/w)²)) S(q̇)       viscous, Coulomb and Stribeck

S is q̇ / √(q̇² + ε²), which is regularised: a joint that should stick under a load f below c creeps on, at
ε (f/c) / √(1 - (f/c)²) where b = 0 and s = c. Or, with ε = 0, S is the sign of q̇, which is 0 at rest; in a simulation a
joint at rest then sticks as long as less than s (or c) is needed to hold it: see `simulate.sticking`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import is_real
from ..spatial import Scalar, Scalars, add, mul, sign, sqrt, sub
from .model import Robot
from .named_arrays import refuse_gradients, refuse_labels

PerJoint = float | tuple[float, ...] | None


@dataclass(frozen=True)
class Friction:
    """Coefficients: a number for all joints, one for each, or None for those of the robot itself.

    `stribeck` is the friction on breaking loose, which falls to the Coulomb friction with the rate `stribeck_rate`.

    >>> import numpy as np
    >>> import linkwise as lw
    >>> lw.Friction(viscous=0, coulomb=[0.5, 0.4, 0.3]).torque(lw.load("planar3"), np.array([1.0, 0.001, 0.0])).round(4)
    array([0.5   , 0.2828, 0.    ])
    """

    viscous: PerJoint = None
    coulomb: PerJoint = None
    stribeck: PerJoint = None  # otherwise as Coulomb friction
    stribeck_rate: float = 0.01
    smooth: float = 1e-3  # ε in rad/s or m/s; 0: the sign, and joints stick

    def __post_init__(self) -> None:
        for name in ("viscous", "coulomb", "stribeck"):
            value = getattr(self, name)
            if value is None:
                continue
            refuse_labels(name, value)
            refuse_gradients(name, value)
            numbers = np.asarray(value)
            if numbers.dtype.kind not in "fiu" or numbers.ndim > 1:
                raise TypeError(f"{name} is {value!r} (expected a number, or one for each joint)")
            if not (np.isfinite(numbers) & (numbers >= 0.0)).all():
                raise ValueError(f"{name} is {value!r} (expected finite numbers from 0 on)")
            if numbers.ndim:
                object.__setattr__(self, name, tuple(numbers.astype(float).tolist()))
        for name in ("smooth", "stribeck_rate"):
            if not is_real(getattr(self, name)):
                raise TypeError(f"{name} is {getattr(self, name)!r} (expected a number)")
        if not 0.0 <= self.smooth < math.inf or not 0.0 < self.stribeck_rate < math.inf:
            values = f"smooth is {self.smooth!r} and stribeck_rate {self.stribeck_rate!r}"
            raise ValueError(f"{values} (expected finite numbers, at least 0 and more than 0)")

    @staticmethod
    def of(friction: bool | Friction) -> Friction | None:
        """What `friction=` means: True is the robot's own coefficients, False no friction."""
        if isinstance(friction, bool):
            return Friction() if friction else None
        if not isinstance(friction, Friction):
            raise TypeError(f"friction is {friction!r} (expected True, False or a Friction)")
        return friction

    @property
    def uniform(self) -> bool:
        """Whether each coefficient is one number for all joints, or the robot's own."""
        return not any(isinstance(value, tuple) for value in (self.viscous, self.coulomb, self.stribeck))

    def torques(self, robot: Robot, rates: Scalars, directions: Scalars | None = None) -> list[Scalar]:
        """The friction torque of each joint.

        `directions` are those in which joints slide (1 or -1), otherwise as their rates say.
        """
        coordinates = robot.coordinates
        rates = coordinates.rates(rates)
        senses: list[Scalar] = [None] * len(rates)
        if directions is not None:
            senses = [mul(sign(slot.ratio), directions[slot.v]) for slot in robot.slots]
        rows = zip(*self._coefficients(robot), rates, senses, strict=True)
        return coordinates.torques([self._law(*row) for row in rows])

    def torque(self, robot: Robot, qd: Any, direction: Any = None) -> np.ndarray:
        """The same for arrays (..., n)."""
        qd = np.asarray(qd)
        if (
            qd.dtype == object or robot.non_floats or robot.couplings
        ):  # nodes, symbols, numbers of many digits: one by one
            rates = [qd[..., i] for i in range(robot.n)]
            directions = None if direction is None else [direction[..., i] for i in range(robot.n)]
            plain = qd.dtype != object and not robot.non_floats
            torques = self.torques(robot, rates, directions)
            if plain:  # a joint without friction has one zero for all states
                return np.stack([np.broadcast_to(np.asarray(x, dtype=float), qd.shape[:-1]) for x in torques], axis=-1)
            array = np.array(torques, dtype=object)
            return np.moveaxis(array, 0, -1) if array.ndim > 1 else array
        viscous, coulomb, stribeck = (np.array(column) for column in self._coefficients(robot))
        return np.asarray(self._law(viscous, coulomb, stribeck, qd, direction))

    def _law(
        self, viscous: Scalar, coulomb: Scalar, stribeck: Scalar, rate: Scalar, direction: Scalar | None
    ) -> Scalar:
        level, smooth = coulomb, float(self.smooth)
        if self.stribeck is not None:
            slow = rate / self.stribeck_rate
            level = add(coulomb, mul(sub(stribeck, coulomb), 1.0 / (1.0 + slow * slow)))
        if direction is None:
            direction = sign(rate) if smooth == 0.0 else rate / sqrt(rate * rate + smooth * smooth)
        return add(mul(viscous, rate), mul(level, direction))

    @property
    def parts(self) -> tuple[Friction, Friction]:
        """Viscous friction alone, and what is not viscous alone: together they are this."""
        return replace(self, coulomb=0.0, stribeck=None), replace(self, viscous=0.0)

    @property
    def coefficients(self) -> tuple[str, ...]:
        """The names of its coefficients, in which the torques are linear."""
        return ("viscous", "coulomb") if self.stribeck is None else ("viscous", "coulomb", "stribeck")

    def unit_torques(self, rate: Scalar) -> list[Scalar]:
        """What a unit of each coefficient exerts alone at this rate."""
        units = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
        return [self._law(*unit, rate, None) for unit in units[: len(self.coefficients)]]

    def values(self, robot: Robot) -> dict[str, list[Scalar]]:
        """The value of each coefficient for each link."""
        return dict(zip(self.coefficients, self._coefficients(robot), strict=False))

    def slopes(self, robot: Robot, rates: Scalars) -> list[Scalar]:
        """The derivative of each joint's friction torque by its rate; of the sign itself (ε = 0) that is 0."""
        coordinates = robot.coordinates
        rows = zip(*self._coefficients(robot), coordinates.rates(rates), strict=True)
        of_links = [mul(slot.ratio, self._slope(*row)) for slot, row in zip(robot.slots, rows, strict=True)]
        return coordinates.torques(of_links)

    def _slope(self, viscous: Scalar, coulomb: Scalar, stribeck: Scalar, rate: Scalar) -> Scalar:
        """b + l S' + l' S, with the level l: S' = ε² / (q̇² + ε²)^(3/2), l' = -2 (s - c) q̇ / w² / (1 + (q̇/w)²)²."""
        level, level_slope, smooth = coulomb, 0.0, float(self.smooth)
        if self.stribeck is not None:
            slow = rate / self.stribeck_rate
            share = 1.0 / (1.0 + slow * slow)
            level = add(coulomb, mul(sub(stribeck, coulomb), share))
            level_slope = mul(mul(sub(stribeck, coulomb), -2.0 / self.stribeck_rate), slow * share * share)
        if smooth == 0.0:
            return add(viscous, mul(level_slope, sign(rate)))
        root = sqrt(rate * rate + smooth * smooth)
        direction, direction_slope = rate / root, smooth * smooth / (root * root * root)
        return add(viscous, add(mul(level, direction_slope), mul(level_slope, direction)))

    def _coefficients(self, robot: Robot) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
        """Of each link: viscous and Coulomb friction, and that on breaking loose."""
        coulomb = self._per_joint(robot, self.coulomb, "coulomb_friction")
        stribeck = coulomb if self.stribeck is None else self._per_joint(robot, self.stribeck, "")
        return self._per_joint(robot, self.viscous, "viscous_friction"), coulomb, stribeck

    def at_rest(self, robot: Robot) -> np.ndarray:
        """The breakaway torque of each joint, with those coupled to it: the most that friction holds at rest."""
        return self._at_joints(robot, self._coefficients(robot)[2])

    def dry(self, robot: Robot) -> tuple[int, ...]:
        """The joints with dry friction (ε = 0), which can stick."""
        if self.smooth > 0.0:
            return ()
        either = self._at_joints(robot, self._per_joint(robot, self.coulomb, "coulomb_friction")) + self.at_rest(robot)
        return tuple(np.flatnonzero(either > 0.0).tolist())

    def _at_joints(self, robot: Robot, levels: list[Scalar]) -> np.ndarray:
        """Friction levels of the links at the joints that they follow: Σ |ratio| level."""
        if not robot.couplings:
            return np.array(levels)
        at_joints = np.zeros(robot.n)
        for slot, level in zip(robot.slots, levels, strict=True):
            at_joints[slot.v] += abs(slot.ratio) * level
        return at_joints

    def _per_joint(self, robot: Robot, value: PerJoint, own: str) -> list[Scalar]:
        """A coefficient for each link; of those that are given for each joint, coupled links have none."""
        if value is None:
            return [getattr(link.joint, own) for link in robot.links]
        numbers = np.asarray(value, dtype=float)
        if numbers.shape == ():
            return [float(numbers)] * len(robot.links)
        if numbers.shape != (robot.n,):
            raise ValueError(f"friction has {numbers.size} coefficients (expected one, or one for each of {robot.n})")
        return [0.0 if k in robot.coupled else float(numbers[slot.v]) for k, slot in enumerate(robot.slots)]
