"""Torques and energies as linear functions of the bodies: the columns of regressors, link by link, for trees.

The wrench that a body of mass m, first moment h and tensor J needs on link i, about its origin O_i, is linear in
these ten numbers. With ω, ω̇ of the link and a of O_i, seen from a base that accelerates at -g:

    n = J ω̇ + ω × J ω + h × a                              (1)
    f = m a + ω̇ × h + ω × (ω × h)                          (2)
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
from ..spatial import RigidInertia, Scalar, Scalars, Twist, Vector, Wrench, add, cross, dot, mul, power, sub
from .newton_euler import LinkMotion, move, resting_base

Bodies = Sequence[Sequence[RigidInertia]]  # for each link those whose columns are wanted


class Reached(NamedTuple):
    """A link, seen from itself."""

    motion: LinkMotion
    axes: tuple[Twist, ...]  # of its own joint, of its parent's, and so on to the base


def reach(link: Link, parent: Reached, q: Scalar, qd: Scalar, qdd: Scalar) -> Reached:
    motion = move(link, parent.motion, q, qd, qdd)
    return Reached(motion, (link.joint.axis, *(axis.to_child(motion.pose) for axis in parent.axes)))


def needed(body: RigidInertia, motion: LinkMotion) -> Wrench:
    """The wrench that the body needs to move as its link does."""
    w, wd, a = motion.angular_velocity, motion.angular_acceleration, motion.acceleration
    J, h = body.tensor, body.moment
    moment = J @ wd + cross(w, J @ w) + cross(h, a)  # (1)
    return Wrench(moment, a * body.mass + cross(wd, h) + cross(w, cross(w, h)))  # (2)


def torques_of_bodies(robot: Robot, q: Scalars, qd: Scalars, qdd: Scalars, bodies: Bodies) -> list[list[list[Scalar]]]:
    """For each link and each of its bodies the torques of all links that the body needs alone."""
    base = resting_base()
    lifted = base._replace(acceleration=base.acceleration - Vector.of(robot.gravity))
    reached = outward(robot, reach, Reached(lifted, ()), q, qd, qdd)
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
