"""One chunk of a sweep, computed: rows of samples in, columns of results out. This runs in any process."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .. import api
from ..errors import SingularError
from ..recording.recording import EventRecord, Recording
from ..robot import Robot
from ..simulate.parameters import among, parameters_of
from ..simulate.simulation import sample_times, simulate
from ..version import __version__
from .events import event_columns, watched
from .family_run import Followed, followed
from .formats import Columns
from .robots import Crew, Errors, Vary, crews
from .samples import KNOWN, Samples, parameters

FAILED = "failed"  # the status of a trajectory that could not be begun


@dataclass(frozen=True)
class Job:
    """A chunk to compute."""

    index: int
    first: int  # its first trajectory
    arm: Robot
    rows: Samples
    duration: float | None  # or in the rows
    keep: str
    options: dict[str, Any]
    vary: Vary | None
    differ: Samples  # of each parameter, which of its numbers differ in the sweep
    version: str  # of the Linkwise that asks


@dataclass(frozen=True)
class Outcome:
    """What became of a chunk: columns, or the text of an error; and what is worth knowing beside."""

    index: int
    columns: Columns = field(default_factory=dict)
    error: str = ""
    note: str = ""


def work(job: Job) -> Outcome:
    try:
        if job.version != __version__:
            raise RuntimeError(
                f"this worker has Linkwise {__version__} (expected {job.version}, as where it was asked)"
            )
        notes: dict[str, None] = {}
        return Outcome(job.index, computed(job, notes), note="; ".join(notes))
    except Exception:
        return Outcome(job.index, error=traceback.format_exc())


def kept_times(keep: str, options: Mapping[str, Any], duration: float) -> np.ndarray:
    """The times at which q and qd are kept: those given, up to the duration, or as many as asked for over it."""
    if keep != "samples":
        return np.zeros(0)
    samples = options["samples"]
    if np.ndim(samples):
        every = np.asarray(samples, dtype=float)
        return sample_times(every, max(duration, float(every[-1])))[every <= duration]
    return sample_times(samples, duration)


def room_for_times(keep: str, options: Mapping[str, Any], duration: float) -> int:
    samples = options["samples"]
    if keep == "samples" and np.ndim(samples):
        return len(samples)
    return len(kept_times(keep, options, duration))


def durations_of(job: Job) -> np.ndarray:
    """That of each row."""
    return job.rows["duration"] if job.duration is None else np.full(len(job.rows["q0"]), job.duration)


def computed(job: Job, notes: dict[str, None]) -> Columns:
    count, n = job.rows["q0"].shape
    durations = durations_of(job)
    columns = {
        "trajectory": np.arange(job.first, job.first + count),
        "status": np.full(count, FAILED, dtype="U16"),
        "reached": np.zeros(count),
        "steps": np.zeros(count, dtype=np.int64),
        "rejected": np.zeros(count, dtype=np.int64),
        "q_end": np.full((count, n), np.nan),
        "qd_end": np.full((count, n), np.nan),
        "imbalance": np.full(count, np.nan),
    }
    if job.keep == "samples":
        times = room_for_times(job.keep, job.options, 1.0)
        columns |= {name: np.full((count, times, n), np.nan) for name in ("q", "qd")}
    errors: Errors = {}
    events: dict[int, Sequence[EventRecord]] = {}
    read: set[str] = set()
    with plain_text():
        for crew in crews(job.arm, job.rows, job.differ, job.vary, errors, read):
            for duration in np.unique(durations[crew.rows]).tolist():
                part = np.flatnonzero(durations[crew.rows] == duration)
                some = crew._replace(rows=crew.rows[part], numbers=crew.numbers[part])
                follow_crew(job, some, duration, columns, errors, events, notes)
    if job.vary is not None and not errors:
        for name in sorted(set(job.rows) - read - names_with_meaning(job)):
            notes[f"vary read no {name!r}"] = None
    columns["error"] = np.array([errors.get(k, "").encode("ascii", "backslashreplace").decode() for k in range(count)])
    return columns | (event_columns([events.get(k, ()) for k in range(count)], n) if watched(job.options) else {})


def names_with_meaning(job: Job) -> set[str]:
    """The names of samples that are of use without `vary`."""
    return {*KNOWN, *parameters(job.rows, job.arm), *parameters_of(job.options["torque"])}


def follow_crew(
    job: Job,
    crew: Crew,
    duration: float,
    columns: Columns,
    errors: Errors,
    events: dict[int, Sequence[EventRecord]],
    notes: dict[str, None],
) -> None:
    """Simulate rows of one family and one duration, together if that is possible, and fill in what they give."""
    alone = crew.rows.tolist()
    if alone and crew.family.symbols and job.options["compiled"] is not False:
        alone = follow_family(job, crew, duration, columns, events, notes)
    groups: dict[Robot, list[int]] = {}
    for k in alone:
        groups.setdefault(crew.robot(k), []).append(k)
    for arm, rows in groups.items():
        follow(job, arm, np.array(rows), duration, columns, errors, events)


def follow_family(
    job: Job,
    crew: Crew,
    duration: float,
    columns: Columns,
    events: dict[int, Sequence[EventRecord]],
    notes: dict[str, None],
) -> list[int]:
    """Simulate the rows of a family together and fill in what they give. Rows that come back are to be followed alone:

    those that did not get away from the start, of which their own robot can say why; and all of them where a torque
    function, say, cannot be compiled for symbols.
    """
    start = job.rows["q0"][crew.rows], job.rows["qd0"][crew.rows]
    try:
        found = followed(crew.family, crew.numbers, *start, duration, options(job, crew.rows, duration))
    except (TypeError, ValueError, ImportError) as reason:
        notes[f"its robots were compiled one by one, since not all at once: {reason}"] = None
        return [int(k) for k in crew.rows]
    good = ~found.strange
    fill(job, columns, events, crew.rows[good], found.some(good), duration)
    return [int(k) for k in crew.rows[~good]]


def follow(
    job: Job,
    arm: Robot,
    rows: np.ndarray,
    duration: float,
    columns: Columns,
    errors: Errors,
    events: dict[int, Sequence[EventRecord]],
) -> None:
    """Simulate the rows of one robot and fill in what they give."""
    start = job.rows["q0"][rows], job.rows["qd0"][rows]
    try:
        found = simulate(arm, *start, duration, **options(job, rows, duration))
    except SingularError as error:
        if len(rows) == 1:
            errors[int(rows[0])] = str(error)
            return
        for k in range(len(rows)):  # it may be one state alone
            follow(job, arm, rows[k : k + 1], duration, columns, errors, events)
        return
    fill(job, columns, events, rows, ended(found), duration)


def ended(found: Recording) -> Followed:
    """A recording with what it says of its ends: the last sample, or, where that was not reached, the last state."""
    assert found.end is not None
    there = np.isfinite(found.q[:, -1]).all(axis=1)
    last: dict[str, Any] = {}
    for name, end in found.end._asdict().items():
        values = getattr(found, name)
        if values is not None:
            last[name] = np.where(there if end.ndim == 1 else there[:, None], values[:, -1], end)
    ends: dict[str, Any] = {name: np.stack([getattr(found, name)[:, 0], x], axis=1) for name, x in last.items()}
    imbalance = replace(found, **ends, t=found.t[[0, -1]]).imbalance[:, -1]
    each = (found.status, found.reached, found.steps, found.rejected)
    return Followed(found.t, found.q, found.qd, *each, last["q"], last["qd"], imbalance, found.events)


def options(job: Job, rows: np.ndarray, duration: float) -> dict[str, Any]:
    """What `simulate` is told besides the start."""
    acting: dict[str, Any] = {name: job.rows[name][rows] for name in ("torque", "wrench") if name in job.rows}
    own = {name: array[rows] for name, array in among(job.options["torque"], job.rows).items()}
    times = np.union1d(kept_times(job.keep, job.options, duration), [0.0, duration])
    return {**job.options, **acting, "samples": times, "progress": False, "parameters": own}


def fill(
    job: Job,
    columns: Columns,
    events: dict[int, Sequence[EventRecord]],
    rows: np.ndarray,
    found: Followed,
    duration: float,
) -> None:
    for name in ("status", "reached", "steps", "rejected", "q_end", "qd_end", "imbalance"):
        columns[name][rows] = getattr(found, name)
    if "q" in columns:
        times = kept_times(job.keep, job.options, duration)
        at = np.searchsorted(found.t, times)
        columns["q"][rows, : len(at)], columns["qd"][rows, : len(at)] = found.q[:, at], found.qd[:, at]
    events.update(zip(rows.tolist(), found.events, strict=False))  # none where none are watched


@contextmanager
def plain_text() -> Iterator[None]:
    """No kernels but the integrator itself: when they run depends on the size of a batch, and their last bits differ.

    Other threads keep their own rule.
    """
    with api.use_kernels("never"):
        yield
