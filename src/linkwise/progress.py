"""Progress of long runs on stderr: a bar on a terminal with `rich`, otherwise lines."""

from __future__ import annotations

import math
import sys
import time
from typing import Any, Self

from .errors import printable


def on_terminal() -> bool:
    """Whether stderr exists and is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


PATIENCE = 1.0  # seconds before progress is shown
RARELY = 60.0  # longest time between lines, in seconds


class ProgressDisplay:
    """Shows a bar after `bar_after` seconds, or a line after `line_after`.

    The time between lines doubles from `wait` to `longest`.
    """

    def __init__(self, bar_after: float, line_after: float, wait: float, longest: float) -> None:
        self.started = time.monotonic()
        self.bar_from, self.line_from = self.started + bar_after, self.started + line_after
        self.wait, self.longest = wait, longest
        self.bar: Any = None

    @classmethod
    def of_long_work(cls, shown: bool | None = None, patience: float | None = None) -> Self:
        """A display that starts on a terminal after a second, and elsewhere only if `shown` is true."""
        wait = PATIENCE if patience is None else patience
        first = wait if (on_terminal() if shown is None else shown) else math.inf
        return cls(first, first, PATIENCE, RARELY)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def silent(self) -> bool:
        """Whether nothing will ever be shown."""
        return self.bar is None and self.bar_from == self.line_from == math.inf

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    def update(self, done: float, total: float, label: str, line: str = "", *, last: bool = False) -> None:
        """Update the bar with `label`, or print `line` if there is no bar; the last line is always printed."""
        moment = time.monotonic()
        if self.bar is None and moment >= self.bar_from and on_terminal():
            self.bar_from = float("inf")  # one attempt
            self.bar = rich_bar(label, total)
        if self.bar is not None:
            self.bar.update(self.bar.task_ids[0], completed=done, description=description(label))
        elif line and (moment >= self.line_from or last):
            self.wait = min(2.0 * self.wait, self.longest)
            self.line_from = moment + self.wait
            print(printable(line), file=sys.stderr, flush=True)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.stop()


def description(label: str) -> str:
    """Escape a label for `rich`, which interprets words in brackets."""
    from rich.markup import escape

    text: str = escape(printable(label))
    return text


def rich_bar(label: str, total: float) -> Any:
    """A running bar, or None without `rich`."""
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        return None
    bar = Progress(console=Console(stderr=True), transient=True)
    bar.add_task(description(label), total=total)
    bar.start()
    return bar
