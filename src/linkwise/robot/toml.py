"""A robot's table as a TOML file: the keys of `Robot.from_dh` and `Robot.from_frames`, one [[link]] per row.

    name = "pendulum"
    convention = "standard"            # or "modified", or "frames"
    gravity = [0.0, -9.81, 0.0]

    [[link]]
    joint = "revolute"
    a = 1.0
    b = 0.0
    alpha = "90 deg"                   # or a number, in radians
    mass = 3.0
    com = [-0.5, 0.0, 0.0]
    inertia = [[0.0, 0.0, 0.0], [0.0, 0.25, 0.0], [0.0, 0.0, 0.25]]

Optional: `about`, the source of the numbers. `parent` is a link's name or "base"; if a link is called "base", the base
is `parent = ""`. Errors begin with file:line.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from ..errors import FileError, RobotError, RowError, near_miss
from .model import Robot, from_table
from .tables import CONVENTIONS, COUPLING, REFUSE

KEYS = ("name", "about", "convention", "gravity", "link")
ONE_EACH = "(expected [[link]], in two brackets, for each link, with its joint = ...)"
HEADER = re.compile(r"\s*\[\[\s*[\"']?link[\"']?\s*\]\]")
INDICES = re.compile(r"(\[\d\])+$")
LINE = re.compile(r"\(at line (\d+), column \d+\)")
TEXTS = re.compile(r"""(\"{3}(?:\\.|[^\\])*?\"{3,5}|'{3}.*?'{3,5})|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|#[^\n]*""", re.DOTALL)


def from_text(text: str, path: Path, *, unphysical: str = REFUSE, coupled: bool = True) -> Robot:
    """The robot of a text; errors name `path`. `coupled`: False ignores the couplings of joints."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        position = LINE.search(str(problem))
        line = int(position[1]) if position else text.rstrip().count("\n") + 1
        raise FileError(f"{path}:{line}: is not TOML: {problem}") from None
    except (RecursionError, ValueError) as problem:
        raise FileError(f"{path}:1: cannot be read as TOML: {problem}") from None
    return Reader(path, without_long_texts(text).split("\n")).robot(data, unphysical, coupled)


def without_long_texts(text: str) -> str:
    """The same lines with multi-line texts blanked, so that no word in them looks like an entry."""
    return TEXTS.sub(lambda match: "\n" * match[0].count("\n") if match[1] else match[0], text)


class Reader:
    """Reads one file; its lines locate wrong entries."""

    def __init__(self, path: Path, lines: list[str]) -> None:
        self.path, self.lines = path, lines
        self.headers = [i for i, line in enumerate(lines) if HEADER.match(line)]

    def robot(self, data: dict[str, Any], unphysical: str, coupled: bool) -> Robot:
        for key in data:
            if key not in KEYS:
                if key in ("joint", "joints", "body"):
                    self.fail(f"{key} is not a key of a robot file {ONE_EACH}", key)
                self.fail(f"{key} is not a key of a robot file{near_miss(key, KEYS)} ({', '.join(KEYS)})", key)
        convention = data.get("convention")
        if convention not in tuple(CONVENTIONS):
            known = ", ".join(map(repr, CONVENTIONS))
            value = f"{convention!r}{near_miss(convention, CONVENTIONS)}" if "convention" in data else "missing"
            self.fail(f"convention is {value} (expected one of {known})", "convention")
        rows = data.get("link")
        if isinstance(rows, dict):
            self.fail(
                "has no links (expected one [[link]] table, in two brackets, for each row; [link] is one table)", "link"
            )
        if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
            self.fail("has no links (expected one [[link]] table for each row)", "link")
        name = data.get("name", self.path.stem)
        for key in ("name", "about"):
            if not isinstance(data.get(key, ""), str):
                self.fail(f"{key} is {data[key]!r} (expected text)", key)
        if "gravity" not in data:
            self.fail("gravity is missing (expected three numbers, in m/s2, in the base frame)", "gravity")
        try:
            if not coupled:
                rows = [{key: x for key, x in row.items() if key not in COUPLING} for row in rows]
            robot = from_table(rows, convention, data["gravity"], name, unphysical)
        except RowError as problem:
            raise FileError(f"{self.path}:{self.line(problem.key, problem.row)}: {problem}") from None
        except RobotError as problem:
            self.fail(str(problem), "gravity" if name.isprintable() else "name")
        return replace(robot, about=data.get("about", ""))

    def fail(self, message: str, key: str) -> NoReturn:
        raise FileError(f"{self.path}:{self.line(key, None)}: {message}")

    def line(self, key: str | None, row: int | None) -> int:
        """The line, from 1, of an entry of a row; otherwise of the row's header."""
        ends = [*self.headers, len(self.lines)]
        if row is None:
            start, end = 0, ends[0]
        elif row < len(self.headers):
            start, end = ends[row], ends[row + 1]
        else:  # no headers: all rows are in one list
            return self.line("link", None)
        pattern = "[bd]" if key == "b" else re.escape(INDICES.sub("", key or ""))
        entry = re.compile(rf"\s*[\"']?{pattern}[\"']?\s*[=.]")
        matches = [i for i in range(start, end) if entry.match(self.lines[i])]
        if row is None and not matches:
            table = re.compile(rf"\s*\[\[?\s*[\"']?{pattern}[\"']?\s*[].]")
            matches = [i for i, line in enumerate(self.lines) if table.match(line)]
        return (matches or [start])[0] + 1


def to_text(robot: Robot) -> str:
    """The text of a robot's file."""
    return table_text(robot.name, robot.about, robot.convention, robot.gravity, robot.rows)


def table_text(name: str, about: str, convention: str, gravity: Any, rows: Iterable[Mapping[str, Any]]) -> str:
    parts = [
        f"name = {quoted(name)}",
        *([f"about = {quoted(about)}"] if about else []),
        f"convention = {quoted(convention)}",
        f"gravity = {value(gravity)}",
    ]
    for row in rows:
        parts += ["", "[[link]]"]
        for key, entry in row.items():
            parts.append(f"{key} = {angle(entry) if key in ('alpha', 'theta') else value(entry)}")
    return "\n".join(parts) + "\n"


def angle(x: Any) -> str:
    """Degrees if a whole number of degrees is exactly x, otherwise radians."""
    if type(x) is float and x != 0.0:
        degrees = round(math.degrees(x))
        if abs(degrees) <= 360 and math.radians(degrees) == x:
            return f'"{degrees} deg"'
    return value(x)


def value(x: Any) -> str:
    if isinstance(x, (tuple, list)):
        return "[" + ", ".join(map(value, x)) + "]"
    if isinstance(x, str):
        return quoted(x)
    if type(x) is bool:
        return str(x).lower()
    if type(x) is float:
        return repr(x)
    raise FileError(f"cannot write {x!r}: a file holds plain numbers only, no symbols and no numbers of many digits")


def quoted(text: str) -> str:
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise FileError(f"cannot write {text!r}: it has half of a surrogate pair, which UTF-8 cannot hold")
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'
