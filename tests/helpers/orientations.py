"""Velocities and configurations of robots with ball and free joints, made and compared."""

import numpy as np

import linkwise as lw
from robots import relative


def spins(robot):
    """Where v has the three components of an angular velocity."""
    return [slice(robot.slots[ball].v, robot.slots[ball].v + 3) for ball in robot.balls]


def bounded(robot, v, angle):
    """The velocities with turns of ball joints shorter than an angle."""
    v = v.copy()
    for spin in spins(robot):
        length = np.linalg.norm(v[..., spin], axis=-1, keepdims=True)
        v[..., spin] *= np.minimum(1.0, angle / length)
    return v


def apart(robot, q0, q1):
    """How far configurations differ, where a quaternion and its opposite are the same."""
    q0, q1 = lw.normalize(robot, q0), lw.normalize(robot, q1).copy()
    for start in robot.quaternions:
        own = slice(start, start + 4)
        q1[..., own] *= np.sign((q0[..., own] * q1[..., own]).sum(-1, keepdims=True))
    return relative(q0, q1)


def opposite(robot, q):
    """The same configuration with the other sign of every quaternion."""
    q = q.copy()
    for start in robot.quaternions:
        q[..., start : start + 4] *= -1.0
    return q
