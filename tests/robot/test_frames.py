"""Links, points and frames that functions are asked for."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from facts import raises
from functions import ARM, every_robot, same_bits
from joint_kinds import EVERY, slopes
from linkwise.robot.model import from_table
from robots import FREE, TREES

NAN = float("nan")

TOOL = {"joint": "fixed", "a": 0.1, "b": 0.2, "alpha": 0.3, "theta": 0.4, "name": "tool"}
EQUIPPED = lw.Robot.from_dh([*ARM.rows, TOOL], convention="standard", name="equipped")


@every_robot
def test_a_jacobian_is_the_derivative_of_the_pose_for_every_link_and_point(robot):
    q = np.random.default_rng(2).normal(size=robot.n)
    step = 1e-6
    around = q + step * np.concatenate([np.eye(robot.n), -np.eye(robot.n)])
    frames = lw.poses(robot, np.vstack([q, around]))
    for i, link in enumerate(robot.links):
        axes = frames[0, i, :3, :3]
        com = np.linalg.inv(np.array(link.frame.matrix(), dtype=float)) @ [*link.com, 1.0]
        for point, place in (("frame", np.zeros(3)), ("com", com[:3]), ((0.1, -0.2, 0.3), np.array([0.1, -0.2, 0.3]))):
            J = lw.jacobian(robot, q, link=i, point=point)
            there = frames[:, i, :3, :3] @ place + frames[:, i, :3, 3]
            linear = (there[1 : robot.n + 1] - there[robot.n + 1 :]) / (2 * step)
            turned = (frames[1 : robot.n + 1, i, :3, :3] - frames[robot.n + 1 :, i, :3, :3]) / (2 * step) @ axes.T
            angular = np.stack([turned[:, 2, 1], turned[:, 0, 2], turned[:, 1, 0]], axis=-1)
            assert np.abs(J - np.concatenate([angular, linear], axis=-1).T).max() < 1e-8


@every_robot
def test_a_link_is_named_or_counted_from_either_end_and_is_otherwise_the_last(robot):
    q = np.random.default_rng(3).normal(size=(2, robot.n))
    for i, name in enumerate(robot.names):
        J = lw.jacobian(robot, q, link=name)
        assert same_bits(J, lw.jacobian(robot, q, link=i))
        assert same_bits(J, lw.jacobian(robot, q, link=i - robot.n))
        idle = [j for j in range(robot.n) if j not in robot.ancestors(i)]
        assert not J[..., idle].any()
    assert same_bits(J, lw.jacobian(robot, q))


@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ({"link": "link9"}, "robot 'stanford': frame is 'link9', did you mean 'link.'.*'link1', 'link2'"),
        ({"link": 6}, "link is 6 .*a whole number below 6"),
        ({"link": -7}, "link is -7 .*a whole number below 6"),
        ({"point": "con"}, "point is 'con', did you mean 'com'.*'frame', 'com'"),
    ],
)
def test_an_unknown_link_or_point_is_refused_with_those_that_are_known(keywords, said):
    with pytest.raises(ValueError, match=said):
        lw.jacobian(ARM, np.zeros(6), **keywords)


@pytest.mark.parametrize("batch", [(), (2,), (0,)], ids=str)
def test_poses_are_of_the_frames_asked_for_in_their_order(batch):
    q = np.random.default_rng(4).normal(size=(*batch, 6))
    links = lw.poses(EQUIPPED, q)
    assert links.shape == (*batch, 6, 4, 4)
    some = lw.poses(EQUIPPED, q, frames=["tool", "link2", "tool"])
    assert some.shape == (*batch, 3, 4, 4)
    assert same_bits(some[..., 1, :, :], links[..., 1, :, :])
    assert same_bits(some[..., 0, :, :], some[..., 2, :, :])
    offset = np.linalg.inv(links[..., 5, :, :]) @ some[..., 0, :, :]
    assert np.abs(offset[..., :3, 3] - [0.1 * np.cos(0.4), 0.1 * np.sin(0.4), 0.2]).max(initial=0.0) < 1e-14
    assert lw.poses(EQUIPPED, q, frames=[]).shape == (*batch, 0, 4, 4)


def test_an_unknown_frame_is_refused_with_those_that_are_known():
    with pytest.raises(ValueError, match=r"robot 'equipped': frame is 'tol', did you mean 'tool'.*'link1'.*'tool'"):
        lw.poses(EQUIPPED, np.zeros(6), frames=["link1", "tol"])


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"point": [1, 2]}, ValueError, "point.*three numbers"),
        ({"point": [1, 2, NAN]}, ValueError, "point.*finite"),
        ({"link": 1.5}, TypeError, "link is 1.5"),
        ({"link": True}, TypeError, "link is True"),
    ],
)
def test_jacobian_says_what_it_wants(keywords: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        lw.jacobian(ARM, np.zeros(6), **keywords)


def test_frames_are_a_list_of_names() -> None:
    with pytest.raises(TypeError, match=r"frames is 'link1' .*\['link1'\]"):
        lw.poses(ARM, np.zeros(6), frames="link1")


def test_jacobian_takes_merged_frames():
    rows = [
        *lw.load("planar3").rows,
        {"name": "tool", "joint": "fixed", "a": 0.1, "b": 0.2, "alpha": 0.3, "theta": 0.4},
    ]
    arm = lw.Robot.from_dh(rows, convention="standard")
    q, step = np.array([0.1, 0.2, 0.3]), 1e-6
    found = lw.jacobian(arm, q, link="tool")[3:]
    moved = [lw.poses(arm, q + s * np.eye(3), frames=["tool"])[:, 0, :3, 3] for s in (step, -step)]
    assert np.abs(found - (moved[0] - moved[1]).T / (2 * step)).max() < 1e-9
    on_base = lw.Robot.from_dh([{**rows[3], "parent": "base"}, {**rows[0], "parent": "base"}], convention="standard")
    with raises(ValueError, "'tool'", "base"):
        lw.jacobian(on_base, [0.0], link="tool")


def with_fixed_links(robot: lw.Robot, seed: int) -> lw.Robot:
    """With frames on the base, on links and on one another, half of which have a body."""
    rng, rows = np.random.default_rng(seed), robot.rows
    for k, parent in enumerate(["", *rng.choice(robot.names, 3), "frame2"]):
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        place: dict[str, Any] = {"translation": rng.normal(size=3), "rotation": turn * np.linalg.det(turn)}
        if robot.convention != "frames":
            place = dict(zip(("a", "b", "alpha", "theta"), rng.normal(size=4), strict=True))
        body = {"mass": 0.3, "com": rng.normal(size=3), "inertia": 0.1 * np.eye(3)} if k % 2 else {}
        rows.append({"name": f"frame{k}", "parent": parent, "joint": "fixed", **place, **body})
    return from_table(rows, robot.convention, robot.gravity, robot.name)


FIXED = [*map(with_fixed_links, [*EVERY, *FREE, TREES[3], lw.load("stanford")], range(99))]
LIBRARY = [robot for robot in map(lw.load, lw.LIBRARY) if robot.frames]


@pytest.mark.parametrize("robot", [*FIXED, *LIBRARY], ids=lambda robot: robot.name)
def test_frames_speak_the_terms_of_the_functions(robot: lw.Robot):
    """J of each frame by differences of its poses: Jᵀ w is what a wrench at the frame takes off the torques."""
    rng = np.random.default_rng(robot.n)
    q, still = lw.random_configuration(robot, rng), np.zeros(robot.n)
    w, names = rng.normal(size=6), [frame.name for frame in robot.frames]
    found, links, free = lw.poses(robot, q, frames=names), lw.poses(robot, q), lw.gravity_torque(robot, q)
    changes = slopes(robot, lambda q: lw.poses(robot, q, frames=names), q)
    for frame, pose, slope in zip(map(robot.frame, names), found, changes, strict=True):
        turn = np.einsum("ijn,kj->ikn", slope[:3, :3], pose[:3, :3])
        J = np.concatenate([turn[[2, 0, 1], [1, 2, 0]], slope[:3, 3]])
        if frame.on_base:
            assert np.abs(J).max() < 1e-9
            with pytest.raises(lw.errors.RobotError, match=rf"{frame.name}.*base"):
                _ = frame.link
            continue
        assert np.abs(links[frame.link] @ np.array(frame.placement.matrix()) - pose).max() < 1e-12
        for J_found in (
            lw.jacobian(robot, q, link=frame.name),
            lw.jacobian(robot, q, link=frame.link, point=frame.point),
        ):
            assert np.abs(J_found - J).max() < 1e-7
        wrench, point = np.zeros((len(robot.names), 6)), np.zeros((len(robot.names), 3))
        wrench[frame.link], point[frame.link] = w, frame.point
        torques = lw.inverse_dynamics(robot, q, still, still, wrench, point=point)
        assert np.abs(torques - (free - J.T @ w)).max() < 1e-7 * max(1.0, np.abs(free).max())


@pytest.mark.parametrize("robot", FIXED, ids=lambda robot: robot.name)
def test_the_frame_of_a_link_is_its_table_frame(robot: lw.Robot):
    for k, name in enumerate(robot.names):
        assert (robot.frame(name).link, robot.frame(name).point) == (k, (0.0, 0.0, 0.0))


def test_frames_place_feet_as_pinocchio_does():
    pinocchio = pytest.importorskip("pinocchio")
    robot, path = lw.load("solo12"), Path(__file__).parents[1] / "data" / "robots" / "solo12.urdf"
    model = pinocchio.buildModelFromUrdf(str(path), pinocchio.JointModelFreeFlyer())
    q = lw.random_configuration(robot, np.random.default_rng(1))
    w = np.random.default_rng(2).normal(size=6)
    assert robot.v_names[6:] == tuple(model.names[2:])
    theirs = np.array([*q[:3], *q[4:7], q[3], *q[7:]])
    pinocchio.computeJointJacobians(model, data := model.createData(), theirs)
    for frame in robot.frames:
        J = pinocchio.getFrameJacobian(
            model, data, model.getFrameId(frame.name), pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED
        )
        wrench, point = np.zeros((len(robot.names), 6)), np.zeros((len(robot.names), 3))
        wrench[frame.link], point[frame.link] = w, frame.point
        still = np.zeros(robot.n)
        pushed = lw.gravity_torque(robot, q) - lw.inverse_dynamics(robot, q, still, still, wrench, point=point)
        assert np.abs(pushed[6:] - (J[:3, 6:].T @ w[3:] + J[3:, 6:].T @ w[:3])).max() < 1e-9
