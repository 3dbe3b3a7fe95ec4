"""The methods of each public function, and its default methods.

Called, counted, printed or differentiated without a `method`, a function takes the first of its list, the formulation
that its documentation describes. Where code is generated (kernels, simulations, C), it takes "fewest", the method with
the fewest operations, if it offers that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .. import dynamics
from ..dynamics import quasi
from ..errors import one_of
from ..kernels.dispatch import MAX_STRAIGHT_LINKS
from ..kernels.sources import qualified_name
from ..public_names import place_of
from ..robot import Robot
from ..tracing import cheapest_method
from ..tracing.tracing import FEWEST_PREFERRED, Motion

Function = Callable[..., Any]


class Methods(NamedTuple):
    """The methods of one function."""

    algorithms: Mapping[str, Any]  # plain functions by name, the default first
    candidates: tuple[str, ...] = ()  # "fewest" is the one of these with the fewest operations on the robot
    long: str = ""  # "fewest" beyond MAX_STRAIGHT_LINKS links, where counting takes long
    with_balls: tuple[str, ...] = ()  # further candidates, for robots with ball or free joints
    loops: bool = False  # whether the function is compiled as loops over the links by the methods that can

    def listed_in(self, can: Iterable[Any]) -> list[str]:
        """The names of the methods in one of the capability lists of `dynamics`."""
        return [name for name, algorithm in self.algorithms.items() if algorithm in can]

    def supported_by(self, robot: Robot) -> list[str]:
        """The names of the methods for this robot: with coupled joints only those that support them, if any does."""
        return (self.listed_in(dynamics.ANY_COUPLING) if robot.couplings else []) or list(self.algorithms)

    @property
    def loop_methods(self) -> dict[str, str]:
        """The methods that can loop over the links, and the method that then runs."""
        if not self.loops:
            return {}
        methods = {name: name for name in self.listed_in(dynamics.ANY_LENGTH)}
        return {**methods, "fewest": self.long} if self.long else methods


METHODS: dict[str, Methods] = {  # by the functions' names
    "inverse_dynamics": Methods(dynamics.ALL_INVERSE_DYNAMICS, loops=True),
    "forward_dynamics": Methods(
        {**dynamics.ALL_FORWARD_DYNAMICS, "fewest": None},
        ("composite-udu", "articulated-regrouped"),
        "articulated-regrouped",
        with_balls=("denoc",),
        loops=True,
    ),
    "inertia_matrix": Methods(
        {**dynamics.ALL_INERTIA_MATRICES, "fewest": None},
        ("composite", "denoc", "composite-regrouped"),
        "composite-regrouped",
    ),
    "inverse_inertia_matrix": Methods(
        {**dynamics.ALL_INVERSE_INERTIA_MATRICES, "fewest": None},
        tuple(dynamics.ALL_INVERSE_INERTIA_MATRICES),
        "inverse-inertia",
    ),
    "bias_torque": Methods(dynamics.ALL_INVERSE_DYNAMICS, loops=True),
    "gravity_torque": Methods(dynamics.ALL_INVERSE_DYNAMICS, loops=True),
    "udu": Methods(dynamics.ALL_UDU),
    "QuasiCoordinates.coriolis": Methods(quasi.CORIOLIS),
}
LOOP_METHODS = {name: methods.loop_methods for name, methods in METHODS.items() if methods.loops}


def methods(function: Function) -> list[str]:
    """The names of every formulation that a function offers as `method=`.

    The first is the default, except where code is generated (`lw.compile`, compiled calls, simulations,
    `lw.c_source`): the default there is "fewest", where it is offered. All methods give the same numbers up to
    rounding; `lw.compile(...).method` is the one that was compiled. For `lw.simulate` and `lw.rollout` the names
    are those of the integrators, `integrator=`.

    Parameters
    ----------
    function : callable
        A function of Linkwise that has a choice of methods.

    Returns
    -------
    list of str

    Examples
    --------
    >>> import linkwise as lw
    >>> lw.methods(lw.simulate)[:3]
    ['verner65', 'dverk65', 'dormand54']
    >>> lw.methods(lw.inertia_matrix)
    ['composite', 'denoc', 'complement', 'operators', 'udu', 'composite-regrouped', 'fewest']
    """
    motion: Motion | None = getattr(function, "motion", None)
    if motion is not None:
        return motion.methods()
    if not has_methods(function):
        place = place_of(str(function)) if str(function) in (*METHODS, "simulate", "rollout") else None
        hint = f"pass the function: lw.{place}" if place else f"these are: {', '.join(METHODS)}"
        raise ValueError(f"{function!r} is not a function with a choice of methods ({hint})")
    return list(methods_of(function).algorithms)


def has_methods(function: object) -> bool:
    """Whether this is a function of Linkwise with a choice of methods."""
    return (
        callable(function) and getattr(function, "__qualname__", "") in METHODS and qualified_name(function) is not None
    )


def methods_of(function: Function) -> Methods:
    return METHODS[function.__qualname__]


def algorithm(function: Function, method: str | None, robot: Robot | None = None) -> Any:
    """The plain function of a method on this robot."""
    return methods_of(function).algorithms[method_name(function, method, robot)]


def method_name(function: Function, method: str | None, robot: Robot | None = None) -> str:
    """The name of the method: the default if none is given; for "fewest", the method that it selects for this robot."""
    offered, requested = methods_of(function), method
    if method is None:
        generated = FEWEST_PREFERRED.get() and "fewest" in offered.algorithms
        method = "fewest" if generated else next(iter(offered.algorithms))
    one_of(method, offered.algorithms, f"{function.__name__}: method")
    if (
        isinstance(robot, Robot)
        and robot.couplings
        and len(supported := offered.supported_by(robot)) < len(offered.algorithms)
    ):
        return coupled_method(function, supported, method, requested, robot)
    if method == "fewest" and offered.candidates:
        if not isinstance(robot, Robot):
            return offered.candidates[0]
        if robot.n > MAX_STRAIGHT_LINKS:
            return offered.long
        candidates = (*offered.candidates, *offered.with_balls) if robot.balls else offered.candidates
        return cheapest_method(function, robot, *candidates)
    return method


def coupled_method(
    function: Function, supported: Sequence[str], method: str, requested: str | None, robot: Robot
) -> str:
    """The method for a robot with coupled joints, one of the supported ones."""
    if requested not in (None, "fewest", *supported):
        joint, others = robot.links[robot.couplings[0].link].name, " or ".join(map(repr, supported))
        raise ValueError(
            f"{function.__name__}: method {method!r} has no form for coupled joints, and joint {joint!r} of robot"
            f" {robot.name!r} is one (expected {others})"
        )
    return method if method in supported else supported[0]


def for_generated_code(function: Function, keywords: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
    """The keywords for generated code with its default method, and the method of the form with loops."""
    if not has_methods(function):
        return keywords, None
    offered, method = methods_of(function), keywords.get("method")
    if method is None:
        method = "fewest" if "fewest" in offered.algorithms else next(iter(offered.algorithms))
    return {**keywords, "method": method}, LOOP_METHODS.get(function.__qualname__, {}).get(method)
