"""A program of loops as a CUDA kernel, in LLVM assembly: the loops of `loops`, for one state in each thread.

    void @kernel(i64 count, i64 states, i64 n, ptr table, ptr tree, ptr memory, ptr input, ..., ptr output)

Thread k computes the states k, k + count, ... `memory` has `LoopText.stored_vectors` vectors for each 32 threads, with
one number per thread, so that a warp accesses whole memory lines. Inputs and results are accessed directly in the
arrays. The results of a state with a non-finite number are replaced by NaN at the end. No output may share memory with
an input.

`tree` has four numbers for each link, the fourth a sum of `NEXT`, `SEVERAL`, `FIRST` and `LAST`: where a tree does not
branch, carried values stay in registers.

Where links have not one number of q each, `i64 nq, i64 bodies, ptr places` follow `tree`. `places` has six 32-bit
numbers for each link: which numbers of q are its own (four; one number is repeated), which row it has in arrays with a
row for each body, or -1, and whether its numbers of q are a quaternion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....codegen.llvm.flow import Flow, Layout, assemble
from ....codegen.llvm.links import LinkMemory
from ....codegen.llvm.loops import LoopText, LoopWriter
from ....codegen.llvm.program import Nodes
from ....graph.loops import Body, Loop
from .kernel import HEAD, METADATA, REGISTERS, Shape, attributes, cuda_functions, thread_number
from .nodes import sine_cosines
from .rows import GLOBAL, WARP

PLACES = 6  # numbers of a link in `places`
BODY, IS_QUATERNION = 4, 5  # among them, after the four of q
WIDTH = 4  # numbers of q that a link may have
VISIT = 4  # numbers of a link in `tree`
NEXT, SEVERAL = 1, 2  # of a link: the next one visited is its child; it has more than one child
FIRST, LAST = 4, 8  # the link visited before it, or the base, is its parent; it is the last child of its parent


def cuda_loops_text(loops: LoopText, real: str, shape: Shape) -> str:
    """The module."""
    layout = Layout(real, 1, True)
    functions = cuda_functions({node.op for node in loops.nodes}, layout)
    return HEAD + assemble(*functions, REGISTERS, ThreadLoops(loops, layout).text()) + attributes(shape) + METADATA


def is_packed(loops: LoopText) -> bool:
    """Whether the kernel takes `places`."""
    return any(port.name == "q" and port.size == WIDTH for port in loops.program.inputs)


class ThreadMemory(LinkMemory):
    """The memory of a thread, and the rows of its state."""

    space = GLOBAL
    constant_load = ", !invariant.load !1"

    def __init__(self, flow: Flow, loops: LoopText) -> None:
        super().__init__(flow, 0, loops.program.slots, loops.carried, loops.columns, WARP)
        self.packed, self.ports = is_packed(loops), loops.program.inputs
        self.results = loops.program.outputs[0].size
        self.rows_of_state: list[str] = []
        self.result_row = ""
        self.role = ""

    def visit(self, i: str) -> list[str]:
        flow = self.block
        at = flow.emit(f"mul i64 {flow.emit(f'add i64 {i}, 1')}, {VISIT}")
        *visited, self.role = (self.tree_entry(flow.emit(f"add i64 {at}, {k}")) for k in range(VISIT))
        return visited

    def has_role(self, role: int) -> str:
        """Whether the current link has this role."""
        return self.block.emit(f"icmp ne i64 {self.block.emit(f'and i64 {self.role}, {role}')}, 0")

    def lengths(self) -> list[str]:
        """The numbers of a state in each input."""
        flow = self.block
        return [
            "%nq" if self.is_q(k) else flow.emit(f"mul i64 {'%bodies' if self.of_bodies(k) else '%n'}, {port.size}")
            for k, port in enumerate(self.ports)
        ]

    def is_q(self, k: int) -> bool:
        return self.packed and self.ports[k].name == "q"

    def of_bodies(self, k: int) -> bool:
        return self.packed and bool(self.ports[k].shape)

    def place(self, link: str, which: int) -> str:
        at = self.block.emit(f"add i64 {self.block.emit(f'mul i64 {link}, {PLACES}')}, {which}")
        return self.load_int32("%places", at)

    def input(self, row: int, link: str) -> str:
        flow, k, position = self.block, 0, row
        while position >= self.ports[k].size:
            position -= self.ports[k].size
            k += 1
        if self.is_q(k):
            return self.load_number(self.rows_of_state[k], flow.emit(f"zext i32 {self.place(link, position)} to i64"))
        if not self.of_bodies(k):
            return self.load_number(self.rows_of_state[k], self.at(link, self.ports[k].size, position))
        body = self.place(link, BODY)
        none = flow.emit(f"icmp slt i32 {body}, 0")
        first = flow.emit(f"zext i32 {flow.emit(f'select i1 {none}, i32 0, i32 {body}')} to i64")
        x, real = (
            self.load_number(self.rows_of_state[k], self.at(first, self.ports[k].size, position)),
            self.layout.real,
        )
        return flow.emit(f"select i1 {none}, {real} {self.layout.constant(0.0)}, {real} {x}")

    def store_result(self, x: str, row: int, link: str) -> None:
        self.store(x, self.element(self.result_row, self.at(link, self.results, row)))

    def at(self, link: str, size: int, position: int) -> str:
        return self.block.emit(f"add i64 {self.block.emit(f'mul i64 {link}, {size}')}, {position}")


class ThreadLoops(LoopWriter):
    """Emits the kernel."""

    memory: ThreadMemory

    def __init__(self, loops: LoopText, layout: Layout) -> None:
        super().__init__(loops, layout)
        self.memory = ThreadMemory(self.block, loops)
        self.in_registers = True

    def text(self) -> str:
        flow, memory = self.block, self.memory
        thread = self.enter()
        starts, lengths = self.starts(), memory.lengths()
        length = flow.emit(f"mul i64 %n, {memory.results}")
        before = flow.label
        flow.go("next_state")
        flow.enter("next_state")
        flow.lines.append(f"  %state = phi i64 [{thread}, %{before}], [%following, %finished]")
        flow.branch(flow.emit("icmp ult i64 %state, %states"), "one", "done")
        flow.enter("one")
        memory.rows_of_state = [
            memory.element(f"%in{k}", flow.emit(f"mul i64 %state, {size}")) for k, size in enumerate(lengths)
        ]
        memory.result_row = memory.element("%out0", flow.emit(f"mul i64 %state, {length}"))
        bad = self.non_finite_flag(lengths)
        label = flow.label
        for s, loop in enumerate(self.program.loops):
            label = self.loop(s, loop, starts[s], label)
        flow.lines.append(f"  br i1 {bad}, label %blank, label %finished, !prof !0")
        flow.enter("blank")
        flow.loop("0", length, self.blank_result)
        flow.go("finished")
        flow.enter("finished")
        flow.lines.append("  %following = add i64 %state, %count")
        flow.go("next_state")
        flow.enter("done")
        head = f"define ptx_kernel void @kernel({self.arguments()}) #2 {{"
        return "\n".join([*sorted(flow.declared), head, *flow.lines, "  ret void", "}"])

    def arguments(self) -> str:
        ins = [f"noalias readonly %in{k}" for k in range(len(self.program.inputs))]
        packed = ["i64 %nq", "i64 %bodies", f"{GLOBAL} noalias readonly %places"] if self.memory.packed else []
        robot = [f"{GLOBAL} noalias readonly %{name}" for name in ("table", "tree")]
        if self.loops.has_gravity:
            raise ValueError(
                "gravity is an input of these loops (expected loops for one robot, with its gravity as numbers)"
            )
        arrays = [f"{GLOBAL} {name}" for name in ("noalias %memory", *ins, "noalias writeonly %out0")]
        return ", ".join(["i64 %count", "i64 %states", "i64 %n", *robot, *packed, *arrays])

    def enter(self) -> str:
        """The number of this thread, and its memory, %work; threads beyond the last leave."""
        flow, memory = self.block, self.memory
        thread = thread_number(flow)
        flow.branch(flow.emit(f"icmp ult i64 {thread}, %count"), "inside", "done")
        flow.enter("inside")
        of_links = flow.emit(f"mul i64 %n, {memory.slots * WARP}")
        of_levels = flow.emit(f"mul i64 {memory.tree_entry('0')}, {memory.carried_slots * WARP}")
        warp, lane = flow.emit(f"lshr i64 {thread}, 5"), flow.emit(f"and i64 {thread}, {WARP - 1}")
        begin = flow.emit(f"mul i64 {warp}, {flow.emit(f'add i64 {of_links}, {of_levels}')}")
        at = flow.emit(f"add i64 {begin}, {lane}")
        flow.lines.append(f"  %work = getelementptr {self.layout.real}, {GLOBAL} %memory, i64 {at}")
        return thread

    def non_finite_flag(self, lengths: Sequence[str]) -> str:
        """A flag: a number of this state is non-finite, or a quaternion cannot be normalized."""
        flow, memory, zero = self.block, self.memory, self.layout.constant(0.0)
        total = zero
        for row, length in zip(memory.rows_of_state, lengths, strict=True):

            def add(k: str, sums: Sequence[str], row: str = row) -> Sequence[str]:
                return [flow.multiply_add(memory.load_number(row, k), zero, sums[0])]

            (total,) = flow.loop("0", length, add, [total])
        if memory.packed:
            (total,) = flow.loop("0", "%n", self.add_quaternion_test, [total])
        return flow.emit(f"fcmp uno {self.layout.real} {total}, {zero}")

    def add_quaternion_test(self, link: str, sums: Sequence[str]) -> list[str]:
        """Add NaN if the link's quaternion cannot be normalized; rounded as on the CPU."""
        flow, memory = self.block, self.memory
        zero, one = self.layout.constant(0.0), self.layout.constant(1.0)
        squares = [flow.do("fmul", x, x) for x in (memory.input(self.row_of_q + k, link) for k in range(WIDTH))]
        square = squares[0]
        for x in squares[1:]:
            square = flow.do("fadd", square, x)
        seen = flow.do("fmul", flow.do("fadd", square, flow.do("fdiv", one, square)), zero)
        flag = flow.emit(f"icmp ne i32 {memory.place(link, IS_QUATERNION)}, 0")
        return [flow.do("fadd", sums[0], flow.select(flag, seen, zero))]

    @property
    def row_of_q(self) -> int:
        """The position of q among the numbers of a link's inputs."""
        names = [port.name for port in self.program.inputs]
        return sum(port.size for port in self.program.inputs[: names.index("q")])

    def blank_result(self, k: str, _: Sequence[str]) -> list[str]:
        self.memory.store(self.layout.constant(float("nan")), self.memory.element(self.memory.result_row, k))
        return []

    def initial_carries(self, s: int, loop: Loop, start: list[str], before: str) -> str:
        if loop.outward:
            self.store_start(start, "0")  # for the base's other children
        return before

    def load_carried(self, s: int, loop: Loop, start: list[str], depth: str) -> list[str]:
        """The values that a link receives, summed in the order of the CPU."""
        flow, held = self.block, super().load_carried(s, loop, start, depth)
        if self.loops.chain or not held:
            return held
        if loop.outward:
            before = flow.label
            with flow.when(flow.emit(f"xor i1 {self.memory.has_role(FIRST)}, true")):
                loaded, inside = self.load_level(depth, len(held)), flow.label
            return [self.phi(pair, (before, inside)) for pair in zip(held, loaded, strict=True)]
        before = flow.label
        with flow.when(self.memory.has_role(NEXT)):
            alone = flow.label
            with flow.when(self.memory.has_role(SEVERAL)):
                others, inside = self.load_level(flow.emit(f"add i64 {depth}, 1"), len(held)), flow.label
            sums = [self.phi(pair, (alone, inside)) for pair in zip(start, others, strict=True)]
            total, children = [flow.do("fadd", *pair) for pair in zip(sums, held, strict=True)], flow.label
        return [self.phi(pair, (before, children)) for pair in zip(start, total, strict=True)]

    def load_level(self, level: str, count: int) -> list[str]:
        return [self.memory.load(self.memory.carry_address(level, j)) for j in range(count)]

    def pass_on(self, loop: Loop, values: list[str], start: list[str], depth: str) -> None:
        flow, memory = self.block, self.memory
        if self.loops.chain or not values:
            return
        if loop.outward:
            with flow.when(memory.has_role(SEVERAL)):
                self.store_start(values, flow.emit(f"add i64 {depth}, 1"))
            return
        with flow.when(flow.emit(f"xor i1 {memory.has_role(FIRST)}, true")):
            last = flow.label
            with flow.when(flow.emit(f"xor i1 {memory.has_role(LAST)}, true")):
                others, inside = self.load_level(depth, len(values)), flow.label
            sums = [self.phi(pair, (last, inside)) for pair in zip(start, others, strict=True)]
            self.store_start([flow.do("fadd", *pair) for pair in zip(sums, values, strict=True)], depth)

    def emit_nodes(
        self, body: Body, known: dict[int, str], loads: dict[int, Callable[[], str]], live_out: Sequence[int]
    ) -> dict[int, str]:
        return LinkNodes(self.block, body, known, loads, live_out).emit_all()


class LinkNodes(Nodes):
    """Emits the nodes of a body. Angles are reduced without a call, as in `ThreadNodes`."""

    def __init__(
        self,
        flow: Flow,
        body: Body,
        known: dict[int, str],
        loads: dict[int, Callable[[], str]],
        live_out: Sequence[int],
    ) -> None:
        loaded = {index: load() for index, load in loads.items()}
        super().__init__(flow, body.nodes, {**known, **loaded}, live_out)
        self.flow = flow

    def sine_cosine(self, angle: str) -> tuple[str, str]:
        if angle not in self.sine_cosines:
            self.sine_cosines.update(sine_cosines(self.flow, [angle]))
        return self.sine_cosines[angle]
