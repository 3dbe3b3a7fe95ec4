"""Energies as linear functions of the bodies: the entries of energy regressors, link by link, for trees.

The energy of a body of mass m, first moment h and tensor J about the origin O_i of its link i, with the twist (ω, v) of
the link, gravity g seen from it, and the potential -g · p of a unit of mass at O_i:

    T = ½ ω · J ω + h · (v × ω) + ½ m v · v                (1)
    V = -m g · p - g · h                                   (2)   zero at the origin of the base frame
"""

from typing import NamedTuple

from ..robot import Link, Robot, outward
from ..spatial import RigidInertia, Scalar, Scalars, Twist, Vector, add, cross, dot, mul, sub
from .regressor import Bodies


class Raised(NamedTuple):
    """The twist of a link and gravity, in the axes of the link, and the potential at its origin."""

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
    kinetic = add(mul(0.5, squares), dot(h, cross(v, w)))  # (1)
    return add(kinetic, sub(mul(body.mass, seen.potential), dot(seen.gravity, h)))  # (2)


def energies_of_bodies(robot: Robot, q: Scalars, qd: Scalars, bodies: Bodies) -> list[list[Scalar]]:
    """For each link and each of its bodies the energy that the body has, kinetic and potential."""
    ground = Raised(Twist.zero(), Vector.of(robot.gravity), 0.0)
    raised = outward(robot, rise, ground, q, qd)
    return [[energy_of(body, seen) for body in of_link] for seen, of_link in zip(raised, bodies, strict=True)]
