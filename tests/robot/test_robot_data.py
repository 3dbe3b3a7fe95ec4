"""Robots as data: equality, copies, frozen tables, descriptions; random robots for studies."""

import copy
import math
import pickle
import re
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import linkwise as lw
from facts import raises
from robots import TEXTBOOK, TREES, ids
from table_rows import FIXED, SLIDING, TURNING, build, dh

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


WRONG_SIZES = [({"n": n}, "n", "at least 1") for n in (0, -1, 2.5, "3", None, True)]
WRONG_WORDS = [({"joints": x}, "joints", "R revolute, P prismatic") for x in ("", "RX", "rp", 3, ["R"])]


@pytest.mark.parametrize("make", [lw.chain, lw.random_tree])
@pytest.mark.parametrize(("wrong", "name", "expected"), [*WRONG_SIZES, *WRONG_WORDS])
def test_study_robots_refuse_wrong_numbers_of_links_and_words_of_joints(make, wrong, name, expected):
    with raises(lw.errors.RobotError, f"{name} is {wrong[name]!r} ", expected):
        make(**{"n": 2, **wrong})


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
    with raises(lw.errors.FileError, "digits"):
        lw.save(lw.load("stanford").cast(mpmath.mpf), tmp_path / "exact.toml")


def test_save_says_what_it_wants(tmp_path):
    with raises(TypeError, "Robot"):
        lw.save(str(tmp_path / "x.toml"), lw.load("gantry"))
    with raises(lw.errors.FileError, "x.toml", tmp_path / "nowhere"):
        lw.save(lw.load("gantry"), tmp_path / "nowhere" / "x.toml")
    with raises(lw.errors.FileError, "name", "stanford", "ur5e", "file"):
        lw.load("")


def test_a_long_robot_is_described_by_its_first_joints() -> None:
    assert str(lw.describe(lw.chain(60))).splitlines()[0] == f"chain-60-0-R: 60 joints ({'R' * 40}...), a chain"
