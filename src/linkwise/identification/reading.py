"""Recordings from whatever holds them: mappings, tables, files, recordings of simulations, and lists of these."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileError
from ..robot import Robot
from ..trajectories.csv_reader import csv_rows, refuse_separator
from .columns import columns_of
from .samples import Arrays, Samples, samples_of

QUANTITIES = ("t", "q", "qd", "qdd", "tau")


def recordings_of(
    arm: Robot,
    data: Any,
    columns: Mapping[str, Any] | None,
    period: float | None,
    degrees: bool,
    gains: Any,
    rates: bool = True,
    delay: float = 0.0,
) -> list[Samples]:
    """All recordings of `data`, each in its own samples; with rates and accelerations, if these are wanted."""
    many = isinstance(data, Sequence) and not isinstance(data, (str, bytes))
    items = list(data) if many else [data]
    if not items:
        raise ValueError("data is empty (expected at least one recording)")
    found = []
    for k, item in enumerate(items):
        name = f"recording {k + 1}" if many else "data"
        try:
            for values, called in contents(arm, item, columns, name):
                kept = values if rates else {**values, "qd": None, "qdd": None}
                found.append(samples_of(arm, kept, called, period, degrees, gains, delay))
        except ValueError as error:
            if isinstance(item, (str, os.PathLike)) and not isinstance(error, FileError):
                raise FileError(str(error)) from None
            raise
    return found


def contents(arm: Robot, item: Any, columns: Mapping[str, Any] | None, name: str) -> list[tuple[Arrays, str]]:
    """The arrays t, q, qd, qdd and tau of one item, or of each trajectory of a batch, with what to call them."""
    if isinstance(item, (str, os.PathLike)):
        return file_contents(arm, Path(item), columns)
    names = getattr(getattr(item, "dtype", None), "names", None)
    if names:  # a structured array
        item = {key: item[key] for key in names}
    if hasattr(item, "columns") and hasattr(item, "to_numpy") and not isinstance(item, Mapping):
        table = {str(key): item[key].to_numpy() for key in item.columns}
        return [(by_columns(arm, table, columns, name), name)]
    if hasattr(item, "keys") and hasattr(item, "__getitem__"):
        return [(of_mapping(arm, {str(key): item[key] for key in item.keys()}, columns, name), name)]  # noqa: SIM118
    if hasattr(item, "q") and hasattr(item, "tau"):
        return of_object(item, name)
    raise TypeError(
        f"{name} is {type(item).__name__} (expected a mapping or a DataFrame with t, q and tau, the path of a .csv or"
        " .npz file, a Recording, or a list of these)"
    )


def of_mapping(arm: Robot, values: Arrays, columns: Mapping[str, Any] | None, name: str) -> Arrays:
    """q and tau as arrays, or a column for each joint."""
    if "q" in values and (np.ndim(values["q"]) > 1 or arm.nq == 1) and columns is None:
        return {key: values.get(key) for key in QUANTITIES}
    table = {key: value for key, value in values.items() if np.ndim(value) == 1}
    if columns is None and not table:
        return {key: values.get(key) for key in QUANTITIES}
    return by_columns(arm, table, columns, name)


def by_columns(arm: Robot, table: Arrays, columns: Mapping[str, Any] | None, name: str) -> Arrays:
    found = columns_of(arm, list(table), columns, name)
    arrays: Arrays = {}
    for quantity, own in found.items():
        arrays[quantity] = table[own[0]] if quantity == "t" else np.stack([table[key] for key in own], axis=-1)
    for quantity in ("q", "tau"):
        if quantity not in arrays:
            currents = "; motor currents need gains=... too" if quantity == "tau" else ""
            some = ", ".join(list(table)[:12]) + (", ..." if len(table) > 12 else "")
            raise ValueError(
                f"{name}: no columns of {quantity} were recognised among {some} (expected {quantity}1, {quantity}2,"
                f" ..., or columns={{{quantity!r}: [...]}}{currents})"
            )
    return arrays


def of_object(item: Any, name: str) -> list[tuple[Arrays, str]]:
    """A recording of a simulation, of which what was not reached is left out; or what has the same attributes."""
    values = {key: getattr(item, key, None) for key in QUANTITIES}
    q = np.asarray(values["q"], dtype=float)
    if q.ndim <= 2:
        return [(reached(values, ()), name)]
    return [(reached(values, index), f"{name}, trajectory {list(index)}") for index in np.ndindex(q.shape[:-2])]


def reached(values: Arrays, index: tuple[int, ...]) -> Arrays:
    own = {key: np.asarray(value)[index] for key, value in values.items() if value is not None and key != "t"}
    finite = np.isfinite(own["q"]).all(axis=-1)
    count = len(finite) if finite.all() else int(np.argmin(finite))
    t = values["t"]
    return {"t": None if t is None else np.asarray(t)[:count], **{key: value[:count] for key, value in own.items()}}


def file_contents(arm: Robot, path: Path, columns: Mapping[str, Any] | None) -> list[tuple[Arrays, str]]:
    """Of a .npz file or a table of comma-separated numbers; errors name the file."""
    ending = path.suffix.lower()
    if ending == ".npz":
        try:
            with np.load(path) as file:
                values = {key: file[key] for key in file.files}
        except (OSError, ValueError) as error:
            raise FileError(f"{path}: cannot be read ({error})") from None
        if "q" in values and np.ndim(values["q"]) > 2:
            raise FileError(f"{path}: holds a batch of trajectories (expected lw.load_recording(path))")
        return [(of_mapping(arm, values, columns, str(path)), str(path))]
    if ending not in (".csv", ".txt"):
        raise FileError(f"{path}: cannot read {ending or 'files without an ending'} (expected .csv or .npz)")
    return [(by_columns(arm, csv_table(path), columns, str(path)), str(path))]


def csv_table(path: Path) -> Arrays:
    """The columns of a file by the names of its header; cells that are no numbers are an error with their line."""
    names: list[str] = []
    rows: list[list[float]] = []
    for line, row in csv_rows(path):
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        if not names:
            names = cells
            refuse_separator(f"{path}:{line}", names)
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                raise FileError(f"{path}:{line}: column {twice!r} occurs twice")
            continue
        if len(cells) != len(names):
            raise FileError(f"{path}:{line}: has {len(cells)} cells (expected {len(names)}, as the header has)")
        try:
            rows.append(list(map(float, cells)))
        except ValueError:
            rows.append([number_or_nan(cell) for cell in cells])
    if not rows:
        raise FileError(f"{path}: has no rows of numbers (expected a header, then a row for each sample)")
    return dict(zip(names, np.array(rows).T, strict=True))


def number_or_nan(cell: str) -> float:
    """Columns of text may stand in a table; those that are used are checked for numbers that are not finite."""
    try:
        return float(cell)
    except ValueError:
        return float("nan")
