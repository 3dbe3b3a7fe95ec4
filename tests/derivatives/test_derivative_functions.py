"""A derivative is a function like the public ones: it compiles, counts, prints, is derived again, and takes batches."""

import inspect
import pickle
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from facts import raises
from linkwise.kernels import dispatch as kernels
from linkwise.spatial import sign
from robots import relative
from special_robots import massless_tip, sling

TREE = lw.random_tree(4, seed=8)
PLANAR = lw.load("planar3")


def states(robot: lw.Robot, *batch: int) -> np.ndarray:
    return np.random.default_rng(4).normal(size=(3, *batch, robot.n))


def symbolic() -> tuple[lw.Robot, dict[str, float]]:
    mass, length = lw.symbols("mass length")
    rows = PLANAR.rows
    rows[-1] |= {"mass": mass, "a": length}
    return lw.Robot.from_dh(rows, convention="standard", name="open"), {"length": 0.3, "mass": 1.5}


def differences(function: Any, x: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """Central differences by each component of x, (n,)."""
    moved = [(function(x + step * e) - function(x - step * e)) / (2 * step) for e in np.eye(len(x))]
    return np.stack(moved, axis=-1)


@pytest.mark.parametrize(("function", "wrt"), [(lw.inverse_dynamics, "q"), (lw.forward_dynamics, "tau")])
def test_every_call_of_the_house_takes_a_derivative(function: Any, wrt: str) -> None:
    slope = lw.derivative(function, TREE, wrt)
    arrays = states(TREE, 5)
    expected = slope(*arrays)
    assert lw.count(slope, TREE) == slope.count
    assert lw.trace(slope, TREE) is slope.program
    assert relative(lw.graph.evaluate(lw.trace(slope, TREE, passes=["common-factors"]), *arrays)[0], expected) < 1e-10
    kernel = lw.compile(slope, TREE)
    assert kernel.name == f"d_{function.__name__}_d_{wrt}"
    assert relative(kernel(*arrays), expected) < 1e-10
    space: dict[str, Any] = {}
    exec(lw.python_source(slope, TREE), space)
    first = [a[0] for a in arrays]
    assert relative(np.array(space[kernel.name](*first)), expected[0]) < 1e-12
    assert kernel.name.replace("_", r"\_") in lw.latex(slope, TREE, closed=False)
    assert list(inspect.signature(slope).parameters) == ["robot", *(port.name for port in slope.program.inputs)]
    assert np.array_equal(slope(TREE, *arrays), expected)
    assert np.array_equal(
        slope(**dict(zip(list(inspect.signature(slope).parameters)[1:], arrays, strict=True))), expected
    )


def test_sympy_and_the_second_derivative() -> None:
    pytest.importorskip("sympy")
    slope = lw.derivative(lw.potential_energy, PLANAR, "q")
    q = np.array([0.3, -0.7, 1.1])
    matrix = lw.sympy(slope, PLANAR)
    values = dict(zip([f"q{k}" for k in (1, 2, 3)], q, strict=True))
    found = [float(x.subs({s: values[s.name] for s in x.free_symbols})) for x in matrix]
    assert found == pytest.approx(lw.gravity_torque(PLANAR, q))
    for mode in ("forward", "reverse"):
        twice = lw.derivative(slope, PLANAR, "q", mode=mode)
        assert twice(q).shape == (3, 3)
        assert np.allclose(twice(q), differences(lambda x: lw.gravity_torque(PLANAR, x), q), atol=1e-8)
    thrice = lw.derivative(twice, PLANAR, "q")
    assert np.allclose(thrice(q), differences(twice, q), atol=1e-7)
    assert lw.count(thrice, PLANAR).total > 0


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize("of_symbols", [False, True])
def test_it_leaves_as_c(of_symbols: bool, tmp_path: Path) -> None:
    arm = symbolic()[0] if of_symbols else PLANAR
    source = lw.c_source(lw.derivative(lw.inverse_dynamics, arm, "q"), arm, self_test=True)
    assert "derivative of inverse_dynamics by q" in source.header
    source.save(tmp_path)
    subprocess.run(["cc", "-std=c99", "-Werror", f"{source.name}.c", "-lm"], cwd=tmp_path, check=True)
    subprocess.run(["./a.out"], cwd=tmp_path, check=True)


def test_the_head_of_the_c_says_what_each_result_is() -> None:
    slopes = lw.derivative(lw.forward_dynamics, PLANAR, ("q", "tau"), value=True)
    head = " ".join(lw.c_source(slopes, PLANAR).partition("*/")[0].replace("\n *", " ").split())
    for said in (
        "out_0[3]: forward_dynamics out",
        "out_1[9]: d_forward_dynamics_d_q; 3 x 3, row by row",
        "out_2[9]: d_forward_dynamics_d_tau; 3 x 3",
        "Equations: linkwise.derivative of linkwise.forward_dynamics by q, tau",
    ):
        assert said in head
    assert head.count(" multiplications") == 1

    def law(arm: lw.Robot, q: Any) -> Any:
        return 2.0 * q

    assert f"linkwise.vjp of {__name__}.{law.__qualname__} by q" in " ".join(
        lw.c_source(lw.vjp(law, PLANAR, "q"), PLANAR).partition("*/")[0].replace("\n *", " ").split()
    )


def test_for_another_robot_it_is_derived_anew() -> None:
    slope = lw.derivative(lw.inverse_dynamics, PLANAR, "qdd")
    arrays = states(TREE)
    assert relative(slope(TREE, *arrays), lw.inertia_matrix(TREE, arrays[0])) < 1e-12
    assert relative(lw.compile(slope, TREE)(*arrays), lw.inertia_matrix(TREE, arrays[0])) < 1e-12
    open_arm, numbers = symbolic()
    general = lw.derivative(lw.inverse_dynamics, open_arm, "qdd")
    bound = lw.bind(open_arm, **numbers)
    given = states(bound)
    expected = lw.inertia_matrix(bound, given[0])
    assert relative(general(*given, numbers["length"], numbers["mass"]), expected) < 1e-12
    assert relative(general(*given, **numbers), expected) < 1e-12
    assert relative(lw.compile(general, open_arm)(*given, **numbers), expected) < 1e-12
    assert relative(general(bound, *given), expected) < 1e-12


def test_batches_broadcast_and_a_bad_state_is_blank_plain_and_compiled() -> None:
    slope = lw.derivative(lw.gravity_torque, TREE, "q")  # of which some entries are constants
    also = lw.derivative(lw.inverse_dynamics, TREE, "q")
    q, qd, qdd = states(TREE, 2, 3)
    q[1, 2, 0] = np.nan
    results = []
    for mode in ("never", "always"):
        with lw.use_kernels(mode):
            found, more = slope(q), also(q, qd[0, 0], qdd[:, :1])
            assert np.isnan(found[1, 2]).all()
            assert np.isnan(more[1, 2]).all()
            assert np.isfinite(found.reshape(6, -1)[:5]).all()
            assert more.shape == (2, 3, 4, 4)
            single = slope(q.astype(np.float32))
            assert single.dtype == np.float32
            results.append((found, more))
            with raises(ValueError, "q (2, 3)", "qd (2,)", "qdd ()"):
                also(q, qd[:, 0], qdd[0, 0])
            with raises(ValueError, "q", "(3,)", "(..., 4)"):
                slope(np.zeros(3))
            with raises(TypeError, "q, qd, qdd", "1"):
                also(q)
            with raises(TypeError, "q", "real numbers"):
                slope(["a", "b", "c", "d"])
    for plain, compiled in zip(*results, strict=True):
        assert np.allclose(plain, compiled, rtol=1e-10, atol=1e-10, equal_nan=True)


def test_it_runs_compiled_by_the_rule_of_the_public_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def spied(self: lw.results.Derivative, dtype: str, kernel: Any) -> None:
        made.append(dtype)
        keep(self, dtype, kernel)

    keep = lw.results.Derivative._store
    monkeypatch.setattr(lw.results.Derivative, "_store", spied)
    q = states(PLANAR)[0]
    with lw.use_kernels("auto"):
        slope = lw.derivative(lw.gravity_torque, PLANAR, "q")
        for _ in range(kernels.CALLS - 1):
            plain = slope(q)
        assert made == []
        assert relative(slope(q), plain) < 1e-13
        slope(q)
        assert made == ["float64"]
        another = lw.derivative(lw.gravity_torque, PLANAR, "q")
        another(np.zeros((kernels.STATES - 1, 3)))
        assert made == ["float64"]
        another(np.zeros((kernels.STATES, 3)))
        assert made == ["float64", "float64"]
    lw.derivative(lw.gravity_torque, PLANAR, "q")(np.zeros((kernels.STATES, 3)))
    assert len(made) == 2


def test_a_joint_that_nothing_resists_is_the_same_error_plain_and_compiled() -> None:
    light = massless_tip()
    for slopes in (lw.derivative(lw.forward_dynamics, light, "tau"), lambda *state: lw.linearize(light, *state)):
        for mode in ("never", "always"):
            with lw.use_kernels(mode), pytest.raises(lw.errors.SingularError):
                slopes(*np.zeros((3, 3)))


@pytest.mark.parametrize("mode", ["never", "always"])
def test_a_singular_state_of_a_batch_is_named_behind_one_that_overflows(mode: str) -> None:
    q, qd = np.ones((2, 5, 2))
    qd[1], q[3, 1] = 1e200, 0.0

    def own(arm: lw.Robot, q: Any, qd: Any, tau: Any) -> Any:
        return 2.0 * lw.forward_dynamics(arm, q, qd, tau)

    makers: list[Any] = [
        lambda arm, f: lw.derivative(f, arm, ("q", "qd")),
        lambda arm, f: lw.vjp(f, arm, "q"),
        lambda arm, f: lw.derivative(lw.jvp(f, arm, "q"), arm, "qd"),
    ]
    for make in makers:
        for function in (lw.forward_dynamics, own):
            for arm, masses in ((sling(), {}), (sling(mass=lw.symbols("m")), {"m": 2.0})):
                slope = make(arm, function)
                extra = {port.name: np.ones(2) for port in slope.inputs if port.name in ("dq", "weight")}
                with lw.use_kernels(mode), pytest.raises(lw.errors.SingularError) as caught:
                    slope(q.reshape(5, 1, 2), qd.reshape(5, 1, 2), np.ones(2), **extra, **masses)
                assert caught.value.state == (3, 0)


MAKERS: dict[str, Any] = {
    "derivative": lambda law, **options: lw.derivative(law, PLANAR, "q", **options),
    "jvp": lambda law, **options: lw.jvp(law, PLANAR, "q", **options),
    "vjp": lambda law, **options: lw.vjp(law, PLANAR, "q", **options),
    "packed": lambda law, **options: lw.derivatives.packed(law, PLANAR, **options),
    "second": lambda law, **options: lw.derivative(lw.derivative(law, PLANAR, "q", **options), PLANAR, "q"),
}


@pytest.mark.parametrize("maker", MAKERS)
def test_a_function_of_ones_own_is_called_once(maker: str) -> None:
    gain, calls = [2.0], []

    def law(arm: lw.Robot, q: Any) -> Any:
        calls.append(arm)
        return gain[0] * q**3 + lw.gravity_torque(arm, q)

    made = MAKERS[maker](law)
    gain[0] = 5.0
    arrays = np.random.default_rng(0).normal(size=(len(made.inputs), 3))
    one = made(*arrays)
    for mode in ("never", "always"):
        with lw.use_kernels(mode):
            assert relative(made(*(np.tile(x, (40, 1)) for x in arrays))[7], one) < 1e-12
    assert relative(lw.compile(made, PLANAR)(*arrays), one) < 1e-12
    lw.c_source(made, PLANAR)
    repr(made)
    assert np.array_equal(made(*arrays), one)
    assert len(calls) == 1
    gain[0] = 7.0
    other = PLANAR.with_gravity([0.0, -1.0, 0.0])  # for another robot it is called again, and reads what is there now
    assert np.array_equal(made(other, *arrays), MAKERS[maker](law).of(other)(*arrays))


def nested(rows: Any) -> list[np.ndarray]:
    return [np.array(row) for row in rows]


@pytest.mark.parametrize(("maker", "kind"), [*((maker, np.array) for maker in MAKERS), ("jvp", list), ("vjp", nested)])
def test_arrays_and_lists_among_the_options_are_copied(maker: str, kind: Any) -> None:
    other = PLANAR.with_gravity([0.0, -1.0, 0.0])
    wrenches, more = ([[0.0, 0.0, 0.0, 1.0, 2.0, row] for row in (3.0, 4.0, 5.0)] for _ in range(2))
    changing = kind(wrenches)
    made, expected = MAKERS[maker](lw.bias_torque, wrench=changing), MAKERS[maker](lw.bias_torque, wrench=more)
    arrays = np.random.default_rng(0).normal(size=(len(made.inputs), 3))
    for row in changing:
        row[4] = 30.0
    for mode in ("always", "never"):
        with lw.use_kernels(mode):
            assert relative(made(*arrays), expected(*arrays)) < 1e-12
    assert np.array_equal(made.of(other).plain(other, *arrays), expected.of(other).plain(other, *arrays))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: lw.derivative(np.sin, PLANAR, "q"), r"sin takes no arrays by name .*expected a function of a robot"),
        (
            lambda: lw.derivative(lw.compile(lw.bias_torque, PLANAR), PLANAR, "q"),
            "compiled already .*expected the func",
        ),
        (lambda: lw.jvp(lw.inverse_dynamics, PLANAR, "q", foo=1), "inverse_dynamics got an unexpected .*'foo'"),
        (lambda: lw.derivative(lw.inverse_dynamics, PLANAR, ("q",), mode="closed-form", friction=True), "friction"),
    ],
)
def test_what_has_no_derivative_is_refused_by_name(make: Any, said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        make()


def test_options_were_given_when_it_was_made() -> None:
    slope = lw.derivative(lw.inverse_dynamics, PLANAR, "qdd", method="fewest")
    with raises(TypeError, "d_inverse_dynamics_d_qdd", "method"):
        lw.count(slope, PLANAR, method="denoc")
    pushed = lw.derivative(lw.inverse_dynamics, PLANAR, "q", wrench=lw.Input(6))
    assert list(inspect.signature(pushed).parameters) == ["robot", "q", "qd", "qdd", "wrench"]
    assert lw.compile(pushed, PLANAR)(*states(PLANAR), np.zeros(6)).shape == (3, 3)


def test_signs_and_selects_inside_a_traced_function() -> None:
    """A derivative that is called with nodes: neither sign nor select may compare them."""

    def signs(x: Any) -> Any:
        return np.array([each * sign(each) for each in x])

    slope = lw.derivative(
        lambda arm, t, qd: lw.trajectories.cubic(np.zeros(3), np.ones(3), 1.0)(t).q * signs(qd), PLANAR, "t"
    )
    kernel = lw.compile(lambda arm, t, qd: slope(t, qd), PLANAR)
    qd = np.array([1.0, -2.0, 0.5])
    for t in (-1.0, 0.5, 3.0):
        assert kernel(t, qd) == pytest.approx(slope(t, qd))


def test_it_can_be_pickled_before_and_after_it_was_compiled() -> None:
    slope, q = lw.derivative(lw.gravity_torque, PLANAR, "q"), np.zeros((300, 3))
    for mode in ("never", "always"):
        with lw.use_kernels(mode):
            expected = slope(q)
            copy = pickle.loads(pickle.dumps(slope))
            assert np.array_equal(copy(q), expected)
            assert copy.mode == slope.mode


def test_defaults_that_are_written_out_keep_the_closed_form() -> None:
    arm = lw.load("planar3")
    assert lw.derivative(lw.inverse_dynamics, arm, ("q", "qd"), friction=False, check=False).mode == "closed-form"
    for options in ({"wrench": np.ones(6)}, {"friction": True}):
        with raises(ValueError, "closed form", "mode='fewest'"):
            lw.derivative(lw.inverse_dynamics, arm, ("q", "qd"), mode="closed-form", **options)


def test_results_that_are_all_zero_are_packed_to_no_values() -> None:
    still = lw.load("planar3").with_gravity((0, 0, 0))
    for function, shapes in (
        (lw.gravity_torque, ((3,),)),
        (lambda arm, q: (lw.gravity_torque(arm, q), 0.0 * lw.inertia_matrix(arm, q)), ((3,), (3, 3))),
    ):
        packed = lw.derivatives.packed(function, still)
        assert packed.size == 0
        for batch in ((), (5,)):
            values = packed(np.ones((*batch, 3)))
            assert values.shape == (*batch, 0)
            results = packed.unpack(values)
            results = results if isinstance(results, tuple) else (results,)
            assert [x.shape for x in results] == [(*batch, *shape) for shape in shapes]
            assert not any(x.any() for x in results)
        source = lw.c_source(packed, still)
        assert "double *out)" in source
        assert "[]" not in source
        assert "(void)out;" in source
        assert lw.count(packed, still).total == 0
        with raises(ValueError, "'planar3'", "self_test"):
            lw.c_source(packed, still, self_test=True)
