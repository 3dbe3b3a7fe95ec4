"""`linkwise loads`: what the joints carry along a trajectory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...robot import Robot
from ..motion_options import Along, Duration, End, Friction, Samples, Start
from ..options import PICTURES, Csv, Degrees, Json, Parquet, Plot
from ..results import STDOUT, check_outputs, print_json, refuse_ending
from ..robot import with_robot
from ..screen import echo, sentence, shown, table, title
from .torque import arrays, show_peaks, write_along

if TYPE_CHECKING:
    from ...trajectories import Loads

EXAMPLES = (
    ("linkwise loads stanford", "the largest loads of each bearing and drive"),
    ("linkwise loads stanford --csv loads.csv --plot loads.svg", "six components at every joint, over time"),
    ("linkwise loads puma560 trapezoid --to 1,-1,1,0,0,0 --duration 1 --payload 2.5", "a fast move with a payload"),
)


@with_robot
def command(
    arm: Robot,
    trajectory: Along = None,
    start: Start = None,
    end: End = None,
    duration: Duration = None,
    samples: Samples = 501,
    degrees: Degrees = False,
    friction: Friction = False,
    frame: Annotated[
        str, typer.Option(metavar="FRAME", help="Of the components: joint (default; z is the axis) or base.")
    ] = "joint",
    json: Json = False,
    csv: Csv = None,
    parquet: Parquet = None,
    plot: Plot = None,
) -> int:
    """Forces and moments in the joints along a trajectory, for the choice of bearings and drives.

    A link gets six components of load from its parent, about the origin of the joint frame. Across and along the
    joint's axis they are the loads of its bearing: radial and axial force, tilting moment. The largest are shown;
    --csv has every sample. The trajectory is given as for: linkwise torque
    """
    from ...trajectories import torque_along
    from ..motion import trajectory_of

    check_outputs(json, csv, parquet, plot)
    refuse_ending(plot, "--plot", *PICTURES)
    motion, words = trajectory_of(arm, trajectory, start, end, duration, degrees)
    along = torque_along(arm, motion, samples, friction=friction, frame=frame)
    with shown():
        if json:
            print_json({"robot": arm.name, "trajectory": words, "frame": frame, **arrays(along), **borne(along)})
        elif csv != STDOUT:
            sentence(f"{arm.name} {words}, {samples} samples; the largest magnitudes:")
            echo()
            show_bearings(along)
            show_peaks(along)
    write_along(along, csv, parquet, plot, loads=True)
    return 0


def borne(along: Loads) -> dict[str, Any]:
    names = ("loads", "radial", "axial", "tilting")
    return {"joints": along.joints, "links": along.arm.names, **{name: getattr(along, name) for name in names}}


def show_bearings(along: Loads) -> None:
    peaks = along.peaks()
    assert peaks.loads is not None
    head = ["joint", "radial (N)", "axial (N)", "tilting (N m)"]
    joints = along.joints
    columns = [joints, *(getattr(peaks, name).tolist() for name in ("radial", "axial", "tilting"))]
    table(head, zip(*columns, strict=True), heading="Bearings")
    names = ["|mx| (N m)", "|my|", "|mz|", "|fx| (N)", "|fy|", "|fz|"]
    rows = [[name, *row] for name, row in zip(joints, peaks.loads.tolist(), strict=True)]
    table(["joint", *names], rows, heading=f"Components in the {along.frame} frame")
    title("Drives")
