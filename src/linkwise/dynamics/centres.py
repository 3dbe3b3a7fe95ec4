"""How the mass centres move: [Angeles] algorithm 7.4.1, for trees and for a base that moves as prescribed.

    c_i = O_i + Q_i ρ_i                                   position
    ċ_i = v_i + ω_i × ρ_i                                 velocity; v_i of the origin O_i, by (2) of `kinematics`
    c̈_i = a_i + ω̇_i × ρ_i + ω_i × (ω_i × ρ_i)             acceleration, by `newton_euler`

Results are in the base frame. With a moving base, velocities and accelerations are those seen by a fixed observer,
in the axes that the base has at that moment. Gravity does not enter.
"""

from ..robot import Robot
from ..spatial import Scalars, Twist, Vector, cross
from .kinematics import poses, twists
from .newton_euler import LinkMotion, centre_acceleration, link_motions, resting_base


def mass_centres(
    robot: Robot,
    q: Scalars,
    qd: Scalars,
    qdd: Scalars,
    base: LinkMotion | None = None,
    base_velocity: Vector | None = None,
) -> tuple[list[Vector], list[Vector], list[Vector]]:
    """Position, velocity and acceleration of every mass centre."""
    base = base or resting_base()
    start = Twist(base.angular_velocity, base_velocity or Vector.zero())
    floating = robot.with_gravity((0.0, 0.0, 0.0))
    frames = poses(robot, q)
    positions, velocities, accelerations = [], [], []
    for link, pose, twist, motion in zip(
        robot.links, frames, twists(robot, q, qd, start), link_motions(floating, q, qd, qdd, base), strict=True
    ):
        positions.append(pose.point(link.com))
        velocities.append(pose.rotation @ (twist.linear + cross(twist.angular, link.com)))
        accelerations.append(pose.rotation @ centre_acceleration(link, motion))
    return positions, velocities, accelerations
