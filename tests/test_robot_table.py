"""Robots from tables: what is refused and how, fixed joints, the three conventions, and robots as data."""

import copy
import math
import pickle
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import FrozenInstanceError
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkwise as lw
from effort import examples, in_turn
from robots import TEXTBOOK, TREES, ids, relative, states

Row = dict[str, Any]
NAN, INF = float("nan"), float("inf")
BALL = {"mass": 2.0, "com": (0.1, 0.0, 0.0), "inertia": np.diag([0.1, 0.1, 0.1])}
TURNING = {"joint": "revolute", "a": 0.3, "b": 0.1, "alpha": 0.5, **BALL}
SLIDING = {"joint": "prismatic", "a": 0.3, "alpha": 0.5, "theta": 0.2, **BALL}
FIXED = {"joint": "fixed", "a": 0.3, "b": 0.1, "alpha": 0.5, "theta": 0.2}
PLACED = {"joint": "revolute", "translation": (0.1, 0.2, 0.3), **BALL}


def dh(*rows: Mapping[str, Any], convention: str = "standard", **keywords: Any) -> lw.Robot:
    return lw.Robot.from_dh(rows, convention=convention, **keywords)


def complaint(build: Callable[..., lw.Robot], rows: Any, **keywords: Any) -> str:
    """What building the robot `testbot` is refused with."""
    with pytest.raises(lw.RobotError) as caught:
        build(rows, name="testbot", **keywords)
    return str(caught.value)


def dh_complaint(*rows: Mapping[str, Any], **keywords: Any) -> str:
    return complaint(lw.Robot.from_dh, rows, **{"convention": "standard", **keywords})


def without(row: Mapping[str, Any], *keys: str) -> Row:
    return {key: value for key, value in row.items() if key not in keys}


def entry(matrix: Any, i: int, j: int, value: Any) -> list[list[Any]]:
    """A copy of the matrix with one entry replaced."""
    rows = np.asarray(matrix).tolist()
    rows[i][j] = value
    return rows


# what is refused, how

NUMBERS_REFUSED = [
    NAN,
    INF,
    -INF,
    "3",
    True,
    np.True_,
    None,
    1j,
    [1.0],
    (),
    {},
    np.ones(1),
    b"1",
    bytearray(b"1"),
    10**400,
]
WRONG_DH = [
    *(("mass", value, "expected") for value in NUMBERS_REFUSED),
    *(("a", value, "expected") for value in [*NUMBERS_REFUSED, "90 deg"]),
    *(("b", value, "expected") for value in NUMBERS_REFUSED),
    *(("alpha", value, "expected") for value in NUMBERS_REFUSED),
    *(("theta", value, "expected") for value in NUMBERS_REFUSED),
    ("mass", -1.0, r"is -1\.0 .*not negative"),
    ("mass", -1e-9, "not negative"),
    ("mass", NAN, "is nan .*finite"),
    ("alpha", "90 degrees", r"'90 degrees' .*radians.*\"90 deg\""),
    *(("com", value, "three numbers") for value in [(0, 0), (0, 0, 0, 0), "abc", 3.0, None, {"x": 1, "y": 2, "z": 3}]),
    ("com", (0, NAN, 0), r"com\[1\] is nan"),
    ("com", (0, 0, "1"), r"com\[2\] is '1'"),
    *(("inertia", value, "3 x 3") for value in [np.eye(2), np.eye(4), np.ones(9), 1.0, [1, 2, 3], "eye", None]),
    ("inertia", entry(np.eye(3), 1, 2, NAN), r"inertia\[1\]\[2\] is nan"),
    ("inertia", entry(np.eye(3), 2, 0, True), r"inertia\[2\]\[0\] is True"),
    ("inertia", entry(np.eye(3), 0, 1, 0.1), "not symmetric"),
    ("inertia", np.diag([1.0, 1.0, -0.1]), r"not positive semidefinite.*-0\.1 kg m2.*centre of mass"),
    ("inertia", [[1, 2, 0], [2, 1, 0], [0, 0, 1]], "not positive semidefinite.*-1 kg m2"),
    ("inertia", np.diag([1.0, 2.0, 3.1]), r"triangle inequality.*1 \+ 2 < 3\.1"),
    ("rotor_inertia", -0.1, r"is -0\.1 .*not negative"),
    ("viscous_friction", -0.1, r"is -0\.1 .*not negative"),
    ("coulomb_friction", -0.1, r"is -0\.1 .*not negative"),
    ("rotor_inertia", NAN, "finite"),
    ("coulomb_friction", "none", "is 'none'"),
    ("limits", (1.0, -1.0), r"\[1\.0, -1\.0\] .*lower first"),
    ("limits", ("90 deg", "-90 deg"), "lower first"),
    ("limits", (1.0,), "lower, upper"),
    ("limits", 3.0, "lower, upper"),
    ("limits", "free", "lower, upper"),
    ("limits", (-INF, INF), "finite"),
    ("joint", "revolut", "'revolut', did you mean 'revolute'.*'prismatic'"),
    ("joint", "hinge", "'hinge', did you mean 'revolute'.*'prismatic', .*'free' or 'fixed'"),
    ("joint", None, "is None .*'revolute'"),
    ("masss", 1.0, "not a key .*did you mean 'mass'.*viscous_friction"),
    ("translation", (0, 0, 0), "not a key of a 'standard' row"),
    ("d", 0.1, "and b are both given"),
    ("parent", "shoulde", "'shoulde', .*did you mean 'shoulder'"),
    ("parent", 1, "is 1, which no link has"),
]
WRONG_FRAMES = [
    *(("translation", value, "three numbers") for value in [(0, 0), 1.0, "abc", np.eye(3)[:2]]),
    ("translation", (0, 0, INF), r"translation\[2\] is inf"),
    ("axis", (0, 0, 0), "length 0 .*unit vector"),
    ("axis", (0, 0, 2), "length 2 .*unit vector"),
    ("axis", (1, 1, 0), r"length 1\.41421 .*unit vector"),
    ("axis", (1e200, 0, 0), r"length 1e\+200 .*unit vector"),
    ("axis", (NAN, 0, 1), r"axis\[0\] is nan"),
    ("axis", (0, 1), "three numbers"),
    ("rotation", 2 * np.eye(3), "expected a rotation"),
    ("rotation", np.diag([1.0, 1.0, -1.0]), "expected a rotation: .*determinant 1"),
    ("rotation", np.zeros((3, 3)), "expected a rotation"),
    ("rotation", entry(np.eye(3), 0, 1, 1e-3), "expected a rotation"),
    ("rotation", [[1e200, -1e200, 0], [1e200, 1e200, 0], [0, 0, 1]], "expected a rotation"),
    ("rotation", np.eye(2), "3 x 3"),
    ("rotation", (0, 0, 0), "3 x 3"),
    ("rotation", entry(np.eye(3), 0, 1, NAN), r"rotation\[0\]\[1\] is nan"),
    ("a", 0.1, "not a key of a 'frames' row"),
    ("d", 0.1, "not a key of a 'frames' row"),
    ("mass", -3, r"is -3\.0 .*not negative"),
]


def shown(case: tuple[str, Any, str]) -> str:
    return re.sub(r"\s+", "", f"{case[0]}={case[1]!r}")[:40]


@in_turn(product(WRONG_DH, ["standard", "modified"]))
def test_a_wrong_dh_entry_is_refused_by_robot_link_and_entry(each):
    (key, value, said), convention = each
    good = {**TURNING, "name": "shoulder"}, {**TURNING, "name": "elbow"}, {**SLIDING, "name": "wrist"}
    said = said.replace("'standard'", repr(convention))
    message = dh_complaint(good[0], {**good[1], key: value}, good[2], convention=convention)
    assert re.match(rf"robot 'testbot', link 'elbow': {key}", message)
    assert re.search(said, message)
    dh(*good, convention=convention)


@pytest.mark.parametrize("case", WRONG_FRAMES, ids=shown)
def test_a_wrong_frames_entry_is_refused_by_robot_link_and_entry(case):
    key, value, said = case
    rows = [{**PLACED, "name": "shoulder"}, {**PLACED, "name": "elbow", key: value}]
    message = complaint(lw.Robot.from_frames, rows)
    assert re.match(rf"robot 'testbot', link 'elbow': {key}", message)
    assert re.search(said, message)


@pytest.mark.parametrize(
    ("row", "keys"),
    [
        (TURNING, ("joint", "a", "b", "alpha", "mass", "com", "inertia")),
        (SLIDING, ("joint", "a", "theta", "alpha", "mass", "com", "inertia")),
        (FIXED, ("joint", "a", "b", "alpha", "theta")),
    ],
    ids=["revolute", "prismatic", "fixed"],
)
def test_a_missing_dh_entry_is_named(row, keys):
    for key in keys:
        expected = "is None" if key == "joint" else "is missing .*expected"
        assert re.match(rf"robot 'testbot', link 'link2': {key} {expected}", dh_complaint(TURNING, without(row, key)))


@pytest.mark.parametrize("key", ["translation", "mass", "com", "inertia"])
def test_a_missing_frames_entry_is_named(key):
    message = complaint(lw.Robot.from_frames, [without(PLACED, key)])
    assert re.match(rf"robot 'testbot', link 'link1': {key} is missing .*expected", message)


@pytest.mark.parametrize(("row", "key"), [(TURNING, "theta"), (SLIDING, "b")])
def test_the_entry_that_varies_may_be_left_out_and_is_then_zero(row, key):
    assert dh(row) == dh({**row, key: 0.0}) != dh({**row, key: 0.5})


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["a", "b", "a"], "row 3: the name 'a' belongs to row 1"),
        (["link2", None], "row 2: the name 'link2' belongs to row 1"),
        (["a", ""], "row 2: name is ''"),
        (["a", "  "], "row 2: name is '  '"),
        (["a", "two\nlines"], r"row 2: name is 'two\\nlines'"),
        (["a", 7], "row 2: name is 7"),
    ],
)
def test_names_are_text_of_one_line_and_belong_to_one_link(names, said):
    message = dh_complaint(*({**TURNING, **({} if name is None else {"name": name})} for name in names))
    assert re.match(f"robot 'testbot', {said}", message)


@pytest.mark.parametrize(
    ("parents", "link", "said"),
    [
        ({"a": "d"}, "a", "'d', which comes later"),
        ({"b": "b"}, "b", "loop: b -> b "),
        ({"a": "b"}, "a", "loop: a -> b -> a "),
        ({"b": "d", "c": "b", "d": "c"}, "b", "loop: b -> d -> c -> b "),
        ({"a": "c", "c": "d"}, "a", "loop: c -> d -> c "),
        ({"a": "d", "d": "nowhere"}, "a", "comes later"),
    ],
)
def test_parents_come_first_and_cycles_are_listed(parents, link, said):
    rows = [{**TURNING, "name": name, **({"parent": parents[name]} if name in parents else {})} for name in "abcd"]
    if parents == {"a": "d"}:
        rows[3]["parent"] = "base"
    assert re.match(rf"robot 'testbot', link '{link}': parent .*{said}", dh_complaint(*rows))


@pytest.mark.parametrize("key", ["rotor_inertia", "viscous_friction", "coulomb_friction", "limits"])
def test_a_fixed_joint_has_no_drive(key):
    value = (0.0, 0.0) if key == "limits" else 0.1
    message = dh_complaint(TURNING, {**FIXED, key: value, "name": "flange"})
    assert re.match(rf"robot 'testbot', link 'flange': {key} .*fixed joint", message)


@pytest.mark.parametrize("rows", [[], [FIXED], [FIXED, FIXED]])
def test_a_robot_has_a_joint_that_moves(rows):
    assert re.match("robot 'testbot' has no joint that moves", dh_complaint(*rows))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (TURNING, "is a dict"),
        (None, "is a NoneType"),
        ("arm", "is a str"),
        (3, "is a int"),
        ([TURNING, 3], "row 2: is 3"),
    ],
    ids=["dict", "None", "str", "int", "row"],
)
def test_a_table_is_a_list_of_mappings(rows, said):
    assert re.search(f"robot 'testbot'.*{said} .*mapping", complaint(lw.Robot.from_dh, rows, convention="standard"))


@pytest.mark.parametrize("gravity", [(0, 0), 9.81, "down", None, (0, 0, NAN), (0, 0, "g"), (0, 0, True), np.eye(3)])
def test_gravity_is_three_numbers(gravity):
    assert re.match(r"robot 'testbot': gravity(\[2\]|\[0\])? is .*expected", dh_complaint(TURNING, gravity=gravity))
    with pytest.raises(lw.RobotError, match="gravity"):
        dh(TURNING).with_gravity(gravity)


@pytest.mark.parametrize("convention", ["Standard", "dh", "frames", None, ["standard"]])
def test_the_convention_is_one_of_two(convention):
    message = dh_complaint(TURNING, convention=convention)
    assert re.search(rf"convention is {re.escape(repr(convention))}.*'standard', 'modified'", message)
    if convention == "Standard":
        assert "did you mean 'standard'?" in message


def test_the_convention_is_always_said_and_the_name_is_text():
    with pytest.raises(TypeError, match="convention"):
        lw.Robot.from_dh([TURNING])
    with pytest.raises(lw.RobotError, match="name is 5"):
        dh(TURNING, name=5)


def test_errors_survive_a_trip_to_another_process():
    with pytest.raises(lw.RobotError) as caught:
        dh({**TURNING, "mass": -1.0})
    back = pickle.loads(pickle.dumps(caught.value))
    assert type(back) is type(caught.value)
    assert (str(back), back.row, back.key) == (str(caught.value), 0, "mass")


# what is accepted


@pytest.mark.parametrize(
    "inertia",
    [np.zeros((3, 3)), np.diag([0.0, 1.0, 1.0]), np.diag([1.0, 2.0, 3.0]), [[2, 1, 0], [1, 2, 0], [0, 0, 3]]],
    ids=["point", "rod", "plate", "turned plate"],
)
def test_bodies_at_the_edge_of_the_possible_are_accepted_with_rounding(inertia):
    turned = rotation(np.random.default_rng(0)) @ np.array(inertia, dtype=float) @ rotation(np.random.default_rng(0)).T
    assert dh({**TURNING, "inertia": turned}).n == 1


@pytest.mark.parametrize("number", [2, np.float32(2.0), np.int8(2), Fraction(2), Decimal(2), np.float64(2.0)])
def test_every_kind_of_real_number_becomes_a_float(number):
    arm = dh({**TURNING, "mass": number, "a": number}, gravity=(0, 0, number))
    assert arm == dh({**TURNING, "mass": 2.0, "a": 2.0}, gravity=(0, 0, 2.0))
    assert {type(arm.links[0].mass), type(arm.gravity[2]), type(arm.rows[0]["a"])} == {float}


def test_rows_may_come_from_a_generator_and_are_not_touched():
    rows = [copy.deepcopy(TURNING), copy.deepcopy(SLIDING)]
    before = repr(rows)
    arm = lw.Robot.from_dh((row for row in rows), convention="standard")
    assert repr(rows) == before
    again = dh(*rows)
    rows[0]["inertia"][0][0] = 5.0
    rows[0]["mass"] = 7.0
    assert arm == again


@pytest.mark.parametrize("row", [TURNING, SLIDING, FIXED], ids=lambda row: row["joint"])
@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_d_is_another_word_for_b(row, convention):
    row = {**row, "b": 0.7}
    renamed = {**without(row, "b"), "d": 0.7}
    arm, same = (dh(TURNING, r, convention=convention) for r in (row, renamed))
    assert arm == same
    assert arm.rows == same.rows


@pytest.mark.parametrize(
    ("text", "radians"),
    [
        ("90 deg", math.pi / 2),
        ("-90deg", -math.pi / 2),
        ("  +180.0   deg ", math.pi),
        ("1e1 deg", math.radians(10.0)),
        ("0.25 rad", 0.25),
        (".5rad", 0.5),
        ("2. rad", 2.0),
    ],
)
def test_angles_may_be_text_with_their_unit(text, radians):
    for key in ("alpha", "theta"):
        assert dh({**TURNING, key: text}) == dh({**TURNING, key: radians})
    assert dh({**TURNING, "limits": (text, 9.0)}).links[0].joint.limits == (radians, 9.0)


@pytest.mark.parametrize(
    "text",
    [
        "90",
        "deg",
        "",
        "90 grad",
        "1+1 deg",
        "__import__('os').getpid() deg",
        "nan deg",
        "1e999 deg",
        "90 deg deg",
        "1_0 deg",
    ],
)
def test_other_text_is_no_angle(text):
    assert re.search(r"link 'link1': alpha is .*expected", dh_complaint({**TURNING, "alpha": text}))


def test_a_long_text_is_refused_quickly():
    dh_complaint({**TURNING, "alpha": "1" * 100_000})


# frames, by hand in plain NumPy


def rotation(rng: np.random.Generator) -> np.ndarray:
    q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return q * np.linalg.det(q)


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


def build(rows: list[Row], convention: str, **keywords: Any) -> lw.Robot:
    if convention == "frames":
        return lw.Robot.from_frames(rows, **keywords)
    return lw.Robot.from_dh(rows, convention=convention, **keywords)


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
    assert [arm.frame(name).link for name in asked] == [-1, 1, 0, 1, 1, 1]
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
    arm = dh({**TURNING, "name": "upper"}, {**FIXED, "name": "tool"})
    with pytest.raises(lw.RobotError, match=r"robot 'robot': frame is 'tol', did you mean 'tool'.*'upper', 'tool'"):
        arm.frame("tol")


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


STANDARD = [
    lw.load("stanford"),
    lw.load("planar3"),
    *(lw.chain(n, seed=n, joints=j) for n, j in ((3, "P"), (6, "RRPR"))),
]


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
    with pytest.warns(UserWarning, match="axis is off by 6.0e-08"):
        arm = lw.Robot.from_frames([{**PLACED, "axis": (0.6000001, 0.8, 0.0)}])
    axis = arm.rows[0]["axis"]
    assert abs(math.hypot(*axis) - 1.0) < 1e-15
    assert lw.Robot.from_frames(arm.rows).rows == arm.rows


# robots as data


@pytest.mark.parametrize("robot", [*TEXTBOOK, *TREES[:4]], ids=ids([*TEXTBOOK, *TREES[:4]]))
def test_a_robot_is_its_rows_and_equal_robots_are_one_key(robot):
    again = build(robot.rows, robot.convention, gravity=robot.gravity, name="another name")
    assert again == robot
    assert hash(again) == hash(robot)
    assert len({robot, again}) == 1
    assert again.rows == robot.rows


def test_robots_differ_when_a_number_a_name_or_gravity_does():
    arm = dh(TURNING, SLIDING)
    others = [
        dh({**TURNING, "mass": 2.0000001}, SLIDING),
        dh({**TURNING, "name": "shoulder"}, SLIDING),
        dh(TURNING, {**SLIDING, "limits": (0, 1)}),
        dh(TURNING, {**SLIDING, "parent": "base"}),
        dh(TURNING, SLIDING, gravity=(0, 0, 0)),
        dh(TURNING, SLIDING, convention="modified"),
        dh(TURNING, SLIDING, FIXED),
    ]
    assert len({arm, *others}) == len(others) + 1
    assert arm.with_gravity((0, 0, 0)) == others[4]
    assert arm != "arm"


@pytest.mark.parametrize("robot", [*TEXTBOOK, TREES[3]], ids=ids([*TEXTBOOK, TREES[3]]))
def test_robots_survive_pickling_and_copying(robot):
    assert robot.links[0].body is robot.links[0].body  # cached, and no hindrance
    for back in (pickle.loads(pickle.dumps(robot)), copy.deepcopy(robot)):
        assert back == robot
        assert (back.name, back.convention, back.rows) == (robot.name, robot.convention, robot.rows)


@pytest.mark.parametrize("part", [lambda r: r, lambda r: r.links[0], lambda r: r.links[0].joint, lambda r: r.frames[0]])
def test_robots_and_their_parts_are_frozen(part):
    thing = part(dh(TURNING, FIXED))
    for name in thing.__dataclass_fields__:
        with pytest.raises(FrozenInstanceError):
            setattr(thing, name, 0)


def test_the_rows_of_a_robot_are_copies():
    arm = dh(TURNING)
    arm.rows[0]["mass"] = 77.0
    assert arm.rows[0]["mass"] == 2.0


def test_links_joints_and_leaves_are_as_said():
    rows = [{**TURNING, "name": n, "parent": p} for n, p in (("a", "base"), ("b", "a"), ("c", "a"), ("d", "c"))]
    drive = {"rotor_inertia": 0.1, "viscous_friction": 0.2, "coulomb_friction": 0.3, "limits": (-1, "90 deg")}
    tree = dh(*rows[:3], {**SLIDING, "name": "d", "parent": "c", **drive})
    assert (tree.n, tree.names, tree.joints) == (4, ("a", "b", "c", "d"), "RRRP")
    assert [link.parent for link in tree.links] == [-1, 0, 0, 2]
    assert tree.leaves == (1, 3)
    assert tree.ancestors(3) == (3, 2, 0)
    joint = tree.links[3].joint
    assert (joint.rotor_inertia, joint.viscous_friction, joint.coulomb_friction) == (0.1, 0.2, 0.3)
    assert joint.limits == (-1.0, math.pi / 2)


# described to a person


@pytest.mark.parametrize("robot", [*TEXTBOOK, TREES[3]], ids=ids([*TEXTBOOK, TREES[3]]))
def test_a_description_says_convention_units_gravity_and_every_link(robot):
    text = lw.describe(robot)
    assert repr(text) == str(text)
    said = {"standard": "standard DH", "modified": "modified DH", "frames": "frames:"}[robot.convention]
    assert re.search(rf"^convention: {said}", text, re.MULTILINE)
    assert re.search(r"^gravity: \(.*\) m/s2 in the base frame; SI units", text, re.MULTILINE)
    assert ("* is the joint's variable" in text) == (robot.convention != "frames")
    for name in robot.names:
        assert len(re.findall(rf"^{name} ", text, re.MULTILINE)) >= 2  # geometry and body
    for number in robot.gravity:
        assert f"{number + 0.0:.6g}" in text
    assert all(line == line.rstrip() for line in text.split("\n"))


def test_a_description_reads_like_the_table():
    rows = [
        {**TURNING, "name": "shoulder", "alpha": "90 deg", "limits": ("-45 deg", "45 deg"), "rotor_inertia": 0.25},
        {**SLIDING, "name": "arm", "b": 0.4, "limits": (0, 1.5)},
        {**FIXED, "name": "tool", "parent": "shoulder"},
    ]
    text = lw.describe(dh(*rows, name="crane"))
    first = text.split("\n", 1)[0]
    assert first == "crane: 2 joints (RP), a chain"
    assert re.search(r"^shoulder +revolute +0\.3 +0\.1 +90 +0\*$", text, re.MULTILINE)
    assert re.search(r"^arm +prismatic +0\.3 +0\.4\* +28\.6479 +11\.4592$", text, re.MULTILINE)
    assert re.search(r"^tool +fixed +0\.3 +0\.1 +28\.6479 +11\.4592$", text, re.MULTILINE)
    assert re.search(r"^shoulder +2 +\(0\.1, 0, 0\) +0\.1 +0\.1 +0\.1 +0 +0 +0$", text, re.MULTILINE)
    assert re.search(r"^shoulder +0\.25 +\(-45, 45\)$", text, re.MULTILINE)
    assert re.search(r"^arm +- +\(0, 1\.5\)$", text, re.MULTILINE)


def test_the_columns_of_a_description_stand_under_their_heads():
    lines = lw.describe(lw.load("puma560")).split("\n")
    starts = [i for i, line in enumerate(lines) if line.startswith(("link ", "joint "))]
    assert len(starts) == 3
    for start in starts:
        columns = [m.start() for m in re.finditer(r"(?<=\s\s)\S|^\S", lines[start])]
        for row in lines[start + 2 : start + 8]:
            assert row.startswith("link")
            assert all(row[c - 1] == " " != row[c] for c in columns[1:])


# robots for studies


@pytest.mark.parametrize("make", [lw.chain, lw.random_tree])
def test_study_robots_are_the_same_for_the_same_seed_only(make):
    assert make(6, seed=4) == make(6, seed=4)
    assert make(6, seed=4).name == make(6, seed=4).name
    assert len({make(6, seed=seed) for seed in range(20)}) == 20
    assert make(np.int64(3)).n == 3


@pytest.mark.parametrize(
    ("n", "word", "kinds"), [(1, "R", "R"), (5, "RRP", "RRPRR"), (4, "P", "PPPP"), (2, "RPP", "RP")]
)
def test_study_robots_have_the_joints_asked_for(n, word, kinds):
    assert lw.chain(n, joints=word).joints == kinds
    assert lw.random_tree(n, joints=word).joints == kinds


def test_a_chain_is_general_and_a_tree_branches():
    arm = lw.chain(12, seed=5, joints="RP")
    assert all(link.parent == link.index - 1 for link in arm.links)
    assert all(row["a"] and row["alpha"] and all(row["com"]) and np.all(row["inertia"]) for row in arm.rows)
    assert {joint for seed in range(5) for joint in lw.random_tree(9, seed=seed).joints} == {"R", "P"}
    assert any(len(lw.random_tree(9, seed=seed).leaves) > 1 for seed in range(5))


@pytest.mark.parametrize("make", [lw.chain, lw.random_tree])
@pytest.mark.parametrize("n", [0, -1, 2.5, "3", None, True])
def test_study_robots_refuse_a_wrong_number_of_links(make, n):
    with pytest.raises(lw.RobotError, match=rf"n is {re.escape(repr(n))} .*at least 1"):
        make(n)


@pytest.mark.parametrize("make", [lw.chain, lw.random_tree])
@pytest.mark.parametrize("joints", ["", "RX", "rp", 3, ["R"]])
def test_study_robots_refuse_a_wrong_word_of_joints(make, joints):
    with pytest.raises(lw.RobotError, match=rf"joints is {re.escape(repr(joints))} .*R revolute, P prismatic"):
        make(2, joints=joints)


def test_nobody_can_change_a_robot_by_its_table():
    arm = lw.load("puma560")
    arm.rows[0]["mass"] = 99.0
    assert arm.rows[0]["mass"] == 0.0
    with pytest.raises((TypeError, AttributeError)):
        arm.table[0][3] = ("mass", 99.0)


def test_a_robot_without_rotors_is_so_in_its_table_too(tmp_path):
    bare = lw.load("puma560").without_rotors()
    lw.save(bare, tmp_path / "bare.toml")
    assert lw.load(tmp_path / "bare.toml") == bare
    assert "rotor" not in lw.describe(bare).split("bodies")[1]


def test_a_robot_of_many_digits_is_not_saved_as_if_it_had_few(tmp_path):
    mpmath = pytest.importorskip("mpmath")
    with pytest.raises(lw.FileError, match="many digits"):
        lw.save(lw.load("stanford").cast(mpmath.mpf), tmp_path / "exact.toml")


@pytest.mark.parametrize("key", ["alpha", "theta"])
def test_degrees_given_as_radians_are_noticed(key):
    row = {**lw.load("planar3").rows[0], key: 90}
    with pytest.raises(lw.RobotError, match=rf'link1.*{key} is 90 radians.*did you mean "90 deg"'):
        lw.Robot.from_dh([row], convention="standard")


def test_a_robot_shows_itself_in_a_line():
    assert repr(lw.load("stanford")) == "<Robot 'stanford': 6 joints RRPRRR, standard>"


def test_save_says_what_it_wants(tmp_path):
    with pytest.raises(TypeError, match="expected a Robot"):
        lw.save(str(tmp_path / "x.toml"), lw.load("gantry"))
    with pytest.raises(lw.FileError, match="does not exist"):
        lw.save(lw.load("gantry"), tmp_path / "nowhere" / "x.toml")
    with pytest.raises(lw.FileError, match="no robot is named"):
        lw.load("")


def test_a_long_robot_is_described_by_its_first_joints() -> None:
    assert str(lw.describe(lw.chain(60))).splitlines()[0] == f"chain-60-0-R: 60 joints ({'R' * 40}...), a chain"
