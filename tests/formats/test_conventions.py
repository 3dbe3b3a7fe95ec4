"""The coordinates of Pinocchio, MuJoCo and Drake: states and torques mean the same there."""

import mpmath
import numpy as np
import pytest

import linkwise as lw
from effort import in_turn
from facts import raises
from linkwise.robot.coordinates import MovingJoint
from linkwise.spatial import Placement
from orientations import apart, bounded
from robots import relative

pin = pytest.importorskip("pinocchio", reason="Pinocchio has no wheel for Windows")
mujoco = pytest.importorskip("mujoco")

from peers import placement, quaternion  # noqa: E402


def seat_of(robot: lw.Robot, joint: MovingJoint) -> tuple[Placement, int]:
    """The joint frame in the frame that moves with the parent, and the row of the parent, -1 for the base."""
    first = robot.links[joint.first]
    seat = first.placement.then(joint.kind.joint_frame)
    rows = {other.link: row for row, other in enumerate(robot.moving)}
    parent = rows.get(first.parent, -1)
    return (seat if parent < 0 else robot.moving[parent].kind.after.inverse().then(seat)), parent


def body_of(robot: lw.Robot, joint: MovingJoint):
    """Mass, its centre and tensor in the joint frame that moves with the body."""
    link = robot.links[joint.link]
    back = joint.kind.after.inverse()
    com, tensor = back.point(link.com), back.axes.turned(link.inertia)
    return link.mass, np.array(list(com), float), np.array(tensor.rows, float)


def to_pinocchio(robot):
    model = pin.Model()
    model.gravity.linear = np.array(robot.gravity)
    z, identity, ids = np.array([0.0, 0.0, 1.0]), pin.SE3.Identity(), []
    for joint in robot.moving:
        seat, parent = seat_of(robot, joint)
        kinds = {
            "revolute": pin.JointModelRZ,
            "prismatic": pin.JointModelPZ,
            "screw": lambda joint=joint: pin.JointModelHZ(float(robot.links[joint.link].joint.pitch)),
            "universal": lambda: pin.JointModelUniversal(np.array([1.0, 0, 0]), np.array([0, 1.0, 0])),
            "planar": pin.JointModelPlanar,
            "ball": pin.JointModelSpherical,
            "free": pin.JointModelFreeFlyer,
            "cylindrical": pin.JointModelPZ,
        }
        index = ids[parent] if parent >= 0 else 0
        index = model.addJoint(index, kinds[joint.kind.name](), pin.SE3(*placement(seat)), joint.name)
        if joint.kind.name == "cylindrical":
            index = model.addJoint(index, pin.JointModelRevoluteUnaligned(z), identity, joint.name + " turns")
        model.appendBodyToJoint(index, pin.Inertia(*body_of(robot, joint)), identity)
        ids.append(index)
    return model, model.createData(), ids


def to_mujoco(robot):
    spec = mujoco.MjSpec()
    spec.option.gravity = np.array(robot.gravity)
    hinge, slide, ball, free = (getattr(mujoco.mjtJoint, f"mjJNT_{x}") for x in ("HINGE", "SLIDE", "BALL", "FREE"))
    x, y, z = np.eye(3).tolist()
    kinds = {
        "revolute": [(hinge, z)], "prismatic": [(slide, z)], "cylindrical": [(slide, z), (hinge, z)],
        "universal": [(hinge, x), (hinge, y)], "planar": [(slide, x), (slide, y), (hinge, z)],
        "ball": [(ball, z)], "free": [(free, z)],
    }  # fmt: skip
    bodies = []
    for joint in robot.moving:
        seat, parent = seat_of(robot, joint)
        axes, origin = placement(seat)
        host = bodies[parent] if parent >= 0 else spec.worldbody
        body = host.add_body(name=joint.name, pos=origin, quat=quaternion(axes))
        mass, com, tensor = body_of(robot, joint)
        body.mass, body.ipos, body.explicitinertial = mass, com, True
        body.fullinertia = tensor[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        for kind, axis in kinds[joint.kind.name]:
            body.add_joint(type=kind, axis=axis)
        bodies.append(body)
    return spec.compile()


def depth_first_tree(n, seed, joints):
    """Random joints in depth-first order, as MuJoCo numbers bodies: a chain with side branches, and a last one."""
    rows = lw.random_tree(n, seed=seed, joints=joints).rows
    for index, row in enumerate(rows):
        row["parent"] = "base" if index in (0, n - 1) else rows[index - 1 - (index % 3 == 0)]["name"]
    return lw.Robot.from_frames(rows, name=f"depth-first-{n}-{seed}")


def moved_frames(robot, q):
    """The joint frames that move with the bodies: (joints, 4, 4)."""
    poses = lw.poses(robot, q)
    backs = [robot.links[j.link].frame.inverse().then(j.kind.after) for j in robot.moving]
    return np.array([pose @ np.array(back.matrix(), float) for pose, back in zip(poses, backs, strict=True)])


@pytest.mark.parametrize("seed", range(3))
def test_states_and_torques_mean_the_same_in_pinocchio(seed):
    robot = lw.random_tree(9, seed=seed, joints=["SRFPUECHS", "FESHRSFCU", "PFFESSRUE"][seed])
    model, data, ids = to_pinocchio(robot)
    rng = np.random.default_rng(seed)
    q, (v, a) = 2.0 * lw.random_configuration(robot, rng), rng.normal(size=(2, robot.n))
    q_pin, v_pin, a_pin = lw.convert_state(robot, q, v, a, target="pinocchio")
    assert (len(q_pin), len(v_pin)) == (model.nq, model.nv)
    pin.forwardKinematics(model, data, q_pin, v_pin, a_pin)
    theirs = np.array([data.oMi[index].homogeneous for index in ids])
    assert relative(moved_frames(robot, q), theirs) < 1e-14
    for joint, index in zip(robot.moving, ids, strict=True):
        J = lw.jacobian(robot, q, link=joint.name)
        twist = pin.getVelocity(model, data, index, pin.LOCAL_WORLD_ALIGNED)
        assert relative(J @ v, [*twist.angular, *twist.linear]) < 1e-13
    tau_pin = pin.rnea(model, data, q_pin, v_pin, a_pin)
    tau = lw.inverse_dynamics(robot, q, v, a)
    assert relative(lw.convert_force(robot, q_pin, tau_pin, source="pinocchio"), tau) < 1e-13
    assert relative(lw.convert_force(robot, q, tau, target="pinocchio"), tau_pin) < 1e-13
    a_again = pin.aba(model, data, q_pin, v_pin, tau_pin)
    back = lw.convert_state(robot, q_pin, v_pin, a_again, source="pinocchio")
    assert relative(back[2], a) < 1e-8


def test_pinocchio_moves_orientations_as_integrate_does():
    """Its free joint moves along a screw, where ours moves straight: positions differ, orientations do not."""
    robot = lw.random_tree(5, seed=1, joints="SRFPU")
    model, _, _ = to_pinocchio(robot)
    q0, q1 = lw.random_configuration(robot, 0, 2)
    v = bounded(robot, np.random.default_rng(0).normal(size=robot.n), 3.0)
    q_pin, v_pin = lw.convert_state(robot, q0, v, target="pinocchio")
    theirs = lw.convert_state(robot, pin.integrate(model, q_pin, v_pin), source="pinocchio")
    ours = lw.integrate(robot, q0, v)
    here = robot.q_slice("link3")
    same = np.setdiff1d(np.arange(robot.nq), np.arange(here.start, here.start + 3))
    assert relative(ours[same], theirs[same]) < 1e-13
    ends = [lw.convert_state(robot, q, target="pinocchio") for q in (q0, q1)]
    between, other = pin.difference(model, *ends), lw.difference(robot, q0, q1)
    start = robot.v_slice("link3").start
    same = np.setdiff1d(np.arange(robot.n), np.arange(start, start + 3))
    assert relative(other[same], between[same]) < 1e-13


TURNED = lw.random_tree(1, seed=5).rows[0]["rotation"]
SEATS = [{"translation": p, "rotation": R} for p in ((0, 0, 0), (0.3, -0.2, 0.5)) for R in (np.eye(3), TURNED)]
TREES_OF_MUJOCO = [depth_first_tree(7, seed, joints) for seed, joints in enumerate(("FRSPUEF", "SRECPSF", "FSESRUF"))]
FREE = [lw.Robot.from_frames([lw.random_tree(1, seed=4, joints="F").rows[0] | seat]) for seat in SEATS]


@in_turn(enumerate([*TREES_OF_MUJOCO, *FREE]))
def test_states_and_torques_mean_the_same_in_mujoco(numbered):
    """Also of free joints at the origin of the world or beside it, along its axes or turned."""
    seed, robot = numbered
    model = to_mujoco(robot)
    data = mujoco.MjData(model)
    q, (v, a) = lw.random_configuration(robot, seed), np.random.default_rng(seed).normal(size=(2, robot.n))
    data.qpos, data.qvel, data.qacc = lw.convert_state(robot, q, v, a, target="mujoco")
    mujoco.mj_kinematics(model, data)
    theirs = np.zeros((len(robot.names), 4, 4))
    theirs[:, :3, :3], theirs[:, :3, 3], theirs[:, 3, 3] = data.xmat[1:].reshape(-1, 3, 3), data.xpos[1:], 1.0
    assert relative(moved_frames(robot, q), theirs) < 1e-13
    mujoco.mj_forward(model, data)
    data.qacc = lw.convert_state(robot, q, v, a, target="mujoco")[2]
    mujoco.mj_inverse(model, data)
    tau = lw.inverse_dynamics(robot, q, v, a)
    assert relative(lw.convert_force(robot, data.qpos, data.qfrc_inverse, source="mujoco"), tau) < 1e-9
    moved = np.array(data.qpos)
    mujoco.mj_integratePos(model, moved, data.qvel, 0.4)
    ours = lw.integrate(robot, q, v, 0.4)
    assert apart(robot, lw.convert_state(robot, moved, source="mujoco"), ours) < 1e-13
    back = np.empty(robot.n)
    mujoco.mj_differentiatePos(model, back, 0.4, data.qpos, moved)
    own = lw.difference(robot, q, ours) / 0.4
    assert relative(lw.convert_state(robot, q, own, target="mujoco")[1], back) < 1e-13


def test_drake_has_parent_axes_and_roll_pitch_yaw():
    """Held against the definitions in its documentation, by differences: the library itself is not at hand."""
    robot, h = lw.chain(3, joints="SRF"), 1e-6
    rng = np.random.default_rng(2)
    q, (v, a) = lw.random_configuration(robot, rng), rng.normal(size=(2, robot.n))
    q_drake, v_drake, a_drake = lw.convert_state(robot, q, v, a, target="drake")
    assert len(q_drake) == 3 + 1 + 7

    def axes(k, state=q):
        return pin.Quaternion(*state[k : k + 4]).matrix()

    x, y, z = (pin.utils.rotate(axis, angle) for axis, angle in zip("xyz", q_drake[:3], strict=True))
    assert relative(z @ y @ x, axes(0)) < 1e-14
    assert relative(q_drake[3:], [q[4], *q[8:], *q[5:8]]) < 1e-15
    before, after = (lw.integrate(robot, q, v, s * h) for s in (-1.0, 1.0))
    for k, spin in ((0, v_drake[:3]), (8, v_drake[4:7])):  # [ω×] = Ṙ Rᵀ
        rate = (axes(k, after) - axes(k, before)) / (2.0 * h) @ axes(k).T
        assert relative([rate[2, 1], rate[0, 2], rate[1, 0]], spin) < 1e-8
    assert relative(v_drake[7:], v[4:7]) == 0.0
    velocities = [lw.convert_state(robot, p, v + s * h * a, target="drake")[1] for p, s in ((before, -1), (after, 1))]
    assert relative((velocities[1] - velocities[0]) / (2.0 * h), a_drake) < 1e-8


LIBRARIES = ("linkwise", "pinocchio", "mujoco", "drake")


@pytest.mark.parametrize("source", LIBRARIES)
@pytest.mark.parametrize("target", LIBRARIES)
def test_conversions_go_both_ways_and_keep_the_power(source, target):
    robot = depth_first_tree(8, 5, "FRSPUECF")
    rng = np.random.default_rng(0)
    q, (v, a, tau) = lw.random_configuration(robot, rng, (2, 5)), rng.normal(size=(3, 2, 5, robot.n))
    first = lw.convert_state(robot, q, v, a, target=source)
    there = lw.convert_state(robot, *first, source=source, target=target)
    back = lw.convert_state(robot, *there, source=target)
    assert apart(robot, back[0], q) < 1e-14
    assert relative(back[1], v) < 1e-14
    assert relative(back[2], a) < 1e-14
    force = lw.convert_force(robot, q, tau, target=source)
    other = lw.convert_force(robot, first[0], force, source=source, target=target)
    assert relative((other * there[1]).sum(-1), (tau * v).sum(-1)) < 1e-13
    direct = lw.convert_state(robot, q[1, 2], v[1, 2], a[1, 2], target=target)
    assert all(relative(x[1, 2], y) < 1e-13 for x, y in zip(there[1:], direct[1:], strict=True))
    if source != "drake":  # whose angles forget the sign of a quaternion
        assert relative(direct[0], there[0][1, 2]) < 1e-14


def test_roll_pitch_yaw_at_the_pole():
    ball = lw.chain(1, joints="S")
    rng = np.random.default_rng(0)
    for pitch in (np.pi / 2, -np.pi / 2, np.pi / 2 - 1e-9, -np.pi / 2 + 1e-12):
        angles = np.stack([rng.uniform(-3, 3, 20), np.full(20, pitch), rng.uniform(-3, 3, 20)], axis=-1)
        q = lw.convert_state(ball, angles, source="drake")
        again = lw.convert_state(ball, lw.convert_state(ball, q, target="drake"), source="drake")
        assert apart(ball, again, q) < 1e-14
        assert np.abs(lw.convert_state(ball, q, target="drake")[:, 1] - pitch).max() < 1e-15


def test_conversions_refuse_what_has_no_meaning():
    robot = lw.chain(2, joints="SE")
    q, v = lw.neutral(robot), np.zeros(robot.n)
    with raises(ValueError, "target", "'pinochio'", "'pinocchio'"):
        lw.convert_state(robot, q, target="pinochio")
    with raises(ValueError, "source", "ode"):
        lw.convert_force(robot, q, v, source="ode")
    with raises(ValueError, "Pinocchio", "(7,)", "(..., 8)"):
        lw.convert_state(robot, q, source="pinocchio")
    with raises(ValueError, "a", "v"):
        lw.convert_state(robot, q, a=v)
    with raises(TypeError, "q", "real numbers"):
        lw.convert_state(robot, q.astype(object) * mpmath.mpf(1), target="drake")
    with raises(lw.errors.RobotError, "joint 'link1'", "screw", "MuJoCo"):
        lw.convert_state(lw.chain(1, joints="H"), [0.0], target="mujoco")
    with raises(lw.errors.RobotError, "joint 'link2'", "free", "MuJoCo", "world"):
        lw.convert_state(lw.chain(2, joints="RF"), np.ones(8), source="mujoco")
    rows = lw.chain(2).rows
    rows[1]["coupled_to"] = "link1"
    coupled = lw.Robot.from_dh(rows, convention="standard")
    for library in ("mujoco", "drake"):
        with raises(lw.errors.RobotError, "joint 'link2'", "coupled"):
            lw.convert_state(coupled, [0.0], target=library)
    assert lw.convert_state(coupled, [0.3], target="pinocchio") == [0.3]


def test_states_that_are_not_finite_convert_to_nan():
    robot = lw.chain(3, joints="SEF")
    q, v = lw.random_configuration(robot, 0, 5), np.ones((5, robot.n))
    q[1, :4], q[2, 5], v[3, 0] = 0.0, np.nan, np.inf
    for x in lw.convert_state(robot, q, v, target="pinocchio"):
        assert (np.isnan(x).all(axis=-1) == [False, True, True, True, False]).all()
        assert np.isfinite(x[[0, 4]]).all()
    planar = lw.chain(1, joints="E")
    assert np.isnan(lw.convert_state(planar, [1.0, 2.0, 0.0, 0.0], source="pinocchio")).all()
    assert lw.convert_state(robot, q.astype(np.float32), target="drake").dtype == np.float32
