"""`linkwise draw`: a picture of a robot."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ...errors import one_of
from ...robot import Robot
from ..options import OUTPUT, PICTURES, Degrees, Q, words
from ..results import check_outputs, refuse_ending, write_by
from ..robot import with_robot
from ..states import numbers, state

VIEWS = ("3d", "front", "side", "top", "plane")
EXAMPLES = (
    ("linkwise draw stanford", "stanford.png"),
    ("linkwise draw puma560 --q 0,-45,90,0,45,0 --degrees --out puma.svg", "at a configuration"),
    ("linkwise draw stanford --view 30,20 --out oblique.png", "from azimuth 30 and elevation 20 degrees"),
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
            help="3d, front, side, top, plane, or azimuth,elevation in degrees; can be given several times.",
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

    views = [view_of(each) for each in view or ()]
    target = f"{arm.name}.png" if out is None else out
    refuse_ending(target, "--out", *PICTURES)
    check_outputs(False, None, target)
    at = state(arm, q, "q", "--q", degrees)
    shown: dict[str, Any] = {"frames": frames, "labels": labels, "centres": centres, "bodies": bodies}
    write_by(lambda path: draw(arm, at, path, views=views or None, **shown), target, "")
    return 0


def view_of(text: str) -> str | tuple[float, float]:
    """One by name, or azimuth and elevation."""
    if "," in text:
        angles = numbers(text.replace("deg", ""), "--view")
        if len(angles) != 2:
            raise ValueError(f"--view {text} has {len(angles)} numbers (expected azimuth,elevation in degrees)")
        return angles[0], angles[1]
    one_of(text, VIEWS, "--view (or azimuth,elevation)")
    return text
