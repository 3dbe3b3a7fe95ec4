"""Derivatives by q are along the velocities: for ball joints by small rotations, not by the quaternion's numbers."""

from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from joint_kinds import ARM, CHAIN, COUPLED, EVERY, TREE, slopes, states
from robots import ids, relative

over_every = pytest.mark.parametrize("robot", rest_slow(EVERY, [CHAIN, COUPLED]), ids=ids(EVERY))


@over_every
def test_the_torque_of_gravity_is_the_derivative_of_its_energy(robot: lw.Robot) -> None:
    q, *_ = states(robot, 4)
    for mode in ("forward", "reverse"):
        slope = lw.derivative(lw.potential_energy, robot, "q", mode=mode)
        assert slope.program.outputs[0].shape == (robot.n,)
        assert relative(slope(q), lw.gravity_torque(robot, q)) < 1e-12


@over_every
def test_derivatives_are_differences_along_the_velocities(robot: lw.Robot) -> None:
    q, qd, qdd, _ = states(robot)
    slope = lw.derivative(lw.inverse_dynamics, robot, "q", mode="forward")
    expected = slopes(robot, lambda x: lw.inverse_dynamics(robot, x, qd, qdd), q)
    assert slope(q, qd, qdd).shape == (robot.n, robot.n)
    assert relative(slope(q, qd, qdd), expected) < 1e-7
    by_qdd = lw.derivative(lw.inverse_dynamics, robot, "qdd", mode="forward")
    assert relative(by_qdd(q, qd, qdd), lw.inertia_matrix(robot, q)) < 1e-12


def test_both_modes_agree_and_forward_dynamics_too() -> None:
    robot = lw.chain(3, seed=1, joints="RSR")
    q, qd, _, tau = states(robot)
    first, second = (lw.derivative(lw.forward_dynamics, robot, "q", mode=mode) for mode in ("forward", "reverse"))
    assert relative(first(q, qd, tau), second(q, qd, tau)) < 1e-9
    expected = slopes(robot, lambda x: lw.forward_dynamics(robot, x, qd, tau), q)
    assert relative(first(q, qd, tau), expected) < 1e-6


@pytest.mark.parametrize("mode", ["forward", pytest.param("reverse", marks=pytest.mark.slow)])
def test_second_derivatives_are_along_velocities_twice(mode: str) -> None:
    """Small rotations do not commute, D_y D_x - D_x D_y = -D_z in the body's frame: the matrix is not symmetric."""
    gravity = lw.derivative(lw.potential_energy, CHAIN, "q")
    q, *_ = states(CHAIN)
    twice = lw.derivative(gravity, CHAIN, "q", mode=mode)(q)
    assert relative(twice, slopes(CHAIN, lambda x: lw.gravity_torque(CHAIN, x), q)) < 1e-8
    first = gravity(q)
    expected = np.zeros((CHAIN.n, CHAIN.n))
    for joint in CHAIN.moving:
        if joint.kind.letter in "SF":
            x, y, z = range(joint.v.stop - 3, joint.v.stop)
            expected[x, y], expected[y, z], expected[z, x] = -first[z], -first[x], -first[y]
    assert relative(twice - twice.T, expected - expected.T) < 1e-12
    assert np.abs(expected).max() > 1.0


def test_configurations_of_other_names_and_functions_of_two() -> None:
    def distance(arm: lw.Robot, q0: Any, q1: Any) -> Any:
        gap = lw.poses(arm, q1)[..., -1, :3, 3] - lw.poses(arm, q0)[..., -1, :3, 3]
        return (gap * gap).sum(-1)

    (q0, q1), *_ = states(ARM, 2)
    for name, own, call in (("q0", q0, lambda x: distance(ARM, x, q1)), ("q1", q1, lambda x: distance(ARM, q0, x))):
        found = lw.derivative(distance, ARM, name)(q0, q1)
        assert found.shape == (ARM.n,)
        assert relative(found, slopes(ARM, call, own)) < 1e-7


def test_a_derivative_does_not_depend_on_the_length_of_a_quaternion() -> None:
    slope = lw.derivative(lw.gravity_torque, CHAIN, "q")
    q, *_ = states(CHAIN)
    longer = q.copy()
    for start in CHAIN.quaternions:
        longer[start : start + 4] *= 3.7
    assert relative(slope(longer), slope(q)) < 1e-13


@pytest.mark.parametrize("mode", ["never", "always"])
def test_a_quaternion_of_no_length_gives_nan_throughout(mode: str) -> None:
    slope = lw.derivative(lw.gravity_torque, ARM, "q")
    q, *_ = states(ARM, 5)
    start = ARM.quaternions[0]
    q[1, start : start + 4] = 0.0
    q[3, start] = np.inf
    with lw.use_kernels(mode):
        found = slope(q)
        assert np.isnan(found[[1, 3]]).all()
        good = [0, 2, 4]
        assert relative(found[good], slope(q[good])) < 1e-13
        assert np.isfinite(found[good]).all()
        assert np.isnan(slope(np.zeros(ARM.nq))).all()


@pytest.mark.slow
def test_derivatives_of_torch_are_by_the_numbers_of_q() -> None:
    torch = pytest.importorskip("torch")
    q, *_ = states(COUPLED)
    raw = torch.autograd.functional.jacobian(lambda x: lw.gravity_torque(COUPLED, x), torch.tensor(q)).numpy()
    rates = lw.configuration_rate(COUPLED, q, np.eye(COUPLED.n))
    assert raw.shape == (COUPLED.n, COUPLED.nq)
    assert rates.shape == (COUPLED.n, COUPLED.nq)
    assert relative(lw.derivative(lw.gravity_torque, COUPLED, "q")(q), raw @ rates.T) < 1e-12


def test_symbols_and_compiled_code() -> None:
    mass = lw.symbols("mass")
    rows = TREE.rows
    rows[1]["mass"] = mass
    robot = lw.Robot.from_frames(rows)
    q, *_ = states(robot, 3)
    slope = lw.derivative(lw.potential_energy, robot, "q")
    expected = lw.gravity_torque(lw.bind(robot, mass=1.7), q)
    assert relative(slope(q, np.full(3, 1.7)), expected) < 1e-12
    assert relative(lw.compile(slope, robot)(q, np.full(3, 1.7)), expected) < 1e-12
