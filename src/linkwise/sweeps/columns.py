"""The columns of a chunk: as the bytes of its file and back, with a hash, and those of events.

Events of many trajectories are flat columns, a row for each name, in the order of trajectory and time:

    events                                   how many each trajectory has; two at the same time count as two
    event_t, event_name, event_q, event_qd   all of them, one after another; in Parquet lists, one for each trajectory
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from ..array_files import read_npz, read_parquet, write_parquet
from ..recording import EventRecord
from ..simulation.events import events_of

Columns = dict[str, np.ndarray]
PREFIX = "linkwise."  # of metadata in Parquet
COUNT = "events"
FLAT = ("event_t", "event_name", "event_q", "event_qd")


def digest(columns: Mapping[str, np.ndarray], *more: Any) -> str:
    """A hash of names, types, shapes and numbers; `more` is hashed with them."""
    total = hashlib.sha256(repr(more).encode())
    for name, array in columns.items():
        text = array.dtype.kind == "U"
        total.update(repr((name, "text" if text else array.dtype.str, array.shape)).encode())
        total.update(json.dumps(array.tolist()).encode() if text else np.ascontiguousarray(array).tobytes())
    return total.hexdigest()


def encoded(kind: str, columns: Columns, metadata: Mapping[str, str]) -> bytes:
    """The content of a file with these columns: "npz" or "parquet"."""
    buffer = io.BytesIO()
    if kind == "parquet":
        lengths = {name: columns[COUNT] for name in FLAT if name in columns}
        write_parquet(buffer, columns, {PREFIX + key: value for key, value in metadata.items()}, lengths)
    else:
        text = np.array(json.dumps({"names": list(columns), **metadata}))
        arrays: dict[str, Any] = {f"column{k}": array for k, array in enumerate(columns.values())}
        np.savez(buffer, metadata=text, **arrays)
    return buffer.getvalue()


def decoded(kind: str, content: bytes) -> tuple[Columns, dict[str, str]]:
    """The columns and the metadata of a file; a ValueError where it is not one of these."""
    if kind == "parquet":
        columns, metadata = read_parquet(content)
        return columns, {key.removeprefix(PREFIX): text for key, text in metadata.items() if key.startswith(PREFIX)}
    arrays = read_npz(content)
    try:
        metadata = json.loads(str(arrays["metadata"]))
        return {name: arrays[f"column{k}"] for k, name in enumerate(metadata.pop("names"))}, metadata
    except (KeyError, TypeError, AttributeError) as problem:
        raise ValueError(f"no {problem} in it") from None


def has_events(options: Mapping[str, Any]) -> bool:
    return len(events_of(options["events"])) > 0


def event_columns(events: Sequence[Sequence[EventRecord]], nq: int, n: int) -> dict[str, np.ndarray]:
    rows = [[(event.t, name, event.q, event.qd) for event in records for name in event.names] for records in events]
    flat = [row for trajectory in rows for row in trajectory]
    t, names, q, qd = zip(*flat, strict=True) if flat else ((), (), (), ())
    return {
        COUNT: np.array([len(trajectory) for trajectory in rows], dtype=np.int64),
        "event_t": np.array(t, dtype=float),
        "event_name": np.array(names, dtype=str),
        "event_q": np.array(q, dtype=float).reshape(-1, nq),
        "event_qd": np.array(qd, dtype=float).reshape(-1, n),
    }


def event_table(columns: Mapping[str, np.ndarray], nq: int, n: int) -> dict[str, np.ndarray]:
    """trajectory, t, name, q and qd of all events."""
    if COUNT not in columns:
        columns = {"trajectory": np.zeros(0, dtype=np.int64), **event_columns([], nq, n)}
    trajectory = np.repeat(columns["trajectory"], columns[COUNT])
    return {"trajectory": trajectory, **{name.removeprefix("event_"): columns[name] for name in FLAT}}


def event_records(table: Mapping[str, np.ndarray]) -> tuple[EventRecord, ...]:
    """The events of one trajectory; names at the same time are one record."""
    rows = zip(*(table[name] for name in ("t", "name", "q", "qd")), strict=True)
    records = []
    for t, group in groupby(rows, key=lambda row: float(row[0])):
        same = list(group)
        records.append(EventRecord(t, tuple(str(row[1]) for row in same), same[0][2], same[0][3]))
    return tuple(records)
