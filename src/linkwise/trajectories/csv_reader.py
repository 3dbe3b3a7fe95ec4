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
from .checks import Floats, joint_count_text
from .pieces import check_configurations, coordinate_derivatives, hermite, layout_of
from .profiles import Ends, spline, trajectory_through
from .trajectory import Trajectory

UNIT = re.compile(r"[\[(]\D|[_ ](degs?|degrees?|rad|radians?|rpm)(?![a-z])")  # in the name of a column
FEWEST = 20  # rows: fewer are points on the way of a motion, not samples of one
MOVING = 0.3  # of the largest rate of any joint: what is faster at an end is not at rest there


def read_csv(
    path: str | os.PathLike[str], *, ends: Ends | None = None, robot: Robot | None = None, degrees: bool = False
) -> Trajectory:
    """The trajectory of a table with the header t, q1, q2, ... and, if known, qd1, ... and qdd1, ...

    With `robot` columns can have the names of its joints, or of their links, in place of numbers, in any order: t,
    link1, link2, ... or q_link1, qd_link1, qdd_link1, ...; t can be time. Tables with half of each are refused.

    With rates and accelerations it is of degree 5 between rows, with rates alone of degree 3 (its accelerations jump at
    the rows); both pass through what is given. With positions alone it is a spline, whose `ends` are as there: by
    default at rest, with a warning where the rows are not. Times begin at 0. Lines that begin with # are comments. So
    the tables that `Loads.to_csv` and `Recording.save` write can be read: their other columns, torques, loads and
    energies, are ignored.

    `robot` is the robot whose motion it is. It is needed where a joint has several degrees of freedom: columns are then
    named after them, as `robot.q_names` and `robot.v_names` are (q.base.qw, qd.base.wx). With `degrees=True` the angles
    of the table, their rates and accelerations are in degrees; the robot tells which columns are angles. Quaternions
    are never in degrees, and tables with torques, which Linkwise writes in radians, are refused.
    """
    file = Path(path)
    if degrees and robot is None:
        raise TypeError("degrees=True without a robot (expected robot=..., which tells angles from lengths)")
    layout = None if robot is None else layout_of(robot)
    table = read_table(file)
    names = canonical_names(table.where, table.names, robot)
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
    """Say where a motion that is taken to begin and end at rest does not: accelerations there are far too large."""
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
    """A header that names one motion, and the rows of one."""
    if table.names:
        check_once(table.where, table.names, names)
        check_header(table.where, names, layout)
    if "trajectory" in names:
        k = names.index("trajectory")
        begun = next(((line, cells[k]) for line, cells in table.rows if len(cells) > k and cells[k] != "0"), None)
        if begun is not None:
            raise FileError(f"{table.file}:{begun[0]}: trajectory {begun[1]} begins (expected a table of one)")
    if len(table.rows) < 2:
        line = table.rows[-1][0] if table.rows else table.line
        count = f"{len(table.rows)} rows (expected a header t, q1, ..., then at least two rows)"
        raise FileError(f"{table.file}:{line}: ends after {count}")


def check_once(where: str, names: Sequence[str], canonical: Sequence[str]) -> None:
    """Each column there is once, by whatever name."""
    for k, name in enumerate(names):
        first = canonical.index(canonical[k])
        if first < k:
            other = "" if names[first] == name else f", as {names[first]!r} and as {name!r}"
            raise FileError(f"{where}: column {(canonical[k] if other else name)!r} occurs twice{other}")


def check_header(where: str, names: list[str], layout: Layout | None) -> None:
    """It must name the same joints for q, qd and qdd."""
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
    named = next((name for name in names if re.fullmatch(r"q\..+", name)), None)
    if named is not None:
        raise FileError(f"{where}: column {named!r} names a joint (expected robot=..., the robot that has it)")
    refuse_separator(where, names)
    for name in names:
        if name not in ("t", "trajectory", *OF_NO_JOINT) and not COLUMN.fullmatch(name):
            if UNIT.search(name):
                raise FileError(
                    f"{where}: column {name!r} has a unit (expected names without, such as q1, and SI units, or"
                    " degrees=True with robot=...)"
                )
            raise FileError(f"{where}: column {name!r}{near_miss(name, known)} {expected}")
    n = joint_count(names)
    if layout is not None and n != layout.n and n:
        without = [name for k, name in enumerate(layout.q_names, 1) if f"q{k}" not in names]
        lacking = f"; there is no position of {', '.join(without)}" if without else ""
        raise FileError(f"{where}: has {joint_count_text(n)} (expected {layout.n}, those of the robot{lacking})")
    words = {word for word in ("qd", "qdd") if any(re.fullmatch(rf"{word}\d+", name) for name in names)}
    if words:
        words.add("qd")  # without which accelerations are of no use
    wanted = ["t", *(f"q{k}" for k in range(1, max(n, 1) + 1))]
    wanted += [f"{word}{k}" for word in sorted(words) for k in range(1, n + 1)]
    missing = [name for name in wanted if name not in names]
    if missing:
        raise FileError(
            f"{where}: column {missing[0]!r}{other_name(missing[0], layout)} is missing, of {joint_count_text(n)}"
            f" {expected}"
        )
    more = [name for name in names if name.startswith("q") and name not in wanted]
    if more:
        raise FileError(f"{where}: column {more[0]!r} belongs to no joint, of {n} {expected}")


def other_name(column: str, layout: Layout | None) -> str:
    """A column by number, by the name of its joint."""
    match = COLUMN.fullmatch(column)
    return "" if match is None or layout is None else f", or '{match[1]}_{layout.v_names[int(match[2]) - 1]}',"


def check_labels(where: str, names: list[str], layout: Layout) -> None:
    """The same for columns that are named after the robot's coordinates."""
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
