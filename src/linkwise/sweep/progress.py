"""How far a sweep is: a bar where `rich` is installed and somebody is watching, otherwise a line now and then."""

from __future__ import annotations

import sys
import time
from typing import Any

EVERY = 5.0  # seconds


class Meter:
    """`show`: True, False, or None for where it takes longer than some seconds."""

    def __init__(self, show: bool | None, total: int, done: int) -> None:
        self.show, self.total, self.done, self.failed = show, total, done, 0
        self.began, self.before = time.monotonic(), done
        self.said = self.began if show is None else float("-inf")
        self.bar: Any = None
        if show is not False and sys.stderr.isatty():
            self.bar = rich_bar(total, done)

    def step(self, failed: bool) -> None:
        self.failed += failed
        self.done += not failed
        now = time.monotonic()
        if self.bar is not None:
            self.bar.update(self.bar.tasks[0].id, completed=self.done + self.failed)
        elif self.show is not False and (now - self.said >= EVERY or (self.show and self.left == 0)):
            self.said = now
            print(self.line(now - self.began), file=sys.stderr, flush=True)

    @property
    def left(self) -> int:
        return self.total - self.done - self.failed

    def line(self, seconds: float) -> str:
        made = self.done + self.failed - self.before
        failed = f", {self.failed} failed" if self.failed else ""
        rest = f"; about {self.left * seconds / made:.0f} s to go" if made and self.left else ""
        return f"sweep: {self.done} of {self.total} chunks{failed}{rest}"

    def close(self) -> None:
        if self.bar is not None:
            self.bar.stop()


def rich_bar(total: int, done: int) -> Any:
    """A running bar, or None without `rich`."""
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        return None
    bar = Progress(*Progress.get_default_columns(), console=Console(stderr=True), transient=True)
    bar.add_task("chunks", total=total, completed=done)
    bar.start()
    return bar
