"""MJCF that is refused: each message names the file, the line and the element, and says how to go on."""

import os
import re
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest

import linkwise as lw
from effort import in_turn, rest_slow
from linkwise.formats.mjcf.grammar import ATTRIBUTES

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
        with pytest.raises(lw.FileError) as caught:
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


ANYWHERE = {  # in a body
    "<joit/>": "<joit> of <body name=\"a\">: is not an element of <body>, did you mean 'joint'?",
    '<geom size=".1" maas="1"/>': "maas is not an attribute of <geom>, did you mean 'mass'?",
    '<joint rang="0 1"/>': "rang is not an attribute of <joint>, did you mean 'range'?",
    '<joint type="hing"/>': 'type is "hing", did you mean \'hinge\'?',
    '<joint axis="0 0 0"/>': "axis has the length 0 (expected a direction)",
    '<joint axis="0 0"/>': 'axis is "0 0", 2 numbers (expected 3)',
    '<joint armature="-1"/>': "armature is -1 (expected a number that is not negative)",
    '<joint armature="nan"/>': 'armature is "nan" (expected a number)',
    '<joint damping="1 2"/>': "damping has terms of higher powers, [2.0] (expected only the first, linear one)",
    '<joint stiffness="1 0 3"/>': "stiffness has terms of higher powers",
    '<joint range="1 0"/>': "range is 1 to 0 (expected the smaller number first)",
    '<joint springdamper="1 1"/>': 'ignore=["springdamper"] leaves it out',
    '<joint stiffness="1" springyield="1"/>': 'ignore=["spring"] leaves it out',
    '<joint type="ball"/><joint/>': "is a rotation after a ball joint of the same body",
    "<joint/><freejoint/>": "is a free joint of a body that has other joints or a parent",
    "<freejoint/><joint/>": "follows a free joint of the same body",
    '<joint class="x"/>': 'has the class "x", which <default> does not define',
    '<body childclass="x"/>': 'has the class "x", which <default> does not define',
    '<body gravcomp="1"/>': 'ignore=["gravcomp"] leaves it out',
    '<body quat="0 0 0 0"/>': "quat has the length 0",
    '<body quat="1 0 0 0" euler="1 2 3"/>': "has the orientations quat and euler (expected one)",
    '<body xyaxes="1 0 0 2 0 0"/>': "the second axis of xyaxes, across the first, has the length 0",
    '<frame scale="2"/>': "scale is given: frames that scale their contents are not read here",
    '<frame><inertial pos="0 0 0" mass="1"/></frame>': "stands in <frame> (expected it in the body itself)",
    '<replicate count="2"><joint/></replicate>': "stands in <replicate> (expected a body around it)",
    '<replicate count="0"/>': "count is 0 (expected a whole number from 1",
    '<replicate count="1e300"/>': "count is 1e+300 (expected a whole number from 1 to 5000)",
    '<replicate count="4000"><replicate count="4000"/></replicate>': "which makes more than 5000 elements",
    "<composite/>": "composite objects are not read here",
    "<flexcomp/>": "flexible objects are not read here",
    "<attach/>": "attached models are not read here",
    "<plugin/>": "plugins are not read here",
    '<geom size=".1"><plugin/></geom>': "<plugin> of <body name=\"a\">: is not read here",
    "<inertial/>": "pos is missing",
    '<inertial pos="0 0 0"/>': "mass is missing",
    '<inertial pos="0 0 0" mass="-1"/>': "mass is -1 (expected a number that is not negative)",
    '<inertial pos="0 0 0" mass="1" fullinertia="1 1 1 0 0 0" diaginertia="1 1 1"/>': "has fullinertia and diaginertia",
    '<inertial pos="0 0 0" mass="1"/><inertial pos="0 0 0" mass="1"/>': "is given twice (line 3 has the first",
    '<geom type="bix" size="1 1 1"/>': 'type is "bix", did you mean \'box\'?',
    '<geom type="box" size="1 1"/>': 'size is "1 1" for type "box" (expected three half lengths, positive)',
    '<geom size="1 1 1 1"/>': "size has 4 numbers (expected at most 3)",
    '<geom size="-.1"/>': 'size is "-.1" for type "sphere" (expected the radius, positive)',
    '<geom size=".1" mass="-1"/>': "mass is -1 (expected a number that is not negative)",
    '<geom size=".1" density="-1"/>': "density is -1 (expected a number that is not negative)",
    '<geom size="1e200"/>': "out of range (expected lengths in m)",
    '<geom type="ellipsoid" shellinertia="true" size="1e20 1e20 1e20"/>': "out of range (expected lengths in m)",
    '<geom type="box" size="1e90 1e90 1e90" density="1e200"/>': "has a mass that is too large",
    '<geom size=".1" fromto="0 0 0 0 0 1"/>': 'fromto is given for type "sphere"',
    '<geom type="box" size=".1" fromto="0 0 0 0 0 0"/>': "fromto has two points that are the same",
    '<geom type="box" size=".1" fromto="0 0 0 0 0 1" pos="1 0 0"/>': "has pos and fromto (expected one)",
    '<geom type="hfield"/>': 'give the body an <inertial>, or the geom mass="0"',
    '<geom type="mesh"/>': "mesh is missing (expected the name of a mesh of <asset>)",
    '<geom type="mesh" mesh="x"/>': 'mesh is "x", which <asset> does not have',
}  # fmt: skip


@in_turn(ANYWHERE)
def test_what_is_wrong_in_a_body_is_refused(part):
    line, message = refused(world(f'{BODY}<body name="a">{part}</body>'))
    assert line == 3
    assert ANYWHERE[part] in message


BEFORE = {
    "<wordbody/>": "<wordbody>: is not an element of <mujoco>, did you mean 'worldbody'?",
    '<compiler angle="degrees"/>': 'angle is "degrees", did you mean \'degree\'?',
    '<compiler coordinate="global"/>': "coordinate is global, which MuJoCo has given up",
    '<compiler eulerseq="xy"/>': 'eulerseq is "xy" (expected three letters of x, y, z, X, Y, Z)',
    '<compiler boundmass="-1"/>': "boundmass is -1.0 (expected a number that is not negative)",
    '<compiler settotalmass="1" fusestatic="true"/>': "has settotalmass and fusestatic",
    '<compiler balanceinertia="yes"/>': 'balanceinertia is "yes" (expected one of true, false)',
    "<compiler><lenght/></compiler>": "is not an element of <compiler>",
    '<option gravity="0 0"/>': 'gravity is "0 0", 2 numbers (expected 3)',
    '<option density="1.2"/>': 'has a fluid around the bodies (density), which exerts forces on them,',
    '<option viscosity="1"/>': 'ignore=["fluid"] leaves it out',
    '<option><flag gravity="off"/></option>': 'gravity is "off" (expected one of enable, disable)',
    '<option timestp="1"/>': "timestp is not an attribute of <option>, did you mean 'timestep'?",
    '<default class="x"/>': 'class is "x" (expected "main" or none for the first class',
    "<default><default/></default>": "class is missing (expected a name for a class in another)",
    '<default><default class="main"/></default>': 'class is "main", which is defined already',
    "<default><geo/></default>": "is not an element of <default>, did you mean 'geom'?",
    '<default><geom size="a"/></default>': 'size is "a" (expected numbers)',
    '<default><joint dampng="1"/></default>': "dampng is not an attribute of <joint>, did you mean 'damping'?",
    "<asset><msh/></asset>": "is not an element of <asset>, did you mean 'mesh'?",
    '<asset><mesh name="a"/><mesh name="a"/></asset>': 'the name "a" is given twice',
    "<deformable><flex/></deformable>": 'ignore=["flex"] leaves it out',
    "<deformable><x/></deformable>": "is not an element of <deformable>",
    '<worldbody pos="1 0 0"/>': "has the attribute pos (expected none)",
    "<worldbody><joint/></worldbody>": "stands in the world, which does not move",
    "<equality><jont/></equality>": "is not an element of <equality>, did you mean 'joint'?",
    '<equality><connect body1="b" anchor="0 0 0"/></equality>': 'ignore=["equality"] leaves it out',
    '<equality><weld body1="b"/></equality>': 'ties bodies together, which closes a loop, and is not modelled',
    '<equality><tendon tendon1="b"/></equality>': 'ignore=["equality"] leaves it out',
    '<equality><flex flex="b"/></equality>': 'ignore=["equality"] leaves it out',
    "<equality><joint/></equality>": "joint1 is missing (expected the name of a joint)",
    '<equality><joint joint1="i"/></equality>': 'joint1 is "i", which no joint has as its name',
    '<equality><joint joint1="j" joint2="j"/></equality>': "coupled_to closes a loop",
    '<equality><joint joint1="j" joint2="j" polycoef="0 1 2"/></equality>': "which is not linear (expected",
    '<equality><joint joint1="j" polycoef="1 2 3 4 5 6"/></equality>': "polycoef has 6 numbers (expected at most 5)",
    '<equality><joint joint1="j"/><joint joint1="j"/></equality>': "ties joint 'j' a second time",
    '<tendon><spatial stiffness="1"/></tendon>': 'has stiffness, which acts on the joints and is not modelled here',
    '<default><tendon armature="1"/></default><tendon><fixed name="t"/></tendon>': 'ignore=["tendon"] leaves it out',
    "<tendon><fix/></tendon>": "is not an element of <tendon>, did you mean 'fixed'?",
    "<actuator><moter/></actuator>": "is not an element of <actuator>, did you mean 'motor'?",
    '<actuator><motor tendon="t" armature="1"/></actuator>': 'ignore=["actuator"] leaves it out',
}  # fmt: skip


@in_turn(BEFORE)
def test_what_is_wrong_in_a_section_is_refused(section):
    line, message = refused(world(BODY, section))
    assert line == 2
    assert BEFORE[section] in message


MESHES = {
    f'<mesh name="m" inertia="convex" maxhullvert="9" {FACES}/>': "simplified convex hulls are not computed here",
    '<mesh name="m" vertex="0 0 0 1 0 0 0 1 0 1 1 0"/>': "convex hull is not found: they lie in a plane",
    '<mesh name="m" builtin="sphere" params="1"/>': "is made by MuJoCo (builtin or plugin), which is not done here",
    '<mesh name="m" vertex="0 0 0" face="0 1 2"/>': "has 1 vertices (expected at least 4)",
    '<mesh name="m" vertex="0 0" face="0 1 2"/>': "vertex and face have numbers that do not come in threes",
    f'<mesh name="m" {FACES[:-2]}9"/>': "has a face with a vertex that does not exist (expected 0 to 3)",
    f'<mesh name="m" inertia="exact" {FACES.replace("0 2 1", "0 1 2")}/>': "has faces of inconsistent orientation",
    f'<mesh name="m" scale="0 1 1" {FACES}/>': "it is flat",
    f'<mesh name="m" scale="1e-9 1e-9 1e-9" {FACES}/>': "has a surface of",
    f'<mesh name="m" inertia="exact" {INWARD}/>': "it is not closed, or its faces are turned inwards",
    f'<mesh name="m" file="m.stl" {FACES}/>': "has a file and vertices or faces of its own",
    '<mesh name="m" file="no.stl"/>': 'file is "no.stl", and there is no such file in',
    '<mesh name="m" file="m.ply"/>': "which is not read here (expected stl, obj, msh)",
    '<mesh name="m" file="m.stl"/>': "which is not binary STL of 1 to 200000 triangles; is it the text form?",
    '<mesh name="m" file="m.msh"/>': "which is not an MSH file of MuJoCo",
    '<mesh name="m" file="m.obj"/>': "whose line 2 has a vertex that is not made of numbers",
    '<mesh name="m" file="n.obj"/>': "whose line 1 has a face that is not made of vertex numbers",
    '<mesh name="m" file="o.obj"/>': "whose line 5 has a second object or group, of which MuJoCo takes only the first",
    '<mesh name="m" file="p.obj"/>': "which has no faces, or one with a vertex that does not exist",
    '<mesh name="m" file="../outside.stl"/>': "which lies outside the model's folder",
    '<mesh name="m" file="/outside.stl"/>': "an absolute path (expected one that starts in the model's folder)",
    '<mesh name="m" file="C:/outside.stl"/>': "an absolute path",
    '<mesh name="m" file="link.stl"/>': "which lies outside the model's folder",
    '<mesh name="m" refquat="0 0 0 0" vertex="0 0 0 1 0 0 0 1 0 0 0 1" face="0 2 1"/>': "refquat has the length 0",
}  # fmt: skip


def test_meshes_whose_inertia_is_not_known_are_refused(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "outside.stl").write_bytes(bytes(84))
    for name in ("m.ply", "m.stl", "m.msh"):
        (folder / name).write_bytes(b"solid")
    objects = {
        "m": "v 0 0 0\nv 1 x 0",
        "n": "f 1/a b",
        "o": "v 0 0 0\nv 0 0 1\nf 1 2 2\no two\nf 1 2 2",
        "p": "v 0 0 0\n",
    }
    for name, content in objects.items():
        (folder / f"{name}.obj").write_text(content)
    linked = symlink(tmp_path / "outside.stl", folder / "link.stl")
    for mesh, reason in MESHES.items():
        if linked or "link" not in mesh:
            line, message = refused(world(MESH, f"<asset>{mesh}</asset>"), folder)
            assert line == 2
            assert reason in message, mesh


def test_shapes_that_are_fitted_to_a_mesh_in_ways_that_are_not_known_are_refused(tmp_path):
    cube = " ".join(f"{x} {y} {z}" for x in (-1, 1) for y in (-1, 1) for z in (-1, 1))
    faces = "0 1 3 0 3 2 4 6 7 4 7 5 0 4 5 0 5 1 2 3 7 2 7 6 0 2 6 0 6 4 1 5 7 1 7 3"
    asset = f'<asset><mesh name="m" vertex="{cube}" face="{faces}"/></asset>'
    body = '<body name="b"><joint/><geom type="{}" mesh="m"/></body>'
    line, message = refused(world(body.format("capsule"), asset), tmp_path)
    assert (line, "its direction is arbitrary" in message) == (3, True)
    line, message = refused(world(body.format("box"), f'<compiler fitaabb="true"/>{asset}'), tmp_path)
    assert (line, "fits a box to the bounding box of a mesh (fitaabb)" in message) == (3, True)


INCLUDES = {
    'file="../out.xml"': "which lies outside the model's folder",
    'file="sub/../../out.xml"': "which lies outside the model's folder",
    'file="link.xml"': "which lies outside the model's folder",
    'file="/etc/hostname"': "an absolute path",
    'file="no.xml"': "and there is no such file in",
    'file="sub"': "and there is no such file in",
    'file="model.xml"': "which is a part of the model already (expected each file once)",
    'file="loop.xml"': 'loop.xml:1: <include>: file is "loop.xml", which is a part of the model already',
    'file="twice.xml"': "which is a part of the model already",
    'file="empty.xml"': "which has no elements (expected at least one)",
    'file="bad.xml"': "bad.xml:2: is not XML",
    'file="wrong.xml"': "wrong.xml:3: <option>: gravity is",
    f'file="{"x" * 5000}.xml"': 'file is "xxx',  # no such file, or a name that is too long
    'flie="a.xml"': "flie is not an attribute of <include>, did you mean 'file'?",
    "": "file is missing",
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
            with pytest.raises(lw.FileError, match=re.escape(reason)) as caught:
                lw.load(path)
            assert str(caught.value).startswith(str(folder))


def test_errors_of_the_table_name_the_line_of_the_element(tmp_path):
    inertial = '\n<inertial pos="0 0 0" mass="1" diaginertia="1 1 9"/>\n'
    line, message = refused(world(f'<body name="b"><joint/>{inertial}</body>'), tmp_path)
    assert (line, "breaks the triangle inequality" in message) == (4, True)
    with pytest.warns(UserWarning, match="triangle inequality"):
        lw.load(tmp_path / "model.xml", unphysical="warn")
    line, message = refused(world(BODY + "\n" + BODY.replace('"j"', '"k"')), tmp_path)
    assert (line, "the name 'b' belongs to row 1 already" in message) == (4, True)
    line, message = refused(world(BODY + "\n\n" + BODY.replace('"b"', '"c"')), tmp_path)
    assert (line, "'j'" in message) == (5, True)
    line, message = refused(world('<body name="b"><geom size=".1"/></body>'), tmp_path)
    assert (line, 'has no joint that moves (expected one; base="free"' in message) == (1, True)
    line, message = refused(
        world(BODY.replace("<geom", '<geom pos="1e308 1e308 1e308" size=".1" mass="9"/><geom')), tmp_path
    )
    assert (line, "finite" in message) == (3, True)


@pytest.mark.parametrize(
    ("name", "inside", "before"),
    [
        ("springdamper", '<body><joint springdamper="1 1"/><geom size=".1"/></body>', ""),
        ("spring", '<body><joint type="free" stiffness="1"/><geom size=".1"/></body>', ""),
        ("gravcomp", BODY.replace("<body", '<body gravcomp=".5"'), ""),
        ("fluid", BODY, '<option density="1000" viscosity="1"/>'),
        ("flex", BODY, "<deformable><flex/></deformable>"),
        ("equality", BODY, '<equality><weld body1="b"/><joint joint1="j" polycoef="0 0 1"/></equality>'),
        ("tendon", BODY, '<tendon><spatial damping="1"/></tendon>'),
        ("actuator", BODY, '<actuator><motor site="x" damping="1"/></actuator>'),
    ],
)
def test_parts_that_are_not_modelled_can_be_ignored(name, inside, before, tmp_path):
    line, message = refused(world(inside, before), tmp_path)
    assert line in (2, 3)
    assert f'is not modelled here (ignore=["{name}"] leaves it out)' in message
    with pytest.warns(UserWarning, match=f"ignored as asked, though it acts on the robot: {name}"):
        robot = lw.load(tmp_path / "model.xml", ignore=[name])
    assert robot.n in (1, 6)
    with pytest.raises(lw.FileError, match=f"ignore has '{name}x', did you mean '{name}'?"):
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
    with pytest.raises(lw.FileError) as caught:
        lw.load(path)
    return str(caught.value)


def test_attributes_are_those_of_mujoco():
    """Every attribute of MuJoCo's own list is known, in the elements that are read."""
    mujoco = pytest.importorskip("mujoco", minversion="4.0")
    elements, path = {}, []
    for line in mujoco.mj_printSchema(False, False).splitlines():
        head, words = line[:30], line[30:].split()
        if head.strip():
            depth = (len(head) - len(head.lstrip())) // 3
            path = [*path[:depth], head.split()[0].removeprefix("(world)")]
        elements.setdefault("/".join(path[1:]), []).extend(words)
    tables = {
        "compiler": "compiler", "option": "option", "flag": "option/flag", "mesh": "asset/mesh", "body": "body",
        "inertial": "body/inertial", "joint": "body/joint", "freejoint": "body/freejoint", "geom": "body/geom",
        "default/tendon": "default/tendon", "default/equality": "default/equality",
    }  # fmt: skip
    tables |= {key: key for key in ATTRIBUTES if key.startswith(("equality/", "tendon/"))}
    for ours, theirs in tables.items():
        assert set(ATTRIBUTES[ours]) == set(elements[theirs]), ours


@pytest.mark.parametrize("seed", rest_slow(range(10), [0]))
def test_damaged_files_are_refused_or_read_but_never_break_the_reader(seed, tmp_path):
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
    path = tmp_path / "model.xml"
    read = 0
    for _ in range(120):
        path.write_text(damaged(text, rng))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                lw.load(path)
            read += 1
        except lw.RobotError:
            continue
    assert read


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
