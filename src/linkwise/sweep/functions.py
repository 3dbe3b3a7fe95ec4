"""What a sweep's plan says of functions, so that it is not resumed with others.

A function that can be traced is known by its program: what it computes, with the numbers that it reads from wherever it
likes. Its name and its text do not matter. Where robots may differ in ways that a program does not show, or where a
function cannot be traced, there is a hash of its text, its defaults and what it closes over, and, where it cannot be
traced, of its values at some states. A function that differs elsewhere only, or gives something else at each call,
passes.

Of `vary` there is that hash and the fingerprints of the robots that it makes of some rows.
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

from ..robot import Robot
from ..simulate.parameters import called
from ..simulate.traced import UntraceableFunctionError, traced
from .family import kinship
from .robots import Vary, crews_of_robots
from .samples import Samples, varied

DEEPEST = 4  # functions that functions close over
STATES = 3  # at which a function is evaluated that cannot be traced
ROWS = 5  # of which `vary` is asked for a robot
DIFFERS = {  # the last part of the name of a hash, and what it means that it differs
    "program": "it computes something else, by its formulas or by numbers that it reads",
    "values": "it gives other values",
    "text": "its text, its defaults or what it closes over",
}


@dataclass(frozen=True)
class Context:
    """What functions are called with."""

    robot: Robot  # of symbols, where the robots of the sweep differ
    arm: Robot  # one of them
    alike: bool  # whether the program for `robot` is that of all robots
    own: dict[str, np.ndarray]  # parameters of the torque function, of one row


def context(arm: Robot, differ: Samples, samples: Samples, vary: Vary | None, own: dict[str, np.ndarray]) -> Context:
    if vary is None and differ:
        one = {name: samples[name][0] for name in differ}
        try:
            return Context(kinship(functools.partial(varied, arm), one, differ).family.robot, arm, True, own)
        except (TypeError, ValueError):  # a rotation or an axis is never of symbols; or the first row is no robot
            return Context(arm, arm, False, own)
    return Context(arm, arm, vary is None, own)


def described_function(function: Callable[..., Any], around: Context, own: bool) -> dict[str, Any]:
    """`own`: it is the torque function, which may have parameters."""
    given = around.own if own else {}
    said: dict[str, Any] = {"function": name_of(function), **numbers_of(function)}
    try:
        shapes = tuple((name, array.shape) for name, array in given.items())
        found = traced(function, around.robot, said["function"], shapes)
    except UntraceableFunctionError:
        return {**said, "text": hashed_text(function), "values": values(function, around.arm, given)}
    program = {"sha256": hashlib.sha256(repr(found.fingerprint).encode()).hexdigest()}
    return {**said, "program": program} if around.alike else {**said, "program": program, "text": hashed_text(function)}


def described_vary(vary: Vary, arm: Robot, samples: Samples) -> dict[str, Any]:
    count = len(samples["q0"])
    rows = sorted({int(k) for k in np.linspace(0, count - 1, ROWS)})
    robots = {str(k): robot_of_row(vary, arm, {name: array[[k]] for name, array in samples.items()}) for k in rows}
    return {"function": name_of(vary), "text": hashed_text(vary), "robots": robots}


def robot_of_row(vary: Vary, arm: Robot, row: Samples) -> str | None:
    """The fingerprint of the robot; None where there is none, of which the chunk with this row will say more."""
    try:
        (crew,) = crews_of_robots(arm, row, vary, {}, set())
        return crew.robot(0).fingerprint
    except Exception:
        return None


def name_of(function: Any) -> str:
    if hasattr(function, "__qualname__"):
        return f"{function.__module__}.{function.__qualname__}"
    return type(function).__name__


def numbers_of(function: Any) -> dict[str, Any]:
    """The numbers of a controller that is a dataclass, by name: they make a message clearer."""
    if not is_dataclass(function) or isinstance(function, type):
        return {}
    found = {each.name: getattr(function, each.name) for each in fields(function)}
    plain = {name: list(x) if isinstance(x, tuple) else x for name, x in found.items()}
    return {name: x for name, x in plain.items() if isinstance(x, (bool, int, float, str)) or is_list(x)}


def is_list(x: Any) -> bool:
    return isinstance(x, list) and all(isinstance(each, (int, float)) for each in x)


def values(function: Callable[..., Any], arm: Robot, own: Mapping[str, Any]) -> dict[str, Any] | None:
    """A hash of what it gives at some states, to nine digits; None if it gives nothing, or not the same again."""
    rng = np.random.default_rng(0)
    states = [(rng.random(), rng.uniform(-1, 1, arm.n), rng.uniform(-1, 1, arm.n)) for _ in range(STATES)]
    texts = []
    for _ in range(2):
        try:
            found = [np.ravel(called(function, arm, t, q.copy(), qd.copy(), own)).astype(float) for t, q, qd in states]
        except Exception:  # it is raised where the function is needed
            return None
        texts.append(" ".join(f"{x:.9g}" for each in found for x in each))
    return {"sha256": hashlib.sha256(texts[0].encode()).hexdigest()} if texts[0] == texts[1] else None


def hashed_text(function: Callable[..., Any], deep: int = 0) -> dict[str, str]:
    return {"sha256": function_hash(function, deep)}


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
    """What a function holds, as far as it can be said; otherwise its type."""
    if isinstance(value, Robot):
        return value.fingerprint
    if isinstance(value, Mapping):
        return repr([(repr(key), loosely(each, deep)) for key, each in value.items()])
    if isinstance(value, (list, tuple)):
        return repr([loosely(each, deep) for each in value])
    if isinstance(value, (np.ndarray, np.generic)):
        return json.dumps(value.tolist(), default=str)
    if value is None or isinstance(value, (bool, int, float, str)):
        return json.dumps(value)
    if is_dataclass(value) and not isinstance(value, type):
        return repr([(each.name, loosely(getattr(value, each.name), deep)) for each in fields(value)])
    if callable(value) and deep < DEEPEST:
        return function_hash(value, deep + 1)
    return type(value).__qualname__


def hashed(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
