"""Rotations in the notations of MJCF, and placements made of a rotation and a point."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..xml import Element
from .grammar import ORIENTATIONS
from .settings import Settings

Array = NDArray[np.float64]
TINY = 1e-14  # MuJoCo takes vectors with a smaller square of their length as zero


class Pose(NamedTuple):
    """Where a frame is in another."""

    rotation: Array
    position: Array

    def then(self, inner: Pose) -> Pose:
        return Pose(self.rotation @ inner.rotation, self.position + self.rotation @ inner.position)

    def inverse(self) -> Pose:
        return Pose(self.rotation.T, -self.rotation.T @ self.position)


def identity() -> Pose:
    return Pose(np.eye(3), np.zeros(3))


def pose(element: Element, settings: Settings) -> Pose:
    """From `pos` and an orientation."""
    return Pose(rotation(element, settings), np.array(element.numbers("pos", 3, (0.0, 0.0, 0.0))))


def rotation(element: Element, settings: Settings) -> Array:
    given = [key for key in ORIENTATIONS if key in element.attributes]
    if len(given) > 1:
        element.fail(f"has the orientations {' and '.join(given)} (expected one)")
    if not given:
        return np.eye(3)
    key = given[0]
    values = element.numbers(key, {"quat": 4, "axisangle": 4, "euler": 3, "xyaxes": 6, "zaxis": 3}[key])
    if key == "quat":
        return of_quaternion(unit(values, element, "quat"))
    if key == "axisangle":
        return about(unit(values[:3], element, "the axis of axisangle"), settings.angle(values[3]))
    if key == "euler":
        return euler(values, settings)
    if key == "zaxis":
        return z_to(unit(values, element, "zaxis"))
    x = unit(values[:3], element, "the first axis of xyaxes")
    across = np.array(values[3:]) - x * (x @ np.array(values[3:]))
    y = unit(across, element, "the second axis of xyaxes, across the first,")
    return np.column_stack([x, y, np.cross(x, y)])


def unit(values: tuple[float, ...] | Array, element: Element, what: str) -> Array:
    vector = np.array(values, dtype=float)
    size = math.hypot(*vector)
    if not size * size >= TINY or not math.isfinite(size):
        element.fail(f"{what} has the length {size:g} (expected a direction)")
    return vector / size


def of_quaternion(q: Array) -> Array:
    w, x, y, z = q
    return np.array(
        [
            [w * w + x * x - y * y - z * z, 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), w * w - x * x + y * y - z * z, 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]
    )


def about(axis: Array, angle: float) -> Array:
    """The turn about a unit vector."""
    return of_quaternion(np.array([math.cos(0.5 * angle), *(math.sin(0.5 * angle) * axis)]))


def euler(angles: tuple[float, ...], settings: Settings) -> Array:
    """Turns one after the other: about axes that move with them (small letters) or stay (capital letters)."""
    result = np.eye(3)
    for letter, angle in zip(settings.eulerseq, angles, strict=True):
        turn = about(np.eye(3)["xyz".index(letter.lower())], settings.angle(angle))
        result = result @ turn if letter.islower() else turn @ result
    return result


def z_to(direction: Array) -> Array:
    """The shortest turn that takes z to a unit vector; about x where it is along z, or within 1e-7 of it."""
    axis = np.array([-direction[1], direction[0], 0.0])
    size = math.hypot(*axis)
    if size * size < TINY:
        return np.eye(3) if direction[2] > 0.0 else about(np.array([1.0, 0.0, 0.0]), math.pi)
    return about(axis / size, math.atan2(size, direction[2]))
