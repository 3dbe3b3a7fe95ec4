"""Events in LLVM assembly: functions of the state that cross zero, found to the last digits of time.

    @gauge_W(vector t, ptr y, ptr p, ptr g)      the values of all events

When one has crossed zero within an accepted step, the step ends at the first such time. It is searched between the
times before and after the crossing by the rule of false position, Illinois variant (Dowell and Jarratt 1971), each time
with a step from the last accepted state to there, so that what is found is as exact as the steps. The function whose
zero it is, `ahead`, is the largest of the events, each counted from below zero. What happened is written to the log, a
row for each such time: t, which events (bit k for event k), y.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .llvm_flow import Flow
from .llvm_lanes import copy_lane, of_lane

SECANTS, TRIALS = 20, 80  # after so many trials by false position, halving
CLOSE = 4.5e-16  # of the time: two digits apart
FAR = -1e300  # an event that cannot be met


@dataclass(frozen=True)
class Crossing:
    """In which direction an event counts (1: upward, -1: downward, 0: both), and whether it ends the trajectory."""

    direction: int = 0
    stop: bool = False


@dataclass(frozen=True)
class Places:
    """Pointers that a search needs."""

    y: str
    p: str
    k: str
    k_there: str
    z: str
    z_there: str
    before: str  # values of the events at the last accepted state
    after: str  # at the end of the step, or at the time that is being tried


def ahead(flow: Flow, crossings: Sequence[Crossing], places: Places, values: str) -> list[str]:
    """How far each event is beyond zero, coming from `before`: below 0 until it has crossed."""
    zero, far, found = flow.layout.constant(0.0), flow.layout.constant(FAR), []
    for e, crossing in enumerate(crossings):
        old, new, x = flow.load(places.before, e), flow.load(values, e), far
        if crossing.direction >= 0:
            x = flow.select(flow.compare("olt", old, zero), new, x)
        if crossing.direction <= 0:
            x = flow.select(flow.compare("ogt", old, zero), flow.do("fneg", new), x)
        found.append(flow.call("maxnum", x, far))  # also where it is not a number
    return found


def foremost(flow: Flow, values: Sequence[str]) -> str:
    total = values[0]
    for x in values[1:]:
        total = flow.call("maxnum", total, x)
    return total


def crossed(flow: Flow, value: str) -> str:
    return flow.compare("oge", value, flow.layout.constant(0.0))


def search(
    flow: Flow,
    crossings: Sequence[Crossing],
    places: Places,
    size: int,
    t: str,
    landed: str,
    accepted: str,
    slots: list[str],
) -> tuple[str, str]:
    """After a step: where lanes land, and which of them at an event; z and `after` are then those of the event."""
    layout = flow.layout
    low, high, below, above, side = slots
    gauge(flow, landed, places.z, places)
    over = foremost(flow, ahead(flow, crossings, places, places.after))
    hit = flow.both(accepted, crossed(flow, over))
    flow.store(landed, high)
    with flow.when(flow.some(hit)):
        for value, place in (
            (t, low),
            (foremost(flow, ahead(flow, crossings, places, places.before)), below),
            (over, above),
            (layout.constant(0.0), side),
        ):
            flow.store(value, place)
        with flow.counted(size) as i:
            flow.store(flow.load(places.k, i), places.k_there, i)
        with flow.counted(TRIALS) as trial:
            a, b, x, y = (flow.load(place) for place in (low, high, below, above))
            open_ = flow.both(hit, flow.compare("ogt", flow.do("fsub", b, a), margin(flow, b)))
            flow.leave(flow.say(f"icmp eq i64 {flow.bits(open_)}, 0"))
            middle = between(flow, trial, a, b, x, y)
            step_to(flow, places, t, middle, hit)
            gauge(flow, middle, places.z_there, places)
            there = foremost(flow, ahead(flow, crossings, places, places.after))
            past = flow.both(open_, crossed(flow, there))
            short = flow.both(open_, flow.neither(crossed(flow, there)))
            flow.store(flow.select(past, middle, b), high)
            flow.store(flow.select(short, middle, a), low)
            # the end that stays counts half if it had stayed before
            last, half = flow.load(side), layout.constant(0.5)
            stale_below = flow.both(past, flow.compare("ogt", last, layout.constant(0.0)))
            stale_above = flow.both(short, flow.compare("olt", last, layout.constant(0.0)))
            kept = flow.select(stale_below, flow.do("fmul", x, half), x)
            flow.store(flow.select(short, there, kept), below)
            kept = flow.select(stale_above, flow.do("fmul", y, half), y)
            flow.store(flow.select(past, there, kept), above)
            now = flow.select(short, layout.constant(-1.0), last)
            flow.store(flow.select(past, layout.constant(1.0), now), side)
        inside = flow.both(hit, flow.compare("olt", flow.load(high), landed))
        step_to(flow, places, t, flow.load(high), inside)
        with flow.counted(size) as i:
            flow.store(flow.select(inside, flow.load(places.z_there, i), flow.load(places.z, i)), places.z, i)
        gauge(flow, flow.load(high), places.z, places)
    return flow.select(hit, flow.load(high), landed), hit


def margin(flow: Flow, time: str) -> str:
    return flow.do("fmul", flow.call("fabs", time), flow.layout.constant(CLOSE))


def between(flow: Flow, trial: str, a: str, b: str, x: str, y: str) -> str:
    """The next time to be tried: where the line through (a, x) and (b, y) is zero, or the middle."""
    half = flow.do("fmul", flow.do("fadd", a, b), flow.layout.constant(0.5))
    width = flow.do("fsub", b, a)
    share = flow.do("fdiv", y, flow.do("fsub", y, x))
    line = flow.do("fsub", b, flow.do("fmul", width, share))
    # not closer to the ends than digits go
    line = flow.call("minnum", line, flow.do("fsub", b, flow.do("fmul", margin(flow, b), flow.layout.constant(0.5))))
    line = flow.call("maxnum", line, flow.do("fadd", a, flow.do("fmul", margin(flow, b), flow.layout.constant(0.5))))
    known = flow.both(flow.compare("ogt", line, a), flow.compare("olt", line, b))
    early = flow.say(f"icmp ult i64 {trial}, {SECANTS}")
    v = flow.layout.vector
    return flow.say(f"select i1 {early}, {v} {flow.select(known, line, half)}, {v} {half}")


def step_to(flow: Flow, places: Places, t: str, time: str, lanes_hit: str) -> None:
    """A step from the last accepted state to a time within it."""
    v, lanes = flow.layout.vector, flow.layout.lanes
    short = flow.select(lanes_hit, flow.do("fsub", time, t), flow.layout.constant(0.0))
    flow.lines.append(
        f"  call void @stages_{lanes}({v} {t}, {v} {short}, ptr {places.y}, ptr {places.p}, ptr {places.k_there},"
        f" ptr {places.z_there})"
    )


def gauge(flow: Flow, time: str, state: str, places: Places) -> None:
    v, lanes = flow.layout.vector, flow.layout.lanes
    flow.lines.append(f"  call void @gauge_{lanes}({v} {time}, ptr {state}, ptr {places.p}, ptr {places.after})")


def write_log(
    flow: Flow, crossings: Sequence[Crossing], places: Places, size: int, time: str, hit: str, logged: str, index: str
) -> str:
    """A row in the log for each lane that met an event; which lanes have to stop."""
    which = [crossed(flow, value) for value in ahead(flow, crossings, places, places.after)]
    layout, whole = flow.layout, flow.layout.of("i64")
    with flow.when(flow.some(hit)):
        number = layout.constant(0.0)
        for e, truths in enumerate(which):
            number = flow.do("fadd", number, flow.select(truths, layout.constant(float(1 << e)), layout.constant(0.0)))
        bits = flow.bits(hit)
        for lane in range(layout.lanes):
            of_count = of_lane(flow, whole, logged, lane)
            wanted = flow.say(f"icmp ne i64 {flow.say(f'and i64 {bits}, {1 << lane}')}, 0")
            room = flow.say(f"icmp ult i64 {of_count}, %room")
            with flow.when(flow.say(f"and i1 {wanted}, {room}")):
                first = flow.say(f"mul i64 {of_lane(flow, whole, index, lane)}, %room")
                row = flow.say(f"mul i64 {flow.say(f'add i64 {first}, {of_count}')}, {size + 2}")
                start = flow.say(f"getelementptr double, ptr %log, i64 {row}")
                for offset, values in ((0, time), (1, number)):
                    x = of_lane(flow, layout.vector, values, lane)
                    place = flow.say(f"getelementptr double, ptr {start}, i64 {offset}")
                    flow.lines.append(f"  store double {x}, ptr {place}")
                copy_lane(flow, places.z, lane, flow.say(f"getelementptr double, ptr {start}, i64 2"), size)
    stopping = layout.splat("i1", "false")
    for truths, crossing in zip(which, crossings, strict=True):
        if crossing.stop:
            stopping = flow.say(f"or {layout.truths} {stopping}, {truths}")
    return flow.both(hit, stopping)
