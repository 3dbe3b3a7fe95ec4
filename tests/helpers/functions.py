"""The public functions of robots and states: each with its methods, and the robots that they are called on."""

import inspect
from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest

import linkwise as lw
from effort import THOROUGH, in_turn, rest_slow

OF_FUNCTIONS = ("derivative", "jvp", "vjp")  # which take functions
ROOMS = tuple(
    f"linkwise.{room}"
    for room in ("api.", "derivatives.", "regressors.", "formats.conventions", "robot.configurations")
)
PLACES = (lw, lw.formulations, lw.identification)
MEMBERS = {name: getattr(place, name) for place in PLACES for name in place.__all__ if name not in OF_FUNCTIONS}
PUBLIC = {
    name: member
    for name, member in sorted(MEMBERS.items())
    if (getattr(member, "__module__", None) or "").startswith(ROOMS)
}
ARM = lw.load("stanford")  # q[0] turns the whole arm about the vertical: most results do not depend on it
SHORT = lw.chain(3, seed=4, joints="RRP")
TREE = lw.random_tree(5, seed=11)  # three tips
GANTRY = lw.load("gantry")  # nothing depends on q but poses and energy
ROBOTS = [ARM, TREE, GANTRY]


class Call(NamedTuple):
    """A public function, one of its methods, and the names of the arrays that it must be given."""

    function: Callable[..., Any]
    keywords: dict[str, str]
    arguments: list[str]
    wrench: bool

    def __call__(self, robot: lw.Robot, *arrays: Any, **keywords: Any) -> list[Any]:
        """Its results, always in a list."""
        result = self.function(robot, *arrays, **self.keywords, **keywords)
        return list(result) if isinstance(result, tuple) else [result]

    def __str__(self) -> str:
        return "-".join([self.function.__qualname__, *self.keywords.values()])


NO_DYNAMICS = ("compile", "ptx_source", "wasm", "random_configuration")


def public_functions() -> list[Callable[..., Any]]:
    """Those of the api, and the operations of both sets of quasi-coordinates."""
    found = [f for name, f in PUBLIC.items() if inspect.isfunction(f) and name not in NO_DYNAMICS]
    for quasi in (lw.formulations.normalized, lw.formulations.unnormalized):
        found += [getattr(quasi, name) for name in dir(quasi) if not name.startswith("_")]
    return found


ELSEWHERE = (  # tested in test_momentum, on other robots, in test_constrained, test_inverse_kinematics, ...
    *(lw.base_wrench, lw.floating_dynamics, lw.generalized_jacobian),
    *(lw.constrained_dynamics, lw.impact),
    *(lw.convert_force, lw.convert_state, lw.random_configuration),
    *(lw.equilibrium, lw.inverse_kinematics),
)


def calls() -> list[Call]:
    """Every public function that takes states of any robot, with each of its methods."""
    found = []
    for function in public_functions():
        if function in ELSEWHERE:
            continue
        parameters = list(inspect.signature(function).parameters.values())[1:]
        arguments = [p.name for p in parameters if p.default is p.empty]
        wrench = any(p.name == "wrench" and p.kind is not p.KEYWORD_ONLY for p in parameters)
        if arguments:
            choices = [{"method": m} for m in lw.methods(function)] if "method" in str(parameters) else [{}]
            found += [Call(function, choice, arguments, wrench) for choice in choices]
    return found


CALLS = calls()
WITH_WRENCH = [call for call in CALLS if call.wrench]
ONE_METHOD = list({call.function: call for call in reversed(CALLS)}.values())[::-1]  # the rules in front of all methods
LONG = (lw.inverse_dynamics_second_derivatives, lw.forward_dynamics_second_derivatives)  # which take long in Python
SHORT_ONES = [call for call in ONE_METHOD if THOROUGH or call.function not in LONG]
every_function = in_turn(SHORT_ONES)
every_method_on_robots = pytest.mark.parametrize(
    ("call", "robot"),
    rest_slow([*product(CALLS, [SHORT]), *product(ONE_METHOD, [GANTRY, TREE])], [*product(ONE_METHOD, [SHORT])]),
    ids=lambda value: value.name if isinstance(value, lw.Robot) else str(value),
)
every_wrench = pytest.mark.parametrize("call", [call for call in ONE_METHOD if call.wrench], ids=str)
every_robot = pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: robot.name)


def arrays(call: Call, robot: lw.Robot, *batch: int, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(*batch, robot.n)) for _ in call.arguments]


def same_bits(one: Any, other: Any) -> bool:
    one, other = np.asarray(one), np.asarray(other)
    return one.dtype == other.dtype and one.shape == other.shape and np.array_equal(one, other, equal_nan=True)
