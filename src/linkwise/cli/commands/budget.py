"""`linkwise budget`: where the torques of the drives come from."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
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
from ..screen import NOTHING, Cell, echo, room, sentence, shown, table

if TYPE_CHECKING:
    from ...api.budget_result import Budget
    from ...api.budget_text import JointBudget

EXAMPLES = (
    ("linkwise budget puma560 --q 0,0,pi/2,0,0,0", "what holds the arm, link by link"),
    ("linkwise budget stanford --joint 2 --plot budget.png", "one joint along the motion of Saha's paper"),
    ("linkwise budget ur5e --payload 5 --joint 2 --why", "in words: what takes the drive to its limit"),
    ("linkwise budget ur5e quintic --to 2,-1,1,0,1,0 --duration 1 --by kinds", "gravity, Coriolis, ... of each joint"),
    ("linkwise budget planar3 --q 0,0,0 --qd 1,2,3 --by links", "bias accelerations and forces of the links"),
)
FEW, MANY = 4, 12  # terms of each joint, and of joints that were asked for
PAYLOAD = "in this, the payload"
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
    of its drive; --csv has every sample. With --q it is at a state, or at every row of a table.
    """
    one_of(by, VIEWS, "--by")
    check_outputs(json, csv, parquet, plot)
    refuse_ending(plot, "--plot", *PICTURES)
    if why + latex + json > 1:
        raise ValueError("--why, --latex and --json are three ways to show it (expected one of them)")
    chosen = [number_of(arm, name) for name in joint] if joint else list(range(arm.n))
    found, share, about = budgets(
        arm, bare, trajectory, (start, end, duration, samples), (q, qd, qdd), degrees, friction
    )
    with shown():
        if json:
            print_json(as_json(found, share, chosen, by))
        elif latex and csv != STDOUT:
            echo("\n".join(found.peak(k).latex(k, by=by, most=most or (MANY if joint else FEW)) for k in chosen))
        elif csv != STDOUT:
            largest = "; each joint where its torque is largest" if found.batch else ""
            sentence(f"{arm.name} {about}{', with friction' if friction else ''}{largest}")
            echo()
            for k in chosen:
                own = found.joint(k, by=by)
                carried = None if share is None else float(share.tau[(*found.place(k), k)])
                if why:
                    say(own, carried, most or FEW)
                else:
                    show(own, carried, most or (MANY if joint else FEW))
    write_columns(found.columns(by), csv, parquet)
    if plot is not None:
        write_by(
            lambda path: found.plot(path, joints=chosen, by=by, **({} if most is None else {"most": most})), plot, ""
        )
    return 0


def budgets(
    arm: Robot,
    bare: Robot | None,
    trajectory: str | None,
    way: tuple[str | None, str | None, float | None, int],
    state: tuple[str | None, str | None, str | None],
    degrees: bool,
    friction: bool,
) -> tuple[Budget, Budget | None, str]:
    """The budget, that of the payload alone if there is one, and in words what it is of."""
    from ...api.budget import budget

    start, end, duration, samples = way
    q, qd, qdd = state
    others = {"trajectory": trajectory, "--from": start, "--to": end, "--duration": duration}
    motion: Sequence[Any]
    t = None
    if asked_for(q, {"--qd": qd, "--qdd": qdd}, others):
        at = AtStates(arm, q, qd, qdd, degrees, friction)
        motion, about = at.motion, "at one state" if at.one else f"{len(at.tau)} states"
    else:
        from ...trajectories import torque_along
        from ..motion import trajectory_of

        path, about = trajectory_of(arm, trajectory, start, end, duration, degrees)
        along = torque_along(arm, path, samples, friction=friction, loads=False)
        motion, t, about = (along.q, along.qd, along.qdd), along.t, f"{about}, {samples} samples"
    found = budget(arm, *motion, friction=friction, t=t)
    return found, None if bare is None else found - budget(bare, *motion, friction=friction, t=t), about


def number_of(arm: Robot, joint: str) -> int:
    """Where a joint is in tau; the first one is 1 at the prompt."""
    from ...api.budget_result import index_of

    if not joint.isdecimal() or joint in arm.v_names:
        return index_of(arm, joint, "--joint")
    if not 1 <= int(joint) <= arm.n:
        raise ValueError(f"--joint is {joint} (expected a name, or a number from 1 to {arm.n})")
    return int(joint) - 1


def say(own: JointBudget, carried: float | None, most: int) -> None:
    """Why the torque of one joint is as it is, in words."""
    lines = own.why(most).splitlines()
    if carried is not None:
        towards = math.copysign(1.0, own.total) * carried
        of = f", {100.0 * towards / own.limit:.3g} % of the limit" if math.isfinite(own.limit) else ""
        lines.append(f"  in this, the payload: {carried:.4g} {own.unit}{of}")
    for line in lines:
        unbroken = line.replace(" %", "\N{NO-BREAK SPACE}%").replace(" N", "\N{NO-BREAK SPACE}N")
        first = "  " if line.startswith("  ") else ""
        folded = textwrap.wrap(
            unbroken.lstrip(), room() or 1000, initial_indent=first, subsequent_indent="    ", break_on_hyphens=False
        )
        echo("\n".join(folded).replace("\N{NO-BREAK SPACE}", " "))
    echo()


def show(own: JointBudget, carried: float | None, most: int) -> None:
    """The terms of one joint as a table; what a term is comes last, where it may be broken."""
    if own.scale < NOTHING:
        echo(f"{own.name}: nothing acts on it\n")
        return
    limited = math.isfinite(own.limit)
    head = [own.unit, "of torque (%)", *([OF_LIMIT] if limited else []), "term"]
    rows = []
    lines = [*own.shortened(most), ("torque", own.total), *([] if carried is None else [(PAYLOAD, carried)])]
    texts = [f"{label}{own.passed(label)}" for label, _ in lines]
    width = room()
    if width is not None and max(map(len, texts)) > width - sum(map(len, head)) - 2 * len(head):
        texts = [label for label, _ in lines]  # without the bodies that pass them on
    for text, (_, x) in zip(texts, lines, strict=True):
        row: list[Cell] = [x, share(x, own.whole), *([share(x, own.limit)] if limited else [])]
        rows.append([*row, text])
    when = f", {own.when}" if own.when else ""
    passed = f", which it passes for {own.beyond}" if own.beyond else ""
    bound = f", its limit is {own.limit:g} {own.unit}{passed}" if limited else ""
    table(head, rows, heading=f"{own.name}{when}{bound}")


def share(x: float, whole: float) -> float | None:
    return 100.0 * x / whole if whole else None


def as_json(found: Budget, share: Budget | None, chosen: list[int], by: str) -> dict[str, Any]:
    labels, values = found.view(by)
    arm, names = found.arm, [found.arm.v_names[k] for k in chosen]
    return {
        "robot": arm.name,
        "joints": names,
        "units": [arm.effort_units[k] for k in chosen],
        "limits": [found.limits()[k] for k in chosen],
        **({} if found.t is None else {"t": found.t}),
        "tau": np.asarray(found.tau)[..., chosen],
        **({} if share is None else {"payload": np.asarray(share.tau)[..., chosen]}),
        "terms": {label: values[..., chosen, i] for i, label in enumerate(labels) if values[..., chosen, i].any()},
    }
