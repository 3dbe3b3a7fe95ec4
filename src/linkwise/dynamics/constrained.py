"""Robots with frames that are held, or move as prescribed: Gauss's principle by the factors of the inertia matrix.

    I = U D Uᵀ      ν = D^½ Uᵀ q̇      kinetic energy ½ ν·ν                             [Kozłowski (28)]
    K q̇ = v                           velocities of the frames: K has rows of their Jacobians
    W = K U⁻ᵀ D^-½                    row by row, an elimination along the path from the frame to the base    (1)
    S = W Wᵀ = K I⁻¹ Kᵀ               Λ = S⁻¹, the inertia of the task [Lilly and Orin]                       (2)

If the frames have the accelerations a, the motion is the nearest one to the motion without constraints, in the metric
of the kinetic energy (Gauss). In ν̇ = D^½ Uᵀ q̈ this is an orthogonal projection:

    I q̈ = φ + Kᵀ λ      K q̈ + K̇ q̇ = a      φ = τ - bias      ν̇_free = D^-½ U⁻¹ φ                           (3)
    λ = S⁺ (a - K̇ q̇ - W ν̇_free)
    ν̇ = ν̇_free + Wᵀ λ = ν̇_free + W⁺ (a - K̇ q̇ - W ν̇_free)                                                   (4)

λ are the forces of the constraints. After an impact that leaves the frames with the velocities v, λ being impulses:

    λ = S⁺ (v - K q̇)     ν⁺ = ν + Wᵀ λ = ν + W⁺ (v - W ν)                                                    (5)

Operational space [Khatib]. Under the torques τ = Kᵀ F the frame has the acceleration a if

    F = Λ a + μ         μ = Λ (K I⁻¹ bias - K̇ q̇)                                                             (6)
    K̄ = I⁻¹ Kᵀ Λ        inverse of K with the least kinetic energy; K̄ᵀ τ is the force that τ exerts           (7)
    N = 1 - K̄ K         torques Nᵀ τ do not accelerate the frame                                              (8)

S⁺ and the rank are those of `rank`. Roots of D cancel: kept are X = W D^½ = K U⁻ᵀ and X D⁻¹.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..robot import Robot
from ..spatial import Scalars, Vector, add, sub
from ..spatial.dense import UDU, Column, Dense, apply, identity, minus, product, transposed
from . import fewest, kinematics
from .rank import Gram, weighted


class Seat(NamedTuple):
    """A frame on a link, and which of its six velocities are constrained."""

    link: int
    origin: Vector  # of the frame, in the link
    rows: slice


class Constrained(NamedTuple):
    """The inertia matrix and the rows K of the constraints, factored."""

    factors: UDU
    jacobian: Dense  # K
    rows: Dense  # X
    shares: Dense  # X D⁻¹
    gram: Gram  # S

    @staticmethod
    def of(inertia: Dense, jacobian: Dense) -> Constrained:
        factors = UDU.of(inertia)
        rows = [factors.eliminate(row) for row in jacobian]  # (1)
        shares = [weighted(row, factors.inverse) for row in rows]
        return Constrained(factors, jacobian, rows, shares, Gram.of(product(shares, transposed(rows))))  # (2)

    def accelerations(self, phi: Column, rates: Column) -> tuple[Column, Column]:
        """q̈ and λ; `rates` are a - K̇ q̇."""
        free = self.factors.eliminate(phi)
        multipliers = self.gram.solve(differences(rates, apply(self.shares, free)))
        return self.factors.substitute(sums(free, self.pulled(multipliers))), multipliers  # (4)

    def velocities(self, qd: Column, velocities: Column) -> tuple[Column, Column]:
        """q̇ after an impact, and the impulses; `velocities` are v."""
        impulses = self.gram.solve(differences(velocities, apply(self.jacobian, qd)))
        return sums(qd, self.factors.substitute(self.pulled(impulses))), impulses  # (5)

    def pulled(self, multipliers: Column) -> Column:
        """Xᵀ λ = U⁻¹ Kᵀ λ"""
        return apply(transposed(self.rows), multipliers)

    def task_bias(self, inertia: Dense, bias: Column, rates: Column) -> Column:
        """μ of the bias torques; `inertia` is Λ, `rates` are -K̇ q̇."""
        return apply(inertia, sums(apply(self.shares, self.factors.eliminate(bias)), rates))  # (6)

    def task_inverse(self, inertia: Dense) -> Dense:
        """K̄ of Λ, n × m."""
        columns = [self.factors.substitute(row) for row in self.rows]  # I⁻¹ Kᵀ
        return product(transposed(columns), inertia)  # (7)

    def task_projection(self, inverse: Dense) -> Dense:
        """N of K̄."""
        return minus(identity(len(inverse)), product(inverse, self.jacobian))  # (8)


def jacobians(robot: Robot, q: Scalars, seats: Sequence[Seat]) -> Dense:
    """K, in the axes of the base, for the rates of the links."""
    return [row for seat in seats for row in kinematics.jacobian(robot, q, seat.link, seat.origin)[seat.rows]]


def frame_rates(robot: Robot, q: Scalars, qd: Scalars, qdd: Scalars, seats: Sequence[Seat]) -> Column:
    """K q̈ + K̇ q̇: the accelerations of the frames, in the axes of the base."""
    motions, poses, rates = fewest.link_motions(robot, q, qd, qdd), kinematics.poses(robot, q), []
    for seat in seats:
        motion, turn = motions[seat.link], poses[seat.link].rotation
        angular = turn @ motion.omega_dot
        linear = turn @ (motion.acceleration + motion.tensor @ seat.origin) + Vector.of(robot.gravity)  # not lifted
        rates += [*angular, *linear][seat.rows]
    return rates


def sums(a: Column, b: Column) -> Column:
    return [add(x, y) for x, y in zip(a, b, strict=True)]


def differences(a: Column, b: Column) -> Column:
    return [sub(x, y) for x, y in zip(a, b, strict=True)]
