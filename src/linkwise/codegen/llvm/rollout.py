"""Rollouts in LLVM assembly: y' = f(t, y, p) in steps of one length, with the state in registers.

    void @rollout(i64 begin, i64 end, settings, arrays)        trajectories from begin to end, W at a time (CPU)
    void @kernel(i64 count, settings, arrays)                  a trajectory for each thread (CUDA)

    settings    whole numbers (`ode.rollout.Part`), real step; i64 of each input: its stride between trajectories, 0 if
                all trajectories share it
    arrays      q0, qd0, one for each parameter of f; then q and qd at the end, the number of finite steps (i32), and
                q and qd of the samples: the start, and after every `every` steps

CPU and GPU share the text and give the same bits. A step of a method with stages k_s = f(t + c_s h, y + a_s h k_(s-1))
is y + h Σ b_s k_s; the stages are a loop with one copy of f. Quaternions of y are normalized where they are read and
written, not in between. Long rollouts are split into several calls, each of which continues from the unrounded end of
the previous one, with the same bits. A trajectory diverges at a non-finite number of its state: later samples are NaN.
A non-finite parameter makes it diverge from the start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...graph import Program
from .elementary import functions_text
from .flow import Flow, Layout, assemble
from .program import Nodes, zero_or_nan

NO_UNROLLING = """
!2 = distinct !{!2, !3}
!3 = !{!"llvm.loop.unroll.disable"}
"""
OUTPUTS = ("q_end", "qd_end", "made", "q", "qd")
PART = ("first", "stop", "steps", "every", "until", "samples", "sample", "hold")  # whole-number arguments of a call


class Stages(NamedTuple):
    """Coefficients of a method whose stages depend only on the previous stage; a[s] leads to stage s + 1."""

    a: tuple[float, ...]
    b: tuple[float, ...]
    c: tuple[float, ...]


class Rollout(NamedTuple):
    """A right-hand side and its method. The program maps t, y = (q, v) and parameters to y'.

    `table` names the parameter, if any, that has a row for every `hold` steps.
    """

    program: Program
    stages: Stages
    configuration: int  # numbers of q
    quaternions: tuple[int, ...]  # where they begin in it
    table: str = ""

    @property
    def parameters(self) -> dict[str, int]:
        """The sizes of the parameters, by their names."""
        return {port.name: port.size for port in self.program.inputs[2:]}

    @property
    def inputs(self) -> list[int]:
        """The sizes of q0, qd0 and the parameters."""
        rest = self.program.inputs[1].size - self.configuration
        return [self.configuration, rest, *self.parameters.values()]

    @property
    def outputs(self) -> list[tuple[str, int]]:
        rest = self.inputs[1]
        return list(zip(OUTPUTS, (self.configuration, rest, 1, self.configuration, rest), strict=True))

    def arguments(self, real: str, pointer: str) -> str:
        """The arguments of the function: settings and arrays; see `ode.rollout.Part`."""
        settings = [*(f"i64 %{name}" for name in PART), f"{real} %h"]
        strides = [f"i64 %stride{k}" for k in range(len(self.inputs))]
        inputs = [f"{pointer} noalias readonly %in{k}" for k in range(len(self.inputs))]
        outputs = [f"{pointer} noalias {'' if name == 'made' else 'writeonly '}%{name}" for name, _ in self.outputs]
        return ", ".join([*settings, *strides, *inputs, *outputs])


class Loop:
    """A loop that carries values in registers; `value` has their names in the body."""

    def __init__(self, flow: Flow, name: str, carried: dict[str, tuple[str, str]], no_unroll: bool) -> None:
        """`carried` maps names to types and initial values. `no_unroll` forbids unrolling."""
        self.flow, self.label, self.carried, self.no_unroll = flow, flow.fresh(name), carried, no_unroll
        self.before = flow.fresh("before")
        flow.go(self.before)
        flow.enter(self.before)
        flow.go(self.label)
        flow.enter(self.label)
        self.value: dict[str, str] = {}
        self.lines: dict[str, int] = {}
        for key in carried:
            self.value[key] = flow.emit("phi")
            self.lines[key] = len(flow.lines) - 1

    def end(self, following: dict[str, str], again: str) -> None:
        """End the body: repeat with these values under a condition."""
        flow = self.flow
        latch, after = flow.fresh("latch"), flow.fresh("after")
        flow.go(latch)
        flow.enter(latch)
        mark = ", !llvm.loop !2" if self.no_unroll else ""
        flow.lines.append(f"  br i1 {again}, label %{self.label}, label %{after}{mark}")
        for key, (kind, first) in self.carried.items():
            pairs = f"[{first}, %{self.before}], [{following[key]}, %{latch}]"
            flow.lines[self.lines[key]] = f"  {self.value[key]} = phi {kind} {pairs}"
        flow.enter(after)


class RolloutWriter:
    """Emits the rollout of one trajectory per lane."""

    space = "ptr"
    no_unroll = False

    def __init__(self, rollout: Rollout, layout: Layout) -> None:
        self.rollout, self.layout, self.flow = rollout, layout, Flow(layout)
        self.align = layout.bits // 8
        self.size = rollout.program.inputs[1].size
        self.lanes: list[str] = []  # the trajectory of each lane
        self.pointers: dict[str, list[str]] = {}  # to the parameters of each lane

    # memory

    def element(self, pointer: str, index: str | int, kind: str = "") -> str:
        return self.flow.emit(f"getelementptr {kind or self.layout.real}, {self.space} {pointer}, i64 {index}")

    def number(self, pointers: Sequence[str], position: int) -> str:
        """Load one number of each lane."""
        real, v, x = self.layout.real, self.layout.vector, "poison"
        for lane, pointer in enumerate(pointers):
            scalar = self.flow.emit(f"load {real}, {self.space} {self.element(pointer, position)}, align {self.align}")
            x = scalar if v == real else self.flow.emit(f"insertelement {v} {x}, {real} {scalar}, i64 {lane}")
        return x

    def write(self, array: str, rows: Sequence[str], values: Sequence[str]) -> None:
        """Store the values of each lane in its row of an array."""
        flow, real = self.flow, self.layout.real
        for lane, row in enumerate(rows):
            start = self.element(array, flow.emit(f"mul i64 {row}, {len(values)}"))
            for position, x in enumerate(values):
                scalar = flow.of_lane(x, lane, real)
                place = self.element(start, position)
                flow.lines.append(f"  store {real} {scalar}, {self.space} {place}, align {self.align}")

    def start(self) -> list[str]:
        """Load the initial y of each lane, and set the pointers to the parameters."""
        flow = self.flow
        every = []
        for k in range(len(self.rollout.inputs)):
            starts = [flow.emit(f"mul i64 {lane}, %stride{k}") for lane in self.lanes]
            every.append([self.element(f"%in{k}", first) for first in starts])
        q, qd, *others = every
        self.pointers = dict(zip(self.rollout.parameters, others, strict=True))
        nq, n, *_ = self.rollout.inputs
        y = [self.number(q, j) for j in range(nq)]
        return self.normalize_quaternions([*y, *(self.number(qd, j) for j in range(n))], "%first", "0")

    def normalize_quaternions(self, y: Sequence[str], one: str = "", other: str = "") -> list[str]:
        """y with unit quaternions; if `one` and `other` are given, only if these integers are equal."""
        flow, result = self.flow, list(y)
        equal = flow.emit(f"icmp eq i64 {one}, {other}") if one and self.rollout.quaternions else ""
        for first in self.rollout.quaternions:
            part = slice(first, first + 4)
            square = flow.do("fmul", y[first], y[first])
            for x in y[first + 1 : first + 4]:
                square = flow.multiply_add(x, x, square)
            length = flow.call("sqrt", square)
            result[part] = [flow.do("fdiv", x, length) for x in y[part]]
            if equal:
                v, pairs = self.layout.vector, list(zip(result[part], y[part], strict=True))
                result[part] = [flow.emit(f"select i1 {equal}, {v} {x}, {v} {old}") for x, old in pairs]
        return result

    def record(self, arrays: tuple[str, str], rows: Sequence[str], y: Sequence[str], fine: str) -> None:
        """Store a state with unit quaternions, NaN in diverged lanes."""
        nan, nq = self.layout.constant(float("nan")), self.rollout.configuration
        values = [self.flow.select(fine, x, nan) for x in y]
        self.write(arrays[0], rows, values[:nq])
        self.write(arrays[1], rows, values[nq:])

    def nan_unless_finite(self, parameters: Sequence[str], y: Sequence[str]) -> list[str]:
        """y; NaN in lanes with a non-finite parameter, even an unused one."""
        if not parameters:
            return list(y)
        known, nan = self.finite_mask(parameters), self.layout.constant(float("nan"))
        return [self.flow.select(known, x, nan) for x in y]

    def finite_mask(self, y: Sequence[str]) -> str:
        total = zero_or_nan(self.flow, y)
        return self.flow.emit(f"fcmp ord {self.layout.vector} {total}, {self.layout.constant(0.0)}")

    # steps

    def trajectories(self) -> None:
        """All steps of the lanes."""
        flow, layout = self.flow, self.layout
        v, whole = layout.vector, layout.of("i32")
        y = self.start()
        every = self.parameters()
        held = {} if self.reads_late else every
        y = self.nan_unless_finite(list(every.values()), y)
        fine = self.finite_mask(y)
        rows = [flow.emit(f"mul i64 {lane}, %samples") for lane in self.lanes]
        with flow.when(flow.emit("icmp eq i64 %sample, 0")):
            self.record(("%q", "%qd"), rows, self.normalize_quaternions(y), fine)
        flow.declared.add("declare i64 @llvm.umax.i64(i64, i64)")
        sample = flow.emit("call i64 @llvm.umax.i64(i64 %sample, i64 1)")
        carried = {f"y{j}": (v, x) for j, x in enumerate(y)}
        carried |= {"step": ("i64", "%first"), "until": ("i64", "%until"), "sample": ("i64", sample)}
        carried |= {"made": (whole, self.finite_steps_before())}
        loop = Loop(flow, "step", carried, self.no_unroll)
        now = loop.value
        y = [now[f"y{j}"] for j in range(self.size)]
        moved = self.step(y, now["step"], {**held, **self.row(now["step"])})
        fine = self.finite_mask(moved)
        more = flow.emit(f"zext {layout.mask} {fine} to {whole}")
        following = {f"y{j}": x for j, x in enumerate(moved)}
        following["made"] = flow.emit(f"add {whole} {now['made']}, {more}")
        following["step"] = flow.emit(f"add i64 {now['step']}, 1")
        left = flow.emit(f"sub i64 {now['until']}, 1")
        due = flow.emit(f"icmp eq i64 {left}, 0")
        following["until"] = flow.emit(f"select i1 {due}, i64 %every, i64 {left}")
        following["sample"] = flow.emit(f"add i64 {now['sample']}, {flow.emit(f'zext i1 {due} to i64')}")
        with flow.when(due):
            places = [flow.emit(f"add i64 {row}, {now['sample']}") for row in rows]
            self.record(("%q", "%qd"), places, self.normalize_quaternions(moved), fine)
        loop.end(following, flow.emit(f"icmp ult i64 {following['step']}, %stop"))
        self.record(("%q_end", "%qd_end"), self.lanes, self.normalize_quaternions(moved, "%stop", "%steps"), fine)
        for lane, trajectory in enumerate(self.lanes):
            x = flow.of_lane(following["made"], lane, "i32")
            flow.lines.append(f"  store i32 {x}, {self.space} {self.element('%made', trajectory, 'i32')}, align 4")

    def finite_steps_before(self) -> str:
        """The number of finite steps before this part."""
        flow, fresh, x = self.flow, self.flow.emit("icmp eq i64 %first, 0"), "poison"
        whole = self.layout.of("i32")
        for lane, trajectory in enumerate(self.lanes):
            before = flow.emit(f"load i32, {self.space} {self.element('%made', trajectory, 'i32')}, align 4")
            count = flow.emit(f"select i1 {fresh}, i32 0, i32 {before}")
            x = count if whole == "i32" else flow.emit(f"insertelement {whole} {x}, i32 {count}, i64 {lane}")
        return x

    reads_late = False  # whether each stage reloads the parameters, since registers are few

    def parameters(self) -> dict[tuple[str, int], str]:
        """The parameters that are constant over the rollout."""
        constants: dict[tuple[str, int], str] = {}
        for name, size in self.rollout.parameters.items():
            if name != self.rollout.table:
                constants |= {(name, j): self.number(self.pointers[name], j) for j in range(size)}
        return constants

    def row(self, step: str) -> dict[tuple[str, int], str]:
        """The row of the table for this step."""
        name = self.rollout.table
        if not name:
            return {}
        size = self.rollout.parameters[name]
        flow = self.flow
        number, hold = (flow.emit(f"trunc i64 {x} to i32") for x in (step, "%hold"))  # shorter code than of 64 bits
        row = flow.emit(f"zext i32 {flow.emit(f'udiv i32 {number}, {hold}')} to i64")
        first = flow.emit(f"mul i64 {row}, {size}")
        pointers = [self.element(pointer, first) for pointer in self.pointers[name]]
        return {(name, j): self.number(pointers, j) for j in range(size)}

    def step(self, y: Sequence[str], number: str, held: dict[tuple[str, int], str]) -> list[str]:
        """The state y after a step."""
        flow, layout, stages = self.flow, self.layout, self.rollout.stages
        v, each, h = layout.vector, range(self.size), flow.splat("%h", layout.real)
        t = self.time(number) if self.uses_time else ""
        nothing = layout.constant(-0.0)  # neutral element of addition, also for -0
        carried = {f"z{j}": (v, x) for j, x in enumerate(y)} | {f"sum{j}": (v, nothing) for j in each}
        loop = Loop(flow, "stage", {**carried, "stage": ("i32", "0")}, self.no_unroll)
        stage = loop.value["stage"]
        z = [loop.value[f"z{j}"] for j in each]
        if t:
            t = flow.multiply_add(self.stage_number(stage, stages.c), h, t)
        rates = self.rates(t, z, held)
        way, weight = flow.do("fmul", self.stage_number(stage, (*stages.a, 1.0)), h), self.stage_number(stage, stages.b)
        following = {f"sum{j}": flow.multiply_add(weight, rates[j], loop.value[f"sum{j}"]) for j in each}
        following |= {f"z{j}": flow.multiply_add(way, rates[j], y[j]) for j in each}
        following["stage"] = flow.emit(f"add i32 {stage}, 1")
        loop.end(following, flow.emit(f"icmp ult i32 {following['stage']}, {len(stages.b)}"))
        return [flow.multiply_add(h, following[f"sum{j}"], y[j]) for j in each]

    @property
    def uses_time(self) -> bool:
        t = self.rollout.program.inputs[0].name
        return any(node.op == "input" and node.payload[0] == t for node in self.rollout.program.nodes)

    def time(self, step: str) -> str:
        """The time at the start of a step, as number times length, without accumulated rounding."""
        flow, real = self.flow, self.layout.real
        whole = flow.emit(f"uitofp i64 {step} to {real}")
        return flow.splat(flow.emit(f"fmul {real} {whole}, %h"), real)

    def stage_number(self, stage: str, numbers: Sequence[float]) -> str:
        """The coefficient of this stage."""
        flow, real = self.flow, self.layout.real
        scalar = Layout(real, 1, True).constant
        x = scalar(numbers[-1])
        for k in reversed(range(len(numbers) - 1)):
            if numbers[k] != numbers[k + 1] or x != scalar(numbers[k]):
                below = flow.emit(f"icmp ule i32 {stage}, {k}")
                x = flow.emit(f"select i1 {below}, {real} {scalar(numbers[k])}, {real} {x}")
        return flow.splat(x, real)

    def rates(self, t: str, z: Sequence[str], held: dict[tuple[str, int], str]) -> list[str]:
        """Emit f(t, z) with the parameters `held`."""
        program = self.rollout.program
        given = self.input_reader(t, z, held)
        known = {node.index: given(*node.payload) for node in program.nodes if node.op == "input"}
        (results,) = program.results
        value = Nodes(self.flow, program.nodes, known, [node.index for node in results]).emit_all()
        return [value[node.index] for node in results]

    def input_reader(self, t: str, z: Sequence[str], held: dict[tuple[str, int], str]) -> Callable[[str, int], str]:
        """A function that gives an input of f by its name and position."""
        time, y = (port.name for port in self.rollout.program.inputs[:2])

        def number(name: str, position: int) -> str:
            if name == time:
                return t
            if name == y:
                return z[position]
            if (name, position) not in held:
                held[name, position] = self.number(self.pointers[name], position)
            return held[name, position]

        return number


def rollout_text(rollout: Rollout, layout: Layout) -> str:
    """The function for the CPU and its callees. Unused last lanes repeat the last trajectory."""
    writer = RolloutWriter(rollout, layout)
    flow = writer.flow
    flow.declared.add("declare i64 @llvm.umin.i64(i64, i64)")
    last = flow.emit("sub i64 %end, 1")
    loop = Loop(flow, "lanes", {"first": ("i64", "%begin")}, False)
    first = loop.value["first"]
    for lane in range(layout.lanes):
        index = flow.emit(f"add i64 {first}, {lane}")
        writer.lanes.append(flow.emit(f"call i64 @llvm.umin.i64(i64 {index}, i64 {last})"))
    writer.trajectories()
    following = flow.emit(f"add i64 {first}, {layout.lanes}")
    loop.end({"first": following}, flow.emit(f"icmp ult i64 {following}, %end"))
    text = flow.function(f"void @rollout(i64 %begin, i64 %end, {rollout.arguments(layout.real, 'ptr')})")
    return assemble(*functions_text(rollout.program.nodes, [layout]), text)
