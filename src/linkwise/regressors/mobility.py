"""How freely each link moves, seen in random states: what decides which inertial numbers torques depend on.

Whether axes are parallel, whether a point stands still, whether gravity pulls: such questions have no answer in
symbols. They are asked of the robot with random values for its symbols, several times, and the least special answer is
taken: it holds for all values but special ones.
"""

from __future__ import annotations

import numpy as np

from ..dynamics import kinematics
from ..robot import Link, LinkMobility, Robot, outward
from ..robot.configurations import neutral
from ..robot.symbols import random_bindings
from ..spatial import Placement, Scalar, Twist, Vector, add, cross, dot, mul, reciprocal

DRAWS = 3  # random geometries for a robot made of symbols
STATES = 20  # random states of each
SMALL = 1e-9  # what is this small beside the rest is zero
Z = Vector(0.0, 0.0, 1.0)

Freedom = tuple[int, bool, bool, bool, bool, bool]  # turns, swings, climbs, and which components the direction has


def mobilities(arm: Robot) -> list[LinkMobility]:
    """The mobility of each link, for a robot of numbers or of symbols."""
    seen = zip(*map(freedoms, random_bindings(arm, DRAWS)), strict=True)
    most = [tuple(map(max, zip(*of_link, strict=True))) for of_link in seen]
    directions = outward(arm, direction, Vector.zero())
    still = [turns == 2 and not swings for turns, swings, *_ in most]
    levers = lever_arms(arm) if any(still) else [0.0] * arm.n
    return [
        LinkMobility(turns, swings, (x, y, z), n, lever if stands else 0.0, climbs)
        for (turns, swings, climbs, x, y, z), n, lever, stands in zip(most, directions, levers, still, strict=True)
    ]


def direction(link: Link, parent: Vector) -> Vector:
    """The direction that a link turns about, if there is only one."""
    return Z if link.joint.turns else link.placement.axes.T @ parent


def lever_arms(arm: Robot) -> list[Scalar]:
    """How far along z the origin of each link is from a point that stands still, where there is one: v = l ω × z."""
    above: list[Scalar] = [0.0] * arm.n
    below: list[Scalar] = [0.0] * arm.n
    q = arm.coordinates.positions(neutral(arm).tolist())
    for rates in np.eye(arm.n).tolist():
        for k, twist in enumerate(kinematics.twists(arm, q, rates)):
            across = cross(twist.angular, Z)
            above[k] = add(above[k], dot(across, twist.linear))
            below[k] = add(below[k], dot(across, across))
    known_zero = [type(x) is float and x == 0.0 for x in above]
    return [0.0 if zero else mul(a, reciprocal(b)) for a, b, zero in zip(above, below, known_zero, strict=True)]


def freedoms(arm: Robot) -> list[Freedom]:
    """How each link of a robot of numbers moves."""
    numbers = np.random.default_rng(arm.n).normal(size=(arm.nq + arm.n, STATES))
    q, rates = arm.coordinates.positions(list(numbers[: arm.nq])), list(numbers[arm.nq :])
    twists, poses = kinematics.twists(arm, q, rates), kinematics.poses(arm, q)
    fastest = max(np.abs(stacked(twist.linear)).max() for twist in twists)
    motions, gravity = zip(arm.links, twists, poses, strict=True), np.array(arm.gravity)
    return [freedom(link, twist, pose, gravity, fastest) for link, twist, pose in motions]


def freedom(link: Link, twist: Twist, pose: Placement, gravity: np.ndarray, fastest: float) -> Freedom:
    w, v = stacked(twist.angular), stacked(twist.linear)
    _, sizes, (n, *_) = np.linalg.svd(w)
    turns = int(np.sum(sizes[:2] > SMALL * sizes[0]))
    if turns == 1:
        fixed = stacked(pose.rotation @ Vector.of(n.tolist()))[0]  # the direction in the base
        pull, left = np.cross(gravity, fixed), np.cross(v, n)
    else:
        across = np.cross(w, tuple(Z))
        pull, left = gravity, v - across * (np.sum(across * v) / max(np.sum(across * across), SMALL))
    swings = np.abs(pull).max() > SMALL * np.abs(gravity).max() or np.abs(left).max() > SMALL * fastest
    lifted = v[:, 2] - w[:, 2] * float(link.joint.axis.linear.z)  # not by the link's own turning
    climbs = (
        np.abs(stacked(pose.rotation @ Z) @ gravity).max() > SMALL * np.abs(gravity).max()
        or np.abs(lifted).max() > SMALL * fastest
    )
    x, y, z = (bool(size > SMALL) for size in np.abs(n))
    return turns, bool(swings), bool(climbs), x, y, z


def stacked(v: Vector) -> np.ndarray:
    return np.stack([np.broadcast_to(x, STATES) for x in v], axis=-1)
