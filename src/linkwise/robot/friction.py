"""Joint friction over generic scalars: the law of all functions with `friction=`.

    τ = b q̇ + (c + (s - c) / (1 + (q̇/w)²)) S(q̇)       viscous, Coulomb and Stribeck

With ε > 0, S = q̇ / √(q̇² + ε²) is regularised. A joint under a load f < c then creeps instead of sticking: for b = 0 and
s = c, at the rate ε (f/c) / √(1 - (f/c)²). With ε = 0, S is the sign of q̇, 0 at rest. In a simulation a joint at rest
then sticks while the torque needed to hold it is below s (or c): see `simulation.sticking`.
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
    """Coefficients of joint friction: τ = b q̇ + (c + (s - c) / (1 + (q̇/w)²)) S(q̇).

    Parameters
    ----------
    viscous, coulomb : float or sequence, optional
        b in N m s/rad (N s/m) and c in N m (N): one number, or (n,). None: those of the robot's table.
    stribeck : float or sequence, optional
        s, the breakaway friction in N m (N). None: as Coulomb friction.
    stribeck_rate : float, optional
        w in rad/s or m/s.
    smooth : float, optional
        ε of S = q̇ / √(q̇² + ε²) in rad/s or m/s. 0: S is the sign, and joints stick.

    Examples
    --------
    >>> import numpy as np
    >>> import linkwise as lw
    >>> lw.Friction(viscous=0, coulomb=[0.5, 0.4, 0.3]).torque(lw.load("planar3"), np.array([1.0, 0.001, 0.0])).round(4)
    array([0.5   , 0.2828, 0.    ])
    """

    viscous: PerJoint = None
    coulomb: PerJoint = None
    stribeck: PerJoint = None
    stribeck_rate: float = 0.01
    smooth: float = 1e-3

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
        """The friction of a `friction=` argument. True: the robot's coefficients; False: None."""
        if isinstance(friction, bool):
            return Friction() if friction else None
        if not isinstance(friction, Friction):
            raise TypeError(f"friction is {friction!r} (expected True, False or a Friction)")
        return friction

    @property
    def uniform(self) -> bool:
        """Whether no coefficient is given per joint."""
        return not any(isinstance(value, tuple) for value in (self.viscous, self.coulomb, self.stribeck))

    def torques(self, robot: Robot, rates: Scalars, directions: Scalars | None = None) -> list[Scalar]:
        """The friction torque of each joint, a list over generic scalars.

        `directions` (1 or -1) are the directions of sliding; by default the signs of the rates.
        """
        coordinates = robot.coordinates
        rates = coordinates.rates(rates)
        senses: list[Scalar] = [None] * len(rates)
        if directions is not None:
            senses = [mul(sign(slot.ratio), directions[slot.v]) for slot in robot.slots]
        rows = zip(*self._coefficients(robot), rates, senses, strict=True)
        return coordinates.torques([self._law(*row) for row in rows])

    def torque(self, robot: Robot, qd: Any, direction: Any = None) -> np.ndarray:
        """Friction torques (..., n) for rates qd (..., n)."""
        refuse_gradients("qd", qd)
        qd = np.asarray(qd)
        if qd.dtype == object or robot.non_floats or robot.couplings:  # joint by joint: nodes, symbols, mpmath
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
        """The viscous part and the rest; their sum is this friction."""
        return replace(self, coulomb=0.0, stribeck=None), replace(self, viscous=0.0)

    @property
    def coefficients(self) -> tuple[str, ...]:
        """The names of the coefficients, in which torques are linear."""
        return ("viscous", "coulomb") if self.stribeck is None else ("viscous", "coulomb", "stribeck")

    def unit_torques(self, rate: Scalar) -> list[Scalar]:
        """The torque of each coefficient alone, at the value 1, at this rate."""
        units = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
        return [self._law(*unit, rate, None) for unit in units[: len(self.coefficients)]]

    def values(self, robot: Robot) -> dict[str, list[Scalar]]:
        """The value of each coefficient for each link."""
        return dict(zip(self.coefficients, self._coefficients(robot), strict=False))

    def slopes(self, robot: Robot, rates: Scalars) -> list[Scalar]:
        """∂τ/∂q̇ of each joint; the derivative of the sign (ε = 0) is taken as 0."""
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
        """Viscous, Coulomb and breakaway friction of each link."""
        coulomb = self._per_joint(robot, self.coulomb, "coulomb_friction")
        stribeck = coulomb if self.stribeck is None else self._per_joint(robot, self.stribeck, "")
        return self._per_joint(robot, self.viscous, "viscous_friction"), coulomb, stribeck

    def at_rest(self, robot: Robot) -> np.ndarray:
        """The breakaway torque of each joint, its coupled joints included."""
        return self._at_joints(robot, self._coefficients(robot)[2])

    def dry(self, robot: Robot) -> tuple[int, ...]:
        """The joints that can stick: those with dry friction (ε = 0)."""
        if self.smooth > 0.0:
            return ()
        total = self._at_joints(robot, self._per_joint(robot, self.coulomb, "coulomb_friction")) + self.at_rest(robot)
        return tuple(np.flatnonzero(total > 0.0).tolist())

    def _at_joints(self, robot: Robot, levels: list[Scalar]) -> np.ndarray:
        """Friction levels of the links at the joints that drive them: Σ |ratio| level."""
        if not robot.couplings:
            return np.array(levels)
        at_joints = np.zeros(robot.n)
        for slot, level in zip(robot.slots, levels, strict=True):
            at_joints[slot.v] += abs(slot.ratio) * level
        return at_joints

    def _per_joint(self, robot: Robot, value: PerJoint, field: str) -> list[Scalar]:
        """A coefficient for each link. Coupled links have 0 if it is given per joint; None is the table's `field`."""
        if value is None:
            return [getattr(link.joint, field) for link in robot.links]
        numbers = np.asarray(value, dtype=float)
        if numbers.shape == ():
            return [float(numbers)] * len(robot.links)
        if numbers.shape != (robot.n,):
            raise ValueError(f"friction has {numbers.size} coefficients (expected one, or one for each of {robot.n})")
        return [0.0 if k in robot.coupled else float(numbers[slot.v]) for k, slot in enumerate(robot.slots)]
