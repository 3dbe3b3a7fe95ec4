"""`linkwise identify`: a robot's parameters from recorded motions and torques."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...errors import one_of
from ...formats.files import ROTORS
from ...robot import Robot
from ..options import OUTPUT, PICTURES, Json, Plot, UrdfRotors
from ..results import check_outputs, print_json, refuse_ending, write_by
from ..robot import with_robot
from ..screen import echo, shown
from ..states import numbers
from ..wording import at_the_prompt

if TYPE_CHECKING:
    from ...identification.result import Identification

DATA, FIT = "Data", "Fit"
EXAMPLES = (
    ("linkwise excite gantry --velocity 0.5 --csv measured.csv", "a motion with torques, in place of a measurement"),
    ("linkwise identify gantry measured.csv", "masses, rotors and friction, with their errors"),
    ("linkwise identify gantry measured.csv --save mine.toml --plot fit.png", "the robot as identified; a picture"),
    ("linkwise identify gantry measured.csv --cutoff 10 --offset --json", "another filter; sensors with offsets"),
    ("linkwise identify gantry measured.csv --columns q=q1,q2,q3 --no-rates", "which columns to take"),
)


@with_robot
def command(
    arm: Robot,
    data: Annotated[
        list[str],
        typer.Argument(metavar="data", help="Recordings, .csv or .npz: t, q1, ..., tau1, ...", show_default=False),
    ],
    columns: Annotated[
        list[str] | None,
        typer.Option(metavar="Q=NAMES", help="Names of columns: q=a,b, tau=c,d, t=e.", rich_help_panel=DATA),
    ] = None,
    period: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Between rows, if there is no t.", rich_help_panel=DATA)
    ] = None,
    degrees: Annotated[bool, typer.Option("--degrees", help="Angles are in degrees.", rich_help_panel=DATA)] = False,
    gains: Annotated[
        str | None,
        typer.Option(metavar="FACTORS", help="From what was recorded to torques, one or n.", rich_help_panel=DATA),
    ] = None,
    delay: Annotated[
        float, typer.Option(metavar="SECONDS", help="Torques lag by this much; default: 0.", rich_help_panel=DATA)
    ] = 0.0,
    cutoff: Annotated[
        float | None, typer.Option(metavar="HZ", help="Of the motion; default: by its band.", rich_help_panel=DATA)
    ] = None,
    torque_cutoff: Annotated[
        float | None, typer.Option(metavar="HZ", help="Of the torques; default: likewise.", rich_help_panel=DATA)
    ] = None,
    decimate: Annotated[
        int | None, typer.Option(metavar="ROWS", help="One row in so many is kept.", rich_help_panel=DATA)
    ] = None,
    no_rates: Annotated[
        bool, typer.Option("--no-rates", help="Pass over rates and accelerations.", rich_help_panel=DATA)
    ] = False,
    minimum_speed: Annotated[
        float | None,
        typer.Option(metavar="RATE", help="Slower rows are left out; default: by their errors.", rich_help_panel=DATA),
    ] = None,
    validation: Annotated[
        str | None, typer.Option(metavar="FILE", help="Another recording to judge by.", rich_help_panel=DATA)
    ] = None,
    no_friction: Annotated[
        bool, typer.Option("--no-friction", help="There is no friction to identify.", rich_help_panel=FIT)
    ] = False,
    no_rotors: Annotated[
        bool, typer.Option("--no-rotors", help="Rotors stay as the robot has them.", rich_help_panel=FIT)
    ] = False,
    offset: Annotated[bool, typer.Option("--offset", help="Torque offsets of sensors.", rich_help_panel=FIT)] = False,
    no_physical: Annotated[
        bool,
        typer.Option("--no-physical", help="Least squares, also if no body is such.", rich_help_panel=FIT),
    ] = False,
    regularization: Annotated[
        float, typer.Option(metavar="NUMBER", help="Pull to the robot; default: 0.1.", rich_help_panel=FIT)
    ] = 0.1,
    save: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the robot: .toml or .urdf.", rich_help_panel=OUTPUT)
    ] = None,
    urdf_rotors: UrdfRotors = "refuse",
    json: Json = False,
    plot: Plot = None,
) -> int:
    """Masses, inertias, rotors and friction of a robot, from recorded motions and torques.

    A recording is a table with a column for each joint, q1 or joint1_position, and for its torque, tau1 or effort_1;
    rates and accelerations are taken if there are columns of them, and found by filtering and differentiation if not.
    """
    refuse_ending(plot, "--plot", *PICTURES)
    if save is not None:
        refuse_ending(save, "--save", ".toml", ".urdf")
    check_rotors(arm, save, no_rotors, urdf_rotors)
    check_outputs(json, None, save, plot)
    from ...formats import save as save_robot
    from ...identification.fitting import identify

    factors: Any = None if gains is None else numbers(gains, "--gains")
    if factors is not None and len(factors) == 1:
        factors = factors[0]
    fit = identify(
        arm,
        list(data),
        friction=not no_friction,
        physical=not no_physical,
        rotors=not no_rotors,
        offset=offset,
        columns=named_columns(columns),
        period=period,
        degrees=degrees,
        gains=factors,
        delay=delay,
        cutoff=cutoff,
        torque_cutoff=torque_cutoff,
        decimate=decimate,
        recorded_rates=not no_rates,
        minimum_speed=minimum_speed,
        regularization=regularization,
        validation=validation,
    )
    with shown():
        if json:
            print_json(as_json(fit))
        else:
            echo(at_the_prompt(str(fit.report())))
    if save is not None:
        write_by(lambda path: save_robot(fit.robot, path, urdf_rotors=urdf_rotors), save, "")
    if plot is not None:
        write_by(fit.plot, plot, "")
    return 0


def check_rotors(arm: Robot, save: str | None, no_rotors: bool, urdf_rotors: str) -> None:
    """URDF has no inertias of rotors: said before the fit, which takes its time."""
    one_of(urdf_rotors, ROTORS, "--urdf-rotors")
    if save is None or not save.lower().endswith(".urdf"):
        if urdf_rotors != "refuse":
            raise ValueError("--urdf-rotors belongs to a .urdf (expected --save FILE.urdf)")
        return
    if urdf_rotors != "refuse":
        return
    some = any(link.joint.has_rotor for link in arm.links)
    if some or not no_rotors:
        why = f"robot {arm.name!r} has some" if no_rotors else "they are identified"
        raise ValueError(
            f"--save {save}: URDF has no place for rotor inertias, and {why} (expected .toml; --urdf-rotors"
            " transmission, where Drake and linkwise read them, and Pinocchio, MuJoCo and ROS do not; or --urdf-rotors"
            " drop, which leaves them out of the file)"
        )


def named_columns(texts: list[str] | None) -> dict[str, list[str]] | None:
    """Of q=left,right and t=stamp."""
    found: dict[str, list[str]] = {}
    for text in texts or []:
        quantity, equals, names = text.partition("=")
        quantity = quantity.strip()
        if not equals or not names.strip() or quantity in found:
            twice = " again" if quantity in found else ""
            raise ValueError(f"--columns: {text!r}{twice} (expected q=NAME,NAME,..., and likewise t, qd, qdd or tau)")
        found[quantity] = [name.strip() for name in names.split(",")]
    return found or None


def as_json(fit: Identification) -> dict[str, Any]:
    def estimates(of: Any) -> dict[str, Any]:
        columns = zip(of.names, of.values, of.sigma, of.nominal, strict=True)
        return {name: {"value": x, "sigma": s, "nominal": n} for name, x, s, n in columns}

    return {
        "robot": fit.nominal.name,
        "joints": fit.nominal.v_names,
        "rank": fit.rank,
        "condition": fit.condition,
        "filtering": fit.filtering.text,
        "base": estimates(fit.base),
        "parameters": estimates(fit.parameters),
        "residuals": fit.residuals._asdict(),
        "validation": fit.validation._asdict(),
        "offsets": fit.offsets,
        "not_identifiable": dict(fit.not_identifiable),
        "bodies": {name: c._asdict() for name, c in fit.certificates.items()},
        "notes": fit.notes,
    }
