"""How far a long run is, on stderr: on a terminal a bar if `rich` is installed, otherwise a line; elsewhere lines.

Without a terminal, as in a pipe or a log, nothing is shown unless asked for, and then ever more rarely.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from ..ode.trajectories import Trajectories

PATIENCE = 1.0  # seconds before anything is shown, and between two times
RARELY = 60.0  # seconds between lines that stay, after some time


class Watch:
    """Called now and then with where all trajectories are; `close` when the run is over."""

    def __init__(self, end: float, shown: bool | None) -> None:
        self.end = end
        self.shown = shown  # None: on a terminal
        self.started = self.last = time.monotonic()
        self.wait = PATIENCE
        self.bar: Any = None
        self.task: Any = None
        self.written = False

    def __call__(self, now: Trajectories) -> None:
        moment, terminal = time.monotonic(), sys.stderr.isatty()
        if moment - self.last < self.wait or not (terminal if self.shown is None else self.shown):
            return
        self.last = moment
        fraction = float(np.mean(np.where(now.status == 0, now.t / self.end, 1.0)))
        said = f"{fraction:6.1%} after {moment - self.started:.0f} s"
        if not terminal:
            self.wait = min(2.0 * self.wait, RARELY)
            print(f"simulate: {said}", file=sys.stderr, flush=True)
            return
        if self.bar is None and not self.written:
            self.bar = rich_bar()
            if self.bar is not None:
                self.bar.start()
                self.task = self.bar.add_task(f"{len(now.t)} trajectories", total=1.0)
        if self.bar is not None:
            self.bar.update(self.task, completed=fraction)
        else:
            self.written = True
            print(f"\r{said}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.stop()
        if self.written:
            print(file=sys.stderr)


def rich_bar() -> Any:
    """A progress bar, or None without `rich`."""
    try:
        from rich.console import Console
        from rich.progress import Progress as Bar
    except ImportError:
        return None
    return Bar(console=Console(stderr=True), transient=True)
