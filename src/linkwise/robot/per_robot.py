"""Values that follow from a robot, kept as long as the robot is."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import TYPE_CHECKING, Generic, TypeVar, TypeVarTuple
from weakref import ref

if TYPE_CHECKING:
    from .model import Robot

Key = TypeVarTuple("Key")
Value = TypeVar("Value")

MOST_ROBOTS = 64  # a value may hold its robot, which would then be kept forever


class PerRobot(Generic[*Key, Value]):
    """A function of a robot, and of further arguments, whose results are kept: a decorator.

    Each robot object has its own results, equal ones too. They are kept for the robots that came last. They are neither
    copied nor pickled. Two threads may compute the same result; both then get the one that was there first.
    """

    def __init__(self, compute: Callable[[Robot, *Key], Value]) -> None:
        self._compute = compute
        self._kept: dict[int, tuple[ref[Robot], dict[tuple[*Key], Value]]] = {}  # replaced, never changed
        update_wrapper(self, compute)

    def __call__(self, robot: Robot, *key: *Key) -> Value:
        values = self._values(robot)
        if key in values:
            return values[key]
        return values.setdefault(key, self._compute(robot, *key))

    def _values(self, robot: Robot) -> dict[tuple[*Key], Value]:
        kept = self._kept.get(id(robot))
        if kept is not None and kept[0]() is robot:
            return kept[1]
        values: dict[tuple[*Key], Value] = {}
        alive = [(key, kept) for key, kept in self._kept.items() if kept[0]() is not None]
        self._kept = {**dict(alive[1 - MOST_ROBOTS :]), id(robot): (ref(robot), values)}
        return values
