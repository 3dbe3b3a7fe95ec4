"""Volume and moments of inertia of the shapes of geoms, solid or as thin shells.

A shell has its mass on the surface, everywhere the same per area. Of an ellipsoid's shell MuJoCo takes an approximate
area (Thomsen) and the moments of a layer of 1 micrometre, which is thicker where the surface is more curved.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .orientation import Array

THOMSEN = 1.6075
LAYER = 1e-6  # m


class Shape(NamedTuple):
    """Functions of the sizes: the volume or area, and the moments of inertia of one kilogram."""

    sizes: int  # how many sizes it has
    volume: Callable[..., float]
    moments: Callable[..., tuple[float, float, float]]


def disc_like(across: float, along: float) -> tuple[float, float, float]:
    """Equal moments about x and y, and another about z."""
    return across, across, along


def sphere(r: float) -> tuple[float, float, float]:
    return (0.4 * r * r,) * 3


def box(x: float, y: float, z: float) -> tuple[float, float, float]:
    return (y * y + z * z) / 3.0, (x * x + z * z) / 3.0, (x * x + y * y) / 3.0


def ellipsoid(x: float, y: float, z: float) -> tuple[float, float, float]:
    return (y * y + z * z) / 5.0, (x * x + z * z) / 5.0, (x * x + y * y) / 5.0


def cylinder(r: float, h: float) -> tuple[float, float, float]:
    """Of radius r and half length h."""
    return disc_like(r * r / 4.0 + h * h / 3.0, r * r / 2.0)


def capsule(r: float, h: float) -> tuple[float, float, float]:
    """A cylinder of half length h with half a ball at each end."""
    ball = 2.0 * r / (2.0 * r + 3.0 * h)  # share of the mass
    tube = 1.0 - ball
    end = h * (3.0 * r + 4.0 * h) / 4.0  # half balls are moved from the middle to the ends
    return disc_like(
        tube * (r * r / 4.0 + h * h / 3.0) + ball * (0.4 * r * r + end), tube * r * r / 2.0 + ball * 0.4 * r * r
    )


def capsule_shell(r: float, h: float) -> tuple[float, float, float]:
    ball = r / (r + h)
    tube = 1.0 - ball
    end = (h + r / 2.0) ** 2 - (r / 2.0) ** 2
    return disc_like(
        tube * (r * r / 2.0 + h * h / 3.0) + ball * (2.0 * r * r / 3.0 + end), tube * r * r + ball * 2.0 * r * r / 3.0
    )


def cylinder_shell(r: float, h: float) -> tuple[float, float, float]:
    disc = r / (2.0 * r + 4.0 * h)  # share of each of the two ends
    tube = 1.0 - 2.0 * disc
    return disc_like(
        tube * (r * r / 2.0 + h * h / 3.0) + 2.0 * disc * (r * r / 4.0 + h * h), tube * r * r + disc * r * r
    )


def box_shell(x: float, y: float, z: float) -> tuple[float, float, float]:
    """Six plates: two each across x, y and z."""
    areas = np.array([y * z, x * z, x * y])
    shares = areas / areas.sum()
    squares = np.array([x * x, y * y, z * z])
    spread = [shares @ np.where(np.arange(3) == i, squares[i], squares[i] / 3.0) for i in range(3)]
    return spread[1] + spread[2], spread[0] + spread[2], spread[0] + spread[1]


def ellipsoid_shell(x: float, y: float, z: float) -> tuple[float, float, float]:
    """The difference of two solid ellipsoids."""
    inner, outer = x * y * z, (x + LAYER) * (y + LAYER) * (z + LAYER)
    density = 1.0 / (outer - inner)
    large, small = ellipsoid(x + LAYER, y + LAYER, z + LAYER), ellipsoid(x, y, z)
    a, b, c = (density * outer * p - density * inner * q for p, q in zip(large, small, strict=True))
    return a, b, c


def ellipsoid_area(x: float, y: float, z: float) -> float:
    mean = ((x * y) ** THOMSEN + (y * z) ** THOMSEN + (z * x) ** THOMSEN) / 3.0
    return 4.0 * math.pi * math.pow(mean, 1.0 / THOMSEN)


SOLIDS = {
    "sphere": Shape(1, lambda r: 4.0 / 3.0 * math.pi * r**3, sphere),
    "capsule": Shape(2, lambda r, h: math.pi * r * r * (2.0 * h + 4.0 / 3.0 * r), capsule),
    "cylinder": Shape(2, lambda r, h: math.pi * r * r * 2.0 * h, cylinder),
    "ellipsoid": Shape(3, lambda x, y, z: 4.0 / 3.0 * math.pi * x * y * z, ellipsoid),
    "box": Shape(3, lambda x, y, z: 8.0 * x * y * z, box),
}
SHELLS = {
    "sphere": Shape(1, lambda r: 4.0 * math.pi * r * r, lambda r: (2.0 / 3.0 * r * r,) * 3),
    "capsule": Shape(2, lambda r, h: 4.0 * math.pi * r * (r + h), capsule_shell),
    "cylinder": Shape(2, lambda r, h: 2.0 * math.pi * r * (r + 2.0 * h), cylinder_shell),
    "ellipsoid": Shape(3, ellipsoid_area, ellipsoid_shell),
    "box": Shape(3, lambda x, y, z: 8.0 * (x * y + y * z + z * x), box_shell),
}


def moments(shape: Shape, sizes: tuple[float, ...], mass: float) -> Array:
    return mass * np.array(shape.moments(*sizes[: shape.sizes]))
