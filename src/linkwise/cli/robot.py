"""The robot that a command line names, with what its options change."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Any

from ..errors import RobotError, near_miss
from ..formats import LIBRARY, load
from ..robot import Robot
from .options import Base, Gravity, Ignore, Mimic, Payload, RobotArgument, Unphysical
from .states import numbers

TYPED, BARE = "typed", "bare"


def robot_of(
    name: str,
    base: str | None = None,
    mimic: str = "coupled",
    unphysical: str = "refuse",
    ignore: Sequence[str] | None = None,
    gravity: str | None = None,
    payload: str | None = None,
) -> Robot:
    """Load it. A name that is not in the library is a typing error; a file that is wrong is a bad file."""
    if name not in LIBRARY and not (name and (Path(name).suffix or Path(name).exists())):
        known = ", ".join(LIBRARY)
        raise ValueError(f"there is no robot {name!r}{near_miss(name, LIBRARY)} (expected a file, or one of {known})")
    arm = load(name, base=base, mimic=mimic, unphysical=unphysical, ignore=ignore or ())
    if gravity is not None:
        components = numbers(gravity, "--gravity")
        if len(components) != 3:
            raise ValueError(f"--gravity has {len(components)} numbers (expected three: x, y, z in the base frame)")
        arm = arm.with_gravity(components)
    return arm if payload is None else with_payload(arm, payload)


def with_payload(arm: Robot, payload: str) -> Robot:
    text, _, link = payload.partition("@")
    if "," in link and "," not in text:
        name, _, place = link.partition(",")
        raise ValueError(f"--payload {payload}: the link comes last (expected --payload {text},{place}@{name})")
    values = numbers(text, "--payload")
    if len(values) not in (1, 4):
        raise ValueError(f"--payload has {len(values)} numbers (expected a mass, or a mass and x, y, z)")
    try:
        return arm.with_payload(values[0], values[1:] or (0.0, 0.0, 0.0), [[0.0] * 3] * 3, link=link or None)
    except RobotError as error:
        tip = arm.links[arm.leaves[0]].name
        said = str(error).replace(
            "expected link=... to choose one", f"expected one of them, as in --payload {text}@{tip}"
        )
        raise ValueError(f"--payload {payload}: {said}") from None


def with_robot(command: Callable[..., int]) -> Callable[..., int]:
    """A command whose first argument is a robot: in a command line, a name or file with the options of `load`.

    A parameter `typed` gets that name or file as it was typed, and `bare` the robot without its payload, or None.
    """

    def run(
        robot: RobotArgument,
        base: Base = None,
        mimic: Mimic = "coupled",
        unphysical: Unphysical = "refuse",
        ignore: Ignore = None,
        gravity: Gravity = None,
        payload: Payload = None,
        **own: Any,
    ) -> int:
        if TYPED in asked:
            own[TYPED] = shlex.quote(robot)
        arm = robot_of(robot, base, mimic, unphysical, ignore, gravity)
        if BARE in asked:
            own[BARE] = None if payload is None else arm
        return command(arm if payload is None else with_payload(arm, payload), **own)

    asked = signature(command, eval_str=True).parameters
    first, *loading = list(signature(run, eval_str=True).parameters.values())[:-1]
    own = [parameter for parameter in list(asked.values())[1:] if parameter.name not in (TYPED, BARE)]
    every = [p.replace(kind=Parameter.KEYWORD_ONLY) for p in (first, *own, *loading)]
    run.__signature__ = Signature(every, return_annotation=int)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in every}
    run.__doc__, run.__name__ = command.__doc__, command.__name__
    return run
