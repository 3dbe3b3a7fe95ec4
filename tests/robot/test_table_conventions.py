"""Fixed joints, and one arm written in each of the three conventions, against frames by hand in plain NumPy."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkwise as lw
from effort import examples
from facts import raises, warns
from robots import ids, relative, states
from table_rows import FIXED, PLACED, TURNING, Row, build, dh, rotation, without


def about(axis: Iterable[float], angle: float) -> np.ndarray:
    """Rodrigues' formula."""
    x, y, z = axis
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + math.sin(angle) * K + (1 - math.cos(angle)) * K @ K


def placed(turn: np.ndarray, shift: Iterable[float]) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = turn, list(shift)
    return pose


def screw_x(row: Mapping[str, Any]) -> np.ndarray:
    return placed(about((1, 0, 0), row["alpha"]), (row["a"], 0, 0))


def screw_z(row: Mapping[str, Any]) -> np.ndarray:
    return placed(about((0, 0, 1), row["theta"]), (0, 0, row["b"]))


def local_pose(row: Mapping[str, Any], convention: str) -> np.ndarray:
    """Where a row puts its frame in its parent's, at q = 0."""
    if convention == "frames":
        return placed(np.array(row["rotation"]), row["translation"])
    first, second = screw_z(row), screw_x(row)
    return first @ second if convention == "standard" else second @ first


def moved_body(row: Mapping[str, Any], pose: np.ndarray) -> Row:
    """The same body, seen from a frame in which the row's frame has that pose."""
    turn = pose[:3, :3]
    tensor = turn @ np.array(row["inertia"]) @ turn.T
    return {"mass": row["mass"], "com": turn @ np.array(row["com"]) + pose[:3, 3], "inertia": (tensor + tensor.T) / 2}


def joined(*bodies: Mapping[str, Any]) -> Row:
    """Several bodies of one frame as one, by the parallel-axis theorem."""
    mass = sum(body["mass"] for body in bodies)
    com = sum(body["mass"] * np.array(body["com"]) for body in bodies) / mass
    tensor = np.zeros((3, 3))
    for body in bodies:
        arm = np.array(body["com"]) - com
        tensor += np.array(body["inertia"]) + body["mass"] * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return {"mass": mass, "com": com, "inertia": tensor}


def random_row(rng: np.random.Generator, convention: str, **words: Any) -> Row:
    turn = rotation(rng)
    moments = rng.uniform(1.0, 1.9, 3) * 0.05
    row = {"joint": "fixed", "mass": float(rng.uniform(0.5, 2)), "com": rng.normal(size=3) * 0.1}
    tensor = turn @ np.diag(moments) @ turn.T
    row["inertia"] = ((tensor + tensor.T) / 2).tolist()
    if convention == "frames":
        row.update(translation=rng.normal(size=3).tolist(), rotation=rotation(rng).tolist())
        row.update(axis=rotation(rng)[:, 2].tolist())
    else:
        row.update({key: float(rng.normal()) for key in ("a", "b", "alpha", "theta")})
    return {**row, **words}


def assert_same_dynamics(one: lw.Robot, other: lw.Robot, tolerance: float = 1e-12) -> None:
    q, qd, qdd, _ = states(one)
    assert relative(lw.inverse_dynamics(one, q, qd, qdd), lw.inverse_dynamics(other, q, qd, qdd)) < tolerance
    assert relative(lw.inertia_matrix(one, q), lw.inertia_matrix(other, q)) < tolerance
    assert relative(lw.kinetic_energy(one, q, qd), lw.kinetic_energy(other, q, qd)) < tolerance


CONVENTIONS = ("standard", "modified", "frames")
in_each_convention = pytest.mark.parametrize("convention", CONVENTIONS)


@in_each_convention
@pytest.mark.parametrize("seed", range(3))
def test_bodies_on_fixed_joints_add_to_the_link_that_carries_them(convention, seed):
    rng = np.random.default_rng(seed)
    shoulder = random_row(rng, convention, name="shoulder", joint="revolute")
    bracket = random_row(rng, convention, name="bracket", parent="shoulder")
    elbow = random_row(rng, convention, name="elbow", joint=("prismatic", "revolute")[seed % 2], parent="shoulder")
    gripper = random_row(rng, convention, name="gripper")  # on the elbow
    camera = random_row(rng, convention, name="camera")  # on the gripper
    lamp = random_row(rng, convention, name="lamp", parent="gripper")
    pedestal = random_row(rng, convention, name="pedestal", parent="base")
    arm = build([shoulder, bracket, elbow, gripper, camera, lamp, pedestal], convention)

    at_bracket, at_gripper = local_pose(bracket, convention), local_pose(gripper, convention)
    at_camera, at_lamp = (at_gripper @ local_pose(row, convention) for row in (camera, lamp))
    heavy_shoulder = {**shoulder, **joined(shoulder, moved_body(bracket, at_bracket))}
    payload = (moved_body(gripper, at_gripper), moved_body(camera, at_camera), moved_body(lamp, at_lamp))
    heavy_elbow = {**elbow, **joined(elbow, *payload)}
    bare = build([heavy_shoulder, heavy_elbow], convention)
    assert arm.names == bare.names == ("shoulder", "elbow")
    assert_same_dynamics(arm, bare)

    q, *_ = states(arm)
    on_shoulder, on_elbow = np.moveaxis(lw.poses(bare, q), 1, 0)
    asked = ["pedestal", "elbow", "bracket", "gripper", "camera", "lamp"]
    on_base = np.broadcast_to(local_pose(pedestal, convention), on_elbow.shape)
    expected = [on_base, on_elbow, on_shoulder @ at_bracket, *(on_elbow @ t for t in (at_gripper, at_camera, at_lamp))]
    assert relative(np.moveaxis(lw.poses(arm, q, frames=asked), 1, 0), expected) < 1e-12
    assert arm.frame("pedestal").on_base
    assert [arm.frame(name).link for name in asked[1:]] == [1, 0, 1, 1, 1]
    assert {frame.name for frame in arm.frames} == {"bracket", "gripper", "camera", "lamp", "pedestal"}


@in_each_convention
def test_a_joint_on_a_fixed_link_moves_with_its_carrier(convention):
    rng = np.random.default_rng(7)
    plate = random_row(rng, convention, name="plate", parent="base")
    shoulder = random_row(rng, convention, name="shoulder", joint="revolute")
    bracket = random_row(rng, convention, name="bracket")
    elbow = random_row(rng, convention, name="elbow", joint="prismatic")
    q = rng.normal(size=(4, 2))
    parts = [build([row], convention) for row in (shoulder, elbow)]
    first, second = (lw.poses(part, q[:, k : k + 1])[:, 0] for k, part in enumerate(parts))
    at_plate, at_bracket = local_pose(plate, convention), local_pose(bracket, convention)
    expected = np.stack([at_plate @ first, at_plate @ first @ at_bracket @ second], axis=1)
    assert relative(lw.poses(build([plate, shoulder, bracket, elbow], convention), q), expected) < 1e-12


@in_each_convention
def test_a_fixed_row_without_a_body_is_a_frame_and_changes_no_link(convention):
    rng = np.random.default_rng(3)
    moving = [random_row(rng, convention, joint=kind) for kind in ("revolute", "prismatic")]
    tool = without(random_row(rng, convention, name="tool"), "mass", "com", "inertia")
    arm, bare = build([*moving, tool], convention), build(moving, convention)
    assert arm.links == bare.links
    assert arm != bare


@pytest.mark.parametrize("kept", [("mass", "com"), ("inertia",), ("mass",), ("mass", "com", "inertia")])
def test_a_fixed_row_may_give_part_of_its_body_and_keeps_it_in_the_table(kept):
    body = {"mass": 2.0, "com": (0.1, 0.2, 0.3), "inertia": np.eye(3).tolist()}
    row = {**FIXED, **{key: body[key] for key in kept}}
    full = {**FIXED, "mass": 0.0, "com": (0, 0, 0), "inertia": np.zeros((3, 3)), **{key: body[key] for key in kept}}
    arm = dh(TURNING, row)
    assert arm == dh(TURNING, full) == dh(*arm.rows)
    assert arm.links != dh(TURNING).links


def test_an_unknown_frame_is_refused_with_the_nearest():
    with raises(lw.errors.RobotError, "robot 'robot'", "'tol'", "'upper'", "'tool'"):
        dh({**TURNING, "name": "upper"}, {**FIXED, "name": "tool"}).frame("tol")


# one arm, written in each convention


def as_modified(rows: list[Row]) -> list[Row]:
    """A standard table as a modified one: a and alpha move to the next row, bodies to the frame on the joint axis."""
    before = [{"a": 0.0, "alpha": 0.0}, *rows]
    return [
        {**row, "a": old["a"], "alpha": old["alpha"], **moved_body(row, screw_x(row))}
        for row, old in zip(rows, before, strict=False)
    ]


def as_standard(rows: list[Row]) -> list[Row]:
    """A modified table whose first a and alpha are zero as a standard one."""
    after = [*rows[1:], {"a": 0.0, "alpha": 0.0}]
    return [
        {**row, "a": new["a"], "alpha": new["alpha"], **moved_body(row, np.linalg.inv(screw_x(new)))}
        for row, new in zip(rows, after, strict=True)
    ]


def as_frames(rows: list[Row], rng: np.random.Generator) -> list[Row]:
    """A modified table as frames, each turned at random, so that no joint axis is special."""
    turns = [np.eye(3), *(rotation(rng) for _ in rows)]
    placed_rows = []
    for row, base, turn in zip(rows, turns, turns[1:], strict=False):
        pose = placed(base, (0, 0, 0)) @ screw_x(row) @ screw_z(row) @ placed(turn.T, (0, 0, 0))
        geometry = {"translation": pose[:3, 3], "rotation": pose[:3, :3], "axis": turn[:, 2]}
        body = moved_body(row, placed(turn, (0, 0, 0)))
        placed_rows.append({**without(row, "a", "b", "alpha", "theta"), **geometry, **body})
    return placed_rows


STANDARD = [*map(lw.load, ("stanford", "planar3")), lw.chain(3, seed=3, joints="P"), lw.chain(6, joints="RRPR")]


@pytest.mark.parametrize("arm", STANDARD, ids=ids(STANDARD))
def test_standard_modified_and_frames_of_one_arm_have_equal_torques_and_poses(arm):
    modified_rows = as_modified(arm.rows)
    modified = build(modified_rows, "modified", gravity=arm.gravity)
    frames = build(as_frames(modified_rows, np.random.default_rng(arm.n)), "frames", gravity=arm.gravity)
    assert_same_dynamics(arm, modified)
    assert_same_dynamics(arm, frames)
    q, *_ = states(arm)
    tips = np.stack([screw_x(row) for row in arm.rows])
    assert relative(lw.poses(arm, q), lw.poses(modified, q) @ tips) < 1e-12


def test_puma_in_modified_and_standard_dh_has_equal_torques():
    puma = lw.load("puma560")
    standard = build(as_standard(puma.rows), "standard", gravity=puma.gravity)
    assert_same_dynamics(puma, standard)
    assert_same_dynamics(puma, build(as_modified(standard.rows), "modified", gravity=puma.gravity))


@pytest.mark.parametrize("joint", ["revolute", "prismatic"])
@examples(60)
@given(
    direction=st.tuples(*[st.floats(-1, 1)] * 3).filter(lambda v: math.hypot(*v) > 1e-3)
    | st.tuples(st.floats(-1e-5, 1e-5), st.floats(-1e-5, 1e-5), st.sampled_from([-1.0, 1.0])),
    q=st.floats(-3, 3),
)
def test_a_joint_moves_about_or_along_its_axis_whatever_the_axis(joint, direction, q):
    axis = np.array(direction) / math.hypot(*direction)
    arm = lw.Robot.from_frames([{**PLACED, "joint": joint, "axis": axis.tolist()}])
    motion = placed(about(axis, q), (0, 0, 0)) if joint == "revolute" else placed(np.eye(3), axis * q)
    expected = placed(np.eye(3), PLACED["translation"]) @ motion
    assert np.abs(lw.poses(arm, [q])[0] - expected).max() < 1e-11  # rotations are snapped to 1e-12


def test_an_axis_of_almost_unit_length_is_made_one_and_stays():
    with warns(UserWarning, "link 'link1'", "axis", "6.0e-08"):
        arm = lw.Robot.from_frames([{**PLACED, "axis": (0.6000001, 0.8, 0.0)}])
    axis = arm.rows[0]["axis"]
    assert abs(math.hypot(*axis) - 1.0) < 1e-15
    assert lw.Robot.from_frames(arm.rows).rows == arm.rows
