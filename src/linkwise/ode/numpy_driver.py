"""The integration in NumPy: the definition of what `codegen.llvm.integrator` does, and the way for functions of Python.

All trajectories of a batch advance side by side, each with its own time and step. A step is tried; it is accepted if
each of its errors is at most atol + rtol max(|y|, |z|); e is the largest, in these units. The next step is h times

    0.9 e^(-0.7/q) e_before^(0.4/q)     after an accepted step, between 0.2 and 10, not above 1 right after a refusal
    0.9 e^(-1/q)                        after a refused one, between 0.2 and 1

(Gustafsson 1991), q being the order. States at times that are asked for lie on the method's polynomial within the step;
where it has none, a step is made from the last accepted state to there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..codegen.llvm.events import CLOSE, GLANCES, LOOKS, SECANTS, TRIALS, Crossing, hermite
from ..codegen.llvm.flow import EXP2, LOG2
from ..codegen.llvm.integrator import LARGEST, LEAST_BEFORE, LEAST_ERROR, SAFETY, SHORTEST, SHORTEST_AT_0, SMALLEST
from ..codegen.llvm.lanes import DONE, HALTED, LOG_FULL, LOST, RECORD, RUNNING, STUCK, TOO_MANY
from ..codegen.llvm.stages import HALVES, Method
from .chattering import Bounds
from .search import ahead, begun, look_closely, nearby, remembered

Side = Callable[[np.ndarray, np.ndarray], np.ndarray]  # t (B,), y (B, m) -> dy (B, m)
Gauge = Side  # -> the values of the events (B, e)
NO_BOUNDS = Bounds()


class Column:
    """One number of every trajectory: a view of the book."""

    def __init__(self, kind: type = np.float64) -> None:
        self.kind = kind

    def __set_name__(self, owner: type, name: str) -> None:
        self.place = RECORD.index(name)

    def __get__(self, now: Progress, owner: type | None = None) -> np.ndarray:
        return now.book.view(self.kind)[:, self.place]

    def __set__(self, now: Progress, value: np.ndarray | float) -> None:
        now.book.view(self.kind)[:, self.place] = value


class Progress:
    """Where every trajectory of a batch is: a row for each in the book, as `codegen.llvm.lanes` has it."""

    t = Column()
    h = Column()
    error = Column()  # of the last accepted step
    again = Column()  # 1 if the last try was refused
    next = Column(np.int64)  # which of the times comes next
    steps = Column(np.int64)
    rejected = Column(np.int64)
    status = Column(np.int64)
    logged = Column(np.int64)  # how many rows of its log are filled

    def __init__(self, y: np.ndarray, first_step: float, events: int = 0, room: int = 0) -> None:
        count, self.size = y.shape
        self.first_value = len(RECORD) + self.size
        self.known = self.first_value + events
        self.book = np.zeros((count, self.known))
        self.book[:, len(RECORD) : self.first_value] = y
        self.book[:, self.first_value :] = np.nan
        self.h, self.error = first_step, LEAST_BEFORE
        self.log = np.full((count, room if events else 0, 2 + self.size), np.nan)  # of machine code, see `empty_logs`
        self.met: list[list[np.ndarray]] = [[] for _ in range(count)]  # the events: time, which, state
        self.evaluations: np.ndarray | None = None  # where they were counted
        self.chattering: dict[int, int] = {}  # which number of the state of a trajectory goes to and fro

    @property
    def y(self) -> np.ndarray:
        return self.book[:, len(RECORD) : self.first_value]

    @property
    def values(self) -> np.ndarray:
        """Of the events at the last accepted state, as `search` remembers them; NaN at the start."""
        return self.book[:, self.first_value : self.known]

    def give(self, parameters: np.ndarray) -> np.ndarray:
        """The book, with the parameters at the end of its rows."""
        if parameters.shape[1]:
            self.book = np.concatenate([self.book[:, : self.known], parameters], axis=1)
        return self.book

    def note(self, k: int, t: float, which: np.ndarray, state: np.ndarray) -> None:
        """Trajectory k has met events."""
        self.met[k].append(np.array([t, (which * 2.0 ** np.arange(len(which))).sum(), *state]))

    def empty_logs(self) -> None:
        """Take over what machine code has logged; trajectories that waited for room go on."""
        for k in np.flatnonzero(self.logged).tolist():
            self.met[k].extend(self.log[k, : self.logged[k]].copy())
        self.logged = 0
        self.status[self.status == LOG_FULL] = RUNNING


@dataclass(frozen=True)
class Integrator:
    method: Method
    side: Side
    rtol: float
    atol: np.ndarray
    gauge: Gauge | None = None
    crossings: tuple[Crossing, ...] = ()
    bounds: Bounds = NO_BOUNDS

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
        halted = cut = np.zeros_like(hits)
        if self.gauge is not None:
            with np.errstate(all="ignore"):
                landed, cut, halted = self.meet(now, accepted, step, landed, z, k)
            hits = hits & (landed >= end)
        self.sample(now, accepted, step, landed, z, k, times, out)
        change = z - now.y
        now.y[accepted] = z[accepted]
        now.t = np.where(accepted, landed, now.t)
        now.status[accepted & hits] = DONE
        now.status[halted] = HALTED
        if self.method.fixed:
            now.status[refused] = LOST
        else:
            following = step * self.factor(now, error, accepted)
            following = np.where(cut, np.minimum(following, step / LOOKS), following)
            stuck = refused & (following <= SHORTEST * now.t + SHORTEST_AT_0 * end)
            now.status[stuck] = np.where(np.isnan(error), LOST, STUCK)[stuck]
            now.h = np.where(active, following, now.h)
        now.steps += accepted
        now.rejected += refused
        if self.bounds.chattering is not None:
            self.bounds.chattering.watch(now, np.flatnonzero(accepted & (now.status == RUNNING)), change, end)
        now.status[(now.status == RUNNING) & (now.steps + now.rejected >= self.bounds.most)] = TOO_MANY

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
        most = np.where(accepted & (now.again == 0), LARGEST, 1.0)
        now.error = np.where(accepted, np.fmax(error, LEAST_BEFORE), now.error)
        now.again = ~accepted
        return np.minimum(np.maximum(wanted, SMALLEST), most)

    def meet(
        self, now: Progress, accepted: np.ndarray, step: np.ndarray, landed: np.ndarray, z: np.ndarray, k: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where trajectories land, which of them within their step, and which must stop there.

        The first events in their steps are searched by false position.
        """
        assert self.gauge is not None
        now.values[:] = before = begun(now.values, self.gauge(now.t, now.y))
        cut = np.zeros_like(accepted)
        if any(crossing.inside for crossing in self.crossings) and accepted.any():
            landed, cut = self.shorten(now, before, accepted, step, landed, z, k)
        above = ahead(self.crossings, before, self.gauge(landed, z)).max(axis=1)
        hit = accepted & (above >= 0)
        low, high, below = now.t.copy(), landed.copy(), ahead(self.crossings, before, before).max(axis=1)
        side = np.zeros(len(low))
        for trial in range(TRIALS):
            opened = hit & (high - low > CLOSE * np.abs(landed))
            if not opened.any():
                break
            middle = between(low, high, below, above, landed) if trial < SECANTS else 0.5 * (low + high)
            there, _ = self.stages(now.t, np.where(hit, middle - now.t, 0.0), now.y, k[0])
            value = ahead(self.crossings, before, self.gauge(middle, there)).max(axis=1)
            past, short = opened & (value >= 0), opened & (value < 0)
            low, high = np.where(short, middle, low), np.where(past, middle, high)
            below = np.where(short, value, np.where(past & (side > 0), 0.5 * below, below))
            above = np.where(past, value, np.where(short & (side < 0), 0.5 * above, above))
            side = np.where(past, 1.0, np.where(short, -1.0, side))
        landed = self.end_at(now, hit & (high < landed), high, landed, z, k)
        after = self.gauge(landed, z)
        which = (ahead(self.crossings, before, after) >= 0) & hit[:, None]
        for trajectory in np.flatnonzero(hit).tolist():
            now.note(trajectory, landed[trajectory], which[trajectory], z[trajectory])
        now.values[accepted] = remembered(self.crossings, before, after)[accepted]
        stopping = np.array([crossing.stop for crossing in self.crossings])
        return landed, hit | cut, np.asarray((which & stopping).any(axis=1))

    def shorten(
        self,
        now: Progress,
        before: np.ndarray,
        accepted: np.ndarray,
        step: np.ndarray,
        landed: np.ndarray,
        z: np.ndarray,
        k: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """End steps where an event is beyond zero, or nearly so, within them: where they land, and which are cut."""
        assert self.gauge is not None
        gauge = self.gauge
        if self.method.first_is_last:
            accepted = accepted & self.nearby(now, before, step, landed, z, k)
            if not accepted.any():
                return landed, accepted
        powers = self.within(now.t, step, now.y, k) if self.method.dense else self.halves(now.t, step, now.y, z, k)

        def values_at(parts: np.ndarray) -> np.ndarray:
            shorts = [part * step for part in parts]
            states = [on_polynomial(now.y, part, short, powers) for part, short in zip(parts, shorts, strict=True)]
            return np.array([gauge(now.t + short, state) for short, state in zip(shorts, states, strict=True)])

        ends = look_closely(self.crossings, before, accepted, values_at)
        cut = accepted & (ends < 1.0)
        return self.end_at(now, cut, now.t + ends * step, landed, z, k), cut

    def nearby(
        self, now: Progress, before: np.ndarray, h: np.ndarray, landed: np.ndarray, z: np.ndarray, k: np.ndarray
    ) -> np.ndarray:
        """Which trajectories have an event that may be beyond zero within the step, as seen on a cubic."""
        assert self.gauge is not None
        seen = [self.gauge(landed, z)]
        for part in GLANCES:
            for_z, for_first, for_last = hermite(part)
            state = now.y + for_z * (z - now.y) + h[:, None] * (for_first * k[0] + for_last * k[-1])
            seen.append(self.gauge(now.t + part * h, state))
        return nearby(self.crossings, before, seen)

    def end_at(
        self, now: Progress, which: np.ndarray, time: np.ndarray, landed: np.ndarray, z: np.ndarray, k: np.ndarray
    ) -> np.ndarray:
        """Steps of some trajectories to a time within the step; z is then the state there."""
        if which.any():
            there, _ = self.stages(now.t, np.where(which, time - now.t, 0.0), now.y, k[0])
            z[which] = there[which]
        return np.where(which, time, landed)

    def halves(self, t: np.ndarray, h: np.ndarray, y: np.ndarray, z: np.ndarray, k: np.ndarray) -> np.ndarray:
        """As `within`, for methods without a polynomial of their own: through a step to the middle."""
        middle, _ = self.stages(t, 0.5 * h, y, k[0])
        slopes = [k[0], self.side(t + 0.5 * h, middle), self.side(t + h, z)]
        length = np.where(h > 0, h, 1.0)[:, None]
        ways = [(middle - y) / length, (z - y) / length]
        return np.asarray(np.tensordot(np.transpose(HALVES), np.array([*slopes, *ways]), 1))

    def sample(
        self,
        now: Progress,
        accepted: np.ndarray,
        step: np.ndarray,
        landed: np.ndarray,
        z: np.ndarray,
        k: np.ndarray,
        times: np.ndarray,
        out: np.ndarray,
    ) -> None:
        powers = None
        while True:
            wanted = times[np.minimum(now.next, len(times) - 1)]
            due = accepted & (now.next < len(times)) & (wanted <= landed)
            if not due.any():
                return
            inside = due & (wanted < landed)
            there, short = z, np.where(inside, wanted - now.t, 0.0)
            if inside.any() and self.method.dense:
                powers = self.within(now.t, step, now.y, k) if powers is None else powers
                part = np.divide(short, step, out=np.zeros_like(short), where=inside)
                there = on_polynomial(now.y, part, short, powers)
            elif inside.any():
                there, _ = self.stages(now.t, short, now.y, k[0])
            out[due, now.next[due]] = np.where(inside[:, None], there, z)[due]
            now.next += due

    def within(self, t: np.ndarray, h: np.ndarray, y: np.ndarray, k: np.ndarray) -> np.ndarray:
        """The polynomial in θ within a step, lowest power first: y + θ h (P_0 + θ P_1 + ...)."""
        stages = list(k)
        for a, c in zip(self.method.a[len(k) :], self.method.c[len(k) :], strict=True):
            stages.append(np.asarray(self.side(t + c * h, y + h[:, None] * np.tensordot(a, stages, 1))))
        stages.append(np.tensordot(self.method.b, k, 1))
        return np.asarray(np.tensordot(np.transpose(self.method.dense), stages, 1))


def on_polynomial(y: np.ndarray, part: np.ndarray, short: np.ndarray, powers: np.ndarray) -> np.ndarray:
    """The states at parts of a step, which are so long."""
    values = np.polynomial.polynomial.polyval(part[:, None], powers, tensor=False)
    return np.asarray(y + short[:, None] * values)


def between(low: np.ndarray, high: np.ndarray, below: np.ndarray, above: np.ndarray, landed: np.ndarray) -> np.ndarray:
    """Where the line through both ends is zero, not closer to them than digits go; or the middle."""
    margin = 0.5 * CLOSE * np.abs(landed)
    with np.errstate(all="ignore"):
        line = high - (high - low) * (above / (above - below))
    line = np.fmax(np.fmin(line, high - margin), low + margin)
    return np.asarray(np.where((line > low) & (line < high), line, 0.5 * (low + high)))


def rough_log2(x: np.ndarray) -> np.ndarray:
    """To some six digits, as the machine code has it."""
    fraction, exponent = np.frexp(x)
    return np.asarray(exponent + np.polyval(LOG2, fraction))


def rough_exp2(x: np.ndarray) -> np.ndarray:
    below = np.floor(x)
    return np.asarray(np.ldexp(np.polyval(EXP2, x - below), below.astype(int)))
