"""Events in LLVM assembly: functions of the state that cross zero, found to the last bit of time.

    @gauge_W(vector t, ptr y, ptr p, ptr g)      the values of all events

When one has crossed zero within an accepted step, the first such time is searched by halving, each time with a step
from the last accepted state to there, and the step ends at it. What happened is written to the log, a row for each
such time: t, which events (bit k for event k), y.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .llvm_flow import Flow

HALVINGS = 60


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


def crossed(flow: Flow, crossings: Sequence[Crossing], places: Places) -> list[str]:
    """For each event, in which lanes it has crossed zero between `before` and `after`."""
    zero, found = flow.layout.constant(0.0), []
    for e, crossing in enumerate(crossings):
        old, new = flow.load(places.before, e), flow.load(places.after, e)
        up = flow.both(flow.compare("olt", old, zero), flow.compare("oge", new, zero))
        down = flow.both(flow.compare("ogt", old, zero), flow.compare("ole", new, zero))
        either = flow.say(f"or {flow.layout.truths} {up}, {down}")
        found.append({1: up, -1: down, 0: either}[crossing.direction])
    return found


def any_of(flow: Flow, truths: Sequence[str]) -> str:
    total = truths[0]
    for x in truths[1:]:
        total = flow.say(f"or {flow.layout.truths} {total}, {x}")
    return total


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
    low, high = slots
    gauge(flow, landed, places.z, places)
    hit = flow.both(accepted, any_of(flow, crossed(flow, crossings, places)))
    flow.store(t, low)
    flow.store(landed, high)
    with flow.when(flow.some(hit)):
        with flow.counted(size) as i:
            flow.store(flow.load(places.k, i), places.k_there, i)
        with flow.counted(HALVINGS):
            a, b = flow.load(low), flow.load(high)
            middle = flow.do("fmul", flow.do("fadd", a, b), flow.layout.constant(0.5))
            step_to(flow, places, t, middle, hit)
            gauge(flow, middle, places.z_there, places)
            past = any_of(flow, crossed(flow, crossings, places))
            flow.store(flow.select(past, middle, b), high)
            flow.store(flow.select(past, a, middle), low)
        step_to(flow, places, t, flow.load(high), hit)
        with flow.counted(size) as i:
            flow.store(flow.select(hit, flow.load(places.z_there, i), flow.load(places.z, i)), places.z, i)
    there = flow.select(hit, flow.load(high), landed)
    gauge(flow, there, places.z, places)
    return there, hit


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
    flow: Flow, crossings: Sequence[Crossing], places: Places, size: int, time: str, hit: str, logged: str
) -> str:
    """A row in the log for each lane that met an event; which lanes have to stop."""
    which = crossed(flow, crossings, places)
    layout, whole = flow.layout, flow.layout.of("i64")
    number = layout.constant(0.0)
    for e, truths in enumerate(which):
        number = flow.do("fadd", number, flow.select(truths, layout.constant(float(1 << e)), layout.constant(0.0)))
    bits = flow.bits(hit)
    for lane in range(layout.lanes):
        one, of_time, of_count = number, time, logged
        if layout.lanes > 1:
            one = flow.say(f"extractelement {layout.vector} {number}, i64 {lane}")
            of_time = flow.say(f"extractelement {layout.vector} {time}, i64 {lane}")
            of_count = flow.say(f"extractelement {whole} {logged}, i64 {lane}")
        wanted = flow.say(f"icmp ne i64 {flow.say(f'and i64 {bits}, {1 << lane}')}, 0")
        room = flow.say(f"icmp ult i64 {of_count}, %room")
        with flow.when(flow.say(f"and i1 {wanted}, {room}")):
            row = flow.say(f"add i64 {flow.say(f'mul i64 %room, {lane}')}, {of_count}")
            start = flow.say(f"mul i64 {row}, {size + 2}")
            for offset, x in ((0, of_time), (1, one)):
                at = flow.say(f"add i64 {start}, {offset}")
                place = flow.say(f"getelementptr double, ptr %log, i64 {at}")
                flow.lines.append(f"  store double {x}, ptr {place}")
            with flow.counted(size) as i:
                source = flow.say(f"add i64 {flow.say(f'mul i64 {i}, {layout.lanes}')}, {lane}")
                x = flow.say(f"load double, ptr {flow.say(f'getelementptr double, ptr {places.z}, i64 {source}')}")
                at = flow.say(f"add i64 {flow.say(f'add i64 {start}, 2')}, {i}")
                flow.lines.append(f"  store double {x}, ptr {flow.say(f'getelementptr double, ptr %log, i64 {at}')}")
    stops = [truths for truths, crossing in zip(which, crossings, strict=True) if crossing.stop]
    never = layout.splat("i1", "false")
    return flow.both(hit, any_of(flow, stops)) if stops else never
