"""Functions on configurations: laws over every kind of joint."""

import shutil
import subprocess

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkwise as lw
from effort import examples
from facts import raises
from linkwise.spatial import Placement
from orientations import apart, bounded, opposite, spins
from robots import relative

EVERY = "RPSFUECH"
CC = shutil.which("gcc") or shutil.which("cc")
TREE = lw.random_tree(11, seed=3, joints="SRFPUECHSF")
FUNCTIONS = {lw.integrate: "qv", lw.difference: "qq", lw.normalize: "q", lw.configuration_rate: "qv"}
over_functions = pytest.mark.parametrize("function", FUNCTIONS, ids=[f.__name__ for f in FUNCTIONS])


def arrays(function, robot, shape=(), seed=0):
    """Random arguments of a function; quaternions have different lengths."""
    rng = np.random.default_rng([seed, robot.n])
    made = []
    for letter in FUNCTIONS[function]:
        if letter == "v":
            made.append(rng.normal(size=(*shape, robot.n)))
        else:
            q = lw.random_configuration(robot, rng, shape)
            for start in robot.quaternions:
                q[..., start : start + 4] *= rng.uniform(0.5, 2.0, (*shape, 1))
            made.append(q)
    return made


robots = st.builds(
    lambda n, seed, joints: lw.random_tree(n, seed=seed, joints="".join(joints)),
    st.integers(1, 8),
    st.integers(0, 1000),
    st.lists(st.sampled_from(EVERY), min_size=1, max_size=8),
)


@examples(100)
@given(robot=robots, seed=st.integers(0, 10_000))
def test_difference_and_integrate_undo_each_other(robot, seed):
    q0, q1 = arrays(lw.difference, robot, (3,), seed)
    v = bounded(robot, np.random.default_rng(seed).normal(size=(3, robot.n)) * 3.0, 3.1)
    assert relative(lw.difference(robot, q0, lw.integrate(robot, q0, v)), v) < 1e-13
    back = lw.difference(robot, q0, q1)
    assert apart(robot, lw.integrate(robot, q0, back), q1) < 1e-14
    assert all((np.linalg.norm(back[..., spin], axis=-1) <= np.pi + 1e-15).all() for spin in spins(robot))
    assert relative(lw.difference(robot, q0, opposite(robot, q0)), 0.0 * v) == 0.0


@examples(50)
@given(robot=robots, seed=st.integers(0, 10_000))
def test_velocities_add_up_and_lengths_are_one(robot, seed):
    q, v = arrays(lw.integrate, robot, (2,), seed)
    times = np.array([0.3, 1.7])
    half = lw.integrate(robot, lw.integrate(robot, q, v, times), v, times)
    whole = lw.integrate(robot, q, v, 2.0 * times)
    assert relative(half, whole) < 1e-13
    for start in robot.quaternions:
        assert np.abs((whole[:, start : start + 4] ** 2).sum(-1) - 1.0).max() < 1e-15
    assert relative(lw.integrate(robot, q, v, 0.0), lw.normalize(robot, q)) < 1e-15


def test_the_rate_of_a_configuration_is_the_derivative_of_integrate():
    q, v = arrays(lw.integrate, TREE)
    slope = lw.derivative(lw.integrate, TREE, "dt", dt=lw.Input())(q, v, 0.0)
    rate = lw.configuration_rate(TREE, lw.normalize(TREE, q), v)
    assert relative(slope, rate) < 1e-14
    lengths = lw.configuration_rate(TREE, q, v)
    for start in TREE.quaternions:
        own = slice(start, start + 4)
        assert relative(lengths[own], rate[own] * np.linalg.norm(q[own])) < 1e-14


def exact_turn(q0, q1):
    """The rotation vector in many digits, of the numbers as they are."""
    p, q = ([mpmath.mpf(float(x)) for x in numbers] for numbers in (q0, q1))
    (w, x, y, z), (a, b, c, d) = p, q
    r = [w * a + x * b + y * c + z * d, w * b - x * a - y * d + z * c, w * c + x * d - y * a - z * b]
    r.append(w * d - x * c + y * b - z * a)
    r = [-x for x in r] if r[0] < 0 else r
    length = mpmath.sqrt(sum(x * x for x in r[1:]))
    return [2 * mpmath.atan2(length, r[0]) * x / length for x in r[1:]]


@pytest.mark.parametrize("generated", [False, True])
def test_difference_has_all_digits_at_every_angle(generated):
    """Also of turns of 1e-12, between any two orientations; plain, and by the arithmetic of generated code."""
    ball = lw.chain(1, joints="S")
    program = lw.trace(lw.difference, ball)
    rng = np.random.default_rng(0)
    angles = [*np.pi * 10.0 ** -np.linspace(0.01, 12.5, 40), *(np.pi - 10.0 ** -np.linspace(0, 6, 10))]
    with mpmath.workdps(50):
        for k, angle in enumerate(angles):
            q0 = np.array([1.0, 0.0, 0.0, 0.0]) if k % 2 else lw.random_configuration(ball, rng)
            axis = rng.normal(size=3)
            q1 = lw.integrate(ball, q0, angle * axis / np.linalg.norm(axis)) * (-1.0) ** (k // 2)
            v = lw.graph.evaluate(program, q0, q1)[0] if generated else lw.difference(ball, q0, q1)
            exact = exact_turn(q0, q1)
            error = mpmath.sqrt(sum((mpmath.mpf(float(x)) - y) ** 2 for x, y in zip(v, exact, strict=True)))
            assert error < 2e-15 * angle
            digits = [np.array([mpmath.mpf(float(x)) for x in q], dtype=object) for q in (q0, q1)]
            many = lw.difference(ball, *digits)
            assert max(abs(x - y) for x, y in zip(many, exact, strict=True)) < mpmath.mpf(10) ** -40 * angle
            again = lw.difference(ball, digits[0], lw.integrate(ball, digits[0], many))
            assert max(abs(x - y) for x, y in zip(again, many, strict=True)) < mpmath.mpf(10) ** -40


def test_half_a_turn_goes_along_the_vector_part_as_given():
    ball = lw.chain(1, joints="S")
    start = [1.0, 0.0, 0.0, 0.0]
    for end in np.concatenate([np.eye(4)[1:], -np.eye(4)[1:]]):
        assert relative(lw.difference(ball, start, end), np.pi * end[1:]) < 1e-15
    assert relative(lw.difference(ball, start, [-3.0, 0.0, 0.0, 0.0]), np.zeros(3)) == 0.0  # the same orientation


def test_lengths_that_differ_greatly_leave_the_orientation():
    ball = lw.chain(1, joints="S")
    q0, q1 = lw.random_configuration(ball, 0), lw.random_configuration(ball, 1)
    for scale in (1e-100, 1e-5, 0.4, 1.9, 1e5, 1e100):
        assert relative(lw.difference(ball, q0 * scale, q1), lw.difference(ball, q0, q1)) < 1e-14
        assert relative(lw.difference(ball, q0, q1 * scale), lw.difference(ball, q0, q1)) < 1e-14


@over_functions
def test_compiled_and_traced_give_what_plain_python_gives(function):
    args = arrays(function, TREE, (5,))
    plain = function(TREE, *args)
    with lw.use_kernels("always"):
        assert relative(function(TREE, *args), plain) < 1e-14
        assert relative(function(TREE, *(x[0] for x in args)), plain[0]) < 1e-14
        single = function(TREE, *(x.astype(np.float32) for x in args))
        assert single.dtype == np.float32
        assert relative(single, plain) < 2e-6
    assert relative(lw.graph.evaluate(lw.trace(function, TREE), *args)[0], plain) < 1e-14
    assert lw.count(function, TREE).total > 0


@pytest.mark.skipif(CC is None, reason="runs where there is a C compiler")
@pytest.mark.parametrize(("function", "keywords"), [(lw.integrate, {"dt": lw.Input()}), (lw.difference, {})])
def test_the_c_file_gives_what_python_gives(function, keywords, tmp_path):
    source = lw.c_source(function, lw.chain(3, joints="SRF"), self_test=True, **keywords)
    file, _ = source.save(tmp_path)
    subprocess.run([CC, "-std=c99", "-Wall", "-Werror", file, "-o", tmp_path / "test", "-lm"], check=True)
    subprocess.run([tmp_path / "test"], check=True, capture_output=True)  # which compares with plain Python


def test_time_may_be_a_number_or_an_array_also_where_it_is_compiled():
    q, v = arrays(lw.integrate, TREE, (4,))
    times = np.linspace(-1.0, 2.0, 4)
    one_by_one = np.stack([lw.integrate(TREE, q[k], v[k], float(times[k])) for k in range(4)])
    program = lw.trace(lw.integrate, TREE, dt=lw.Input())
    assert relative(lw.integrate(TREE, q, v, times), one_by_one) < 1e-15
    assert relative(lw.graph.evaluate(program, q, v, times)[0], one_by_one) < 1e-15
    assert lw.integrate(TREE, q[0], v[0], times[:, None] * np.ones(3)).shape == (4, 3, TREE.nq)
    with lw.use_kernels("always"):
        assert relative(lw.integrate(TREE, q, v, times), one_by_one) < 1e-14
        for dt in (1.0, 1, 0.25):
            assert relative(lw.integrate(TREE, q, v, dt), lw.integrate.plain(TREE, q, v, dt)) < 1e-14
    single = lw.integrate(TREE, q.astype(np.float32), v.astype(np.float32), 0.25)
    assert single.dtype == np.float32
    assert relative(single, lw.integrate(TREE, q, v, 0.25)) < 1e-6


@over_functions
def test_batches_bad_states_and_messages(function):
    args = arrays(function, TREE, (2, 3))
    whole = function(TREE, *args)
    assert relative(whole[1, 2], function(TREE, *(x[1, 2] for x in args))) < 1e-15
    if len(args) > 1:
        assert relative(function(TREE, args[0][0, 0], args[1])[0, 0], whole[0, 0]) < 1e-15
    bad = args[0].copy()
    start = TREE.quaternions[1]
    bad[0, 1, start : start + 4] = 0.0
    bad[1, 2, 0] = np.inf
    for mode in ("never", "always"):
        with lw.use_kernels(mode):
            result = function(TREE, bad, *args[1:])
        lost = np.isnan(result)
        assert (lost.all(axis=-1) == [[False, True, False], [False, False, True]]).all()
        assert lost.any(axis=-1).sum() == 2
    for state, said in (((0, 1), "begins a quaternion of length zero"), ((1, 2), "expected finite numbers")):
        with pytest.raises(ValueError, match=said):
            function(TREE, bad[state], *args[1:], check=True)
    with pytest.raises(ValueError, match=rf"expected \(\.\.\., {args[-1].shape[-1]}\)"):
        function(TREE, *args[:-1], args[-1][..., 1:])
    with raises(TypeError, "Robot"):
        function("arm", *args)


def slopes_at_rest(robot):
    """A configuration, no velocity, weights for the results, and the weighted derivatives of both functions there.

    That of `difference` is along the velocities; `Q(robot, q)` gives those of the other libraries, by the numbers of q.
    """
    q, v = lw.random_configuration(robot, 0), np.zeros(robot.n)
    by_graph = [lw.derivative(lw.integrate, robot, "v")(q, v), lw.derivative(lw.difference, robot, "q1")(q, q)]
    weights = [np.random.default_rng(1).normal(size=len(slope)) for slope in by_graph]
    return q, v, weights, [w @ slope for w, slope in zip(weights, by_graph, strict=True)], by_graph


def Q(robot, q):
    """From velocities to the rates of q: (nq, n)."""
    return lw.configuration_rate(robot, q, np.eye(robot.n)).T


def test_derivatives_at_rest_are_finite_and_undo_each_other():
    q, _, _, _, (moved, between) = slopes_at_rest(TREE)
    assert relative(between, np.eye(TREE.n)) < 1e-14
    assert relative(moved, Q(TREE, q)) < 1e-14


@pytest.mark.parametrize(("dtype", "bound"), [(np.float64, 1e-14), (np.float32, 1e-6)])
def test_torch_has_the_same_gradients_at_rest(dtype, bound):
    torch = pytest.importorskip("torch")
    robot = lw.chain(3, joints="SRF")
    q, v, weights, expected, _ = slopes_at_rest(robot)
    start, *w = (torch.tensor(x.astype(dtype)) for x in (q, *weights))
    rates, end = (torch.tensor(x.astype(dtype), requires_grad=True) for x in (v, q))
    (w[0] @ lw.integrate(robot, start, rates) + w[1] @ lw.difference(robot, start, end)).backward()
    assert relative(rates.grad, expected[0]) < bound
    assert relative(end.grad.numpy() @ Q(robot, q), expected[1]) < bound


def test_jax_has_the_same_gradients_at_rest():
    jax, jnp = pytest.importorskip("jax"), pytest.importorskip("jax.numpy")
    robot = lw.chain(1, joints="S")
    q, v, weights, expected, _ = slopes_at_rest(robot)
    q, v, *w = (jnp.asarray(x, dtype=jnp.float32) for x in (q, v, *weights))
    slopes = jax.jit(
        jax.grad(lambda x, y: w[0] @ lw.integrate(robot, q, x) + w[1] @ lw.difference(robot, q, y), (0, 1))
    )
    by_v, by_q = map(np.asarray, slopes(v, q))
    assert relative(by_v, expected[0]) < 1e-6
    assert relative(by_q @ Q(robot, np.asarray(q, dtype=float)), expected[1]) < 1e-6


def test_neutral_does_not_move_anything():
    for robot in (TREE, lw.load("puma560"), lw.chain(3, joints="FSE")):
        q = lw.neutral(robot)
        assert q.shape == (robot.nq,)
        assert np.abs(q).sum() == len(robot.quaternions)
        assert relative(lw.integrate(robot, q, np.zeros(robot.n)), q) == 0.0
        for joint in robot.moving:
            motion = [robot.links[k].joint.motion(x) for k, x in enumerate(robot.coordinates.positions(list(q)))]
            total = Placement.identity()
            for k in range(joint.first, joint.link + 1):
                total = total.then(motion[k])
                total = total.then(robot.links[k + 1].placement) if k < joint.link else total
            last = total.then(joint.kind.after)
            seat = joint.kind.joint_frame
            assert relative(np.array(last.matrix(), float), np.array(seat.matrix(), float)) < 1e-15
    with raises(TypeError, "Robot"):
        lw.neutral("puma560")


def test_random_configurations_fill_the_limits_and_all_orientations():
    rows = lw.chain(5, joints="RPSFE").rows
    rows[0]["limits"], rows[1]["limits"] = (-0.5, 2.0), (0.2, 0.3)
    robot = lw.Robot.from_dh(rows, convention="standard")
    q = lw.random_configuration(robot, np.random.default_rng(0), 4000)
    ends = [(-0.5, 2.0), (0.2, 0.3), *[(-1, 1)] * 4, *[(-1, 1)] * 3, *[(-1, 1)] * 4, (-1, 1), (-1, 1), (-np.pi, np.pi)]
    for column, (low, high) in zip(q.T, ends, strict=True):
        width = high - low
        assert low <= column.min() < low + 0.05 * width
        assert high - 0.05 * width < column.max() <= high
    axes = lw.poses(lw.chain(1, joints="S"), q[:, 2:6])[:, 0, :3, :3]
    assert np.abs(axes.mean(axis=0)).max() < 0.05  # every direction is as likely as its opposite
    assert np.abs((axes**2).mean(axis=0) - 1.0 / 3.0).max() < 0.03
    for shape in (3.5, "3", (2, -1)):
        with raises(TypeError, "shape"):
            lw.random_configuration(robot, 0, shape)
    assert (lw.random_configuration(robot, 7) == lw.random_configuration(robot, np.random.default_rng(7))).all()


def test_coupled_joints_have_no_coordinate():
    rows = lw.chain(4, joints="RSRP").rows
    rows[2] |= {"coupled_to": "link1", "ratio": -2.0, "offset": 0.3}
    robot = lw.Robot.from_dh(rows, convention="standard")
    q, v = arrays(lw.integrate, robot)
    assert (robot.nq, robot.n) == (6, 5)
    assert relative(lw.difference(robot, q, lw.integrate(robot, q, v)), v) < 1e-14
    assert lw.random_configuration(robot, 0, (2, 3)).shape == (2, 3, 6)
    q = lw.normalize(robot, q)
    assert relative(lw.convert_state(robot, q, target="pinocchio"), q[[0, 2, 3, 4, 1, 5]]) < 1e-15
