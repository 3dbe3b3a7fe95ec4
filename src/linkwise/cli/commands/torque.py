"""`linkwise torque`: inverse dynamics along a trajectory, or at states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from ...robot import Robot
from ...robot.scales import torque_scales
from ..at_states import AtStates, asked_for
from ..limits import as_json, show_limits, with_shares
from ..motion_options import Along, Duration, End, Friction, Samples, Start
from ..options import PICTURES, Csv, Degrees, Json, Parquet, Plot, Q, Qd, Qdd
from ..results import STDOUT, check_outputs, print_json, refuse_ending, write_by, write_columns
from ..robot import with_robot
from ..screen import echo, number, sentence, shown, table

if TYPE_CHECKING:
    from ...trajectories import Loads

EXAMPLES = (
    ("linkwise torque stanford", "the motion of Saha's paper"),
    ("linkwise torque puma560 quintic --to 0,-90,90,0,0,0 --degrees --duration 2", "from the zero position to --to"),
    ("linkwise torque stanford --plot torques.png", "the curves as a picture"),
    ("linkwise torque stanford --csv motion.csv", "all samples as a table"),
    ("linkwise torque stanford motion.csv --payload 2.5", "the same motion with 2.5 kg in the hand"),
    ("linkwise torque puma560 --q 0,0,pi/2,0,0,0 --json", "at one state: what holds it against gravity"),
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
    method: Annotated[
        str | None, typer.Option(metavar="NAME", help="The formulation, at states: newton-euler, denoc, ...")
    ] = None,
    json: Json = False,
    csv: Csv = None,
    parquet: Parquet = None,
    plot: Plot = None,
) -> int:
    """Torques and forces that the drives must give.

    Along a trajectory, a .csv file with columns t, q1, q2, ... (or the joints' names) or one by name, the peaks are
    shown; --csv has every sample. With --q it is at a state, or at every row of a table. Without either, the trajectory
    is that of the paper from which the robot is, or a cycloid of 60 degrees (0.1 m) from the zero position.
    """
    check_outputs(json, csv, parquet, plot)
    others = {"trajectory": trajectory, "--from": start, "--to": end, "--duration": duration, "--plot": plot}
    if asked_for(q, {"--qd": qd, "--qdd": qdd, "--method": method}, others):
        return at_states(arm, q, qd, qdd, degrees, friction, method, json, csv, parquet)
    from ...trajectories import torque_along
    from ..motion import trajectory_of

    refuse_ending(plot, "--plot", *PICTURES)
    motion, words = trajectory_of(arm, trajectory, start, end, duration, degrees)
    along = torque_along(arm, motion, samples, friction=friction, loads=False)
    about = f"{arm.name} {words}, {samples} samples{', with friction' if friction else ''}"
    with shown():
        if json:
            print_json(
                {"robot": arm.name, "trajectory": words, **arrays(along), "peaks": peaks(along), **passed(along)}
            )
        elif csv != STDOUT:
            sentence(f"{about}; the largest of each drive:")
            echo()
            show_peaks(along)
            if arm.free_joints:
                bases = ", ".join(joint.joint for joint in arm.free_joints)
                sentence(f"The rows of {bases} are what must be given to the base, as by the ground; no drive does.")
    write_along(along, csv, parquet, plot)
    return 0


def write_along(along: Loads, csv: str | None, parquet: str | None, plot: str | None, loads: bool = False) -> None:
    if csv is not None:
        write_by(along.to_csv, csv, ".csv")
    if parquet is not None:
        write_columns(along.columns(), None, parquet)
    if plot is not None:
        write_by(lambda path: along.plot(path, loads=loads), plot, "")


def arrays(along: Loads) -> dict[str, Any]:
    names = {"q_names": along.arm.q_names, "v_names": along.arm.v_names, "units": along.units}
    return names | {name: getattr(along, name) for name in ("t", "q", "qd", "qdd", "tau")}


def peaks(along: Loads) -> list[dict[str, Any]]:
    from ...trajectories.ratings import of_limits

    found = along.peaks()
    shares = of_limits(along.arm, found.tau) or [None] * along.arm.n
    columns = zip(found.joints, found.units, found.tau, found.when, found.rms, found.power, shares, strict=True)
    keys = ("joint", "unit", "torque", "time", "rms", "power", "of_limit")
    return [dict(zip(keys, row, strict=True)) for row in columns]


def passed(along: Loads) -> dict[str, Any]:
    return {"passed": as_json(along.arm, along.q, along.qd, along.tau, along.t.tolist(), "time")}


def show_peaks(along: Loads) -> None:
    head = ["joint", "unit", "torque", "at (s)", "rms", "power (W)"]
    rows = [list(row.values())[: len(head)] for row in peaks(along)]
    fastest = np.abs(along.qd).max(axis=0)
    for row, size, rate in zip(rows, sizes(along.arm, along.q, along.qd), fastest, strict=True):
        row[2], row[4], row[5] = (
            number(row[2], size=size),
            number(row[4], size=size),
            number(row[5], size=size * rate),
        )
    with_shares(along.arm, head, rows, along.peaks().tau)
    show_limits(along.arm, along.q, along.qd, along.tau, along.t.tolist(), "first at (s)")


def sizes(arm: Robot, q: Any, qd: Any) -> list[float]:
    """What torques of each joint are small beside: the magnitudes of all that acts on it, at rest or in motion."""
    return [
        float(x) or 1.0
        for x in torque_scales(arm, np.reshape(q, (-1, arm.nq)), np.reshape(qd, (-1, arm.n))).max(axis=0)
    ]


def at_states(
    arm: Robot,
    q: str | None,
    qd: str | None,
    qdd: str | None,
    degrees: bool,
    friction: bool,
    method: str | None,
    json: bool,
    csv: str | None,
    parquet: str | None,
) -> int:
    at = AtStates(arm, q, qd, qdd, degrees, friction, method)
    tau, small = at.tau, sizes(arm, *at.batch()[:2])
    with shown():
        if json:
            print_json({**at.arrays(), **at.passed()})
        elif csv != STDOUT and at.one:
            echo(f"{arm.name}: torques and forces at one state{', with friction' if friction else ''}\n")
            texts = [number(x, size=size) for x, size in zip(tau.tolist(), small, strict=True)]
            rows = [list(row) for row in zip(arm.v_names, at.units, texts, strict=True)]
            with_shares(arm, ["joint", "unit", "torque"], rows, tau)
            at.show_limits()
        elif csv != STDOUT:
            echo(f"{arm.name}: torques and forces at {len(tau)} states\n")
            table(
                ["row", *arm.v_names],
                [
                    [k, *(number(x, size=size) for x, size in zip(row, small, strict=True))]
                    for k, row in enumerate(tau.tolist(), 1)
                ],
            )
            at.show_limits()
    write_columns(at.columns(), csv, parquet)
    return 0
