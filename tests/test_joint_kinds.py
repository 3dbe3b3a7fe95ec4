"""Joints of several degrees of freedom, screws and coupled joints: agreement with Pinocchio and MuJoCo, and laws."""

from functools import partial
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin
import pytest

import linkwise as lw
from jointed import EVERY_KIND, from_pinocchio, in_mujoco, in_pinocchio, jointed, pinocchio_state, random_state
from robots import conditioned, relative

ALIKE = 1e-10
SIZES = (1, 2, 3, 4, 6, 9)
TREES = [jointed(n, seed) for n in SIZES for seed in range(3)] + [
    jointed(1, k, letter) for k, letter in enumerate("SFH")
]
LONG = [jointed(n, 7) for n in (20, 40)]


def named(robots: list[lw.Robot]) -> list[Any]:
    return [pytest.param(robot, id=f"{robot.name}-{robot.joints[:12]}") for robot in robots]


@pytest.fixture(autouse=True)
def plainly() -> Any:
    with lw.use_kernels("never"):
        yield


@pytest.mark.parametrize("robot", named(TREES + LONG))
def test_pinocchio_agrees(robot):
    model, data = in_pinocchio(robot)
    q, v, a, _ = random_state(robot)
    theirs = pinocchio_state(robot, q, v, a)
    tau = lw.inverse_dynamics(robot, q, v, a)
    assert relative(tau, from_pinocchio(robot, q, pin.rnea(model, data, *theirs))) < ALIKE
    bound = max(ALIKE, conditioned(robot, q))
    assert relative(lw.forward_dynamics(robot, q, v, tau, method="fewest"), a) < bound
    mass = pin.crba(model, data, theirs[0])
    mass = np.triu(mass) + np.triu(mass, 1).T
    energy = 0.5 * theirs[1] @ mass @ theirs[1]
    assert relative(lw.kinetic_energy(robot, q, v), energy) < ALIKE
    assert relative(0.5 * v @ lw.inertia_matrix(robot, q) @ v, energy) < ALIKE
    assert relative(lw.potential_energy(robot, q), pin.computePotentialEnergy(model, data, theirs[0])) < ALIKE


@pytest.mark.parametrize("robot", named([jointed(n, seed, "RPCUES") for n in SIZES for seed in (3, 4)]))
def test_mujoco_agrees_in_our_own_coordinates(robot):
    """Also with rotors, in ball joints too; free joints stand on the base, at its origin."""
    rows = [{**row, "rotor_inertia": 0.02 * (k + 1)} for k, row in enumerate(robot.rows)]
    root = lw.Robot.from_frames(rows, gravity=robot.gravity).with_free_base(2.0, (0.1, 0.2, 0.3), np.eye(3) * 0.1)
    model = in_mujoco(root)
    data = mujoco.MjData(model)
    q, v, a, _ = random_state(root)
    for start in root.quaternions:  # MuJoCo wants them of unit length
        q[start : start + 4] /= np.linalg.norm(q[start : start + 4])
    data.qpos, data.qvel, data.qacc = q, v, a
    mujoco.mj_inverse(model, data)
    assert relative(lw.inverse_dynamics(root, q, v, a), data.qfrc_inverse) < ALIKE
    mass = np.zeros((root.n, root.n))
    mujoco.mj_fullM(model, data, mass)
    assert relative(lw.inertia_matrix(root, q), mass) < ALIKE
    assert relative(lw.poses(root, q)[:, :3, 3], data.xpos[1:]) < ALIKE
    assert relative(lw.poses(root, q)[:, :3, :3].reshape(-1, 9), data.xmat[1:]) < ALIKE


METHODS = [(f, m) for f in (lw.inverse_dynamics, lw.forward_dynamics, lw.inertia_matrix, lw.inverse_inertia_matrix,
                            lw.bias_torque, lw.gravity_torque) for m in lw.methods(f)]  # fmt: skip


@pytest.mark.parametrize(("function", "method"), [pytest.param(f, m, id=f"{f.__name__}-{m}") for f, m in METHODS])
def test_every_method_gives_the_same(function, method):
    for robot in (jointed(5, 11), jointed(4, 12, "SF"), jointed(6, 13, "RHCUE")):
        q, v, a, _ = random_state(robot)
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


@pytest.mark.parametrize("robot", named(TREES[3:]))
def test_the_coriolis_matrix_makes_the_rate_of_the_inertia_matrix_less_twice_itself_skew(robot):
    q, v, _, _ = random_state(robot)
    C = lw.coriolis_matrix(robot, q, v)
    assert relative(C @ v + lw.gravity_torque(robot, q), lw.bias_torque(robot, q, v)) < 1e-12
    rate = rate_of(lambda q, _: lw.inertia_matrix(robot, q), robot, q, v)
    assert relative(rate, C + C.T) < 1e-7


@pytest.mark.parametrize("robot", named(TREES[3:]))
@pytest.mark.parametrize("quasi", [lw.normalized, lw.unnormalized], ids=repr)
def test_quasi_velocities_change_as_their_equation_says(robot, quasi):
    q, v, tau, _ = random_state(robot)
    own = quasi.velocity(robot, q, v)
    acceleration = quasi.acceleration(robot, q, own, tau)
    qdd = lw.forward_dynamics(robot, q, v, tau)
    rate = rate_of(lambda q, v: quasi.velocity(robot, q, v), robot, q, v, qdd)
    assert relative(acceleration, rate) < 1e-6
    D = np.ones(robot.n) if quasi is lw.normalized else lw.udu(robot, q)[1]
    force = quasi.force(robot, q, tau)
    for method in lw.methods(quasi.coriolis):
        assert relative(D * acceleration + quasi.coriolis(robot, q, own, method=method), force) < 1e-10
    power = own @ (quasi.coriolis(robot, q, own, gravity=False))
    if quasi is lw.normalized:
        assert abs(power) < 1e-10 * np.abs(own).max() * np.abs(force).max()


@pytest.mark.parametrize("robot", named(TREES[3:9]))
def test_rates_of_the_mass_factor_and_gradients_of_the_kinetic_energy(robot):
    q, v, _, _ = random_state(robot)
    m_dot = rate_of(lambda q, _: lw.mass_factor(robot, q), robot, q, v)
    assert relative(lw.mass_factor_rate(robot, q, v), m_dot) < 1e-6
    gradient = [
        rate_of(lambda q, _: 2.0 * lw.kinetic_energy(robot, q, v), robot, q, direction) for direction in np.eye(robot.n)
    ]
    assert relative(lw.kinetic_gradient(robot, q, v), gradient) < 1e-6


@pytest.mark.parametrize("robot", named([*TREES[::4], *LONG]))
@pytest.mark.parametrize("form", ["straight", "loops"])
def test_compiled_code_gives_the_same_in_straight_lines_and_in_loops(robot, form):
    if form == "straight" and robot.n > 60:
        pytest.skip("straight-line code would be long")
    states = random_state(robot, shape=(9,))
    wrench = np.random.default_rng(1).normal(size=(9, len(robot.names), 6))
    for function, arrays in ((lw.inverse_dynamics, states[:3]), (lw.forward_dynamics, states[:3])):
        kernel = lw.compile(function, robot, form=form, wrench=lw.Input(len(robot.names), 6))
        bound = max(1e-11, conditioned(robot, states[0]))
        assert relative(kernel(*arrays, wrench), function(robot, *arrays, wrench, method="fewest")) < bound


@pytest.mark.parametrize("form", ["plain", "straight", "loops"])
def test_a_quaternion_without_length_is_a_state_that_is_not_finite(form):
    """Also where the result does not depend on it; and a quaternion of any other length is divided by it."""
    robot = jointed(3, 5, "S")
    q, v, a, _ = random_state(robot, shape=(5,))
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
    with pytest.raises(ValueError, match=r"q\[1, \d+\], joint '\w+', begins a quaternion of length zero .*neutral"):
        lw.inverse_dynamics(robot, q[:2], v[:2], a[:2], check=True)


def test_a_screw_is_between_a_revolute_and_a_prismatic_joint():
    """With pitch 0 it is revolute; as the pitch p grows, τ / p at q = z / p is the force of a prismatic joint."""

    def arm(**joint: Any) -> lw.Robot:
        rows = jointed(3, 21, "RP").rows
        rows[1] = {**rows[1], **joint}
        return lw.Robot.from_frames(rows)

    q, v, a, _ = random_state(arm(joint="revolute"))
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
    q, v, a, _ = random_state(arm)
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


@pytest.mark.parametrize("method", [m for m in lw.methods(lw.forward_dynamics) if m not in ("composite-udu", "fewest")])
def test_methods_foreign_to_coupled_joints_refuse_by_name(method):
    rows = lw.load("planar3").rows
    rows[1] |= {"coupled_to": rows[0]["name"], "ratio": -1.0}
    arm = lw.Robot.from_dh(rows, convention="standard", name="pantograph")
    with pytest.raises(ValueError, match=f"{method!r} has no form for coupled joints, and joint '{rows[1]['name']}'"):
        lw.forward_dynamics(arm, [0, 0], [0, 0], [0, 0], method=method)


@pytest.mark.parametrize("convention", ["standard", "modified"])
@pytest.mark.parametrize("letter", EVERY_KIND)
def test_a_joint_in_a_dh_row_moves_where_the_convention_says(convention, letter):
    """At zero it is as if fixed; standard: it moves before what the row has that does not vary; modified: after it."""
    rows = lw.chain(2, seed=4, joints=f"R{letter}").rows
    arm = lw.Robot.from_dh(rows, convention=convention)
    q, v, _, _ = random_state(arm)
    q[0], v[0] = 0.3, 0.0
    fixed = {key: x for key, x in rows[1].items() if key != "pitch"} | {"joint": "fixed"}
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
