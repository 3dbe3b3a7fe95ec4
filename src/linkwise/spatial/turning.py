"""Linear maps from a turning rate to a wrench at the origin of one frame: twelve numbers that add up.

    n = D ρ          f = ρ × p

Two wrenches have this form: that of the Coriolis forces of moving masses that all join in a rotation ρ, and the change
of forces that are given in the base frame, seen from bodies that turn.
"""

from __future__ import annotations

from .matrix import Matrix, cross_matrix
from .placement import Placement
from .scalar import add, mul
from .twist_wrench import Twist, Wrench
from .vector import Vector, cross


class TurningMap:
    """D, and p."""

    __slots__ = ("moment", "vector")

    def __init__(self, moment: Matrix, vector: Vector) -> None:
        self.moment, self.vector = moment, vector

    @staticmethod
    def zero() -> TurningMap:
        return TurningMap(Matrix.zero(), Vector.zero())

    @staticmethod
    def of_wrench(wrench: Wrench) -> TurningMap:
        """ρ × the wrench, at the point where that acts."""
        return TurningMap(cross_matrix(-wrench.moment), wrench.force)

    def __add__(self, other: TurningMap) -> TurningMap:
        return TurningMap(self.moment + other.moment, self.vector + other.vector)

    def __matmul__(self, turning: Vector) -> Wrench:
        return Wrench(self.moment @ turning, cross(turning, self.vector))

    def power(self, twist: Twist) -> Vector:
        """The vector whose product with ρ is the power of the wrench in this motion."""
        return self.moment.T @ twist.angular + cross(self.vector, twist.linear)

    def acting_at(self, point: Vector) -> TurningMap:
        """The map given at a point, moved to the origin."""
        return TurningMap(self.moment + double_cross(point, self.vector), self.vector)

    def to_parent(self, pose: Placement) -> TurningMap:
        turned = TurningMap(pose.rotation.turned(self.moment), pose.rotation @ self.vector)
        return turned.acting_at(pose.translation)


def double_cross(a: Vector, b: Vector) -> Matrix:
    """The matrix of ρ ↦ a × (ρ × b): (a·b) 1 - b aᵀ."""
    x, y, z = (mul(p, q) for p, q in zip(a, b, strict=True))
    return Matrix(
        (
            (add(y, z), -mul(b.x, a.y), -mul(b.x, a.z)),
            (-mul(b.y, a.x), add(x, z), -mul(b.y, a.z)),
            (-mul(b.z, a.x), -mul(b.z, a.y), add(x, y)),
        )
    )
