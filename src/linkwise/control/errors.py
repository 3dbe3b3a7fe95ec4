"""Position errors e from q to the target q*: one number for each degree of freedom.

    e = q* - q                     plain coordinates
    e = log(q⁻¹ q*)                quaternions: axis times angle, at most π, in the body's frame: `lw.difference`

A rotation error has the rate ω_e = R ω* - ω. The columns of R = exp(e) are the axes of the target, and ω* is in these
axes. With φ = |e|,

    ė = J⁻¹ ω_e         J⁻¹ = 1 - ½ [e×] + k [e×]²         k = (1 - ½ φ cot ½φ) / φ²

so the torque J⁻ᵀ K e does the work by which ½ eᵀ K e falls. It is K e if K is one number for the three axes. J⁻¹ is
from F. Bullo and R. M. Murray, Proportional Derivative (PD) Control on the Euclidean Group, European Control
Conference 1995.
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
    """The error from q (..., nq) to the target (nq,); `vector` is e, (..., n)."""

    def __init__(self, robot: Robot, q: Any, target: Any) -> None:
        self.q, self.target = np.asanyarray(q), target
        self.quaternions = Layout.of(robot).quaternions if robot.quaternions else ()
        self.vector = difference(robot, q, target) if self.quaternions else target - self.q

    def torque(self, force: Any) -> Any:
        """J⁻ᵀ f: the torques equivalent to forces (..., n) along e."""
        return self._along_error(force, 0.5)

    def rate(self, rate_error: Any) -> Any:
        """ė = J⁻¹ ω_e, of the errors (..., n) of the rates in the axes of the bodies."""
        return self._along_error(rate_error, -0.5)

    def _along_error(self, array: Any, half: float) -> Any:
        """(1 + half [e×] + k [e×]²) of the parts of orientations."""
        if not self.quaternions:
            return array
        parts = components(array)
        for _, v in self.quaternions:
            e, f = (Vector(*(x[..., v + i] for i in range(3))) for x in (self.vector, array))
            square = dot(e, e)
            cosine, sinc = cos_and_sinc(mul(0.25, square))
            k = (1.0 - cosine / sinc) / (square + TINY)
            product = cross(e, f)
            parts[v : v + 3] = f + product * half + cross(e, product) * k
        return stack_last_axis(parts)

    def reference_in_body_axes(self, qd: Any, rate: Any, acceleration: Any) -> tuple[Any, Any]:
        """The target's rate and acceleration in the axes of the bodies: R ω* and its derivative."""
        if not self.quaternions:
            return rate, acceleration
        rates, accelerations = components(rate), components(acceleration)
        for p, v in self.quaternions:
            w, x, y, z = (self.q[..., p + i] for i in range(4))
            R = rotation_of(quaternion_product((w, -x, -y, -z), components(self.target)[p : p + 4]))
            spin = Vector(*(qd[..., v + i] for i in range(3)))
            rotated = R @ Vector.of(rates[v : v + 3])
            rates[v : v + 3] = rotated
            accelerations[v : v + 3] = R @ Vector.of(accelerations[v : v + 3]) - cross(spin, rotated)
        return stack_last_axis(rates), stack_last_axis(accelerations)


def components(array: Any) -> list[Any]:
    """The entries along the last axis; plain numbers become floats, which the graph folds."""
    parts = [array[..., i] for i in range(array.shape[-1])]
    return [float(x) if isinstance(x, (float, np.floating)) else x for x in parts]


def stack_last_axis(parts: Sequence[Any]) -> np.ndarray:
    """Stack numbers, batch arrays or nodes along a new last axis."""
    return np.stack(np.broadcast_arrays(*map(np.asarray, parts)), axis=-1)
