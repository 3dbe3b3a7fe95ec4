"""The friction that joints carry: viscous, quadratic, Coulomb, by direction, Stribeck's, and by load."""

from dataclasses import replace

import numpy as np
import pytest

import linkwise as lw
from facts import raises
from joint_kinds import COUPLED, coupled, states
from linkwise.graph import evaluate
from linkwise.robot import from_table
from robots import CART, CHAINS, SLIDE, TREES, conditioned, relative

ID, FD = lw.inverse_dynamics, lw.forward_dynamics
BEYOND = ("coulomb_offset", "quadratic_friction", "stribeck_friction", "stribeck_rate", "load_friction")


def rubbing(robot: lw.Robot, seed: int = 0, load: bool = True) -> lw.Robot:
    """The robot with all kinds of friction in its joints, but every third one without those beyond Coulomb's."""
    rng, rows = np.random.default_rng([seed, robot.n]), robot.rows
    for k, row in enumerate(rows):
        if row["joint"] == "fixed":
            continue
        c = rng.uniform(0.2, 1.0)
        row |= {"viscous_friction": rng.uniform(), "coulomb_friction": c}
        if k % 3 < 2:
            row |= {"coulomb_offset": c * rng.uniform(-1, 1), "quadratic_friction": rng.uniform()}
            row |= {"stribeck_friction": c + rng.uniform(), "stribeck_rate": rng.uniform(0.1, 1.0)}
            row |= {"load_friction": rng.uniform(0.05, 0.5)} if load and "coupled_to" not in row else {}
    return from_table(rows, robot.convention, robot.gravity, robot.name)


ROBOTS = [rubbing(robot) for robot in (lw.load("planar3"), CHAINS[5], TREES[3], COUPLED)]
ARM, TWO = ROBOTS[0], rubbing(coupled(lw.random_tree(4, seed=2)))
FLOATING = rubbing(lw.load("planar3")).with_free_base(4.0, (0.1, 0.2, 0.3), np.diag([0.5, 0.6, 0.7]))
LAWS = [True, lw.Friction(smooth=0.2), lw.Friction(smooth=0.0)]
every_robot = pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: robot.name)


def by_hand(robot: lw.Robot, qd: np.ndarray, load: np.ndarray, smooth: float = 1e-3) -> np.ndarray:
    """The law, by its formula, of a robot without coupled joints."""
    numbers = [vars(link.joint) for link in robot.links]
    b, c, o, k, s, w, share = (
        np.array([joint[key] for joint in numbers]) for key in ("viscous_friction", "coulomb_friction", *BEYOND)
    )
    S = qd / np.sqrt(qd**2 + smooth**2) if smooth else np.sign(qd)
    level = c + (s - c) / (1 + (qd / w) ** 2)
    return b * qd + k * qd * np.abs(qd) + level * S + o * S**2 + share * np.abs(load) * S


@every_robot
@pytest.mark.parametrize("law", LAWS, ids=["table", "smooth", "sign"])
def test_accelerations_under_friction_give_the_torques_back(robot, law):
    """In forward dynamics the load is not given: it follows from the torque of the drive."""
    q, qd, qdd, _ = states(robot, 4)
    qd[2:] *= 1e-3
    free, tau = ID(robot, q, qd, qdd), ID(robot, q, qd, qdd, friction=law)
    assert relative(FD(robot, q, qd, tau, friction=law), qdd) < 8.0 * conditioned(robot, q) + 1e-12
    friction = lw.Friction.of(law)
    lost = friction.torque(robot, qd, load=free)
    assert relative(tau - free, lost) < 1e-12
    assert relative(friction.torque(robot, qd, applied=tau), lost) < 1e-12
    assert (lost * qd).min() >= 0.0  # it takes energy
    if not robot.couplings:
        assert relative(lost, by_hand(robot, qd, free, friction.smooth)) < 1e-12
    budget = lw.budget(robot, q, qd, qdd, friction=law)
    assert relative(budget.tau, tau) < 1e-11
    assert relative(budget.friction, lost) < 1e-10


@pytest.mark.parametrize("form", ["straight", "loops"])
def test_kernels_and_programs_take_all_of_it(form):
    robot = ROBOTS[1]
    q, qd, qdd, tau = states(robot, 5)
    for function, given in ((ID, qdd), (FD, tau)):
        want = function(robot, q, qd, given, friction=True)
        compiled = lw.compile(function, robot, form=form, friction=True)(q, qd, given)
        assert relative(compiled, want) < 8.0 * conditioned(robot, q) + 1e-12
    program = lw.trace(ID, ARM, friction=True, method="newton-euler")
    q, qd, qdd, _ = states(ARM, 3)
    assert (evaluate(program, q, qd, qdd)[0] == ID(ARM, q, qd, qdd, friction=True, method="newton-euler")).all()
    assert "sqrt" in lw.c_source(FD, ARM, friction=True)


def test_friction_that_is_zero_costs_nothing_and_changes_no_bit():
    rows = [row | {"viscous_friction": 0.1, "coulomb_friction": 0.2} for row in lw.load("puma560").rows]
    plain = lw.Robot.from_dh(rows, convention="standard")
    zeros = {**dict.fromkeys(BEYOND, 0.0), "stribeck_friction": 0.2, "stribeck_rate": 0.3}
    same = lw.Robot.from_dh([row | zeros for row in rows], convention="standard")
    assert lw.count(ID, same, friction=True) == lw.count(ID, plain, friction=True)
    assert lw.parameters(same, friction=True).names == lw.parameters(plain, friction=True).names
    q, qd, qdd, tau = states(plain, 3)
    for function, given in ((ID, qdd), (FD, tau)):
        assert (function(same, q, qd, given, friction=True) == function(plain, q, qd, given, friction=True)).all()
    assert plain.rows[0].keys().isdisjoint(BEYOND)
    assert "stribeck_rate" in same.rows[0]


@every_robot
def test_torques_are_linear_in_all_coefficients_but_that_of_the_load(robot):
    linear = rubbing(robot.with_gravity((1.0, 2.0, 3.0)), 1, load=False)
    linear = from_table([{**row, "load_friction": 0.0} for row in linear.rows], linear.convention, linear.gravity, "l")
    q, qd, qdd, _ = states(linear, 3)
    tau = ID(linear, q, qd, qdd, friction=True)
    pi = lw.parameters(linear, friction=True)
    kinds = [name.rpartition(".")[2] for name in pi.names[:: len(linear.names)]][-6:]
    assert kinds == ["rotor", "viscous", "coulomb", "stribeck", "offset", "quadratic"]
    assert relative(lw.regressor(linear, q, qd, qdd, friction=True) @ pi, tau) < 1e-12
    base = lw.parameters(linear, friction=True, base=True)
    assert relative(lw.regressor(linear, q, qd, qdd, friction=True, base=True) @ base, tau) < 1e-11
    assert linear.with_parameters(pi, friction=True) == linear
    changed = linear.with_parameters(np.array(pi) * 1.25, friction=True)
    assert relative(lw.parameters(changed, friction=True), 1.25 * pi) < 1e-13
    with raises(ValueError, robot.links[0].name, "load", "lw.Friction(load=0)"):
        lw.parameters(robot, friction=True)


def test_a_law_gives_columns_and_goes_into_the_table():
    arm = lw.load("planar3")
    law = lw.Friction(stribeck=0.0, stribeck_rate=[0.1, 0.2, 0.3], offset=0.0, quadratic=0.0)
    pi = lw.parameters(arm, friction=law)
    for kind, value in (("coulomb", 0.4), ("stribeck", 0.6), ("offset", -0.3), ("quadratic", 0.05)):
        pi[f"link2.{kind}"] = value
    rough = arm.with_parameters(pi, friction=law)
    q, qd, qdd, _ = states(arm, 4)
    assert relative(ID(rough, q, qd, qdd, friction=True), lw.regressor(arm, q, qd, qdd, friction=law) @ pi) < 1e-13
    assert rough.rows[1]["stribeck_rate"] == 0.2
    pi["link2.offset"] = -0.5
    with raises(lw.errors.RobotError, "'link2'", "coulomb_offset", -0.5, 0.4):
        arm.with_parameters(pi, friction=law)
    dry = lw.Friction(viscous=0.1, coulomb=0.0)
    worn = ARM.with_parameters(lw.parameters(ARM, friction=dry), friction=dry)
    assert relative(ID(worn, q, qd, qdd, friction=True), ID(ARM, q, qd, qdd, friction=dry)) < 1e-13
    assert worn.rows[0].keys().isdisjoint(BEYOND)
    less = lw.Friction(load=0)
    worn = ARM.with_parameters(lw.parameters(ARM, friction=less), friction=less)
    assert relative(ID(worn, q, qd, qdd, friction=True), ID(ARM, q, qd, qdd, friction=less)) < 1e-13
    with pytest.warns(UserWarning, match="link2"):
        assert arm.with_parameters(pi, friction=law, unphysical="warn").rows[1]["coulomb_offset"] == -0.5


def test_a_number_of_the_law_replaces_those_of_the_table():
    qd, load = states(ARM, 3)[1:3]
    alone = lw.Friction(viscous=0.0, coulomb=0.3)
    assert relative(alone.torque(ARM, qd, load=load), 0.3 * qd / np.sqrt(qd**2 + 1e-6)) < 1e-14
    viscous, dry = (part.torque(ARM, qd, load=load) for part in lw.Friction().parts)
    assert relative(viscous + dry, lw.Friction().torque(ARM, qd, load=load)) < 1e-14
    assert relative(viscous, lw.Friction(coulomb=0).torque(ARM, qd, load=load)) < 1e-14
    changed = from_table([row | {"load_friction": 0.25} for row in ARM.rows], "standard", ARM.gravity, "c")
    assert (
        relative(lw.Friction(load=0.25).torque(ARM, qd, load=load), lw.Friction().torque(changed, qd, load=load))
        < 1e-14
    )


@pytest.mark.parametrize(("law", "robot"), [(LAWS[1], TWO), (LAWS[2], ARM)], ids=["smooth", "sign"])
def test_linear_models_have_the_slopes_of_friction(law, robot):
    q, qd, _, tau = states(robot)
    A, B = lw.linearize(robot, q, qd, tau, friction=law)
    by_qd, by_tau = lw.derivative(FD, robot, ("qd", "tau"), friction=law)(q, qd, tau)
    assert relative(B[robot.n :], by_tau) < 1e-10
    assert relative(A[robot.n :, robot.n :], by_qd) < 1e-10
    q, qd, _, tau = states(ARM)
    eps, steps = 1e-6, 1e-6 * np.eye(3)
    slope = (FD(ARM, q, qd + steps, tau, friction=law) - FD(ARM, q, qd - steps, tau, friction=law)).T / (2 * eps)
    assert relative(lw.derivative(FD, ARM, "qd", friction=law)(q, qd, tau), slope) < 1e-6


def test_a_floating_base_and_passive_joints_carry_their_friction():
    q, qd, qdd, _ = states(FLOATING, 3)
    acceleration, tau = lw.floating_dynamics(FLOATING, q, qd, qdd[:, 6:], friction=True)
    every = ID(FLOATING, q, qd, np.concatenate([acceleration, qdd[:, 6:]], axis=1), friction=True)
    assert relative(every, np.concatenate([np.zeros((3, 6)), tau], axis=1)) < 1e-10
    law = lw.control.computed_torque([0.1, 0.2, 0.3], kp=9, kd=6, passive="link2", friction=True)
    q, qd, _, _ = states(ARM)
    reached = FD(ARM, q, qd, law(ARM, 0, q, qd), friction=True)
    wanted = -9 * (q - [0.1, 0.2, 0.3]) - 6 * qd
    assert relative(reached[[0, 2]], wanted[[0, 2]]) < 1e-10


def test_simulations_and_rollouts_lose_the_energy_that_friction_takes():
    run = lw.simulate(ARM, [0.3, -0.2, 0.1], [1.0, -2.0, 1.5], 0.5, friction=True, samples=6)
    assert abs(run.imbalance).max() < 1e-8
    assert (np.diff(run.heat) >= 0.0).all()
    assert run.heat[-1] > 0.1
    assert relative(run.qdd, FD(ARM, run.q, run.qd, np.zeros(3), friction=True)) < 1e-9
    steps = lw.rollout(ARM, run.q[0], run.qd[0], steps=300, dt=1e-3, every=10,
                       friction=lw.Friction(smooth=1.0))  # fmt: skip
    energy = lw.kinetic_energy(ARM, steps.q, steps.qd) + lw.potential_energy(ARM, steps.q)
    assert np.diff(energy).max() < 1e-9


def test_an_asymmetric_joint_breaks_loose_later_in_one_direction():
    """Of 0.5 forward and 0.3 backward, pulled ever more: it is still up to there, to the last bit."""
    cart = lw.Robot.from_dh([{**SLIDE, "coulomb_friction": 0.4, "coulomb_offset": 0.1}], convention="standard",
                            gravity=(0, 0, 0), name="cart")  # fmt: skip
    for side, level in ((1.0, 0.5), (-1.0, 0.3)):
        run = lw.simulate(cart, [0], [0], 1, torque=lambda arm, t, q, qd, s=side: np.array([s * t]),
                          friction=lw.Friction(smooth=0), samples=101)  # fmt: skip
        resting = run.qd[:, 0] == 0.0
        assert run.t[resting].max() == pytest.approx(level, abs=0.011)
        assert side * run.qd[-1, 0] == pytest.approx((0.5 * (1 - level**2) - level * (1 - level)) / SLIDE["mass"])
    loaded = from_table([row | {"load_friction": 0.1} for row in cart.rows], "standard", (0, 0, 0), "cart")
    with raises(ValueError, "'cart'", "'link1'", "load", "smooth"):
        lw.simulate(loaded, [0], [0], 1, friction=lw.Friction(smooth=0))


def test_files_keep_it(tmp_path):
    for robot in ROBOTS:
        lw.save(robot, tmp_path / "robot.toml")
        assert lw.load(tmp_path / "robot.toml") == robot
        assert lw.load(tmp_path / "robot.toml").rows == robot.rows
    result = lw.compare(ARM, lw.load("planar3"))
    assert result.same
    assert {finding.kind for finding in result.findings} >= {"Coulomb offset", "Stribeck rate", "load friction"}
    assert "per load" in lw.describe(ARM)


@pytest.mark.parametrize(("entries", "facts"), [
    ({"coulomb_offset": -0.5}, ("coulomb_offset", -0.5, 0.4)),
    ({"stribeck_friction": 0.3}, ("stribeck_friction", 0.3, 0.4)),
    ({"stribeck_rate": 0.3}, ("stribeck_rate", "stribeck_friction")),
    ({"stribeck_friction": 0.5, "stribeck_rate": 0.0}, ("stribeck_rate", 0.0)),
    ({"load_friction": 1.0}, ("load_friction", 1.0)),
    ({"quadratic_friction": -1.0}, ("quadratic_friction", -1.0)),
    ({"static_friction": 1.0}, ("static_friction", "stribeck_friction")),
], ids=str)  # fmt: skip
def test_friction_that_would_drive_is_refused(entries, facts):
    row = {**SLIDE, "coulomb_friction": 0.4, **entries}
    with raises(lw.errors.RobotError, "'link1'", *facts):
        lw.Robot.from_dh([row], convention="standard")
    symbol = lw.symbols("x")
    if len(facts) == 3:
        key, value, _ = facts
        cart = lw.Robot.from_dh([row | {key: symbol}], convention="standard", name="cart")
        with raises(ValueError, "parameters", key, "'link1'"):
            lw.rollout(cart, [0.0], [0.0], steps=1, dt=1e-3, parameters={"x": value})
        assert lw.Robot.from_dh([row | {"unphysical": True}], convention="standard").n == 1
    with raises(lw.errors.RobotError, "'link2'", "load_friction", "coupled"):
        second = {**SLIDE, "load_friction": 0.1, "coupled_to": "link1"}
        lw.Robot.from_dh([CART.rows[0] | {"name": "link1"}, second], convention="standard")


@pytest.mark.parametrize("wrong", [
    {"load": 1.0}, {"load": -0.1}, {"offset": np.inf}, {"offset": 0.2, "coulomb": [0.3, 0.1]}, {"quadratic": [-1.0]},
    {"stribeck_rate": [0.1, 0.0]},
], ids=str)  # fmt: skip
def test_laws_that_are_none_are_refused(wrong):
    with raises(ValueError, next(iter(wrong))):
        lw.Friction(**wrong)


@pytest.mark.parametrize("wrong", [
    {"coulomb": 1.0, "offset": 1.0, "stribeck": 0.0}, {"coulomb": 0.3, "stribeck": 0.1},
    {"coulomb": [0.1, 0.3, 0.1], "stribeck": 0.2},
], ids=str)  # fmt: skip
def test_laws_with_less_friction_at_rest_are_refused(wrong):
    with raises(ValueError, "stribeck", "coulomb", wrong["stribeck"]):
        lw.Friction(**wrong)


@pytest.mark.parametrize(("given", "facts"), [
    ({"offset": [0.0, -0.6, 0.0]}, ("offset", -0.6, 0.5)), ({"stribeck": 0.45}, ("stribeck", 0.45, 0.5)),
    ({"offset": 0.4, "stribeck": [9.0, 0.1, 9.0]}, ("stribeck", 0.1, 0.5)),
], ids=str)  # fmt: skip
def test_laws_that_do_not_fit_the_friction_of_a_robot_are_refused(given, facts):
    rows = [row | {"coulomb_friction": 0.4 + 0.1 * (k == 1)} for k, row in enumerate(lw.load("planar3").rows)]
    arm = from_table(rows, ARM.convention, ARM.gravity, "arm")
    still, law = [0.0] * 3, lw.Friction(**given)
    for call in (
        lambda: ID(arm, still, still, still, friction=law),
        lambda: lw.compile(FD, arm, friction=law),
        lambda: lw.simulate(arm, still, still, 0.01, friction=replace(law, smooth=0.0)),
        lambda: lw.parameters(arm, friction=law),
        lambda: law.torque(arm, still),
    ):
        with raises(ValueError, "'arm'", "'link2'", "coulomb", *facts):
            call()


def test_laws_are_compared_with_parameters_and_swept_friction(tmp_path):
    cart = lw.Robot.from_dh([SLIDE | {"coulomb_friction": lw.symbols("c")}], convention="standard", name="cart")
    law, levels = lw.Friction(offset=0.3, smooth=0.1), np.array([0.4, 0.2])
    with raises(ValueError, "'cart'", "'link1'", "offset", 0.3, 0.2, "trajectory [1]"):
        lw.rollout(cart, [0.0], [0.0], steps=1, dt=1e-3, friction=law, parameters={"c": lw.per_trajectory(levels)})
    for values in (levels[:1], levels[0]):
        given = {"c": lw.per_trajectory(values) if values.shape else values}
        lw.rollout(cart, [0.0], [0.0], steps=1, dt=1e-3, friction=law, parameters=given)
    firm = lw.Robot.from_dh([SLIDE | {"coulomb_friction": 0.5}], convention="standard", name="cart")
    made = lw.sweep(firm, {"q0": [[0.0]] * 2, "link1.coulomb_friction": levels}, tmp_path, 0.01, friction=law)
    assert made.read()["status"].tolist() == ["done", "failed"]


def test_coupled_joints_keep_their_coulomb_friction_at_rest():
    at_rest = {k: TWO.links[k].joint.coulomb_friction for k in TWO.coupled}
    levels = lw.Friction(stribeck=[2.0] * TWO.n).of_links(TWO, "stribeck")
    assert at_rest
    assert levels == [at_rest.get(k, 2.0) for k in range(len(levels))]
