"""The robots of the library with free bases and ball joints are bodies that can be, and mirror images of themselves."""

import numpy as np
import pytest

import linkwise as lw
from robots import FREE, ids, relative

MASSES = {"satellite": 526.0, "quadruped": 30.0, "humanoid": 75.0, "ball_chain": 2.4}
DEGREES = {"satellite": 12, "quadruped": 18, "humanoid": 35, "ball_chain": 24}
SYMMETRIC = [robot for robot in FREE if robot.name in ("quadruped", "humanoid")]
SIGNS = {  # of a joint's coordinates and velocities in a mirror at y = 0; those of torques are the velocities'
    "free": ([1, -1, 1, 1, -1, 1, -1], [1, -1, 1, -1, 1, -1]),
    "ball": ([1, -1, 1, -1], [-1, 1, -1]),
    "universal": ([-1, 1], [-1, 1]),
}


def mirror_name(name: str) -> str:
    return "right".join(part.replace("right", "left") for part in name.split("left"))


def mirrored(robot: lw.Robot, x: np.ndarray) -> np.ndarray:
    """q, or anything like qd, of the robot's mirror image: left and right exchanged."""
    out, axes = np.empty_like(x), {row["name"]: row.get("axis") for row in robot.rows}
    coordinates = x.shape[-1] == robot.nq
    for joint in robot.moving:
        if joint.kind.name == "revolute":
            signs = [1.0 if axes[joint.name] == (0.0, 1.0, 0.0) else -1.0]  # x and z turn the other way
        else:
            signs = SIGNS[joint.kind.name][0 if coordinates else 1]
        other = robot.q_slice if coordinates else robot.v_slice
        out[..., other(mirror_name(joint.name))] = np.array(signs) * x[..., joint.q if coordinates else joint.v]
    return out


def states(robot: lw.Robot) -> list[np.ndarray]:
    rng = np.random.default_rng(robot.n)
    return [rng.normal(size=(5, robot.size_of(name))) for name in ("q", "qd", "qdd")]


@pytest.mark.parametrize("robot", FREE, ids=ids(FREE))
def test_masses_and_degrees_of_freedom_are_those_of_its_description(robot: lw.Robot) -> None:
    assert sum(link.mass for link in robot.links) == pytest.approx(MASSES[robot.name], rel=1e-12)
    assert robot.n == DEGREES[robot.name]
    assert robot.nq == robot.n + len(robot.balls)


@pytest.mark.parametrize("robot", FREE, ids=ids(FREE))
def test_every_body_has_mass_and_a_tensor_that_a_body_can_have(robot: lw.Robot) -> None:
    for row in robot.rows:
        small, middle, large = np.linalg.eigvalsh(row["inertia"])
        assert row["mass"] > 0.0
        assert small > 0.0
        assert small + middle > 1.001 * large


@pytest.mark.parametrize("robot", SYMMETRIC, ids=ids(SYMMETRIC))
def test_the_mirror_image_of_a_motion_needs_the_mirror_image_of_its_torques(robot: lw.Robot) -> None:
    given = states(robot)
    torques = lw.inverse_dynamics(robot, *given)
    found = lw.inverse_dynamics(robot, *(mirrored(robot, x) for x in given))
    assert relative(found, torques) > 0.1  # it is another motion
    assert relative(found, mirrored(robot, torques)) < 1e-14


def test_standing_upright_the_humanoid_is_as_tall_as_it_says() -> None:
    arm = next(robot for robot in FREE if robot.name == "humanoid")
    q = np.zeros(arm.nq)
    q[list(arm.quaternions)] = 1.0
    height = dict(zip(arm.names, lw.poses(arm, q)[:, 2, 3], strict=True))
    sole, crown = height["left_foot"] - 0.07, height["head"] + 0.26
    assert crown - sole == pytest.approx(1.75, abs=0.005)
    assert height["left_hand"] - 0.19 > height["left_shank"]  # fingertips above the knees


def test_a_chain_that_hangs_straight_down_needs_no_torques() -> None:
    """However its links are turned about the vertical."""
    arm = next(robot for robot in FREE if robot.name == "ball_chain")
    angle = np.random.default_rng(0).uniform(-3.0, 3.0, (7, 8))
    q = np.zeros((7, 8, 4))
    q[..., 0], q[..., 3] = np.cos(angle / 2), np.sin(angle / 2)
    assert np.abs(lw.gravity_torque(arm, q.reshape(7, 32))).max() < 1e-14


def test_on_a_free_base_fewest_also_tries_denoc() -> None:
    arm, methods = lw.load("satellite"), ("composite-udu", "articulated-regrouped", "denoc")
    counts = [lw.count(lw.forward_dynamics, arm, method=method).total for method in methods]
    assert lw.count(lw.forward_dynamics, arm, method="fewest").total == min(counts) == counts[-1]
