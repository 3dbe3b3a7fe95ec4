"""Inverse and forward dynamics in few operations, for trees, on the regrouped robot. β is the parent of link i.

All that a link's turning does is in one matrix, formed once (Balafoutis and Patel 1991), U = [ω̇×] + [ω×][ω×]:

    a_i = Qᵀ (a_β + U_β s) + 2 ω_i × e q̇_i + e q̈_i          (1)   of the origin; the last two only where joint i slides
    f_i = U_i h_i + m_i a_i                                  (2)   h = m c, the first moment
    n_i = axial(U_i Π_i) + h_i × a_i                         (3)   Π = ½ tr(J) 1 - J, the second moments of the mass

with ω, ω̇, s and the inward pass as in `newton_euler`. axial(A) has the components A_zy - A_yz, A_xz - A_zx, A_yx -
A_xy. Regrouping (`Robot.regrouped`) leaves revolute links without mass, without h_z and without Π_zz. Forward dynamics
solves I q̈ = τ - bias with I by composite bodies (`composite`) and its factors I = U D Uᵀ from the tip, where the zeros
between branches stay zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..robot import Link, Robot, inward, outward
from ..spatial import (
    Matrix,
    Placement,
    Scalar,
    Scalars,
    Symmetric,
    Vector,
    Wrench,
    add,
    cross,
    mul,
    power,
    sub,
)
from ..spatial.dense import UDU, Column, Dense
from . import articulated
from .composite import inertia_matrix
from .newton_euler import LinkMotion


class TensorMotion(NamedTuple):
    pose: Placement  # in the parent
    omega: Vector
    omega_dot: Vector
    tensor: Matrix  # U
    acceleration: Vector  # of the origin


def angular_acceleration_tensor(w: Vector, wd: Vector) -> Matrix:
    xx, yy, zz = mul(w.x, w.x), mul(w.y, w.y), mul(w.z, w.z)
    xy, xz, yz = mul(w.x, w.y), mul(w.x, w.z), mul(w.y, w.z)
    return Matrix(
        (
            (sub(0.0, add(yy, zz)), sub(xy, wd.z), add(xz, wd.y)),
            (add(xy, wd.z), sub(0.0, add(xx, zz)), sub(yz, wd.x)),
            (sub(xz, wd.y), add(yz, wd.x), sub(0.0, add(xx, yy))),
        )
    )


def axial(U: Matrix, second: Symmetric, w: Vector) -> Vector:
    """axial(U Π), with the differences on the diagonal of U taken from the squares of ω."""
    (_, xy, xz), (yx, _, yz), (zx, zy, _) = U.rows
    xx, yy, zz = mul(w.x, w.x), mul(w.y, w.y), mul(w.z, w.z)
    P = second
    return Vector(
        total(mul(sub(zz, yy), P.yz), mul(zx, P.xy), -mul(yx, P.xz), mul(zy, P.yy), -mul(yz, P.zz)),
        total(mul(sub(xx, zz), P.xz), mul(xy, P.yz), -mul(zy, P.xy), mul(xz, P.zz), -mul(zx, P.xx)),
        total(mul(sub(yy, xx), P.xy), mul(yz, P.xz), -mul(xz, P.yz), mul(yx, P.xx), -mul(xy, P.yy)),
    )


def total(*terms: Scalar) -> Scalar:
    sum_: Scalar = 0.0
    for term in terms:
        sum_ = add(sum_, term)
    return sum_


def move(link: Link, parent: TensorMotion, q: Scalar, qd: Scalar, qdd: Scalar) -> TensorMotion:
    pose, joint = link.pose(q), link.joint
    inward_turn = pose.rotation.T
    omega = inward_turn @ parent.omega + joint.turn(qd)
    omega_dot = inward_turn @ parent.omega_dot + cross(omega, joint.turn(qd)) + joint.turn(qdd)
    at_joint = inward_turn @ (parent.acceleration + parent.tensor @ pose.translation)  # (1)
    acceleration = at_joint + cross(omega, joint.slide(qd)) * 2.0 + joint.slide(qdd)
    return TensorMotion(pose, omega, omega_dot, angular_acceleration_tensor(omega, omega_dot), acceleration)


def motion_wrench(link: Link, motion: TensorMotion) -> Wrench:
    """The wrench that the motion of the link itself requires."""
    m, h, a = link.body.mass, link.body.moment, motion.acceleration
    force = motion.tensor @ h + a * m  # (2)
    return Wrench(axial(motion.tensor, link.body.pseudo(), motion.omega) + cross(h, a), force)  # (3)


def support(link: Link, carried: Wrench, motion: TensorMotion, external: Wrench) -> tuple[Wrench, Wrench]:
    wrench = motion_wrench(link, motion) - external.acting_at(link.com) + carried
    return wrench, wrench.to_parent(motion.pose)


def base_motion(robot: Robot, base: LinkMotion | None = None) -> TensorMotion:
    """A base that accelerates at -g on top of its own motion."""
    lift = -Vector.of(robot.gravity)
    if base is None:
        still = Vector.zero()
        return TensorMotion(Placement.identity(), still, still, Matrix.zero(), lift)
    w, w_dot, tensor = base.angular_velocity, base.angular_acceleration, angular_acceleration_tensor
    return TensorMotion(Placement.identity(), w, w_dot, tensor(w, w_dot), base.acceleration + lift)


def link_motions(
    robot: Robot, q: Scalars, qd: Scalars, qdd: Scalars, base: LinkMotion | None = None
) -> list[TensorMotion]:
    """How each link moves, seen from a base that accelerates at -g on top of its own motion."""
    return outward(robot, move, base_motion(robot, base), q, qd, qdd)


def inverse_dynamics(
    robot: Robot, q: Scalars, qd: Scalars, qdd: Scalars, external: Sequence[Wrench], base: LinkMotion | None = None
) -> list[Scalar]:
    robot = robot.regrouped()
    wrenches = inward(robot, support, Wrench.zero(), link_motions(robot, q, qd, qdd, base), external)
    return [
        add(power(link.joint.axis, wrench), mul(link.joint.rotor_inertia, qdd_i))
        for link, wrench, qdd_i in zip(robot.links, wrenches, qdd, strict=True)
    ]


def composite_matrix(robot: Robot, q: Scalars) -> Dense:
    return inertia_matrix(robot.regrouped(), q)


def composite_udu(
    robot: Robot, q: Scalars, qd: Scalars, tau: Scalars, external: Sequence[Wrench], base: LinkMotion | None = None
) -> Column:
    bias = inverse_dynamics(robot, q, qd, [0.0] * robot.n, external, base)
    phi = [sub(tau_i, bias_i) for tau_i, bias_i in zip(tau, bias, strict=True)]
    return udu_solve(composite_matrix(robot, q), phi)


def articulated_regrouped(
    robot: Robot, q: Scalars, qd: Scalars, tau: Scalars, external: Sequence[Wrench], base: LinkMotion | None = None
) -> Column:
    return articulated.forward_dynamics(robot.regrouped(), q, qd, tau, external, base)


def udu_solve(a: Dense, b: Column) -> Column:
    """x of A x = b."""
    return UDU.of(a).solve(b)
