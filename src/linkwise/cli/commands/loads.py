"""`linkwise loads`: what the joints carry along a trajectory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from ...robot import Robot
from ...trajectories.loads import BEARING, COMPONENTS, load_columns, loads_at
from ..declare import opt
from ..limits import with_shares
from ..options import Friction
from ..results import Outputs
from ..screen import echo, sentence, table, title
from ..where import AtStates, Where
from .torque import arrays, passed, show_peaks

if TYPE_CHECKING:
    from ...trajectories import Loads

EXAMPLES = (
    ("linkwise loads stanford", "the largest loads of each bearing and drive"),
    ("linkwise loads stanford --csv loads.csv --plot loads.svg", "six components at every joint, over time"),
    ("linkwise loads puma560 trapezoid --to 1,-1,1,0,0,0 --duration 1 --payload 2.5", "a fast move with a payload"),
    ("linkwise loads puma560 --q 0,0,pi/2,0,0,0", "at one state, here at rest"),
)


def command(
    arm: Robot,
    where: Where,
    out: Outputs,
    friction: Friction = False,
    frame: Annotated[str, opt("FRAME", "Of the components: joint (default; z is the axis) or base.")] = "joint",
) -> int:
    """Forces and moments in the joints along a trajectory, for the choice of bearings and drives.

    A link gets six components of load from its parent, about the origin of the joint frame. Across and along the
    joint's axis they are the loads of its bearing: radial and axial force, tilting moment. The largest are shown;
    --csv has every sample. The trajectory is given as for: linkwise torque. With --q it is at a state, or at every row
    of a table.
    """
    if where.is_state(plot=out.plot):
        at_states(AtStates(arm, where, friction), friction, frame, out)
        return 0
    from ...trajectories import torque_along

    motion, words = where.path(arm)
    along = torque_along(arm, motion, where.samples, friction=friction, frame=frame)

    def as_json() -> dict[str, Any]:
        head = {"robot": arm.name, "trajectory": words, "frame": frame}
        return {**head, **arrays(along), **borne(along), **passed(along)}

    def on_screen() -> None:
        sentence(f"{arm.name} {words}, {where.samples} samples; the largest magnitudes:")
        echo()
        show_bearings(along)
        show_peaks(along)

    out.show(as_json, on_screen)
    out.write(along.columns)
    out.draw(along.plot)
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


def at_states(at: AtStates, friction: bool, frame: str, out: Outputs) -> None:
    arm = at.arm
    loads, bearings = loads_at(arm, at.motion, frame)
    joints = [joint.joint for joint in arm.moving]

    def as_json() -> dict[str, Any]:
        own = {"frame": frame, "joints": joints, "links": arm.names, "loads": loads}
        return {**at.arrays(), **own, **at.passed(), **dict(zip(BEARING, np.moveaxis(bearings, -1, 0), strict=True))}

    def on_screen() -> None:
        where = "one state" if at.one else f"{len(loads)} states, the largest magnitudes"
        sentence(f"{arm.name}: loads at {where}{'; drives with friction' if friction else ''}")
        echo()
        shown, borne, tau = (loads, bearings, at.tau) if at.one else largest(loads, bearings, at.tau)
        show_loads(joints, shown, borne, frame, magnitudes=not at.one)
        drives = [list(row) for row in zip(arm.v_names, at.units, tau.tolist(), strict=True)]
        with_shares(arm, ["joint", "unit", "torque"], drives, tau)
        at.show_limits()

    def columns() -> dict[str, Any]:
        flat = loads.reshape(-1, len(joints), 6), bearings.reshape(-1, len(joints), 3)
        return {**at.columns(), **load_columns(arm, *flat)}

    out.show(as_json, on_screen)
    out.write(columns)


def largest(*arrays: Any) -> list[Any]:
    """The largest magnitudes of all states."""
    return [np.abs(array).max(axis=0) for array in arrays]
