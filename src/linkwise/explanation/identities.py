"""Symbolic quantities that are zero or equal in every state: identity testing at random points.

Symbols fold zeros by algebra only where they are written: an element that an elimination annihilates comes out as -t1
t2 + t3. So the quantities are computed once more at `POINTS` random points, in numbers with an estimate of their
rounding error (`quantities.Rounded`). An element that is zero at all of them, to about 14 digits, is zero. Elements
with the same values at all of them are the same function, and are written as the shortest of their expressions: M̂ of a
tip as M.

Only quotients of polynomials in symbols, sines and cosines are tested: two of them that differ agree at a random point
with a probability of nearly zero. Expressions with choices, signs or roots stay as they are, and so do those of SymPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..robot import Robot
from ..robot.entries import is_symbol
from ..robot.symbols import is_expression
from .quantities import Quantity, Rounded, quantities

POINTS = 3
EQUAL = 1e-13  # relative difference of equal values
ANALYTIC = {"input", "const", "add", "sub", "mul", "div", "neg", "sin", "cos"}
SHORTER = 1.5  # times that an expression is longer than the one that is written instead
Values = dict[str, list[Any]]
Entry = tuple[int, Any, tuple[int, ...]]  # quantity, key of its values, indices


def with_identities(robot: Robot, state: Values, symbolic: Sequence[Quantity]) -> list[Quantity]:
    """The quantities, with zeros as 0 and equal expressions written alike."""
    analytic = Analytic()
    entries: dict[Entry, Any] = {}
    for k, quantity in enumerate(symbolic):
        for key, value in quantity.values.items():
            entries |= {(k, key, indices): x for indices, x in leaves(value) if is_expression(x) and analytic(x)}
    given = [x for array in state.values() for x in array]
    if not entries or any(has_other_symbols(x) for x in given):
        return list(symbolic)
    columns = []
    for point in range(POINTS):
        numbers = quantities(*at_random_point(robot, state, point))
        columns.append([leaf(numbers[k].values[key], indices) for k, key, indices in entries])
    values = np.array(columns, dtype=float)  # (points, entries)
    expressions, quantity_of = list(entries.values()), [k for k, _, _ in entries]
    changed: dict[Entry, Any] = {}
    names = list(entries)
    for group in groups_of(values):
        if not values[:, group[0]].any():
            changed |= {names[i]: 0.0 for i in group}
        elif len(group) > 1:
            sizes = {i: size_of(expressions[i]) for i in group}
            best = min(group, key=sizes.__getitem__)
            for i in group:  # one form in a quantity, which stays unless that of another is much shorter
                form = min((j for j in group if quantity_of[j] == quantity_of[i]), key=sizes.__getitem__)
                changed[names[i]] = expressions[best if SHORTER * sizes[best] <= sizes[form] else form]
    return [
        replace(
            quantity,
            values={key: replaced(value, k, key, (), changed) for key, value in quantity.values.items()},
        )
        for k, quantity in enumerate(symbolic)
    ]


def is_sympy(x: Any) -> bool:
    return any((base.__module__ or "").startswith("sympy") for base in type(x).__mro__)


class Analytic:
    """Whether expressions are made of `ANALYTIC` operations alone."""

    def __init__(self) -> None:
        self.known: dict[int, bool] = {}

    def __call__(self, expression: Any) -> bool:
        stack = [expression]
        while stack:
            node = stack[-1]
            rest = [a for a in node.args if a.index not in self.known]
            if rest and node.index not in self.known:
                stack += rest
                continue
            stack.pop()
            self.known[node.index] = node.op in ANALYTIC and all(self.known[a.index] for a in node.args)
        return self.known[expression.index]


def has_other_symbols(x: Any) -> bool:
    """Whether it is a symbol of another library."""
    return not is_expression(x) and is_symbol(x)


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
    of_robot = {name for x in robot.non_floats if is_expression(x) for name in x.symbol_names}
    expressions = [x for array in state.values() for x in array if is_expression(x)]
    of_state = {name for x in expressions for name in x.symbol_names}
    names, rng = sorted(of_robot | of_state), np.random.default_rng(point)
    sizes, signs = rng.uniform(0.4, 1.6, len(names)), rng.choice([-1.0, 1.0], len(names))
    values = {
        name: float(size if name in of_robot else sign * size)
        for name, size, sign in zip(names, sizes, signs, strict=True)
    }

    def rounded(x: Any) -> Any:
        if not is_expression(x):
            return x if x in (0.0, 1.0, -1.0) else Rounded.of(float(x))
        return Rounded.of(float(x.graph.substitution(values)(x)))

    arrays = {name: [rounded(x) for x in array] for name, array in state.items()}
    return robot.mapped(rounded), *(arrays.get(name) for name in ("q", "qd", "qdd", "tau"))


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
    seen, stack = {expression.index: expression}, [expression]
    while stack:
        rest = {a.index: a for a in stack.pop().args if a.index not in seen}
        seen |= rest
        stack += rest.values()
    return sum(1 + 9 * (node.op == "div") for node in seen.values())
