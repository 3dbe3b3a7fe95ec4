"""A placement as alternating screws along z and x, the parts of the rows of a DH table.

    G = Z(θ₁, b₁) X(α, a) Z(θ₂, b₂)      Z: turn about z and shift along z; X: likewise for x

Any placement has this form: X is along the common normal of the two z axes. If these are nearly parallel, the normal
is far away and digits would be lost: then the first screws reach the origin, and the others turn in place.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from ..robot.entries import nearest_rotation
from ..spatial import Placement, Rotation, Vector, turn_x, turn_z

QUARTER = math.pi / 2.0
ANGLE = 1e-12  # an angle this close to a multiple of a quarter turn is rounded to it, as in rotations
LENGTH = 1e-14  # relative to the robot: a smaller length is a rounding error
NEARLY_PARALLEL = 1e-4  # below this sine the common normal is not used


class Screw(NamedTuple):
    """A turn about an axis, x or z, and a shift along it."""

    axis: str
    turn: float = 0.0
    shift: float = 0.0

    @property
    def identity(self) -> bool:
        return self.turn == 0.0 and self.shift == 0.0

    @property
    def placement(self) -> Placement:
        if self.axis == "z":
            return Placement(turn_z(self.turn), Vector(0.0, 0.0, self.shift))
        return Placement(turn_x(self.turn), Vector(self.shift, 0.0, 0.0))

    def and_then(self, other: Screw) -> Screw:
        """Compose with a screw about the same axis."""
        return Screw(self.axis, wrap_angle(self.turn + other.turn), self.shift + other.shift)


def compose(screws: Iterable[Screw]) -> Placement:
    placement = Placement.identity()
    for screw in screws:
        placement = placement.then(screw.placement)
    return placement


def decompose(placement: Placement, size: float) -> list[Screw]:
    """Z X Z, or Z X Z X Z where the axes are nearly parallel. `size` is the largest length of the robot."""
    turn = nearest_rotation(placement.axes)
    ((r00, _, r02), (r10, _, r12), (r20, _, r22)) = (tuple(map(float, row)) for row in turn.rows)
    x, y, z = (snap_length(float(p), size) for p in placement.translation)
    slope = math.hypot(r02, r12)
    if slope == 0.0:
        around, far = signed_polar(x, y)
        first, total = snap_angle(around), math.atan2(r10, r00)
        second = total - first if r22 > 0.0 else first - total
        tilt = 0.0 if r22 > 0.0 else math.pi
        return [Screw("z", first), Screw("x", tilt, far), Screw("z", wrap_angle(second), z if r22 > 0.0 else -z)]
    first, slope = within_quarter_turn(math.atan2(r02, -r12), slope)
    tilt = snap_angle(math.atan2(slope, r22))
    (c, _, _), (s, _, _), _ = turn_z(first).rows
    _, (_, ct, _), (_, st, _) = turn_x(
        tilt
    ).rows  # what the first two leave of the rotation: sure also for small slopes
    second = snap_angle(math.atan2(ct * (c * r10 - s * r00) + st * r20, c * r00 + s * r10))
    if abs(slope) < NEARLY_PARALLEL:
        around, far = signed_polar(x, y)
        around = snap_angle(around)
        to_origin = [Screw("z", around, z), Screw("x", 0.0, far)] if far else [Screw("z", 0.0, z), Screw("x")]
        return [*to_origin, Screw("z", wrap_angle(first - to_origin[0].turn)), Screw("x", tilt), Screw("z", second)]
    rise = snap_length((s * x - c * y) / slope, size)
    far = snap_length(c * x + s * y, size)
    return [Screw("z", first, snap_length(z - r22 * rise, size)), Screw("x", tilt, far), Screw("z", second, rise)]


def signed_polar(x: float, y: float) -> tuple[float, float]:
    """Angle, at most a quarter turn, and distance, which may be negative."""
    return within_quarter_turn(math.atan2(y, x), math.hypot(x, y))


def within_quarter_turn(angle: float, length: float) -> tuple[float, float]:
    """Reduce the angle to at most a quarter turn, with the opposite sign of the length."""
    angle = snap_angle(angle)
    if abs(angle) > QUARTER:
        return snap_angle(angle - math.copysign(math.pi, angle)), -length
    return angle, length


def snap_length(length: float, size: float) -> float:
    return 0.0 if abs(length) <= LENGTH * size else length


def snap_angle(angle: float) -> float:
    quarters = round(angle / QUARTER)
    return quarters * QUARTER if abs(angle - quarters * QUARTER) < ANGLE else angle


def wrap_angle(angle: float) -> float:
    """Between -π and π."""
    return snap_angle(math.remainder(angle, 2.0 * math.pi))


def snap_placement(placement: Placement, size: float) -> Placement:
    """Remove rounding errors: zeros, ones and right angles become exact."""
    x, y, z = (snap_length(p, size) if type(p) is float else p for p in placement.translation)
    axes = placement.axes
    plain = all(type(entry) is float for row in axes.rows for entry in row)
    return Placement(nearest_rotation(Rotation(axes.rows)) if plain else axes, Vector(x, y, z))
