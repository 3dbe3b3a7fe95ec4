"""The reference vectors: 40-digit values for the robots of the papers and a random one."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from reference import DATA, ROBOTS, STATES

QUANTITIES: dict[str, Callable[..., Any]] = {
    "tau_id": lambda arm, q, qd, qdd, tau: lw.inverse_dynamics(arm, q, qd, qdd),
    "inertia_matrix": lambda arm, q, qd, qdd, tau: lw.inertia_matrix(arm, q),
    "C_qd": lambda arm, q, qd, qdd, tau: lw.bias_torque(arm.with_gravity((0, 0, 0)), q, qd),
    "gravity": lambda arm, q, qd, qdd, tau: lw.gravity_torque(arm, q),
    "bias": lambda arm, q, qd, qdd, tau: lw.bias_torque(arm, q, qd),
    "qdd_fd": lambda arm, q, qd, qdd, tau: lw.forward_dynamics(arm, q, qd, tau),
    "U": lambda arm, q, qd, qdd, tau: lw.formulations.udu(arm, q)[0],
    "D": lambda arm, q, qd, qdd, tau: lw.formulations.udu(arm, q)[1],
    "kinetic_energy": lambda arm, q, qd, qdd, tau: lw.kinetic_energy(arm, q, qd),
    "potential_energy": lambda arm, q, qd, qdd, tau: lw.potential_energy(arm, q),
    "joint_force_base": lambda arm, q, qd, qdd, tau: lw.joint_wrenches(arm, q, qd, qdd)[:, 3:],
    "joint_moment_about_O_base": lambda arm, q, qd, qdd, tau: lw.joint_wrenches(arm, q, qd, qdd)[:, :3],
    "C_matrix_saha_eq29": lambda arm, q, qd, qdd, tau: lw.coriolis_matrix(arm, q, qd),
    "U_inverse": lambda arm, q, qd, qdd, tau: lw.explain(arm, q)["U_inverse"],
    "inertia_inverse": lambda arm, q, qd, qdd, tau: lw.inverse_inertia_matrix(arm, q),
    "nu": lambda arm, q, qd, qdd, tau: lw.formulations.normalized.velocity(arm, q, qd),
    "xi": lambda arm, q, qd, qdd, tau: lw.formulations.unnormalized.velocity(arm, q, qd),
    "C_theta_nu": lambda arm, q, qd, qdd, tau: quasi_coriolis(lw.formulations.normalized, arm, q, qd, gravity=False),
    "C_theta_xi": lambda arm, q, qd, qdd, tau: quasi_coriolis(lw.formulations.unnormalized, arm, q, qd, gravity=False),
    "C_theta_nu_with_gravity": lambda arm, q, qd, qdd, tau: quasi_coriolis(lw.formulations.normalized, arm, q, qd),
    "C_theta_xi_with_gravity": lambda arm, q, qd, qdd, tau: quasi_coriolis(lw.formulations.unnormalized, arm, q, qd),
    "epsilon_of_tau_in": lambda arm, q, qd, qdd, tau: lw.formulations.normalized.force(arm, q, tau),
    "kappa_of_tau_in": lambda arm, q, qd, qdd, tau: lw.formulations.unnormalized.force(arm, q, tau),
    "nudot_of_tau_in": lambda arm, q, qd, qdd, tau: quasi_rate(lw.formulations.normalized, arm, q, qd, tau),
    "xidot_of_tau_in": lambda arm, q, qd, qdd, tau: quasi_rate(lw.formulations.unnormalized, arm, q, qd, tau),
    "total_energy": lambda arm, q, qd, qdd, tau: lw.kinetic_energy(arm, q, qd) + lw.potential_energy(arm, q),
    "com_positions_base": lambda arm, q, qd, qdd, tau: mass_centres(arm, q),
    "twists_base_omega_v": lambda arm, q, qd, qdd, tau: np.stack(
        [lw.jacobian(arm, q, link=i, point="com") @ qd for i in range(arm.n)]
    ),
}


def quasi_coriolis(quasi: Any, arm: lw.Robot, q: np.ndarray, qd: np.ndarray, **keywords: bool) -> np.ndarray:
    return quasi.coriolis(arm, q, quasi.velocity(arm, q, qd), **keywords)


def quasi_rate(quasi: Any, arm: lw.Robot, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> np.ndarray:
    return quasi.acceleration(arm, q, quasi.velocity(arm, q, qd), tau)


def mass_centres(arm: lw.Robot, q: np.ndarray) -> np.ndarray:
    coms = [[*row["com"], 1.0] for row in arm.rows]
    return np.stack([(pose @ com)[:3] for pose, com in zip(lw.poses(arm, q), coms, strict=True)])


over_states = pytest.mark.parametrize(("name", "index", "state"), STATES, ids=[f"{name}-{k}" for name, k, _ in STATES])


@over_states
def test_reference_vectors(name: str, index: int, state: dict[str, Any]) -> None:
    arguments = [np.array(state[key]) for key in ("q", "qd", "qdd", "tau_in")]
    for quantity, function in QUANTITIES.items():
        value, expected = np.asarray(function(ROBOTS[name], *arguments)), np.array(state["values"][quantity])
        assert np.abs(value - expected).max() <= 1e-12 * np.abs(expected).max() + 1e-15, quantity


@pytest.mark.parametrize("record", DATA["inverse_dynamics_trajectories"], ids=lambda r: r["robot"])
def test_torques_along_the_papers_trajectories(record: dict[str, Any]) -> None:
    q, qd, qdd, tau = (np.array([s[key] for s in record["samples"]]) for key in ("q", "qd", "qdd", "tau"))
    assert np.abs(lw.inverse_dynamics(ROBOTS[record["robot"]], q, qd, qdd) - tau).max() < 1e-12 * np.abs(tau).max()


def test_library_robots_are_the_papers_robots() -> None:
    assert lw.load("stanford") == ROBOTS["stanford"]
    assert lw.load("planar3") == ROBOTS["planar3R"]


def test_every_reference_quantity_is_compared() -> None:
    assert set(STATES[0][2]["values"]) - set(QUANTITIES) == {"Ddot"}  # which test_formulations derives


@over_states
def test_every_method_gives_the_reference(name: str, index: int, state: dict[str, Any]) -> None:
    for function, last, result in ((lw.forward_dynamics, "tau_in", "qdd_fd"), (lw.inverse_dynamics, "qdd", "tau_id")):
        arrays, expected = [np.array(state[key]) for key in ("q", "qd", last)], np.array(state["values"][result])
        for method in lw.methods(function):
            found = function(ROBOTS[name], *arrays, method=method)
            assert np.abs(found - expected).max() <= 1e-12 * np.abs(expected).max(), method
