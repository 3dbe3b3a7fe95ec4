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
def test_a_link_is_named_or_counted_from_either_end_and_is_otherwise_the_last(robot):
    q = np.random.default_rng(3).normal(size=(2, robot.n))
    for i, name in enumerate(robot.names):
        J = lw.jacobian(robot, q, link=name)
        assert same_bits(J, lw.jacobian(robot, q, link=i))
        assert same_bits(J, lw.jacobian(robot, q, link=i - robot.n))
        idle = [j for j in range(robot.n) if j not in robot.ancestors(i)]
        assert not J[..., idle].any()
    assert same_bits(J, lw.jacobian(robot, q))


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


@pytest.mark.parametrize(
    ("keywords", "error", "facts"),
    [
        ({"point": [1, 2]}, ValueError, ("point", "three")),
        ({"point": [1, 2, NAN]}, ValueError, ("point", "finite")),
        ({"point": "con"}, ValueError, ("'con'", "'com'", "'frame'")),
        ({"link": "link9"}, ValueError, ("'stanford'", "'link9'", "'link1'", "'link2'")),
        ({"link": 6}, ValueError, ("link", "6", "below 6")),
        ({"link": -7}, ValueError, ("link", "-7", "below 6")),
        ({"link": 1.5}, TypeError, ("link", "1.5")),
        ({"link": True}, TypeError, ("link", "True")),
        ({"frames": ["link1", "lin2"]}, ValueError, ("'stanford'", "'lin2'", "'link2'")),
        ({"frames": "link1"}, TypeError, ("frames", "'link1'", "['link1']")),
    ],
)
def test_links_points_and_frames_that_are_unknown_are_named(keywords, error, facts) -> None:
    with raises(error, *facts):
        (lw.poses if "frames" in keywords else lw.jacobian)(ARM, np.zeros(6), **keywords)


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
    for k, name in enumerate(robot.names):
        assert (robot.frame(name).link, robot.frame(name).point) == (k, (0.0, 0.0, 0.0))
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
            with raises(lw.errors.RobotError, f"'{frame.name}'", "base"):
                _ = frame.link
            with raises(ValueError, f"'{frame.name}'", "base"):
                lw.jacobian(robot, q, link=frame.name)
            continue
        assert np.abs(links[frame.link] @ np.array(frame.placement.matrix()) - pose).max() < 1e-12
        for place in ({"link": frame.name}, {"link": frame.link, "point": frame.point}):
            assert np.abs(lw.jacobian(robot, q, **place) - J).max() < 1e-7
        wrench, point = np.zeros((len(robot.names), 6)), np.zeros((len(robot.names), 3))
        wrench[frame.link], point[frame.link] = w, frame.point
        torques = lw.inverse_dynamics(robot, q, still, still, wrench, point=point)
        assert np.abs(torques - (free - J.T @ w)).max() < 1e-7 * max(1.0, np.abs(free).max())


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
        place = model.getFrameId(frame.name)
        J = pinocchio.getFrameJacobian(model, data, place, pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        wrench, point = np.zeros((len(robot.names), 6)), np.zeros((len(robot.names), 3))
        wrench[frame.link], point[frame.link] = w, frame.point
        still = np.zeros(robot.n)
        pushed = lw.gravity_torque(robot, q) - lw.inverse_dynamics(robot, q, still, still, wrench, point=point)
        assert np.abs(pushed[6:] - (J[:3, 6:].T @ w[3:] + J[3:, 6:].T @ w[:3])).max() < 1e-9
