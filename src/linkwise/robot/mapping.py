"""Every number of a robot, visited or replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, replace
from typing import Any, NamedTuple

from ..spatial import Placement, RigidInertia, Rotation, Scalar, Symmetric, Vector
from .joint import Joint
from .link import Link


class NumberMap:
    """Replaces numbers one by one; `orthonormal` makes rotations orthogonal again to all digits of the new numbers."""

    def __init__(self, convert: Callable[[Scalar], Scalar], orthonormal: bool = False) -> None:
        self.convert, self.orthonormal = convert, orthonormal

    def vector(self, v: Vector) -> Vector:
        return Vector(*map(self.convert, v))

    def symmetric(self, s: Symmetric) -> Symmetric:
        return Symmetric(*map(self.convert, s.upper))

    def placement(self, p: Placement) -> Placement:
        axes = Rotation([map(self.convert, row) for row in p.axes.rows])
        return Placement(axes.orthonormal() if self.orthonormal else axes, self.vector(p.translation))

    def body(self, b: RigidInertia) -> RigidInertia:
        return RigidInertia(self.convert(b.mass), self.vector(b.moment), self.symmetric(b.tensor))

    def entry(self, x: Any) -> Any:
        """An entry of a table: texts and truth values stay, numbers and nests of them are converted."""
        if isinstance(x, (tuple, list)):
            return tuple(map(self.entry, x))
        return x if isinstance(x, (str, bool)) else self.convert(x)

    def link(self, old: Link) -> Link:
        return replace(
            old,
            joint=replace(
                old.joint, **{name: self.convert(getattr(old.joint, name)) for name in number_fields(type(old.joint))}
            ),
            placement=self.placement(old.placement),
            mass=self.convert(old.mass),
            com=self.vector(old.com),
            inertia=self.symmetric(old.inertia),
            frame=self.placement(old.frame),
            grouped=None if old.grouped is None else self.body(old.grouped),
        )


NUMBER_FIELDS: dict[type[Joint], tuple[str, ...]] = {}  # of the classes that were asked for


def number_fields(kind: type[Joint]) -> tuple[str, ...]:
    """The names of a joint's numbers: all its fields, except the limits of travel, which no algorithm reads."""
    if kind in NUMBER_FIELDS:
        return NUMBER_FIELDS[kind]
    numbers = [entry for entry in fields(kind) if entry.name != "limits"]
    for entry in numbers:
        if entry.default is not MISSING and not isinstance(entry.default, (int, float)):
            raise TypeError(
                f"joint class {kind.__name__}: the default of {entry.name} is {entry.default!r} (expected a number, as"
                " of every field of a joint except its limits)"
            )
    NUMBER_FIELDS[kind] = tuple(entry.name for entry in numbers)
    return NUMBER_FIELDS[kind]


DRIVE = number_fields(Joint)


class NumberUnit(NamedTuple):
    """As `joint.in_unit` states it."""

    unit: str
    in_words: str
    lengths: int


def own_numbers(kind: type[Joint]) -> dict[str, NumberUnit]:
    """The numbers that joints of this kind have and others need not have, such as the pitch of a screw."""
    units = {entry.name: entry.metadata for entry in fields(kind) if entry.name not in (*DRIVE, "limits")}
    for name, unit in units.items():
        if not unit:
            expected = f"{name}: Scalar = field(default=0.0, metadata=in_unit(...))"
            raise TypeError(f"joint class {kind.__name__}: {name} has no unit (expected {expected})")
    return {name: NumberUnit(**unit) for name, unit in units.items()}


def numbers_of(link: Link) -> Iterator[Scalar]:
    """All numbers of a link."""
    for pose in (link.placement, link.frame):
        for row in pose.axes.rows:
            yield from row
        yield from pose.translation
    yield from (link.mass, *link.com, *link.inertia.upper)
    yield from (getattr(link.joint, name) for name in number_fields(type(link.joint)))
