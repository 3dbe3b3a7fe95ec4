"""Joints. Each moves its link along or about the z axis of the joint frame; algorithms never ask which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..spatial import Matrix, Placement, Rotation, Scalar, Twist, Vector, cross_matrix, turn_z


@dataclass(frozen=True)
class Joint:
    """What a joint adds to its kind: the drive's inertia as the joint feels it, friction, and limits of travel."""

    rotor_inertia: Scalar = 0.0
    viscous_friction: Scalar = 0.0
    coulomb_friction: Scalar = 0.0
    limits: tuple[float, float] | None = None

    kind: ClassVar[str]
    axis: ClassVar[Twist]

    def motion(self, q: Scalar) -> Placement:
        """Pose of the link frame in the joint frame."""
        raise TypeError(f"{type(self).__name__} is not a kind of joint: use Revolute or Prismatic")

    def turn(self, rate: Scalar) -> Vector:
        """The part of the joint's motion that turns the link."""
        part: Vector = self.axis.angular * rate
        return part

    def constraint(self, axis: Vector) -> tuple[Matrix, Matrix]:
        """What the joint forbids: A and L, such that A times the relative rotation and L times the sliding vanish."""
        raise TypeError(f"{type(self).__name__} is not a kind of joint: use Revolute or Prismatic")

    def slide(self, rate: Scalar) -> Vector:
        """The part of the joint's motion that slides the link."""
        part: Vector = self.axis.linear * rate
        return part


@dataclass(frozen=True)
class Revolute(Joint):
    kind = "revolute"
    axis = Twist(Vector(0.0, 0.0, 1.0), Vector.zero())

    def motion(self, q: Scalar) -> Placement:
        return Placement(turn_z(q), Vector.zero())

    def constraint(self, axis: Vector) -> tuple[Matrix, Matrix]:
        return cross_matrix(axis), Rotation.identity()


@dataclass(frozen=True)
class Prismatic(Joint):
    kind = "prismatic"
    axis = Twist(Vector.zero(), Vector(0.0, 0.0, 1.0))

    def motion(self, q: Scalar) -> Placement:
        return Placement(Rotation.identity(), Vector(0.0, 0.0, q))

    def constraint(self, axis: Vector) -> tuple[Matrix, Matrix]:
        return Rotation.identity(), cross_matrix(axis)


ALL_JOINTS = {joint.kind: joint for joint in (Revolute, Prismatic)}
