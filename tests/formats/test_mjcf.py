"""MJCF: random models have MuJoCo's inertia matrices, bias forces and poses."""

import shutil
import warnings

import numpy as np
import pytest

import linkwise as lw
from effort import THOROUGH, rest_slow
from facts import raises, warns

mujoco = pytest.importorskip("mujoco", minversion="4.0")

from mjcf_models import CUBE, Writer, differences, quietly, text  # noqa: E402

ALIKE = 1e-10
SEEDS = list(range(200 if THOROUGH else 60))
QUICK = SEEDS[:12]
GEOM = '<geom size=".1" mass="1.5" pos=".1 .2 .3"/>'
FULL = '<geom type="box" size=".1 .2 .3" pos=".1 .2 .3" euler="10 20 30"/>'
FIXED = '<inertial pos=".1 .2 .3" mass="2" diaginertia=".1 .15 .2" euler="10 20 30"/>'


def written(content, folder, name="model.xml"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def world(inside, before="", after=""):
    return f"<mujoco>{before}<worldbody>{inside}</worldbody>{after}</mujoco>"


@pytest.mark.parametrize("seed", rest_slow(SEEDS, QUICK))
def test_random_models_agree_with_mujoco(seed, tmp_path):
    path = written(Writer(seed).model(), tmp_path)
    model, arm = mujoco.MjModel.from_xml_path(str(path)), quietly(path)
    for quantity, difference in differences(arm, model, seed).items():
        assert difference < ALIKE, quantity
    assert tuple(arm.gravity) == tuple(model.opt.gravity)


@pytest.mark.parametrize("seed", rest_slow(SEEDS, QUICK[:4]))
def test_names_drives_springs_and_limits_are_those_of_mujoco(seed, tmp_path):
    path = written(Writer(seed).model(), tmp_path)
    model, arm = mujoco.MjModel.from_xml_path(str(path)), quietly(path)
    rows = [row for row in arm.rows if row["joint"] != "fixed"]
    assert len(rows) == model.njnt == len(arm.joint_names)
    for k, row in enumerate(rows):
        joint, dof, position = model.joint(k), model.jnt_dofadr[k], model.jnt_qposadr[k]
        if joint.name:
            assert arm.joint_names[k] == joint.name
            assert arm.q_slice(joint.name).start == position
            assert arm.v_slice(joint.name).start == dof
        assert row.get("rotor_inertia", 0.0) == model.dof_armature[dof]
        assert row.get("viscous_friction", 0.0) == model.dof_damping[dof]
        assert row.get("coulomb_friction", 0.0) == model.dof_frictionloss[dof]
        assert row.get("stiffness", 0.0) == model.jnt_stiffness[k]
        if "rest" in row:
            assert row["rest"] == pytest.approx(model.qpos_spring[position], abs=1e-14)
        assert ("limits" in row) == bool(model.jnt_limited[k])
        if "limits" in row:
            assert np.allclose(row["limits"], model.jnt_range[k], rtol=1e-14)


@pytest.mark.parametrize("seed", rest_slow(SEEDS, QUICK[:4]))
def test_springs_of_the_table_pull_as_in_mujoco(seed, tmp_path):
    path = written(Writer(seed).model(), tmp_path)
    model, arm = mujoco.MjModel.from_xml_path(str(path)), quietly(path)
    data = mujoco.MjData(model)
    data.qpos = lw.random_configuration(arm, seed)
    mujoco.mj_forward(model, data)
    pulled = lw.control.springs(arm)(arm, 0.0, data.qpos.copy(), np.zeros(arm.n))
    assert np.abs(pulled - data.qfrc_spring).max() < ALIKE


DEFAULTS = """<default><geom density="10" euler="10 20 30"/><default class="a"><joint armature="1"/>
    <geom size=".1 .2 .3" type="box"/></default></default><default><geom density="100"/><default class="b">
    <joint armature="2" damping=".1"/></default></default>"""
SPECIAL = {
    "replicate": world(
        f"""<body name="top"><joint/>{GEOM}<replicate count="12" sep="-" offset="1 0 .2" euler="10 20 30">
        <frame pos="1 2 3" euler="4 5 6"><replicate count="2" sep="x" offset="0 .1 0" euler="5 0 0">
        <body name="b" pos=".1 0 0"><joint name="j" pos=".1 0 0"/>{GEOM}</body></replicate></frame>{GEOM}</replicate>
        </body>"""
    ),
    "classes": world(
        """<body name="b"><joint class="a"/><geom class="a" quat="1 .1 .2 .3"/><geom size=".1" class="b"/>
        <body name="c"><joint class="b"/><geom size=".5" class="a" pos=".2 .3 .4"/></body></body>""",
        DEFAULTS,
    ),
    "nothing but bounds": world(
        f"""<body name="a"><joint/>{GEOM}<frame pos=".3 0 0" euler="20 0 0"><body name="b" pos=".1 .2 .3"
        euler="10 20 30"><joint/></body></frame></body>""",
        '<compiler boundmass="1" boundinertia=".1"/>',
    ),
    "free joints with classes": world(
        f"""<body name="b"><freejoint/>{GEOM}</body><frame euler="1 2 3"><body name="c">
        <joint type="free"/>{GEOM}</body></frame>""",
        '<default><joint armature="1" damping="3"/></default>',
    ),
    "alignfree": world(
        f'<body name="b"><freejoint/>{FULL}</body><body name="c"><freejoint align="false"/>{FIXED}</body>',
        '<compiler alignfree="true"/>',
    ),
    "align": world(f'<body name="b"><freejoint align="true"/>{FIXED}</body>'),
    "actuators": world(
        f'<body name="b"><joint name="j" armature=".1"/>{GEOM}</body>',
        '<default><motor armature="0.2" gear="3"/></default>',
        '<actuator><motor joint="j"/><position joint="j" kp="3" gear="2" armature="0.01" damping=".3"/></actuator>',
    ),
    "no gravity": world(f'<body name="b"><joint/>{GEOM}</body>', '<option><flag gravity="disable"/></option>'),
    "sections twice": f"""<mujoco><compiler angle="radian"/><compiler eulerseq="zyx"/><option gravity="0 0 -1"/>
        <option gravity="1 2 3"/><worldbody><body name="b" euler="1 2 3"><joint/>{GEOM}</body></worldbody>
        <worldbody><body name="c"><joint/>{GEOM}</body></worldbody></mujoco>""",
    "geoms do not count": world(
        f'<body name="b"><joint/>{FIXED}<body name="c">{GEOM}</body></body>', '<compiler inertiafromgeom="false"/>'
    ),
    "no geoms": world(f'<body name="b"><joint/>{FIXED}</body>', '<compiler inertiafromgeom="true"/>'),
    "balance": world(
        '<body name="b"><joint/><inertial pos="0 0 1" mass="1" diaginertia="1 2 9" euler="10 20 30"/></body>',
        '<compiler balanceinertia="true"/>',
    ),
    "no volume": world(f'<body name="b"><joint/><geom type="capsule" size="1e-6 1e-6" mass="1"/>{GEOM}</body>'),
    "no mass": world(f'<body name="b"><joint/><geom size=".1" mass="0"/><geom size="1" density="0"/>{GEOM}</body>'),
    "mocap": world(f'<body name="b" mocap="true" pos="1 2 3">{GEOM}<body name="c"><joint/>{GEOM}</body></body>'),
    "planes": world(
        f'<body name="s"><geom type="plane" size="1 1 1" mass="3"/><body name="b"><joint/>{GEOM}</body></body>'
    ),
    "names of links and joints": world(
        f"""<body name="base"><joint name="x"/>{GEOM}<body name="x"><joint/><joint axis="1 0 0" name="base"/>{GEOM}
        </body></body><body name="y"><joint name="body1"/>{GEOM}</body>"""
    ),
    "fromto along z": world(
        """<body name="b"><joint axis="1 0 0"/><geom type="capsule" size=".1" fromto="0 0 1 0 0 0"/>
        <geom type="box" size=".1" fromto=".1 0 0 .1 1e-8 1"/></body>"""
    ),
    "frames that scale": world(
        f"""<body name="b"><joint/><frame scale="2" pos=".1 0 0"><geom type="box" size=".1 .2 .3" pos=".1 .2 .3"/>
        <body name="c" pos="0 .2 0"><joint axis="1 0 0"/>{GEOM}</body></frame></body>"""
    ),
    "inertia in a frame": world(f'<body name="b"><joint/><frame pos="1 2 3" euler="10 20 30">{FIXED}</frame></body>'),
    "fitted to a mesh": world(
        """<body name="b"><joint/><geom type="box" mesh="m" pos=".1 0 0"/></body><body name="c"><joint/>
        <geom type="capsule" mesh="m" pos=".1 .2 .3"/></body>""",
        f"""<compiler fitaabb="true"/><asset><mesh name="m" face="{CUBE}" vertex="-1 -2 -3 -1 -2 3 -1 2 -3 -1 2 3
        1 -2 -3 1 -2 3 1 2 -3 1 2 3"/></asset>""",
    ),
    "made by MuJoCo": world(
        '<body name="b"><joint/><geom type="mesh" mesh="m" pos=".1 0 0"/></body>',
        '<asset><mesh name="m" builtin="sphere" params="2" scale=".1 .2 .3"/></asset>',
    ),
    "springs from time constants": world(
        f"""<body name="b"><joint springdamper=".5 1"/>{GEOM}<body name="c"><joint springdamper="1 .7"/>{FULL}</body>
        </body>"""
    ),
    "aligned with the axes of a tensor": world(
        f"""<body name="b"><freejoint align="true"/>{FULL}<geom size=".1" pos=".3 .1 0"/><site name="s" pos="1 2 3"/>
        </body>"""
    ),
    "a site between two points": world(
        f'<site name="s" type="capsule" size=".01" fromto="1 2 3 3 4 6"/><body name="b"><joint/>{FIXED}</body>'
    ),
    "visual things are left out": world(
        f"""<body name="b"><joint/>{GEOM}<geom size=".1 .2 .3" type="box" contype="0" conaffinity="0" pos=".3 .1 .2"/>
        </body>""",
        '<compiler discardvisual="true"/>',
    ),
}  # fmt: skip


def test_special_models_agree_with_mujoco(tmp_path):
    for name, content in SPECIAL.items():
        path = written(content, tmp_path)
        model, arm = mujoco.MjModel.from_xml_path(str(path)), quietly(path)
        for quantity, difference in differences(arm, model).items():
            assert difference < ALIKE, f"{quantity} of {name}"


def test_fused_bodies_are_the_same_robot(tmp_path):
    inside = f'<body name="b"><joint/>{GEOM}<body name="c" pos=".1 .2 .3" euler="10 20 30">{FULL}</body></body>'
    path = written(world(inside, '<compiler fusestatic="true"/>'), tmp_path)
    model, arm = mujoco.MjModel.from_xml_path(str(path)), quietly(path)
    assert model.nbody == 2
    assert max(differences(arm, model, poses=False).values()) < ALIKE


def test_bodies_without_names_agree_with_mujoco(tmp_path):
    path = written(world(f"<body><joint/><joint axis='1 0 0'/>{GEOM}<body><joint/>{GEOM}</body></body>"), tmp_path)
    arm = quietly(path)
    assert arm.names == ("body1_joint1", "body1", "body2")
    assert max(differences(arm, mujoco.MjModel.from_xml_path(str(path)), poses=False).values()) < ALIKE


# coupled joints

PAIR = (
    f'<body name="a"><joint name="x" ref="20" axis="0 1 0"/>{GEOM}'
    f'<body name="b" pos=".2 0 .1"><joint name="y" ref="-30" type="{{}}" pos=".05 0 0" axis="1 1 0"/>{FULL}'
    f'<body name="c" pos=".1 .2 .3"><joint name="z" axis="0 0 1"/>{GEOM}</body></body></body>'
)


@pytest.mark.parametrize("kind", ["hinge", "slide"])
def test_coupled_joints_move_as_the_constraint_says(kind, tmp_path):
    """MuJoCo keeps the coordinate: its equations, seen along the constraint, are those of the coupled robot."""
    equality = '<equality><joint joint1="y" joint2="x" polycoef=".3 -1.7"/></equality>'
    path = written(world(PAIR.format(kind), after=equality), tmp_path)
    model, arm = mujoco.MjModel.from_xml_path(str(path)), quietly(path)
    assert arm.q_names == ("x", "z")
    q, v, x0 = np.array([0.4, -0.9]), np.array([1.1, 0.7]), np.radians(20)
    y0 = np.radians(-30) if kind == "hinge" else -30.0
    along = np.array([[1.0, 0.0], [-1.7, 0.0], [0.0, 1.0]])
    data = mujoco.MjData(model)
    data.qpos, data.qvel = [q[0], y0 + 0.3 - 1.7 * (q[0] - x0), q[1]], along @ v
    mujoco.mj_forward(model, data)
    assert np.abs(data.efc_pos).max() < 1e-13
    inertia = np.zeros((3, 3))
    mujoco.mj_fullM(model, data, inertia)
    assert np.allclose(lw.inertia_matrix(arm, q), along.T @ inertia @ along, rtol=1e-12)
    assert np.allclose(lw.inverse_dynamics(arm, q, v, np.zeros(2)), along.T @ data.qfrc_bias, rtol=1e-11)
    assert quietly(path, mimic="independent").n == 3
    assert quietly(path, ignore=["equality"]).n == 3


@pytest.mark.parametrize("constraint", ['polycoef=".3"', 'joint2="x" polycoef=".3 0"'])
def test_a_joint_tied_to_a_constant_is_fixed(constraint, tmp_path):
    path = written(
        world(PAIR.format("hinge"), after=f'<equality><joint joint1="y" {constraint}/></equality>'), tmp_path
    )
    model, arm = mujoco.MjModel.from_xml_path(str(path)), quietly(path)
    assert arm.q_names == ("x", "z")
    data = mujoco.MjData(model)
    data.qpos = [0.4, np.radians(-30) + 0.3, -0.9]
    mujoco.mj_forward(model, data)
    inertia = np.zeros((3, 3))
    mujoco.mj_fullM(model, data, inertia)
    assert np.allclose(lw.inertia_matrix(arm, [0.4, -0.9]), inertia[::2, ::2], rtol=1e-12)
    poses = lw.poses(arm, [0.4, -0.9], frames=["a", "b", "c"])
    assert np.allclose(poses[:, :3, 3], data.xpos[1:], atol=1e-13)


def test_flags_switch_constraints_springs_dampers_and_friction_off(tmp_path):
    drive = 'stiffness="3" damping="2" frictionloss="1"'
    body = PAIR.format("hinge").replace('name="x"', f'name="x" {drive}')
    equality = '<equality><joint joint1="y" joint2="x"/></equality>'
    entries = {"spring": "stiffness", "damper": "viscous_friction", "frictionloss": "coulomb_friction"}
    for flag, entry in {**entries, "equality": "", "constraint": "coulomb_friction", "contact": ""}.items():
        path = written(world(body, f'<option><flag {flag}="disable"/></option>', equality), tmp_path)
        arm = quietly(path)
        assert arm.n == (3 if flag in ("equality", "constraint") else 2)
        assert {key for key in entries.values() if key not in arm.rows[0]} == ({entry} if entry else set())


def test_constraints_that_are_not_active_are_skipped(tmp_path):
    equality = '<equality><joint joint1="y" joint2="x" active="false"/><weld body1="a" active="false"/></equality>'
    path = written(world(PAIR.format("hinge"), after=equality), tmp_path)
    with warns(UserWarning, "model.xml", "skipped", "equality"):
        assert lw.load(path).n == 3


def test_what_is_read_is_saved_and_read_again(tmp_path):
    for seed in range(3):
        arm = quietly(written(Writer(seed).model(), tmp_path))
        lw.save(arm, tmp_path / "arm.toml")
        assert lw.load(tmp_path / "arm.toml") == arm


# mesh files


def triangles(rng):
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * rng.uniform(0.1, 0.3, 3)
    points = (corners + rng.uniform(-0.03, 0.03, (8, 3))).astype("<f4")
    return points, np.array(CUBE.split(), dtype="<i4").reshape(-1, 3)


def stl(points, faces):
    record = np.zeros(len(faces), dtype=[("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("end", "<u2")])
    record["corners"] = points[faces]
    return bytes(80) + len(faces).to_bytes(4, "little") + record.tobytes()


def msh(points, faces):
    counts = np.array([len(points), 0, len(points), len(faces)], dtype="<i4")
    return counts.tobytes() + points.tobytes() + bytes(8 * len(points)) + faces.tobytes()


def obj(points, faces):
    """Quadrilaterals, bent; the vertices of a triangle counted from the last."""
    lines = [f"v {text(point)}" for point in points]
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4)]
    lines += ["# a comment", "vn 1 0 0", "o first", *("f " + " ".join(f"{i + 1}//1" for i in quad) for quad in quads)]
    return "\n".join([*lines, "f -7//1 -3//1 -1//-1", "f -7//1 -1//1 -5//1"]).encode()


@pytest.mark.parametrize("inertia", ["exact", "legacy", "shell"])
@pytest.mark.parametrize("ending", [stl, obj, msh], ids=["stl", "obj", "msh"])
def test_inertia_of_mesh_files_agrees_with_mujoco(ending, inertia, tmp_path):
    rng = np.random.default_rng(len(inertia))
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / f"part.{ending.__name__}").write_bytes(ending(*triangles(rng)))
    mesh = f'<asset><mesh file="part.{ending.__name__}" inertia="{inertia}" scale="1 -1.5 2"/></asset>'
    body = f'<body name="b"><joint/><geom type="mesh" mesh="part" density="500" pos=".1 0 .2"/>{GEOM}</body>'
    path = written(world(body, f'<compiler meshdir="parts"/>{mesh}'), tmp_path)
    model, arm = mujoco.MjModel.from_xml_path(str(path)), quietly(path)
    assert max(differences(arm, model).values()) < ALIKE


CLOUDS = {
    "normal": lambda rng, n: rng.normal(size=(n, 3)),
    "sphere": lambda rng, n: (lambda p: p / np.linalg.norm(p, axis=1)[:, None])(rng.normal(size=(n, 3))),
    "lattice": lambda rng, n: rng.integers(-2, 3, size=(n, 3)).astype(float),
    "almost a cube": lambda rng, n: (
        np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)]) + 1e-7 * rng.normal(size=(8, 3))
    ),
    "plate": lambda rng, n: rng.uniform(-1, 1, (n, 3)) * [1, 1, 0.01],
}


@pytest.mark.parametrize("cloud", CLOUDS)
def test_convex_hulls_are_those_of_mujoco(cloud, tmp_path):
    rng = np.random.default_rng(7)
    for way in ("", 'inertia="convex"', 'inertia="shell" scale="1 2 3"', 'inertia="exact" scale="-1 1 1"'):
        vertex = text(CLOUDS[cloud](rng, 60))
        body = '<body name="b"><joint/><geom type="mesh" mesh="m" pos=".1 0 .2"/></body>'
        path = written(world(body, f'<asset><mesh name="m" vertex="{vertex}" {way}/></asset>'), tmp_path)
        model, arm = mujoco.MjModel.from_xml_path(str(path)), quietly(path)
        assert max(differences(arm, model).values()) < ALIKE, way


def test_a_mesh_that_no_inertia_depends_on_is_not_read(tmp_path):
    files = "".join(f'<{tag} name="x" file="/missing"/>' for tag in ("hfield", "skin", "texture"))
    asset = f'<asset><mesh file="../elsewhere/m.stl"/>{files}<material name="m" texture="x"/></asset>'
    geoms = '<geom type="mesh" mesh="m" material="m"/><geom type="hfield" hfield="x"/>'
    places = '<geom type="mesh" mesh="m" class="visual"/><geom type="mesh" mesh="m" density="0" group="2"/>'
    body = f'<body name="b"><joint/>{FIXED}{geoms}</body><body name="c"><joint/>{GEOM}{places}</body>{geoms}'
    default = '<default><default class="visual"><geom mass="0" material="m"/></default></default>'
    assert quietly(written(world(body, default + asset), tmp_path)).n == 2


def test_unphysical_inertias_are_those_of_the_file(tmp_path):
    """MuJoCo does not compile them; they reach the table all the same, scaled as the other masses are."""
    turned = 'diaginertia="1 2 9" euler="10 20 30"'
    full = 'fullinertia="1 2 9 .1 .2 .3"'
    for stated, symmetric in ((turned, np.diag([1, 2, 9])), (full, [[1, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 9]])):
        body = f'<body name="b"><joint/><inertial pos=".1 0 0" mass="2" {stated}/></body>'
        path = written(world(body, '<compiler settotalmass="3"/>'), tmp_path)
        with raises(lw.errors.FileError, "model.xml:1:", "link 'b'", "inertia", "triangle"):
            lw.load(path)
        (row,) = quietly(path, unphysical="warn").rows
        assert row["mass"] == pytest.approx(3.0)
        found = np.array(row["inertia"]) / 1.5
        assert np.allclose(np.linalg.eigvalsh(found), np.linalg.eigvalsh(symmetric), rtol=1e-12)
        assert stated is turned or np.allclose(found, symmetric, atol=1e-12)


def test_no_file_is_written_and_nothing_printed(tmp_path, monkeypatch, capfd):
    """MuJoCo writes its warnings to a file where it runs."""
    monkeypatch.chdir(tmp_path)
    mujoco.set_mju_user_warning(None)
    try:
        quietly(
            written(world(f'<body name="b"><joint armature="1e-9"/>{GEOM}<body><joint/>{GEOM}</body></body>'), tmp_path)
        )
        with raises(lw.errors.FileError, "pos", "nan"):
            lw.load(written(world(f'<body name="b" pos="nan 0 0"><joint/>{GEOM}</body>'), tmp_path))
    finally:
        mujoco.set_mju_user_warning(lambda _: None)
    assert [path.name for path in tmp_path.iterdir()] == ["model.xml"]
    assert capfd.readouterr() == ("", "")


# sites

PLACES = """<mujoco>
  <default><site pos="0 0 .1"/><default class="turned"><site euler="10 20 30"/></default></default>
  <worldbody>
    <site name="door" pos="1 2 3"/>
    <body name="cart" pos="0 .2 0" euler="0 0 20">
      <joint name="rail" type="slide" axis="1 0 0"/>
      <inertial pos=".1 0 0" mass="2" diaginertia=".1 .1 .1"/>
      <frame pos=".3 0 0" euler="0 90 0"><site name="eye" class="turned"/></frame>
      <site/>
      <body name="pole"><joint name="pole_tip" axis="0 1 0"/><geom size=".1"/><site name="pole_tip" pos="0 0 1"/></body>
    </body>
    <body name="ball" euler="10 0 0"><freejoint align="true"/>
      <inertial pos=".1 .2 .3" euler="30 20 10" mass="1" diaginertia=".1 .2 .25"/>
      <site name="mark" pos="0 .1 0"/></body>
  </worldbody>
</mujoco>"""


def test_named_sites_are_frames(tmp_path):
    path = tmp_path / "model.xml"
    path.write_text(PLACES)
    model, arm = mujoco.MjModel.from_xml_path(str(path)), quietly(path)
    data = mujoco.MjData(model)
    q = lw.random_configuration(arm, np.random.default_rng(0))
    data.qpos[:] = q
    mujoco.mj_kinematics(model, data)
    names = ["door", "eye", "pole_tip", "mark"]
    for name, pose in zip(names, lw.poses(arm, q, frames=names), strict=True):
        assert np.allclose(pose[:3, 3], data.site(name).xpos, rtol=0, atol=1e-12)
        assert np.allclose(pose[:3, :3], data.site(name).xmat.reshape(3, 3), rtol=0, atol=1e-12)


# files in files


def test_included_files_are_found_as_mujoco_finds_them(tmp_path):
    written('<mujoco><include file="d.xml"/><default><geom density="50"/></default></mujoco>', tmp_path, "sub/a.xml")
    written('<x><option gravity="1 2 3"/></x>', tmp_path, "sub/d.xml")
    written(f"<x><joint/>{FULL}</x>", tmp_path, "sub/c.xml")
    path = written(world('<body name="b"><include file="sub/c.xml"/></body>', '<include file="sub/a.xml"/>'), tmp_path)
    model, arm = mujoco.MjModel.from_xml_path(str(path)), quietly(path)
    assert arm.gravity == (1.0, 2.0, 3.0)
    assert max(differences(arm, model).values()) < ALIKE


def test_one_warning_lists_what_is_skipped(tmp_path):
    before = "<visual><map/></visual><asset><texture type='skybox' builtin='flat' width='1' height='6'/></asset>"
    after = """<contact><exclude body1="b" body2="c"/></contact><sensor><clock/></sensor>
        <tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon><actuator><motor joint="j"/></actuator>"""
    body = f'<light/><body name="b"><joint name="j"/>{GEOM}<site/><camera/></body><body name="c">{GEOM}</body>'
    path = written(world(body, before, after), tmp_path)
    kinds = "visual, contact, sensors, textures, lights, sites without a name, cameras, tendons, actuators"
    with warns(UserWarning, path, kinds) as caught:
        lw.load(path)
    assert [w.filename for w in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lw.load(written(world(f'<body name="b"><joint/>{GEOM}</body>'), tmp_path))


def test_bases_are_free_or_fixed_as_asked(tmp_path):
    flying = written(
        world(f'<body name="b" pos="0 0 2"><freejoint/>{GEOM}<body><joint/>{GEOM}</body></body>'), tmp_path
    )
    assert quietly(flying).joints == quietly(flying, base="free").joints == "FR"
    still = quietly(flying, base="fixed")
    assert still.joints == "R"
    assert lw.poses(still, [0.0], frames=["b"])[0, 2, 3] == 2.0
    standing = written(
        world(f'<body name="b">{GEOM}<body><joint/>{GEOM}</body></body><body name="c">{GEOM}</body>'), tmp_path
    )
    assert quietly(standing).joints == quietly(standing, base="fixed").joints == "R"
    assert quietly(standing, base={"b": "free"}).joints == "FR"
    with raises(lw.errors.FileError, "model.xml:1:", "2 children", "b, c", 'base={name: "free"}'):
        lw.load(standing, base="free")
    with raises(lw.errors.FileError, "base", "'d'", "b, c"):
        lw.load(standing, base={"d": "free"})
    moving = written(world(f'<body name="b"><joint/>{GEOM}</body>'), tmp_path)
    with raises(lw.errors.FileError, "model.xml:1:", '<body name="b">', "with_free_base(mass, com, inertia)"):
        lw.load(moving, base="free")


def test_xml_files_are_told_apart_by_their_root(tmp_path):
    urdf = '<robot name="r"><link name="a"/><joint name="j" type="{}"><parent link="a"/><child link="b"/></joint>'
    inertia = '<mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    body = f'<link name="b"><inertial>{inertia}</inertial></link>'
    path = written(urdf.format("continuous") + body + "</robot>", tmp_path)
    assert quietly(path).joints == "R"
    with raises(lw.errors.FileError, "model.mjcf:1:", "<model>", "<mujoco>"):
        lw.load(written("<model/>", tmp_path, "model.mjcf"))
    shutil.copy(path, tmp_path / "model.mjcf")
    assert quietly(tmp_path / "model.mjcf").joints == "R"
