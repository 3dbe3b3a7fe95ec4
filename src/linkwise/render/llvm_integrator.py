"""Numerical integration in LLVM assembly: right-hand side and embedded Runge-Kutta method in one function.

    i64 @advance_W(ptr context, ptr times, i64 count, ptr out, i64 stride, double rtol, ptr atol, ptr log, i64 room,
                   i64 budget)

integrates W trajectories of y' = f(t, y, p), one in each lane, each with steps of its own, for at most `budget` tries,
and gives a bit for each lane that is still running. All that it knows of a trajectory is in the context, so that it can
be called again to go on. At the given times, which increase, y is written to out + lane · stride + time · m: it is that
of a step from the last one to there, as exact as the steps themselves. Events are those of `llvm_events`; the log has
room for so many of each trajectory. The same in Python: `simulate.plain`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..graph import Node, Program
from .llvm import Nodes
from .llvm_block import Layout, assembled
from .llvm_events import Crossing, Places, search, write_log
from .llvm_flow import Flow
from .llvm_sine import large_angle, sine_cosine

CONTEXT = (
    "t",
    "h",
    "error",
    "end",
    "next",
    "steps",
    "rejected",
    "status",
    "again",
    "logged",
)  # vectors at its beginning
RUNNING, DONE, STUCK, LOST, HALTED = range(5)
SAFETY, SMALLEST, LARGEST = 0.9, 0.2, 10.0
LEAST_ERROR, LEAST_BEFORE = 1e-10, 1e-4


@dataclass(frozen=True)
class Method:
    """An embedded Runge-Kutta method, as in simulate/tableaux.toml."""

    name: str
    order: int
    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    c: tuple[float, ...]
    error: tuple[float, ...]
    damp: tuple[float, ...] = ()
    fixed: bool = False  # no error control
    first_is_last: bool = False


@dataclass(frozen=True)
class Memory:
    """Where things are in the context, in vectors."""

    size: int  # of y
    stages: int
    parameters: int
    events: int = 0

    def y(self) -> int:
        return len(CONTEXT)

    def p(self) -> int:
        return self.y() + self.size

    def k(self, stage: int = 0) -> int:
        return self.p() + self.parameters + stage * self.size

    def z(self) -> int:
        return self.k(self.stages)

    def k_there(self) -> int:
        """Stages of the step to a time that was asked for."""
        return self.z() + self.size

    def z_there(self) -> int:
        return self.k_there() + self.stages * self.size

    def before(self) -> int:
        """Events at the last accepted state; behind them those at the end of a step."""
        return self.z_there() + self.size

    def vectors(self) -> int:
        return self.before() + 2 * self.events


def integrator_text(
    program: Program, method: Method, layouts: Sequence[Layout], crossings: Sequence[Crossing] = ()
) -> str:
    """For a program of t, y and, if there is more, parameters; its results are y' and, if there are events, theirs."""
    texts = []
    for layout in layouts:
        texts += [values_text(program, layout, "side", 0), stages_text(program, method, layout)]
        if crossings:
            texts.append(values_text(program, layout, "gauge", 1))
        texts.append(advance_text(program, method, layout, crossings))
    if any(node.op in ("sin", "cos") for node in program.nodes):
        texts = [large_angle(), *(sine_cosine(layout) for layout in layouts), *texts]
    return assembled(*texts)


def memory(program: Program, method: Method) -> Memory:
    _, y, *others = program.inputs
    events = sum(port.size for port in program.outputs[1:])
    return Memory(y.size, len(method.b), sum(port.size for port in others), events)


def ended(flow: Flow, head: str, result: str = "void") -> str:
    return "\n".join([*sorted(flow.declared), f"define {head} #1 {{", *flow.lines, f"  ret {result}", "}", ""])


def values_text(program: Program, layout: Layout, name: str, which: int) -> str:
    """`@name_W(vector t, ptr y, ptr p, ptr values)`: one result of the program, the right-hand side or the events."""
    flow = Flow(layout)
    t, y, *others = program.inputs
    starts, total = {}, 0
    for port in others:
        starts[port.name] = total
        total += port.size
    results = program.results[which]
    nodes = Program.of(results[0].graph, program.inputs, [program.outputs[which]], [results]).nodes
    given = {node.index: read(flow, node, t.name, y.name, starts) for node in nodes if node.op == "input"}
    value = Nodes(flow, nodes, given, [node.index for node in results]).written()
    for i, node in enumerate(results):
        flow.store(value[node.index], "%values", i)
    return ended(flow, f"internal void @{name}_{layout.lanes}({layout.vector} %t, ptr %y, ptr %p, ptr %values)")


def read(flow: Flow, node: Node, t: str, y: str, starts: dict[str, int]) -> str:
    name, position = node.payload
    if name == t:
        return "%t"
    return flow.load("%y", position) if name == y else flow.load("%p", starts[name] + position)


def stages_text(program: Program, method: Method, layout: Layout) -> str:
    """`@stages_W(vector t, vector h, ptr y, ptr p, ptr k, ptr z)`: from k_0 on all stages, and z, a step on from y."""
    flow, m, v = Flow(layout), memory(program, method).size, layout.vector
    for s in range(1, len(method.b)):
        with flow.counted(m) as i:
            flow.store(combined(flow, "%y", "%k", method.a[s], m, i), "%z", i)
        there = flow.fused("%h", layout.constant(method.c[s]), "%t")
        flow.lines.append(
            f"  call void @side_{layout.lanes}({v} {there}, ptr %z, ptr %p, ptr {flow.place('%k', s * m)})"
        )
    if not method.first_is_last:  # otherwise the last stage began at the result
        with flow.counted(m) as i:
            flow.store(combined(flow, "%y", "%k", method.b, m, i), "%z", i)
    head = f"internal void @stages_{layout.lanes}({v} %t, {v} %h, ptr %y, ptr %p, ptr %k, ptr %z)"
    return ended(flow, head)


def combined(flow: Flow, y: str, k: str, weights: Sequence[float], m: int, i: str) -> str:
    """y_i + h Σ weight_j k_ji"""
    return flow.fused("%h", weighted(flow, k, weights, m, i), flow.load(y, i))


def weighted(flow: Flow, k: str, weights: Sequence[float], m: int, i: str) -> str:
    total = ""
    for j, weight in enumerate(weights):
        if weight:
            x, c = flow.load(k, flow.say(f"add i64 {i}, {j * m}")), flow.layout.constant(weight)
            total = flow.fused(x, c, total) if total else flow.do("fmul", x, c)
    return total


def advance_text(program: Program, method: Method, layout: Layout, crossings: Sequence[Crossing]) -> str:
    flow, where = Flow(layout), memory(program, method)
    v, whole, lanes = layout.vector, layout.of("i64"), layout.lanes
    at = {name: k for k, name in enumerate(CONTEXT)}
    places = (where.y(), where.p(), where.k(), where.z(), where.k_there(), where.z_there())
    y, p, k, z, k_there, z_there = (flow.place("%context", place) for place in places)
    sums, slots = ([flow.say(f"alloca {v}") for _ in range(2)] for _ in range(2))
    before, after = (flow.place("%context", where.before() + x) for x in (0, where.events))
    events = Places(y, p, k, k_there, z, z_there, before, after)
    first = flow.load("%context", at["t"])
    flow.lines.append(f"  call void @side_{lanes}({v} {first}, ptr {y}, ptr {p}, ptr {k})")
    if crossings:
        flow.lines.append(f"  call void @gauge_{lanes}({v} {first}, ptr {y}, ptr {p}, ptr {before})")
    rtol = flow.spread("%rtol")
    flow.go("again")
    entry = flow.label
    flow.enter("again")
    flow.lines.append(f"  %tries = phi i64 [0, %{entry}], [%tried, %decided]")
    t, h, end = (flow.load("%context", at[name]) for name in ("t", "h", "end"))
    status = flow.load("%context", at["status"], whole)
    active = flow.say(f"icmp eq {whole} {status}, {flow.whole(RUNNING)}")
    running = flow.bits(active)
    more, some = flow.say("icmp ult i64 %tries, %budget"), flow.say(f"icmp ne i64 {running}, 0")
    flow.branch(flow.say(f"and i1 {more}, {some}"), "try", "over")

    flow.enter("try")
    left = flow.do("fsub", end, t)
    hits = flow.compare("oge", h, left)
    step = flow.select(active, flow.select(hits, left, h), flow.layout.constant(0.0))
    flow.lines.append(f"  call void @stages_{lanes}({v} {t}, {v} {step}, ptr {y}, ptr {p}, ptr {k}, ptr {z})")
    error = error_norm(flow, method, sums, where.size, y, z, k, step, rtol)
    fine = flow.compare("ole", error, flow.layout.constant(1.0))
    accepted = flow.both(active, fine)
    landed = flow.select(hits, end, flow.do("fadd", t, step))
    halted = layout.splat("i1", "false")
    if crossings:
        landed, met = search(flow, crossings, events, where.size, t, landed, accepted, slots)
        hits = flow.both(hits, flow.compare("oge", landed, end))
        logged = flow.load("%context", at["logged"], whole)
        halted = write_log(flow, crossings, events, where.size, landed, met, logged)
        flow.store(flow.plus_one(logged, met), "%context", at["logged"], whole)
        for e in range(where.events):
            flow.store(flow.select(accepted, flow.load(after, e), flow.load(before, e)), before, e)

    flow.go("samples")
    flow.enter("samples")
    index = flow.load("%context", at["next"], whole)
    wanted = time_of(flow, index)
    there = flow.say(f"icmp ult {whole} {index}, {spread_count(flow)}")
    due = flow.both(flow.both(accepted, there), flow.compare("ole", wanted, landed))
    flow.branch(flow.some(due), "sample", "sampled")
    flow.enter("sample")
    with flow.counted(where.size) as i:
        flow.store(flow.load(k, i), k_there, i)
    short = flow.select(due, flow.do("fsub", wanted, t), flow.layout.constant(0.0))
    flow.lines.append(
        f"  call void @stages_{lanes}({v} {t}, {v} {short}, ptr {y}, ptr {p}, ptr {k_there}, ptr {z_there})"
    )
    write_sample(flow, due, index, z_there, where.size)
    flow.store(flow.plus_one(index, due), "%context", at["next"], whole)
    flow.go("samples")

    flow.enter("sampled")
    with flow.counted(where.size) as i:
        flow.store(flow.select(accepted, flow.load(z, i), flow.load(y, i)), y, i)
    flow.store(flow.select(accepted, landed, t), "%context", at["t"])
    arrived = flow.both(accepted, hits)
    refused = flow.both(active, flow.neither(fine))
    status = flow.select(arrived, flow.whole(DONE), status, whole)
    status = flow.select(halted, flow.whole(HALTED), status, whole)
    if method.fixed:
        status = flow.select(refused, flow.whole(LOST), status, whole)
    else:
        following = next_step(flow, method, at, error, step, accepted)
        tiny = flow.do("fmul", flow.call("fabs", flow.do("fadd", end, t)), flow.layout.constant(1e-15))
        stuck = flow.both(refused, flow.compare("ole", following, tiny))
        strange = flow.compare("uno", error, flow.layout.constant(0.0))
        reason = flow.select(strange, flow.whole(LOST), flow.whole(STUCK), whole)
        status = flow.select(stuck, reason, status, whole)
        flow.store(flow.select(active, following, h), "%context", at["h"])
    flow.store(status, "%context", at["status"], whole)
    for name, which in (("steps", accepted), ("rejected", refused)):
        flow.store(flow.plus_one(flow.load("%context", at[name], whole), which), "%context", at[name], whole)
    renew(flow, method, where, k, y, p, accepted, at)
    flow.go("decided")
    flow.enter("decided")
    flow.lines.append("  %tried = add i64 %tries, 1")
    flow.go("again")
    flow.enter("over")
    head = (
        f"i64 @advance_{lanes}(ptr %context, ptr %times, i64 %count, ptr %out, i64 %stride, double %rtol, ptr %atol,"
        " ptr %log, i64 %room, i64 %budget)"
    )
    return ended(flow, head, f"i64 {running}")


def renew(flow: Flow, method: Method, where: Memory, k: str, y: str, p: str, accepted: str, at: dict[str, int]) -> None:
    """k_0 for the next step: the last stage, or f once more."""
    if method.first_is_last:
        with flow.counted(where.size) as i:
            last = flow.load(k, flow.say(f"add i64 {i}, {(where.stages - 1) * where.size}"))
            flow.store(flow.select(accepted, last, flow.load(k, i)), k, i)
    else:
        now, lanes = flow.load("%context", at["t"]), flow.layout.lanes
        flow.lines.append(f"  call void @side_{lanes}({flow.layout.vector} {now}, ptr {y}, ptr {p}, ptr {k})")


def error_norm(
    flow: Flow, method: Method, sums: list[str], m: int, y: str, z: str, k: str, step: str, rtol: str
) -> str:
    """The largest of the errors, each in units of what is allowed; NaN where z is not finite."""
    layout = flow.layout
    zero, (largest, strange) = layout.constant(0.0), sums
    for place in sums:
        flow.store(zero, place)
    with flow.counted(m) as i:
        a, b = flow.load(y, i), flow.load(z, i)
        flow.store(flow.fused(b, zero, flow.load(strange)), strange)
        if not method.fixed:
            atol = flow.spread(flow.say(f"load double, ptr {flow.say(f'getelementptr double, ptr %atol, i64 {i}')}"))
            larger = flow.call("maxnum", flow.call("fabs", a), flow.call("fabs", b))
            unit = flow.do("fdiv", step, flow.fused(larger, rtol, atol))
            e = flow.call("fabs", flow.do("fmul", weighted(flow, k, method.error, m, i), unit))
            if method.damp:
                d = flow.do("fmul", weighted(flow, k, method.damp, m, i), unit)
                square = flow.do("fmul", e, e)
                both = flow.fused(flow.do("fmul", d, d), layout.constant(0.01), square)
                root = flow.call("sqrt", flow.do("fadd", both, layout.constant(1e-300)))
                e = flow.do("fdiv", square, root)
            flow.store(flow.call("maxnum", flow.load(largest), e), largest)
    return flow.do("fadd", flow.load(largest), flow.load(strange))


def next_step(flow: Flow, method: Method, at: dict[str, int], error: str, step: str, accepted: str) -> str:
    """Proportional and integral control (Gustafsson 1991): h (0.9 e^-0.7/q e_before^0.4/q), within bounds."""
    layout, q = flow.layout, float(method.order)
    before = flow.load("%context", at["error"])
    e = flow.call("maxnum", error, layout.constant(LEAST_ERROR))
    known = flow.compare("olt", error, layout.constant(1e300))
    e = flow.select(known, e, layout.constant(1e300))
    log, log_before = flow.rough_log2(e), flow.rough_log2(before)
    good = flow.fused(log, layout.constant(-0.7 / q), flow.do("fmul", log_before, layout.constant(0.4 / q)))
    bad = flow.do("fmul", log, layout.constant(-1.0 / q))
    factor = flow.do("fmul", flow.rough_exp2(flow.select(accepted, good, bad)), layout.constant(SAFETY))
    again = flow.load("%context", at["again"])  # 1 after a step was refused: no growth
    free = flow.both(accepted, flow.compare("olt", again, layout.constant(0.5)))
    most = flow.select(free, layout.constant(LARGEST), layout.constant(1.0))
    factor = flow.call("minnum", flow.call("maxnum", factor, layout.constant(SMALLEST)), most)
    kept = flow.call("maxnum", error, layout.constant(LEAST_BEFORE))
    flow.store(flow.select(accepted, kept, before), "%context", at["error"])
    flow.store(flow.select(accepted, layout.constant(0.0), layout.constant(1.0)), "%context", at["again"])
    return flow.do("fmul", step, factor)


def time_of(flow: Flow, index: str) -> str:
    """The times of each lane's next sample; the last where there are no more."""
    lanes, v, whole = flow.layout.lanes, flow.layout.vector, flow.layout.of("i64")
    flow.declared.add("declare i64 @llvm.umin.i64(i64, i64)")
    last, found = flow.say("sub i64 %count, 1"), "poison"
    for lane in range(lanes):
        own = index if lanes == 1 else flow.say(f"extractelement {whole} {index}, i64 {lane}")
        own = flow.say(f"call i64 @llvm.umin.i64(i64 {own}, i64 {last})")
        x = flow.say(f"load double, ptr {flow.say(f'getelementptr double, ptr %times, i64 {own}')}")
        found = x if lanes == 1 else flow.say(f"insertelement {v} {found}, double {x}, i64 {lane}")
    return found


def spread_count(flow: Flow) -> str:
    lanes, whole = flow.layout.lanes, flow.layout.of("i64")
    if lanes == 1:
        return "%count"
    one = flow.say(f"insertelement {whole} poison, i64 %count, i64 0")
    return flow.say(f"shufflevector {whole} {one}, {whole} poison, <{lanes} x i32> zeroinitializer")


def write_sample(flow: Flow, due: str, index: str, z: str, m: int) -> None:
    """What is due, each lane to its own place."""
    lanes, whole, bits = flow.layout.lanes, flow.layout.of("i64"), flow.bits(due)
    for lane in range(lanes):
        wanted = flow.say(f"and i64 {bits}, {1 << lane}")
        own = index if lanes == 1 else flow.say(f"extractelement {whole} {index}, i64 {lane}")
        row = flow.say(f"mul i64 {own}, {m}")
        start = flow.say(f"add i64 {row}, {flow.say(f'mul i64 %stride, {lane}')}")
        with flow.when(flow.say(f"icmp ne i64 {wanted}, 0")), flow.counted(m) as i:
            source = flow.say(f"add i64 {flow.say(f'mul i64 {i}, {lanes}')}, {lane}")
            x = flow.say(f"load double, ptr {flow.say(f'getelementptr double, ptr {z}, i64 {source}')}")
            place = flow.say(f"getelementptr double, ptr %out, i64 {flow.say(f'add i64 {start}, {i}')}")
            flow.lines.append(f"  store double {x}, ptr {place}")
