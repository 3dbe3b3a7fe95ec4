"""One chunk of a sweep, computed: rows of samples in, columns of results out. This runs in any process."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .. import edge
from ..errors import RobotError, SingularError
from ..robot import Robot
from ..version import __version__
from .simulation import sample_times, simulate
from .sweep_samples import STATE, Samples, parameters, varied

FAILED = "failed"  # the status of a trajectory that could not be begun
Vary = Callable[[Robot, Mapping[str, Any]], Robot]


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
    version: str  # of the Linkwise that asks


@dataclass(frozen=True)
class Outcome:
    """What became of a chunk: columns, or the text of an error."""

    index: int
    columns: dict[str, np.ndarray] = field(default_factory=dict)
    error: str = ""


def work(job: Job) -> Outcome:
    try:
        if job.version != __version__:
            raise RuntimeError(
                f"this worker has Linkwise {__version__} (expected {job.version}, as where it was asked)"
            )
        return Outcome(job.index, computed(job))
    except Exception:
        return Outcome(job.index, error=traceback.format_exc())


def kept_times(keep: str, options: Mapping[str, Any], duration: float) -> np.ndarray:
    """The times at which q and qd are kept."""
    return sample_times(options["samples"], duration) if keep == "samples" else np.zeros(0)


def computed(job: Job) -> dict[str, np.ndarray]:
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
    groups, errors = robots(job)
    with plain_text():
        for arm, rows in groups.items():
            follow(job, arm, np.array(rows), times, columns, errors)
    columns["error"] = np.array([errors.get(k, "").encode("ascii", "backslashreplace").decode() for k in range(count)])
    return columns


def robots(job: Job) -> tuple[dict[Robot, list[int]], dict[int, str]]:
    """Which rows have which robot, so that each is compiled once; and what is wrong with the others."""
    names = parameters(job.rows, job.arm)
    made: dict[bytes, Robot] = {}
    groups: dict[Robot, list[int]] = {}
    errors: dict[int, str] = {}
    for k in range(len(job.rows["q0"])):
        row = {name: array[k] for name, array in job.rows.items()}
        strange = [name for name in (*STATE, "wrench") if name in row and not np.isfinite(row[name]).all()]
        if strange:
            errors[k] = f"{strange[0]} is {row[strange[0]].tolist()} (expected finite numbers)"
            continue
        numbers = b"".join(row[name].tobytes() for name in names)
        try:
            if numbers not in made:
                made[numbers] = varied(job.arm, {name: row[name] for name in names}) if names else job.arm
            arm = made[numbers] if job.vary is None else checked_robot(job.vary(made[numbers], row), job.arm)
        except RobotError as error:
            errors[k] = str(error)
            continue
        groups.setdefault(arm, []).append(k)
    return groups, errors


def checked_robot(made: Any, arm: Robot) -> Robot:
    if not isinstance(made, Robot) or made.n != arm.n or made.symbolic:
        raise TypeError(f"vary gave {made!r} (expected a Robot of numbers with {arm.n} joints)")
    return made


def follow(
    job: Job, arm: Robot, rows: np.ndarray, times: np.ndarray, columns: dict[str, np.ndarray], errors: dict[int, str]
) -> None:
    """Simulate the rows of one robot and fill in what they give."""
    acting: dict[str, Any] = {name: job.rows[name][rows] for name in ("torque", "wrench") if name in job.rows}
    options: dict[str, Any] = {
        **job.options,
        **acting,
        "samples": np.union1d(times, [0.0, job.duration]),
        "progress": False,
    }
    try:
        found = simulate(arm, job.rows["q0"][rows], job.rows["qd0"][rows], job.duration, **options)
    except SingularError as error:
        if len(rows) == 1:
            errors[int(rows[0])] = str(error)
            return
        for k in range(len(rows)):  # it may be one state alone
            follow(job, arm, rows[k : k + 1], times, columns, errors)
        return
    for name in ("status", "reached", "steps", "rejected"):
        columns[name][rows] = getattr(found, name)
    columns["q_end"][rows], columns["qd_end"][rows] = found.q[:, -1], found.qd[:, -1]
    ends: dict[str, Any] = {
        name: None if value is None else value[:, [0, -1]]
        for name in ("q", "qd", "work", "heat")
        for value in [getattr(found, name)]
    }
    columns["imbalance"][rows] = replace(found, **ends, t=found.t[[0, -1]]).imbalance[:, -1]
    if job.keep == "samples":
        at = np.searchsorted(found.t, times)
        columns["q"][rows], columns["qd"][rows] = found.q[:, at], found.qd[:, at]


LOCK = threading.Lock()
USERS: list[edge.use_kernels] = []


@contextmanager
def plain_text() -> Iterator[None]:
    """No kernels but the integrator itself: when they run depends on the size of a batch, and their last bits differ.

    Several threads of a worker may be in here: the first one in changes the rule, the last one out restores it.
    """
    with LOCK:
        USERS.append(USERS[0] if USERS else edge.use_kernels("never"))
    try:
        yield
    finally:
        with LOCK:
            rule = USERS.pop()
            if not USERS:
                rule.__exit__(None, None, None)
