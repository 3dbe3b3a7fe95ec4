"""Robots with symbols for numbers: names of symbols, values for them; robots that stand in for others in traces.

A symbol, or an expression of symbols, is an object with `symbol_names` and a `graph` with `substitution(values)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import near_miss
from ..lazy import cached_property
from ..spatial import Scalar
from .entries import check_number, is_symbol
from .fingerprint import PerRobot
from .link import Link
from .model import Robot, from_table, require_robot
from .named_arrays import refuse_gradients


def symbols_of(robot: Robot) -> tuple[str, ...]:
    """The names of the symbols in a robot's numbers, sorted.

    Parameters
    ----------
    robot : Robot

    Returns
    -------
    tuple of str
    """
    require_robot(robot)
    return symbol_names(robot)


@PerRobot
def symbol_names(robot: Robot) -> tuple[str, ...]:
    for x in expressions(robot):
        if not is_expression(x):
            raise TypeError(
                f"{x!r} of the robot is not a number or a symbol of linkwise.symbols, so it cannot be traced"
            )
    return tuple(sorted({name for x in expressions(robot) for name in x.symbol_names}))


def mass_symbols(robot: Robot) -> set[str]:
    """The symbols in masses."""
    masses: list[Any] = [row.get("mass") for row in robot.rows]
    return {name for mass in masses if is_expression(mass) for name in mass.symbol_names}


@PerRobot
def expressions(robot: Robot) -> list[Any]:
    """All symbols and expressions among the numbers of a robot and of its table."""
    symbols: list[Any] = []

    def visit(x: Any) -> Any:
        if type(x) is not float and is_symbol(x):
            symbols.append(x)
        return x

    robot.mapped(visit)
    return symbols


def is_expression(x: object) -> bool:
    """Whether it is a Linkwise symbol or an expression of symbols."""
    return hasattr(type(x), "symbol_names")


def refuse_symbols(robot: Robot) -> None:
    """Raise an error if the robot has symbols."""
    if not robot.symbolic:
        return
    others = {repr(x) for x in expressions(robot) if not is_expression(x)}  # of other libraries
    names = ", ".join(sorted(others) or symbols_of(robot))
    raise ValueError(
        f"robot {robot.name!r} has symbols: {names} (expected numbers: lw.bind puts them in; lw.rollout takes them as"
        " parameters, also for each trajectory)"
    )


def bind(robot: Robot, **values: float) -> Robot:
    """Replace symbols of a robot by numbers. The result is checked like any robot; other symbols stay.

    Parameters
    ----------
    robot : Robot
    **values : float
        Values by the names of symbols.

    Returns
    -------
    Robot

    Examples
    --------
    >>> import linkwise as lw
    >>> m = lw.symbols("m")
    >>> slider = {"joint": "prismatic", "a": 0, "alpha": 0, "theta": 0, "mass": m, "com": (0, 0, 0),
    ...           "inertia": [[0, 0, 0], [0, 0, 0], [0, 0, 0]]}
    >>> arm = lw.Robot.from_dh([slider], convention="standard", name="slider")
    >>> lw.inertia_matrix(lw.bind(arm, m=2.5), [0.0])
    array([[2.5]])
    """
    names = symbols_of(robot)
    for name in values:
        if name not in names:
            listed = ", ".join(names) or "none"
            raise ValueError(f"robot {robot.name!r} has no symbol {name!r}{near_miss(name, names)} (it has: {listed})")
        if is_expression(values[name]):
            raise TypeError(
                f"{name!r} of robot {robot.name!r} is given a value that is being traced (expected a number: symbols"
                " that are not bound are inputs of the function)"
            )
        refuse_gradients(name, values[name])
    copy = substitution(robot, {name: float(check_number(value, name)) for name, value in values.items()})
    rows = [{key: map_nested(copy, value) for key, value in row.items()} for row in robot.rows]
    return from_table(rows, robot.convention, [copy(x) for x in robot.gravity], robot.name)


def random_bindings(robot: Robot, count: int) -> list[Robot]:
    """`count` robots with random values for the symbols, unchecked; for a robot of numbers, that robot alone."""
    names = symbols_of(robot)
    values = np.random.default_rng(len(names)).uniform(0.5, 1.5, (count, len(names)) if names else (1, 0))
    return [bind_unchecked(robot, dict(zip(names, row, strict=True))) for row in values]


def bind_unchecked(robot: Robot, values: Mapping[str, float]) -> Robot:
    """The robot with these values for its symbols, physically consistent or not."""
    return robot.mapped(substitution(robot, values))


def substitution(robot: Robot, values: Mapping[str, float]) -> Callable[[Any], Any]:
    """A function that substitutes values in the robot's expressions and makes other numbers floats."""
    symbols = expressions(robot)
    return symbols[0].graph.substitution(values) if symbols else float


def map_nested(copy: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return tuple(map_nested(copy, x) for x in value)
    return value if isinstance(value, (str, bool)) else copy(value)


class Regrouping(NamedTuple):
    """Links without and with base parameters."""

    links: tuple[Link, ...]
    regrouped: tuple[Link, ...]


@dataclass(frozen=True, repr=False, eq=False)
class StandIn(Robot):
    """A robot whose numbers were replaced after regrouping; a robot made from it with other links is not regrouped."""

    regrouping: Regrouping | None = field(default=None, compare=False, repr=False)

    @property
    def known_links(self) -> tuple[Link, ...] | None:
        known = self.regrouping
        return known.regrouped if known is not None and any(self.links is links for links in known) else None

    @cached_property
    def _regrouped(self) -> Robot:
        if self.known_links is None:
            return super()._regrouped
        return self if self.links is self.known_links else replace(self, links=self.known_links)

    def mapped(self, convert: Callable[[Scalar], Scalar], *, orthonormal: bool = False) -> Robot:
        if self.known_links is None or self.links is self.known_links:
            return super().mapped(convert, orthonormal=orthonormal)
        return before_regrouping(self.regrouped().mapped(convert, orthonormal=orthonormal))


def before_regrouping(regrouped: Robot) -> StandIn:
    """The robot without base parameters; `regrouped()` gives them back."""
    links = tuple(replace(link, grouped=None) for link in regrouped.links)
    return StandIn(
        regrouped.name,
        links,
        regrouped.frames,
        regrouped.gravity,
        regrouped.table,
        regrouped.convention,
        regrouped.about,
        regrouped.couplings,
        regrouped.walk,
        Regrouping(links, regrouped.links),
    )
