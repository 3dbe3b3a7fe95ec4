"""Robots from the model objects of Pinocchio and MuJoCo, against these libraries."""

import re
from pathlib import Path

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises, warns
from robots import relative

pin = pytest.importorskip("pinocchio", reason="Pinocchio has no wheel for Windows")
mujoco = pytest.importorskip("mujoco")
from jointed_peers import in_mujoco, in_pinocchio  # noqa: E402

SLANTED = np.array([0.6, 0.0, 0.8])
MAKE = {  # those that need arguments; the others are made without
    "RevoluteUnaligned": lambda: pin.JointModelRevoluteUnaligned(SLANTED),
    "RevoluteUnboundedUnaligned": lambda: unbounded_unaligned(),
    "PrismaticUnaligned": lambda: pin.JointModelPrismaticUnaligned(SLANTED),
    "HelicalUnaligned": lambda: pin.JointModelHelicalUnaligned(SLANTED, 0.1),
    **{f"H{axis}": lambda axis=axis: getattr(pin, f"JointModelH{axis}")(0.3) for axis in "XYZ"},
    "Universal": lambda: pin.JointModelUniversal(np.array([1.0, 0, 0]), np.array([0, 1.0, 0])),
    "Composite": lambda: composite(pin.JointModelRX(), pin.JointModelPY()),
    "Mimic": lambda: pin.JointModelMimic(pin.JointModelRX(), -2.0, 0.1),
    "Ellipsoid": lambda: pin.JointModelEllipsoid(0.1, 0.2, 0.3),
}
REFUSED = ("Ellipsoid",)
CLASSES = [name.removeprefix("JointModel") for name in dir(pin) if re.fullmatch("JointModel.+", name)]
JOINTS = {name: MAKE.get(name, getattr(pin, f"JointModel{name}")) for name in CLASSES}
JOINTS |= {
    "of parts with several degrees": lambda: composite(pin.JointModelSpherical(), pin.JointModelRUBX()),
    "composite of composites": lambda: composite(pin.JointModelPX(), composite(pin.JointModelRY(), pin.JointModelRZ())),
}


def composite(*parts):
    joint = pin.JointModelComposite()
    for part in parts:
        joint.addJoint(part, pin.SE3.Random())
    return joint


def unbounded_unaligned():
    """Python cannot make one; the reader of URDF can."""
    body = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    joint = '<joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0.6 0 -0.8"/></joint>'
    text = f'<robot name="r"><link name="a"/><link name="b">{body}</link>{joint}</robot>'
    return pin.buildModelFromXML(text).joints[1]


def pinocchio_model(joint):
    """A revolute joint, this joint and another revolute joint, with bodies and armature."""
    pin.seed(0)
    model, last = pin.Model(), 0
    rng = np.random.default_rng(0)
    for k, make in enumerate((pin.JointModelRX, joint, pin.JointModelRY)):
        made = make()
        if made.shortname() == "JointModelMimic":
            made = pin.JointModelMimic(model.joints[1], -2.0, 0.1)
        last = model.addJoint(last, made, pin.SE3.Random(), f"joint{k}")
        body = pin.Inertia.FromEllipsoid(1.0 + k, *rng.uniform(0.1, 0.3, 3))
        model.appendBodyToJoint(last, body, pin.SE3.Random())
    plain = {"JointModelFreeFlyer", "JointModelPlanar"} & {joint.shortname() for joint in model.joints}
    model.armature = np.full(model.nv, 0.0 if plain else 0.3)
    model.gravity.linear = np.array([1.0, 2.0, -9.0])
    return model


@pytest.mark.parametrize("kind", rest_slow(list(JOINTS), list(JOINTS)[::3]))
def test_every_joint_of_pinocchio_gives_its_torques(kind):
    model = pinocchio_model(JOINTS[kind])
    if kind in REFUSED:
        with raises(lw.errors.RobotError, "'joint1'", f"JointModel{kind}"):
            lw.from_pinocchio(model)
        return
    robot, data, rng = lw.from_pinocchio(model), model.createData(), np.random.default_rng(1)
    for _ in range(3):
        q = pin.randomConfiguration(model, np.full(model.nq, -3.0), np.full(model.nq, 3.0))
        v, a = rng.normal(size=(2, model.nv))
        state = lw.convert_state(robot, q, v, a, source=model)
        tau = lw.convert_force(robot, state[0], lw.inverse_dynamics(robot, *state), target=model)
        assert relative(tau, pin.rnea(model, data, q, v, a)) < 1e-10
        for back, given in zip(lw.convert_state(robot, *state, target=model), (q, v, a), strict=True):
            assert np.allclose(back, given, rtol=0.0, atol=1e-12)
    assert lw.compare(robot, model).same


def test_joints_that_mimic_an_unbounded_one():
    model = pinocchio_model(pin.JointModelRUBZ)
    joint = model.addJoint(2, pin.JointModelMimic(model.joints[2], -2.0, 0.3), pin.SE3.Random(), "follower")
    model.appendBodyToJoint(joint, pin.Inertia.FromSphere(1.0, 0.1), pin.SE3.Random())
    robot, data = lw.from_pinocchio(model), model.createData()
    q, v, a = pin.randomConfiguration(model, np.full(4, -1.0), np.full(4, 1.0)), *np.ones((2, model.nv))
    tau = lw.inverse_dynamics(robot, *lw.convert_state(robot, q, v, a, source=model))
    assert relative(tau, pin.rnea(model, data, q, v, a)) < 1e-10


def test_what_a_pinocchio_model_says_of_its_drives_and_frames():
    model = pinocchio_model(pin.JointModelPZ)
    model.upperPositionLimit, model.lowerPositionLimit = np.array([1.0, np.inf, 2.0]), np.array([-1.0, -np.inf, -2.0])
    model.velocityLimit, model.effortLimit = np.array([3.0, np.inf, 4.0]), np.array([5.0, 6.0, 7.0])
    model.rotorInertia, model.rotorGearRatio = np.ones(3), np.full(3, 10.0)  # which Pinocchio's algorithms do not read
    model.addFrame(pin.Frame("camera", 2, 0, pin.SE3(np.eye(3), np.array([0.1, 0.2, 0.3])), pin.FrameType.OP_FRAME))
    robot = lw.from_pinocchio(model)
    first = robot.rows[0]
    assert (first["limits"], first["velocity_limit"], first["effort_limit"]) == ((-1.0, 1.0), 3.0, 5.0)
    assert "limits" not in robot.rows[1]
    assert robot.links[0].joint.rotor_inertia == 0.3
    assert tuple(robot.frame("camera").placement.translation) == (0.1, 0.2, 0.3)


def test_armature_that_linkwise_does_not_have_is_refused_by_name():
    for joint, slope, fact in (
        (pin.JointModelFreeFlyer, 0.0, "axes"),
        (pin.JointModelSpherical, 1.0, "[1.1, 2.1, 3.1]"),
    ):
        model = pinocchio_model(joint)
        model.armature = 0.1 + np.arange(model.nv) * slope
        with raises(lw.errors.RobotError, "'joint1'", "armature", fact):
            lw.from_pinocchio(model)
    with raises(TypeError, "pinocchio.Model"):
        lw.from_pinocchio("panda")


PANDA = Path(pin.__file__).parents[4] / "share/example-robot-data/robots/panda_description/urdf/panda.urdf"
DH = [  # modified: a, d, alpha of the Panda
    *((0.0, 0.333, 0.0), (0.0, 0.0, -90.0), (0.0, 0.316, 90.0), (0.0825, 0.0, 90.0)),
    *((-0.0825, 0.384, -90.0), (0.0, 0.0, 90.0), (0.088, 0.0, 90.0)),
]


@pytest.mark.skipif(not PANDA.is_file(), reason="the wheel example-robot-data has the Panda")
def test_the_same_panda_from_three_sources():
    """From its DH table, from its URDF through Pinocchio and through MuJoCo."""
    text = re.sub(r"<(visual|collision)>.*?</\1>", "", PANDA.read_text(), flags=re.DOTALL)
    urdf = pin.buildModelFromXML(text)
    keep = '<robot name="panda"><mujoco><compiler fusestatic="false" balanceinertia="false"/></mujoco>'
    text = re.sub(r"<robot[^>]*>", keep, text, count=1)
    coupled = lw.compare(urdf, mujoco.MjModel.from_xml_string(text))  # MuJoCo reads the mimic joint, Pinocchio did not
    assert [f.where for f in coupled.findings if f.kind == "coupling"] == ["panda_finger_joint2"]
    mjcf = mujoco.MjModel.from_xml_string(re.sub(r"<mimic[^>]*>", "", text))
    both = lw.compare(urdf, mjcf)
    assert both.same, str(both)
    with warns(UserWarning, PANDA):
        read = lw.load(PANDA, mimic="independent", unphysical="warn")
    assert lw.compare(read, mjcf, tolerance=1e-10).same
    assert lw.compare(read, urdf, tolerance=1e-10).same
    fingers = [urdf.getJointId(name) for name in urdf.names if "finger" in name]
    arm = pin.buildReducedModel(urdf, fingers, pin.neutral(urdf))
    rows = []
    for (a, d, alpha), name, body in zip(DH, list(arm.names)[1:], list(arm.inertias)[1:], strict=True):
        own = {"mass": body.mass, "com": body.lever, "inertia": body.inertia}
        rows.append({"name": name, "joint": "revolute", "a": a, "d": d, "alpha": f"{alpha} deg", **own})
    table = lw.Robot.from_dh(rows, convention="modified", name="panda", unphysical="warn")
    assert lw.compare(table, arm, tolerance=1e-10).same
    for whole in (urdf, mjcf):  # with fingers, which are held
        result = lw.compare(table, whole, tolerance=1e-10)
        assert not result.same
        assert sum(f.kind == "missing joint" for f in result.findings) == len(fingers)
        assert "torques agree to" in result.verdict, str(result)


MJCF = """<mujoco model="things"><option gravity="1 2 -9"/><worldbody>
<body name="a" pos=".1 .2 .3" euler="20 30 40">
  <joint name="h1" type="hinge" axis="1 2 3" pos=".1 0 .2" ref="30" armature=".2"/>
  <joint name="s1" type="slide" axis="0 1 1" ref=".3" stiffness="5" springref=".1"/>
  <geom type="box" size=".1 .2 .3" pos=".1 .1 0" euler="10 20 30"/><site name="tip" pos="0 0 .4"/>
  <body name="b" pos="0 0 .5"><joint name="b1" type="ball" pos="0 .1 .1" damping=".1"/>
    <geom type="capsule" size=".1 .2"/>
    <body name="mount" pos=".1 0 0" euler="10 0 0"><geom size=".1"/>
      <body name="c" pos="0 0 .2"><joint name="h2" axis="0 1 0" pos="0 0 -.1" ref="10" range="-50 60"/>
        <geom size=".2" pos=".1 0 0"/></body></body></body></body>
<body name="f" pos="1 2 3" euler="10 20 30"><freejoint name="fr"/><geom type="box" size=".1 .2 .3"/></body>
</worldbody>{}</mujoco>"""


def check_mujoco(model, robot):
    data, rng = mujoco.MjData(model), np.random.default_rng(2)
    for _ in range(3):
        data.qpos, data.qvel = rng.normal(size=model.nq), rng.normal(size=model.nv)
        mujoco.mj_normalizeQuat(model, data.qpos)
        acceleration = rng.normal(size=model.nv)
        mujoco.mj_forward(model, data)
        torque = np.zeros(model.nv)
        mujoco.mj_mulM(model, data, torque, acceleration)
        torque += data.qfrc_bias
        assert relative(lw.inverse_dynamics(robot, data.qpos, data.qvel, acceleration), torque) < 1e-10
        for name, pose in zip(robot.names, lw.poses(robot, data.qpos), strict=True):
            body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name)
            if body > 0:
                assert relative(pose[:3, 3], data.xpos[body]) < 1e-10


def test_joints_of_mujoco_give_its_torques_and_poses():
    model = mujoco.MjModel.from_xml_string(MJCF.format(""))
    robot = lw.from_mujoco(model)
    check_mujoco(model, robot)
    assert robot.name == "things"
    assert robot.joint_names == ("h1", "s1", "b1", "h2", "fr")
    assert robot.frame("tip").link == robot.frame("a").link
    rows = {row["name"]: row for row in robot.rows}
    assert np.allclose(rows["c"]["limits"], np.radians((-50, 60)))
    assert (rows["a"]["stiffness"], rows["a"]["rest"], rows["b"]["viscous_friction"]) == (5.0, 0.1, 0.1)
    assert lw.compare(model, robot).same


@pytest.mark.parametrize("letters", ["RPSU", "CER", "FRRPS"])
def test_random_robots_through_mujoco(letters):
    robot = lw.random_tree(len(letters), seed=3, joints=letters)
    model = in_mujoco(robot)
    check_mujoco(model, lw.from_mujoco(model))
    assert lw.compare(robot, model).same


@pytest.mark.parametrize("letters", ["RPHS", "FRSR"])
def test_random_robots_through_pinocchio(letters):
    robot = lw.random_tree(len(letters), seed=3, joints=letters)
    assert lw.compare(robot, in_pinocchio(robot)[0]).same


def test_equalities_of_mujoco_are_couplings():
    text = '<equality><joint joint1="h2" joint2="h1" polycoef="0.1 -2 0 0 0"/></equality>'
    model = mujoco.MjModel.from_xml_string(MJCF.format(text))
    robot = lw.from_mujoco(model)
    assert robot.joint_names == ("h1", "s1", "b1", "fr")
    (coupling,) = robot.couplings
    offset = np.radians(10) + 0.1 + 2.0 * np.radians(30)  # the polynomial is of joint positions less qpos0
    assert (coupling.ratio, coupling.offset) == (-2.0, pytest.approx(offset))


@pytest.mark.parametrize(
    ("body", "text", "facts"),
    [
        ("", '<equality><weld body1="c" body2="f"/></equality>', ("equality '0'", "bodies")),
        ("", '<equality><joint joint1="h2" joint2="h1" polycoef="0 1 2 0 0"/></equality>', ("equality", "straight")),
        ("", '<option density="1.2"/>', ("fluid",)),
        ("", '<tendon><fixed name="t" stiffness="3"><joint joint="h1" coef="1"/></fixed></tendon>', ("tendon 't'",)),
        ('gravcomp="1"', "", ("body 'b'", "gravcomp")),
    ],
)
def test_what_changes_the_dynamics_of_mujoco_is_refused(body, text, facts):
    model = mujoco.MjModel.from_xml_string(MJCF.format(text).replace('<body name="b"', f'<body name="b" {body}'))
    with raises(lw.errors.RobotError, *facts):
        lw.from_mujoco(model)
    with raises(TypeError, "mujoco.MjModel"):
        lw.from_mujoco(3)
