"""Trajectories through points: the cubic spline with continuous accelerations, and tables read from files.

The spline is known by its rates d_j at the knots. With h_j = t_{j+1} − t_j and the slopes m_j = (q_{j+1} − q_j) / h_j,
accelerations that agree at the inner knots mean

    h_j d_{j−1} + 2 (h_{j−1} + h_j) d_j + h_{j−1} d_{j+1} = 3 (h_j m_{j−1} + h_{j−1} m_j)

and the ends add two equations: rates of zero (clamped), accelerations of zero (natural), or rates and accelerations
that agree with each other (periodic). C. de Boor, A Practical Guide to Splines, 1978, chapter IV.
"""

from __future__ import annotations

import csv
import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileError, near_miss, one_of
from .profiles import Floats, Trajectory, counted, hermite, numbers

ENDS = ("clamped", "natural", "periodic")
COLUMN = re.compile(r"(qdd|qd|q|tau|[mf][xyz]|radial|axial|tilting)([1-9]\d*)")  # of a joint; loads are passed over
PASSED_OVER = ("energy", "work", "heat")  # other columns of recordings
ALIKE = 1e-12  # how far apart, relative to the largest, the ends of a periodic spline may be: rounding


def spline(times: Any, points: Any, *, ends: str = "clamped") -> Trajectory:
    """The cubic spline through points (m, n) at m increasing times from 0 on: rates and accelerations are continuous.

    `ends` says how it begins and ends: "clamped" at rest, "natural" without acceleration, "periodic" as it began, ready
    to be run again (the last point is then the first).

    >>> wave = spline([0, 1, 2], [[0, 0], [1, 2], [0, 0]])
    >>> wave([0, 1, 2]).q
    array([[0., 0.],
           [1., 2.],
           [0., 0.]])
    """
    one_of(ends, ENDS, "ends")
    knots = numbers(times, "times")
    values = numbers(points, "points", dims=2)
    if len(knots) != len(values):
        raise ValueError(f"times has {len(knots)} numbers and points has {len(values)} rows (expected a row each)")
    check_times(knots)
    if ends == "periodic":
        check_periodic(values)
    name = f"{ends} spline through {len(knots)} points"
    return Trajectory((hermite(knots, np.stack([values, rates_at_knots(knots, values, ends)])),), name)


def check_times(knots: Floats) -> None:
    if len(knots) < 2:
        raise ValueError(f"times has {len(knots)} number (expected at least two points to move between)")
    if knots[0] != 0.0:
        raise ValueError(f"times[0] is {knots[0]:g} (expected 0, where trajectories begin: subtract it from all)")
    if not (np.diff(knots) > 0.0).all():
        k = int(np.argmin(np.diff(knots) > 0.0)) + 1
        raise ValueError(f"times[{k}] is {knots[k]:.9g}, after {knots[k - 1]:.9g} (expected increasing times)")


def check_periodic(values: Floats) -> None:
    if len(values) < 3:
        raise ValueError(f"points has {len(values)} rows (expected at least three for a periodic spline)")
    apart = np.abs(values[-1] - values[0]) > ALIKE * np.abs(values).max(axis=0)
    if apart.any():
        k = int(np.argmax(apart))
        raise ValueError(
            f"joint {k + 1} starts at {values[0, k]:.9g} and ends at {values[-1, k]:.9g} (a periodic spline must end"
            " where it starts)"
        )


def rates_at_knots(knots: Floats, values: Floats, ends: str) -> Floats:
    h = np.diff(knots)
    slope = np.diff(values, axis=0) / h[:, None]
    if ends == "periodic":
        h, slope = np.append(h[-1], h), np.concatenate([slope[-1:], slope])
    before, here, after = h[1:], 2.0 * (h[:-1] + h[1:]), h[:-1]
    right = 3.0 * (h[1:, None] * slope[:-1] + h[:-1, None] * slope[1:])
    if ends == "periodic":
        rates = solve_cyclic(before, here, after, right)
        return np.concatenate([rates, rates[:1]])
    first, last = ((1.0, 0.0), (0.0, 1.0)) if ends == "clamped" else ((2.0, 1.0), (1.0, 2.0))
    edges = (0.0 * slope[:1], 0.0 * slope[:1]) if ends == "clamped" else (3.0 * slope[:1], 3.0 * slope[-1:])
    return solve_tridiagonal(
        np.concatenate([[0.0], before, last[:1]]),
        np.concatenate([first[:1], here, last[1:]]),
        np.concatenate([first[1:], after, [0.0]]),
        np.concatenate([edges[0], right, edges[1]]),
    )


def solve_tridiagonal(before: Floats, here: Floats, after: Floats, right: Floats) -> Floats:
    """before[j] x[j−1] + here[j] x[j] + after[j] x[j+1] = right[j], rows (n,): diagonally dominant, so no pivoting."""
    factors, rows = [after[0] / here[0]], [right[0] / here[0]]
    for j in range(1, len(here)):
        pivot = here[j] - before[j] * factors[-1]
        factors.append(after[j] / pivot)
        rows.append((right[j] - before[j] * rows[-1]) / pivot)
    for j in reversed(range(len(here) - 1)):
        rows[j] = rows[j] - factors[j] * rows[j + 1]
    return np.array(rows)


def solve_cyclic(before: Floats, here: Floats, after: Floats, right: Floats) -> Floats:
    """The same in a ring, where the first row's `before` belongs to the last unknown and the last row's `after` to the
    first: the last unknown as a parameter, found from the last equation."""
    if len(here) == 2:
        ring = np.array([[here[0], before[0] + after[0]], [before[1] + after[1], here[1]]])
        return np.linalg.solve(ring, right)
    effect = np.zeros((len(here) - 1, 1))
    effect[0, 0], effect[-1, 0] = before[0], after[-2]
    both = solve_tridiagonal(before[:-1], here[:-1], after[:-1], np.concatenate([right[:-1], effect], axis=1))
    without, share = both[:, :-1], both[:, -1:]
    last = (right[-1] - before[-1] * without[-1] - after[-1] * without[0]) / (
        here[-1] - before[-1] * share[-1] - after[-1] * share[0]
    )
    return np.concatenate([without - share * last, last[None]])


def trajectory_from_csv(path: str | os.PathLike[str], *, ends: str | None = None) -> Trajectory:
    """The trajectory of a table with the header t, q1, q2, ... and, if known, qd1, ... and qdd1, ...

    With rates and accelerations it is of degree 5 between rows, with rates alone of degree 3 (its accelerations jump at
    the rows); both pass through what is given. With positions alone it is a spline, whose `ends` are as there. Times
    begin at 0. Lines that begin with # are comments. So the tables that `Loads.to_csv` and `Recording.save` write can
    be read: their other columns, torques, loads and energies, are passed over.
    """
    file = Path(path)
    names, lines, table = read_table(file)
    n = joints_of(names)
    check_column_of_times(file, lines, table[:, names.index("t")])
    columns = {name: table[:, k] for k, name in enumerate(names)}
    words = [word for word in ("q", "qd", "qdd") if f"{word}1" in columns]
    derivatives = np.array([[columns[f"{word}{k}"] for k in range(1, n + 1)] for word in words]).transpose(0, 2, 1)
    if len(words) == 1:
        try:
            found = spline(columns["t"], derivatives[0], ends="clamped" if ends is None else ends)
        except ValueError as error:
            raise FileError(f"{file}: {error}") from None
        return Trajectory(found.pieces, f"{found.name} of {file.name}")
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
        raise FileError(f"{file}: is no text (expected a table of comma-separated numbers in UTF-8)") from None
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
        found = float(cell)
    except ValueError:
        found = float("nan")
    if not np.isfinite(found):
        raise FileError(f"{file}:{line}: column {name!r} is {cell!r} (expected a finite number)")
    return found


def check_header(where: str, names: list[str]) -> None:
    """It must name each column once, and the same joints for q, qd and qdd."""
    expected = "(expected t, q1, q2, ... and, if known, qd1, ..., qdd1, ...)"
    for name in names:
        if name not in ("t", "trajectory", *PASSED_OVER) and not COLUMN.fullmatch(name):
            raise FileError(f"{where}: column {name!r}{near_miss(name, ['t', 'q1', 'qd1', 'qdd1'])} {expected}")
        if names.count(name) > 1:
            raise FileError(f"{where}: column {name!r} stands there twice")
    n = joints_of(names)
    given = {word for word in ("qd", "qdd") if any(re.fullmatch(rf"{word}\d+", name) for name in names)}
    if given:
        given.add("qd")  # without which accelerations are of no use
    wanted = ["t", *(f"q{k}" for k in range(1, max(n, 1) + 1))]
    wanted += [f"{word}{k}" for word in sorted(given) for k in range(1, n + 1)]
    missing = [name for name in wanted if name not in names]
    if missing:
        raise FileError(f"{where}: column {missing[0]!r} is missing, of {counted(n)} {expected}")
    more = [name for name in names if name.startswith("q") and name not in wanted]
    if more:
        raise FileError(f"{where}: column {more[0]!r} is of no joint, of which there are {n} {expected}")


def joints_of(names: list[str]) -> int:
    return sum(re.fullmatch(r"q\d+", name) is not None for name in names)


def check_column_of_times(file: Path, lines: list[int], t: Floats) -> None:
    if t[0] != 0.0:
        raise FileError(f"{file}:{lines[0]}: column 't' begins at {t[0]:g} (expected 0: subtract it from all)")
    for line, before, here in zip(lines[1:], t[:-1], t[1:], strict=True):
        if not here > before:
            raise FileError(
                f"{file}:{line}: column 't' is {here:.9g}, after {before:.9g} in the row before (expected increasing"
                " times)"
            )
