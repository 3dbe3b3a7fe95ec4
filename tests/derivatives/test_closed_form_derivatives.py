"""Derivatives in closed form: those of the graph, of 40 digits and of Pinocchio, and fewer operations."""

import mpmath
import numpy as np
import pytest

import linkwise as lw
from digits import apart, many_digits
from effort import rest_slow
from facts import raises
from joint_kinds import ARM, BALL, EVERY, SCREWS, jointed, states
from robots import DRIVEN, TEXTBOOK, relative

ALIKE = 1e-11
MANY = [*TEXTBOOK, *DRIVEN, *EVERY, BALL, SCREWS, lw.load("panda"), lw.load("quadruped")]
TWICE = [TEXTBOOK[1], TEXTBOOK[3], DRIVEN[1], DRIVEN[3], *EVERY, BALL, SCREWS, lw.load("panda")]
FEW = [TEXTBOOK[1], DRIVEN[1], BALL, SCREWS]  # the last has joints of every kind, coupled ones and rotors


def by_graph(function, robot, *names, **options):
    """The derivative of a function by several arrays, or tuples of them, one after another."""
    for name in names:
        function = lw.derivative(function, robot, name, mode="forward", **options)
        options = {}
    return function


@pytest.mark.parametrize("robot", rest_slow(MANY, [SCREWS]), ids=lambda robot: robot.name)
def test_first_derivatives_are_those_of_the_graph(robot):
    q, qd, qdd, tau = states(robot, 2)
    rng, links = np.random.default_rng(4), len(robot.names)
    wrench, point = rng.normal(size=(2, links, 6)), rng.normal(size=(2, links, 3))
    inputs = {"wrench": lw.Input(links, 6), "point": lw.Input(links, 3)}
    cases = (
        (lw.inverse_dynamics, qdd, lw.inverse_dynamics_derivatives, ("q", "qd")),
        (lw.forward_dynamics, tau, lw.forward_dynamics_derivatives, ("q", "qd", "tau")),
    )
    for function, last, derivatives, names in cases:
        method = {"method": "composite-udu" if function is lw.forward_dynamics else "fewest"}
        with_point = {"wrench": wrench, "point": point}
        usual = [with_point] if function is lw.inverse_dynamics else [{"wrench": wrench}]
        for loads in [{}, {"wrench": wrench}, with_point] if robot is SCREWS else usual:
            slopes = by_graph(function, robot, names, **method, **{name: inputs[name] for name in loads})
            theirs = slopes(q, qd, last, **loads)
            for matrix, exact in zip(derivatives(robot, q, qd, last, **loads), theirs, strict=True):
                assert relative(matrix, exact) < ALIKE


@pytest.mark.parametrize("robot", rest_slow(TWICE, [TEXTBOOK[1]]), ids=lambda robot: robot.name)
def test_second_derivatives_are_those_of_the_graph(robot):
    q, qd, qdd, tau = states(robot, 2)
    theirs = {"inverse_dynamics": qdd, "forward_dynamics": tau}
    orders = (("q", "q"), ("q", "qd"), ("qd", "qd"))
    ours = lw.inverse_dynamics_second_derivatives(robot, q, qd, qdd)
    for tensor, names in zip(ours, (*orders, ("qdd", "q")), strict=True):
        slope = by_graph(lw.inverse_dynamics, robot, *names, method="fewest")
        assert relative(tensor, slope(q, qd, theirs["inverse_dynamics"])) < ALIKE, names
    if robot.n > 9:  # the graph's take long
        return
    ours = lw.forward_dynamics_second_derivatives(robot, q, qd, tau)
    for tensor, names in zip(ours, (*orders, ("q", "tau")), strict=True):
        slope = by_graph(lw.forward_dynamics, robot, *names, method="composite-udu")
        assert relative(tensor, slope(q, qd, tau)) < ALIKE, names


@pytest.mark.parametrize("robot", rest_slow([*FEW, ARM, *EVERY[:3]], [BALL]), ids=lambda robot: robot.name)
def test_of_40_digits_they_are_limits_of_differences(robot):
    """Central differences with steps of 1e-10, exact to 1e-19."""
    step = mpmath.mpf(10) ** -10
    with mpmath.workdps(40):
        exact = robot.cast(mpmath.mpf)
        q, qd, qdd, tau = map(many_digits, states(robot))
        eye = many_digits(np.eye(robot.n)) * step

        def slopes(results, by_q=True):
            """Of several results along each velocity."""
            ends = []
            for sign in (1, -1):
                at = [(lw.integrate(exact, q, sign * e), qd) if by_q else (q, qd + sign * e) for e in eye]
                ends.append([results(*state) for state in at])
            pairs = zip(*(zip(*end, strict=True) for end in ends), strict=True)
            return [np.moveaxis((np.array(a) - np.array(b)) / (2 * step), 0, -1) for a, b in pairs]

        first = lw.inverse_dynamics_derivatives(exact, q, qd, qdd)
        assert apart(first[0], slopes(lambda q, qd: [lw.inverse_dynamics(exact, q, qd, qdd)])[0]) < 1e-15
        assert apart(first[1], slopes(lambda q, qd: [lw.inverse_dynamics(exact, q, qd, qdd)], False)[0]) < 1e-15
        forward = lw.forward_dynamics_derivatives(exact, q, qd, tau)
        assert apart(forward[0], slopes(lambda q, qd: [fewest(exact, q, qd, tau)])[0]) < 1e-12
        assert apart(forward[1], slopes(lambda q, qd: [fewest(exact, q, qd, tau)], False)[0]) < 1e-12
        second = lw.inverse_dynamics_second_derivatives(exact, q, qd, qdd)
        along = slopes(lambda q, qd: lw.inverse_dynamics_derivatives(exact, q, qd, qdd))
        assert apart(second[0], along[0]) < 1e-15
        assert apart(second[1], along[1].swapaxes(-1, -2)) < 1e-15
        by_qd = slopes(lambda q, qd: lw.inverse_dynamics_derivatives(exact, q, qd, qdd), False)
        assert apart(second[1], by_qd[0]) < 1e-15
        assert apart(second[2], by_qd[1]) < 1e-15
        twice = lw.forward_dynamics_second_derivatives(exact, q, qd, tau)
        along = slopes(lambda q, qd: lw.forward_dynamics_derivatives(exact, q, qd, tau))
        assert apart(twice[0], along[0]) < 1e-12
        assert apart(twice[3], along[2].swapaxes(-1, -2)) < 1e-12


def fewest(robot, q, qd, tau):
    return lw.forward_dynamics(robot, q, qd, tau, method="composite-udu")


@pytest.mark.parametrize("robot", rest_slow([jointed(7, 2), SCREWS], [SCREWS]), ids=lambda robot: robot.name)
def test_floats_have_12_digits_of_40(robot):
    q, qd, qdd, _ = states(robot)
    floats = [*lw.inverse_dynamics_derivatives(robot, q, qd, qdd)]
    floats += lw.inverse_dynamics_second_derivatives(robot, q, qd, qdd)
    with mpmath.workdps(40):
        exact, motion = robot.cast(mpmath.mpf), list(map(many_digits, (q, qd, qdd)))
        fine = [*lw.inverse_dynamics_derivatives(exact, *motion)]
        fine += lw.inverse_dynamics_second_derivatives(exact, *motion)
    for rough, better in zip(floats, fine, strict=True):
        assert relative(rough, better.astype(float)) < 1e-12


def skew(vector):
    x, y, z = vector
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


class FreeJoints:
    """Pinocchio has the linear velocity and the force of a free joint in the body's axes: Rᵀ v, and not v.

    v_p = C v, a_p = C a - b with b = (ω × Rᵀ v, 0), τ = Cᵀ τ_p, and how these change with the rotation of the body.
    """

    def __init__(self, robot, q):
        self.C, self.robot = np.eye(robot.n), robot
        for joint in robot.moving:
            if joint.kind.name == "free":
                w, x, y, z = q[joint.q][3:] / np.linalg.norm(q[joint.q][3:])
                u = skew((x, y, z))
                start = joint.v.start
                self.C[start : start + 3, start : start + 3] = (np.eye(3) + 2 * (w * u + u @ u)).T

    def by_rotation(self, vector, sign=1.0):
        """∂(C x)/∂q, of C x; with sign -1, of Cᵀ y times Cᵀ."""
        matrix = np.zeros((self.robot.n, self.robot.n))
        for lin, ang in self.parts():
            matrix[lin, ang] = sign * skew(vector[lin])
        return matrix

    def parts(self):
        for joint in self.robot.moving:
            if joint.kind.name == "free":
                start = joint.v.start
                yield slice(start, start + 3), slice(start + 3, start + 6)

    def bias(self, v_p):
        """∂b/∂q and ∂b/∂v."""
        by_q, by_v = np.zeros_like(self.C), np.zeros_like(self.C)
        for lin, ang in self.parts():
            by_q[lin, ang] = skew(v_p[ang]) @ skew(v_p[lin])
            by_v[lin, lin] = skew(v_p[ang]) @ self.C[lin, lin]
            by_v[lin, ang] = -skew(v_p[lin])
        return by_q, by_v


FLOATING = [(n, seed) for n in (1, 2, 4, 6, 9) for seed in range(4) if "F" in jointed(n, seed, "RPHSF").joints]


@pytest.mark.parametrize(("n", "seed"), rest_slow(FLOATING, [(4, 2)]))
def test_first_derivatives_are_those_of_pinocchio(n, seed):
    """On trees with free joints, on the base and within."""
    pin = pytest.importorskip("pinocchio", reason="Pinocchio has no wheel for Windows")
    from jointed_peers import in_pinocchio, pinocchio_state

    robot = jointed(n, seed, "RPHSF")
    model, data = in_pinocchio(robot)
    q, v, a, _ = states(robot)
    q_p, v_p, a_p = pinocchio_state(robot, q, v, a)
    joints = FreeJoints(robot, q)
    C, by_rotation = joints.C, joints.by_rotation
    bias_q, bias_v = joints.bias(v_p)
    pin.computeRNEADerivatives(model, data, q_p, v_p, a_p)
    dq, dv, M = data.dtau_dq.copy(), data.dtau_dv.copy(), np.triu(data.M) + np.triu(data.M, 1).T
    tau_p = data.tau.copy()
    by_q, by_qd = lw.inverse_dynamics_derivatives(robot, q, v, a)
    inner = dq @ C + dv @ by_rotation(C @ v) + M @ (by_rotation(C @ a) - bias_q) + by_rotation(tau_p, -1.0)
    assert relative(by_q, C.T @ inner) < 1e-9
    assert relative(by_qd, C.T @ (dv @ C - M @ bias_v)) < 1e-9
    pin.computeABADerivatives(model, data, q_p, v_p, tau_p)
    dq, dv, inverse = data.ddq_dq.copy(), data.ddq_dv.copy(), np.triu(data.Minv) + np.triu(data.Minv, 1).T
    by_q, by_qd, by_tau = lw.forward_dynamics_derivatives(robot, q, v, C.T @ tau_p)
    inner = dq @ C + dv @ by_rotation(C @ v) + inverse @ by_rotation(tau_p) + bias_q - by_rotation(C @ a)
    assert relative(by_q, C.T @ inner) < 1e-9
    assert relative(by_qd, C.T @ (dv @ C + bias_v)) < 1e-9
    assert relative(by_tau, C.T @ inverse @ C) < 1e-9


def test_fewer_operations_than_by_the_graph():
    """For both derivatives of the Panda, at least a third less than forward mode takes on the shortest text."""
    arm = lw.load("panda")
    assert lw.count(lw.inverse_dynamics_derivatives, arm).total < 5089 * 2 / 3
    assert lw.count(lw.forward_dynamics_derivatives, arm).total < 9000 * 2 / 3  # and the inverse of the inertia matrix


FIRST = (lw.inverse_dynamics_derivatives, lw.forward_dynamics_derivatives)


@pytest.mark.parametrize("function", rest_slow(FIRST, FIRST[1:]), ids=lambda function: function.__name__)
def test_compiled_they_give_the_same(function):
    arm = lw.load("planar3")
    q, qd, _, last = states(arm, 300)
    plain = function(arm, q, qd, last)
    with lw.use_kernels("always"):
        compiled = function(arm, q, qd, last)
    assert all(relative(a, b) < 1e-12 for a, b in zip(compiled, plain, strict=True))
    one = lw.compile(function, arm)(q[0], qd[0], last[0])
    assert all(relative(a, b[0]) < 1e-12 for a, b in zip(one, plain, strict=True))


def test_a_singular_robot_and_a_state_that_is_not_finite():
    arm = lw.load("planar3")
    q, qd, tau = np.random.default_rng(0).normal(size=(3, 2, 3))
    q[1, 2] = np.nan
    for matrix in lw.forward_dynamics_derivatives(arm, q, qd, tau):
        assert np.isfinite(matrix[0]).all()
        assert np.isnan(matrix[1]).all()
    massless = [{**row, "mass": 0.0, "inertia": np.zeros((3, 3))} for row in arm.rows]
    nothing = lw.Robot.from_dh(massless, convention=arm.convention)
    with raises(lw.errors.SingularError, "robot 'robot'", "link 'link3'", "articulated inertia 0"):
        lw.forward_dynamics_derivatives(nothing, q[0], qd[0], tau[0])


@pytest.mark.optimized
def test_a_program_in_pieces_gives_the_same(monkeypatch):
    """Very long programs are functions that hand values on in memory; here the limits are low."""
    from linkwise.codegen.llvm import program

    arm = lw.load("planar3")
    q, qd, _, tau = states(arm, 11)
    whole = lw.compile(lw.forward_dynamics_derivatives, arm)(q, qd, tau)

    def matrices(arm, q, qd, tau):
        return (*lw.forward_dynamics_derivatives(arm, q, qd, tau), np.ones(2), qd)

    monkeypatch.setattr(program, "MANY", 20)
    monkeypatch.setattr(program, "LONG", 100)
    monkeypatch.setattr(program, "PIECE", 70)
    kernel = lw.compile(matrices, arm)
    assert "@piece_3_" in kernel.ir
    *found, ones, again = kernel(q, qd, tau)
    assert all(relative(a, b) < 1e-13 for a, b in zip(found, whole, strict=True))
    assert (ones == 1.0).all()
    assert (again == qd).all()
    one = kernel(q[7], qd[7], tau[7])
    assert all((a == b[7]).all() for a, b in zip(one, (*found, ones, again), strict=True))
    q[3, 1] = np.inf
    assert all(np.isnan(x[3]).all() and np.isfinite(x[2]).all() for x in kernel(q, qd, tau))
