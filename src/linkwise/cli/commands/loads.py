"""`linkwise loads`: what the joints carry along a trajectory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from ...robot import Robot
from ...trajectories.loads import BEARING, COMPONENTS, load_columns, loads_at
from ..at_states import AtStates, asked_for
from ..limits import with_shares
from ..motion_options import Along, Duration, End, Friction, Samples, Start
from ..options import PICTURES, Csv, Degrees, Json, Parquet, Plot, Q, Qd, Qdd
from ..results import STDOUT, check_outputs, print_json, refuse_ending, write_columns
from ..robot import with_robot
from ..screen import echo, sentence, shown, table, title
from .torque import arrays, passed, show_peaks, write_along

if TYPE_CHECKING:
    from ...trajectories import Loads

EXAMPLES = (
    ("linkwise loads stanford", "the largest loads of each bearing and drive"),
    ("linkwise loads stanford --csv loads.csv --plot loads.svg", "six components at every joint, over time"),
    ("linkwise loads puma560 trapezoid --to 1,-1,1,0,0,0 --duration 1 --payload 2.5", "a fast move with a payload"),
    ("linkwise loads puma560 --q 0,0,pi/2,0,0,0", "at one state, here at rest"),
)


@with_robot
def command(
    arm: Robot,
    trajectory: Along = None,
    start: Start = None,
    end: End = None,
    duration: Duration = None,
    samples: Samples = 501,
    q: Q = None,
    qd: Qd = None,
    qdd: Qdd = None,
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
    --csv has every sample. The trajectory is given as for: linkwise torque. With --q it is at a state, or at every row
    of a table.
    """
    from ...trajectories import torque_along
    from ..motion import trajectory_of

    check_outputs(json, csv, parquet, plot)
    others = {"trajectory": trajectory, "--from": start, "--to": end, "--duration": duration, "--plot": plot}
    if asked_for(q, {"--qd": qd, "--qdd": qdd}, others):
        return at_states(arm, q, qd, qdd, degrees, friction, frame, json, csv, parquet)
    refuse_ending(plot, "--plot", *PICTURES)
    motion, words = trajectory_of(arm, trajectory, start, end, duration, degrees)
    along = torque_along(arm, motion, samples, friction=friction, frame=frame)
    with shown():
        if json:
            print_json(
                {
                    "robot": arm.name,
                    "trajectory": words,
                    "frame": frame,
                    **arrays(along),
                    **borne(along),
                    **passed(along),
                }
            )
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
    bearings = np.column_stack([getattr(peaks, name) for name in BEARING])
    show_loads(along.joints, peaks.loads, bearings, along.frame, magnitudes=True)


def show_loads(joints: Sequence[str], loads: Any, bearings: Any, frame: str, magnitudes: bool) -> None:
    """Of each joint: (m, 6) and (m, 3)."""
    head = ["joint", "radial (N)", "axial (N)", "tilting (N m)"]
    table(head, rows(joints, bearings), heading="Bearings")
    names = [f"|{name}|" if magnitudes else name for name in COMPONENTS]
    names[0], names[3] = f"{names[0]} (N m)", f"{names[3]} (N)"
    table(["joint", *names], rows(joints, loads), heading=f"Components in the {frame} frame")
    title("Drives")


def rows(joints: Sequence[str], values: Any) -> list[list[Any]]:
    return [[name, *row] for name, row in zip(joints, values.tolist(), strict=True)]


def at_states(
    arm: Robot,
    q: str | None,
    qd: str | None,
    qdd: str | None,
    degrees: bool,
    friction: bool,
    frame: str,
    json: bool,
    csv: str | None,
    parquet: str | None,
) -> int:
    at = AtStates(arm, q, qd, qdd, degrees, friction)
    loads, bearings = loads_at(arm, at.motion, frame)
    joints = [joint.joint for joint in arm.moving]
    columns = {
        **at.columns(),
        **load_columns(arm, loads.reshape(-1, len(joints), 6), bearings.reshape(-1, len(joints), 3)),
    }
    with shown():
        if json:
            own = {"frame": frame, "joints": joints, "links": arm.names, "loads": loads}
            print_json(
                {**at.arrays(), **own, **at.passed(), **dict(zip(BEARING, np.moveaxis(bearings, -1, 0), strict=True))}
            )
        elif csv != STDOUT:
            where = "one state" if at.one else f"{len(loads)} states, the largest magnitudes"
            sentence(f"{arm.name}: loads at {where}{'; drives with friction' if friction else ''}")
            echo()
            values = (loads, bearings, at.tau) if at.one else largest(loads, bearings, at.tau)
            show_loads(joints, values[0], values[1], frame, magnitudes=not at.one)
            rows_ = [list(row) for row in zip(arm.v_names, at.units, values[2].tolist(), strict=True)]
            with_shares(arm, ["joint", "unit", "torque"], rows_, values[2])
            at.show_limits()
    write_columns(columns, csv, parquet)
    return 0


def largest(*arrays: Any) -> list[Any]:
    """The largest magnitudes of all states."""
    return [np.abs(array).max(axis=0) for array in arrays]
