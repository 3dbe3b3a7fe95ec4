"""Trajectories from tables of comma-separated numbers; errors begin with file:line."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..errors import FileError, near_miss, printable
from ..printing import warn
from ..robot import Robot
from ..robot.layout import COLUMN, LABELLED, MOTION, OF_NO_JOINT, Layout, angle_mask, canonical_names, refuse_degrees
from ..tables import Table, read_table, refuse_separator
from .limits import Floats, joint_count_text
from .pieces import check_configurations, coordinate_derivatives, hermite, layout_of
from .profiles import Ends, spline, trajectory_through
from .trajectory import Trajectory

UNIT = re.compile(r"[\[(]\D|[_ ](degs?|degrees?|rad|radians?|rpm)(?![a-z])")  # in the name of a column
FEWEST = 20  # rows: fewer are way points, not samples of a motion
MOVING = 0.3  # of the largest rate of any joint: a faster joint is not at rest


def read_csv(
    path: str | os.PathLike[str], *, ends: Ends | None = None, robot: Robot | None = None, degrees: bool = False
) -> Trajectory:
    """Read a trajectory from a table with the header t, q1, q2, ... and, optionally, qd1, ... and qdd1, ...

    Rates and accelerations give polynomials of degree 5 between rows, rates alone of degree 3, whose accelerations jump
    at the rows. Both pass through all rows. Positions alone give a spline. Lines that begin with # are comments. Other
    columns that `Loads.to_csv` and `Recording.save` write (torques, loads, energies) are ignored.

    Parameters
    ----------
    path : path
        Times begin at 0 and increase. Angles are in rad, lengths in m.
    ends : Ends, optional
        The ends of a spline, as in `lw.trajectories.spline`. By default the motion begins and ends at rest; a warning
        says if the rows do not.
    robot : Robot, optional
        The robot that moves. Columns may then be named after its joints or links, in any order: t, link1, link2, ...,
        or q_link1, qd_link1, qdd_link1, ..., and t may be called time. Joints of several degrees of freedom need it:
        their columns are those of `robot.q_names` and `robot.v_names`, q.base.qw, qd.base.wx.
    degrees : bool
        Angles of the table, their rates and accelerations are in degrees. This needs `robot`. Quaternions have no
        unit. Tables with torques are refused, since Linkwise writes them in radians.

    Returns
    -------
    Trajectory

    Raises
    ------
    FileError
        The table is wrong: the message names file and line.
    ValueError
        `ends` is given for a table with rates.
    TypeError
        `degrees` is given without a robot.
    """
    file = Path(path)
    if degrees and robot is None:
        raise TypeError("degrees=True without a robot (expected robot=..., which tells angles from lengths)")
    table = read_table(file)
    return trajectory_of_table(table, canonical_names(table.where, table.names, robot), robot, ends, degrees)


def trajectory_of_table(
    table: Table, names: list[str], robot: Robot | None, ends: Ends | None = None, degrees: bool = False
) -> Trajectory:
    """The trajectory of a table whose columns have these canonical names."""
    file, layout = table.file, None if robot is None else layout_of(robot)
    check_table(table, names, layout)
    layout = layout or Layout.numbered(joint_count(names))
    columns = dict(zip(names, np.array(table.numbers(names)).T, strict=True))
    check_times_of_rows(table, columns["t"])
    words = [word for word in MOTION if layout.columns(word)[0] in columns]
    motion = [np.stack([columns[name] for name in layout.columns(word)], axis=-1) for word in words]
    if degrees and robot is not None:
        refuse_degrees(file, names)
        motion = [
            np.where(angle_mask(robot, word), np.radians(values), values)
            for word, values in zip(words, motion, strict=True)
        ]
    q, *rates = motion
    try:
        if not rates:
            if ends is None:
                warn_of_moving_ends(file, columns["t"], q, layout)
            curve = spline(columns["t"], q, ends="clamped" if ends is None else ends, robot=robot)
            return Trajectory(curve.pieces, f"{curve.name} of {printable(file.name)}", curve.layout)
        points = q if robot is None else check_configurations(q, "q", robot, dims=2)
    except ValueError as error:
        raise FileError(f"{file}: {error}") from None
    if ends is not None:
        raise ValueError(f"ends is {ends!r}, but {file} gives the rates, which say how the motion begins and ends")
    name = f"polynomials of degree {2 * len(rates) + 1} through {len(table.rows)} rows of {printable(file.name)}"
    return trajectory_through(robot, hermite(columns["t"], coordinate_derivatives(layout, points, *rates)), name)


def warn_of_moving_ends(file: Path, t: Floats, q: Floats, layout: Layout) -> None:
    """Warn if a motion that is taken to begin and end at rest does not: its accelerations are then far too large."""
    if len(t) < FEWEST or not layout.n:
        return
    turned = [j for j, _ in layout.plain]
    fastest = np.abs(np.diff(q[:, turned], axis=0) / np.diff(t)[:, None]).max(axis=0, initial=0.0)
    for where, rows in (("begins", slice(0, 3)), ("ends", slice(-1, -4, -1))):
        (a, b), (x, y, z) = np.diff(t[rows]), q[rows][:, turned]
        speed = np.abs(
            (y - x) / a * (a + a + b) / (a + b) - (z - y) / b * a / (a + b)
        )  # of a parabola through three rows
        over = speed > MOVING * fastest.max(initial=0.0)
        if over.any():
            k = int(np.argmax(speed))
            warn(
                f"{file}: the motion {where} at speed ({layout.q_names[turned[k]]} at {speed[k]:.3g} rad/s or m/s), but"
                " is taken to be at rest there, which makes accelerations too large (expected ends='natural', --ends"
                " natural at the prompt, or columns of rates)"
            )
            return


def check_table(table: Table, names: list[str], layout: Layout | None) -> None:
    """Check that the table holds one motion: its header, and at least two rows."""
    if table.names:
        check_once(table.where, table.names, names)
        check_header(table.where, names, layout)
    check_rows(table, names, "q1")


def check_rows(table: Table, names: Sequence[str], first: str) -> None:
    """Raise a FileError unless the table has rows of one trajectory; `first` is a column for the message."""
    if "trajectory" in names:
        k = names.index("trajectory")
        begun = next(((line, cells[k]) for line, cells in table.rows if len(cells) > k and cells[k] != "0"), None)
        if begun is not None:
            raise FileError(
                f"{table.file}:{begun[0]}: trajectory {begun[1]} begins (expected a table of one trajectory)"
            )
    if len(table.rows) < 2:
        line = table.rows[-1][0] if table.rows else table.line
        count = f"{len(table.rows)} rows (expected a header t, {first}, ..., then at least two rows)"
        raise FileError(f"{table.file}:{line}: ends after {count}")


def check_once(where: str, names: Sequence[str], canonical: Sequence[str]) -> None:
    """Raise a FileError if two columns are the same, by any of their names."""
    for k, name in enumerate(names):
        first = canonical.index(canonical[k])
        if first < k:
            other = "" if names[first] == name else f", as {names[first]!r} and as {name!r}"
            raise FileError(f"{where}: column {(canonical[k] if other else name)!r} occurs twice{other}")


def check_header(where: str, names: list[str], layout: Layout | None) -> None:
    """Raise a FileError unless the header has the same joints for q, qd and qdd."""
    if layout is not None and layout.labelled:
        check_labels(where, names, layout)
        return
    joint = None if layout is None or not layout.n else layout.q_names[0]
    by_name = (
        "; or the names of joints, with robot=..., the robot that has them"
        if joint is None
        else f"; or by the names of the joints: t, {joint}, ..., or q_{joint}, qd_{joint}, ..."
    )
    known = ["t", "q1", "qd1", "qdd1", *(() if layout is None else layout.q_names)]
    expected = f"(expected t, q1, q2, ... and, if known, qd1, ..., qdd1, ...{by_name})"
    labelled = next((name for name in names if re.fullmatch(r"q\..+", name)), None)
    if labelled is not None:
        raise FileError(f"{where}: column {labelled!r} names a joint (expected robot=..., the robot that has it)")
    refuse_separator(where, names)
    for name in names:
        if name not in ("t", "trajectory", *OF_NO_JOINT) and not COLUMN.fullmatch(name):
            if UNIT.search(name):
                raise FileError(
                    f"{where}: column {name!r} has a unit in its name (expected names such as q1, and SI units; numbers"
                    " in degrees with degrees=True and robot=...)"
                )
            raise FileError(f"{where}: column {name!r}{near_miss(name, known)} {expected}")
    n = joint_count(names)
    if layout is not None and n != layout.n and n:
        without = [name for k, name in enumerate(layout.q_names, 1) if f"q{k}" not in names]
        lacking = f"; there is no position of {', '.join(without)}" if without else ""
        raise FileError(f"{where}: has {joint_count_text(n)} (expected {layout.n}, those of the robot{lacking})")
    words = {word for word in ("qd", "qdd") if any(re.fullmatch(rf"{word}\d+", name) for name in names)}
    if words:
        words.add("qd")  # accelerations need rates
    wanted = ["t", *(f"q{k}" for k in range(1, max(n, 1) + 1))]
    wanted += [f"{word}{k}" for word in sorted(words) for k in range(1, n + 1)]
    missing = [name for name in wanted if name not in names]
    if missing:
        raise FileError(
            f"{where}: column {missing[0]!r}{other_name(missing[0], layout)} is missing"
            f"{f', of {joint_count_text(n)}' if n else ': there are no positions'} {expected}"
        )
    more = [name for name in names if name.startswith("q") and name not in wanted]
    if more:
        raise FileError(f"{where}: column {more[0]!r} belongs to no joint of {joint_count_text(n)} {expected}")


def other_name(column: str, layout: Layout | None) -> str:
    """The name of a numbered column by its joint, for messages."""
    match = COLUMN.fullmatch(column)
    return "" if match is None or layout is None else f", or '{match[1]}_{layout.v_names[int(match[2]) - 1]}',"


def check_labels(where: str, names: list[str], layout: Layout) -> None:
    """Check the header of a table whose columns are named after the robot's coordinates."""
    refuse_separator(where, names)
    known = ["t", *(name for word in MOTION for name in layout.columns(word))]
    words = [word for word in MOTION[1:] if any(name.startswith(f"{word}.") for name in names)]
    wanted = ["t", *layout.columns("q"), *(layout.columns("qd") if words else ())]
    wanted += layout.columns("qdd") if "qdd" in words else ()
    for name in names:
        motion = name.partition(".")[0] in MOTION
        if name not in known and (motion or not (name in ("trajectory", *OF_NO_JOINT) or LABELLED.fullmatch(name))):
            raise FileError(f"{where}: column {name!r}{near_miss(name, known)} (expected {', '.join(known)})")
    missing = [name for name in wanted if name not in names]
    if missing:
        raise FileError(f"{where}: column {missing[0]!r} is missing (expected {', '.join(wanted)})")


def joint_count(names: list[str]) -> int:
    return sum(re.fullmatch(r"q\d+", name) is not None for name in names)


def check_times_of_rows(table: Table, t: Floats) -> None:
    lines = [line for line, _ in table.rows]
    if t[0] != 0.0:
        raise FileError(f"{table.file}:{lines[0]}: column 't' begins at {t[0]:g} (expected 0: subtract it from all)")
    for line, before, here in zip(lines[1:], t[:-1], t[1:], strict=True):
        if not here > before:
            raise FileError(
                f"{table.file}:{line}: column 't' is {here:.9g}, after {before:.9g} in the row before (expected"
                " increasing times)"
            )
