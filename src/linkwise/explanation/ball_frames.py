"""The frames of a ball joint's three links, which turn with its body.

The algorithms see three angles that are zero at every state (`robot.kinds`). So of each state the three frames are
those of the body but for exchanges of axes, and along a motion all three turn by ω: the first against the parent's, the
others not at all. Rates of what is explained are rates in these frames.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..dynamics.diagonal import QuasiMotion
from ..dynamics.kinematics import poses
from ..dynamics.udu import Articulated
from ..robot import Robot
from ..spatial import Scalars, Twist, Vector, cross_twist, mul

Bodies = Sequence[Articulated]
Motions = Sequence[QuasiMotion]


def turns(robot: Robot, bodies: Bodies, qd: Scalars) -> list[Twist]:
    """The motion of each frame against that of its parent: H* θ̇, but all of a ball joint's with its first link."""
    twists = [link.joint.axis * x for link, x in zip(robot.links, qd, strict=True)]
    for x in robot.balls:
        for i in (x + 2, x + 1):
            twists[i - 1] = twists[i - 1] + twists[i].to_child(bodies[i].pose.inverse())
            twists[i] = Twist.zero()
    return twists


def spins(robot: Robot, bodies: Bodies, motions: Motions) -> list[Vector]:
    """The angular velocity of each frame."""
    vectors = [motion.twist.angular for motion in motions]
    for x in robot.balls:
        for i in (x + 2, x + 1):
            vectors[i - 1] = bodies[i].pose.rotation @ vectors[i]
    return vectors


def bias_accelerations(robot: Robot, bodies: Bodies, motions: Motions, qd: Scalars) -> list[Twist]:
    """a = Ω_δ* φ* V of the parent."""
    return [cross_twist(m.above, turn) for m, turn in zip(motions, turns(robot, bodies, qd), strict=True)]


def angular_accelerations(robot: Robot, q: Scalars, qd: Scalars, by_angles: Sequence[Vector]) -> list[Vector]:
    """ω̇ in the base frame, from that by three angles, which differs for the first two links of a ball joint."""
    vectors = list(by_angles)
    for x in robot.balls:
        rotation, (a, b, c) = poses(robot, q)[x + 2].rotation, qd[x : x + 3]
        vectors[x] = vectors[x] + rotation @ Vector(mul(b, c), mul(a, c), -mul(a, b))
        vectors[x + 1] = vectors[x + 1] + rotation @ Vector(0.0, 0.0, -mul(a, b))
    return vectors
