"""Inertias: the linear maps from a twist to a wrench, both at the origin of one frame.

    rigid         n = J ω + h × v          articulated   n = J ω + H v
                  f = m v - h × ω                        f = Hᵀ ω + M v

with h = m c the first moment and J the inertia tensor about the origin (not the mass centre).
"""

from __future__ import annotations

from .matrix import Matrix, Symmetric, cross_matrix, outer
from .placement import Placement
from .scalar import Scalar, add, dot_product, mul, sub
from .twist_wrench import Twist, Wrench
from .vector import Vector, cross


class RigidInertia:
    """Mass, first moment and inertia tensor about the origin: ten numbers that add up."""

    __slots__ = ("mass", "moment", "tensor")

    def __init__(self, mass: Scalar, moment: Vector, tensor: Symmetric) -> None:
        self.mass, self.moment, self.tensor = mass, moment, tensor

    @staticmethod
    def zero() -> RigidInertia:
        return RigidInertia(0.0, Vector.zero(), Symmetric.zero())

    @staticmethod
    def of_body(mass: Scalar, centre: Vector, inertia: Symmetric) -> RigidInertia:
        """From the mass, the mass centre, and the inertia tensor about the mass centre."""
        return RigidInertia(mass, centre * mass, inertia + steiner(centre, centre * mass))

    def pseudo(self) -> Symmetric:
        """½ tr(J) 1 - J: the second moments of the mass."""
        J = self.tensor
        half = mul(0.5, add(add(J.xx, J.yy), J.zz))
        return Symmetric.diagonal(half) - J

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RigidInertia) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"RigidInertia({self.mass!r}, {self.moment!r}, {self.tensor!r})"

    def _key(self) -> tuple[Scalar, ...]:
        return (self.mass, *self.moment, *self.tensor.upper)

    def __add__(self, other: RigidInertia) -> RigidInertia:
        return RigidInertia(add(self.mass, other.mass), self.moment + other.moment, self.tensor + other.tensor)

    def __matmul__(self, t: Twist) -> Wrench:
        return Wrench(
            self.tensor @ t.angular + cross(self.moment, t.linear), t.linear * self.mass - cross(self.moment, t.angular)
        )

    def to_parent(self, pose: Placement) -> RigidInertia:
        p = pose.translation
        moment = pose.rotation @ self.moment
        shifted = moment + p * self.mass
        tensor = pose.rotation.turned(self.tensor) + two_point_steiner(p, moment, shifted)
        return RigidInertia(self.mass, shifted, tensor)


class ArticulatedInertia:
    """The inertia that a link shows when the joints beyond it are free to move."""

    __slots__ = ("angular", "coupling", "linear")

    def __init__(self, angular: Symmetric, coupling: Matrix, linear: Symmetric) -> None:
        self.angular, self.coupling, self.linear = angular, coupling, linear

    @staticmethod
    def zero() -> ArticulatedInertia:
        return ArticulatedInertia(Symmetric.zero(), Matrix.zero(), Symmetric.zero())

    @staticmethod
    def of_rigid(body: RigidInertia) -> ArticulatedInertia:
        return ArticulatedInertia(body.tensor, cross_matrix(body.moment), Symmetric.diagonal(body.mass))

    def __repr__(self) -> str:
        return f"ArticulatedInertia({self.angular!r}, {self.coupling!r}, {self.linear!r})"

    def __add__(self, other: ArticulatedInertia) -> ArticulatedInertia:
        return ArticulatedInertia(
            self.angular + other.angular, self.coupling + other.coupling, self.linear + other.linear
        )

    def __matmul__(self, t: Twist) -> Wrench:
        return Wrench(
            self.angular @ t.angular + self.coupling @ t.linear, self.coupling.T @ t.angular + self.linear @ t.linear
        )

    def less(self, a: Wrench, b: Wrench) -> ArticulatedInertia:
        """This inertia minus the dyad a bᵀ, where b is a multiple of a."""
        return ArticulatedInertia(
            self.angular - symmetric_outer(a.moment, b.moment),
            self.coupling - outer(a.moment, b.force),
            self.linear - symmetric_outer(a.force, b.force),
        )

    def less_both(self, a: Wrench, b: Wrench) -> ArticulatedInertia:
        """This inertia minus a bᵀ + b aᵀ."""
        return ArticulatedInertia(
            self.angular - twice_symmetric(outer(a.moment, b.moment)),
            self.coupling - outer(a.moment, b.force) - outer(b.moment, a.force),
            self.linear - twice_symmetric(outer(a.force, b.force)),
        )

    def carried(self, v: Twist) -> ArticulatedInertia:
        """v × I + (v × I)ᵀ: the rate of an inertia that is carried along by the motion v."""
        w, u = cross_matrix(v.angular), cross_matrix(v.linear)
        h = self.coupling
        return ArticulatedInertia(
            twice_symmetric(w @ self.angular + u @ h.T),
            w @ h + u @ self.linear + (w @ h.T).T,
            twice_symmetric(w @ self.linear),
        )

    def to_parent(self, pose: Placement) -> ArticulatedInertia:
        turned, lever = pose.rotation.turned, cross_matrix(pose.translation)
        angular, coupling, linear = turned(self.angular), turned(self.coupling), turned(self.linear)
        shifted = coupling + lever @ linear
        full = Symmetric.from_upper(
            lambda i, j: sub(
                dot_product(lever.rows[i], coupling.rows[j]), dot_product(shifted.rows[i], lever.columns[j])
            )
        )
        return ArticulatedInertia(angular + full, shifted, linear)


def symmetric_outer(a: Vector, b: Vector) -> Symmetric:
    """a bᵀ where that is symmetric: b a multiple of a."""
    rows, columns = tuple(a), tuple(b)
    return Symmetric.from_upper(lambda i, j: mul(rows[i], columns[j]))


def twice_symmetric(m: Matrix) -> Symmetric:
    """M + Mᵀ"""
    return Symmetric.from_upper(lambda i, j: add(m.rows[i][j], m.rows[j][i]))


def steiner(p: Vector, h: Vector) -> Symmetric:
    """(p·h) 1 - p hᵀ for parallel p and h: the parallel-axis term."""
    x, y, z = (mul(a, b) for a, b in zip(p, h, strict=True))
    return Symmetric(
        add(y, z), sub(0.0, mul(p.x, h.y)), sub(0.0, mul(p.x, h.z)), add(x, z), sub(0.0, mul(p.y, h.z)), add(x, y)
    )


def two_point_steiner(p: Vector, h: Vector, shifted: Vector) -> Symmetric:
    """What a tensor gains when its origin moves back by p: 2 (p·h) 1 - p hᵀ - h pᵀ + m ((p·p) 1 - p pᵀ).

    `shifted` is h + m p.
    """
    both = h + shifted
    x, y, z = (mul(a, b) for a, b in zip(p, both, strict=True))

    def product(a: Scalar, b_shifted: Scalar, b: Scalar, h_a: Scalar) -> Scalar:
        return sub(0.0, add(mul(a, b_shifted), mul(h_a, b)))

    return Symmetric(
        add(y, z),
        product(p.x, shifted.y, p.y, h.x),
        product(p.x, shifted.z, p.z, h.x),
        add(x, z),
        product(p.y, shifted.z, p.z, h.y),
        add(x, y),
    )
