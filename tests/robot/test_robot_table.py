"""Robots from tables: what is refused, in which words, and what is accepted."""

import copy
import math
import pickle
import re
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import in_turn
from facts import raises
from table_rows import FIXED, INF, NAN, PLACED, SLIDING, TURNING, complaint, dh, dh_complaint, entry, rotation, without

# what is refused, how

NUMBERS_REFUSED = [
    *(NAN, INF, -INF, "3", True, np.True_, None, 1j, [1.0], (), {}, np.ones(1), b"1", bytearray(b"1"), 10**400),
]
NO_ANGLES = [
    *("90", "deg", "", "90 grad", "1+1 deg", "__import__('os').getpid() deg", "nan deg", "1e999 deg", "90 deg deg"),
    *("1_0 deg", "1" * 100_000),
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
    *(("alpha", text, "expected") for text in NO_ANGLES),
    *(("com", value, "three numbers") for value in [(0, 0), (0, 0, 0, 0), "abc", 3.0, None, {"x": 1, "y": 2, "z": 3}]),
    *((key, np.array(0.25), "is array.0.25. .*expected") for key in ("com", "inertia", "limits")),
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
    ("joint", "hinge", "'hinge', did you mean 'revolute'.*'prismatic', .*'free'.* or 'fixed'"),
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
        (PLACED, ("translation", "mass", "com", "inertia")),
    ],
    ids=["revolute", "prismatic", "fixed", "frames"],
)
def test_a_missing_entry_is_named(row, keys):
    for key in keys:
        rows, expected = [row, without(row, key)], "is None" if key == "joint" else "is missing .*expected"
        said = complaint(lw.Robot.from_frames, rows) if row is PLACED else dh_complaint(TURNING, rows[1])
        assert re.match(rf"robot 'testbot', link 'link2': {key} {expected}", said)


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


def test_a_table_is_a_list_of_mappings():
    for rows, said in ((TURNING, "a dict"), (None, "a NoneType"), ("arm", "a str"), (3, "a int"), ([TURNING, 3], "3")):
        assert re.search(f"'testbot'.*is {said} .*mapping", complaint(lw.Robot.from_dh, rows, convention="standard"))


@pytest.mark.parametrize("gravity", [(0, 0), 9.81, "down", None, (0, 0, NAN), (0, 0, "g"), (0, 0, True), np.eye(3)])
def test_gravity_is_three_numbers(gravity):
    assert re.match(r"robot 'testbot': gravity(\[2\]|\[0\])? is .*expected", dh_complaint(TURNING, gravity=gravity))
    with pytest.raises(lw.errors.RobotError, match="gravity"):
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
    with raises(lw.errors.RobotError, "name", "5"):
        dh(TURNING, name=5)


def test_errors_survive_a_trip_to_another_process():
    with pytest.raises(lw.errors.RobotError) as caught:
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


ANGLES = {"90 deg": math.pi / 2, "-90deg": -math.pi / 2, "  +180.0   deg ": math.pi, "1e1 deg": math.radians(10.0)}


@pytest.mark.parametrize(("text", "radians"), [*ANGLES.items(), ("0.25 rad", 0.25), (".5rad", 0.5), ("2. rad", 2.0)])
def test_angles_may_be_text_with_their_unit(text, radians):
    for key in ("alpha", "theta"):
        assert dh({**TURNING, key: text}) == dh({**TURNING, key: radians})
    assert dh({**TURNING, "limits": (text, 9.0)}).links[0].joint.limits == (radians, 9.0)


@pytest.mark.parametrize("key", ["alpha", "theta"])
def test_degrees_given_as_radians_are_noticed(key):
    row = {**lw.load("planar3").rows[0], key: 90}
    with pytest.raises(lw.errors.RobotError, match=rf'link1.*{key} is 90 radians.*did you mean "90 deg"'):
        lw.Robot.from_dh([row], convention="standard")


def test_a_table_without_rows_is_no_wrong_row():
    for make in (partial(lw.Robot.from_dh, convention="standard"), lw.Robot.from_frames):
        with raises(lw.errors.RobotError, "robot 'robot'", "joint") as error:
            make([])
        assert not isinstance(error.value, lw.errors.RowError)
