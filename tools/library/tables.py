"""The tables of the library, from their originals."""

from __future__ import annotations

import re
import tomllib
import warnings
from pathlib import Path
from typing import Any

import linkwise as lw
from linkwise.robot import toml

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "src" / "linkwise" / "formats" / "library"
ORIGINALS = ROOT / "tests" / "data" / "robots"
ALL: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("sources.toml").read_text(encoding="utf-8"))
SOURCES = {name: source for name, source in ALL.items() if source.get("library", True)}
UNTURNED = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
DEFAULTS = {"rotation": UNTURNED, "axis": (0.0, 0.0, 1.0), "anchor": (0.0, 0.0, 0.0)}
NO_BODY = {"mass": 0.0, "com": (0.0, 0.0, 0.0), "inertia": ((0.0, 0.0, 0.0),) * 3}
NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")
ROUNDING = 1e-12  # of the largest number of a line
WHOLE = 4e-16  # the cosine of "1.5707963267948966" is 6e-17, and means zero


def original_path(name: str) -> Path:
    return ORIGINALS / (name + Path(ALL[name]["file"]).suffix)


def about(name: str) -> str:
    source = SOURCES[name]
    origin = f"{source['file'].rpartition('/')[2]} of {source['wheel']} on PyPI, from {source['upstream']}"
    licence = f"{source['licence']}, {source['copyright'].rstrip('.')}"
    return f"{source['robot']}. Source: {origin}. Licence: {licence}. Caveat: {source['caveat']}"


def table(name: str) -> str:
    """The text of the robot's file."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot = lw.load(original_path(name), base=SOURCES[name].get("base"))
    return toml.table_text(name, about(name), robot.convention, robot.gravity, map(compact, robot.rows))


def compact(row: Any) -> dict[str, Any]:
    """The row without entries that say what holds anyway."""
    entries = {key: EXACT[key](value) if key in EXACT else value for key, value in row.items()}
    left_out = DEFAULTS | (NO_BODY if row["joint"] == "fixed" else {})
    return {key: value for key, value in entries.items() if left_out.get(key) != value}


def agree(kept: str, made: str) -> bool:
    """Whether two tables are the same but for rounding: a file keeps its digits when MuJoCo rounds in another way."""
    if NUMBER.sub("", kept) != NUMBER.sub("", made):
        return False
    for one, other in zip(kept.splitlines(), made.splitlines(), strict=True):
        a, b = ([float(x) for x in NUMBER.findall(line)] for line in (one, other))
        size = max(map(abs, a), default=0.0)
        if len(a) != len(b) or any(abs(x - y) > ROUNDING * size for x, y in zip(a, b, strict=True)):
            return False
    return True


def with_table(path: Path, rows: list[tuple[str, ...]]) -> str:
    """The text of a page, with other rows in its table; the first are the titles."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    old = [i for i, line in enumerate(lines) if line.startswith("|")]
    table = [f"| {' | '.join(cells)} |\n" for cells in (rows[0], ("---",) * len(rows[0]), *rows[1:])]
    return "".join([*lines[: old[0]], *table, *lines[old[-1] + 1 :]])


def whole(x: Any) -> Any:
    """Quarter turns without the rounding of a cosine."""
    if isinstance(x, tuple):
        return tuple(map(whole, x))
    return float(round(x)) + 0.0 if abs(x - round(x)) < WHOLE else x


def symmetric(tensor: Any) -> Any:
    """Without the rounding of a turn into the axes of the link."""
    return tuple(tuple(tensor[min(i, j)][max(i, j)] for j in range(3)) for i in range(3))


EXACT = {"rotation": whole, "axis": whole, "inertia": symmetric}
