"""Events: functions of time and state that cross zero, to the last digits of time; over the operations of `lanes`.

An event that was on one side of zero counts as soon as its value reaches zero, in the direction asked for. One that was
exactly zero, at the start of a trajectory or right after it was met, counts as soon as it is beyond zero.

When an event has crossed zero within an accepted step, the step ends at the first such time. It is found between the
times before and after by the rule of false position, Illinois variant (Dowell and Jarratt 1971), with the state at each
time as exact as those at the ends of steps. The function whose zero it is, `ahead`, is the largest of the events, each
counted from below zero.

A step's ends do not show a value that goes beyond zero and comes back between them. So, unless it is far from zero at
both ends and at two points between them, it is also looked at within the step: at SCAN_POINTS of the polynomial that
the samples lie on, and where a parabola through three of them has a peak near zero. If it is beyond zero there, or
nearly so, the step ends there; what remains is a crossing between two ends. Either direction counts in this: of a value
that goes out and back within a step, the return may be the crossing that is asked for. The step after one that was
ended within is no longer than the distance of two points, so that it does not leap over what comes right behind.

Each time at which events were met is a row of the log: t, which events (bit e for event e), y.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

SECANTS, TRIALS = 20, 80  # after so many trials by false position, halving
TIME_TOLERANCE = 4.5e-16  # of the time: two digits apart
NEVER = -1e300  # an event that cannot be met
TINY = 1e-300  # for a value of exactly zero, that it was below or above
SCAN_POINTS = 10  # of a step, for events between its ends
PROBE_POINTS = (0.3, 0.6)  # parts of a step at which it is first seen whether an event is near zero at all
REACH = 4.0  # times the range of the values seen: further than that from them, no value within the step is
REFINED = 2  # how often a peak is found anew, from points closer to it
PEAK_MARGIN = (
    1.0 / 64.0
)  # of the distance of two such points: peaks closer to the ends of a step are not told from them
INFINITE = float("inf")


@dataclass(frozen=True)
class Crossing:
    """In which direction an event counts (1: upward, -1: downward, 0: both), and whether it ends the trajectory.

    `inside` says whether it is also looked for between the ends of a step.
    """

    direction: int = 0
    stop: bool = False
    inside: bool = True


class Step(Protocol):
    """An accepted step: z is the state at its end; the others write the state at a time within it to z_there."""

    z: Any
    z_there: Any
    size: int

    @property
    def can_probe(self) -> bool: ...
    def probe(self, part: float, step: Any) -> None: ...
    def prepare(self, t: Any, step: Any) -> None: ...
    def interpolate(self, short: Any, part: Any) -> None: ...
    def step_to(self, time: Any, t: Any, mask: Any) -> None: ...
    def replace(self, mask: Any, target: Any, source: Any) -> None: ...


class Events:
    """The events of all lanes. `lanes.values` are theirs at the last accepted state."""

    def __init__(self, lanes: Any, crossings: Sequence[Crossing], step: Step) -> None:
        self.lanes, self.step = lanes, step
        self.every = range(len(crossings))
        self.inside = [e for e in self.every if crossings[e].inside]
        self.stopping = [e for e in self.every if crossings[e].stop]
        self.direction = lanes.per_event([crossing.direction for crossing in crossings])
        self.either = lanes.per_event([0] * len(crossings))
        self.bit = lanes.per_event([float(1 << e) for e in self.every])
        self.before = lanes.values
        self.after, self.last, self.last_but_one = (lanes.array(len(crossings)) for _ in range(3))
        self.ends, self.remaining, self.whole = (lanes.variable() for _ in range(3))
        self.low, self.high, self.below, self.above, self.moved = (lanes.variable() for _ in range(5))

    def begin(self) -> None:
        """The values before the first step; of one that is exactly zero, the side it was on, if known (not NaN)."""
        lanes, where = self.lanes, self.lanes.where
        lanes.event_values(lanes.state.t, lanes.y, self.after)
        for e in lanes.unrolled(self.every):
            old, new = self.before[e], self.after[e]
            zero = where(old == 0.0, 0.0, lanes.copysign(TINY, old))
            self.before[e] = where((new == 0.0) & ~lanes.is_nan(old), zero, new)

    def search(self, t: Any, step: Any, landed: Any, accepted: Any) -> tuple[Any, Any, Any]:
        """Where lanes land, which of them within their step, and which must stop there; z is then the state there."""
        lanes, s, cut = self.lanes, self.lanes.state, None
        if self.inside:
            landed, cut = self.shorten(t, step, landed, accepted)
        landed, hit = self.first(t, landed, accepted)
        ahead = self.ahead(self.after, self.direction)
        met = lanes.map_events(lambda e: ahead[e] >= 0.0)
        for _ in lanes.when(hit):
            bits = lanes.map_events(lambda e: lanes.where(met[e], self.bit[e], 0.0))
            lanes.write_log(hit, s.logged, landed, lanes.reduce(lanes.add, bits, self.every), self.step.z)
        s.logged = s.logged + hit
        self.store_values(accepted)
        stopped = hit & lanes.reduce(lanes.either, met, self.stopping)
        return landed, hit if cut is None else hit | cut, stopped

    def ahead(self, values: Any, direction: Any) -> Any:
        """How far each event is beyond zero, coming from `before`: below 0 until it has crossed."""
        lanes, where = self.lanes, self.lanes.where

        def of(e: Any) -> Any:
            old, new, way = self.before[e], values[e], direction[e]
            x = where(old == 0.0, where(way == 0, lanes.absolute(new), way * new), NEVER)
            x = where((old < 0.0) & (way >= 0), new, x)
            x = where((old > 0.0) & (way <= 0), -new, x)
            at_zero = (lanes.absolute(old) <= TINY) & (x <= 0.0) & (x > NEVER)
            return lanes.maximum(where(at_zero, -TINY, x), NEVER)  # also where it is not a number

        return lanes.map_events(of)

    def foremost(self, ahead: Any, which: Sequence[int]) -> Any:
        return self.lanes.reduce(self.lanes.maximum, ahead, which)

    def store_values(self, accepted: Any) -> None:
        """The values after a step become those before the next; of one that is exactly zero, the side it came to."""
        lanes, where = self.lanes, self.lanes.where
        ahead = self.ahead(self.after, self.either)
        for e in lanes.unrolled(self.every):
            old, new = self.before[e], self.after[e]
            zero = where(old == 0.0, 0.0, lanes.copysign(TINY, -old))
            zero = where(ahead[e] >= 0.0, zero, old)
            self.before[e] = where(accepted, where(new == 0.0, zero, new), old)

    # between the ends of a step

    def shorten(self, t: Any, step: Any, landed: Any, accepted: Any) -> tuple[Any, Any]:
        """End steps where an event is beyond zero, or nearly so, within them: where lanes land, and which are cut."""
        lanes, whole = self.lanes, self.whole
        near = accepted & self.near(t, step, landed) if self.step.can_probe else accepted
        whole.value = 1.0
        for _ in lanes.when(near):
            self.step.prepare(t, step)
            self.remaining.value = lanes.where(near, 1.0, 0.0)
            for _ in lanes.repeat(2):  # once more before what was found: another event may have gone out and back
                if lanes.leave(lanes.none(self.remaining.value > 0.0)):
                    break
                self.look_within(t, whole.value * step)
                whole.value = whole.value * self.ends.value
                self.remaining.value = lanes.where(near & (self.ends.value < 1.0), 1.0, 0.0)
            cut = near & (whole.value < 1.0)
            for _ in lanes.when(cut):
                self.end_at(lanes.fma(whole.value, step, t), t, cut)
        cut = near & (whole.value < 1.0)
        return lanes.where(cut, lanes.fma(whole.value, step, t), landed), cut

    def near(self, t: Any, step: Any, landed: Any) -> Any:
        """Which lanes have an event that may be beyond zero within the step, as seen at some points of it."""
        lanes = self.lanes
        low = high = self.ahead(self.before, self.either)
        for part in (1.0, *PROBE_POINTS):
            if part < 1.0:
                self.step.probe(part, step)
                lanes.event_values(lanes.fma(step, part, t), self.step.z_there, self.after)
            else:
                lanes.event_values(landed, self.step.z, self.after)
            seen = self.ahead(self.after, self.either)
            low, high = self.pairwise(lanes.minimum, low, seen), self.pairwise(lanes.maximum, high, seen)
        reached = lanes.map_events(lambda e: (low[e] > NEVER) & (lanes.fma(high[e] - low[e], REACH, high[e]) >= 0.0))
        return lanes.reduce(lanes.either, reached, self.inside)

    def pairwise(self, operation: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
        return self.lanes.map_events(lambda e: operation(a[e], b[e]))

    def look_within(self, t: Any, step: Any) -> None:
        """`ends` is the part of a step at which it is to end, so that its ends show what is beyond zero; 1: its end."""
        lanes, remaining = self.lanes, self.remaining
        self.ends.value = 1.0
        start = self.ahead(self.before, self.either)
        for e in lanes.unrolled(self.inside):
            self.last[e] = self.last_but_one[e] = start[e]
        for k in lanes.repeat(SCAN_POINTS):
            number = lanes.number(k + 1)
            part = number / float(SCAN_POINTS)
            ahead = self.ahead_at(t, step, part)
            least = lanes.pick(k == 1, -1.0 + PEAK_MARGIN, -0.5)
            most = lanes.pick(k == SCAN_POINTS - 1, 1.0 - PEAK_MARGIN, 0.5)
            offset = self.first_peak(ahead, least, most)
            peaked = (remaining.value > 0.0) & (offset < 2.0)
            for _ in lanes.when(peaked, k > 0):
                about = (number - 1.0 + lanes.where(peaked, offset, 0.0)) / float(SCAN_POINTS)
                self.stop_at(peaked, self.refined(t, step, about))
            past = (remaining.value > 0.0) & (self.foremost(ahead, self.inside) >= 0.0)
            for _ in lanes.when(past, k < SCAN_POINTS - 1):
                self.stop_at(past, part)
            if lanes.leave(lanes.none(remaining.value > 0.0)):
                break
            for e in lanes.unrolled(self.inside):
                self.last_but_one[e] = self.last[e]
                self.last[e] = ahead[e]

    def stop_at(self, mask: Any, part: Any) -> None:
        self.ends.value = self.lanes.where(mask, part, self.ends.value)
        self.remaining.value = self.lanes.where(mask, 0.0, self.remaining.value)

    def ahead_at(self, t: Any, step: Any, part: Any) -> Any:
        short = part * step
        self.step.interpolate(short, part * self.whole.value)
        self.lanes.event_values(t + short, self.step.z_there, self.after)
        return self.ahead(self.after, self.either)

    def first_peak(self, ahead: Any, least: Any, most: Any) -> Any:
        """Where the first parabola through the last three values has a peak near zero, or infinite.

        It is given from the middle one, in units of the distance of two.
        """
        lanes = self.lanes

        def of(e: Any) -> Any:
            a, b, c = self.last_but_one[e], self.last[e], ahead[e]
            bend, offset = self.parabola(a, b, c)
            height = lanes.fma(bend, lanes.fma(offset * offset, 0.5, 0.125), b)
            known = (height >= 0.0) & (a > NEVER) & (b > NEVER) & (c > NEVER)
            return lanes.where(known & (bend > 0.0) & (offset >= least) & (offset <= most), offset, INFINITE)

        return lanes.reduce(lanes.minimum, lanes.map_events(of), self.inside)

    def parabola(self, a: Any, b: Any, c: Any) -> tuple[Any, Any]:
        bend = b + b - a - c
        return bend, (c - a) / (bend + bend)

    def refined(self, t: Any, step: Any, part: Any) -> Any:
        """A peak to more digits, by parabolas through points closer to it."""
        lanes, width = self.lanes, 0.125 / SCAN_POINTS
        for _ in range(REFINED):
            points = [self.ahead_at(t, step, part + x) for x in (-width, 0.0, width)]
            bend, offset = self.parabola(*(self.foremost(ahead, self.inside) for ahead in points))
            offset = lanes.minimum(lanes.maximum(offset, -1.0), 1.0)
            part = lanes.fma(width, lanes.where(bend > 0.0, offset, 0.0), part)
            width *= 0.125
        return lanes.minimum(lanes.maximum(part, PEAK_MARGIN / SCAN_POINTS), 1.0 - PEAK_MARGIN / SCAN_POINTS)

    # between two times

    def first(self, t: Any, landed: Any, accepted: Any) -> tuple[Any, Any]:
        """Where lanes land, and which of them at an event; z and `after` are then those of the event."""
        lanes, where = self.lanes, self.lanes.where
        low, high, below, above, moved = self.low, self.high, self.below, self.above, self.moved
        lanes.event_values(landed, self.step.z, self.after)
        over = self.foremost(self.ahead(self.after, self.direction), self.every)
        hit = accepted & (over >= 0.0)
        high.value = landed
        for _ in lanes.when(hit):
            low.value, above.value, moved.value = t, over, 0.0
            below.value = self.foremost(self.ahead(self.before, self.direction), self.every)
            margin = lanes.absolute(landed) * TIME_TOLERANCE
            for trial in lanes.repeat(TRIALS):
                a, b, x, y, last = low.value, high.value, below.value, above.value, moved.value
                open_ = hit & (b - a > margin)
                if lanes.leave(lanes.none(open_)):
                    break
                middle = self.between(trial, a, b, x, y, margin)
                self.step.step_to(middle, t, hit)
                lanes.event_values(middle, self.step.z_there, self.after)
                there = self.foremost(self.ahead(self.after, self.direction), self.every)
                past, short = open_ & (there >= 0.0), open_ & ~(there >= 0.0)
                high.value, low.value = where(past, middle, b), where(short, middle, a)
                # the end that stays counts half if it had stayed before
                below.value = where(short, there, where(past & (last > 0.0), x * 0.5, x))
                above.value = where(past, there, where(short & (last < 0.0), y * 0.5, y))
                moved.value = where(past, 1.0, where(short, -1.0, last))
            self.end_at(high.value, t, hit & (high.value < landed))
            lanes.event_values(high.value, self.step.z, self.after)
        return where(hit, high.value, landed), hit

    def between(self, trial: Any, a: Any, b: Any, x: Any, y: Any, margin: Any) -> Any:
        """The next time to be tried: where the line through (a, x) and (b, y) is zero, or the middle."""
        lanes, half = self.lanes, (a + b) * 0.5
        line, closest = b - (b - a) * (y / (y - x)), margin * 0.5
        line = lanes.maximum(lanes.minimum(line, b - closest), a + closest)  # not closer than digits go
        return lanes.pick(trial < SECANTS, lanes.where((line > a) & (line < b), line, half), half)

    def end_at(self, time: Any, t: Any, mask: Any) -> None:
        """End the step of some lanes at a time within it."""
        self.step.step_to(time, t, mask)
        self.step.replace(mask, self.step.z, self.step.z_there)
