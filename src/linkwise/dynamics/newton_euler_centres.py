"""Newton-Euler about mass centres, [Angeles] algorithms 7.4.1 and 7.4.2 in the frames of the book, for trees.

Link i: in its table frame, see `table_frames`; without index: of the parent, in the joint frame; b e is 0 where joint i
only turns. Outward:

    ω_i = Qᵀ (ω + θ̇ e)                                                            (7.26a)   e turns with the joint
    ω̇_i = Qᵀ (ω̇ + ω × θ̇ e + θ̈ e)                                                  (7.26b)

joint i turns:

    c_i = Qᵀ (c + δ + b e) + ρ_i                                                  (7.32b)
    u   = ω × (δ + b e),   v_i = ω_i × ρ_i
    ċ_i = Qᵀ (ċ + u + ḃ e) + v_i                                                  (7.33a)
    c̈_i = Qᵀ (c̈ + ω̇ × (δ + b e) + ω × (u + 2 ḃ e) + b̈ e) + ω̇_i × ρ_i + ω_i × v_i   (7.33b)

joint i slides:

    u_i = Qᵀ (δ + b e) + ρ_i,   v_i = ω_i × u_i                                   (7.34c, d)
    c_i = Qᵀ c + u_i                                                              (7.32d)
    ċ_i = Qᵀ (ċ + ḃ e) + v_i                                                      (7.34e)
    c̈_i = Qᵀ (c̈ + ω × 2 ḃ e + b̈ e) + ω̇_i × u_i + ω_i × v_i                        (7.34f)

Inward; k runs over the children of i, and φ_k = Q_k f_k:

    f_i = m_i c̈_i - f_ext + Σ φ_k                                                 (7.38a, c)
    n_i = I_i ω̇_i + ω_i × I_i ω_i - n_ext + ρ_i × f_i + Σ (Q_k n_k + (δ_i + b_k e_k) × φ_k)       (7.38b, d)
    τ_i = e · Q_i n_i  or  e · Q_i f_i,  + rotor inertia · q̈_i                    (7.39), (7.40)

Print adds e of a sliding joint in F_{i+1}, where it is not (0, 0, 1), has Q_i for Q_{i+1} and n_i for Q_i n_i in 7.4.2,
and no lever b_k e_k. The base accelerates at -g on top of its own motion (7.44); c_0 = 0 is its origin.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..robot import Link, Robot, inward, outward
from ..spatial import Scalar, Scalars, Vector, Wrench, add, cross, mul, power
from .newton_euler import LinkMotion, resting_base
from .table_frames import NO_TURN, TableLink, Turn, in_table_frame, table_links


class CentreMotion(NamedTuple):
    turn: Turn
    lever: Vector  # δ + b e, in the joint frame
    position: Vector  # c
    angular_velocity: Vector  # ω
    velocity: Vector  # ċ
    angular_acceleration: Vector  # ω̇
    acceleration: Vector  # c̈


class JointLoad(NamedTuple):
    """What a link gets from its parent."""

    wrench: Wrench  # n, f in the frame of the link
    at_joint: Wrench  # the same in the moved joint frame, whose z is that of F_i


def move(link: Link, parent: CentreMotion, body: TableLink, q: Scalar, qd: Scalar, qdd: Scalar) -> CentreMotion:
    turn, before = body.turn(link, q), body.before.T
    c, w, c_dot, w_dot, c_ddot = (before @ v for v in parent[2:])
    turning, sliding, rho = link.joint.turn(qd), link.joint.slide(qd), body.rho
    lever = body.delta + link.joint.motion(q).translation
    turned, turned_rate = turn.joint.T @ w, turn.joint.T @ w_dot
    omega = turn.after.T @ (turned + turning)  # (7.26a)
    omega_dot = turn.after.T @ (turned_rate + cross(turned, turning) + link.joint.turn(qdd))  # (7.26b)
    if link.joint.turns:
        position = turn.inward(c + lever) + rho  # (7.32b)
        u, v = cross(w, lever), cross(omega, rho)
        velocity = turn.inward(c_dot + u + sliding) + v  # (7.33a)
        at_joint = c_ddot + cross(w_dot, lever) + cross(w, u + sliding + sliding) + link.joint.slide(qdd)
        acceleration = turn.inward(at_joint) + cross(omega_dot, rho) + cross(omega, v)  # (7.33b)
    else:
        u = turn.inward(lever) + rho  # (7.34c)
        v = cross(omega, u)  # (7.34d)
        position = turn.inward(c) + u  # (7.32d)
        velocity = turn.inward(c_dot + sliding) + v  # (7.34e)
        at_joint = c_ddot + cross(w, sliding + sliding) + link.joint.slide(qdd)
        acceleration = turn.inward(at_joint) + cross(omega_dot, u) + cross(omega, v)  # (7.34f)
    return CentreMotion(turn, lever, position, omega, velocity, omega_dot, acceleration)


def support(
    link: Link, carried: Wrench, body: TableLink, motion: CentreMotion, external: Wrench
) -> tuple[JointLoad, Wrench]:
    I, w, wd = body.inertia, motion.angular_velocity, motion.angular_acceleration
    force = motion.acceleration * link.mass - external.force + carried.force  # (7.38a, c)
    gyroscopic = I @ wd + cross(w, I @ w) - external.moment
    moment = gyroscopic + cross(body.rho, force) + carried.moment  # (7.38b, d)
    turn, at_joint = motion.turn, Wrench(motion.turn.after @ moment, motion.turn.after @ force)
    phi = turn.joint @ at_joint.force
    n = turn.joint @ at_joint.moment + cross(motion.lever, phi)
    return JointLoad(Wrench(moment, force), at_joint), Wrench(turn.before @ n, turn.before @ phi)


def starting_from(c: Vector, omega: Vector, c_dot: Vector, omega_dot: Vector, c_ddot: Vector) -> CentreMotion:
    """The motion of the base."""
    return CentreMotion(NO_TURN, Vector.zero(), c, omega, c_dot, omega_dot, c_ddot)


def outward_recursions(
    robot: Robot, bodies: Sequence[TableLink], q: Scalars, qd: Scalars, qdd: Scalars, base: CentreMotion
) -> list[CentreMotion]:
    """Algorithm 7.4.1."""
    return outward(robot, move, base, bodies, q, qd, qdd)


def inward_recursions(
    robot: Robot, bodies: Sequence[TableLink], motions: Sequence[CentreMotion], external: Sequence[Wrench]
) -> list[JointLoad]:
    """Algorithm 7.4.2; external wrenches in the frames of the links."""
    return inward(robot, support, Wrench.zero(), bodies, motions, external)


def inverse_dynamics(
    robot: Robot, q: Scalars, qd: Scalars, qdd: Scalars, external: Sequence[Wrench], base: LinkMotion | None = None
) -> list[Scalar]:
    base = base or resting_base()
    lifted = base.acceleration - Vector.of(robot.gravity)  # (7.44)
    origin = Vector.zero()
    start = starting_from(origin, base.angular_velocity, Vector.zero(), base.angular_acceleration, lifted)
    bodies = table_links(robot)
    motions = outward_recursions(robot, bodies, q, qd, qdd, start)
    wrenches = [in_table_frame(link, wrench) for link, wrench in zip(robot.links, external, strict=True)]
    loads = inward_recursions(robot, bodies, motions, wrenches)
    return [
        add(power(link.joint.axis, load.at_joint), mul(link.joint.rotor_inertia, qdd_i))  # (7.39), (7.40)
        for link, load, qdd_i in zip(robot.links, loads, qdd, strict=True)
    ]
