"""URDF files: what is read, what is skipped, and what is refused with its line."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import linkwise as lw
from facts import names, raises, warns
from linkwise.errors import FileError

TWO = """<?xml version="1.0"?>
<robot name="two">
  <link name="base"/>
  <link name="upper">
    <inertial>
      <origin xyz="0 0 -0.25"/>
      <mass value="2.0"/>
      <inertia ixx="0.04" ixy="0" ixz="0" iyy="0.04" iyz="0" izz="0.002"/>
    </inertial>
  </link>
  <link name="lower">
    <inertial>
      <origin xyz="0 0 -0.2"/>
      <mass value="1.0"/>
      <inertia ixx="0.013" ixy="0" ixz="0" iyy="0.013" iyz="0" izz="0.001"/>
    </inertial>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/>
    <child link="upper"/>
    <axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="50" velocity="3"/>
  </joint>
  <joint name="elbow" type="revolute">
    <parent link="upper"/>
    <child link="lower"/>
    <origin xyz="0 0 -0.5"/>
    <axis xyz="0 1 0"/>
    <limit lower="0" upper="2.5" effort="20" velocity="4"/>
    <dynamics damping="0.1" friction="0.2"/>
  </joint>
</robot>
"""
BACK = '<parent link="lower"/><child link="base"/>'
BOMB = '<!DOCTYPE robot [<!ENTITY a "aaa"><!ENTITY b "&a;&a;&a;">]>\n'
BODY = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
LOWER_BODY = TWO[TWO.index("    <inertial>", TWO.index('"lower"')) : TWO.index("  </link>", TWO.index('"lower"'))]


@pytest.fixture
def load(tmp_path):
    def loaded(text, **options):
        path = tmp_path / "two.urdf"
        path.write_text(text)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return lw.load(path, **options)

    return loaded


@pytest.fixture
def refused(load):
    def message(text, **options):
        """The line and the message of the error."""
        with pytest.raises(FileError) as caught:
            load(text, **options)
        _, _, rest = str(caught.value).partition("two.urdf:")
        line, _, message = rest.partition(": ")
        return int(line), message

    return message


def changed(*changes):
    text = TWO
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert old in text
        text = text.replace(old, new)
    return text


def added(elements, tag="robot"):
    """Elements at the end of the robot, or of the elbow."""
    end = TWO.rindex(f"</{tag}>")
    return TWO[:end] + elements + TWO[end:]


def test_names_limits_and_friction(load):
    arm = load(TWO)
    assert (arm.name, arm.names, arm.joint_names) == ("two", ("upper", "lower"), ("shoulder", "elbow"))
    assert arm.q_slice("elbow") == arm.q_slice("lower") == slice(1, 2)
    base, upper, lower = arm.rows
    assert (base["name"], base["joint"], base["mass"]) == ("base", "fixed", 0.0)
    assert upper["parent"] == "base"
    assert upper["limits"] == (-2.0, 2.0)
    assert (lower["velocity_limit"], lower["effort_limit"]) == (4.0, 20.0)
    assert (lower["viscous_friction"], lower["coulomb_friction"]) == (0.1, 0.2)
    assert arm.gravity == (0.0, 0.0, -9.81)


def test_massless_last_link_loads_and_its_joint_is_named(load):
    arm = load(changed(LOWER_BODY, ""))
    assert np.isfinite(lw.inverse_dynamics(arm, [0.1, 0.2], [0.3, 0.4], [0.5, 0.6])).all()
    with raises(lw.errors.SingularError, "'elbow'", "'lower'", "articulated inertia 0"):
        lw.forward_dynamics(arm, [0.1, 0.2], [0.3, 0.4], [0.5, 0.6])


@pytest.mark.parametrize(
    ("text", "line", "facts"),
    [
        # other readers accept these without a word
        (changed('value="1.0"', 'value="-1.0"'), 14, "'two' | 'lower' | mass | -1.0"),
        (changed('value="1.0"', 'value="nan"'), 14, '<mass> | <link name="lower"> | value | "nan"'),
        (changed('value="1.0"', 'value="abc"'), 14, '<mass> | <link name="lower"> | value | "abc"'),
        (changed('izz="0.001"', 'izz="0.1"'), 15, "'two' | 'lower' | inertia | triangle"),
        (added(f"<joint name='loop' type='fixed'>{BACK}</joint>"), 32,
         '<joint name="loop"> | loop | base -> upper -> lower -> base | "shoulder" | "elbow"'),
        (changed('axis xyz="0 1 0"', 'axis xyz="0 0 0"'), 21, '<axis> | <joint name="shoulder"> | xyz | "0 0 0"'),
        (changed('child link="lower"', 'child link="lowr"'), 26,
         "<child> | <joint name=\"elbow\"> | link | \"lowr\" | name | 'lower'"),
        (TWO.replace("<robot", f"{BOMB}<robot"), 2, "DTD"),
        (TWO.replace("<robot", '<!DOCTYPE robot SYSTEM "file:///etc/hosts">\n<robot'), 2, "DTD"),
        ("<sdf/>", 1, "<sdf>"),
        ('<robot name="r"/>', 1, '<robot name="r"> | links'),
        (changed('<link name="base"/>', "<link/>"), 3, "<link> | name"),
        (changed('name="elbow"', ""), 24, "<joint> | name"),
        (changed('name="elbow"', 'name="shoulder"'), 24, '<joint name="shoulder"> | 18 | name'),
        (changed('link name="lower"', 'link name="upper"'), 11, '<link name="upper"> | 4 | name'),
        (changed('link name="lower"', 'link name=" "', '<child link="lower"', '<child link=" "'), 11, "'two'"),
        (changed('<child link="lower"/>', ""), 24, '<joint name="elbow"> | <child>'),
        (changed('<child link="lower"/>', "<child/>"), 26, '<child> | <joint name="elbow"> | link'),
        (changed('<child link="lower"/>', '<child link="upper"/>'), 24, '<joint name="elbow"> | "upper"'),
        (changed(' type="revolute"', ""), 18, '<joint name="shoulder"> | type | revolute'),
        (changed('"elbow" type="revolute"', '"elbow" type="revolut"'), 24, '<joint name="elbow"> | type | "revolut"'),
        (changed('lower="0" upper', 'lower="3" upper'), 29, "'two' | 'lower' | limits | [3.0, 2.5]"),
        (changed('effort="20"', 'effort="-20"'), 29, "'two' | 'lower' | effort_limit | -20.0"),
        (changed('velocity="4"', 'velocity="inf"'), 29, '<limit> | <joint name="elbow"> | velocity | "inf"'),
        (changed('damping="0.1"', 'damping="-1"'), 30, "'two' | 'lower' | viscous_friction | -1.0"),
        (changed('<mass value="1.0"/>', ""), 12, '<inertial> | <link name="lower"> | <mass>'),
        (changed('<mass value="1.0"/>', "<mass/>"), 14, '<mass> | <link name="lower"> | value'),
        (changed('izz="0.001"', ""), 15, '<inertia> | <link name="lower"> | izz'),
        (changed('xyz="0 0 -0.2"', 'xyz="0 -0.2"'), 13, '<origin> | <link name="lower"> | xyz | "0 -0.2" | 2'),
        (changed('xyz="0 0 -0.2"', 'xyz="0 0 -0.2" ryp="0 0 1"'), 13, '<origin> | <link name="lower"> | ryp'),
        (changed("inertial>", "inertail>"), 5, '<inertail> | <link name="upper"> | <link>'),
        (changed("<axis", "<axes"), 21, '<axes> | <joint name="shoulder"> | <joint>'),
        (changed('"1.0"/>', '"1.0"/><mass value="1.0"/>'), 14, '<mass> | <link name="lower">'),
        (changed('ixx="0.013"', 'ixx="-0.013"'), 15, "'two' | 'lower' | inertia | semidefinite"),
        (changed('type="revolute"', 'type="fixed"'), 2, '<robot name="two">'),
        (added('<loop_joint name="x"/>'), 32, '<loop_joint name="x"> | kinematic | loop'),
        (changed('name="elbow"', 'name="${side}elbow"'), 24, '<joint name="${side}elbow"> | name | "${side}elbow"'),
        (added('<xacro:arm side="left"/>'), 32, "<xacro:arm> | macro | xacro"),
        (added('<mimic joint="sholder"/>', "joint"), 31, '<mimic> | <joint name="elbow"> | joint | "sholder"'),
        (added("<mimic/>", "joint"), 31, '<mimic> | <joint name="elbow"> | joint'),
        (added('<mimic joint="elbow"/>', "joint"), 31, "'two' | 'lower' | coupled_to | loop"),
        (added('<joint name="second" type="revolute"><parent link="base"/><child link="lower"/></joint>'), 32,
         '<joint name="second"> | "lower" | <joint name="elbow"> | 24 | loop | base -> upper -> lower -> base'),
        (added('<joint name="second" type="revolute"><parent link="lower"/><child link="upper"/></joint>'), 32,
         '<joint name="second"> | "upper" | <joint name="shoulder"> | 18 | loop | upper -> lower -> upper'),
        (added('<link name="x"/><joint name="second" type="fixed"><parent link="x"/><child link="lower"/></joint>'), 32,
         '<joint name="second"> | "lower" | <joint name="elbow"> | 24'),
        (changed('"elbow" type="revolute"', '"elbow" type="planar"', "<dyn", '<mimic joint="shoulder"/><dyn'), 30,
         '<mimic> | <joint name="elbow"> | "elbow" | planar | revolute'),
    ],
)  # fmt: skip
def test_errors_name_the_line_and_the_element(text, line, facts, refused):
    where, message = refused(text)
    assert where == line
    assert names(message, *facts.split(" | ")), message


@pytest.mark.parametrize("name", ["world", "base", "", "a b", "käse", "a/b.c", "shoulder"])
def test_links_may_have_any_name(name, load, refused):
    text = changed('"base"', f'"{name}"')
    if not name:
        assert refused(text)[0] == 3
        return
    arm, free = load(text), load(text, base="free")
    assert arm.frames[0].name == name
    assert free.names == (name, "upper", "lower")
    assert free.n == 8
    assert set(free.joint_names[1:]) == {"shoulder", "elbow"}


def test_several_roots_stand_on_the_base(tmp_path):
    path = tmp_path / "two.urdf"
    path.write_text(added(f'<link name="table">{BODY}</link><link name="puck">{BODY}</link>'))
    with warns(UserWarning, "3 links") as caught:
        arm = lw.load(path, base={"puck": "free"})
    (warning,) = caught
    assert '"base" (line 3), "table" (line 32), "puck" (line 32)' in str(warning.message)
    assert warning.filename == __file__
    assert arm.names == ("upper", "lower", "puck")
    assert arm.joints == "RRF"
    with (
        warns(UserWarning, "3"),
        raises(FileError, "pock", "puck"),
    ):
        lw.load(path, base={"pock": "free"})


def test_base_is_fixed_unless_it_is_asked_to_be_free(load, refused):
    text = changed('<link name="base"/>', f'<link name="base">{BODY}</link>')
    fixed, free = load(text, base="fixed"), load(text, base="free")
    assert fixed == load(text)
    assert fixed.rows[0]["mass"] == 1.0
    assert (free.joints, free.links[5].mass) == ("FRR", 1.0)
    floating = changed('"shoulder" type="revolute"', '"shoulder" type="floating"')
    assert load(floating).joints == "FR"
    assert refused(floating, base="free")[1].startswith('<joint name="shoulder">: is floating, and base="free" would')
    alone = f'<robot name="puck"><link name="puck">{BODY}</link></robot>'
    assert load(alone, base="free").joints == "F"
    assert refused(alone)[1].startswith('<robot name="puck">: has no joint that moves')


def test_mimic(load):
    text = added('<mimic joint="shoulder" multiplier="-2" offset="0.5"/>', "joint")
    arm, alone = load(text), load(text, mimic="independent")
    assert (arm.n, arm.joint_names, arm.names) == (1, ("shoulder",), ("upper", "lower"))
    assert alone.joint_names == ("shoulder", "elbow")
    both = lw.inverse_dynamics(alone, [0.3, 0.5 - 0.6], [0.2, -0.4], [0.1, -0.2])
    assert np.allclose(lw.inverse_dynamics(arm, [0.3], [0.2], [0.1]), both[0] - 2 * both[1])


def test_what_cannot_change_the_dynamics_is_skipped(load, tmp_path):
    looks = "<visual><geometry><box size='nothing'/></geometry></visual><collision/>"
    text = changed("    <inertial>", f"    {looks}<inertial>")
    text = text.replace("</robot>", "<material/><gazebo><x/></gazebo><transmission name='t'/></robot>")
    assert load(text) == load(TWO)
    path = tmp_path / "two.urdf"
    path.write_text(added("<sensor/>\n<sensor/><camera/>").replace('damping="0.1"', 'damping="0.1" spring="3"'))
    skipped = ("<sensor> (lines 32, 33)", "<camera> (line 33)", "spring of <dynamics> (line 30)")
    with warns(UserWarning, path, *skipped) as caught:
        arm = lw.load(path)
    assert len(caught) == 1
    assert arm == load(TWO)
    assert load(added("<sensor/>"), ignore=["sensor"]) == arm
    assert load(added("<loop_joint/>"), ignore=["loop_joint"]) == arm
    path.write_text(added("<gazebo><joint name='closing'/></gazebo>"))
    with warns(UserWarning, "32"):
        lw.load(path)


def test_order_of_the_file_is_kept(load):
    """Depth first, siblings as their joints stand in the file; links may come after the joints that move them."""
    joints = "".join(
        f'<joint name="{c}" type="revolute"><parent link="{p}"/><child link="{c}"/></joint>'
        for p, c in ("rz", "za", "ry", "zb")
    )
    links = "".join(f'<link name="{name}">{BODY}</link>' for name in "abyzr")
    assert load(f'<robot name="r">{joints}{links}</robot>').names == ("z", "a", "b", "y")


def test_limits_that_are_not_given(load):
    def limits(**changes):
        text = TWO.replace('<limit lower="0" upper="2.5" effort="20" velocity="4"/>', changes.get("limit", ""))
        return load(text.replace('"elbow" type="revolute"', f'"elbow" type="{changes["kind"]}"')).rows[2].get("limits")

    assert limits(kind="revolute") is None
    assert limits(kind="revolute", limit='<limit effort="1" velocity="1"/>') is None
    assert limits(kind="prismatic", limit='<limit lower="-1"/>') == (-1.0, 0.0)  # 0 is URDF's default
    assert limits(kind="continuous", limit='<limit lower="-1" upper="1"/>') is None


def test_bodies_that_cannot_exist_are_used_as_they_are_if_asked(tmp_path):
    path = tmp_path / "two.urdf"
    path.write_text(changed('izz="0.001"', 'izz="0.1"'))
    with warns(UserWarning, "'lower'", "inertia", "0.013 + 0.013 < 0.1"):
        arm = lw.load(path, unphysical="warn")
    assert arm.rows[2]["inertia"][2][2] == 0.1
    path.write_text(changed('izz="0.001"', 'izz="0.1"', 'value="1.0"', 'value="-1.0"'))
    with raises(FileError, "14", "mass", "-1.0"):
        lw.load(path, unphysical="warn")


def test_long_paths_of_mimic_end(load, refused):
    """In time that grows with their number, not with its cube; a product of ratios may overflow."""
    count = 500
    links = "".join(f'<link name="{k}"/>' for k in range(count))
    joints = "".join(
        f'<joint name="j{k}" type="revolute"><parent link="0"/><child link="{k}"/>{{{k}}}</joint>'
        for k in range(1, count)
    )
    text = f'<robot name="gears">{links}{joints}</robot>'
    mimics = [f'<mimic joint="j{k - 1}" multiplier="-1"/>' if k > 1 else "" for k in range(count)]
    assert load(text.format(*mimics)).n == 1
    huge = [mimic.replace("-1", "1e160") for mimic in mimics]
    assert "ratio and offset to '1' are inf" in refused(text.format(*huge))[1]


def test_a_long_chain_loads(load):
    count = 400
    links = "".join(f'<link name="{k}">{BODY}</link>' for k in range(count))
    joints = "".join(
        f'<joint name="j{k}" type="revolute"><parent link="{k - 1}"/><child link="{k}"/></joint>'
        for k in range(1, count)
    )
    assert load(f'<robot name="chain">{joints}{links}</robot>').n == count - 1


@pytest.mark.parametrize(
    ("before", "after", "facts"),
    [
        ('rpy="0 0 0"', 'rpy="0 0 90"', 'rpy | "0 0 90" | radians'),
        ('damping="0.5"', 'dampening="0.5"', "dampening | 'damping'"),
        ('lower="-2.9"', 'min="-2.9"', "min | 'lower'"),
        ('<mass value="5.0"/>', "<mass>5.0</mass>", '"5.0" | <mass value="..."/>'),
    ],
)
def test_common_slips_are_refused_with_the_way_out(before, after, facts, tmp_path):
    text = (Path(__file__).parents[1] / "data/robots/sample.urdf").read_text()
    path = tmp_path / "slip.urdf"
    path.write_text(text.replace(before, after, 1))
    with raises(lw.errors.RobotError, *facts.split(" | ")):
        lw.load(path)


def test_what_is_no_file_is_told_what_to_do(tmp_path):
    (tmp_path / "arm.xacro").write_text("<robot/>")
    with raises(lw.errors.RobotError, "xacro"):
        lw.load(tmp_path / "arm.xacro")
    with raises(lw.errors.RobotError, "text"):
        lw.load("<robot name='a'>\n</robot>")
    with raises(ValueError, "free"):
        lw.load("stanford", base="floating")
