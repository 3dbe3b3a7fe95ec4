"""Recordings in files, and back from them to the last bit.

    .npz      every array under its own name; the rest, as JSON, in the bytes of `about`
    .csv      a row for each sample, in front the number of the trajectory if there are several; the rest in # lines
    .parquet  the same table; the rest, as JSON, in the metadata of its schema

A file holds the robot's own table, torques, accelerations and energy, so that nothing else is needed to read it, and a
sum (SHA-256) over all of that: a file that was changed, cut or spoiled is refused. Nothing in a file is ever executed.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np

from ..errors import FileError, RobotError
from ..files import saving
from ..formats import toml
from ..robot import Robot
from .recording import EventRecord, Recording

VERSION = 1
HEAD = "Linkwise recording"
DERIVED = ("tau", "qdd", "energy", "wrench", "point")  # what a recording can say only as long as it knows what acted
PER_JOINT = ("q", "qd", "qdd", "tau")
COLUMNS = (*PER_JOINT, "energy", "work", "heat")  # of a table, after t
KINDS = "biufU"  # of arrays that files may hold: numbers, truth values and text
NO_PARQUET = "pyarrow is not installed: pip install pyarrow, or linkwise[parquet]"
SPOILED = (ValueError, TypeError, KeyError, OSError, EOFError, RuntimeError, MemoryError, zipfile.BadZipFile)
Values = dict[str, Any]  # the fields of a recording by name, and what is derived


def save(recording: Recording, path: str | os.PathLike[str]) -> None:
    target = Path(path)
    if target.suffix.lower() not in FORMATS:
        fail(target, f"cannot write {target.suffix or 'files without an ending'} (expected {', '.join(FORMATS)})")
    write, _ = FORMATS[target.suffix.lower()]
    values = values_of(recording)
    try:
        robot = robot_entry(recording.robot)
    except RobotError as problem:
        fail(target, str(problem))
    about = {HEAD: VERSION, "sha256": digest({**values, **robot}), **robot}
    with saving(target) as file:
        write(file, about, values)


def load_recording(path: str | os.PathLike[str], robot: Robot | None = None) -> Recording:
    """A recording that `Recording.save` wrote, as it was to the last bit.

    Its robot is made anew from the table in the file. If a robot is given, it must be that one, and becomes the
    recording's. Files that were damaged or changed are refused.

    >>> import tempfile, linkwise as lw
    >>> fall = lw.simulate(lw.load("planar3"), [0, 0, 0], [0, 0, 0], 1.0, samples=11)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fall.save(f"{folder}/fall.csv")
    ...     lw.load_recording(f"{folder}/fall.csv") == fall
    True
    """
    source = Path(path)
    if source.suffix.lower() not in FORMATS:
        fail(source, f"cannot read {source.suffix or 'files without an ending'} (expected {', '.join(FORMATS)})")
    _, read = FORMATS[source.suffix.lower()]
    try:
        content = source.read_bytes()
    except OSError as problem:
        fail(source, f"cannot be read ({problem.strerror})")
    about, values = read(source, content)
    summed = {**values, **{word: about[word] for word in about if word in ("robot", "regrouped")}}
    if digest(summed) != about.get("sha256"):
        fail(source, "was damaged or changed since it was written (its numbers do not give the sum it states)")
    return restored(source, about, values, robot)


def event_records(events: Any) -> Any:
    """`EventRecord`s, in the same nesting, of the plain tuples that a file holds."""
    if not events or isinstance(events[0], tuple):
        return tuple(map(event_records, events))
    return EventRecord(*events)


def values_of(recording: Recording) -> Values:
    """All that a file is to hold, without the robot; what is as it would be anyway is left out."""
    values: Values = {}
    for each in fields(Recording):
        value = getattr(recording, each.name)
        if each.name not in ("robot", "acting", "end") and (each.default is MISSING or value is not each.default):
            values[each.name] = value
    values |= {name: getattr(recording, name) for name in DERIVED if getattr(recording, name) is not None}
    return values | {name: np.asarray(values[name], float) for name in ("t", *COLUMNS) if name in values}


def restored(path: Path, about: dict[str, Any], values: Values, robot: Robot | None) -> Recording:
    known = {each.name: each for each in fields(Recording)}
    strange = [name for name in values if name not in known and name not in DERIVED]
    needed = [name for name, each in known.items() if each.default is MISSING and name != "robot"]
    lost = [name for name in (*needed, *DERIVED[:3]) if name not in values]
    if strange or lost:
        fail(path, f"{'holds unknown' if strange else 'lacks'} {', '.join(strange or lost)}")
    stored = robot_of(path, about)
    if robot is not None and robot != stored:
        fail(
            path,
            f"holds robot {stored.name!r}, which is not the robot {robot.name!r} given: {difference(stored, robot)}",
        )
    values = {**values, "events": event_records(values.get("events", ()))}
    recording = Recording(stored if robot is None else robot, **{k: v for k, v in values.items() if k in known})
    vars(recording).update({k: v for k, v in values.items() if k not in known})  # where cached properties look first
    return recording


def robot_entry(robot: Robot) -> dict[str, Any]:
    """The robot's table, and whether its parameters were regrouped; an error if that does not give the robot again."""
    text = toml.written(robot)
    again = toml.parsed(text, Path(robot.name))
    if again == robot:
        return {"robot": text}
    if again.regrouped() == robot:
        return {"robot": text, "regrouped": True}
    raise FileError(f"robot {robot.name!r} has other numbers than its table, which no file can hold")


def robot_of(path: Path, about: dict[str, Any]) -> Robot:
    try:
        robot = toml.parsed(about["robot"], Path(f"{path}, the robot in it"))
    except (KeyError, TypeError, AttributeError):
        fail(path, "holds no robot")
    return robot.regrouped() if about.get("regrouped") else robot


def difference(stored: Robot, given: Robot) -> str:
    if stored.n != given.n:
        return f"{stored.n} joints, not {given.n}"
    for ours, theirs in zip(stored.links, given.links, strict=True):
        if ours != theirs:
            return (
                f"link {ours.name!r} is another" if ours.name == theirs.name else f"{ours.name!r}, not {theirs.name!r}"
            )
    return "gravity is another" if stored.gravity != given.gravity else "its frames are others"


def digest(values: Values) -> str:
    """A sum over names, shapes and bits; any NaN is as good as another."""
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
    """A value in JSON's words; tuples, dictionaries and arrays are marked as such. Floats keep every bit there."""
    if isinstance(value, np.ndarray) and value.dtype.kind in KINDS:
        return {"array": value.tolist(), "dtype": value.dtype.str, "shape": list(value.shape)}
    if isinstance(value, (list, tuple)):
        inside = [packed(each, name) for each in value]
        return {"tuple": inside} if isinstance(value, tuple) else inside
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": {key: packed(each, name) for key, each in value.items()}}
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"recording.{name} holds a {type(value).__name__}, which files cannot hold (expected numbers)")


def unpacked(value: Any) -> Any:
    if isinstance(value, list):
        return [unpacked(each) for each in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        dtype = np.dtype(value["dtype"])
        if dtype.kind not in KINDS:
            raise ValueError(f"an array of {dtype} (expected numbers or text)")
        return np.array(value["array"], dtype).reshape(value["shape"])
    if "tuple" in value:
        return tuple(unpacked(value["tuple"]))
    return {key: unpacked(each) for key, each in value["dict"].items()}


def write_npz(file: BinaryIO, about: dict[str, Any], values: Values) -> None:
    arrays: Values = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    text = json.dumps({**about, **{name: packed(values[name], name) for name in values if name not in arrays}})
    np.savez(file, about=np.frombuffer(text.encode(), np.uint8), **arrays)


def read_npz(path: Path, content: bytes) -> tuple[dict[str, Any], Values]:
    if not content.startswith(b"PK"):
        fail(path, "is no NumPy archive (expected a .npz file that Recording.save wrote)")
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as found:
            arrays = {name: found[name] for name in found.files}
    except SPOILED as problem:
        fail(path, f"is a damaged archive ({problem})")
    if "about" not in arrays:
        fail(path, "is an archive of something else: it holds no 'about' (expected what Recording.save writes)")
    about, values = described(path, arrays.pop("about").tobytes())
    return about, {**values, **arrays}


def described(path: Path, text: bytes) -> tuple[dict[str, Any], Values]:
    """What a JSON text says: about the file, and values."""
    try:
        said = json.loads(text)
        return checked(path, {name: entry if name in RESERVED else unpacked(entry) for name, entry in said.items()})
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
        if isinstance(problem, FileError):
            raise
        fail(path, f"does not describe itself as a recording does ({problem})")


RESERVED = (HEAD, "sha256", "robot", "regrouped", "batch")


def checked(path: Path, said: dict[str, Any]) -> tuple[dict[str, Any], Values]:
    if HEAD not in said:
        fail(path, "is no recording (expected a file that Recording.save wrote)")
    if said[HEAD] != VERSION:
        fail(path, f"is a recording of version {said[HEAD]} (this Linkwise reads version {VERSION})")
    about = {name: said[name] for name in RESERVED if name in said}
    return about, {name: value for name, value in said.items() if name not in RESERVED}


def table(values: Values) -> dict[str, np.ndarray]:
    """Columns in order: [trajectory,] t, q1, q2, ..., qd1, ..., energy and, where they were found, work and heat."""
    t, q = values["t"], values["q"]
    batch, count = q.shape[:-2], int(np.prod(q.shape[:-2], dtype=int))
    columns = {"trajectory": np.repeat(np.arange(count), len(t))} if batch else {}
    columns["t"] = np.tile(t, count)
    for name in COLUMNS:
        if name in PER_JOINT:
            by_joint = values[name].reshape(-1, q.shape[-1]).T
            columns |= {f"{name}{k}": column for k, column in enumerate(by_joint, 1)}
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
    try:
        batch = tuple(map(int, about["batch"]))
        count = int(np.prod(batch, dtype=int))
        t = columns["t"] if not count or not batch else columns["t"].reshape(count, -1)[0]
        found = dict(values) if not count else {**values, "t": np.array(t, float)}
        shape = (*batch, len(found["t"]))
        for name in COLUMNS:
            if name in PER_JOINT:
                joints = [column for word, column in columns.items() if word.rstrip("0123456789") == name]
                found[name] = np.stack(joints, axis=-1).reshape((*shape, len(joints)))
            elif name in columns:
                found[name] = columns[name].reshape(shape)
        whole = table(found)
    except (KeyError, ValueError, TypeError) as problem:
        fail(path, f"its rows and columns do not make a recording ({problem})")
    if list(whole) != list(columns):
        fail(path, f"has columns {', '.join(columns)} (expected {', '.join(whole)})")
    for name in ("trajectory", "t"):
        if name in whole and not np.array_equal(whole[name], columns[name]):
            fail(path, f"column {name} does not run through the same times for each trajectory")
    return found


def to_pandas(recording: Recording) -> Any:
    try:
        import pandas
    except ImportError:
        raise ImportError("pandas is not installed: pip install pandas, or linkwise[pandas]") from None
    return pandas.DataFrame(table(values_of(recording)))


def write_csv(file: BinaryIO, about: dict[str, Any], values: Values) -> None:
    columns = table(values)
    entries = beside(about, values)
    lines = [f"# {HEAD}: {entries.pop(HEAD)}"]
    lines += [f"# robot: {line}" for line in entries.pop("robot").rstrip("\n").split("\n")]
    lines += [f"# {name}: {json.dumps(value)}" for name, value in entries.items()]
    lines += [",".join(columns), ""]
    file.write("\n".join(lines).encode())
    rows, length = len(columns["t"]), max(1, len(values["t"]))
    for start in range(0, rows, length):
        part = zip(*(column[start : start + length].tolist() for column in columns.values()), strict=True)
        file.write("".join(",".join(map(repr, row)) + "\n" for row in part).encode())


def read_csv(path: Path, content: bytes) -> tuple[dict[str, Any], Values]:
    try:
        lines = content.decode("utf-8-sig").replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError as problem:
        fail(path, "is not UTF-8 text", content.count(b"\n", 0, problem.start) + 1)
    if not lines[0].startswith(f"# {HEAD}:"):
        fail(path, f"begins with {lines[0][:40]!r} (expected '# {HEAD}: {VERSION}')", 1)
    said: dict[str, Any] = {}
    robot: list[str] = []
    start = next((k for k, line in enumerate(lines) if not line.startswith("#")), len(lines))
    for number, line in enumerate(lines[:start], 1):
        word, _, text = line[1:].strip().partition(":")
        if word == "robot":
            robot.append(text.strip())
            continue
        try:
            said[word] = json.loads(text) if word in RESERVED else unpacked(json.loads(text))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
            fail(path, f"is not '# word: value', the value in JSON ({problem})", number)
    about, values = checked(path, {**said, "robot": "\n".join(robot) + "\n"})
    return about, untabled(path, about, values, rows_of(path, lines, start))


def rows_of(path: Path, lines: list[str], start: int) -> dict[str, np.ndarray]:
    names = lines[start].split(",") if start < len(lines) else []
    if not {"t", "q1"} <= set(names):
        fail(path, "has no line with the columns' names (expected t,q1,...)", start + 1)
    if len(lines) == start + 1 or lines[-1] != "":
        fail(path, "ends in the middle of a line", len(lines))
    rows = []
    for number, line in enumerate(lines[start + 1 : -1], start + 2):
        cells = line.split(",")
        if len(cells) != len(names):
            fail(path, f"has {len(cells)} columns (expected {len(names)}: {lines[start]})", number)
        try:
            rows.append([float(cell) for cell in cells])
        except ValueError:
            name, cell = next((n, c) for n, c in zip(names, cells, strict=True) if not is_number(c))
            fail(path, f"column {name} is {cell!r} (expected a number, or nan)", number)
    array = np.array(rows, float).reshape(-1, len(names))
    return {name: np.ascontiguousarray(column) for name, column in zip(names, array.T, strict=True)}


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def write_parquet(file: BinaryIO, about: dict[str, Any], values: Values) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ImportError(NO_PARQUET) from None
    made = pyarrow.table(table(values)).replace_schema_metadata({HEAD: json.dumps(beside(about, values))})
    pyarrow.parquet.write_table(made, file, use_dictionary=False)


def read_parquet(path: Path, content: bytes) -> tuple[dict[str, Any], Values]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ImportError(NO_PARQUET) from None
    try:
        found = pyarrow.parquet.read_table(pyarrow.BufferReader(content))
        columns = {name: found[name].to_numpy() for name in found.column_names}
    except (*SPOILED, pyarrow.ArrowException) as problem:
        fail(path, f"is no Parquet file, or a damaged one ({problem})")
    text = (found.schema.metadata or {}).get(HEAD.encode())
    if text is None:
        fail(path, f"is a table of something else: no {HEAD!r} in its metadata (expected what Recording.save writes)")
    about, values = described(path, text)
    return about, untabled(path, about, values, columns)


def fail(path: Path, message: str, line: int | None = None) -> NoReturn:
    raise FileError(f"{path}{'' if line is None else f':{line}'}: {message}") from None


FORMATS = {".npz": (write_npz, read_npz), ".csv": (write_csv, read_csv), ".parquet": (write_parquet, read_parquet)}
