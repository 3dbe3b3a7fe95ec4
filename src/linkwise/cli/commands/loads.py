"""`linkwise torque` and `linkwise loads`: what drives give and joints carry along a trajectory, or at states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

import linkwise as lw

from ...api.functions import ComponentAxes
from ...robot.scales import torque_scales
from ...trajectories.limits import effort_shares
from ...trajectories.loads import BEARING, COMPONENTS, FRAMES, load_columns, loads_at
from ..declare import command, opt
from ..limits import as_json, show_limits, with_shares
from ..motion import AtStates, Where
from ..options import Friction
from ..results import Outputs
from ..screen import echo, number, sentence, table, title


@command(
    ("linkwise torque stanford", "the motion of Saha's paper"),
    ("linkwise torque puma560 quintic --to 0,-90,90,0,0,0 --degrees --duration 2", "from the zero position to --to"),
    ("linkwise torque stanford --plot torques.png", "the curves as a picture"),
    ("linkwise torque stanford --csv motion.csv", "all samples as a table"),
    ("linkwise torque stanford motion.csv --payload 2.5", "the same motion with 2.5 kg in the hand"),
    ("linkwise torque puma560 --q 0,0,pi/2,0,0,0 --json", "at one state: what holds it against gravity"),
)
def torque(
    robot: lw.Robot,
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
    how = ", with friction" if friction else ""
    if where.is_state(method, out.plot):
        at = AtStates(robot, where, friction, method)
        out.show(lambda: {**at.arrays(), **at.passed()}, lambda: show_states(at, how))
        out.write(at.columns)
        return 0
    motion, words = where.path(robot)
    along = lw.torque_along(robot, motion, where.samples, friction=friction, loads=False)

    def on_screen() -> None:
        sentence(f"{robot.name} {words}, {where.samples} samples{how}; the largest of each drive:")
        echo()
        show_peaks(along)
        if robot.free_joints:
            bases = ", ".join(joint.joint for joint in robot.free_joints)
            sentence(f"The rows of {bases} are what must be given to the base, as by the ground; no drive does.")

    out.show(
        lambda: {"robot": robot.name, "trajectory": words, **arrays(along), "peaks": peaks(along), **passed(along)},
        on_screen,
    )
    out.write(along.columns)
    out.draw(lambda path: along.plot(path, loads=False))
    return 0


def arrays(along: lw.results.Loads) -> dict[str, Any]:
    names = {"q_names": along.robot.q_names, "v_names": along.robot.v_names, "units": along.units}
    return names | {name: getattr(along, name) for name in ("t", "q", "qd", "qdd", "tau")}


def peaks(along: lw.results.Loads) -> list[dict[str, Any]]:
    found = along.peaks()
    shares = effort_shares(along.robot, found.tau) or [None] * along.robot.n
    columns = zip(found.joints, found.units, found.tau, found.when, found.rms, found.power, shares, strict=True)
    keys = ("joint", "unit", "torque", "time", "rms", "power", "of_limit")
    return [dict(zip(keys, row, strict=True)) for row in columns]


def passed(along: lw.results.Loads) -> dict[str, Any]:
    return {"passed": as_json(along.robot, along.q, along.qd, along.tau, along.t.tolist(), "time")}


def show_peaks(along: lw.results.Loads) -> None:
    head = ["joint", "unit", "torque", "at (s)", "rms", "power (W)"]
    rows = [list(row.values())[: len(head)] for row in peaks(along)]
    fastest = np.abs(along.qd).max(axis=0)
    for row, size, rate in zip(rows, sizes(along.robot, along.q, along.qd), fastest, strict=True):
        row[2], row[4], row[5] = (number(row[k], size=of) for k, of in ((2, size), (4, size), (5, size * rate)))
    with_shares(along.robot, head, rows, along.peaks().tau)
    show_limits(along.robot, along.q, along.qd, along.tau, along.t.tolist(), "first at (s)")


def sizes(robot: lw.Robot, q: Any, qd: Any) -> list[float]:
    """What torques of each joint are small beside: the magnitudes of all that acts on it, at rest or in motion."""
    scales = torque_scales(robot, np.reshape(q, (-1, robot.nq)), np.reshape(qd, (-1, robot.n))).max(axis=0)
    return [float(x) or 1.0 for x in scales]


def show_states(at: AtStates, how: str) -> None:
    sentence(f"{at.robot.name}: torques and forces at {at.count}{how}")
    echo()
    small = sizes(at.robot, *at.batch[:2])
    texts = [
        [number(x, size=size) for x, size in zip(row, small, strict=True)] for row in np.atleast_2d(at.tau).tolist()
    ]
    if at.one:
        show_drives(at, texts[0], at.tau)
    else:
        table(["row", *at.robot.v_names], [[k, *row] for k, row in enumerate(texts, 1)])
    at.show_limits()


def show_drives(at: AtStates, torques: Sequence[Any], tau: Any) -> None:
    rows = [list(row) for row in zip(at.robot.v_names, at.robot.effort_units, torques, strict=True)]
    with_shares(at.robot, ["joint", "unit", "torque"], rows, tau)


@command(
    ("linkwise loads stanford", "the largest loads of each bearing and drive"),
    ("linkwise loads stanford --csv loads.csv --plot loads.svg", "six components at every joint, over time"),
    ("linkwise loads puma560 trapezoid --to 1,-1,1,0,0,0 --duration 1 --payload 2.5", "a fast move with a payload"),
    ("linkwise loads puma560 --q 0,0,pi/2,0,0,0", "at one state, here at rest"),
)
def loads(
    robot: lw.Robot,
    where: Where,
    out: Outputs,
    friction: Friction = False,
    axes: Annotated[
        ComponentAxes, opt("AXES", "Axes of the components: frame (default), the joint's, z along it, or base.")
    ] = "frame",
) -> int:
    """Forces and moments in the joints along a trajectory, for the choice of bearings and drives.

    A link gets six components of load from its parent, about the origin of the joint frame. Across and along the
    joint's axis they are the loads of its bearing: radial and axial force, tilting moment. The largest are shown;
    --csv has every sample. The trajectory is given as for: linkwise torque. With --q it is at a state, or at every row
    of a table.
    """
    if where.is_state(plot=out.plot):
        at_states(AtStates(robot, where, friction), friction, axes, out)
        return 0
    motion, words = where.path(robot)
    along = lw.torque_along(robot, motion, where.samples, friction=friction, axes=axes)

    def borne() -> dict[str, Any]:
        head = {"robot": robot.name, "trajectory": words, "axes": axes}
        own = {name: getattr(along, name) for name in ("loads", *BEARING)}
        return {**head, **arrays(along), "joints": along.joints, "links": robot.names, **own, **passed(along)}

    def on_screen() -> None:
        sentence(f"{robot.name} {words}, {where.samples} samples; the largest magnitudes:")
        echo()
        found = along.peaks()
        bearings = np.column_stack([getattr(found, name) for name in BEARING])
        show_loads(along.joints, found.loads, bearings, axes, magnitudes=True)
        show_peaks(along)

    out.show(borne, on_screen)
    out.write(along.columns)
    out.draw(along.plot)
    return 0


def show_loads(joints: Sequence[str], loads: Any, bearings: Any, axes: ComponentAxes, magnitudes: bool) -> None:
    """Of each joint: (m, 6) and (m, 3)."""
    head = ["joint", "radial (N)", "axial (N)", "tilting (N m)"]
    table(head, rows(joints, bearings), heading="Bearings")
    names = [f"|{name}|" if magnitudes else name for name in COMPONENTS]
    names[0], names[3] = f"{names[0]} (N m)", f"{names[3]} (N)"
    table(["joint", *names], rows(joints, loads), heading=f"Components in the {FRAMES[axes]} frame")
    title("Drives")


def rows(joints: Sequence[str], values: Any) -> list[list[Any]]:
    return [[name, *row] for name, row in zip(joints, values.tolist(), strict=True)]


def at_states(at: AtStates, friction: bool, axes: ComponentAxes, out: Outputs) -> None:
    robot = at.robot
    found, bearings = loads_at(robot, at.motion, axes)
    joints = [joint.joint for joint in robot.moving]

    def borne() -> dict[str, Any]:
        own = {"axes": axes, "joints": joints, "links": robot.names, "loads": found}
        return {**at.arrays(), **own, **at.passed(), **dict(zip(BEARING, np.moveaxis(bearings, -1, 0), strict=True))}

    def on_screen() -> None:
        where = at.count if at.one else f"{at.count}, the largest magnitudes"
        sentence(f"{robot.name}: loads at {where}{'; drives with friction' if friction else ''}")
        echo()
        every = (found, bearings, at.tau)
        shown, of_bearings, tau = every if at.one else (np.abs(array).max(axis=0) for array in every)
        show_loads(joints, shown, of_bearings, axes, magnitudes=not at.one)
        show_drives(at, tau.tolist(), tau)
        at.show_limits()

    def columns() -> dict[str, Any]:
        flat = found.reshape(-1, len(joints), 6), bearings.reshape(-1, len(joints), 3)
        return {**at.columns(), **load_columns(robot, *flat)}

    out.show(borne, on_screen)
    out.write(columns)
