"""`linkwise draw`: a picture of a robot."""

from __future__ import annotations

from typing import Annotated, Any

from ...errors import one_of
from ...robot import Robot
from ..declare import flag, opt
from ..options import OUTPUT, PICTURES, Degrees, Q
from ..results import check_outputs, refuse_ending, write_by
from ..states import numbers, state, warn_of_unread

VIEWS = ("3d", "front", "side", "top", "plane")
EXAMPLES = (
    ("linkwise draw stanford", "stanford.png"),
    ("linkwise draw puma560 --q 0,-45,90,0,45,0 --degrees --out puma.svg", "at a configuration"),
    ("linkwise draw stanford --view 30,20 --out oblique.png", "from azimuth 30 and elevation 20 degrees"),
    ("linkwise draw quadruped --view 3d --view top --out views.png", "several views side by side"),
)


SIDES = "3d, front, side, top, plane, or azimuth,elevation in degrees; can be given several times."


def command(
    arm: Robot,
    q: Q = None,
    degrees: Degrees = False,
    view: Annotated[list[str] | None, opt("VIEW", SIDES, known=VIEWS)] = None,
    frames: Annotated[bool | None, flag("--frames/--no-frames", "The links' frames.")] = None,
    labels: Annotated[bool | None, flag("--labels/--no-labels", "The links' names.")] = None,
    centres: Annotated[bool | None, flag("--centres/--no-centres", "Centres of mass.")] = None,
    bodies: Annotated[bool | None, flag("--bodies/--no-bodies", "Boxes of the links' inertia.")] = None,
    out: Annotated[str | None, opt("FILE", "Default: the robot's name and .png", OUTPUT, "--out", "-o")] = None,
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
    warn_of_unread(arm, {"--q": ("q", q)})
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
