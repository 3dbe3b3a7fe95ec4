"""`convert_state` and `convert_force` with model objects: joints by name, in any order, with cosines and sines."""

import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest

import linkwise as lw
from effort import in_turn
from facts import raises
from robots import relative

pin = pytest.importorskip("pinocchio", reason="Pinocchio has no wheel for Windows")
mujoco = pytest.importorskip("mujoco", minversion="4.0")

ROBOTS = Path(pin.__file__).parents[4] / "share/example-robot-data/robots"
BODY = {"mass": 1.5, "com": (0.1, 0.2, 0.1), "inertia": np.diag([0.02, 0.03, 0.025])}


def saved(robot, base=None):
    """Pinocchio's model of a robot that was written as URDF."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.urdf"
        lw.save(robot, path)
        return pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if base else []))


def check_pinocchio(robot, model, tolerance=1e-10):
    rng, data = np.random.default_rng(3), model.createData()
    q = lw.random_configuration(robot, rng)
    v, a = rng.normal(size=(2, robot.n))
    theirs = lw.convert_state(robot, q, v, a, target=model)
    assert [len(x) for x in theirs] == [model.nq, model.nv, model.nv]
    torque = pin.rnea(model, data, *theirs)
    with lw.use_kernels("never"):
        tau = lw.inverse_dynamics(robot, q, v, a)
    assert relative(lw.convert_force(robot, theirs[0], torque, source=model), tau) < tolerance
    back = lw.convert_state(robot, *theirs, source=model)
    assert np.allclose(lw.difference(robot, q, back[0]) % (2.0 * np.pi) % (2.0 * np.pi - 1e-9), 0.0, atol=1e-8)
    assert np.allclose(back[1], v)
    assert np.allclose(back[2], a)


def shuffled(robot, seed):
    """Other names, so that Pinocchio, which sorts siblings by name, has another order."""
    names = np.random.default_rng(seed).permutation([f"part{k}" for k in range(len(robot.rows))]).tolist()
    new = dict(zip([row["name"] for row in robot.rows], names, strict=True)) | {"base": "base"}
    rows = [{**row, "name": new[row["name"]], "parent": new[row["parent"]]} for row in robot.rows]
    return lw.Robot.from_frames(rows, gravity=robot.gravity, name="shuffled")


@in_turn(range(6))
def test_trees_in_the_order_of_pinocchio(seed):
    tree = lw.convert(lw.random_tree(7, seed=seed, joints="RPRUCE"), "frames").without_rotors()
    robot = shuffled(tree, seed)
    model = saved(robot)
    assert model.nq > robot.nq  # joints without limits are a cosine and a sine
    check_pinocchio(robot, model)
    if seed < 2:
        check_pinocchio(lw.from_pinocchio(model), model)


@pytest.mark.parametrize("name", ["puma560", "stanford"])
def test_arms_of_dh_tables_through_urdf(name):
    arm = lw.load(name).without_rotors()
    if arm.gravity != (0.0, 0.0, -9.81):
        arm = arm.with_gravity((0.0, 0.0, -9.81))
    model = saved(arm)
    check_pinocchio(arm, model)
    assert lw.compare(arm, model).same


TALOS = ROBOTS / "talos_data/robots/talos_reduced.urdf"


@pytest.mark.skipif(not TALOS.is_file(), reason="the wheel example-robot-data has Talos")
def test_talos_with_a_free_base():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        robot = lw.load(TALOS, base="free")
    model = pin.buildModelFromUrdf(str(TALOS), pin.JointModelFreeFlyer())
    assert [*robot.joint_names][1:] != [*model.names][2:]
    check_pinocchio(robot, model)


def coupled_arm(**options):
    rows = [
        {"name": "a", "joint": "revolute", "translation": (0, 0, 0), "axis": (0, 1, 0), "limits": (-1.0, 1.0), **BODY},
        {"name": "b", "joint": "revolute", "translation": (0.3, 0, 0), "coupled_to": "a", "ratio": -2.0, **BODY},
        {"name": "c", "joint": "prismatic", "translation": (0.3, 0, 0), "coupled_to": "b", "offset": 0.3, **BODY},
    ]
    return lw.Robot.from_frames([row | options for row in rows], name="coupled")


def test_joints_that_follow_others_have_numbers_in_a_model():
    """The torques that Pinocchio finds for joints that move on their own, brought to the leader."""
    robot = coupled_arm()
    model, q = saved(robot), [0.2]
    assert (model.nq, model.nv, robot.nq) == (4, 3, 1)  # "b" has no limits: cosine and sine
    theirs = lw.convert_state(robot, q, [0.5], [0.7], target=model)
    angle = -0.4
    assert np.allclose(theirs[0], [0.2, np.cos(angle), np.sin(angle), angle + 0.3])
    assert np.allclose(theirs[1], [0.5, -1.0, -1.0])
    torque = pin.rnea(model, model.createData(), *theirs)
    tau = lw.convert_force(robot, theirs[0], torque, source=model)
    assert np.allclose(tau, lw.inverse_dynamics(robot, q, [0.5], [0.7]))
    assert np.allclose(lw.convert_state(robot, theirs[0], source=model), q)
    assert np.allclose(lw.convert_force(robot, q, [2.0], target=model), [2.0, 0.0, 0.0])


MJCF = """<mujoco><worldbody>
<body name="z" pos="0 0 1"><freejoint name="root"/><geom size=".1" pos="0 .1 0"/>
  <body name="y"><joint name="hold" axis="0 1 0" ref="10"/><geom size=".1" pos=".1 0 0"/>
    <body name="x"><joint type="ball"/><geom size=".1" pos="0 .1 .2"/>
      <body name="w"><joint name="lead" axis="1 0 0"/><joint name="follow" type="slide" ref=".2"/>
        <geom size=".1" pos="0 0 .1"/></body></body></body></body>
</worldbody><equality><joint joint1="follow" joint2="lead" polycoef=".1 .5 0 0 0"/>
<joint joint1="hold" polycoef=".3 0 0 0 0"/></equality></mujoco>"""


def test_states_of_mujoco_with_joints_that_are_tied():
    model = mujoco.MjModel.from_xml_string(MJCF)
    robot = lw.from_mujoco(model)
    assert (robot.nq, model.nq) == (12, 14)
    rng, data = np.random.default_rng(0), mujoco.MjData(model)
    q, v = lw.random_configuration(robot, rng), rng.normal(size=robot.n)
    data.qpos, data.qvel = lw.convert_state(robot, q, v, target=model)
    mujoco.mj_forward(model, data)
    rows = data.efc_pos[: data.ne]
    assert data.ne == 2
    assert np.allclose(rows, 0.0, atol=1e-12)
    assert np.allclose(data.efc_vel[:2], 0.0, atol=1e-12)
    poses = lw.poses(robot, q, frames=["z", "y", "x", "w"])
    assert np.allclose(poses[:, :3, 3], data.xpos[1:], atol=1e-10)
    back = lw.convert_state(robot, data.qpos, data.qvel, source=model)
    assert np.allclose(back[0], q)
    assert np.allclose(back[1], v)
    tau = rng.normal(size=model.nv)
    assert lw.convert_force(robot, data.qpos, tau, source=model) @ v == pytest.approx(tau @ data.qvel)


def test_from_one_model_to_another():
    robot = lw.random_tree(4, seed=1, joints="R").without_rotors()
    one = saved(robot)
    bodies = "".join(f'<body><joint name="{name}"/><geom size=".1"/></body>' for name in robot.joint_names[::-1])
    other = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (5, 4))
    theirs = lw.convert_state(robot, q[:, ::-1], source=other, target=one)
    assert np.allclose(lw.convert_state(robot, theirs, source=one), q)


def test_what_is_not_the_same_robot_is_refused_by_name():
    arm = lw.load("puma560").without_rotors()
    model, q = saved(arm), np.zeros(6)
    with raises(lw.errors.RobotError, "'planar3'", "'link4'", "'link5'", "'link6'"):
        lw.convert_state(lw.load("planar3"), np.zeros(3), target=model)
    longer = lw.chain(7, joints="R")
    with raises(lw.errors.RobotError, "'chain-7-0-R'", "Pinocchio", "'link7'"):
        lw.convert_state(longer, np.zeros(7), target=model)
    with raises(lw.errors.RobotError, "joint 'link3'", "prismatic", "revolute", "Pinocchio"):
        lw.convert_state(lw.chain(6, joints="RRPRRR"), q, target=model)
    with raises(ValueError, "q,", "Pinocchio", "(6,)", "(..., 12)"):
        lw.convert_state(arm, q, source=model)
    with raises(TypeError, "target", "builtins.int", "'linkwise'", "mujoco.MjModel"):
        lw.convert_state(arm, q, target=3)
    nowhere = lw.convert_state(arm, np.zeros(12), source=model)
    assert np.isnan(nowhere).all()


@pytest.mark.slow
@pytest.mark.skipif(not ROBOTS.is_dir(), reason="needs the wheel example-robot-data")
@pytest.mark.parametrize("base", [None, "free"])
def test_robots_of_files_in_the_order_of_pinocchio(base):
    """With the joints that mimic others, which have numbers of their own there."""
    count = 0
    for path in sorted(ROBOTS.rglob("*.urdf")):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                robot = lw.load(path, base=base, unphysical="warn")
        except lw.errors.FileError:  # one without links, and some that do not move
            continue
        model = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if base else []))
        check_pinocchio(robot, model, 1e-9)
        count += 1
    assert count > 50
