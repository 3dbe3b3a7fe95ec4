"""`lw.compare`: the same robot in other clothes is the same, and every planted difference is named and proven."""

import itertools
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from disguise import disguised, make_pose, rotation
from effort import THOROUGH, in_turn, rest_slow
from facts import raises
from linkwise.comparison.skeleton import skeleton_of

ARM, TREE, FREE = lw.chain(5, seed=3, joints="RRPRR"), lw.random_tree(6, seed=4, joints="RRPR"), lw.load("quadruped")
ROBOTS = {"arm": ARM, "tree": TREE, "free": FREE}
CASES = {"arm": 2, "tree": 3, "free": 5}  # in which link something is changed


def with_rows(robot, change, **options):
    """The robot with some rows of its table changed."""
    rows = robot.rows
    change(rows)
    gravity = options.get("gravity", robot.gravity)
    if robot.convention == "frames":
        return lw.Robot.from_frames(rows, gravity=gravity, name="changed", unphysical="warn")
    return lw.Robot.from_dh(rows, convention=robot.convention, gravity=gravity, name="changed", unphysical="warn")


def general(robot):
    """The robot with general tensors: symmetric bodies hide errors."""
    rng = np.random.default_rng(1)

    def change(rows):
        for row in rows:
            if row["mass"]:
                R, moments = rotation(rng), rng.uniform(1.0, 1.6, 3) * row["mass"] * 0.02
                row["inertia"] = R @ np.diag(moments) @ R.T
                row["com"] = np.array(row["com"]) + rng.uniform(0.02, 0.05, 3)

    return with_rows(robot, change)


def kinds(result):
    return {f.kind for f in result.findings if f.share is not None}


CLOTHES = list(
    itertools.product(("planar3", "puma560", "satellite", "quadruped"), ("frames", "flips", "zeros", "base"))
)
QUICK_CLOTHES = [("planar3", "zeros"), ("satellite", "base")]


@pytest.mark.parametrize(("name", "case"), rest_slow(CLOTHES, QUICK_CLOTHES))
def test_the_same_robot_in_other_clothes_is_the_same(name, case):
    robot, rng = lw.load(name), np.random.default_rng(7)
    single = [unit.index for unit in skeleton_of(robot).units if unit.kind not in ("ball", "free")]
    options = {}
    if case == "flips":
        options = {"flips": single[::2]}
    if case == "zeros":
        options = {"zeros": {k: float(rng.uniform(-0.5, 0.5)) for k in single}}
    if case == "base":
        options = {"base": make_pose(rotation(rng), rng.normal(size=3))}
    other = disguised(robot, 5, **options, names=lambda k: f"body_{k + 1}")
    result = lw.compare(robot, other)
    assert result.same, str(result)
    assert result.remaining < 1e-9
    assert len(result.matches) == len(skeleton_of(robot).units)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_random_robots_in_other_clothes_are_the_same(seed):
    rng = np.random.default_rng(seed)
    letters = "".join(rng.choice(list("RRRPPHSUC"), size=6))
    letters = letters.replace("H", "R", 1) if letters[0] == "H" else letters  # where a screw stands is not found
    robot = general((lw.chain if seed % 2 else lw.random_tree)(6, seed=seed, joints=letters))
    single = [unit.index for unit in skeleton_of(robot).units if unit.kind != "ball"]
    flips = [k for k in single if rng.random() < 0.5]
    zeros = {k: float(rng.uniform(-0.5, 0.5)) for k in single if rng.random() < 0.5}
    base = make_pose(rotation(rng), rng.normal(size=3)) if seed % 3 else None
    result = lw.compare(robot, disguised(robot, seed, flips=flips, zeros=zeros, base=base))
    assert result.same, str(result)


def planted_mass(rows, k):
    rows[k]["mass"] *= 1.25


def planted_com(rows, k):
    rows[k]["com"] = np.add(rows[k]["com"], (0.01, -0.02, 0.015))


def planted_products(rows, k):
    I = np.array(rows[k]["inertia"])
    rows[k]["inertia"] = 2.0 * np.diag(np.diag(I)) - I


def planted_about_joint(rows, k):
    c = np.array(rows[k]["com"])
    I = np.array(rows[k]["inertia"]) + rows[k]["mass"] * (c @ c * np.eye(3) - np.outer(c, c))
    rows[k]["inertia"] = I


def planted_inertia(rows, k):
    rows[k]["inertia"] = np.array(rows[k]["inertia"]) * 1.5


def planted_rotor(rows, k):
    rows[k]["rotor_inertia"] = 0.3


PLANTED = {
    "mass": planted_mass, "centre of mass": planted_com, "products of inertia": planted_products,
    "inertia about the joint": planted_about_joint, "inertia": planted_inertia, "rotor inertia": planted_rotor,
}  # fmt: skip


PLACES = list(itertools.product(PLANTED, ROBOTS))
QUICK_PLACES = [*[(kind, "arm") for kind in PLANTED][::2], ("products of inertia", "tree"), ("centre of mass", "free")]


@pytest.mark.parametrize(("kind", "where"), rest_slow(PLACES, QUICK_PLACES))
def test_a_planted_difference_is_named_and_explains_everything(kind, where):
    robot, k = general(ROBOTS[where]), CASES[where]
    other = with_rows(robot, lambda rows: PLANTED[kind](rows, k))
    result = lw.compare(robot, other)
    effective = [f for f in result.findings if f.share is not None]
    assert [f.kind for f in effective] == [kind], str(result)
    assert effective[0].where == robot.rows[k]["name"]
    assert effective[0].share > 0.999
    assert not result.same
    assert result.remaining < 1e-9
    assert robot.rows[k]["name"] in result.verdict
    assert not lw.compare(other, robot).same


@pytest.mark.parametrize("where", rest_slow(list(ROBOTS), ["arm"]))
def test_a_difference_is_found_in_another_convention_too(where):
    robot, k = general(ROBOTS[where]), CASES[where]
    other = disguised(
        with_rows(robot, lambda rows: planted_mass(rows, k)), 2, flips=[k], base=make_pose(point=(0.1, 0.2, 0.3))
    )
    result = lw.compare(robot, other)
    body = [f for f in result.findings if f.share is not None and f.kind in ("mass", "rotor inertia", "inertia")]
    assert [(f.kind, f.where) for f in body] == [("mass", robot.rows[k]["name"])], str(result)
    assert body[0].value_b == pytest.approx(1.25 * body[0].value_a, rel=1e-9)
    assert result.remaining < 1e-9


@pytest.mark.parametrize("where", rest_slow(list(ROBOTS), ["arm"]))
def test_signs_and_zeros_of_joints_are_found(where):
    robot, k = general(ROBOTS[where]), CASES[where]
    for options, kind in (({"flips": [k]}, "sign"), ({"zeros": {k: 0.3}}, "zero")):
        result = lw.compare(robot, disguised(robot, frames=False, **options))
        assert result.same, str(result)
        (finding,) = [f for f in result.findings if f.share is not None]
        assert finding.kind == kind
        assert finding.where == robot.names[k]
        assert finding.share > 0.999
        assert result.remaining < 1e-9
    assert finding.value_b == pytest.approx(0.3, abs=1e-12)


@pytest.mark.parametrize("where", ["arm", "tree"])
def test_gravity_and_bases(where):
    robot = general(ROBOTS[where])
    result = lw.compare(robot, robot.with_gravity((0.0, -9.81, 0.0)))
    assert kinds(result) == {"gravity"}
    assert not result.same
    assert result.remaining < 1e-9
    X = make_pose(rotation(np.random.default_rng(3)), (0.1, 0.2, 0.3))
    turned = lw.compare(robot, disguised(robot, frames=False, base=X))
    (base,) = [f for f in turned.findings if f.kind == "base"]
    assert turned.same
    assert np.allclose(base.value_b, X, atol=1e-9)
    assert base.share is None
    mounted = lw.compare(robot, disguised(robot, frames=False, base=X, gravity=robot.gravity))
    assert kinds(mounted) == {"gravity"}, str(mounted)
    assert mounted.remaining < 1e-9
    assert np.allclose(next(f for f in mounted.findings if f.kind == "base").value_b, X, atol=1e-9)


def test_a_free_robot_in_a_world_with_another_vertical_is_the_same():
    result = lw.compare(FREE, FREE.with_gravity((0.0, -9.81, 0.0)))
    assert result.same
    assert any(f.kind == "base" for f in result.findings)
    weaker = lw.compare(FREE, FREE.with_gravity((0.0, 0.0, -1.62)))
    assert kinds(weaker) == {"gravity"}
    assert not weaker.same


@pytest.mark.parametrize("owner", ["a", "b"])
def test_a_frame_that_one_robot_has_alone_is_named(owner):
    tool = {"name": "flange", "joint": "fixed", "a": 0.0, "b": 0.1, "alpha": 0.0, "theta": 0.0}
    robots = [with_rows(ARM, lambda rows: rows.append(tool)), ARM]
    (finding,) = lw.compare(*(robots if owner == "a" else robots[::-1])).findings
    assert finding.message.startswith(f"frame 'flange' is in {owner} only")


def test_a_tool_offset_has_no_effect_on_torques():
    tool = {"name": "tool", "joint": "fixed", "a": 0.0, "b": 0.1, "alpha": 0.0, "theta": 0.0}
    arm, other = (with_rows(ARM, lambda rows, b=b: rows.append({**tool, "b": b})) for b in (0.1, 0.15))
    result = lw.compare(arm, other)
    (finding,) = result.findings
    assert result.same
    assert finding.kind == "tool"
    assert finding.share is None
    assert np.allclose(np.array(finding.value_b)[:3, 3], (0, 0, 0.05))
    assert "(0, 0, 0.05) m" in finding.message


def test_a_fixed_link_that_is_left_out():
    body = {"mass": 0.7, "com": (0, 0, 0.05), "inertia": np.diag([0.002, 0.002, 0.001])}
    hand = {"name": "hand", "joint": "fixed", "a": 0.0, "b": 0.1, "alpha": 0.3, "theta": 0.2, **body}
    armed = with_rows(ARM, lambda rows: rows.append(hand))
    for a, b, text in ((armed, ARM, "in a only"), (ARM, armed, "in b only")):
        result = lw.compare(a, b)
        (finding,) = [f for f in result.findings if f.share is not None]
        assert finding.kind == "fixed link"
        assert finding.where == "hand"
        assert text in finding.message
        assert finding.share > 0.999
        assert result.remaining < 1e-9


def test_bodies_that_differ_without_effect():
    """On a fixed base the first link may have any mass on its axis, and what moves from link to link has no effect."""
    arm = lw.load("puma560")
    result = lw.compare(arm, with_rows(arm, lambda rows: rows[0].update(mass=9.0)))
    assert result.same
    assert [f.share for f in result.findings] == [None]
    assert result.findings[0].where == "link1"

    def regrouped(rows):  # a point mass on the axis of joint 2 belongs to link 1 or to link 2
        rows[0]["mass"], rows[1]["mass"] = 2.0, rows[1]["mass"]

    assert lw.compare(arm, with_rows(arm, regrouped)).same


def test_joints_in_another_order():
    tree = general(lw.random_tree(5, seed=1, joints="R"))
    parents = [unit.parent for unit in skeleton_of(tree).units]
    order = sorted(range(5), key=lambda k: (len(skeleton_of(tree).ancestors(k)), -k))
    assert order != [0, 1, 2, 3, 4], parents
    for names in (None, lambda k: "abcde"[k]):
        result = lw.compare(tree, disguised(tree, 1, order=order, names=names))
        assert result.same, str(result)
        assert any(f.kind == "order" for f in result.findings)


@pytest.mark.parametrize("where", rest_slow(list(ROBOTS), ["arm"]))
def test_three_differences_at_once(where):
    robot, k = general(ROBOTS[where]), CASES[where]

    def change(rows):
        planted_rotor(rows, k)
        planted_mass(rows, k - 1)

    other = disguised(with_rows(robot, change), frames=False, flips=[k])
    result = lw.compare(robot, other)
    assert kinds(result) == {"rotor inertia", "mass", "sign"}, str(result)
    assert result.remaining < 1e-9
    assert sum(f.share for f in result.findings if f.share is not None) == pytest.approx(1.0, abs=1e-9)


def test_robots_with_different_joints():
    short = lw.chain(4, seed=3, joints="RRPR")
    result = lw.compare(ARM, short)
    assert not result.same
    assert [f.where for f in result.findings if f.kind == "missing joint"] == ["link5"]
    assert {m.a for m in result.matches} == {"link1", "link2", "link3", "link4"}
    nothing = lw.compare(lw.chain(1, joints="R"), lw.chain(1, joints="P"))
    assert not nothing.same
    assert not nothing.matches
    assert "no joint" in nothing.verdict
    assert nothing.verdict in str(nothing)


def test_couplings():
    body = {"mass": 1.0, "com": (0.1, 0, 0.1), "inertia": np.diag([0.02, 0.03, 0.025])}
    rows = [{"name": "a", "joint": "revolute", "translation": (0, 0, 0), **body}]
    rows += [
        {"name": "b", "joint": "revolute", "translation": (0.3, 0, 0), "axis": (0, 1, 0), "coupled_to": "a", **body}
    ]
    one = lw.Robot.from_frames([rows[0], {**rows[1], "ratio": 2.0}], name="one")
    two = lw.Robot.from_frames([rows[0], {**rows[1], "ratio": -2.0}], name="two")
    assert lw.compare(one, one).same
    result = lw.compare(one, two)
    assert not result.same
    assert any(f.kind == "coupling" for f in result.findings)
    mirrored = lw.Robot.from_frames([rows[0], {**rows[1], "ratio": -2.0, "axis": (0, -1, 0)}], name="mirrored")
    assert lw.compare(one, mirrored).same


def test_friction_and_limits_are_named_and_do_not_count():
    other = with_rows(ARM, lambda rows: rows[1].update(viscous_friction=0.2, limits=(-1.0, 1.0), effort_limit=5.0))
    result = lw.compare(ARM, other)
    assert result.same
    assert {f.kind for f in result.findings} == {"viscous friction", "limits", "effort limit"}


def test_the_report_is_readable():
    result = lw.compare("puma560", with_rows(lw.load("puma560"), lambda rows: planted_mass(rows, 3)))
    text = str(result)
    assert max(map(len, text.splitlines())) <= 100
    assert "mass of 'link4'" in text
    assert result.verdict[:40] in text
    assert repr(result) == text
    row = result.table()[0]
    assert set(row) == {"kind", "where", "message", "a", "b", "share"}
    assert row["kind"] == "mass"
    assert result.first == "link4"
    assert [d.quantity for d in result.differences][-1] == "torque"


def test_what_cannot_be_compared_is_refused():
    m = lw.symbols("m")
    rod = {
        "joint": "revolute", "a": 1.0, "b": 0.0, "alpha": 0.0, "mass": m, "com": (0, 0, 0),
        "inertia": np.zeros((3, 3)),
    }  # fmt: skip
    symbolic = lw.Robot.from_dh([rod], convention="standard", name="rod")
    with raises(lw.errors.RobotError, "rod", "symbols", "lw.bind"):
        lw.compare(symbolic, ARM)
    with raises(TypeError, "b", "builtins.int"):
        lw.compare(ARM, 3)
    with raises(ValueError, "states", "0"):
        lw.compare(ARM, ARM, states=0)


def elbow(origin="0 0 0.4", rpy="0 0 0", axis="0 1 0"):
    """An arm as the rows of a URDF: shoulder about x, elbow about y."""
    rpy = [float(x) for x in rpy.split()]
    body = {"mass": 1.5, "com": (0.03, 0.02, 0.2), "inertia": np.diag([0.02, 0.03, 0.025])}
    c, s = np.cos(rpy[2]), np.sin(rpy[2])
    turn = {"rotation": [[c, -s, 0], [s, c, 0], [0, 0, 1]], "axis": [float(x) for x in axis.split()]}
    place = {"parent": "upper", "translation": [float(x) for x in origin.split()]} | turn
    rows = [
        {"name": "upper", "joint_name": "shoulder", "joint": "revolute", "axis": (1, 0, 0), "translation": (0, 0, 0.1)},
        {"name": "fore", "joint_name": "elbow", "joint": "revolute", **place},
        {"name": "hand", "joint": "revolute", "parent": "fore", "translation": (0.1, 0, 0.3), "axis": (1, 0, 0)},
    ]
    rows = [row | body for row in rows]
    return lw.Robot.from_frames(rows, name="arm")


@pytest.mark.parametrize(
    ("other", "text"),
    [
        ({"origin": "0 0 0.45"}, "joint 'elbow' stands in another place in b: shifted by (0, 0, 0.05) m"),
        ({"origin": "0 0.02 0.45"}, "joint 'elbow' stands in another place in b: shifted by (0, 0.02, 0.05) m"),
        ({"rpy": "0 0 0.5"}, "joint 'elbow' stands in another place in b: turned by 28.6479 deg about (0, 0, 1)"),
        ({"rpy": "0 0 2.0"}, "joint 'elbow' stands in another place in b: turned by 114.592 deg about (0, 0, 1)"),
        ({"axis": "1 0 0"}, "axis of joint 'elbow': (0, 1, 0) in a, (1, 0, 0) in b"),
    ],
)
def test_places_of_joints_are_told_in_the_frames_of_the_table(other, text):
    result = lw.compare(elbow(), elbow(**other))
    (finding,) = [f for f in result.findings if f.share is not None]
    assert finding.message.startswith(text), str(result)
    assert "axis" in other or finding.message.endswith("in the frame of 'upper'")
    assert finding.share > 0.999
    assert finding.where == "elbow"
    assert np.shape(finding.value_a) == np.shape(finding.value_b) == ((3,) if "axis" in other else (4, 4))
    assert result.remaining < 1e-9
    assert result.first == "elbow"


@pytest.mark.parametrize(("origin", "rpy"), [("0 0 0.45", "0 0 0"), ("0 0 0.4", "0 0 0.5"), ("0 0 0.4", "0 0 2")])
def test_places_of_joints_are_told_in_the_frames_of_a_whatever_frames_b_has(origin, rpy):
    result = lw.compare(elbow(), disguised(elbow(origin, rpy), 3))
    (finding,) = [f for f in result.findings if f.kind == "placement" and f.where == "elbow"]
    before, after = (np.array(x) for x in (finding.value_a, finding.value_b))
    assert np.allclose(after[:3, 3] - before[:3, 3], np.array([float(x) for x in origin.split()]) - (0, 0, 0.4))
    angle = float(rpy.split()[2])
    axis = np.array([-np.sin(angle), np.cos(angle), 0.0])  # of the joint, in the frame of the parent
    assert np.allclose(after[:3, 2], axis)
    assert "in the frame of 'upper'" in finding.message
    assert not any(f.kind == "sign" for f in result.findings)
    assert result.remaining < 1e-9


@pytest.mark.parametrize("angle", [0.3, 1.8, 3.0])
def test_a_joint_turned_about_its_own_axis_has_another_zero(angle):
    robot = general(ARM)
    result = lw.compare(robot, disguised(robot, frames=False, zeros={2: 0.1, 3: angle}))
    assert result.same
    assert {(f.kind, f.where) for f in result.findings if f.share is not None} == {("zero", "link3"), ("zero", "link4")}


ENTRIES = list(itertools.product(("standard", "modified"), ("b", "a", "alpha", "theta")))


@pytest.mark.parametrize(("convention", "key"), rest_slow(ENTRIES, [("standard", "b"), ("modified", "theta")]))
def test_an_entry_of_a_dh_table_is_named(convention, key):
    word = "d" if key == "b" else key
    arm = general(lw.convert(lw.load("puma560"), convention))

    def change(rows):
        rows[2][key] += 0.1
        if key == "theta":  # alone, it would be another zero of the joint
            rows[3]["mass"] *= 1.1
            rows[2]["b"] += 0.1

    result = lw.compare(arm, with_rows(arm, change))
    found = [f for f in result.findings if f.kind == "DH parameter"]
    assert f"{word} of 'link3'" in [f.message.partition(":")[0] for f in found], str(result)
    effective = [f for f in result.findings if f.share is not None]
    assert len(effective) == (3 if key == "theta" else 1), str(result)
    assert effective[0].share >= effective[-1].share
    assert result.remaining < 1e-9
    assert next(f for f in found if f.message.startswith(f"{word} of")).value_b == pytest.approx(arm.rows[2][key] + 0.1)


def test_an_entry_of_the_first_row_is_named_too_whatever_the_links_are_called():
    arm = general(lw.load("puma560"))

    def change(rows):
        rows[0]["alpha"] = 0.2
        for k, row in enumerate(rows):
            row["name"], row["parent"] = f"axis_{k + 1}", f"axis_{k}" if k else "base"

    result = lw.compare(arm, with_rows(arm, change))
    assert [f.message for f in result.findings] == ["alpha of 'link1': 0 deg in a, 11.4592 deg in b"], str(result)


@pytest.mark.parametrize(
    ("name", "convention"), rest_slow([("puma560", "standard"), ("stanford", "modified")], [("puma560", "standard")])
)
def test_a_dh_table_read_in_the_other_convention(name, convention):
    arm = lw.load(name)
    wrong = lw.Robot.from_dh(arm.rows, convention=convention, gravity=arm.gravity, name="wrong")
    right = lw.convert(arm, "frames")
    cases = (
        (arm, wrong, f"one DH table, read as {arm.convention} in a and as {convention} in b"),
        (wrong, arm, f"one DH table, read as {convention} in a and as {arm.convention} in b"),
        (right, wrong, f"the DH table of b is read as {convention}; read as {arm.convention} it is the robot a"),
        (wrong, right, f"the DH table of a is read as {convention}; read as {arm.convention} it is the robot b"),
    )
    for a, b, text in cases if THOROUGH else cases[::3]:
        result = lw.compare(a, b)
        assert not result.same
        (finding,) = [f for f in result.findings if f.share is not None]
        assert finding.kind == "convention"
        assert finding.message.startswith(text)
        assert text[:30] in result.verdict.replace("\n", " ")
        assert result.remaining < 1e-9


def test_shares_are_in_the_order_of_their_size_and_not_negative():
    """Also where much differs: two arms that have nothing but their joints in common."""
    for seed in range(30 if THOROUGH else 1):
        one, other = (general(lw.chain(5, seed=k, joints="RRPRR")) for k in (seed, seed + 10))
        shares = [f.share for f in lw.compare(one, other).findings if f.share is not None]
        assert len(shares) > 3
        assert shares == sorted(shares, reverse=True)
        assert shares[-1] >= 0.0


def test_no_joint_is_named_where_nothing_differs():
    result = lw.compare(ARM, ARM)
    assert [d.where for d in result.differences] == [""] * 4


def test_couplings_that_one_of_the_robots_has_come_with_what_to_do():
    body = {"mass": 1.0, "com": (0.1, 0, 0.1), "inertia": np.diag([0.02, 0.03, 0.025])}
    rows = [{"name": name, "joint": "revolute", "translation": (0.3, 0, 0), **body} for name in "ab"]
    alone = lw.Robot.from_frames(rows, name="alone")
    coupled = lw.Robot.from_frames([rows[0], {**rows[1], "coupled_to": "a"}], name="coupled")
    assert 'mimic="independent"' in lw.compare(alone, coupled).verdict


def test_notebooks_show_the_verdict_and_the_findings():
    arm = lw.load("planar3")
    rows = arm.rows
    rows[1] |= {"mass": 9.0, "name": "<b>"}
    rows[2] |= {"parent": "<b>"}
    result = lw.compare(arm, lw.Robot.from_dh(rows, convention=arm.convention, gravity=arm.gravity, name="<script>"))
    html = result._repr_html_()
    assert "&lt;script&gt;" in html
    assert "<script>" not in html
    assert html.count("<td>") == 2 * len(result.findings) > 0
    assert "<table>" not in lw.compare(arm, arm)._repr_html_()


def with_flap(size: float, factor: float) -> lw.Robot:
    """Two links of a ton and 10 m, and a flap of 0.01 g at their end."""

    def row(name: str, mass: float, length: float, factor: float = 1.0) -> dict[str, Any]:
        inertia = factor * mass * length**2 / 12 * np.diag([0.0, 1.0, 1.0])
        shape = {"a": length, "b": 0.0, "alpha": 0.0, "com": (-length / 2, 0, 0)}
        return {"name": name, "joint": "revolute", "mass": mass, "inertia": inertia, **shape}

    rows = [row("boom", 1e3, 10.0), row("jib", 1e3, 10.0), row("flap", 1e-5, size, factor)]
    return lw.Robot.from_dh(rows, convention="standard", gravity=(0, -9.81, 0))


@in_turn([3e-1, 3e-3, 3e-5])
def test_small_parts_of_large_robots_are_compared_by_their_own_torques(size: float) -> None:
    result = lw.compare(with_flap(size, 1.0), with_flap(size, 2.25))
    assert not result.same
    assert result.findings[0].where == result.first == "flap"
    assert result.findings[0].share == pytest.approx(1.0)
    assert "'flap'" in result.verdict
    assert lw.compare(with_flap(size, 1.0), with_flap(size, 1.0 + 1e-14)).same
