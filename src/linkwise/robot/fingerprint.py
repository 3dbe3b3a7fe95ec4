"""Caches of results: the fingerprint of a robot as a key, and functions that remember their results per robot.

The fingerprint hashes all fields of all objects in a robot, so that a new field is not forgotten. Numbers count by type
and bits, classes by name. Other libraries' classes are refused: their behaviour is not in their fields.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import lru_cache, update_wrapper
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Generic, TypeVar, TypeVarTuple
from weakref import ref

import numpy as np

if TYPE_CHECKING:
    from .model import Robot

Key = TypeVarTuple("Key")
Value = TypeVar("Value")

MOST_ROBOTS = 64  # bounded: a result may refer to its robot, which would then live forever
OWN_PACKAGE = __name__.partition(".")[0] + "."


class NoFingerprintError(TypeError):
    """A robot holds an object without an exact text, named by the message."""


def robot_fingerprint(robot: Robot) -> str:
    parts: list[Any] = [class_name(type(robot)), robot.links, robot.frames, robot.gravity, robot.couplings]
    if robot.known_links is not None:
        parts.append(robot.known_links)
    texts: list[str] = []
    try:
        append_text(tuple(parts), texts)
    except NoFingerprintError as reason:
        raise NoFingerprintError(f"robot {robot.name!r} has no fingerprint: {reason}") from None
    return sha256("\n".join(texts).encode()).hexdigest()


def append_text(x: Any, into: list[str]) -> None:
    """Append the text of a value after its type and length, so that no two values have the same text."""
    kind: Any = type(x)
    if kind is float:
        into.append(x.hex())
    elif isinstance(x, tuple):
        into.append(f"tuple {len(x)}")
        for item in x:
            append_text(item, into)
    elif kind is str or x is None or kind in (bool, int):
        into.append(f"{kind.__name__} {x!r}")
    elif isinstance(x, np.generic):
        into.append(f"{x.dtype.str} {x.tobytes().hex()}")
    elif not kind.__module__.startswith(OWN_PACKAGE):
        raise NoFingerprintError(f"{x!r} is a {class_name(kind)} (expected floats, symbols and classes of Linkwise)")
    elif hasattr(kind, "fingerprint"):
        into.append(f"expression {x.fingerprint}")
    else:
        into.append(class_name(kind))
        for name in field_names(kind):
            append_text(getattr(x, name), into)


def class_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


@lru_cache(maxsize=64)
def field_names(kind: type) -> tuple[str, ...]:
    if is_dataclass(kind):
        return tuple(entry.name for entry in fields(kind))
    return tuple(name for base in kind.__mro__ for name in base.__dict__.get("__slots__", ()))


class PerRobot(Generic[*Key, Value]):
    """Decorator: caches a function of a robot and further arguments, for the most recent robot objects.

    Equal robots do not share results. Results are neither copied nor pickled. If two threads compute the same result,
    both get the first one.
    """

    def __init__(self, compute: Callable[[Robot, *Key], Value]) -> None:
        self._compute = compute
        self._cache: dict[int, tuple[ref[Robot], dict[tuple[*Key], Value]]] = {}  # replaced, never modified
        update_wrapper(self, compute)

    def __call__(self, robot: Robot, *key: *Key) -> Value:
        values = self._values(robot)
        if key in values:
            return values[key]
        return values.setdefault(key, self._compute(robot, *key))

    def _values(self, robot: Robot) -> dict[tuple[*Key], Value]:
        entry = self._cache.get(id(robot))
        if entry is not None and entry[0]() is robot:
            return entry[1]
        values: dict[tuple[*Key], Value] = {}
        alive = [(key, entry) for key, entry in self._cache.items() if entry[0]() is not None]
        self._cache = {**dict(alive[1 - MOST_ROBOTS :]), id(robot): (ref(robot), values)}
        return values
