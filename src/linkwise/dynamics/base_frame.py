"""Axes and subtrees of all joints in the base frame, about its origin and against its rest.

From the frame of a link, whose origin O moves by v, with ṡ, s̈, K of `subtrees`:

    ṡ + (0, v × z)      s̈ + (0, 2v × ż)      K as in (4) there

and then all is moved to the origin of the base. `inertia_rate` and `turning_rate` are what a motion of the whole
subtree along an axis s makes of M̃ and K; `coriolis_of` is the K of a frozen body that moves by t.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..robot import Robot
from ..spatial import (
    Placement,
    RigidInertia,
    Scalar,
    Scalars,
    Symmetric,
    TurningMap,
    Twist,
    Vector,
    Wrench,
    add,
    cross,
    cross_matrix,
    dot,
    double_cross,
    outer,
    sub,
)
from . import kinematics
from .subtrees import Along, Load, subtree_dynamics


class Joint(NamedTuple):
    """One axis in the base frame, and the subtree that it moves."""

    v: int
    link: int
    s: Twist
    rate: Twist  # ṡ, from the parent
    both: Twist  # 2 ṡ
    second: Twist  # s̈
    inertia: RigidInertia  # M̃
    coriolis: TurningMap  # K
    wrench: Wrench  # w̃


class BaseFrameSubtree(NamedTuple):
    """A subtree."""

    inertia: RigidInertia
    coriolis: TurningMap
    wrench: Wrench


def joints_in_base_frame(robot: Robot, q: Scalars, qd: Scalars, qdd: Scalars, loads: Sequence[Load]) -> list[Joint]:
    """One for each axis; the arguments are those of `inverse_derivatives`."""
    _, velocities, subtrees, along = subtree_dynamics(robot, q, qd, qdd, loads)
    tree, poses = robot.uncoupled, kinematics.poses(robot.uncoupled, q)
    twice: list[Vector] = []  # 2v
    joints = []
    for link, pose, velocity, subtree in zip(tree.links, poses, velocities, subtrees, strict=True):
        before = link.parent >= 0
        twice.append(twice[link.parent] + poses[link.parent].rotation @ velocity if before else velocity)
        v = twice[-1]
        inertia, moved = subtree.inertia.to_parent(pose), subtree.coriolis.to_parent(pose)
        coriolis = moved + TurningMap(double_cross(inertia.moment, v), v * inertia.mass)
        supported = BaseFrameSubtree(inertia, coriolis, subtree.wrench.to_parent(pose))
        joints += [in_base_frame(axis, link.index, pose, v, supported) for axis in along[link.index]]
    return joints


def in_base_frame(along: Along, link: int, pose: Placement, twice: Vector, supported: BaseFrameSubtree) -> Joint:
    def moved(t: Twist, drift: Vector) -> Twist:
        angular = pose.rotation @ t.angular
        return Twist(angular, pose.rotation @ t.linear + drift + cross(pose.translation, angular))

    s, still = moved(along.axis.twist, Vector.zero()), along.rate.angular
    rate = moved(along.rate, cross(twice * 0.5, s.angular))
    second = moved(along.second, cross(twice, pose.rotation @ still))
    return Joint(along.axis.v, link, s, rate, moved(along.both, cross(twice, s.angular)), second, *supported)


def coriolis_of(body: RigidInertia, t: Twist) -> TurningMap:
    """The Coriolis forces of a body that moves by t."""
    w, v, h, second = t.angular, t.linear * 2.0, body.moment, body.pseudo()
    moment = double_cross(h, v) - cross_matrix(w) @ (second + second)
    return TurningMap(moment, v * body.mass + cross(w, h * 2.0))


def turning_rate(turning: TurningMap, s: Twist) -> TurningMap:
    """s × K - K z ×"""
    z, D, p = cross_matrix(s.angular), turning.moment, turning.vector
    return TurningMap(z @ D - D @ z + double_cross(s.linear, p), cross(s.angular, p))


def inertia_rate(body: RigidInertia, s: Twist) -> RigidInertia:
    """s × M̃ - M̃ s ×: a body without mass."""
    z, d, h = s.angular, s.linear, body.moment
    turned, slid, along = cross_matrix(z) @ body.tensor, outer(h, d), dot(h * 2.0, d)

    def entry(i: int, j: int) -> Scalar:
        less = sub(add(slid.rows[i][j], slid.rows[j][i]), along if i == j else 0.0)
        return sub(add(turned.rows[i][j], turned.rows[j][i]), less)

    return RigidInertia(0.0, cross(z, h) + d * body.mass, Symmetric.from_upper(entry))
