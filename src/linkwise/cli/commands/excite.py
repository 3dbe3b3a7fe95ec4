"""`linkwise excite`: a motion along which the parameters of a robot can be identified."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

from ...robot import Robot
from ..declare import flag, opt
from ..options import OUTPUT, Friction
from ..results import Outputs
from ..screen import complain, echo, number, sentence, table
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
    return opt("LIMITS", about, LIMITS)


SERIES = "Of the Fourier series; default: 5, in more than 10 s one for every 2 s, at most 15."
IN_DEGREES = "Limits of angles, rates and accelerations are typed, shown, drawn in degrees; tables have radians."
DEVIATION = "Standard deviation of measured torques, N m or N: one for all joints, or one for each; default: 1."


def command(
    arm: Robot,
    out: Outputs,
    harmonics: Annotated[int | None, opt("COUNT", SERIES, SEARCH)] = None,
    duration: Annotated[float, opt("SECONDS", "The period; default: 10.", SEARCH)] = 10.0,
    position: Annotated[str | None, per_joint("Ends of travel, LOWER:UPPER", "link2=-1:1")] = None,
    velocity: Annotated[str | None, per_joint("The largest rates", "link2=1.5")] = None,
    acceleration: Annotated[str | None, opt("LIMITS", "The largest accelerations; default: none.", LIMITS)] = None,
    effort: Annotated[str | None, per_joint("The largest torques or forces", "link2=40")] = None,
    margin: Annotated[float, opt("SHARE", "Fraction of each limit kept in reserve; default: 0.1.", LIMITS)] = 0.1,
    degrees: Annotated[bool, flag("--degrees", IN_DEGREES, LIMITS)] = False,
    friction: Friction = False,
    criterion: Annotated[
        str, opt("NAME", "condition (default), or logdet: better in the mean, not at worst.", SEARCH)
    ] = "condition",
    noise: Annotated[str | None, opt("NUMBERS", DEVIATION, SEARCH)] = None,
    starts: Annotated[int, opt("COUNT", "Random motions to begin with; default: 8.", SEARCH)] = 8,
    seed: Annotated[int, opt("NUMBER", "Seed for the random starts; default: 0.", SEARCH)] = 0,
    samples: Annotated[int | None, opt("COUNT", "Rows of the table; default: 501.", OUTPUT, min=2)] = None,
    rate: Annotated[float | None, opt("HZ", "Rows of the table in a second.", OUTPUT)] = None,
) -> int:
    """A motion from rest to rest, within all limits, along which the inertial parameters can be identified well.

    The table that --csv writes has t, q1, ..., qd1, ..., qdd1, ... and the torques tau1, ...; linkwise torque and
    simulate --follow read it. Collisions are not known: look at the motion before an arm runs it. Ctrl-C ends the
    search; the best motion until then is shown and written.
    """
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
    out.show(lambda: as_json(move), lambda: show(move, degrees))
    out.write(lambda: columns(move, samples or 501, rate))
    out.draw(lambda path: move.plot(path, degrees=degrees))
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
    own = ("condition", "log_det", "criterion", "parameters", "left_out", "sigma", "typical_sigma", "worst_sigma")
    return {
        "robot": move.arm.name,
        "q_names": move.arm.q_names,
        **{key: getattr(move, key) for key in own},
        "limits": {kind: getattr(move.limits, kind) for kind in ("lower", "upper", *KINDS[1:])},
        "margins": {kind: getattr(move.margins, kind) for kind in KINDS},
        **move.coefficients,
    }


def columns(move: Excitation, samples: int, rate: float | None) -> dict[str, Any]:
    from ...trajectories import torque_along

    along = torque_along(move.arm, move, samples, rate=rate, friction=move.friction or False, loads=False)
    return dict(along.columns())
