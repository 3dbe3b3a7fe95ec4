"""`linkwise draw`: a picture of a robot."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ...robot import Robot
from ..options import OUTPUT, PICTURES, Degrees, Q, words
from ..results import check_outputs, refuse_ending, write_by
from ..robot import with_robot
from ..states import state

VIEWS = ("3d", "front", "side", "top", "plane")
EXAMPLES = (
    ("linkwise draw stanford", "stanford.png"),
    ("linkwise draw puma560 --q 0,-45,90,0,45,0 --degrees --out puma.svg", "at a configuration"),
    ("linkwise draw quadruped --view 3d --view top --out views.png", "several views side by side"),
)


@with_robot
def command(
    arm: Robot,
    q: Q = None,
    degrees: Degrees = False,
    view: Annotated[
        list[str] | None,
        typer.Option(
            metavar="VIEW",
            help="3d, front, side, top or plane; can be given several times.",
            autocompletion=words(*VIEWS),
        ),
    ] = None,
    frames: Annotated[bool | None, typer.Option("--frames/--no-frames", help="The links' frames.")] = None,
    labels: Annotated[bool | None, typer.Option("--labels/--no-labels", help="The links' names.")] = None,
    centres: Annotated[bool | None, typer.Option("--centres/--no-centres", help="Centres of mass.")] = None,
    bodies: Annotated[bool | None, typer.Option("--bodies/--no-bodies", help="Boxes of the links' inertia.")] = None,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="FILE", help="Default: the robot's name and .png", rich_help_panel=OUTPUT),
    ] = None,
) -> int:
    """A picture of the robot: links, joint axes, frames, centres of mass.

    At the zero position, or at --q; of several rows (@file.csv) the last is drawn in full and the others pale.
    """
    from ...drawing import draw
    from ...errors import one_of

    for each in view or ():
        one_of(each, VIEWS, "--view")
    target = f"{arm.name}.png" if out is None else out
    refuse_ending(target, "--out", *PICTURES)
    check_outputs(False, None, target)
    at = state(arm, q, "q", "--q", degrees)
    shown: dict[str, Any] = {"frames": frames, "labels": labels, "centres": centres, "bodies": bodies}
    write_by(lambda path: draw(arm, at, path, views=view or None, **shown), target, "")
    return 0
