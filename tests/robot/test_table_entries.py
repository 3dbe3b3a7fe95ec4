"""Entries of a table other than geometry and bodies: names of joints, anchors, ratings, springs, impossible bodies."""

import math

import numpy as np
import pytest

import linkwise as lw
from facts import raises, warns

BODY = {"mass": 2.0, "com": (0.1, -0.05, 0.2), "inertia": np.diag([0.03, 0.04, 0.05])}
IMPOSSIBLE = np.diag([0.1, 0.1, 0.5])


def turn(axis, angle):
    k = np.cross(np.eye(3), axis)
    return np.eye(3) - math.sin(angle) * k + (1 - math.cos(angle)) * k @ k


def test_an_anchor_is_a_joint_frame_there_and_a_link_frame_back():
    """A row with an anchor moves as a joint frame at the anchor with a body shifted back by it."""
    rng = np.random.default_rng(3)
    rotation, anchor, translation = turn(np.array([0.6, 0.0, 0.8]), 0.7), rng.normal(size=3), rng.normal(size=3)
    axis = np.array([2.0, -1.0, 2.0]) / 3.0
    tip = {"name": "tip", "joint": "fixed", "translation": (0.3, 0.2, 0.1)}
    row = {"joint": "revolute", "rotation": rotation, "axis": axis, **BODY}
    anchored = lw.Robot.from_frames([{**row, "translation": translation, "anchor": anchor}, tip])
    moved = {**row, "translation": translation + rotation @ anchor, "com": np.array(BODY["com"]) - anchor}
    plain = lw.Robot.from_frames([moved, {**tip, "translation": np.array(tip["translation"]) - anchor}])
    q, qd, qdd = rng.normal(size=(3, 5, 1))
    assert np.allclose(
        lw.inverse_dynamics(anchored, q, qd, qdd), lw.inverse_dynamics(plain, q, qd, qdd), rtol=0, atol=1e-13
    )
    tips = [lw.poses(arm, q, frames=["tip"]) for arm in (anchored, plain)]
    assert np.allclose(*tips, rtol=0, atol=1e-13)
    at_zero = lw.poses(anchored, [0.0])[0]
    assert np.allclose(at_zero[:3, 3], translation, atol=1e-15)
    assert np.allclose(at_zero[:3, :3], rotation, atol=1e-15)


@pytest.mark.parametrize("joint", ["ball", "universal", "planar", "cylindrical", "prismatic"])
def test_anchors_of_every_kind_of_joint(joint):
    anchor = np.array([0.2, -0.3, 0.4])
    row = {"joint": joint, **BODY}
    anchored = lw.Robot.from_frames([{**row, "translation": (1, 2, 3), "anchor": anchor}])
    plain = lw.Robot.from_frames(
        [{**row, "translation": anchor + np.array([1, 2, 3]), "com": np.array(BODY["com"]) - anchor}]
    )
    rng = np.random.default_rng(4)
    q, qd = lw.random_configuration(plain, rng), rng.normal(size=plain.n)
    qdd = rng.normal(size=plain.n)
    pair = [lw.inverse_dynamics(arm, q, qd, qdd) for arm in (anchored, plain)]
    assert np.allclose(*pair, rtol=0, atol=1e-13)


def test_an_anchor_of_a_fixed_joint_is_refused():
    rows = [{"joint": "revolute", "translation": (0, 0, 0), **BODY}]
    with raises(lw.errors.RobotError, "link 'link2'", "anchor", "fixed"):
        lw.Robot.from_frames([*rows, {"joint": "fixed", "translation": (0, 0, 0), "anchor": (0, 0, 1)}])


def two(**entries):
    first = {"name": "upper", "joint": "revolute", "translation": (0, 0, 0), "axis": (0, 1, 0), **BODY}
    second = {"name": "lower", "joint": "revolute", "translation": (0, 0, 1), "axis": (0, 1, 0), **BODY}
    return lw.Robot.from_frames([{**first, **entries}, second], name="pair")


def test_joints_may_have_names_of_their_own(tmp_path):
    arm = two(joint_name="shoulder")
    assert arm.names == ("upper", "lower")
    assert arm.joint_names == arm.q_names == arm.v_names == ("shoulder", "lower")
    assert arm.q_slice("shoulder") == arm.q_slice("upper") == slice(0, 1)
    with raises(ValueError, "shoulder"):
        lw.inverse_dynamics(arm, [math.nan, 0], [0, 0], [0, 0], check=True)
    lw.save(arm, tmp_path / "pair.toml")
    assert lw.load(tmp_path / "pair.toml") == arm
    assert "shoulder" in lw.describe(arm)
    assert "shoulder" in lw.c_source(lw.gravity_torque, arm)


def test_no_two_joints_have_one_name():
    with raises(lw.errors.RobotError, "link 'lower'", "joint_name", "'lower'", "link 'upper'"):
        two(joint_name="lower")
    with raises(lw.errors.RobotError, "joint_name"):
        two(joint_name="")
    ball = {"joint": "ball", "joint_name": "lower", "translation": (0, 0, 0), **BODY}
    with raises(lw.errors.RobotError, "row 2:", "'lower.qw'", "joint 'lower'"):
        lw.Robot.from_frames([{**ball, "name": "a"}, {**ball, "name": "b", "joint_name": "lower.qw"}])


def test_limits_of_velocity_and_effort_are_kept(tmp_path):
    arm = two(velocity_limit=2.5, effort_limit=80.0)
    assert arm.velocity_limits == (2.5, math.inf)
    assert arm.effort_limits == (80.0, math.inf)
    lw.save(arm, tmp_path / "pair.toml")
    assert lw.load(tmp_path / "pair.toml").rows == arm.rows
    assert "effort limit" in lw.describe(arm)
    assert "effort limit" not in lw.describe(two())
    with raises(lw.errors.RobotError, "velocity_limit", "-1.0"):
        two(velocity_limit=-1)
    base = lw.load("humanoid").free_joints[0]
    assert lw.load("humanoid").effort_limits[base.v] == (math.inf,) * 6


def test_springs_of_the_table():
    """Energies of springs at their joints, also of one that follows another: the torque is minus the gradient."""
    rows = [
        {"name": "a", "joint": "revolute", "translation": (0, 0, 0), "stiffness": 30.0, "rest": "20 deg", **BODY},
        {"name": "b", "joint": "ball", "translation": (0, 0, 1), "stiffness": 5.0, **BODY},
        {"name": "c", "joint": "prismatic", "translation": (0, 0, 1), "coupled_to": "a", "ratio": -0.5, "offset": 0.2,
         "stiffness": 400.0, "rest": 0.1, **BODY},
    ]  # fmt: skip
    arm = lw.Robot.from_frames(rows)
    law = lw.control.springs(arm)
    q = lw.neutral(arm)
    q[0] = 0.7

    def energy(x):
        return 15.0 * (x - math.radians(20)) ** 2 + 200.0 * (-0.5 * x + 0.2 - 0.1) ** 2

    step = 1e-5
    expected = -(energy(0.7 + step) - energy(0.7 - step)) / (2 * step)
    assert law(arm, 0.0, q, np.zeros(4))[0] == pytest.approx(expected, rel=1e-8)
    turned = lw.integrate(arm, q, [0, 0.1, 0, 0])
    assert law(arm, 0.0, turned, np.zeros(4))[1] == pytest.approx(-0.5, rel=1e-12)
    with raises(lw.errors.RobotError, "link 'upper'", "rest", "stiffness"):
        two(rest=0.1)
    with raises(lw.errors.RobotError, "link 'b'", "rest", "ball"):
        lw.Robot.from_frames([{**rows[1], "rest": 0.1}])


def test_bodies_that_cannot_exist_are_refused_or_taken_as_they_are(tmp_path):
    with raises(lw.errors.RobotError, "link 'upper'", "0.1 + 0.1 < 0.5", "'lower'", 'unphysical="warn"'):
        lw.Robot.from_frames([{**row, "inertia": IMPOSSIBLE} for row in two().rows])
    path = tmp_path / "pair.toml"
    rows = [{**row, "inertia": IMPOSSIBLE} if row["name"] == "upper" else row for row in two().rows]
    with warns(UserWarning, "robot 'robot'", "'upper'", "inertia", "0.1 + 0.1 < 0.5") as caught:
        arm = lw.Robot.from_frames(rows, unphysical="warn")
    assert len(caught) == 1
    fine = two(inertia=np.diag([0.1, 0.1, 0.2]))
    q = np.array([0.3, 0.4])
    assert lw.inertia_matrix(arm, q)[0, 0] == pytest.approx(lw.inertia_matrix(fine, q)[0, 0], rel=1e-14)
    lw.save(arm, path)
    assert lw.load(path) == arm  # the file says that it is meant
    assert lw.control.with_gears(arm, 10, 1e-4).n == arm.with_payload(1.0, (0, 0, 0), np.zeros((3, 3))).n == 2
    assert arm.cast(float) == arm
    for bad in ({"mass": -1.0}, {"inertia": np.diag([math.nan, 1, 1])}, {"inertia": [[1, 2, 0], [0, 1, 0], [0, 0, 1]]}):
        with pytest.raises(lw.errors.RobotError):
            lw.Robot.from_frames([{**rows[0], **bad}], unphysical="warn")
    with raises(ValueError, "unphysical", "'wran'", "'warn'"):
        lw.Robot.from_frames(rows, unphysical="wran")
    with raises(lw.errors.RobotError, "unphysical", "1"):
        two(unphysical=1)


def test_options_of_load(tmp_path):
    arm = two()
    path = tmp_path / "pair.toml"
    lw.save(arm, path)
    free = lw.load(path, base="free")
    assert free.joints == "FRR"
    lw.save(free, path)
    assert lw.load(path, base="fixed") == arm
    assert lw.load("humanoid", base="free") == lw.load("humanoid")
    rows = arm.rows
    lw.save(lw.Robot.from_frames([rows[0], {**rows[1], "coupled_to": "upper", "ratio": 2.0}]), path)
    assert lw.load(path).n == 1
    assert lw.load(path, mimic="independent").n == 2
    for wrong in ({"base": "fre"}, {"mimic": "couple"}, {"unphysical": "no"}):
        with raises(ValueError, *wrong, *wrong.values()):
            lw.load(path, **wrong)
    with raises(TypeError, "ignore", "['equality']"):
        lw.load(path, ignore="equality")


def test_bodies_too_large_together_are_refused():
    camera = {"name": "camera", "joint": "fixed", "translation": (1e308, 0, 0), **BODY}
    row = {"name": "disc", "joint": "revolute", "translation": (0, 0, 0), **BODY}
    with raises(lw.errors.RobotError, "link 'disc'", "1.8e308"):
        lw.Robot.from_frames([row, camera])


def test_limits_that_look_like_degrees_cause_a_warning():
    with warns(UserWarning, "robot 'pair'", "limits", "'upper'", "radians", "degrees"):
        two(limits=(-115, 115))
    arm = two(limits=(-40.5, 1e4))  # many turns, or no limits
    assert arm.limits == ((-40.5, 1e4), (-math.inf, math.inf))
    assert lw.load("humanoid").limits[:2] == ((-math.inf, math.inf),) * 2
    assert len(lw.load("humanoid").limits) == lw.load("humanoid").nq


def test_limits_that_meet_in_one_point_leave_that_point():
    rows = two(limits=(0.0, 0.0)).rows
    arm = lw.Robot.from_frames([rows[0], {**rows[1], "coupled_to": "upper", "ratio": -1.0, "limits": (0.0, 0.5)}])
    assert lw.random_configuration(arm, 0) == [0.0]


def test_a_private_file_stays_private(tmp_path):
    path = tmp_path / "pair.toml"
    path.write_text("")
    path.chmod(0o600)
    lw.save(two(), path)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["a" * 300 + ".urdf", "a\0.toml"])
def test_what_is_no_path_is_refused(name, tmp_path):
    for act in (lambda path: lw.load(path), lambda path: lw.save(two(), path)):
        with pytest.raises(lw.errors.RobotError):
            act(str(tmp_path / name))


def test_nothing_is_ignored_that_is_not_there(tmp_path):
    lw.save(two(), tmp_path / "pair.toml")
    lw.save(two(), tmp_path / "pair.urdf")
    for ending in ("toml", "urdf"):
        with pytest.raises(lw.errors.RobotError, match="ignore"):
            lw.load(tmp_path / f"pair.{ending}", ignore=["fluid"])


def test_one_end_of_travel_may_be_open(tmp_path):
    arm = two(limits=(-1.0, 1e308))
    lw.save(arm, tmp_path / "pair.urdf")
    assert lw.load(tmp_path / "pair.urdf").limits[0] == (-1.0, 1e308)


def test_friction_of_coupled_joints_in_batches_where_some_joint_has_none(tmp_path):
    rows = two(viscous_friction=0.4).rows
    third = {**rows[1], "name": "third", "parent": "lower", "coupled_to": "upper", "ratio": 2.0}
    arm = lw.Robot.from_frames([*rows, third])
    fall = lw.simulate(arm, [0.3, 0.2], [0.1, 0.0], 0.05, friction=True)
    torque = -lw.Friction().torque(arm, fall.qd)
    assert np.allclose(torque, -0.4 * fall.qd * [1, 0], rtol=1e-15)
    expected = lw.forward_dynamics(arm, fall.q, fall.qd, np.zeros_like(fall.qd), friction=True)
    assert np.allclose(fall.qdd, expected, rtol=0, atol=1e-12)
    fall.save(tmp_path / "fall.npz")


def test_triangle_inequalities_that_hardly_fail_show_by_how_much():
    with raises(lw.errors.RobotError, "1, 1 and 2 kg m2", "1e-07"):
        two(inertia=np.diag([1.0, 1.0, 2.0000001]))


def test_anchors_are_sampled_as_other_vectors(tmp_path):
    arm = two(anchor=(0.0, 0.1, 0.2))
    anchors = np.random.default_rng(0).normal(size=(3, 3))
    swept = lw.sweep(
        arm, {"upper.anchor": anchors, "q0": [0.1, 0.2]}, tmp_path, 0.1, keep="ends", progress=False, files="npz"
    )
    alone = [lw.simulate(two(anchor=anchor), [0.1, 0.2], duration=0.1) for anchor in anchors]
    assert np.allclose(swept.read()["q_end"], [run.q[-1] for run in alone], rtol=0, atol=1e-9)
