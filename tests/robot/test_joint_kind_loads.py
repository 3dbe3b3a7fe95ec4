"""Loads, poses and Jacobians of robots with joints of every kind and with coupled joints."""

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from joint_kinds import ARM, COUPLED, EVERY, TREE, slopes, states
from linkwise.robot.kinds import KINDS
from robots import ids, relative, with_drives

over_every = pytest.mark.parametrize("robot", rest_slow(EVERY, [TREE, COUPLED]), ids=ids(EVERY))


def joint_frames(robot: lw.Robot, q: np.ndarray) -> np.ndarray:
    """The joint frame of each row that moves, in the base, from the table: (..., joints, 4, 4). For rows of frames."""
    poses = dict(zip(robot.names, np.moveaxis(lw.poses(robot, q), -3, 0), strict=True))
    frames = []
    for row in robot.rows:
        own = np.eye(4)
        own[:3, :3], own[:3, 3] = row["rotation"], row["translation"]
        frames.append(poses.get(row["parent"], np.eye(4)) @ own)
    return np.stack(np.broadcast_arrays(*frames), axis=-3)


def table_axes(robot: lw.Robot) -> list[np.ndarray]:
    """The z axis of each joint in its table frame, where it has one."""
    return [np.array(row.get("axis", (0.0, 0.0, 1.0))) for row in robot.rows]


def relative_twists(robot: lw.Robot, q: np.ndarray) -> np.ndarray:
    """How each link moves in its parent at each velocity, at the joint frame's origin, base frame: (n, joints, 6)."""
    step, twists = 1e-6, []
    frames, now = joint_frames(robot, q), lw.poses(robot, q)
    ends = [lw.poses(robot, lw.integrate(robot, q, s * np.eye(robot.n))) for s in (-step, step)]
    for k, row in enumerate(robot.rows):
        parent = robot.names.index(row["parent"]) if row["parent"] in robot.names else None
        before, after = (
            poses[:, k] if parent is None else np.linalg.inv(poses[:, parent]) @ poses[:, k] for poses in ends
        )
        rate = (after - before) / (2 * step) @ np.linalg.inv(0.5 * (before + after))  # of points of the parent
        base = np.eye(4) if parent is None else now[parent]
        rate = base @ rate @ np.linalg.inv(base)  # of points of the base
        spin = np.stack([rate[:, 2, 1], rate[:, 0, 2], rate[:, 1, 0]], axis=-1)
        twists.append(np.concatenate([spin, rate[:, :3, :3] @ frames[k, :3, 3] + rate[:, :3, 3]], axis=-1))
    return np.stack(twists, axis=1)


TREES = [robot for robot in EVERY if robot.convention == "frames"]
over_trees = pytest.mark.parametrize("robot", rest_slow(TREES, [TREE, COUPLED]), ids=ids(TREES))


@over_trees
def test_constraint_wrenches_do_no_work_and_the_drives_do_all_of_it(robot: lw.Robot) -> None:
    robot = with_drives(robot, 4)  # rotors take their part before the joint
    q, qd, qdd, _ = states(robot)
    wrench = np.random.default_rng(1).normal(size=(len(robot.names), 6))
    constraint = lw.constraint_wrenches(robot, q, qd, qdd, wrench)
    total = lw.joint_wrenches(robot, q, qd, qdd, wrench)
    tau = lw.inverse_dynamics(robot.without_rotors(), q, qd, qdd, wrench)
    assert constraint.shape == total.shape == (len(robot.names), 6)
    scale = np.abs(total).max()
    twists = relative_twists(robot, q)
    assert np.abs(np.sum(constraint * twists, axis=-1)).max() < 1e-7 * scale
    assert np.abs(np.sum((total - constraint) * twists, axis=(1, 2)) - tau).max() < 1e-7 * scale


@over_trees
def test_constraint_wrenches_have_the_freedom_of_their_joint(robot: lw.Robot) -> None:
    """In the joint frame: which components a joint cannot transmit, and which are those of the joint's load."""
    q, qd, qdd, _ = states(robot)
    frames, poses = joint_frames(robot, q), lw.poses(robot, q)
    constraint = lw.constraint_wrenches(robot, q, qd, qdd)
    total = lw.joint_wrenches(robot, q, qd, qdd)
    size = np.abs(total).max()
    seen = set()
    for k, (joint, axis) in enumerate(zip(robot.moving, table_axes(robot), strict=True)):
        turn, lever = frames[k, :3, :3], poses[k, :3, 3] - frames[k, :3, 3]
        z = turn @ axis
        moment, force = constraint[k, :3], constraint[k, 3:]
        moment_there = moment - np.cross(lever, force)  # about the link's own origin
        load, push = total[k, :3] - np.cross(lever, total[k, 3:]), total[k, 3:]
        across = np.eye(3) - np.outer(z, z)
        match joint.kind.letter:
            case "R":
                expected = across @ load, push
            case "P":
                expected = load, across @ push
            case "C":
                expected = across @ load, across @ push
            case "E":
                expected = across @ load, np.outer(z, z) @ push
            case "S":
                expected = 0 * load, push
            case "F":
                expected = 0 * load, 0 * push
            case "U":
                x, y = turn[:, 0], poses[k, :3, 1]
                cross = np.cross(x, y)
                expected = cross * (cross @ load) / (cross @ cross), push
            case _ if robot.links[joint.link].joint.turns:
                along = robot.links[joint.link].joint.axis
                pitch = along.linear.z / along.angular.z
                expected = across @ load - pitch * z * (z @ push), push
            case _:
                expected = load, across @ push
        assert np.abs(moment_there - expected[0]).max() < 1e-12 * size, joint.name
        assert np.abs(force - expected[1]).max() < 1e-12 * size, joint.name
        seen.add(joint.kind.letter)
    assert len(seen) >= 6


def test_every_kind_of_joint_is_in_the_tree() -> None:
    assert set(TREE.joints) == {kind.letter for kind in KINDS.values()}


@over_trees
def test_loads_in_joint_frames_are_those_in_the_base_frame(robot: lw.Robot) -> None:
    """z is the axis where the joint has one; otherwise the axes are those of the table's joint frame."""
    q, qd, qdd, _ = states(robot, 2)
    frames = joint_frames(robot, q)[..., :3, :3]
    base, own = (lw.joint_wrenches(robot, q, qd, qdd, axes=axes) for axes in ("base", "frame"))
    tau = lw.inverse_dynamics(robot, q, qd, qdd)
    for k, (joint, axis) in enumerate(zip(robot.moving, table_axes(robot), strict=True)):
        for part in (slice(0, 3), slice(3, 6)):
            turned = np.einsum("sji,sj->si", frames[:, k], base[:, k, part])  # in the table's joint frame
            if joint.kind.axis:
                assert relative(own[:, k, part][:, 2], turned @ axis) < 1e-12
                assert relative(np.linalg.norm(own[:, k, part], axis=1), np.linalg.norm(turned, axis=1)) < 1e-12
            else:
                assert relative(own[:, k, part], turned) < 1e-12
        if not robot.couplings and joint.kind.letter in "RP":
            assert relative(own[:, k, 2 if joint.kind.letter == "R" else 5], tau[:, joint.v.start]) < 1e-12


@over_every
def test_jacobians_are_the_rates_of_poses(robot: lw.Robot) -> None:
    q, qd, qdd, _ = states(robot)
    rates = slopes(robot, lambda x: lw.poses(robot, x), q)  # (joints, 4, 4, n)
    turns = lw.poses(robot, q)[:, :3, :3]
    centres = slopes(robot, lambda x: lw.mass_centres(robot, x, qd, qdd)[0], q)
    for k, name in enumerate(robot.names):
        jacobian = lw.jacobian(robot, q, link=k)
        spin = np.einsum("ijv,kj->ikv", rates[k, :3, :3], turns[k])
        assert relative(jacobian[:3], np.stack([spin[2, 1], spin[0, 2], spin[1, 0]])) < 1e-8
        assert relative(jacobian[3:], rates[k, :3, 3]) < 1e-8
        assert relative(lw.jacobian(robot, q, link=name, point="com")[3:], centres[k]) < 1e-8


@over_every
def test_mass_centres_move_as_their_rates_say(robot: lw.Robot) -> None:
    q, qd, qdd, _ = states(robot)
    positions, velocities, accelerations = lw.mass_centres(robot, q, qd, qdd)
    assert positions.shape == velocities.shape == accelerations.shape == (len(robot.names), 3)
    step = 1e-6
    ends = [lw.mass_centres(robot, lw.integrate(robot, q, s * qd), qd + s * qdd, qdd) for s in (-step, step)]
    assert relative((ends[1][0] - ends[0][0]) / (2 * step), velocities) < 1e-8
    assert relative((ends[1][1] - ends[0][1]) / (2 * step), accelerations) < 1e-8


@pytest.mark.parametrize("robot", rest_slow([ARM, COUPLED], [ARM]), ids=ids([ARM, COUPLED]))
def test_loads_compiled(robot: lw.Robot) -> None:
    motion = states(robot, 3)[:3]
    for function in (lw.constraint_wrenches, lw.joint_wrenches):
        plain = function(robot, *motion)
        with lw.use_kernels("always"):
            assert relative(function(robot, *motion), plain) < 1e-12
