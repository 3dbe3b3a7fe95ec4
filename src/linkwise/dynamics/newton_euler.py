"""Recursive Newton-Euler, [Angeles] algorithms 7.4.1 and 7.4.2, for revolute and prismatic joints, chains and trees.

Outward, from the base to the tips; β is the parent of link i, Q turns link i's frame into β's, s is O_β to O_i:

    ω_i = Qᵀ ω_β + e q̇_i                                  (7.26a)   e q̇ only where joint i turns
    ω̇_i = Qᵀ ω̇_β + ω_i × e q̇_i + e q̈_i                    (7.26b)   likewise
    a_i = Qᵀ (a_β + ω̇_β × s + ω_β × (ω_β × s))             (7.33b)   of the origin O_i
          + 2 ω_i × e q̇_i + e q̈_i                           (7.34f)   only where joint i slides
    c̈_i = a_i + ω̇_i × c_i + ω_i × (ω_i × c_i)              (7.33b)   of the mass centre C_i

Inward, from the tips to the base; k runs over the children of i:

    f_i = m_i c̈_i - f_ext + Σ f_k                          (7.38c)   what β exerts on link i
    n_i = I_i ω̇_i + ω_i × I_i ω_i - n_ext
          + c_i × (m_i c̈_i - f_ext) + Σ (n_k + s_k × f_k)  (7.38d)   about O_i
    τ_i = e · n_i  or  e · f_i,  + rotor inertia · q̈_i     (7.39), (7.40)

The base moves as prescribed, and accelerates at -g on top of that, which is gravity (7.44). Link i: in its own
frame, about its origin O_i on the joint's axis, e = z. External wrenches act on the mass centres. Print adds e q̇ and
e q̈ of a sliding joint in the wrong frame, and turns the wrenches by Q_i for Q_{i+1}. SI units (rad, m, kg, s, N).
"""

from collections.abc import Sequence
from typing import NamedTuple

from ..robot import Link, Robot, inward, outward
from ..spatial import Placement, Scalar, Scalars, Twist, Vector, Wrench, add, cross, mul, power, sub


class LinkMotion(NamedTuple):
    pose: Placement  # in the parent
    angular_velocity: Vector  # ω
    angular_acceleration: Vector  # ω̇
    acceleration: Vector  # of the origin


def move(link: Link, parent: LinkMotion, q: Scalar, qd: Scalar, qdd: Scalar) -> LinkMotion:
    pose = link.pose(q)
    Q, s = pose.rotation, pose.translation
    turn, slide = link.joint.turn, link.joint.slide
    w, wd, a = parent.angular_velocity, parent.angular_acceleration, parent.acceleration

    omega = Q.T @ w + turn(qd)  # (7.26a)
    omega_dot = Q.T @ wd + cross(omega, turn(qd)) + turn(qdd)  # (7.26b)
    at_joint = Q.T @ (a + cross(wd, s) + cross(w, cross(w, s)))  # (7.33b)
    acceleration = at_joint + cross(omega, slide(qd)) * 2.0 + slide(qdd)  # (7.34f)
    return LinkMotion(pose, omega, omega_dot, acceleration)


def centre_acceleration(link: Link, motion: LinkMotion) -> Vector:
    c, w, wd = link.com, motion.angular_velocity, motion.angular_acceleration
    return motion.acceleration + cross(wd, c) + cross(w, cross(w, c))  # (7.33b)


def motion_wrench(link: Link, motion: LinkMotion, external: Wrench) -> Wrench:
    """The wrench that the motion of the link itself requires, at its mass centre."""
    I, w, wd = link.inertia, motion.angular_velocity, motion.angular_acceleration
    force = centre_acceleration(link, motion) * link.mass
    return Wrench(I @ wd + cross(w, I @ w), force) - external


def support(link: Link, carried: Wrench, motion: LinkMotion, external: Wrench) -> tuple[Wrench, Wrench]:
    own = motion_wrench(link, motion, external)
    wrench = own.acting_at(link.com) + carried  # (7.38c, d)
    return wrench, wrench.to_parent(motion.pose)


def resting_base() -> LinkMotion:
    still = Vector.zero()
    return LinkMotion(Placement.identity(), still, still, still)


def base_twists(base: LinkMotion | None) -> tuple[Twist, Twist]:
    """The twist of the base and its rate, with which the outward passes of the other formulations start.

    No torque depends on the velocity of the base's origin. It is taken as zero, so that the rate in space and the
    rate seen from the base are the same.
    """
    still = Vector.zero()
    if base is None:
        return Twist(still, still), Twist(still, still)
    return Twist(base.angular_velocity, still), Twist(base.angular_acceleration, base.acceleration)


def inertia_forces(
    robot: Robot, q: Scalars, qd: Scalars, external: Sequence[Wrench], base: LinkMotion | None
) -> Sequence[Wrench]:
    """The external wrenches with those that the motion of the base makes (d'Alembert): the base may then rest."""
    if base is None:
        return external
    still = [0.0] * robot.n
    moving, resting = (link_motions(robot, q, qd, still, motion) for motion in (base, None))
    links = zip(robot.links, external, moving, resting, strict=True)
    return [motion_wrench(link, rest, Wrench.zero()) - motion_wrench(link, moved, w) for link, w, moved, rest in links]


def link_motions(
    robot: Robot, q: Scalars, qd: Scalars, qdd: Scalars, base: LinkMotion | None = None
) -> list[LinkMotion]:
    """How each link moves, seen from a base that accelerates at -g on top of its own motion (7.44)."""
    base = base or resting_base()
    lifted = base._replace(acceleration=base.acceleration - Vector.of(robot.gravity))
    return outward(robot, move, lifted, q, qd, qdd)


def joint_wrenches(
    robot: Robot, q: Scalars, qd: Scalars, qdd: Scalars, external: Sequence[Wrench], base: LinkMotion | None = None
) -> list[Wrench]:
    """What each link gets from its parent: moment about its origin and force, in its own frame."""
    motions = link_motions(robot, q, qd, qdd, base)
    return inward(robot, support, Wrench.zero(), motions, external)


def inverse_dynamics(
    robot: Robot, q: Scalars, qd: Scalars, qdd: Scalars, external: Sequence[Wrench], base: LinkMotion | None = None
) -> list[Scalar]:
    wrenches = joint_wrenches(robot, q, qd, qdd, external, base)
    return [
        add(power(link.joint.axis, wrench), mul(link.joint.rotor_inertia, qdd_i))  # (7.39), (7.40)
        for link, wrench, qdd_i in zip(robot.links, wrenches, qdd, strict=True)
    ]


def driving_torques(
    robot: Robot, q: Scalars, qd: Scalars, tau: Scalars, external: Sequence[Wrench], base: LinkMotion | None = None
) -> list[Scalar]:
    """φ = τ - bias: the part of the torques that accelerates the joints."""
    bias = inverse_dynamics(robot, q, qd, [0.0] * robot.n, external, base)
    return [sub(tau_i, bias_i) for tau_i, bias_i in zip(tau, bias, strict=True)]
