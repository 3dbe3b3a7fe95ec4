"""Forward kinematics: poses, twists and Jacobians. β is the parent of link i, q_i its joint.

    A_i = A_β A_i(q_i)                               (1)   pose of link i in the base: placement in β, then the joint
    t_i = B_iβ t_β + p_i q̇_i                         (2)   twist of link i, in its own frame [Saha JAM, (12)]
    J   = [..., [e_j ; e_j × (P - O_j)], ...]         (3)   revolute joint j on the way from the base to the link
          [..., [0 ; e_j], ...]                            prismatic [Saha JAM, (13), (15)]

Poses and the Jacobian are in the base frame. Six-vectors: angular first. SI units (rad, m, s).
"""

from collections.abc import Sequence

from ..robot import Link, Robot, outward
from ..spatial import Placement, Rotation, Scalar, Scalars, Twist, Vector, Wrench, cross


def poses(robot: Robot, q: Scalars) -> list[Placement]:
    """Where the joint-aligned frame of each link is, in the base."""
    return outward(robot, lambda link, base, q: base.then(link.pose(q)), Placement.identity(), q)  # (1)


def twists(robot: Robot, q: Scalars, qd: Scalars, base: Twist | None = None) -> list[Twist]:
    """Each link's twist, in its own frame, at its origin."""

    def step(link: Link, parent: Twist, q: Scalar, qd: Scalar) -> Twist:
        twist: Twist = parent.to_child(link.pose(q)) + link.joint.axis * qd  # (2)
        return twist

    return outward(robot, step, base or Twist.zero(), q, qd)


def jacobian(robot: Robot, q: Scalars, index: int, point: Vector) -> list[list[Scalar]]:
    """6 × n: from joint rates to the twist of link `index` at `point` of it, in the base frame."""
    frames = poses(robot, q)
    target = frames[index].point(point)
    columns = [[0.0] * 6 for _ in robot.links]
    for j in robot.ancestors(index):
        axis, pose = robot.links[j].joint.axis, frames[j]
        turning = pose.rotation @ axis.angular
        sliding = pose.rotation @ axis.linear
        columns[j] = [*turning, *(sliding + cross(turning, target - pose.translation))]  # (3)
    return [list(row) for row in zip(*columns, strict=True)]


def in_link_frames(robot: Robot, q: Scalars, wrenches: Sequence[Wrench]) -> list[Wrench]:
    """Wrenches with components in the base frame, turned into the frames of their links."""
    turns = outward(robot, lambda link, base, q: base.then(link.pose(q).axes), Rotation.identity(), q)
    return [Wrench(turn.T @ w.moment, turn.T @ w.force) for turn, w in zip(turns, wrenches, strict=True)]


def in_joint_frames(robot: Robot, q: Scalars, wrenches: Sequence[Wrench]) -> list[Wrench]:
    """Wrenches at the origins of the links, moved to the joint frames, which stand still in the parent links."""
    moves = zip(robot.links, q, wrenches, strict=True)
    return [wrench.to_parent(link.joint.motion(q_i)) for link, q_i, wrench in moves]


def in_base_frame(robot: Robot, q: Scalars, wrenches: Sequence[Wrench]) -> list[Wrench]:
    """Wrenches at the joint frames, turned into the base frame; moments stay about the joints."""
    links = poses(robot, q)
    turned = []
    for link, wrench in zip(robot.links, wrenches, strict=True):
        parent = links[link.parent].axes if link.parent >= 0 else Rotation.identity()
        turn = parent.then(link.placement.axes)
        turned.append(Wrench(turn @ wrench.moment, turn @ wrench.force))
    return turned
