"""One chunk of a sweep, computed: rows of samples in, columns of results out. This runs in any process."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .. import edge
from ..errors import SingularError
from ..robot import Robot
from ..version import __version__
from .recording import Recording
from .simulation import sample_times, simulate
from .sweep_family import Followed, followed
from .sweep_robots import Crew, Errors, Vary, crews
from .sweep_samples import Samples

FAILED = "failed"  # the status of a trajectory that could not be begun


@dataclass(frozen=True)
class Job:
    """A chunk to compute."""

    index: int
    first: int  # its first trajectory
    arm: Robot
    rows: Samples
    duration: float
    keep: str
    options: dict[str, Any]
    vary: Vary | None
    differ: Samples  # of each parameter, which of its numbers differ in the sweep
    version: str  # of the Linkwise that asks


@dataclass(frozen=True)
class Outcome:
    """What became of a chunk: columns, or the text of an error; and what is worth knowing beside."""

    index: int
    columns: dict[str, np.ndarray] = field(default_factory=dict)
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
    """The times at which q and qd are kept."""
    return sample_times(options["samples"], duration) if keep == "samples" else np.zeros(0)


def computed(job: Job, notes: dict[str, None]) -> dict[str, np.ndarray]:
    count, n = job.rows["q0"].shape
    times = kept_times(job.keep, job.options, job.duration)
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
        columns |= {name: np.full((count, len(times), n), np.nan) for name in ("q", "qd")}
    errors: Errors = {}
    with plain_text():
        for crew in crews(job.arm, job.rows, job.differ, job.vary, errors):
            alone = crew.rows.tolist()
            if alone and crew.family.symbols and job.options["compiled"] is not False:
                alone = follow_family(job, crew, times, columns, notes)
            groups: dict[Robot, list[int]] = {}
            for k in alone:
                groups.setdefault(crew.robot(k), []).append(k)
            for arm, rows in groups.items():
                follow(job, arm, np.array(rows), times, columns, errors)
    columns["error"] = np.array([errors.get(k, "").encode("ascii", "backslashreplace").decode() for k in range(count)])
    return columns


def follow_family(
    job: Job, crew: Crew, times: np.ndarray, columns: dict[str, np.ndarray], notes: dict[str, None]
) -> list[int]:
    """Simulate the rows of a family together and fill in what they give. Rows that come back are to be followed alone:

    those that did not get away from the start, of which their own robot can say why; and all of them where a torque
    function, say, cannot be compiled for symbols.
    """
    start = job.rows["q0"][crew.rows], job.rows["qd0"][crew.rows]
    try:
        found = followed(crew.family, crew.numbers, *start, job.duration, options(job, crew.rows, times))
    except (TypeError, ValueError, ImportError) as reason:
        notes[f"its robots were compiled one by one, since not all at once: {reason}"] = None
        return [int(k) for k in crew.rows]
    good = ~found.strange
    fill(columns, crew.rows[good], found.some(good), times)
    columns["imbalance"][crew.rows[good]] = found.imbalance[good]
    return [int(k) for k in crew.rows[~good]]


def follow(
    job: Job, arm: Robot, rows: np.ndarray, times: np.ndarray, columns: dict[str, np.ndarray], errors: dict[int, str]
) -> None:
    """Simulate the rows of one robot and fill in what they give."""
    start = job.rows["q0"][rows], job.rows["qd0"][rows]
    try:
        found = simulate(arm, *start, job.duration, **options(job, rows, times))
    except SingularError as error:
        if len(rows) == 1:
            errors[int(rows[0])] = str(error)
            return
        for k in range(len(rows)):  # it may be one state alone
            follow(job, arm, rows[k : k + 1], times, columns, errors)
        return
    fill(columns, rows, found, times)
    ends: dict[str, Any] = {
        name: None if value is None else value[:, [0, -1]]
        for name in ("q", "qd", "work", "heat")
        for value in [getattr(found, name)]
    }
    columns["imbalance"][rows] = replace(found, **ends, t=found.t[[0, -1]]).imbalance[:, -1]


def options(job: Job, rows: np.ndarray, times: np.ndarray) -> dict[str, Any]:
    """What `simulate` is told besides the start."""
    acting: dict[str, Any] = {name: job.rows[name][rows] for name in ("torque", "wrench") if name in job.rows}
    return {**job.options, **acting, "samples": np.union1d(times, [0.0, job.duration]), "progress": False}


def fill(columns: dict[str, np.ndarray], rows: np.ndarray, found: Recording | Followed, times: np.ndarray) -> None:
    for name in ("status", "reached", "steps", "rejected"):
        columns[name][rows] = getattr(found, name)
    columns["q_end"][rows], columns["qd_end"][rows] = found.q[:, -1], found.qd[:, -1]
    if "q" in columns:
        at = np.searchsorted(found.t, times)
        columns["q"][rows], columns["qd"][rows] = found.q[:, at], found.qd[:, at]


@contextmanager
def plain_text() -> Iterator[None]:
    """No kernels but the integrator itself: when they run depends on the size of a batch, and their last bits differ.

    Other threads keep their own rule.
    """
    with edge.use_kernels("never"):
        yield
