"""`linkwise budget`: where the torques of the drives come from."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from ...errors import one_of
from ...robot import Robot
from ..at_states import AtStates, asked_for
from ..limits import OF_LIMIT
from ..motion_options import Along, Duration, End, Friction, Samples, Start
from ..options import OUTPUT, PICTURES, Csv, Degrees, Json, Parquet, Plot, Q, Qd, Qdd, words
from ..results import STDOUT, check_outputs, print_json, refuse_ending, write_by, write_columns
from ..robot import with_robot
from ..screen import Cell, echo, sentence, shown, table

if TYPE_CHECKING:
    from ...api.budget_result import Budget
    from ...api.budget_text import JointBudget

EXAMPLES = (
    ("linkwise budget puma560 --q 0,0,pi/2,0,0,0", "what holds the arm, link by link"),
    ("linkwise budget stanford --joint link2 --plot budget.png", "one joint along the motion of Saha's paper"),
    ("linkwise budget ur5e quintic --to 2,-1,1,0,1,0 --duration 1 --by kinds", "gravity, Coriolis, ... of each joint"),
    ("linkwise budget planar3 --q 0,0,0 --qd 1,2,3 --by links", "bias accelerations and forces of the links"),
)
FEW, MANY = 4, 12  # terms of each joint, and of joints that were asked for
VIEWS = ("joints", "links", "terms", "kinds")


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
    joint: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A joint to show; may be given again. Default: all.")
    ] = None,
    by: Annotated[
        str,
        typer.Option(
            metavar="VIEW",
            help="Rates by joints (default) or by links; terms: both; kinds: gravity, Coriolis, ...",
            autocompletion=words(*VIEWS),
        ),
    ] = "joints",
    most: Annotated[
        int | None,
        typer.Option(
            metavar="COUNT", help="Terms of each joint to name, the others as one.", rich_help_panel=OUTPUT, min=1
        ),
    ] = None,
    json: Json = False,
    csv: Csv = None,
    parquet: Parquet = None,
    plot: Plot = None,
) -> int:
    """Where the torque of each drive comes from: accelerations, rates, weights, rotors, friction.

    Along a trajectory, given as for: linkwise torque, each joint is shown where its torque is largest, beside the limit
    of its drive; --csv has every sample. With --q it is at a state, or at every row of a table.
    """
    one_of(by, VIEWS, "--by")
    check_outputs(json, csv, parquet, plot)
    refuse_ending(plot, "--plot", *PICTURES)
    others = {"trajectory": trajectory, "--from": start, "--to": end, "--duration": duration}
    from ...api.budget import budget

    if asked_for(q, {"--qd": qd, "--qdd": qdd}, others):
        at = AtStates(arm, q, qd, qdd, degrees, friction)
        found, about = budget(arm, *at.motion, friction=friction), "at one state" if at.one else f"{len(at.tau)} states"
    else:
        from ...trajectories import torque_along
        from ..motion import trajectory_of

        motion, about = trajectory_of(arm, trajectory, start, end, duration, degrees)
        along = torque_along(arm, motion, samples, friction=friction, loads=False)
        found, about = (
            budget(arm, along.q, along.qd, along.qdd, friction=friction, t=along.t),
            f"{about}, {samples} samples",
        )
    chosen = [found.index_of(name) for name in joint] if joint else list(range(arm.n))
    with shown():
        if json:
            print_json(as_json(found, chosen, by))
        elif csv != STDOUT:
            largest = "; each joint where its torque is largest" if found.batch else ""
            sentence(f"{arm.name} {about}{', with friction' if friction else ''}{largest}")
            echo()
            for k in chosen:
                show(found.joint(k, by=by), most or (MANY if joint else FEW))
    write_columns(found.columns(by), csv, parquet)
    if plot is not None:
        write_by(
            lambda path: found.plot(path, joints=chosen, by=by, **({} if most is None else {"most": most})), plot, ""
        )
    return 0


def show(own: JointBudget, most: int) -> None:
    """The terms of one joint as a table."""
    limited, terms = math.isfinite(own.limit), own.shortened(most)
    passed = any(label in own.through for label, _ in terms)
    head = ["term", own.unit, "of torque (%)", *([OF_LIMIT] if limited else []), *(["through"] if passed else [])]
    rows = []
    for label, x in [*terms, ("torque", own.total)]:
        row: list[Cell] = [label, x, share(x, own.whole), *([share(x, own.limit)] if limited else [])]
        body = f"the body from {own.through[label]} on" if label in own.through else ""
        rows.append([*row, body] if passed else row)
    when = f", {own.when}" if own.when else ""
    bound = f", its limit is {own.limit:g} {own.unit}" if limited else ""
    table(head, rows, heading=f"{own.name}{when}{bound}")


def share(x: float, whole: float) -> float | None:
    return 100.0 * x / whole if whole else None


def as_json(found: Budget, chosen: list[int], by: str) -> dict[str, Any]:
    labels, values = found.view(by)
    arm, names = found.arm, [found.arm.v_names[k] for k in chosen]
    return {
        "robot": arm.name,
        "joints": names,
        "units": [arm.effort_units[k] for k in chosen],
        "limits": [found.limits()[k] for k in chosen],
        **({} if found.t is None else {"t": found.t}),
        "tau": np.asarray(found.tau)[..., chosen],
        "terms": {label: values[..., chosen, i] for i, label in enumerate(labels) if values[..., chosen, i].any()},
    }
