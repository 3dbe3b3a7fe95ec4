"""MJCF that is refused: each message names the file, the line and the element, and says how to go on."""

import os
import re
import tempfile
from pathlib import Path

import numpy as np
import pytest

import linkwise as lw
from effort import in_turn, rest_slow
from facts import names, raises, warns

pytest.importorskip("mujoco", minversion="4.0")

import fuzzing

BODY = '<body name="b"><joint name="j"/><geom size=".1" mass="1"/></body>'
MESH = '<body name="b"><joint/><geom type="mesh" mesh="m"/></body>'
FACES = 'vertex="0 0 0 1 0 0 0 1 0 0 0 1" face="0 2 1 0 1 3 0 3 2 1 2 3"'
INWARD = 'vertex="0 0 0 1 0 0 0 1 0 0 0 1" face="0 1 2 0 3 1 0 2 3 1 3 2"'


def world(inside, before="", after=""):
    """The body stands in line 3, what comes before in line 2, and after in line 4."""
    return f"<mujoco>\n{before}\n<worldbody>{inside}</worldbody>\n{after}</mujoco>"


def refused(content, folder=None, **options):
    """Line and message."""
    with tempfile.TemporaryDirectory() as own:
        path = (folder or Path(own)) / "model.xml"
        path.write_text(content)
        with pytest.raises(lw.errors.FileError) as caught:
            lw.load(path, **options)
    found = re.fullmatch(rf"{re.escape(str(path))}:(\d+): (.*)", str(caught.value))
    assert found, str(caught.value)
    return int(found[1]), found[2]


def symlink(target, path):
    """Whether a link could be made."""
    try:
        os.symlink(target, path)
    except OSError:
        return False
    return True


# what a message names, by what is wrong; of MuJoCo's errors its text
ANYWHERE = {  # in a body
    "<joit/>": "<joit> of <body name=\"a\">: unrecognized element, did you mean 'joint'?",
    '<geom size=".1" maas="1"/>': "unrecognized attribute: 'maas', did you mean 'mass'?",
    '<joint rang="0 1"/>': "unrecognized attribute: 'rang', did you mean 'range'?",
    '<joint type="hing"/>': "invalid keyword: 'hing'",
    '<joint axis="0 0 0"/>': "axis too small in joint",
    '<joint axis="0 0"/>': "attribute 'axis' does not have enough data",
    '<joint armature="-1"/>': "rotor_inertia | -1.0",
    '<joint damping="-1"/>': "viscous_friction | -1.0",
    '<joint stiffness="-1"/>': "stiffness | -1.0",
    '<joint frictionloss="-1"/>': "coulomb_friction | -1.0",
    '<joint armature="nan"/>': 'armature | "nan"',
    '<joint range="0 -inf"/>': 'range | "0 -inf"',
    '<joint armature="1e999"/>': "number is too large in attribute 'armature'",
    '<joint damping="1 2 3"/>': "damping | powers",
    '<joint stiffness="1 0 3"/>': "stiffness | powers",
    '<joint range="1 0"/>': "range | 1 to 0",
    '<joint actuatorfrcrange="1 0"/>': "actuatorfrcrange | 1 to 0",
    '<joint stiffness="1" springyield="1"/>': 'ignore=["spring"]',
    '<joint type="ball"/><joint/>': "ball followed by rotation in body 'a'",
    "<joint/><freejoint/>": "more than 6 dofs in body 'a'",
    '<joint class="x"/>': "unknown default class name 'x'",
    '<body childclass="x"/>': "unknown default childclass",
    '<body gravcomp="1"/>': 'ignore=["gravcomp"]',
    '<body quat="0 0 0 0"/>': "zero quaternion is not allowed",
    '<body quat="1 0 0 0" euler="1 2 3"/>': "multiple orientation specifiers are not allowed",
    '<body xyaxes="1 0 0 2 0 0"/>': "yaxis too small",
    '<replicate count="2"><joint/></replicate>': "joint cannot be a direct child of replicate",
    '<replicate count="0"/>': "count | 0 | from 1",
    '<replicate count="1e300"/>': "count | 1e+300 | 1 to 5000",
    '<replicate count="4000"><replicate count="4000"/></replicate>': "5000 elements",
    "<composite/>": "composite",
    "<flexcomp/>": "flexible",
    "<attach/>": "attached",
    "<plugin/>": "plugin",
    '<geom size=".1"><plugin/></geom>': '<plugin> of <body name="a">',
    "<inertial/>": "required attribute missing: 'pos'",
    '<inertial pos="0 0 0"/>': "required attribute missing: 'mass'",
    '<inertial pos="0 0 0" mass="-1"/>': "mass | -1",
    '<inertial pos="0 0 0" mass="1" diaginertia="1 -1 1"/>': "moment | -1",
    '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1" quat="1 0 1e308 0"/>': "quaternion | [0.0, 0.0, 0.0, 0.0]",
    '<joint axis="1e308 1e308 0"/>': "axis",
    '<body quat="1 0 1e308 0"/>': "quaternion | [0.0, 0.0, 0.0, 0.0]",
    '<site name="s" quat="1 0 1e308 0"/>': '<site name="s"> | [0.0, 0.0, 0.0, 0.0]',
    '<inertial pos="0 0 0" mass="1" fullinertia="1 1 1 0 0 0" diaginertia="1 1 1"/>': "cannot both be specified",
    '<inertial pos="0 0 0" mass="1"/><inertial pos="0 0 0" mass="1"/>': "unique element 'inertial' found 2 times",
    '<geom type="bix" size="1 1 1"/>': "invalid keyword: 'bix'",
    '<geom type="box" size="1 1"/>': "size 2 must be positive in geom",
    '<geom size="1 1 1 1"/>': "attribute 'size' has too much data",
    '<geom size="-.1"/>': "size 0 must be positive in geom",
    '<geom size=".1" mass="-1"/>': "mass, inertia or density are negative in geom",
    '<geom size="1e200"/>': "link 'a' | mass | inf",
    '<geom size=".1" fromto="0 0 0 0 0 1"/>': "fromto requires capsule, cylinder, box or ellipsoid",
    '<geom type="box" size=".1" fromto="0 0 0 0 0 0"/>': "fromto points too close",
    '<geom type="hfield"/>': '<inertial> | mass="0"',
    '<geom type="mesh"/>': "must have valid meshid",
    '<geom type="mesh" mesh="x"/>': "mesh 'x' not found in geom",
}  # fmt: skip


@in_turn(ANYWHERE)
def test_what_is_wrong_in_a_body_is_refused(part):
    ball = "" if "inertial" in part else '<geom size=".2"/>'
    line, message = refused(world(f'{BODY}<body name="a">{ball}{part}</body>'))
    assert line == 3
    assert names(message, *ANYWHERE[part].split(" | "))


PULLED = '<fixed name="t"><joint joint="j" coef="1"/></fixed>'
BEFORE = {
    "<wordbody/>": "<wordbody>: unrecognized element, did you mean 'worldbody'?",
    '<compiler angle="degrees"/>': "invalid keyword: 'degrees'",
    '<compiler coordinate="global"/>': "global coordinates no longer supported",
    '<compiler eulerseq="xy"/>': "attribute 'eulerseq' must have exactly 3 characters",
    "<compiler><lenght/></compiler>": "unrecognized element",
    '<option gravity="0 0"/>': "attribute 'gravity' does not have enough data",
    '<option density="1.2"/>': "fluid | density | viscosity",
    '<option viscosity="1"/>': 'ignore=["fluid"]',
    '<option><flag gravity="off"/></option>': "invalid keyword: 'off'",
    '<option timestp="1"/>': "unrecognized attribute: 'timestp', did you mean 'timestep'?",
    '<default class="x"/>': "top-level default class 'main' cannot be renamed",
    "<default><default/></default>": "empty class name",
    '<default><default class="main"/></default>': "repeated default class name",
    "<default><geo/></default>": "unrecognized element, did you mean 'geom'?",
    '<default><geom size="a"/></default>': "bad format in attribute 'size'",
    "<asset><msh/></asset>": "unrecognized element, did you mean 'mesh'?",
    '<asset><mesh name="a"/><mesh name="a"/></asset>': "repeated name 'a' in mesh",
    "<deformable><flex/></deformable>": 'ignore=["flex"]',
    '<worldbody pos="1 0 0"/>': "World body cannot have attributes",
    "<worldbody><joint/></worldbody>": "World body cannot have joints",
    "<equality><jont/></equality>": "unrecognized element, did you mean 'joint'?",
    '<equality><connect body1="b" anchor="0 0 0"/></equality>': 'ignore=["equality"]',
    '<equality><weld body1="b"/></equality>': (
        "<weld> | equality | bodies"
    ),
    f'<tendon>{PULLED}</tendon><equality><tendon tendon1="t"/></equality>': (
        "equality | tendons"
    ),
    '<equality><flex flex="b"/></equality>': 'ignore=["flex"]',
    "<equality><joint/></equality>": "required attribute missing: 'joint1'",
    '<equality><joint joint1="i"/></equality>': "unknown element 'i' in equality constraint",
    '<equality><joint joint1="j" joint2="j"/></equality>': "element 'j' is repeated in equality constraint",
    '<equality><joint joint1="j"/><joint joint1="j"/></equality>': "joint 'j' | second",
    f"<tendon>{PULLED}</tendon>".replace('"t"', '"t" stiffness="1"'): (
        "stiffness | joints | ignore="
    ),
    f'<default><tendon armature="1"/></default><tendon>{PULLED}</tendon>': 'ignore=["tendon"]',
    "<tendon><fix/></tendon>": "unrecognized element, did you mean 'fixed'?",
    "<actuator><moter/></actuator>": "unrecognized element, did you mean 'motor'?",
    '<actuator><motor joint="i"/></actuator>': "unknown transmission target 'i' for actuator",
    f'<tendon>{PULLED}</tendon><actuator><motor tendon="t" armature="1"/></actuator>': (
        "<motor> | armature | ignore="
    ),
    '<actuator><motor joint="jj"/></actuator>': "target 'jj' for actuator id = 0, did you mean 'j'?",
    '<actuator><motor joint="j" armatur="1"/></actuator>': "'armatur', did you mean 'armature'?",
    '<actuator><plugin plugin="x" joint="j" armature="-1"/></actuator>': "rotor_inertia is -1.0",
}  # fmt: skip


@in_turn(BEFORE)
def test_what_is_wrong_in_a_section_is_refused(section):
    line, message = refused(world(BODY, section))
    assert line == (3 if "plugin" in section else 2)  # the sum with the joint's own armature is an entry of the joint
    assert names(message, *BEFORE[section].split(" | "))


def test_settings_that_mean_two_things_are_refused():
    for section, text in {
        '<compiler settotalmass="1" fusestatic="true"/>': "settotalmass | fusestatic",
        '<equality><joint joint1="k" joint2="j" polycoef="0 1 2"/></equality>': "straight",
    }.items():
        pair = BODY + BODY.replace('"j"', '"k"').replace('"b"', '"c"')
        assert names(refused(world(pair, section))[1], *text.split(" | "))


MESHES = {
    '<mesh name="m" vertex="0 0 0 1 0 0 0 1 0 1 1 0"/>': "mesh 'm' has coplanar vertices, cannot compute convex hull",
    '<mesh name="m" vertex="0 0 0" face="0 1 2"/>': "at least 4 vertices required",
    f'<mesh name="m" {FACES[:-2]}9"/>': "in face 3, vertex index 9 does not exist",
    f'<mesh name="m" inertia="exact" {FACES.replace("0 2 1", "0 1 2")}/>': "have inconsistent orientation",
    f'<mesh name="m" scale="0 1 1" {FACES}/>': "mesh volume is too small",
    f'<mesh name="m" inertia="exact" {INWARD}/>': "mesh volume is negative (misoriented triangles)",
    '<mesh name="m" file="no.stl"/>': 'file | "no.stl"',
    '<mesh name="m" file="m.ply"/>': "m.ply | stl, obj, msh",
    '<mesh name="m" file="m.stl"/>': "invalid header in STL file 'm.stl'",
    '<mesh name="m" file="m.msh"/>': "missing header in MSH file 'm.msh'",
    '<mesh name="m" file="n.obj"/>': "could not parse OBJ file 'n.obj'",
    '<mesh name="m" file="../outside.stl"/>': "outside | folder",
    '<mesh name="m" file="/outside.stl"/>': "/outside.stl | absolute",
    '<mesh name="m" file="C:/outside.stl"/>': "absolute",
    '<mesh name="m" file="link.stl"/>': "outside | folder",
    '<mesh name="m" file="sub/../../outside.stl"/>': "outside | folder",
}  # fmt: skip


def test_meshes_that_cannot_be_read_are_refused(tmp_path):
    folder = tmp_path / "model"
    (folder / "sub").mkdir(parents=True)
    (tmp_path / "outside.stl").write_bytes(bytes(84))
    for name in ("m.ply", "m.stl", "m.msh"):
        (folder / name).write_bytes(b"solid")
    (folder / "n.obj").write_text("f 1/a b")
    linked = symlink(tmp_path / "outside.stl", folder / "link.stl")
    for mesh, reason in MESHES.items():
        if linked or "link" not in mesh:
            line, message = refused(world(MESH, f"<asset>{mesh}</asset>"), folder)
            assert line == 2
            assert names(message, *reason.split(" | ")), mesh
    for directory in ("..", "/", "sub/../.."):
        asset = f'<compiler meshdir="{directory}"/><asset><mesh name="m" file="outside.stl"/></asset>'
        assert re.search("outside|absolute", refused(world(MESH, asset), folder)[1])


INCLUDES = {
    'file="../out.xml"': "outside | folder",
    'file="sub/../../out.xml"': "outside | folder",
    'file="link.xml"': "outside | folder",
    'file="/etc/hostname"': "absolute",
    'file="no.xml"': "no.xml | file",
    'file="sub"': '"sub" | file',
    'file="model.xml"': "model.xml | already | once",
    'file="loop.xml"': 'loop.xml:1: | <include> | "loop.xml" | already',
    'file="twice.xml"': "part.xml | already",
    'file="empty.xml"': "empty.xml | elements",
    'file="bad.xml"': "bad.xml:2: | XML",
    'file="wrong.xml"': "wrong.xml:3: <option>: bad format in attribute 'gravity'",
    f'file="{"x" * 5000}.xml"': "<include> | file",  # no such file, or a name that is too long
    'flie="a.xml"': "flie | <include> | 'file'",
    "": "file | missing",
}


def test_includes_stay_in_the_folder_and_happen_once(tmp_path):
    folder = tmp_path / "model"
    (folder / "sub").mkdir(parents=True)
    part = '<x><option gravity="1 2 3"/></x>'
    for path in (tmp_path / "out.xml", folder / "part.xml"):
        path.write_text(part)
    linked = symlink(tmp_path / "out.xml", folder / "link.xml")
    (folder / "loop.xml").write_text('<x><include file="loop.xml"/></x>')
    (folder / "twice.xml").write_text('<x><include file="part.xml"/><include file="sub/../part.xml"/></x>')
    (folder / "empty.xml").write_text("<x/>")
    (folder / "bad.xml").write_text("<x>\n<y></x>")
    (folder / "wrong.xml").write_text('<x>\n\n<option gravity="down"/></x>')
    path = folder / "model.xml"
    for include, reason in INCLUDES.items():
        if linked or "link" not in include:
            path.write_text(world(BODY, f"<include {include}/>"))
            with raises(lw.errors.FileError, *reason.split(" | ")) as caught:
                lw.load(path)
            assert str(caught.value).startswith(str(folder))


def test_errors_of_the_table_name_the_line_of_the_element(tmp_path):
    inertial = '\n<inertial pos="0 0 0" mass="1" diaginertia="1 1 9"/>\n'
    line, message = refused(world(f'<body name="b"><joint/>{inertial}</body>'), tmp_path)
    assert (line, "breaks the triangle inequality" in message) == (4, True)
    with warns(UserWarning, "robot 'model'", "'b'", "inertia"):
        lw.load(tmp_path / "model.xml", unphysical="warn")
    line, message = refused(world(BODY + "\n" + BODY.replace('"j"', '"k"')), tmp_path)
    assert (line, "repeated name 'b' in body" in message) == (4, True)
    line, message = refused(world(BODY + "\n\n" + BODY.replace('"b"', '"c"')), tmp_path)
    assert (line, "repeated name 'j' in joint" in message) == (5, True)
    line, message = refused(world(f'<body name="b">{inertial}</body>'), tmp_path, base="free")
    assert (line, "inertia breaks the triangle" in message) == (4, True)  # the joint that it gets stands in no line
    line, message = refused(world('<body name="b"><geom size=".1"/></body>'), tmp_path)
    assert (line, 'has no joint that moves (expected one; base="free"' in message) == (1, True)
    line, message = refused(
        world(BODY.replace("<geom", '<geom pos="1e308 1e308 1e308" size=".1" mass="9"/><geom')), tmp_path
    )
    assert (line, "mass and inertia of moving bodies" in message) == (3, True)


@pytest.mark.parametrize(
    ("name", "inside", "before"),
    [
        ("spring", '<body><joint type="free" stiffness="1"/><geom size=".1"/></body>', ""),
        ("gravcomp", BODY.replace("<body", '<body gravcomp=".5"'), ""),
        ("fluid", BODY, '<option density="1000" viscosity="1"/>'),
        ("flex", BODY, "<deformable><flex/></deformable>"),
        ("flex", BODY, '<deformable><flex name="f"/></deformable><equality><flex flex="f"/></equality>'),
        ("equality", BODY, '<equality><weld body1="b"/><joint joint1="j"/></equality>'),
        ("tendon", BODY, f"<tendon>{PULLED}</tendon>".replace('"t"', '"t" damping="1"')),
        ("actuator", BODY, f'<tendon>{PULLED}</tendon><actuator><motor tendon="t" damping="1"/></actuator>'),
    ],
)
def test_parts_that_are_not_modelled_can_be_ignored(name, inside, before, tmp_path):
    line, message = refused(world(inside, before), tmp_path)
    assert line in (2, 3)
    assert f'ignore=["{name}"] leaves it out)' in message
    with warns(UserWarning, "model.xml", "ignored", name):
        robot = lw.load(tmp_path / "model.xml", ignore=[name])
    assert robot.n in (1, 6)
    with pytest.raises(lw.errors.FileError, match=f"ignore has '{name}x', did you mean '{name}'?"):
        lw.load(tmp_path / "model.xml", ignore=[f"{name}x"])


def test_deep_and_wide_files_are_refused(tmp_path):
    deep = world("<body>" * 300 + "</body>" * 300)
    assert "deep" in refused(deep, tmp_path)[1]
    for i in range(300):
        (tmp_path / f"part{i}.xml").write_text(f'<x><body><joint/><include file="part{i + 1}.xml"/></body></x>')
    assert "deep" in refused_anywhere(world('<include file="part0.xml"/>'), tmp_path)
    wide = world('<replicate count="4999">' + "<body><site/></body>" * 100 + "</replicate>")
    assert "is copied by <replicate>, which makes more than 5000 elements" in refused(wide, tmp_path)[1]


def refused_anywhere(content, folder):
    path = folder / "model.xml"
    path.write_text(content)
    with pytest.raises(lw.errors.FileError) as caught:
        lw.load(path)
    return str(caught.value)


@pytest.mark.parametrize("seed", rest_slow(range(10), [0]))
def test_damaged_files_are_refused_or_read_but_never_break_the_reader(seed):
    """Letters, numbers and elements of a model that has something of everything are exchanged or lost."""
    rng = np.random.default_rng(seed)
    text = world(
        f"""<frame euler="1 2 3"><body name="a" pos="1 2 3" xyaxes="1 0 0 0 1 0"><freejoint name="f"/>
        <inertial pos="0 0 0" mass="1" fullinertia="1 1 1 0 0 0"/><replicate count="2" sep="-" offset="1 2 3"><body>
        <joint type="ball"/><geom type="mesh" mesh="m"/></body></replicate></body></frame>{BODY}""",
        f"""<compiler angle="radian" eulerseq="zyx" boundmass=".1" settotalmass="3" inertiafromgeom="auto"/>
        <option gravity="0 0 -9"/>
        <default><geom density="7"/><default class="c"><joint damping="1"/></default></default>
        <asset><mesh name="m" {FACES}/></asset>""",
        """<equality><joint joint1="j" polycoef="1 2"/></equality><actuator><motor joint="j" armature=".1"/></actuator>
        <tendon><fixed><joint joint="j" coef="1"/></fixed></tendon><sensor><clock/></sensor>""",
    )
    worker = fuzzing.Worker()  # MuJoCo in a process of its own
    try:
        assert sum(worker(damaged(text, rng).encode(), "model.xml", {}) for _ in range(120))
    finally:
        worker.stop()


def damaged(text, rng):
    for _ in range(rng.integers(1, 3)):
        words = re.split(r'([\s"<>/=]+)', text)
        i, j = rng.integers(len(words), size=2)
        change = rng.integers(5)
        if change == 0:
            words[i] = ""
        elif change == 1:
            words[i], words[j] = words[j], words[i]
        elif change == 2:
            words[i] = words[j]
        elif change == 3:
            words[i] = str(
                rng.choice(["1e308", "-1", "0", "1e-320", "nan", "x", "1e999", "joint", "free", "main", "é"])
            )
        else:
            words[i] = words[i][::-1]
        text = "".join(words)
    return text
