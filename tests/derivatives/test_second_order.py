"""Second derivatives in packed form, and those of forward dynamics as kernels: the dense results, for every robot."""

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises
from joint_kinds import BALL, SCREWS, states
from linkwise.derivatives.closed_form_derivatives import second_derivatives_by_products
from robots import relative

TREES = [lw.load("planar3"), BALL, SCREWS, lw.random_tree(6, seed=3, joints="RP")]


@pytest.mark.parametrize("robot", TREES, ids=lambda robot: robot.name)
def test_packed_values_are_all_that_the_results_consist_of(robot):
    q, qd, qdd, _ = states(robot, 3)
    packed = lw.derivatives.packed(lw.inverse_dynamics_second_derivatives, robot)
    dense = lw.inverse_dynamics_second_derivatives(robot, q, qd, qdd)
    values = packed(q, qd, qdd)
    assert values.shape == (3, packed.size)
    for tensor, places, exact in zip(packed.unpack(values), packed.places, dense, strict=True):
        assert relative(tensor, exact) < 1e-13
        assert (exact[:, places < 0] == 0.0).all()
    assert sorted({k for places in packed.places for k in places.flat} - {-1}) == list(range(packed.size))


def test_unpacked_tensors_of_torch_stay_such_and_have_gradients():
    torch = pytest.importorskip("torch")
    inertia = lw.derivatives.packed(lw.inertia_matrix, lw.load("planar3"))
    q = torch.tensor([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]], dtype=torch.float64, requires_grad=True)
    matrix = inertia.unpack(inertia(q))
    assert np.allclose(matrix.detach().numpy(), lw.inertia_matrix(lw.load("planar3"), q.detach().numpy()))
    (gradient,) = torch.autograd.grad(matrix[..., 0, 0].sum(), q)
    slope = lw.derivative(lw.inertia_matrix, lw.load("planar3"), "q")(q.detach().numpy())
    assert np.allclose(gradient.numpy(), slope[:, 0, 0])


def test_unpacking_can_be_traced_by_jax():
    jax = pytest.importorskip("jax")
    inertia = lw.derivatives.packed(lw.inertia_matrix, lw.load("planar3"))
    q = np.array([0.1, 0.2, 0.3], dtype=np.float32)
    matrix = jax.jit(lambda q: inertia.unpack(inertia(q)))(q)
    assert np.allclose(matrix, lw.inertia_matrix(lw.load("planar3"), q), rtol=1e-5)


def test_packed_results_are_the_same_compiled():
    arm = TREES[0]
    q = states(arm, 5)[0]
    inertia = lw.derivatives.packed(lw.inertia_matrix, arm)
    kernel = lw.compile(inertia, arm)
    assert kernel(q).shape == (5, 6)
    assert relative(inertia.unpack(kernel(q)), lw.inertia_matrix(arm, q)) < 1e-14
    assert relative(inertia.plain(arm, q), kernel(q)) < 1e-14
    with raises(ValueError, "values", "(5, 5)", "(..., 6)"):
        inertia.unpack(kernel(q)[:, 1:])


@pytest.mark.parametrize(
    ("robot", "dtype"),
    rest_slow([(robot, dtype) for robot in TREES for dtype in ("float64", "float32")], [(BALL, "float64")]),
)
def test_second_derivatives_of_forward_dynamics_compiled(robot, dtype):
    q, qd, _, tau = states(robot, 19)  # more than are computed at once
    kernel = lw.compile(lw.forward_dynamics_second_derivatives, robot, dtype=dtype)
    exact = lw.forward_dynamics_second_derivatives(robot, q, qd, tau)
    found = kernel(*(x.astype(dtype) for x in (q, qd, tau)), threads=2)
    tolerance = 1e-11 if dtype == "float64" else 1e-2
    assert all(relative(a, b) < tolerance for a, b in zip(found, exact, strict=True))
    one = kernel(*(x[3].astype(dtype) for x in (q, qd, tau)))
    assert all((a == b[3]).all() for a, b in zip(one, found, strict=True))


def test_code_from_the_cache_is_that_of_the_robot(monkeypatch, tmp_path):
    """Of robots with as many joints and other zeros; the second time from files alone."""
    robots = [lw.chain(2), lw.chain(2, joints="RP"), lw.chain(2, joints="PR")]
    given = [states(robot, 3) for robot in robots]
    exact = [
        second_derivatives_by_products(robot, q, qd, tau) for robot, (q, qd, _, tau) in zip(robots, given, strict=True)
    ]
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))
    for _ in range(2):
        for robot, (q, qd, _, tau), tensors in zip(robots, given, exact, strict=True):
            found = lw.compile(lw.forward_dynamics_second_derivatives, robot)(q, qd, tau)
            assert all(np.allclose(a, b, rtol=0.0, atol=1e-10) for a, b in zip(found, tensors, strict=True))


@pytest.mark.slow
def test_one_state_without_a_number_is_nan_throughout():
    robot = TREES[-1]
    q, qd, _, tau = states(robot, 6)
    qd[2, 1] = np.nan
    with lw.use_kernels("always"):
        found = lw.forward_dynamics_second_derivatives(robot, q, qd, tau)
    assert all(np.isnan(x[2]).all() and np.isfinite(x[[0, 1, 3, 4, 5]]).all() for x in found)


def test_the_public_function_runs_compiled_once_that_pays():
    robot = lw.random_tree(3, seed=11)
    q, qd, _, tau = states(robot, 300)
    with lw.use_kernels("auto"):
        compiled = lw.forward_dynamics_second_derivatives(robot, q, qd, tau)
    assert np.array_equal(compiled[0], lw.compile(lw.forward_dynamics_second_derivatives, robot)(q, qd, tau)[0])
    exact = second_derivatives_by_products(robot, q, qd, tau)
    assert all(np.allclose(a, b, rtol=0.0, atol=1e-10) for a, b in zip(compiled, exact, strict=True))


def test_a_state_in_which_nothing_resists_is_named():
    bead = {"joint": "prismatic", "a": 0.0, "theta": 0.0, "alpha": 0.0, "com": (0, 0, 0), "inertia": np.zeros((3, 3))}
    wire = {"joint": "revolute", "a": 0.0, "d": 0.0, "alpha": "90 deg", "com": (0, 0, 0), "inertia": np.zeros((3, 3))}
    rows = [{**wire, "name": "wire", "mass": 0.0}, {**bead, "name": "bead", "mass": 1.0}]
    robot = lw.Robot.from_dh(rows, convention="standard", name="slider")
    kernel = lw.compile(lw.forward_dynamics_second_derivatives, robot)
    q, qd, tau = np.array([[0.1, 0.5], [0.2, 0.0], [0.3, 1.0]]), np.zeros((3, 2)), np.ones((3, 2))
    with raises(lw.errors.SingularError, "robot 'slider'", "link 'wire'", "state [1]"):
        kernel(q, qd, tau)
    assert all(np.isfinite(x).all() for x in kernel(q[[0, 2]], qd[:2], tau[:2]))


def test_streamed_numbers_reach_every_place():
    """Products are written in whole lines past the caches, wherever the array begins."""
    robot = TREES[0]
    q, qd, _, tau = states(robot, 4)
    kernel = lw.compile(lw.forward_dynamics_second_derivatives, robot)
    exact = kernel(q, qd, tau)
    for shift in range(9):
        memory = [np.full(4 * 27 + 20, 7.0) for _ in range(4)]
        out = tuple(x[shift : shift + 108].reshape(4, 3, 3, 3) for x in memory)
        kernel(q, qd, tau, out=out)
        assert all((a == b).all() for a, b in zip(out, exact, strict=True))
        assert all((x[:shift] == 7.0).all() and (x[shift + 108 :] == 7.0).all() for x in memory)


@pytest.mark.slow
def test_a_robot_of_many_legs():
    robot = lw.load("go1")
    q, qd, _, tau = states(robot, 3)
    found = lw.compile(lw.forward_dynamics_second_derivatives, robot)(q, qd, tau)
    exact = second_derivatives_by_products(robot, q, qd, tau)
    assert all(relative(a, b) < 1e-11 for a, b in zip(found, exact, strict=True))
