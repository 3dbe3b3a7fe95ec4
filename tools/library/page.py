"""The table of docs/library.md: source, licence and caveat of each robot, from what its file says of itself."""

from __future__ import annotations

import math
import re

import linkwise as lw
from linkwise.trajectories.limits import limit_kinds

from . import tables

PATH = tables.ROOT / "docs" / "library.md"
ABOUT = re.compile(
    r"(?P<robot>.+?)\. Source: (?P<source>.+?)\. Licence: (?P<licence>.+?)\.(?: Caveat: (?P<caveat>.+))?"
)
TITLES = ("name", "robot", "joints", "mass (kg)", "limits", "source", "licence", "caveat")


def text() -> str:
    """The page as it is, with its table made anew."""
    return tables.with_table(PATH, [TITLES, *map(row, library())])


def library() -> list[str]:
    return sorted(path.stem for path in tables.FOLDER.glob("*.toml"))


def row(name: str) -> tuple[str, ...]:
    arm = lw.load(tables.FOLDER / f"{name}.toml")
    said = ABOUT.fullmatch(arm.about)
    if said is None:
        raise ValueError(f"{name}: about is {arm.about!r} (expected '<robot>. Source: ... Licence: ... Caveat: ...')")
    licence = said["licence"].partition(", ")[0] if name in tables.SOURCES else said["licence"]
    mass = f"{math.fsum(link.mass for link in arm.links):.4g}"
    robot = said["robot"].partition(". ")[0]
    return (
        f"`{name}`",
        robot,
        repeated(arm.joints),
        mass,
        ", ".join(limit_kinds(arm)),
        said["source"],
        licence,
        said["caveat"] or "",
    )


def repeated(letters: str) -> str:
    """RRRRPP is 4R 2P."""
    runs = [match[0] for match in re.finditer(r"(.)\1*", letters)]
    return " ".join(f"{len(run)}{run[0]}" if len(run) > 1 else run for run in runs)
