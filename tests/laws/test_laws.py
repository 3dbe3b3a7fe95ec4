"""Laws of mechanics, over chains and trees of revolute and prismatic joints and over every listed method."""

from dataclasses import replace

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from linkwise.dynamics import ALL_FORWARD_DYNAMICS, ALL_INERTIA_MATRICES, ALL_INVERSE_DYNAMICS, energy, kinematics
from linkwise.spatial import Placement, Rotation, Vector, Wrench
from robots import ALL, CHAINS, QUICK, SMALL, TEXTBOOK, TREES, conditioned, ids, relative, scalars, states

STEP = 1e-30  # of the complex-step derivative, which is exact to rounding
over_all = pytest.mark.parametrize("robot", rest_slow(ALL, [*QUICK[::3], CHAINS[11]]), ids=ids(ALL))
over_small = pytest.mark.parametrize("robot", rest_slow(SMALL, [*QUICK[1::2], TREES[4]]), ids=ids(SMALL))
inverse_methods = pytest.mark.parametrize("method", ALL_INVERSE_DYNAMICS)
forward_methods = pytest.mark.parametrize("method", ALL_FORWARD_DYNAMICS)
inertia_methods = pytest.mark.parametrize("method", ALL_INERTIA_MATRICES)


@over_all
@inverse_methods
def test_energy_rate_is_power(robot: lw.Robot, method: str) -> None:
    q, qd, qdd, _ = states(robot)
    moved, sped = scalars(q + 1j * STEP * qd), scalars(qd + 1j * STEP * qdd)
    total = energy.kinetic_energy(robot, moved, sped) + energy.potential_energy(robot, moved)
    rate = total.imag / STEP
    power = (lw.inverse_dynamics(robot, q, qd, qdd, method=method) * qd).sum(-1)
    assert relative(rate, power) < 1e-11


@over_all
def test_gravity_torque_is_gradient_of_potential_energy(robot: lw.Robot) -> None:
    q, *_ = states(robot)
    turned = q[:, None, :] + 1j * STEP * np.eye(robot.n)
    gradient = np.imag(energy.potential_energy(robot, scalars(turned))) / STEP
    torque = lw.gravity_torque(robot, q)
    assert np.abs(gradient - torque).max() <= 1e-12 * max(1.0, np.abs(torque).max())


@over_all
@inertia_methods
def test_inertia_matrix_is_symmetric_positive_definite_and_gives_kinetic_energy(robot: lw.Robot, method: str) -> None:
    q, qd, *_ = states(robot)
    matrix = lw.inertia_matrix(robot, q, method=method)
    assert relative(matrix, matrix.swapaxes(-1, -2)) == 0.0
    assert np.linalg.eigvalsh(matrix).min() > 0.0
    assert relative(0.5 * np.einsum("si,sij,sj->s", qd, matrix, qd), lw.kinetic_energy(robot, q, qd)) < 1e-13


@over_all
@inertia_methods
def test_inertia_matrix_is_derivative_of_torque_by_acceleration(robot: lw.Robot, method: str) -> None:
    q, *_ = states(robot)
    still = np.zeros(robot.n)
    torque = lw.inverse_dynamics(robot, q[:, None, :], still, np.eye(robot.n))
    columns = torque - lw.gravity_torque(robot, q)[:, None, :]
    assert relative(lw.inertia_matrix(robot, q, method=method), columns.swapaxes(-1, -2)) < 1e-12


@over_all
@forward_methods
def test_forward_dynamics_undoes_inverse_dynamics(robot: lw.Robot, method: str) -> None:
    q, qd, qdd, tau = states(robot)
    bound = conditioned(robot, q)
    torque = lw.inverse_dynamics(robot, q, qd, qdd)
    # the torque itself is rounded, and known no better than to its own size
    slack = bound * (1.0 + np.abs(torque).max() / np.abs(lw.inertia_matrix(robot, q)).max())
    found = lw.forward_dynamics(robot, q, qd, torque, method=method)
    assert np.abs(found - qdd).max() <= slack * np.abs(qdd).max() + slack
    there = lw.forward_dynamics(robot, q, qd, tau, method=method)
    back = lw.inverse_dynamics(robot, q, qd, there)
    assert relative(back, tau) <= bound * max(1.0, np.abs(there).max())


@over_all
def test_udu_factors(robot: lw.Robot) -> None:
    q, *_ = states(robot)
    upper, diagonal = lw.formulations.udu(robot, q)
    assert (np.tril(upper, -1) == 0.0).all()
    assert (np.diagonal(upper, axis1=-2, axis2=-1) == 1.0).all()
    assert (diagonal > 0.0).all()
    product = upper @ (diagonal[..., None] * upper.swapaxes(-1, -2))
    assert relative(product, lw.inertia_matrix(robot, q)) < 1e-13


@over_small
def test_turning_the_base_is_turning_gravity(robot: lw.Robot) -> None:
    q, qd, qdd, _ = states(robot)
    turn = Rotation(np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0].tolist()).orthonormal()
    first = Placement(turn, Vector.zero())
    links = [replace(x, placement=first.then(x.placement)) if x.parent < 0 else x for x in robot.links]
    turned = replace(robot, links=tuple(links))
    other = robot.with_gravity(tuple(turn.T @ Vector(*robot.gravity)))
    assert relative(lw.inverse_dynamics(turned, q, qd, qdd), lw.inverse_dynamics(other, q, qd, qdd)) < 1e-13
    assert relative(lw.inertia_matrix(turned, q), lw.inertia_matrix(robot, q)) < 1e-13


@over_small
def test_wrenches_on_the_base_are_the_rate_of_momentum(robot: lw.Robot) -> None:
    q, qd, qdd, _ = states(robot)
    loads = lw.joint_wrenches(robot, q, qd, qdd)
    roots = [link.index for link in robot.links if link.parent < 0]
    force = sum(loads[:, i, 3:] for i in roots)
    moved, sped = scalars(q + 1j * STEP * qd), scalars(qd + 1j * STEP * qdd)
    rate = np.zeros((3, 3))
    poses, twists = kinematics.poses(robot, moved), kinematics.twists(robot, moved, sped)
    for link, pose, twist in zip(robot.links, poses, twists, strict=True):
        momentum = pose.rotation @ (link.body @ twist).force
        rate += np.stack([np.broadcast_to(np.imag(x) / STEP, 3) for x in momentum], -1)
        rate -= float(link.mass) * np.array(robot.gravity)
    assert relative(force, rate) < 1e-12


@over_small
def test_joint_wrench_along_the_axis_is_the_torque(robot: lw.Robot) -> None:
    q, qd, qdd, _ = states(robot)
    loads = lw.joint_wrenches(robot, q, qd, qdd, axes="frame")
    along = np.stack([loads[:, i, 2 if kind == "R" else 5] for i, kind in enumerate(robot.joints)], -1)
    rotors = np.array([link.joint.rotor_inertia for link in robot.links])
    assert relative(along + rotors * qdd, lw.inverse_dynamics(robot, q, qd, qdd)) < 1e-12


@over_small
def test_jacobian_is_derivative_of_pose(robot: lw.Robot) -> None:
    q, *_ = states(robot)
    turned = scalars(q[:, None, :] + 1j * STEP * np.eye(robot.n))
    last = robot.links[-1]
    pose = kinematics.poses(robot, turned)[-1].then(last.frame)
    linear = np.stack([np.broadcast_to(np.imag(x) / STEP, (3, robot.n)) for x in pose.translation], -2)
    jacobian = lw.jacobian(robot, q)
    assert np.abs(jacobian[:, 3:] - linear).max() < 1e-13
    # the rate of a rotation matrix R is [w]× R
    rate = np.array([[np.broadcast_to(np.imag(x) / STEP, (3, robot.n)) for x in row] for row in pose.axes.rows])
    axes = lw.poses(robot, q)[:, -1, :3, :3]
    spin = np.einsum("ijsk,slj->skil", rate, axes)
    angular = np.stack([spin[..., 2, 1], spin[..., 0, 2], spin[..., 1, 0]], -2)
    assert np.abs(jacobian[:, :3] - angular).max() < 1e-13


@pytest.mark.parametrize("robot", TEXTBOOK, ids=ids(TEXTBOOK))
def test_no_gravity_no_motion_no_torque(robot: lw.Robot) -> None:
    q, *_ = states(robot)
    floating = robot.with_gravity((0, 0, 0))
    assert (lw.bias_torque(floating, q, np.zeros(robot.n)) == 0.0).all()
    assert (lw.potential_energy(floating, q) == 0.0).all()


def test_plain_functions_take_wrenches_in_link_frames() -> None:
    robot = TEXTBOOK[-1]
    q, qd, qdd, _ = states(robot, count=1)
    given = np.random.default_rng(4).normal(size=(robot.n, 6))
    at_base = [Wrench(Vector(*w[:3]), Vector(*w[3:])) for w in given]
    local = kinematics.in_link_frames(robot, scalars(q[0]), at_base)
    plain = ALL_INVERSE_DYNAMICS["newton-euler"](robot, scalars(q[0]), scalars(qd[0]), scalars(qdd[0]), local)
    assert relative(plain, lw.inverse_dynamics(robot, q[0], qd[0], qdd[0], given)) < 1e-15
