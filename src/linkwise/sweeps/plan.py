"""The plan of a sweep: all that its results depend on, as a JSON table that can be compared and read again.

Numbers are written in full. Samples and the robot are hashed. Functions are described by

    torque, events   the hash of the traced program, which includes every number that the function reads. If the
                     family of the robots is not known, also those of the programs for the robots of some rows
    not traceable    hashes of the source text and of values at some states
    vary             hashes of the source text and of the robots of some rows

Two functions that cannot be traced and differ at other states only are not distinguished, nor are functions whose
result changes from call to call.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from ..errors import UntraceableFunctionError
from ..robot import Friction, Robot, WrenchFrames, from_table
from ..simulation.parameters import call_torque
from ..simulation.sampling import split_sampled_laws, trace_step
from ..simulation.traced_functions import trace_function
from ..version import __version__
from .family import Vary
from .folder import LAYOUT, digest, plan_hash
from .inputs import Inputs, default_options
from .samples import Samples

WITHOUT_EFFECT = ("threads", "target", "axes")  # on the results; frames of wrenches, in `point`, have their axes
CLASSES: dict[str, Any] = {"Friction": Friction, "WrenchFrames": WrenchFrames}  # of options, by name
ROBOT_OF_ROW = re.compile(r".*\.robots\.\d+")  # an entry that is None if the row gives no robot
STATES = 3  # at which untraceable functions are evaluated
DIFFERS = {  # what a difference means, by the last part of the name of a hash
    "program": "its formulas or the numbers that it reads",
    "values": "its values",
    "source": "its source text",
}
Hash = dict[str, str]


def plan_of(inputs: Inputs, files: str) -> dict[str, Any]:
    robot = inputs.robot
    plain = inputs.robot_of_table
    table = {
        "name": robot.name,
        "convention": robot.convention,
        "gravity": robot.gravity,
        "rows": robot.rows,
        "regrouped": plain != robot and plain.regrouped() == robot,
        "sha256": robot.fingerprint,
    }
    plan: dict[str, Any] = {
        "what": "linkwise sweep",
        "layout": LAYOUT,
        "linkwise": __version__,
        "files": files,
        "chunk": inputs.chunk,
        "keep": inputs.keep,
        "duration": inputs.duration,
        "options": {
            key: describe_option(x, key, inputs) for key, x in inputs.options.items() if key not in WITHOUT_EFFECT
        },
        "vary": None if inputs.vary is None else describe_vary(inputs.vary, inputs),
        "robot": table,
        "samples": {name: {"shape": a.shape, "sha256": digest({name: a})} for name, a in inputs.samples.items()},
    }
    return {**json.loads(json.dumps(plan)), "sha256": plan_hash(plan)}


def differences(old: Any, new: Any, where: str = "") -> list[str]:
    """The differences between two plans, by name."""
    if isinstance(old, dict) and isinstance(new, dict):
        keys = [key for key in {**old, **new} if (where, key) not in (("", "sha256"), ("robot", "name"))]
        if "program" in old and "program" in new:  # the name of a function does not matter then
            keys.remove("function")
        return [x for key in keys for x in differences(old.get(key), new.get(key), f"{where}.{key}" if where else key)]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = zip(old, new, strict=True)
        return [x for k, pair in enumerate(pairs) for x in differences(*pair, f"{where}[{k}]")]
    if old == new or (None in (old, new) and ROBOT_OF_ROW.fullmatch(where)):
        return []
    if not where.endswith(".sha256"):
        return [f"{where} was {old!r}, is {new!r}"]
    name = where.removesuffix(".sha256")
    function, _, key = name.rpartition(".")
    return [f"{function} differs: {DIFFERS[key]}" if key in DIFFERS else f"{name} differs"]


def describe_option(value: Any, name: str, inputs: Inputs) -> Any:
    """Describe the value of an option in JSON."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        return describe_option(value.tolist(), name, inputs)
    if isinstance(value, (list, tuple)):
        return [describe_option(entry, name, inputs) for entry in value]
    if callable(value):
        return describe_function(value, inputs, inputs.first_parameters if name == "torque" else {})
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: describe_option(getattr(value, field.name), name, inputs) for field in fields(value)}
        return {"kind": type(value).__qualname__, **parts}
    raise TypeError(f"{name} is {value!r} (expected numbers, text, arrays or functions, which a plan can hold)")


def function_in(value: Any) -> str | None:
    """The name of a function anywhere in a value of a plan."""
    if isinstance(value, dict) and "function" in value and isinstance(value["function"], str):
        return str(value["function"])
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((name for name in map(function_in, inner) if name is not None), None)


def restore_inputs(plan: Mapping[str, Any], samples: Samples) -> Inputs:
    """Restore the inputs from a plan; raise a ValueError that names what it does not hold."""
    again = "the same call of lw.sweep as before resumes"
    if plan["linkwise"] != __version__:
        raise ValueError(f"it was begun by Linkwise {plan['linkwise']}, and this is {__version__}, which may differ")
    options = {**default_options(), **plan["options"], "vary": plan["vary"]}
    for name, value in options.items():
        if isinstance(value, dict) and value.get("kind") in CLASSES:
            numbers: Any = {k: tuple(x) if isinstance(x, list) else x for k, x in value.items() if k != "kind"}
            options[name] = CLASSES[value["kind"]](**numbers)
        elif (function := function_in(value)) is not None:
            raise ValueError(f"{name} is {function}, which is not in the folder; {again}")
    table = plan["robot"]
    robot = from_table(table["rows"], table["convention"], table["gravity"], table["name"])
    robot = robot.regrouped() if table["regrouped"] else robot
    if robot.fingerprint != table["sha256"]:
        raise ValueError(f"the robot was changed after it was made from its table; {again}")
    del options["vary"]
    return Inputs(robot, samples, plan["duration"], plan["chunk"], plan["keep"], options)


def describe_function(function: Callable[..., Any], inputs: Inputs, parameters: Samples) -> dict[str, Any]:
    """Describe a function; `parameters` are those of the torque function in one row."""
    always, laws = split_sampled_laws(function)
    if laws:
        others = {} if always is None else {"always": describe_function(always, inputs, parameters)}
        return {"function": name_of(function), "sampled": [describe_law(law, inputs.robot) for law in laws], **others}
    entry: dict[str, Any] = {"function": name_of(function), **numbers_of(function)}
    robot = inputs.robot if inputs.family_map is None else inputs.family_map.family.robot
    try:
        entry["program"] = hash_text(program_text(function, robot, parameters))
        if inputs.some_robots:
            entry["robots"] = {
                k: None if robot is None else hash_text(program_text(function, robot, parameters))
                for k, robot in inputs.some_robots.items()
            }
    except UntraceableFunctionError:
        entry |= {
            "source": hash_text(source_text(function)),
            "values": hash_text(values_text(function, inputs.robot, parameters)),
        }
    return entry


def describe_law(law: Any, robot: Robot) -> dict[str, Any]:
    """Describe a sampled law by the program of one sample."""
    entry = {"function": name_of(law.law), **numbers_of(law)}
    try:
        return entry | {"program": hash_text(repr(trace_step(law, robot).fingerprint))}
    except UntraceableFunctionError:
        state = law.initial_state(robot)

        def sample(robot: Robot, t: Any, q: Any, qd: Any) -> Any:
            return np.concatenate(law.step(robot, t, q, qd, state.copy()))

        return entry | {"source": hash_text(source_text(law.law)), "values": hash_text(values_text(sample, robot, {}))}


def describe_vary(vary: Vary, inputs: Inputs) -> dict[str, Any]:
    robots = {k: None if robot is None else robot.fingerprint for k, robot in inputs.some_robots.items()}
    return {"function": name_of(vary), "source": hash_text(source_text(vary)), "robots": robots}


def hash_text(text: str | None) -> Hash | None:
    return None if text is None else {"sha256": hashlib.sha256(text.encode()).hexdigest()}


def program_text(function: Callable[..., Any], robot: Robot, parameters: Samples) -> str:
    shapes = tuple((name, array.shape) for name, array in parameters.items())
    return repr(trace_function(function, robot, name_of(function), shapes).fingerprint)


def source_text(function: Any) -> str | None:
    """The source of a function or of the class of a callable object; None if there is none, as at a prompt."""
    while isinstance(function, functools.partial):
        function = function.func
    try:
        return inspect.getsource(function if inspect.isroutine(function) else type(function))
    except (OSError, TypeError):
        return None


def values_text(function: Callable[..., Any], robot: Robot, parameters: Samples) -> str | None:
    """Values of a function at some states, to nine digits; None if it fails, or if a second call differs."""
    rng = np.random.default_rng(0)
    states = [(rng.random(), rng.uniform(-1, 1, robot.nq), rng.uniform(-1, 1, robot.n)) for _ in range(STATES)]
    texts = []
    for _ in range(2):
        try:
            results = (call_torque(function, robot, t, q.copy(), qd.copy(), parameters) for t, q, qd in states)
            numbers = (x for result in results for x in np.ravel(result).astype(float))
            texts.append(" ".join(f"{x:.9g}" for x in numbers))
        except Exception:  # raised again when the function is needed
            return None
    return texts[0] if texts[0] == texts[1] else None


def name_of(function: Any) -> str:
    if hasattr(function, "__qualname__"):
        return f"{function.__module__}.{function.__qualname__}"
    return type(function).__name__


def numbers_of(function: Any) -> dict[str, Any]:
    """The numbers of a controller that is a dataclass, by name, for clear messages."""
    if not is_dataclass(function) or isinstance(function, type):
        return {}
    values = {field.name: getattr(function, field.name) for field in fields(function)}
    plain = {name: list(x) if isinstance(x, tuple) else x for name, x in values.items()}
    return {name: x for name, x in plain.items() if isinstance(x, (bool, int, float, str)) or is_list(x)}


def is_list(x: Any) -> bool:
    return isinstance(x, list) and all(isinstance(number, (int, float)) for number in x)
