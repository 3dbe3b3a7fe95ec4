"""Functions traced into programs."""

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises
from functions import PUBLIC
from linkwise.graph import GrammarError, Port, evaluate
from robots import relative

ARM = lw.load("stanford")
TREE = lw.random_tree(4, seed=2)


def agree(function: Callable[..., Any], robot: lw.Robot, *arrays: np.ndarray, **keywords: Any) -> bool:
    """Whether the traced program and the plain run give the same bits, apart from the sign of zero.

    Products of matrices agree to rounding: BLAS adds in an order of its own.
    """
    inputs = {name: value for name, value in keywords.items() if isinstance(value, np.ndarray)}
    shapes = {name: lw.Input(*value.shape[1:]) for name, value in inputs.items()}
    found = evaluate(lw.trace(function, robot, **{**keywords, **shapes}), *arrays, *inputs.values())
    plain = function(robot, *arrays, **keywords)
    plain = plain if isinstance(plain, tuple) else (plain,)
    if function in MATRIX_PRODUCTS:
        return all(relative(a, b) < 1e-13 for a, b in zip(found, plain, strict=True))
    same = (np.array_equal(a + 0.0, b + 0.0) and a.shape == b.shape for a, b in zip(found, plain, strict=True))
    return all(same)


UNTRACED = (  # which iterate, or ask for words or frames
    *("methods", "convert_force", "convert_state", "equilibrium", "inverse_kinematics"),
    *("constrained_dynamics", "impact"),
)
TRACED = [f for name, f in PUBLIC.items() if inspect.isfunction(f) and name not in UNTRACED]
FUNCTIONS = [f for f in TRACED if "q" in inspect.signature(f).parameters]
CHOICES = [
    pytest.param(function, method, id="-".join(filter(None, [function.__name__, method])))
    for function in FUNCTIONS
    for method in (lw.methods(function) if "method" in inspect.signature(function).parameters else [None])
]


ROTORLESS = (
    lw.formulations.operators,
    lw.formulations.operator_rates,
    lw.formulations.mass_factor_rate,
    lw.formulations.kinetic_gradient,
)
FREE_BASE = (lw.base_wrench, lw.floating_dynamics, lw.generalized_jacobian)
MATRIX_PRODUCTS = (lw.forward_dynamics_second_derivatives,)  # of BLAS: sums in its own order, with fused operations


@pytest.mark.parametrize(("function", "method"), CHOICES)
@pytest.mark.parametrize("robot", rest_slow([ARM, TREE, lw.load("puma560")], [TREE]), ids=lambda robot: robot.name)
def test_the_program_of_a_public_function_is_the_function_to_the_last_bit(function, method, robot):
    robot = robot.without_rotors() if function in ROTORLESS else robot
    robot = robot.with_free_base(2.0, (0.1, 0.2, 0.3), np.eye(3)) if function in FREE_BASE else robot
    ports = lw.trace(function, robot, **({"method": method} if method else {})).inputs
    rng = np.random.default_rng(3)
    arrays = [rng.normal(size=(4, *port.shape)) for port in ports]
    assert agree(function, robot, *arrays, **({"method": method} if method else {}))


@pytest.mark.parametrize("shape", [(6,), (6, 6)], ids=["tip", "every link"])
@pytest.mark.parametrize("function", [lw.inverse_dynamics, lw.forward_dynamics])
def test_a_wrench_becomes_an_input_when_asked_for(function, shape):
    rng = np.random.default_rng(4)
    arrays, wrench = rng.normal(size=(3, 5, 6)), rng.normal(size=(5, *shape))
    traced = lw.trace(function, ARM, wrench=lw.Input(*shape))
    assert traced.inputs[-1] == Port("wrench", shape)
    assert agree(function, ARM, *arrays, wrench=wrench)


STIFFNESS = np.array([50.0, 40.0, 30.0, 20.0, 10.0, 5.0])


def controller(arm, q, qd, target, *, damping=2.0):
    """Springs and dampers about a target, gravity carried, and a load that sways."""
    sway = np.sin(q) * np.cos(target) / np.sqrt(1.0 + q**2)
    return STIFFNESS * (target - q) - damping * qd + lw.gravity_torque(arm, q) + sway


def closed_loop(arm, q, qd, target):
    """The acceleration under that controller, and how much power it takes."""
    tau = controller(arm, q, qd, target)
    return lw.forward_dynamics(arm, q, qd, tau), (tau * qd).sum(-1)


def test_a_function_of_ones_own_over_these_is_traced_like_them():
    traced = lw.trace(controller, ARM)
    assert traced.inputs == tuple(Port(name, (6,)) for name in ("q", "qd", "target"))
    assert traced.outputs == (Port("controller", (6,)),)
    arrays = np.random.default_rng(5).normal(size=(3, 7, 6))
    assert agree(controller, ARM, *arrays)
    assert agree(controller, ARM, *arrays, damping=0.5)
    assert not np.array_equal(
        evaluate(traced, *arrays)[0], evaluate(lw.trace(controller, ARM, damping=0.5), *arrays)[0]
    )
    assert lw.count(controller, ARM).divisions == 6
    assert lw.count(controller, ARM).total > lw.count(lw.gravity_torque, ARM).total


def test_several_results_are_several_outputs():
    traced = lw.trace(closed_loop, ARM)
    assert traced.outputs == (Port("closed_loop_0", (6,)), Port("closed_loop_1", ()))
    q, qd, target = np.random.default_rng(6).normal(size=(3, 7, 6))
    found, power_found = evaluate(traced, q, qd, target)
    expected, power_expected = closed_loop(ARM, q, qd, target)
    assert np.array_equal(found, expected)
    assert relative(power_found, power_expected) < 1e-14  # NumPy sums in another order


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda arm, q: q[0], ()),
        (lambda arm, q: [q[0], 1.0, np.float32(2.0), 3], (4,)),
        (lambda arm, q: np.outer(q, q), (6, 6)),
        (lambda arm, q: np.zeros((2, 0)), (2, 0)),
        (lambda arm, q: 2.5, ()),
        (lambda arm: np.arange(3), (3,)),
        (lambda arm, q, k: q * k, (6,)),
    ],
)
def test_results_may_be_nodes_numbers_lists_or_arrays(function, shape):
    keywords = {"k": lw.Input()} if "k" in inspect.signature(function).parameters else {}
    traced = lw.trace(function, ARM, **keywords)
    assert traced.outputs[0].shape == shape
    arrays = [np.arange(1.0, 7.0), 2.0][: len(traced.inputs)]
    assert np.array_equal(evaluate(traced, *arrays)[0], np.array(function(ARM, *arrays), dtype=float))


@pytest.mark.parametrize(
    "result", [None, "tau", True, 1j, [[1.0], [1.0, 2.0]], {"tau": 1.0}, [None], [True, "x"]], ids=repr
)
def test_a_function_that_returns_no_numbers_is_refused(result):
    with raises(TypeError, "array", "numbers"):
        lw.trace(lambda arm, q: result, ARM)


def test_a_function_that_branches_on_its_inputs_is_refused_with_help():
    def saturated(arm: lw.Robot, q: Any) -> Any:
        return [x if x < 1.0 else 1.0 for x in q]

    with raises(TypeError, "q[0]", "np.where", "robot"):
        lw.trace(saturated, ARM)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_function_with_a_constant_that_is_not_finite_is_refused(bad):
    with pytest.raises(GrammarError, match=f"constant {bad} is not finite"):
        lw.trace(lambda arm, q: [q[0] * bad], ARM)


def test_a_node_kept_from_another_trace_is_refused():
    kept: list[Any] = []
    lw.trace(lambda arm, q: kept.append(q[0]) or q, ARM)
    for leak in (lambda arm, q: q * kept[0], lambda arm, q: kept):
        with pytest.raises(ValueError, match="another graph"):
            lw.trace(leak, ARM)


@pytest.mark.parametrize("robot", ["stanford", None, lw.poses])
def test_tracing_needs_a_robot(robot):
    with raises(TypeError, "second", "Robot") as caught:
        lw.count(lw.poses, robot)
    assert ("linkwise.load('stanford')" in str(caught.value)) == (robot == "stanford")


@pytest.mark.parametrize("shape", [((6,),), (-1,), ("6",), (2.0,), (True,)], ids=str)
def test_the_shape_of_an_input_is_whole_numbers(shape):
    with pytest.raises(TypeError, match=r"is not a shape \(expected whole numbers: Input\(6\)"):
        lw.Input(*shape)


def test_a_keyword_that_the_function_does_not_know_is_refused():
    with pytest.raises(TypeError, match="colour"):
        lw.trace(lw.poses, ARM, colour="red")


def test_a_wrong_wrench_input_is_refused_like_a_wrong_wrench():
    with pytest.raises(ValueError, match=r"wrench has shape \(5,\)"):
        lw.trace(lw.inverse_dynamics, ARM, wrench=lw.Input(5))
