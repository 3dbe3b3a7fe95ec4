"""What a sweep's plan says of functions, so that it is not resumed with others.

    torque, events   the hash of the traced program: what the function computes, with every number that it reads.
                     Where the family of the robots is not known, of the program for the robots of some rows too
    not traceable    hashes of its source text and of its values at some states
    vary             hashes of its source text and of the robots that it makes of some rows

A function that is not traceable and differs at other states only, or gives something else at each call, passes.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from ..robot import Robot
from ..simulation.parameters import called
from ..simulation.sampling import parted, traced_step
from ..simulation.traced import UntraceableFunctionError, traced
from .inputs import Inputs
from .robots import Vary
from .samples import Samples

STATES = 3  # at which a function is evaluated that cannot be traced
DIFFERS = {  # the last part of the name of a hash, and what it means that it differs
    "program": "it computes something else, by its formulas or by numbers that it reads",
    "values": "it gives other values",
    "source": "its source text",
}
Hash = dict[str, str]


def described_function(function: Callable[..., Any], inputs: Inputs, parameters: Samples) -> dict[str, Any]:
    """`parameters` are those of the torque function in one row."""
    always, laws = parted(function)
    if laws:
        others = {} if always is None else {"always": described_function(always, inputs, parameters)}
        return {"function": name_of(function), "sampled": [described_law(law, inputs.arm) for law in laws], **others}
    entry: dict[str, Any] = {"function": name_of(function), **numbers_of(function)}
    robot = inputs.arm if inputs.family_map is None else inputs.family_map.family.robot
    try:
        entry["program"] = hashed(program(function, robot, parameters))
        if inputs.some_robots:
            entry["robots"] = {
                k: None if robot is None else hashed(program(function, robot, parameters))
                for k, robot in inputs.some_robots.items()
            }
    except UntraceableFunctionError:
        entry |= {"source": hashed(source(function)), "values": hashed(values(function, inputs.arm, parameters))}
    return entry


def described_law(law: Any, arm: Robot) -> dict[str, Any]:
    """A sampled law, by the program of one sample."""
    entry = {"function": name_of(law.law), **numbers_of(law)}
    try:
        return entry | {"program": hashed(repr(traced_step(law, arm).fingerprint))}
    except UntraceableFunctionError:
        state = law.initial_state(arm)

        def sample(arm: Robot, t: Any, q: Any, qd: Any) -> Any:
            return np.concatenate(law.step(arm, t, q, qd, state.copy()))

        return entry | {"source": hashed(source(law.law)), "values": hashed(values(sample, arm, {}))}


def described_vary(vary: Vary, inputs: Inputs) -> dict[str, Any]:
    robots = {k: None if robot is None else robot.fingerprint for k, robot in inputs.some_robots.items()}
    return {"function": name_of(vary), "source": hashed(source(vary)), "robots": robots}


def hashed(text: str | None) -> Hash | None:
    return None if text is None else {"sha256": hashlib.sha256(text.encode()).hexdigest()}


def program(function: Callable[..., Any], robot: Robot, parameters: Samples) -> str:
    shapes = tuple((name, array.shape) for name, array in parameters.items())
    return repr(traced(function, robot, name_of(function), shapes).fingerprint)


def source(function: Any) -> str | None:
    """The text of a function, or of the class of a callable object; None where there is none, as at a prompt."""
    while isinstance(function, functools.partial):
        function = function.func
    try:
        return inspect.getsource(function if inspect.isroutine(function) else type(function))
    except (OSError, TypeError):
        return None


def values(function: Callable[..., Any], arm: Robot, parameters: Samples) -> str | None:
    """What it gives at some states, to nine digits; None if it gives nothing, or not the same again."""
    rng = np.random.default_rng(0)
    states = [(rng.random(), rng.uniform(-1, 1, arm.nq), rng.uniform(-1, 1, arm.n)) for _ in range(STATES)]
    texts = []
    for _ in range(2):
        try:
            results = (called(function, arm, t, q.copy(), qd.copy(), parameters) for t, q, qd in states)
            numbers = (x for result in results for x in np.ravel(result).astype(float))
            texts.append(" ".join(f"{x:.9g}" for x in numbers))
        except Exception:  # it is raised where the function is needed
            return None
    return texts[0] if texts[0] == texts[1] else None


def name_of(function: Any) -> str:
    if hasattr(function, "__qualname__"):
        return f"{function.__module__}.{function.__qualname__}"
    return type(function).__name__


def numbers_of(function: Any) -> dict[str, Any]:
    """The numbers of a controller that is a dataclass, by name: they make a message clearer."""
    if not is_dataclass(function) or isinstance(function, type):
        return {}
    values = {field.name: getattr(function, field.name) for field in fields(function)}
    plain = {name: list(x) if isinstance(x, tuple) else x for name, x in values.items()}
    return {name: x for name, x in plain.items() if isinstance(x, (bool, int, float, str)) or is_list(x)}


def is_list(x: Any) -> bool:
    return isinstance(x, list) and all(isinstance(number, (int, float)) for number in x)
