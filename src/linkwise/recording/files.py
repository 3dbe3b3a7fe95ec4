"""Files of recordings: written and read back bit for bit.

A file holds the robot's table, torques, accelerations and energy, so nothing else is needed to read it. A SHA-256
checksum of all of that detects changed, cut or damaged files. Nothing in a file is executed.

.npz       every array under its own name; the rest as JSON in the bytes of `about`
.csv       a row for each sample; the rest in lines that begin with #, the values in JSON
.parquet   a row for each sample; the rest as JSON in the metadata of the schema
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn

import numpy as np

from ..api.call import BaseMotion
from ..array_files import read_npz, read_parquet, write_parquet
from ..errors import FileError, RobotError
from ..extras import import_optional
from ..files import atomic_write
from ..ode.registry import integrators
from ..robot import Robot, WrenchFrames, toml
from ..robot.layout import Layout
from ..tables import RECORDING as HEAD
from ..tables import comments_of, decode, parse_table, write_table
from .recording import STATUS, EventRecord, Recording

VERSION = 1
RESERVED = (HEAD, "sha256", "robot", "regrouped", "batch")
PER_JOINT = ("q", "qd", "qdd", "tau")
COLUMNS = (*PER_JOINT, "energy", "work", "heat")  # of a table, after t
BASE = {f"base.{field.name}": field.name for field in fields(BaseMotion)}  # names in files
DERIVED = (
    "tau",
    "qdd",
    "energy",
    "wrench",
    "point",
    *BASE,
)  # computed by a recording from its problem, which files lack
KINDS = "biufU"  # of arrays that files may hold: numbers, truth values and text
PARSING = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
Values = dict[str, Any]  # the fields of a recording and `DERIVED`, by name


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
            total.update(f"{name} {json.dumps(to_json(value, name))}\n".encode())
    return total.hexdigest()


def to_json(value: Any, name: str) -> Any:
    """A value as JSON; tuples, dictionaries and arrays are marked. Floats keep every bit."""
    if isinstance(value, np.ndarray) and value.dtype.kind in KINDS:
        return {"array": value.tolist(), "dtype": value.dtype.str, "shape": list(value.shape)}
    if isinstance(value, (list, tuple)):
        items = [to_json(item, name) for item in value]
        return {"tuple": items} if isinstance(value, tuple) else items
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": {key: to_json(item, name) for key, item in value.items()}}
    if isinstance(value, WrenchFrames):
        return {"frames": list(value.names), "axes": value.axes}
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"recording.{name} holds a {type(value).__name__}, which files cannot hold (expected numbers)")


def from_json(value: Any) -> Any:
    if isinstance(value, list):
        return [from_json(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        dtype = np.dtype(value["dtype"])
        if dtype.kind not in KINDS:
            raise ValueError(f"an array of {dtype} (expected numbers or text)")
        return np.array(value["array"], dtype).reshape(value["shape"])
    if "frames" in value:
        return WrenchFrames(tuple(value["frames"]), value["axes"])
    if "tuple" in value:
        return tuple(from_json(value["tuple"]))
    return {key: from_json(item) for key, item in value["dict"].items()}


def parse_description(path: Path, text: bytes) -> tuple[dict[str, Any], Values]:
    """The entries of a JSON text: RESERVED ones, and values."""
    try:
        entries = json.loads(text)
        return split_entries(path, {name: x if name in RESERVED else from_json(x) for name, x in entries.items()})
    except PARSING as problem:
        if isinstance(problem, FileError):
            raise
        fail(path, f"has no valid description of a recording ({problem})")


def split_entries(path: Path, entries: dict[str, Any]) -> tuple[dict[str, Any], Values]:
    if HEAD not in entries:
        fail(path, "is not a recording (expected a file that Recording.save wrote)")
    if entries[HEAD] != VERSION:
        fail(path, f"is a recording of version {entries[HEAD]} (this Linkwise reads version {VERSION})")
    about = {name: entries[name] for name in RESERVED if name in entries}
    return about, {name: value for name, value in entries.items() if name not in RESERVED}


def table_columns(values: Values, layout: Layout) -> dict[str, np.ndarray]:
    """Columns in order: [trajectory,] t, q1, q2, ..., qd1, ..., energy and, if integrated, work and heat.

    If joints have several degrees of freedom, the columns are q.base.x, ..., qd.base.wx, ...
    """
    t, q = values["t"], values["q"]
    batch, count = q.shape[:-2], int(np.prod(q.shape[:-2], dtype=int))
    columns = {"trajectory": np.repeat(np.arange(count), len(t))} if batch else {}
    columns |= layout.table(np.tile(t, count), **{x: values[x].reshape(-1, values[x].shape[-1]) for x in PER_JOINT})
    return columns | {name: values[name].ravel() for name in COLUMNS if name in values and name not in PER_JOINT}


def table_metadata(about: dict[str, Any], values: Values) -> dict[str, Any]:
    """Everything a table cannot hold; the times too if it has no rows."""
    batch = values["q"].shape[:-2]
    inside = COLUMNS if 0 in batch else ("t", *COLUMNS)
    rest = {name: to_json(value, name) for name, value in values.items() if name not in inside}
    return {**about, "batch": list(batch), **rest}


def values_from_table(path: Path, about: dict[str, Any], values: Values, columns: dict[str, np.ndarray]) -> Values:
    """Values from the columns of a table; they must be those of `table_columns`."""
    named = any(label.startswith("q.") for label in columns)
    layout = Layout.of(robot_of(path, about)) if named else Layout.numbered(sum(quantity_of(x) == "q" for x in columns))
    try:
        batch = tuple(map(int, about["batch"]))
        count = int(np.prod(batch, dtype=int))
        t = columns["t"] if not count or not batch else columns["t"].reshape(count, -1)[0]
        result = dict(values) if not count else {**values, "t": np.array(t, float)}
        shape = (*batch, len(result["t"]))
        for name in COLUMNS:
            if name in PER_JOINT:
                joints = [column for label, column in columns.items() if quantity_of(label) == name]
                result[name] = np.stack(joints, axis=-1).reshape((*shape, len(joints)))
            elif name in columns:
                result[name] = columns[name].reshape(shape)
        expected = table_columns(result, layout)
    except (KeyError, ValueError, TypeError) as problem:
        fail(path, f"its rows and columns do not make a recording ({problem})")
    if list(expected) != list(columns):
        fail(path, f"has columns {', '.join(columns)} (expected {', '.join(expected)})")
    for name in ("trajectory", "t"):
        if name in expected and not np.array_equal(expected[name], columns[name]):
            fail(path, f"column {name} does not run through the same times for each trajectory")
    return result


def quantity_of(label: str) -> str:
    """The quantity in a column: the q of q1 or of q.base.x."""
    return label.partition(".")[0].rstrip("0123456789")


def robot_of(path: Path, about: dict[str, Any]) -> Robot:
    try:
        robot = toml.from_text(about["robot"], Path(f"{path}, the robot in it"))
    except (KeyError, TypeError, AttributeError):
        fail(path, "holds no robot")
    return robot.regrouped() if about.get("regrouped") else robot


def fail(path: Path, message: str, line: int | None = None) -> NoReturn:
    raise FileError(f"{path}{'' if line is None else f':{line}'}: {message}") from None


def write_npz(file: BinaryIO, about: dict[str, Any], values: Values, _: Layout) -> None:
    arrays: Values = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    text = json.dumps({**about, **{name: to_json(values[name], name) for name in values if name not in arrays}})
    np.savez(file, about=np.frombuffer(text.encode(), np.uint8), **arrays)


def read_npz_file(path: Path, content: bytes) -> tuple[dict[str, Any], Values]:
    if not content.startswith(b"PK"):
        fail(path, "is no NumPy archive (expected a .npz file that Recording.save wrote)")
    try:
        arrays = read_npz(content)
    except ValueError as problem:
        fail(path, f"is a damaged archive ({problem})")
    if "about" not in arrays:
        fail(path, "is an archive of something else: it holds no 'about' (expected what Recording.save writes)")
    about, values = parse_description(path, arrays.pop("about").tobytes())
    return about, {**values, **arrays}


def write_parquet_file(file: BinaryIO, about: dict[str, Any], values: Values, layout: Layout) -> None:
    write_parquet(file, table_columns(values, layout), {HEAD: json.dumps(table_metadata(about, values))})


def read_parquet_file(path: Path, content: bytes) -> tuple[dict[str, Any], Values]:
    try:
        columns, metadata = read_parquet(content)
    except ValueError as problem:
        fail(path, f"is no Parquet file, or a damaged one ({problem})")
    if HEAD not in metadata:
        fail(path, f"is a table of something else: no {HEAD!r} in its metadata (expected what Recording.save writes)")
    about, values = parse_description(path, metadata[HEAD].encode())
    return about, values_from_table(path, about, values, {name: np.array(column) for name, column in columns.items()})


def write_csv(file: BinaryIO, about: dict[str, Any], values: Values, layout: Layout) -> None:
    entries = table_metadata(about, values)
    comments = [f"{HEAD}: {entries.pop(HEAD)}"]
    comments += [f"robot: {line}" for line in entries.pop("robot").rstrip("\n").split("\n")]
    comments += [f"{name}: {json.dumps(value)}" for name, value in entries.items()]
    write_table(file, table_columns(values, layout), comments)


def refuse_comments(path: Path, columns: Iterable[str]) -> None:
    """Raise an error for names with "#": read_csv(comment="#") of pandas would cut them, even within quotes."""
    name = next((name for name in columns if "#" in name), None)
    if name is not None:
        fail(path, f"column {name!r} has a '#', which begins a comment (expected .npz or .parquet, or another name)")


def read_csv(path: Path, content: bytes) -> tuple[dict[str, Any], Values]:
    text = decode(path, content)
    if not text.startswith(f"# {HEAD}:"):
        fail(path, f"begins with {text[:40].partition(chr(10))[0]!r} (expected '# {HEAD}: {VERSION}')", 1)
    entries: dict[str, Any] = {}
    robot: list[str] = []
    for number, comment in comments_of(text):
        key, _, value = comment.partition(":")
        if key == "robot":
            robot.append(value.strip())
            continue
        try:
            entries[key] = json.loads(value) if key in RESERVED else from_json(json.loads(value))
        except PARSING as problem:
            fail(path, f"is not '# key: value', the value in JSON ({problem})", number)
    about, values = split_entries(path, {**entries, "robot": "\n".join(robot) + "\n"})
    return about, values_from_table(path, about, values, read_csv_columns(path, text))


def read_csv_columns(path: Path, text: str) -> dict[str, np.ndarray]:
    samples = parse_table(path, text, strip=False)
    if "t" not in samples.names or not any(name == "q1" or name.startswith("q.") for name in samples.names):
        fail(path, "has no line with the columns' names (expected t,q1,...)", samples.line)
    if not text.endswith("\n"):
        fail(path, "ends in the middle of a line", text.count("\n") + 1)
    array = np.array(samples.numbers(finite=False), float).reshape(-1, len(samples.names))
    return {name: np.ascontiguousarray(column) for name, column in zip(samples.names, array.T, strict=True)}


class Format(NamedTuple):
    write: Callable[[BinaryIO, dict[str, Any], Values, Layout], None]
    read: Callable[[Path, bytes], tuple[dict[str, Any], Values]]


FORMATS = {
    ".npz": Format(write_npz, read_npz_file),
    ".csv": Format(write_csv, read_csv),
    ".parquet": Format(write_parquet_file, read_parquet_file),
}


def save(recording: Recording, path: str | os.PathLike[str]) -> None:
    target = Path(path)
    if target.suffix.lower() not in FORMATS:
        fail(target, f"cannot write {target.suffix or 'files without an ending'} (expected {', '.join(FORMATS)})")
    values = values_of(recording)
    try:
        robot = robot_entry(recording.robot)
    except RobotError as problem:
        fail(target, str(problem))
    layout = Layout.of(recording.robot)
    if target.suffix.lower() == ".csv":
        refuse_comments(target, table_columns(values, layout))
    about = {HEAD: VERSION, "sha256": digest({**values, **robot}), **robot}
    with atomic_write(target) as file:
        FORMATS[target.suffix.lower()].write(file, about, values, layout)


def load_recording(path: str | os.PathLike[str], robot: Robot | None = None) -> Recording:
    """Read a file of `Recording.save`: the same recording, bit for bit.

    Parameters
    ----------
    path : path
        A .npz, .csv or .parquet file.
    robot : Robot, optional
        The recording's robot; it must equal the one in the file. By default it is made from the table in the file.

    Returns
    -------
    Recording

    Raises
    ------
    FileError
        The file is damaged, changed, not a recording, or of another robot.

    Examples
    --------
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
    try:
        content = source.read_bytes()
    except OSError as problem:
        fail(source, f"cannot be read ({problem.strerror})")
    about, values = FORMATS[source.suffix.lower()].read(source, content)
    robot_entries: dict[str, Any] = {key: about[key] for key in ("robot", "regrouped") if key in about}
    if digest({**values, **robot_entries}) != about.get("sha256"):
        fail(source, "was damaged or changed since it was written (its checksum does not match)")
    return build_recording(source, about, values, robot)


def event_records(events: Any) -> Any:
    """`EventRecord`s from the plain tuples in a file, with the same nesting."""
    if not events or isinstance(events[0], tuple):
        return tuple(map(event_records, events))
    return EventRecord(*events)


def values_of(recording: Recording) -> Values:
    """The contents of a file, except the robot and fields with their default."""
    values: Values = {}
    for field in fields(Recording):
        value = getattr(recording, field.name)
        if field.name not in ("robot", "acting", "end") and (field.default is MISSING or value is not field.default):
            values[field.name] = value
    derived = {name: getattr(recording, name) for name in DERIVED if name not in BASE}
    derived |= {name: getattr(recording.base, field) for name, field in BASE.items() if recording.base is not None}
    values |= {name: value for name, value in derived.items() if value is not None}
    return values | {name: np.asarray(values[name], float) for name in ("t", *COLUMNS) if name in values}


def build_recording(path: Path, about: dict[str, Any], values: Values, robot: Robot | None) -> Recording:
    recorded = {field.name: field for field in fields(Recording)}
    unknown = [name for name in values if name not in recorded and name not in DERIVED]
    needed = [name for name, field in recorded.items() if field.default is MISSING and name != "robot"]
    base = BASE if any(name in BASE for name in values) else ()
    missing = [name for name in (*needed, *DERIVED[:3], *base) if name not in values]
    if unknown or missing:
        fail(path, f"{'holds unknown' if unknown else 'lacks'} {', '.join(unknown or missing)}")
    stored = robot_of(path, about)
    if robot is not None and robot != stored:
        differs = describe_difference(stored, robot)
        fail(path, f"holds robot {stored.name!r}, which is not the robot {robot.name!r} given: {differs}")
    for name, words in (("status", STATUS), ("integrator", integrators())):
        other = [word for word in np.array(values[name], dtype=object).ravel().tolist() if word not in words]
        if other:
            fail(path, f"{name} is {other[0]!r} (expected {', '.join(map(repr, words))})")
    values = {**values, "events": event_records(values.get("events", ()))}
    if base:
        values["base"] = BaseMotion(**{field: values.pop(name) for name, field in BASE.items()})
    recording = Recording(stored if robot is None else robot, **{k: v for k, v in values.items() if k in recorded})
    vars(recording).update({k: v for k, v in values.items() if k not in recorded})  # fills the cached properties
    return recording


def robot_entry(robot: Robot) -> dict[str, Any]:
    """The robot's table, and whether it was regrouped; an error if the robot cannot be made from that."""
    text = toml.to_text(robot)
    copy = toml.from_text(text, Path(robot.name))
    if copy == robot:
        return {"robot": text}
    if copy.regrouped() == robot:
        return {"robot": text, "regrouped": True}
    raise FileError(f"robot {robot.name!r} was changed after it was made from its table, which no file can hold")


def describe_difference(stored: Robot, other: Robot) -> str:
    if len(stored.links) != len(other.links):
        return f"{stored.n} joints, not {other.n}"
    for link, expected in zip(stored.links, other.links, strict=True):
        if link.name != expected.name:
            return f"{link.name!r}, not {expected.name!r}"
        if link != expected:
            return f"link {link.name!r} differs"
    if stored.couplings != other.couplings:
        return "its couplings differ"
    return "gravity differs" if stored.gravity != other.gravity else "its frames differ"


def to_pandas(recording: Recording) -> Any:
    return import_optional("pandas").DataFrame(table_columns(values_of(recording), Layout.of(recording.robot)))
