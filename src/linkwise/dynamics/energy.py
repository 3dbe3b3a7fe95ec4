"""Kinetic and potential energy, and what friction takes.

T = ½ Σ t_iᵀ M_i t_i + ½ Σ rotor inertia · q̇_i²        (1)   link i in its own frame, about O_i
V = -Σ m_i g · c_i                                     (2)   zero at the origin of the base frame
d = viscous · q̇_i + Coulomb · sign q̇_i                 (3)   torques; Coulomb's is 0 at rest
"""

from ..robot import Robot
from ..spatial import Scalar, Scalars, Vector, add, dot, mul, power, sign, sub
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


def dissipation(robot: Robot, qd: Scalars) -> list[Scalar]:
    """The torques that friction takes from the drives."""
    return [
        add(mul(joint.viscous_friction, qd_i), mul(joint.coulomb_friction, sign(qd_i)))  # (3)
        for joint, qd_i in zip((link.joint for link in robot.links), qd, strict=True)
    ]
