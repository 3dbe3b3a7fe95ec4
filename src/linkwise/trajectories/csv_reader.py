"""Trajectories from tables of comma-separated numbers; errors begin with file:line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from ..errors import FileError, near_miss
from ..robot import Robot
from ..robot.layout import Layout, angles, places
from ..tables import csv_rows, is_number
from .checks import Floats, counted
from .orientations import configurations, layout_of, with_rates
from .pieces import hermite
from .splines import spline, through
from .trajectory import Trajectory

MOTION = ("q", "qd", "qdd")
COLUMN = re.compile(r"(qdd|qd|q|tau|[mf][xyz]|radial|axial|tilting)([1-9]\d*)")  # of a joint; loads are ignored
LABELLED = re.compile(r"(qdd|qd|q|tau|[mf][xyz]|radial|axial|tilting)\..+")  # the same by the names of joints
NUMBERED = re.compile(r"(qdd|qd|q|tau)[1-9]\d*")
DIGITS = re.compile(r"0|[1-9]\d*")
IGNORED = ("energy", "work", "heat")  # other columns of recordings
BESIDE = ("t", "time", "trajectory", *IGNORED)  # of no joint, whatever joints are called


def trajectory_from_csv(
    path: str | os.PathLike[str], *, ends: str | None = None, arm: Robot | None = None, degrees: bool = False
) -> Trajectory:
    """The trajectory of a table with the header t, q1, q2, ... and, if known, qd1, ... and qdd1, ...

    With `arm` columns can have the names of its joints, or of their links, in place of numbers, in any order: t, link1,
    link2, ... or q_link1, qd_link1, qdd_link1, ...; t can be time. Tables with half of each are refused.

    With rates and accelerations it is of degree 5 between rows, with rates alone of degree 3 (its accelerations jump at
    the rows); both pass through what is given. With positions alone it is a spline, whose `ends` are as there. Times
    begin at 0. Lines that begin with # are comments. So the tables that `Loads.to_csv` and `Recording.save` write can
    be read: their other columns, torques, loads and energies, are ignored.

    `arm` is the robot whose motion it is. It is needed where a joint has several degrees of freedom: columns are then
    named after them, as `arm.q_names` and `arm.v_names` are (q.base.qw, qd.base.wx). With `degrees=True` the angles of
    the table, their rates and accelerations are in degrees; the robot tells which columns are angles. Quaternions are
    never in degrees, and tables with torques, which Linkwise writes in radians, are refused.
    """
    file = Path(path)
    if degrees and arm is None:
        raise TypeError("degrees=True without a robot (expected arm=..., which tells angles from lengths)")
    layout = None if arm is None else layout_of(arm)
    names, lines, table = read_table(file, layout, arm)
    layout = layout or Layout.numbered(joints_of(names))
    check_times_of_rows(file, lines, table[:, names.index("t")])
    columns = {name: table[:, k] for k, name in enumerate(names)}
    words = [word for word in MOTION if layout.columns(word)[0] in columns]
    motion = [np.stack([columns[name] for name in layout.columns(word)], axis=-1) for word in words]
    if degrees and arm is not None:
        refuse_degrees(file, names)
        motion = [
            np.where(angles(arm, word), np.radians(values), values) for word, values in zip(words, motion, strict=True)
        ]
    q, *rates = motion
    try:
        if not rates:
            curve = spline(columns["t"], q, ends="clamped" if ends is None else ends, arm=arm)
            return Trajectory(curve.pieces, f"{curve.name} of {file.name}", curve.layout)
        points = q if arm is None else configurations(q, "q", arm, dims=2)
    except ValueError as error:
        raise FileError(f"{file}: {error}") from None
    if ends is not None:
        raise ValueError(f"ends is {ends!r}, but {file} gives the rates, which say how the motion begins and ends")
    name = f"polynomials of degree {2 * len(rates) + 1} through {len(lines)} rows of {file.name}"
    return through(arm, hermite(columns["t"], with_rates(layout, points, *rates)), name)


def read_table(file: Path, layout: Layout | None, arm: Robot | None) -> tuple[list[str], list[int], Floats]:
    """The header's names, the line of each row, and the numbers."""
    names: list[str] = []
    line = 1
    lines, rows = [], []
    for line, row in csv_rows(file):
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        if not names:
            names = canonical(f"{file}:{line}", cells, layout, arm)
            check_header(f"{file}:{line}", names, layout)
            continue
        if len(cells) != len(names):
            raise FileError(f"{file}:{line}: has {len(cells)} cells (expected {len(names)}: {', '.join(names)})")
        if "trajectory" in names and cells[names.index("trajectory")] != "0":
            begun = cells[names.index("trajectory")]
            raise FileError(f"{file}:{line}: trajectory {begun} begins (expected a table of one)")
        lines.append(line)
        rows.append([number(file, line, name, cell) for name, cell in zip(names, cells, strict=True)])
    if len(rows) < 2:
        raise FileError(
            f"{file}:{line}: ends after {len(rows)} rows (expected a header t, q1, ..., then at least two rows)"
        )
    return names, lines, np.array(rows)


def canonical(where: str, names: list[str], layout: Layout | None, arm: Robot | None, bare: str = "q") -> list[str]:
    """The header in our own names: t for time, columns by the names of joints or links as link1, q_link1 or q.link1.

    `bare`: what columns hold that are named after a joint alone.
    """
    own = {"time": "t"}
    joints: dict[str, int] = {}
    if layout is not None and arm is not None:
        for word in (*MOTION, "tau"):
            columns = layout.columns(word)
            for joint, k in places(arm, word).items():
                alone = [joint.strip()] if word == bare and joint.strip() not in BESIDE else []
                forms = [f"{word}_{joint}".strip(), f"{word}.{joint}".strip(), *alone]
                own |= dict.fromkeys(forms, columns[k])
                joints |= dict.fromkeys(forms, k)
        numbered = [name for name in names if NUMBERED.fullmatch(name)]
        named = {name: joints[name] for name in names if name in joints and name not in numbered}
        refuse_half(where, arm, named, numbered, error=FileError)
    return [name if name == "t" or COLUMN.fullmatch(name) else own.get(name, name) for name in names]


def refuse_half(
    where: str,
    arm: Robot,
    named: Mapping[str, int],
    numbered: Sequence[str],
    first: int = 1,
    error: type[ValueError] = ValueError,
) -> None:
    """Raise an error for a table whose columns belong to joints partly by name and partly by number.

    `named`: columns and the places of their joints. Names that end with these places, counted from `first`, are both.
    """
    both = all(DIGITS.findall(name)[-1:] == [str(k + first)] for name, k in named.items())
    if not named or not numbered or both or arm.n == 1:
        return
    raise error(
        f"{where}: columns {listed(map(repr, named))} are of joints by name, but {listed(map(repr, numbered))} by"
        f" number (expected all by name, or all by number in the robot's order {listed(map(repr, arm.v_names))})"
    )


def refuse_degrees(file: Path, names: Sequence[str]) -> None:
    """Tables of motions with torques, recordings among them, are what Linkwise writes, in radians."""
    torque = next((name for name in names if re.fullmatch(r"tau(\d+|\..+)", name)), None)
    if torque is not None:
        raise FileError(
            f"{file}: column {torque!r} shows that Linkwise wrote the table, so angles are in radians (expected to"
            " read it without degrees; or a table of t, q1, ... without torques)"
        )


def number(file: Path, line: int, name: str, cell: str) -> float:
    if not is_number(cell):
        raise FileError(f"{file}:{line}: column {name!r} is {cell!r} (expected a finite number)")
    return float(cell)


def check_header(where: str, names: list[str], layout: Layout | None) -> None:
    """It must name each column once, and the same joints for q, qd and qdd."""
    if layout is not None and layout.labelled:
        check_labels(where, names, layout)
        return
    joint = None if layout is None or not layout.n else layout.q_names[0]
    by_name = (
        "; or the names of joints, with arm=..., the robot that has them"
        if joint is None
        else f"; or by the names of the joints: t, {joint}, ..., or q_{joint}, qd_{joint}, ..."
    )
    known = ["t", "q1", "qd1", "qdd1", *(() if layout is None else layout.q_names)]
    expected = f"(expected t, q1, q2, ... and, if known, qd1, ..., qdd1, ...{by_name})"
    named = next((name for name in names if re.fullmatch(r"q\..+", name)), None)
    if named is not None:
        raise FileError(f"{where}: column {named!r} names a joint (expected arm=..., the robot that has it)")
    refuse_separator(where, names)
    for name in names:
        if name not in ("t", "trajectory", *IGNORED) and not COLUMN.fullmatch(name):
            raise FileError(f"{where}: column {name!r}{near_miss(name, known)} {expected}")
        if names.count(name) > 1:
            raise FileError(f"{where}: column {name!r} occurs twice")
    n = joints_of(names)
    if layout is not None and n != layout.n and n:
        raise FileError(f"{where}: has {counted(n)} (expected {layout.n}, those of the robot)")
    words = {word for word in ("qd", "qdd") if any(re.fullmatch(rf"{word}\d+", name) for name in names)}
    if words:
        words.add("qd")  # without which accelerations are of no use
    wanted = ["t", *(f"q{k}" for k in range(1, max(n, 1) + 1))]
    wanted += [f"{word}{k}" for word in sorted(words) for k in range(1, n + 1)]
    missing = [name for name in wanted if name not in names]
    if missing:
        raise FileError(f"{where}: column {missing[0]!r} is missing, of {counted(n)} {expected}")
    more = [name for name in names if name.startswith("q") and name not in wanted]
    if more:
        raise FileError(f"{where}: column {more[0]!r} belongs to no joint, of {n} {expected}")


def check_labels(where: str, names: list[str], layout: Layout) -> None:
    """The same for columns that are named after the robot's coordinates."""
    refuse_separator(where, names)
    known = ["t", *(name for word in MOTION for name in layout.columns(word))]
    words = [word for word in MOTION[1:] if any(name.startswith(f"{word}.") for name in names)]
    wanted = ["t", *layout.columns("q"), *(layout.columns("qd") if words else ())]
    wanted += layout.columns("qdd") if "qdd" in words else ()
    for name in names:
        motion = name.partition(".")[0] in MOTION
        if name not in known and (motion or not (name in ("trajectory", *IGNORED) or LABELLED.fullmatch(name))):
            raise FileError(f"{where}: column {name!r}{near_miss(name, known)} (expected {', '.join(known)})")
        if names.count(name) > 1:
            raise FileError(f"{where}: column {name!r} occurs twice")
    missing = [name for name in wanted if name not in names]
    if missing:
        raise FileError(f"{where}: column {missing[0]!r} is missing (expected {', '.join(wanted)})")


def refuse_separator(where: str, names: Sequence[str]) -> None:
    """One cell with semicolons or tabs in it is a table as spreadsheets write it in many countries."""
    for sign, word in ((";", "semicolons"), ("\t", "tabs")):
        if len(names) == 1 and sign in names[0]:
            raise FileError(f"{where}: {word} stand between the columns (expected commas, and points in numbers)")


def listed(names: Iterable[str], most: int = 12) -> str:
    names = list(map(str, names))
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def joints_of(names: list[str]) -> int:
    return sum(re.fullmatch(r"q\d+", name) is not None for name in names)


def check_times_of_rows(file: Path, lines: list[int], t: Floats) -> None:
    if t[0] != 0.0:
        raise FileError(f"{file}:{lines[0]}: column 't' begins at {t[0]:g} (expected 0: subtract it from all)")
    for line, before, here in zip(lines[1:], t[:-1], t[1:], strict=True):
        if not here > before:
            raise FileError(
                f"{file}:{line}: column 't' is {here:.9g}, after {before:.9g} in the row before (expected increasing"
                " times)"
            )
