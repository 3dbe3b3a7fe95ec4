"""Trajectories from tables of comma-separated numbers; errors begin with file:line."""

from __future__ import annotations

import csv
import os
import re
from pathlib import Path

import numpy as np

from ..errors import FileError, near_miss
from .checks import Floats, counted
from .pieces import hermite
from .splines import spline
from .trajectory import Trajectory

COLUMN = re.compile(r"(qdd|qd|q|tau|[mf][xyz]|radial|axial|tilting)([1-9]\d*)")  # of a joint; loads are ignored
IGNORED = ("energy", "work", "heat")  # other columns of recordings


def trajectory_from_csv(path: str | os.PathLike[str], *, ends: str | None = None) -> Trajectory:
    """The trajectory of a table with the header t, q1, q2, ... and, if known, qd1, ... and qdd1, ...

    With rates and accelerations it is of degree 5 between rows, with rates alone of degree 3 (its accelerations jump at
    the rows); both pass through what is given. With positions alone it is a spline, whose `ends` are as there. Times
    begin at 0. Lines that begin with # are comments. So the tables that `Loads.to_csv` and `Recording.save` write can
    be read: their other columns, torques, loads and energies, are ignored.
    """
    file = Path(path)
    names, lines, table = read_table(file)
    n = joints_of(names)
    check_times_of_rows(file, lines, table[:, names.index("t")])
    columns = {name: table[:, k] for k, name in enumerate(names)}
    orders = [name for name in ("q", "qd", "qdd") if f"{name}1" in columns]
    derivatives = np.array([[columns[f"{name}{k}"] for k in range(1, n + 1)] for name in orders]).transpose(0, 2, 1)
    if len(orders) == 1:
        try:
            curve = spline(columns["t"], derivatives[0], ends="clamped" if ends is None else ends)
        except ValueError as error:
            raise FileError(f"{file}: {error}") from None
        return Trajectory(curve.pieces, f"{curve.name} of {file.name}")
    if ends is not None:
        raise ValueError(f"ends is {ends!r}, but {file} gives the rates, which say how the motion begins and ends")
    return Trajectory((hermite(columns["t"], derivatives),), f"{len(lines)} rows of {file.name}")


def read_table(file: Path) -> tuple[list[str], list[int], Floats]:
    """The header's names, the line of each row, and the numbers."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise FileError(f"{file}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise FileError(f"{file}: is not text (expected a table of comma-separated numbers in UTF-8)") from None
    reader = csv.reader("" if line.startswith("#") else line for line in text.splitlines())
    names: list[str] = []
    line = 1
    lines, rows = [], []
    for row in reader:
        cells, line = [cell.strip() for cell in row], reader.line_num
        if not any(cells):
            continue
        if not names:
            names = cells
            check_header(f"{file}:{line}", names)
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


def number(file: Path, line: int, name: str, cell: str) -> float:
    try:
        x = float(cell)
    except ValueError:
        x = float("nan")
    if not np.isfinite(x):
        raise FileError(f"{file}:{line}: column {name!r} is {cell!r} (expected a finite number)")
    return x


def check_header(where: str, names: list[str]) -> None:
    """It must name each column once, and the same joints for q, qd and qdd."""
    expected = "(expected t, q1, q2, ... and, if known, qd1, ..., qdd1, ...)"
    for name in names:
        if name not in ("t", "trajectory", *IGNORED) and not COLUMN.fullmatch(name):
            raise FileError(f"{where}: column {name!r}{near_miss(name, ['t', 'q1', 'qd1', 'qdd1'])} {expected}")
        if names.count(name) > 1:
            raise FileError(f"{where}: column {name!r} occurs twice")
    n = joints_of(names)
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
