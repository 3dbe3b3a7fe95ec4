"""How far a sweep is, in chunks."""

from __future__ import annotations

from ..progress import ProgressDisplay

EVERY = 5.0  # seconds between lines


class ChunkProgress:
    """`shown`: True, False, or None for a bar on a terminal, and lines where it takes longer than some seconds."""

    def __init__(self, shown: bool | None, total: int, done: int) -> None:
        self.shown, self.total, self.done, self.failed, self.before = shown, total, done, 0, done
        self.display = ProgressDisplay(0.0, 0.0 if shown else EVERY, EVERY, EVERY)
        if shown is not False:
            self.display.update(done, total, "chunks")

    def step(self, failed: bool) -> None:
        self.failed += failed
        self.done += not failed
        finished = self.done + self.failed
        if self.shown is not False:
            last = bool(self.shown) and finished == self.total
            self.display.update(finished, self.total, "chunks", self.line(), last=last)

    def line(self) -> str:
        finished = self.done + self.failed
        failed = f", {self.failed} failed" if self.failed else ""
        seconds = (self.total - finished) * self.display.seconds / (finished - self.before)
        rest = f"; about {seconds:.0f} s to go" if finished < self.total else ""
        return f"sweep: {self.done} of {self.total} chunk{'s' * (self.total != 1)}{failed}{rest}"

    def close(self) -> None:
        self.display.close()
