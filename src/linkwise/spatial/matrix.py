"""3 × 3 matrices: general, rotations, and symmetric ones that keep six numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Self, overload

from .scalar import Scalar, add, cos, dot_product, mul, sin, sqrt, sub
from .vector import Vector, cross, dot

Rows = tuple[tuple[Scalar, ...], ...]
SNAP = 1e-12  # a rotation entry this close to 0, 1 or -1 is taken to be that number


class Matrix:
    """A 3 × 3 matrix given by its rows."""

    __slots__ = ("rows",)

    def __init__(self, rows: Iterable[Iterable[Scalar]]) -> None:
        self.rows: Rows = tuple(map(tuple, rows))

    @staticmethod
    def zero() -> Matrix:
        return Matrix(((0.0,) * 3,) * 3)

    @property
    def columns(self) -> Rows:
        return tuple(zip(*self.rows, strict=True))

    @property
    def T(self) -> Self:
        return type(self)(self.columns)

    @overload
    def __matmul__(self, other: Vector) -> Vector: ...
    @overload
    def __matmul__(self, other: Matrix | Symmetric) -> Matrix: ...
    def __matmul__(self, other: Vector | Matrix | Symmetric) -> Vector | Matrix:
        if isinstance(other, Vector):
            components = tuple(other)
            return Vector(*[dot_product(row, components) for row in self.rows])
        columns = other.columns
        return Matrix([[dot_product(row, column) for column in columns] for row in self.rows])

    def __add__(self, other: Matrix) -> Matrix:
        return Matrix([map(add, a, b) for a, b in zip(self.rows, other.rows, strict=True)])

    def __sub__(self, other: Matrix) -> Matrix:
        return Matrix([map(sub, a, b) for a, b in zip(self.rows, other.rows, strict=True)])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Matrix) and self.rows == other.rows

    def __hash__(self) -> int:
        return hash(self.rows)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.rows})"


class Rotation(Matrix):
    """An orthogonal matrix: the axes of a child frame, as columns, in the frame of its parent."""

    __slots__ = ()

    @staticmethod
    def identity() -> Rotation:
        return Rotation(((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)))

    def then(self, other: Rotation) -> Rotation:
        return Rotation((self @ other).rows)

    @overload
    def turned(self, m: Symmetric) -> Symmetric: ...
    @overload
    def turned(self, m: Matrix) -> Matrix: ...
    def turned(self, m: Symmetric | Matrix) -> Symmetric | Matrix:
        """R M Rᵀ: the matrix M of the child frame, in the frame of the parent."""
        axis = self.plane_axis()
        if axis is not None:
            return self.turned_in_plane(m, axis)
        half = self @ m
        if isinstance(m, Matrix):
            return half @ self.T
        return Symmetric.from_upper(lambda i, j: dot_product(half.rows[i], self.rows[j]))

    def plane_axis(self) -> int | None:
        """0, 1 or 2 where this turns about x, y or z, by other than quarter turns; otherwise None."""
        for k in range(3):
            row, column = self.rows[k], self.columns[k]
            if all(type(x) is float and x == float(i == k) for line in (row, column) for i, x in enumerate(line)):
                i, j = (k + 1) % 3, (k + 2) % 3
                quarter = all(type(x) is float and abs(x) in (0.0, 1.0) for x in (self.rows[i][i], self.rows[j][i]))
                return None if quarter else k
        return None

    @overload
    def turned_in_plane(self, m: Symmetric, axis: int) -> Symmetric: ...
    @overload
    def turned_in_plane(self, m: Matrix, axis: int) -> Matrix: ...
    def turned_in_plane(self, m: Symmetric | Matrix, axis: int) -> Symmetric | Matrix:
        """R M Rᵀ for a turn about one axis, with four products for the block in the plane instead of sixteen.

        With c, s of the angle, t = m_ii - m_jj and b = m_ij + m_ji, the diagonal changes by -u and u, the rest by w:
        u = s² t + c s b,  w = c s t - s² b.
        """
        i, j, k = (axis + 1) % 3, (axis + 2) % 3, axis
        c, s, old = self.rows[i][i], self.rows[j][i], m.rows
        cs, ss = mul(c, s), mul(s, s)
        t, b = sub(old[i][i], old[j][j]), add(old[i][j], old[j][i])
        u, w = add(mul(ss, t), mul(cs, b)), sub(mul(cs, t), mul(ss, b))
        new = [list(row) for row in old]
        new[i][i], new[j][j] = sub(old[i][i], u), add(old[j][j], u)
        new[i][j], new[j][i] = add(old[i][j], w), add(old[j][i], w)
        new[i][k], new[j][k] = plane_turn(c, s, old[i][k], old[j][k])
        if isinstance(m, Symmetric):
            new[k][i], new[k][j] = new[i][k], new[j][k]
            return Symmetric.from_upper(lambda row, column: new[row][column])
        new[k][i], new[k][j] = plane_turn(c, s, old[k][i], old[k][j])
        return Matrix(new)

    def snapped(self) -> Rotation:
        return Rotation([[snap(x) for x in row] for row in self.rows])

    def orthonormal(self) -> Rotation:
        """The rotation next to this one, by Gram and Schmidt: for numbers with more digits than the file had."""
        x = Vector.of(self.columns[0])
        x = x * (1.0 / sqrt(dot(x, x)))
        y = Vector.of(self.columns[1])
        y = y - x * dot(x, y)
        y = y * (1.0 / sqrt(dot(y, y)))
        return Rotation([tuple(x), tuple(y), tuple(cross(x, y))]).T


class RotationProduct:
    """First ∘ second, kept as two factors: two sparse rotations of a vector cost less than one full one."""

    __slots__ = ("first", "second")

    def __init__(self, first: Rotation, second: Rotation) -> None:
        self.first, self.second = first, second

    @property
    def T(self) -> RotationProduct:
        return RotationProduct(self.second.T, self.first.T)

    @property
    def matrix(self) -> Rotation:
        return self.first.then(self.second)

    def __matmul__(self, v: Vector) -> Vector:
        return self.first @ (self.second @ v)

    @overload
    def turned(self, m: Symmetric) -> Symmetric: ...
    @overload
    def turned(self, m: Matrix) -> Matrix: ...
    def turned(self, m: Symmetric | Matrix) -> Symmetric | Matrix:
        return self.first.turned(self.second.turned(m))


class Symmetric:
    """A symmetric 3 × 3 matrix."""

    __slots__ = ("xx", "xy", "xz", "yy", "yz", "zz")

    def __init__(self, xx: Scalar, xy: Scalar, xz: Scalar, yy: Scalar, yz: Scalar, zz: Scalar) -> None:
        self.xx, self.xy, self.xz, self.yy, self.yz, self.zz = xx, xy, xz, yy, yz, zz

    @staticmethod
    def zero() -> Symmetric:
        return Symmetric.diagonal(0.0)

    @staticmethod
    def diagonal(s: Scalar) -> Symmetric:
        return Symmetric(s, 0.0, 0.0, s, 0.0, s)

    @staticmethod
    def from_upper(entry: Callable[[int, int], Scalar]) -> Symmetric:
        return Symmetric(*(entry(i, j) for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))))

    @property
    def upper(self) -> tuple[Scalar, ...]:
        return (self.xx, self.xy, self.xz, self.yy, self.yz, self.zz)

    @property
    def rows(self) -> Rows:
        return ((self.xx, self.xy, self.xz), (self.xy, self.yy, self.yz), (self.xz, self.yz, self.zz))

    columns = rows

    def __matmul__(self, v: Vector) -> Vector:
        return Vector(*(dot_product(row, v) for row in self.rows))

    def __add__(self, other: Symmetric) -> Symmetric:
        return Symmetric(*map(add, self.upper, other.upper))

    def __sub__(self, other: Symmetric) -> Symmetric:
        return Symmetric(*map(sub, self.upper, other.upper))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Symmetric) and self.upper == other.upper

    def __hash__(self) -> int:
        return hash(self.upper)

    def __repr__(self) -> str:
        return f"Symmetric{self.upper}"


def outer(a: Vector, b: Vector) -> Matrix:
    """a bᵀ"""
    return Matrix([[mul(x, y) for y in b] for x in a])


def cross_matrix(v: Vector) -> Matrix:
    """The matrix of a ↦ v × a."""
    return Matrix(((0.0, -v.z, v.y), (v.z, 0.0, -v.x), (-v.y, v.x, 0.0)))


def plane_turn(c: Scalar, s: Scalar, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    return sub(mul(c, x), mul(s, y)), add(mul(s, x), mul(c, y))


def turn_z(angle: Scalar) -> Rotation:
    s, c = snapped_pair(sin(angle), cos(angle))
    return Rotation(((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0)))


def turn_x(angle: Scalar) -> Rotation:
    s, c = snapped_pair(sin(angle), cos(angle))
    return Rotation(((1.0, 0.0, 0.0), (0.0, c, -s), (0.0, s, c)))


def snapped_pair(s: Scalar, c: Scalar) -> tuple[Scalar, Scalar]:
    """Sine and cosine, both snapped or neither: with one of them snapped alone the rotation would not be orthogonal."""
    near = snap(s), snap(c)
    quarter = type(s) is float and type(c) is float and abs(near[0]) + abs(near[1]) == 1.0
    return near if quarter else (s, c)


def snap(x: Scalar) -> Scalar:
    """A constant within 1e-12 of 0, 1 or -1 becomes that number, so that it costs nothing."""
    if type(x) is float:
        nearest = round(x) if math.isfinite(x) else 0
        if abs(x - nearest) < SNAP and abs(nearest) <= 1:
            return float(nearest)
    return x
