"""Compute chunks of a sweep, in any process: rows of samples in, columns of results out.

One compiled program simulates the members of a family side by side, each with its numbers as parameters.

Chunks are computed in the process of the sweep or on a Dask cluster, which pickles tasks and results. If a worker is
lost, the scheduler gives its tasks to another one. After about three lost workers it gives up on all tasks that waited
there.
"""

from __future__ import annotations

import itertools
import os
import re
import traceback
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..api.functions import kinetic_energy, potential_energy
from ..api.wrenches import OnTip
from ..errors import SingularError
from ..extras import import_optional
from ..kernels.dispatch import current_mode, use_kernels
from ..kernels.target import target_by_name
from ..recording.recording import EventRecord, Recording
from ..robot import Friction, Robot
from ..robot.named_arrays import PerTrajectory
from ..simulation.friction_steps import suppress_warnings
from ..simulation.integration import Run, integrate_with_options
from ..simulation.parameters import parameters_of, torque_parameters
from ..simulation.problem import COORDINATES, Problem
from ..simulation.simulation import STATUS_OF, event_records, simulate
from ..simulation.small_motions import warning_text
from ..version import __version__
from .family import (
    Errors,
    Family,
    FamilyChunk,
    check_motion,
    chunk_of_table,
    chunks_of_robots,
    family_problem,
    loads_of,
)
from .folder import Columns, event_columns, has_events
from .inputs import LOADS, Job, Outcome, kept_times, most_times
from .samples import KNOWN

FAILED = "failed"  # the status of a trajectory that did not begin
EXPECTED = "expected None, 'dask://host:port', 'dask://local?workers=2' or a dask.distributed.Client"
LOCAL = re.compile(r"dask://local(?:\?workers=(0*[1-9]\d*))?")
ADDRESS = re.compile(r"dask://([^/?#]+:\d+)")
RETRIES = 2  # of a task that Dask itself could not run


class TrajectoryResults(NamedTuple):
    """The results of some trajectories: columns of a chunk, with q and qd at the times t."""

    t: np.ndarray
    columns: dict[str, np.ndarray]
    events: Sequence[Sequence[EventRecord]]  # empty without events

    def select(self, which: np.ndarray) -> TrajectoryResults:
        """The results of a selection."""
        columns = {name: column[which] for name, column in self.columns.items()}
        return TrajectoryResults(self.t, columns, list(itertools.compress(self.events, which)))


def compute_chunk(job: Job) -> Outcome:
    try:
        if job.version != __version__:
            raise RuntimeError(f"this worker has Linkwise {__version__} (expected {job.version}, as the client has)")
        chunk = Chunk(job)
        with suppress_warnings(), use_kernels("never"):  # the last bits must not depend on the size of a chunk
            chunk.compute()
        return Outcome(job.index, chunk.all_columns(), message="; ".join(chunk.messages))
    except Exception:
        return Outcome(job.index, error=traceback.format_exc())


class Chunk:
    """A job while it is computed, with its results."""

    def __init__(self, job: Job) -> None:
        self.inputs, self.rows, self.family_map = job.inputs, job.inputs.samples, job.family_map
        self.kernels = "never" if current_mode() == "never" else "always"  # of simulations, for chunks of any size
        self.count, n, nq = len(self.rows["q0"]), job.inputs.robot.n, job.inputs.robot.nq
        self.columns: Columns = {
            "trajectory": np.arange(self.count) + job.index * job.inputs.chunk,
            "status": np.full(self.count, FAILED, dtype="U16"),
            "reached": np.zeros(self.count),
            "steps": np.zeros(self.count, dtype=np.int64),
            "rejected": np.zeros(self.count, dtype=np.int64),
            "q_end": np.full((self.count, nq), np.nan),
            "qd_end": np.full((self.count, n), np.nan),
            "imbalance": np.full(self.count, np.nan),
        }
        if job.inputs.keep == "samples":
            times = most_times(job.inputs.keep, job.inputs.options)
            sizes = {"q": nq, "qd": n}
            self.columns |= {name: np.full((self.count, times, size), np.nan) for name, size in sizes.items()}
        self.errors: Errors = {}
        self.events: dict[int, Sequence[EventRecord]] = {}
        self.messages: dict[str, None] = {}  # in order

    def compute(self) -> None:
        """Simulate all rows, by family and duration."""
        inputs, rows, read = self.inputs, self.rows, set[str]()
        durations = rows["duration"] if inputs.duration is None else np.full(self.count, inputs.duration)
        law = Friction.of(inputs.options["friction"])
        check_motion(inputs.robot, rows, inputs.vary, self.errors)
        if self.family_map is not None:
            families = [chunk_of_table(rows, self.family_map, law, self.errors)]
        else:
            families = chunks_of_robots(inputs.robot, rows, inputs.vary, law, self.errors, read)
        for family in families:
            for duration in np.unique(durations[family.rows]).tolist():
                self.compute_family(family.part(np.flatnonzero(durations[family.rows] == duration)), duration)
        if inputs.vary is not None and not self.errors:
            used = {*read, *KNOWN, *inputs.entries, *parameters_of(inputs.options["torque"])}
            self.messages |= {f"vary read no {name!r}": None for name in sorted(set(rows) - used)}

        if message := self.small_motions():
            self.messages[message] = None

    def small_motions(self) -> str:
        """The warning about small motions, or ""."""
        options, columns = self.inputs.options, self.columns
        begun = columns["status"] != FAILED
        pairs = [(self.rows[name][begun, None] for name in ("q0", "qd0"))]
        pairs += [(columns[name][begun, None] for name in ("q_end", "qd_end"))]
        pairs += [(columns[name][begun] for name in ("q", "qd"))] if "q" in columns else []
        states = (np.concatenate(list(pair), axis=2) for pair in pairs)
        return warning_text(self.inputs.robot, options["integrator"], options["atol"], *states)

    def compute_family(self, part: FamilyChunk, duration: float) -> None:
        """Simulate rows of one family and duration together; those for which that fails, robot by robot."""
        alone = part.rows.tolist()
        if alone and part.family.symbols and self.inputs.options["compiled"] is not False:
            alone = self.compute_together(part, duration)
        groups: dict[Robot, list[int]] = {}
        for k in alone:
            groups.setdefault(part.robot(k), []).append(k)
        for robot, rows in groups.items():
            self.compute_robot(robot, np.array(rows), duration)

    def compute_together(self, part: FamilyChunk, duration: float) -> list[int]:
        """Simulate the rows of a family by one program. Return the rows that are left to simulate robot by robot.

        These are rows that did not leave the start, since a robot of numbers gives the reason; and all rows if a
        torque function, for example, cannot be compiled for symbols.
        """
        rows, times = part.rows, self.times(duration)
        start = self.rows["q0"][rows], self.rows["qd0"][rows]
        try:
            results = simulate_family(
                part.family, part.numbers, *start, duration, self.options(rows, times), self.inputs.robot
            )
        except (TypeError, ValueError, ImportError) as reason:
            self.messages[f"{reason}; each robot was compiled separately"] = None
            return [int(k) for k in rows]
        ended = np.isin(results.columns["status"], ["diverged", "step too small"])
        started = ~(ended & (results.columns["steps"] == 0))
        self.fill(rows[started], results.select(started), duration)
        return [int(k) for k in rows[~started]]

    def compute_robot(self, robot: Robot, rows: np.ndarray, duration: float) -> None:
        """Simulate the rows of one robot."""
        start = self.rows["q0"][rows], self.rows["qd0"][rows]
        try:
            with use_kernels(self.kernels):
                recording = simulate(robot, *start, duration, **self.options(rows, self.times(duration)))
        except SingularError as error:
            if len(rows) == 1:
                self.errors[int(rows[0])] = str(error)
                return
            for k in range(len(rows)):  # perhaps only one state is singular
                self.compute_robot(robot, rows[k : k + 1], duration)
            return
        self.fill(rows, results_of(recording), duration)

    def times(self, duration: float) -> np.ndarray:
        """The sample times of a simulation: those that are kept, the start and the end."""
        return np.union1d(kept_times(self.inputs.keep, self.inputs.options, duration), [0.0, duration])

    def options(self, rows: np.ndarray, times: np.ndarray) -> dict[str, Any]:
        """The options of `simulate` for some rows."""
        options = self.inputs.options
        loads: dict[str, Any] = {name: self.rows[name][rows] for name in LOADS if name in self.rows}
        if "wrench" in loads and loads["wrench"].ndim == 2:
            loads["point"] = OnTip(options["point"])
        swept = torque_parameters(options["torque"], self.rows)
        parameters = {name: PerTrajectory(array[rows]) for name, array in swept.items()}
        return {**options, **loads, "samples": times, "progress": False, "parameters": parameters}

    def fill(self, rows: np.ndarray, results: TrajectoryResults, duration: float) -> None:
        at = np.searchsorted(results.t, kept_times(self.inputs.keep, self.inputs.options, duration))
        for name, values in results.columns.items():
            if name not in ("q", "qd"):
                self.columns[name][rows] = values
            elif name in self.columns:
                self.columns[name][rows, : len(at)] = values[:, at]
        self.events.update(zip(rows.tolist(), results.events, strict=False))  # empty without events

    def all_columns(self) -> Columns:
        """All columns, those of errors and events included."""
        rows = range(self.count)
        texts = [self.errors.get(k, "").encode("ascii", "backslashreplace").decode() for k in rows]
        columns = {**self.columns, "error": np.array(texts)}
        if not has_events(self.inputs.options):
            return columns
        robot = self.inputs.robot
        return columns | event_columns([self.events.get(k, ()) for k in rows], robot.nq, robot.n)


def results_of(recording: Recording) -> TrajectoryResults:
    """The results of a recording. The end is the last sample or, if it was not reached, the last state."""
    assert recording.end is not None
    reached = np.isfinite(recording.q[:, -1]).all(axis=1)
    last: dict[str, Any] = {}
    for name, end in recording.end._asdict().items():
        values = getattr(recording, name)
        if values is not None:
            last[name] = np.where(reached if end.ndim == 1 else reached[:, None], values[:, -1], end)
    ends: dict[str, Any] = {name: np.stack([getattr(recording, name)[:, 0], x], axis=1) for name, x in last.items()}
    imbalance = replace(recording, **ends, t=recording.t[[0, -1]]).imbalance[:, -1]
    columns = {name: getattr(recording, name) for name in ("status", "reached", "steps", "rejected", "q", "qd")}
    columns |= {"q_end": last["q"], "qd_end": last["qd"], "imbalance": imbalance}
    return TrajectoryResults(recording.t, columns, recording.events)


def simulate_family(
    family: Family,
    numbers: np.ndarray,
    q0: np.ndarray,
    qd0: np.ndarray,
    duration: float,
    options: Mapping[str, Any],
    like: Robot,
) -> TrajectoryResults:
    """Simulate members of a family with the options of a sweep; always compiled.

    Each trajectory has a row of `numbers`. `like` is the robot of the sweep.
    """
    count = len(q0)
    loads = loads_of(options, count)
    problem = family_problem(family, options, loads, like)
    quasi = COORDINATES[problem.coordinates]
    v = qd0 if quasi is None else family.evaluate_members(quasi.velocity, numbers, q=q0[:, None], qd=qd0[:, None])[:, 0]
    start = np.concatenate([problem.normalized(q0), v, np.zeros((count, problem.size - problem.rest))], axis=1)
    parameters = np.concatenate([*(load.reshape(count, -1) for load in loads.values()), numbers], axis=1)
    run = integrate_with_options(problem, options, duration, start, parameters)
    now = run.trajectories
    y = np.concatenate([run.out, now.y[:, None]], axis=1)  # the end comes last
    reached = np.isfinite(run.out[:, -1]).all(axis=1)
    y[reached, -1] = run.out[reached, -1]
    q, v = problem.split(y)
    q = problem.normalized(q)
    qd = v if quasi is None else family.evaluate_members(quasi.joint_rates, numbers, q=q, velocity=v)
    kept = family.evaluate_members(energy, numbers, q=q[:, [0, -1]], qd=qd[:, [0, -1]])
    if problem.has_energy_balance:
        work, heat = (y[:, [0, -1], problem.rest + k] for k in range(2))
        kept = kept - (work - heat)
    columns = {
        "status": np.array([STATUS_OF[code] for code in now.status.tolist()]),
        "reached": now.t,
        "steps": now.steps,
        "rejected": now.rejected,
        "q_end": q[:, -1],
        "qd_end": qd[:, -1],
        "imbalance": kept[:, -1] - kept[:, 0],
        "q": q[:, :-1],
        "qd": qd[:, :-1],
    }
    return TrajectoryResults(options["samples"], columns, family_events(family, problem, run, numbers))


def family_events(
    family: Family, problem: Problem, run: Run, numbers: np.ndarray
) -> tuple[tuple[EventRecord, ...], ...]:
    """The events of each trajectory. Rates are computed from quasi-velocities with the numbers of its robot."""
    if not problem.events:
        return ()
    quasi, events = COORDINATES[problem.coordinates], []
    for k in range(len(numbers)):
        records = event_records(replace(problem, coordinates="joint"), run.trajectories, k)
        if quasi is not None and records:
            q, v = (np.array([getattr(record, name) for record in records])[None] for name in ("q", "qd"))
            rates = family.evaluate_members(quasi.joint_rates, numbers[[k]], q=q, velocity=v)[0]
            records = tuple(record._replace(qd=qd) for record, qd in zip(records, rates, strict=True))
        events.append(records)
    return tuple(events)


def energy(robot: Robot, q: Any, qd: Any) -> Any:
    return kinetic_energy(robot, q, qd) + potential_energy(robot, q)


def outcomes(engine: Any, jobs: Iterator[Job]) -> Generator[Outcome, None, None]:
    """The results of the jobs in the order in which they end; `engine` comes from `check_engine`."""
    if engine is None:
        yield from map(compute_chunk, jobs)
        return
    suspects: list[Job] = []  # during which Dask lost workers again: one by one, since the cause may have been another
    with open_client(engine) as client:
        yield from run_tasks(client, jobs, suspects)
        for job in suspects:
            yield from run_tasks(client, iter([job]), None)


def check_engine(engine: Any) -> Any:
    """None, a client, the address of a scheduler, or a number of processes of this machine."""
    if engine is None:
        return None
    wrong = f"engine is {engine!r} ({EXPECTED})"
    if isinstance(engine, str):
        place: int | str
        if (local := LOCAL.fullmatch(engine)) is not None:
            place = int(local[1] or os.cpu_count() or 1)
        elif (address := ADDRESS.fullmatch(engine)) is not None:
            place = f"tcp://{address[1]}"
        else:
            raise ValueError(wrong)
        import_optional("distributed")
        return place
    if not hasattr(engine, "submit") or not isinstance(engine, import_optional("distributed").Client):
        raise TypeError(wrong)
    if engine.asynchronous:
        raise TypeError("engine is an asynchronous Client (expected one made with asynchronous=False)")
    return engine


@contextmanager
def open_client(engine: Any) -> Iterator[Any]:
    """A client of an engine from `check_engine`; a client or cluster that is started here is closed at the end."""
    distributed = import_optional("distributed")
    if isinstance(engine, distributed.Client):
        yield engine
        return
    with ExitStack() as stack:
        if isinstance(engine, int):
            local = distributed.LocalCluster(n_workers=engine, threads_per_worker=1, dashboard_address=None)
            engine = stack.enter_context(local)
        yield stack.enter_context(distributed.Client(engine, set_as_default=False))


def run_tasks(client: Any, jobs: Iterator[Job], suspects: list[Job] | None) -> Generator[Outcome, None, None]:
    """Run a task for each job. Few more tasks than threads wait, so that results do not pile up."""
    from distributed import KilledWorker, as_completed

    run, waiting = os.urandom(8).hex(), as_completed(loop=client.loop)
    job_of: dict[Any, Job] = {}

    def submit() -> None:
        while len(job_of) < 2 * sum(client.nthreads().values()) + 2:
            job = next(jobs, None)
            if job is None:
                return
            options = job.inputs.options
            if options["threads"] is None and target_by_name(options["target"]).has_threads:
                # Dask runs a task on each thread of its workers
                job = replace(job, inputs=replace(job.inputs, options={**options, "threads": 1}))
            future = client.submit(
                compute_chunk, job, key=f"linkwise-sweep-{run}-{job.index}", pure=False, retries=RETRIES
            )
            job_of[future] = job
            waiting.add(future)

    try:
        submit()
        for future in waiting:
            job = job_of[future]
            try:
                outcome = future.result()
            except Exception as error:  # no Linkwise on a worker, a task that killed several workers, a lost cluster
                outcome = None
                if suspects is None or not isinstance(error, KilledWorker):
                    outcome = Outcome(job.index, error=traceback.format_exc())
                else:
                    suspects.append(job)
            del job_of[future]
            future.release()
            if outcome is not None:
                yield outcome
            submit()
    finally:
        if job_of:
            client.cancel(list(job_of))
