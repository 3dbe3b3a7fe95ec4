"""One text, many scalars: NumPy = torch = JAX = mpmath = the graph's interpreter."""

import inspect
from decimal import Decimal
from typing import Any

import mpmath
import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from linkwise import graph
from linkwise.robot.regroup import LongDecimal
from linkwise.robot.scales import torque_scales
from linkwise.spatial import Vector, cross, dot
from linkwise.spatial.scalar import add, atan_quotient, mul, sub
from robots import CHAINS, DRIVEN, SMALL, TREES, conditioned, ids, relative, states

over_robots = pytest.mark.parametrize("robot", rest_slow(SMALL, [TREES[3], DRIVEN[1]]), ids=ids(SMALL))
FUNCTIONS = {  # and the states that each takes, by position in `states`
    lw.inverse_dynamics: (0, 1, 2), lw.forward_dynamics: (0, 1, 3), lw.bias_torque: (0, 1),
    lw.gravity_torque: (0,), lw.inertia_matrix: (0,), lw.formulations.udu: (0,), lw.kinetic_energy: (0, 1),
    lw.potential_energy: (0,), lw.joint_wrenches: (0, 1, 2), lw.poses: (0,), lw.jacobian: (0,),
}  # fmt: skip
VARIANTS = [
    (function, {"method": method} if method else {})
    for function in FUNCTIONS
    for method in (lw.methods(function) if "method" in inspect.signature(function).parameters else [None])
]
over_functions = pytest.mark.parametrize(
    ("function", "keywords"), VARIANTS, ids=[f"{f.__name__}{'-' + k['method'] if k else ''}" for f, k in VARIANTS]
)


def outputs(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


@over_robots
@over_functions
def test_graph_interpreter_gives_what_numpy_gives(robot: lw.Robot, function: Any, keywords: dict[str, str]) -> None:
    arrays = [states(robot)[k] for k in FUNCTIONS[function]]
    program = lw.trace(function, robot, **keywords)
    plain = outputs(function(robot, *arrays, **keywords))
    bound = max(1e-13, conditioned(robot, arrays[0]))
    for ours, theirs in zip(plain, lw.graph.evaluate(program, *arrays), strict=True):
        assert ours.shape == theirs.shape
        assert relative(ours, theirs) < bound


@over_robots
@over_functions
def test_many_digits_confirm_numpy(robot: lw.Robot, function: Any, keywords: dict[str, str]) -> None:
    arrays = [states(robot, count=1)[k][0] for k in FUNCTIONS[function]]
    plain = outputs(function(robot, *arrays, **keywords))
    with mpmath.workdps(40):
        exact = [np.array([mpmath.mpf(x) for x in a], dtype=object) for a in arrays]
        result = outputs(function(robot.cast(mpmath.mpf), *exact, **keywords))
    bound = max(1e-13, conditioned(robot, arrays[0]))
    loads = torque_scales(robot, arrays[0], *arrays[1:2]).max() if function is lw.bias_torque else 0.0  # may cancel
    for ours, theirs in zip(plain, result, strict=True):
        exact_numbers = np.array(theirs).astype(float)
        assert relative(ours, exact_numbers) < bound or np.abs(ours - exact_numbers).max() < bound * loads


ARRAYS = [
    (library, robot, function, keywords)
    for library in ("torch", "jax.numpy")
    for robot in (CHAINS[4], TREES[3])
    for function, keywords in VARIANTS
]
FIRST = dict(reversed(VARIANTS))  # by one method
QUICK = [case for case in ARRAYS if case[1] is TREES[3] and (case[0] == "torch" or FIRST[case[2]] is case[3])]


@pytest.mark.parametrize(
    ("library", "robot", "function", "keywords"),
    rest_slow(ARRAYS, QUICK),
    ids=["-".join([a.split(".")[0], robot.name, f.__name__, *k.values()]) for a, robot, f, k in ARRAYS],
)
def test_other_arrays_give_what_numpy_gives(
    library: str, robot: lw.Robot, function: Any, keywords: dict[str, str]
) -> None:
    xp = pytest.importorskip(library, reason="runs where the library is installed")
    if library == "jax.numpy":
        pytest.importorskip("jax").config.update("jax_enable_x64", True)
    arrays = [states(robot)[k] for k in FUNCTIONS[function]]
    plain = outputs(function(robot, *arrays, **keywords))
    there = outputs(function(robot, *map(xp.asarray, arrays), **keywords))
    for ours, theirs in zip(plain, there, strict=True):
        assert type(theirs) is type(xp.asarray(ours))
        assert relative(ours, np.asarray(theirs)) < max(1e-13, conditioned(robot, arrays[0]))


def test_torch_differentiates_through() -> None:
    torch = pytest.importorskip("torch", reason="runs where torch is installed")
    robot = lw.load("stanford")
    q, qd, qdd, _ = (torch.asarray(x[0]) for x in states(robot))
    gradient = torch.autograd.functional.jacobian(lambda a: lw.inverse_dynamics(robot, q, qd, a), qdd)
    assert relative(gradient.numpy(), lw.inertia_matrix(robot, q.numpy())) < 1e-13


def test_jax_jits_and_differentiates_through() -> None:
    jax = pytest.importorskip("jax", reason="runs where JAX is installed")
    jax.config.update("jax_enable_x64", True)
    robot = lw.load("planar3")
    q, qd, qdd, _ = (x[0] for x in states(robot))
    gradient = jax.jit(jax.jacobian(lambda a: lw.inverse_dynamics(robot, q, qd, a)))(jax.numpy.asarray(qdd))
    assert relative(np.asarray(gradient), lw.inertia_matrix(robot, q)) < 1e-13


def gradients(function: Any, robot: lw.Robot, arrays: Any, dtype: str, **options: Any) -> np.ndarray:
    """Of the sum of all numbers of the result, by torch: (states, inputs)."""
    torch = pytest.importorskip("torch", reason="runs where torch is installed")
    inputs = [torch.tensor(array, dtype=getattr(torch, dtype), requires_grad=True) for array in arrays]
    total = sum(result.sum() for result in outputs(function(robot, *inputs, **options))) + 0.0 * inputs[0].sum()
    found = torch.autograd.grad(total, inputs, allow_unused=True, materialize_grads=True)
    return np.concatenate([x.double().numpy() for x in found], axis=-1)


SOLVED = [(function, k) for function, k in VARIANTS if function in (lw.forward_dynamics, lw.formulations.udu)]
SOLVED += [(lw.inverse_inertia_matrix, {"method": method}) for method in lw.methods(lw.inverse_inertia_matrix)]
ITERATED = "walker-orin-4"


@pytest.mark.parametrize("name", ["planar3", pytest.param("puma560", marks=pytest.mark.slow)])
def test_gradients_of_what_is_divided_are_those_of_doubles(name: str) -> None:
    """In single precision, where numbers that are squared or divided soon overflow."""
    robot = lw.load(name)
    arrays = np.random.default_rng(0).normal(size=(3, 200, robot.n))
    condition = np.linalg.cond(lw.inertia_matrix(robot, arrays[0]))
    exact = np.zeros(0)
    for function, keywords in SOLVED:
        few = arrays[: 3 if function is lw.forward_dynamics else 1]
        if keywords["method"] == lw.methods(function)[0]:
            exact = gradients(function, robot, few, "float64", **keywords)
        error = np.abs(gradients(function, robot, few, "float32", **keywords) - exact).max(axis=1)
        times = 50 if keywords["method"] == ITERATED else 2  # derivatives converge after the numbers themselves
        bound = times * condition * np.finfo("float32").eps * np.abs(exact).max(axis=1)
        assert (error < bound).all(), (function.__name__, keywords, np.nanmax(error / bound), np.isnan(error).sum())


def test_gradients_at_rest_are_those_of_doubles() -> None:
    """Where angles and rates are zero; derivatives of the iteration are not those of q̈ there."""
    robot = lw.chain(2, seed=1, joints="SR")
    q, v = lw.neutral(robot)[None], np.zeros((1, robot.n))
    law = lw.Friction(viscous=0.1, coulomb=0.2, stribeck=0.3)
    cases = [(f, [q, v, v][: 3 if f is lw.forward_dynamics else 1], k) for f, k in SOLVED if k["method"] != ITERATED]
    cases += [(lw.inverse_dynamics, [q, v, v], {"friction": law}), (lw.forward_dynamics, [q, v, v], {"friction": law})]
    cases += [(lw.integrate, [q, v], {}), (lw.difference, [q, q], {}), (lw.jacobian, [q], {}), (lw.poses, [q], {})]
    for function, arrays, keywords in cases:
        exact = gradients(function, robot, arrays, "float64", **keywords)
        found = gradients(function, robot, arrays, "float32", **keywords)
        assert np.abs(found - exact).max() <= 1e-3 * np.abs(exact).max(), (function.__name__, keywords)


@pytest.mark.slow
def test_gradients_of_jax_in_single_precision_are_finite() -> None:
    jax = pytest.importorskip("jax", reason="runs where JAX is installed")
    robot = lw.load("planar3")
    q, qd, tau = (jax.numpy.asarray(x, dtype="float32") for x in np.random.default_rng(0).normal(size=(3, 200, 3)))
    total = lambda *x: lw.forward_dynamics(robot, *x, method=ITERATED).sum()  # noqa: E731
    assert all(np.isfinite(x).all() for x in jax.grad(total, argnums=(0, 1, 2))(q, qd, tau))


class Counted:
    """A scalar that counts what is done to it."""

    done = 0

    def _act(self, *_: Any) -> "Counted":
        Counted.done += 1
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = _act


@pytest.mark.parametrize("operation", [lambda x: add(0.0, x), lambda x: add(x, 0.0), lambda x: sub(x, 0.0)])
def test_zeros_in_sums_cost_nothing(operation: Any) -> None:
    x, before = Counted(), Counted.done
    assert operation(x) is x
    assert Counted.done == before


def test_zeros_and_ones_in_products_cost_nothing() -> None:
    x, before = Counted(), Counted.done
    assert mul(0.0, x) == mul(x, 0.0) == 0.0
    assert mul(1.0, x) is x
    assert mul(x, 1.0) is x
    v = cross(Vector(0.0, 0.0, 1.0), Vector(x, 0.0, x))
    assert v.y is x
    assert dot(Vector(0.0, 1.0, 0.0), Vector(x, x, x)) is x
    assert Counted.done == before


def test_a_state_of_zeros_is_not_a_constant() -> None:
    """NumPy numbers never fold: one state and a batch of states take the same road."""
    zero = np.float64(0.0)
    assert np.isnan(mul(zero, np.float64("nan")))


def test_programs_of_every_function_obey_the_grammar() -> None:
    for function, keywords in VARIANTS:
        assert graph.check(lw.trace(function, lw.load("stanford"), **keywords)).nodes


@pytest.mark.parametrize("slope", [1.0, 0.5, 2.0**-20])
def test_the_arctangent_of_generated_code_has_eighteen_digits(slope: float) -> None:
    """In arithmetic of 80 digits, which leaves the error of the series and of its coefficients alone."""
    for angle in (1.0, 0.99, 0.5, 0.1, 1e-3, 0.0):
        x = angle / slope
        found = atan_quotient(LongDecimal(Decimal(slope)), LongDecimal(Decimal(x) * Decimal(x)))
        with mpmath.workdps(40):
            exact = mpmath.atan(mpmath.mpf(slope) * x) / x if x else mpmath.mpf(slope)
            assert abs(mpmath.mpf(str(found.value)) / exact - 1) < 1e-18
