"""What control people write: NumPy's functions on traced arrays are those on arrays, in every form of the program."""

import ctypes
import math
import shutil
import subprocess
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

import linkwise as lw
from effort import in_turn
from facts import raises
from linkwise.graph import LEGAL
from linkwise.graph.derivative import derivative

ARM = lw.load("planar3")
WRITTEN = {
    "tanh": lambda q, qd: np.tanh(q),
    "exp, log": lambda q, qd: np.exp(q) + np.log(1.5 + qd * qd),
    "abs": lambda q, qd: np.abs(q) + abs(qd[0]) + np.fabs(q),
    "sign": lambda q, qd: np.sign(q) * qd + np.sign(qd[1]),
    "minimum": lambda q, qd: np.minimum(q, qd) + np.maximum(q, 0.2) + np.minimum(0.1, q[0]),
    "clip": lambda q, qd: np.clip(q, -0.5, 0.5) + qd.clip(-1, [0.1, 0.2, 0.3]) + np.clip(q[1], None, 0.1),
    "where": lambda q, qd: np.where(q > 0, qd, -q) + np.where(q[0] <= qd[0], q, 2.0) + np.where(q >= 0, 1.0, qd),
    "several conditions": lambda q, qd: np.where((q > 0) & (qd < 0.3) | ~(q <= qd), 1.0, 2 * q),
    "equal": lambda q, qd: np.where(q == q, q, 3.0) + np.where(q != qd, 1.0, 2.0) + np.where(q * 0.0 == 0.0, q, 0.0),
    "logical": lambda q, qd: np.where(np.logical_and(q > 0, np.logical_not(qd > 0)), q, np.logical_or(q > 1, qd > 1)),
    "constant mask": lambda q, qd: np.where(np.array([True, False, True]), q, qd),
    "truth in a product": lambda q, qd: (q > qd) * 3.0 + qd * (q < 0) - (q > 1),
    "truth beside truth": lambda q, qd: 5.0 * ((q > 0) + (qd > 0)) + 2.0 * ((q > 0) * (qd > 0)) + ((q > 0) == (qd > 0)),
    "truth as a number": lambda q, qd: (q > 0) / 2 + np.maximum(q > 0, 0.5) + (q < 1).astype(float) + ((q > 1) > 0.5),
    "counted": lambda q, qd: np.sum(q > 0) * qd + np.mean(qd > 0) + np.cumsum(q > qd) + (q > 0) @ (qd > 0) + sum(q > 1),
    "of one number": lambda q, qd: np.sum(q[0]) + np.prod(qd[1]) + np.any(q[0]) * qd + np.all(q[:1]) + np.sum(q[1] > 0),
    "table": lambda q, qd: (
        np.interp(q, [-1, 0, 0.5, 2], [3, 1, 1.5, -2]) + np.interp(qd[0], [0, 1], [1, 2], left=-1, right=5)
    ),
    "angles": lambda q, qd: np.deg2rad(q) + np.degrees(qd) + np.hypot(q, qd[0]) + np.radians(q[1]) + np.rad2deg(qd[2]),
    "powers": lambda q, qd: (
        (q * q) ** 0.5 + np.abs(qd) ** 1.5 + np.exp(q) ** 0.3 + np.power(2.0, q) + (1 + q * q) ** -0.5
    ),
    "hyperbolic": lambda q, qd: np.sinh(q) + np.cosh(qd) + np.tan(0.3 * q) + np.exp2(q) + np.cosh(np.array([*q])),
    "logarithms": lambda q, qd: np.log10(1 + q * q) + np.log2(1.5 + qd * qd),
    "step": lambda q, qd: np.heaviside(q, 0.5) + np.heaviside(qd[0], 1.0),
    "lengths": lambda q, qd: (
        np.linalg.norm(np.stack([q, qd, 2 * q]), axis=-1)
        + np.linalg.norm(q, np.inf) * np.linalg.norm(qd, 1)
        + np.linalg.norm(np.stack([q[0], 2.0, 1.0]))
        + np.linalg.norm(np.outer(q, qd))
        + np.linalg.norm([q[0], qd[1]])
    ),
    "statistics": lambda q, qd: np.std(q) + np.var(np.stack([q, qd]), axis=0) + np.vdot(q, qd) + np.sum([q[0], qd[0]]),
    "count": lambda q, qd: np.count_nonzero(q > 0) + np.count_nonzero(np.stack([q, qd]) > 0, axis=0),
    "numbers in an array": lambda q, qd: (
        (np.stack([q[0], 0.3, -0.2]) > 0) * qd
        + (np.stack([q[0], 0.3, -0.2]) > 0)
        - (0 * q > 0.1)
        + np.stack([q[0], 2.0, 1.0]) ** 2
        + (np.stack([q[1], 1.0, 0.0]) < qd) / 2
    ),
    "mask": lambda q, qd: masked(q * 1.0, qd),
    "select": lambda q, qd: np.select([q > 1, q > 0], [q * 2, 3.0], qd),
    "atan2": lambda q, qd: np.arctan2(q, qd) + np.arctan2(1.0, q[0]) + np.arctan2(qd[0], q) + np.arctan(q),
    "asin, acos": lambda q, qd: np.arcsin(0.2 * q) + np.arccos(0.2 * qd),
    "largest": lambda q, qd: np.max(q) * qd + q.min() + np.maximum.reduce(qd) + np.any(q > 1) + np.all(qd < 1),
    "stacked": lambda q, qd: np.clip(np.stack([q[0], qd[1] + 1.0, 0.3 * q[2]]), -0.2, 0.2),
    "of a torque": lambda q, qd: np.clip(lw.gravity_torque(ARM, q) - 3 * qd, -4, 4),
    "in place": lambda q, qd: changed(q * 1.0, qd),
    "numbers among them": lambda q, qd: np.tanh(q * np.array([1.0, 0.0, 2.0])) + np.exp(qd * [0.0, 1.0, 0.0]),
}


def changed(x: Any, y: Any) -> Any:
    x += np.tanh(y)
    x[1] = 0.5
    return np.minimum(x, 1.0)


def masked(x: Any, y: Any) -> Any:
    x[x > 0.5] = 0.5
    x[(x < 0) & (y > 0)] = y[0]
    return x


def law(name: str) -> Any:
    def written(arm: lw.Robot, q: Any, qd: Any) -> Any:
        return WRITTEN[name](q, qd)

    return written


def everything(arm: lw.Robot, q: Any, qd: Any) -> Any:
    """All operations of the grammar, in one function."""
    return sum(WRITTEN[name](q, qd) for name in WRITTEN) + np.sqrt(1.0 + q * q) + np.sin(q) / (2.0 + np.cos(qd))


PROGRAM = lw.trace(everything, ARM)
STATES = np.random.default_rng(0).normal(size=(2, 200, 3))
EXPECTED = np.array([everything(ARM, *state) for state in STATES.swapaxes(0, 1)])


@in_turn(list(WRITTEN))
def test_a_traced_function_gives_what_it_gives_on_arrays(name: str) -> None:
    program = lw.trace(law(name), ARM)
    expected = np.array([WRITTEN[name](*state) for state in STATES.swapaxes(0, 1)], dtype=float)
    assert np.abs(lw.graph.evaluate(program, *STATES)[0] - expected).max() < 1e-14


def test_all_operations_are_in_one_function() -> None:
    assert {node.op for node in PROGRAM.nodes} == set(LEGAL)


def test_compiled_code_agrees_and_a_state_alone_has_the_bits_of_a_batch() -> None:
    kernel = lw.compile(everything, ARM)
    found = kernel(*STATES)
    assert np.abs(found - EXPECTED).max() < 1e-13
    assert np.array_equal(np.array([kernel(*state) for state in STATES[:, :9].swapaxes(0, 1)]), found[:9])
    single = lw.compile(everything, ARM, dtype="float32")(*STATES.astype(np.float32))
    assert np.median(np.abs(single - EXPECTED)) < 1e-5  # a comparison may come out otherwise


def test_derivatives_of_both_modes_are_those_of_differences() -> None:
    step = 1e-6
    for k, wrt in enumerate(("q", "qd")):
        both = [lw.graph.evaluate(derivative(PROGRAM, wrt, mode), *STATES)[0] for mode in ("forward", "reverse")]
        assert np.abs(both[0] - both[1]).max() < 1e-12
        for i in range(3):
            ends = []
            for sign in (1, -1):
                moved = STATES.copy()
                moved[k, :, i] += sign * step
                ends.append(lw.graph.evaluate(PROGRAM, *moved)[0])
            assert np.abs(both[0][..., i] - (ends[0] - ends[1]) / (2 * step)).max() < 1e-7


def test_at_a_kink_the_slope_is_that_of_the_convention() -> None:
    def kinks(arm: lw.Robot, q: Any) -> Any:
        x = q[0]
        return np.stack(
            [np.abs(x), np.sign(x), np.maximum(x, 0.0), np.maximum(0.0, x), np.clip(x, 0, 1), np.clip(x, -1, 0)]
        )

    program = lw.trace(kinks, ARM)
    for mode in ("forward", "reverse"):
        assert lw.graph.evaluate(derivative(program, "q", mode), np.zeros(3))[0][:, 0].tolist() == [0, 0, 1, 0, 1, 1]


def test_python_text_is_the_same_to_the_last_bit() -> None:
    space: dict[str, Any] = {}
    exec(lw.python_source(everything, ARM), space)
    with np.errstate(all="ignore"):
        found = np.array(space["everything"](*(list(x.T) for x in STATES))).T
    assert np.array_equal(found, lw.graph.evaluate(PROGRAM, *STATES)[0])


def test_c_agrees_with_numpy(tmp_path: Path) -> None:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here")
    (tmp_path / "law.c").write_text(str(lw.c_source(everything, ARM)))
    options = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run([compiler, *options, str(tmp_path / "law.c"), "-o", str(tmp_path / "law.so"), "-lm"], check=True)
    function = ctypes.CDLL(str(tmp_path / "law.so")).everything
    for k in range(20):
        arrays = [*STATES[:, k].copy(), np.zeros(3)]
        function(*(ctypes.c_void_p(a.ctypes.data) for a in arrays))
        assert np.abs(arrays[2] - EXPECTED[k]).max() < 1e-13


def test_sympy_and_many_digits_agree() -> None:
    sympy = pytest.importorskip("sympy")
    (row,) = (state for state in STATES[:, :1].swapaxes(0, 1))
    symbols = {f"{name}{i + 1}": row[k][i] for k, name in enumerate(("q", "qd")) for i in range(3)}
    for name in ("several conditions", "asin, acos", "atan2", "sign"):
        expressions = lw.sympy(law(name), ARM)
        found = [float(sympy.N(x.subs({s: symbols[s.name] for s in x.free_symbols}))) for x in expressions]
        assert np.abs(np.array(found) - WRITTEN[name](*row)).max() < 1e-12
    with mpmath.workdps(40):
        exact = lw.graph.evaluate(PROGRAM, *(np.array([mpmath.mpf(x) for x in part], dtype=object) for part in row))[0]
        coarse = lw.graph.evaluate(PROGRAM, *row)[0]
        assert max(abs(a - mpmath.mpf(b)) for a, b in zip(exact, coarse, strict=True)) < 1e-13


@pytest.mark.slow
def test_torch_evaluates_and_differentiates_programs() -> None:
    torch = pytest.importorskip("torch")
    tensors = [torch.tensor(x[:20], requires_grad=True) for x in STATES]
    (found,) = lw.graph.evaluate(PROGRAM, *tensors)
    assert np.abs(found.detach().numpy() - EXPECTED[:20]).max() < 1e-13
    found.sum().backward()
    slope = lw.graph.evaluate(derivative(PROGRAM, "q"), *STATES[:, :20])[0].sum(axis=1)
    assert np.abs(tensors[0].grad.numpy() - slope).max() < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize("library", ["torch", "jax"])
def test_functions_that_hold_numbers_whose_gradient_would_be_lost_are_refused(library: str) -> None:
    xp, arm = pytest.importorskip(library), lw.load("planar3")
    facts = ("gradient", "x.detach()") if library == "torch" else ("JAX", "NumPy")

    def traced(gains: Any) -> None:
        with raises(TypeError, *facts):
            lw.count(lambda arm, q: gains * q, arm)

    traced(xp.ones(3, requires_grad=True)) if library == "torch" else xp.jit(traced)(np.ones(3))


def test_jax_evaluates_and_differentiates_programs() -> None:
    jax = pytest.importorskip("jax")
    found = lw.graph.evaluate(PROGRAM, *(jax.numpy.asarray(x, dtype="float32") for x in STATES))[0]
    assert np.median(np.abs(np.asarray(found) - EXPECTED)) < 1e-5
    slope = jax.jit(jax.jacobian(lambda q: lw.graph.evaluate(PROGRAM, q, jax.numpy.asarray(STATES[1, 0]))[0]))(
        STATES[0, 0]
    )
    exact = lw.graph.evaluate(derivative(PROGRAM, "q"), *STATES[:, 0])[0]
    assert np.abs(np.asarray(slope) - exact).max() < 1e-4


def test_latex_has_a_word_for_each() -> None:
    text = lw.latex(everything, ARM, closed=False)
    for word in (
        r"\tanh",
        r"\exp",
        r"\ln",
        r"\left|",
        r"\min",
        r"\max",
        "atan2",
        r"\arcsin",
        r"\arccos",
        r" < ",
        r"\le",
    ):
        assert word in text


def test_nan_and_infinity_go_the_way_they_go_in_numpy() -> None:
    def law(arm: lw.Robot, q: Any) -> Any:
        a = np.log(q[0])  # NaN, -inf or finite
        b = np.exp(q[1] * 1000.0)  # 0, finite or inf
        pairs = [
            np.minimum(a, b),
            np.maximum(b, a),
            np.clip(a, -1, 1),
            np.where(a < b, 1, 2),
            np.where(a == b, 1.0, 2.0),
        ]
        return np.stack([*pairs, np.abs(a), np.tanh(b), np.where(a >= 0, 1.0, 0.0), np.where(~(a >= 0), 1.0, 0.0)])

    x = np.array([(a, b, 0.0) for a in (-1.0, 0.0, 0.5, 2.0) for b in (-5.0, 0.1, 5.0)])
    with np.errstate(all="ignore"):
        expected = np.array([law(ARM, row) for row in x])
        assert np.array_equal(lw.graph.evaluate(lw.trace(law, ARM), x)[0], expected, equal_nan=True)
        found = lw.compile(law, ARM)(x)
    assert np.array_equal(np.isnan(found), np.isnan(expected))
    with np.errstate(invalid="ignore"):
        assert np.all(np.isnan(found) | (found == expected) | (np.abs(found - expected) < 1e-12))


def test_a_number_is_not_equal_to_itself_where_it_is_nan() -> None:
    def replaced(arm: lw.Robot, q: Any) -> Any:
        x = np.log(q[0])
        return np.stack([np.where(x != x, 7.0, x), np.where(x == x, x, 8.0)])

    with np.errstate(all="ignore"):
        found = lw.graph.evaluate(lw.trace(replaced, ARM), np.array([[-1.0, 0, 0], [1.0, 0, 0]]))[0]
    assert found.tolist() == [[7.0, 8.0], [0.0, 0.0]]
    assert lw.compile(replaced, ARM)(np.array([-1.0, 0.0, 0.0])).tolist() == [7.0, 8.0]


def test_a_bound_that_is_infinite_costs_nothing() -> None:
    program = lw.trace(lambda arm, q: np.clip(q, -math.inf, math.inf) + np.minimum(q, np.inf), ARM)
    assert lw.count(lambda arm, q: np.clip(q, -math.inf, math.inf), ARM).total == 0
    assert {node.op for node in program.nodes} == {"input", "add"}


def test_a_law_with_choices_runs_compiled_in_a_simulation() -> None:
    def friction(arm: lw.Robot, t: Any, q: Any, qd: Any) -> Any:
        push = np.where(t < 0.1, 2.0, 0.0) * np.array([1.0, 0.0, 0.0])
        return push - 0.1 * np.tanh(qd / 0.05) + np.clip(-20 * q, -1, 1)

    options = {"duration": 2e-3, "torque": friction, "rtol": 1e-5, "samples": 3}
    runs = [lw.simulate(ARM, [0.1, 0, 0], **options, compiled=c) for c in (True, False)]
    assert runs[0].compiled
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-9
    pushed = lw.simulate(ARM, [0, 0, 0], duration=0.3, torque=friction)
    assert pushed.compiled
    assert pushed.status == "done"


REFUSED = {  # by NumPy the first are counts, 2 where both hold: the graph would give 1
    "sum of a list": lambda q: np.sum([q > 0, q < 1], axis=0) * 1.0,
    "sum of an array": lambda q: np.array([q > 0, q < 1]).sum(axis=0) * 1.0,
    "mean of a list": lambda q: np.mean([q > 0, q < 1], axis=0),
    "cumsum of a list": lambda q: np.cumsum([q[0] > 0, q[1] > 0]) * 1.0,
    "length": lambda q: np.linalg.norm(q > 0) * q,
    "trace": lambda q: np.trace([q > 0, q < 1]) * q,
    "sum of two": lambda q: ((q[0] > 0) + (q[1] > 0)) * q,
    "like truth values": lambda q: (np.zeros_like(q > 0) + (q > 0) + (q < 1)) * 1.0,
    "filled like truth values": lambda q: np.full_like(q > 0, q) * 1.0,
    "NaN replaced": lambda q: np.nan_to_num(1 / q),
    "NaN of one replaced": lambda q: np.nan_to_num(1 / q[0]) * q,
    "NaN left out": lambda q: np.nansum(q[0]) * q,
    "rounded": lambda q: q.astype(np.float32),
    "cut": lambda q: q.astype(int) * 1.0,
    "table of nodes": lambda q: np.interp(q, [0.0, 1.0], q[:2]),
    "part of an array": lambda q: q[q > 0].sum() * q,
    "parts assigned": lambda q: assigned(q * 1.0),
    "power of it": lambda q: q ** q[0],
    "negative base": lambda q: (-2.0) ** q,
    "NaN left out of a list": lambda q: np.nansum([q[0], q[1]]) * q,
    "periodic table": lambda q: np.interp(q, [0.0, 1.0], [0.0, 1.0], period=2.0),
}


def assigned(x: Any) -> Any:
    x[x > 0] = x
    return x


@in_turn(
    [
        (lambda q: np.sqrt(np.array([q[0], 2.0, 1.0])), r"np\.sqrt of an array .* write np\.stack"),
        (lambda q: np.tanh([q[0], 2.0, 1.0]), r"np\.tanh of an array .* write np\.stack"),
        (lambda q: np.hypot(np.array([q[0], 2.0]), 1.0), r"np\.hypot of an array .* write np\.stack"),
        (lambda q: np.heaviside(np.array([*q]), 1.0), r"np\.heaviside of an array .* write np\.stack"),
        (lambda q: np.interp(np.array([*q]), [0, 1], [0, 1]), r"of an array .* write np\.stack"),
        (lambda q: np.clip([q[0], q[1]], -1, 1), r"nor in a list .* np\.stack\(\[\.\.\.\]\) instead of"),
        (lambda q: np.max([q[0], q[1]]), r"nor in a list .* np\.stack\(\[\.\.\.\]\) instead of"),
        (lambda q: np.asarray(q, dtype=float), "leave out float.. and dtype=float"),
        (lambda q: q % (2 * np.pi), r"wrapped by np\.arctan2\(np\.sin"),
        (lambda q: q[q > 0], r"x\[condition\] cannot be traced.*np\.where"),
    ]
)
def test_arrays_that_numpy_made_itself_are_refused_with_what_to_write(wrong: Any) -> None:
    function, said = wrong
    with pytest.raises(TypeError, match=said):
        lw.trace(lambda arm, q: function(q), ARM)


def test_the_slope_of_a_fractional_power_is_zero_at_zero() -> None:
    """As of a contact, whose force is k max(0, d)^1.5."""
    for k in (1.5, 1.7, 2.5):
        program = lw.trace(lambda arm, q, k=k: np.maximum(q, 0.0) ** k, ARM)
        for mode in ("forward", "reverse"):
            with np.errstate(all="ignore"):
                slope = lw.graph.evaluate(derivative(program, "q", mode), np.array([-1.0, 0.0, 2.0]))[0]
            assert np.allclose(slope.diagonal(), [0.0, 0.0, k * 2.0 ** (k - 1.0)])


@in_turn(list(REFUSED))
def test_what_would_be_something_else_is_an_error(name: str) -> None:
    with pytest.raises(TypeError):
        lw.trace(lambda arm, q: REFUSED[name](q), ARM)


def test_a_sum_of_two_comparisons_is_refused_with_a_way_out() -> None:
    with raises(TypeError, "c", "d", "np.sum(np.stack([c, d]), axis=0)"):
        lw.trace(lambda arm, q: np.sum([q > 0, q < 1], axis=0) * 1.0, ARM)
    counted = lw.trace(lambda arm, q: np.sum(np.stack([q > 0, q < 1]), axis=0) * 1.0, ARM)
    assert lw.graph.evaluate(counted, np.array([0.5, -0.5, 1.5]))[0].tolist() == [2.0, 1.0, 1.0]


GUARDED = {  # the branch that is not taken is not finite at some of `AT`, or its slope is not
    "log": lambda q: np.where(q > 0, np.log(q), 0.0),
    "root": lambda q: np.where(q > 0, np.sqrt(q), q),
    "quotient": lambda q: np.where(q == 0, 1.0, np.sin(q) / q),
    "product": lambda q: np.where(q > 0, q * np.log(q), 0.0),
    "twice": lambda q: np.where(q > 0, np.log(q), 0.0) + np.where(q > 1, 3 * np.log(q), 0.0),
    "nested": lambda q: np.where(q > 0, np.where(q > 0.5, np.sqrt(q - 0.5), np.log(q)), q),
    "squared": lambda q: np.where(q > -5, q / (1 + q * q), 0.0) ** 2,  # a weight of 0 at 0 that is used
    "largest": lambda q: np.maximum(np.log(q), -1.0),
}
AT = np.array([[0.0, -1.0, 2.0], [0.3, 0.7, 1.5]])


@in_turn(list(GUARDED))
def test_a_branch_that_is_not_taken_has_no_slope_in_either_mode(name: str) -> None:
    program = lw.trace(lambda arm, q: GUARDED[name](q), ARM)
    with np.errstate(all="ignore"):
        first = [derivative(program, "q", mode) for mode in ("forward", "reverse")]
        slopes = [lw.graph.evaluate(x, AT)[0] for x in first]
        second = [lw.graph.evaluate(derivative(x, "q", mode), AT)[0] for x in first for mode in ("forward", "reverse")]
    assert np.isfinite(slopes[0]).all() or name == "largest"  # NaN where the maximum is
    for found in slopes:
        assert np.allclose(found, slopes[0], rtol=1e-12, equal_nan=True)
    for found in second:
        assert np.allclose(found, second[0], rtol=1e-12, equal_nan=True)


def test_the_slope_of_a_length_is_zero_at_zero() -> None:
    """As at rest: np.linalg.norm(qd), np.hypot."""
    program = lw.trace(lambda arm, q: np.linalg.norm(q) + np.hypot(q[0], q[1]), ARM)
    for mode in ("forward", "reverse"):
        with np.errstate(all="ignore"):
            slope = lw.graph.evaluate(derivative(program, "q", mode), np.array([[0.0, 0, 0], [3.0, 0, 4.0]]))[0]
        assert np.allclose(slope, [[0, 0, 0], [1.6, 0, 0.8]])


def test_gradients_of_costs_with_guards_are_finite() -> None:
    def cost(arm: lw.Robot, q: Any) -> Any:
        return lw.potential_energy(arm, q) + np.sum(np.where(q > 0, np.sqrt(q), 0.0), axis=-1)

    q = np.array([0.5, 0.0, -0.5])
    gradients = [
        lw.derivative(cost, ARM, "q")(q),
        lw.vjp(cost, ARM, "q")(q, 1.0),
        lw.derivative(cost, ARM, "q", mode="forward")(q),
    ]
    with lw.use_kernels("always"):
        gradients.append(lw.derivative(cost, ARM, "q", mode="reverse")(q))
    assert np.ptp(gradients, axis=0).max() < 1e-13


REDUCED = {
    "all axes": lambda q: np.max(np.stack([q, -q])) * q,
    "two axes": lambda q: np.min(np.stack([q, -q])[None], axis=(1, 2)) * q,
    "kept": lambda q: np.max(np.stack([q, -q]), axis=(0, -1), keepdims=True)[0] * q,
    "any": lambda q: np.where(np.any(np.stack([q, q - 0.5]) > 0.4), q, -q),
    "started": lambda q: np.max(np.stack([q, -q]), initial=0.2) * q,
    "sum": lambda q: np.sum(q, where=[True, False, True]) * q,
    "product": lambda q: np.prod(q, where=[True, False, True]) * q,
    "mean": lambda q: np.mean(q, where=[True, False, True]) * q,
    "of floats": lambda q: np.sum(q, dtype=float) * np.multiply(q, q, dtype=np.float64),
    "count": lambda q: np.sum(q > 0.0, dtype=float) * np.add(q > 0.0, q > 0.0, dtype=float),
    "average": lambda q: np.average(q, weights=q * q) * q,
    "average of rows": lambda q: np.average(np.stack([q, -q]), axis=0, weights=np.stack([q * q, q + 1])),
}


@pytest.mark.parametrize("law", REDUCED.values(), ids=REDUCED)
def test_reductions_over_several_axes_and_where_they_are_asked_for(law):
    q = np.array([0.3, -0.7, 0.5])
    program = lw.trace(lambda arm, q: law(q), lw.load("planar3"))
    assert np.allclose(lw.graph.evaluate(program, q)[0], law(q), rtol=1e-14)


REFUSED = [
    (lambda q: np.multiply(q, q, dtype="f4"), r"dtype=float32 of np.multiply cannot be traced"),
    (lambda q: np.sum(q, dtype="f4"), r"dtype=float32 of np.add cannot be traced"),
    (lambda q: np.multiply(q, q, where=[True, False, True]), r"where= of np.multiply"),
    (np.trunc, r"trunc\(\) cannot be traced"),
    (lambda q: np.fmax(q, 0.0), r"np.fmax cannot be traced"),
    (lambda q: np.average(q, weights=q, returned=True), r"np.average .* cannot be traced"),
    (lambda q: np.where(q > 0, np.inf, q), r"constant inf is not finite .*expected finite numbers"),
    (lambda q: q / 0, r"divided by the constant 0"),
]


@pytest.mark.parametrize(("law", "said"), REFUSED)
def test_what_cannot_be_traced_is_refused_in_our_own_words(law, said):
    with pytest.raises(Exception, match=said):
        lw.trace(lambda arm, q: law(q), lw.load("planar3"))


@pytest.mark.parametrize("law", [np.std, lambda q: q.std(), lambda q: np.std(np.stack([q, q]), axis=1, ddof=1)])
def test_the_slope_of_a_standard_deviation_is_zero_where_all_are_equal(law):
    slope = lw.derivative(lambda arm, q: law(q), lw.load("planar3"), "q")
    assert np.array_equal(slope([0.3] * 3), np.zeros(slope([0.3] * 3).shape))
    q, h = np.array([0.3, -0.7, 0.5]), 1e-6
    differences = np.stack([(law(q + h * e) - law(q - h * e)) / (2 * h) for e in np.eye(3)], axis=-1)
    assert np.allclose(slope(q), differences, atol=1e-8)
