"""Numerical integration in LLVM assembly: right-hand side and embedded Runge-Kutta method in one function.

    void @advance_W(ptr book, ptr waiting, i64 total, ptr queue, ptr context, double end, ptr times, i64 count, ptr out,
                    double rtol, ptr atol, ptr log, i64 room, i64 most, i64 budget)

integrates the `total` trajectories of y' = f(t, y, p) that wait, W at a time, one in each lane, each with steps of its
own, until `end`, for at most `budget` tries and at most `most` of each trajectory; see `lanes` for the book and
the queue. At the given times, which increase, y is written to row index · count + time of out. It lies on the
polynomial of the method within the step; or, if there is none, at the end of a step from the last accepted state to
there. Events are those of `events`; the log has room for so many of each trajectory, which stops when that is
full. The same in Python: `ode.numpy_driver`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...graph import Program
from .block import Layout, assembled
from .events import LOOKS, Crossing, Places, begin, end_at, look_within, nearby, remember, search, step_to, write_log
from .flow import Flow
from .lanes import (
    AT,
    DONE,
    HALTED,
    LOG_FULL,
    LOST,
    RUNNING,
    STUCK,
    TOO_MANY,
    Memory,
    empty_lanes,
    put_all_back,
    spread_whole,
    take_next,
    time_of,
    write_sample,
)
from .sine import large_angle, sine_cosine
from .stages import HALVES, Method, ended, stages_text, values_text, weighted, within_text

SAFETY, SMALLEST, LARGEST = 0.9, 0.2, 10.0
LEAST_ERROR, LEAST_BEFORE = 1e-10, 1e-4
SHORTEST, SHORTEST_AT_0 = 1e-15, 1e-22  # steps: of the time until then, and of all the time
CHAINS = 4  # so many components do not wait for one another when their errors are compared


def integrator_text(
    program: Program, method: Method, layouts: Sequence[Layout], crossings: Sequence[Crossing] = ()
) -> str:
    """For a program of t, y and, if there is more, parameters; its results are y' and, if there are events, theirs."""
    texts = []
    for layout in layouts:
        texts += [values_text(program, layout, "side", 0)]
        if crossings:
            texts.append(values_text(program, layout, "gauge", 1))
        texts.append(Driver(program, method, layout, crossings).text())
    if any(node.op in ("sin", "cos") for node in program.nodes):
        texts = [large_angle(), *(sine_cosine(layout) for layout in layouts), *texts]
    return assembled(*texts)


def memory(program: Program, method: Method) -> Memory:
    _, y, *others = program.inputs
    events = sum(port.size for port in program.outputs[1:])
    stages = max(len(method.a), len(method.dense))
    degree = method.degree or (len(HALVES[0]) if events else 0)
    return Memory(y.size, sum(port.size for port in others), stages, degree, events)


class Driver:
    """The function that makes steps, and decides on them."""

    def __init__(self, program: Program, method: Method, layout: Layout, crossings: Sequence[Crossing]) -> None:
        self.method, self.layout, self.crossings = method, layout, crossings
        self.where = memory(program, method)
        self.flow = Flow(layout)
        self.whole = layout.of("i64")

    def text(self) -> str:
        """Of the function, and of those for the stages."""
        flow, where, layout = self.flow, self.where, self.layout
        names = ("y", "p", "k", "z", "powers", "k_there", "z_there", "before", "after")
        self.at = {name: flow.place("%context", getattr(where, name)) for name in names}
        self.at["last"], self.at["last_but_one"] = (
            flow.place("%context", where.after + k * where.events) for k in (1, 2)
        )
        self.sums = [flow.say(f"alloca {layout.vector}, i64 {CHAINS}") for _ in range(2)]
        self.slots = [flow.say(f"alloca {layout.vector}") for _ in range(5)]
        self.tries, self.more = (flow.say("alloca i64") for _ in range(2))
        for value, place in ((0, self.tries), (1, self.more)):
            flow.lines.append(f"  store i64 {value}, ptr {place}")
        self.rtol, self.end = flow.spread("%rtol"), flow.spread("%end")
        self.most, self.room = spread_whole(flow, "%most"), spread_whole(flow, "%room")
        self.never = layout.splat("i1", "false")
        empty_lanes(flow, where)
        self.loop()
        numbers = "double %rtol, ptr %atol, ptr %log, i64 %room, i64 %most, i64 %budget"
        arrays = "ptr %context, double %end, ptr %times, i64 %count, ptr %out"
        head = f"void @advance_{layout.lanes}(ptr %book, ptr %waiting, i64 %total, ptr %queue, {arrays}, {numbers})"
        texts = [stages_text(self.method, layout, where.size)]
        if self.method.dense:
            texts.append(within_text(self.method, layout, where.size))
        return "\n".join([*texts, ended(flow, head)])

    def loop(self) -> None:
        flow, where = self.flow, self.where
        flow.go("again")
        flow.enter("again")
        active = flow.say(f"icmp eq {self.whole} {self.state('status')}, {flow.whole(RUNNING)}")
        running = flow.bits(active)
        idle = flow.say(f"icmp ne i64 {running}, {(1 << self.layout.lanes) - 1}")
        more = flow.say(f"icmp ne i64 {flow.say(f'load i64, ptr {self.more}')}, 0")
        flow.branch(flow.say(f"and i1 {idle}, {more}"), "next", "tries")

        flow.enter("next")
        take_next(flow, where, self.more)
        self.evaluate(self.at["k"])
        if self.crossings:
            self.call("gauge", self.state("t"), "y", "p", "after")
            begin(flow, where.events, self.places())
        flow.go("again")

        flow.enter("tries")
        tried = flow.say(f"load i64, ptr {self.tries}")
        flow.lines.append(f"  store i64 {flow.say(f'add i64 {tried}, 1')}, ptr {self.tries}")
        within, some = flow.say(f"icmp ult i64 {tried}, %budget"), flow.say(f"icmp ne i64 {running}, 0")
        flow.branch(flow.say(f"and i1 {within}, {some}"), "try", "over")
        flow.enter("try")
        self.attempt(active)
        flow.go("again")
        flow.enter("over")
        put_all_back(flow, where)

    def attempt(self, active: str) -> None:
        """A step, accepted or not."""
        flow, method, at = self.flow, self.method, self.at
        t, h = self.state("t"), self.state("h")
        left = flow.do("fsub", self.end, t)
        hits = flow.compare("oge", h, left)
        step = flow.select(active, flow.select(hits, left, h), self.layout.constant(0.0))
        self.call("stages", f"{t}, {self.layout.vector} {step}", "y", "p", "k", "z")
        error = self.error_norm(step)
        fine = flow.compare("ole", error, self.layout.constant(1.0))
        accepted, refused = flow.both(active, fine), flow.both(active, flow.neither(fine))
        landed = flow.select(hits, self.end, flow.do("fadd", t, step))
        met = halted = self.never
        if self.crossings:
            landed, met, halted = self.meet(t, step, landed, accepted)
            hits = flow.both(hits, flow.compare("oge", landed, self.end))
        self.samples(t, step, landed, accepted)
        self.replace_all(accepted, "y", at["z"])
        flow.store(flow.select(accepted, landed, t), "%context", AT["t"])
        status = flow.select(flow.both(accepted, hits), flow.whole(DONE), self.state("status"), self.whole)
        status = flow.select(halted, flow.whole(HALTED), status, self.whole)
        if method.fixed:
            status = flow.select(refused, flow.whole(LOST), status, self.whole)
        else:
            following = self.next_step(error, step, accepted)
            if self.crossings:
                short = flow.do("fdiv", step, self.layout.constant(float(LOOKS)))
                following = flow.select(met, flow.call("minnum", following, short), following)
            tiny = flow.do("fmul", self.end, self.layout.constant(SHORTEST_AT_0))
            tiny = flow.fused(t, self.layout.constant(SHORTEST), tiny)
            stuck = flow.both(refused, flow.compare("ole", following, tiny))
            strange = flow.compare("uno", error, self.layout.constant(0.0))
            reason = flow.select(strange, flow.whole(LOST), flow.whole(STUCK), self.whole)
            status = flow.select(stuck, reason, status, self.whole)
            flow.store(flow.select(active, following, h), "%context", AT["h"])
        for name, which in (("steps", accepted), ("rejected", refused)):
            flow.store(flow.plus_one(self.state(name), which), "%context", AT[name], self.whole)
        flow.store(self.bounded(status), "%context", AT["status"], self.whole)
        self.renew(accepted, met)

    def bounded(self, status: str) -> str:
        """The status, with that of trajectories that run on and have used up their steps, or the room of their log."""
        flow, whole = self.flow, self.whole
        going_on = flow.say(f"icmp eq {whole} {status}, {flow.whole(RUNNING)}")
        if self.crossings:
            full = flow.both(going_on, flow.say(f"icmp uge {whole} {self.state('logged')}, {self.room}"))
            status = flow.select(full, flow.whole(LOG_FULL), status, whole)
        tried = flow.say(f"add {whole} {self.state('steps')}, {self.state('rejected')}")
        many = flow.both(going_on, flow.say(f"icmp uge {whole} {tried}, {self.most}"))
        return flow.select(many, flow.whole(TOO_MANY), status, whole)

    def state(self, name: str) -> str:
        whole = name in ("next", "steps", "rejected", "status", "logged")
        return self.flow.load("%context", AT[name], self.whole if whole else "")

    def call(self, function: str, first: str, *pointers: str) -> None:
        """A function of a vector or two and pointers."""
        others = ", ".join(f"ptr {self.at[name]}" for name in pointers)
        name = f"@{function}_{self.layout.lanes}"
        self.flow.lines.append(f"  call void {name}({self.layout.vector} {first}, {others})")

    def evaluate(self, target: str) -> None:
        """f at the last accepted state."""
        self.at["target"] = target
        self.call("side", self.state("t"), "y", "p", "target")

    def replace(self, truths: str, pointer: str, i: str | int, value: str) -> None:
        self.flow.store(self.flow.select(truths, value, self.flow.load(pointer, i)), pointer, i)

    def replace_all(self, truths: str, name: str, source: str) -> None:
        with self.flow.counted(self.where.size) as i:
            self.replace(truths, self.at[name], i, self.flow.load(source, i))

    def renew(self, accepted: str, met: str) -> None:
        """k_0 for the next step: the last stage, or f once more, as where an event ended the step."""
        flow, at, size = self.flow, self.at, self.where.size
        if not self.method.first_is_last:
            return self.evaluate(at["k"])
        last = flow.place(at["k"], (self.method.stages - 1) * size)
        self.replace_all(accepted, "k", last)
        if self.crossings:
            with flow.when(flow.some(met)):
                self.evaluate(at["k_there"])
                self.replace_all(met, "k", at["k_there"])
        return None

    def places(self) -> Places:
        names = ("y", "p", "k", "k_there", "z", "z_there", "before", "after", "last", "last_but_one")
        return Places(*(self.at[name] for name in names))

    def meet(self, t: str, step: str, landed: str, accepted: str) -> tuple[str, str, str]:
        """Where lanes land, which of them within their step, and which have to stop there."""
        flow, where, places = self.flow, self.where, self.places()
        cut = self.never
        if any(crossing.inside for crossing in self.crossings):
            landed, cut = self.shorten(places, t, step, landed, accepted)
        landed, met = search(flow, self.crossings, places, where.size, t, landed, accepted, self.slots)
        index = flow.load("%context", where.index, self.whole)
        halted = write_log(flow, self.crossings, places, where.size, landed, met, self.state("logged"), index)
        flow.store(flow.plus_one(self.state("logged"), met), "%context", AT["logged"], self.whole)
        remember(flow, self.crossings, places, accepted)
        return landed, flow.say(f"or {self.layout.truths} {met}, {cut}"), halted

    def shorten(self, places: Places, t: str, step: str, landed: str, accepted: str) -> tuple[str, str]:
        """End steps where an event is beyond zero, or nearly so, within them: where lanes land, and which are cut."""
        flow, layout, where, until = self.flow, self.layout, self.where, self.slots[2]
        near = accepted
        if self.method.first_is_last:
            last = flow.place(self.at["k"], (self.method.stages - 1) * where.size)
            near = nearby(flow, self.crossings, places, where.size, last, t, step, landed)
            near = flow.both(accepted, near)
        flow.store(layout.constant(1.0), until)
        with flow.when(flow.some(near)):
            if self.method.dense:
                self.call("within", f"{t}, {layout.vector} {step}", "y", "p", "k", "z_there", "powers")
            else:
                self.halves(places, t, step)
            part = look_within(flow, self.crossings, places, t, step, near, self.interpolate, self.slots[:2])
            flow.store(part, until)
            cut = flow.both(near, flow.compare("olt", part, layout.constant(1.0)))
            with flow.when(flow.some(cut)):  # another event may have gone out and back before
                whole, short = flow.load(until), flow.do("fmul", part, step)
                part = look_within(
                    flow, self.crossings, places, t, short, cut,
                    lambda time, part: self.interpolate(time, flow.do("fmul", part, whole)), self.slots[:2],
                )  # fmt: skip
                part = flow.do("fmul", whole, part)
                flow.store(part, until)
                end_at(flow, places, where.size, t, flow.fused(part, step, t), cut)
        part = flow.load(until)
        cut = flow.both(near, flow.compare("olt", part, layout.constant(1.0)))
        return flow.select(cut, flow.fused(part, step, t), landed), cut

    def halves(self, places: Places, t: str, step: str) -> None:
        """The polynomial of methods without one of their own, through a step to the middle and the end; see HALVES."""
        flow, layout, at, size = self.flow, self.layout, self.at, self.where.size
        half = flow.do("fmul", step, layout.constant(0.5))
        everywhere = layout.splat("i1", "true")
        step_to(flow, places, size, t, flow.do("fadd", t, half), everywhere)
        for stage, (time, state) in enumerate(((half, "z_there"), (step, "z")), 1):
            self.at["target"] = flow.place(at["k_there"], stage * size)
            self.call("side", flow.do("fadd", t, time), state, "p", "target")
        known = flow.compare("ogt", step, layout.constant(0.0))
        length = flow.select(known, step, layout.constant(1.0))
        with flow.counted(size) as i:
            start = flow.load(at["y"], i)
            parts = [flow.load(at["k"], i)]
            parts += [flow.load(at["k_there"], flow.say(f"add i64 {i}, {stage * size}")) for stage in (1, 2)]
            parts += [flow.do("fdiv", flow.do("fsub", flow.load(at[z], i), start), length) for z in ("z_there", "z")]
            for power in range(len(HALVES[0])):
                total = layout.constant(0.0)
                for x, row in zip(parts, HALVES, strict=True):
                    total = flow.fused(x, layout.constant(float(row[power])), total) if row[power] else total
                flow.store(total, at["powers"], flow.say(f"add i64 {i}, {power * size}"))

    def samples(self, t: str, step: str, landed: str, accepted: str) -> None:
        """All that lie in an accepted step."""
        flow, where, at = self.flow, self.where, self.at

        def due_now() -> tuple[str, str, str, str]:
            index = self.state("next")
            wanted = time_of(flow, index)
            there = flow.say(f"icmp ult {self.whole} {index}, {spread_whole(flow, '%count')}")
            due = flow.both(flow.both(accepted, there), flow.compare("ole", wanted, landed))
            return index, wanted, due, flow.both(due, flow.compare("olt", wanted, landed))

        if self.method.dense:
            with flow.when(flow.some(due_now()[-1])):
                self.call("within", f"{t}, {self.layout.vector} {step}", "y", "p", "k", "z_there", "powers")
        flow.go("samples")
        flow.enter("samples")
        index, wanted, due, inside = due_now()
        flow.branch(flow.some(due), "sample", "sampled")
        flow.enter("sample")
        short = flow.select(inside, flow.do("fsub", wanted, t), self.layout.constant(0.0))
        if self.method.dense:
            self.interpolate(short, flow.do("fdiv", short, step))
        else:
            with flow.counted(where.size) as i:
                flow.store(flow.load(at["k"], i), at["k_there"], i)
            self.call("stages", f"{t}, {self.layout.vector} {short}", "y", "p", "k_there", "z_there")
        ends = flow.neither(inside)
        self.replace_all(ends, "z_there", at["z"])
        write_sample(flow, where, due, index, at["z_there"])
        flow.store(flow.plus_one(index, due), "%context", AT["next"], self.whole)
        flow.go("samples")
        flow.enter("sampled")

    def interpolate(self, short: str, part: str) -> None:
        """y + θ h (P_0 + θ P_1 + ...), where θ is the part and θ h is short."""
        flow, size, at = self.flow, self.where.size, self.at
        powers = [flow.place(at["powers"], power * size) for power in range(self.where.degree)]

        with flow.counted(size) as i:
            total = flow.load(powers[-1], i)
            for place in powers[-2::-1]:
                total = flow.fused(total, part, flow.load(place, i))
            flow.store(flow.fused(short, total, flow.load(at["y"], i)), at["z_there"], i)

    def error_norm(self, step: str) -> str:
        """The largest of the errors, each in units of what is allowed; NaN where z is not finite."""
        flow, layout, method, at, size = self.flow, self.layout, self.method, self.at, self.where.size
        zero, (largest, strange) = layout.constant(0.0), self.sums
        for chain in range(CHAINS):
            for place in self.sums:
                flow.store(zero, place, chain)
        with flow.counted(size) as i:
            a, b = flow.load(at["y"], i), flow.load(at["z"], i)
            own = flow.say(f"and i64 {i}, {CHAINS - 1}")
            flow.store(flow.fused(b, zero, flow.load(strange, own)), strange, own)
            if not method.fixed:
                place = flow.say(f"getelementptr double, ptr %atol, i64 {i}")
                atol = flow.spread(flow.say(f"load double, ptr {place}"))
                larger = flow.call("maxnum", flow.call("fabs", a), flow.call("fabs", b))
                unit = flow.do("fdiv", step, flow.fused(larger, self.rtol, atol))
                e = flow.call("fabs", flow.do("fmul", weighted(flow, at["k"], method.error, size, i), unit))
                if method.damp:
                    d = flow.do("fmul", weighted(flow, at["k"], method.damp, size, i), unit)
                    square = flow.do("fmul", e, e)
                    both = flow.fused(flow.do("fmul", d, d), layout.constant(0.01), square)
                    root = flow.call("sqrt", flow.do("fadd", both, layout.constant(1e-300)))
                    e = flow.do("fdiv", square, root)
                flow.store(flow.call("maxnum", flow.load(largest, own), e), largest, own)
        total, odd = flow.load(largest), flow.load(strange)
        for chain in range(1, CHAINS):
            total = flow.call("maxnum", total, flow.load(largest, chain))
            odd = flow.do("fadd", odd, flow.load(strange, chain))
        return flow.do("fadd", total, odd)

    def next_step(self, error: str, step: str, accepted: str) -> str:
        """Proportional and integral control (Gustafsson 1991): h (0.9 e^-0.7/q e_before^0.4/q), within bounds."""
        flow, layout, q = self.flow, self.layout, float(self.method.order)
        before = self.state("error")
        e = flow.call("maxnum", error, layout.constant(LEAST_ERROR))
        known = flow.compare("olt", error, layout.constant(1e300))
        e = flow.select(known, e, layout.constant(1e300))
        log, log_before = flow.rough_log2(e), flow.rough_log2(before)
        good = flow.fused(log, layout.constant(-0.7 / q), flow.do("fmul", log_before, layout.constant(0.4 / q)))
        bad = flow.do("fmul", log, layout.constant(-1.0 / q))
        factor = flow.do("fmul", flow.rough_exp2(flow.select(accepted, good, bad)), layout.constant(SAFETY))
        again = self.state("again")  # 1 after a step was refused: no growth
        free = flow.both(accepted, flow.compare("olt", again, layout.constant(0.5)))
        most = flow.select(free, layout.constant(LARGEST), layout.constant(1.0))
        factor = flow.call("minnum", flow.call("maxnum", factor, layout.constant(SMALLEST)), most)
        kept = flow.call("maxnum", error, layout.constant(LEAST_BEFORE))
        flow.store(flow.select(accepted, kept, before), "%context", AT["error"])
        flow.store(flow.select(accepted, layout.constant(0.0), layout.constant(1.0)), "%context", AT["again"])
        return flow.do("fmul", step, factor)
