"""Six-vectors, angular part first: twists (velocities) and wrenches (forces), at the origin of their frame.

`to_child` and `to_parent` move one to the frame whose pose is given: the child sits at `pose` in its parent.
Six-velocities travel outward and forces inward, so each has one of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from .placement import Placement
from .scalar import Scalar, add
from .vector import Vector, cross, dot


class Twist:
    """Angular velocity and the velocity of the frame's origin; also their rates, or a joint's axis."""

    __slots__ = ("angular", "linear")
    __array_ufunc__ = None

    def __init__(self, angular: Vector, linear: Vector) -> None:
        self.angular, self.linear = angular, linear

    @staticmethod
    def zero() -> Twist:
        return Twist(Vector.zero(), Vector.zero())

    def __iter__(self) -> Iterator[Scalar]:
        return iter((*self.angular, *self.linear))

    def __add__(self, other: Twist) -> Twist:
        return Twist(self.angular + other.angular, self.linear + other.linear)

    def __mul__(self, s: Scalar) -> Twist:
        return Twist(self.angular * s, self.linear * s)

    def __sub__(self, other: Twist) -> Twist:
        return Twist(self.angular - other.angular, self.linear - other.linear)

    def to_child(self, pose: Placement) -> Twist:
        inward = pose.rotation.T
        return Twist(inward @ self.angular, inward @ (self.linear + cross(self.angular, pose.translation)))


class Wrench:
    """Moment about the frame's origin, and force."""

    __slots__ = ("force", "moment")
    __array_ufunc__ = None

    def __init__(self, moment: Vector, force: Vector) -> None:
        self.moment, self.force = moment, force

    @staticmethod
    def zero() -> Wrench:
        return Wrench(Vector.zero(), Vector.zero())

    def __iter__(self) -> Iterator[Scalar]:
        return iter((*self.moment, *self.force))

    def __add__(self, other: Wrench) -> Wrench:
        return Wrench(self.moment + other.moment, self.force + other.force)

    def __sub__(self, other: Wrench) -> Wrench:
        return Wrench(self.moment - other.moment, self.force - other.force)

    def __mul__(self, s: Scalar) -> Wrench:
        return Wrench(self.moment * s, self.force * s)

    def acting_at(self, point: Vector) -> Wrench:
        """The wrench given at a point, moved to the origin."""
        return Wrench(self.moment + cross(point, self.force), self.force)

    def to_parent(self, pose: Placement) -> Wrench:
        force = pose.rotation @ self.force
        return Wrench(pose.rotation @ self.moment + cross(pose.translation, force), force)


def cross_twist(v: Twist, m: Twist) -> Twist:
    """v × m: the rate of a twist m that is carried along by the motion v."""
    return Twist(cross(v.angular, m.angular), cross(v.angular, m.linear) + cross(v.linear, m.angular))


def cross_wrench(v: Twist, f: Wrench) -> Wrench:
    """v × f: the rate of a wrench or momentum f that is carried along by the motion v."""
    return Wrench(cross(v.angular, f.moment) + cross(v.linear, f.force), cross(v.angular, f.force))


def power(twist: Twist, wrench: Wrench) -> Scalar:
    """tᵀw: the power of the wrench in this motion."""
    return add(dot(twist.angular, wrench.moment), dot(twist.linear, wrench.force))
