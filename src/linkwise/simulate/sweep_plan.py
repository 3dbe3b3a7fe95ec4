"""The plan of a sweep: all that its results depend on, as a JSON table that can be compared, and read again.

Numbers are written in full. Samples, and the robot as it came out of its table, are hashes. Of a function there is the
name and a hash of its text, of its defaults and of what it closes over; what it refers to besides is not looked at.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import marshal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from ..robot import Friction, Robot
from ..version import __version__
from .simulation import simulate
from .sweep_files import plan_hash
from .sweep_formats import digest
from .sweep_robots import Vary
from .sweep_samples import Samples, from_table

GIVEN = ("arm", "q0", "qd0", "duration", "progress")  # of the arguments of `simulate`, those that are no options here
WITHOUT_EFFECT = ("threads",)  # on the results
DEEPEST = 4  # functions that functions close over


@dataclass(frozen=True)
class Inputs:
    """All that a sweep is made of."""

    arm: Robot
    samples: Samples
    duration: float
    chunk: int
    keep: str
    options: dict[str, Any]
    vary: Vary | None = None

    @property
    def count(self) -> int:
        return len(self.samples["q0"])


def usual_options() -> dict[str, Any]:
    """The options of `simulate` and their defaults."""
    parameters = inspect.signature(simulate).parameters.values()
    return {p.name: p.default for p in parameters if p.name not in GIVEN}


def plan_of(inputs: Inputs, files: str) -> dict[str, Any]:
    arm = inputs.arm
    shapes = {name: {"shape": array.shape, "sha256": digest({name: array})} for name, array in inputs.samples.items()}
    robot = {
        "name": arm.name,
        "convention": arm.convention,
        "gravity": arm.gravity,
        "rows": arm.rows,
        "sha256": robot_hash(arm),
    }
    plan: dict[str, Any] = {
        "what": "linkwise sweep",
        "layout": 1,
        "linkwise": __version__,
        "files": files,
        "chunk": inputs.chunk,
        "keep": inputs.keep,
        "duration": inputs.duration,
        "options": {key: described(x, key) for key, x in inputs.options.items() if key not in WITHOUT_EFFECT},
        "vary": described(inputs.vary, "vary"),
        "robot": robot,
        "samples": shapes,
    }
    return {**json.loads(json.dumps(plan)), "sha256": plan_hash(plan)}


def robot_hash(arm: Robot) -> str:
    return hashlib.sha256(repr((arm.links, arm.frames, arm.gravity)).encode()).hexdigest()


def differences(old: Any, new: Any, where: str = "") -> list[str]:
    """What differs between two plans, by name."""
    if isinstance(old, dict) and isinstance(new, dict):
        keys = [key for key in {**old, **new} if (where, key) not in (("", "sha256"), ("robot", "name"))]
        return [x for key in keys for x in differences(old.get(key), new.get(key), f"{where}.{key}" if where else key)]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = zip(old, new, strict=True)
        return [x for k, pair in enumerate(pairs) for x in differences(*pair, f"{where}[{k}]")]
    if old == new:
        return []
    if where.endswith(".sha256"):
        return [f"{where.removesuffix('.sha256')} differs"]
    return [f"{where} was {old!r}, is {new!r}"]


def described(value: Any, name: str, deep: int = 0) -> Any:
    """A value in the words of JSON."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        return described(value.tolist(), name, deep)
    if isinstance(value, (list, tuple)):
        return [described(each, name, deep) for each in value]
    if is_dataclass(value) and not isinstance(value, type):
        parts = {each.name: described(getattr(value, each.name), name, deep) for each in fields(value)}
        return {"kind": type(value).__qualname__, **parts}
    if callable(value):
        named = f"{value.__module__}.{value.__qualname__}" if hasattr(value, "__qualname__") else type(value).__name__
        return {"function": named, "sha256": function_hash(value, deep)}
    raise TypeError(f"{name} is {value!r} (expected numbers, text, arrays or functions, which a plan can hold)")


def function_hash(function: Callable[..., Any], deep: int) -> str:
    if isinstance(function, functools.partial):
        parts = [function.func, function.args, sorted(function.keywords.items())]
        return hashed("partial", *(loosely(part, deep) for part in parts))
    text: Any = function if hasattr(function, "__code__") or inspect.ismethod(function) else type(function)
    try:
        source = inspect.getsource(text)
    except (OSError, TypeError):  # typed in at a prompt
        code = getattr(function, "__code__", None)
        source = repr(type(function)) if code is None else repr(marshal.dumps(code, 2))
    cells = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    own = [getattr(function, name, None) for name in ("__defaults__", "__kwdefaults__")]
    return hashed(source, *(loosely(x, deep) for x in (*own, *cells, *getattr(function, "__dict__", {}).values())))


def loosely(value: Any, deep: int) -> str:
    """What a function holds, as far as a plan can say it; otherwise its type."""
    if isinstance(value, Robot):
        return robot_hash(value)
    if isinstance(value, Mapping):
        return repr([(repr(key), loosely(each, deep)) for key, each in value.items()])
    try:
        return json.dumps(described(value, "", deep + 1)) if deep < DEEPEST else type(value).__qualname__
    except TypeError:
        return type(value).__qualname__


def hashed(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def restored(plan: Mapping[str, Any], samples: Samples) -> Inputs:
    """The inputs of a plan; a ValueError says what cannot be had from it."""
    again = "the same call of lw.sweep as before resumes"
    if plan["linkwise"] != __version__:
        raise ValueError(f"it was begun by Linkwise {plan['linkwise']}, and this is {__version__}, which may differ")
    options = {**usual_options(), **plan["options"], "vary": plan["vary"]}
    for name, value in options.items():
        if isinstance(value, dict) and value.get("kind") == "Friction":
            friction: dict[str, Any] = {
                k: tuple(x) if isinstance(x, list) else x for k, x in value.items() if k != "kind"
            }
            options[name] = Friction(**friction)
        elif isinstance(value, dict):
            raise ValueError(f"{name} is {next(iter(value.values()))}, which is not in the folder; {again}")
    robot = plan["robot"]
    arm = from_table(robot["rows"], robot["convention"], robot["gravity"], robot["name"])
    if robot_hash(arm) != robot["sha256"]:
        raise ValueError(f"the robot was changed after it was made from its table; {again}")
    del options["vary"]
    return Inputs(arm, samples, plan["duration"], plan["chunk"], plan["keep"], options)
