"""Friction is one law: the same torques in inverse and forward dynamics, in simulations, plain and compiled."""

import importlib

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises
from linkwise.targets.cpu.host import host_target
from robots import CHAINS, TREES, conditioned, relative, states

implicit = importlib.import_module("linkwise.ode.radau")
simulation = importlib.import_module("linkwise.simulation.simulation")
Problem = importlib.import_module("linkwise.simulation.problem").Problem


def rough(robot):
    """The robot with friction of its own, other numbers for each joint."""
    rows = robot.rows
    for k, row in enumerate(rows, 1):
        row |= {"viscous_friction": 0.1 * k, "coulomb_friction": 0.3 / k}
    if robot.convention == "frames":
        return lw.Robot.from_frames(rows, gravity=robot.gravity, name=robot.name)
    return lw.Robot.from_dh(rows, convention=robot.convention, gravity=robot.gravity, name=robot.name)


ROBOTS = [rough(robot) for robot in (lw.load("planar3"), CHAINS[4], TREES[3])]
LAWS = {
    "own": lambda n: True,
    "smoother": lambda n: lw.Friction(smooth=0.1),
    "sign": lambda n: lw.Friction(smooth=0.0),
    "stribeck": lambda n: lw.Friction(viscous=0.2, stribeck=np.linspace(0.5, 1.0, n), stribeck_rate=0.02),
    "each": lambda n: lw.Friction(np.linspace(0.0, 1.0, n), np.linspace(1.0, 0.0, n), smooth=1e-4),
}
every_robot = pytest.mark.parametrize("robot", rest_slow(ROBOTS, ROBOTS[1:2]), ids=lambda robot: robot.name)
every_law = pytest.mark.parametrize("law", rest_slow(list(LAWS), list(LAWS)[::2]))


def rates(robot, count=6):
    """From far from rest to close to it, where the laws of sign and of a smoothed sign differ most."""
    scale = 10.0 ** -np.arange(count)[:, None]
    return scale * states(robot, count)[1]


def expected(friction, robot, qd):
    """The law, by its formula."""
    law = lw.Friction() if friction is True else friction
    own = [[getattr(link.joint, word) for link in robot.links] for word in ("viscous_friction", "coulomb_friction")]
    viscous = own[0] if law.viscous is None else law.viscous
    coulomb = own[1] if law.coulomb is None else law.coulomb
    level = np.asarray(coulomb) * np.ones_like(qd)
    if law.stribeck is not None:
        level = level + (np.asarray(law.stribeck) - level) / (1.0 + (qd / law.stribeck_rate) ** 2)
    return np.asarray(viscous) * qd + level * (
        np.sign(qd) if law.smooth == 0.0 else qd / np.sqrt(qd**2 + law.smooth**2)
    )


@every_robot
@every_law
def test_forward_dynamics_gives_the_accelerations_that_simulate_uses(robot, law):
    friction, n = LAWS[law](robot.n), robot.n
    q, _, _, tau = states(robot, 6)
    qd = rates(robot)
    found = lw.forward_dynamics(robot, q, qd, tau, friction=friction)
    lost = expected(friction, robot, qd)
    bound = conditioned(robot, q) + 1e-13
    assert relative(found, lw.forward_dynamics(robot, q, qd, tau - lost)) < bound
    assert relative(lw.inverse_dynamics(robot, q, qd, found, friction=friction), tau) < bound
    problem = Problem(robot, tau=True, friction=simulation.Friction.of(friction))
    extra = {} if problem.sticking is None else {"modes": np.append(np.sign(qd[0]), 0.0)}
    for k in range(len(q)):
        if extra:
            extra["modes"] = np.append(np.sign(qd[k]), 0.0)
        y = np.concatenate([q[k], qd[k], np.zeros(problem.size - 2 * n)])
        plain = problem.rhs(robot, 0.0, y, tau[k], **extra)[n : 2 * n].astype(float)
        assert relative(plain, found[k]) < bound
    compiled = lw.compile(lw.forward_dynamics, robot, friction=friction)
    assert relative(compiled(q, qd, tau), found) < bound
    if not extra:
        functions = implicit.ProgramFunctions(problem.program(), host_target().function)
        y = np.concatenate([q, qd, np.zeros((len(q), problem.size - 2 * n))], axis=1)
        assert relative(functions.rhs(np.zeros(len(q)), y, tau)[:, n : 2 * n], found) < bound


@every_law
def test_recordings_show_the_same_accelerations(law):
    robot = ROBOTS[0]
    friction = LAWS[law](robot.n)
    run = lw.simulate(robot, [0.3, -0.2, 0.1], [1e-3, -0.2, 0.5], 0.05, friction=friction, samples=4)
    moving = (run.qd != 0.0).all(axis=1)
    found = lw.forward_dynamics(robot, run.q, run.qd, np.zeros(3), friction=friction)
    assert moving.sum() >= (1 if law == "sign" else 4)  # joints stick there
    assert relative(found[moving], run.qdd[moving]) < 1e-10


def test_kernels_are_kept_apart_by_the_numbers_of_the_law():
    robot = ROBOTS[1]
    q, _, qdd, _ = states(robot, 4)
    qd = 1e-3 * states(robot, 4)[1]
    laws = [make(robot.n) for make in LAWS.values()] + [False, lw.Friction(smooth=0.1 + 1e-12)]
    plain = [lw.inverse_dynamics(robot, q, qd, qdd, friction=law) for law in laws]
    with lw.use_kernels("always"):
        for _ in range(2):
            for law, want in zip(laws, plain, strict=True):
                assert relative(lw.inverse_dynamics(robot, q, qd, qdd, friction=law), want) < 1e-13
    assert hash(lw.Friction(viscous=[0.1, 0.2])) == hash(lw.Friction(viscous=np.array([0.1, 0.2])))
    assert lw.Friction(smooth=0.1) != lw.Friction(smooth=0.1 + 1e-12)


def test_counts_exports_and_trajectories_take_the_same_law():
    robot, law = ROBOTS[0], lw.Friction(coulomb=0.4, smooth=0.01)
    q, _, qdd, _ = (x[0] for x in states(robot, 1))
    qd = np.array([1e-2, -1e-3, 0.0])
    want = lw.inverse_dynamics(robot, q, qd, qdd) + expected(law, robot, qd)
    program = lw.trace(lw.inverse_dynamics, robot, friction=law)
    assert relative(lw.graph.evaluate(program, q, qd, qdd)[0], want) < 1e-14
    assert "sqrt" in lw.c_source(lw.inverse_dynamics, robot, friction=law)
    move = lw.trajectories.cycloid([0.0] * 3, [1e-3] * 3, 1.0)
    bare, along = lw.torque_along(robot, move, 9), lw.torque_along(robot, move, 9, friction=law)
    assert relative(along.tau - bare.tau, expected(law, robot, along.qd)) < 1e-12


def test_loops_over_many_links_take_the_law_too():
    robot = rough(lw.chain(9, joints="RP"))
    q, qd, qdd, _ = states(robot, 3)
    for law in (True, lw.Friction(viscous=0.3, stribeck=0.5, smooth=0.02)):
        kernel = lw.compile(lw.inverse_dynamics, robot, form="loops", friction=law)
        assert relative(kernel(q, qd, qdd), lw.inverse_dynamics(robot, q, qd, qdd, friction=law)) < 1e-12
    with raises(ValueError, "inverse_dynamics", "loops"):
        lw.compile(lw.inverse_dynamics, robot, form="loops", friction=lw.Friction(viscous=[0.1] * 9))


@pytest.mark.parametrize("function", [lw.inverse_dynamics, lw.forward_dynamics])
@pytest.mark.parametrize("wrong", [1, "yes", 0.5, None])
def test_what_is_no_law_is_refused(function, wrong):
    with raises(TypeError, "friction", "True, False", "Friction"):
        function(ROBOTS[0], [0] * 3, [0] * 3, [0] * 3, friction=wrong)
    with pytest.raises(ValueError, match="friction has 2 coefficients"):
        function(ROBOTS[0], [0] * 3, [0] * 3, [0] * 3, friction=lw.Friction(viscous=[0.1, 0.2]))


@pytest.mark.parametrize("wrong", [
    {"viscous": "1"}, {"viscous": np.inf}, {"coulomb": [0.1, np.nan]}, {"coulomb": -1.0}, {"stribeck": [[1.0, 2.0]]},
    {"viscous": True}, {"smooth": np.inf}, {"smooth": -1.0}, {"stribeck_rate": 0.0},
], ids=str)  # fmt: skip
def test_coefficients_that_are_no_numbers_from_zero_on_are_refused(wrong):
    with pytest.raises((TypeError, ValueError), match=next(iter(wrong))):
        lw.Friction(**wrong)
