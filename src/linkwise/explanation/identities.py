"""What is zero for every state among quantities of symbols, and what is equal: identity testing at random points.

Symbols fold zeros by algebra only where they are written: an element that an elimination annihilates comes out as
-t1 t2 + t3. So the quantities are computed once more at `POINTS` random points, in numbers with an estimate of their
rounding error (`quantities.Rounded`). What is zero at all of them, to about 14 digits each, is zero; what has the same
value at all of them is the same function, and is written as the shortest of its expressions: M̂ of a tip as M.
Polynomials in symbols, sines and roots that differ agree there with a probability of nearly zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..robot import Robot
from ..robot.symbols import is_expression
from .quantities import Quantity, Rounded, quantities

POINTS = 3
EQUAL = 1e-11  # relative difference of equal values
SHORTER = 1.5  # times that an expression is longer than the one that is written instead
Values = dict[str, list[Any]]
Entry = tuple[int, Any, tuple[int, ...]]  # quantity, key of its values, indices


def is_sympy(x: Any) -> bool:
    return type(x).__module__.startswith("sympy")


def is_symbolic(x: Any) -> bool:
    return is_expression(x) or is_sympy(x)


def with_identities(robot: Robot, state: Values, symbolic: Sequence[Quantity]) -> list[Quantity]:
    """The quantities, with zeros as 0 and equal expressions written alike."""
    entries: dict[Entry, Any] = {}
    for k, quantity in enumerate(symbolic):
        for key, value in quantity.values.items():
            entries |= {(k, key, indices): x for indices, x in leaves(value) if is_symbolic(x)}
    if not entries:
        return list(symbolic)
    columns = []
    for point in range(POINTS):
        numbers = quantities(*at_random_point(robot, state, point))
        columns.append([leaf(numbers[k].values[key], indices) for k, key, indices in entries])
    values = np.array(columns, dtype=float)  # (points, entries)
    expressions = list(entries.values())
    sizes = [size_of(x) for x in expressions]
    shortest: dict[int, Any] = {}
    for group in groups_of(values):
        best = min(group, key=sizes.__getitem__)
        for i in group:  # its own form stays, unless another is much shorter
            form = best if SHORTER * sizes[best] <= sizes[i] else i
            shortest[i] = expressions[form] if values[:, i].any() else 0.0
    changed = {entry: shortest.get(i, x) for i, (entry, x) in enumerate(entries.items())}
    return [
        replace(
            quantity,
            values={key: replaced(value, k, key, (), changed) for key, value in quantity.values.items()},
        )
        for k, quantity in enumerate(symbolic)
    ]


def leaves(value: Any, indices: tuple[int, ...] = ()) -> list[tuple[tuple[int, ...], Any]]:
    """The numbers of nested lists with their indices."""
    if not isinstance(value, list):
        return [(indices, value)]
    return [leaf for i, part in enumerate(value) for leaf in leaves(part, (*indices, i))]


def leaf(value: Any, indices: tuple[int, ...]) -> Any:
    for i in indices:
        value = value[i]
    return value


def replaced(value: Any, k: int, key: Any, indices: tuple[int, ...], changed: dict[Entry, Any]) -> Any:
    if isinstance(value, list):
        return [replaced(part, k, key, (*indices, i), changed) for i, part in enumerate(value)]
    return changed.get((k, key, indices), value)


def at_random_point(robot: Robot, state: Values, point: int) -> tuple[Any, ...]:
    """The robot and q, qd, qdd, tau in numbers with rounding errors.

    Symbols of the robot are positive, as masses and lengths are; the others have either sign.
    """
    of_robot: dict[str, Any] = {}
    robot.mapped(lambda x: (of_robot.update(symbols_of(x)), x)[1])
    of_state = {name: symbol for array in state.values() for x in array for name, symbol in symbols_of(x).items()}
    symbols = {**of_state, **of_robot}
    rng = np.random.default_rng(point)
    sizes = dict(zip(sorted(symbols), rng.uniform(0.4, 1.6, len(symbols)).tolist(), strict=True))
    turned = {name: (-1.0) ** (point + k) for k, name in enumerate(sorted(of_state)) if name not in of_robot}
    values = {name: size * turned.get(name, 1.0) for name, size in sizes.items()}
    number = substitution(symbols, values)

    def rounded(x: Any) -> Any:
        return x if not is_symbolic(x) and x in (0.0, 1.0, -1.0) else Rounded.of(number(x))

    arrays = {name: [rounded(x) for x in array] for name, array in state.items()}
    return robot.mapped(rounded), *(arrays.get(name) for name in ("q", "qd", "qdd", "tau"))


def symbols_of(x: Any) -> dict[str, Any]:
    """The symbols of an expression by name; of Linkwise's the expression itself."""
    if is_sympy(x):
        return {str(symbol): symbol for symbol in x.free_symbols}
    return dict.fromkeys(x.symbol_names, x) if is_expression(x) else {}


def substitution(symbols: dict[str, Any], values: dict[str, float]) -> Callable[[Any], float]:
    by_symbol = {symbol: values[name] for name, symbol in symbols.items() if is_sympy(symbol)}
    node = next((x for x in symbols.values() if is_expression(x)), None)
    put = None if node is None else node.graph.substitution(values)

    def number(x: Any) -> float:
        if is_sympy(x):
            return float(x.subs(by_symbol))
        return float(put(x) if put is not None and is_expression(x) else x)

    return number


def groups_of(values: np.ndarray) -> list[list[int]]:
    """Columns that are equal; those with a number that is not finite are in none."""
    groups: list[list[int]] = []
    latest: list[list[int]] = []  # groups that the next columns may belong to
    for i in np.argsort(values[0], kind="stable").tolist():
        if not np.isfinite(values[:, i]).all():
            continue
        latest = [group for group in latest if near(values[:1, group[0]], values[:1, i])]
        group = next((group for group in latest if near(values[:, group[0]], values[:, i])), None)
        if group is None:
            group = []
            groups.append(group)
            latest.append(group)
        group.append(i)
    return groups


def near(a: np.ndarray, b: np.ndarray) -> bool:
    return bool((np.abs(a - b) <= EQUAL * np.maximum(np.abs(a), np.abs(b))).all())


def size_of(expression: Any) -> int:
    """The number of different operations of an expression; quotients count more."""
    if not is_expression(expression):
        return int(expression.count_ops())
    seen, stack = {expression.index: expression}, [expression]
    while stack:
        rest = {a.index: a for a in stack.pop().args if a.index not in seen}
        seen |= rest
        stack += rest.values()
    return sum(1 + 9 * (node.op == "div") for node in seen.values())
