"""Conditions: comparisons of nodes, which choose between numbers without branching.

    where(x < y, a, b)        the operation where_lt(x, y, a, b)
    where(~c, a, b)           where(c, b, a)
    where(c & d, a, b)        where(c, where(d, a, b), b)
    where(c | d, a, b)        where(c, a, where(d, a, b))

A condition is not a node, but counts as 1 or 0 in arithmetic with numbers, as NumPy's truth values do. The product of
two conditions is their logical and. NumPy's sum of two arrays of truth values is their logical or, but np.sum counts
them. A condition cannot distinguish these callers, so its sum is an error; `graph/arrays.py` distinguishes them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from . import rules


class Condition:
    """A comparison of two numbers. `choose(a, b)` is a where it holds, b elsewhere."""

    __slots__ = ("_choose", "_node", "_text")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, choose: Callable[[Any, Any], Any], text: str, node: Any) -> None:
        self._choose, self._text, self._node = choose, text, node  # a node that it compares

    def choose(self, a: Any, b: Any) -> Any:
        return self._choose(a, b)

    def number(self) -> Any:
        """1 where it holds, 0 elsewhere."""
        return self.choose(1.0, 0.0)

    def __and__(self, other: Any) -> Any:
        return logical_and(self, other) if is_truth(other) else NotImplemented

    def __or__(self, other: Any) -> Any:
        return logical_or(self, other) if is_truth(other) else NotImplemented

    def __xor__(self, other: Any) -> Any:
        return logical_xor(self, other) if is_truth(other) else NotImplemented

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self) -> Any:
        return logical_not(self)

    def __add__(self, other: Any) -> Any:
        if is_truth(other):
            raise TypeError(
                "the sum of two comparisons has two meanings: write c | d if either may hold,"
                " or np.sum(np.stack([c, d]), axis=0) to count them, with np.stack instead of a list or np.array"
            )
        return self._with(rules.add, other)

    def __mul__(self, other: Any) -> Any:
        return logical_and(self, other) if is_truth(other) else self._with(rules.mul, other)

    __radd__, __rmul__ = __add__, __mul__

    def __sub__(self, other: Any) -> Any:
        return NotImplemented if is_truth(other) else self._with(rules.sub, other)

    def __rsub__(self, other: Any) -> Any:
        return NotImplemented if is_truth(other) else self._with(lambda number, x: rules.sub(x, number), other)

    def __truediv__(self, other: Any) -> Any:
        return self._with(rules.div, as_number(other))

    def __eq__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else equal(self, other)

    def __ne__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else logical_not(equal(self, other))

    def _with(self, operation: Callable[[Any, Any], Any], other: Any) -> Any:
        """Arithmetic with a number; arrays apply it to each element."""
        return NotImplemented if isinstance(other, np.ndarray) else operation(self.number(), other)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        return self._node.__array_ufunc__(ufunc, method, *inputs, **keywords)

    def __array_function__(self, function: Any, types: Any, args: Any, keywords: Any) -> Any:
        return self._node.__array_function__(function, types, args, keywords)

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"the node {self._node.infix} stands for a number that is not known yet, so it cannot be compared with if,"
            " and, or, min() or max(), nor in a list or an array that np.array or np.asarray made: write np.where("
            "condition, a, b), np.minimum, np.maximum or np.clip, & and | instead of and and or, np.stack([...])"
            " instead of np.array([...]) or a list; or branch on the robot and on plain Python values"
        )

    def __repr__(self) -> str:
        return f"<{self._text}>"


SYMBOLS = {"where_lt": "<", "where_le": "<=", "where_eq": "=="}


def comparison(name: str, x: Any, y: Any) -> Any:
    """The condition of where_lt, where_le or where_eq; a truth value of two plain numbers."""
    if rules.is_number(x) and rules.is_number(y):
        return bool(rules.COMPARED[name](x, y))
    node = y if rules.is_number(x) else x
    return Condition(
        lambda a, b: rules.where(name, x, y, a, b), f"{operand_text(x)} {SYMBOLS[name]} {operand_text(y)}", node
    )


def operand_text(x: Any) -> str:
    return f"{x:g}" if rules.is_number(x) else x.infix


def is_truth(x: Any) -> bool:
    return isinstance(x, (Condition, bool, np.bool_))


def as_number(x: Any) -> Any:
    """A condition or truth value as 1 or 0."""
    if isinstance(x, Condition):
        return x.number()
    return float(x) if isinstance(x, (bool, np.bool_)) else x


def where(condition: Any, a: Any, b: Any) -> Any:
    """a where the condition holds, otherwise b. A number counts as a condition: it is not zero."""
    a, b = as_number(a), as_number(b)
    if isinstance(condition, Condition):
        return condition.choose(a, b)
    if rules.is_number(condition):
        return a if condition else b
    return rules.where("where_eq", condition, 0.0, b, a)


def logical_and(c: Any, d: Any) -> Any:
    if not isinstance(c, Condition):
        c, d = d, c
    if not isinstance(c, Condition) or not isinstance(d, Condition):
        return c if d else False
    return Condition(lambda a, b: c.choose(d.choose(a, b), b), f"({c._text}) & ({d._text})", c._node)


def logical_or(c: Any, d: Any) -> Any:
    return logical_not(logical_and(logical_not(c), logical_not(d)))


def equal(a: Any, b: Any) -> Any:
    """Equality of two conditions, or of two numbers."""
    if is_truth(a) and is_truth(b):
        return logical_not(logical_xor(a, b))
    return comparison("where_eq", as_number(a), as_number(b))


def logical_xor(c: Any, d: Any) -> Any:
    return logical_or(logical_and(c, logical_not(d)), logical_and(logical_not(c), d))


def logical_not(c: Any) -> Any:
    if not isinstance(c, Condition):
        return not c
    return Condition(lambda a, b: c.choose(b, a), f"~({c._text})", c._node)
