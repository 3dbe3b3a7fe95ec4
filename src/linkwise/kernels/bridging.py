"""Arrays of other libraries: modules that call kernels on them, entries of calls by kind of array, graphs of torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from ..robot import Robot
from .lock import COUNTING, LOCK

if TYPE_CHECKING:
    from .interface import Interface

Function = Callable[..., Any]
BRIDGES = {"torch": "linkwise.bridges.torch"}  # by library
PLAIN_NUMBERS = {float, int}
MAX_ENTRIES = 64  # of a robot: each keeps a kernel
KINDS: dict[type, Function] = {}  # of arrays with entries of their own, such as tensors: what those of one entry share


@cache
def bridge(library: str) -> Any:
    """The module for arrays of a library, imported when the first of them come."""
    with LOCK:
        return import_module(BRIDGES[library])


class HasEntry(Protocol):
    """A kernel, or another form of it that takes other arrays."""

    @property
    def interface(self) -> Interface:
        """Its arrays."""

    def entry(self, fallback: Function) -> Function:
        """The fast path of a call; other calls go to the fallback."""


class Repeated(NamedTuple):
    """Calls with the same keywords: the robot, their key, and the function that takes their arrays in order."""

    robot: Robot
    key: Any
    slow: Function


def entry_by_kind(call: Repeated, usual: Function | None) -> Function:
    """The entry of calls on arrays of several `KINDS`, each with an entry in `robot.entries`; `usual` takes others."""
    robot, key, slow = call
    of_others = usual or slow

    def by_kind(*arrays: Any) -> Any:
        kind = KINDS.get(type(arrays[0]))
        if kind is None:
            return of_others(*arrays)
        return robot.entries.get((kind(arrays[0]), key), slow)(*arrays)

    vars(by_kind).update(_torchdynamo_inline=traced(slow), takes_others=usual is not None)
    return by_kind


def rank(value: Any) -> int:
    """The number of axes; of a list it is one, since entries take lists of numbers alone."""
    return value.ndim if type(value) is np.ndarray or type(value) in KINDS else 1


def rows_of(arrays: Mapping[str, Any]) -> np.ndarray:
    """The vectors of a mapping as one array (..., rows, 6); a TypeError or ValueError if they are not alike."""
    values = [*arrays.values()]
    if not values or any(type(value) is not np.ndarray for value in values):
        raise TypeError("not arrays of NumPy")
    return np.array(values) if values[0].ndim == 1 else np.stack(values, -2)


def vector_of(values: Sequence[Any]) -> Any:
    """The vector of plain numbers; None for other sequences, whose errors are those of the general call."""
    return np.array(values, np.float64) if PLAIN_NUMBERS.issuperset(map(type, values)) else None


def put_entry(robot: Robot, key: Any, entry: Function) -> None:
    with COUNTING:
        while len(robot.entries) >= MAX_ENTRIES:
            del robot.entries[next(iter(robot.entries))]
        robot.entries[key] = entry


def traced(function: Function) -> Function:
    """What `torch.compile` reads in place of a function of arrays: a call that it puts into its graph as it stands."""
    calls: dict[int, Function] = {}

    def prepare() -> int:
        return bridge("torch").add_call(calls, 0, function)  # type: ignore[no-any-return]

    def call(*arrays: Any) -> Any:
        return calls[prepare()](*arrays)

    vars(prepare)["_dynamo_marked_constant"] = True  # called once while the graph is made
    return call


def traced_of_robot(function: Function) -> Function:
    """The same of a function of a robot, for which graphs have no place, of arrays and keywords."""
    calls: dict[int, Function] = {}

    def prepare(robot: Any) -> int:
        return bridge("torch").add_call(calls, id(robot), partial(function, robot))  # type: ignore[no-any-return]

    def call(robot: Any, *arguments: Any, **keywords: Any) -> Any:
        return calls[prepare(robot)](*arguments, **keywords)

    vars(prepare)["_dynamo_marked_constant"] = True
    return call
