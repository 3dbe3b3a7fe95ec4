"""Errors between configurations: what separates q from the target q*, one number for each degree of freedom.

    e = q* - q                     of plain coordinates
    e = log(q⁻¹ q*)                of quaternions: axis times angle, at most π, in the body's frame: `lw.difference`

A rotation error turns at the rate ω_e = R ω* - ω, where R = exp(e) has the axes of the target as its columns and ω* is
in these axes. Then, with φ = |e|,

    ė = J⁻¹ ω_e         J⁻¹ = 1 - ½ [e×] + k [e×]²         k = (1 - ½ φ cot ½φ) / φ²

so ½ eᵀ K e falls by the work of J⁻ᵀ K e, which is K e where K is one number for the three axes. F. Bullo and R. M.
Murray, Proportional Derivative (PD) Control on the Euclidean Group, European Control Conference 1995, has J⁻¹.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..api.integration import difference
from ..robot import Robot
from ..robot.layout import Layout
from ..spatial import Vector, cross, dot, mul, quaternion_product, rotation_of
from ..spatial.scalar import TINY, cos_and_sinc


class PositionError:
    """From q (..., nq) to the target (nq,): `vector` is e, (..., n)."""

    def __init__(self, robot: Robot, q: Any, target: Any) -> None:
        self.q, self.target = np.asanyarray(q), target
        self.quaternions = Layout.of(robot).quaternions if robot.quaternions else ()
        self.vector = difference(robot, q, target) if self.quaternions else target - self.q

    def torque(self, force: Any) -> Any:
        """J⁻ᵀ f: the torques that do the work of forces (..., n) along e."""
        if not self.quaternions:
            return force
        parts = components(force)
        for _, v in self.quaternions:
            e, f = (Vector(*(x[..., v + i] for i in range(3))) for x in (self.vector, force))
            square = dot(e, e)
            cosine, sinc = cos_and_sinc(mul(0.25, square))
            k = (1.0 - cosine / sinc) / (square + TINY)
            once = cross(e, f)
            parts[v : v + 3] = f + once * 0.5 + cross(e, once) * k
        return joined(parts)

    def brought(self, qd: Any, rate: Any, acceleration: Any) -> tuple[Any, Any]:
        """The target's rate and acceleration in the axes of the robot's own bodies: R ω*, and its rate."""
        if not self.quaternions:
            return rate, acceleration
        rates, accelerations = components(rate), components(acceleration)
        for p, v in self.quaternions:
            w, x, y, z = (self.q[..., p + i] for i in range(4))
            R = rotation_of(quaternion_product((w, -x, -y, -z), components(self.target)[p : p + 4]))
            own = Vector(*(qd[..., v + i] for i in range(3)))
            wanted = R @ Vector.of(rates[v : v + 3])
            faster = R @ Vector.of(accelerations[v : v + 3]) - cross(own, wanted)
            rates[v : v + 3], accelerations[v : v + 3] = wanted, faster
        return joined(rates), joined(accelerations)


def components(array: Any) -> list[Any]:
    """The numbers along the last axis; those of plain numbers are constants, which fold."""
    parts = [array[..., i] for i in range(array.shape[-1])]
    return [float(x) if isinstance(x, (float, np.floating)) else x for x in parts]


def joined(parts: Sequence[Any]) -> np.ndarray:
    """Numbers, arrays of a batch or nodes as the last axis of an array."""
    return np.stack(np.broadcast_arrays(*map(np.asarray, parts)), axis=-1)
