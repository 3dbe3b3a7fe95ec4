"""Controllers and springs on robots with orientations, coupled joints and joints without a drive."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import linkwise as lw
from effort import rest_slow
from facts import raises
from linkwise.robot.layout import Layout
from linkwise.spatial import quaternion_rate
from robots import relative

FLYING = lw.load("planar3").with_free_base(mass=4.0, inertia=np.diag([0.3, 0.4, 0.5]))
EVERY = lw.random_tree(5, seed=4, joints="SFUCR")
ROBOTS = pytest.mark.parametrize("robot", [FLYING, EVERY], ids=["flying", "every"])


def state(robot, seed=0):
    """Two configurations, the quaternions of the first not of length 1, and rates."""
    rng = np.random.default_rng(seed)
    q, target = rng.normal(size=(2, robot.nq))
    return q, target, rng.normal(size=robot.n)


def moved(robot, q, qd, h):
    """q a little later, to second order and more in h, since quaternions of any length are as good."""
    layout, rate = Layout.of(robot), np.zeros(robot.nq)
    for p, v in layout.plain:
        rate[p] = qd[v]
    for p, v in layout.quaternions:
        rate[p : p + 4] = quaternion_rate(q[p : p + 4], qd[v : v + 3])
    return q + h * rate


def rotation(quaternion):
    return Rotation.from_quat(np.roll(quaternion, -1))


def relations(robot, q, target):
    """For each orientation, where its angular velocity is in qd, and the rotation from q to the target."""
    return [(v, rotation(q[p : p + 4]).inv() * rotation(target[p : p + 4])) for p, v in Layout.of(robot).quaternions]


def error(robot, q, target):
    e = np.zeros(robot.n)
    for p, v in Layout.of(robot).plain:
        e[v] = target[p] - q[p]
    for v, between in relations(robot, q, target):
        e[v : v + 3] = between.as_rotvec()
    return e


@ROBOTS
def test_errors_are_rotation_vectors_and_springs_the_gradient_of_their_energy(robot):
    for seed in range(3):
        q, target, qd = state(robot, seed)
        k = np.random.default_rng(seed).uniform(1.0, 9.0, robot.n)
        spring, h = lw.control.springs(k, target), 1e-6
        assert relative(spring.energy(q, robot), 0.5 * (k * error(robot, q, target) ** 2).sum()) < 1e-13
        energies = [spring.energy(moved(robot, q, qd, x), robot) for x in (-h, h)]
        power = spring(robot, 0.0, q, np.zeros(robot.n)) @ qd
        assert relative((energies[1] - energies[0]) / (2.0 * h), -power) < 1e-7
        even = lw.control.springs(2.0, target)(robot, 0.0, q, np.zeros(robot.n))
        assert relative(even, 2.0 * error(robot, q, target)) < 1e-13


@ROBOTS
def test_lyapunov_functions_fall_by_what_the_dampers_take(robot):
    """V̇ of pd_gravity and of diagonal_control, for gains that differ from axis to axis."""
    q, target, qd = state(robot)
    kp, kd, h = np.linspace(5.0, 20.0, robot.n), np.linspace(1.0, 3.0, robot.n), 1e-6
    for law in (lw.control.pd_gravity(target, kp, kd), lw.control.diagonal_control(target, kp, kd)):
        acceleration = lw.forward_dynamics(robot, q, qd, law(robot, 0.0, q, qd))
        ends = [law.lyapunov(robot, moved(robot, q, qd, x), qd + x * acceleration) for x in (-h, h)]
        rate = qd if law.constructor_name == "pd_gravity" else lw.formulations.normalized.velocity(robot, q, qd)
        assert relative((ends[1] - ends[0]) / (2.0 * h), -(kd * rate**2).sum()) < 1e-6


@pytest.mark.parametrize("coordinates", ["normalized", "unnormalized"])
@ROBOTS
def test_velocity_errors_of_motions_fall_at_the_set_rates(robot, coordinates):
    """ds/dt = -b s of diagonal_control along a motion, for rates that differ from axis to axis, by differences."""
    q, target, qd = state(robot)
    move = lw.trajectories.quintic(lw.normalize(robot, target), lw.random_configuration(robot, 0), 1.0, robot=robot)
    law = lw.control.diagonal_control(move, np.linspace(1.0, 4.0, robot.n), 5.0, coordinates=coordinates)
    t, h = 0.4, 1e-6
    acceleration = lw.forward_dynamics(robot, q, qd, law(robot, t, q, qd))
    ends = [law.velocity_error(robot, t + x, moved(robot, q, qd, x), qd + x * acceleration) for x in (-h, h)]
    error = law.velocity_error(robot, t, q, qd)
    assert relative((ends[1] - ends[0]) / (2.0 * h), -law.rates(robot)[1] * error) < 1e-6


@pytest.mark.parametrize("passive", [(), ("base",), ("link2",)], ids=str)
def test_computed_torque_commands_the_acceleration_that_lets_errors_die_out(passive):
    """ω̇_e + kd ω_e + kp e = 0 with ω_e = R ω* - ω, and the same of plain coordinates, for every driven joint."""
    q, target, qd = state(FLYING)
    rate, acceleration = np.random.default_rng(9).normal(size=(2, FLYING.n))
    kp, kd = np.linspace(5.0, 20.0, FLYING.n), np.linspace(1.0, 3.0, FLYING.n)
    law = lw.control.computed_torque(lambda t: (target, rate, acceleration), kp, kd, passive=passive)
    tau = law(FLYING, 0.0, q, qd)
    rest = np.concatenate([np.arange(FLYING.n)[FLYING.v_slice(name)] for name in passive] or [[]]).astype(int)
    driven = np.setdiff1d(np.arange(FLYING.n), rest)
    assert (tau[rest] == 0.0).all()
    wanted, faster = rate.copy(), acceleration.copy()
    for v, R in relations(FLYING, q, target):
        three = slice(v, v + 3)
        wanted[three] = R.apply(rate[three])
        faster[three] = R.apply(acceleration[three]) - np.cross(qd[three], wanted[three])
    command = faster + kd * (wanted - qd) + kp * error(FLYING, q, target)
    assert relative(lw.forward_dynamics(FLYING, q, qd, tau)[driven], command[driven]) < 1e-11


@pytest.mark.parametrize("robot", rest_slow([FLYING, EVERY], [FLYING]), ids=["flying", "every"])
def test_laws_compile_to_what_they_are_in_python(robot):
    q, target, qd = state(robot)
    name = robot.joint_names[0]
    together = lw.control.pd_gravity(target, 20.0, 3.0, passive=[name]) + lw.control.computed_torque(
        target, 20.0, 3.0, passive=[name]
    )
    law = lw.control.limited(
        together + lw.control.diagonal_control(target, 4.0, 1.0) + lw.control.springs(3.0, target), most=500.0
    )
    kernel = lw.compile(law, robot)
    turned = np.stack([q, target, -target])
    alone = np.array([law(robot, 0.0, x, qd) for x in turned])
    assert relative(kernel(0.0, turned, qd), alone) < 1e-10
    assert np.isfinite(alone).all()


def test_coupled_joints_are_driven_through_the_joint_that_they_follow():
    rows = lw.load("planar3").rows
    rows[2] |= {"coupled_to": rows[1]["name"], "ratio": -0.5}
    arm = lw.Robot.from_dh(rows, convention="standard", gravity=(0, -9.81, 0), name="coupled")
    law = lw.control.computed_torque([0.3, -0.2], kp=9.0, kd=6.0)
    q, qd = np.array([0.5, 0.1]), np.array([1.0, -2.0])
    wanted = 9.0 * ([0.3, -0.2] - q) - 6.0 * qd
    assert relative(lw.forward_dynamics(arm, q, qd, law(arm, 0.0, q, qd)), wanted) < 1e-12
    with raises(ValueError, "pd_gravity", "link3"):
        lw.control.pd_gravity([0.0, 0.0], 1.0, 1.0, passive=["link3"])(arm, 0.0, q, qd)
    assert "rotor_inertia" not in {
        key for key, x in lw.control.with_gears(arm, [3, 2], 1.0).rows[2].items() if x != 0.0
    }


@pytest.mark.parametrize(
    ("law", "facts"),
    [
        (lw.control.springs(1.0, rest=0.5), "springs | rest | 1 | 10 | base.x | base.qz | link1"),
        (lw.control.pd_gravity(np.zeros(10), 1, 1), "target[3] | 'base' | quaternion"),
        (lw.control.pd_gravity(np.ones(9), 1, 1), "target | 9"),
        (lw.control.pd_gravity(np.ones(10), np.ones(10), 1), "kp | 10 | 9"),
        (lw.control.computed_torque(lambda t: (np.ones(9),) * 3, 1, 1), "qdd | (10,) | (9,) | robot="),
        (lw.control.pd_gravity(np.ones(10), 1, 1, passive="bse"), "passive | 'bse' | 'base'"),
        (lw.control.pd_gravity(np.ones(10), 1, 1, passive=FLYING.joint_names), f"passive | {FLYING.name!r}"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_what_does_not_fit_the_robot_is_refused_by_name(law, facts):
    q, _, qd = state(FLYING)
    with raises(ValueError, *facts.split(" | ")):
        law(FLYING, 0.0, q, qd)


def test_zero_is_every_joint_at_zero_and_a_passive_law_has_no_lyapunov_function():
    q, _, qd = state(FLYING)
    neutral = np.zeros(10)
    neutral[3] = 1.0
    assert np.array_equal(
        lw.control.springs(2.0)(FLYING, 0.0, q, qd), lw.control.springs(2.0, neutral)(FLYING, 0.0, q, qd)
    )
    law = lw.control.pd_gravity(neutral, 1.0, 1.0, passive=["base"])
    assert repr(law).endswith("passive=('base',))")
    with raises(ValueError, "Lyapunov", "passive"):
        law.lyapunov(FLYING, q, qd)


@pytest.mark.parametrize("passive", rest_slow([[], ["base"]], [["base"]]), ids=["driven", "passive base"])
def test_computed_torque_follows_trajectories_of_orientations_and_on_a_base_that_reacts(passive):
    """With every joint driven all of q* is followed; on a passive base the arm is, and the momentum stays zero."""
    arm = FLYING.with_gravity((0, 0, 0))
    start, end = lw.random_configuration(arm, 3, 2)
    move = lw.trajectories.quintic(start, end, 1.0, robot=arm)
    law = lw.control.computed_torque(move, kp=100.0, kd=20.0, passive=passive)
    run = lw.simulate(arm, start, np.zeros(9), 1.5, torque=law, samples=7)
    assert run.compiled
    off = lw.difference(arm, run.q, move(run.t).q)
    followed = slice(6, None) if passive else slice(None)
    assert np.abs(off[:, followed]).max() < 1e-6
    if passive:
        assert (run.tau[:, :6] == 0.0).all()
        moments = (lw.inertia_matrix(arm, run.q) @ run.qd[..., None])[:, :6, 0]
        assert np.abs(run.qd[:, :6]).max() > 0.1
        assert np.abs(moments).max() < 1e-6


def test_from_rest_an_orientation_error_dies_out_along_one_axis_as_the_linear_equation_says():
    """ë + kd ė + kp e = 0 with kd² = 4 kp: e(t) = e(0) (1 + kd t / 2) exp(-kd t / 2)."""
    ball = lw.random_tree(2, seed=1, joints="SR")
    q, target, _ = state(ball, 5)
    law = lw.control.computed_torque(target, kp=9.0, kd=6.0)
    run = lw.simulate(ball, q, np.zeros(ball.n), 1.0, torque=law, rtol=1e-10, samples=6)
    falls = (1.0 + 3.0 * run.t) * np.exp(-3.0 * run.t)
    wanted = falls[:, None] * error(ball, q, target)
    assert np.abs(lw.difference(ball, run.q, np.broadcast_to(target, run.q.shape)) - wanted).max() < 1e-8
