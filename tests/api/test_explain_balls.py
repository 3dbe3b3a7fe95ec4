"""What `explain` shows of robots with ball joints: rates are rates along the motion, equations hold as printed."""

from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises
from linkwise.explanation.definitions import TABLE_1
from robots import conditioned, ids, relative, states

STEP = 1e-4
ROBOTS = [
    lw.random_tree(2, seed=1, joints="RS"),
    lw.random_tree(4, seed=2, joints="SRFP"),
    lw.chain(3, seed=3, joints="SHS"),
    lw.random_tree(5, seed=4, joints="FUSCR"),
    lw.load("satellite"),
]
RATES = {
    "c": "c_dot", "t": "t_dot", "omega": "omega_dot", "c_dot": "c_ddot", "V": "alpha", "xi": "xi_dot", "B": "B_dot",
    "T": "T_dot", "N_l": "N_l_dot", "N_d": "N_d_dot", "P": "P_dot", "U": "U_dot", "m": "m_dot",
    **{name: f"{name}_dot" for name in TABLE_1},
}  # fmt: skip
over_robots = pytest.mark.parametrize("robot", rest_slow(ROBOTS, ROBOTS[:1]), ids=ids(ROBOTS))


class Motion:
    """A state on a motion under torques, and what is explained of it."""

    def __init__(self, robot: lw.Robot) -> None:
        self.robot, self.q = robot, lw.random_configuration(robot, 3)
        _, self.qd, _, self.tau = (x[0] for x in states(robot, count=1))
        self.qdd = lw.forward_dynamics(robot, self.q, self.qd, self.tau)
        self.e = lw.explain(robot, self.q, self.qd, self.qdd, self.tau)

    def after(self, dt: float) -> lw.results.Explanation:
        q = lw.integrate(self.robot, self.q, (self.qd + 0.5 * dt * self.qdd) * dt)
        return lw.explain(self.robot, q, self.qd + dt * self.qdd)


def stack(parts: dict[Any, np.ndarray]) -> np.ndarray:
    return np.concatenate(list(parts.values()))


def block_diagonal(parts: dict[Any, np.ndarray]) -> np.ndarray:
    return of_links(np.tile(np.concatenate(list(parts.values())), len(parts)))


def flat(value: Any) -> np.ndarray:
    parts = value.values() if isinstance(value, dict) else [value]
    return np.concatenate([np.ravel(part) for part in parts])


@over_robots
def test_rates_are_those_along_the_motion(robot: lw.Robot) -> None:
    motion = Motion(robot)
    before, after = motion.after(-STEP), motion.after(STEP)
    for name, rate in RATES.items():
        difference = (flat(after[name]) - flat(before[name])) / (2 * STEP)
        assert relative(flat(motion.e[rate]), difference) < 1e-5, rate


@over_robots
def test_equations_hold_as_printed(robot: lw.Robot) -> None:
    motion = Motion(robot)
    e, qd, qdd = motion.e, motion.qd, motion.qdd
    bound = 200 * conditioned(robot, motion.q)
    assert relative(e["phi"], motion.tau - lw.bias_torque(robot, motion.q, qd)) < 1e-12  # (33)
    assert relative(e["I"] @ e["qdd"], e["phi"]) < bound
    assert relative(e["U"] @ e["tau_hat"], e["phi"]) < bound  # (34)
    assert relative(e["U"].T @ e["qdd"], e["tau_tilde"]) < bound  # (36)
    assert relative(e["qdd"], qdd) < bound
    assert relative(stack(e["mu"]), e["T"] @ e["qdd"]) < bound  # (37)
    gravity = lw.gravity_torque(robot, motion.q)
    forces = np.linalg.solve(e["U"], motion.tau - gravity)
    assert relative(e["D"] * e["xi_dot"] + e["C_xi"], forces) < bound  # (44)
    assert (
        relative(e["xi_dot"], lw.formulations.unnormalized.acceleration(robot, motion.q, e["xi"], motion.tau)) < bound
    )
    assert relative(e["xi_dot"], e["U_dot"].T @ qd + e["U"].T @ qdd) < bound  # (35)
    assert relative(e["xi_dot"], e["xi_dot_P"] + e["xi_dot_a"] + e["xi_dot_qdd"]) < 1e-13  # (36)
    assert relative(e["xi_dot_a"], e["G_stacked"].T @ e["Phi"].T @ stack(e["a"])) < bound
    through = e["tau_bar"].T @ e["E_Phi"].T @ stack(e["V"])
    assert relative(e["D"] * e["xi_dot_P"], e["H"] @ block_diagonal(e["P_dot"]) @ through) < bound
    assert relative(stack(e["t_dot"]), e["T"] @ qdd + e["T_dot"] @ qd) < 1e-12  # (7.56)
    assert relative(e["N_d_dot"], e["Omega_stacked"] @ e["N_d"]) < 1e-12  # (26)
    assert relative(e["C"], e["N_d"].T @ e["M_tilde_prime"] @ e["N_d"]) < 1e-11  # (25)
    assert relative(e["C"], e["T"].T @ (e["M_stacked"] @ e["T_dot"] + e["M_dot_stacked"] @ e["T"])) < 1e-11  # (20)


@over_robots
def test_operators_filter_and_smoother(robot: lw.Robot) -> None:
    motion = Motion(robot)
    e, H, a, V = motion.e, motion.e["H"], stack(motion.e["a"]), stack(motion.e["V"])
    bound = 200 * conditioned(robot, motion.q)
    assert relative(stack(e["alpha"]), e["Phi"].T @ (H.T @ motion.qdd + a)) < 1e-12
    assert relative(a, block_diagonal(e["Omega_delta"]).T @ e["E_Phi"].T @ V) < 1e-12
    X, lambda_dot, P_dot = (block_diagonal(e[name]) for name in ("X", "lambda_dot", "P_dot"))
    assert relative(lambda_dot, P_dot + X + X.T) < 1e-12  # (20)
    assert relative(P_dot, of_links(e["E_Psi"] @ lambda_dot @ e["E_Psi"].T)) < bound  # (16)
    Omega, G = block_diagonal(e["Omega_k"]), e["G_stacked"]
    assert relative(e["H_inertial"], -H @ Omega) < 1e-12
    assert relative(e["G_stacked_inertial"], e["G_stacked_dot"] + Omega @ G) < 1e-12
    z, above, alpha = stack(e["filter_z"]), stack(e["smoother_alpha_plus"]), stack(e["smoother_alpha"])
    assert relative(e["filter_epsilon"], motion.tau - H @ z) < bound
    assert relative(above, e["E_Phi"].T @ alpha) < bound
    assert relative(e["smoother_qdd"], e["filter_nu"] - G.T @ above) < bound
    assert relative(e["smoother_qdd"], motion.qdd) < bound
    assert relative(alpha, above + H.T @ e["smoother_qdd"] + a) < bound


def of_links(matrix: np.ndarray) -> np.ndarray:
    """Its 6 x 6 blocks on the diagonal."""
    kept = np.kron(np.eye(len(matrix) // 6), np.ones((6, 6)))
    return matrix * kept


def test_values_of_links_go_by_the_names_of_rates_too() -> None:
    robot = lw.chain(3, seed=1, joints="SR")
    e = lw.explain(robot, lw.neutral(robot))
    for name, link in zip(robot.v_names, robot.links, strict=True):
        assert e["psi"][name] is e["psi"][name] or (e["psi"][name] == e["psi"][link.name]).all()
    first, *_, last = robot.v_names
    assert (e["B"][last, first] == e["B"][robot.links[-1].name, robot.links[0].name]).all()
    with raises(KeyError, "wrst", *e["psi"]):
        e["psi"]["wrst"]
