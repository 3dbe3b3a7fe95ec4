"""How the benchmarks measure.

Contestants take turns, A B C A B C ..., after a warm-up and with the garbage collector off, so that whatever else the
machine does meets all of them alike. A time is the median of the rounds, with the smallest and the largest in
brackets. A ratio is taken within each round; what is given is the median of these, again with its spread. Where a
script says so, the rounds come from several fresh processes: the same code may take a tenth longer in one process than
in the next, and then does so in every round of it.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import subprocess
import sys
import timeit
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
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
    """The module, or None where it, or what it needs, is not installed. What it prints does not get into results."""
    try:
        with redirect_stdout(sys.stderr):
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


@contextmanager
def without_cache() -> Iterator[None]:
    """Compile everything anew."""
    before = os.environ.get("LINKWISE_CACHE")
    os.environ["LINKWISE_CACHE"] = "off"
    try:
        yield
    finally:
        del os.environ["LINKWISE_CACHE"]
        if before is not None:
            os.environ["LINKWISE_CACHE"] = before


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


def pooled(script: str, processes: int, **options: int) -> dict[str, Any]:
    """What `script --raw` prints in so many fresh processes, one after the other, with the rounds put together."""
    words = [f"--{name}={value}" for name, value in options.items()]
    found: dict[str, Any] = {}
    for _ in range(processes):
        done = subprocess.run([sys.executable, script, "--raw", *words], capture_output=True, text=True, check=True)
        join(found, json.loads(done.stdout))
    return found


def join(found: dict[str, Any], more: dict[str, Any]) -> None:
    for key, value in more.items():
        if isinstance(value, dict):
            join(found.setdefault(key, {}), value)
        else:
            found.setdefault(key, []).extend(value)


def command(doc: str | None, argv: list[str] | None = None, **options: int) -> dict[str, int]:
    """Whole numbers from the command line, by name."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in options.items():
        parser.add_argument(f"--{name}", type=int, default=value, help=f"({value})")
    return vars(parser.parse_args(argv))


def raced(doc: str | None, raw: Callable[..., Any], measure: Callable[..., Any], **options: int) -> None:
    """The command line of a script that starts itself in several processes: with --raw, the times alone, as JSON."""
    alone = "--raw" in sys.argv
    given = command(doc, [word for word in sys.argv[1:] if word != "--raw"], **options)
    if alone:
        del given["processes"]
    print(json.dumps(raw(**given)) if alone else measure(**given))
