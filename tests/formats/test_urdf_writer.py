"""Robots written as URDF: what is read back, by us and by Pinocchio, moves as the robot does; the rest is refused."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkwise as lw
from effort import examples, rest_slow
from facts import raises, warns
from joint_kinds import coupled
from linkwise.formats.urdf import writer
from linkwise.formats.urdf.rows import rotation_of
from robots import ALL, FREE, QUICK, ids, relative

EARTH = (0.0, 0.0, -9.81)
MIXED = [lw.random_tree(7, seed=4, joints="CUERFPR"), lw.random_tree(6, seed=9, joints="RRUPER")]
ROBOTS = [robot.without_rotors().with_gravity(EARTH) for robot in [*ALL, FREE[0], FREE[1], *MIXED]]
SOON = [robot for robot in ROBOTS if robot.name in (*ids(QUICK), *ids(MIXED), "satellite")]
BODY = {"mass": 1.0, "com": (0.1, -0.02, 0.03), "inertia": np.diag([0.02, 0.03, 0.04])}
HINGE = {"joint": "revolute", "translation": (0, 0, 0.3), **BODY}


def saved(robot: lw.Robot, folder: Path) -> lw.Robot:
    lw.save(robot, folder / "robot.urdf")
    return lw.load(folder / "robot.urdf")


def motion(robot: lw.Robot, seed: int = 3) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=robot.nq), *rng.normal(size=(2, robot.nv))


def by_name(robot: lw.Robot, other: lw.Robot) -> tuple[list[int], list[int]]:
    """Where the numbers of `other` stand in those of `robot`."""
    q = [robot.q_names.index(name) for name in other.q_names]
    return q, [robot.v_names.index(name) for name in other.v_names]


@pytest.mark.parametrize("robot", rest_slow(ROBOTS, SOON), ids=ids(ROBOTS))
def test_what_is_read_back_moves_as_the_robot(robot: lw.Robot, tmp_path: Path) -> None:
    again = saved(robot, tmp_path)
    (q, qd, qdd), (in_q, in_v) = motion(robot), by_name(robot, again)
    tau = lw.inverse_dynamics(robot, q, qd, qdd)
    assert relative(tau[in_v], lw.inverse_dynamics(again, q[in_q], qd[in_v], qdd[in_v])) < 1e-12
    inertia = lw.inertia_matrix(robot, q)[np.ix_(in_v, in_v)]
    assert relative(inertia, lw.inertia_matrix(again, q[in_q])) < 1e-12
    frames = [frame.name for frame in robot.frames]
    if frames:
        assert np.allclose(lw.poses(again, q[in_q], frames=frames), lw.poses(robot, q, frames=frames), atol=1e-12)
    assert len(saved(again, tmp_path).rows) == len(again.rows)  # a file that is written again does not grow


@pytest.mark.parametrize("robot", rest_slow(ROBOTS, SOON), ids=ids(ROBOTS))
def test_pinocchio_reads_the_same_robot(robot: lw.Robot, tmp_path: Path) -> None:
    pin = pytest.importorskip("pinocchio")
    again, (q, qd, qdd) = saved(robot, tmp_path), motion(robot)
    model = pin.buildModelFromUrdf(str(tmp_path / "robot.urdf"))
    position, rates, accelerations = np.zeros(model.nq), np.zeros(model.nv), np.zeros(model.nv)
    tau = np.zeros(robot.nv)
    turns = {}
    assert sorted(model.names[1:]) == sorted(again.joint_names)
    for name in model.names[1:]:
        joint = model.joints[model.getJointId(name)]
        where = [robot.q_names.index(label) for label in again.q_names[again.q_slice(name)]]
        moved = [robot.v_names.index(label) for label in again.v_names[again.v_slice(name)]]
        x, v, a = q[where], qd[moved], qdd[moved]
        turn = np.eye(6)
        if joint.nv == 6:  # a free joint: linear parts are in the axes of the body there
            w, *vector = x[3:] / np.linalg.norm(x[3:])
            turn[:3, :3] = R = pin.Quaternion(w, *vector).toRotationMatrix()
            x, v = [*x[:3], *vector, w], np.concatenate([R.T @ v[:3], v[3:]])
            a = np.concatenate([R.T @ a[:3] - np.cross(v[3:], v[:3]), a[3:]])
        elif joint.nq == 2:
            x = [math.cos(x[0]), math.sin(x[0])]
        position[joint.idx_q : joint.idx_q + joint.nq] = x
        rates[joint.idx_v : joint.idx_v + joint.nv] = v
        accelerations[joint.idx_v : joint.idx_v + joint.nv] = a
        turns[name] = joint, moved, turn[: joint.nv, : joint.nv]
    theirs = pin.rnea(model, model.createData(), position, rates, accelerations)
    for joint, moved, turn in turns.values():
        tau[moved] = turn @ theirs[joint.idx_v : joint.idx_v + joint.nv]
    assert relative(lw.inverse_dynamics(robot, q, qd, qdd), tau) < 1e-10


def test_coupled_joints_are_mimic_joints(tmp_path: Path) -> None:
    robot = coupled(lw.random_tree(6, seed=2, joints="RPR")).with_gravity(EARTH)
    rows = robot.rows
    rows[-1] |= {"coupled_to": rows[1]["name"], "ratio": 0.5, "offset": 0.1}  # that follows another in turn
    robot = lw.Robot.from_frames(rows, name="chain of followers")
    again = saved(robot, tmp_path)
    assert (tmp_path / "robot.urdf").read_text().count("<mimic ") == len(robot.couplings) > 2
    assert len(again.couplings) == len(robot.couplings)
    (q, qd, qdd), (in_q, in_v) = motion(robot), by_name(robot, again)
    tau = lw.inverse_dynamics(robot, q, qd, qdd)[in_v]
    assert relative(tau, lw.inverse_dynamics(again, q[in_q], qd[in_v], qdd[in_v])) < 1e-12


def test_drives_and_names_come_back(tmp_path: Path) -> None:
    drive = {"viscous_friction": 0.1 + 0.2, "coulomb_friction": 1 / 3, "velocity_limit": 2.5, "effort_limit": 1e-3}
    robot = lw.Robot.from_frames(
        [
            {"name": "base", "parent": None, **HINGE, **drive, "limits": (-1.5, 1.5), "joint_name": "<waist & 1>"},
            {"name": "world", "parent": "base", **HINGE, "joint": "prismatic", "effort_limit": 3.0},
            HINGE | {"name": "spindle", "parent": "base", "joint": "cylindrical", "limits": [(-1, 1), (-2, 2)]} | drive,
            {"name": 'ü "x"', "parent": "world", **HINGE},
            {"name": "<tool>", "joint": "fixed", "translation": (0.1, 0, 0), "joint_name": "bolt"},
        ],
        name="a < b & c",
    )  # fmt: skip
    again = saved(robot, tmp_path)
    rows = {row["name"]: row for row in again.rows}
    for row in robot.rows[:2]:
        assert {**row, "parent": ""} == {**rows[row["name"]], "parent": ""}
    assert again.name == robot.name
    assert sorted(again.q_names) == sorted(robot.q_names)
    assert rows["spindle.z"]["limits"] == (-1.0, 1.0)
    assert rows["spindle"]["limits"] == (-2.0, 2.0)
    assert rows["spindle"]["effort_limit"] == 1e-3
    assert rows["<tool>"]["joint_name"] == "bolt"


def test_unbounded_joints_have_no_limits_when_read_back(tmp_path: Path) -> None:
    """URDF wants limits of a prismatic joint: they are written as 1e308."""
    robot = lw.Robot.from_frames([{**HINGE, "joint": "prismatic"}, HINGE], name="free to move")
    again = saved(robot, tmp_path)
    assert 'lower="-1e+308"' in (tmp_path / "robot.urdf").read_text()
    assert all("limits" not in row and "effort_limit" not in row for row in again.rows)


def test_bodies_that_cannot_exist_are_written_as_they_are(tmp_path: Path) -> None:
    thin = {**HINGE, "inertia": np.diag([0.01, 0.01, 0.05])}
    with warns(UserWarning, "'thin'", "inertia"):
        robot = lw.Robot.from_frames([thin], name="thin", unphysical="warn")
    lw.save(robot, tmp_path / "thin.urdf")
    with raises(lw.errors.FileError, "'link1'", "inertia"):
        lw.load(tmp_path / "thin.urdf")


def refusals() -> list[Any]:
    def frames(**entries: Any) -> lw.Robot:
        return lw.Robot.from_frames([{**HINGE, "name": "elbow", **entries}], name="arm")

    mass = lw.symbols("m")
    return [
        (frames(joint="screw", pitch=0.1), "'elbow' | screw"),
        (frames(joint="ball"), "'elbow' | ball"),
        (frames(rotor_inertia=0.5), "0.5 | m2 | 'elbow' | urdf_rotors"),
        (frames(stiffness=2.0), "'elbow' | stiffness | 2.0"),
        (frames(load_friction=0.1), "'elbow' | load_friction | 0.1"),
        (frames(joint="free", viscous_friction=1.0), "'elbow' | viscous_friction | free"),
        (frames().with_gravity((0, -9.81, 0)), "gravity | [0.0, -9.81, 0.0]"),
        (frames(mass=mass), "'arm' | numbers | lw.bind"),
    ]


@pytest.mark.parametrize(("robot", "facts"), refusals())
def test_what_urdf_cannot_say_is_refused_by_name(robot: lw.Robot, facts: str, tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text("before")
    with raises(lw.errors.FileError, *facts.split(" | ")):
        lw.save(robot, path)
    assert path.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["arm.urdf"]


def test_a_file_that_would_differ_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "roll_pitch_yaw", lambda rotation: (0.0, 0.0, 1e-7))
    with raises(lw.errors.FileError, "x.urdf", "robot 'gantry'"):
        lw.save(lw.load("gantry"), tmp_path / "x.urdf")
    assert not list(tmp_path.iterdir())


@examples(100)
@given(
    quarters=st.tuples(*[st.integers(-2, 2)] * 3),
    more=st.tuples(*[st.sampled_from([0.0, 0.0, 1e-9, -1e-13, 1e-4, 0.3])] * 3),
)
def test_angles_reproduce_rotations(quarters: tuple[int, ...], more: tuple[float, ...]) -> None:
    angles = [k * math.pi / 2 + x for k, x in zip(quarters, more, strict=True)]
    turn = np.array(rotation_of(*angles) or np.eye(3))
    if not any(more):
        turn = np.round(turn)
    again = np.array(rotation_of(*writer.roll_pitch_yaw(turn.tolist())) or np.eye(3))
    assert np.abs(again - turn).max() < 1e-15


def test_toml_keeps_every_key(tmp_path: Path) -> None:
    drive = {"velocity_limit": 2.5, "effort_limit": 30.0, "stiffness": 4.0, "rest": 0.2, "joint_name": "hinge"}
    thin = {**HINGE, "inertia": np.diag([0.01, 0.01, 0.05]), "anchor": (0.1, 0.2, 0.3), **drive}
    with warns(UserWarning, "'thin'", "inertia"):
        robot = lw.Robot.from_frames([thin, {**HINGE, "joint": "cylindrical"}], name="thin", unphysical="warn")
    lw.save(robot, tmp_path / "thin.toml")
    again = lw.load(tmp_path / "thin.toml")
    assert (again, again.rows) == (robot, robot.rows)
