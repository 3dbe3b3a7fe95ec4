"""A link with its joint, frames fixed to links; functions that visit or replace all their numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any, NamedTuple

from ..errors import RobotError
from ..lazy import cached_property
from ..spatial import Placement, RigidInertia, Rotation, Scalar, Symmetric, Vector
from .joint import Joint


@dataclass(frozen=True)
class Link:
    """A rigid body and the joint between it and its parent.

    Mass centre and inertia are in the link's *joint-aligned* frame, which moves with the link and has z along the
    joint's axis. At q = 0 it is the joint frame; in the first link of a ball joint its axes are permuted. `frame` is
    the pose of the link's table frame in it; the numbers of `Robot.rows` are in the table frame.
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
        """The pose of the link in its parent at q."""
        return self.placement.moved(self.joint.motion(q))

    @cached_property
    def rigid(self) -> RigidInertia:
        """The inertia about the origin of the joint-aligned frame."""
        return RigidInertia.of_body(self.mass, self.com, self.inertia)

    @property
    def body(self) -> RigidInertia:
        """The inertia for torques and accelerations: `grouped` if the robot was regrouped, otherwise `rigid`."""
        return self.rigid if self.grouped is None else self.grouped


def empty_link(joint: Joint) -> Link:
    """A link on the base without mass; its frames coincide."""
    still, nothing = Placement.identity(), Symmetric.zero()
    return Link("link", 0, -1, joint, still, 0.0, Vector.zero(), nothing, still, RigidInertia.zero())


@dataclass(frozen=True)
class Frame:
    """A named frame fixed to a link or to the base, such as that of a merged fixed joint.

    Functions take its name: `lw.jacobian(robot, q, frame="tool0")`, `wrench={"tool0": ...}`. `link` and `point` fit the
    rows of arrays for all links, `wrench[frame.link]`, `point[frame.link] = frame.point`.

    Attributes
    ----------
    name : str
    carrier : int
        Index in `Robot.names` of the link; -1: the base.
    placement : Placement
        Pose in the link's table frame (that of `lw.poses`), or in the base frame.
    """

    name: str
    carrier: int
    placement: Placement

    @property
    def on_base(self) -> bool:
        """Whether the frame is fixed to the base."""
        return self.carrier < 0

    @property
    def link(self) -> int:
        """The index in `Robot.names` of the link; an error if the frame is fixed to the base."""
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


def frames_by_name(
    links: Sequence[str], frames: Sequence[Frame], table: Sequence[tuple[tuple[str, Any], ...]]
) -> dict[str, Frame]:
    """The frames of links, the named frames, and under other names those of the joints of the table."""
    known = {name: Frame(name, k, Placement.identity()) for k, name in enumerate(links)}
    known |= {frame.name: frame for frame in frames}
    rows = [dict(row) for row in table]
    joints = {row["joint_name"]: known[row["name"]] for row in rows if "joint_name" in row and row["name"] in known}
    return known | {name: frame for name, frame in joints.items() if name not in known}


@dataclass(frozen=True)
class WrenchFrames:
    """The frames at whose origins the rows of a wrench (..., frames, 6) act, and the axes of its components."""

    names: tuple[str, ...]
    axes: str = "base"  # or "frame": those of each frame


class NumberMap:
    """Applies `convert` to every number; with `orthonormal`, rotations are made orthogonal to all new digits."""

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
        """Convert an entry of a table: texts and bools stay, numbers and nested numbers are converted."""
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


NUMBER_FIELDS: dict[type[Joint], tuple[str, ...]] = {}  # cache of `number_fields`


def number_fields(kind: type[Joint]) -> tuple[str, ...]:
    """The names of a joint's numbers: all fields except the limits of travel, which no algorithm reads."""
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
    """The metadata of `joint.in_unit`."""

    unit: str
    in_words: str
    lengths: int


def own_numbers(kind: type[Joint]) -> dict[str, NumberUnit]:
    """The numbers of this kind of joint that are not in `Joint`, such as the pitch of a screw."""
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
