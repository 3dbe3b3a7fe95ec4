"""The plan of a sweep: all that its results depend on, as a JSON table that can be compared, and read again.

Numbers are written in full. Samples, and the robot as it came out of its table, are hashes; `functions` says what the
plan holds of functions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from ..robot import Friction, from_table
from ..version import __version__
from .chunk_formats import digest
from .folder import LAYOUT, plan_hash
from .functions import DIFFERS, described_function, described_vary
from .inputs import Inputs, usual_options
from .samples import Samples

WITHOUT_EFFECT = ("threads", "target")  # on the results
ROBOT_OF_ROW = re.compile(r".*\.robots\.\d+")  # an entry that is None where no robot could be made


def plan_of(inputs: Inputs, files: str) -> dict[str, Any]:
    arm = inputs.arm
    plain = inputs.robot_of_table
    robot = {
        "name": arm.name,
        "convention": arm.convention,
        "gravity": arm.gravity,
        "rows": arm.rows,
        "regrouped": plain != arm and plain.regrouped() == arm,
        "sha256": arm.fingerprint,
    }
    plan: dict[str, Any] = {
        "what": "linkwise sweep",
        "layout": LAYOUT,
        "linkwise": __version__,
        "files": files,
        "chunk": inputs.chunk,
        "keep": inputs.keep,
        "duration": inputs.duration,
        "options": {key: described(x, key, inputs) for key, x in inputs.options.items() if key not in WITHOUT_EFFECT},
        "vary": None if inputs.vary is None else described_vary(inputs.vary, inputs),
        "robot": robot,
        "samples": {name: {"shape": a.shape, "sha256": digest({name: a})} for name, a in inputs.samples.items()},
    }
    return {**json.loads(json.dumps(plan)), "sha256": plan_hash(plan)}


def differences(old: Any, new: Any, where: str = "") -> list[str]:
    """What differs between two plans, by name."""
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


def described(value: Any, name: str, inputs: Inputs) -> Any:
    """The value of an option, as JSON has it."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        return described(value.tolist(), name, inputs)
    if isinstance(value, (list, tuple)):
        return [described(entry, name, inputs) for entry in value]
    if callable(value):
        return described_function(value, inputs, inputs.first_parameters if name == "torque" else {})
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: described(getattr(value, field.name), name, inputs) for field in fields(value)}
        return {"kind": type(value).__qualname__, **parts}
    raise TypeError(f"{name} is {value!r} (expected numbers, text, arrays or functions, which a plan can hold)")


def function_in(value: Any) -> str | None:
    """The name of a function that is somewhere in a value of a plan."""
    if isinstance(value, dict) and "function" in value and isinstance(value["function"], str):
        return str(value["function"])
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((name for name in map(function_in, inner) if name is not None), None)


def restored(plan: Mapping[str, Any], samples: Samples) -> Inputs:
    """The inputs of a plan; a ValueError says what cannot be had from it."""
    again = "the same call of lw.sweep as before resumes"
    if plan["linkwise"] != __version__:
        raise ValueError(f"it was begun by Linkwise {plan['linkwise']}, and this is {__version__}, which may differ")
    options = {**usual_options(), **plan["options"], "vary": plan["vary"]}
    for name, value in options.items():
        if isinstance(value, dict) and value.get("kind") == "Friction":
            numbers: Any = {k: tuple(x) if isinstance(x, list) else x for k, x in value.items() if k != "kind"}
            options[name] = Friction(**numbers)
        elif (function := function_in(value)) is not None:
            raise ValueError(f"{name} is {function}, which is not in the folder; {again}")
    robot = plan["robot"]
    arm = from_table(robot["rows"], robot["convention"], robot["gravity"], robot["name"])
    arm = arm.regrouped() if robot["regrouped"] else arm
    if arm.fingerprint != robot["sha256"]:
        raise ValueError(f"the robot was changed after it was made from its table; {again}")
    del options["vary"]
    return Inputs(arm, samples, plan["duration"], plan["chunk"], plan["keep"], options)
