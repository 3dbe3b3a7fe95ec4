"""`linkwise excite`: a motion to identify a robot by; `linkwise identify`: its parameters from recorded motions."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Annotated, Any, cast

import linkwise as lw

from ...errors import one_of
from ...formats.files import ROTORS
from ..declare import OUTPUT, arg, command, flag, opt
from ..inputs import KINDS, parse_columns, parse_limits, parse_noise, parse_numbers
from ..options import PICTURES, Friction, Json, Plot, UrdfRotors
from ..results import Outputs, check_file, print_json, write_file
from ..screen import (
    complain,
    echo,
    footnote,
    format_number,
    gap,
    print_facts,
    print_sentence,
    print_table,
    print_title,
    to_command_line,
    tolerate_closed_pipe,
)

LIMITS, SEARCH, DATA, FIT = "Limits", "Search", "Data", "Fit"
SERIES = "Harmonics of the Fourier series; default: 5, above 10 s one for every 2 s, at most 15."
IN_DEGREES = "Read, show and draw limits in degrees; tables stay in radians."
DEVIATION = "Standard deviation of measured torques, N m or N, for all joints or for each; default: 1."
CRITERION = "What to minimise: condition (number, default), or logdet (the volume of the confidence ellipsoid)."
LAG = "Time by which torques lag behind positions; default: chosen."
DECIMATE = "Keep one row in this many; default: by the cutoff frequency."
SLOW = "Do not fit rows of a joint that are slower than this; default: chosen."
OFFSETS = "Identify offsets of the joints' torques; default: chosen where they help."
TERMS = "Further terms of friction: quadratic, stribeck, load, spring, or none; default: chosen."
FREE = "Identify only the bodies of these links, such as one with a tool, and keep all else; default: all links."
GAINS = "Factors from recorded values to torques, one for all joints or one for each; default: 1."
NAMES = "Names of columns: q=a,b, tau=c,d, t=e; can be repeated; default: recognised by name."


def per_joint(what: str, example: str) -> Any:
    about = f"{what}: one for all joints, one for each, or by name ({example}); default: the robot's own."
    return opt("LIMITS", about, LIMITS)


@command(
    ("linkwise excite gantry --velocity 0.5 --csv move.csv --rate 250", "the motion as a table, for a controller"),
    ("linkwise excite planar3 --position -2:2 --velocity 2 --harmonics 3", "limits that its table does not have"),
    ("linkwise excite ur5e --acceleration 10 --plot move.png", "the curves as a picture"),
    ("linkwise excite ur5e --position shoulder_lift_joint=-150:-30 --degrees", "to keep the arm above its table"),
    ("linkwise excite gantry --velocity 0.5 --starts 20 --json", "a longer search; coefficients of the series"),
)
def excite(
    robot: lw.Robot,
    out: Outputs,
    harmonics: Annotated[int | None, opt("COUNT", SERIES, SEARCH)] = None,
    duration: Annotated[float, opt("SECONDS", "Period of the motion.", SEARCH)] = 10.0,
    position: Annotated[str | None, per_joint("Limits of travel, LOWER:UPPER", "link2=-1:1")] = None,
    velocity: Annotated[str | None, per_joint("Largest rates", "link2=1.5")] = None,
    acceleration: Annotated[
        str | None, opt("LIMITS", "Largest accelerations, given likewise; default: none.", LIMITS)
    ] = None,
    effort: Annotated[str | None, per_joint("Largest torques or forces", "link2=40")] = None,
    margin: Annotated[float, opt("SHARE", "Fraction of each limit kept in reserve.", LIMITS)] = 0.1,
    degrees: Annotated[bool, flag("--degrees", IN_DEGREES, LIMITS)] = False,
    friction: Friction = False,
    criterion: Annotated[str, opt("NAME", CRITERION, SEARCH)] = "condition",
    noise: Annotated[str | None, opt("NUMBERS", DEVIATION, SEARCH)] = None,
    starts: Annotated[int, opt("COUNT", "Number of random motions to start from.", SEARCH)] = 8,
    seed: Annotated[int, opt("NUMBER", "Seed for the random starts.", SEARCH)] = 0,
    samples: Annotated[int | None, opt("COUNT", "Number of rows of the table; default: 501.", OUTPUT, min=2)] = None,
    rate: Annotated[float | None, opt("HZ", "Rows of the table per second; default: by --samples.", OUTPUT)] = None,
) -> int:
    """A motion from rest to rest, within all limits, along which the inertial parameters can be identified well.

    The table that --csv writes has t, q1, ..., qd1, ..., qdd1, ... and the torques tau1, ...; linkwise torque and
    simulate --follow read it. Collisions are not known: look at the motion before an arm runs it. Ctrl-C ends the
    search; the best motion until then is shown and written.
    """
    if samples is not None and rate is not None:
        raise ValueError("--samples and --rate exclude each other")
    typed = dict(zip(KINDS, (position, velocity, acceleration, effort), strict=True))
    code = 0
    try:
        move = lw.excitation(
            robot, harmonics, duration, parse_limits(robot, typed, degrees), margin=margin, criterion=criterion,
            friction=friction, noise=parse_noise(robot, noise), starts=starts, seed=seed,
        )  # fmt: skip
    except lw.errors.ExcitationInterrupted as error:
        move, code = error.excitation, 130
    out.show(lambda: excitation_as_json(move), lambda: show_excitation(move, degrees))
    out.write(lambda: columns_of(move, samples or 501, rate))
    out.draw(lambda path: move.plot(path, degrees=degrees))
    if code:
        complain("interrupted: this is the best motion until then")
    return code


def show_excitation(move: lw.results.Excitation, degrees: bool) -> None:
    print_sentence(
        f"{move.robot.name}: {move.name}, {move.duration:g} s, at rest at both ends; condition number"
        f" {move.condition:.3g} of {len(move.parameters)} base parameters. Standard deviations to expect of them, as"
        f" torques, from 1000 samples: {move.typical_sigma:.2g} of the noise (geometric mean),"
        f" {move.worst_sigma:.2g} in the worst direction. They compare motions under the same limits."
    )
    echo()
    efforts = move.robot.effort_units
    lengths = [word for word, unit in (("deg" if degrees else "rad", "N m"), ("m", "N")) if unit in efforts]
    units = ", ".join([*lengths, "s", *sorted(set(efforts), reverse=True)])
    print_table(["joint", *KINDS], limit_rows(move, degrees), f"Limits, in {units}")
    margins = move.margins
    shares = (100.0 * getattr(margins, kind) for kind in KINDS)
    rows = [[joint, *map(float, row)] for joint, *row in zip(margins.joints, *shares, strict=True)]
    print_table(["joint", *KINDS], rows, "Unused share of each limit (%)")
    if move.left_out:
        print_sentence(f"Left out, as not distinguishable from others: {', '.join(move.left_out)}")


def limit_rows(move: lw.results.Excitation, degrees: bool) -> list[list[str | float]]:
    """The limits of each joint; - where there is none."""
    limits = move.limits
    rows: list[list[str | float]] = []
    for k, joint in enumerate(move.margins.joints):
        scale = math.degrees(1.0) if degrees and move.robot.effort_units[k] == "N m" else 1.0
        ends = [format_number(scale * float(end[k])) for end in (limits.lower, limits.upper)]
        sizes = [scale * limits.velocity[k], scale * limits.acceleration[k], limits.effort[k]]
        rows.append([joint, ":".join(ends), *(float(x) if math.isfinite(x) else math.nan for x in sizes)])
    return rows


def excitation_as_json(move: lw.results.Excitation) -> dict[str, Any]:
    keys = ("condition", "log_det", "criterion", "parameters", "left_out", "sigma", "typical_sigma", "worst_sigma")
    return {
        "robot": move.robot.name,
        "q_names": move.robot.q_names,
        **{key: getattr(move, key) for key in keys},
        "limits": {kind: getattr(move.limits, kind) for kind in ("lower", "upper", *list(KINDS)[1:])},
        "margins": {kind: getattr(move.margins, kind) for kind in KINDS},
        **move.coefficients,
    }


def columns_of(move: lw.results.Excitation, samples: int, rate: float | None) -> dict[str, Any]:
    along = lw.torque_along(move.robot, move, samples, rate=rate, friction=move.friction or False, loads=False)
    return dict(along.columns())


@dataclass(frozen=True)
class RecordingOptions:
    """Arguments of `lw.identify` about recordings, by their own names."""

    dt: Annotated[float | None, opt("SECONDS", "Time between rows, for recordings without a column t.", DATA)] = None
    degrees: Annotated[bool, flag("--degrees", "Read angles without a unit in degrees; default: radians.", DATA)] = (
        False
    )
    delay: Annotated[float | None, opt("SECONDS", LAG, DATA)] = None
    cutoff: Annotated[float | None, opt("HZ", "Cutoff frequency of positions; default: chosen.", DATA)] = None
    decimate: Annotated[int | None, opt("ROWS", DECIMATE, DATA)] = None
    minimum_speed: Annotated[float | None, opt("RATE", SLOW, DATA)] = None
    validation: Annotated[
        str | None, opt("FILE", "Recording to validate the fit with; default: blocks of the data.", DATA)
    ] = None


@command(
    ("linkwise excite gantry --velocity 0.5 --csv measured.csv", "a motion with torques, in place of a measurement"),
    ("linkwise identify gantry measured.csv", "masses, rotors and friction, with their errors"),
    ("linkwise identify gantry measured.csv --save mine.toml --plot fit.png", "the robot as identified; a picture"),
    ("linkwise identify gantry measured.csv --cutoff 10 --offset --json", "another filter; sensors with offsets"),
    ("linkwise identify gantry measured.csv --columns q=q1,q2,q3 --no-rates", "which columns to take"),
    ("linkwise identify gantry measured.csv --free hoist", "what the last link carries; all else is known"),
)
def identify(
    robot: lw.Robot,
    data: Annotated[list[str], arg("data", "Recordings (.csv or .npz) with columns t, q1, ..., tau1, ...")],
    recorded: RecordingOptions,
    columns: Annotated[list[str] | None, opt("Q=NAMES", NAMES, DATA)] = None,
    gains: Annotated[str | None, opt("FACTORS", GAINS, DATA)] = None,
    no_rates: Annotated[bool, flag("--no-rates", "Ignore recorded rates and accelerations.", DATA)] = False,
    no_friction: Annotated[
        bool, flag("--no-friction", "Assume no friction, also where the robot has some.", FIT)
    ] = False,
    no_rotors: Annotated[bool, flag("--no-rotors", "Keep the robot's rotor inertias as they are.", FIT)] = False,
    offset: Annotated[bool | None, flag("--offset/--no-offset", OFFSETS, FIT)] = None,
    terms: Annotated[str | None, opt("NAMES", TERMS, FIT)] = None,
    free: Annotated[list[str] | None, opt("LINKS", FREE, FIT)] = None,
    frame: Annotated[str | None, opt("NAME", "Print the payload of --free in this frame.", FIT)] = None,
    no_physical: Annotated[
        bool, flag("--no-physical", "Use least squares alone; bodies may be physically inconsistent.", FIT)
    ] = False,
    regularization: Annotated[float, opt("NUMBER", "Weight of the distance to the nominal robot.", FIT)] = 0.1,
    save: Annotated[str | None, opt("FILE", "Write the identified robot: .toml or .urdf.", OUTPUT)] = None,
    urdf_rotors: UrdfRotors = "refuse",
    json: Json = False,
    plot: Plot = None,
) -> int:
    """Masses, inertias, rotors and friction of a robot, from recorded motions and torques.

    A recording is a table with a column for each joint (q1 or joint1_position) and for its torque (tau1 or effort_1).
    Rates and accelerations without columns are found by filtering and differentiating the positions.
    """
    check_file(plot, "--plot", *PICTURES)
    check_file(save, "--save", ".toml", ".urdf")
    free_names = None if free is None else [name.strip() for text in free for name in text.split(",")]
    if frame is not None:
        check_frame(robot, frame, free_names)
    rotors_kept = no_rotors if free_names is None else not any(name.endswith(".rotor") for name in free_names)
    check_rotors(robot, save, rotors_kept, urdf_rotors)
    factors: Any = None if gains is None else parse_numbers(gains, "--gains")
    if factors is not None and len(factors) == 1:
        factors = factors[0]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "identification of robot")  # the notes are shown below
        fit = lw.identify(
            robot, list(data), columns=parse_columns(columns), gains=factors, recorded_rates=not no_rates,
            offset=offset, terms=parse_terms(terms), friction=not no_friction, rotors=not no_rotors,
            physical=not no_physical, regularization=regularization, free=free_names, **vars(recorded),
        )  # fmt: skip
    with tolerate_closed_pipe():
        if json:
            print_json(as_json(fit, frame))
        else:
            show(fit, frame)
    if save is not None:
        write_file(lambda path: lw.save(fit.robot, path, urdf_rotors=cast(Any, urdf_rotors)), save, "")
    if plot is not None:
        write_file(fit.plot, plot, "")
    return 0


def parse_terms(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip() not in ("", "none")]


def check_frame(robot: lw.Robot, frame: str, free: list[str] | None) -> None:
    """Check the frame before the fit, which takes time."""
    if free is None:
        raise ValueError(f"--frame {frame}: the frame of a payload (expected --free too: the link that carries it)")
    place = robot.frame(frame)
    link = "the base" if place.link < 0 else robot.links[place.link].name
    if link not in free:
        raise ValueError(f"--frame {frame}: is fixed to {link} (expected a frame of {', '.join(free)})")


def show(fit: lw.results.Identification, frame: str | None) -> None:
    """Print the report, as wide as the terminal."""
    from ...identification.report import sections

    for k, section in enumerate(sections(fit, frame)):
        if k and not gap.due:
            echo()
        print_title(section.title)
        if section.facts:
            print_facts([(name, to_command_line(value)) for name, value in section.facts])
        if section.rows:
            print_table(section.head, section.rows)
        for text in section.sentences:
            footnote(to_command_line(f"{section.bullet}{text}"), "  ")


def check_rotors(robot: lw.Robot, save: str | None, rotors_kept: bool, urdf_rotors: str) -> None:
    """Refuse to save rotor inertias as URDF, before the fit, which takes time."""
    one_of(urdf_rotors, ROTORS, "--urdf-rotors")
    if save is None or not save.lower().endswith(".urdf"):
        if urdf_rotors != "refuse":
            raise ValueError("--urdf-rotors belongs to a .urdf (expected --save FILE.urdf)")
        return
    if urdf_rotors != "refuse":
        return
    some = any(link.joint.has_rotor for link in robot.links)
    if some or not rotors_kept:
        why = f"robot {robot.name!r} has some" if rotors_kept else "they are identified"
        raise ValueError(
            f"--save {save}: URDF has no place for rotor inertias, and {why} (expected .toml; --urdf-rotors"
            " transmission, where Drake and linkwise read them, and Pinocchio, MuJoCo and ROS do not; or --urdf-rotors"
            " drop, which leaves them out of the file)"
        )


def as_json(fit: lw.results.Identification, frame: str | None) -> dict[str, Any]:
    def estimates(of: Any) -> dict[str, Any]:
        columns = zip(of.names, of.values, of.sigma, of.nominal, of.units, strict=True)
        return {name: {"value": x, "sigma": s, "nominal": n, "unit": u} for name, x, s, n, u in columns}

    return {
        "robot": fit.nominal.name,
        "joints": fit.nominal.v_names,
        "rank": fit.rank,
        "condition": fit.condition,
        "filtering": fit.filtering.text,
        "choices": fit.choices.columns(),
        "base": estimates(fit.base),
        "combinations": dict(line.split(" = ") for line in fit.combinations().splitlines()),
        "parameters": estimates(fit.parameters),
        "residuals": fit.residuals._asdict(),
        "validation": fit.validation._asdict(),
        "near_rest": fit.near_rest._asdict(),
        "offsets": fit.offsets,
        "not_identifiable": dict(fit.not_identifiable),
        "bodies": bodies_as_json(fit),
        "payload": payloads_as_json(fit, frame),
        "notes": [to_command_line(note) for note in fit.notes],
    }


def bodies_as_json(fit: lw.results.Identification) -> dict[str, Any]:
    """Of each link: mass, mass centre in its table frame, whether it is physically consistent."""
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


def payloads_as_json(fit: lw.results.Identification, frame: str | None) -> dict[str, Any]:
    """The payloads: each free link minus that of the nominal robot; empty without --free."""
    links = [fit.nominal.names[k] for k in fit.model.links] if fit.model.chosen else []
    loads = [fit.payload(link) for link in links] if frame is None else [fit.payload(frame)]
    keys = ("frame", "mass", "mass_sigma", "com", "com_sigma", "inertia", "inertia_sigma", "possible")
    return {load.link: {key: getattr(load, key) for key in keys} for load in loads}
