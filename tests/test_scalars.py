"""One text, many scalars: NumPy = torch = JAX = mpmath = the graph's interpreter."""

import inspect
from typing import Any

import mpmath
import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from linkwise import graph
from linkwise.spatial import Vector, cross, dot
from linkwise.spatial.scalar import add, mul, sub
from robots import CHAINS, DRIVEN, SMALL, TREES, conditioned, ids, relative, states

over_robots = pytest.mark.parametrize("robot", rest_slow(SMALL, [TREES[3], DRIVEN[1]]), ids=ids(SMALL))
FUNCTIONS = {  # and the states that each takes, by position in `states`
    lw.inverse_dynamics: (0, 1, 2),
    lw.forward_dynamics: (0, 1, 3),
    lw.bias_torque: (0, 1),
    lw.gravity_torque: (0,),
    lw.inertia_matrix: (0,),
    lw.udu: (0,),
    lw.kinetic_energy: (0, 1),
    lw.potential_energy: (0,),
    lw.joint_wrenches: (0, 1, 2),
    lw.poses: (0,),
    lw.jacobian: (0,),
}
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
    for ours, theirs in zip(plain, lw.evaluate(program, *arrays), strict=True):
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
    for ours, theirs in zip(plain, result, strict=True):
        assert relative(ours, np.array(theirs).astype(float)) < bound


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
