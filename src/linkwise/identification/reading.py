"""Recordings from mappings, tables, files, recordings of simulations, and lists of these; tables of text with commas,
or semicolons and decimal commas; a recording as a motion, for budgets and other functions.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ..array_files import read_npz
from ..errors import FileError, printable
from ..extras import import_optional
from ..printing import warn
from ..robot import Robot, require_robot
from ..robot.layout import join_names, reorder_columns
from ..robot.named_arrays import refuse_gradients
from ..tables import Row, is_number, parse_number, read_text, refuse_separator, split_rows
from .columns import columns_of, is_current, time_unit
from .filtering import (
    Filtering,
    candidates,
    check_filters,
    filtered_motion,
    has_rates,
    low_pass,
    smoothing_cutoff,
    without_short_parts,
)
from .recorded import Arrays, Recorded, Unit, plain, unit_of
from .samples import Samples, samples_of

SEMICOLON = ";"
MISSING = ("nan", "na", "n/a", "null", "none", "-")  # texts of missing numbers
Words = dict[str, tuple[int, str]]  # by column: the line of its first text, and that text


def csv_table(path: Path, numbered: bool = False) -> tuple[Arrays, Words, list[str]]:
    """The columns of a file by the names of its header, the text cells in them, and notes.

    `numbered`: the file may have no header; its columns are then called 0, 1, ...
    """
    names: list[str] = []
    rows: list[list[float]] = []
    words: Words = {}
    notes: list[str] = []
    table = rows_of(path)
    last = max((line for line, row in table if any(row)), default=0)
    for line, row in table:
        cells = [cell.strip() for cell in row]
        if not names and len(cells) > 1 and time_unit(cells[0].removeprefix("%")) is not None:
            cells[0] = cells[0].removeprefix("%")  # %time
        if not any(cells) or cells[0].startswith("%"):
            continue
        if not names:
            names = cells[:-1] if not cells[-1] else cells
            bare = all(map(is_number, names))
            if bare and not numbered:
                raise FileError(
                    f"{path}:{line}: the first row is of numbers (expected a header with the names of the columns, in a"
                    " line that is no comment: t, q1, ..., tau1, ...; or columns={'t': 0, 'q': [1, ...], 'tau': [...]}"
                    " by their numbers, from 0)"
                )
            refuse_separator(f"{path}:{line}", names)
            if bare:
                names, rows = [str(k) for k in range(len(names))], [list(map(float, names))]
                continue
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                raise FileError(f"{path}:{line}: column {twice!r} occurs twice")
            continue
        if len(cells) == len(names) + 1 and not cells[-1]:  # a comma ends each line
            cells.pop()
        if len(cells) < len(names) and line == last and rows:  # the logger was stopped
            notes.append(f"{path}:{line}: the last line is cut off and left out")
            continue
        if len(cells) != len(names):
            raise FileError(f"{path}:{line}: has {len(cells)} cells (expected {len(names)}, as the header has)")
        try:
            rows.append(list(map(parse_number, cells)))
        except ValueError:
            rows.append([number_or_nan(cell) for cell in cells])
            for name, cell in zip(names, cells, strict=True):
                if cell and name not in words and np.isnan(number_or_nan(cell)) and cell.lower() not in MISSING:
                    words[name] = line, cell
    if not rows:
        raise FileError(f"{path}: has no rows of numbers (expected a header, then a row for each sample)")
    return dict(zip(names, np.array(rows).T, strict=True)), words, notes


def rows_of(path: Path) -> list[Row]:
    """The rows of a file with their lines.

    Spreadsheets of many countries write semicolons between columns, and decimal commas. A table is read in this way if
    its header has only semicolons, and its numbers only commas or only points.
    """
    text = read_text(path)
    rows = split_rows(text)
    first = next((row for _, row in rows if any(row) and not row[0].startswith("%")), [])
    bare = is_numbers(",".join(first).split(SEMICOLON))
    if SEMICOLON not in "".join(first) or (len(first) > 1 and not bare):
        return rows
    parted = split_rows(text, SEMICOLON)
    header = 0 if bare else next(k for k, (_, row) in enumerate(parted) if any(row) and not row[0].startswith("%")) + 1
    points, commas = (any(sign in cell for _, row in parted[header:] for cell in row) for sign in ".,")
    if points and commas:
        return rows  # the decimal separator is not known
    numbers = [(line, [cell.replace(",", ".") for cell in row]) for line, row in parted[header:]]
    return [*parted[:header], *numbers]


def is_numbers(cells: Sequence[str]) -> bool:
    """Whether cells are numbers with decimal commas, as in a table without a header."""
    return all(is_number(cell.replace(",", ".")) for cell in cells if cell)


def number_or_nan(cell: str) -> float:
    """A cell as a number, or NaN: a table may have columns of text; only the columns that are used are checked."""
    try:
        return parse_number(cell)
    except ValueError:
        return float("nan")


OF_PANDAS = {".parquet": "read_parquet", ".feather": "read_feather", ".xlsx": "read_excel", ".pkl": "read_pickle"}
QUANTITIES = ("t", "q", "qd", "qdd", "tau")


def recordings_of(
    robot: Robot,
    data: Any,
    columns: Mapping[str, Any] | None = None,
    dt: float | None = None,
    degrees: bool = False,
    gains: Any = None,
    rates: bool = True,
    delay: float = 0.0,
    units: Mapping[str, Unit] | None = None,
) -> list[Samples]:
    """The samples of each recording of `data`, with rates and accelerations if requested."""
    many = isinstance(data, Sequence) and not isinstance(data, (str, bytes))
    items = list(data) if many else [data]
    if not items:
        raise ValueError("data is empty (expected at least one recording)")
    found: list[Samples] = []
    for k, item in enumerate(items):
        name = f"recording {k + 1}" if many else "data"
        try:
            for recorded in contents(robot, item, columns, name, gains is not None):
                if not rates:
                    recorded = recorded.without("qd", "qdd")
                if units:
                    recorded = replace(recorded, units={**recorded.units, **{key: [x] for key, x in units.items()}})
                found += samples_of(robot, recorded, dt, degrees, gains, delay)
        except ValueError as error:
            if type(error) is not ValueError:
                raise
            kind = FileError if isinstance(item, (str, os.PathLike)) else ValueError
            raise kind(printable(str(error))) from None
    return found


def contents(
    robot: Robot, item: Any, columns: Mapping[str, Any] | None, name: str, currents: bool = False
) -> list[Recorded]:
    """The arrays t, q, qd, qdd and tau of one item, or of each trajectory of a batch."""
    if isinstance(item, (str, os.PathLike)):
        return [file_contents(robot, Path(item), columns, currents)]
    names = getattr(getattr(item, "dtype", None), "names", None)
    if names:  # a structured array
        item = {key: item[key] for key in names}
    if hasattr(item, "columns") and hasattr(item, "to_numpy") and not isinstance(item, Mapping):
        found = by_columns(robot, frame_table(item, columns, name), columns, name, currents)
        return [replace(found, index=hasattr(item, "index"))]
    if hasattr(item, "keys") and hasattr(item, "__getitem__"):
        table = {str(key): item[key] for key in item.keys()}  # noqa: SIM118
        return [by_columns(robot, table, columns, name, currents)]
    if hasattr(item, "q") and hasattr(item, "tau"):
        return of_object(item, name)
    raise TypeError(
        f"{name} is {type(item).__name__} (expected a mapping or a DataFrame with t, q and tau, the path of a .csv or"
        " .npz file, a Recording, or a list of these)"
    )


def frame_table(frame: Any, columns: Mapping[str, Any] | None, name: str) -> Arrays:
    """The columns of a DataFrame, and its index if that is the time, by its name or as dates."""
    table: Arrays = {}
    for key in frame.columns:
        label = "_".join(str(part) for part in key if str(part)) if isinstance(key, tuple) else str(key)
        values = frame[key]
        if label in table or np.ndim(values) != 1:
            raise ValueError(f"{name}: column {label!r} occurs twice (expected each once)")
        table[label] = values.to_numpy()
    index = getattr(frame, "index", None)
    named_time = isinstance(columns, Mapping) and "t" in columns
    if index is None or (named_time and columns["t"] != getattr(index, "name", None)):  # type: ignore[index]
        return table
    label = "t" if index.name is None else str(index.name)
    dates = getattr(getattr(index, "dtype", None), "kind", "") in ("M", "m")
    if label not in table and (named_time or dates or (index.name is not None and time_unit(label) is not None)):
        table[label if named_time or time_unit(label) is not None else "t"] = index.to_numpy()
    return table


def by_columns(
    robot: Robot,
    table: Arrays,
    columns: Mapping[str, Any] | None,
    name: str,
    currents: bool = False,
    words: Words | None = None,
) -> Recorded:
    """The arrays of each quantity, from a column for each joint or one for all joints; None if not recorded.

    `words`: the text cells in columns of a file.
    """
    given = table
    table = {key: array_of(value, key, name) for key, value in table.items() if value is not None}
    for key, value in table.items():
        if np.ndim(value) == 2 and np.shape(value)[1] == 1 and time_unit(key) is not None:
            table[key] = value[:, 0]
    single = [key for key, value in table.items() if np.ndim(value) == 1]
    blocks = [key for key, value in table.items() if np.ndim(value) > 1]
    found, units = columns_of(robot, single, columns, name, blocks, currents)
    arrays: Arrays = {}
    for quantity, own in found.items():
        if quantity == "t":
            arrays[quantity] = table[own[0]]
        elif own[0] in blocks:
            arrays[quantity] = array_of(reorder_columns(robot, quantity, given[own[0]]), own[0], name)
        else:
            arrays[quantity] = stacked(table, own, name)
    for quantity in ("q", "tau"):
        if quantity not in arrays:
            refuse_missing(quantity, table, blocks, name, currents)
    text = {quantity: word for quantity, own in found.items() if (word := first_word(own, words or {}))}
    return Recorded(arrays, name, units, tuple(table), text=text)


def first_word(columns: Sequence[str], words: Words) -> str:
    """A message on the first of these columns that has text, with its line; empty if all are numbers."""
    found = [(*words[name], name) for name in columns if name in words]
    if not found:
        return ""
    line, word, name = min(found)
    unit = unit_of(word)
    hint = f"; a unit belongs to the header: {f'{name} [{word}]'!r}" if unit is not None and unit.of else ""
    return f"{line}: column {name!r} is {word!r} (expected a number{hint})"


def array_of(value: Any, key: str, name: str) -> np.ndarray:
    refuse_gradients(f"{name}: {key}", value)
    try:
        return plain(value)
    except ValueError:
        raise ValueError(f"{name}: {key} has rows of different lengths (expected an array)") from None


def stacked(table: Arrays, columns: list[str], name: str) -> np.ndarray:
    sizes = {len(table[key]) for key in columns}
    if len(sizes) > 1:
        lengths = ", ".join(f"{key!r} {len(table[key])}" for key in columns)
        raise ValueError(f"{name}: columns have different lengths: {lengths} (expected a value for each sample)")
    return np.stack([table[key] for key in columns], axis=-1)


def refuse_missing(quantity: str, table: Arrays, blocks: list[str], name: str, currents: bool) -> NoReturn:
    hint = ""
    if quantity == "tau" and not currents and any(is_current(key) for key in table):
        hint = "; motor currents need gains=..., the factors to torques"
    elif quantity == "tau" and not currents:
        hint = "; motor currents need gains=... too"
    if blocks or not table:
        raise ValueError(
            f"{name}: there is no {quantity!r} (expected t, q and tau and, if recorded, qd and qdd, or"
            f" columns={{{quantity!r}: ...}}; there is {join_names(table) or 'nothing'}{hint})"
        )
    raise ValueError(
        f"{name}: no columns of {quantity} were recognised among {join_names(table)} (expected {quantity}1,"
        f" {quantity}2, ..., or columns={{{quantity!r}: [...]}}{hint})"
    )


def of_object(item: Any, name: str) -> list[Recorded]:
    """A recording of a simulation up to the time that it reached, or an object with the same attributes."""
    values = {key: getattr(item, key, None) for key in QUANTITIES}
    for key, value in values.items():
        refuse_gradients(f"{name}: {key}", value)
    simulated = bool(getattr(type(item), "simulated", False))
    for acting, what in (("wrench", "a wrench that acted"), ("base", "a base that moved")):
        if simulated and getattr(item, acting) is not None:
            raise ValueError(f"{name} is a simulation with {what}, which joint torques do not show (expected none)")
    units: dict[str, list[Unit | None]] = {"t": [unit_of("s")]} if simulated else {}
    q = np.asarray(values["q"], dtype=float)
    if q.ndim <= 2:
        return [Recorded(reached(values, ()), name, units, simulated=simulated)]
    indices = np.ndindex(q.shape[:-2])
    return [
        Recorded(reached(values, index), f"{name}, trajectory {list(index)}", units, simulated=simulated)
        for index in indices
    ]


def reached(values: Arrays, index: tuple[int, ...]) -> Arrays:
    own = {key: plain(value)[index] for key, value in values.items() if value is not None and key != "t"}
    finite = np.isfinite(np.asarray(values["q"], dtype=float)[index]).all(axis=-1)
    count = len(finite) if finite.all() else int(np.argmin(finite))
    t = values["t"]
    return {"t": None if t is None else np.asarray(t)[:count], **{key: value[:count] for key, value in own.items()}}


def file_contents(robot: Robot, path: Path, columns: Mapping[str, Any] | None, currents: bool) -> Recorded:
    """The contents of a .npz file or a table of comma-separated numbers; errors name the file."""
    ending = path.suffix.lower()
    if ending == ".npz":
        try:
            values = read_npz(path.read_bytes())
        except (OSError, ValueError) as error:
            raise FileError(f"{path}: cannot be read ({error})") from None
        if "q" in values and np.ndim(values["q"]) > 2:
            raise FileError(f"{path}: holds a batch of trajectories (expected lw.load_recording(path))")
        return by_columns(robot, values, columns, str(path), currents)
    if ending in OF_PANDAS:
        try:
            frame = getattr(import_optional("pandas", extra="identify"), OF_PANDAS[ending])(path)
        except (OSError, ValueError) as error:
            raise FileError(f"{path}: cannot be read ({error})") from None
        return by_columns(robot, frame_table(frame, columns, str(path)), columns, str(path), currents)
    if ending not in (".csv", ".txt"):
        expected = ", ".join((".csv", ".npz", *OF_PANDAS))
        raise FileError(f"{path}: cannot read {ending or 'files without an ending'} (expected {expected})")
    table, words, notes = csv_table(path, by_number(columns))
    return replace(by_columns(robot, table, columns, str(path), currents, words), notes=tuple(notes))


def by_number(columns: Mapping[str, Any] | None) -> bool:
    """Whether columns are given by numbers, for a table without a header."""
    given = columns.values() if isinstance(columns, Mapping) else ()
    flat = [name for own in given for name in ([own] if isinstance(own, (str, int)) else own)]
    return bool(flat) and all(str(name).strip().isdecimal() for name in flat)


class Log(NamedTuple):
    """A recording in SI units at equal times t (N,), every dt seconds: q (N, nq), tau, qd and qdd (N, n), or None.

    `notes` describe changes: units, gaps, jitter, angles that wrapped.
    """

    t: np.ndarray
    q: np.ndarray
    tau: np.ndarray
    qd: np.ndarray | None
    qdd: np.ndarray | None
    dt: float
    notes: tuple[str, ...]


def read_log(
    robot: Robot,
    log: Any,
    *,
    columns: Mapping[str, Any] | None = None,
    units: Mapping[str, str] | None = None,
    degrees: bool = False,
    dt: float | None = None,
    gains: Any = None,
) -> list[Log]:
    """The recordings of a log of another program, in SI units at equally spaced times.

    Parameters
    ----------
    robot : Robot
        The robot whose joints the columns belong to.
    log : path, DataFrame or mapping
        .csv, .npz, or what pandas reads: .parquet, .feather, .xlsx, .pkl.
    columns : mapping, optional
        Names of columns, {"t": "clock", "q": [...], "tau": [...]}; default: recognised.
    units : mapping, optional
        Units of quantities whose columns name none: {"t": "ms", "q": "deg", "tau": "mNm"}.
    degrees : bool
        Angles whose columns say no unit are in degrees.
    dt : float, optional
        Seconds between rows, where there is no time.
    gains : optional
        Factors from recorded motor currents to torques.

    Returns
    -------
    list of Log
        One for each part between long gaps. `lw.identify` takes the list.

    Examples
    --------
    >>> import numpy as np, linkwise as lw
    >>> arm, t = lw.load("planar3"), np.arange(100.0)
    >>> table = {"clock": 10 * t, **{f"{x}{k}": np.sin(0.1 * t) for x in ("q", "tau") for k in (1, 2, 3)}}
    >>> (log,) = lw.identification.read_log(arm, table, columns={"t": "clock"}, units={"t": "ms", "q": "deg"})
    >>> log.dt, float(log.q.max().round(4)), log.notes
    (0.01, 0.0174, ('data: converted by the names of the columns: t from ms, q from deg',))
    """
    require_robot(robot)
    given = {}
    for quantity, text in (units or {}).items():
        unit = unit_of(text)
        if quantity not in QUANTITIES or unit is None:
            raise ValueError(
                f"units has {quantity!r}: {text!r} (expected units of {', '.join(QUANTITIES)}, such as 'deg')"
            )
        given[quantity] = unit
    samples = recordings_of(robot, log, columns, dt, degrees, gains, units=given)
    return [Log(r.t, r.q, r.tau, r.qd, r.qdd, r.dt, r.notes) for r in samples]


class MeasuredMotion(NamedTuple):
    """Equal times t (N,), and there q (N, nq), qd, qdd and tau (N, n), all through the same filter.

    `cutoff` is that of the filter in Hz; None: as recorded. `notes` describe conversions and suspicious data.
    """

    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray
    cutoff: float | None
    notes: tuple[str, ...]


def measured_motion(
    robot: Robot,
    data: Any,
    *,
    columns: Mapping[str, Any] | None = None,
    dt: float | None = None,
    degrees: bool = False,
    gains: Any = None,
    delay: float = 0.0,
    recorded_rates: bool = True,
    cutoff: float | None = None,
) -> MeasuredMotion:
    """Positions, rates, accelerations and torques of a recording, as `lw.identify` reads and filters it.

    `data` and the keywords are those of `lw.identify`: a file, a DataFrame, a mapping with t, q and tau. Rates and
    accelerations that were not recorded are those of the filtered positions; by default `cutoff` (Hz) is the one that
    separates positions best from noise. The ends that the filter needs are cut off; of a recording with long gaps the
    longest part is taken, with a warning.

    >>> import numpy as np, linkwise as lw
    >>> arm, t = lw.load("planar3"), np.linspace(0, 2, 1001)
    >>> q = np.sin(np.outer(t, [3.0, 2.0, 4.0]))
    >>> run = lw.identification.measured_motion(arm, {"t": t, "q": q, "tau": 0 * q})
    >>> bool(abs(run.qdd + [9, 4, 16] * run.q)[50:-50].max() < 0.01)
    True
    >>> print(lw.budget(arm, run.q, run.qd, run.qdd, t=run.t).joint("link3", by="kinds").when)
    t = ...
    """
    require_robot(robot)
    samples = recordings_of(robot, data, columns, dt, degrees, gains, recorded_rates, delay)
    check_filters(min(recording.rate for recording in samples), cutoff, None)
    if cutoff is None and not has_rates(samples):
        longest = max(samples, key=lambda recording: len(recording.q))
        cutoff = smoothing_cutoff(longest.q, longest.rate, candidates(samples))
    samples, _ = without_short_parts(samples, Filtering(cutoff, 1, samples[0].rate, ""))
    longest = max(samples, key=lambda recording: len(recording.q))
    if len(samples) > 1:
        warn(f"{longest.name}: the longest of {len(samples)} parts or recordings; the others are left out")
    motion = filtered_motion(robot, longest, cutoff)
    cut = (len(longest.q) - len(motion.t)) // 2
    tau = low_pass(longest.tau, longest.rate, cutoff)[cut : len(longest.q) - cut]
    tau = np.where(longest.unmeasured & ~longest.unmeasured.all(), np.nan, tau)
    notes = tuple(note for recording in samples for note in recording.notes)
    return MeasuredMotion(motion.t, motion.q, motion.qd, motion.qdd, tau, cutoff, notes)
