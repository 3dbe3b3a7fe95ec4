"""The folder of a sweep: its plan, its samples and a file for each finished chunk.

    _samples-01234567….npz   the samples, named by their hashes in the plan
    _sweep.json              the plan; with it, the folder is a sweep
    chunk-00000.parquet      results, or .npz where the plan says so
    _chunk-00003.failed.txt  why a chunk failed

The samples are written first, then the plan, then the chunks, so that a plan always has its samples. A plan is never
replaced: if two processes begin a sweep in one folder, the first plan stays, and the other process compares its plan.

Readers of folders of Parquet files skip names that begin with _: for them the folder is a table. Files are replaced
atomically, never changed. A chunk has the hash of its plan, its number and the hash of its content. It is finished only
if all three are right. Nothing here is ever unpickled.

The events of many trajectories are flat columns of a chunk, a row for each name, sorted by trajectory and time:

    events                                   the number of each trajectory; two at the same time count as two
    event_t, event_name, event_q, event_qd   all events, concatenated; in Parquet a list for each trajectory
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from ..array_files import read_npz, read_parquet, write_parquet
from ..control.events import events_of
from ..errors import one_of
from ..extras import import_optional
from ..files import atomic_replace
from ..recording import EventRecord

Columns = dict[str, np.ndarray]
PREFIX = "linkwise."  # of metadata in Parquet
COUNT = "events"
FLAT = ("event_t", "event_name", "event_q", "event_qd")
KINDS = ("parquet", "npz")
PLAN, OLD_PLAN = "_sweep.json", "sweep.json"
LAYOUT = 3  # of the folder and its columns
READABLE = (2, LAYOUT)  # 2: the samples are in _samples.npz
SAMPLES = re.compile(r"_samples-[0-9a-f]{16}\.npz")
TEMPORARY = re.compile(
    rf"({SAMPLES.pattern}|_sweep\.json|_chunk-\d{{5,}}\.(parquet|npz|failed\.txt))\.[0-9a-f]{{16}}\.tmp"
)


def has_parquet() -> bool:
    try:
        import_optional("pyarrow")
    except ImportError:
        return False
    return True


def chunk_kind(files: str | None, before: Mapping[str, Any] | None) -> str:
    """The kind of the chunks' files: the given one, that of the folder, or "parquet" if pyarrow is installed."""
    if files is None:
        return str(before["files"]) if before else KINDS[not has_parquet()]
    one_of(files, KINDS, "files")
    return files


def check_kind(kind: str, path: Path) -> None:
    """Raise an ImportError if files of this kind can be neither written nor read."""
    if kind == "parquet":
        try:
            import_optional("pyarrow")
        except ImportError as error:
            raise ImportError(f"{path}: {error}") from None


def plan_hash(plan: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps({k: x for k, x in plan.items() if k != "sha256"}).encode()).hexdigest()


def samples_name(plan: Mapping[str, Any]) -> str:
    """The file of the samples of a plan."""
    if plan["layout"] == 2:
        return "_samples.npz"
    return f"_samples-{hashlib.sha256(json.dumps(plan['samples']).encode()).hexdigest()[:16]}.npz"


def place_once(temporary: Path, path: Path) -> None:
    """Give a file its name unless the name is taken. Without hard links another process may win between the two."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        pass
    except OSError:
        if not path.exists():
            os.replace(temporary, path)


class Folder:
    """The files of a sweep."""

    def __init__(self, path: str | os.PathLike[str], kind: str = "npz") -> None:
        self.path, self.kind = Path(path).absolute(), kind  # the working directory may change
        self.verified: dict[int, tuple[int, int]] = {}  # valid chunks, with their time and size

    def plan(self) -> dict[str, Any] | None:
        """The plan; None if there is none."""
        try:
            text = (self.path / PLAN).read_text(encoding="utf-8")
        except FileNotFoundError:
            if (self.path / OLD_PLAN).exists():
                raise ValueError(
                    f"{self.path / OLD_PLAN}: this sweep has layout 1, of an earlier Linkwise, which reads it"
                    f" (expected layout {LAYOUT}; begin again in another folder)"
                ) from None
            return None
        try:
            plan = json.loads(text)
            if plan["what"] != "linkwise sweep" or plan["files"] not in KINDS:
                raise ValueError("it is of another kind")
            if plan["layout"] not in READABLE:
                raise ValueError(f"it has layout {plan['layout']!r} (expected {LAYOUT}, which this Linkwise reads)")
            if plan["sha256"] != plan_hash(plan):
                raise ValueError("it was changed")
        except (ValueError, KeyError, TypeError) as problem:
            raise ValueError(f"{self.path / PLAN}: is not the plan of a sweep: {problem}") from None
        self.kind = plan["files"]
        return dict(plan)

    def refuse_another(self, plan: Mapping[str, Any]) -> None:
        """Raise an error if the folder no longer holds the sweep of this plan."""
        standing = self.plan()
        if standing is None:
            raise FileNotFoundError(f"{self.path}: the sweep was removed")
        if standing["sha256"] != plan["sha256"]:
            raise ValueError(f"{self.path}: holds another sweep now, which lw.sweeps.open_sweep opens")

    def begin(self, plan: Mapping[str, Any], samples: Columns) -> dict[str, Any]:
        """Begin a sweep in an empty folder; return its plan: this one, or that of a faster process."""
        check_kind(plan["files"], self.path)
        self.path.mkdir(parents=True, exist_ok=True)
        names = sorted(path.name for path in self.path.iterdir())
        others = [name for name in names if not (TEMPORARY.fullmatch(name) or SAMPLES.fullmatch(name))]
        if others and not (self.path / PLAN).exists():  # checked last: the plan is written before any chunk
            raise ValueError(f"{self.path}: holds {others[0]!r} and no sweep (expected a new or an empty folder)")
        self.store_samples(plan, samples)
        self.write(PLAN, (json.dumps(plan, indent=1) + "\n").encode(), place_once)
        standing = self.plan()
        if standing is None:
            raise FileNotFoundError(f"{self.path / PLAN}: was removed while the sweep was begun")
        self.clear_abandoned(standing)
        return standing

    def clear_abandoned(self, plan: Mapping[str, Any]) -> None:
        """Remove temporary files and samples of other sweeps; a process that is writing one writes it again."""
        for path in self.path.iterdir():
            if TEMPORARY.fullmatch(path.name) or (SAMPLES.fullmatch(path.name) and path.name != samples_name(plan)):
                with suppress(PermissionError):  # of another user
                    path.unlink(missing_ok=True)

    def write(self, name: str, content: bytes, place: Callable[[Path, Path], None] | None = None) -> os.stat_result:
        while True:
            temporary = self.path / f"_{name.removeprefix('_')}.{os.urandom(8).hex()}.tmp"
            try:
                with atomic_replace(self.path / name, temporary, durable=True, place=place) as file:
                    file.write(content)
                    file.flush()
                    return os.fstat(file.fileno())
            except FileNotFoundError:  # another process removed it
                if not self.path.is_dir():
                    raise

    def store_samples(self, plan: Mapping[str, Any], samples: Columns) -> None:
        self.write(samples_name(plan), encode("npz", samples, {}))

    def samples(self, plan: Mapping[str, Any]) -> Columns:
        """The samples of the plan; raise a ValueError if the file is missing or damaged."""
        try:
            samples = decode("npz", (self.path / samples_name(plan)).read_bytes())[0]
        except FileNotFoundError:
            raise ValueError("is missing") from None
        except ValueError as problem:
            raise ValueError(f"cannot be read ({problem})") from None
        hashes = {name: entry["sha256"] for name, entry in plan["samples"].items()}
        if {name: digest({name: array}) for name, array in samples.items()} != hashes:
            raise ValueError("is damaged")
        return samples

    def chunk(self, index: int) -> Path:
        return self.path / f"chunk-{index:05d}.{self.kind}"

    def store(self, index: int, plan: str, columns: Columns) -> None:
        metadata = {"plan": plan, "chunk": str(index), "sha256": digest(columns, plan, index)}
        status = self.write(self.chunk(index).name, encode(self.kind, columns, metadata))
        self.verified[index] = status.st_mtime_ns, status.st_size
        self._failure(index).unlink(missing_ok=True)

    def load(self, index: int, plan: str) -> Columns:
        """The columns of a chunk; raise FileNotFoundError if there is none, ValueError if it is not valid."""
        path = self.chunk(index)
        status, content = path.stat(), path.read_bytes()
        try:
            columns, metadata = decode(self.kind, content)
        except ValueError as problem:
            raise ValueError(f"it cannot be read: {problem}") from None
        if (metadata.get("plan"), metadata.get("chunk")) != (plan, str(index)):
            raise ValueError("it belongs to another sweep or another chunk")
        if metadata.get("sha256") != digest(columns, plan, index):
            raise ValueError("it is damaged")
        self.verified[index] = status.st_mtime_ns, status.st_size
        return columns

    def defect(self, index: int, plan: str) -> str | None:
        """None if a chunk is finished, "" if there is none, or what is wrong with it.

        A file is read once, and again when it changes.
        """
        try:
            status = self.chunk(index).stat()
            if self.verified.get(index) != (status.st_mtime_ns, status.st_size):
                self.load(index, plan)
        except FileNotFoundError:
            return ""
        except (OSError, ValueError) as problem:
            return str(problem)
        return None

    def fail(self, index: int, text: str) -> None:
        self.write(self._failure(index).name, text.encode("utf-8", "backslashreplace"))

    def failure(self, index: int) -> str | None:
        try:
            return self._failure(index).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return None

    def _failure(self, index: int) -> Path:
        return self.path / f"_chunk-{index:05d}.failed.txt"


def digest(columns: Mapping[str, np.ndarray], *more: Any) -> str:
    """The hash of names, types, shapes, numbers and `more`."""
    total = hashlib.sha256(repr(more).encode())
    for name, array in columns.items():
        text = array.dtype.kind == "U"
        total.update(repr((name, "text" if text else array.dtype.str, array.shape)).encode())
        total.update(json.dumps(array.tolist()).encode() if text else np.ascontiguousarray(array).tobytes())
    return total.hexdigest()


def encode(kind: str, columns: Columns, metadata: Mapping[str, str]) -> bytes:
    """Encode columns as the content of a file, "npz" or "parquet"."""
    buffer = io.BytesIO()
    if kind == "parquet":
        lengths = {name: columns[COUNT] for name in FLAT if name in columns}
        write_parquet(buffer, columns, {PREFIX + key: value for key, value in metadata.items()}, lengths)
    else:
        text = np.array(json.dumps({"names": list(columns), **metadata}))
        arrays: dict[str, Any] = {f"column{k}": array for k, array in enumerate(columns.values())}
        np.savez(buffer, metadata=text, **arrays)
    return buffer.getvalue()


def decode(kind: str, content: bytes) -> tuple[Columns, dict[str, str]]:
    """Decode the columns and metadata of a file; raise a ValueError if it is of another kind."""
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
    """All events as columns: trajectory, t, name, q and qd."""
    if COUNT not in columns:
        columns = {"trajectory": np.zeros(0, dtype=np.int64), **event_columns([], nq, n)}
    trajectory = np.repeat(columns["trajectory"], columns[COUNT])
    return {"trajectory": trajectory, **{name.removeprefix("event_"): columns[name] for name in FLAT}}


def event_records(table: Mapping[str, np.ndarray]) -> tuple[EventRecord, ...]:
    """The events of one trajectory. Names at the same time are one record."""
    rows = zip(*(table[name] for name in ("t", "name", "q", "qd")), strict=True)
    records = []
    for t, group in groupby(rows, key=lambda row: float(row[0])):
        same = list(group)
        records.append(EventRecord(t, tuple(str(row[1]) for row in same), same[0][2], same[0][3]))
    return tuple(records)
