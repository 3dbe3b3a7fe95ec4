"""The folder of a sweep: its plan, its samples and a file for each finished chunk, and when these are valid.

    _sweep.json              the plan, written first
    _samples.npz             the samples; their hashes are in the plan
    chunk-00000.parquet      results, or .npz where the plan says so
    _chunk-00003.failed.txt  why a chunk failed

Readers of folders of Parquet files leave out names that begin with _: for them the folder is a table. Files
are replaced as a whole, never changed. A chunk carries the hash of its plan, its number and the hash of its content,
and counts as finished only if all three are right. Nothing here is ever unpickled.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import one_of
from ..files import replacing
from .chunk_formats import Columns, digest, from_npz, from_parquet, npz_of, parquet_of

KINDS = ("parquet", "npz")
PLAN, SAMPLES, OLD_PLAN = "_sweep.json", "_samples.npz", "sweep.json"
LAYOUT = 2  # of the folder and its columns
TEMPORARY = re.compile(r"_(sweep\.json|samples\.npz|chunk-\d{5,}\.(parquet|npz|failed\.txt))\.[0-9a-f]{16}\.tmp")
ABANDONED = 3600.0  # seconds after which a temporary file belongs to no running process


class SweepWarning(UserWarning):
    """Something about a sweep that was not as expected, and what was done about it."""


def warn(message: str) -> None:
    warnings.warn(message, SweepWarning, stacklevel=4)


def has_parquet() -> bool:
    return importlib.util.find_spec("pyarrow") is not None


def chunk_kind(files: str | None, before: Mapping[str, Any] | None) -> str:
    """The kind of the chunks' files: as asked for, as before, as possible."""
    if files is None:
        return str(before["files"]) if before else KINDS[not has_parquet()]
    one_of(files, KINDS, "files")
    return files


def check_kind(kind: str, path: Path) -> None:
    """An ImportError where files of this kind can be neither written nor read."""
    if kind == "parquet" and not has_parquet():
        raise ImportError(f"{path}: pyarrow is not installed: pip install 'linkwise[parquet]'")


def plan_hash(plan: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps({k: x for k, x in plan.items() if k != "sha256"}).encode()).hexdigest()


class Folder:
    def __init__(self, path: str | os.PathLike[str], kind: str = "npz") -> None:
        self.path, self.kind = Path(path), kind
        self.verified: dict[int, tuple[int, int]] = {}  # chunks that are valid, with their time and size

    def plan(self) -> dict[str, Any] | None:
        """The plan, if there is one."""
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
            if plan["layout"] != LAYOUT:
                raise ValueError(f"it has layout {plan['layout']!r} (expected {LAYOUT}, which this Linkwise reads)")
            if plan["sha256"] != plan_hash(plan):
                raise ValueError("it was changed")
        except (ValueError, KeyError, TypeError) as problem:
            raise ValueError(f"{self.path / PLAN}: is not the plan of a sweep: {problem}") from None
        self.kind = plan["files"]
        return dict(plan)

    def begin(self, plan: Mapping[str, Any]) -> None:
        """Write the plan to a folder in which there is nothing else."""
        check_kind(plan["files"], self.path)
        if self.path.exists():
            others = sorted(path.name for path in self.path.iterdir() if not TEMPORARY.fullmatch(path.name))
            if others:
                raise ValueError(f"{self.path}: holds {others[0]!r} and no sweep (expected a new or an empty folder)")
        self.path.mkdir(parents=True, exist_ok=True)
        self.kind = plan["files"]
        self.write(PLAN, (json.dumps(plan, indent=1) + "\n").encode())

    def clear_abandoned(self) -> None:
        """Remove the temporary files of killed processes."""
        for path in self.path.iterdir():
            if TEMPORARY.fullmatch(path.name) and time.time() - path.stat().st_mtime > ABANDONED:
                path.unlink(missing_ok=True)

    def write(self, name: str, content: bytes) -> os.stat_result:
        temporary = self.path / f"_{name.removeprefix('_')}.{os.urandom(8).hex()}.tmp"
        with replacing(self.path / name, temporary, durable=True) as file:
            file.write(content)
            file.flush()
            return os.fstat(file.fileno())

    def store_samples(self, samples: Columns) -> None:
        self.write(SAMPLES, npz_of(samples, {}))

    def samples(self, plan: Mapping[str, Any]) -> Columns:
        """The samples of the plan; a ValueError says why the file does not hold them."""
        try:
            samples = from_npz((self.path / SAMPLES).read_bytes())[0]
        except FileNotFoundError:
            raise ValueError("is missing") from None
        except OSError:
            raise
        except Exception as problem:  # readers raise errors of many kinds for a file that is not theirs
            raise ValueError(f"cannot be read ({problem})") from None
        hashes = {name: entry["sha256"] for name, entry in plan["samples"].items()}
        if {name: digest({name: array}) for name, array in samples.items()} != hashes:
            raise ValueError("is damaged")
        return samples

    def chunk(self, index: int) -> Path:
        return self.path / f"chunk-{index:05d}.{self.kind}"

    def store(self, index: int, plan: str, columns: Columns) -> None:
        metadata = {"plan": plan, "chunk": str(index), "sha256": digest(columns, plan, index)}
        content = parquet_of(columns, metadata) if self.kind == "parquet" else npz_of(columns, metadata)
        status = self.write(self.chunk(index).name, content)
        self.verified[index] = status.st_mtime_ns, status.st_size
        self._failure(index).unlink(missing_ok=True)

    def load(self, index: int, plan: str) -> Columns:
        """The columns of a chunk; FileNotFoundError where there is none, ValueError where it is not valid."""
        path = self.chunk(index)
        status, content = path.stat(), path.read_bytes()
        try:
            columns, metadata = from_parquet(content) if self.kind == "parquet" else from_npz(content)
        except ImportError:
            raise
        except Exception as problem:  # readers raise errors of many kinds for a file that is not theirs
            raise ValueError(f"it cannot be read: {problem}") from None
        if (metadata.get("plan"), metadata.get("chunk")) != (plan, str(index)):
            raise ValueError("it belongs to another sweep or another chunk")
        if metadata.get("sha256") != digest(columns, plan, index):
            raise ValueError("it is damaged")
        self.verified[index] = status.st_mtime_ns, status.st_size
        return columns

    def defect(self, index: int, plan: str) -> str | None:
        """Why a chunk is not finished: "" if there is none; None if it is. A file is read once, and when it changes."""
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
