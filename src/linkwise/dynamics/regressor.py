"""Torques as linear functions of the bodies: the columns of regressors, link by link, for trees.

The wrench that a body of mass m, first moment h and tensor J needs on link i, about its origin O_i, is linear in
these ten numbers. With ω, ω̇ of the link, U = [ω̇×] + [ω×][ω×], and a of O_i, seen from a base that accelerates at -g:

    n = J ω̇ + ω × J ω + h × a                              (1)
    f = m a + U h                                          (2)
    y_j = s_j · (n, f),  j = i or on the way from i to the base                   (3)
        = 0  otherwise (links on different branches)

s_j = (e, d) is the axis of joint j as a twist at O_i, in the frame of link i. Axes travel outward: a twist costs less
to move than the wrenches of ten bodies cost to move inward.

Bodies of single ones and zeros give the columns of the ten numbers: what is multiplied by zero costs nothing.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..robot import Link, Robot, outward
from ..spatial import (
    Matrix,
    Placement,
    RigidInertia,
    Scalar,
    Scalars,
    Symmetric,
    Twist,
    Vector,
    Wrench,
    cross,
    mul,
    power,
    sub,
)
from .fewest import base_motion, move, total

Bodies = Sequence[Sequence[RigidInertia]]  # for each link those whose columns are wanted


class Field(NamedTuple):
    """The force per unit of mass at the points p of a link, a + U p: their acceleration, or that of a reference."""

    acceleration: Vector  # a, at the origin
    tensor: Matrix  # U
    axial: Vector  # of the skew part of U
    products: Symmetric  # S of its symmetric part, S - tr S


class Reached(NamedTuple):
    """A link, seen from itself."""

    motion: Any  # as `move` or `follow` has it
    field: Field
    axes: tuple[Twist, ...]  # of its own joint, of its parent's, and so on to the base


def reach(link: Link, parent: Reached, q: Scalar, qd: Scalar, qdd: Scalar) -> Reached:
    motion = move(link, parent.motion, q, qd, qdd)
    w = motion.omega
    products = Symmetric(mul(w.x, w.x), mul(w.x, w.y), mul(w.x, w.z), mul(w.y, w.y), mul(w.y, w.z), mul(w.z, w.z))
    field = Field(motion.acceleration, motion.tensor, motion.omega_dot, products)
    return Reached(motion, field, axes_seen(link, parent, motion.pose))


def axes_seen(link: Link, parent: Reached, pose: Placement) -> tuple[Twist, ...]:
    return link.joint.axis, *(axis.to_child(pose) for axis in parent.axes)


def needed(body: RigidInertia, field: Field) -> Wrench:
    """The wrench that the body needs to move as its link does."""
    U, a, h = field.tensor, field.acceleration, body.moment
    return Wrench(turned(body.tensor, field) + cross(h, a), a * body.mass + U @ h)  # (2)


def turned(J: Symmetric, field: Field) -> Vector:
    """Σ p × U p: J ω̇ + ω × J ω, with the entries of U for the sums of ω̇ and products of ω."""  # (1)
    (_, xy, xz), (yx, _, yz), (zx, zy, _) = field.tensor.rows
    S, wd = field.products, field.axial
    return Vector(
        total(
            mul(J.xx, wd.x),
            mul(J.xz, yx),
            mul(sub(0.0, J.xy), zx),
            mul(J.yz, sub(S.yy, S.zz)),
            mul(sub(J.zz, J.yy), S.yz),
        ),
        total(
            mul(J.yy, wd.y),
            mul(J.xy, zy),
            mul(sub(0.0, J.yz), xy),
            mul(J.xz, sub(S.zz, S.xx)),
            mul(sub(J.xx, J.zz), S.xz),
        ),
        total(
            mul(J.zz, wd.z),
            mul(J.yz, xz),
            mul(sub(0.0, J.xz), yz),
            mul(J.xy, sub(S.xx, S.yy)),
            mul(sub(J.yy, J.xx), S.xy),
        ),
    )


def torques_of_bodies(robot: Robot, q: Scalars, qd: Scalars, qdd: Scalars, bodies: Bodies) -> list[list[list[Scalar]]]:
    """For each link and each of its bodies, the torques of all links that the motion of this body requires."""
    base = base_motion(robot)
    field = Field(base.acceleration, base.tensor, base.omega_dot, Symmetric.zero())
    return torques_of_fields(robot, outward(robot, reach, Reached(base, field, ()), q, qd, qdd), bodies)


def torques_of_fields(robot: Robot, reached: Sequence[Reached], bodies: Bodies) -> list[list[list[Scalar]]]:
    columns = []
    for link, seen, of_link in zip(robot.links, reached, bodies, strict=True):
        wrenches = [needed(body, seen.field) for body in of_link]
        columns.append([[0.0] * len(robot.links) for _ in of_link])
        for j, axis in zip(robot.ancestors(link.index), seen.axes, strict=True):
            for column, wrench in zip(columns[-1], wrenches, strict=True):
                column[j] = power(axis, wrench)  # (3)
    return columns
