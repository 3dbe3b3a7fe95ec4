"""Frames by name: poses, Jacobians, their rates, momentum; and the same of Pinocchio."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import THOROUGH, rest_slow
from facts import raises
from framed_robots import motions, with_tools
from functions import same_bits
from joint_kinds import ARM as FLOATING
from joint_kinds import BALL, COUPLED, EVERY, TREE
from robots import relative

ROBOTS = [with_tools(robot) for robot in EVERY]
over_robots = pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: robot.name)
AXES: Any = ("base", "frame")


@over_robots
def test_a_frame_has_one_pose_by_all_its_names(robot: lw.Robot) -> None:
    q = motions(robot, 2)[0]
    for name in (*robot.names, "mount", "tool"):
        pose = lw.poses(robot, q, frame=name)
        assert pose.shape == (2, 4, 4)
        assert same_bits(pose, lw.poses(robot, q, frames=[name])[:, 0])
    for joint in robot.moving:
        assert same_bits(lw.poses(robot, q, frame=joint.joint), lw.poses(robot, q, frame=joint.name))
    assert same_bits(lw.poses(robot, q, frame="grip"), lw.poses(robot, q, frame="tool"))
    assert same_bits(lw.jacobian(robot, q, frame="grip"), lw.jacobian(robot, q, link="tool"))


@over_robots
def test_jacobians_and_their_rates_are_the_derivatives_of_poses_and_jacobians(robot: lw.Robot) -> None:
    q, v, _ = motions(robot, 2)
    h = 1e-6
    ahead, behind = (lw.integrate(robot, q, sign * h * v) for sign in (1.0, -1.0))
    for name in (robot.names[1], "tool"):
        pose, slope = (
            lw.poses(robot, q, frame=name),
            lw.poses(robot, ahead, frame=name) - lw.poses(robot, behind, frame=name),
        )
        spin = np.einsum("bij,bkj->bik", slope[:, :3, :3] / (2 * h), pose[:, :3, :3])
        twist = np.concatenate([spin[:, [2, 0, 1], [1, 2, 0]], slope[:, :3, 3] / (2 * h)], axis=-1)
        for axes in AXES:
            J = lw.jacobian(robot, q, frame=name, axes=axes)
            rate = lw.jacobian_rate(robot, q, v, frame=name, axes=axes)
            found = np.einsum("bij,bj->bi", J, v).reshape(2, 2, 3)
            turned = np.einsum("bij,bcj->bci", pose[:, :3, :3], found) if axes == "frame" else found
            assert np.abs(turned.reshape(2, 6) - twist).max() < 1e-7
            change = lw.jacobian(robot, ahead, frame=name, axes=axes) - lw.jacobian(
                robot, behind, frame=name, axes=axes
            )
            assert np.abs(rate - change / (2 * h)).max() < 1e-7
            alone = lw.jacobian_rate(robot, q[1], v[1], frame=name, axes=axes)
            assert relative(rate[1], alone) < 1e-14


@pytest.mark.parametrize("robot", [with_tools(BALL), with_tools(COUPLED)], ids=lambda robot: robot.name)
def test_the_rate_is_the_exact_derivative_along_the_motion(robot: lw.Robot) -> None:
    q, v, _ = motions(robot)
    for place in ({"frame": "tool"}, {"frame": "tool", "axes": "frame"}, {"link": 0, "point": "com"}):
        along = lw.jvp(lw.jacobian, robot, "q", **place)(q, v)
        assert relative(lw.jacobian_rate(robot, q, v, **place), along) < 1e-13


def test_rates_and_accelerations_give_the_acceleration_of_a_mass_centre() -> None:
    """The acceleration of a point is J q̈ + J̇ q̇."""
    q, v, a = motions(TREE)
    centres = lw.mass_centres(TREE, q, v, a)[2]
    for link, centre in enumerate(centres):
        place: dict[str, Any] = {"link": link, "point": "com"}
        found = lw.jacobian(TREE, q, **place) @ a + lw.jacobian_rate(TREE, q, v, **place) @ v
        assert relative(found[3:], centre) < 1e-12


@pytest.mark.parametrize("robot", [ROBOTS[0], with_tools(FLOATING)], ids=lambda robot: robot.name)
def test_momentum_about_a_frame_is_that_about_the_mass_centre_moved_there(robot: lw.Robot) -> None:
    q, v, _ = motions(robot, 2)
    for name in ("mount", "tool"):
        pose = lw.poses(robot, q, frame=name)
        about = lw.momentum(robot, q, v)
        lever = lw.centre_of_mass(robot, q) - pose[:, :3, 3]
        expected = np.concatenate([about[:, :3] + np.cross(lever, about[:, 3:]), about[:, 3:]], axis=-1)
        assert relative(lw.momentum(robot, q, v, frame=name), expected) < 1e-13
        turned = np.einsum("bji,bcj->bci", pose[:, :3, :3], expected.reshape(2, 2, 3)).reshape(2, 6)
        assert relative(lw.momentum(robot, q, v, frame=name, axes="frame"), turned) < 1e-13
        for axes, found in (("base", expected), ("frame", turned)):
            matrix = lw.momentum_matrix(robot, q, frame=name, axes=axes)
            assert relative(np.einsum("bij,bj->bi", matrix, v), found) < 1e-12


def test_the_generalized_jacobian_of_a_frame_is_that_of_its_point() -> None:
    robot = with_tools(FLOATING)
    q, frame = motions(robot)[0], robot.frame("tool")
    by_point = lw.generalized_jacobian(robot, q, link=frame.link, point=frame.point)
    assert relative(lw.generalized_jacobian(robot, q, frame="tool"), by_point) < 1e-14
    with raises(ValueError, "'mount'", "base"):
        lw.generalized_jacobian(robot, q, frame="mount")


def test_places_that_are_unknown_or_given_twice_are_refused() -> None:
    robot, q = ROBOTS[0], lw.neutral(ROBOTS[0])
    v = np.zeros(robot.n)
    for function, arrays in ((lw.poses, (q,)), (lw.jacobian, (q,)), (lw.jacobian_rate, (q, v)), (lw.momentum, (q, v))):
        with raises(lw.errors.RobotError, "'tol'", "'tool'", f"'{robot.name}'"):
            function(robot, *arrays, frame="tol")
    for function, arrays in ((lw.jacobian, (q,)), (lw.jacobian_rate, (q, v))):
        with raises(ValueError, "'mount'", "base"):
            function(robot, *arrays, frame="mount")
        with raises(ValueError, "axes", "'world'", "'base'", "'frame'"):
            function(robot, *arrays, frame="tool", axes="world")
        for other in ({"link": 0}, {"point": "com"}):
            with raises(TypeError, "frame='tool'", f"{next(iter(other))}="):
                function(robot, *arrays, frame="tool", **other)
    with raises(TypeError, "frame='tool'", "frames="):
        lw.poses(robot, q, frame="tool", frames=["tool"])
    with raises(ValueError, "axes", "frame="):
        lw.momentum(robot, q, v, axes="frame")


def test_frames_run_on_arrays_of_torch_and_jax_and_compiled() -> None:
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    robot = with_tools(lw.chain(3, seed=4, joints="RSP"))
    q, v, _ = motions(robot, 5)
    for function, arrays, options in (
        (lw.poses, (q,), {}),
        (lw.jacobian, (q,), {"axes": "frame"}),
        (lw.jacobian_rate, (q, v), {}),
        (lw.momentum, (q, v), {"axes": "frame"}),
    ):
        plain = function(robot, *arrays, frame="tool", **options)
        with jax.enable_x64(True):
            of_jax = function(robot, *map(jax.numpy.asarray, arrays), frame="tool", **options)
            assert relative(np.asarray(of_jax), plain) < 1e-13
        of_torch = function(robot, *map(torch.tensor, arrays), frame="tool", **options)
        assert relative(of_torch.numpy(), plain) < 1e-13
        kernel = lw.compile(function, robot, frame="tool", **options)
        assert relative(kernel(*arrays), plain) < 1e-13


def example(name: str) -> Path:
    pin = pytest.importorskip("pinocchio")
    path = Path(pin.__file__).parents[4] / "share/example-robot-data/robots" / name
    if not path.is_file():
        pytest.skip("needs the wheel example-robot-data")
    return path


EXAMPLES = {
    "go1": ("go1_description/urdf/go1.urdf", "free"),
    "panda": ("panda_description/urdf/panda.urdf", "fixed"),
    "talos": ("talos_data/robots/talos_reduced.urdf", "free"),
}


@pytest.mark.parametrize("name", rest_slow([*EXAMPLES], ["go1", "panda"]))
def test_pinocchio_has_the_same_frames(name: str) -> None:
    """Poses, Jacobians and their rates of every frame of the file, bodies and joints; of links and joints by name."""
    pin = pytest.importorskip("pinocchio")
    path, base = example(EXAMPLES[name][0]), EXAMPLES[name][1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        robot = lw.load(path, base=base, unphysical="warn", mimic="independent")
    model = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if base == "free" else []))
    data = model.createData()
    q, v, _ = motions(robot)
    their_q, their_v = lw.convert_state(robot, q, v, target=model)
    accelerations = lw.convert_state(robot, q, v, np.zeros(robot.n), target=model)[2]
    pin.computeJointJacobiansTimeVariation(model, data, their_q, their_v)
    pin.forwardKinematics(model, data, their_q, their_v, accelerations)
    pin.updateFramePlacements(model, data)
    columns = np.stack([lw.convert_state(robot, q, unit, target=model)[1] for unit in np.eye(robot.n)], axis=-1)
    turned = [3, 4, 5, 0, 1, 2]  # angular first
    for k, frame in [*enumerate(model.frames)][:: 1 if THOROUGH else 3]:
        if frame.name in ("universe", "root_joint"):
            continue
        assert np.abs(lw.poses(robot, q, frame=frame.name) - data.oMf[k].homogeneous).max() < 1e-9
        if robot.frame(frame.name).on_base:
            continue
        for axes, reference in (("base", pin.LOCAL_WORLD_ALIGNED), ("frame", pin.LOCAL)):
            place: dict[str, Any] = {"frame": frame.name, "axes": axes}
            J = pin.getFrameJacobian(model, data, k, reference)[turned] @ columns
            assert np.abs(lw.jacobian(robot, q, **place) - J).max() < 1e-9
            rate = lw.jacobian_rate(robot, q, v, **place)
            if base == "fixed":  # their columns do not turn
                theirs = pin.getFrameJacobianTimeVariation(model, data, k, reference)[turned]
                assert np.abs(rate - theirs @ columns).max() < 1e-9
            find = pin.getFrameClassicalAcceleration if axes == "base" else pin.getFrameAcceleration
            assert np.abs(rate @ v - find(model, data, k, reference).vector[turned]).max() < 1e-9
