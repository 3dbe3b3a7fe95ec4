"""Recursive Newton-Euler, [Angeles] algorithms 7.4.1 and 7.4.2, for revolute and prismatic joints, chains and trees.

Outward, from the base to the tips; β is the parent of link i, Q turns link i's frame into β's, s runs from O_β to O_i:

    ω_i = Qᵀ ω_β + e q̇_i                                          (1)   e q̇ only where joint i turns
    ω̇_i = Qᵀ ω̇_β + ω_i × e q̇_i + e q̈_i                            (2)   likewise
    a_i = Qᵀ (a_β + ω̇_β × s + ω_β × (ω_β × s))                     (3)   of the origin O_i
          + 2 ω_i × e q̇_i + e q̈_i                                        only where joint i slides
    c̈_i = a_i + ω̇_i × c_i + ω_i × (ω_i × c_i)                      (4)   of the mass centre C_i

Inward, from the tips to the base; k runs over the children of i:

    f_i = m_i c̈_i - f_ext + Σ f_k                                  (5)   what β exerts on link i
    n_i = I_i ω̇_i + ω_i × I_i ω_i - n_ext + c_i × (m_i c̈_i - f_ext)
          + Σ (n_k + s_k × f_k)                                    (6)   about O_i
    τ_i = e · n_i  or  e · f_i,   + rotor inertia · q̈_i            (7)

The base accelerates at -g, which is gravity (7.44). Link i: in its own frame, about its origin O_i on the joint's axis,
e = z. External wrenches act on the mass centres. SI units (rad, m, kg, s, N, N·m).
"""

from collections.abc import Sequence
from typing import NamedTuple

from ..robot import Link, Robot, inward, outward
from ..spatial import Placement, Scalar, Vector, Wrench, add, cross, mul, power


class Motion(NamedTuple):
    pose: Placement  # in the parent
    velocity: Vector  # ω
    turning: Vector  # ω̇
    acceleration: Vector  # of the origin


def move(link: Link, parent: Motion, q: Scalar, qd: Scalar, qdd: Scalar) -> Motion:
    pose = link.pose(q)
    Q, s = pose.rotation, pose.translation
    turn, slide = link.joint.turn, link.joint.slide
    w, wd, a = parent.velocity, parent.turning, parent.acceleration

    velocity = Q.T @ w + turn(qd)  # (1)
    turning = Q.T @ wd + cross(velocity, turn(qd)) + turn(qdd)  # (2)
    at_joint = Q.T @ (a + cross(wd, s) + cross(w, cross(w, s)))  # (3)
    acceleration = at_joint + cross(velocity, slide(qd)) * 2.0 + slide(qdd)
    return Motion(pose, velocity, turning, acceleration)


def support(link: Link, carried: Wrench, motion: Motion, external: Wrench) -> tuple[Wrench, Wrench]:
    m, c, I = link.mass, link.com, link.inertia
    w, wd = motion.velocity, motion.turning

    at_centre = motion.acceleration + cross(wd, c) + cross(w, cross(w, c))  # (4)
    force = at_centre * m - external.force
    moment = I @ wd + cross(w, I @ w) - external.moment
    wrench = Wrench(moment + cross(c, force), force) + carried  # (5) (6)
    return wrench, wrench.to_parent(motion.pose)


def joint_wrenches(
    robot: Robot, q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar], external: Sequence[Wrench]
) -> list[Wrench]:
    """What each link gets from its parent: moment about its origin and force, in its own frame."""
    still = Vector.zero()
    base = Motion(Placement.identity(), still, still, -Vector.of(robot.gravity))
    motions = outward(robot, move, base, q, qd, qdd)
    return inward(robot, support, Wrench.zero(), motions, external)


def inverse_dynamics(
    robot: Robot, q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar], external: Sequence[Wrench]
) -> list[Scalar]:
    wrenches = joint_wrenches(robot, q, qd, qdd, external)
    return [
        add(power(link.joint.axis, wrench), mul(link.joint.rotor_inertia, qdd_i))  # (7)
        for link, wrench, qdd_i in zip(robot.links, wrenches, qdd, strict=True)
    ]
