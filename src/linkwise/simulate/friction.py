"""Friction of the joints, as a function of the joint rates that can be traced.

    τ = b q̇ + (c + (s - c) / (1 + (q̇/w)²)) S(q̇)       viscous, Coulomb and Stribeck

S is q̇ / √(q̇² + ε²), which is regularised: a joint that should stick under a load f below c creeps on, at
ε (f/c) / √(1 - (f/c)²) where b = 0 and s = c. Or, with ε = 0, S is the sign of q̇, and a joint at rest sticks as long as
less than s (or c) is needed to hold it: see `sticking`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..robot import Robot
from ..spatial import sign

Each = float | tuple[float, ...] | None


@dataclass(frozen=True)
class Friction:
    """Coefficients: a number for all joints, one for each, or None for those of the robot itself.

    `stribeck` is the friction on breaking loose, which falls to the Coulomb friction with the rate `stribeck_rate`.
    """

    viscous: Each = None
    coulomb: Each = None
    stribeck: Each = None  # otherwise as Coulomb friction
    stribeck_rate: float = 0.01
    smooth: float = 1e-3  # ε in rad/s or m/s; 0: exact, joints stick

    def __post_init__(self) -> None:
        for name in ("viscous", "coulomb", "stribeck"):
            value = getattr(self, name)
            if isinstance(value, (list, np.ndarray)):
                object.__setattr__(self, name, tuple(float(x) for x in value))
            if value is not None and not np.all(np.asarray(value, dtype=float) >= 0.0):
                raise ValueError(f"{name} is {value!r} (expected numbers from 0 on)")
        if not self.smooth >= 0.0 or not self.stribeck_rate > 0.0:
            said = f"smooth is {self.smooth!r} and stribeck_rate {self.stribeck_rate!r}"
            raise ValueError(f"{said} (expected at least 0, and more than 0)")

    def torque(self, arm: Robot, qd: Any, direction: Any = None) -> Any:
        """What friction takes; `direction` is that in which each joint slides (1 or -1), otherwise as its rate says."""
        viscous = self._each(arm, self.viscous, "viscous_friction")
        level: Any = self._each(arm, self.coulomb, "coulomb_friction")
        if self.stribeck is not None:
            level = level + (self.at_rest(arm) - level) / (1.0 + (qd / self.stribeck_rate) ** 2)
        if direction is None:
            direction = sign(qd) if self.smooth == 0.0 else qd / np.sqrt(qd * qd + self.smooth**2)
        return viscous * qd + level * direction

    def at_rest(self, arm: Robot) -> np.ndarray:
        """The most that friction holds of each joint before it breaks loose."""
        if self.stribeck is None:
            return self._each(arm, self.coulomb, "coulomb_friction")
        return self._each(arm, self.stribeck, "")

    def dry(self, arm: Robot) -> tuple[int, ...]:
        """The joints whose friction is exact and has a direction, so that they may stick."""
        if self.smooth > 0.0:
            return ()
        either = self._each(arm, self.coulomb, "coulomb_friction") + self.at_rest(arm)
        return tuple(np.flatnonzero(either > 0.0).tolist())

    def _each(self, arm: Robot, value: Each, own: str) -> np.ndarray:
        if value is None:
            return np.array([getattr(link.joint, own) for link in arm.links])
        found = np.asarray(value, dtype=float)
        if found.shape not in ((), (arm.n,)):
            raise ValueError(f"friction has {found.size} coefficients (expected one, or one for each of {arm.n})")
        return np.broadcast_to(found, (arm.n,))
