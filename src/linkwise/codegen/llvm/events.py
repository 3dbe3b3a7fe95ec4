"""Events in LLVM assembly: functions of the state that cross zero, found to the last digits of time.

    @gauge_W(vector t, ptr y, ptr p, ptr g)      the values of all events

When one has crossed zero within an accepted step, the step ends at the first such time. It is searched between the
times before and after the crossing by the rule of false position, Illinois variant (Dowell and Jarratt 1971), each time
with a step from the last accepted state to there, so that what is found is as exact as the steps. The function whose
zero it is, `ahead`, is the largest of the events, each counted from below zero. Before that, `look_within` ends the
step where an event is beyond zero between its ends. What happened is written to the log, a row for each such time: t,
which events (bit k for event k), y. The same in Python: `ode.search` and `ode.numpy_driver`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from .flow import Flow
from .lanes import copy_lane, of_lane

SECANTS, TRIALS = 20, 80  # after so many trials by false position, halving
CLOSE = 4.5e-16  # of the time: two digits apart
FAR = -1e300  # an event that cannot be met
TINY = 1e-300  # for a value of exactly zero, that it was below or above
LOOKS = 10  # points of a step at which it is looked for events between its ends
GLANCES = (0.3, 0.6)  # parts of a step at which it is first seen whether an event is near zero at all
REACH = 4.0  # times the range of the values seen: further than that from them, no value within the step is
REFINED = 2  # how often a peak is found anew, from points closer to it
EDGE = 1.0 / 64.0  # of the distance of two such points: peaks closer to the ends of a step are not told from them


@dataclass(frozen=True)
class Crossing:
    """In which direction an event counts (1: upward, -1: downward, 0: both), and whether it ends the trajectory.

    `inside` says whether it is also looked for between the ends of a step.
    """

    direction: int = 0
    stop: bool = False
    inside: bool = True


def either_way(crossings: Sequence[Crossing]) -> tuple[Crossing, ...]:
    """The same events in both directions: out and back within a step, one of the two crossings is asked for."""
    return tuple(replace(crossing, direction=0) for crossing in crossings)


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
    last: str  # how far they were ahead at the last point that was looked at within a step
    last_but_one: str


def ahead(flow: Flow, crossings: Sequence[Crossing], places: Places, values: str) -> list[str]:
    """How far each event is beyond zero, coming from `before`: below 0 until it has crossed."""
    zero, far, found = flow.layout.constant(0.0), flow.layout.constant(FAR), []
    tiny, below = flow.layout.constant(TINY), flow.layout.constant(-TINY)
    for e, crossing in enumerate(crossings):
        old, new, x = flow.load(places.before, e), flow.load(values, e), far
        minus = flow.do("fneg", new)
        leaving = {1: new, -1: minus, 0: flow.call("fabs", new)}[crossing.direction]
        x = flow.select(flow.compare("oeq", old, zero), leaving, x)
        if crossing.direction >= 0:
            x = flow.select(flow.compare("olt", old, zero), new, x)
        if crossing.direction <= 0:
            x = flow.select(flow.compare("ogt", old, zero), minus, x)
        at_zero = flow.both(flow.compare("ole", flow.call("fabs", old), tiny), flow.compare("ole", x, zero))
        x = flow.select(flow.both(at_zero, flow.compare("ogt", x, far)), below, x)
        found.append(flow.call("maxnum", x, far))  # also where it is not a number
    return found


def remember(flow: Flow, crossings: Sequence[Crossing], places: Places, accepted: str) -> None:
    """The values after a step become those before the next; of one that is exactly zero, the side it came to."""
    zero = flow.layout.constant(0.0)
    for e, beyond in enumerate(ahead(flow, either_way(crossings), places, places.after)):
        old, new = flow.load(places.before, e), flow.load(places.after, e)
        side = flow.call("copysign", flow.layout.constant(TINY), flow.do("fneg", old))
        side = flow.select(flow.compare("oeq", old, zero), zero, side)
        kept = flow.select(crossed(flow, beyond), side, old)
        value = flow.select(flow.compare("oeq", new, zero), kept, new)
        flow.store(flow.select(accepted, value, old), places.before, e)


def begin(flow: Flow, count: int, places: Places) -> None:
    """The values before the first step, from `after`; of one that is exactly zero, the side it was on, if known."""
    zero, tiny = flow.layout.constant(0.0), flow.layout.constant(TINY)
    for e in range(count):
        old, new = flow.load(places.before, e), flow.load(places.after, e)
        same = flow.both(flow.compare("oeq", new, zero), flow.compare("ord", old, old))
        side = flow.select(flow.compare("oeq", old, zero), zero, flow.call("copysign", tiny, old))
        flow.store(flow.select(same, side, new), places.before, e)


def nearby(
    flow: Flow,
    crossings: Sequence[Crossing],
    places: Places,
    size: int,
    last: str,
    t: str,
    step: str,
    landed: str,
) -> str:
    """Which lanes have an event that may be beyond zero within the step, as seen on a cubic between its ends.

    `last` points to y' at the end of the step.
    """
    layout, crossings = flow.layout, either_way(crossings)
    values = [ahead(flow, crossings, places, places.before)]
    gauge(flow, landed, places.z, places)
    values.append(ahead(flow, crossings, places, places.after))
    for part in GLANCES:
        for_z, for_first, for_last = hermite(part)
        with flow.counted(size) as i:
            y, slope = flow.load(places.y, i), flow.do("fmul", flow.load(places.k, i), layout.constant(for_first))
            slope = flow.fused(flow.load(last, i), layout.constant(for_last), slope)
            way = flow.do("fmul", flow.do("fsub", flow.load(places.z, i), y), layout.constant(for_z))
            flow.store(flow.do("fadd", flow.fused(step, slope, way), y), places.z_there, i)
        gauge(flow, flow.fused(step, layout.constant(part), t), places.z_there, places)
        values.append(ahead(flow, crossings, places, places.after))
    near = layout.splat("i1", "false")
    for e, crossing in enumerate(crossings):
        if crossing.inside:
            low = high = values[0][e]
            for each in values[1:]:
                low, high = flow.call("minnum", low, each[e]), flow.call("maxnum", high, each[e])
            most = flow.fused(flow.do("fsub", high, low), layout.constant(REACH), high)
            known = flow.compare("ogt", low, layout.constant(FAR))
            near = flow.say(f"or {layout.truths} {near}, {flow.both(known, crossed(flow, most))}")
    return near


def hermite(part: float) -> tuple[float, float, float]:
    """A state within a step is y + a (z - y) + h (b y' + c z'): these weights, of the cubic through both ends."""
    return part * part * (3.0 - 2.0 * part), part * (1.0 - part) ** 2, part * part * (part - 1.0)


def look_within(
    flow: Flow,
    crossings: Sequence[Crossing],
    places: Places,
    t: str,
    step: str,
    accepted: str,
    interpolate: Callable[[str, str], None],
    slots: list[str],
) -> str:
    """The part of a step at which it is to end, so that its ends show what is beyond zero; 1 where at its end.

    `interpolate(short, part)` writes the state at a part of the step, which is so long, to z_there.
    """
    layout, v, crossings = flow.layout, flow.layout.vector, either_way(crossings)
    ends, remaining = slots
    one, zero = (layout.constant(x) for x in (1.0, 0.0))
    looked_at = [e for e, crossing in enumerate(crossings) if crossing.inside]

    def beyond(part: str) -> list[str]:
        short = flow.do("fmul", part, step)
        interpolate(short, part)
        gauge(flow, flow.do("fadd", t, short), places.z_there, places)
        found = ahead(flow, crossings, places, places.after)
        return [found[e] for e in looked_at]

    flow.store(one, ends)
    flow.store(flow.select(accepted, one, zero), remaining)
    start = ahead(flow, crossings, places, places.before)
    for e in looked_at:
        for place in (places.last, places.last_but_one):
            flow.store(start[e], place, e)

    def stop_at(which: str, part: str) -> None:
        flow.store(flow.select(which, part, flow.load(ends)), ends)
        flow.store(flow.select(which, zero, flow.load(remaining)), remaining)

    def still() -> str:
        return flow.compare("ogt", flow.load(remaining), zero)

    with flow.counted(LOOKS) as before:
        number = flow.spread(flow.say(f"uitofp i64 {flow.say(f'add i64 {before}, 1')} to double"))
        part = flow.do("fdiv", number, layout.constant(float(LOOKS)))
        values = beyond(part)
        second, end = (flow.say(f"icmp eq i64 {before}, {k}") for k in (1, LOOKS - 1))
        bounds = []
        for is_there, there, elsewhere in ((second, -1.0 + EDGE, -0.5), (end, 1.0 - EDGE, 0.5)):
            x, y = layout.constant(there), layout.constant(elsewhere)
            bounds.append(flow.say(f"select i1 {is_there}, {v} {x}, {v} {y}"))
        first = layout.constant(float("inf"))
        for e, c in zip(looked_at, values, strict=True):
            first = flow.call("minnum", first, peak(flow, places, e, c, *bounds))
        three = flow.say(f"icmp ugt i64 {before}, 0")
        peaked = flow.both(still(), flow.compare("olt", first, layout.constant(2.0)))
        with flow.when(flow.say(f"and i1 {three}, {flow.some(peaked)}")):
            middle = flow.do("fsub", number, one)
            offset = flow.select(peaked, first, zero)
            about = flow.do("fdiv", flow.do("fadd", middle, offset), layout.constant(float(LOOKS)))
            stop_at(peaked, refined(flow, about, lambda x: foremost(flow, beyond(x))))
        past = flow.both(still(), crossed(flow, foremost(flow, values)))
        inside = flow.say(f"icmp ult i64 {before}, {LOOKS - 1}")
        with flow.when(flow.say(f"and i1 {inside}, {flow.some(past)}")):
            stop_at(past, part)
        flow.leave(flow.say(f"icmp eq i64 {flow.bits(still())}, 0"))
        for e, c in zip(looked_at, values, strict=True):
            flow.store(flow.load(places.last, e), places.last_but_one, e)
            flow.store(c, places.last, e)
    return flow.load(ends)


def peak(flow: Flow, places: Places, e: int, c: str, least: str, most: str) -> str:
    """Where the parabola through three values has a peak near zero: from the middle one, or infinite."""
    layout = flow.layout
    a, b = flow.load(places.last_but_one, e), flow.load(places.last, e)
    bend = flow.do("fsub", flow.do("fsub", flow.do("fadd", b, b), a), c)
    offset = flow.do("fdiv", flow.do("fsub", c, a), flow.do("fadd", bend, bend))
    rise = flow.fused(flow.do("fmul", offset, offset), layout.constant(0.5), layout.constant(0.125))
    found = flow.compare("oge", flow.fused(bend, rise, b), layout.constant(0.0))
    for value in (a, b, c):
        found = flow.both(found, flow.compare("ogt", value, layout.constant(FAR)))
    for word, x, y in (("ogt", bend, layout.constant(0.0)), ("oge", offset, least), ("ole", offset, most)):
        found = flow.both(found, flow.compare(word, x, y))
    return flow.select(found, offset, layout.constant(float("inf")))


def refined(flow: Flow, part: str, beyond: Callable[[str], str]) -> str:
    """A peak to more digits, by parabolas through points closer to it."""
    layout, width = flow.layout, 0.125 / LOOKS
    one, minus = layout.constant(1.0), layout.constant(-1.0)
    for _ in range(REFINED):
        a, b, c = (beyond(flow.do("fadd", part, layout.constant(x))) for x in (-width, 0.0, width))
        bend = flow.do("fsub", flow.do("fsub", flow.do("fadd", b, b), a), c)
        offset = flow.do("fdiv", flow.do("fsub", c, a), flow.do("fadd", bend, bend))
        offset = flow.call("minnum", flow.call("maxnum", offset, minus), one)
        offset = flow.select(flow.compare("ogt", bend, layout.constant(0.0)), offset, layout.constant(0.0))
        part = flow.fused(layout.constant(width), offset, part)
        width *= 0.125
    least, most = layout.constant(EDGE / LOOKS), layout.constant(1.0 - EDGE / LOOKS)
    return flow.call("minnum", flow.call("maxnum", part, least), most)


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
        with flow.counted(TRIALS) as trial:
            a, b, x, y = (flow.load(place) for place in (low, high, below, above))
            open_ = flow.both(hit, flow.compare("ogt", flow.do("fsub", b, a), margin(flow, landed)))
            flow.leave(flow.say(f"icmp eq i64 {flow.bits(open_)}, 0"))
            middle = between(flow, trial, a, b, x, y, margin(flow, landed))
            step_to(flow, places, size, t, middle, hit)
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
        end_at(flow, places, size, t, flow.load(high), inside)
        gauge(flow, flow.load(high), places.z, places)
    return flow.select(hit, flow.load(high), landed), hit


def margin(flow: Flow, time: str) -> str:
    return flow.do("fmul", flow.call("fabs", time), flow.layout.constant(CLOSE))


def between(flow: Flow, trial: str, a: str, b: str, x: str, y: str, close: str) -> str:
    """The next time to be tried: where the line through (a, x) and (b, y) is zero, or the middle."""
    half = flow.do("fmul", flow.do("fadd", a, b), flow.layout.constant(0.5))
    width = flow.do("fsub", b, a)
    share = flow.do("fdiv", y, flow.do("fsub", y, x))
    line = flow.do("fsub", b, flow.do("fmul", width, share))
    # not closer to the ends than digits go
    closest = flow.do("fmul", close, flow.layout.constant(0.5))
    line = flow.call("minnum", line, flow.do("fsub", b, closest))
    line = flow.call("maxnum", line, flow.do("fadd", a, closest))
    known = flow.both(flow.compare("ogt", line, a), flow.compare("olt", line, b))
    early = flow.say(f"icmp ult i64 {trial}, {SECANTS}")
    v = flow.layout.vector
    return flow.say(f"select i1 {early}, {v} {flow.select(known, line, half)}, {v} {half}")


def step_to(flow: Flow, places: Places, size: int, t: str, time: str, lanes_hit: str) -> None:
    """A step from the last accepted state to a time within it."""
    v, lanes = flow.layout.vector, flow.layout.lanes
    with flow.counted(size) as i:
        flow.store(flow.load(places.k, i), places.k_there, i)
    short = flow.select(lanes_hit, flow.do("fsub", time, t), flow.layout.constant(0.0))
    flow.lines.append(
        f"  call void @stages_{lanes}({v} {t}, {v} {short}, ptr {places.y}, ptr {places.p}, ptr {places.k_there},"
        f" ptr {places.z_there})"
    )


def end_at(flow: Flow, places: Places, size: int, t: str, time: str, which: str) -> None:
    """Steps of some lanes to a time within the step; z is then the state there."""
    step_to(flow, places, size, t, time, which)
    with flow.counted(size) as i:
        flow.store(flow.select(which, flow.load(places.z_there, i), flow.load(places.z, i)), places.z, i)


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
