"""Forward kinematics: poses, twists and Jacobians. β is the parent of link i, q_i its joint.

    A_i = A_β A_i(q_i)                               (1)   pose of link i in the base: placement in β, then the joint
    t_i = B_iβ t_β + p_i q̇_i                         (2)   twist of link i, in its own frame [Saha JAM, (12)]
    J   = [..., [e_j ; e_j × (P - O_j)], ...]         (3)   revolute joint j on the way from the base to the link
          [..., [0 ; e_j], ...]                            prismatic [Saha JAM, (13), (15)]
    J̇   = [..., [ė_j ; ė_j × (P - O_j) + e_j × (Ṗ - Ȯ_j)], ...],   ė_j = ω_j × e_j           (4)   of (3)

Poses and the Jacobian are in the base frame. J̇ q̇ + J q̈ is the rate of the twist in (3): the angular acceleration and
the acceleration of the point P. In the axes R of a frame on the link the matrix is Rᵀ J, and its rate Rᵀ (J̇ - ω × J).
Six-vectors: angular first. SI units (rad, m, s).
"""

from collections.abc import Sequence
from typing import NamedTuple

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


def jacobian(robot: Robot, q: Scalars, index: int, point: Vector, axes: Rotation | None = None) -> list[list[Scalar]]:
    """6 × n: from joint rates to the twist of link `index` at `point` of it, in the base frame.

    With `axes`, those of a frame in the link, components along them.
    """
    frames = poses(robot, q)
    target = frames[index].point(point)
    columns = {}
    for j in robot.ancestors(index):
        axis, pose = robot.links[j].joint.axis, frames[j]
        turning = pose.rotation @ axis.angular
        sliding = pose.rotation @ axis.linear
        columns[j] = Twist(turning, sliding + cross(turning, target - pose.translation))  # (3)
    return rows_of(columns, robot.n, None if axes is None else frames[index].axes.then(axes))


def rows_of(columns: dict[int, Twist], count: int, axes: Rotation | None) -> list[list[Scalar]]:
    """The matrix of these columns, and of zeros, with components along the axes."""
    turned = {j: column if axes is None else turned_back(axes, column) for j, column in columns.items()}
    return [list(row) for row in zip(*(turned.get(j, Twist.zero()) for j in range(count)), strict=True)]


def turned_back(axes: Rotation, twist: Twist) -> Twist:
    return Twist(axes.T @ twist.angular, axes.T @ twist.linear)


class LinkInBase(NamedTuple):
    """The pose of a link, its angular velocity and the velocity of its origin, in the base frame."""

    pose: Placement
    angular: Vector
    velocity: Vector


def moving_poses(robot: Robot, q: Scalars, qd: Scalars) -> list[LinkInBase]:
    def step(link: Link, parent: LinkInBase, q: Scalar, qd: Scalar) -> LinkInBase:
        pose, axis = parent.pose.then(link.pose(q)), link.joint.axis
        carried = parent.velocity + cross(parent.angular, pose.translation - parent.pose.translation)
        turning, sliding = (pose.rotation @ part * qd for part in (axis.angular, axis.linear))
        return LinkInBase(pose, parent.angular + turning, carried + sliding)

    return outward(robot, step, LinkInBase(Placement.identity(), Vector.zero(), Vector.zero()), q, qd)


def jacobian_rate(
    robot: Robot, q: Scalars, qd: Scalars, index: int, point: Vector, axes: Rotation | None = None
) -> list[list[Scalar]]:
    """The rate of `jacobian`, 6 × n. The axes of a ball joint turn with its body."""
    links = moving_poses(robot, q, qd)
    body = links[index]
    lever = body.pose.rotation @ point
    target, velocity = body.pose.translation + lever, body.velocity + cross(body.angular, lever)
    columns = {}
    for j in robot.ancestors(index):
        axis, pose, spin = robot.links[j].joint.axis, links[j].pose, links[robot.carriers[j]].angular
        turning, sliding = pose.rotation @ axis.angular, pose.rotation @ axis.linear
        reach, change = target - pose.translation, velocity - links[j].velocity
        turned = cross(spin, turning)
        rate = Twist(turned, cross(spin, sliding) + cross(turned, reach) + cross(turning, change))  # (4)
        if axes is not None:
            column = Twist(turning, sliding + cross(turning, reach))
            rate = rate - Twist(cross(body.angular, column.angular), cross(body.angular, column.linear))
        columns[j] = rate
    return rows_of(columns, robot.n, None if axes is None else body.pose.axes.then(axes))


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
