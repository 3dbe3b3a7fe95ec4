"""`linkwise budget`: where the torques of the drives come from."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
import typer

from ...errors import one_of
from ...robot import Robot
from ..at_states import AtStates, asked_for
from ..limits import OF_LIMIT
from ..motion_options import Along, Duration, End, Friction, Samples, Start
from ..options import MOTION, OUTPUT, PICTURES, Csv, Degrees, Json, Parquet, Plot, Q, Qd, Qdd, words
from ..results import STDOUT, check_outputs, print_json, refuse_ending, write_by, write_columns
from ..robot import with_robot
from ..screen import Cell, echo, note, number, room, sentence, shown, table

if TYPE_CHECKING:
    from ...budgets.result import Budget
    from ...budgets.text import JointBudget

EXAMPLES = (
    ("linkwise budget puma560 --q 0,0,pi/2,0,0,0", "what holds the arm, link by link"),
    ("linkwise budget stanford --joint 2 --plot budget.png", "one joint along the motion of Saha's paper"),
    ("linkwise budget ur5e --payload 5 --joint 2 --why", "in words: what takes the drive to its limit"),
    ("linkwise torque gantry --csv run.csv", "a motion with torques, in place of a measurement"),
    ("linkwise budget gantry --measured run.csv --joint 3", "along a recording, beside its torques"),
    ("linkwise budget ur5e quintic --to 2,-1,1,0,1,0 --duration 1 --by kinds", "gravity, Coriolis, ... of each joint"),
    ("linkwise budget planar3 --q 0,0,0 --qd 1,2,3 --by links", "bias accelerations and forces of the links"),
)
FEW, MANY = 4, 12  # terms of each joint, and of joints that were asked for
PAYLOAD, MEASURED = "in this, the payload", "measured there"
KEYS = {PAYLOAD: "payload", MEASURED: "measured"}  # in JSON
VIEWS = ("joints", "links", "terms", "kinds")


@with_robot
def command(
    arm: Robot,
    bare: Robot | None,
    trajectory: Along = None,
    start: Start = None,
    end: End = None,
    duration: Duration = None,
    samples: Samples = 501,
    q: Q = None,
    qd: Qd = None,
    qdd: Qdd = None,
    measured: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A recording with torques, as identify reads it.", rich_help_panel=MOTION),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(metavar="Q=NAMES", help="Of --measured: q=a,b, tau=c,d, t=e.", rich_help_panel=MOTION),
    ] = None,
    cutoff: Annotated[
        float | None,
        typer.Option(metavar="HZ", help="Of --measured; default: by the motion's band.", rich_help_panel=MOTION),
    ] = None,
    degrees: Degrees = False,
    friction: Friction = False,
    joint: Annotated[
        list[str] | None,
        typer.Option(metavar="JOINT", help="A joint to show, by name, or 1 for the first; may be given again."),
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
    why: Annotated[
        bool,
        typer.Option("--why", help="In words: what drives each torque, what is against it.", rich_help_panel=OUTPUT),
    ] = False,
    latex: Annotated[
        bool,
        typer.Option("--latex", help="As equations, with the terms as the paper writes them.", rich_help_panel=OUTPUT),
    ] = False,
    json: Json = False,
    csv: Csv = None,
    parquet: Parquet = None,
    plot: Plot = None,
) -> int:
    """Where the torque of each drive comes from: accelerations, rates, weights, rotors, friction.

    Along a trajectory, given as for: linkwise torque, each joint is shown where its torque is largest, beside the limit
    of its drive; --csv has every sample. With --q it is at a state, or at every row of a table; with --measured along a
    recording, whose torques stand below those of the model.
    """
    one_of(by, VIEWS, "--by")
    check_outputs(json, csv, parquet, plot)
    refuse_ending(plot, "--plot", *PICTURES)
    if why + latex + json > 1:
        raise ValueError("--why, --latex and --json are three ways to show it (expected one of them)")
    chosen = [number_of(arm, name) for name in joint] if joint else list(range(arm.n))
    way = {"trajectory": trajectory, "--from": start, "--to": end, "--duration": duration}
    if measured is not None:
        motion = recorded(arm, measured, columns, cutoff, degrees, {**way, "--q": q, "--qd": qd, "--qdd": qdd})
    elif columns or cutoff is not None:
        raise ValueError("--columns and --cutoff belong to a recording (expected --measured FILE)")
    elif asked_for(q, {"--qd": qd, "--qdd": qdd}, way):
        motion = at_states(arm, q, qd, qdd, degrees)
    else:
        motion = along(arm, trajectory, start, end, duration, samples, degrees)
    from ...api.budget import budget

    found = budget(arm, *motion.state, friction=friction, t=motion.t)
    others: dict[str, np.ndarray] = {}
    if bare is not None:
        others |= {PAYLOAD: np.asarray((found - budget(bare, *motion.state, friction=friction, t=motion.t)).tau)}
    if motion.tau is not None:
        others[MEASURED] = motion.tau
    with shown():
        if json:
            print_json(as_json(found, others, chosen, by))
        elif latex and csv != STDOUT:
            echo("\n".join(found.peak(k).latex(k, by=by, most=most or (MANY if joint else FEW)) for k in chosen))
        elif csv != STDOUT:
            largest = "; each joint where its torque is largest" if found.batch else ""
            sentence(f"{arm.name} {motion.about}{', with friction' if friction else ''}{largest}")
            echo()
            for k in chosen:
                own = found.joint(k, by=by)
                beside = [(label, float(tau[(*found.place(k), k)])) for label, tau in others.items()]
                if why:
                    say(own, beside, most or FEW)
                else:
                    show(own, beside, most or (MANY if joint else FEW))
    write_columns(found.columns(by), csv, parquet)
    if plot is not None:
        write_by(
            lambda path: found.plot(path, joints=chosen, by=by, **({} if most is None else {"most": most})), plot, ""
        )
    return 0


class Motion(NamedTuple):
    """What the budget is of: q, qd and qdd; in words; the times and the measured torques, if there are."""

    state: Sequence[Any]
    about: str
    t: np.ndarray | None = None
    tau: np.ndarray | None = None


def at_states(arm: Robot, q: str | None, qd: str | None, qdd: str | None, degrees: bool) -> Motion:
    at = AtStates(arm, q, qd, qdd, degrees, False)
    return Motion(at.motion, "at one state" if at.one else f"{len(at.tau)} states")


def along(
    arm: Robot,
    trajectory: str | None,
    start: str | None,
    end: str | None,
    duration: float | None,
    samples: int,
    degrees: bool,
) -> Motion:
    from ...trajectories import torque_along
    from ..motion import trajectory_of

    path, about = trajectory_of(arm, trajectory, start, end, duration, degrees)
    run = torque_along(arm, path, samples, loads=False)
    return Motion((run.q, run.qd, run.qdd), f"{about}, {samples} samples", run.t)


def recorded(
    arm: Robot, file: str, columns: list[str] | None, cutoff: float | None, degrees: bool, others: Mapping[str, Any]
) -> Motion:
    from ...identification.measured_motion import measured_motion
    from .identify import named_columns

    given = [name for name, value in others.items() if value is not None]
    if given:
        raise ValueError(f"--measured says how the robot moves (expected no {given[0]})")
    run = measured_motion(arm, file, columns=named_columns(columns), degrees=degrees, cutoff=cutoff)
    for text in run.notes:
        note(text)
    filtered = "as recorded" if run.cutoff is None else f"below {run.cutoff:.3g} Hz"
    about = f"along {file}, {len(run.t)} rows, motion and torques {filtered}"
    return Motion((run.q, run.qd, run.qdd), about, run.t, run.tau)


def number_of(arm: Robot, joint: str) -> int:
    """Where a joint is in tau; the first one is 1 at the prompt."""
    from ...budgets.result import index_of

    if not joint.isdecimal() or joint in arm.v_names:
        return index_of(arm, joint, "--joint")
    if not 1 <= int(joint) <= arm.n:
        raise ValueError(f"--joint is {joint} (expected a name, or a number from 1 to {arm.n})")
    return int(joint) - 1


def say(own: JointBudget, beside: list[tuple[str, float]], most: int) -> None:
    """Why the torque of one joint is as it is, in words."""
    lines = own.why(most).splitlines()
    for label, x in beside:
        towards = math.copysign(1.0, own.total) * x
        of = f", {100.0 * towards / own.limit:.3g} % of the limit" if math.isfinite(own.limit) else ""
        lines.append(f"  {label}: {x:.4g} {own.unit}{of}")
    for line in lines:
        unbroken = line.replace(" %", "\N{NO-BREAK SPACE}%").replace(" N", "\N{NO-BREAK SPACE}N")
        first = "  " if line.startswith("  ") else ""
        folded = textwrap.wrap(
            unbroken.lstrip(), room() or 1000, initial_indent=first, subsequent_indent="    ", break_on_hyphens=False
        )
        echo("\n".join(folded).replace("\N{NO-BREAK SPACE}", " "))
    echo()


def show(own: JointBudget, beside: list[tuple[str, float]], most: int) -> None:
    """The terms of one joint as a table; what a term is comes last, where it may be broken."""
    if not own.largest:
        echo(f"{own.name}: nothing acts on it\n")
        return
    limited = math.isfinite(own.limit)
    head = [own.unit, "of torque (%)", *([OF_LIMIT] if limited else []), "term"]
    rows = []
    lines = [*own.shortened(most), ("torque", own.total), *beside]
    texts = [f"{label}{own.passed(label)}" for label, _ in lines]
    width = room()
    if width is not None and max(map(len, texts)) > width - sum(map(len, head)) - 2 * len(head):
        texts = [label for label, _ in lines]  # without the bodies that pass them on
    for text, (_, x) in zip(texts, lines, strict=True):
        row: list[Cell] = [number(x, size=own.scale), share(x, own.whole), *([share(x, own.limit)] if limited else [])]
        rows.append([*row, text])
    when = f", {own.when}" if own.when else ""
    passed = f", which it passes for {own.beyond}" if own.beyond else ""
    bound = f", its limit is {own.limit:g} {own.unit}{passed}" if limited else ""
    table(head, rows, heading=f"{own.name}{when}{bound}")


def share(x: float, whole: float) -> float | None:
    return 100.0 * x / whole if whole else None


def as_json(found: Budget, others: Mapping[str, np.ndarray], chosen: list[int], by: str) -> dict[str, Any]:
    labels, values = found.view(by)
    arm, names = found.arm, [found.arm.v_names[k] for k in chosen]
    return {
        "robot": arm.name,
        "joints": names,
        "units": [arm.effort_units[k] for k in chosen],
        "limits": [found.limits()[k] for k in chosen],
        **({} if found.t is None else {"t": found.t}),
        "tau": np.asarray(found.tau)[..., chosen],
        **{key: others[label][..., chosen] for label, key in KEYS.items() if label in others},
        "terms": {label: values[..., chosen, i] for i, label in enumerate(labels) if values[..., chosen, i].any()},
    }
