"""A base that moves as prescribed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..dynamics.newton_euler import LinkMotion
from ..equality import ComparesArrays
from ..spatial import Placement, Vector
from .states import Array, States

STILL = (0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class BaseMotion(ComparesArrays):
    """How the base moves: of its frame, and of its frame's origin, in its own axes; arrays (..., 3).

    >>> import linkwise as lw
    >>> lift = lw.BaseMotion(acceleration=(0, 0, 9.81))    # going up feels like more gravity
    >>> lw.inverse_dynamics(lw.load("gantry"), [0, 0, 0], [0, 0, 0], [0, 0, 0], base=lift)
    array([  0.  ,   0.  , -58.86])
    """

    angular_velocity: Array = STILL
    velocity: Array = STILL
    angular_acceleration: Array = STILL
    acceleration: Array = STILL

    def arrays(self) -> dict[str, tuple[Any, tuple[int, ...]]]:
        """The parts by name, each with its shape for one state."""
        return {f"base.{name}": (getattr(self, name), (3,)) for name in self.__dataclass_fields__}


def base_arrays(base: BaseMotion | None) -> dict[str, tuple[Any, tuple[int, ...]]]:
    if base is None:
        return {}
    if not isinstance(base, BaseMotion):
        raise TypeError(f"base is {base!r} (expected a linkwise.BaseMotion)")
    return base.arrays()


def base_motion(states: States, base: BaseMotion | None) -> LinkMotion | None:
    """The prescribed motion in scalars; parts that are not given cost nothing."""
    if base is None:
        return None

    def vector(name: str) -> Vector:
        return Vector.zero() if getattr(base, name) is STILL else Vector(*states.scalars(f"base.{name}"))

    parts = (vector(name) for name in ("angular_velocity", "angular_acceleration", "acceleration"))
    return LinkMotion(Placement.identity(), *parts)


def base_velocity(states: States, base: BaseMotion | None) -> Vector:
    moves = base is not None and base.velocity is not STILL
    return Vector(*states.scalars("base.velocity")) if moves else Vector.zero()
