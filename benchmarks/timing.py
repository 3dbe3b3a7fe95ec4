"""How the benchmarks measure, and how they write it down.

Contestants take turns, A B C A B C ..., after a warm-up and with the garbage collector off, so that whatever else the
machine does meets all of them alike. A time is the median of the rounds, with the smallest and the largest in
brackets. A ratio is taken within each round; what is given is the median of these, again with its spread.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import os
import statistics
import timeit
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

ROUNDS = 11
LEAST = 0.01  # seconds that one turn lasts at least: fast statements are repeated within it

Times = list[float]  # seconds for one statement, round by round


class Contestant(NamedTuple):
    """A statement to be timed. `result`, an expression, is what it found; otherwise its own value."""

    label: str
    statement: str
    names: dict[str, Any]
    result: str = ""

    def found(self) -> np.ndarray:
        if not self.result:
            return np.asarray(eval(self.statement, dict(self.names)))
        exec(self.statement, names := dict(self.names))
        return np.asarray(eval(self.result, names))


def optional(name: str) -> ModuleType | None:
    """The module, or None where it, or what it needs, is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this process on one core, where the platform knows how, and Linkwise on one thread."""
    pinned = hasattr(os, "sched_setaffinity")
    cores, threads = os.sched_getaffinity(0) if pinned else set(), os.environ.get("LINKWISE_THREADS")
    os.environ["LINKWISE_THREADS"] = "1"
    if pinned:
        os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        if pinned:
            os.sched_setaffinity(0, cores)
        del os.environ["LINKWISE_THREADS"]
        if threads is not None:
            os.environ["LINKWISE_THREADS"] = threads


def interleaved(contestants: Sequence[Contestant], rounds: int = ROUNDS) -> dict[str, Times]:
    """Seconds for one statement of each, by label."""
    timers = [timeit.Timer(c.statement, globals=dict(c.names)) for c in contestants]
    numbers = []
    for timer in timers:
        timer.timeit(1)
        once = max(min(timer.timeit(1), timer.timeit(1)), 1e-8)
        numbers.append(max(1, round(LEAST / once)))
    times: list[Times] = [[] for _ in contestants]
    gc.collect()
    gc.disable()
    try:
        for timer, number in zip(timers, numbers, strict=True):
            timer.timeit(number)
        for _ in range(rounds):
            for timer, number, found in zip(timers, numbers, times, strict=True):
                found.append(timer.timeit(number) / number)
    finally:
        gc.enable()
    return {c.label: found for c, found in zip(contestants, times, strict=True)}


def ratios(slower: Times, faster: Times) -> list[float]:
    return [a / b for a, b in zip(slower, faster, strict=True)]


def differ(found: Any, expected: Any) -> float:
    """The largest difference, relative to the largest number."""
    found, expected = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def agree(contestants: Sequence[Contestant], within: float, expected: Any = None) -> None:
    """Nobody is timed who calculates something else than the first, or than what is expected."""
    expected = contestants[0].found() if expected is None else expected
    for contestant in contestants:
        error = differ(contestant.found(), expected)
        if not error < within:
            raise AssertionError(f"{contestant.label} is off by {error:.1e} (expected less than {within:.0e})")


# --- writing it down -------------------------------------------------------------------------------------------------


class Claim(NamedTuple):
    text: str
    found: str
    held: bool | None  # None: not measured in this run


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
    words = {True: "held", False: "**not held**", None: "not measured"}
    return [f"- {words[claim.held]}: {claim.text}. Found: {claim.found}." for claim in claims]


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


def at_least(text: str, wanted: float, found: dict[str, list[float]]) -> Claim:
    """A claim about ratios that should all be at least so large, by robot."""
    said = ", ".join(f"{name} {spread(values)}" for name, values in found.items())
    held = all(statistics.median(values) >= wanted for values in found.values()) if found else None
    return Claim(text, said or "nothing to compare with", held)


def at_most(text: str, wanted: float, found: dict[str, list[float]], unit: str) -> Claim:
    said = ", ".join(f"{name} {spread(values)} {unit}" for name, values in found.items())
    return Claim(text, said, all(statistics.median(values) <= wanted for values in found.values()))


def command(doc: str | None, argv: list[str] | None, **options: int) -> dict[str, int]:
    """Whole numbers from the command line, by name."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in options.items():
        parser.add_argument(f"--{name}", type=int, default=value, help=f"({value})")
    return vars(parser.parse_args(argv))
