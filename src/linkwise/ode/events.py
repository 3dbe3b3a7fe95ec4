"""Zero crossings of event functions, to the last digits of time; over the operations of `lanes`.

An event counts when its value reaches zero in its direction. If the value was exactly zero before (at the start of a
trajectory, or right after a crossing), it counts when the value leaves zero in its direction.

If an event crosses zero within an accepted step, the step is cut at the first crossing. The crossing is bracketed by
the ends of the step and located by false position, Illinois variant (Dowell and Jarratt 1971); the state at each trial
time comes from a step of the method. `ahead` is the function whose zero is sought: the largest of all event values,
each with the sign that makes it negative before the crossing.

The ends of a step do not show a value that crosses zero and returns between them. The step is therefore scanned, unless
the value is far from zero at both ends and at two probe points. The scan evaluates dense output at SCAN_POINTS, and at
the peak of a parabola through three of them if the peak is near zero. If the value is beyond zero there, or nearly so,
the step is cut there, so that the ends show the crossing. The scan ignores directions: of a value that goes out and
back, the return may be the crossing that counts. The next step is no longer than the distance of two scan points, so
that it does not skip a crossing that follows closely.

A row of the log is: t, which events crossed (bit e for event e), y.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

SECANTS, TRIALS = 20, 80  # trials by false position, then by bisection, up to TRIALS
TIME_TOLERANCE = 4.5e-16  # relative: two units in the last place
NEVER = -1e300  # value of an event that cannot occur
TINY = 1e-300  # replaces exactly zero, with the sign of the side the value came from
SCAN_POINTS = 10  # per step
PROBE_POINTS = (0.3, 0.6)  # parts of a step that decide whether it is scanned
REACH = 4.0  # values within a step are at most this many ranges of the probed values above them
REFINEMENTS = 2  # of a peak, each from closer points
PEAK_MARGIN = 1.0 / 64.0  # in scan intervals: peaks closer to the ends of a step are ignored
INFINITE = float("inf")


@dataclass(frozen=True)
class Crossing:
    """The direction in which an event counts (1: upward, -1: downward, 0: both), and whether it stops the trajectory.

    `inside`: whether steps are scanned for it.
    """

    direction: int = 0
    stop: bool = False
    inside: bool = True


class Step(Protocol):
    """An accepted step: z is the state at its end; the methods write the state at a time within it to z_there."""

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
    """The events of all lanes; `lanes.values` are their values at the last accepted state."""

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
        self.ends, self.remaining, self.fraction = (lanes.variable() for _ in range(3))
        self.low, self.high, self.below, self.above, self.last_side = (lanes.variable() for _ in range(5))

    def begin(self) -> None:
        """Evaluate the events before the first step. Exact zeros become ±TINY if the side they came from is known."""
        lanes, where = self.lanes, self.lanes.where
        lanes.event_values(lanes.state.t, lanes.y, self.after)
        for e in lanes.unrolled(self.every):
            old, new = self.before[e], self.after[e]
            zero = where(old == 0.0, 0.0, lanes.copysign(TINY, old))
            self.before[e] = where((new == 0.0) & ~lanes.is_nan(old), zero, new)

    def search(self, t: Any, step: Any, landed: Any, accepted: Any) -> tuple[Any, Any, Any]:
        """The end of each lane's step, masks of steps that were cut and of lanes that stop. z is the state there."""
        lanes, s, cut = self.lanes, self.lanes.state, None
        if self.inside:
            landed, cut = self.shorten(t, step, landed, accepted)
        landed, hit = self.locate_first(t, landed, accepted)
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
        """How far each event is beyond zero, coming from `before`: negative until it has crossed."""
        lanes, where = self.lanes, self.lanes.where

        def of(e: Any) -> Any:
            old, new, way = self.before[e], values[e], direction[e]
            x = where(old == 0.0, where(way == 0, lanes.absolute(new), way * new), NEVER)
            x = where((old < 0.0) & (way >= 0), new, x)
            x = where((old > 0.0) & (way <= 0), -new, x)
            at_zero = (lanes.absolute(old) <= TINY) & (x <= 0.0) & (x > NEVER)
            return lanes.maximum(where(at_zero, -TINY, x), NEVER)  # also of NaN

        return lanes.map_events(of)

    def largest(self, ahead: Any, which: Sequence[int]) -> Any:
        return self.lanes.reduce(self.lanes.maximum, ahead, which)

    def store_values(self, accepted: Any) -> None:
        """The values after a step become those before the next. Exact zeros become ±TINY: the side reached."""
        lanes, where = self.lanes, self.lanes.where
        ahead = self.ahead(self.after, self.either)
        for e in lanes.unrolled(self.every):
            old, new = self.before[e], self.after[e]
            zero = where(old == 0.0, 0.0, lanes.copysign(TINY, -old))
            zero = where(ahead[e] >= 0.0, zero, old)
            self.before[e] = where(accepted, where(new == 0.0, zero, new), old)

    # scan of a step

    def shorten(self, t: Any, step: Any, landed: Any, accepted: Any) -> tuple[Any, Any]:
        """Cut steps in which an event is beyond zero, or nearly so: their ends, and a mask of cut steps."""
        lanes, fraction = self.lanes, self.fraction
        near = accepted & self.may_cross(t, step, landed) if self.step.can_probe else accepted
        fraction.value = 1.0
        for _ in lanes.when(near):
            self.step.prepare(t, step)
            self.remaining.value = lanes.where(near, 1.0, 0.0)
            for _ in lanes.repeat(2):  # again before the cut: another event may have gone out and back there
                if lanes.leave(lanes.none(self.remaining.value > 0.0)):
                    break
                self.scan(t, fraction.value * step)
                fraction.value = fraction.value * self.ends.value
                self.remaining.value = lanes.where(near & (self.ends.value < 1.0), 1.0, 0.0)
            cut = near & (fraction.value < 1.0)
            for _ in lanes.when(cut):
                self.end_at(lanes.fma(fraction.value, step, t), t, cut)
        cut = near & (fraction.value < 1.0)
        return lanes.where(cut, lanes.fma(fraction.value, step, t), landed), cut

    def may_cross(self, t: Any, step: Any, landed: Any) -> Any:
        """The lanes in which an event may be beyond zero within the step, judged from its values at some points."""
        lanes = self.lanes
        low = high = self.ahead(self.before, self.either)
        for part in (1.0, *PROBE_POINTS):
            if part < 1.0:
                self.step.probe(part, step)
                lanes.event_values(lanes.fma(step, part, t), self.step.z_there, self.after)
            else:
                lanes.event_values(landed, self.step.z, self.after)
            ahead = self.ahead(self.after, self.either)
            low, high = self.pairwise(lanes.minimum, low, ahead), self.pairwise(lanes.maximum, high, ahead)
        reached = lanes.map_events(lambda e: (low[e] > NEVER) & (lanes.fma(high[e] - low[e], REACH, high[e]) >= 0.0))
        return lanes.reduce(lanes.either, reached, self.inside)

    def pairwise(self, operation: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
        return self.lanes.map_events(lambda e: operation(a[e], b[e]))

    def scan(self, t: Any, step: Any) -> None:
        """Set `ends` to the part of a step at which it is cut, so that its ends show the crossing; 1: not cut."""
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
                self.stop_at(peaked, self.refine_peak(t, step, about))
            past = (remaining.value > 0.0) & (self.largest(ahead, self.inside) >= 0.0)
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
        self.step.interpolate(short, part * self.fraction.value)
        self.lanes.event_values(t + short, self.step.z_there, self.after)
        return self.ahead(self.after, self.either)

    def first_peak(self, ahead: Any, least: Any, most: Any) -> Any:
        """The first peak near zero of the parabolas through the last three values; infinite if there is none.

        It is measured from the middle point, in scan intervals.
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

    def refine_peak(self, t: Any, step: Any, part: Any) -> Any:
        """Locate a peak more exactly, by parabolas through closer points."""
        lanes, width = self.lanes, 0.125 / SCAN_POINTS
        for _ in range(REFINEMENTS):
            points = [self.ahead_at(t, step, part + x) for x in (-width, 0.0, width)]
            bend, offset = self.parabola(*(self.largest(ahead, self.inside) for ahead in points))
            offset = lanes.minimum(lanes.maximum(offset, -1.0), 1.0)
            part = lanes.fma(width, lanes.where(bend > 0.0, offset, 0.0), part)
            width *= 0.125
        return lanes.minimum(lanes.maximum(part, PEAK_MARGIN / SCAN_POINTS), 1.0 - PEAK_MARGIN / SCAN_POINTS)

    # location of a crossing

    def locate_first(self, t: Any, landed: Any, accepted: Any) -> tuple[Any, Any]:
        """The end of each lane's step, and a mask of those at an event; z and `after` are the values there."""
        lanes, where = self.lanes, self.lanes.where
        low, high, below, above, last_side = self.low, self.high, self.below, self.above, self.last_side
        lanes.event_values(landed, self.step.z, self.after)
        over = self.largest(self.ahead(self.after, self.direction), self.every)
        hit = accepted & (over >= 0.0)
        high.value = landed
        for _ in lanes.when(hit):
            low.value, above.value, last_side.value = t, over, 0.0
            below.value = self.largest(self.ahead(self.before, self.direction), self.every)
            margin = lanes.absolute(landed) * TIME_TOLERANCE
            for trial in lanes.repeat(TRIALS):
                a, b, x, y, last = low.value, high.value, below.value, above.value, last_side.value
                open_ = hit & (b - a > margin)
                if lanes.leave(lanes.none(open_)):
                    break
                middle = self.next_trial(trial, a, b, x, y, margin)
                self.step.step_to(middle, t, hit)
                lanes.event_values(middle, self.step.z_there, self.after)
                there = self.largest(self.ahead(self.after, self.direction), self.every)
                past, short = open_ & (there >= 0.0), open_ & ~(there >= 0.0)
                high.value, low.value = where(past, middle, b), where(short, middle, a)
                # Illinois: halve the value at an end that stays twice
                below.value = where(short, there, where(past & (last > 0.0), x * 0.5, x))
                above.value = where(past, there, where(short & (last < 0.0), y * 0.5, y))
                last_side.value = where(past, 1.0, where(short, -1.0, last))
            self.end_at(high.value, t, hit & (high.value < landed))
            lanes.event_values(high.value, self.step.z, self.after)
        return where(hit, high.value, landed), hit

    def next_trial(self, trial: Any, a: Any, b: Any, x: Any, y: Any, margin: Any) -> Any:
        """The next trial time: the zero of the line through (a, x) and (b, y), or the middle."""
        lanes, half = self.lanes, (a + b) * 0.5
        line, closest = b - (b - a) * (y / (y - x)), margin * 0.5
        line = lanes.maximum(lanes.minimum(line, b - closest), a + closest)  # representable times
        return lanes.pick(trial < SECANTS, lanes.where((line > a) & (line < b), line, half), half)

    def end_at(self, time: Any, t: Any, mask: Any) -> None:
        """End the step of some lanes at a time within it."""
        self.step.step_to(time, t, mask)
        self.step.replace(mask, self.step.z, self.step.z_there)
