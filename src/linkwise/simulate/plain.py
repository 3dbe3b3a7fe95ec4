"""The integration in NumPy: the definition of what `render.llvm_integrator` does, and the way for functions of Python.

All trajectories of a batch advance side by side, each with its own time and step. A step is tried; it is accepted if
each of its errors is at most atol + rtol max(|y|, |z|); e is the largest, in these units. The next step is h times

    0.9 e^(-0.7/q) e_before^(0.4/q)     after an accepted step, between 0.2 and 10, not above 1 right after a refusal
    0.9 e^(-1/q)                        after a refused one, between 0.2 and 1

(Gustafsson 1991), q being the order. At times that are asked for, a step is made from the last accepted state to there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..render.llvm_events import HALVINGS, Crossing
from ..render.llvm_flow import EXP2, LOG2
from ..render.llvm_integrator import (
    DONE,
    HALTED,
    LARGEST,
    LEAST_BEFORE,
    LEAST_ERROR,
    LOST,
    RUNNING,
    SAFETY,
    SMALLEST,
    STUCK,
    Method,
)

Side = Callable[[np.ndarray, np.ndarray], np.ndarray]  # t (B,), y (B, m) -> dy (B, m)
Gauge = Side  # -> the values of the events (B, e)


@dataclass
class Progress:
    """Where every trajectory of a batch is."""

    t: np.ndarray
    y: np.ndarray
    h: np.ndarray
    error: np.ndarray  # of the last accepted step
    next: np.ndarray  # which of the times comes next
    steps: np.ndarray
    rejected: np.ndarray
    status: np.ndarray
    again: np.ndarray  # whether the last try was refused
    logged: np.ndarray  # how many events were met
    log: np.ndarray  # (count, room, 2 + m): time, which, state
    evaluations: np.ndarray | None = None  # where they were counted

    @staticmethod
    def at(y: np.ndarray, first_step: float, room: int = 0) -> Progress:
        count = len(y)
        zeros = {name: np.zeros(count, dtype=np.int64) for name in ("next", "steps", "rejected", "status", "logged")}
        return Progress(
            t=np.zeros(count),
            y=y.copy(),
            h=np.full(count, first_step),
            error=np.full(count, LEAST_BEFORE),
            again=np.zeros(count, dtype=bool),
            log=np.full((count, room, 2 + y.shape[1]), np.nan),
            **zeros,
        )


@dataclass(frozen=True)
class Integrator:
    method: Method
    side: Side
    rtol: float
    atol: np.ndarray
    gauge: Gauge | None = None
    crossings: tuple[Crossing, ...] = ()

    def advance(self, now: Progress, end: float, times: np.ndarray, out: np.ndarray, budget: int) -> bool:
        """At most `budget` tries; whether something is left to do."""
        for _ in range(budget):
            active = now.status == RUNNING
            if not active.any():
                return False
            self.attempt(now, active, end, times, out)
        return bool((now.status == RUNNING).any())

    def attempt(self, now: Progress, active: np.ndarray, end: float, times: np.ndarray, out: np.ndarray) -> None:
        left = end - now.t
        hits = now.h >= left
        step = np.where(active, np.where(hits, left, now.h), 0.0)
        with np.errstate(all="ignore"):
            start = self.side(now.t, now.y)
            z, k = self.stages(now.t, step, now.y, start)
            error = self.error(step, now.y, z, k)
        fine = error <= 1.0
        accepted, refused = active & fine, active & ~fine
        landed = np.where(hits, end, now.t + step)
        halted = np.zeros_like(hits)
        if self.gauge is not None:
            landed, halted = self.meet(now, accepted, landed, start, z)
            hits = hits & (landed >= end)
        self.sample(now, accepted, landed, start, times, out)
        now.y[accepted] = z[accepted]
        now.t = np.where(accepted, landed, now.t)
        now.status[accepted & hits] = DONE
        now.status[halted] = HALTED
        if self.method.fixed:
            now.status[refused] = LOST
        else:
            following = step * self.factor(now, error, accepted)
            stuck = refused & (following <= 1e-15 * np.abs(end + now.t))
            now.status[stuck] = np.where(np.isnan(error), LOST, STUCK)[stuck]
            now.h = np.where(active, following, now.h)
        now.steps += accepted
        now.rejected += refused

    def stages(self, t: np.ndarray, h: np.ndarray, y: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """One step on from y, and all stages."""
        k = np.zeros((len(self.method.b), *y.shape))
        k[0] = start
        for s in range(1, len(k)):
            between = y + h[:, None] * np.tensordot(self.method.a[s], k[:s], 1)
            k[s] = self.side(t + self.method.c[s] * h, between)
        return y + h[:, None] * np.tensordot(self.method.b, k, 1), k

    def error(self, h: np.ndarray, y: np.ndarray, z: np.ndarray, k: np.ndarray) -> np.ndarray:
        strange = 0.0 * z.sum(axis=1)  # NaN where the state is not finite
        if self.method.fixed:
            return np.asarray(strange)
        unit = h[:, None] / (self.atol + self.rtol * np.maximum(np.abs(y), np.abs(z)))
        e = np.abs(np.tensordot(self.method.error, k, 1) * unit)
        if self.method.damp:
            d = np.tensordot(self.method.damp, k, 1) * unit
            e = e * e / np.sqrt(e * e + 0.01 * d * d + 1e-300)
        return np.asarray(np.fmax.reduce(e, axis=1) + strange)

    def factor(self, now: Progress, error: np.ndarray, accepted: np.ndarray) -> np.ndarray:
        q = self.method.order
        e = np.where(error < 1e300, np.fmax(error, LEAST_ERROR), 1e300)
        log, before = rough_log2(e), rough_log2(now.error)
        wanted = SAFETY * rough_exp2(np.where(accepted, -0.7 / q * log + 0.4 / q * before, -1.0 / q * log))
        most = np.where(accepted & ~now.again, LARGEST, 1.0)
        now.error = np.where(accepted, np.fmax(error, LEAST_BEFORE), now.error)
        now.again = ~accepted
        return np.minimum(np.maximum(wanted, SMALLEST), most)

    def meet(
        self, now: Progress, accepted: np.ndarray, landed: np.ndarray, start: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Where trajectories land, the first events in their steps searched by halving, and which have to stop."""
        assert self.gauge is not None
        before = self.gauge(now.t, now.y)
        hit = accepted & self.crossed(before, self.gauge(landed, z)).any(axis=1)
        if not hit.any():
            return landed, np.zeros_like(hit)
        low, high = now.t.copy(), landed.copy()
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            there, _ = self.stages(now.t, np.where(hit, middle - now.t, 0.0), now.y, start)
            past = self.crossed(before, self.gauge(middle, there)).any(axis=1)
            low, high = np.where(past, low, middle), np.where(past, middle, high)
        there, _ = self.stages(now.t, np.where(hit, high - now.t, 0.0), now.y, start)
        z[hit] = there[hit]
        landed = np.where(hit, high, landed)
        which = self.crossed(before, self.gauge(landed, z)) & hit[:, None]
        for k in np.flatnonzero(hit & (now.logged < now.log.shape[1])):
            now.log[k, now.logged[k]] = [landed[k], (which[k] * 2.0 ** np.arange(which.shape[1])).sum(), *z[k]]
        now.logged += hit
        stopping = np.array([crossing.stop for crossing in self.crossings])
        return landed, np.asarray((which & stopping).any(axis=1))

    def crossed(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        return crossed(self.crossings, before, after)

    def sample(
        self,
        now: Progress,
        accepted: np.ndarray,
        landed: np.ndarray,
        start: np.ndarray,
        times: np.ndarray,
        out: np.ndarray,
    ) -> None:
        while True:
            wanted = times[np.minimum(now.next, len(times) - 1)]
            due = accepted & (now.next < len(times)) & (wanted <= landed)
            if not due.any():
                return
            z, _ = self.stages(now.t, np.where(due, wanted - now.t, 0.0), now.y, start)
            out[due, now.next[due]] = z[due]
            now.next += due


def crossed(crossings: tuple[Crossing, ...], before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Which events have crossed zero, in the direction that counts, between values (..., e)."""
    direction = np.array([crossing.direction for crossing in crossings])
    up, down = (before < 0) & (after >= 0), (before > 0) & (after <= 0)
    return np.asarray((up & (direction >= 0)) | (down & (direction <= 0)))


def rough_log2(x: np.ndarray) -> np.ndarray:
    """To some six digits, as the machine code has it."""
    fraction, exponent = np.frexp(x)
    return np.asarray(exponent + np.polyval(LOG2, fraction))


def rough_exp2(x: np.ndarray) -> np.ndarray:
    below = np.floor(x)
    return np.asarray(np.ldexp(np.polyval(EXP2, x - below), below.astype(int)))
