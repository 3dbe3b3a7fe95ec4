"""`lw.sweep`: many simulations in chunks. Each chunk is written to a file as soon as it is computed."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, Literal

import numpy as np

from ..api.states import Array
from ..errors import SweepInterrupted, SweepWarning
from ..extras import import_optional
from ..kernels.target import target_by_name
from ..printing import warn
from ..progress import ProgressDisplay
from ..recording import EventRecord
from ..robot import Robot, from_table
from ..robot.layout import Layout
from ..simulation.friction_steps import suppress_warnings, warn_of_options
from .chunk import check_engine, outcomes
from .family import Vary
from .folder import FLAT, Columns, Folder, check_kind, chunk_kind, event_records, event_table, samples_name
from .inputs import Inputs, check_effects, check_inputs, jobs, kept_times, most_times, try_options
from .plan import differences, plan_of, restore_inputs
from .samples import Samples

EVERY = 5.0  # seconds between lines of progress
OF_STATES = ("q0", "qd0", "torque", "q_end", "qd_end")


class Sweep:
    """A sweep, as its folder holds it.

    `count` is the number of trajectories, `chunks` that of chunks, `samples` the samples by name, each with a row for
    each trajectory, and `plan` all that the results depend on, as JSON.
    """

    def __init__(self, folder: Folder, plan: Mapping[str, Any], samples: Samples, inputs: Inputs | str) -> None:
        self._folder, self.plan, self.samples, self._inputs = folder, plan, samples, inputs
        self.count = len(samples["q0"])
        self.chunks = -(-self.count // plan["chunk"])
        check_kind(folder.kind, folder.path)

    @property
    def folder(self) -> str:
        return os.fspath(self._folder.path)

    @property
    def done(self) -> list[int]:
        """The numbers of the chunks that are finished and intact."""
        return [k for k, defect in self._defects().items() if defect is None]

    def _defects(self) -> dict[int, str | None]:
        return {k: self._folder.defect(k, self.plan["sha256"]) for k in range(self.chunks)}

    @property
    def failed(self) -> dict[int, str]:
        """The numbers of the chunks that failed when they were last tried, with the text of the error."""
        done = set(self.done)
        texts = {k: self._folder.failure(k) for k in range(self.chunks) if k not in done}
        return {k: text for k, text in texts.items() if text is not None}

    @property
    def missing(self) -> list[int]:
        """The numbers of the chunks that are neither finished nor failed."""
        others = {*self.done, *self.failed}
        return [k for k in range(self.chunks) if k not in others]

    @property
    def t(self) -> np.ndarray:
        """The sample times of q and qd that `read` returns: (times,), or (count, times) if durations are samples."""
        keep, options, duration = self.plan["keep"], self.plan["options"], self.plan["duration"]
        if duration is not None:
            return kept_times(keep, options, duration)
        times = np.full((self.count, most_times(keep, options)), np.nan)
        for k, end in enumerate(self.samples["duration"].tolist()):
            if end > 0.0:
                kept = kept_times(keep, options, end)
                times[k, : len(kept)] = kept
        return times

    def __repr__(self) -> str:
        done, failed = len(self.done), len(self.failed)
        counts = f"{done} done, {failed} failed, {self.chunks - done - failed} missing"
        trajectories = "1 trajectory" if self.count == 1 else f"{self.count} trajectories"
        size = f"{trajectories} in {self.chunks} {self._folder.kind} chunk{'s' * (self.chunks != 1)}"
        return f"<Sweep {self.folder!r}: {size}: {counts}>"

    def read(self, *chunks: int) -> Columns:
        """Read results in the order of the samples.

        Parameters
        ----------
        *chunks : int
            The chunks to read; by default all that are finished.

        Returns
        -------
        dict from str to ndarray
            trajectory, status, reached, steps, rejected, q_end, qd_end, imbalance and error, with a row for each
            trajectory; with keep="samples" also q and qd (rows, times, nq or n); `events`, their number, if asked for.
        """
        return {name: column for name, column in self._columns(chunks).items() if name not in FLAT}

    def _columns(self, chunks: Sequence[int]) -> Columns:
        self._folder.refuse_another(self.plan)
        wanted = sorted(chunks) if chunks else self.done
        parts = [self._folder.load(k, self.plan["sha256"]) for k in wanted]
        return {name: np.concatenate([part[name] for part in parts]) for name in (parts[0] if parts else ())}

    def event_table(self, *chunks: int) -> Columns:
        """Read the events, a row for each.

        Parameters
        ----------
        *chunks : int
            The chunks to read; by default all that are finished.

        Returns
        -------
        dict from str to ndarray
            trajectory, t, name, q and qd.
        """
        return event_table(self._columns(chunks), *(self.samples[name].shape[1] for name in ("q0", "qd0")))

    def events(self, trajectory: int) -> tuple[EventRecord, ...]:
        """Read the events of one trajectory, as a `Recording` has them.

        Raises
        ------
        IndexError
            There is no such trajectory.
        """
        if not 0 <= trajectory < self.count:
            raise IndexError(f"trajectory is {trajectory} (expected 0 to {self.count - 1})")
        table = self.event_table(trajectory // self.plan["chunk"])
        return event_records({name: column[table["trajectory"] == trajectory] for name, column in table.items()})

    def to_pandas(self) -> Any:
        """Make a DataFrame with a row for each finished trajectory: its samples and results, without q and qd in time.

        Vectors are a column for each component: q0_1, q0_2, ..., q_end_1, ..., link2.com_1, ... If joints have several
        degrees of freedom, components of states have their names: q0.base.x, ..., qd_end.base.wx, ...
        """
        pandas = import_optional("pandas")
        results = {name: column for name, column in self.read().items() if name not in ("q", "qd")}
        rows = results.pop("trajectory", np.zeros(0, dtype=np.int64))
        samples = {name: array[rows] for name, array in self.samples.items()}
        labels = self._labels()
        columns = [("trajectory", rows), *components(samples, labels), *components(results, labels)]
        name, count = Counter(name for name, _ in columns).most_common(1)[0]
        if count > 1:
            raise ValueError(
                f"the table would have two columns {name!r} (expected another name of a sample; sweep.samples and"
                " sweep.read() have both)"
            )
        return pandas.DataFrame(dict(columns))

    def _labels(self) -> dict[str, list[str]]:
        """The names of the components of states, if joints have several degrees of freedom."""
        robot = self.plan["robot"]
        layout = Layout.of(from_table(robot["rows"], robot["convention"], robot["gravity"], robot["name"]))
        return {name: layout.columns(name) for name in OF_STATES} if layout.labelled else {}

    def resume(self, engine: Any = None, progress: bool | None = None) -> Sweep:
        """Compute all chunks that are not finished, those that failed included.

        Parameters
        ----------
        engine, progress
            As for `lw.sweep`.

        Returns
        -------
        Sweep
            This one.

        Raises
        ------
        ValueError
            The folder does not hold what is needed, such as functions, or holds another sweep.
        SweepInterrupted
            Ctrl-C; the finished chunks are kept.
        """
        if isinstance(self._inputs, str):
            raise ValueError(f"{self.folder}: {self._inputs}")
        engine = check_engine(engine)
        self._folder.refuse_another(self.plan)
        self._folder.clear_abandoned(self.plan)
        defects = self._defects()
        for k, defect in defects.items():
            if defect:
                warn(f"{self._folder.chunk(k)}: computed again: {defect}", SweepWarning)
        waiting = [k for k, defect in defects.items() if defect is not None]
        if not waiting:
            return self
        if engine is None:
            target_by_name(self._inputs.options["target"]).check_there()  # raised here, not in every chunk
        warn_of_options(self._inputs.robot, self._inputs.options)
        display, messages = ChunkProgress(progress, self.chunks, self.chunks - len(waiting)), set()
        try:
            with closing(outcomes(engine, jobs(self._inputs, waiting))) as arriving:
                for outcome in arriving:
                    self._folder.refuse_another(self.plan)
                    if outcome.error:
                        self._folder.fail(outcome.index, outcome.error)
                    else:
                        self._folder.store(outcome.index, self.plan["sha256"], outcome.columns)
                    if outcome.message and outcome.message not in messages:
                        warn(f"{self._folder.chunk(outcome.index)}: {outcome.message}", SweepWarning)
                        messages.add(outcome.message)
                    display.step(bool(outcome.error))
        except KeyboardInterrupt as stopped:
            raise SweepInterrupted(self) from stopped
        except Exception as error:  # a full disk, a cluster that is gone
            error.add_note(f"{self!r} is kept; the same call of lw.sweep continues it")
            raise
        finally:
            display.close()
        if self.failed:
            warn(f"{self!r}: .failed has the errors; the same call of lw.sweep tries again", SweepWarning)
        return self


class ChunkProgress:
    """The progress of a sweep, shown as a bar on a terminal and as lines elsewhere.

    With `shown=None` lines come only if the sweep takes longer than some seconds; with False nothing is shown.
    """

    def __init__(self, shown: bool | None, total: int, done: int) -> None:
        self.shown, self.total, self.done, self.failed, self.before = shown, total, done, 0, done
        self.display = ProgressDisplay(0.0, 0.0 if shown else EVERY, EVERY, EVERY)
        if shown is not False:
            self.display.update(done, total, "chunks")

    def step(self, failed: bool) -> None:
        self.failed += failed
        self.done += not failed
        finished = self.done + self.failed
        if self.shown is not False:
            last = bool(self.shown) and finished == self.total
            self.display.update(finished, self.total, "chunks", self.line(), last=last)

    def line(self) -> str:
        finished = self.done + self.failed
        failed = f", {self.failed} failed" if self.failed else ""
        seconds = (self.total - finished) * self.display.seconds / (finished - self.before)
        rest = f"; about {seconds:.0f} s to go" if finished < self.total else ""
        return f"sweep: {self.done} of {self.total} chunk{'s' * (self.total != 1)}{failed}{rest}"

    def close(self) -> None:
        self.display.close()


def components(
    columns: Mapping[str, np.ndarray], labels: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, np.ndarray]]:
    """A column for each component, numbered from 1 unless it has a label."""
    for name, array in columns.items():
        if name in labels:
            yield from zip(labels[name], array.T, strict=True)
            continue
        for index in np.ndindex(array.shape[1:]):
            yield "_".join([name, *(str(k + 1) for k in index)]), array[(slice(None), *index)]


def sweep(
    robot: Robot,
    rows: Mapping[str, Array],
    folder: str | os.PathLike[str],
    duration: float | None = None,
    *,
    engine: Any = None,
    chunk: int | None = None,
    keep: Literal["samples", "ends"] = "samples",
    vary: Vary | None = None,
    files: Literal["parquet", "npz"] | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Sweep:
    """Simulate every row of the samples, in chunks; the same call on the same folder resumes it.

    Robots of one structure are compiled once and integrated side by side.

    Parameters
    ----------
    robot : Robot
    rows : mapping from str to array_like
        Samples: arrays with a row for each trajectory; without that axis a value is for all. Names are q0 (count, nq),
        qd0 and torque (count, n), wrench (count, 6) or (count, m, 6), gravity (count, 3), duration (count,); parts of
        a state by the name of a joint or of a coordinate, "q0.link2", "qd0.base.wx"; entries of the robot's table,
        "link3.mass", "link2.com"; and parameters of the torque function, which are its arguments after qd or the
        numbers of a controller such as `lw.control.pd_gravity`. `lw.sweeps.grid` and `lw.sweeps.monte_carlo` make them.
    folder : path
    duration : float, optional
        Seconds, the same for all trajectories; otherwise it is a sample.
    engine : optional
        None for this process, "dask://host:port", "dask://local?workers=2" or a `dask.distributed.Client`.
    chunk : int, optional
        Trajectories in a chunk: by default those of the folder, otherwise 256, on a GPU 16,384.
    keep : {"samples", "ends"}
        Whether q and qd are kept at the sample times, or at the end alone.
    vary : callable, optional
        vary(robot, row) returns the robot of a row. The samples may then have any names.
    files : {"parquet", "npz"}, optional
        By default "parquet" if pyarrow is installed.
    progress : bool, optional
        By default shown on a terminal, elsewhere in lines every few seconds.
    **options
        Of `lw.simulate`, such as `torque`, `friction`, `rtol`, `samples` and `target="cuda"`.

    Returns
    -------
    Sweep

    Raises
    ------
    ValueError
        An input is wrong, or the folder holds another sweep.
    SweepInterrupted
        Ctrl-C; the finished chunks are kept.

    Examples
    --------
    >>> import linkwise as lw, tempfile
    >>> arm, samples = lw.load("planar3"), lw.sweeps.monte_carlo(10, 1, q0=([-1] * 3, [1] * 3))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     falls = lw.sweep(arm, samples, folder, 0.5, chunk=4, files="npz")
    ...     print(falls.done, falls.read()["q_end"].shape)
    [0, 1, 2] (10, 3)
    """
    check_engine(engine)
    machine, target = target_by_name(options.get("target", "cpu")), Folder(folder)
    before = target.plan()
    if chunk is None:
        chunk = before["chunk"] if before else machine.chunk
    inputs = check_inputs(robot, rows, duration, chunk, keep, vary, options)
    plan = plan_of(inputs, chunk_kind(files, before))
    if before is None:
        with suppress_warnings():
            try_options(inputs)
        check_effects(inputs)
        before = target.begin(plan, inputs.samples)
    if different := differences(before, plan):
        summary = "; ".join(different[:5]) + (f"; and {len(different) - 5} more" if len(different) > 5 else "")
        raise ValueError(f"{target.path}: this sweep was begun with other inputs: {summary} (expected another folder)")
    resumed = Sweep(target, before, inputs.samples, inputs)
    try:
        target.samples(before)
    except ValueError:  # missing or damaged: replaced by those of this call
        target.store_samples(before, inputs.samples)
    return resumed.resume(engine, progress)


def open_sweep(folder: str | os.PathLike[str]) -> Sweep:
    """Open the sweep in a folder, to look at, read and resume.

    Parameters
    ----------
    folder : path

    Returns
    -------
    Sweep

    Raises
    ------
    FileNotFoundError
        The folder holds no sweep.
    ValueError
        The plan or the samples are damaged.
    """
    source = Folder(folder)
    plan = source.plan()
    if plan is None:
        raise FileNotFoundError(f"{source.path}: holds no sweep (expected the folder of a call of lw.sweep)")
    try:
        samples = source.samples(plan)
    except ValueError as reason:
        raise ValueError(
            f"{source.path / samples_name(plan)}: {reason}; the same call of lw.sweep restores it"
        ) from None
    try:
        inputs: Inputs | str = restore_inputs(plan, samples)
    except (ValueError, TypeError) as reason:
        inputs = str(reason)
    return Sweep(source, plan, samples, inputs)
