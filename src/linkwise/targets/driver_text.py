"""The text of the integrators' driver, for all targets: `ode.driver`, run once over `codegen.llvm.lanes`.

The integrator's driver of trajectories as a function in LLVM assembly.

    void @advance_W(ptr records, ptr waiting, i64 total, ptr queue, ptr context, double end, ptr times, i64 samples,
                    ptr out, double rtol, ptr atol, ptr log, i64 room, i64 max_steps, i64 budget)

integrates the `total` waiting trajectories of y' = f(t, y, p) to `end`, W at a time, one in each lane, with at most
`budget` attempted steps, and at most `max_steps` steps of each trajectory. A lane takes the index of a trajectory from
the queue, works on its record in the context, where the lanes are interleaved, and writes it back when it is done or
the budget is spent. Threads share the queue; no result depends on the assignment to lanes. At the given increasing
times, y is written to row index · samples + time of `out`. The log has `room` rows per trajectory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..codegen.llvm.elementary import functions_text
from ..codegen.llvm.flow import Flow, Layout, assemble
from ..codegen.llvm.lanes import LlvmLanes, Value
from ..codegen.llvm.program import Nodes
from ..graph import Node, Program
from ..ode.driver import Driver
from ..ode.events import Crossing
from ..ode.methods import Method
from ..ode.trajectories import DONE, RECORD, RUNNING

HEAD = (
    "void @advance_{lanes}(ptr %records, ptr %waiting, i64 %total, ptr %queue, ptr %context, double %end, ptr %times,"
    " i64 %samples, ptr %out, double %rtol, ptr %atol, ptr %log, i64 %room, i64 %max_steps, i64 %budget)"
)


def values_text(program: Program, layout: Layout, name: str, which: int) -> str:
    """@name_W(vector t, ptr y, ptr p, ptr values): one result of a program of t, y and parameters."""
    flow = Flow(layout)
    t, y, *others = program.inputs
    starts, total = {}, 0
    for port in others:
        starts[port.name] = total
        total += port.size
    results = program.results[which]
    nodes = Program.of(results[0].graph, program.inputs, [program.outputs[which]], [results]).nodes
    inputs = {node.index: input_value(flow, node, t.name, y.name, starts) for node in nodes if node.op == "input"}
    value = Nodes(flow, nodes, inputs, [node.index for node in results]).emit_all()
    for i, node in enumerate(results):
        flow.store(value[node.index], "%values", i)
    return flow.function(f"internal void @{name}_{layout.lanes}({layout.vector} %t, ptr %y, ptr %p, ptr %values)")


def input_value(flow: Flow, node: Node, t: str, y: str, starts: dict[str, int]) -> str:
    name, position = node.payload
    if name == t:
        return "%t"
    return flow.load("%y", position) if name == y else flow.load("%p", starts[name] + position)


def advance_text(
    lanes: LlvmLanes, begin: Callable[[], None], attempt: Callable[[Value], None], running: int, idle: int
) -> str:
    """`begin` prepares lanes with a new trajectory; `attempt` tries a step of the active lanes.

    `running` and `idle` are codes of `status`.
    """
    flow, whole = lanes.flow, lanes.type("whole")
    attempts, more = flow.slot("i64"), flow.slot("i64")
    flow.lines += [f"  store i64 0, ptr {attempts}", f"  store i64 1, ptr {more}"]
    flow.store(lanes.operand(-1, "whole"), "%context", lanes.index, whole)
    lanes.state.status = idle
    with flow.endless():
        with flow.endless():  # until all lanes run, or no trajectory waits
            running_lanes = flow.bits((lanes.state.status == running).name)
            full = flow.emit(f"icmp eq i64 {running_lanes}, {(1 << lanes.layout.lanes) - 1}")
            no_more = flow.emit(f"icmp eq i64 {flow.emit(f'load i64, ptr {more}')}, 0")
            flow.leave(flow.emit(f"or i1 {full}, {no_more}"))
            take_next(lanes, more, running)
            begin()
        active = lanes.state.status == running
        tried = flow.emit(f"load i64, ptr {attempts}")
        flow.lines.append(f"  store i64 {flow.emit(f'add i64 {tried}, 1')}, ptr {attempts}")
        spent = flow.emit(f"icmp uge i64 {tried}, %budget")
        flow.leave(flow.emit(f"or i1 {spent}, {lanes.none(active)}"))
        attempt(active)
    with flow.counted(lanes.layout.lanes) as lane:
        put_back(lanes, lane)
    return "\n".join([*lanes.texts.values(), flow.function(HEAD.format(lanes=lanes.layout.lanes))])


def take_next(lanes: LlvmLanes, more: str, running: int) -> None:
    """Finished lanes write their record back and take the next trajectory; `more` is 0 once none is left."""
    flow, status = lanes.flow, lanes.state.fields["status"][0]
    with flow.counted(lanes.layout.lanes) as lane:
        code = flow.emit(f"load i64, ptr {lane_address(lanes, status, lane)}")
        with flow.when(flow.emit(f"icmp ne i64 {code}, {running}")):
            put_back(lanes, lane)
            turn = flow.emit("atomicrmw add ptr %queue, i64 1 seq_cst")
            there = flow.emit(f"icmp ult i64 {turn}, %total")
            flow.lines.append(f"  store i64 -1, ptr {lane_address(lanes, lanes.index, lane)}")
            flow.lines.append(f"  store i64 {flow.emit(f'zext i1 {there} to i64')}, ptr {more}")
            with flow.when(there):
                index = flow.emit(f"load i64, ptr {flow.element('i64', '%waiting', turn)}")
                flow.lines.append(f"  store i64 {index}, ptr {lane_address(lanes, lanes.index, lane)}")
                with flow.counted(lanes.row) as k:
                    x = flow.emit(f"load i64, ptr {record_address(lanes, index, k)}")
                    flow.lines.append(f"  store i64 {x}, ptr {lane_address(lanes, k, lane)}")


def put_back(lanes: LlvmLanes, lane: str) -> None:
    flow = lanes.flow
    index = flow.emit(f"load i64, ptr {lane_address(lanes, lanes.index, lane)}")
    with flow.when(flow.emit(f"icmp sge i64 {index}, 0")), flow.counted(lanes.stored) as k:
        x = flow.emit(f"load i64, ptr {lane_address(lanes, k, lane)}")
        flow.lines.append(f"  store i64 {x}, ptr {record_address(lanes, index, k)}")


def lane_address(lanes: LlvmLanes, vector: int | str, lane: str) -> str:
    """Address of one lane's number in the context."""
    start = lanes.flow.emit(f"mul i64 {vector}, {lanes.layout.lanes}")
    return lanes.flow.element("i64", "%context", lanes.flow.emit(f"add i64 {start}, {lane}"))


def record_address(lanes: LlvmLanes, index: str, k: str) -> str:
    start = lanes.flow.emit(f"mul i64 {index}, {lanes.row}")
    return lanes.flow.element("i64", "%records", lanes.flow.emit(f"add i64 {start}, {k}"))


def advance_texts(
    program: Program, method: Method, layout: Layout, crossings: Sequence[Crossing]
) -> tuple[list[str], int]:
    """The driver of a program with its functions, and the vectors of memory that it needs."""
    size, parameters = program.inputs[1].size, sum(port.size for port in program.inputs[2:])
    texts = [values_text(program, layout, "rhs", 0)]
    if crossings:
        texts.append(values_text(program, layout, "event_values", 1))
    lanes = LlvmLanes(layout, RECORD, size, len(crossings), parameters)
    driver = Driver(lanes, method, size, crossings)
    texts.append(advance_text(lanes, driver.begin, driver.attempt, RUNNING, DONE))
    return texts, lanes.vectors


def driver_text(
    program: Program, method: Method, layouts: Sequence[Layout], crossings: Sequence[Crossing]
) -> tuple[str, int]:
    """The driver of a program for each layout, and the vectors of memory that it needs."""
    texts, vectors = [], 0
    for layout in layouts:
        functions, vectors = advance_texts(program, method, layout, crossings)
        texts += functions
    return assemble(*functions_text(program.nodes, layouts), *texts), vectors
