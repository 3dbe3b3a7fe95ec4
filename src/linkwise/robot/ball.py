"""A ball joint as three revolute joints x, y, z, all at angle zero behind the rotation R of the state.

These are Euler angles θ that are centred at every state, so they are never singular. At zero their rates are the
angular velocity ω in the body's frame, their torques are about the body's axes, and

    ω = B(θ) θ̇,   B(0) = 1,   Ḃ = [[0, ω_z, 0], [-ω_z, 0, 0], [ω_y, 0, 0]]
    ω̇ = θ̈ + γ,    γ = Ḃ ω = (ω_y ω_z, -ω_x ω_z, ω_x ω_y)

The public functions subtract γ from their inputs and add it to their results (`robot.coordinates`).
"""

from __future__ import annotations

from typing import ClassVar

from ..spatial import Placement, RigidInertia, Rotation, Scalar, Scalars, Symmetric, Vector, mul, rotation_of
from .joint import LinkMobility, Revolute, no_further_data

CYCLE = Rotation(((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)))  # its z is x, its x is y, its y is z


@no_further_data
class BallAxis(Revolute):
    """One of the three axes; `spins` are the components of ω up to this axis."""

    kind = "ball"
    width: ClassVar[int] = 0  # the angle is always zero

    def coordinate(self, values: Scalars) -> Scalar:
        return 0.0

    def motion(self, q: Scalar) -> Placement:
        return Placement.identity()

    def split(self, body: RigidInertia) -> tuple[RigidInertia, RigidInertia]:
        """Only the mass can move to the parent, as a point at the joint's centre."""
        kept = RigidInertia(0.0, body.moment, body.tensor)
        return kept, RigidInertia(body.mass, Vector.zero(), Symmetric.zero())

    def identifiable(self, body: RigidInertia, mobility: LinkMobility) -> tuple[dict[str, Scalar], RigidInertia]:
        return {}, body  # the body is on the last of the three


@no_further_data
class BallX(BallAxis):
    width: ClassVar[int] = 4

    def coordinate(self, values: Scalars) -> Rotation:
        return rotation_of(values)

    def motion(self, q: Rotation) -> Placement:
        """The rotation of the state, and then x as the axis."""
        return Placement(q.then(CYCLE), Vector.zero())

    def spins(self, parent: Vector, rate: Scalar) -> Vector:
        return Vector(rate, 0.0, 0.0)

    def recentring(self, spins: Vector, inner: Vector) -> tuple[Scalar, Vector]:
        return mul(inner.y, inner.z), Vector.zero()


@no_further_data
class BallY(BallAxis):
    def spins(self, parent: Vector, rate: Scalar) -> Vector:
        return Vector(parent.x, rate, 0.0)

    def recentring(self, spins: Vector, inner: Vector) -> tuple[Scalar, Vector]:
        return mul(-1.0, mul(spins.x, inner.z)), Vector(0.0, spins.y, inner.z)


@no_further_data
class BallZ(BallAxis):
    def spins(self, parent: Vector, rate: Scalar) -> Vector:
        return Vector(parent.x, parent.y, rate)

    def recentring(self, spins: Vector, inner: Vector) -> tuple[Scalar, Vector]:
        return mul(spins.x, spins.y), Vector(0.0, 0.0, spins.z)

    def identifiable(self, body: RigidInertia, mobility: LinkMobility) -> tuple[dict[str, Scalar], RigidInertia]:
        """The whole tensor, and the first moment if gravity acts or the centre moves."""
        h, J = body.moment, body.tensor
        swung = {"hx": h.x, "hy": h.y, "hz": h.z} if mobility.swings else {}
        tensor = {"Jxx": J.xx, "Jxy": J.xy, "Jxz": J.xz, "Jyy": J.yy, "Jyz": J.yz, "Jzz": J.zz}
        return {**swung, **tensor}, RigidInertia(body.mass, Vector.zero(), Symmetric.zero())
