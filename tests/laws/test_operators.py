"""The spatial operators of Kozłowski and Rodriguez: factorizations, rates by complex step, the mass factor."""

from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises
from linkwise.dynamics import energy, kinematics, mass_factor, operator_matrices, operator_rates, quasi
from robots import CHAINS, QUICK, TREES, ids, relative, scalars, states

ROBOTS = [lw.load("planar3"), lw.load("stanford"), *(r for r in CHAINS + TREES if r.n <= 6)]
STEP = 1e-30
over_robots = pytest.mark.parametrize(
    "robot", rest_slow(ROBOTS, [r for r in QUICK if r in ROBOTS][::2]), ids=ids(ROBOTS)
)


def array(nested: Any) -> np.ndarray:
    return np.array(nested)


def state(robot: lw.Robot) -> tuple[list[Any], ...]:
    return tuple(scalars(x[0]) for x in states(robot, count=1))


def moved(robot: lw.Robot) -> list[Any]:
    q, qd, *_ = states(robot, count=1)
    return scalars(q[0] + 1j * STEP * qd[0])


def rate(values: Any) -> np.ndarray:
    return np.imag(np.array(values)) / STEP


def numbers(robot: lw.Robot) -> dict[str, np.ndarray]:
    return {name: array(value) for name, value in operator_matrices.operators(robot, state(robot)[0])._asdict().items()}


@over_robots
def test_factorizations(robot: lw.Robot) -> None:
    op, one = numbers(robot), np.eye(robot.n)
    big = np.eye(6 * robot.n)
    H, phi, psi, K, D, G, P = (op[k] for k in ("H", "phi", "psi", "K", "D", "G", "P"))
    matrix = lw.inertia_matrix(robot, np.array(state(robot)[0]))
    factor, inverse = one + H @ phi @ K, one - H @ psi @ K
    assert relative(phi, np.linalg.inv(big - op["E_phi"])) < 1e-12
    assert relative(psi, np.linalg.inv(big - op["E_psi"])) < 1e-12
    assert relative(H @ phi @ op["M"] @ phi.T @ H.T, matrix) < 1e-13  # (22)
    assert relative(factor @ D @ factor.T, matrix) < 1e-13  # (23)
    assert relative(factor @ inverse, one) < 1e-12  # (24)
    bound = 2 * np.linalg.cond(matrix) * np.finfo(float).eps
    assert relative(inverse.T @ np.linalg.inv(D) @ inverse, np.linalg.inv(matrix)) < 10 * bound  # (25)
    assert relative(H @ phi @ G, factor) < 1e-13
    assert relative(inverse @ H @ phi, H @ psi) < 1e-12
    assert relative(H @ op["tau_bar"] + 1.0, np.ones_like(H)) < 1e-13
    assert relative(op["tau_bar"] @ P @ op["tau_bar"].T, op["tau_bar"] @ P) < 1e-13  # after (12)
    upper, diagonal = lw.formulations.udu(robot, np.array(state(robot)[0]))
    assert relative(factor, upper) < 1e-13  # Saha's U, base first
    assert relative(np.diag(D), diagonal) == 0.0


@over_robots
@pytest.mark.parametrize("name", ["E_phi", "phi", "H", "M", "D", "G", "tau_bar", "E_psi"])
def test_local_rates_of_table_1(robot: lw.Robot, name: str) -> None:
    q, qd, *_ = state(robot)
    value = getattr(operator_matrices.operators(robot, moved(robot)), name)
    ours = array(operator_rates.operator_rates(robot, q, qd).local[name])
    assert np.abs(ours - rate(value)).max() < 1e-12 * max(1.0, np.abs(array(value)).max())


@over_robots
@pytest.mark.parametrize("name", ["E_phi", "phi", "H", "M", "D", "G", "tau_bar", "E_psi"])
def test_inertial_rates_of_table_1(robot: lw.Robot, name: str) -> None:
    """In base components the inertial rate is the plain one."""
    q, qd, *_ = state(robot)

    def turns(angles: list[Any]) -> np.ndarray:
        blocks = [np.array(pose.axes.rows) for pose in kinematics.poses(robot, angles)]
        whole = np.zeros((6 * robot.n, 6 * robot.n), dtype=complex)
        for i, turn in enumerate(b for b in blocks for _ in range(2)):
            whole[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] = turn
        return whole

    value = np.array(getattr(operator_matrices.operators(robot, moved(robot)), name), dtype=complex)
    R = turns(moved(robot))
    left = R if value.shape[0] == 6 * robot.n else np.eye(robot.n)
    right = R.T if value.shape[1] == 6 * robot.n else np.eye(robot.n)
    exact = left.real.T @ rate(left @ value @ right) @ right.real.T
    ours = array(operator_rates.operator_rates(robot, q, qd).inertial[name])
    assert np.abs(ours - exact).max() < 1e-12 * max(1.0, np.abs(value).max())


@over_robots
def test_articulated_inertia_rates(robot: lw.Robot) -> None:
    q, qd, *_ = state(robot)
    op, rates = numbers(robot), operator_rates.operator_rates(robot, q, qd)
    P_dot, lambda_dot, delta = array(rates.P_dot), array(rates.lambda_dot), array(rates.omega_delta)
    exact = rate(operator_matrices.operators(robot, moved(robot)).P)
    assert relative(P_dot, exact) < 1e-12
    X, one = delta @ op["P"], np.eye(6 * robot.n)
    assert relative(lambda_dot, P_dot + X + X.T) < 1e-13  # (20)
    assert relative(P_dot, op["E_psi"] @ lambda_dot @ op["E_psi"].T) < 1e-12  # (16)
    assert relative(lambda_dot, block_diagonal(op["psi"] @ (X + X.T) @ op["psi"].T)) < 1e-12  # (19)
    assert relative(P_dot, block_diagonal((op["psi"] - one) @ (X + X.T) @ (op["psi"] - one).T)) < 1e-12  # (17)


def block_diagonal(whole: np.ndarray) -> np.ndarray:
    return whole * np.kron(np.eye(len(whole) // 6), np.ones((6, 6)))


@over_robots
def test_mass_factor_and_its_rate(robot: lw.Robot) -> None:
    q, qd, *_ = state(robot)
    factor = array(mass_factor.mass_factor(robot, q))
    assert relative(factor @ factor.T, lw.inertia_matrix(robot, np.array(q))) < 1e-13  # (26)
    exact = rate(mass_factor.mass_factor(robot, moved(robot)))
    scale = np.abs(factor).max() * np.abs(qd).max()
    assert np.abs(array(mass_factor.mass_factor_rate(robot, q, qd)) - exact).max() < 1e-12 * scale  # (29)
    assert np.abs(array(mass_factor.mass_factor_rate(robot, q, qd, by="lambda")) - exact).max() < 1e-12 * scale  # (30)
    nu = np.array(quasi.normalized.velocity(robot, q, qd))
    ours = array(mass_factor.mass_factor_rate_times_nu(robot, q, qd))
    assert np.abs(ours - exact @ nu).max() < 1e-12 * scale * np.abs(nu).max()  # (31)


@over_robots
def test_kinetic_gradient(robot: lw.Robot) -> None:
    q, qd, *_ = state(robot)
    turned = np.array(q) + 1j * STEP * np.eye(robot.n)
    exact = [2.0 * np.imag(energy.kinetic_energy(robot, list(row), qd)) / STEP for row in turned]
    ours = mass_factor.kinetic_gradient(robot, q, qd)
    assert np.abs(np.array(ours) - exact).max() < 1e-12 * max(1.0, np.abs(exact).max())  # (32)


@over_robots
def test_public_rates_are_those_of_the_plain_functions(robot: lw.Robot) -> None:
    q, qd, *_ = (np.array(x) for x in state(robot))
    plain = operator_rates.operator_rates(robot, scalars(q), scalars(qd))
    for seen_from, named in (("links", plain.local), ("ground", plain.inertial)):
        public = lw.formulations.operator_rates(robot, q, qd, seen_from=seen_from)
        for name, value in named.items():
            assert relative(getattr(public, name), value) == 0.0
        assert relative(public.lambda_, plain.lambda_dot) == 0.0
    factor = lw.formulations.mass_factor(robot, q)
    nu = lw.formulations.normalized.velocity(robot, q, qd)
    assert relative(factor.T @ qd, nu) < 1e-13
    rate = lw.formulations.mass_factor_rate(robot, q, qd)
    coriolis = np.linalg.solve(factor, rate @ nu - 0.5 * lw.formulations.kinetic_gradient(robot, q, qd))  # (41)
    ours = lw.formulations.normalized.coriolis(robot, q, nu, gravity=False)
    assert np.abs(coriolis - ours).max() < 1e-11 * max(1.0, np.abs(ours).max())


@pytest.mark.parametrize(
    "function", [lw.formulations.operator_rates, lw.formulations.mass_factor_rate, lw.formulations.kinetic_gradient]
)
def test_rates_refuse_rotors_by_name(function: Any) -> None:
    with raises(lw.errors.RobotError, "puma560", "link1", "without_rotors"):
        function(lw.load("puma560"), np.zeros(6), np.zeros(6))
