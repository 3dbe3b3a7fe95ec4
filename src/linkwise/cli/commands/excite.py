"""`linkwise excite`: a motion along which the parameters of a robot can be identified."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...robot import Robot
from ..motion_options import Friction, Samples
from ..options import PICTURES, Csv, Degrees, Json, Parquet, Plot
from ..results import STDOUT, check_outputs, print_json, refuse_ending, write_by, write_columns
from ..robot import with_robot
from ..screen import complain, echo, sentence, shown, table
from ..typed_limits import limits_of

if TYPE_CHECKING:
    from ...identification.excitation import Excitation

LIMITS, SEARCH = "Limits", "Search"
EXAMPLES = (
    ("linkwise excite gantry --velocity 0.5 --csv move.csv", "the motion as a table"),
    ("linkwise excite planar3 --position -2:2 --velocity 2 --harmonics 3", "limits that its table does not have"),
    ("linkwise excite ur5e --acceleration 10 --plot move.png", "the curves as a picture"),
    ("linkwise excite ur5e --position shoulder_lift_joint=-150:-30 --degrees", "to keep the arm above its table"),
    ("linkwise excite gantry --velocity 0.5 --starts 20 --json", "a longer search; coefficients of the series"),
)


def per_joint(what: str, example: str) -> Any:
    about = f"{what}: one for all joints, one for each, or by name ({example}); default: the robot's own."
    return typer.Option(metavar="LIMITS", help=about, rich_help_panel=LIMITS)


@with_robot
def command(
    arm: Robot,
    harmonics: Annotated[
        int, typer.Option(metavar="COUNT", help="Of the Fourier series; default: 5.", rich_help_panel=SEARCH)
    ] = 5,
    duration: Annotated[
        float, typer.Option(metavar="SECONDS", help="The period; default: 10.", rich_help_panel=SEARCH)
    ] = 10.0,
    position: Annotated[str | None, per_joint("Ends of travel, LOWER:UPPER", "link2=-1:1")] = None,
    velocity: Annotated[str | None, per_joint("The largest rates", "link2=1.5")] = None,
    acceleration: Annotated[
        str | None,
        typer.Option(metavar="LIMITS", help="The largest accelerations; default: none.", rich_help_panel=LIMITS),
    ] = None,
    effort: Annotated[str | None, per_joint("The largest torques or forces", "link2=40")] = None,
    margin: Annotated[
        float, typer.Option(metavar="SHARE", help="Of each limit, not used; default: 0.1.", rich_help_panel=LIMITS)
    ] = 0.1,
    degrees: Degrees = False,
    friction: Friction = False,
    criterion: Annotated[
        str, typer.Option(metavar="NAME", help="condition (default) or logdet.", rich_help_panel=SEARCH)
    ] = "condition",
    starts: Annotated[
        int, typer.Option(metavar="COUNT", help="Random motions to begin with; default: 8.", rich_help_panel=SEARCH)
    ] = 8,
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="Of these; default: 0.", rich_help_panel=SEARCH)] = 0,
    samples: Samples = 501,
    json: Json = False,
    csv: Csv = None,
    parquet: Parquet = None,
    plot: Plot = None,
) -> int:
    """A motion from rest to rest, within all limits, along which the inertial parameters can be identified well.

    The table that --csv writes has t, q1, ..., qd1, ..., qdd1, ... and the torques tau1, ...; linkwise torque and
    simulate --follow read it. Collisions are not known: look at the motion before an arm runs it. Ctrl-C ends the
    search; the best motion until then is shown and written.
    """
    refuse_ending(plot, "--plot", *PICTURES)
    check_outputs(json, csv, parquet, plot)
    from ...identification.excitation import ExcitationInterrupted, excitation

    typed = {"position": position, "velocity": velocity, "acceleration": acceleration, "effort": effort}
    code = 0
    try:
        move = excitation(
            arm, harmonics, duration, limits_of(arm, typed, degrees), margin=margin, criterion=criterion,
            friction=friction, starts=starts, seed=seed,
        )  # fmt: skip
    except ExcitationInterrupted as error:
        move, code = error.excitation, 130
    with shown():
        if json:
            print_json(as_json(move))
        elif csv != STDOUT:
            show(move)
    write(move, samples, friction, csv, parquet, plot)
    if code:
        complain("interrupted: this is the best motion until then")
    return code


def show(move: Excitation) -> None:
    sentence(
        f"{move.arm.name}: {move.name}, {move.duration:g} s, at rest at both ends; condition number"
        f" {move.condition:.3g} of {len(move.parameters)} base parameters. What it leaves of each limit, in %:"
    )
    echo()
    margins = move.margins
    columns = (margins.position, margins.velocity, margins.acceleration, margins.effort)
    rows: list[list[str | float]] = [
        [joint, *(100.0 * float(x) for x in row)] for joint, *row in zip(margins.joints, *columns, strict=True)
    ]
    table(["joint", "position", "velocity", "acceleration", "effort"], rows)
    if move.left_out:
        sentence(f"Hidden by others, and left out: {', '.join(move.left_out)}")


def as_json(move: Excitation) -> dict[str, Any]:
    margins = {kind: getattr(move.margins, kind) for kind in ("position", "velocity", "acceleration", "effort")}
    return {
        "robot": move.arm.name,
        "q_names": move.arm.q_names,
        "condition": move.condition,
        "log_det": move.log_det,
        "criterion": move.criterion,
        "parameters": move.parameters,
        "left_out": move.left_out,
        "margins": margins,
        **move.coefficients,
    }


def write(
    move: Excitation, samples: int, friction: bool, csv: str | None, parquet: str | None, plot: str | None
) -> None:
    from ...trajectories import torque_along

    along = torque_along(move.arm, move, samples, friction=friction, loads=False)
    if csv is not None:
        write_by(along.to_csv, csv, ".csv")
    if parquet is not None:
        write_columns(along.columns(), None, parquet)
    if plot is not None:
        write_by(lambda path: move.plot(path, samples), plot, "")
