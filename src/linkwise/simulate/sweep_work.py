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
from .family import Kin, families
from .recording import Recording
from .simulation import sample_times, simulate
from .sweep_family import Followed, followed
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
    typical: Samples  # some rows of all chunks, which differ wherever robots of the sweep do
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
    groups, errors = robots(job)
    with plain_text():
        arms = list(groups)
        for kin in families(arms, typical_robots(job)):
            waiting = {arms[k]: groups[arms[k]] for k in kin.members}
            if kin.family.symbols and job.options["compiled"] is not False:
                waiting = follow_family(job, kin, waiting, times, columns, notes)
            for arm, rows in waiting.items():
                follow(job, arm, np.array(rows), times, columns, errors)
    columns["error"] = np.array([errors.get(k, "").encode("ascii", "backslashreplace").decode() for k in range(count)])
    return columns


def robots(job: Job) -> tuple[dict[Robot, list[int]], dict[int, str]]:
    """Which rows have which robot, so that each is looked at once; and what is wrong with the others."""
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


def typical_robots(job: Job) -> list[Robot]:
    """Robots of the whole sweep, so that what is common to a chunk alone does not count as common."""
    found = []
    for k in range(len(next(iter(job.typical.values()), ()))):
        try:
            found.append(varied(job.arm, {name: array[k] for name, array in job.typical.items()}))
        except RobotError:  # it is an error of the chunk that has this row
            continue
    return found


def checked_robot(made: Any, arm: Robot) -> Robot:
    if not isinstance(made, Robot) or made.n != arm.n or made.symbolic:
        raise TypeError(f"vary gave {made!r} (expected a Robot of numbers with {arm.n} joints)")
    return made


def follow_family(
    job: Job,
    kin: Kin,
    groups: Mapping[Robot, list[int]],
    times: np.ndarray,
    columns: dict[str, np.ndarray],
    notes: dict[str, None],
) -> dict[Robot, list[int]]:
    """Simulate the rows of a family together and fill in what they give. What is given back is to be followed alone:

    rows that did not get away from the start, of which their own robot can say why; and all of them where a torque
    function, say, cannot be compiled for symbols.
    """
    rows = np.concatenate([np.array(each) for each in groups.values()])
    numbers = np.repeat(kin.numbers, [len(each) for each in groups.values()], axis=0)
    start = job.rows["q0"][rows], job.rows["qd0"][rows]
    try:
        found = followed(kin.family, numbers, *start, job.duration, options(job, rows, times))
    except (TypeError, ValueError, ImportError) as reason:
        notes[f"{len(groups)} different robots were compiled one by one, since not at once: {reason}"] = None
        return dict(groups)
    strange, good = set(rows[found.strange].tolist()), ~found.strange
    fill(columns, rows[good], found.some(good), times)
    columns["imbalance"][rows[good]] = found.imbalance[good]
    left = {arm: [k for k in each if k in strange] for arm, each in groups.items()}
    return {arm: each for arm, each in left.items() if each}


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
