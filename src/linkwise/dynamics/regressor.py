"""Torques and energies as linear functions of the bodies: the columns of regressors, link by link, for trees.

The wrench that a body of mass m, first moment h and tensor J needs on link i, about its origin O_i, is linear in
these ten numbers. With ω, ω̇ of the link, U = [ω̇×] + [ω×][ω×], and a of O_i, seen from a base that accelerates at -g:

    n = J ω̇ + ω × J ω + h × a                              (1)
    f = m a + U h                                          (2)
    y_j = s_j · (n, f),  j = i or on the way from i to the base                   (3)
        = 0  otherwise (links on different branches)

s_j = (e, d) is the axis of joint j as a twist at O_i, in the frame of link i. Axes travel outward: a twist costs less
to move than the wrenches of ten bodies cost to move inward. Likewise the energy of the body, with the twist (ω, v) of
the link, gravity g seen from it, and the potential -g · p of a unit of mass at O_i:

    T = ½ ω · J ω + h · (v × ω) + ½ m v · v                (4)
    V = -m g · p - g · h                                   (5)   zero at the origin of the base frame

Bodies of single ones and zeros give the columns of the ten numbers: what is multiplied by zero costs nothing.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ..robot import Link, Robot, outward
from ..spatial import RigidInertia, Scalar, Scalars, Symmetric, Twist, Vector, Wrench, add, cross, dot, mul, power, sub
from .fewest import TensorMotion, move, resting_base, total

Bodies = Sequence[Sequence[RigidInertia]]  # for each link those whose columns are wanted


class Reached(NamedTuple):
    """A link, seen from itself."""

    motion: TensorMotion
    axes: tuple[Twist, ...]  # of its own joint, of its parent's, and so on to the base


def reach(link: Link, parent: Reached, q: Scalar, qd: Scalar, qdd: Scalar) -> Reached:
    motion = move(link, parent.motion, q, qd, qdd)
    return Reached(motion, (link.joint.axis, *(axis.to_child(motion.pose) for axis in parent.axes)))


def needed(body: RigidInertia, motion: TensorMotion) -> Wrench:
    """The wrench that the body needs to move as its link does."""
    U, a, h = motion.tensor, motion.acceleration, body.moment
    return Wrench(turned(body.tensor, motion) + cross(h, a), a * body.mass + U @ h)  # (2)


def turned(J: Symmetric, motion: TensorMotion) -> Vector:
    """J ω̇ + ω × J ω, with the entries of U for the sums of ω̇ and products of ω."""  # (1)
    (_, xy, xz), (yx, _, yz), (zx, zy, _) = motion.tensor.rows
    w, wd = motion.omega, motion.omega_dot
    return Vector(
        total(
            mul(J.xx, wd.x),
            mul(J.xz, yx),
            mul(sub(0.0, J.xy), zx),
            mul(J.yz, sub(mul(w.y, w.y), mul(w.z, w.z))),
            mul(sub(J.zz, J.yy), mul(w.y, w.z)),
        ),
        total(
            mul(J.yy, wd.y),
            mul(J.xy, zy),
            mul(sub(0.0, J.yz), xy),
            mul(J.xz, sub(mul(w.z, w.z), mul(w.x, w.x))),
            mul(sub(J.xx, J.zz), mul(w.x, w.z)),
        ),
        total(
            mul(J.zz, wd.z),
            mul(J.yz, xz),
            mul(sub(0.0, J.xz), yz),
            mul(J.xy, sub(mul(w.x, w.x), mul(w.y, w.y))),
            mul(sub(J.yy, J.xx), mul(w.x, w.y)),
        ),
    )


def torques_of_bodies(robot: Robot, q: Scalars, qd: Scalars, qdd: Scalars, bodies: Bodies) -> list[list[list[Scalar]]]:
    """For each link and each of its bodies the torques of all links that the body needs alone."""
    reached = outward(robot, reach, Reached(resting_base(robot), ()), q, qd, qdd)
    columns = []
    for link, seen, of_link in zip(robot.links, reached, bodies, strict=True):
        wrenches = [needed(body, seen.motion) for body in of_link]
        columns.append([[0.0] * len(robot.links) for _ in of_link])
        for j, axis in zip(robot.ancestors(link.index), seen.axes, strict=True):
            for column, wrench in zip(columns[-1], wrenches, strict=True):
                column[j] = power(axis, wrench)  # (3)
    return columns


class Raised(NamedTuple):
    """A link that moves in the field of gravity, seen from itself."""

    twist: Twist
    gravity: Vector
    potential: Scalar  # of a unit of mass at its origin


def rise(link: Link, parent: Raised, q: Scalar, qd: Scalar) -> Raised:
    pose = link.pose(q)
    potential = sub(parent.potential, dot(parent.gravity, pose.translation))
    twist: Twist = parent.twist.to_child(pose) + link.joint.axis * qd
    return Raised(twist, pose.rotation.T @ parent.gravity, potential)


def energy_of(body: RigidInertia, seen: Raised) -> Scalar:
    w, v, h = seen.twist.angular, seen.twist.linear, body.moment
    squares = add(dot(w, body.tensor @ w), mul(body.mass, dot(v, v)))
    kinetic = add(mul(0.5, squares), dot(h, cross(v, w)))  # (4)
    return add(kinetic, sub(mul(body.mass, seen.potential), dot(seen.gravity, h)))  # (5)


def energies_of_bodies(robot: Robot, q: Scalars, qd: Scalars, bodies: Bodies) -> list[list[Scalar]]:
    """For each link and each of its bodies the energy that the body has, kinetic and potential."""
    ground = Raised(Twist.zero(), Vector.of(robot.gravity), 0.0)
    raised = outward(robot, rise, ground, q, qd)
    return [[energy_of(body, seen) for body in of_link] for seen, of_link in zip(raised, bodies, strict=True)]
