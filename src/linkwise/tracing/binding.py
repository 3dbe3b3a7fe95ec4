"""Giving values to the symbols of a robot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import near_miss
from ..graph import Node
from ..robot import PerRobot, Robot, from_table, require_robot
from ..robot.entries import is_symbol
from ..robot.named_arrays import refuse_gradients
from ..symbolic import Transplant, shared_graph


def symbols_of(robot: Robot) -> tuple[str, ...]:
    """The names of the symbols that a robot is made of."""
    require_robot(robot)
    return known_symbols(robot)


@PerRobot
def known_symbols(robot: Robot) -> tuple[str, ...]:
    copy = Transplant(shared_graph(), {"": 0.0})  # a value for no symbol: everything is visited
    robot.mapped(copy)
    return tuple(sorted(copy.names))


def refuse_symbols(robot: Robot) -> None:
    """Raise an error if the robot has symbols, where numbers are needed."""
    if not robot.symbolic:
        return
    others = [repr(x) for x in robot.non_floats if is_symbol(x) and not isinstance(x, Node)]  # of other libraries
    names = ", ".join(sorted(set(others)) or symbols_of(robot))
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
        if isinstance(values[name], Node):
            raise TypeError(
                f"{name!r} of robot {robot.name!r} is given what is being traced (expected a number: symbols that are"
                " not bound are inputs of the function)"
            )
        refuse_gradients(name, values[name])
    # while a function is traced, the symbols of its robot are nodes of that function's graph
    own = (x.graph for x in robot.non_floats if isinstance(x, Node))
    copy = Transplant(next(own, shared_graph()), {name: float(value) for name, value in values.items()})
    rows = [{key: nested(copy, value) for key, value in row.items()} for row in robot.rows]
    return from_table(rows, robot.convention, [copy(x) for x in robot.gravity], robot.name)


def random_bindings(robot: Robot, count: int) -> list[Robot]:
    """`count` robots with random values for the symbols, unchecked. For a robot of numbers, that robot alone."""
    names = symbols_of(robot)
    values = np.random.default_rng(len(names)).uniform(0.5, 1.5, (count, len(names)) if names else (1, 0))
    return [unchecked(robot, dict(zip(names, row, strict=True))) for row in values]


def unchecked(robot: Robot, values: Mapping[str, float]) -> Robot:
    """The robot with these values for its symbols, whether or not a body can have them."""
    return robot.mapped(Transplant(shared_graph(), {"": 0.0, **values}))


def nested(copy: Transplant, value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return tuple(nested(copy, x) for x in value)
    return value if isinstance(value, (str, bool)) else copy(value)
