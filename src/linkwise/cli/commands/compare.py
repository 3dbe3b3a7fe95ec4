"""`linkwise compare`: why two models of a robot disagree."""

from __future__ import annotations

from typing import Annotated

from ..declare import arg
from ..options import Base, Json, Mimic, RobotArgument, Unphysical, robot_names
from ..results import print_json
from ..robot import Source
from ..screen import echo, room

EXAMPLES = (
    ("linkwise compare stanford stanford", "the same: exit code 0"),
    ("linkwise export stanford urdf --out arm.urdf", "another model of the same robot"),
    ("linkwise compare stanford arm.urdf --json", "in other frames, and the same"),
)

KEYS = ("a", "b", "same", "verdict", "first", "coordinates", "remaining")
NARROW = 80  # columns in a pipe


def command(
    a: RobotArgument,
    b: Annotated[str, arg("other", "The other robot.", robot_names)],
    json: Json = False,
    base: Base = None,
    mimic: Mimic = "coupled",
    unphysical: Unphysical = "refuse",
) -> int:
    """Whether two models of a robot have the same dynamics; if not, why.

    Joints are matched and their coordinates aligned, whatever the frames; then differences of base, tool, joint sign
    and zero, rotor inertia, masses and inertias are named in the order of their effect on torques. The exit code is 0
    where all torques agree, 1 where they do not.
    """
    from ...comparison import compare

    result = compare(*(Source(name, base, mimic, unphysical).load() for name in (a, b)))
    if json:
        print_json(
            {
                **{key: getattr(result, key) for key in KEYS},
                "findings": result.table(),
                "differences": [vars(difference) for difference in result.differences],
            }
        )
    else:
        echo(result.text(room() or NARROW))
    return 0 if result.same else 1
