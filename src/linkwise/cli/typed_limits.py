"""Limits as they are typed: `2`, `1,2,3`, `link2=1.5,link3=2`; of positions `-2:2`, `link2=-90deg:90deg`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..errors import near_miss
from ..robot import Robot
from ..robot.layout import places
from .states import Typed, converted, number, split

WORDS = {"position": "q", "velocity": "qd", "acceleration": "qdd", "effort": "tau"}  # arguments of the same units
ENDLESS = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf}


def limits_of(arm: Robot, typed: Mapping[str, str | None], degrees: bool) -> dict[str, Any]:
    """For `limits=`, what was typed for each kind."""
    return {kind: of_kind(arm, text, kind, degrees) for kind, text in typed.items() if text is not None}


def noise_of(arm: Robot, text: str | None) -> list[float] | None:
    """One for each joint of what was typed for all, or for each."""
    if text is None:
        return None
    values = [number(part, "--noise") for part in split(text)]
    if len(values) not in (1, arm.n):
        raise ValueError(f"--noise has {len(values)} numbers (expected one, or {arm.n}: {', '.join(arm.v_names)})")
    return [converted(arm, "tau", k, values[k % len(values)], "--noise", False) for k in range(arm.n)]


def of_kind(arm: Robot, text: str, kind: str, degrees: bool) -> Any:
    option, parts, where = f"--{kind}", split(text), places(arm, "qd")
    if any("=" in part for part in parts):
        named: dict[str, Any] = {}
        for part in parts:
            name, equals, value = part.partition("=")
            if not equals or name not in where:
                wrong = f"there is no {name!r}{near_miss(name, where)}" if equals else f"{part!r} has no name"
                raise ValueError(f"{option}: {wrong} (expected such as {arm.v_names[-1]}={example(kind)})")
            named[name] = limit(arm, value, kind, where[name], degrees)
        return named
    if len(parts) not in (1, arm.n):
        counts = f"one for all joints, or {arm.n}: {', '.join(arm.v_names)}" if arm.n > 1 else "one"
        raise ValueError(f"{option} has {len(parts)} limits (expected {counts})")
    return [limit(arm, parts[k % len(parts)], kind, k, degrees) for k in range(arm.n)]


def limit(arm: Robot, text: str, kind: str, joint: int, degrees: bool) -> Any:
    ends = text.split(":")
    if len(ends) != (2 if kind == "position" else 1):
        raise ValueError(f"--{kind}: {text!r} is no limit (expected such as {example(kind)})")
    values = [end(arm, part, kind, joint, degrees) for part in ends]
    return tuple(values) if kind == "position" else values[0]


def end(arm: Robot, text: str, kind: str, joint: int, degrees: bool) -> float:
    typed = Typed(ENDLESS[text], True) if text in ENDLESS else number(text, f"--{kind}")
    return converted(arm, WORDS[kind], joint, typed, f"--{kind}", degrees and kind != "effort")


def example(kind: str) -> str:
    return "-1.5:1.5" if kind == "position" else "1.5"
