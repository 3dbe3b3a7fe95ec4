"""The scales of torques and lengths, with which rounding errors are compared.

A torque is a sum of contributions that may cancel. The Newton-Euler recursion with norms in place of vectors bounds the
sum of their magnitudes: W of ω, α of ω̇ at q̈ = 0, A of the acceleration, s of the displacement from the parent,
d of the distance between a link's origin and its mass:

    W_i = W_β + |turn|,  α_i = α_β + W_i |turn|,  A_i = A_β + (α_β + W_β²) s_i + 2 W_i |slide|
    F_i = m_i (A_i + (α_i + W_i²) d_i) + |f_ext| + Σ F_k
    N_i = d_i (F_i - Σ F_k) + |I_i| (α_i + W_i²) + |n_ext| + Σ (N_k + s_k F_k)

d is |c| plus the radius of gyration and the distance of the table frame, so that a mass centre off an axis by rounding
counts as on the axis.

`with_lengths_in` returns a robot with lengths of about 1, so that decisions do not depend on its size.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..spatial import Placement, Symmetric, Vector, mul
from .fingerprint import PerRobot
from .link import Link, WrenchFrames, own_numbers
from .model import Robot
from .walk import inward, outward


class Magnitudes(NamedTuple):
    """The magnitudes of a link's motion."""

    W: Any
    alpha: Any
    A: Any
    s: Any


class Carried(NamedTuple):
    """The magnitudes of the moment and force at a joint."""

    N: Any
    F: Any

    def __add__(self, other: Any) -> Carried:
        return Carried(self.N + other.N, self.F + other.F)


def length(v: Vector) -> float:
    return math.hypot(*map(float, v))


def extent(link: Link) -> float:
    """d of a link."""
    gyration = math.sqrt(trace(link) / abs(float(link.mass))) if link.mass else 0.0
    return length(link.com) + gyration + length(link.frame.translation)


def trace(link: Link) -> float:
    """The trace of the inertia, which bounds its norm."""
    return abs(float(link.inertia.xx) + float(link.inertia.yy) + float(link.inertia.zz))


def reach(robot: Robot) -> float:
    """The size of a robot in m: from the base to the farthest mass, along the links with the full travel of slides.

    It is 1 for a robot without any length.
    """

    def far(link: Link, parent: float) -> float:
        travel = max(map(abs, link.joint.limits)) if link.joint.limits else 0.0
        slide = travel * length(link.joint.axis.linear)
        return parent + length(link.placement.translation) + (slide if math.isfinite(slide) else 0.0)

    ends = outward(robot.uncoupled, far, 0.0)
    sizes = (end + extent(link) for end, link in zip(ends, robot.links, strict=True))
    return max(sizes, default=0.0) or 1.0


def coordinate_scales(robot: Robot) -> np.ndarray:
    """1 rad, or the size of the robot in m, for each number of qd."""
    size = reach(robot)
    return np.array([size if unit == "N" else 1.0 for unit in robot.effort_units])


def metre(robot: Robot) -> float:
    """The length with which errors of a motion are compared: 1 m, less for robots smaller than 0.1 m."""
    return min(1.0, 10.0 * reach(robot)) if "N" in robot.effort_units else 1.0


@PerRobot
def state_scales(robot: Robot) -> np.ndarray:
    """1 for an angle and a number of a quaternion, a metre for a displacement: for each number of q, then of qd."""
    rates = [metre(robot) if unit == "N" else 1.0 for unit in robot.effort_units]
    positions = rates.copy()
    for start in robot.quaternions:  # four numbers in the place of three
        positions.insert(start, 1.0)
    scales = np.array(positions + rates)
    scales.setflags(write=False)
    return scales


def torque_scales(
    robot: Robot,
    q: np.ndarray,
    qd: np.ndarray | None = None,
    wrench: np.ndarray | None = None,
    point: Any = None,
) -> np.ndarray:
    """For states (count, nq) the summed magnitudes of the torques on each joint, (count, n).

    These come from weights, inertial forces at the rates qd, and external wrenches.
    """
    links, coordinates = robot.uncoupled, robot.coordinates
    still = np.zeros((len(q), robot.n)) if qd is None else qd
    positions, rates = coordinates.positions(list(q.T)), coordinates.rates(list(np.abs(still).T))
    moments, forces, at = load_magnitudes(robot, wrench, point)

    def move(link: Link, parent: Magnitudes, position: Any, rate: Any) -> Magnitudes:
        turn, slide = (length(part) for part in (link.joint.axis.angular, link.joint.axis.linear))
        shift = slide * np.abs(position) if slide else 0.0  # a ball's position is not a number
        s = length(link.placement.translation) + shift
        rate = np.abs(rate)
        W = parent.W + turn * rate
        A = parent.A + (parent.alpha + parent.W**2) * s + 2.0 * W * slide * rate
        return Magnitudes(W, parent.alpha + W * turn * rate, A, s)

    def support(link: Link, carried: Carried, motion: Magnitudes, n: Any, f: Any, p: Any) -> tuple[Carried, Carried]:
        d, turning = extent(link), motion.alpha + motion.W**2
        force = abs(float(link.mass)) * (motion.A + turning * d)
        kept = carried + Carried(force * d + trace(link) * turning + n + f * (d + p), force + f)
        return kept, Carried(kept.N + motion.s * kept.F, kept.F)

    base = Magnitudes(0.0, 0.0, math.hypot(*map(float, robot.gravity)), 0.0)
    motions = outward(links, move, base, positions, rates)
    wrenches = inward(links, support, Carried(0.0, 0.0), motions, moments, forces, at)
    scales = np.zeros((len(q), robot.n))
    for link, slot, (N, F) in zip(links.links, robot.slots, wrenches, strict=True):
        axis = link.joint.axis
        scales[:, slot.v] += abs(float(slot.ratio)) * (length(axis.angular) * N + length(axis.linear) * F)
    return scales


def load_magnitudes(robot: Robot, wrench: np.ndarray | None, point: Any) -> tuple[list[Any], list[Any], list[Any]]:
    """The magnitudes of the external moment and force on each link, and of the point where they act."""
    moments, forces, at = ([0.0] * len(robot.links) for _ in range(3))
    if wrench is not None and isinstance(point, WrenchFrames):
        for row, name in enumerate(point.names):
            index, seat = robot.seat(robot.frame(name))
            moment, force = (np.linalg.norm(part, axis=-1) for part in np.split(wrench[:, row], 2, axis=-1))
            moments[index], forces[index] = moments[index] + moment, forces[index] + force
            at[index] = max(at[index], length(seat.translation))
    elif wrench is not None:
        on_tip = wrench.ndim == 2
        for row, index in enumerate([robot.leaves[0]] if on_tip else [joint.link for joint in robot.moving]):
            loads = wrench if on_tip else wrench[:, row]
            moments[index], forces[index] = (np.linalg.norm(part, axis=-1) for part in np.split(loads, 2, axis=-1))
            if point is not None:
                at[index] = np.linalg.norm(point if on_tip else point[:, row], axis=-1)
    return moments, forces, at


def length_unit(robot: Robot) -> float:
    """A power of two near the robot's size, so that scaling is exact; 1 for a robot of symbols."""
    return 1.0 if robot.symbolic else math.ldexp(1.0, round(math.log2(reach(robot))))


def with_lengths_in(robot: Robot, unit: float) -> Robot:
    """The robot with lengths in this unit, forces and torques in kg unit/s² and kg unit²/s². The table is unchanged."""
    if unit == 1.0:
        return robot
    k = 1.0 / unit

    def shrunk(placement: Placement) -> Placement:
        return Placement(placement.rotation, placement.translation * k)

    def shrunk_link(link: Link) -> Link:
        numbers = {
            name: mul(getattr(link.joint, name), k**unit.lengths)
            for name, unit in own_numbers(type(link.joint)).items()
        }
        return replace(
            link,
            joint=replace(link.joint, **numbers),
            placement=shrunk(link.placement),
            com=link.com * k,
            inertia=Symmetric(*(mul(x, k * k) for x in link.inertia.upper)),
            frame=shrunk(link.frame),
        )

    slides = [1.0 if link.joint.angular else k for link in robot.links]
    couplings = tuple(
        c._replace(ratio=mul(c.ratio, slides[c.link] / slides[c.to]), offset=mul(c.offset, slides[c.link]))
        for c in robot.couplings
    )
    gx, gy, gz = (mul(x, k) for x in robot.gravity)
    return replace(robot, links=tuple(map(shrunk_link, robot.links)), gravity=(gx, gy, gz), couplings=couplings)
