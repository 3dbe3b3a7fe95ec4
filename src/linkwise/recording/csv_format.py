"""Recordings as text: a row for each sample; the rest in lines that begin with #."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ..robot.layout import Layout
from ..tables import parse_number
from .file_contents import HEAD, PARSING, RESERVED, VERSION, Values, beside, checked, fail, table, unpacked, untabled


def write(file: BinaryIO, about: dict[str, Any], values: Values, layout: Layout) -> None:
    columns = table(values, layout)
    entries = beside(about, values)
    lines = [f"# {HEAD}: {entries.pop(HEAD)}"]
    lines += [f"# robot: {line}" for line in entries.pop("robot").rstrip("\n").split("\n")]
    lines += [f"# {name}: {json.dumps(value)}" for name, value in entries.items()]
    lines += [",".join(map(quoted, columns)), ""]
    file.write("\n".join(lines).encode())
    rows, length = len(columns["t"]), max(1, len(values["t"]))
    for start in range(0, rows, length):
        part = zip(*(column[start : start + length].tolist() for column in columns.values()), strict=True)
        file.write("".join(",".join(map(repr, row)) + "\n" for row in part).encode())


def refuse_comments(path: Path, columns: Iterable[str]) -> None:
    """Raise an error for columns that others would cut short: read_csv(comment="#") does, even within quotes."""
    name = next((name for name in columns if "#" in name), None)
    if name is not None:
        fail(path, f"column {name!r} has a '#', which begins a comment (expected .npz or .parquet, or another name)")


def read(path: Path, content: bytes) -> tuple[dict[str, Any], Values]:
    try:
        lines = content.decode("utf-8-sig").replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError as problem:
        fail(path, "is not UTF-8 text", content.count(b"\n", 0, problem.start) + 1)
    if not lines[0].startswith(f"# {HEAD}:"):
        fail(path, f"begins with {lines[0][:40]!r} (expected '# {HEAD}: {VERSION}')", 1)
    entries: dict[str, Any] = {}
    robot: list[str] = []
    start = next((k for k, line in enumerate(lines) if not line.startswith("#")), len(lines))
    for number, line in enumerate(lines[:start], 1):
        key, _, text = line[1:].strip().partition(":")
        if key == "robot":
            robot.append(text.strip())
            continue
        try:
            entries[key] = json.loads(text) if key in RESERVED else unpacked(json.loads(text))
        except PARSING as problem:
            fail(path, f"is not '# key: value', the value in JSON ({problem})", number)
    about, values = checked(path, {**entries, "robot": "\n".join(robot) + "\n"})
    return about, untabled(path, about, values, rows_of(path, lines, start))


def rows_of(path: Path, lines: list[str], start: int) -> dict[str, np.ndarray]:
    names = next(csv.reader(lines[start : start + 1]), [])
    if "t" not in names or not any(name == "q1" or name.startswith("q.") for name in names):
        fail(path, "has no line with the columns' names (expected t,q1,...)", start + 1)
    if len(lines) == start + 1 or lines[-1] != "":
        fail(path, "ends in the middle of a line", len(lines))
    rows: list[list[float]] = []
    for number, line in enumerate(lines[start + 1 : -1], start + 2):
        cells = line.split(",")
        if len(cells) != len(names):
            fail(path, f"has {len(cells)} columns (expected {len(names)}: {lines[start]})", number)
        rows.append([])
        for name, cell in zip(names, cells, strict=True):
            try:
                rows[-1].append(parse_number(cell))
            except ValueError:
                fail(path, f"column {name} is {cell!r} (expected a number, or nan)", number)
    array = np.array(rows, float).reshape(-1, len(names))
    return {name: np.ascontiguousarray(column) for name, column in zip(names, array.T, strict=True)}


def quoted(name: str) -> str:
    """A column's name as a cell, whatever signs the names of joints have in them."""
    return '"' + name.replace('"', '""') + '"' if "," in name or '"' in name else name
