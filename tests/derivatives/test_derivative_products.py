"""Derivatives by several names at once, and their products with vectors: the same numbers as one by one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises
from joint_kinds import states as jointed_states
from linkwise.derivatives import closed_form_derivatives
from robots import relative

TREE = lw.random_tree(4, seed=8)
PLANAR = lw.load("planar3")
BALLS = lw.chain(2, seed=2, joints="SR")


def states(robot: lw.Robot, *batch: int) -> np.ndarray:
    return np.random.default_rng(4).normal(size=(3, *batch, robot.n))


@pytest.mark.parametrize("robot", rest_slow([TREE, BALLS], [BALLS]), ids=["tree", "balls"])
def test_several_names_are_one_program(robot: lw.Robot) -> None:
    q, qd, qdd, _ = jointed_states(robot, 3)
    single = [lw.derivative(lw.inverse_dynamics, robot, name, mode="forward") for name in ("q", "qd", "qdd")]
    for names in (("q", "qd", "qdd"), ["qdd", "q"]):
        both = lw.derivative(lw.inverse_dynamics, robot, names, mode="forward")
        order = ["q", "qd", "qdd"]
        found = both(q, qd, qdd)
        assert isinstance(found, tuple)
        for name, slope in zip(names, found, strict=True):
            assert relative(slope, single[order.index(name)](q, qd, qdd)) < 1e-13
        assert both.count.total < sum(single[order.index(name)].count.total for name in names)
    assert both.__name__ == "d_inverse_dynamics_d_qdd_q"
    assert isinstance(lw.derivative(lw.gravity_torque, robot, ("q",))(q), np.ndarray)


def test_the_value_comes_first_and_results_of_several_outputs_in_order() -> None:
    def pair(arm: lw.Robot, q: Any, qd: Any) -> Any:
        return lw.kinetic_energy(arm, q, qd), lw.bias_torque(arm, q, qd)

    q, qd, _ = states(TREE, 2)
    energy, bias, energy_q, energy_qd, bias_q, bias_qd = lw.derivative(pair, TREE, ("q", "qd"), value=True)(q, qd)
    assert relative(energy, lw.kinetic_energy(TREE, q, qd)) < 1e-13
    assert relative(bias, lw.bias_torque(TREE, q, qd)) < 1e-13
    assert relative(energy_qd, (lw.inertia_matrix(TREE, q) @ qd[..., None])[..., 0]) < 1e-12
    assert relative(energy_q, lw.derivative(lw.kinetic_energy, TREE, "q")(q, qd)) < 1e-12
    assert relative(bias_q, lw.derivative(lw.bias_torque, TREE, "q")(q, qd)) < 1e-12
    assert bias_qd.shape == (2, 4, 4)


@pytest.mark.parametrize("robot", rest_slow([TREE, BALLS], [BALLS]), ids=["tree", "balls"])
def test_products_are_those_of_the_matrices(robot: lw.Robot) -> None:
    q, qd, qdd, weight = jointed_states(robot, 3)
    dq, dqd = np.random.default_rng(1).normal(size=(2, 3, robot.n))
    by_q, by_qd = lw.derivative(lw.inverse_dynamics, robot, ("q", "qd"))(q, qd, qdd)
    along = lw.jvp(lw.inverse_dynamics, robot, ("q", "qd"))
    assert list(along.__signature__.parameters) == ["robot", "q", "qd", "qdd", "dq", "dqd"]
    expected = np.einsum("kij,kj->ki", by_q, dq) + np.einsum("kij,kj->ki", by_qd, dqd)
    assert relative(along(q, qd, qdd, dq, dqd), expected) < 1e-12
    gradient = lw.vjp(lw.inverse_dynamics, robot, ("q", "qd"), value=True)
    assert list(gradient.__signature__.parameters) == ["robot", "q", "qd", "qdd", "weight"]
    tau, to_q, to_qd = gradient(q, qd, qdd, weight)
    assert relative(tau, lw.inverse_dynamics(robot, q, qd, qdd)) < 1e-12
    assert relative(to_q, np.einsum("kij,ki->kj", by_q, weight)) < 1e-12
    assert relative(to_qd, np.einsum("kij,ki->kj", by_qd, weight)) < 1e-12
    assert along.count.total < 4 * along.function_count.total
    assert gradient.count.total < 5 * gradient.function_count.total
    again = lw.derivative(gradient, robot, "weight")  # the transposed matrices, by way of another product
    assert relative(again(q, qd, qdd, weight)[1], np.swapaxes(by_q, -1, -2)) < 1e-12


def test_products_of_several_results_and_of_equal_ones() -> None:
    def twice(arm: lw.Robot, q: Any) -> Any:
        g = lw.gravity_torque(arm, q)
        return g, g[..., 0], g

    q, first, second = states(PLANAR)
    slope = lw.derivative(lw.gravity_torque, PLANAR, "q")(q)
    found = lw.vjp(twice, PLANAR, "q")(q, weight_0=first, weight_1=2.0, weight_2=second)
    assert relative(found, (first + second + [2.0, 0.0, 0.0]) @ slope) < 1e-12
    along, one, _ = lw.jvp(twice, PLANAR, "q")(q, dq=first)
    assert relative(along, slope @ first) < 1e-12
    assert one == pytest.approx(along[0])


def test_vectors_have_other_names_where_the_function_or_the_robot_has_theirs() -> None:
    q, qd, dq = states(PLANAR, 2)
    inertia = lw.inertia_matrix(PLANAR, q)
    twice = lw.vjp(lw.vjp(lw.kinetic_energy, PLANAR, "qd"), PLANAR, "qd")
    assert list(twice.__signature__.parameters) == ["robot", "q", "qd", "weight", "weight2"]
    assert relative(twice(q, qd, 1.0, dq), np.einsum("kij,kj->ki", inertia, dq)) < 1e-12
    assert "double weight, const double weight2[3]" in " ".join(str(lw.c_source(twice, PLANAR)).split())
    along = lw.jvp(lw.jvp(lw.kinetic_energy, PLANAR, "qd"), PLANAR, "qd")
    assert list(along.__signature__.parameters) == ["robot", "q", "qd", "dqd", "dqd2"]
    assert relative(along(q, qd, dqd=dq, dqd2=dq), np.einsum("ki,kij,kj->k", dq, inertia, dq)) < 1e-12
    assert relative(lw.jvp(lambda arm, q, dq: q * dq, PLANAR, "q")(q, dq, dq2=qd), dq * qd) < 1e-12
    pair = lw.vjp(lambda arm, q, weight_1: (q * weight_1, q), PLANAR, "q")
    assert list(pair.__signature__.parameters) == ["robot", "q", "weight_1", "weight2_0", "weight2_1"]
    rows = PLANAR.rows
    rows[-1]["mass"], rows[0]["mass"] = lw.symbols("dq weight")
    arm = lw.Robot.from_dh(rows, convention="standard", gravity=PLANAR.gravity, name="named")
    masses = {"dq": PLANAR.rows[-1]["mass"], "weight": PLANAR.rows[0]["mass"]}
    for product in (lw.jvp, lw.vjp):
        expected = product(lw.gravity_torque, PLANAR, "q")(q, dq)
        assert relative(product(lw.gravity_torque, arm, "q")(q, dq, **masses), expected) < 1e-12


def test_symbols_of_the_robot_are_names_too() -> None:
    mass = lw.symbols("mass")
    rows = PLANAR.rows
    rows[-1]["mass"] = mass
    arm = lw.Robot.from_dh(rows, convention="standard", name="open")
    q = states(arm)[0]
    by_mass, by_q = lw.derivative(lw.gravity_torque, arm, ("mass", "q"))(q, mass=1.5)
    heavy, light = (lw.gravity_torque(lw.bind(arm, mass=m), q) for m in (2.0, 1.0))
    assert relative(by_mass, heavy - light) < 1e-12  # linear in the mass
    assert by_mass.shape == (3,)
    assert np.array_equal(lw.derivative(lw.gravity_torque, arm, mass)(q, 1.5), by_mass)
    with raises(TypeError, "wrt", "symbol"):
        lw.derivative(lw.gravity_torque, arm, ("q", 2 * mass))
    assert relative(by_q, lw.derivative(lw.gravity_torque, lw.bind(arm, mass=1.5), "q")(q)) < 1e-12
    along = lw.jvp(lw.gravity_torque, arm, ("mass", "q"))
    assert relative(along(q, 2.0, [0, 0, 0], 1.5), 2.0 * by_mass) < 1e-12  # the symbols come last


def test_every_call_of_the_house_takes_several_results() -> None:
    both = lw.derivative(lw.forward_dynamics, TREE, ("q", "qd", "tau"))
    arrays = states(TREE, 5)
    expected = both(*arrays)
    kernel = lw.compile(both, TREE)
    assert kernel.name == "d_forward_dynamics_d_q_qd_tau"
    assert kernel.count.total <= both.count.total  # of the method with the fewest operations
    for found, exact in zip(kernel(*arrays), expected, strict=True):
        assert relative(found, exact) < 1e-10
    source = lw.c_source(both, TREE, self_test=True)
    assert source.name == kernel.name
    assert lw.count(both, TREE) == both.count
    assert "forward" in lw.latex(both, TREE, closed=False)
    products = lw.c_source(lw.vjp(lw.inverse_dynamics, PLANAR, "q"), PLANAR)
    assert "const double weight[3]" in products


def test_both_ways_of_calling_run_compiled_and_modes_are_kept() -> None:
    slope = lw.derivative(lw.inverse_dynamics, TREE, ("q", "qd"))
    arrays = states(TREE)
    plain = slope(TREE, *arrays)
    assert not slope._kernels
    with lw.use_kernels("always"):
        for found in (slope(*arrays), slope(TREE, *arrays), slope(lw.random_tree(4, seed=8), *arrays)):
            for one, other in zip(found, plain, strict=True):
                assert relative(one, other) < 1e-11
        assert list(slope._kernels) == ["float64"]
        assert slope._entry is not None
        lists = slope(*(x.tolist() for x in arrays))  # what the entry does not take
        single = slope(*arrays.astype(np.float32))
        assert np.array_equal(lists[0], slope(*arrays)[0])
        assert single[0].dtype == np.float32
        named = slope(qdd=arrays[2], q=arrays[0], qd=arrays[1])
        assert np.array_equal(named[1], slope(*arrays)[1])
        with raises(TypeError, "d_inverse_dynamics_d_q_qd", "q, qd, qdd"):
            slope(arrays[0])
    assert np.array_equal(slope(*arrays)[0], plain[0])


def test_calls_enter_machine_code_until_some_context_runs_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    from linkwise.kernels import dispatch

    slope = lw.derivative(lw.inverse_dynamics, PLANAR, ("q", "qd"))
    arrays = states(PLANAR)
    monkeypatch.setattr(dispatch, "NEVER_USED", False)
    with lw.use_kernels("always"):
        slope(*arrays)
        assert vars(type(slope))["__call__"].__func__ is slope._entry
        monkeypatch.setattr(slope, "_call", None)  # neither way needs it
        assert np.array_equal(slope(*arrays), slope(PLANAR, *arrays))
        assert isinstance(slope, lw.results.Derivative)
    assert "__call__" not in vars(type(slope))
    monkeypatch.undo()
    assert np.array_equal(slope(*arrays), slope.plain(PLANAR, *arrays))


@pytest.mark.slow
@pytest.mark.parametrize("robot", [PLANAR, BALLS], ids=["planar", "balls"])
def test_arrays_of_torch_and_jax_give_arrays_of_theirs(robot: lw.Robot) -> None:
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    q, qd, tau, _ = jointed_states(robot, 4)
    q[2, 0] = np.nan
    slopes = lw.derivative(lw.forward_dynamics, robot, ("q", "qd"))
    expected = slopes(q, qd, tau)
    for library, bound in ((torch.tensor, 1e-10), (lambda x: jax.numpy.asarray(x, dtype="float32"), 1e-2)):
        for found in (slopes(*map(library, (q, qd, tau))), slopes(robot, library(q), qd, tau=tau.tolist())):
            for one, other in zip(found, expected, strict=True):
                assert type(one) is type(library(q))
                assert np.array_equal(np.isnan(np.asarray(one)), np.isnan(other))
                assert relative(np.delete(np.asarray(one), 2, 0), np.delete(other, 2, 0)) < bound
    at = torch.tensor(q[:1], requires_grad=True)
    product = lw.vjp(lw.potential_energy, robot, "q")(at, torch.ones(1))
    product.sum().backward()
    assert at.grad.shape == (1, robot.nq)
    jitted = jax.jit(lambda *arrays: slopes(*arrays)[0])(q, qd, tau)
    assert relative(np.delete(jitted, 2, 0), np.delete(expected[0], 2, 0)) < 1e-2


def test_another_process_finds_it_in_the_cache_without_tracing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from linkwise.targets.cpu import image

    if not image.supported():
        pytest.skip("code from the cache needs LLVM here")
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))
    arrays = states(PLANAR, 256)
    with lw.use_kernels("always"):
        expected = lw.derivative(lw.inverse_dynamics, PLANAR, ("q", "qd"))(*arrays)
    with lw.use_kernels("auto"):
        again = lw.derivative(lw.inverse_dynamics, PLANAR, ("q", "qd"))
        found = again(*arrays)
        assert again._kernels["float64"].from_cache
        assert "program" not in vars(again)
        assert np.array_equal(found, expected)
        other = lw.derivative(lw.inverse_dynamics, PLANAR, ("qd", "q"))
        assert np.allclose(other(*(x[:9] for x in arrays))[0], expected[1][:9])
        assert not other._kernels


def test_long_programs_are_counted_in_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    from linkwise.kernels import spec

    monkeypatch.setattr(spec, "MAX_AT_ONCE", 10)
    slope = lw.derivative(lw.gravity_torque, PLANAR, "q")
    many = np.zeros((25 * 256, 3))
    with lw.use_kernels("auto"):
        for _ in range(2):
            slope(many)
            assert not slope._kernels
        slope(many)
        assert slope._kernels["float64"] is not None
        monkeypatch.setattr(lw.results.Derivative, "max_operations", 10)
        longer = lw.derivative(lw.gravity_torque, PLANAR, "q")
        assert np.array_equal(longer(many), slope.plain(PLANAR, many))
        assert longer._kernels == {"float64": None}


def test_messages() -> None:
    with raises(ValueError, "wrt", "'qq'", "'q'"):
        lw.derivative(lw.inverse_dynamics, PLANAR, ("q", "qq"))
    with raises(ValueError, "wrt"):
        lw.derivative(lw.inverse_dynamics, PLANAR, ())
    with raises(ValueError, "wrt", "('q', 'q')"):
        lw.jvp(lw.inverse_dynamics, PLANAR, ("q", "q"))
    with raises(TypeError, "wrt", "3"):
        lw.vjp(lw.inverse_dynamics, PLANAR, 3)
    with raises(ValueError, "method", "newton"):
        lw.derivative(lw.inverse_dynamics, PLANAR, "q", method="newton")
    with pytest.raises(TypeError, match="frction"):
        lw.derivative(lw.inverse_dynamics, PLANAR, "q", frction=True)
    with raises(TypeError, "d_inverse_dynamics_d_q", "method"):
        lw.derivative(lw.derivative(lw.inverse_dynamics, PLANAR, "q"), PLANAR, "q", method="denoc")
    with raises(ValueError, "gravity_torque", "closed form"):
        lw.derivative(lw.gravity_torque, PLANAR, "q", mode="closed-form")


def test_a_closed_form_is_taken_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def slopes(arm: lw.Robot, q: Any, qd: Any) -> Any:
        return 2.0 * lw.inertia_matrix(arm, q), lw.coriolis_matrix(arm, q, qd)

    form = closed_form_derivatives.ClosedForm(slopes, ("q", "qd"))
    monkeypatch.setitem(closed_form_derivatives.CLOSED_FORMS, "bias_torque", form)
    q, qd, _ = states(PLANAR)
    slope = lw.derivative(lw.bias_torque, PLANAR, ("qd", "q"), value=True)
    tau, by_qd, by_q = slope(q, qd)
    assert slope.mode == "closed-form"
    assert "in closed form" in repr(slope)
    assert [port.name for port in slope.program.outputs] == [
        "bias_torque", "d_bias_torque_d_qd", "d_bias_torque_d_q"
    ]  # fmt: skip
    assert relative(tau, lw.bias_torque(PLANAR, q, qd)) < 1e-13
    assert relative(by_qd, lw.coriolis_matrix(PLANAR, q, qd)) < 1e-13
    assert relative(by_q, 2.0 * lw.inertia_matrix(PLANAR, q)) < 1e-13
    assert lw.derivative(lw.bias_torque, PLANAR, "q", method="newton-euler").mode == "forward"
    assert lw.derivative(lw.bias_torque, PLANAR, "q", mode="reverse").mode == "reverse"
