"""Trajectories in lanes, in LLVM assembly: what is kept of each, and how a lane that is done takes the next one.

The book has a row for each trajectory: the numbers of RECORD, y, the values of the events and the parameters. A lane
takes a row from the queue, works on it in the context, where all lanes lie side by side, and writes it back when it is
done or the budget is spent. The queue is shared between threads; which lane takes which trajectory makes no difference
to any.
"""

from __future__ import annotations

from dataclasses import dataclass

from .flow import Flow

RECORD = ("t", "h", "error", "again", "next", "steps", "rejected", "status", "logged")
AT = {name: k for k, name in enumerate(RECORD)}
RUNNING, DONE, STUCK, LOST, HALTED, LOG_FULL, TOO_MANY, CHATTERING = range(8)


@dataclass(frozen=True)
class Memory:
    """Where things are in the context, in vectors. It begins with the row of the book."""

    size: int  # of y
    parameters: int
    stages: int  # with all that states within a step need
    degree: int
    events: int = 0

    @property
    def y(self) -> int:
        return len(RECORD)

    @property
    def before(self) -> int:
        """Events at the last accepted state."""
        return self.y + self.size

    @property
    def p(self) -> int:
        return self.before + self.events

    @property
    def row(self) -> int:
        """Numbers in a row of the book."""
        return self.p + self.parameters

    @property
    def index(self) -> int:
        """Which trajectory a lane has; -1: none."""
        return self.row

    @property
    def k(self) -> int:
        return self.index + 1

    @property
    def z(self) -> int:
        return self.k + self.stages * self.size

    @property
    def powers(self) -> int:
        """The polynomial within a step."""
        return self.z + self.size

    @property
    def k_there(self) -> int:
        """Stages of a step to a time within the last one."""
        return self.powers + self.degree * self.size

    @property
    def z_there(self) -> int:
        return self.k_there + self.stages * self.size

    @property
    def after(self) -> int:
        """Events at the end of a step; behind them those at the last two points that were looked at within it."""
        return self.z_there + self.size

    @property
    def vectors(self) -> int:
        return self.after + 3 * self.events


def in_lane(flow: Flow, vector: int | str, lane: int | str) -> str:
    """The place of one lane's number in the context."""
    start = flow.say(f"mul i64 {vector}, {flow.layout.lanes}")
    return flow.say(f"getelementptr i64, ptr %context, i64 {flow.say(f'add i64 {start}, {lane}')}")


def in_row(flow: Flow, where: Memory, index: str, k: str) -> str:
    start = flow.say(f"mul i64 {index}, {where.row}")
    return flow.say(f"getelementptr i64, ptr %book, i64 {flow.say(f'add i64 {start}, {k}')}")


def empty_lanes(flow: Flow, where: Memory) -> None:
    whole = flow.layout.of("i64")
    flow.store(flow.whole(-1), "%context", where.index, whole)
    flow.store(flow.whole(DONE), "%context", AT["status"], whole)


def take_next(flow: Flow, where: Memory, more: str) -> None:
    """Lanes that are done write back what they have, and take the next trajectory; `more` is 0 once there is none."""
    with flow.counted(flow.layout.lanes) as lane:
        state = flow.say(f"load i64, ptr {in_lane(flow, AT['status'], lane)}")
        with flow.when(flow.say(f"icmp ne i64 {state}, {RUNNING}")):
            put_back(flow, where, lane)
            turn = flow.say("atomicrmw add ptr %queue, i64 1 seq_cst")
            there = flow.say(f"icmp ult i64 {turn}, %total")
            flow.lines.append(f"  store i64 -1, ptr {in_lane(flow, where.index, lane)}")
            flow.lines.append(f"  store i64 {flow.say(f'zext i1 {there} to i64')}, ptr {more}")
            with flow.when(there):
                own = flow.say(f"load i64, ptr {flow.say(f'getelementptr i64, ptr %waiting, i64 {turn}')}")
                flow.lines.append(f"  store i64 {own}, ptr {in_lane(flow, where.index, lane)}")
                with flow.counted(where.row) as k:
                    x = flow.say(f"load i64, ptr {in_row(flow, where, own, k)}")
                    flow.lines.append(f"  store i64 {x}, ptr {in_lane(flow, k, lane)}")


def put_back(flow: Flow, where: Memory, lane: str) -> None:
    index = flow.say(f"load i64, ptr {in_lane(flow, where.index, lane)}")
    with flow.when(flow.say(f"icmp sge i64 {index}, 0")), flow.counted(where.p) as k:
        x = flow.say(f"load i64, ptr {in_lane(flow, k, lane)}")
        flow.lines.append(f"  store i64 {x}, ptr {in_row(flow, where, index, k)}")


def put_all_back(flow: Flow, where: Memory) -> None:
    with flow.counted(flow.layout.lanes) as lane:
        put_back(flow, where, lane)


def of_lane(flow: Flow, kind: str, values: str, lane: int) -> str:
    return values if flow.layout.lanes == 1 else flow.say(f"extractelement {kind} {values}, i64 {lane}")


def time_of(flow: Flow, index: str) -> str:
    """The times of each lane's next sample; the last where there are no more."""
    lanes, v, whole = flow.layout.lanes, flow.layout.vector, flow.layout.of("i64")
    flow.declared.add("declare i64 @llvm.umin.i64(i64, i64)")
    last, found = flow.say("sub i64 %count, 1"), "poison"
    for lane in range(lanes):
        own = flow.say(f"call i64 @llvm.umin.i64(i64 {of_lane(flow, whole, index, lane)}, i64 {last})")
        x = flow.say(f"load double, ptr {flow.say(f'getelementptr double, ptr %times, i64 {own}')}")
        found = x if lanes == 1 else flow.say(f"insertelement {v} {found}, double {x}, i64 {lane}")
    return found


def spread_whole(flow: Flow, number: str) -> str:
    """A whole number in every lane."""
    lanes, whole = flow.layout.lanes, flow.layout.of("i64")
    if lanes == 1:
        return number
    one = flow.say(f"insertelement {whole} poison, i64 {number}, i64 0")
    return flow.say(f"shufflevector {whole} {one}, {whole} poison, <{lanes} x i32> zeroinitializer")


def write_sample(flow: Flow, where: Memory, due: str, sample: str, z: str) -> None:
    """What is due, each lane to its own place."""
    lanes, whole, bits = flow.layout.lanes, flow.layout.of("i64"), flow.bits(due)
    index = flow.load("%context", where.index, whole)
    for lane in range(lanes):
        wanted = flow.say(f"and i64 {bits}, {1 << lane}")
        with flow.when(flow.say(f"icmp ne i64 {wanted}, 0")):
            first = flow.say(f"mul i64 {of_lane(flow, whole, index, lane)}, %count")
            row = flow.say(f"add i64 {first}, {of_lane(flow, whole, sample, lane)}")
            start = flow.say(f"getelementptr double, ptr %out, i64 {flow.say(f'mul i64 {row}, {where.size}')}")
            copy_lane(flow, z, lane, start, where.size)


def copy_lane(flow: Flow, vectors: str, lane: int, target: str, size: int) -> None:
    with flow.counted(size) as i:
        source = flow.say(f"add i64 {flow.say(f'mul i64 {i}, {flow.layout.lanes}')}, {lane}")
        x = flow.say(f"load double, ptr {flow.say(f'getelementptr double, ptr {vectors}, i64 {source}')}")
        flow.lines.append(f"  store double {x}, ptr {flow.say(f'getelementptr double, ptr {target}, i64 {i}')}")
