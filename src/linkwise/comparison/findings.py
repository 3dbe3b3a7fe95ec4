"""What a comparison finds, one difference at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .rigid import Array, angle_of, axis_of, placed

STRUCTURE = ("missing joint", "coupling", "parent")
FRICTION, SPRINGS = ("viscous friction", "Coulomb friction"), ("stiffness", "rest")
ASIDE = (*FRICTION, *SPRINGS)  # torques are compared without these


@dataclass(frozen=True)
class Finding:
    """A difference between two robots.

    `share` is the part of the difference in torque that went away when this was corrected: parents first, then
    coordinates, places and bodies, of these the most effective first. None for what has no effect on torques, and for
    friction and springs, without which torques are compared. Values are in the frames and coordinates of robot a.
    """

    kind: str
    where: str  # a joint or a link of a, or "" for the whole robot
    message: str
    value_a: Any = None
    value_b: Any = None
    share: float | None = None

    def __str__(self) -> str:
        return f"{self.message} ({self.effect})"

    @property
    def effect(self) -> str:
        """What correcting it does to the difference in torque."""
        if self.share is not None:
            return f"{percent(self.share)} of the difference"
        if self.kind in STRUCTURE:
            return "joints that differ"
        return "not in the torques compared" if self.kind in ASIDE else "no effect on torques"


@dataclass(frozen=True)
class Increment:
    """A change of bodies and rotors, in which torques are linear: what the finding would correct."""

    finding: Finding
    unit: int
    bodies: Mapping[int, Array] = field(default_factory=dict)
    rotor: float = 0.0


def percent(share: float) -> str:
    if share >= 0.9995:
        return "100 %"
    return f"{100.0 * share:.1f} %" if share <= -0.0005 or share >= 0.0005 else "< 0.1 %"


def number(x: float) -> str:
    return f"{x + 0.0:.6g}"


def vector(x: Any) -> str:
    """Components that rounding has left beside the largest are zero."""
    largest = np.abs(x).max()
    return "(" + ", ".join(number(0.0 if abs(v) < 1e-9 * largest else float(v)) for v in np.asarray(x)) + ")"


def sides(shown: Sequence[str], off: float, unit: str = "", most: str = "") -> str:
    """ "0.3 kg in a, 0.4 kg in b"; where the two look the same, also by how much they differ (`most`: "at most")."""
    by = f" (they differ by {most}{off:.2g}{unit})" if shown[0] == shown[1] else ""
    return f"{shown[0]}{unit} in a, {shown[1]}{unit} in b{by}"


def ratio(a: float, b: float) -> str:
    """ " (1000 times)" where that says more than the two numbers."""
    if a and b:
        times = b / a
        if times < 0.0 or (abs(times - round(times)) < 1e-6 * times and times >= 2.0):
            return f" ({number(times)} times)"
        if abs(1.0 / times - round(1.0 / times)) < 1e-6 / times and times <= 0.5:
            return f" (1/{number(1.0 / times)})"
    return ""


def turn(T: Array, size: float) -> str:
    """A placement in words: "turned by 90 deg about (0, 0, 1), shifted by (0, 0, 0.1) m"; `size` is the robot's."""
    parts = []
    angle = angle_of(T)
    if angle > 1e-9:
        parts.append(f"turned by {number(np.degrees(angle))} deg about {vector(axis_of(T).round(9))}")
    if np.abs(T[:3, 3]).max() > 1e-12 * size:
        parts.append(f"shifted by {vector(T[:3, 3])} m")
    return ", ".join(parts) or "in the same place"


def moved_in_words(P: Array, Q: Array, size: float) -> str:
    """How Q stands to P, both seen from one frame, in the axes of that frame."""
    return turn(placed(Q[:3, :3] @ P[:3, :3].T, Q[:3, 3] - P[:3, 3]), size)


def listed(names: Any, most: int = 6) -> str:
    names = [repr(name) for name in names]
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
