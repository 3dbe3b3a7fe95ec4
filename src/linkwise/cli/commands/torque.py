"""`linkwise torque`: inverse dynamics along a trajectory, or at states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from ...robot import Robot
from ...robot.scales import torque_scales
from ..declare import opt
from ..limits import as_json, show_limits, with_shares
from ..options import Friction
from ..results import Outputs
from ..screen import echo, number, sentence, table
from ..where import AtStates, Where

if TYPE_CHECKING:
    from ...trajectories import Loads

EXAMPLES = (
    ("linkwise torque stanford", "the motion of Saha's paper"),
    ("linkwise torque puma560 quintic --to 0,-90,90,0,0,0 --degrees --duration 2", "from the zero position to --to"),
    ("linkwise torque stanford --plot torques.png", "the curves as a picture"),
    ("linkwise torque stanford --csv motion.csv", "all samples as a table"),
    ("linkwise torque stanford motion.csv --payload 2.5", "the same motion with 2.5 kg in the hand"),
    ("linkwise torque puma560 --q 0,0,pi/2,0,0,0 --json", "at one state: what holds it against gravity"),
)


def command(
    arm: Robot,
    where: Where,
    out: Outputs,
    friction: Friction = False,
    method: Annotated[str | None, opt("NAME", "The formulation, at states: newton-euler, denoc, ...")] = None,
) -> int:
    """Torques and forces that the drives must give.

    Along a trajectory, a .csv file with columns t, q1, q2, ... (or the joints' names) or one by name, the peaks are
    shown; --csv has every sample. With --q it is at a state, or at every row of a table. Without either, the trajectory
    is that of the paper from which the robot is, or a cycloid of 60 degrees (0.1 m) from the zero position.
    """
    if where.is_state(method, out.plot):
        at = AtStates(arm, where, friction, method)
        out.show(lambda: {**at.arrays(), **at.passed()}, lambda: show_states(at, friction))
        out.write(at.columns)
        return 0
    from ...trajectories import torque_along

    motion, words = where.path(arm)
    along = torque_along(arm, motion, where.samples, friction=friction, loads=False)

    def on_screen() -> None:
        how = ", with friction" if friction else ""
        sentence(f"{arm.name} {words}, {where.samples} samples{how}; the largest of each drive:")
        echo()
        show_peaks(along)
        if arm.free_joints:
            bases = ", ".join(joint.joint for joint in arm.free_joints)
            sentence(f"The rows of {bases} are what must be given to the base, as by the ground; no drive does.")

    out.show(
        lambda: {"robot": arm.name, "trajectory": words, **arrays(along), "peaks": peaks(along), **passed(along)},
        on_screen,
    )
    out.write(along.columns)
    out.draw(lambda path: along.plot(path, loads=False))
    return 0


def arrays(along: Loads) -> dict[str, Any]:
    names = {"q_names": along.arm.q_names, "v_names": along.arm.v_names, "units": along.units}
    return names | {name: getattr(along, name) for name in ("t", "q", "qd", "qdd", "tau")}


def peaks(along: Loads) -> list[dict[str, Any]]:
    from ...trajectories.limits import of_limits

    found = along.peaks()
    shares = of_limits(along.arm, found.tau) or [None] * along.arm.n
    columns = zip(found.joints, found.units, found.tau, found.when, found.rms, found.power, shares, strict=True)
    keys = ("joint", "unit", "torque", "time", "rms", "power", "of_limit")
    return [dict(zip(keys, row, strict=True)) for row in columns]


def passed(along: Loads) -> dict[str, Any]:
    return {"passed": as_json(along.arm, along.q, along.qd, along.tau, along.t.tolist(), "time")}


def show_peaks(along: Loads) -> None:
    head = ["joint", "unit", "torque", "at (s)", "rms", "power (W)"]
    rows = [list(row.values())[: len(head)] for row in peaks(along)]
    fastest = np.abs(along.qd).max(axis=0)
    for row, size, rate in zip(rows, sizes(along.arm, along.q, along.qd), fastest, strict=True):
        row[2], row[4], row[5] = (number(row[k], size=of) for k, of in ((2, size), (4, size), (5, size * rate)))
    with_shares(along.arm, head, rows, along.peaks().tau)
    show_limits(along.arm, along.q, along.qd, along.tau, along.t.tolist(), "first at (s)")


def sizes(arm: Robot, q: Any, qd: Any) -> list[float]:
    """What torques of each joint are small beside: the magnitudes of all that acts on it, at rest or in motion."""
    scales = torque_scales(arm, np.reshape(q, (-1, arm.nq)), np.reshape(qd, (-1, arm.n))).max(axis=0)
    return [float(x) or 1.0 for x in scales]


def show_states(at: AtStates, friction: bool) -> None:
    arm, where = at.arm, "one state" if at.one else f"{len(at.tau)} states"
    sentence(f"{arm.name}: torques and forces at {where}{', with friction' if friction else ''}")
    echo()
    small = sizes(arm, *at.batch()[:2])
    texts = [
        [number(x, size=size) for x, size in zip(row, small, strict=True)] for row in np.atleast_2d(at.tau).tolist()
    ]
    if at.one:
        rows = [list(row) for row in zip(arm.v_names, at.units, texts[0], strict=True)]
        with_shares(arm, ["joint", "unit", "torque"], rows, at.tau)
    else:
        table(["row", *arm.v_names], [[k, *row] for k, row in enumerate(texts, 1)])
    at.show_limits()
