"""A robot's fingerprint: a hash of all that its results depend on, for names of files and keys of caches.

Everything is visited that the robot is made of, by the fields of its classes, so that a new field is not forgotten.
Numbers count by their bits and by their type, classes by their names. Only classes of Linkwise are taken: what another
class does is not in its fields.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .model import Robot

OWN_PACKAGE = __name__.partition(".")[0] + "."


class NoFingerprintError(TypeError):
    """A robot holds something that has no exact text: the message says what."""


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
