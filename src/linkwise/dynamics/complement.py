"""The natural orthogonal complement, [Angeles] section 7.5, for trees.

    t = T θ̇                                         (7.54)           T_ij = B_ij p_j, j on the way from i to the base
    M ṫ + W M t = w^A + w^G + w^D + w^C              (7.48)           w^C does no work: Tᵀ w^C = 0
    ṫ = T θ̈ + Ṫ θ̇                                   (7.56)
    Tᵀ M T θ̈ + Tᵀ (M Ṫ + W M T) θ̇ = τ + Tᵀ w^G       (7.57), (7.58)   I = Tᵀ M T

Link i: in its own frame about O_i, Ṫ seen from there. What the joints forbid, K T = 0, is in `constraints`.
"""

from collections.abc import Sequence

from ..robot import Link, Robot, outward
from ..spatial import Scalar, Scalars, Twist, Vector, Wrench, add, cross_twist, cross_wrench, mul, power, sub
from ..spatial.dense import Dense, cholesky_solve, zeros
from .kinematics import poses
from .newton_euler import LinkMotion, base_twists

Columns = list[dict[int, Twist]]


def complement(robot: Robot, q: Scalars) -> Columns:
    """T_ij for each link i and each joint j between it and the base."""

    def step(link: Link, above: dict[int, Twist], q: Scalar) -> dict[int, Twist]:
        pose = link.pose(q)
        return {**{j: t.to_child(pose) for j, t in above.items()}, link.index: link.joint.axis}

    return outward(robot, step, {}, q)


def complement_rate(robot: Robot, q: Scalars, qd: Scalars, columns: Columns) -> Columns:
    """Ṫ_ij in the axes of link i, whose joint moves it relative to its parent."""

    def step(link: Link, above: dict[int, Twist], q: Scalar, qd: Scalar, own: dict[int, Twist]) -> dict[int, Twist]:
        pose, moved = link.pose(q), link.joint.axis * qd
        rates = {j: t.to_child(pose) - cross_twist(moved, own[j]) for j, t in above.items()}
        return {**rates, link.index: Twist.zero()}

    return outward(robot, step, {}, q, qd, columns)


def carried_by_base(robot: Robot, q: Scalars, qd: Scalars, base: LinkMotion | None) -> list[tuple[Twist, Twist]]:
    """What the motion of the base adds to t and ṫ: one more column, for a joint that moves as the base does."""

    def step(link: Link, above: tuple[Twist, Twist], q: Scalar, qd: Scalar) -> tuple[Twist, Twist]:
        pose, (twist, rate) = link.pose(q), above
        moved = twist.to_child(pose)
        return moved, rate.to_child(pose) - cross_twist(link.joint.axis * qd, moved)

    return outward(robot, step, base_twists(base), q, qd)


def combine(columns: dict[int, Twist], values: Scalars) -> Twist:
    total = Twist.zero()
    for j, column in columns.items():
        total = total + column * values[j]
    return total


def inverse_dynamics(
    robot: Robot, q: Scalars, qd: Scalars, qdd: Scalars, external: Sequence[Wrench], base: LinkMotion | None = None
) -> list[Scalar]:
    T = complement(robot, q)
    T_dot = complement_rate(robot, q, qd, T)
    lift = [Twist(Vector.zero(), turn.T @ -Vector.of(robot.gravity)) for turn in (p.rotation for p in poses(robot, q))]
    tau = [mul(link.joint.rotor_inertia, qdd_i) for link, qdd_i in zip(robot.links, qdd, strict=True)]
    moving = carried_by_base(robot, q, qd, base)
    for link, w, (twist, rate) in zip(robot.links, external, moving, strict=True):
        i, body = link.index, link.body
        t = combine(T[i], qd) + twist
        t_dot = combine(T[i], qdd) + combine(T_dot[i], qd) + rate  # (7.56)
        outside = w.acting_at(link.com)
        wrench = body @ (t_dot + lift[i]) + cross_wrench(t, body @ t) - outside  # (7.48), gravity as a lift
        for j, column in T[i].items():
            tau[j] = add(tau[j], power(column, wrench))  # (7.57)
    return tau


def inertia_matrix(robot: Robot, q: Scalars) -> Dense:
    matrix = zeros(robot.n, robot.n)
    for link, columns in zip(robot.links, complement(robot, q), strict=True):
        matrix[link.index][link.index] = add(matrix[link.index][link.index], link.joint.rotor_inertia)
        for j, column in columns.items():
            wrench = link.body @ column
            for k, other in columns.items():
                if k <= j:
                    matrix[j][k] = matrix[k][j] = add(matrix[j][k], power(other, wrench))  # (7.58)
    return matrix


def forward_dynamics(
    robot: Robot, q: Scalars, qd: Scalars, tau: Scalars, external: Sequence[Wrench], base: LinkMotion | None = None
) -> list[Scalar]:
    """Inertia matrix and bias from the complement, then Cholesky, as Angeles and Ma (1988)."""
    bias = inverse_dynamics(robot, q, qd, [0.0] * robot.n, external, base)
    phi = [sub(tau_i, bias_i) for tau_i, bias_i in zip(tau, bias, strict=True)]
    return cholesky_solve(inertia_matrix(robot, q), phi)
