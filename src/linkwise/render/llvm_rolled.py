"""A program of loops as LLVM assembly: blocks of states as in `llvm`, and a loop over the links inside.

    i64 @block_W(i64 begin, i64 end, i64 n, ptr table, ptr tree, ptr work, ptr input, ..., ptr output, ...)

`table` has a row of numbers for each link, `tree` its parent and its kind, `work` is memory for what has to be
remembered: `slots` vectors a link, and for trees `carried` vectors for each link and the base. States begin, begin + 1,
... are computed, one in each lane; lanes beyond `end` repeat the last state. Results are not finite and NaN as in
`llvm`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..graph.loops import Body, Loop, LoopProgram
from .llvm import Nodes, as_number
from .llvm_block import Block, Layout, assembled
from .llvm_sine import large_angle, sine_cosine


@dataclass(frozen=True)
class LoopText:
    """What the text of a program of loops needs to know."""

    program: LoopProgram
    columns: int  # of the table
    chain: bool  # each link's parent is the one before it: what is carried stays in registers

    @property
    def carried(self) -> int:
        """Vectors carried from link to link, where they are kept in memory."""
        return 0 if self.chain else max(len(loop.carried) for loop in self.program.loops)

    @property
    def arguments(self) -> str:
        arrays = [f"ptr %in{k}" for k in range(len(self.program.inputs))] + ["ptr %out0"]
        return ", ".join(["i64 %begin", "i64 %end", "i64 %n", "ptr %table", "ptr %tree", "ptr %work", *arrays])

    def text(self, layouts: list[Layout]) -> str:
        texts = [BlockText(self, layout).text() for layout in layouts]
        nodes = [node for loop in self.program.loops for body in loop.bodies for node in body.nodes]
        if any(node.op in ("sin", "cos") for node in nodes):
            texts = [large_angle(), *(sine_cosine(layout) for layout in layouts), *texts]
        return assembled(*texts, batch_text(self, layouts[-1].lanes))


class BlockText:
    """Writes one block function."""

    def __init__(self, given: LoopText, layout: Layout) -> None:
        self.given, self.program, self.layout = given, given.program, layout
        self.block = Block(layout)
        self.bad = ""

    def text(self) -> str:
        block, program = self.block, self.program
        block.lines.append("start:")
        self.rows = {
            name: [self.row(f"%{name}", lane, size) for lane in range(self.layout.lanes)]
            for name, size in [(f"in{k}", port.size) for k, port in enumerate(program.inputs)]
            + [("out0", program.outputs[0].size)]
        }
        label, lost = "start", "0"
        for s, loop in enumerate(program.loops):
            label, gathered = self.loop(s, loop, label)
            if s == 0:
                self.bad = self.strange(gathered)
            elif s == len(program.loops) - 1:
                wrong = self.strange(gathered)
                truths = self.layout.truths
                no = self.layout.splat("i1", "false")
                lost = as_number(block, block.say(f"select {truths} {self.bad}, {truths} {no}, {truths} {wrong}"))
        head = f"define internal i64 @block_{self.layout.lanes}({self.given.arguments}) #0 {{"
        return "\n".join([*sorted(block.declared), head, *block.lines, f"  ret i64 {lost}", "}", ""])

    def row(self, array: str, lane: int, size: int) -> str:
        """Where a lane's state begins."""
        block = self.block
        block.declared.add("declare i64 @llvm.umin.i64(i64, i64)")
        last = block.say("sub i64 %end, 1")
        here = block.say(f"call i64 @llvm.umin.i64(i64 {block.say(f'add i64 %begin, {lane}')}, i64 {last})")
        links = block.say(f"mul i64 {here}, %n")
        return block.say(f"getelementptr {self.layout.real}, ptr {array}, i64 {block.say(f'mul i64 {links}, {size}')}")

    def strange(self, total: str) -> str:
        return self.block.say(f"fcmp uno {self.layout.vector} {total}, {self.layout.constant(0.0)}")

    def loop(self, s: int, loop: Loop, before: str) -> tuple[str, str]:
        """One loop over the links; the label after it, and 0 times the sum of all that was read, or written at last."""
        block, v, lines = self.block, self.layout.vector, self.block.lines
        first, last = s == 0, s == len(self.program.loops) - 1
        if not self.given.chain:
            before = self.starting(s, loop, before)
        lines += [f"  br label %loop{s}", f"loop{s}:"]
        lines.append(f"  %count{s} = phi i64 [0, %{before}], [%next{s}, %latch{s}]")
        lines.append(f"  %sum{s} = phi {v} [{self.layout.constant(0.0)}, %{before}], [%total{s}, %latch{s}]")
        if self.given.chain:
            for j, start in enumerate(loop.start):
                lines.append(
                    f"  %c{s}_{j} = phi {v} [{self.layout.constant(start)}, %{before}], [%p{s}_{j}, %latch{s}]"
                )
        i = f"%count{s}"
        if not loop.outward:
            i = block.say(f"sub i64 {block.say('sub i64 %n, 1')}, %count{s}")
        kinds = len(loop.bodies)
        parent = kind = ""
        if not self.given.chain or kinds > 1:
            pair = block.say(f"getelementptr i64, ptr %tree, i64 {block.say(f'mul i64 {i}, 2')}")
            parent = block.say(f"load i64, ptr {pair}")
            kind = block.say(f"load i64, ptr {block.say(f'getelementptr i64, ptr {pair}, i64 1')}")
        carried = self.carried(s, loop, i, parent)
        if kinds > 1:
            others = " ".join(f"i64 {k}, label %kind{s}_{k}" for k in range(1, kinds))
            lines.append(f"  switch i64 {kind}, label %kind{s}_0 [{others}]")
        passed = []
        for k, body in enumerate(loop.bodies):
            if kinds > 1:
                lines.append(f"kind{s}_{k}:")
            passed.append(self.body(s, k, loop, body, i, carried, first, last))
            if kinds > 1:
                lines.append(f"  br label %join{s}")
        if kinds > 1:
            lines.append(f"join{s}:")
            passed = [
                [
                    block.say(f"phi {v} " + ", ".join(f"[{each[j]}, %kind{s}_{k}]" for k, each in enumerate(passed)))
                    for j in range(len(loop.start) + 1)
                ]
            ]
        *given_on, total = passed[0]
        self.pass_on(loop, given_on, i, parent)
        lines += [f"  br label %latch{s}", f"latch{s}:"]
        if self.given.chain:
            lines += [f"  %p{s}_{j} = {same(self.layout, x)}" for j, x in enumerate(given_on)]
        lines += [
            f"  %total{s} = {same(self.layout, total)}",
            f"  %next{s} = add i64 %count{s}, 1",
            f"  %more{s} = icmp ult i64 %next{s}, %n",
            f"  br i1 %more{s}, label %loop{s}, label %after{s}",
            f"after{s}:",
        ]
        return f"after{s}", f"%total{s}"

    def starting(self, s: int, loop: Loop, before: str) -> str:
        """Memory for what a tree carries: outward the base's values, inward what the links receive at first."""
        lines, block = self.block.lines, self.block
        if loop.outward:
            for j, x in enumerate(loop.start):
                self.store(self.layout.constant(x), self.carry_place("0", j))
            return before
        lines += [f"  br label %fill{s}", f"fill{s}:", f"  %f{s} = phi i64 [0, %{before}], [%g{s}, %fill{s}]"]
        for j, x in enumerate(loop.start):
            self.store(self.layout.constant(x), self.carry_place(f"%f{s}", j))
        lines += [
            f"  %g{s} = add i64 %f{s}, 1",
            f"  %h{s} = icmp ule i64 %g{s}, %n",
            f"  br i1 %h{s}, label %fill{s}, label %filled{s}",
            f"filled{s}:",
        ]
        del block
        return f"filled{s}"

    def carried(self, s: int, loop: Loop, i: str, parent: str) -> list[str]:
        if self.given.chain:
            return [f"%c{s}_{j}" for j in range(len(loop.carried))]
        row = self.block.say(f"add i64 {parent if loop.outward else i}, 1")
        return [self.load(self.carry_place(row, j)) for j in range(len(loop.carried))]

    def pass_on(self, loop: Loop, values: list[str], i: str, parent: str) -> None:
        """In a tree: outward the link's own values, for its children; inward more for its parent."""
        if self.given.chain:
            return
        row = self.block.say(f"add i64 {i if loop.outward else parent}, 1")
        for j, x in enumerate(values):
            place = self.carry_place(row, j)
            self.store(x if loop.outward else self.block.do("fadd", self.load(place), x), place)

    def body(
        self, s: int, kind: int, loop: Loop, body: Body, i: str, carried: list[str], first: bool, last: bool
    ) -> list[str]:
        """What the loop does for a link of this kind: the values it passes on, and the sum of all that was seen."""
        block, program = self.block, self.program
        given: dict[int, str] = {node.index: x for node, x in zip(loop.carried, carried, strict=True)}
        sizes = {port.name: port.size for port in program.inputs}
        read: dict[tuple[str, int], str] = {}
        if first:
            for k, port in enumerate(program.inputs):
                for position in range(port.size):
                    read[port.name, kind * port.size + position] = self.gathered(f"in{k}", i, port.size, position)
        total = f"%sum{s}"
        zero = self.layout.constant(0.0)
        for x in read.values():
            total = block.fused(x, zero, total)
        names = [port.name for port in program.inputs]
        for node in body.nodes:
            if node.index in body.loads:
                given[node.index] = self.load(self.slot_place(i, body.loads[node.index]))
            elif node.op == "input" and node.index not in given:
                name, position = node.payload
                if name in sizes:
                    x = read.get(node.payload)
                    where = position - kind * sizes[name]
                    given[node.index] = x or self.gathered(f"in{names.index(name)}", i, sizes[name], where)
                else:
                    given[node.index] = self.constant(i, position)
        results = program.results[kind] if last else ()
        wanted = [*body.stores, *(node.index for node in body.passed), *(node.index for node in results)]
        value = Nodes(block, body.nodes, given, wanted).written()
        for index, slot in body.stores.items():
            self.store(value[index], self.slot_place(i, slot))
        for position, node in enumerate(results):
            total = block.fused(value[node.index], zero, total)
            self.scatter(value[node.index], i, len(results), position)
        return [*(value[node.index] for node in body.passed), total]

    # memory

    def slot_place(self, i: str, slot: int) -> str:
        """Where a number of link i is remembered: `slots` vectors for each link."""
        return self.place(self.block.say(f"mul i64 {i}, {self.program.slots * self.layout.lanes}"), slot)

    def carry_place(self, row: str, j: int) -> str:
        """Where a tree keeps what is carried, behind the slots: a row for the base, then one for each link."""
        block, lanes = self.block, self.layout.lanes
        slots = block.say(f"mul i64 %n, {self.program.slots * lanes}")
        start = block.say(f"add i64 {slots}, {block.say(f'mul i64 {row}, {self.given.carried * lanes}')}")
        return self.place(start, j)

    def place(self, start: str, vector: int) -> str:
        where = self.block.say(f"add i64 {start}, {vector * self.layout.lanes}")
        return self.block.say(f"getelementptr {self.layout.real}, ptr %work, i64 {where}")

    def load(self, place: str) -> str:
        return self.block.say(f"load {self.layout.vector}, ptr {place}, align {self.layout.bits // 8}")

    def store(self, x: str, place: str) -> None:
        self.block.lines.append(f"  store {self.layout.vector} {x}, ptr {place}, align {self.layout.bits // 8}")

    def constant(self, i: str, column: int) -> str:
        """A number of link i's own, in every lane."""
        block, layout = self.block, self.layout
        where = block.say(f"add i64 {block.say(f'mul i64 {i}, {self.given.columns}')}, {column}")
        x = block.say(f"load {layout.real}, ptr {block.say(f'getelementptr {layout.real}, ptr %table, i64 {where}')}")
        if layout.lanes == 1:
            return x
        one = block.say(f"insertelement {layout.vector} poison, {layout.real} {x}, i64 0")
        picks = f"<{layout.lanes} x i32> zeroinitializer"
        return block.say(f"shufflevector {layout.vector} {one}, {layout.vector} poison, {picks}")

    def gathered(self, array: str, i: str, size: int, position: int) -> str:
        """An input of link i in every lane's state."""
        block, layout = self.block, self.layout
        where = block.say(f"add i64 {block.say(f'mul i64 {i}, {size}')}, {position}")
        found = "poison"
        for lane, row in enumerate(self.rows[array]):
            x = block.say(f"load {layout.real}, ptr {block.say(f'getelementptr {layout.real}, ptr {row}, i64 {where}')}")
            if layout.lanes == 1:
                return x
            found = block.say(f"insertelement {layout.vector} {found}, {layout.real} {x}, i64 {lane}")
        return found

    def scatter(self, x: str, i: str, size: int, position: int) -> None:
        """A result of link i into every lane's state; NaN where an input was not finite."""
        block, layout = self.block, self.layout
        v, nan = layout.vector, layout.constant(float("nan"))
        x = block.say(f"select {layout.truths} {self.bad}, {v} {nan}, {v} {x}")
        where = block.say(f"add i64 {block.say(f'mul i64 {i}, {size}')}, {position}")
        for lane, row in enumerate(self.rows["out0"]):
            one = x if layout.lanes == 1 else block.say(f"extractelement {v} {x}, i64 {lane}")
            place = block.say(f"getelementptr {layout.real}, ptr {row}, i64 {where}")
            block.lines.append(f"  store {layout.real} {one}, ptr {place}")


def same(layout: Layout, x: str) -> str:
    """An instruction that gives x another name."""
    return f"select i1 true, {layout.vector} {x}, {layout.vector} {x}"


def batch_text(given: LoopText, lanes: int) -> str:
    """`i64 @batch(...)`, with the arguments of a block, over all states from begin to end."""
    arguments = given.arguments
    handed = arguments.replace("i64 %begin", "i64 %b", 1)
    return f"""
declare i64 @llvm.ctpop.i64(i64)
define i64 @batch({arguments}) {{
start:
  br label %test
test:
  %b = phi i64 [%begin, %start], [%next, %go]
  %lost = phi i64 [0, %start], [%sum, %go]
  %more = icmp ult i64 %b, %end
  br i1 %more, label %go, label %done
go:
  %bits = call i64 @block_{lanes}({handed})
  %next = add i64 %b, {lanes}
  %left = sub i64 %end, %b
  %short = icmp ult i64 %left, {lanes}
  %one = shl i64 1, %left
  %those = sub i64 %one, 1
  %part = and i64 %bits, %those
  %kept = select i1 %short, i64 %part, i64 %bits
  %count = call i64 @llvm.ctpop.i64(i64 %kept)
  %sum = add i64 %lost, %count
  br label %test
done:
  ret i64 %lost
}}
"""
