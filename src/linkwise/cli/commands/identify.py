"""`linkwise identify`: a robot's parameters from recorded motions and torques."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from ...errors import one_of
from ...formats.files import ROTORS
from ...robot import Robot
from ..declare import arg, flag, opt
from ..options import OUTPUT, PICTURES, Json, Plot, UrdfRotors
from ..results import check_outputs, print_json, refuse_ending, write_by
from ..screen import below, echo, facts, gap, shown, table, title
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
    ("linkwise identify gantry measured.csv --free hoist", "what the last link carries; all else is known"),
)


SLOW = "Slower rows are left out; default: by their errors."
ALONE = "Identify the bodies of these links alone, as of one with a tool; all else, friction and rotors too, is kept."


@dataclass(frozen=True)
class Reading:
    """How recordings are read: arguments of `lw.identify` by their own names."""

    period: Annotated[float | None, opt("SECONDS", "Between rows, if there is no t.", DATA)] = None
    degrees: Annotated[bool, flag("--degrees", "Angles are in degrees.", DATA)] = False
    delay: Annotated[float, opt("SECONDS", "Torques lag by this much; default: 0.", DATA)] = 0.0
    cutoff: Annotated[float | None, opt("HZ", "Of the motion; default: by its band.", DATA)] = None
    torque_cutoff: Annotated[float | None, opt("HZ", "Of the torques; default: likewise.", DATA)] = None
    decimate: Annotated[int | None, opt("ROWS", "One row in so many is kept.", DATA)] = None
    minimum_speed: Annotated[float | None, opt("RATE", SLOW, DATA)] = None
    validation: Annotated[str | None, opt("FILE", "Another recording to judge by.", DATA)] = None


def command(
    arm: Robot,
    data: Annotated[list[str], arg("data", "Recordings, .csv or .npz: t, q1, ..., tau1, ...")],
    reading: Reading,
    columns: Annotated[list[str] | None, opt("Q=NAMES", "Names of columns: q=a,b, tau=c,d, t=e.", DATA)] = None,
    gains: Annotated[str | None, opt("FACTORS", "From what was recorded to torques, one or n.", DATA)] = None,
    no_rates: Annotated[bool, flag("--no-rates", "Pass over rates and accelerations.", DATA)] = False,
    no_friction: Annotated[
        bool, flag("--no-friction", "Torques have none: also the robot's is left out.", FIT)
    ] = False,
    no_rotors: Annotated[bool, flag("--no-rotors", "None to identify: the robot's are kept as they are.", FIT)] = False,
    offset: Annotated[bool, flag("--offset", "Torque offsets of sensors.", FIT)] = False,
    free: Annotated[list[str] | None, opt("LINKS", ALONE, FIT)] = None,
    frame: Annotated[
        str | None, opt("NAME", "In which --free shows the payload; default: the link's own.", FIT)
    ] = None,
    no_physical: Annotated[
        bool, flag("--no-physical", "Least squares, also if bodies are not physically consistent.", FIT)
    ] = False,
    regularization: Annotated[float, opt("NUMBER", "Pull to the robot; default: 0.1.", FIT)] = 0.1,
    save: Annotated[str | None, opt("FILE", "Write the robot: .toml or .urdf.", OUTPUT)] = None,
    urdf_rotors: UrdfRotors = "refuse",
    json: Json = False,
    plot: Plot = None,
) -> int:
    """Masses, inertias, rotors and friction of a robot, from recorded motions and torques.

    A recording is a table with a column for each joint, q1 or joint1_position, and for its torque, tau1 or effort_1;
    rates and accelerations are taken if there are columns of them, and found by filtering and differentiation if not.
    """
    refuse_ending(plot, "--plot", *PICTURES)
    chosen = None if free is None else [name.strip() for text in free for name in text.split(",")]
    if frame is not None:
        check_frame(arm, frame, chosen)
    if save is not None:
        refuse_ending(save, "--save", ".toml", ".urdf")
    kept = no_rotors if chosen is None else not any(name.endswith(".rotor") for name in chosen)
    check_rotors(arm, save, kept, urdf_rotors)
    check_outputs(json, None, save, plot)
    from ...formats import save as save_robot
    from ...identification.fitting import identify

    factors: Any = None if gains is None else numbers(gains, "--gains")
    if factors is not None and len(factors) == 1:
        factors = factors[0]
    fit = identify(
        arm, list(data), columns=named_columns(columns), gains=factors, recorded_rates=not no_rates, offset=offset,
        friction=not no_friction, rotors=not no_rotors, physical=not no_physical, regularization=regularization,
        free=chosen, **vars(reading),
    )  # fmt: skip
    with shown():
        if json:
            print_json(as_json(fit, frame))
        else:
            show(fit, frame)
    if save is not None:
        write_by(lambda path: save_robot(fit.robot, path, urdf_rotors=urdf_rotors), save, "")
    if plot is not None:
        write_by(fit.plot, plot, "")
    return 0


def check_frame(arm: Robot, frame: str, free: list[str] | None) -> None:
    """Before the fit, which takes its time."""
    if free is None:
        raise ValueError(f"--frame {frame}: the frame of a payload (expected --free too: the link that carries it)")
    place = arm.frame(frame)
    link = "the base" if place.link < 0 else arm.links[place.link].name
    if link not in free:
        raise ValueError(f"--frame {frame}: is fixed to {link} (expected a frame of {', '.join(free)})")


def show(fit: Identification, frame: str | None) -> None:
    """The report, as wide as the terminal."""
    from ...identification.report import sections

    for k, section in enumerate(sections(fit, frame)):
        if k and not gap.due:
            echo()
        title(section.title)
        if section.facts:
            facts([(name, at_the_prompt(value)) for name, value in section.facts])
        if section.rows:
            table(section.head, section.rows)
        for text in section.sentences:
            below(at_the_prompt(f"{section.bullet}{text}"), "  ")


def check_rotors(arm: Robot, save: str | None, kept: bool, urdf_rotors: str) -> None:
    """URDF has no inertias of rotors: said before the fit, which takes its time."""
    one_of(urdf_rotors, ROTORS, "--urdf-rotors")
    if save is None or not save.lower().endswith(".urdf"):
        if urdf_rotors != "refuse":
            raise ValueError("--urdf-rotors belongs to a .urdf (expected --save FILE.urdf)")
        return
    if urdf_rotors != "refuse":
        return
    some = any(link.joint.has_rotor for link in arm.links)
    if some or not kept:
        why = f"robot {arm.name!r} has some" if kept else "they are identified"
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


def as_json(fit: Identification, frame: str | None) -> dict[str, Any]:
    def estimates(of: Any) -> dict[str, Any]:
        columns = zip(of.names, of.values, of.sigma, of.nominal, of.units, strict=True)
        return {name: {"value": x, "sigma": s, "nominal": n, "unit": u} for name, x, s, n, u in columns}

    return {
        "robot": fit.nominal.name,
        "joints": fit.nominal.v_names,
        "rank": fit.rank,
        "condition": fit.condition,
        "filtering": fit.filtering.text,
        "base": estimates(fit.base),
        "combinations": dict(line.split(" = ") for line in fit.combinations().splitlines()),
        "parameters": estimates(fit.parameters),
        "residuals": fit.residuals._asdict(),
        "validation": fit.validation._asdict(),
        "offsets": fit.offsets,
        "not_identifiable": dict(fit.not_identifiable),
        "bodies": bodies_as_json(fit),
        "payload": payloads_as_json(fit, frame),
        "notes": [at_the_prompt(note) for note in fit.notes],
    }


def bodies_as_json(fit: Identification) -> dict[str, Any]:
    """Of each link mass, mass centre in its table frame, and whether it can exist."""
    from ...identification.report import centre_of

    masses = {name: fit.parameters.names.index(f"{name}.m") for name in fit.certificates}
    return {
        name: {
            "mass": fit.parameters.values[masses[name]],
            "mass_sigma": fit.parameters.sigma[masses[name]],
            "com": centre_of(fit, name)[0],
            "com_identifiable": centre_of(fit, name)[1],
            **certificate._asdict(),
        }
        for name, certificate in fit.certificates.items()
    }


def payloads_as_json(fit: Identification, frame: str | None) -> dict[str, Any]:
    """What each free link has more than the nominal robot; empty without --free."""
    links = [fit.nominal.names[k] for k in fit.model.links] if fit.model.chosen else []
    loads = [fit.payload(link) for link in links] if frame is None else [fit.payload(frame)]
    keys = ("frame", "mass", "mass_sigma", "com", "com_sigma", "inertia", "inertia_sigma", "possible")
    return {load.link: {key: getattr(load, key) for key in keys} for load in loads}
