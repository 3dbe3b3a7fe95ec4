"""First derivatives of inverse dynamics in closed form, for trees, on the regrouped robot; Carpentier and Mansard
(2018), Singh, Russell and Wensing (2022), here in the links' own frames.

To turn joint j alone is to turn all that it carries, which changes no torque there, and to turn its parent back. With
ṡ, s̈, M̃, K, X and w̃ of `subtrees`, s = (z, d), and i carried by j:

    ∂τ_i/∂q̇_j = s_i · (K_i z_j + 2 M̃_i ṡ_j)                    (1)   also for j = i
    ∂τ_i/∂q_j = s_i · (K_i ż_j + M̃_i s̈_j + X_i z_j)            (2)   also for j = i
    ∂τ_j/∂q̇_i = s_j · (K_i z_i + 2 M̃_i ṡ_i)                    (3)
    ∂τ_j/∂q_i = s_j · (K_i ż_i + M̃_i s̈_i + X_i z_i + s_i × w̃_i)   (4)
    ∂τ_i/∂q̈_j = s_j · M̃_i s_i                                  (5)   the inertia matrix, with rotors on its diagonal

What these have of link i goes inward: g = M̃_i s_i, the vectors k = K_iᵀ s_i and X_iᵀ s_i, and the wrenches in (3), (4).
On the way k gains 2u × f, f the force of g, since the origins move. (1) and (2) hold for each two axes of one joint; if
that turns them, 2 ṡ is ṡ of the body before plus that of its own body. Velocities that several links share, of coupled
joints, have one column, the sum of theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..robot import Link, Robot, inward
from ..spatial import Placement, Scalar, Scalars, Vector, Wrench, add, cross, cross_wrench, dot, power
from ..spatial.dense import Dense, zeros
from .fewest import TensorMotion
from .subtrees import Along, Load, Subtree, subtree_dynamics


class Column(NamedTuple):
    """What one velocity does to the subtrees that it moves, seen at a link on the way to the base."""

    momentum: Wrench  # g
    turning: Vector  # k
    outside: Vector  # Xᵀ s
    by_q: Wrench
    by_qd: Wrench

    def __add__(self, other: Column) -> Column:  # type: ignore[override]
        pairs: Iterable[tuple[Any, Any]] = zip(self, other, strict=True)
        return Column(*(a + b for a, b in pairs))

    def to_parent(self, pose: Placement, twice_u: Vector) -> Column:
        momentum, turn = self.momentum.to_parent(pose), pose.rotation
        turning = turn @ self.turning + cross(twice_u, momentum.force)
        by_q, by_qd = self.by_q.to_parent(pose), self.by_qd.to_parent(pose)
        return Column(momentum, turning, turn @ self.outside, by_q, by_qd)


class Columns(dict[int, Column]):
    """By velocity."""

    def __add__(self, other: Columns) -> Columns:
        return Columns({v: self[v] + other[v] if v in self and v in other else (self | other)[v] for v in self | other})


class Entry(NamedTuple):
    """A part of ∂τ_row / ∂q, q̇, q̈ of column."""

    row: int
    column: int
    by_q: Scalar
    by_qd: Scalar
    by_qdd: Scalar


def read(
    link: Link, carried: Columns, axes: Sequence[Along], tree: Subtree, motion: TensorMotion, twice_u: Vector
) -> tuple[list[Entry], Columns]:
    entries = [entry for v, column in carried.items() for s in axes for entry in between(s, v, column)]
    own = Columns()
    for s in axes:
        z, inertia = s.axis.twist.angular, tree.inertia
        by_qd = tree.coriolis @ z + inertia @ s.both  # (3)
        by_q = tree.coriolis @ s.rate.angular + inertia @ s.second + tree.outside @ z  # (4)
        momentum = inertia @ s.axis.twist
        for other in axes:
            t, rotor = other.axis.twist, s.axis.rotor if other is s else 0.0
            entries.append(
                Entry(other.axis.v, s.axis.v, power(t, by_q), power(t, by_qd), add(power(t, momentum), rotor))
            )
        turned = by_q + cross_wrench(s.axis.twist, tree.wrench)
        own[s.axis.v] = Column(
            momentum, tree.coriolis.power(s.axis.twist), tree.outside.power(s.axis.twist), turned, by_qd
        )
    total = carried + own
    return entries, Columns({v: column.to_parent(motion.pose, twice_u) for v, column in total.items()})


def between(s: Along, v: int, column: Column) -> Iterable[Entry]:
    """The entries of an axis and of a velocity of the joints that it carries."""
    t, g, k = s.axis.twist, column.momentum, column.turning
    inertia = power(t, g)  # (5)
    yield Entry(s.axis.v, v, power(t, column.by_q), power(t, column.by_qd), inertia)
    by_q = add(add(dot(k, s.rate.angular), power(s.second, g)), dot(column.outside, t.angular))  # (2)
    yield Entry(v, s.axis.v, by_q, add(dot(k, t.angular), power(s.both, g)), inertia)  # (1)


def inverse_dynamics_derivatives(
    robot: Robot, q: Scalars, qd: Scalars, qdd: Scalars, loads: Sequence[Load]
) -> tuple[Dense, Dense, Dense]:
    """∂τ/∂q, ∂τ/∂q̇ and ∂τ/∂q̈: by the robot's velocities; q, q̇, q̈ and the loads are those of its links."""
    motions, velocities, subtrees, along = subtree_dynamics(robot, q, qd, qdd, loads)
    matrices = tuple(zeros(robot.n, robot.n) for _ in range(3))
    for entries in inward(robot.uncoupled, read, Columns(), along, subtrees, motions, velocities):
        for row, column, *values in entries:
            for matrix, value in zip(matrices, values, strict=True):
                matrix[row][column] = add(matrix[row][column], value)
    by_q, by_qd, by_qdd = matrices
    return by_q, by_qd, by_qdd
