"""How the benchmarks write down what they measured: sections of a page, with tables, remarks and claims."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Claim(NamedTuple):
    text: str
    found: str
    verdict: str  # one of these:


HELD, BARELY, FAILED, UNKNOWN = "held", "**held in the median, not in every round**", "**not held**", "not measured"


class Table(NamedTuple):
    caption: str
    header: list[str]
    rows: list[list[str]]


@dataclass
class Section:
    """One benchmark's part of the page."""

    title: str
    command: str
    about: str
    tables: list[Table] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"## {self.title}", "", f"`{self.command}`", "", self.about, ""]
        for table in self.tables:
            lines += [table.caption, "", *markdown(table.header, table.rows), ""]
        for remark in self.remarks:
            lines += [f"- {remark}"]
        lines += [""] if self.remarks else []
        return "\n".join(lines) + "\n".join(["", *claim_lines(self.claims), ""] if self.claims else [])


def claim_lines(claims: Iterable[Claim]) -> list[str]:
    return [f"- {claim.verdict}: {claim.text}. Found: {claim.found}." for claim in claims]


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table whose columns also stand in line on a terminal."""
    widths = [max(len(row[k]) for row in (header, *rows)) for k in range(len(header))]
    lines = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in (header, *rows)]
    rule = ["-" * width for width in widths]
    return ["| " + " | ".join(line) + " |" for line in (lines[0], rule, *lines[1:])]


def number(x: float) -> str:
    if not x:
        return "0"
    return f"{x:,.0f}" if x >= 100 else f"{x:.1f}" if x >= 10 else f"{x:.2f}" if x >= 0.1 else f"{x:.2g}"


def spread(values: Sequence[float], scale: float = 1.0) -> str:
    """Median, smallest and largest."""
    middle, low, high = statistics.median(values), min(values), max(values)
    return f"{number(middle * scale)} ({number(low * scale)}–{number(high * scale)})"


def verdict(margins: Iterable[Sequence[float]]) -> str:
    """Of measured values less what was promised, all of which should be positive."""
    margins = list(margins)
    if not margins:
        return UNKNOWN
    if any(statistics.median(each) < 0 for each in margins):
        return FAILED
    return HELD if min(map(min, margins)) >= 0 else BARELY


def at_least(text: str, wanted: float, found: dict[str, list[float]]) -> Claim:
    """A claim about ratios that should all be at least so large, by robot."""
    said = ", ".join(f"{name} {spread(values)}" for name, values in found.items())
    margins = [[value - wanted for value in values] for values in found.values()]
    return Claim(text, said or "nothing to compare with", verdict(margins))


def at_most(text: str, wanted: float, found: dict[str, list[float]], unit: str) -> Claim:
    said = ", ".join(f"{name} {spread(values)} {unit}" for name, values in found.items())
    return Claim(text, said, verdict([wanted - value for value in values] for values in found.values()))


Race = dict[str, dict[str, list[float]]]  # seconds by function and contestant, round by round


def race_tables(
    arm: str, race: Race, what: str, first: str, left_out: Sequence[str] = (), absent: Sequence[str] = ()
) -> list[Table]:
    """Nanoseconds, and how many times as long as the first."""
    labels = list(dict.fromkeys(label for times in race.values() for label in times))
    header = [arm, *race]
    rows = [[label, *(spread(t[label], 1e9) if label in t else "" for t in race.values())] for label in labels]
    rows += [[f"{name}: not installed", *[""] * len(race)] for name in absent]
    slower = [
        [label, *(spread(ratios(times[label], times[first])) if label in times else "" for times in race.values())]
        for label in labels
        if label not in (first, *left_out)
    ]
    return [
        Table(f"{arm}, nanoseconds for one {what}:", header, rows),
        Table(f"{arm}, how many times as long as the {first}:", header, slower),
    ]


def ratios(slower: Sequence[float], faster: Sequence[float]) -> list[float]:
    return [a / b for a, b in zip(slower, faster, strict=True)]


def against(races: dict[str, Race], task: str, theirs: str, ours: str) -> dict[str, list[float]]:
    """Ratios by robot, where both ran."""
    return {name: ratios(race[task][theirs], race[task][ours]) for name, race in races.items() if theirs in race[task]}


def wins(races: dict[str, Race], ours: Sequence[str]) -> list[str]:
    """A remark wherever a peer is faster."""
    said = []
    for name, race in races.items():
        labels = dict.fromkeys(label for times in race.values() for label in times if not label.startswith("Linkwise"))
        for label in labels:
            for own in ours:
                raced = {task: ratios(times[label], times[own]) for task, times in race.items() if label in times}
                ahead = [f"{task} {spread(ratio)}" for task, ratio in raced.items() if statistics.median(ratio) < 1.0]
                if ahead:
                    said.append(f"**{label}: faster** than the {own}, {name}: {', '.join(ahead)} of its time.")
    return said or [f"No peer is faster than the {' or the '.join(ours)} at anything in these tables."]


def closest(races: dict[str, Race], ours: str) -> list[str]:
    """Where the nearest peer comes nearest."""
    found = [
        (statistics.median(ratio := ratios(times, each[ours])), f"{label} at {task} of {name}: {spread(ratio)}")
        for name, race in races.items()
        for task, each in race.items()
        for label, times in each.items()
        if not label.startswith("Linkwise")
    ]
    return [f"The closest race is {min(found)[1]} × the time of the {ours}."] if found else []
