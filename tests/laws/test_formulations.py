"""Every formulation compared with the others: the same formulas, not merely close numbers."""

from typing import Any

import mpmath
import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises
from linkwise.dynamics import (
    ALL_FORWARD_DYNAMICS,
    ALL_INERTIA_MATRICES,
    ALL_INVERSE_DYNAMICS,
    centres,
    components,
    composite,
    diagonal,
    operators,
    udu,
)
from linkwise.dynamics import quasi as plain_quasi
from linkwise.spatial import Twist, Vector, Wrench
from robots import ALL, CHAINS, QUICK, SMALL, TEXTBOOK, TREES, conditioned, ids, relative, scalars, states

STEP = 1e-30
over_all = pytest.mark.parametrize("robot", rest_slow(ALL, [*QUICK[::2], CHAINS[11], TREES[4]]), ids=ids(ALL))
over_small = pytest.mark.parametrize("robot", rest_slow(SMALL, [*QUICK[::2], TREES[4]]), ids=ids(SMALL))
LISTS = {
    lw.inverse_dynamics: (ALL_INVERSE_DYNAMICS, (0, 1, 2)),
    lw.forward_dynamics: (ALL_FORWARD_DYNAMICS, (0, 1, 3)),
    lw.inertia_matrix: (ALL_INERTIA_MATRICES, (0,)),
}


@over_all
@pytest.mark.parametrize("function", LISTS, ids=lambda f: f.__name__)
def test_every_pair_of_methods_agrees(robot: lw.Robot, function: Any) -> None:
    methods, arguments = LISTS[function]
    arrays = [states(robot)[k] for k in arguments]
    outside = () if function is lw.inertia_matrix else (np.random.default_rng(0).normal(size=(3, robot.n, 6)),)
    results = [function(robot, *arrays, *outside, method=method) for method in methods]
    bound = conditioned(robot, arrays[0]) if function is lw.forward_dynamics else 20 * np.finfo(float).eps
    for i, one in enumerate(results):
        for other in results[:i]:
            assert relative(one, other) <= bound


EXACT = [lw.load("stanford"), *(r for r in CHAINS if r.n in (1, 2, 3, 8)), *(r for r in TREES if r.n in (3, 6))]


@pytest.mark.parametrize("robot", rest_slow(EXACT, [CHAINS[4], TREES[2]]), ids=ids(EXACT))
@pytest.mark.parametrize("function", LISTS, ids=lambda f: f.__name__)
def test_forty_digits_agree_to_thirty_five(robot: lw.Robot, function: Any) -> None:
    methods, arguments = LISTS[function]
    with mpmath.workdps(40):
        arm = robot.cast(mpmath.mpf)
        arrays = [np.array([mpmath.mpf(x) for x in states(robot)[k][0]], dtype=object) for k in arguments]
        first, *others = [np.ravel(function(arm, *arrays, method=method)) for method in methods]
        scale = max(abs(x) for x in first)
        for other in others:
            assert max(abs(x - y) for x, y in zip(first, other, strict=True)) < scale * mpmath.mpf(10) ** -35


@over_all
def test_rate_of_inertia_matrix_is_c_plus_its_transpose(robot: lw.Robot) -> None:
    q, qd, *_ = states(robot)
    exact = composite.inertia_matrix(robot, scalars(q + 1j * STEP * qd))
    rate = np.stack([[np.broadcast_to(np.imag(x) / STEP, 3) for x in row] for row in exact]).transpose(2, 0, 1)
    matrix = lw.coriolis_matrix(robot, q, qd)
    assert np.abs(rate - matrix - matrix.swapaxes(-1, -2)).max() < 1e-13 * max(1.0, np.abs(matrix).max())
    torque = np.einsum("sij,sj->si", matrix, qd)
    free = lw.bias_torque(robot.with_gravity((0, 0, 0)), q, qd)
    assert np.abs(torque - free).max() < 1e-13 * max(1.0, np.abs(free).max())


@over_all
@pytest.mark.parametrize("method", lw.methods(lw.inverse_inertia_matrix))
def test_inverse_inertia_matrix(robot: lw.Robot, method: str) -> None:
    q, *_ = states(robot)
    inverse = lw.inverse_inertia_matrix(robot, q, method=method)
    assert (inverse == inverse.swapaxes(-1, -2)).all()
    assert relative(inverse, np.linalg.inv(lw.inertia_matrix(robot, q))) <= conditioned(robot, q)


@over_small
def test_elimination_matrices_make_the_inertia_matrix_lower_triangular(robot: lw.Robot) -> None:
    q = states(robot, count=1)[0][0]
    matrix = lw.inertia_matrix(robot, q)
    left, factor = matrix, np.eye(robot.n)
    for k, elimination in zip(reversed(range(1, robot.n)), udu.elimination_matrices(robot, scalars(q)), strict=True):
        left = np.array(elimination, dtype=float) @ left
        factor = np.array(elimination, dtype=float) @ factor
        assert np.abs(left[:k, k]).max() < 1e-13 * np.abs(matrix).max()
    upper, diagonal_of_d = lw.formulations.udu(robot, q)
    assert relative(np.linalg.inv(factor), upper) < 1e-12
    assert relative(left, diagonal_of_d[:, None] * upper.T) < 1e-12


@over_small
def test_complement_annihilates_the_constraints(robot: lw.Robot) -> None:
    q, qd, *_ = states(robot)
    K, T = lw.formulations.complement_matrices(robot, q)
    assert np.abs(K @ T).max() < 1e-13
    assert (np.linalg.matrix_rank(K, tol=1e-9) == 5 * robot.n).all()
    N_l, N_d = lw.formulations.denoc_matrices(robot, q)
    assert np.abs(N_l @ N_d - T).max() < 1e-13
    assert (np.triu(N_l, 1) == 0.0).all()
    twists = np.einsum("sij,sj->si", T, qd).reshape(3, robot.n, 6)
    _, velocities, _ = lw.mass_centres(robot, q, qd, np.zeros(robot.n))
    assert np.abs(twists[..., 3:] - velocities).max() < 1e-13


@over_small
def test_constraint_wrenches_are_the_joint_wrenches_without_the_drives(robot: lw.Robot) -> None:
    q, qd, qdd, _ = states(robot)
    wrench = np.random.default_rng(5).normal(size=(3, robot.n, 6))
    constraint = lw.constraint_wrenches(robot, q, qd, qdd, wrench)
    loads = lw.joint_wrenches(robot, q, qd, qdd, wrench)
    own_frames = [np.array(link.frame.inverse().matrix()) for link in robot.links]
    axes = np.stack([(lw.poses(robot, q)[:, i] @ own_frames[i])[:, :3, 2] for i in range(robot.n)], axis=1)
    for i, kind in enumerate(robot.joints):
        part = slice(0, 3) if kind == "R" else slice(3, 6)
        along = np.einsum("sk,sk->s", loads[:, i, part], axes[:, i])
        loads[:, i, part] -= along[:, None] * axes[:, i]
    assert relative(constraint, loads) < 1e-12


@over_small
def test_constraint_wrenches_do_no_work(robot: lw.Robot) -> None:
    """Kᵀ λ of the joints' wrenches, moved to the mass centres, is orthogonal to T."""
    q, qd, qdd, _ = states(robot, count=1)
    constraint = lw.constraint_wrenches(robot, q, qd, qdd)[0]
    positions = lw.mass_centres(robot, q, qd, qdd)[0][0]
    frames = lw.poses(robot, q)[0]
    total = np.zeros((robot.n, 6))
    for link, load in zip(robot.links, constraint, strict=True):
        parent = np.eye(4) if link.parent < 0 else frames[link.parent] @ own_inverse(robot, link.parent)
        origin = (parent @ [*link.placement.translation, 1.0])[:3]
        for index, sign in ((link.index, 1.0), (link.parent, -1.0)):
            if index >= 0:
                moment = load[:3] + np.cross(origin - positions[index], load[3:])
                total[index] += sign * np.concatenate([moment, load[3:]])
    _, T = lw.formulations.complement_matrices(robot, q[0])
    assert np.abs(T.T @ total.ravel()).max() < 1e-12 * max(1.0, np.abs(total).max())


def own_inverse(robot: lw.Robot, index: int) -> np.ndarray:
    return np.array(robot.links[index].frame.inverse().matrix())


@over_all
def test_quasi_velocities_carry_the_kinetic_energy_and_transform_back(robot: lw.Robot) -> None:
    q, qd, _, tau = states(robot)
    kinetic = lw.kinetic_energy(robot, q, qd)
    upper, diagonal_of_d = lw.formulations.udu(robot, q)
    nu, xi = lw.formulations.normalized.velocity(robot, q, qd), lw.formulations.unnormalized.velocity(robot, q, qd)
    assert relative(0.5 * (nu * nu).sum(-1), kinetic) < 1e-13
    assert relative(0.5 * (diagonal_of_d * xi * xi).sum(-1), kinetic) < 1e-13
    bound = 1e-12 * max(1.0, np.abs(upper).max())
    assert relative(xi, np.einsum("sij,si->sj", upper, qd)) < bound
    assert relative(nu, np.sqrt(diagonal_of_d) * xi) < 1e-13
    assert relative(lw.formulations.normalized.joint_rates(robot, q, nu), qd) < bound
    assert relative(lw.formulations.unnormalized.joint_rates(robot, q, xi), qd) < bound
    for quasi in (lw.formulations.normalized, lw.formulations.unnormalized):
        assert relative(quasi.joint_torque(robot, q, quasi.force(robot, q, tau)), tau) < bound
    power = (tau * qd).sum(-1)
    assert relative((nu * lw.formulations.normalized.force(robot, q, tau)).sum(-1), power) < bound
    assert relative((xi * lw.formulations.unnormalized.force(robot, q, tau)).sum(-1), power) < bound


@over_all
def test_normalized_coriolis_forces_do_no_work(robot: lw.Robot) -> None:
    q, qd, *_ = states(robot)
    nu = lw.formulations.normalized.velocity(robot, q, qd)
    force = lw.formulations.normalized.coriolis(robot, q, nu, gravity=False)
    size = np.abs(nu).max() * np.abs(force).max()
    assert np.abs((nu * force).sum(-1)).max() <= 1e-12 * max(1e-3, size)  # (47)


@over_all
@pytest.mark.parametrize("quasi", [lw.formulations.normalized, lw.formulations.unnormalized], ids=repr)
def test_rates_of_quasi_velocities_are_their_derivatives(robot: lw.Robot, quasi: Any) -> None:
    q, qd, qdd, _ = states(robot)
    kind = plain_quasi.normalized if quasi is lw.formulations.normalized else plain_quasi.unnormalized
    moved, sped = scalars(q + 1j * STEP * qd), scalars(qd + 1j * STEP * qdd)
    exact = np.stack([np.broadcast_to(np.imag(x) / STEP, 3) for x in kind.velocity(robot, moved, sped)], -1)
    tau = lw.inverse_dynamics(robot, q, qd, qdd)
    ours = quasi.acceleration(robot, q, quasi.velocity(robot, q, qd), tau)
    gravity = np.abs(lw.gravity_torque(robot, q)).max()  # which tau must cancel before the rest is seen
    size = max(1.0, np.abs(exact).max(), np.abs(tau).max(), gravity / lw.formulations.udu(robot, q)[1].min())
    assert np.abs(ours - exact).max() <= conditioned(robot, q) * size


@over_small
def test_component_form_is_the_recursion(robot: lw.Robot) -> None:
    q, qd, *_ = states(robot)
    wrench = np.random.default_rng(6).normal(size=(3, robot.n, 6))
    for quasi in (lw.formulations.normalized, lw.formulations.unnormalized):
        velocity = quasi.velocity(robot, q, qd)
        recursive = quasi.coriolis(robot, q, velocity, wrench)
        assert relative(quasi.coriolis(robot, q, velocity, wrench, method="component"), recursive) < 1e-11


@over_small
def test_unnormalized_diagonal_is_half_the_rate_of_d(robot: lw.Robot) -> None:
    q, qd, *_ = (scalars(x[0]) for x in states(robot, count=1))
    bodies = udu.articulated_bodies(robot, q)
    motions = diagonal.from_joint_rates(robot, bodies, qd)
    upper = components.sums(robot, bodies, motions)
    moved = [a + 1j * STEP * b for a, b in zip(q, qd, strict=True)]
    rate = [np.imag(body.pivot) / STEP for body in udu.articulated_bodies(robot, moved)]
    assert np.abs(np.array(rate) - [2.0 * upper[k][k] for k in range(robot.n)]).max() < 1e-12


FALLING = [lw.load("planar3"), lw.load("stanford"), lw.chain(4, seed=7, joints="RRPR"), lw.random_tree(4, seed=4)]


@pytest.mark.parametrize("robot", rest_slow(FALLING, FALLING[3:]), ids=ids(FALLING))
@pytest.mark.parametrize("quasi", [lw.formulations.normalized, lw.formulations.unnormalized], ids=repr)
def test_simulation_in_quasi_coordinates_follows_the_standard_one(robot: lw.Robot, quasi: Any) -> None:
    q0, qd0, _, tau = (0.3 * x[0] for x in states(robot, count=1, seed=2))
    options = {"torque": 0.1 * tau, "rtol": 1e-12, "integrator": "dop853", "samples": 3}
    name = "normalized" if quasi is lw.formulations.normalized else "unnormalized"
    one, other = (lw.simulate(robot, q0, qd0, 1.0, coordinates=way, **options) for way in ("joint", name))
    assert np.abs(one.q - other.q).max() < 1e-9


@over_small
def test_mass_centre_motion_is_the_derivative_of_position(robot: lw.Robot) -> None:
    q, qd, qdd, _ = states(robot)
    moved, sped = scalars(q + 1j * STEP * qd), scalars(qd + 1j * STEP * qdd)
    still = [0.0] * robot.n
    exact = centres.mass_centres(robot, moved, sped, still)
    _, velocity, acceleration = lw.mass_centres(robot, q, qd, qdd)
    for i in range(robot.n):
        for part, ours in ((exact[0], velocity), (exact[1], acceleration)):
            rate = np.stack([np.broadcast_to(np.imag(x) / STEP, 3) for x in part[i]], -1)
            assert np.abs(rate - ours[:, i]).max() < 1e-12 * max(1.0, np.abs(ours).max())


def test_friction_is_taken_from_the_drives() -> None:
    rows = [{**r, "viscous_friction": 0.7, "coulomb_friction": 0.2} for r in lw.load("stanford").rows]
    arm = lw.Robot.from_dh(rows, convention="standard")
    q, qd, qdd, tau = states(arm)
    qd[0, 2] = 0.0
    lost = 0.7 * qd + 0.2 * np.sign(qd)
    sharp = lw.Friction(smooth=0)
    ours, free = lw.inverse_dynamics(arm, q, qd, qdd, friction=sharp), lw.inverse_dynamics(arm, q, qd, qdd)
    assert relative(ours, free + lost) < 1e-14
    moved = lw.forward_dynamics(arm, q, qd, tau, friction=sharp)
    assert relative(moved, lw.forward_dynamics(arm, q, qd, tau - lost)) < 1e-11


@pytest.mark.parametrize("robot", [*TEXTBOOK, *TREES[:4]], ids=ids([*TEXTBOOK, *TREES[:4]]))
def test_operators_by_passes_are_operators_by_matrices(robot: lw.Robot) -> None:
    bare = robot.without_rotors()
    q, qd, qdd, _ = (scalars(x[0]) for x in states(bare, count=1))
    op = lw.formulations.operators(bare, np.array(q))
    V = op.phi.T @ op.H.T @ np.array(qd)
    a = operators.bias_acceleration(bare, operators_twists(V), qd)
    b = operators.bias_wrenches(bare, q, operators_twists(V), [Wrench.zero()] * bare.n)
    flat = lambda sixes: np.array([float(x) for six in sixes for x in six])  # noqa: E731
    tau = op.H @ op.phi @ (op.M @ op.phi.T @ (op.H.T @ np.array(qdd) + flat(a)) + flat(b))  # (38)
    assert relative(tau, lw.inverse_dynamics(bare, np.array(q), np.array(qd), np.array(qdd))) < 1e-12


def operators_twists(V: np.ndarray) -> list[Any]:
    return [Twist(Vector(*v[:3]), Vector(*v[3:])) for v in V.reshape(-1, 6)]


def test_operators_refuse_rotors_by_name() -> None:
    with raises(lw.errors.RobotError, "puma560", "link1", "without_rotors"):
        lw.formulations.operators(lw.load("puma560"), np.zeros(6))
