"""The symbols in place of a robot's numbers: their names, and values for them.

A symbol, or an expression of symbols, is an object with `symbol_names` and a `graph` that has `substitution(values)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..errors import near_miss
from .entries import check_number, is_symbol
from .model import Robot, from_table, require_robot
from .named_arrays import refuse_gradients
from .per_robot import PerRobot


def symbols_of(robot: Robot) -> tuple[str, ...]:
    """The names of the symbols that a robot is made of."""
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


@PerRobot
def expressions(robot: Robot) -> list[Any]:
    """What is no number among the numbers of a robot and of its table."""
    found: list[Any] = []

    def visit(x: Any) -> Any:
        if type(x) is not float and is_symbol(x):
            found.append(x)
        return x

    robot.mapped(visit)
    return found


def is_expression(x: object) -> bool:
    """Whether it is a symbol of ours, or an expression of symbols."""
    return hasattr(type(x), "symbol_names")


def refuse_symbols(robot: Robot) -> None:
    """Raise an error if the robot has symbols, where numbers are needed."""
    if not robot.symbolic:
        return
    others = {repr(x) for x in expressions(robot) if not is_expression(x)}  # of other libraries
    names = ", ".join(sorted(others) or symbols_of(robot))
    raise ValueError(
        f"robot {robot.name!r} has symbols: {names} (expected numbers: lw.bind puts them in; lw.rollout takes them as"
        " parameters, also for each trajectory)"
    )


def bind(robot: Robot, /, **values: float) -> Robot:
    """The robot with these values for its symbols; it is checked as any robot is. Symbols not named stay symbols.

    >>> import linkwise as lw
    >>> m = lw.symbols("m")
    >>> slider = {"joint": "prismatic", "a": 0, "alpha": 0, "theta": 0, "mass": m, "com": (0, 0, 0),
    ...           "inertia": [[0, 0, 0], [0, 0, 0], [0, 0, 0]]}
    >>> arm = lw.Robot.from_dh([slider], convention="standard", name="slider")
    >>> lw.inertia_matrix(lw.bind(arm, m=2.5), [0.0])
    array([[2.5]])
    """
    known = symbols_of(robot)
    for name in values:
        if name not in known:
            offered = ", ".join(known) or "none"
            raise ValueError(f"robot {robot.name!r} has no symbol {name!r}{near_miss(name, known)} (it has: {offered})")
        if is_expression(values[name]):
            raise TypeError(
                f"{name!r} of robot {robot.name!r} is given what is being traced (expected a number: symbols that are"
                " not bound are inputs of the function)"
            )
        refuse_gradients(name, values[name])
    copy = substitution(robot, {name: float(check_number(value, name)) for name, value in values.items()})
    rows = [{key: map_nested(copy, value) for key, value in row.items()} for row in robot.rows]
    return from_table(rows, robot.convention, [copy(x) for x in robot.gravity], robot.name)


def random_bindings(robot: Robot, count: int) -> list[Robot]:
    """`count` robots with random values for the symbols, unchecked. For a robot of numbers, that robot alone."""
    names = symbols_of(robot)
    values = np.random.default_rng(len(names)).uniform(0.5, 1.5, (count, len(names)) if names else (1, 0))
    return [bind_unchecked(robot, dict(zip(names, row, strict=True))) for row in values]


def bind_unchecked(robot: Robot, values: Mapping[str, float]) -> Robot:
    """The robot with these values for its symbols, whether or not a body can have them."""
    return robot.mapped(substitution(robot, values))


def substitution(robot: Robot, values: Mapping[str, float]) -> Callable[[Any], Any]:
    """What puts values into the robot's expressions of symbols, and makes its other numbers floats."""
    found = expressions(robot)
    return found[0].graph.substitution(values) if found else float


def map_nested(copy: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return tuple(map_nested(copy, x) for x in value)
    return value if isinstance(value, (str, bool)) else copy(value)
