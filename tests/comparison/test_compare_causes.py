"""`lw.compare` names a cause only where it explains the difference, and says by how much numbers differ."""

import re

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from linkwise.robot import from_table

MOMENTS = np.diag([0.04, 0.05, 0.03])
PRODUCTS = MOMENTS + np.array([[0.0, 0.004, 0.002], [0.004, 0.0, -0.003], [0.002, -0.003, 0.0]])


def arm(**last):
    """Two links; the last one has these entries."""
    body = {"joint": "revolute", "mass": 2.0, "com": (0.0, 0.0, 0.0), "inertia": MOMENTS}
    rows = [
        {**body, "axis": (0, 0, 1), "translation": (0, 0, 0), "com": (0.1, 0.02, 0.0)},
        {**body, "axis": (0.6, 0, 0.8), "translation": (0.3, 0, 0), **last},
    ]
    return lw.Robot.from_frames(rows, name="arm")


def changed_tensor(tensor, at, by):
    other = np.array(tensor)
    other[at] += by
    other[at[::-1]] = other[at]
    return other


@pytest.mark.parametrize("com", [(0.0, 0.0, 0.0), (0.03, -0.02, 0.04), (1e-5, 0.0, 0.0)])
@pytest.mark.parametrize("tensor", [MOMENTS, PRODUCTS])
@pytest.mark.parametrize("by", rest_slow([3.3e-9, -2e-8, 1e-6], [3.3e-9]))
def test_a_small_change_of_one_moment_of_inertia_has_no_cause(com, tensor, by):
    for at in ((0, 0), (1, 1), (2, 2)) if by < 0.0 else ((2, 2),):
        other = arm(com=com, inertia=changed_tensor(tensor, at, by))
        found = [f for f in lw.compare(arm(com=com, inertia=tensor), other).findings if f.share is not None]
        assert [f.kind for f in found] == ["inertia"]
        name = "I" + "xyz"[at[0]] * 2
        assert name in found[0].message
        assert f"{abs(by):.6g}" in found[0].message or abs(by) > 1e-7  # two numbers of six digits may look the same


def test_causes_are_named_where_they_explain_the_difference():
    com = np.array([0.03, -0.02, 0.04])
    about_joint = PRODUCTS + 2.0 * (com @ com * np.eye(3) - np.outer(com, com))
    mirrored = np.where(np.eye(3) > 0, PRODUCTS, -PRODUCTS)
    for tensor, kind in ((about_joint, "inertia about the joint"), (mirrored, "products of inertia")):
        result = lw.compare(arm(com=com, inertia=PRODUCTS), arm(com=com, inertia=tensor.round(8)))
        assert {f.kind for f in result.findings if f.share is not None} == {kind}
    turned = lw.compare(arm(inertia=MOMENTS), arm(inertia=[[0.05, 0, 0], [0, 0.04, 0], [0, 0, 0.03]]))
    assert {f.kind for f in turned.findings} == {"axes of inertia"}


@pytest.mark.parametrize(
    ("entries", "others"),
    [
        ({"mass": 2.0}, {"mass": 2.0 + 1e-7}),
        ({"com": (0.1, 0.2, 0.3)}, {"com": (0.1, 0.2 + 1e-8, 0.3)}),
        ({"com": (0.1, 0.2, 0.3)}, {"mass": 2 + 1e-7, "com": (0.1, 0.2 + 1e-8, 0.3), "inertia": MOMENTS + 1e-9}),
        ({"rotor_inertia": 0.3}, {"rotor_inertia": 0.3 + 1e-9}),
        ({"viscous_friction": 0.3}, {"viscous_friction": 0.3 + 1e-9}),
        ({"limits": (-1.0, 2.0)}, {"limits": (-1.0, 2.0 + 2e-6)}),
        ({"translation": (0.3, 0.0, 0.0)}, {"translation": (0.3, 0.0, 1e-9)}),
    ],
)
def test_numbers_that_look_the_same_come_with_their_difference(entries, others):
    message = lw.compare(arm(**entries), arm(**others)).findings[0].message
    assert "opposite" not in message
    assert re.search(r"[0-9]e-(0[6-9]|10)", message), message


def test_friction_is_no_finding_without_effect():
    """Torques are compared without it: that it has none on them says nothing about the robots."""
    result = lw.compare(arm(), arm(viscous_friction=0.2, coulomb_friction=1.0, stiffness=3.0, limits=(-1.0, 1.0)))
    text = str(result)
    aside, without = text.index("torques are compared without these"), text.index("without effect on torques")
    assert aside < text.index("viscous friction of") < text.index("stiffness of") < without < text.index("limits of")
    assert result.verdict.startswith("The same dynamics, friction and springs aside")
    assert "no effect" not in str(next(f for f in result.findings if f.kind == "viscous friction"))
    assert "no effect" not in result._repr_html_().partition("limits of")[0].partition("viscous")[0]


def test_what_has_an_effect_only_one_by_one_has_none():
    """A joint that is moved along its own axis, and its body the other way: no torque changes."""
    result = lw.compare(arm(), arm(translation=(0.3 + 0.6e-3, 0.0, 0.8e-3), com=(-0.6e-3, 0.0, -0.8e-3)))
    assert result.same
    assert [f.share for f in result.findings] == [None] * len(result.findings)
    assert result.first is None
    result = lw.compare(arm(), arm(translation=(0.3, 0.0, 1e-9)))
    assert [f.share for f in result.findings] == [None] * len(result.findings)


def reattached(seed: int, kind: str) -> tuple[lw.Robot, lw.Robot, str, str, str]:
    """A random tree with fixed links, the same with one link on another parent; the link, and both parents."""
    rng = np.random.default_rng(seed)
    tree = lw.random_tree(6, seed=seed, joints="RPRSRR" if kind == "ball" else "RRPR")
    rows, place = tree.rows, dict(zip(("a", "b", "alpha", "theta"), rng.normal(size=4), strict=True))
    if tree.convention == "frames":
        place = {"translation": rng.normal(size=3)}
    for k, host in enumerate(rng.choice(tree.names, 3)):
        body = {"mass": 0.7, "com": rng.normal(size=3), "inertia": np.eye(3)}
        rows.append({"name": f"fixed{k}", "parent": str(host), "joint": "fixed", **place, **body})
    k = int(rng.integers(6, 9) if kind == "fixed" else rng.integers(1, 6))
    others = [name for name in ("base", *tree.names[: min(k, 6)]) if name != rows[k]["parent"]]
    after = str(rng.choice(others))
    changed = [*rows[:k], {**rows[k], "parent": after}, *rows[k + 1 :]]
    one, other = (from_table(table, tree.convention, tree.gravity, "tree") for table in (rows, changed))
    return one, other, rows[k]["name"], rows[k]["parent"], after


def test_frames_in_between_and_other_conventions_are_no_other_parents():
    arm = lw.load("ur5e")
    others = [arm.with_free_base(), arm.with_locked(arm.joint_names[2]), arm.with_payload(1.0)]
    others.append(lw.convert(arm, "modified"))
    assert not [f for other in others for f in lw.compare(arm, other, states=2).findings if f.kind == "parent"]
    assert not [f for other in others for f in lw.compare(other, arm, states=2).findings if f.kind == "parent"]


def changed(robot: lw.Robot, link: str, **entries: object) -> lw.Robot:
    rows = robot.rows
    next(row for row in rows if row["name"] == link).update(entries)
    return from_table(rows, robot.convention, robot.gravity, robot.name)


def carried_fixed_links(robot: lw.Robot) -> list[str]:
    return [frame.name for frame in robot.frames if not frame.on_base]


@pytest.mark.parametrize("names", rest_slow([["ur5e", "so101"], [*lw.LIBRARY]], [["ur5e", "so101"]]))
def test_the_mass_of_a_fixed_link_is_named_in_both(names: list[str]):
    robots = [lw.load(name) for name in names]
    for robot, link in [(one, link) for one in robots for link in carried_fixed_links(one)]:
        before = next(row for row in robot.rows if row["name"] == link).get("mass", 0.0)
        bare = changed(robot, link, mass=0.0, com=(0, 0, 0), inertia=np.zeros((3, 3))) if before else robot
        heavy = changed(robot, link, mass=before + 0.5)
        for a, b, masses in ((bare, heavy, (0.0, before + 0.5)), (heavy, bare, (before + 0.5, 0.0))):
            result = lw.compare(a, b, states=2)
            assert "hangs" not in str(result)
            (found,) = (f for f in result.findings if f.kind == "fixed link")
            assert (found.where, found.value_a or 0.0, found.value_b or 0.0) == (link, *map(pytest.approx, masses))
            pairs = zip(masses, "ab", strict=True)
            shown = [f"{mass:.6g} kg in {side}" if mass else f"no mass in {side}" for mass, side in pairs]
            assert ", ".join(shown) in found.message


@pytest.mark.parametrize("kind", ["single", "ball", "fixed"])
@pytest.mark.parametrize("seed", rest_slow(range(8), [0, 1]))
def test_a_link_that_hangs_elsewhere_is_the_only_cause(kind: str, seed: int):
    """With both parents. What only follows from it is not said; what differs besides is."""
    one, other, link, before, after = reattached(seed, kind)
    for a, b, parents in ((one, other, (before, after)), (other, one, (after, before))):
        result = lw.compare(a, b, states=3)
        (found,) = result.findings
        assert (found.kind, found.where, found.share) == ("parent", link, pytest.approx(1.0))
        assert (found.value_a, found.value_b) == tuple(name.replace("base", "") for name in parents)
        assert all(name in found.message for name in (link, before, after))
        assert found.message in result.verdict
        assert not result.same
        assert result.remaining < 1e-9
        assert result.coordinates == ("q_b = q_a",) * len(a.moving)
    assert not [f for f in lw.compare(one, one, states=3).findings if f.kind == "parent"]
    tip = one.names[-1]
    result = lw.compare(one, changed(other, tip, mass=9.0), states=3)
    assert ("parent", link) in {(f.kind, f.where) for f in result.findings}
    assert {f.where for f in result.findings if f.kind in ("mass", "body")} == {tip}
    assert len(result.findings) == 2


@pytest.mark.parametrize("seed", rest_slow(range(12), [2, 3]))
def test_a_link_that_hangs_elsewhere_at_the_same_place_is_the_only_cause(seed: int):
    """As where a tool is drawn at the right place and its parent is mistaken: at q = 0 both robots look the same."""
    one, _, link, _, after = reattached(seed, "ball")
    places = {"base": np.eye(4)}
    for row in one.rows:
        step = np.eye(4)
        step[:3, :3], step[:3, 3] = row.get("rotation", np.eye(3)), row["translation"]
        places[row["name"]] = places[row["parent"] or "base"] @ step
    place = np.linalg.inv(places[after or "base"]) @ places[link]
    other = changed(one, link, parent=after, translation=place[:3, 3], rotation=place[:3, :3])
    for a, b in ((one, other), (other, one)):
        result = lw.compare(a, b, states=3)
        assert [(f.kind, f.where, f.share) for f in result.findings] == [("parent", link, pytest.approx(1.0))]
        assert "same place" in result.findings[0].message
        assert {m.a for m in result.matches} == {m.b for m in result.matches} == set(one.joint_names)


def right_angles(seed: int) -> lw.Robot:
    """A chain of four links, turned by right angles: their axes are alike."""
    rng, rows = np.random.default_rng(seed), []
    for k, name in enumerate(names := ["slide", "arm", "tool", "cam"]):
        rotation = np.eye(3)[rng.permutation(3)]
        row = {"name": name, "parent": ["", *names][k]}
        row |= {"joint": "revolute", "translation": 0.1 * rng.integers(-3, 4, 3), "mass": 1.0 + k}
        row |= {"rotation": rotation * np.linalg.det(rotation), "com": 0.05 * rng.integers(-2, 3, 3)}
        rows.append({**row, "inertia": np.diag([0.01, 0.02, 0.03])})
    return lw.Robot.from_frames(rows, gravity=(0, 0, -9.81))


@pytest.mark.parametrize("seed", rest_slow(range(40), [0, 2]))
def test_joints_of_the_same_names_are_matched_by_them_where_one_hangs_elsewhere_and_another_has_moved(seed: int):
    one = right_angles(seed)
    place = np.add(one.rows[0]["translation"], (0, 0.03, 0.01))
    result = lw.compare(one, changed(changed(one, "arm", parent=""), "slide", translation=place), states=3)
    assert [(m.a, m.b) for m in result.matches] == [(name, name) for name in one.names]
    assert ("parent", "arm") in {(f.kind, f.where) for f in result.findings}


def test_what_brings_nothing_takes_no_share_from_what_explains_everything():
    """A joint on the base, turning about an axis that only moves along, has no effect beside the parent of another."""
    one = lw.random_tree(4, seed=8284)
    place = np.add(one.rows[2]["translation"], (0, 0.03, 0.01))
    result = lw.compare(one, changed(changed(one, "link3", translation=place), "link4", parent="link3"))
    assert [(f.kind, f.where, f.share) for f in result.findings if f.share is not None] == [
        ("parent", "link4", pytest.approx(1.0))
    ]
    assert [(f.kind, f.where) for f in result.findings if f.share is None] == [("placement", "link3")]


def test_a_joint_of_another_kind_is_named_with_both_kinds():
    one = right_angles(0)
    found = lw.compare(one, changed(one, "tool", joint="prismatic"))
    messages = [f.message for f in found.findings]
    assert [text for text in messages if "revolute joint 'tool'" in text and "prismatic in the other" in text]
    assert str(found).partition("\n\n")[0].count("'tool'") == 1


ELSEWHERE = [
    ("ur5e", "forearm_link", "base_link_inertia"),
    ("panda", "panda_leftfinger", "panda_hand_tcp"),  # another row of the same body
    ("quadruped", "hind_left_hip", "front_right_shank"),
    ("go1", "FL_thigh", "base"),
    ("g1", "right_shoulder_pitch_link", "mid360_link"),
]


@pytest.mark.parametrize(("name", "link", "parent"), rest_slow(ELSEWHERE, ELSEWHERE[:3]))
def test_a_link_of_a_library_robot_that_hangs_elsewhere_is_the_only_cause(name: str, link: str, parent: str):
    robot = lw.load(name)
    result = lw.compare(robot, changed(robot, link, parent=parent), states=2)
    assert [(f.kind, f.where, f.share) for f in result.findings] == [("parent", link, pytest.approx(1.0))]
    assert result.differences[-1].relative > 0.01


def test_a_link_that_moves_is_not_called_fixed():
    for seed in range(4):
        tree = lw.random_tree(5, seed=seed, joints="R")
        rows = tree.rows
        less = from_table(rows[:-1], tree.convention, tree.gravity, "less")
        for pair in ((tree, less), (less, tree)):
            messages = [f.message for f in lw.compare(*pair, states=2).findings if f.kind == "fixed link"]
            assert [text for text in messages if rows[-1]["name"] in text]
            assert not [text for text in messages if "fixed link" in text]


@pytest.mark.slow
@pytest.mark.parametrize("name", lw.LIBRARY)
def test_a_random_link_of_a_library_robot_that_hangs_elsewhere_is_the_only_cause(name: str):
    robot, rng = lw.load(name), np.random.default_rng(0)
    rows = robot.rows
    for k in rng.integers(1, len(rows), 4):
        link, parent = rows[k]["name"], str(rng.choice(["", *(row["name"] for row in rows[:k])]))
        result = lw.compare(robot, changed(robot, link, parent=parent), states=2)
        assert [f.where for f in result.findings if f.share is not None] == [link] * (not result.same)
        assert {f.kind for f in result.findings} <= {"parent", "tool", "fixed link"}


def test_links_beside_the_names_of_their_joints_hang_where_they_did(tmp_path):
    """Robots of Pinocchio have joints as rows, and their links fixed to these."""
    pinocchio = pytest.importorskip("pinocchio")
    path = str(tmp_path / "arm.urdf")
    lw.save(lw.load("ur5e"), path, urdf_rotors="drop")
    model = pinocchio.buildModelFromUrdf(path)
    arm = lw.load(path)
    assert not lw.compare(arm, lw.from_pinocchio(model)).findings
    model.inertias[3].mass *= 1.1
    assert [finding.kind for finding in lw.compare(arm, lw.from_pinocchio(model)).findings] == ["mass"]


@pytest.mark.parametrize("mass", [0.7, 0.8, 1.2])
def test_shares_add_up_where_a_correction_makes_the_difference_larger(mass: float):
    """A mass on another parent, and a mass that makes up for it: the difference at the start is the smaller one."""
    body = {"joint": "revolute", "axis": (0, 1, 0), "mass": 1.5, "com": (0, 0, 0.15), "inertia": 0.01 * np.eye(3)}
    rows = [{**body, "name": f"link{k}", "translation": (0, 0, 0.35)} for k in (1, 2)]
    wrist = {**body, "name": "wrist", "parent": "link2", "translation": (0, 0, 0.3), "com": (0, 0, 0.03)}
    load = {"name": "camera", "joint": "fixed", "mass": 0.3, "com": (0.02, 0, 0), "translation": (0.05, 0, 0.1)}
    one = lw.Robot.from_frames([*rows, {**wrist, "mass": 0.6}, {**load, "parent": "link2"}])
    other = lw.Robot.from_frames([*rows, {**wrist, "mass": mass}, {**load, "parent": "link1"}])
    result = lw.compare(one, other)
    shares = [f.share for f in result.findings if f.share is not None]
    assert {f.kind for f in result.findings if f.share is not None} >= {"parent", "mass"}
    assert sum(shares) == pytest.approx(1.0, abs=1e-9)
