"""Kinetic and potential energy.

T = ½ Σ t_iᵀ M_i t_i + ½ Σ rotor inertia · q̇_i²        (1)   link i in its own frame, about O_i
V = -Σ m_i g · c_i                                     (2)   zero at the origin of the base frame
"""

from ..robot import Robot
from ..spatial import Scalar, Scalars, Vector, add, dot, mul, power, sub
from .kinematics import poses, twists


def kinetic_energy(robot: Robot, q: Scalars, qd: Scalars) -> Scalar:
    twice: Scalar = 0.0
    for link, twist, rate in zip(robot.links, twists(robot, q, qd), qd, strict=True):
        twice = add(twice, power(twist, link.body @ twist))
        twice = add(twice, mul(link.joint.rotor_inertia, rate * rate))
    return 0.5 * twice  # (1)


def potential_energy(robot: Robot, q: Scalars) -> Scalar:
    gravity = Vector.of(robot.gravity)
    energy: Scalar = 0.0
    for link, pose in zip(robot.links, poses(robot, q), strict=True):
        energy = sub(energy, mul(link.mass, dot(gravity, pose.point(link.com))))  # (2)
    return energy
