"""Every number of a robot, visited or replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from ..spatial import Placement, RigidInertia, Rotation, Scalar, Symmetric, Vector
from .joint import Joint, Screw
from .link import Link

DRIVE = ("rotor_inertia", "viscous_friction", "coulomb_friction")
PITCH = ("pitch",)  # of screws


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
            joint=replace(old.joint, **{f: self.convert(getattr(old.joint, f)) for f in numbers_in(old.joint)}),
            placement=self.placement(old.placement),
            mass=self.convert(old.mass),
            com=self.vector(old.com),
            inertia=self.symmetric(old.inertia),
            frame=self.placement(old.frame),
            grouped=None if old.grouped is None else self.body(old.grouped),
        )


def numbers_in(joint: Joint) -> tuple[str, ...]:
    """The names of a joint's numbers."""
    return (*DRIVE, *PITCH) if isinstance(joint, Screw) else DRIVE


def numbers_of(link: Link) -> Iterator[Scalar]:
    """All numbers of a link."""
    for pose in (link.placement, link.frame):
        for row in pose.axes.rows:
            yield from row
        yield from pose.translation
    yield from (link.mass, *link.com, *link.inertia.upper, *(getattr(link.joint, f) for f in numbers_in(link.joint)))
