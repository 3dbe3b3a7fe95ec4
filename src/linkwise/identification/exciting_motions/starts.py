"""Many starts of the search, and the best of them refined."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ...progress import ProgressDisplay
from ...trajectories.limits import Floats
from .minimise import minimise
from .problem import ExcitationProblem

DRAWS = 50  # random motions that are tried for one start


class Stage(NamedTuple):
    """One minimisation: see `problem` for the exponent and the weight of the barrier."""

    exponent: int
    weight: float
    steps: int
    enough: float


FIRST = Stage(4, 1e-2, 150, 1e-3)
REFINED = (Stage(4, 1e-3, 300, 1e-4), Stage(16, 1e-3, 300, 1e-4), Stage(32, 1e-4, 200, 1e-4))


class SearchProgress:
    """`shown`: True, False, or None for a bar on a terminal."""

    def __init__(self, shown: bool | None, starts: int) -> None:
        self.starts, self.total = starts, starts * FIRST.steps + sum(stage.steps for stage in REFINED)
        self.display = ProgressDisplay.of_long_work(shown)

    def update(self, done: int, what: str) -> None:
        line = f"excitation: {done / self.total:6.1%} after {self.display.seconds:.0f} s, {what}"
        self.display.update(done, self.total, what, line)

    def close(self) -> None:
        self.display.close()


@dataclass
class Search:
    """What was found so far: variables of the problem with their scores; smaller is better."""

    problem: ExcitationProblem
    progress: SearchProgress
    found: list[tuple[float, Floats]] = field(default_factory=list)
    current: Floats | None = None
    done: int = 0

    def run(self, seed: int) -> None:
        for k in range(self.progress.starts):
            if (x := self.drawn(np.random.default_rng([seed, k]))) is None:
                continue
            self.minimise(x, FIRST, f"start {k + 1} of {self.progress.starts}")
            self.done = (k + 1) * FIRST.steps
        if self.found:
            x = min(self.found, key=lambda pair: pair[0])[1]
            for stage in REFINED:
                x = self.minimise(x, stage, "refining the best")

    def drawn(self, rng: np.random.Generator) -> Floats | None:
        starts = (self.problem.start(rng) for _ in range(DRAWS))
        return next((x for x in starts if x is not None), None)

    def minimise(self, x: Floats, stage: Stage, what: str) -> Floats:
        begin = self.done

        def on_step(x: Floats) -> None:
            self.current = x
            self.done += 1
            self.progress.update(self.done, what + self.so_far)

        x = minimise(self.problem.at(stage.exponent, stage.weight), x, stage.steps, stage.enough, on_step)
        self.keep(x)
        self.done = begin + stage.steps
        return x

    def keep(self, x: Floats) -> None:
        self.found.append((self.problem.score(x), x))
        self.current = None

    @property
    def so_far(self) -> str:
        best = min((score for score, _ in self.found), default=math.inf)
        return f", {self.problem.criterion} {abs(best):.4g} so far" if math.isfinite(best) else ""

    def best_first(self) -> Iterator[Floats]:
        """The motions that were found, also that which an interrupted minimisation had reached."""
        if self.current is not None:
            self.keep(self.current)
        for _, x in sorted(self.found, key=lambda pair: pair[0]):
            yield self.problem.free(x)
