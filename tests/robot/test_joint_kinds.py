"""Laws of joints of several degrees of freedom, of screws and of coupled joints."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises
from joint_kinds import EVERY_KIND, jointed, states
from linkwise.robot.kinds import KINDS
from robots import conditioned, relative

SIZES = (1, 2, 3, 4, 6, 9)
TREES = [jointed(n, seed) for n in SIZES for seed in range(3)] + [
    jointed(1, k, letter) for k, letter in enumerate("SFH")
]
LONG = [jointed(n, 7) for n in (20, 40)]
FORMS = [(robot, form) for robot in (*TREES[::4], LONG[0]) for form in ("straight", "loops")] + [(LONG[1], "loops")]


def named(robots: list[lw.Robot]) -> list[Any]:
    return [pytest.param(robot, id=f"{robot.name}-{robot.joints[:12]}") for robot in robots]


METHODS = [(f, m) for f in (lw.inverse_dynamics, lw.forward_dynamics, lw.inertia_matrix, lw.inverse_inertia_matrix,
                            lw.bias_torque, lw.gravity_torque) for m in lw.methods(f)]  # fmt: skip


FIRST = "RPHCUESF"
ALIKE = {
    **{robot.joints: robot for robot in (jointed(5, 14, FIRST), jointed(5, 11, FIRST), jointed(4, 12, "SF"))},
    **{2 * letter: lw.chain(2, seed=k, joints=letter) for k, letter in enumerate(EVERY_KIND)},
}


@pytest.mark.parametrize("joints", rest_slow(list(ALIKE), ["RSFER"]))
@pytest.mark.parametrize(("function", "method"), [pytest.param(f, m, id=f"{f.__name__}-{m}") for f, m in METHODS])
def test_every_method_gives_the_same(function, method, joints):
    robot = ALIKE[joints]
    q, v, a, _ = states(robot)
    arrays = {"inverse_dynamics": (q, v, a), "forward_dynamics": (q, v, a), "bias_torque": (q, v)}
    arguments = arrays.get(function.__name__, (q,))
    bound = max(1e-12, conditioned(robot, q))
    assert relative(function(robot, *arguments, method=method), function(robot, *arguments)) < bound


def moved(robot: lw.Robot, q: np.ndarray, v: np.ndarray, h: float) -> np.ndarray:
    """q a short time h later, to the third order in h, by the midpoint of q̇ = ½ q ω."""
    rate = robot.coordinates.configuration_rates
    middle = q + 0.5 * h * np.array(rate(q, v))
    return q + h * np.array(rate(middle, v))


def rate_of(f: Any, robot: lw.Robot, q: np.ndarray, v: np.ndarray, vd: np.ndarray | None = None) -> np.ndarray:
    """The rate of f(q, v) along the motion, by central differences."""
    h, vd = 1e-5, np.zeros(robot.n) if vd is None else vd
    return (f(moved(robot, q, v, h), v + h * vd) - f(moved(robot, q, v, -h), v - h * vd)) / (2 * h)


@pytest.mark.parametrize("robot", named(TREES[3::2]))
def test_the_coriolis_matrix_makes_the_rate_of_the_inertia_matrix_less_twice_itself_skew(robot):
    q, v, _, _ = states(robot)
    C = lw.coriolis_matrix(robot, q, v)
    assert relative(C @ v + lw.gravity_torque(robot, q), lw.bias_torque(robot, q, v)) < 1e-12
    rate = rate_of(lambda q, _: lw.inertia_matrix(robot, q), robot, q, v)
    assert relative(rate, C + C.T) < 1e-7


@pytest.mark.parametrize("robot", rest_slow(TREES[3::4], TREES[3:4]), ids=lambda robot: robot.name)
@pytest.mark.parametrize("quasi", [lw.formulations.normalized, lw.formulations.unnormalized], ids=repr)
def test_quasi_velocities_change_as_their_equation_says(robot, quasi):
    q, v, tau, _ = states(robot)
    own = quasi.velocity(robot, q, v)
    acceleration = quasi.acceleration(robot, q, own, tau)
    qdd = lw.forward_dynamics(robot, q, v, tau)
    rate = rate_of(lambda q, v: quasi.velocity(robot, q, v), robot, q, v, qdd)
    assert relative(acceleration, rate) < 1e-6
    moved = quasi.velocity_rate(robot, q, v, v) + quasi.velocity(robot, q, qdd)
    assert relative(moved, acceleration) < 1e-10
    held = lw.jvp(quasi.velocity, robot, "q")(q, tau, v)  # of any rates, while the robot moves by v
    assert relative(quasi.velocity_rate(robot, q, v, tau), held) < 1e-11
    D = np.ones(robot.n) if quasi is lw.formulations.normalized else lw.formulations.udu(robot, q)[1]
    force = quasi.force(robot, q, tau)
    for method in lw.methods(quasi.coriolis):
        assert relative(D * acceleration + quasi.coriolis(robot, q, own, method=method), force) < 1e-10
    power = own @ (quasi.coriolis(robot, q, own, gravity=False))
    if quasi is lw.formulations.normalized:
        assert abs(power) < 1e-10 * np.abs(own).max() * np.abs(force).max()


@pytest.mark.parametrize("robot", named(TREES[3:9:3]))
def test_rates_of_the_mass_factor_and_gradients_of_the_kinetic_energy(robot):
    q, v, _, _ = states(robot)
    m_dot = rate_of(lambda q, _: lw.formulations.mass_factor(robot, q), robot, q, v)
    assert relative(lw.formulations.mass_factor_rate(robot, q, v), m_dot) < 1e-6
    gradient = [
        rate_of(lambda q, _: 2.0 * lw.kinetic_energy(robot, q, v), robot, q, direction) for direction in np.eye(robot.n)
    ]
    assert relative(lw.formulations.kinetic_gradient(robot, q, v), gradient) < 1e-6


@pytest.mark.parametrize(("robot", "form"), rest_slow(FORMS, [(TREES[8], "straight"), (TREES[8], "loops")]))
def test_compiled_code_gives_the_same_in_straight_lines_and_in_loops(robot, form):
    arrays = states(robot, 9)
    wrench = np.random.default_rng(1).normal(size=(9, len(robot.names), 6))
    for function, three in ((lw.inverse_dynamics, arrays[:3]), (lw.forward_dynamics, arrays[:3])):
        kernel = lw.compile(function, robot, form=form, wrench=lw.Input(len(robot.names), 6))
        bound = max(1e-11, conditioned(robot, arrays[0]))
        assert relative(kernel(*three, wrench), function(robot, *three, wrench, method="fewest")) < bound


LOOP_STARTS = [(joints, m) for joints in ("S", "SR", "F", "FR", "CR", "ES") for m in ("denoc", "kalman", "fewest")]


@pytest.mark.parametrize(
    ("joints", "method"), rest_slow(LOOP_STARTS, [("S", "fewest"), ("FR", "denoc"), ("CR", "kalman")])
)
def test_loops_begin_with_links_that_have_no_body(joints, method):
    """Alone these would be singular; what they carry is known only as the loop runs."""
    robot = lw.chain(4, seed=3, joints=joints)
    q, v, tau, _ = states(robot, 5)
    kernel = lw.compile(lw.forward_dynamics, robot, form="loops", method=method)
    assert relative(kernel(q, v, tau), lw.forward_dynamics(robot, q, v, tau)) < max(1e-11, conditioned(robot, q))


@pytest.mark.parametrize("form", ["plain", "straight", "loops"])
def test_a_quaternion_without_length_is_a_state_that_is_not_finite(form):
    """Also where the result does not depend on it; and a quaternion of any other length is divided by it."""
    robot = jointed(3, 5, "S")
    q, v, a, _ = states(robot, 5)
    q[1, robot.quaternions[-1] :][:4] = 0.0
    q[2, robot.quaternions[0] :][:4] = 1e200
    q[3, robot.quaternions[0] :][:4] *= 1e-3
    plain = partial(lw.inverse_dynamics, robot)
    kernel = plain if form == "plain" else lw.compile(lw.inverse_dynamics, robot, form=form)
    tau = kernel(q, v, a)
    assert np.isnan(tau[1:3]).all()
    assert np.isfinite(tau[[0, 3, 4]]).all()
    q[3, robot.quaternions[0] :][:4] *= 1e3
    assert relative(kernel(q, v, a)[3], tau[3]) < 1e-12
    with raises(ValueError, "q[1", "quaternion", "lw.neutral(robot)"):
        lw.inverse_dynamics(robot, q[:2], v[:2], a[:2], check=True)


def test_a_screw_is_between_a_revolute_and_a_prismatic_joint():
    """With pitch 0 it is revolute; as the pitch p grows, τ / p at q = z / p is the force of a prismatic joint."""

    def arm(**joint: Any) -> lw.Robot:
        rows = jointed(3, 21, "RP").rows
        rows[1] = {**rows[1], **joint}
        return lw.Robot.from_frames(rows)

    q, v, a, _ = states(arm(joint="revolute"))
    turn, flat = arm(joint="revolute"), arm(joint="screw", pitch=0.0)
    assert relative(lw.inverse_dynamics(flat, q, v, a), lw.inverse_dynamics(turn, q, v, a)) < 1e-14
    slide = lw.inverse_dynamics(arm(joint="prismatic"), q, v, a)
    errors = []
    for pitch in (1e3, 1e4, 1e5):
        scale = np.array([1.0, pitch, 1.0])
        tau = lw.inverse_dynamics(arm(joint="screw", pitch=pitch), q / scale, v / scale, a / scale)
        errors.append(relative(tau / scale, slide))
    assert errors[0] < 0.1
    assert errors[1] < 0.2 * errors[0]
    assert errors[2] < 0.2 * errors[1]


def test_a_coupled_joint_is_one_whose_constraint_was_eliminated_by_hand():
    """Couplings of couplings, backwards in the table, on screws and slides; the inertia of both sides is felt."""
    rows = [{**row, "rotor_inertia": 0.1, "viscous_friction": 0.3} for row in jointed(6, 31, "RPH").rows]
    names = [row["name"] for row in rows]
    free = lw.Robot.from_frames(rows, gravity=(1, 2, 3))
    rows[0] |= {"coupled_to": names[4], "ratio": 2.0}
    rows[4] |= {"coupled_to": names[2], "ratio": -0.7, "offset": 0.2}
    arm = lw.Robot.from_frames(rows, gravity=(1, 2, 3))
    assert arm.n == arm.nq == 4
    assert arm.joint_names == tuple(names[k] for k in (1, 2, 3, 5))
    G = np.zeros((6, 4))
    G[[1, 2, 3, 5], range(4)] = 1.0
    G[4, 1], G[0, 1] = -0.7, -1.4
    offset = np.array([0.4, 0, 0, 0, 0.2, 0])
    q, v, a, _ = states(arm)
    q_free, v_free, a_free = G @ q + offset, G @ v, G @ a
    tau = lw.inverse_dynamics(arm, q, v, a, friction=True)
    assert relative(tau, G.T @ lw.inverse_dynamics(free, q_free, v_free, a_free, friction=True)) < 1e-13
    inertia = G.T @ lw.inertia_matrix(free, q_free) @ G
    assert relative(lw.inertia_matrix(arm, q), inertia) < 1e-13
    assert relative(lw.inverse_inertia_matrix(arm, q) @ inertia, np.eye(4)) < 1e-11
    assert relative(lw.forward_dynamics(arm, q, v, tau, friction=True), a) < 1e-11
    assert relative(lw.compile(lw.forward_dynamics, arm)(q, v, tau), lw.forward_dynamics(arm, q, v, tau)) < 1e-11
    assert relative(lw.poses(arm, q), lw.poses(free, q_free)) < 1e-13
    assert relative(lw.jacobian(arm, q), lw.jacobian(free, q_free) @ G) < 1e-13
    assert relative(lw.kinetic_energy(arm, q, v), lw.kinetic_energy(free, q_free, v_free)) < 1e-13
    C = lw.coriolis_matrix(arm, q, v)
    assert relative(C @ v + lw.gravity_torque(arm, q), lw.bias_torque(arm, q, v)) < 1e-12


def test_limits_of_coupled_joints_hold_for_the_joint_that_they_move_with():
    """As events, with the coupled joint's name, and in random configurations."""
    row = {"joint": "prismatic", "translation": (0, 0, 0), "mass": 1.0, "com": (0, 0, 0), "inertia": np.zeros((3, 3))}
    left = {**row, "name": "left", "limits": (-1.0, 0.3)}
    coupling = {"coupled_to": "left", "ratio": -2.0, "offset": 0.1}
    right = {**row, **coupling, "name": "right", "parent": None, "limits": (0, 1.0)}
    gripper = lw.Robot.from_frames([left, right], gravity=(0, 0, 0))
    q = lw.random_configuration(gripper, 0, 2000)
    assert -0.45 < q.min() < -0.44
    assert 0.04 < q.max() < 0.05
    fall = lw.simulate(gripper, [0.0], [0.1], 2.0, events=lw.control.joint_limits(gripper))
    assert fall.events[0].names == ("right below 0",)
    assert abs(fall.events[0].t - 0.5) < 1e-9
    tight = lw.Robot.from_frames([{**left, "limits": (0.2, 0.3)}, right])
    with raises(lw.errors.RobotError, "robot 'robot'", "joint 'left'", "limits", "coupled"):
        lw.random_configuration(tight, 0)


def test_labels_of_coordinates_are_unique():
    rows = lw.chain(2, joints="CR").rows
    rows[0]["name"], rows[1]["name"], rows[1]["parent"] = "a", "a.rz", "a"
    with raises(lw.errors.RobotError, "row 2:", "'a.rz'", "joint 'a'"):
        lw.Robot.from_dh(rows, convention="standard")


def test_a_base_is_changed_only_where_the_table_has_the_robots_numbers():
    arm = lw.load("stanford")
    heavy = replace(arm, links=tuple(replace(link, mass=2.0 * link.mass) for link in arm.links))
    with raises(lw.errors.RobotError, "'stanford'", "table"):
        heavy.with_free_base()
    assert arm.regrouped().with_free_base().links[-1].grouped is not None


def test_a_base_that_floats_is_asked_for_once_and_with_its_inertia():
    arm = lw.load("planar3")
    assert arm.with_free_base().with_fixed_base() == arm
    rows = arm.with_free_base().rows
    rows[0] |= {"velocity_limit": 2.0, "stiffness": 1.0, "rotor_inertia": 0.1}
    assert lw.Robot.from_dh(rows, convention="standard", gravity=arm.gravity).with_fixed_base() == arm
    with raises(lw.errors.RobotError, "'planar3'", "3.0", "inertia=..."):
        arm.with_free_base(3.0)
    with raises(lw.errors.RobotError, "'planar3'", "free", "'base'"):
        arm.with_free_base().with_free_base()
    with raises(lw.errors.RobotError, "'planar3'", "free"):
        arm.with_fixed_base()


@pytest.mark.parametrize("convention", ["standard", "modified"])
@pytest.mark.parametrize("letter", EVERY_KIND)
def test_a_joint_in_a_dh_row_moves_where_the_convention_says(convention, letter):
    """At zero it is as if fixed; standard: it moves before what the row has that does not vary; modified: after it."""
    rows = lw.chain(2, seed=4, joints=f"R{letter}").rows
    arm = lw.Robot.from_dh(rows, convention=convention)
    q, v, _, _ = states(arm)
    q[0], v[0] = 0.3, 0.0
    fixed = {key: x for key, x in rows[1].items() if key not in KINDS[rows[1]["joint"]].numbers} | {"joint": "fixed"}
    still = lw.poses(lw.Robot.from_dh([rows[0], fixed], convention=convention), [0.3], frames=["link2"])[0]
    zero = np.zeros(arm.nq)
    zero[0], zero[list(arm.quaternions)] = 0.3, 1.0
    assert relative(lw.poses(arm, zero)[1], still) < 1e-14
    parent, link = lw.poses(arm, q)
    joint_frame = parent if convention == "standard" else still  # of ball joints: where they turn
    if letter == "S":
        centre = np.linalg.inv(joint_frame) @ link @ np.linalg.inv(np.linalg.inv(joint_frame) @ still)
        assert np.abs(centre[:3, 3]).max() < 1e-14
    twist = lw.jacobian(arm, q, link="link2", point="frame") @ v
    rate = rate_of(lambda q, _: lw.poses(arm, q)[1], arm, q, v)
    spin = rate[:3, :3] @ link[:3, :3].T
    assert relative(twist, [spin[2, 1], spin[0, 2], spin[1, 0], *rate[:3, 3]]) < 1e-7
