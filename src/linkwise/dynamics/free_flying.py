"""A robot on a base that floats: how the base moves when nothing holds it.

Link b is the base link, on six links of its own that let it move freely. Seen from outside, all that b carries is one
body when the other joints are locked: mass m, mass centre C, inertia tensor J about C. Joint j moving at the rate 1 has
the momentum (l_j, p_j) about C, a column of the momentum matrix of `momentum`. So the inertia matrix of b's six
coordinates, a 6 × 6 matrix, is solved by the 3 × 3 matrix J:

    Ω_j = -J⁻¹ l_j      V_j = -p_j / m                         (1)   motion of the locked body: total momentum zero
    J*_j = J_j + [Ω_j ; V_j + Ω_j × (P - C)]                    (2)   generalized Jacobian of a point P

    J α = -n_C      m a = -f                                    (3)   (n_C, f): wrench on b for no acceleration of b
    τ_j = τ_j(b does not accelerate) + l_jᵀ α + p_jᵀ a           (4)
    a_b = a + α × (O_b - C)                                     (5)   acceleration of the base link's origin

(1) and (2) are Umetani and Yoshida's J* = J_m - J_b I_bb⁻¹ I_bm. All in the axes of the ground.

Y. Umetani, K. Yoshida: Resolved motion rate control of space manipulators with generalized Jacobian matrix. IEEE
Transactions on Robotics and Automation 5 (1989), 303-314.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ..robot import Robot
from ..spatial import Placement, Scalar, Scalars, Symmetric, Twist, Vector, Wrench, add, cross, dot, power, reciprocal
from ..spatial.dense import Dense
from ..spatial.inertia import steiner
from . import kinematics
from .elimination import inverse_of
from .momentum import composites, unit_momentum


class Locked(NamedTuple):
    inverse_mass: Scalar  # 1 / m
    centre: Vector  # C
    inverse_tensor: Symmetric  # J⁻¹
    momenta: dict[int, Wrench]  # (l_j, p_j) of the links that b carries
    frames: list[Placement]  # of all links


def locked(robot: Robot, q: Scalars, base: int) -> Locked:
    bodies, frames = composites(robot, q), kinematics.poses(robot, q)
    composite, frame = bodies[base], frames[base]
    inverse_mass = reciprocal(composite.mass)
    lever = composite.moment * inverse_mass
    inverse = inverse_of([list(row) for row in (composite.tensor - steiner(lever, composite.moment)).rows])
    turned = frame.axes.turned(Symmetric.from_upper(lambda i, j: inverse[i][j]))
    centre = frame.point(lever)
    carried = [robot.links[j] for j in robot.subtree(base)[1:]]
    momenta = {link.index: unit_momentum(link, bodies[link.index], frames[link.index], centre) for link in carried}
    return Locked(inverse_mass, centre, turned, momenta, frames)


def answer(body: Locked, wrench: Wrench) -> Twist:
    """The motion of the locked body at its mass centre that balances a momentum or a wrench: (1), (3)."""
    return Twist(-(body.inverse_tensor @ wrench.moment), -(wrench.force * body.inverse_mass))


def generalized_jacobian(robot: Robot, q: Scalars, base: int, index: int, point: Vector) -> Dense:
    """6 × n: twist of link `index` at `point` of it, for joint rates and no momentum; columns of b itself are of J."""
    columns = [list(column) for column in zip(*kinematics.jacobian(robot, q, index, point), strict=True)]
    if index not in robot.subtree(base):
        return [list(row) for row in zip(*columns, strict=True)]
    body = locked(robot, q, base)
    lever = body.frames[index].point(point) - body.centre
    for j, momentum in body.momenta.items():
        drift = answer(body, momentum)
        moved = Twist(drift.angular, drift.linear + cross(drift.angular, lever))
        columns[j] = [add(x, y) for x, y in zip(columns[j], moved, strict=True)]  # (2)
    return [list(row) for row in zip(*columns, strict=True)]


def base_axes(robot: Robot, frames: Sequence[Placement], first: int, base: int) -> list[Twist]:
    """The six axes of b, turned to the ground's: unit vectors, three to slide along and three to turn about."""
    links = zip(robot.links[first : base + 1], frames[first : base + 1], strict=True)
    return [Twist(f.rotation @ link.joint.axis.angular, f.rotation @ link.joint.axis.linear) for link, f in links]


def base_wrench(robot: Robot, frames: Sequence[Placement], first: int, base: int, tau: Scalars) -> Wrench:
    """The wrench on link b from the torques of its axes: moment about its origin and force, in the ground's axes."""
    wrench = Wrench.zero()
    for axis, torque in zip(base_axes(robot, frames, first, base), tau[first : base + 1], strict=True):
        wrench = wrench + Wrench(axis.angular * torque, axis.linear * torque)
    return wrench


def released(robot: Robot, q: Scalars, first: int, base: int, tau: Scalars) -> tuple[list[Scalar], list[Scalar]]:
    """Accelerations of b's six axes if nothing acts there, and the torques of all links.

    `tau` are the torques that give the other joints their accelerations while b's six axes have none.
    """
    body = locked(robot, q, base)
    lever = body.frames[base].translation - body.centre
    wrench = base_wrench(robot, body.frames, first, base, tau)
    centre = answer(body, wrench.acting_at(lever))  # (3)
    torques = list(tau)
    for j, momentum in body.momenta.items():
        torques[j] = add(tau[j], power(centre, momentum))  # (4)
    origin = centre.linear + cross(centre.angular, lever)  # (5)
    axes = base_axes(robot, body.frames, first, base)
    return [add(dot(axis.angular, centre.angular), dot(axis.linear, origin)) for axis in axes], torques
