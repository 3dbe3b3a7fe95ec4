"""Recordings as text: a row for each sample; the rest in lines that begin with #."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ..robot.layout import Layout
from ..tables import comments_of, decoded, table_of, write_table
from .file_contents import HEAD, PARSING, RESERVED, VERSION, Values, beside, checked, fail, table, unpacked, untabled


def write(file: BinaryIO, about: dict[str, Any], values: Values, layout: Layout) -> None:
    entries = beside(about, values)
    comments = [f"{HEAD}: {entries.pop(HEAD)}"]
    comments += [f"robot: {line}" for line in entries.pop("robot").rstrip("\n").split("\n")]
    comments += [f"{name}: {json.dumps(value)}" for name, value in entries.items()]
    write_table(file, table(values, layout), comments)


def refuse_comments(path: Path, columns: Iterable[str]) -> None:
    """Raise an error for columns that others would cut short: read_csv(comment="#") does, even within quotes."""
    name = next((name for name in columns if "#" in name), None)
    if name is not None:
        fail(path, f"column {name!r} has a '#', which begins a comment (expected .npz or .parquet, or another name)")


def read(path: Path, content: bytes) -> tuple[dict[str, Any], Values]:
    text = decoded(path, content)
    if not text.startswith(f"# {HEAD}:"):
        fail(path, f"begins with {text[:40].partition(chr(10))[0]!r} (expected '# {HEAD}: {VERSION}')", 1)
    entries: dict[str, Any] = {}
    robot: list[str] = []
    for number, comment in comments_of(text):
        key, _, value = comment.partition(":")
        if key == "robot":
            robot.append(value.strip())
            continue
        try:
            entries[key] = json.loads(value) if key in RESERVED else unpacked(json.loads(value))
        except PARSING as problem:
            fail(path, f"is not '# key: value', the value in JSON ({problem})", number)
    about, values = checked(path, {**entries, "robot": "\n".join(robot) + "\n"})
    return about, untabled(path, about, values, columns_of(path, text))


def columns_of(path: Path, text: str) -> dict[str, np.ndarray]:
    samples = table_of(path, text, strip=False)
    if "t" not in samples.names or not any(name == "q1" or name.startswith("q.") for name in samples.names):
        fail(path, "has no line with the columns' names (expected t,q1,...)", samples.line)
    if not text.endswith("\n"):
        fail(path, "ends in the middle of a line", text.count("\n") + 1)
    array = np.array(samples.numbers(finite=False), float).reshape(-1, len(samples.names))
    return {name: np.ascontiguousarray(column) for name, column in zip(samples.names, array.T, strict=True)}
