"""What the joints forbid, and the wrenches by which they do: [Angeles] (7.50)-(7.55), for trees.

    K t = 0      K T = 0      rank K = 5n                      (7.50), (7.55b)
    w^C = Kᵀ λ                                                 (7.53)

Block row i of K, β being the parent of link i, with A = e× and L = 1 where joint i turns, A = 1 and L = e×
where it slides; O_i stands still in link β:

    K_ii = [A, 0; L (C_i - O_i)× + B, L]      K_iβ = [-A, 0; L (O_i - C_β)× - B, -L]

B = 0 except for screws (not in print), where B = -p 1 with the pitch p. λ from the tips inward, the least that does:
with [n; f] = w_i^C - Σ_k K_kiᵀ λ_k, which is left at link i,

    λ_i = [A (n + (C_i - O_i) × f - Bᵀ f); L f]      and joint i transmits  [Aᵀ λ_n + Bᵀ λ_f; Lᵀ λ_f],  moment about O_i

Base frame; twists and wrenches of the links at their mass centres.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ..robot import Link, Robot, inward
from ..spatial import Matrix, Placement, Scalars, Vector, Wrench, cross, cross_matrix
from ..spatial.dense import Dense, put, times, zeros
from .kinematics import jacobian, poses
from .newton_euler import LinkMotion, inverse_dynamics, link_motions, motion_wrench


class JointConstraint(NamedTuple):
    lever: Vector  # C_i - O_i
    parent_lever: Vector  # O_i - C_β
    A: Matrix
    L: Matrix
    B: Matrix


def joint_constraints(robot: Robot, q: Scalars) -> list[JointConstraint]:
    frames = poses(robot, q)
    constraints = []
    for link, pose in zip(robot.links, frames, strict=True):
        on_base = link.parent < 0
        parent = Placement.identity() if on_base else frames[link.parent]
        parent_centre = Vector.zero() if on_base else parent.point(robot.links[link.parent].com)
        origin = parent.point(link.placement.translation)
        axis = pose.rotation @ Vector(0.0, 0.0, 1.0)
        A, L, B = link.joint.constraint(axis)
        constraints.append(JointConstraint(pose.point(link.com) - origin, origin - parent_centre, A, L, B))
    return constraints


def matrices(robot: Robot, q: Scalars) -> tuple[Dense, Dense]:
    """K (6n × 6n) and T (6n × n)."""
    n = robot.n
    K, T = zeros(6 * n, 6 * n), zeros(6 * n, n)
    for link, joint in zip(robot.links, joint_constraints(robot, q), strict=True):
        row, column = 6 * link.index, 6 * link.parent
        put(K, dense(joint.A), row, row)
        put(K, dense(joint.B + joint.L @ cross_matrix(joint.lever)), row + 3, row)
        put(K, dense(joint.L), row + 3, row + 3)
        if link.parent >= 0:
            put(K, times(dense(joint.A), -1.0), row, column)
            put(K, dense(joint.L @ cross_matrix(joint.parent_lever) - joint.B), row + 3, column)
            put(K, times(dense(joint.L), -1.0), row + 3, column + 3)
        put(T, jacobian(robot, q, link.index, link.com), row, 0)
    return K, T


def dense(m: Matrix) -> Dense:
    return [list(row) for row in m.rows]


def multipliers(robot: Robot, q: Scalars, constraint: Sequence[Wrench]) -> list[Wrench]:
    """λ, by blocks, of w^C = Kᵀ λ."""

    def step(link: Link, reactions: Wrench, joint: JointConstraint, w: Wrench) -> tuple[Wrench, Wrench]:
        left = w + reactions
        moment = left.moment + cross(joint.lever, left.force) - joint.B.T @ left.force
        multiplier = Wrench(joint.A @ moment, joint.L @ left.force)
        return multiplier, joint_wrench(joint, multiplier).acting_at(joint.parent_lever)  # passed: - K_iβᵀ λ_i

    return inward(robot, step, Wrench.zero(), joint_constraints(robot, q), constraint)


def joint_wrench(joint: JointConstraint, multiplier: Wrench) -> Wrench:
    """[Aᵀ λ_n + Bᵀ λ_f; Lᵀ λ_f]: what the joint transmits and its drive does not."""
    moment = joint.B.T @ multiplier.force + joint.A.T @ multiplier.moment
    return Wrench(moment, joint.L.T @ multiplier.force)


def constraint_wrenches(
    robot: Robot, q: Scalars, qd: Scalars, qdd: Scalars, external: Sequence[Wrench], base: LinkMotion | None = None
) -> list[Wrench]:
    """What each joint transmits and its drive does not, from λ; moment about the joint, in the base frame."""
    joints = joint_constraints(robot, q)
    tau = inverse_dynamics(robot.without_rotors(), q, qd, qdd, external, base)
    needed = link_wrenches(robot, q, qd, qdd, external, base)  # M ṫ + W M t - w^G - w^D, at the mass centres
    left = [w - active for w, active in zip(needed, drive_wrenches(robot, q, joints, tau), strict=True)]
    return list(map(joint_wrench, joints, multipliers(robot, q, left)))


def drive_wrenches(robot: Robot, q: Scalars, joints: Sequence[JointConstraint], tau: Scalars) -> list[Wrench]:
    """w^A: the wrench of the drives on each link, with the reactions of its children's drives; at the mass centres."""
    active = [Wrench.zero()] * robot.n
    for link, joint, tau_i, pose in zip(robot.links, joints, tau, poses(robot, q), strict=True):
        drive, i = link.joint.drive(tau_i), link.index
        moment, force = pose.rotation @ drive.moment, pose.rotation @ drive.force  # at O_i
        active[i] = active[i] + Wrench(moment - cross(joint.lever, force), force)
        if link.parent >= 0:
            reaction = Wrench(moment + cross(joint.parent_lever, force), force)
            active[link.parent] = active[link.parent] - reaction
    return active


def link_wrenches(
    robot: Robot, q: Scalars, qd: Scalars, qdd: Scalars, external: Sequence[Wrench], base: LinkMotion | None = None
) -> list[Wrench]:
    """The wrench that the motion of each link itself requires, at its mass centre, in the base frame."""
    frames = poses(robot, q)
    wrenches = []
    for link, motion, w, pose in zip(robot.links, link_motions(robot, q, qd, qdd, base), external, frames, strict=True):
        alone = motion_wrench(link, motion, w)
        wrenches.append(Wrench(pose.rotation @ alone.moment, pose.rotation @ alone.force))
    return wrenches
