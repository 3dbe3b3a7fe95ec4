"""The contents of a recording's file, common to all formats: values by name, a table of samples, a checksum."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ..errors import FileError
from ..formats import toml
from ..robot import Robot
from ..robot.layout import Layout

VERSION = 1
HEAD = "Linkwise recording"
RESERVED = (HEAD, "sha256", "robot", "regrouped", "batch")
PER_JOINT = ("q", "qd", "qdd", "tau")
COLUMNS = (*PER_JOINT, "energy", "work", "heat")  # of a table, after t
KINDS = "biufU"  # of arrays that files may hold: numbers, truth values and text
READING = (ValueError, TypeError, KeyError, OSError, EOFError, RuntimeError, MemoryError, zipfile.BadZipFile)
PARSING = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
Values = dict[str, Any]  # the fields of a recording by name, and what is derived


def digest(values: Values) -> str:
    """A checksum of names, shapes and bits; all NaNs count as equal."""
    total = hashlib.sha256()
    for name in sorted(values):
        value = values[name]
        if isinstance(value, np.ndarray) and value.dtype.kind in KINDS:
            total.update(f"{name} {value.dtype.newbyteorder('<').str} {value.shape}\n".encode())
            plain = np.where(np.isnan(value), np.nan, value) if value.dtype.kind == "f" else value
            total.update(np.ascontiguousarray(plain, plain.dtype.newbyteorder("<")).tobytes())
        else:
            total.update(f"{name} {json.dumps(packed(value, name))}\n".encode())
    return total.hexdigest()


def packed(value: Any, name: str) -> Any:
    """A value as JSON; tuples, dictionaries and arrays are marked as such. Floats keep every bit there."""
    if isinstance(value, np.ndarray) and value.dtype.kind in KINDS:
        return {"array": value.tolist(), "dtype": value.dtype.str, "shape": list(value.shape)}
    if isinstance(value, (list, tuple)):
        items = [packed(item, name) for item in value]
        return {"tuple": items} if isinstance(value, tuple) else items
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": {key: packed(item, name) for key, item in value.items()}}
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"recording.{name} holds a {type(value).__name__}, which files cannot hold (expected numbers)")


def unpacked(value: Any) -> Any:
    if isinstance(value, list):
        return [unpacked(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        dtype = np.dtype(value["dtype"])
        if dtype.kind not in KINDS:
            raise ValueError(f"an array of {dtype} (expected numbers or text)")
        return np.array(value["array"], dtype).reshape(value["shape"])
    if "tuple" in value:
        return tuple(unpacked(value["tuple"]))
    return {key: unpacked(item) for key, item in value["dict"].items()}


def described(path: Path, text: bytes) -> tuple[dict[str, Any], Values]:
    """The entries of a JSON text: about the file, and values."""
    try:
        entries = json.loads(text)
        return checked(path, {name: x if name in RESERVED else unpacked(x) for name, x in entries.items()})
    except PARSING as problem:
        if isinstance(problem, FileError):
            raise
        fail(path, f"has no valid description of a recording ({problem})")


def checked(path: Path, entries: dict[str, Any]) -> tuple[dict[str, Any], Values]:
    if HEAD not in entries:
        fail(path, "is not a recording (expected a file that Recording.save wrote)")
    if entries[HEAD] != VERSION:
        fail(path, f"is a recording of version {entries[HEAD]} (this Linkwise reads version {VERSION})")
    about = {name: entries[name] for name in RESERVED if name in entries}
    return about, {name: value for name, value in entries.items() if name not in RESERVED}


def table(values: Values, layout: Layout) -> dict[str, np.ndarray]:
    """Columns in order: [trajectory,] t, q1, q2, ..., qd1, ..., energy and, if integrated, work and heat.

    Where joints have several degrees of freedom the columns are q.base.x, ..., qd.base.wx, ...
    """
    t, q = values["t"], values["q"]
    batch, count = q.shape[:-2], int(np.prod(q.shape[:-2], dtype=int))
    columns = {"trajectory": np.repeat(np.arange(count), len(t))} if batch else {}
    columns["t"] = np.tile(t, count)
    for name in COLUMNS:
        if name in PER_JOINT:
            by_joint = values[name].reshape(-1, values[name].shape[-1]).T
            columns |= dict(zip(layout.columns(name), by_joint, strict=True))
        elif name in values:
            columns[name] = values[name].ravel()
    return columns


def beside(about: dict[str, Any], values: Values) -> dict[str, Any]:
    """What a table cannot hold; the times too if it has no rows to hold them."""
    batch = values["q"].shape[:-2]
    inside = COLUMNS if 0 in batch else ("t", *COLUMNS)
    rest = {name: packed(value, name) for name, value in values.items() if name not in inside}
    return {**about, "batch": list(batch), **rest}


def untabled(path: Path, about: dict[str, Any], values: Values, columns: dict[str, np.ndarray]) -> Values:
    """Values from the columns of a table, which must be those that `table` makes."""
    named = any(label.startswith("q.") for label in columns)
    layout = Layout.of(robot_of(path, about)) if named else Layout.numbered(sum(word_of(x) == "q" for x in columns))
    try:
        batch = tuple(map(int, about["batch"]))
        count = int(np.prod(batch, dtype=int))
        t = columns["t"] if not count or not batch else columns["t"].reshape(count, -1)[0]
        restored = dict(values) if not count else {**values, "t": np.array(t, float)}
        shape = (*batch, len(restored["t"]))
        for name in COLUMNS:
            if name in PER_JOINT:
                joints = [column for label, column in columns.items() if word_of(label) == name]
                restored[name] = np.stack(joints, axis=-1).reshape((*shape, len(joints)))
            elif name in columns:
                restored[name] = columns[name].reshape(shape)
        expected = table(restored, layout)
    except (KeyError, ValueError, TypeError) as problem:
        fail(path, f"its rows and columns do not make a recording ({problem})")
    if list(expected) != list(columns):
        fail(path, f"has columns {', '.join(columns)} (expected {', '.join(expected)})")
    for name in ("trajectory", "t"):
        if name in expected and not np.array_equal(expected[name], columns[name]):
            fail(path, f"column {name} does not run through the same times for each trajectory")
    return restored


def word_of(label: str) -> str:
    """What a column holds: the q of q1 or of q.base.x."""
    return label.partition(".")[0].rstrip("0123456789")


def robot_of(path: Path, about: dict[str, Any]) -> Robot:
    try:
        robot = toml.from_text(about["robot"], Path(f"{path}, the robot in it"))
    except (KeyError, TypeError, AttributeError):
        fail(path, "holds no robot")
    return robot.regrouped() if about.get("regrouped") else robot


def fail(path: Path, message: str, line: int | None = None) -> NoReturn:
    raise FileError(f"{path}{'' if line is None else f':{line}'}: {message}") from None
