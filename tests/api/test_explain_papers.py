"""What `explain` shows, against formulas written here from the papers' texts; rates by complex step."""

import re
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises
from linkwise.dynamics import kinematics, operator_matrices, quasi
from linkwise.explanation.definitions import DEFINITIONS, TABLE_1
from robots import conditioned, ids, relative, states, with_drives

STEP = 1e-30


def rubbing(robot: lw.Robot) -> lw.Robot:
    """The robot with friction in its joints."""
    rows = [{**row, "viscous_friction": 0.3 + k, "coulomb_friction": 0.7} for k, row in enumerate(robot.rows)]
    return lw.Robot.from_frames(rows, gravity=robot.gravity, name=f"{robot.name}-rubbing")


ARMS = [
    lw.chain(5, seed=3, joints="RPHRP"),
    rubbing(lw.random_tree(5, seed=4, joints="RHPRR")),
    with_drives(lw.chain(4, seed=8, joints="HRPR"), 1),
    lw.chain(7, seed=5),
    lw.random_tree(9, seed=6, joints="RPH"),
]
ZEROS = [lw.load("planar3"), lw.load("stanford"), lw.load("ur5e"), *ARMS]
over_arms = pytest.mark.parametrize("robot", rest_slow(ARMS, ARMS[1:3]), ids=ids(ARMS))


def stack(parts: dict[Any, np.ndarray]) -> np.ndarray:
    return np.concatenate(list(parts.values()))


def block_diagonal(parts: dict[Any, np.ndarray]) -> np.ndarray:
    n = len(parts)
    whole = np.zeros((6 * n, 6 * n))
    for i, part in enumerate(parts.values()):
        whole[6 * i : 6 * i + 6, 6 * i : 6 * i + 6] = part
    return whole


def cross(v: Any) -> np.ndarray:
    x, y, z = v
    return np.array([[0 * x, -z, y], [z, 0 * x, -x], [-y, x, 0 * x]])


class Paper:
    """The matrices of Saha's sections 2 and 3, at a state that may be complex."""

    def __init__(self, robot: lw.Robot, q: Any) -> None:
        n, frames = robot.n, kinematics.poses(robot, list(q))
        R = [np.array(frame.axes.rows) for frame in frames]
        O = [np.array(list(frame.translation)) for frame in frames]
        self.C = [o + r @ np.array(list(k.com)) for o, r, k in zip(O, R, robot.links, strict=True)]
        self.tensors = [r @ np.array(k.inertia.rows) @ r.T for r, k in zip(R, robot.links, strict=True)]
        kind = np.result_type(*self.C, *R)
        self.N_l, self.N_d = np.eye(6 * n, dtype=kind), np.zeros((6 * n, n), dtype=kind)
        for link in robot.links:
            i = link.index
            for j in robot.ancestors(i)[1:]:
                self.N_l[6 * i : 6 * i + 6, 6 * j : 6 * j + 6] = self.B(i, j)
            e, slide = R[i] @ list(link.joint.axis.angular), R[i] @ list(link.joint.axis.linear)
            self.N_d[6 * i : 6 * i + 6, i] = [*e, *(slide + np.cross(e, self.C[i] - O[i]))]  # (13), (15)
        self.N = self.N_l @ self.N_d
        self.M = np.zeros((6 * n, 6 * n), dtype=kind)
        for i, link in enumerate(robot.links):
            self.M[6 * i : 6 * i + 3, 6 * i : 6 * i + 3] = self.tensors[i]
            self.M[6 * i + 3 : 6 * i + 6, 6 * i + 3 : 6 * i + 6] = np.eye(3) * link.mass

    def B(self, i: int, j: int) -> np.ndarray:
        return np.block([[np.eye(3), np.zeros((3, 3))], [cross(self.C[j] - self.C[i]), np.eye(3)]])  # (13)


class Case:
    """A robot, a state, what is explained of it, and the paper's matrices with their rates."""

    def __init__(self, robot: lw.Robot) -> None:
        self.robot, self.n = robot, robot.n
        self.q, self.qd, self.qdd, self.tau = (x[0] for x in states(robot, count=1))
        self.e = lw.explain(robot, self.q, self.qd, self.qdd, self.tau)
        self.at, moved = Paper(robot, self.q), Paper(robot, self.q + 1j * STEP * self.qd)
        self.N_l_dot, self.N_d_dot, self.N_dot = (np.imag(getattr(moved, name)) / STEP for name in ("N_l", "N_d", "N"))
        self.t = self.at.N @ self.qd
        self.t_dot = self.at.N @ self.qdd + self.N_dot @ self.qd
        self.spins = [cross(self.t[6 * i : 6 * i + 3]) for i in range(self.n)]
        self.W = np.zeros((6 * self.n, 6 * self.n))
        for i, spin in enumerate(self.spins):
            self.W[6 * i : 6 * i + 3, 6 * i : 6 * i + 3] = spin
        self.rotors = np.array([float(link.joint.rotor_inertia) for link in robot.links])

    def block(self, matrix: np.ndarray, i: int, j: int) -> np.ndarray:
        return matrix[6 * i : 6 * i + 6, 6 * j : 6 * j + 6]

    def name(self, i: int) -> str:
        return self.robot.links[i].name


CASES: dict[str, Case] = {}


def case_of(robot: lw.Robot) -> Case:
    if robot.name not in CASES:
        CASES[robot.name] = Case(robot)
    return CASES[robot.name]


@over_arms
def test_decoupled_complement_and_its_rates(robot: lw.Robot) -> None:
    case = case_of(robot)
    e, at, M_dot = case.e, case.at, case.W @ case.at.M
    M_tilde = at.N_l.T @ at.M @ at.N_l
    for name, expected in {
        "N_l": at.N_l, "N_d": at.N_d, "T": at.N, "M_stacked": at.M, "M_tilde_stacked": M_tilde,
        "N_l_dot": case.N_l_dot, "N_d_dot": case.N_d_dot, "T_dot": case.N_dot, "W": case.W, "M_dot_stacked": M_dot,
        "H_tilde_stacked": at.N_l.T @ at.M @ case.N_l_dot, "M_dot_tilde_stacked": at.N_l.T @ M_dot @ at.N_l,
    }.items():  # fmt: skip
        assert relative(e[name], expected) < 1e-12, name
    assert relative(e["N_d_dot"], e["Omega_stacked"] @ at.N_d) < 1e-12  # (26)
    prime = e["H_tilde_stacked"] + M_tilde @ e["Omega_stacked"] + e["M_dot_tilde_stacked"]
    assert relative(e["M_tilde_prime"], prime) < 1e-12  # (25)
    assert relative(e["C"], at.N.T @ (at.M @ case.N_dot + M_dot @ at.N)) < 1e-12  # (20)
    assert relative(e["C"], at.N_d.T @ prime @ at.N_d) < 1e-12
    assert relative(e["I"], at.N.T @ at.M @ at.N + np.diag(case.rotors)) < 1e-12
    for whole, parts in (
        ("M_stacked", "M"),
        ("W", "Omega_ijrr"),
        ("M_dot_stacked", "M_dot"),
        ("Omega_stacked", "Omega"),
    ):
        assert relative(e[whole], block_diagonal(e[parts])) == 0.0
    for (i, j), H in e["H_tilde"].items():
        assert relative(case.block(e["H_tilde_stacked"], robot.names.index(i), robot.names.index(j)), H) == 0.0
    for i in range(case.n):
        assert relative(case.block(e["M_tilde_stacked"], i, i), e["M_tilde"][case.name(i)]) < 1e-12
        assert relative(case.block(e["M_dot_tilde_stacked"], i, i), e["M_dot_tilde"][case.name(i)]) < 1e-12
        for j in range(case.n):
            if i != j:
                assert relative(e["B"][case.name(i), case.name(j)], at.B(i, j)) < 1e-12
                c_dot = case.t[6 * j + 3 : 6 * j + 6] - case.t[6 * i + 3 : 6 * i + 6]
                assert relative(e["B_dot"][case.name(i), case.name(j)][3:, :3], cross(c_dot)) < 1e-12
    for link in robot.links[1:]:
        i, j = link.index, link.parent
        if j >= 0:
            lever = e["rho"][case.name(j), case.name(i)] - e["d"][case.name(j)]
            assert relative(e["B"][case.name(i), case.name(j)][3:, :3], cross(-lever)) < 1e-12  # c_ij = C_j - C_i


@over_arms
def test_recursive_inverse_and_forward_dynamics(robot: lw.Robot) -> None:
    case = case_of(robot)
    e, at, M_dot = case.e, case.at, case.W @ case.at.M
    lift = np.tile([0.0, 0.0, 0.0, *(-np.array(robot.gravity))], case.n)
    xi = case.t_dot + lift  # (32)
    for name, expected in {
        "t": case.t, "ridim_nu": case.t, "t_dot": case.t_dot, "ridim_xi": xi,
        "w": at.M @ case.t_dot + M_dot @ case.t, "ridim_gamma": at.N_l.T @ (at.M @ xi + M_dot @ case.t),
    }.items():  # fmt: skip
        assert relative(stack(e[name]), expected) < 1e-12, name
    torque = at.N_d.T @ stack(e["ridim_gamma"]) + case.rotors * case.qdd
    assert relative(e["tau"], torque) < 1e-12
    assert relative(e["tau"], lw.inverse_dynamics(robot, case.q, case.qd, case.qdd)) < 1e-12

    bound = 50 * conditioned(robot, case.q)
    assert relative(e["phi"], case.tau - lw.bias_torque(robot, case.q, case.qd)) < 1e-12  # (33)
    assert relative(e["U"] @ e["tau_hat"], e["phi"]) < bound
    assert relative(e["D"] * e["tau_tilde"], e["tau_hat"]) < 1e-12
    assert relative(e["U"].T @ e["qdd"], e["tau_tilde"]) < bound
    assert relative(e["qdd"], lw.forward_dynamics(robot, case.q, case.qd, case.tau)) < bound
    psi = np.zeros((6 * case.n, case.n))
    for i in range(case.n):
        psi[6 * i : 6 * i + 6, i] = e["psi"][case.name(i)]
    assert relative(stack(e["eta"]), at.N_l.T @ psi @ e["tau_hat"]) < bound  # (35)
    assert relative(stack(e["mu"]), at.N @ e["qdd"]) < bound  # (37)
    above = at.N_l - np.eye(6 * case.n)
    assert relative(e["tau_hat"], e["phi"] - at.N_d.T @ above.T @ psi @ e["tau_hat"]) < bound  # (34)
    assert relative(e["qdd"], e["tau_tilde"] - psi.T @ above @ at.N_d @ e["qdd"]) < bound  # (36)


@over_arms
def test_reverse_elimination(robot: lw.Robot) -> None:
    case = case_of(robot)
    e, left = case.e, case.e["I"]
    for (i, k), psi in e["psi_ik"].items():
        B = case.at.B(robot.names.index(k), robot.names.index(i))
        assert relative(psi, B.T @ e["psi"][k]) < 1e-12  # (48)
        assert relative(e["psi_hat_ik"][i, k], B.T @ e["psi_hat"][k]) < 1e-12  # (47)
        assert relative(e["M_hat_ik"][i, k], e["M_tilde"][i] - e["Psi_ik"][i, k]) < 1e-11  # (49)
    for k in reversed(range(1, case.n)):
        name = case.name(k)
        left = e["E"][name] @ left
        assert relative(e["L"][name], left) < 1e-12  # (45)
        assert relative(e["I_k"][name], left) < 1e-11  # (46), IJRR (49), (50)
        assert not np.triu(e["L"][name], 1)[:, k:].any()
        dyad = np.outer(e["psi_hat"][name], e["psi"][name])
        assert relative(e["M_hat_ik"][name, name], e["M_hat"][name] - dyad) < 1e-11  # (50)
    assert relative(left, np.diag(e["D"]) @ e["U"].T) < 1e-11  # (54)


@over_arms
def test_wrenches_of_the_complement(robot: lw.Robot) -> None:
    case = case_of(robot)
    e, T = case.e, case.at.N
    active, weight, dissipated, forced = (stack(e[name]) for name in ("w_A", "w_G", "w_D", "w_C"))
    needed = case.at.M @ case.t_dot + case.W @ case.at.M @ case.t
    assert relative(needed, active + weight + dissipated + forced) < 1e-12  # (7.48)
    assert relative(forced, e["K"].T @ stack(e["lambda"])) < 1e-12  # (7.53)
    assert np.abs(T.T @ forced).max() < 1e-11 * np.abs(forced).max()
    assert np.abs(e["K"] @ stack(e["t"])).max() < 1e-11  # (7.50)
    friction = lw.Friction().torque(robot, case.qd)
    assert relative(-T.T @ dissipated, friction) < 1e-12
    driven = lw.inverse_dynamics(robot.without_rotors(), case.q, case.qd, case.qdd) + friction
    assert relative(T.T @ active, driven) < 1e-12  # (7.57)
    for i in range(case.n):
        name = case.name(i)
        assert relative([*e["omega"][name], *e["c_dot"][name]], case.t[6 * i : 6 * i + 6]) < 1e-12
        assert relative([*e["omega_dot"][name], *e["c_ddot"][name]], case.t_dot[6 * i : 6 * i + 6]) < 1e-12
        assert relative(e["c"][name], case.at.C[i]) < 1e-13
    transmitted = lw.joint_wrenches(robot, case.q, case.qd, case.qdd)
    shown = np.array([[*e["n_P"][k.name], *e["f_P"][k.name]] for k in robot.links])
    assert relative(shown, transmitted) < 1e-12


@over_arms
def test_operators_and_their_rates(robot: lw.Robot) -> None:
    case = case_of(robot)
    e, one, big = case.e, np.eye(case.n), np.eye(6 * case.n)
    H, Phi, M, K = e["H"], e["Phi"], e["M_k"], e["K_k"]
    assert relative(e["I"], H @ Phi @ M @ Phi.T @ H.T + np.diag(case.rotors)) < 1e-12  # (22)
    assert relative(e["U"], one + H @ Phi @ K) < 1e-12  # (23)
    assert relative(e["U_inverse"], one - H @ e["Psi_k"] @ K) < 1e-11  # (24)
    P = block_diagonal(e["P"])
    left = P - e["G_stacked"] @ e["D_stacked"] @ e["G_stacked"].T  # τ̄ P, with rotors too
    seen = e["E_Phi"] @ left @ e["E_Phi"].T
    for i in range(case.n):
        assert relative(case.block(P, i, i), case.block(seen + M, i, i)) < 1e-11  # (12), the Riccati equation
    assert relative(np.diag(e["D_stacked"]), e["D"]) < 1e-13
    assert relative(e["m"] @ e["m"].T, e["I"]) < 1e-12  # (26)

    moved = operator_matrices.operators(robot, list(case.q + 1j * STEP * case.qd))
    operators = moved.E_phi, moved.phi, moved.H, moved.M, moved.D, moved.G, moved.tau_bar, moved.E_psi
    Omega = block_diagonal(e["Omega_k"])
    for name, value in zip(TABLE_1, operators, strict=True):
        local = np.imag(np.array(value)) / STEP
        assert relative(e[f"{name}_dot"], local) < 1e-11, name
        commutator = Omega @ e[name] - e[name] @ Omega if local.shape == Omega.shape else 0.0
        more = {"Phi": Phi @ (Omega @ e["E_Phi"] - e["E_Phi"] @ Omega) @ Phi, "H": -H @ Omega, "D_stacked": 0.0,
                "G_stacked": Omega @ e["G_stacked"]}.get(name, commutator)  # fmt: skip
        assert relative(e[f"{name}_inertial"], local + more) < 1e-11, name
    X = block_diagonal(e["Omega_delta"]) @ P
    assert relative(X, block_diagonal(e["X"])) < 1e-12
    lambda_dot, P_dot = block_diagonal(e["lambda_dot"]), block_diagonal(e["P_dot"])
    assert relative(lambda_dot, P_dot + X + X.T) < 1e-12  # (20)
    for i in range(case.n):
        seen = case.block(e["E_Psi"] @ lambda_dot @ e["E_Psi"].T, i, i)
        assert relative(e["P_dot"][case.name(i)], seen) < 1e-11  # (16)
    assert relative(big, e["Psi_k"] @ (big - e["E_Psi"])) < 1e-12


@over_arms
def test_quasi_velocities_and_their_rates(robot: lw.Robot) -> None:
    case = case_of(robot)
    e = case.e
    q, qd = case.q + 1j * STEP * case.qd, case.qd + 1j * STEP * case.qdd
    xi_dot = np.imag(np.array(quasi.unnormalized.velocity(robot, list(q), list(qd)))) / STEP
    assert relative(e["xi_dot"], xi_dot) < 1e-11  # (36)
    assert relative(e["xi_dot"], e["xi_dot_P"] + e["xi_dot_a"] + e["xi_dot_qdd"]) < 1e-14
    assert relative(e["xi_dot_qdd"], e["U"].T @ case.qdd) < 1e-12
    assert relative(e["xi_dot"], e["U_dot"].T @ case.qd + e["U"].T @ case.qdd) < 1e-11  # (35)
    V_dot = [[np.imag(x) / STEP for x in V] for V in kinematics.twists(robot, list(q), list(qd))]
    assert relative(stack(e["alpha"]), np.concatenate(V_dot)) < 1e-12
    assert relative(e["H"] @ stack(e["f"]) + case.rotors * case.qdd, e["tau"]) < 1e-12  # (38)
    assert relative(e["U"] @ e["kappa"], case.tau) < 1e-11  # (44)
    assert relative(np.sqrt(e["D"]) * e["epsilon"], e["kappa"]) < 1e-12  # (41)
    c, roots = e["c_nu"], np.diag(np.sqrt(e["D"]))
    off = e["c_xi"] - np.diag(np.diag(e["c_xi"]))
    assert relative(off, roots @ c @ roots) < 1e-11  # after (48), where print has (48) itself
    a, G, V = stack(e["a"]), e["G_stacked"], stack(e["V"])
    assert relative(e["xi_dot_a"], G.T @ e["Phi"].T @ a) < 1e-11
    inner = np.linalg.inv(e["D_stacked"]) @ e["H"] @ block_diagonal(e["P_dot"]) @ e["tau_bar"].T
    assert relative(e["xi_dot_P"], inner @ e["E_Phi"].T @ V) < 1e-11
    assert e.quantities["xi_dot_P"].symbol == "D⁻¹ H Ṗ τ̄* E_Φ* V"
    if not case.rotors.any():
        assert relative(e["xi_dot_P"], inner @ V) < 1e-11  # as in print
        assert relative(e["xi_dot_qdd"], G.T @ e["Phi"].T @ e["H"].T @ case.qdd) < 1e-11
        assert relative(e["m_dot"] @ e["nu"], e["m_dot_nu"]) < 1e-11  # (31)
        coriolis = np.linalg.solve(e["m"], e["m_dot_nu"] - 0.5 * e["kinetic_gradient"])
        assert relative(coriolis, e["C_nu"]) < 100 * conditioned(robot, case.q)  # (41)


@over_arms
def test_filter_and_smoother(robot: lw.Robot) -> None:
    case = case_of(robot)
    e = case.e
    H, P, a = e["H"], block_diagonal(e["P"]), stack(e["a"])
    frames = zip(robot.links, kinematics.poses(robot, list(case.q)), strict=True)
    weights = [(k, np.array(pose.axes.rows).T @ robot.gravity * k.mass) for k, pose in frames]
    b = stack(e["b"]) - np.concatenate([[*np.cross(list(k.com), w), *w] for k, w in weights])
    z, z_plus, nu = stack(e["filter_z"]), stack(e["filter_z_plus"]), e["filter_nu"]
    bound = 100 * conditioned(robot, case.q)
    assert relative(z, e["E_Phi"] @ z_plus + b + P @ a) < bound
    assert relative(e["filter_epsilon"], case.tau - H @ z) < bound
    assert relative(z_plus, z + e["G_stacked"] @ e["filter_epsilon"]) < bound
    assert relative(e["D"] * nu, e["filter_epsilon"]) < 1e-13
    above, alpha = stack(e["smoother_alpha_plus"]), stack(e["smoother_alpha"])
    assert relative(above, e["E_Phi"].T @ alpha) < bound
    assert relative(e["smoother_qdd"], nu - e["G_stacked"].T @ above) < bound
    assert relative(alpha, above + H.T @ e["smoother_qdd"] + a) < bound
    assert relative(e["smoother_qdd"], lw.forward_dynamics(robot, case.q, case.qd, case.tau)) < bound


def numbers_of(e: lw.results.Explanation) -> dict[Any, np.ndarray]:
    """All values, by name and links."""
    values = {}
    for name in e:
        value = e[name]
        for key, part in value.items() if isinstance(value, dict) else [((), value)]:
            values[name, key] = np.asarray(part, dtype=object)
    return values


@pytest.mark.parametrize("robot", rest_slow(ZEROS, ZEROS[:1]), ids=ids(ZEROS))
def test_zeros_are_those_of_many_digits(robot: lw.Robot) -> None:
    """What is zero to 60 digits is zero; what is made zero is a rounding error, also for a rounded right angle."""
    mpmath = pytest.importorskip("mpmath")
    context = mpmath.MPContext()
    context.dps = 60
    _, qd, qdd, tau = (x[0] for x in states(robot, count=1))
    state = np.resize([0.5 * np.pi, -0.4, 0.3], robot.n), qd, qdd, tau
    shown, made_zero = numbers_of(lw.explain(robot, *state)), 0
    exact = lw.explain(robot.cast(context.mpf), *[[context.mpf(float(x)) for x in array] for array in state])
    for key, many in numbers_of(exact).items():
        scale = max(abs(float(x)) for x in [*many.flat, 1e-12])
        for x, y in zip(shown[key].flat, many.flat, strict=True):
            if abs(y) < 1e-40:
                assert x == 0.0, key
            elif x == 0.0:
                made_zero += 1
                assert abs(y) < 1e-14 * scale, key
    assert made_zero or robot in ARMS


def test_small_differences_with_correct_digits_stay() -> None:
    """The mass centre of the second link comes back to the first joint but for 1e-11 m."""
    row = {"joint": "revolute", "a": 1.0, "d": 0.0, "alpha": 0.0, "mass": 1.0, "inertia": np.eye(3).tolist()}
    arm = lw.Robot.from_dh(
        [{**row, "com": (-0.5, 0, 0)}, {**row, "com": (1e-11, 0, 0)}], convention="standard", name="folded"
    )
    e = lw.explain(arm, [0, np.pi], [1.0, 0.0])
    assert relative(e["rho"]["link1", "link2"] * 1e6, [-1e-5, 0, 0]) < 1e-4
    assert e["rho"]["link1", "link2"][1] == 0.0
    assert relative(e["t"]["link2"][3:] * 1e6, [0, -1e-5, 0]) < 1e-4


def test_symbols_give_every_quantity() -> None:
    robot = lw.chain(2, seed=2, joints="RP")
    values = dict(zip(["q1", "q2", "v1", "v2", "a1", "a2", "u1", "u2"], np.linspace(-0.7, 1.3, 8), strict=True))
    symbols = lw.symbols(" ".join(values))
    state = [list(values.values())[k : k + 2] for k in range(0, 8, 2)]
    symbolic, numeric = lw.explain(robot, *(symbols[k : k + 2] for k in range(0, 8, 2))), lw.explain(robot, *state)
    assert list(symbolic) == list(numeric)
    put = symbols[0].graph.substitution(values)
    expected = numbers_of(numeric)
    for key, value in numbers_of(symbolic).items():
        found = np.array([float(put(x)) for x in value.flat]).reshape(value.shape)
        assert relative(found, expected[key]) < 1e-11, key


def rods(n: int) -> lw.Robot:
    """Uniform rods of symbols."""
    rows = []
    for i in range(1, n + 1):
        l, m = lw.symbols(f"l{i} m{i}")
        inertia = np.diag([0, m * l**2 / 12, m * l**2 / 12]).tolist()
        rows.append(
            {"joint": "revolute", "a": l, "b": 0, "alpha": 0, "mass": m, "com": (-0.5 * l, 0, 0), "inertia": inertia}
        )
    return lw.Robot.from_dh(rows, convention="standard", gravity=(0, -9.81, 0), name="rods")


RODS = {f"l{i}": 0.3 + 0.1 * i for i in (1, 2, 3)} | {f"m{i}": 0.9 - 0.2 * i for i in (1, 2, 3)}


def test_zeros_in_symbols_are_those_in_numbers() -> None:
    """What the elimination annihilates is 0, and whatever else is zero for every state."""
    state = [[0.7, -1.2, 0.4], [1.3, 0.2, -0.6], [0.1, 2.0, -0.9], [0.4, -0.3, 0.8]]
    symbols = [lw.symbols(" ".join(f"{word}{k}" for k in (1, 2, 3))) for word in "qvau"]
    symbolic = numbers_of(lw.explain(rods(3), *symbols))
    for key, value in numbers_of(lw.explain(lw.bind(rods(3), **RODS), *state)).items():
        zeros = np.array([isinstance(x, float) and x == 0.0 for x in symbolic[key].flat])
        assert (zeros == (np.asarray(value, float).ravel() == 0.0)).all(), key
    assert all(symbolic["L", f"link{k + 1}"][i, j] == 0.0 for k in (1, 2) for j in range(k, 3) for i in range(j))


def test_equal_quantities_in_symbols_have_one_expression() -> None:
    e = lw.explain(rods(2), lw.symbols("q1 q2"))
    pairs = zip(e["M_hat"]["link2"].flat, e["M"]["link2"].flat, strict=True)
    assert all(a is b or isinstance(a, float) for a, b in pairs)
    values = [e.text(name).split("link2: ")[1].split("\n  with")[0] for name in ("M", "M_tilde", "M_hat")]
    assert len(set(values)) == 1
    assert "m2*l2**2*(1 - cos(2*q1 + 2*q2))/24" in values[0]  # in fractions
    assert not re.search(r"\d\.\d", e.text("M", "M_tilde", "M_hat", "psi"))


def test_a_name_says_what_it_needs() -> None:
    robot = with_drives(lw.load("planar3"), 0)
    still = np.zeros(3)
    calls = {"": (), "qd": (still,), "qdd": (still, still), "tau": (still, None, still)}
    for given, rest in calls.items():
        e = lw.explain(robot, still, *rest)
        has = {"", "qd", given} if given else {""}
        for name, definition in DEFINITIONS.items():
            if definition.needs in has and definition.rotors:
                assert name in e
                continue
            needed = f"{definition.needs}=" if definition.rotors else "without_rotors"
            with pytest.raises(KeyError, match=name) as error:
                e[name]
            assert needed in str(error.value)
            with pytest.raises(ValueError, match=name):
                e.text(name)
    with raises(ValueError, "tau"):
        lw.explain(robot, still, tau=still)


def test_symbols_with_choices_signs_and_roots_are_written_as_they_are() -> None:
    row = {"joint": "prismatic", "a": 0, "b": 0, "theta": 0, "alpha": 0, "com": (0, 0, 0), "inertia": np.zeros((3, 3))}
    rail = lw.Robot.from_dh([{**row, "mass": 1.0}, {**row, "mass": 2.0}], convention="standard", gravity=(0, -9.81, 0))
    x, y, v, w, k = lw.symbols("x y v w k")
    forces: list[Any] = [np.where(x > 9, x - 9, 0.0), np.maximum(y - 7, 0.0), np.minimum(k * x, 50.0)]
    forces += [np.sign(v) - np.sign(w), np.sqrt(x * x) - x, np.abs(y) + y]
    for force in forces:
        phi = lw.explain(rail, [x, y], [v, w], tau=[force, k * x])["phi"]
        assert [str(x) for x in phi] == [str(force), str(k * x)]
    sympy = pytest.importorskip("sympy")
    a, b = sympy.symbols("a b")
    assert lw.explain(rail, [sympy.sqrt(a), b])["I"][0][0] == 3.0
