"""Links as [Angeles] and [Saha JAM] describe them: about their mass centres, in the frames of the table.

In a Denavit-Hartenberg table as theirs, link i has the frame F_{i+1} at its far end, and the joint i the frame F_i of
the link before:

    Q_i = R_z(θ_i) R_x(α_i)      turns F_{i+1} into F_i, (7.23) and (7.24): 8 M, 4 A for a vector
    δ_β                          from the mass centre of the parent β to O_i, the origin of F_i
    ρ_i                          from O_i + b_i e_i, the point of link i at O_i where b_i = 0, to its mass centre C_i

Here the frame of link i is its table frame, whatever the convention of the table is. Where the joint frame is not
parallel to the frame of the parent, a constant rotation stands before Q_i.
"""

from __future__ import annotations

from typing import NamedTuple

from ..robot import Link, Robot
from ..spatial import Placement, Rotation, RotationProduct, Scalar, Symmetric, Twist, Vector, Wrench, cross


class Turn(NamedTuple):
    """Q, in its factors: what stands before the joint, the joint, and what stands behind it."""

    before: Rotation  # the joint frame in the frame of the parent
    joint: Rotation
    after: Rotation | RotationProduct  # the frame of the link in the moved joint frame

    def inward(self, v: Vector) -> Vector:
        """Qᵀ v: a vector in the joint frame, in the frame of the link."""
        return self.after.T @ (self.joint.T @ v)

    def outward(self, v: Vector) -> Vector:
        """Q v"""
        return self.joint @ (self.after @ v)


NO_TURN = Turn(Rotation.identity(), Rotation.identity(), Rotation.identity())


class TableLink(NamedTuple):
    """The constants of a link."""

    before: Rotation
    after: Rotation | RotationProduct
    delta: Vector  # δ of the parent, in the joint frame
    rho: Vector  # ρ, in the frame of the link
    inertia: Symmetric  # about the mass centre, in the frame of the link
    axis: Twist  # p: the joint's axis, in the frame of the link, at its mass centre

    def turn(self, link: Link, q: Scalar) -> Turn:
        return Turn(self.before, link.joint.motion(q).axes, self.after)


def table_links(robot: Robot) -> list[TableLink]:
    return [table_link(robot, link) for link in robot.links]


def table_link(robot: Robot, link: Link) -> TableLink:
    frame, centre = Placement.identity(), Vector.zero()  # of the base: its frame, and its origin for a mass centre
    if link.parent >= 0:
        parent = robot.links[link.parent]
        frame, centre = parent.frame, parent.com
    back, axis = link.frame.axes.T, link.joint.axis
    rho, e = back @ link.com, back @ axis.angular
    return TableLink(
        relative_turn(frame.axes, link.placement.axes),
        z_then_x(link.frame.axes),
        link.placement.axes.T @ (link.placement.translation - centre),
        rho,
        back.turned(link.inertia),
        Twist(e, back @ axis.linear + cross(e, rho)),
    )


def relative_turn(one: Rotation, other: Rotation) -> Rotation:
    """The rotation from one frame to another; exactly the identity where they are parallel."""
    entries = [pair for rows in zip(one.rows, other.rows, strict=True) for pair in zip(*rows, strict=True)]
    if all(x is y or (type(x) is float and type(y) is float and x == y) for x, y in entries):
        return Rotation.identity()
    return one.T.then(other).snapped()


def z_then_x(turn: Rotation) -> Rotation | RotationProduct:
    """A rotation as R_z(θ) R_x(α), if it is one: two plane rotations of a vector cost less than one full one."""
    (c, _, _), (s, _, _), (zero, sine, cosine) = turn.rows
    if not (type(zero) is float and zero == 0.0):
        return turn
    about_z = Rotation(((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0)))
    return RotationProduct(about_z, Rotation(((1.0, 0.0, 0.0), (0.0, cosine, -sine), (0.0, sine, cosine))))


def in_table_frame(link: Link, wrench: Wrench) -> Wrench:
    """A wrench at the mass centre, in the frame of the table."""
    back = link.frame.axes.T
    return Wrench(back @ wrench.moment, back @ wrench.force)
