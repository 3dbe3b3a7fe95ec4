"""A base that moves as prescribed: every method, compared with a floating base, Pinocchio and closed forms."""

from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises
from jointed_peers import from_pinocchio, in_pinocchio, pinocchio_state, rotation
from linkwise.dynamics import ALL_FORWARD_DYNAMICS, ALL_INVERSE_DYNAMICS
from robots import CHAINS, DRIVEN, TREES, conditioned, ids, relative, states

MIXED = lw.random_tree(5, seed=1, joints="SPRH")  # ball, prismatic, revolute and screw joints
ROBOTS = [MIXED, DRIVEN[1], CHAINS[5], *TREES[1:5], lw.chain(4, seed=2, joints="RHP")]
over_robots = pytest.mark.parametrize("robot", rest_slow(ROBOTS, ROBOTS[:2]), ids=ids(ROBOTS))


def motion(seed: int = 0, *shape: int) -> lw.BaseMotion:
    return lw.BaseMotion(*np.random.default_rng(seed).normal(size=(4, *shape, 3)))


def states_of(robot: lw.Robot, count: int = 3) -> tuple[np.ndarray, ...]:
    """As `states`, with configurations of ball joints."""
    rng = np.random.default_rng(4)
    _, *rates = states(robot, count)
    return lw.random_configuration(robot, rng, shape=(count,)), *rates


@over_robots
def test_every_method_gives_the_same_torques_on_a_moving_base(robot: lw.Robot) -> None:
    q, qd, qdd, _ = states_of(robot)
    base, wrench = motion(1, 3), np.random.default_rng(2).normal(size=(3, len(robot.names), 6))
    expected = lw.inverse_dynamics(robot, q, qd, qdd, wrench, base=base)
    assert relative(expected, lw.inverse_dynamics(robot, q, qd, qdd, wrench)) > 1e-2
    bias = lw.bias_torque(robot, q, qd, wrench, base=base)
    assert relative(bias + np.einsum("sij,sj->si", lw.inertia_matrix(robot, q), qdd), expected) < 1e-12
    for method in ALL_INVERSE_DYNAMICS:
        tau = lw.inverse_dynamics(robot, q, qd, qdd, wrench, base=base, method=method)
        assert relative(tau, expected) < 1e-12, method
        assert relative(lw.bias_torque(robot, q, qd, wrench, base=base, method=method), bias) < 1e-12, method


@over_robots
def test_forward_dynamics_undoes_inverse_dynamics_on_a_moving_base(robot: lw.Robot) -> None:
    q, qd, qdd, _ = states_of(robot)
    base, wrench = motion(1, 3), np.random.default_rng(2).normal(size=(3, len(robot.names), 6))
    tau = lw.inverse_dynamics(robot, q, qd, qdd, wrench, base=base)
    bound = conditioned(robot, q) * (1.0 + np.abs(tau).max() / np.abs(lw.inertia_matrix(robot, q)).max())
    for method in [*ALL_FORWARD_DYNAMICS, "fewest"]:
        found = lw.forward_dynamics(robot, q, qd, tau, wrench, base=base, method=method)
        assert np.abs(found - qdd).max() <= bound * (1.0 + np.abs(qdd).max()), method


@over_robots
def test_an_accelerating_base_is_other_gravity(robot: lw.Robot) -> None:
    q, qd, _, tau = states_of(robot)
    push = np.array([0.3, -2.0, 1.1])
    other = robot.with_gravity(robot.gravity - push)
    found = lw.forward_dynamics(robot, q, qd, tau, base=lw.BaseMotion(acceleration=push))
    expected = lw.forward_dynamics(other, q, qd, tau)
    assert np.abs(found - expected).max() <= conditioned(robot, q) * (1.0 + np.abs(expected).max())


def driven_base(robot: lw.Robot, count: int = 3) -> tuple[Any, ...]:
    """A state of the robot on a floating base, and the motion of that base as its own axes see it."""
    freed = robot.with_free_base()
    q, qd, qdd, _ = states_of(freed, count)
    axes = np.array([rotation(x) for x in q[:, 3:7]])  # of the base in the world
    velocity, acceleration = (np.einsum("sij,si->sj", axes, x[:, :3]) for x in (qd, qdd))
    gravity = np.einsum("sij,i->sj", axes, np.array(robot.gravity))
    tilt = np.array(robot.gravity) - gravity  # gravity stays where the axes of the base have it
    base = lw.BaseMotion(qd[:, 3:6], velocity, qdd[:, 3:6], acceleration + tilt)
    return freed, base, q, qd, qdd


@over_robots
def test_a_prescribed_base_is_a_floating_base_that_is_driven_so(robot: lw.Robot) -> None:
    freed, base, q, qd, qdd = driven_base(robot)
    full = lw.inverse_dynamics(freed, q, qd, qdd)
    here = q[:, 7:], qd[:, 6:], qdd[:, 6:]
    assert relative(lw.inverse_dynamics(robot, *here, base=base), full[:, 6:]) < 1e-12
    back = lw.forward_dynamics(robot, *here[:2], full[:, 6:], base=base)
    assert np.abs(back - here[2]).max() <= conditioned(robot, here[0]) * (10.0 + np.abs(full).max())
    turn = np.array([rotation(x) for x in q[:, 3:7]])
    moved = replace(base, acceleration=np.einsum("sij,si->sj", turn, qdd[:, :3]))  # of the base, not of its weight
    theirs = [x[:, 1:] for x in lw.mass_centres(freed, q, qd, qdd)]
    ours = [np.einsum("sij,smj->smi", turn, x) for x in lw.mass_centres(robot, *here, base=moved)]
    assert all(relative(x, y) < 1e-12 for x, y in zip(ours, (theirs[0] - q[:, None, :3], *theirs[1:]), strict=True))
    for function in (lw.joint_wrenches, lw.constraint_wrenches):
        loads = function(robot, *here, base=base).reshape((3, -1, 2, 3))
        there = function(freed, q, qd, qdd)[:, 1:].reshape((3, -1, 2, 3))
        assert relative(np.einsum("sij,smkj->smki", turn, loads), there) < 1e-12


@pytest.mark.parametrize("robot", rest_slow([MIXED, *TREES[1:5]], [MIXED]), ids=lambda robot: robot.name)
def test_a_prescribed_base_is_the_free_flyer_of_pinocchio(robot: lw.Robot) -> None:
    freed, base, q, qd, qdd = driven_base(robot)
    tau = lw.inverse_dynamics(robot, q[:, 7:], qd[:, 6:], qdd[:, 6:], base=base)
    model, data = in_pinocchio(freed)
    for k in range(len(q)):
        theirs = pin.rnea(model, data, *pinocchio_state(freed, q[k], qd[k], qdd[k]))
        assert relative(tau[k], from_pinocchio(freed, q[k], theirs)[6:]) < 1e-11


@over_robots
def test_a_turntable_gives_centrifugal_torques(robot: lw.Robot) -> None:
    """At rest on a base that turns steadily, the torques are the gradient of -½ ωᵀ J(q) ω, with gravity's."""
    q, *_ = states_of(robot, count=1)
    omega, still = np.array([0.4, -1.3, 0.8]), np.zeros(robot.n)
    table = lw.BaseMotion(angular_velocity=omega)
    felt = lw.bias_torque(robot.without_rotors(), q[0], still, base=table) - lw.gravity_torque(robot, q[0])
    freed = robot.without_rotors().with_free_base()
    spinning = np.concatenate([np.zeros(3), omega, still])
    there = np.concatenate([lw.neutral(freed)[:7], q[0]])
    gradient = lw.derivative(lw.kinetic_energy, freed, "q")(there, spinning)
    assert relative(felt, -gradient[6:]) < 1e-11


def test_a_function_of_the_motion_of_the_base_compiles() -> None:
    arm = lw.chain(3)
    q, qd, tau = np.random.default_rng(0).normal(size=(3, 4, 3))

    def accelerations(robot: lw.Robot, q: Any, qd: Any, tau: Any, omega: Any) -> Any:
        return lw.forward_dynamics(robot, q, qd, tau, base=lw.BaseMotion(angular_velocity=omega))

    omega = np.array([0.1, 0.2, -0.3])
    compiled = lw.compile(accelerations, arm, omega=lw.Input(3))
    expected = lw.forward_dynamics(arm, q, qd, tau, base=lw.BaseMotion(angular_velocity=omega))
    assert relative(compiled(q, qd, tau, omega), expected) < 1e-12
    for form, method in (("loops", "articulated"), ("loops", "denoc"), ("straight", "parallel")):
        kernel = lw.compile(lw.forward_dynamics, arm, form=form, method=method, base=lw.BaseMotion(omega))
        assert relative(kernel(q, qd, tau), expected) < 1e-12


@pytest.mark.slow
def test_long_robots_on_moving_bases() -> None:
    for robot in (lw.chain(80), lw.random_tree(80, seed=3)):
        q, qd, tau = 0.1 * np.random.default_rng(1).normal(size=(3, 2, robot.n))
        for base in (motion(3), motion(3, 2)):
            one, other = (lw.forward_dynamics(robot, q, qd, tau, base=base, method=m) for m in ("parallel", "denoc"))
            assert relative(one, other) < 1e-10


def test_other_motions_of_the_base_are_refused() -> None:
    arm, still = lw.load("planar3"), np.zeros(3)
    for function in (lw.inverse_dynamics, lw.forward_dynamics):
        with raises(TypeError, "BaseMotion"):
            function(arm, still, still, still, base=(0, 0, 1))
        with raises(ValueError, "base.acceleration", "(2,)"):
            function(arm, still, still, still, base=lw.BaseMotion(acceleration=(0, 1)))
