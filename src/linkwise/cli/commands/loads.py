"""`linkwise torque` and `linkwise loads`: torques of drives and loads of joints, along a trajectory or at states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

import linkwise as lw

from ...api.states import ComponentAxes
from ...robot.scales import torque_scales
from ...trajectories.limits import effort_shares
from ...trajectories.loads import BEARING, COMPONENTS, FRAMES, load_columns, loads_at
from ..declare import command, command_with, opt
from ..inputs import parse_wrench
from ..motion import MotionOptions, StateTorques, passed_limits_json, print_limits, print_torques
from ..options import Coordinates, Friction, Method, Wrench, of_paper
from ..quasi import QuasiCoordinates
from ..results import Outputs
from ..screen import NOTHING, echo, format_number, print_sentence, print_table, print_title


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
    where: MotionOptions,
    out: Outputs,
    friction: Friction = False,
    method: Method = None,
    wrench: Wrench = None,
    coordinates: Coordinates = "joint",
) -> int:
    """Torques and forces that the drives must give.

    A trajectory is a .csv file with columns t, q1, q2, ... (or the joints' names), or one by name. The peaks are shown;
    --csv has every sample. --q gives a state, or a table of states. Without either, the trajectory is that of the
    robot's paper, or a cycloid by 60 degrees (0.1 m) from the zero position. --coordinates adds the velocities
    and forces of quasi-coordinates.
    """
    how = (", with friction" if friction else "") + (f", by {method}" if method else "")
    given = parse_wrench(robot, wrench)
    if where.is_state(out.plot):
        at = StateTorques(robot, where, friction, method, given)
        quasi = QuasiCoordinates.of(coordinates, robot, *at.batch)

        def show() -> None:
            show_states(at, how)
            quasi.show()

        out.show(lambda: {**at.arrays(), **at.passed(), **quasi.values}, show)
        out.write(lambda: at.columns() | quasi.columns())
        return 0
    motion, words = where.resolve(robot)
    along = lw.torque_along(robot, motion, where.samples, wrench=given, friction=friction, method=method, loads=False)
    quasi = QuasiCoordinates.of(coordinates, robot, along.q, along.qd, along.tau, along.t)

    def on_screen() -> None:
        print_sentence(f"{robot.name} {words}, {where.samples} samples{how}; the largest of each drive:")
        echo()
        show_peaks(along)
        if robot.free_joints:
            bases = ", ".join(joint.joint for joint in robot.free_joints)
            print_sentence(
                f"The rows of {bases} act on the base and come from no drive, but for example from the ground."
            )
        quasi.show()

    results = {"robot": robot.name, "trajectory": words}
    out.show(lambda: {**results, **arrays(along), "peaks": peaks(along), **passed(along), **quasi.values}, on_screen)
    out.write(lambda: along.columns() | quasi.columns())
    out.draw(lambda path: along.plot(path, loads=False))
    return 0


RIDIM = """Saha's recursive inverse dynamics: the torques along a motion, by the DeNOC matrices.

RIDIM of J. Appl. Mech. 66 (1999), section 5.1: the options of `linkwise torque`, with --method denoc. The table of the
robot has DH parameters, masses, inertias, and mass centres as `com` or as the paper's `r`. What --csv writes is what
`linkwise rfdsim` reads: the motion is reproduced, as long as small errors do not grow.
"""
ridim = command(
    ("linkwise ridim stanford", "Fig. 8 of the paper: torques along its motion"),
    ("linkwise ridim planar3 cubic --to 1,1,1 --duration 1 --csv tau.csv", "torques in time, for rfdsim"),
    ("linkwise ridim stanford --coordinates normalized", "and normalized quasi-velocities and forces"),
)(command_with(torque, RIDIM, of_paper))


def arrays(along: lw.results.Loads) -> dict[str, Any]:
    names = {"q_names": along.robot.q_names, "v_names": along.robot.v_names, "units": along.units}
    return names | {name: getattr(along, name) for name in ("t", "q", "qd", "qdd", "tau")}


def peaks(along: lw.results.Loads) -> list[dict[str, Any]]:
    peak = along.peaks()
    shares = effort_shares(along.robot, peak.tau) or [None] * along.robot.n
    columns = zip(peak.joints, peak.units, peak.tau, peak.when, peak.rms, peak.power, shares, strict=True)
    keys = ("joint", "unit", "torque", "time", "rms", "power", "of_limit")
    return [dict(zip(keys, row, strict=True)) for row in columns]


def passed(along: lw.results.Loads) -> dict[str, Any]:
    return {"passed": passed_limits_json(along.robot, along.q, along.qd, along.tau, along.t.tolist(), "time")}


def show_peaks(along: lw.results.Loads) -> None:
    head = ["joint", "unit", "torque", "at (s)", "rms", "power (W)"]
    rows = [list(row.values())[: len(head)] for row in peaks(along)]
    fastest = np.abs(along.qd).max(axis=0)
    small = sizes(along.robot, along.q, along.qd)
    for row, size, rate in zip(rows, small, fastest, strict=True):
        row[2], row[4], row[5] = (format_number(row[k], size=of) for k, of in ((2, size), (4, size), (5, size * rate)))
    print_torques(along.robot, head, rows, clear_rounding(along.peaks().tau, small))
    print_limits(along.robot, along.q, along.qd, along.tau, along.t.tolist(), "first at (s)")


def sizes(robot: lw.Robot, q: Any, qd: Any) -> list[float]:
    """Scales of each joint's torque: the sum of the magnitudes of all that acts on it."""
    scales = torque_scales(robot, np.reshape(q, (-1, robot.nq)), np.reshape(qd, (-1, robot.n))).max(axis=0)
    return [float(x) or 1.0 for x in scales]


def clear_rounding(tau: Any, sizes: Sequence[float]) -> Any:
    """The torques, 0 for those that are printed as 0."""
    return np.where(np.abs(tau) < NOTHING * np.asarray(sizes), 0.0, tau)


def show_states(at: StateTorques, how: str) -> None:
    print_sentence(f"{at.robot.name}: torques and forces at {at.count}{how}")
    echo()
    small = sizes(at.robot, *at.batch[:2])
    texts = [
        [format_number(x, size=size) for x, size in zip(row, small, strict=True)]
        for row in np.atleast_2d(at.tau).tolist()
    ]
    if at.one:
        show_drives(at, texts[0], clear_rounding(at.tau, small))
    else:
        print_table(["row", *at.robot.v_names], [[k, *row] for k, row in enumerate(texts, 1)])
    at.show_limits()


def show_drives(at: StateTorques, torques: Sequence[Any], tau: Any) -> None:
    rows = [list(row) for row in zip(at.robot.v_names, at.robot.effort_units, torques, strict=True)]
    print_torques(at.robot, ["joint", "unit", "torque"], rows, tau)


@command(
    ("linkwise loads stanford", "the largest loads of each bearing and drive"),
    ("linkwise loads stanford --csv loads.csv --plot loads.svg", "six components at every joint, over time"),
    ("linkwise loads puma560 trapezoid --to 1,-1,1,0,0,0 --duration 1 --payload 2.5", "a fast move with a payload"),
    ("linkwise loads puma560 --q 0,0,pi/2,0,0,0", "at one state, here at rest"),
)
def loads(
    robot: lw.Robot,
    where: MotionOptions,
    out: Outputs,
    friction: Friction = False,
    axes: Annotated[
        ComponentAxes,
        opt("AXES", "Axes of the components: frame (default; those of the joint, z along it), or base."),
    ] = "frame",
) -> int:
    """Forces and moments in the joints along a trajectory, for the choice of bearings and drives.

    The parent loads a link by a force and a moment about the origin of the joint frame. The bearing carries the radial
    and axial force and the tilting moment. The largest loads are shown; --csv has every sample. The trajectory is given
    as for linkwise torque. --q gives a state, or a table of states.
    """
    if where.is_state(plot=out.plot):
        at_states(StateTorques(robot, where, friction), friction, axes, out)
        return 0
    motion, words = where.resolve(robot)
    along = lw.torque_along(robot, motion, where.samples, friction=friction, axes=axes)

    def loads_json() -> dict[str, Any]:
        head = {"robot": robot.name, "trajectory": words, "axes": axes}
        results = {name: getattr(along, name) for name in ("loads", *BEARING)}
        return {**head, **arrays(along), "joints": along.joints, "links": robot.names, **results, **passed(along)}

    def on_screen() -> None:
        print_sentence(f"{robot.name} {words}, {where.samples} samples; the largest magnitudes:")
        echo()
        largest = along.peaks()
        bearings = np.column_stack([getattr(largest, name) for name in BEARING])
        show_loads(along.joints, largest.loads, bearings, axes, magnitudes=True)
        show_peaks(along)

    out.show(loads_json, on_screen)
    out.write(along.columns)
    out.draw(along.plot)
    return 0


def show_loads(joints: Sequence[str], loads: Any, bearings: Any, axes: ComponentAxes, magnitudes: bool) -> None:
    """Print the loads of each joint, (m, 6), and its bearing loads, (m, 3)."""
    head = ["joint", "radial (N)", "axial (N)", "tilting (N m)"]
    print_table(head, rows(joints, bearings), heading="Bearings")
    names = [f"|{name}|" if magnitudes else name for name in COMPONENTS]
    names[0], names[3] = f"{names[0]} (N m)", f"{names[3]} (N)"
    print_table(["joint", *names], rows(joints, loads), heading=f"Components in the {FRAMES[axes]} frame")
    print_title("Drives")


def rows(joints: Sequence[str], values: Any) -> list[list[Any]]:
    return [[name, *row] for name, row in zip(joints, values.tolist(), strict=True)]


def at_states(at: StateTorques, friction: bool, axes: ComponentAxes, out: Outputs) -> None:
    robot = at.robot
    wrenches, bearings = loads_at(robot, at.motion, axes)
    joints = [joint.joint for joint in robot.moving]

    def loads_json() -> dict[str, Any]:
        results = {"axes": axes, "joints": joints, "links": robot.names, "loads": wrenches}
        return {
            **at.arrays(),
            **results,
            **at.passed(),
            **dict(zip(BEARING, np.moveaxis(bearings, -1, 0), strict=True)),
        }

    def on_screen() -> None:
        where = at.count if at.one else f"{at.count}, the largest magnitudes"
        print_sentence(f"{robot.name}: loads at {where}{'; drives with friction' if friction else ''}")
        echo()
        every = (wrenches, bearings, at.tau)
        shown, of_bearings, tau = every if at.one else (np.abs(array).max(axis=0) for array in every)
        show_loads(joints, shown, of_bearings, axes, magnitudes=not at.one)
        show_drives(at, tau.tolist(), tau)
        at.show_limits()

    def columns() -> dict[str, Any]:
        flat = wrenches.reshape(-1, len(joints), 6), bearings.reshape(-1, len(joints), 3)
        return {**at.columns(), **load_columns(robot, *flat)}

    out.show(loads_json, on_screen)
    out.write(columns)
