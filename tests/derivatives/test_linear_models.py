"""Linear models: what they predict is what the equations of motion do; equilibria: nothing accelerates there."""

import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises, warns
from joint_kinds import CHAIN, COUPLED
from joint_kinds import states as jointed_states
from linkwise.derivatives.linear_models import zero_order_hold
from robots import relative

PLANAR = lw.load("planar3")
TREE = lw.random_tree(4, seed=8)
BALLS = lw.chain(2, seed=2, joints="SR")
FLOATING = lw.chain(1, seed=2).with_free_base(mass=2.0, inertia=np.diag([1.0, 1.2, 1.4]))

DRAG = lw.Friction(viscous=0.3, coulomb=0.2, smooth=0.5)
ROBOTS = [TREE, BALLS, CHAIN, COUPLED, FLOATING]


def rates(robot: lw.Robot, q: Any, qd: Any, tau: Any, x: np.ndarray, **options: Any) -> np.ndarray:
    """d/dt of the deviation x = (ξ, δv), by differences of two motions: of the moved state, and of the state."""
    n, h = robot.n, 1e-4
    ends = []
    for step in (h, -h):
        pairs = []
        for moved in (x, np.zeros(2 * n)):
            at, v = lw.integrate(robot, q, moved[:n]), qd + moved[n:]
            a = lw.forward_dynamics(robot, at, v, tau, **options)
            pairs.append((lw.integrate(robot, at, step * v + 0.5 * step**2 * a), v + step * a))
        (q1, v1), (q0, v0) = pairs
        ends.append(np.concatenate([lw.difference(robot, q0, q1), v1 - v0]))
    return (ends[0] - ends[1]) / (2 * h)


@pytest.mark.parametrize("robot", rest_slow(ROBOTS, [BALLS]), ids=["tree", "balls", "chain", "coupled", "floating"])
@pytest.mark.parametrize("friction", rest_slow([False, DRAG], [DRAG]), ids=["", "friction"])
def test_deviations_move_as_the_model_says(robot: lw.Robot, friction: Any) -> None:
    q, qd, _, tau = jointed_states(robot)
    A, B = lw.linearize(robot, q, qd, tau, friction=friction)
    n = robot.n
    assert A.shape == (2 * n, 2 * n)
    assert B.shape == (2 * n, n)
    size = 1e-4
    for seed in range(3):
        x = np.random.default_rng(seed).normal(size=2 * n)
        sides = [rates(robot, q, qd, tau, e * x, friction=friction) for e in (size, -size)]
        assert relative((sides[0] - sides[1]) / (2 * size), A @ x) < 3e-6
    if not robot.couplings:
        assert relative(B[n:], lw.inverse_inertia_matrix(robot, q)) < 1e-10
    assert not B[:n].any()


def test_batches_broadcast_and_a_bad_state_is_blank() -> None:
    q, qd, tau = np.random.default_rng(0).normal(size=(3, 2, 3, 3))
    q[1, 2, 0] = np.nan
    for mode in ("never", "always"):
        for dt in (None, 0.01):
            with lw.use_kernels(mode):
                model = lw.linearize(PLANAR, q, qd[0, 0], tau[:, :1], dt)
            assert model.A.shape == (2, 3, 6, 6)
            assert model.B.shape == (2, 3, 6, 3)
            assert np.isnan(model.A[1, 2]).all()
            assert np.isnan(model.B[1, 2]).all()
            one = lw.linearize(PLANAR, q[0, 1], qd[0, 0], tau[0, 0], dt)
            assert relative(model.A[0, 1], one.A) < 1e-12
            assert relative(model.B[0, 1], one.B) < 1e-12
    assert lw.linearize(PLANAR, *np.ones((3, 4, 3), np.float32), 0.1).A.dtype == np.float32


def test_a_held_torque_takes_the_state_where_the_model_says() -> None:
    """The linear system itself, integrated in small steps; and two half steps are one step."""
    q, qd, tau = np.random.default_rng(1).normal(size=(3, 3))
    A, B = lw.linearize(PLANAR, q, qd, tau)
    dt = 0.05
    step = lw.linearize(PLANAR, q, qd, tau, dt)
    x, u = np.random.default_rng(2).normal(size=6), np.random.default_rng(3).normal(size=3)
    y, count = x, 200
    for _ in range(count):
        h, k = dt / count, []
        for weight in (0.0, 0.5, 0.5, 1.0):
            k.append(A @ (y + weight * h * (k[-1] if k else 0 * y)) + B @ u)
        y = y + h / 6 * (k[0] + 2 * k[1] + 2 * k[2] + k[3])
    assert relative(step.A @ x + step.B @ u, y) < 1e-9
    half = lw.linearize(PLANAR, q, qd, tau, dt / 2)
    assert relative(half.A @ half.A, step.A) < 1e-13
    assert relative(half.A @ half.B + half.B, step.B) < 1e-13


@pytest.mark.parametrize("scale", [1e-3, 0.05, 0.3, 1.0, 5.0, 40.0])
def test_matrix_exponentials_to_many_digits(scale: float) -> None:
    mpmath = pytest.importorskip("mpmath")
    random = np.random.default_rng(0)
    A, B = random.normal(size=(2, 4, 4)) * scale / 5, random.normal(size=(2, 4, 2))
    found = zero_order_hold(A, B, 0.5)
    with mpmath.workdps(40):
        for k in range(2):
            block = np.zeros((6, 6))
            block[:4, :4], block[:4, 4:] = 0.5 * A[k], 0.5 * B[k]
            exact = np.array(mpmath.expm(mpmath.matrix(block.tolist()), method="taylor").tolist(), dtype=float)
            assert relative(found[0][k], exact[:4, :4]) < 3e-15 * max(1.0, scale)
            assert relative(found[1][k], exact[:4, 4:]) < 3e-15 * max(1.0, scale)


def test_a_batch_of_matrices_of_all_sizes_is_each_of_them_alone() -> None:
    """Degrees, chunks and squarings are chosen by the matrix alone; what cannot be computed is blank."""
    random = np.random.default_rng(1)
    A = random.normal(size=(700, 6, 6)) * 10.0 ** random.uniform(-4, 2, size=(700, 1, 1))
    B = random.normal(size=(700, 6, 2))
    A[3, 1, 2], A[4], A[5], B[6, 0, 0] = np.inf, 1e4 * np.eye(6), 0.0, np.nan
    together = zero_order_hold(A.reshape(70, 10, 6, 6), B.reshape(70, 10, 6, 2), 0.1)
    assert together[0].shape == (70, 10, 6, 6)
    for k in range(0, 700, 23):
        alone = zero_order_hold(A[k], B[k], 0.1)
        for one, many in zip(alone, together, strict=True):
            assert relative(many.reshape(700, *one.shape)[k], one) < 1e-14
    for k in (3, 4, 6):
        assert all(np.isnan(x.reshape(700, -1)[k]).all() for x in together)
    assert np.array_equal(together[0][0, 5], np.eye(6))
    assert np.array_equal(together[1][0, 5], 0.1 * B[5])
    assert zero_order_hold(np.zeros((0, 3, 3)), np.zeros((0, 3, 1)), 1.0)[1].shape == (0, 3, 1)


def test_external_wrenches_are_in_the_model() -> None:
    q, qd, tau = np.random.default_rng(1).normal(size=(3, 3))
    wrench = np.array([0.0, 0, 0, 3.0, -2.0, 0])
    pushed, plain = lw.linearize(PLANAR, q, qd, tau, wrench=wrench), lw.linearize(PLANAR, q, qd, tau)
    x = np.random.default_rng(5).normal(size=6) * 1e-4
    ends = [lw.forward_dynamics(PLANAR, q + e * x[:3], qd + e * x[3:], tau, wrench) for e in (1, -1)]
    assert relative((ends[0] - ends[1]) / 2, (pushed.A @ x)[3:]) < 1e-6
    assert relative(pushed.A, plain.A) > 1e-3


@pytest.mark.parametrize("robot", [PLANAR, BALLS], ids=["arm", "balls"])
def test_a_law_as_torque_gives_the_closed_loop(robot: lw.Robot) -> None:
    random = np.random.default_rng(0)
    q, qd = lw.normalize(robot, random.normal(size=(4, robot.nq))), random.normal(size=robot.n)
    law = lw.control.springs(5.0, damping=0.3)
    A, B = lw.linearize(robot, q, qd, law)
    size, n = 1e-4, robot.n
    for k in range(4):
        x = random.normal(size=2 * n)
        sides = []
        for e in (size, -size):
            moved = lw.integrate(robot, q[k], e * x[:n]), qd + e * x[n:]
            sides.append(lw.forward_dynamics(robot, *moved, law(robot, 0.0, *moved)))
        assert relative((sides[0] - sides[1]) / (2 * size), (A[k] @ x)[n:]) < 1e-5
    open_loop = lw.linearize(robot, q, qd, np.array([law(robot, 0.0, each, qd) for each in q]))
    assert relative(B, open_loop.B) < 1e-12
    assert relative(A[:, :n], open_loop.A[:, :n]) < 1e-12
    step = lw.linearize(robot, q[0], qd, law, 0.01)
    assert step.dt == 0.01
    with raises(TypeError, "lw.simulate", "law.step(robot, t, q, qd, state)"):
        lw.linearize(robot, q[0], qd, lw.control.sampled(law, 0.001))


def test_smoothed_friction_at_rest_is_warned_of() -> None:
    zeros, dry = np.zeros((3, 3)), lw.Friction(viscous=0.1, coulomb=0.5)
    with warns(UserWarning, "Coulomb", "link1", "500", "lw.Friction(coulomb=0)"):
        lw.linearize(PLANAR, *zeros, friction=dry)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lw.linearize(PLANAR, *zeros, friction=lw.Friction(viscous=0.1, coulomb=0))
        lw.linearize(PLANAR, *zeros, friction=lw.Friction(viscous=0.1, coulomb=0.5, smooth=0))
        lw.linearize(PLANAR, zeros[0], np.ones((4, 3)), zeros[0], friction=dry)


def test_a_model_remembers_its_step_and_prints_in_a_line() -> None:
    zeros = np.zeros((3, 3))
    continuous, step = lw.linearize(PLANAR, *zeros), lw.linearize(PLANAR, *zeros, 0.002)
    assert continuous.dt is None
    assert step.dt == 0.002
    assert repr(continuous) == "<LinearModel, continuous: A (6, 6), B (6, 3)>"
    assert pickle.loads(pickle.dumps(step)).dt == 0.002


def test_without_rates_and_torques_the_robot_is_held_at_rest() -> None:
    q = np.random.default_rng(5).normal(size=(2, 3))
    for options in ({}, {"wrench": np.arange(6.0)}, {"friction": lw.Friction(viscous=0.3, coulomb=0.0)}):
        wrench = options.get("wrench")
        held_by = lw.equilibrium(PLANAR, q, wrench=wrench).tau
        model = lw.linearize(PLANAR, q, **options)
        for found, exact in zip(model, lw.linearize(PLANAR, q, np.zeros(3), held_by, **options), strict=True):
            assert relative(found, exact) < 1e-12
        steady = lw.linearize(PLANAR, q, q, dt=0.01, **options)  # at constant rates
        tau = lw.inverse_dynamics(PLANAR, q, q, np.zeros(3), **options)
        assert relative(steady.A, lw.linearize(PLANAR, q, q, tau, 0.01, **options).A) < 1e-12
    assert lw.linearize(PLANAR, q.astype(np.float32)).A.dtype == np.float32
    law = lw.control.springs(2)
    assert relative(lw.linearize(PLANAR, q, tau=law).A, lw.linearize(PLANAR, q, 0 * q, law).A) == 0
    with raises(ValueError, "'base.vz'", f"{9.81 * lw.total_mass(FLOATING):.3g} N", "tau=...", "wrench=..."):
        lw.linearize(FLOATING, lw.neutral(FLOATING))
    adrift = FLOATING.with_gravity((0, 0, 0))
    assert lw.linearize(adrift, lw.neutral(adrift)).A.shape == (14, 14)


def test_what_linearize_refuses() -> None:
    zeros = np.zeros((3, 3))
    for dt in (0.0, -1.0, np.nan, True, "1"):
        with raises(ValueError, "dt"):
            lw.linearize(PLANAR, *zeros, dt)
    with raises(ValueError, "q[0]", "nan"):
        lw.linearize(PLANAR, [np.nan, 0, 0], *zeros[1:], check=True)
    with raises(TypeError, "dt", "NumPy"):
        lw.linearize(PLANAR, zeros[0].astype(object) + lw.symbols("a"), *zeros[1:], 0.1)


@pytest.mark.parametrize("smooth", [0.0, 0.4])
@pytest.mark.parametrize("robot", [BALLS, COUPLED], ids=["balls", "coupled"])
def test_slopes_of_friction_are_the_derivatives_of_its_law(robot: lw.Robot, smooth: float) -> None:
    law = lw.Friction(viscous=0.3, coulomb=0.2, stribeck=0.5, stribeck_rate=0.7, smooth=smooth)
    qd = np.random.default_rng(0).normal(size=robot.n)
    slope = lw.derivative(lambda arm, qd: law.torque(arm, qd), robot, "qd")
    assert relative(np.diag(law.slopes(robot, list(qd))), slope(qd)) < 1e-13


def test_the_model_is_a_function_like_any_other() -> None:
    """It compiles, leaves as C, and has symbols in it."""
    q, qd, tau = np.random.default_rng(1).normal(size=(3, 4, 3))
    expected = lw.linearize(PLANAR, q, qd, tau)
    kernel = lw.compile(lw.linearize, PLANAR)
    for found, exact in zip(kernel(q, qd, tau), expected, strict=True):
        assert relative(found, exact) < 1e-12
    with lw.use_kernels("always"):
        for dt in (None, 0.1):
            for friction in (False, lw.Friction(viscous=0.5)):
                found = lw.linearize(PLANAR, q[0], qd[0], tau[0], dt, friction=friction)
                with lw.use_kernels("never"):
                    plain = lw.linearize(PLANAR, q[0], qd[0], tau[0], dt, friction=friction)
                assert relative(found.A, plain.A) < 1e-12
    source = lw.c_source(lw.linearize, PLANAR, self_test=True)
    assert "double A[36]" in source
    assert "double B[18]" in source
    angle = lw.symbols("a")
    A, _ = lw.linearize(PLANAR, np.array([angle, 0.1, 0.2]), np.zeros(3), np.zeros(3))
    assert A.dtype == object


# equilibria


def at_rest(robot: lw.Robot, q: Any, tau: Any, **loads: Any) -> np.ndarray:
    return lw.forward_dynamics(robot, q, np.zeros(robot.n), tau, **loads)


@pytest.mark.parametrize("robot", [TREE, CHAIN, COUPLED], ids=["tree", "balls", "coupled"])
def test_driven_joints_hold_any_configuration(robot: lw.Robot) -> None:
    q, *_ = jointed_states(robot, 4)
    found = lw.equilibrium(robot, q, passive=())
    assert np.array_equal(found.q, q)
    assert relative(found.tau, lw.gravity_torque(robot, q)) < 1e-12
    one = lw.equilibrium(robot, q[0], passive=[])
    assert one.tau.shape == (robot.n,)


def test_passive_joints_move_to_balance_and_driven_ones_stay() -> None:
    q = np.random.default_rng(0).normal(size=(5, 3))
    for passive in (PLANAR.names[1], list(PLANAR.names[1:]), PLANAR.names):
        names = [passive] if isinstance(passive, str) else passive
        index = [PLANAR.names.index(name) for name in names]
        driven = [k for k in range(3) if k not in index]
        for moving in (None, PLANAR.names):
            found = lw.equilibrium(PLANAR, q, passive=passive, moving=moving)
            assert not found.tau[:, index].any()
            assert np.abs(lw.gravity_torque(PLANAR, found.q) - found.tau).max() < 1e-8
            assert np.abs(found.q - q).max() < 2 * np.pi
            assert moving is not None or np.array_equal(found.q[:, driven], q[:, driven])
    sliding = lw.chain(3, seed=4, joints="RPR")
    found = lw.equilibrium(sliding, [0.3, 0.1, 0.2], passive=sliding.names[2])
    assert found.q[:2].tolist() == [0.3, 0.1]


def test_an_equilibrium_shows_its_numbers_by_name_and_remains_a_pair() -> None:
    found = lw.equilibrium(lw.chain(2, seed=1, joints="RP"), [0.25, 0.5])
    q, tau = found
    lines = repr(found).splitlines()
    assert lines[1:3] == ["  q", "    link1 = 0.25"]
    assert lines[-1] == f"    link2 = {tau[1]:.6g} N"
    again = pickle.loads(pickle.dumps(found))
    assert repr(again) == repr(found)
    assert isinstance(again, lw.results.Equilibrium)
    assert q is found.q
    assert repr(lw.equilibrium(PLANAR, np.zeros((4, 3)))) == "<Equilibrium of robot 'planar3': q (4, 3), tau (4, 3)>"


def test_torques_that_are_given_find_their_configuration() -> None:
    q = np.random.default_rng(3).uniform(-0.5, 0.5, size=(300, 3))
    tau = lw.gravity_torque(PLANAR, q)
    with lw.use_kernels("auto"):
        found = lw.equilibrium(PLANAR, q + 0.05, tau)
    assert np.abs(lw.gravity_torque(PLANAR, found.q) - tau).max() < 1e-8
    assert np.array_equal(found.tau, tau)


@pytest.mark.slow
def test_an_equilibrium_is_near_the_start() -> None:
    """Hanging and upright are a quarter turn away from an arm stretched out to the side, where steps lead nowhere."""
    assert np.abs(lw.equilibrium(PLANAR, [0, 0, 0], [0, 0, 0]).q).sum() == pytest.approx(np.pi / 2)
    chain = lw.chain(5, seed=1, joints="RRRRR")  # its potential energy has a minimum, so that there is one
    starts = np.random.default_rng(1).uniform(-1, 1, size=(8, 5))
    found = lw.equilibrium(chain, starts, np.zeros(5))
    assert np.abs(lw.gravity_torque(chain, found.q)).max() < 1e-6
    assert np.linalg.norm(found.q - starts, axis=-1).max() < 2.5


def test_a_torque_function_finds_where_the_robot_sags() -> None:
    springs = lw.control.springs(20.0, rest=[0.1, 0.2, 0.3])
    found = lw.equilibrium(PLANAR, [0.1, 0.2, 0.3], springs)
    assert np.abs(at_rest(PLANAR, found.q, found.tau)).max() < 1e-6
    law = lambda arm, t, q, qd: np.stack([20 * (0.1 * (k + 1) - q[k]) for k in range(3)])  # noqa: E731
    by_components = lw.equilibrium(PLANAR, found.q + np.zeros((3, 1)), law)  # a function of one state, for three
    assert np.abs(by_components.tau - found.tau).max() < 1e-7
    ball = lw.chain(2, seed=1, joints="SS")
    zero_order_hold = lw.equilibrium(ball, lw.neutral(ball), lw.control.springs(100.0))
    assert np.abs(lw.gravity_torque(ball, zero_order_hold.q) - zero_order_hold.tau).max() < 1e-7


@pytest.mark.parametrize(
    "take", [lambda law: lw.equilibrium(PLANAR, [0, 0, 0], law), lambda law: lw.linearize(PLANAR, [0, 0, 0], tau=law)]
)
def test_a_law_that_gives_something_else_is_named(take: Any) -> None:
    def silent(arm: lw.Robot, t: Any, q: Any, qd: Any) -> None:
        pass

    def short(arm: lw.Robot, t: Any, q: Any, qd: Any) -> Any:
        return q[:2]

    with raises(ValueError, "silent", "None"):
        take(silent)
    with raises(ValueError, "short", "(2,)", "3 joints"):
        take(short)


def test_a_base_that_floats_needs_wrenches() -> None:
    q, mass = lw.neutral(FLOATING), lw.total_mass(FLOATING)
    with raises(lw.errors.EquilibriumError, "'base.vz'", f"{9.81 * mass:.3g} N", "wrench=...", "passive=()"):
        lw.equilibrium(FLOATING, q)
    weight = np.zeros((len(FLOATING.names), 6))
    weight[0, 3:] = -mass * np.array(FLOATING.gravity)
    found = lw.equilibrium(FLOATING, q, wrench=weight)  # carried at its base, it turns until it hangs below
    assert not found.tau[:6].any()
    assert np.abs(at_rest(FLOATING, found.q, found.tau, wrench=weight)).max() < 1e-6
    drifting = lw.Robot.from_dh(FLOATING.rows, convention="standard", gravity=(0, 0, 0), name="drifting")
    assert np.array_equal(lw.equilibrium(drifting, q).q, q)


def test_what_cannot_be_held_is_an_error_that_names_the_joint() -> None:
    with raises(lw.errors.EquilibriumError, "link2", "moving="):
        lw.equilibrium(PLANAR, [0.1, 0.2, 0.3], passive="link2", moving=())
    q = np.zeros((2, 3))
    tau = lw.gravity_torque(PLANAR, q)
    tau[1, 2] = 1000.0
    with raises(lw.errors.EquilibriumError, "state [1]", "'link3'", "1e+03 N m"):
        lw.equilibrium(PLANAR, q, tau)
    with raises(lw.errors.EquilibriumError, "nan"), np.errstate(invalid="ignore"):
        lw.equilibrium(PLANAR, q, lambda arm, t, q, qd: np.log(q - 10.0))
    with raises(ValueError, "passive", "tau"):
        lw.equilibrium(PLANAR, q, tau, passive=PLANAR.names[0])
    with raises(ValueError, "moving", "tau"):
        lw.equilibrium(PLANAR, q, tau, moving=PLANAR.names[0])
    upright = lw.chain(1, joints="P")
    with raises(lw.errors.EquilibriumError, "'link1'", "passive", "q", "moving=..."):
        lw.equilibrium(upright, [0.0], passive=upright.names)
    with raises(lw.errors.RobotError, repr(PLANAR.names[0] + "x"), repr(PLANAR.names[0])):
        lw.equilibrium(PLANAR, q, passive=PLANAR.names[0] + "x")
    with raises(ValueError, "q[1]", "nan"):
        lw.equilibrium(PLANAR, [0, np.nan, 0])
    with raises(ValueError, "tolerance", "0"):
        lw.equilibrium(PLANAR, [0, 0, 0], tolerance=0)


def test_models_and_equilibria_compare_as_a_whole():
    arm, q = lw.load("planar3"), np.array([0.1, 0.2, 0.3])
    model = lw.linearize(arm, q)
    assert model == lw.linearize(arm, q)
    assert model != lw.linearize(arm, q, dt=0.01)
    assert model != lw.linearize(arm, q + 0.1)
    assert model != (model.A, model.B)
    hanging = lw.equilibrium(arm, q)
    assert hanging == lw.equilibrium(arm, q)
    assert hanging != lw.equilibrium(arm, q + 0.5)
    assert hanging != model
