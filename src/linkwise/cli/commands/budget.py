"""`linkwise budget`: where the torques of the drives come from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np

import linkwise as lw

from ...errors import one_of
from ...robot.layout import coordinate_indices
from ..declare import MOTION, OUTPUT, command, flag, opt
from ..inputs import parse_columns
from ..motion import OF_LIMIT, MotionOptions, StateTorques
from ..options import Friction, RobotSource
from ..results import Outputs
from ..screen import Cell, echo, format_number, note, print_sentence, print_table, terminal_width, wrap

if TYPE_CHECKING:
    from ...api.budgets.text import JointBudget

FEW, MANY = 4, 12  # terms of each joint; with --joint
PAYLOAD, MEASURED = "part due to the payload", "measured torque"
KEYS = {PAYLOAD: "payload", MEASURED: "measured"}  # in JSON
VIEWS = ("joints", "links", "terms", "kinds")
BY = "Terms of rates by joints (default), by links, by both (terms), or sums (kinds: gravity, Coriolis, ...)."
SHOWN = "Joint to show, by name or number (1 is the first); can be repeated; default: all."


@dataclass(frozen=True)
class RecordingOptions:
    """Options for a recording in place of a motion."""

    measured: Annotated[
        str | None, opt("FILE", "Recording with torques, read as by identify, in place of a trajectory.", MOTION)
    ] = None
    columns: Annotated[
        list[str] | None, opt("Q=NAMES", "Columns of --measured: q=a,b, tau=c,d, t=e; default: by their names.", MOTION)
    ] = None
    cutoff: Annotated[
        float | None,
        opt(
            "HZ", "Cutoff frequency of the low-pass filter for --measured; default: by the motion's bandwidth.", MOTION
        ),
    ] = None


@command(
    ("linkwise budget puma560 --q 0,0,pi/2,0,0,0", "what holds the arm, link by link"),
    ("linkwise budget stanford --joint 2 --plot budget.png", "one joint along the motion of Saha's paper"),
    ("linkwise budget ur5e --payload 5 --joint 2 --why", "in words: what takes the drive to its limit"),
    ("linkwise torque gantry --csv run.csv", "a motion with torques, in place of a measurement"),
    ("linkwise budget gantry --measured run.csv --joint 3", "along a recording, with its torques"),
    ("linkwise budget ur5e quintic --to 2,-1,1,0,1,0 --duration 1 --by kinds", "gravity, Coriolis, ... of each joint"),
    ("linkwise budget planar3 --q 0,0,0 --qd 1,2,3 --by links", "bias accelerations and forces of the links"),
)
def budget(
    source: RobotSource,
    where: MotionOptions,
    run: RecordingOptions,
    out: Outputs,
    friction: Friction = False,
    joint: Annotated[list[str] | None, opt("JOINT", SHOWN)] = None,
    by: Annotated[str, opt("VIEW", BY, known=VIEWS)] = "joints",
    most: Annotated[
        int | None, opt("COUNT", "Terms to name for each joint; default: 4, or 12 with --joint.", OUTPUT, min=1)
    ] = None,
    why: Annotated[
        bool, flag("--why", "Explain in a sentence what drives each torque and what opposes it.", OUTPUT)
    ] = False,
    latex: Annotated[
        bool, flag("--latex", "Print LaTeX equations, with the terms as the paper writes them.", OUTPUT)
    ] = False,
) -> int:
    """Where the torque of each drive comes from: accelerations, rates, weights, rotors, friction.

    Along a trajectory, given as for linkwise torque, each joint is shown where its torque is largest, with the limit
    of its drive; --csv has every sample. --q gives a state, or a table of states. --measured gives a recording, whose
    torques are shown below those of the model.
    """
    one_of(by, VIEWS, "--by")
    if why + latex + out.json > 1:
        raise ValueError("--why, --latex and --json are three ways to show it (expected one of them)")
    bare = source.without_payload()
    robot = source.with_payload(bare)
    chosen = [joint_number(robot, name) for name in joint] if joint else list(range(robot.n))
    motion = motion_of(robot, where, run)
    result = lw.budget(robot, *motion.state, friction=friction, t=motion.t)
    others: dict[str, np.ndarray] = {}
    if source.payload is not None:
        others |= {PAYLOAD: np.asarray((result - lw.budget(bare, *motion.state, friction=friction, t=motion.t)).tau)}
    if motion.tau is not None:
        others[MEASURED] = motion.tau
    each = most or (MANY if joint else FEW)

    def on_screen() -> None:
        if latex:
            echo("\n".join(result.peak(k).latex(k, by=by, most=each) for k in chosen))
            return
        largest = "; each joint where its torque is largest" if result.batch else ""
        print_sentence(f"{robot.name} {motion.about}{', with friction' if friction else ''}{largest}")
        echo()
        for k in chosen:
            terms = result.joint(k, by=by)
            beside = [(label, float(tau[(*result.place(k), k)])) for label, tau in others.items()]
            if why:
                explain_joint(terms, beside, most or FEW)
            else:
                show_joint(terms, beside, each)

    out.show(lambda: as_json(result, others, chosen, by), on_screen)
    out.write(lambda: result.columns(by))
    out.draw(lambda path: result.plot(path, joints=chosen, by=by, **({} if most is None else {"most": most})))
    return 0


class Motion(NamedTuple):
    """q, qd and qdd of the budget; their description; times and measured torques, if there are."""

    state: Sequence[Any]
    about: str
    t: np.ndarray | None = None
    tau: np.ndarray | None = None


def motion_of(robot: lw.Robot, where: MotionOptions, run: RecordingOptions) -> Motion:
    if run.measured is not None:
        return recorded_motion(robot, run, where)
    if run.columns or run.cutoff is not None:
        raise ValueError("--columns and --cutoff belong to a recording (expected --measured FILE)")
    if where.is_state():
        at = StateTorques(robot, where)
        return Motion(at.motion, f"at {at.count}")
    path, about = where.resolve(robot)
    along = lw.torque_along(robot, path, where.samples, loads=False)
    return Motion((along.q, along.qd, along.qdd), f"{about}, {where.samples} samples", along.t)


def recorded_motion(robot: lw.Robot, options: RecordingOptions, where: MotionOptions) -> Motion:
    for name in [*where.trajectory_options, *where.state_options]:
        raise ValueError(f"--measured says how the robot moves (expected no {name})")
    columns = parse_columns(options.columns)
    run = lw.identification.measured_motion(
        robot, options.measured, columns=columns, degrees=where.degrees, cutoff=options.cutoff
    )
    for text in run.notes:
        note(text)
    filtered = "as recorded" if run.cutoff is None else f"below {run.cutoff:.3g} Hz"
    about = f"along {options.measured}, {len(run.t)} rows, motion and torques {filtered}"
    return Motion((run.q, run.qd, run.qdd), about, run.t, run.tau)


def joint_number(robot: lw.Robot, joint: str) -> int:
    """The position of a joint in tau, from its name or its number (1 is the first)."""
    if joint.isdecimal() and joint not in robot.v_names:
        if not 1 <= int(joint) <= robot.n:
            raise ValueError(f"--joint is {joint} (expected a name, or a number from 1 to {robot.n})")
        return int(joint) - 1
    known = coordinate_indices(robot, "qd")
    one_of(joint, {**dict.fromkeys(robot.v_names), **known}, "--joint")
    return known[joint]


def explain_joint(terms: JointBudget, beside: list[tuple[str, float]], most: int) -> None:
    """Print in words why the torque of a joint is as it is."""
    lines = terms.why(most).splitlines()
    for label, x in beside:
        towards = math.copysign(1.0, terms.total) * x
        of = f", {100.0 * towards / terms.limit:.3g} % of the limit" if math.isfinite(terms.limit) else ""
        lines.append(f"  {label}: {x:.4g} {terms.unit}{of}")
    for line in lines:
        unbroken = line.replace(" %", "\N{NO-BREAK SPACE}%").replace(" N", "\N{NO-BREAK SPACE}N")
        folded = wrap(unbroken.lstrip(), "  " if line.startswith("  ") else "", "    ")
        echo("\n".join(folded).replace("\N{NO-BREAK SPACE}", " "))
    echo()


def show_joint(terms: JointBudget, beside: list[tuple[str, float]], most: int) -> None:
    """Print the terms of a joint. Their names are the last column, which wraps."""
    if not terms.largest:
        echo(f"{terms.name}: nothing acts on it\n")
        return
    limited = math.isfinite(terms.limit)
    head = [terms.unit, "of torque (%)", *([OF_LIMIT] if limited else []), "term"]
    rows = []
    lines = [*terms.shortened(most), ("torque", terms.total), *beside]
    texts = [f"{label}{terms.passed(label)}" for label, _ in lines]
    width = terminal_width()
    if width is not None and max(map(len, texts)) > width - sum(map(len, head)) - 2 * len(head):
        texts = [label for label, _ in lines]  # without the bodies that transmit them
    for text, (_, x) in zip(texts, lines, strict=True):
        row: list[Cell] = [
            format_number(x, size=terms.scale),
            percentage(x, terms.whole),
            *([percentage(x, terms.limit)] if limited else []),
        ]
        rows.append([*row, text])
    when = f", {terms.when}" if terms.when else ""
    passed = f", which it passes for {terms.beyond}" if terms.beyond else ""
    bound = f", its limit is {terms.limit:g} {terms.unit}{passed}" if limited else ""
    print_table(head, rows, heading=f"{terms.name}{when}{bound}")


def percentage(x: float, whole: float) -> float | None:
    return 100.0 * x / whole if whole else None


def as_json(result: lw.results.Budget, others: Mapping[str, np.ndarray], chosen: list[int], by: str) -> dict[str, Any]:
    labels, values = result.view(by)
    robot, names = result.robot, [result.robot.v_names[k] for k in chosen]
    return {
        "robot": robot.name,
        "joints": names,
        "units": [robot.effort_units[k] for k in chosen],
        "limits": [result.limits()[k] for k in chosen],
        **({} if result.t is None else {"t": result.t}),
        "tau": np.asarray(result.tau)[..., chosen],
        **{key: others[label][..., chosen] for label, key in KEYS.items() if label in others},
        "terms": {label: values[..., chosen, i] for i, label in enumerate(labels) if values[..., chosen, i].any()},
    }
