"""`linkwise budget`: where the torques of the drives come from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

import linkwise as lw

from ...errors import one_of
from ...robot.layout import coordinate_indices
from ..declare import MOTION, OUTPUT, command, flag, opt
from ..inputs import named_columns
from ..limits import OF_LIMIT
from ..motion import AtStates, Where
from ..options import Friction, Source
from ..results import Outputs
from ..screen import Cell, echo, note, number, room, sentence, table, wrapped

FEW, MANY = 4, 12  # terms of each joint, and of joints that were asked for
PAYLOAD, MEASURED = "in this, the payload", "measured there"
KEYS = {PAYLOAD: "payload", MEASURED: "measured"}  # in JSON
VIEWS = ("joints", "links", "terms", "kinds")
BY = "Rates by joints (default) or by links; terms: both; kinds: gravity, Coriolis, ..."
SHOWN = "To show: by name, or 1 for the first; may be given again."


@dataclass(frozen=True)
class Measured:
    """A recording in place of a motion."""

    measured: Annotated[str | None, opt("FILE", "A recording with torques, as identify reads it.", MOTION)] = None
    columns: Annotated[list[str] | None, opt("Q=NAMES", "Of --measured: q=a,b, tau=c,d, t=e.", MOTION)] = None
    cutoff: Annotated[float | None, opt("HZ", "Of --measured; default: by the motion's band.", MOTION)] = None


@command(
    ("linkwise budget puma560 --q 0,0,pi/2,0,0,0", "what holds the arm, link by link"),
    ("linkwise budget stanford --joint 2 --plot budget.png", "one joint along the motion of Saha's paper"),
    ("linkwise budget ur5e --payload 5 --joint 2 --why", "in words: what takes the drive to its limit"),
    ("linkwise torque gantry --csv run.csv", "a motion with torques, in place of a measurement"),
    ("linkwise budget gantry --measured run.csv --joint 3", "along a recording, beside its torques"),
    ("linkwise budget ur5e quintic --to 2,-1,1,0,1,0 --duration 1 --by kinds", "gravity, Coriolis, ... of each joint"),
    ("linkwise budget planar3 --q 0,0,0 --qd 1,2,3 --by links", "bias accelerations and forces of the links"),
)
def budget(
    source: Source,
    where: Where,
    run: Measured,
    out: Outputs,
    friction: Friction = False,
    joint: Annotated[list[str] | None, opt("JOINT", SHOWN)] = None,
    by: Annotated[str, opt("VIEW", BY, known=VIEWS)] = "joints",
    most: Annotated[int | None, opt("COUNT", "Terms of each joint to name, the others as one.", OUTPUT, min=1)] = None,
    why: Annotated[bool, flag("--why", "In words: what drives each torque, what is against it.", OUTPUT)] = False,
    latex: Annotated[bool, flag("--latex", "As equations, with the terms as the paper writes them.", OUTPUT)] = False,
) -> int:
    """Where the torque of each drive comes from: accelerations, rates, weights, rotors, friction.

    Along a trajectory, given as for: linkwise torque, each joint is shown where its torque is largest, beside the limit
    of its drive; --csv has every sample. With --q it is at a state, or at every row of a table; with --measured along a
    recording, whose torques stand below those of the model.
    """
    one_of(by, VIEWS, "--by")
    if why + latex + out.json > 1:
        raise ValueError("--why, --latex and --json are three ways to show it (expected one of them)")
    bare = source.without_payload()
    robot = source.with_payload(bare)
    chosen = [number_of(robot, name) for name in joint] if joint else list(range(robot.n))
    motion = motion_of(robot, where, run)
    found = lw.budget(robot, *motion.state, friction=friction, t=motion.t)
    others: dict[str, np.ndarray] = {}
    if source.payload is not None:
        others |= {PAYLOAD: np.asarray((found - lw.budget(bare, *motion.state, friction=friction, t=motion.t)).tau)}
    if motion.tau is not None:
        others[MEASURED] = motion.tau
    each = most or (MANY if joint else FEW)

    def on_screen() -> None:
        if latex:
            echo("\n".join(found.peak(k).latex(k, by=by, most=each) for k in chosen))
            return
        largest = "; each joint where its torque is largest" if found.batch else ""
        sentence(f"{robot.name} {motion.about}{', with friction' if friction else ''}{largest}")
        echo()
        for k in chosen:
            own = found.joint(k, by=by)
            beside = [(label, float(tau[(*found.place(k), k)])) for label, tau in others.items()]
            if why:
                say(own, beside, most or FEW)
            else:
                show(own, beside, each)

    out.show(lambda: as_json(found, others, chosen, by), on_screen)
    out.write(lambda: found.columns(by))
    out.draw(lambda path: found.plot(path, joints=chosen, by=by, **({} if most is None else {"most": most})))
    return 0


class Motion(NamedTuple):
    """What the budget is of: q, qd and qdd; in words; the times and the measured torques, if there are."""

    state: Sequence[Any]
    about: str
    t: np.ndarray | None = None
    tau: np.ndarray | None = None


def motion_of(robot: lw.Robot, where: Where, run: Measured) -> Motion:
    if run.measured is not None:
        return recorded(robot, run, where)
    if run.columns or run.cutoff is not None:
        raise ValueError("--columns and --cutoff belong to a recording (expected --measured FILE)")
    if where.is_state():
        at = AtStates(robot, where)
        return Motion(at.motion, f"at {at.count}")
    path, about = where.path(robot)
    along = lw.torque_along(robot, path, where.samples, loads=False)
    return Motion((along.q, along.qd, along.qdd), f"{about}, {where.samples} samples", along.t)


def recorded(robot: lw.Robot, asked: Measured, where: Where) -> Motion:
    for name in [*where.way, *where.state]:
        raise ValueError(f"--measured says how the robot moves (expected no {name})")
    columns = named_columns(asked.columns)
    run = lw.identification.measured_motion(
        robot, asked.measured, columns=columns, degrees=where.degrees, cutoff=asked.cutoff
    )
    for text in run.notes:
        note(text)
    filtered = "as recorded" if run.cutoff is None else f"below {run.cutoff:.3g} Hz"
    about = f"along {asked.measured}, {len(run.t)} rows, motion and torques {filtered}"
    return Motion((run.q, run.qd, run.qdd), about, run.t, run.tau)


def number_of(robot: lw.Robot, joint: str) -> int:
    """Where a joint is in tau; the first one is 1 at the prompt."""
    if joint.isdecimal() and joint not in robot.v_names:
        if not 1 <= int(joint) <= robot.n:
            raise ValueError(f"--joint is {joint} (expected a name, or a number from 1 to {robot.n})")
        return int(joint) - 1
    known = coordinate_indices(robot, "qd")
    one_of(joint, {**dict.fromkeys(robot.v_names), **known}, "--joint")
    return known[joint]


def say(own: Any, beside: list[tuple[str, float]], most: int) -> None:
    """Why the torque of one joint is as it is, in words."""
    lines = own.why(most).splitlines()
    for label, x in beside:
        towards = math.copysign(1.0, own.total) * x
        of = f", {100.0 * towards / own.limit:.3g} % of the limit" if math.isfinite(own.limit) else ""
        lines.append(f"  {label}: {x:.4g} {own.unit}{of}")
    for line in lines:
        unbroken = line.replace(" %", "\N{NO-BREAK SPACE}%").replace(" N", "\N{NO-BREAK SPACE}N")
        folded = wrapped(unbroken.lstrip(), "  " if line.startswith("  ") else "", "    ")
        echo("\n".join(folded).replace("\N{NO-BREAK SPACE}", " "))
    echo()


def show(own: Any, beside: list[tuple[str, float]], most: int) -> None:
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


def as_json(found: lw.results.Budget, others: Mapping[str, np.ndarray], chosen: list[int], by: str) -> dict[str, Any]:
    labels, values = found.view(by)
    robot, names = found.robot, [found.robot.v_names[k] for k in chosen]
    return {
        "robot": robot.name,
        "joints": names,
        "units": [robot.effort_units[k] for k in chosen],
        "limits": [found.limits()[k] for k in chosen],
        **({} if found.t is None else {"t": found.t}),
        "tau": np.asarray(found.tau)[..., chosen],
        **{key: others[label][..., chosen] for label, key in KEYS.items() if label in others},
        "terms": {label: values[..., chosen, i] for i, label in enumerate(labels) if values[..., chosen, i].any()},
    }
