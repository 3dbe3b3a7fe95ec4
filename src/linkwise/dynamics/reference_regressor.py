"""Torques as linear functions of the bodies where the robot moves at one velocity and follows another.

Adaptive control (Slotine and Li, On the adaptive control of robot manipulators, 1987) has reference rates besides those
of the robot: a material point p, whose reference velocity is v_r + ω_r × p, needs the rate of that, a_r + U_r p, in
place of its acceleration:

    U_r = [ω̇_r×] + [ω_r×][ω×]                             (1)   ω̇_r the rate of ω_r as the links move
    n = Σ p × U_r p + h × a_r,   f = m a_r + U_r h         (2)   (1), (2) of `regressor` for ω_r = ω

Its sum over the points of all bodies is 𝓜 q̈_r + C q̇_r + g with the Christoffel symbols in C, so that 𝓜̇ - 2 C is skew.
The rest is as in `regressor`, which needs the axial vector u of U_r and its symmetric part, S - tr S, where S is that
of ω ω_r*.
"""

from typing import NamedTuple

from ..robot import Link, Robot, outward
from ..spatial import Matrix, Scalar, Scalars, Symmetric, Vector, add, cross, mul, sub
from .fewest import base_motion, total
from .regressor import Bodies, Field, Reached, axes_seen, torques_of_fields


class Reference(NamedTuple):
    """The angular velocities of a link, and what its reference needs."""

    omega: Vector
    omega_r: Vector
    omega_r_dot: Vector
    tensor: Matrix  # U_r
    acceleration: Vector  # a_r


def follow(link: Link, parent: Reached, q: Scalar, qd: Scalar, qdr: Scalar, qddr: Scalar) -> Reached:
    pose, joint, before = link.pose(q), link.joint, parent.motion
    inward_turn = pose.rotation.T
    w = inward_turn @ before.omega + joint.turn(qd)
    wr = inward_turn @ before.omega_r + joint.turn(qdr)
    wrd = inward_turn @ before.omega_r_dot + cross(w, joint.turn(qdr)) + joint.turn(qddr)
    at_joint = inward_turn @ (before.acceleration + before.tensor @ pose.translation)
    a = at_joint + cross(wr, joint.slide(qd)) + cross(w, joint.slide(qdr)) + joint.slide(qddr)
    S, u = symmetric_product(w, wr), wrd + cross(wr, w) * 0.5
    (x, y, z), trace = (S.xx, S.yy, S.zz), total(S.xx, S.yy, S.zz)
    U = Matrix(
        (
            (sub(x, trace), sub(S.xy, u.z), add(S.xz, u.y)),
            (add(S.xy, u.z), sub(y, trace), sub(S.yz, u.x)),
            (sub(S.xz, u.y), add(S.yz, u.x), sub(z, trace)),
        )
    )  # (1)
    return Reached(Reference(w, wr, wrd, U, a), Field(a, U, u, S), axes_seen(link, parent, pose))


def symmetric_product(a: Vector, b: Vector) -> Symmetric:
    """The symmetric part of a b*."""
    return Symmetric(
        mul(a.x, b.x),
        mul(0.5, add(mul(a.x, b.y), mul(a.y, b.x))),
        mul(0.5, add(mul(a.x, b.z), mul(a.z, b.x))),
        mul(a.y, b.y),
        mul(0.5, add(mul(a.y, b.z), mul(a.z, b.y))),
        mul(a.z, b.z),
    )


def reference_torques_of_bodies(
    robot: Robot, q: Scalars, qd: Scalars, qdr: Scalars, qddr: Scalars, bodies: Bodies
) -> list[list[list[Scalar]]]:
    """As `torques_of_bodies`, with reference rates and accelerations, while the links move at rates of their own."""
    still, up = Vector.zero(), base_motion(robot).acceleration
    base = Reference(still, still, still, Matrix.zero(), up)
    field = Field(up, Matrix.zero(), still, Symmetric.zero())
    return torques_of_fields(robot, outward(robot, follow, Reached(base, field, ()), q, qd, qdr, qddr), bodies)
