"""Inverse kinematics: frames are where they should be, within limits, or the result says why not."""

import pickle
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises
from joint_kinds import ARM, BALL, CHAIN, COUPLED, SCREWS, SECOND, TREE
from linkwise.robot.configurations import travel_limits

EVERY = [COUPLED, SCREWS, BALL, ARM, CHAIN, TREE, SECOND, lw.load("go1"), lw.load("humanoid")]
PANDA, UR = lw.load("panda"), lw.load("ur5e")
READY = [0.0, -0.4, 0.0, -2.0, 0.0, 1.6, 0.8, 0.03]
BENT = [0.5, -1.2, 1.4, -0.8, -1.5, 0.3]


def deepest(robot: lw.Robot, count: int = 2) -> list[str]:
    """Links far from the base, on different branches."""
    leaves = sorted(robot.leaves, key=lambda j: -len(robot.ancestors(j)))
    return [robot.links[j].name for j in leaves[:count]]


def apart(robot: lw.Robot, q: np.ndarray, targets: dict[str, np.ndarray]) -> float:
    """The largest distance of a frame from its target, or difference of the rotations' elements."""
    here = {frame: lw.poses(robot, q, frame=frame) for frame in targets}
    pairs = ((here[frame] if x.shape[-2:] == (4, 4) else here[frame][..., :3, 3], x) for frame, x in targets.items())
    return max(float(np.abs(a - b).max()) for a, b in pairs)


def beyond_limits(robot: lw.Robot, q: np.ndarray) -> float:
    pairs = [(slot.q, *travel_limits(robot, link)) for link, slot in robot.driving if link.joint.width == 1]
    return max(float(np.maximum(low - q[..., k], q[..., k] - high).max()) for k, low, high in pairs)


@pytest.mark.parametrize("robot", rest_slow(EVERY, EVERY[:5]), ids=lambda robot: robot.name)
def test_frames_of_any_robot_come_to_their_targets(robot: lw.Robot) -> None:
    rng = np.random.default_rng(0)
    q = lw.random_configuration(robot, rng, 24)
    q0 = lw.integrate(robot, q, 0.6 * rng.normal(size=(24, robot.n)))
    targets = {frame: lw.poses(robot, q, frame=frame) for frame in deepest(robot)}
    last = list(targets)[-1]
    for kinds in (targets, {**targets, last: targets[last][:, :3, 3]}):
        solution = lw.inverse_kinematics(robot, kinds, q0)
        assert solution.reached.all()
        assert set(solution.reason) == {""}
        assert solution.residual.max() <= 1e-10
        assert apart(robot, solution.q, kinds) < 3e-10
        assert beyond_limits(robot, solution.q) <= 0.0


@pytest.mark.parametrize("robot", [PANDA, UR], ids=lambda robot: robot.name)
def test_arms_reach_what_they_can_reach_within_their_limits(robot: lw.Robot) -> None:
    q = lw.random_configuration(robot, 1, 200)
    targets = {robot.names[-1]: lw.poses(robot, q, frame=robot.names[-1])}
    solution = lw.inverse_kinematics(robot, targets, np.mean(robot.limits, axis=1))
    assert solution.reached.mean() >= 0.99
    assert apart(robot, solution.q[solution.reached], {f: x[solution.reached] for f, x in targets.items()}) < 2e-10
    assert beyond_limits(robot, solution.q) <= 0.0


SEVEN = ("fr3", "gen3", "iiwa14", "panda", "sawyer", "ur5e", "xarm7")


@pytest.mark.slow
@pytest.mark.parametrize("name", SEVEN)
def test_nearly_every_pose_of_an_arm_is_found(name: str) -> None:
    robot = lw.load(name)
    q = lw.random_configuration(robot, 2, 2000)
    frame = robot.names[-1]
    ends = np.nan_to_num(np.array(robot.limits), posinf=np.pi, neginf=-np.pi)
    solution = lw.inverse_kinematics(robot, {frame: lw.poses(robot, q, frame=frame)}, ends.mean(axis=1))
    assert solution.reached.mean() >= 0.995
    assert solution.residual[solution.reached].max() <= 1e-10


def test_the_result_does_not_depend_on_the_batch_or_on_compiling() -> None:
    rng = np.random.default_rng(3)
    q = lw.random_configuration(PANDA, rng, 12)
    target = lw.poses(PANDA, q, frame="panda_hand_tcp").reshape(3, 4, 4, 4)
    solution = lw.inverse_kinematics(PANDA, {"panda_hand_tcp": target}, READY)
    assert solution.q.shape == (3, 4, 8)
    assert solution.residual.shape == solution.reached.shape == solution.reason.shape == (3, 4)
    assert solution == lw.inverse_kinematics(PANDA, {"panda_hand_tcp": target}, np.tile(READY, (3, 4, 1)), rng=0)
    single = lw.inverse_kinematics(PANDA, {"panda_hand_tcp": target[1, 2]}, READY)
    assert single.q.shape == (8,)
    assert (single.residual, single.reached, single.reason) == (solution.residual[1, 2], True, "")
    assert np.abs(single.q - solution.q[1, 2]).max() < 1e-12
    with lw.use_kernels("never"):
        plain = lw.inverse_kinematics(PANDA, {"panda_hand_tcp": target[1, 2]}, READY)
    assert np.abs(single.q - plain.q).max() < 1e-9
    assert pickle.loads(pickle.dumps(solution)) == solution


def test_what_is_not_reached_is_named_with_its_reason() -> None:
    """An elbow with limits, for which there is one pose within them, one beyond them, and one beyond the arm."""
    rows = lw.load("planar3").rows
    rows[1]["limits"] = (0.4, 0.5)
    arm = lw.Robot.from_dh(rows, convention="standard", name="stiff")
    q0 = [0.0, 0.45, 0.0]
    poses = lw.poses(lw.load("planar3"), [[0.1, 0.45, 0.3], [0.1, 2.4, -2.8], [0.0, 0.45, 0.0]], frame="link3")
    poses[2, 0, 3] = 3.0
    solution = lw.inverse_kinematics(arm, {"link3": poses}, q0)
    assert solution.reached.tolist() == [True, False, False]
    assert solution.reason.tolist() == ["", "limits", "out of reach"]
    assert beyond_limits(arm, solution.q) <= 0.0
    assert apart(arm, solution.q[1], {"link3": poses[1]}) > 0.01
    above = lw.inverse_kinematics(arm, {"link3": [0.3, 0.2, 0.1]}, q0)
    assert not above.reached
    assert abs(above.residual - 0.1) < 1e-6  # from the nearest point of the plane
    text = repr(solution)
    assert "1 of 3 targets reached" in text
    assert all(word in text for word in ("[1]", "[2]", "limits", "out of reach"))
    assert "residual" in repr(lw.inverse_kinematics(arm, {"link3": poses[0]}, q0))


def test_a_path_is_followed_continuously() -> None:
    angle = np.linspace(0.0, 2.0 * np.pi, 30)
    start = lw.poses(PANDA, READY, frame="panda_hand_tcp")
    path = np.tile(start, (30, 1, 1))
    path[:, :3, 3] += 0.1 * np.stack([np.zeros(30), np.sin(angle), np.cos(angle) - 1.0], -1)
    solution = lw.inverse_kinematics(PANDA, {"panda_hand_tcp": path}, READY, path=True)
    assert solution.reached.all()
    speed = np.abs(np.diff(solution.q, axis=0)).max(axis=1)
    assert speed.max() < 0.12
    one = lw.inverse_kinematics(PANDA, {"panda_hand_tcp": path[1]}, solution.q[0], starts=0)
    assert np.abs(one.q - solution.q[1]).max() < 1e-12
    other = np.asarray(READY) + 0.05
    both = lw.inverse_kinematics(PANDA, {"panda_hand_tcp": path[:3, None]}, np.stack([READY, other]), path=True)
    assert both.q.shape == (3, 2, 8)
    assert np.abs(both.q[:, 0] - solution.q[:3]).max() < 1e-12
    assert both.reached.all()
    beyond = np.array([start[:3, 3], [2.0, 0.0, 0.0]])
    lost = lw.inverse_kinematics(PANDA, {"panda_hand_tcp": beyond}, READY, path=True)
    assert lost.reached.tolist() == [True, False]


def test_weights_choose_what_is_nearest_and_free_components() -> None:
    target = lw.poses(UR, BENT, frame="tool0")
    start = np.array(BENT) + 0.2
    spun = lw.inverse_kinematics(UR, {"tool0": target}, start, weights={"tool0": [1, 1, 0, 1, 1, 1]})
    found = lw.poses(UR, spun.q, frame="tool0")
    turn = target[:3, :3] @ found[:3, :3].T
    assert spun.reached
    assert abs(turn[2, 2] - 1.0) < 1e-12  # a turn about the vertical
    assert abs(turn[0, 1]) > 1e-3
    assert np.abs(found[:3, 3] - target[:3, 3]).max() < 1e-10
    points = {"tool0": target[:3, 3] + [0.0, 0.0, 2.0], "forearm_link": lw.poses(UR, BENT, frame="forearm_link")[:3, 3]}
    errors = []
    for weight in (0.01, 1.0, 100.0):
        solution = lw.inverse_kinematics(UR, points, BENT, weights={"forearm_link": weight}, starts=0)
        errors.append(apart(UR, solution.q, {"forearm_link": points["forearm_link"]}))
        assert not solution.reached
    assert errors[0] > errors[1] > errors[2]


def test_random_starts_come_from_the_generator() -> None:
    target = {"tool0": lw.poses(UR, lw.random_configuration(UR, 5, 12), frame="tool0")}
    by_seed = [lw.inverse_kinematics(UR, target, BENT, rng=seed) for seed in (None, 0, 1)]
    assert by_seed[0] == by_seed[1]
    assert by_seed[0] != by_seed[2]
    alone = lw.inverse_kinematics(UR, target, BENT, starts=0)
    assert alone.reached.sum() < by_seed[0].reached.sum()


def test_one_step_is_a_function_that_compiles() -> None:
    """What the solver repeats is one program, with limits, for C and other machines."""
    frames, step = (("panda_hand_tcp", "pose"),), lw.control.inverse_kinematics_step
    options: dict[str, Any] = {
        "goal": lw.Input(12),
        "weights": lw.Input(6),
        "damping": lw.Input(),
        "margin": lw.Input(),
    }
    kernel = lw.compile(step, PANDA, frames=frames, **options)
    q = lw.random_configuration(PANDA, 0, 4)
    place = lw.poses(PANDA, lw.integrate(PANDA, q, np.full(8, 0.05)), frame="panda_hand_tcp")
    goal = np.concatenate([place[:, :3, :3].reshape(4, 9), place[:, :3, 3]], -1)
    start, damping = q, np.full(4, 0.1)
    squares = []
    for _ in range(8):
        plain = step.plain(PANDA, q, frames=frames, goal=goal, weights=np.ones(6), damping=damping, margin=0.0)
        q, damping, square, residual = kernel(q, goal, np.ones(6), damping, 0.0)
        assert np.abs(plain[0] - q).max() < 1e-9
        squares.append(square)
    assert (np.diff(squares, axis=0) <= 0.0).all()
    assert residual.max() < 1e-12
    assert np.abs(start - q).max() < 0.5


def test_mistakes_are_named() -> None:
    pose = np.eye(4)
    solve: Any = lw.inverse_kinematics
    with raises(lw.errors.RobotError, "tool1", "tool0"):
        solve(UR, {"tool1": pose}, BENT)
    with raises(ValueError, "base_link", "does not move"):
        solve(UR, {"base_link": pose}, BENT)
    with raises(TypeError, "targets", "wrist_3_link"):
        solve(UR, pose, BENT)
    with raises(ValueError, "tool0", "(2, 3, 5)", "(..., 4, 4)", "(..., 3)"):
        solve(UR, {"tool0": np.ones((2, 3, 5))}, BENT)
    mirrored = np.tile(pose, (3, 1, 1))
    mirrored[2, 0, 0] = -1.0
    with raises(ValueError, "targets['tool0'][2]", "rotation"):
        solve(UR, {"tool0": mirrored}, BENT)
    with raises(ValueError, "targets['tool0'][1]", "nan", "finite"):
        solve(UR, {"tool0": [[0.1, 0.2, 0.3], [np.nan, 0.0, 0.0]]}, BENT)
    with raises(ValueError, "targets['tool0'] (3,)", "q0 (2,)"):
        solve(UR, {"tool0": np.zeros((3, 3))}, np.tile(BENT, (2, 1)))
    with raises(ValueError, "q0", "6"):
        solve(UR, {"tool0": pose}, BENT[:5])
    with raises(ValueError, "starts", "-1"):
        solve(UR, {"tool0": pose}, BENT, starts=-1)
    with raises(ValueError, "path", "first axis"):
        solve(UR, {"tool0": pose}, BENT, path=True)
    with raises(TypeError, "weights", "tool0"):
        solve(UR, {"tool0": pose}, BENT, weights=2.0)
    with raises(ValueError, "weights", "flange", "tool0"):
        solve(UR, {"tool0": pose}, BENT, weights={"flange": 1.0})
    with raises(ValueError, "weights['tool0']", "6", "negative"):
        solve(UR, {"tool0": pose}, BENT, weights={"tool0": [1, 1, -1, 1, 1, 1]})
    with raises(ValueError, "weights", "above 0"):
        solve(UR, {"tool0": pose}, BENT, weights={"tool0": 0.0})
    row = {
        "joint": "revolute",
        "a": lw.symbols("l"),
        "b": 0,
        "alpha": 0,
        "mass": 1,
        "com": (0, 0, 0),
        "inertia": pose[:3, :3],
    }
    with raises(TypeError, "lw.bind"):
        solve(lw.Robot.from_dh([row], convention="standard"), {"link1": pose[:3, 3]}, [0.0])
