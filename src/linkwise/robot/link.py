"""One link with the joint that carries it, named frames fixed to links, and all their numbers, visited or replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any, NamedTuple

from ..errors import RobotError
from ..lazy import cached_property
from ..spatial import Placement, RigidInertia, Rotation, Scalar, Symmetric, Vector
from .joint import Joint


@dataclass(frozen=True)
class Link:
    """A rigid body and the joint between it and its parent.

    Everything here is in the link's *joint-aligned* frame: it moves with the link, its z is the joint's axis, and at q
    = 0 it is the joint frame. `frame` says where the frame of the user's table sits in it: there lie the numbers of
    `Robot.rows`.
    """

    name: str
    index: int
    parent: int  # index of the parent link; -1: the base
    joint: Joint
    placement: Placement  # of the joint frame in the parent's joint-aligned frame
    mass: Scalar
    com: Vector
    inertia: Symmetric  # about the mass centre
    frame: Placement
    grouped: RigidInertia | None = None  # base parameters, see `regroup`
    virtual: bool = False  # without a body: the links of a joint of several degrees of freedom, except the last
    joint_kind: str = ""  # of the whole joint, where it has several degrees of freedom
    joint_name: str = ""  # of the whole joint, where it is not the name of the link

    def pose(self, q: Scalar) -> Placement:
        """Where the link is, in its parent, when its joint is at q."""
        return self.placement.moved(self.joint.motion(q))

    @cached_property
    def rigid(self) -> RigidInertia:
        """The link's inertia about the origin of its joint-aligned frame."""
        return RigidInertia.of_body(self.mass, self.com, self.inertia)

    @property
    def body(self) -> RigidInertia:
        """The inertia to calculate torques and accelerations with: the link's own, or what regrouping made of it."""
        return self.rigid if self.grouped is None else self.grouped


def empty_link(joint: Joint) -> Link:
    """A link on the base without mass, whose frames are all the same."""
    still, nothing = Placement.identity(), Symmetric.zero()
    return Link("link", 0, -1, joint, still, 0.0, Vector.zero(), nothing, still, RigidInertia.zero())


@dataclass(frozen=True)
class Frame:
    """A named frame fixed to a link, or to the base: the frames of merged fixed joints live on here.

    Links are counted as in `Robot.names`, and `placement` is in the table frame of the link, that of `lw.poses`. So
    `link` and `point` are what the functions take: `wrench[frame.link]`, `point[frame.link] = frame.point`,
    `lw.jacobian(robot, q, link=frame.link, point=frame.point)`.
    """

    name: str
    carrier: int  # which of `Robot.names`; -1: the base
    placement: Placement  # in the link's table frame, or in the base frame

    @property
    def on_base(self) -> bool:
        """Whether the frame is fixed to the base."""
        return self.carrier < 0

    @property
    def link(self) -> int:
        """Which of `Robot.names` carries the frame; an error if that is the base, which no row of a wrench is for."""
        if self.on_base:
            raise RobotError(
                f"the frame {self.name!r} is fixed to the base, which does not move (expected one on a link)"
            )
        return self.carrier

    @property
    def point(self) -> tuple[Scalar, Scalar, Scalar]:
        """The origin of the frame, in the table frame of its link."""
        x, y, z = self.placement.translation
        return x, y, z


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
