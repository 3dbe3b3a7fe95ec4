"""6 × 6 matrices A that take twists to twists, given by their columns: six twists."""

from collections.abc import Iterable

from ..spatial import ArticulatedInertia, Matrix, Scalar, Symmetric, Twist, Vector, Wrench, power

Columns = tuple[Twist, ...]


def passed(columns: Columns, x: Iterable[Scalar]) -> Twist:
    """A x"""
    total = Twist.zero()
    for column, scale in zip(columns, x, strict=True):
        total = total + column * scale
    return total


def returned(columns: Columns, w: Wrench) -> Wrench:
    """Aᵀ w"""
    n_x, n_y, n_z, *force = (power(column, w) for column in columns)
    return Wrench(Vector(n_x, n_y, n_z), Vector(*force))


def seen(columns: Columns, inertia: ArticulatedInertia) -> ArticulatedInertia:
    """Aᵀ J A"""
    images = [inertia @ column for column in columns]

    def block(i: int, j: int) -> Scalar:
        return power(columns[i], images[j])

    coupling = Matrix([[block(i, j) for j in (3, 4, 5)] for i in range(3)])
    linear = Symmetric.from_upper(lambda i, j: block(i + 3, j + 3))
    return ArticulatedInertia(Symmetric.from_upper(block), coupling, linear)
