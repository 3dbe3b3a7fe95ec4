"""`linkwise torque`: inverse dynamics along a trajectory, or at states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...robot import Robot
from ..motion_options import Along, Duration, End, Friction, Samples, Start
from ..options import PICTURES, Csv, Degrees, Json, Parquet, Plot, Q, Qd, Qdd
from ..results import STDOUT, check_outputs, print_json, refuse_ending, write_by, write_columns
from ..robot import with_robot
from ..screen import echo, sentence, shown, table

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

    Along a trajectory, a .csv file with columns t, q1, q2, ... or one by name, the peaks are shown; --csv has every
    sample. With --q it is at a state, or at every row of a table. Without either, the trajectory is that of the paper
    from which the robot is, or a cycloid of 60 degrees (0.1 m) from the zero position.
    """
    check_outputs(json, csv, parquet, plot)
    if q is not None:
        if trajectory is not None or plot is not None:
            raise ValueError("--q is a state (expected no trajectory and no --plot beside it)")
        return at_states(arm, q, qd, qdd, degrees, friction, method, json, csv, parquet)
    if qd is not None or qdd is not None or method is not None:
        raise ValueError("--qd, --qdd and --method belong to a state (expected --q too)")
    from ...trajectories import torque_along
    from ..motion import trajectory_of

    refuse_ending(plot, "--plot", *PICTURES)
    motion, words = trajectory_of(arm, trajectory, start, end, duration, degrees)
    along = torque_along(arm, motion, samples, friction=friction, loads=False)
    about = f"{arm.name} {words}, {samples} samples{', with friction' if friction else ''}"
    with shown():
        if json:
            print_json({"robot": arm.name, "trajectory": words, **arrays(along), "peaks": peaks(along)})
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
    found = along.peaks()
    columns = zip(found.joints, found.units, found.tau, found.when, found.rms, found.power, strict=True)
    keys = ("joint", "unit", "torque", "time", "rms", "power")
    return [dict(zip(keys, row, strict=True)) for row in columns]


def show_peaks(along: Loads) -> None:
    head = ["joint", "unit", "torque", "at (s)", "rms", "power (W)"]
    table(head, [list(row.values()) for row in peaks(along)])


def at_states(
    arm: Robot,
    q: str,
    qd: str | None,
    qdd: str | None,
    degrees: bool,
    friction: bool,
    method: str | None,
    json: bool,
    csv: str | None,
    parquet: str | None,
) -> int:
    import numpy as np

    from ...api import inverse_dynamics
    from ...robot.layout import Layout
    from ...trajectories.loads import units_of
    from ..states import state

    motion = [state(arm, text, word, f"--{word}", degrees) for text, word in ((q, "q"), (qd, "qd"), (qdd, "qdd"))]
    full = [np.zeros(arm.n) if part is None else part for part in motion]
    tau = np.asarray(inverse_dynamics(arm, *full, method=method, friction=friction))
    with shown():
        if json:
            keys = ("q", "qd", "qdd")
            print_json(
                {
                    "robot": arm.name,
                    "v_names": arm.v_names,
                    "units": units_of(arm),
                    **dict(zip(keys, full, strict=True)),
                    "tau": tau,
                }
            )
        elif csv != STDOUT and tau.ndim == 1:
            echo(f"{arm.name}: torques and forces at one state{', with friction' if friction else ''}\n")
            table(
                ["joint", "unit", "torque"],
                [list(row) for row in zip(arm.v_names, units_of(arm), tau.tolist(), strict=True)],
            )
        elif csv != STDOUT:
            echo(f"{arm.name}: torques and forces at {len(tau)} states\n")
            table(["row", *arm.v_names], [[k, *row] for k, row in enumerate(tau.tolist(), 1)])
    if csv is not None or parquet is not None:
        layout = Layout.of(arm)
        values = [np.broadcast_to(part, (*tau.shape[:-1], part.shape[-1])) for part in (*full, tau)]
        columns: dict[str, Any] = {}
        for word, value in zip(("q", "qd", "qdd", "tau"), values, strict=True):
            columns |= dict(zip(layout.columns(word), np.atleast_2d(value).T, strict=True))
        write_columns(columns, csv, parquet)
    return 0
