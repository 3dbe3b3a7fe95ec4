"""The curvature of the inertia metric: Riemann symbols of the first kind by Gauss's equation, for trees.

The particles of all links, x √dm, lie in a flat space whose metric is the kinetic energy. The configurations are a
surface in it, with tangents x_i = ∂x/∂q_i and metric I. The normal parts of its second derivatives are its curvature:

    R_ijkl = ⟨x_ik, x_jl⟩ - ⟨x_il, x_jk⟩ - Γ_ik · I⁻¹ Γ_jl + Γ_il · I⁻¹ Γ_jk          (1)   Gauss's equation
    Γ_ik,p = ⟨x_ik, x_p⟩ = ½ (∂I_kp/∂q_i + ∂I_ip/∂q_k - ∂I_ik/∂q_p)                   (2)   Christoffel, first kind

With s_i = (z_i, d_i) the axis of i in the base frame about its origin, r a particle that both i and k carry, and i the
one nearer to the base:

    x_i = z_i × r + d_i                 S_i  = (z_i ×, d_i)                           (3)
    x_ik = z_i × (z_k × r + d_k)        W_ik = (z_i × z_k ×, z_i × d_k)               (4)

Sums over particles need only the frozen body beyond the farther link, mass m, moment h and second moments Π:

    ⟨(A, a), (B, b)⟩ = tr(A (B Π + b hᵀ)ᵀ) + a · (B h + b m)                          (5)

Rotors, √J q, add directions in which second derivatives vanish: they are in I alone. (1) is a tensor, so the three axes
of one joint may be taken in any order: what differs is tangent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from ..robot import Link, Robot, inward
from ..spatial import (
    Matrix,
    Placement,
    RigidInertia,
    Scalar,
    Scalars,
    Twist,
    Vector,
    add,
    cross,
    cross_matrix,
    dot,
    dot_product,
    mul,
    outer,
    sub,
)
from ..spatial.dense import UDU, Dense, zeros
from . import kinematics

Pair = tuple[int, int]


class Field(NamedTuple):
    """A part of x_i or of x_ik: A r + a on all that `link` carries. The moments are those of (5)."""

    link: int
    A: Matrix
    a: Vector
    A_moment: Matrix  # A Π + a hᵀ
    a_moment: Vector  # A h + a m
    weight: float = 1.0


def riemann_symbols(robot: Robot, q: Scalars, inertia: Dense) -> list[list[Dense]]:
    """R_ijkl of the robot's velocities, with `inertia` their inertia matrix; q is of the links."""
    n, factors = robot.n, UDU.of(inertia)
    first, second = fields(robot, q)
    ancestors = [set(robot.ancestors(link)) for link in range(len(robot.links))]
    pairs = [(i, k) for i in range(n) for k in range(i, n)]
    halves = {}  # U⁻¹ Γ
    for pair in pairs:
        symbols = [total(second[pair], first[p], ancestors) for p in range(n)]  # (2)
        halves[pair] = factors.eliminate(symbols)
    products: dict[tuple[Pair, Pair], Scalar] = {}
    for k, one in enumerate(pairs):
        scaled = [mul(x, inverse) for x, inverse in zip(halves[one], factors.inverse, strict=True)]
        for other in pairs[k:]:
            tangent = dot_product(scaled, halves[other])
            normal = sub(total(second[one], second[other], ancestors), tangent)
            products[one, other] = products[other, one] = normal

    def product(i: int, k: int, j: int, l: int) -> Scalar:
        return products[(min(i, k), max(i, k)), (min(j, l), max(j, l))]

    R: list[list[Dense]] = [[zeros(n, n) for _ in range(n)] for _ in range(n)]
    planes = list(combinations(range(n), 2))
    for x, (i, j) in enumerate(planes):
        for k, l in planes[x:]:
            value = sub(product(i, k, j, l), product(i, l, j, k))  # (1)
            negative = sub(0.0, value)
            for (a, b), (c, d) in (((i, j), (k, l)), ((k, l), (i, j))):
                R[a][b][c][d] = R[b][a][d][c] = value
                R[b][a][c][d] = R[a][b][d][c] = negative
    return R


def fields(robot: Robot, q: Scalars) -> tuple[dict[int, list[Field]], dict[Pair, list[Field]]]:
    """The parts of x_i by velocity, and of x_ik by two velocities i <= k."""
    tree = robot.uncoupled
    poses = kinematics.poses(tree, q)
    bodies = inward(tree, composite, RigidInertia.zero(), [link.pose(x) for link, x in zip(tree.links, q, strict=True)])
    first, second = defaultdict[int, list[Field]](list), defaultdict[Pair, list[Field]](list)
    axes: list[list[tuple[int, Twist]]] = []
    for link, pose in zip(tree.links, poses, strict=True):
        body = bodies[link.index].to_parent(pose)
        axes.append([(axis.v, in_base_frame(axis.twist, pose)) for axis in robot.axes[link.index]])
        for k, (v, s) in enumerate(axes[-1]):
            first[v].append(field(link.index, body, cross_matrix(s.angular), s.linear))  # (3)
            before = [pair for index in robot.ancestors(link.parent) for pair in axes[index]]
            for w, t in [*before, *axes[-1][: k + 1]]:
                A, a = cross_matrix(t.angular) @ cross_matrix(s.angular), cross(t.angular, s.linear)  # (4)
                twice = 2.0 if v == w and t is not s else 1.0  # two joints with one velocity, in either order
                second[min(v, w), max(v, w)].append(field(link.index, body, A, a, twice))
    return first, second


def composite(link: Link, beyond: RigidInertia, pose: Placement) -> tuple[RigidInertia, RigidInertia]:
    subtree = link.body + beyond
    return subtree, subtree.to_parent(pose)


def in_base_frame(s: Twist, pose: Placement) -> Twist:
    angular = pose.rotation @ s.angular
    return Twist(angular, pose.rotation @ s.linear + cross(pose.translation, angular))


def field(link: int, body: RigidInertia, A: Matrix, a: Vector, weight: float = 1.0) -> Field:
    h = body.moment
    return Field(link, A, a, A @ body.pseudo() + outer(a, h), A @ h + a * body.mass, weight)


def total(one: Sequence[Field], other: Sequence[Field], ancestors: Sequence[set[int]]) -> Scalar:
    """⟨one, other⟩, (5), over what both carry."""
    result: Scalar = 0.0
    for x in one:
        for y in other:
            near, far = (x, y) if x.link in ancestors[y.link] else (y, x)
            if near.link in ancestors[far.link]:
                turned = [dot_product(*rows) for rows in zip(near.A.rows, far.A_moment.rows, strict=True)]
                product = add(dot(near.a, far.a_moment), dot_product(turned, (1.0, 1.0, 1.0)))
                result = add(result, mul(x.weight * y.weight, product))
    return result
