"""Events of many trajectories as flat columns, a row for each name, in the order of trajectory and time.

    events                                   how many each trajectory has; two at the same time count as two
    event_t, event_name, event_q, event_qd   all of them, one after another

In Parquet the flat columns are lists, one for each trajectory (see `chunk_formats`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from ..recording import EventRecord
from ..simulation.events import events_of

COUNT = "events"
FLAT = ("event_t", "event_name", "event_q", "event_qd")


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
