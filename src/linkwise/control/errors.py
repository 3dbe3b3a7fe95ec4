"""Errors between configurations: what separates q from the target q*, one number for each degree of freedom.

    e = q* - q                     of plain coordinates
    e = log(q⁻¹ q*)                of quaternions: axis times angle, at most π, in the body's frame

A rotation error turns at the rate ω_e = R ω* - ω, where R = exp(e) has the axes of the target as its columns and ω* is
in these axes; ė = J⁻¹ ω_e (`spatial.rotation_vector`). So ½ eᵀ K e falls by the work of J⁻ᵀ K e, which is K e where K
is one number for the three axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..robot import Robot
from ..robot.layout import Layout
from ..spatial import Vector, cross, quaternion_product, rotation_of
from ..spatial.rotation_vector import rotation_vector


class PositionError:
    """From q (..., nq) to the target (nq,): `vector` is e, (..., n)."""

    def __init__(self, arm: Robot, q: Any, target: Any) -> None:
        q, self.turns, self.rotations = np.asarray(q), {}, {}
        if not arm.quaternions:
            self.vector = target - q
            return
        layout = Layout.of(arm)
        parts: dict[int, Any] = {v: constant(target[p]) - q[..., p] for p, v in layout.plain}
        for p, v in layout.quaternions:
            w, x, y, z = (q[..., p + i] for i in range(4))
            between = quaternion_product((w, -x, -y, -z), [constant(target[p + i]) for i in range(4)])
            self.turns[v], self.rotations[v] = rotation_vector(between), rotation_of(between)
            parts |= dict(enumerate(self.turns[v].vector, v))
        self.vector = joined([parts[v] for v in range(arm.n)])

    def torque(self, force: Any) -> Any:
        """J⁻ᵀ f: the torques that do the work of forces (..., n) along e."""
        if not self.turns:
            return force
        parts = [force[..., v] for v in range(force.shape[-1])]
        for v, turn in self.turns.items():
            parts[v : v + 3] = turn.pulled_back(Vector.of(parts[v : v + 3]))
        return joined(parts)

    def brought(self, qd: Any, rate: Any, acceleration: Any) -> tuple[Any, Any]:
        """The target's rate and acceleration in the axes of the robot's own bodies: R ω*, and its rate."""
        if not self.turns:
            return rate, acceleration
        rates, accelerations = ([part[..., v] for v in range(part.shape[-1])] for part in (rate, acceleration))
        for v, R in self.rotations.items():
            own = Vector(*(qd[..., v + i] for i in range(3)))
            wanted = R @ Vector.of(map(constant, rates[v : v + 3]))
            faster = R @ Vector.of(map(constant, accelerations[v : v + 3])) - cross(own, wanted)
            rates[v : v + 3], accelerations[v : v + 3] = wanted, faster
        return joined(rates), joined(accelerations)


def joined(parts: Sequence[Any]) -> np.ndarray:
    """Numbers, arrays of a batch or nodes as the last axis of an array."""
    return np.stack(np.broadcast_arrays(*map(np.asarray, parts)), axis=-1)


def constant(x: Any) -> Any:
    """A number that folds, if it is one."""
    return float(x) if isinstance(x, (float, np.floating)) else x
