"""One link with the joint that carries it, and named frames fixed to links."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import RobotError
from ..lazy import cached_property
from ..spatial import Placement, RigidInertia, Scalar, Symmetric, Vector
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
