"""The plan of a sweep: all that its results depend on, as a JSON table that can be compared, and read again.

Numbers are written in full. Samples, and the robot as it came out of its table, are hashes; what there is of functions
says `functions`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from ..robot import Friction, Robot
from ..simulate.parameters import among
from ..simulate.simulation import arguments
from ..version import __version__
from .files import LAYOUT, plan_hash
from .formats import digest
from .functions import DIFFERS, Context, context, described_function, described_vary
from .robots import Vary
from .samples import Samples, from_table, parameters

GIVEN = (
    "arm",
    "q0",
    "qd0",
    "duration",
    "progress",
    "parameters",
)  # of the arguments of `simulate`, those that are no options here
WITHOUT_EFFECT = ("threads",)  # on the results


@dataclass(frozen=True)
class Inputs:
    """All that a sweep is made of."""

    arm: Robot
    samples: Samples
    duration: float | None  # or among the samples
    chunk: int
    keep: str
    options: dict[str, Any]
    vary: Vary | None = None

    @property
    def count(self) -> int:
        return len(self.samples["q0"])


def usual_options() -> dict[str, Any]:
    """The options of `simulate` and their defaults."""
    return {name: default for name, default in arguments().items() if name not in GIVEN}


def plan_of(inputs: Inputs, files: str) -> dict[str, Any]:
    arm = inputs.arm
    shapes = {name: {"shape": array.shape, "sha256": digest({name: array})} for name, array in inputs.samples.items()}
    plain = from_table(arm.rows, arm.convention, arm.gravity, arm.name)
    robot = {
        "name": arm.name,
        "convention": arm.convention,
        "gravity": arm.gravity,
        "rows": arm.rows,
        "regrouped": plain != arm and plain.regrouped() == arm,
        "sha256": arm.fingerprint,
    }
    own = {name: np.nan_to_num(array[0]) for name, array in among(inputs.options["torque"], inputs.samples).items()}
    around = context(arm, differing(inputs), inputs.samples, inputs.vary, own)
    plan: dict[str, Any] = {
        "what": "linkwise sweep",
        "layout": LAYOUT,
        "linkwise": __version__,
        "files": files,
        "chunk": inputs.chunk,
        "keep": inputs.keep,
        "duration": inputs.duration,
        "options": {key: described(x, key, around) for key, x in inputs.options.items() if key not in WITHOUT_EFFECT},
        "vary": None if inputs.vary is None else described_vary(inputs.vary, arm, inputs.samples),
        "robot": robot,
        "samples": shapes,
    }
    return {**json.loads(json.dumps(plan)), "sha256": plan_hash(plan)}


def differing(inputs: Inputs) -> Samples:
    """Of each parameter of the robot that is not the same in all rows, which of its numbers are not."""
    found = {}
    for name in parameters(inputs.samples, inputs.arm):
        array = inputs.samples[name]
        found[name] = (array != array[0]).any(axis=0)
    return found if any(x.any() for x in found.values()) else {}


def differences(old: Any, new: Any, where: str = "") -> list[str]:
    """What differs between two plans, by name."""
    if isinstance(old, dict) and isinstance(new, dict):
        keys = [key for key in {**old, **new} if (where, key) not in (("", "sha256"), ("robot", "name"))]
        if "program" in old and "program" in new:  # what a function is called does not matter then
            keys.remove("function")
        return [x for key in keys for x in differences(old.get(key), new.get(key), f"{where}.{key}" if where else key)]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = zip(old, new, strict=True)
        return [x for k, pair in enumerate(pairs) for x in differences(*pair, f"{where}[{k}]")]
    if old == new or (where.startswith("vary.robots.") and None in (old, new)):
        return []
    function, _, word = where.removesuffix(".sha256").rpartition(".")
    if where.endswith(".sha256") and word in DIFFERS:
        return [f"{function} differs: {DIFFERS[word]}"]
    if where.endswith(".sha256"):
        return [f"{where.removesuffix('.sha256')} differs"]
    return [f"{where} was {old!r}, is {new!r}"]


def described(value: Any, name: str, around: Context) -> Any:
    """A value in the words of JSON."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        return described(value.tolist(), name, around)
    if isinstance(value, (list, tuple)):
        return [described(each, name, around) for each in value]
    if callable(value):
        return described_function(value, around, name == "torque")
    if is_dataclass(value) and not isinstance(value, type):
        parts = {each.name: described(getattr(value, each.name), name, around) for each in fields(value)}
        return {"kind": type(value).__qualname__, **parts}
    raise TypeError(f"{name} is {value!r} (expected numbers, text, arrays or functions, which a plan can hold)")


def function_in(value: Any) -> str | None:
    """The name of a function that is somewhere in a value of a plan."""
    if isinstance(value, dict) and "function" in value and isinstance(value["function"], str):
        return str(value["function"])
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((found for found in map(function_in, inner) if found is not None), None)


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
        elif (function := function_in(value)) is not None:
            raise ValueError(f"{name} is {function}, which is not in the folder; {again}")
    robot = plan["robot"]
    arm = from_table(robot["rows"], robot["convention"], robot["gravity"], robot["name"])
    arm = arm.regrouped() if robot["regrouped"] else arm
    if arm.fingerprint != robot["sha256"]:
        raise ValueError(f"the robot was changed after it was made from its table; {again}")
    del options["vary"]
    return Inputs(arm, samples, plan["duration"], plan["chunk"], plan["keep"], options)
