"""A program of loops as LLVM assembly: blocks of states as in `program`, and a loop over the links inside.

    i64 @block_W(i64 begin, i64 end, i64 n, ptr table, ptr tree, ptr work, ptr input, ..., ptr output, ...)

Links are visited in depth-first order, so that a tree carries one row per level: outward that of the last visited link
of the level, inward the sum over its children so far. `table` has a row of numbers for each link, in the order of
visits; `work` is memory (see `LoopText.vectors`). `tree` has 32-bit numbers: the number of levels, 0, 0; then, in the
order of visits, each link with its depth and its kind. If gravity is not a constant of the text, `ptr gravity`, three
numbers, follows `tree`.

States begin, begin + 1, ... are computed, one in each lane; lanes beyond `end` repeat the last state. Non-finite
numbers are treated as in `program`. The inputs are transposed from rows, one per state, into vectors with a state in
each lane, and the results are transposed back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from ...graph import Node
from ...graph.loops import GRAVITY, Body, Loop, LoopProgram
from .elementary import functions_text
from .flow import Flow, Layout, assemble
from .links import LinkMemory, Transposition
from .program import Nodes, mask_bits

AHEAD = 6  # links: distance of prefetching


@dataclass(frozen=True)
class LoopText:
    """The text of a program of loops."""

    program: LoopProgram
    chain: bool  # each link's parent is the previous one, so that carried values stay in registers

    @property
    def columns(self) -> int:
        """Numbers of a link in the table."""
        return max(map(len, self.program.columns))

    @property
    def carried(self) -> int:
        """Vectors carried from link to link in memory."""
        return 0 if self.chain else max(len(loop.carried) for loop in self.program.loops)

    @property
    def rows(self) -> int:
        """Numbers of a link in the inputs or in the outputs, whichever is larger."""
        return max(sum(port.size for port in ports) for ports in (self.program.inputs, self.program.outputs))

    def vectors(self, n: int, levels: int) -> int:
        """Vectors of memory for n links: arrays, slots, and carried values."""
        return n * self.rows + self.stored_vectors(n, levels)

    def stored_vectors(self, n: int, levels: int) -> int:
        """Vectors of memory without the arrays, if these are not transposed."""
        return n * self.program.slots + levels * self.carried

    @property
    def arguments(self) -> str:
        arrays = [f"ptr %in{k}" for k in range(len(self.program.inputs))] + ["ptr %out0"]
        robot = ["ptr %table", "ptr %tree", *["ptr %gravity"] * self.has_gravity]
        return ", ".join(["i64 %begin", "i64 %end", "i64 %n", *robot, "ptr %work", *arrays])

    @property
    def has_gravity(self) -> bool:
        """Whether gravity is an argument, not a constant of the text."""
        starts = [x for loop in self.program.loops for x in loop.start if isinstance(x, Node)]
        return bool(starts) or any(map(is_gravity, self.nodes))

    @property
    def nodes(self) -> list[Node]:
        return [node for loop in self.program.loops for body in loop.bodies for node in body.nodes]

    def text(self, layouts: list[Layout]) -> str:
        return assemble(self.block_texts(layouts), batch_text(self, layouts[-1].lanes))

    def block_texts(self, layouts: list[Layout]) -> str:
        """The block function of each layout, and the functions that they call."""
        texts = [BlockText(self, layout).text() for layout in layouts]
        return assemble(*functions_text(self.nodes, layouts), *texts)


class LoopWriter:
    """Emits the loops of a function over any memory."""

    memory: LinkMemory

    def __init__(self, loops: LoopText, layout: Layout) -> None:
        self.loops, self.program, self.layout = loops, loops.program, layout
        self.block = Flow(layout)
        self.in_registers = loops.chain  # whether carried values are in registers at the next link

    def starts(self) -> list[list[str]]:
        """The start values of each loop."""
        return [[self.start_value(x) for x in loop.start] for loop in self.program.loops]

    def start_value(self, x: float | Node) -> str:
        """A start value: a constant, or a function of gravity."""
        if not isinstance(x, Node):
            return self.layout.constant(x)
        nodes = [node for node in x.graph.nodes[: x.index + 1] if node.index in reachable([x])]
        known = {node.index: self.memory.gravity(node.payload[1]) for node in nodes if is_gravity(node)}
        return Nodes(self.block, nodes, known, [x.index]).emit_all()[x.index]

    def loop(self, s: int, loop: Loop, start: list[str], before: str) -> str:
        """Emit one loop over the links; the label behind it."""
        block, v, lines = self.block, self.layout.vector, self.block.lines
        if not self.loops.chain:
            before = self.initial_carries(s, loop, start, before)
        block.go(f"loop{s}")
        block.enter(f"loop{s}")
        lines.append(f"  %count{s} = phi i64 [0, %{before}], [%next{s}, %latch{s}]")
        if self.in_registers:
            lines += [f"  %c{s}_{j} = phi {v} [{x}, %{before}], [%p{s}_{j}, %latch{s}]" for j, x in enumerate(start)]
        i = f"%count{s}"
        if not loop.outward:
            i = block.emit(f"sub i64 {block.emit('sub i64 %n, 1')}, %count{s}")
        kinds = len(loop.bodies)
        link, depth, kind = i, "", ""
        if not self.loops.chain or kinds > 1:
            link, depth, kind = self.memory.visit(i)
        if not self.loops.chain:
            self.prefetch_ahead(loop, i)
        carried = self.load_carried(s, loop, start, depth)
        if kinds > 1:
            others = " ".join(f"i64 {k}, label %kind{s}_{k}" for k in range(1, kinds))
            lines.append(f"  switch i64 {kind}, label %kind{s}_0 [{others}]")
        passed, ends = [], []
        for k, body in enumerate(loop.bodies):
            if kinds > 1:
                block.enter(f"kind{s}_{k}")
            passed.append(self.body(loop, body, i, link, carried))
            ends.append(block.label)
            if kinds > 1:
                block.go(f"join{s}")
        if kinds > 1:
            block.enter(f"join{s}")
            passed = [[self.phi(values, ends) for values in zip(*passed, strict=True)]]
        self.pass_on(loop, passed[0], start, depth)
        lines += [f"  br label %latch{s}", f"latch{s}:"]
        if self.in_registers:
            lines += [f"  %p{s}_{j} = {copy_of(self.layout, x)}" for j, x in enumerate(passed[0])]
        lines += [
            f"  %next{s} = add i64 %count{s}, 1",
            f"  %more{s} = icmp ult i64 %next{s}, %n",
            f"  br i1 %more{s}, label %loop{s}, label %end{s}",
        ]
        block.enter(f"end{s}")
        return block.label

    def phi(self, values: Sequence[str], labels: Sequence[str]) -> str:
        """The value of the predecessor block."""
        pairs = ", ".join(f"[{x}, %{label}]" for x, label in zip(values, labels, strict=True))
        return self.block.emit(f"phi {self.layout.vector} {pairs}")

    def initial_carries(self, s: int, loop: Loop, start: list[str], before: str) -> str:
        """Initialize the carried values of a tree in memory."""
        lines = self.block.lines
        if loop.outward:
            self.store_start(start, "0")
            return before
        levels = self.memory.tree_entry("0")
        lines += [f"  br label %fill{s}", f"fill{s}:", f"  %f{s} = phi i64 [0, %{before}], [%g{s}, %fill{s}]"]
        self.store_start(start, f"%f{s}")
        lines += [
            f"  %g{s} = add i64 %f{s}, 1",
            f"  %h{s} = icmp ult i64 %g{s}, {levels}",
            f"  br i1 %h{s}, label %fill{s}, label %filled{s}",
            f"filled{s}:",
        ]
        return f"filled{s}"

    def store_start(self, start: list[str], level: str) -> None:
        for j, x in enumerate(start):
            self.memory.store(x, self.memory.carry_address(level, j))

    def load_carried(self, s: int, loop: Loop, start: list[str], depth: str) -> list[str]:
        """The values that a link receives: outward from its parent, inward the sum of its children, which is reset."""
        if self.in_registers:
            return [f"%c{s}_{j}" for j in range(len(loop.carried))]
        level = depth if loop.outward else self.block.emit(f"add i64 {depth}, 1")
        values = [self.memory.load(self.memory.carry_address(level, j)) for j in range(len(loop.carried))]
        if not loop.outward:
            self.store_start(start, level)
        return values

    def pass_on(self, loop: Loop, values: list[str], start: list[str], depth: str) -> None:
        """In a tree, store the values for the children (outward), or add them for the parent (inward)."""
        if self.loops.chain:
            return
        level = self.block.emit(f"add i64 {depth}, 1") if loop.outward else depth
        for j, x in enumerate(values):
            address = self.memory.carry_address(level, j)
            self.memory.store(x if loop.outward else self.block.do("fadd", self.memory.load(address), x), address)

    def prefetch_ahead(self, loop: Loop, i: str) -> None:
        """Prefetch for links behind the i-th; nothing by default."""

    def body(self, loop: Loop, body: Body, i: str, link: str, carried: list[str]) -> list[str]:
        """Emit the loop body for a link of this kind; the values passed on."""
        memory = self.memory
        known: dict[int, str] = {node.index: x for node, x in zip(loop.carried, carried, strict=True)}
        loads: dict[int, Callable[[], str]] = {}
        for node in body.nodes:
            index = node.index
            if index in body.loads:
                loads[index] = partial(memory.slot, i, body.loads[index])
            elif index in body.inputs:
                loads[index] = partial(memory.input, body.inputs[index], link)
            elif index in body.numbers:
                loads[index] = partial(memory.constant, i, body.numbers[index])
            elif is_gravity(node):
                loads[index] = partial(memory.gravity, node.payload[1])
        live_out = [*body.stores, *body.results, *(node.index for node in body.passed)]
        value = self.emit_nodes(body, known, loads, live_out)
        for index, slot in body.stores.items():
            memory.store(value[index], memory.slot_address(i, slot))
        for row, index in enumerate(body.results):
            memory.store_result(value[index], row, link)
        return [value[node.index] for node in body.passed]

    def emit_nodes(
        self, body: Body, known: dict[int, str], loads: dict[int, Callable[[], str]], live_out: Sequence[int]
    ) -> dict[int, str]:
        """Emit the nodes of a body; their names. `known` are in registers, `loads` load others."""
        loaded = {index: load() for index, load in loads.items()}
        return Nodes(self.block, body.nodes, {**known, **loaded}, live_out).emit_all()


class BlockText(LoopWriter):
    """Emits one block function."""

    def __init__(self, loops: LoopText, layout: Layout) -> None:
        super().__init__(loops, layout)
        self.memory = LinkMemory(self.block, loops.rows, self.program.slots, loops.carried, loops.columns)

    def text(self) -> str:
        block, mask = self.block, self.layout.mask
        starts = self.starts()
        label, total, row = "start", self.layout.constant(0.0), 0
        for k, port in enumerate(self.program.inputs):
            label, total = Transposition(self.memory, f"in{k}", port.size, row).emit_loops(label, total)
            row += port.size
        bad = self.nan_mask(total)
        for s, loop in enumerate(self.program.loops):
            label = self.loop(s, loop, starts[s], label)
        results, total = Transposition(self.memory, "out0", self.program.outputs[0].size, 0), self.layout.constant(0.0)
        _, total = results.emit_loops(label, total, blank=bad)
        no = self.layout.splat("i1", "false")
        non_finite = block.emit(f"select {mask} {bad}, {mask} {no}, {mask} {self.nan_mask(total)}")
        block.lines.append(f"  ret i64 {mask_bits(block, non_finite)}")
        head = f"define internal i64 @block_{self.layout.lanes}({self.loops.arguments}) #0 {{"
        return "\n".join([*sorted(block.declared), head, *block.lines, "}", ""])

    def nan_mask(self, total: str) -> str:
        return self.block.emit(f"fcmp uno {self.layout.vector} {total}, {self.layout.constant(0.0)}")

    def prefetch_ahead(self, loop: Loop, i: str) -> None:
        """Prefetch the numbers of links AHEAD, which a tree scatters over the arrays."""
        block, memory = self.block, self.memory
        if loop.outward:
            block.declared.add("declare i64 @llvm.umin.i64(i64, i64)")
            later, end = block.emit(f"add i64 {i}, {AHEAD}"), block.emit("sub i64 %n, 1")
            later = block.emit(f"call i64 @llvm.umin.i64(i64 {later}, i64 {end})")
        else:
            block.declared.add("declare i64 @llvm.usub.sat.i64(i64, i64)")
            later = block.emit(f"call i64 @llvm.usub.sat.i64(i64 {i}, i64 {AHEAD})")
        link = memory.visit(later)[0]
        for row in sorted({row for body in loop.bodies for row in body.inputs.values()}):
            memory.prefetch(memory.row_address(row, link))
        for row in range(max(len(body.results) for body in loop.bodies)):
            memory.prefetch(memory.row_address(row, link), to_write=True)


def is_gravity(node: Node) -> bool:
    """Whether a node is a component of gravity."""
    return node.op == "input" and node.payload[0] == GRAVITY


def reachable(roots: list[Node]) -> set[int]:
    """The indices of these nodes and of all their operands."""
    indices, waiting = set(), list(roots)
    while waiting:
        node = waiting.pop()
        if node.index not in indices:
            indices.add(node.index)
            waiting.extend(node.args)
    return indices


def copy_of(layout: Layout, x: str) -> str:
    """An instruction that gives x another name."""
    return f"select i1 true, {layout.vector} {x}, {layout.vector} {x}"


def batch_text(loops: LoopText, lanes: int) -> str:
    """`i64 @batch(...)` with the arguments of a block, over all states; a single last state runs in `block_1`."""
    arguments = loops.arguments
    handed = arguments.replace("i64 %begin", "i64 %b", 1)
    return f"""
declare i64 @llvm.ctpop.i64(i64)
define i64 @batch({arguments}) {{
start:
  br label %test
test:
  %b = phi i64 [%begin, %start], [%next, %many]
  %non_finite = phi i64 [0, %start], [%sum, %many]
  %more = icmp ult i64 %b, %end
  br i1 %more, label %go, label %done
go:
  %left = sub i64 %end, %b
  %single = icmp eq i64 %left, 1
  br i1 %single, label %one_more, label %many
one_more:
  %bit = call i64 @block_1({handed})
  %last = add i64 %non_finite, %bit
  ret i64 %last
many:
  %bits = call i64 @block_{lanes}({handed})
  %next = add i64 %b, {lanes}
  %short = icmp ult i64 %left, {lanes}
  %one = shl i64 1, %left
  %those = sub i64 %one, 1
  %part = and i64 %bits, %those
  %kept = select i1 %short, i64 %part, i64 %bits
  %count = call i64 @llvm.ctpop.i64(i64 %kept)
  %sum = add i64 %non_finite, %count
  br label %test
done:
  ret i64 %non_finite
}}
"""
