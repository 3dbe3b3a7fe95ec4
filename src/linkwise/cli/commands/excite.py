"""`linkwise excite`: a motion along which the parameters of a robot can be identified."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...robot import Robot
from ..motion_options import Friction
from ..options import OUTPUT, PICTURES, Csv, Json, Parquet, Plot
from ..results import STDOUT, check_outputs, print_json, refuse_ending, write_by, write_columns
from ..robot import with_robot
from ..screen import complain, echo, number, sentence, shown, table
from ..typed_limits import limits_of, noise_of

if TYPE_CHECKING:
    from ...identification.excitation import Excitation

LIMITS, SEARCH = "Limits", "Search"
KINDS = ("position", "velocity", "acceleration", "effort")
EXAMPLES = (
    ("linkwise excite gantry --velocity 0.5 --csv move.csv --rate 250", "the motion as a table, for a controller"),
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
        int | None,
        typer.Option(
            metavar="COUNT",
            help="Of the Fourier series; default: 5, in more than 10 s one for every 2 s, at most 15.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
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
    degrees: Annotated[
        bool,
        typer.Option(
            "--degrees",
            help="Limits of angles, rates and accelerations are typed, shown, drawn in degrees; tables have radians.",
            rich_help_panel=LIMITS,
        ),
    ] = False,
    friction: Friction = False,
    criterion: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="condition (default), or logdet: better in the mean, not at worst.",
            rich_help_panel=SEARCH,
        ),
    ] = "condition",
    noise: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBERS",
            help="Standard deviation of measured torques, N m or N: one for all joints, or one for each; default: 1.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    starts: Annotated[
        int, typer.Option(metavar="COUNT", help="Random motions to begin with; default: 8.", rich_help_panel=SEARCH)
    ] = 8,
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="Of these; default: 0.", rich_help_panel=SEARCH)] = 0,
    samples: Annotated[
        int | None,
        typer.Option(metavar="COUNT", help="Rows of the table; default: 501.", rich_help_panel=OUTPUT, min=2),
    ] = None,
    rate: Annotated[
        float | None, typer.Option(metavar="HZ", help="Rows of the table in a second.", rich_help_panel=OUTPUT)
    ] = None,
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
    if samples is not None and rate is not None:
        raise ValueError("--samples and --rate exclude each other")
    from ...identification.excitation import ExcitationInterrupted, excitation

    typed = {"position": position, "velocity": velocity, "acceleration": acceleration, "effort": effort}
    code = 0
    try:
        move = excitation(
            arm, harmonics, duration, limits_of(arm, typed, degrees), margin=margin, criterion=criterion,
            friction=friction, noise=noise_of(arm, noise), starts=starts, seed=seed,
        )  # fmt: skip
    except ExcitationInterrupted as error:
        move, code = error.excitation, 130
    with shown():
        if json:
            print_json(as_json(move))
        elif csv != STDOUT:
            show(move, degrees)
    write(move, {"samples": 501 if samples is None else samples, "rate": rate}, csv, parquet, plot, degrees)
    if code:
        complain("interrupted: this is the best motion until then")
    return code


def show(move: Excitation, degrees: bool) -> None:
    sentence(
        f"{move.arm.name}: {move.name}, {move.duration:g} s, at rest at both ends; condition number"
        f" {move.condition:.3g} of {len(move.parameters)} base parameters. Standard deviations to expect of them, as"
        f" torques, from 1000 samples: {move.typical_sigma:.2g} of the noise (geometric mean),"
        f" {move.worst_sigma:.2g} in the worst direction. They compare motions under the same limits."
    )
    echo()
    efforts = move.arm.effort_units
    lengths = [word for word, unit in (("deg" if degrees else "rad", "N m"), ("m", "N")) if unit in efforts]
    units = ", ".join([*lengths, "s", *sorted(set(efforts), reverse=True)])
    table(["joint", *KINDS], limit_rows(move, degrees), f"Limits, in {units}")
    margins = move.margins
    rows: list[list[str | float]] = [
        [joint, *(100.0 * float(getattr(margins, kind)[k]) for kind in KINDS)] for k, joint in enumerate(margins.joints)
    ]
    table(["joint", *KINDS], rows, "What the motion leaves of each, in %")
    if move.left_out:
        sentence(f"Hidden by others, and left out: {', '.join(move.left_out)}")


def limit_rows(move: Excitation, degrees: bool) -> list[list[str | float]]:
    """As they were used, the robot's own or typed; - where there is none."""
    limits = move.limits
    rows: list[list[str | float]] = []
    for k, joint in enumerate(move.margins.joints):
        scale = math.degrees(1.0) if degrees and move.arm.effort_units[k] == "N m" else 1.0
        ends = [number(scale * float(end[k])) for end in (limits.lower, limits.upper)]
        sizes = [scale * limits.velocity[k], scale * limits.acceleration[k], limits.effort[k]]
        rows.append([joint, ":".join(ends), *(float(x) if math.isfinite(x) else math.nan for x in sizes)])
    return rows


def as_json(move: Excitation) -> dict[str, Any]:
    margins = {kind: getattr(move.margins, kind) for kind in KINDS}
    limits = {kind: getattr(move.limits, kind) for kind in ("lower", "upper", *KINDS[1:])}
    return {
        "robot": move.arm.name,
        "q_names": move.arm.q_names,
        "condition": move.condition,
        "log_det": move.log_det,
        "criterion": move.criterion,
        "parameters": move.parameters,
        "left_out": move.left_out,
        "sigma": move.sigma,
        "typical_sigma": move.typical_sigma,
        "worst_sigma": move.worst_sigma,
        "limits": limits,
        "margins": margins,
        **move.coefficients,
    }


def write(
    move: Excitation, times: dict[str, Any], csv: str | None, parquet: str | None, plot: str | None, degrees: bool
) -> None:
    from ...trajectories import torque_along

    if csv is not None or parquet is not None:
        along = torque_along(move.arm, move, **times, friction=move.friction or False, loads=False)
        if csv is not None:
            write_by(along.to_csv, csv, ".csv")
        if parquet is not None:
            write_columns(along.columns(), None, parquet)
    if plot is not None:
        write_by(lambda path: move.plot(path, degrees=degrees), plot, "")
