"""Recordings in files, and back from them to the last bit.

A file holds the robot's own table, torques, accelerations and energy, so that nothing else is needed to read it, and a
checksum (SHA-256) of all of that: a file that was changed, cut or damaged is refused. Nothing in a file is executed.
"""

from __future__ import annotations

import os
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileError, RobotError
from ..extras import imported
from ..files import saving
from ..robot import Robot, toml
from ..robot.layout import Layout
from .file_formats import COLUMNS, FORMATS, HEAD, VERSION, Values, digest, fail, refuse_comments, robot_of, table
from .recording import EventRecord, Recording

DERIVED = ("tau", "qdd", "energy", "wrench", "point")  # what a recording computes from what acted, which no file holds


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
        refuse_comments(target, table(values, layout))
    about = {HEAD: VERSION, "sha256": digest({**values, **robot}), **robot}
    with saving(target) as file:
        FORMATS[target.suffix.lower()].write(file, about, values, layout)


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
    try:
        content = source.read_bytes()
    except OSError as problem:
        fail(source, f"cannot be read ({problem.strerror})")
    about, values = FORMATS[source.suffix.lower()].read(source, content)
    robot_entries: dict[str, Any] = {key: about[key] for key in ("robot", "regrouped") if key in about}
    if digest({**values, **robot_entries}) != about.get("sha256"):
        fail(source, "was damaged or changed since it was written (its checksum does not match)")
    return restored(source, about, values, robot)


def event_records(events: Any) -> Any:
    """`EventRecord`s, in the same nesting, of the plain tuples that a file holds."""
    if not events or isinstance(events[0], tuple):
        return tuple(map(event_records, events))
    return EventRecord(*events)


def values_of(recording: Recording) -> Values:
    """All that a file is to hold, without the robot and without fields that have their default."""
    values: Values = {}
    for field in fields(Recording):
        value = getattr(recording, field.name)
        if field.name not in ("robot", "acting", "end") and (field.default is MISSING or value is not field.default):
            values[field.name] = value
    values |= {name: getattr(recording, name) for name in DERIVED if getattr(recording, name) is not None}
    return values | {name: np.asarray(values[name], float) for name in ("t", *COLUMNS) if name in values}


def restored(path: Path, about: dict[str, Any], values: Values, robot: Robot | None) -> Recording:
    known = {field.name: field for field in fields(Recording)}
    unknown = [name for name in values if name not in known and name not in DERIVED]
    needed = [name for name, field in known.items() if field.default is MISSING and name != "robot"]
    missing = [name for name in (*needed, *DERIVED[:3]) if name not in values]
    if unknown or missing:
        fail(path, f"{'holds unknown' if unknown else 'lacks'} {', '.join(unknown or missing)}")
    stored = robot_of(path, about)
    if robot is not None and robot != stored:
        differs = difference(stored, robot)
        fail(path, f"holds robot {stored.name!r}, which is not the robot {robot.name!r} given: {differs}")
    values = {**values, "events": event_records(values.get("events", ()))}
    recording = Recording(stored if robot is None else robot, **{k: v for k, v in values.items() if k in known})
    vars(recording).update({k: v for k, v in values.items() if k not in known})  # where cached properties look first
    return recording


def robot_entry(robot: Robot) -> dict[str, Any]:
    """The robot's table, and whether its parameters were regrouped; an error if that does not give the robot again."""
    text = toml.to_text(robot)
    again = toml.from_text(text, Path(robot.name))
    if again == robot:
        return {"robot": text}
    if again.regrouped() == robot:
        return {"robot": text, "regrouped": True}
    raise FileError(f"robot {robot.name!r} has other numbers than its table, which no file can hold")


def difference(stored: Robot, other: Robot) -> str:
    if len(stored.links) != len(other.links):
        return f"{stored.n} joints, not {other.n}"
    for link, wanted in zip(stored.links, other.links, strict=True):
        if link.name != wanted.name:
            return f"{link.name!r}, not {wanted.name!r}"
        if link != wanted:
            return f"link {link.name!r} differs"
    if stored.couplings != other.couplings:
        return "its couplings differ"
    return "gravity differs" if stored.gravity != other.gravity else "its frames differ"


def to_pandas(recording: Recording) -> Any:
    return imported("pandas").DataFrame(table(values_of(recording), Layout.of(recording.robot)))
