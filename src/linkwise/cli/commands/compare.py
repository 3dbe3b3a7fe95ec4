"""`linkwise compare`: why two models of a robot disagree."""

from __future__ import annotations

from typing import Annotated

import typer

from ..options import Base, Json, Mimic, RobotArgument, Unphysical, robot_names
from ..results import print_json
from ..robot import robot_of
from ..screen import echo, room

EXAMPLES = (
    ("linkwise compare stanford stanford", "the same: exit code 0"),
    ("linkwise export stanford urdf --out arm.urdf", "another model of the same robot"),
    ("linkwise compare stanford arm.urdf --json", "in other frames, and the same"),
)

NARROW = 80  # columns in a pipe


def command(
    a: RobotArgument,
    b: Annotated[
        str,
        typer.Argument(metavar="other", help="The other robot.", autocompletion=robot_names, show_default=False),
    ],
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

    result = compare(*(robot_of(name, base, mimic, unphysical) for name in (a, b)))
    if json:
        print_json(
            {
                "a": result.a,
                "b": result.b,
                "same": result.same,
                "verdict": result.verdict,
                "first": result.first,
                "findings": result.table(),
                "coordinates": result.coordinates,
                "differences": [vars(difference) for difference in result.differences],
                "remaining": result.remaining,
            }
        )
    else:
        echo(result.text(room() or NARROW))
    return 0 if result.same else 1
