"""Three-vectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .scalar import Scalar, add, dot_product, mul, sub


class Vector:
    """Three components in some frame: `a + b`, `a - b`, `-a`, `a * s`; see also `cross` and `dot`."""

    __slots__ = ("x", "y", "z")
    __array_ufunc__ = None  # `array * vector` is for Vector to answer, not for NumPy

    def __init__(self, x: Scalar, y: Scalar, z: Scalar) -> None:
        self.x, self.y, self.z = x, y, z

    @staticmethod
    def zero() -> Vector:
        return Vector(0.0, 0.0, 0.0)

    @staticmethod
    def of(components: Iterable[Scalar]) -> Vector:
        return Vector(*components)

    def __iter__(self) -> Iterator[Scalar]:
        return iter((self.x, self.y, self.z))

    def __add__(self, other: Vector) -> Vector:
        return Vector(add(self.x, other.x), add(self.y, other.y), add(self.z, other.z))

    def __sub__(self, other: Vector) -> Vector:
        return Vector(sub(self.x, other.x), sub(self.y, other.y), sub(self.z, other.z))

    def __neg__(self) -> Vector:
        return Vector.zero() - self

    def __mul__(self, s: Scalar) -> Vector:
        return Vector(mul(self.x, s), mul(self.y, s), mul(self.z, s))

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vector) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Vector({self.x}, {self.y}, {self.z})"


def cross(a: Vector, b: Vector) -> Vector:
    return Vector(
        sub(mul(a.y, b.z), mul(a.z, b.y)), sub(mul(a.z, b.x), mul(a.x, b.z)), sub(mul(a.x, b.y), mul(a.y, b.x))
    )


def dot(a: Vector, b: Vector) -> Scalar:
    return dot_product(a, b)
