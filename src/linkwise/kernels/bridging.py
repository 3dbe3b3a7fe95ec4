"""Arrays of other libraries: modules that call kernels on them, entries of calls by kind of array, graphs of torch."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..robot import Robot
from .lock import COUNTING, LOCK

if TYPE_CHECKING:
    from .interface import Interface

Function = Callable[..., Any]
BRIDGES = {"torch": "linkwise.bridges.torch"}  # by library
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


class ByKind:
    """The entry of calls on arrays of several `KINDS`, each with an entry; others go to `slow`."""

    def __init__(self, call: Repeated) -> None:
        self.robot, self.key, self.slow = call

    def __call__(self, *arrays: Any) -> Any:
        kind = KINDS.get(type(arrays[0]))
        if kind is None:
            return self.slow(*arrays)
        return self.robot.entries.get((kind(arrays[0]), self.key), self.slow)(*arrays)


def put_entry(robot: Robot, key: Any, entry: Function) -> None:
    with COUNTING:
        while len(robot.entries) >= MAX_ENTRIES:
            del robot.entries[next(iter(robot.entries))]
        robot.entries[key] = entry


def traced(function: Function) -> Function:
    """What `torch.compile` reads in place of a public function: a call that it puts into its graph as it stands."""

    calls: dict[int, Function] = {}

    def prepare(robot: Any) -> int:
        return bridge("torch").add_call(calls, function, robot)  # type: ignore[no-any-return]

    def call(robot: Any, *arguments: Any, **keywords: Any) -> Any:
        return calls[prepare(robot)](*arguments, **keywords)

    vars(prepare)["_dynamo_marked_constant"] = True  # called once while the graph is made
    return call
