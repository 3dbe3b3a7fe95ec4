"""A program of loops as LLVM assembly: blocks of states as in `llvm`, and a loop over the links inside.

    i64 @block_W(i64 begin, i64 end, i64 n, ptr table, ptr tree, ptr work, ptr input, ..., ptr output, ...)

`table` has a row of numbers for each link, `work` is memory for what has to be remembered (see `LoopText.vectors`).
`tree` begins with how many levels there are and two numbers more, then says for each link its depth, its kind and its
place in the arrays. Links come branch by branch (a link, all it carries, the next link), so that what a tree hands on
is one row a level: outward that of the last link there, inward the sum of what its children have passed so far.

States begin, begin + 1, ... are computed, one in each lane; lanes beyond `end` repeat the last state. What is not
finite is treated as in `llvm`. Before the loops the inputs are turned from rows, a state each, into vectors with a
state in each lane; after them the results are turned back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..graph.loops import Body, Loop, LoopProgram
from .llvm import Nodes, as_number
from .llvm_block import Block, Layout, assembled
from .llvm_rows import transposed
from .llvm_sine import large_angle, sine_cosine

Tile = Callable[[int, str, list[str]], list[str]]  # array, position, rows: the values that were seen


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
    def widths(self) -> list[int]:
        """Numbers of a link in each array: inputs, then the result."""
        return [port.size for port in (*self.program.inputs, *self.program.outputs)]

    def vectors(self, n: int, levels: int) -> int:
        """How many vectors n links need: slots, inputs and results, and what a tree carries."""
        return n * (self.program.slots + sum(self.widths)) + levels * self.carried

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
        block, loops = self.block, self.program.loops
        truths, inputs = self.layout.truths, len(self.program.inputs)
        block.lines.append("start:")
        label, total = "start", self.layout.constant(0.0)
        for k in range(inputs):
            label, total = self.rows_to_lanes(k, label, total)
        self.bad = self.strange(total)
        total = self.layout.constant(0.0)
        for s, loop in enumerate(loops):
            label = self.loop(s, loop, label)
        label, total = self.lanes_to_rows(inputs, label, total)
        no = self.layout.splat("i1", "false")
        lost = block.say(f"select {truths} {self.bad}, {truths} {no}, {truths} {self.strange(total)}")
        block.lines.append(f"  ret i64 {as_number(block, lost)}")
        head = f"define internal i64 @block_{self.layout.lanes}({self.given.arguments}) #0 {{"
        return "\n".join([*sorted(block.declared), head, *block.lines, "}", ""])

    def rows(self, k: int) -> list[str]:
        """Where each lane's state begins in an array."""
        block, array = self.block, f"%in{k}" if k < len(self.program.inputs) else "%out0"
        block.declared.add("declare i64 @llvm.umin.i64(i64, i64)")
        last, size = block.say("sub i64 %end, 1"), block.say(f"mul i64 %n, {self.given.widths[k]}")
        found = []
        for lane in range(self.layout.lanes):
            here = block.say(f"call i64 @llvm.umin.i64(i64 {block.say(f'add i64 %begin, {lane}')}, i64 {last})")
            start = block.say(f"mul i64 {here}, {size}")
            found.append(block.say(f"getelementptr {self.layout.real}, ptr {array}, i64 {start}"))
        return found

    def tiles(self, k: int, before: str, total: str, tile: Tile, single: Tile) -> tuple[str, str]:
        """Over all numbers of a state in an array: squares of as many as there are lanes, then those left, singly."""
        block, lines, v = self.block, self.block.lines, self.layout.vector
        rows, count = self.rows(k), block.say(f"mul i64 %n, {self.given.widths[k]}")
        whole = block.say(f"and i64 {count}, {-self.layout.lanes}")
        for name, end, step, write in ((f"tile{k}", whole, self.layout.lanes, tile), (f"one{k}", count, 1, single)):
            start = "0" if write is tile else whole
            lines += [f"  br label %{name}_test", f"{name}_test:"]
            lines.append(f"  %{name} = phi i64 [{start}, %{before}], [%{name}_next, %{name}_go]")
            lines.append(f"  %{name}_sum = phi {v} [{total}, %{before}], [%{name}_total, %{name}_go]")
            lines.append(f"  %{name}_more = icmp ult i64 %{name}, {end}")
            lines += [f"  br i1 %{name}_more, label %{name}_go, label %{name}_end", f"{name}_go:"]
            seen = write(k, f"%{name}", rows)
            summed = f"%{name}_sum"
            for x in seen:
                summed = block.fused(x, self.layout.constant(0.0), summed)
            lines.append(f"  %{name}_total = {same(self.layout, summed)}")
            lines += [f"  %{name}_next = add i64 %{name}, {step}", f"  br label %{name}_test", f"{name}_end:"]
            before, total = f"{name}_end", f"%{name}_sum"
        return before, total

    def rows_to_lanes(self, k: int, before: str, total: str) -> tuple[str, str]:
        def tile(k: int, at: str, rows: list[str]) -> list[str]:
            columns = transposed(self.block, [self.load(self.element(row, at)) for row in rows])
            for j, x in enumerate(columns):
                self.store(x, self.array_place(k, at, j))
            return columns

        def single(k: int, at: str, rows: list[str]) -> list[str]:
            real, v, found = self.layout.real, self.layout.vector, "poison"
            for lane, row in enumerate(rows):
                x = self.block.say(f"load {real}, ptr {self.element(row, at)}")
                one = f"insertelement {v} {found}, {real} {x}, i64 {lane}"
                found = x if self.layout.lanes == 1 else self.block.say(one)
            self.store(found, self.array_place(k, at, 0))
            return [found]

        return self.tiles(k, before, total, tile, single)

    def lanes_to_rows(self, k: int, before: str, total: str) -> tuple[str, str]:
        def tile(k: int, at: str, rows: list[str]) -> list[str]:
            columns = [self.load(self.array_place(k, at, j)) for j in range(self.layout.lanes)]
            for row, x in zip(rows, transposed(self.block, [self.blanked(x) for x in columns]), strict=True):
                self.store(x, self.element(row, at))
            return columns

        def single(k: int, at: str, rows: list[str]) -> list[str]:
            real, v = self.layout.real, self.layout.vector
            x = self.load(self.array_place(k, at, 0))
            blanked = self.blanked(x)
            for lane, row in enumerate(rows):
                one = f"extractelement {v} {blanked}, i64 {lane}"
                value = blanked if self.layout.lanes == 1 else self.block.say(one)
                self.block.lines.append(f"  store {real} {value}, ptr {self.element(row, at)}")
            return [x]

        return self.tiles(k, before, total, tile, single)

    def blanked(self, x: str) -> str:
        """NaN in the lanes where an input was not finite."""
        v, nan = self.layout.vector, self.layout.constant(float("nan"))
        return self.block.say(f"select {self.layout.truths} {self.bad}, {v} {nan}, {v} {x}")

    def strange(self, total: str) -> str:
        return self.block.say(f"fcmp uno {self.layout.vector} {total}, {self.layout.constant(0.0)}")

    def loop(self, s: int, loop: Loop, before: str) -> str:
        """One loop over the links; the label after it."""
        block, v, lines = self.block, self.layout.vector, self.block.lines
        last = s == len(self.program.loops) - 1
        if not self.given.chain:
            before = self.starting(s, loop, before)
        lines += [f"  br label %loop{s}", f"loop{s}:"]
        lines.append(f"  %count{s} = phi i64 [0, %{before}], [%next{s}, %latch{s}]")
        if self.given.chain:
            for j, start in enumerate(loop.start):
                lines.append(
                    f"  %c{s}_{j} = phi {v} [{self.layout.constant(start)}, %{before}], [%p{s}_{j}, %latch{s}]"
                )
        i = f"%count{s}"
        if not loop.outward:
            i = block.say(f"sub i64 {block.say('sub i64 %n, 1')}, %count{s}")
        kinds = len(loop.bodies)
        depth, kind, link = "", "", i
        if not self.given.chain or kinds > 1:
            entry = block.say(f"mul i64 {block.say(f'add i64 {i}, 1')}, 3")
            row = block.say(f"getelementptr i64, ptr %tree, i64 {entry}")
            places = (block.say(f"getelementptr i64, ptr {row}, i64 {k}") for k in range(3))
            depth, kind, link = (block.say(f"load i64, ptr {place}") for place in places)
        carried = self.carried(s, loop, depth)
        if kinds > 1:
            others = " ".join(f"i64 {k}, label %kind{s}_{k}" for k in range(1, kinds))
            lines.append(f"  switch i64 {kind}, label %kind{s}_0 [{others}]")
        passed = []
        for k, body in enumerate(loop.bodies):
            if kinds > 1:
                lines.append(f"kind{s}_{k}:")
            passed.append(self.body(k, loop, body, i, link, carried, last))
            if kinds > 1:
                lines.append(f"  br label %join{s}")
        if kinds > 1:
            lines.append(f"join{s}:")
            passed = [
                [
                    block.say(f"phi {v} " + ", ".join(f"[{each[j]}, %kind{s}_{k}]" for k, each in enumerate(passed)))
                    for j in range(len(loop.start))
                ]
            ]
        self.pass_on(loop, passed[0], depth)
        lines += [f"  br label %latch{s}", f"latch{s}:"]
        if self.given.chain:
            lines += [f"  %p{s}_{j} = {same(self.layout, x)}" for j, x in enumerate(passed[0])]
        lines += [
            f"  %next{s} = add i64 %count{s}, 1",
            f"  %more{s} = icmp ult i64 %next{s}, %n",
            f"  br i1 %more{s}, label %loop{s}, label %after{s}",
            f"after{s}:",
        ]
        return f"after{s}"

    def starting(self, s: int, loop: Loop, before: str) -> str:
        """Memory for what a tree carries: outward the base's values, inward what the links receive at first."""
        lines = self.block.lines
        if loop.outward:
            self.begin(loop, "0")
            return before
        levels = self.block.say("load i64, ptr %tree")
        lines += [f"  br label %fill{s}", f"fill{s}:", f"  %f{s} = phi i64 [0, %{before}], [%g{s}, %fill{s}]"]
        self.begin(loop, f"%f{s}")
        lines += [
            f"  %g{s} = add i64 %f{s}, 1",
            f"  %h{s} = icmp ult i64 %g{s}, {levels}",
            f"  br i1 %h{s}, label %fill{s}, label %filled{s}",
            f"filled{s}:",
        ]
        return f"filled{s}"

    def begin(self, loop: Loop, level: str) -> None:
        for j, x in enumerate(loop.start):
            self.store(self.layout.constant(x), self.carry_place(level, j))

    def carried(self, s: int, loop: Loop, depth: str) -> list[str]:
        """What a link is handed: outward by its parent, a level up; inward by its children, whose sum starts anew."""
        if self.given.chain:
            return [f"%c{s}_{j}" for j in range(len(loop.carried))]
        level = depth if loop.outward else self.block.say(f"add i64 {depth}, 1")
        values = [self.load(self.carry_place(level, j)) for j in range(len(loop.carried))]
        if not loop.outward:
            self.begin(loop, level)
        return values

    def pass_on(self, loop: Loop, values: list[str], depth: str) -> None:
        """In a tree: outward the link's own values, for its children; inward more for its parent."""
        if self.given.chain:
            return
        level = self.block.say(f"add i64 {depth}, 1") if loop.outward else depth
        for j, x in enumerate(values):
            place = self.carry_place(level, j)
            self.store(x if loop.outward else self.block.do("fadd", self.load(place), x), place)

    def body(self, kind: int, loop: Loop, body: Body, i: str, link: str, carried: list[str], last: bool) -> list[str]:
        """What the loop does for a link of this kind; the values it passes on."""
        program = self.program
        given: dict[int, str] = {node.index: x for node, x in zip(loop.carried, carried, strict=True)}
        arrays = {port.name: k for k, port in enumerate(program.inputs)}
        for node in body.nodes:
            if node.index in body.loads:
                given[node.index] = self.load(self.slot_place(i, body.loads[node.index]))
            elif node.op == "input" and node.index not in given:
                name, position = node.payload
                if name in arrays:
                    k, size = arrays[name], program.inputs[arrays[name]].size
                    at = self.block.say(f"mul i64 {link}, {size}")
                    given[node.index] = self.load(self.array_place(k, at, position - kind * size))
                else:
                    given[node.index] = self.constant(i, position)
        results = program.results[kind] if last else ()
        wanted = [*body.stores, *(node.index for node in body.passed), *(node.index for node in results)]
        value = Nodes(self.block, body.nodes, given, wanted).written()
        for index, slot in body.stores.items():
            self.store(value[index], self.slot_place(i, slot))
        for position, node in enumerate(results):
            at = self.block.say(f"mul i64 {link}, {len(results)}")
            self.store(value[node.index], self.array_place(len(arrays), at, position))
        return [value[node.index] for node in body.passed]

    # memory

    def slot_place(self, i: str, slot: int) -> str:
        """Where a number of link i is remembered: `slots` vectors for each link."""
        return self.place(self.block.say(f"mul i64 {i}, {self.program.slots * self.layout.lanes}"), slot)

    def array_place(self, k: int, at: str, offset: int) -> str:
        """Where a number of every state in an array is, behind the slots."""
        block, lanes = self.block, self.layout.lanes
        start = block.say(f"mul i64 %n, {(self.program.slots + sum(self.given.widths[:k])) * lanes}")
        return self.place(block.say(f"add i64 {start}, {block.say(f'mul i64 {at}, {lanes}')}"), offset)

    def carry_place(self, level: str, j: int) -> str:
        """Where a tree keeps what is carried, behind all the rest: a row for each level, the base's first."""
        block, lanes = self.block, self.layout.lanes
        start = block.say(f"mul i64 %n, {(self.program.slots + sum(self.given.widths)) * lanes}")
        row = block.say(f"mul i64 {level}, {self.given.carried * lanes}")
        return self.place(block.say(f"add i64 {start}, {row}"), j)

    def place(self, start: str, vector: int) -> str:
        where = self.block.say(f"add i64 {start}, {vector * self.layout.lanes}")
        return self.element("%work", where)

    def element(self, pointer: str, at: str) -> str:
        return self.block.say(f"getelementptr {self.layout.real}, ptr {pointer}, i64 {at}")

    def load(self, place: str) -> str:
        return self.block.say(f"load {self.layout.vector}, ptr {place}, align {self.layout.bits // 8}")

    def store(self, x: str, place: str) -> None:
        self.block.lines.append(f"  store {self.layout.vector} {x}, ptr {place}, align {self.layout.bits // 8}")

    def constant(self, i: str, column: int) -> str:
        """A number of link i's own, in every lane."""
        block, layout = self.block, self.layout
        where = block.say(f"add i64 {block.say(f'mul i64 {i}, {self.given.columns}')}, {column}")
        x = block.say(f"load {layout.real}, ptr {self.element('%table', where)}")
        if layout.lanes == 1:
            return x
        one = block.say(f"insertelement {layout.vector} poison, {layout.real} {x}, i64 0")
        picks = f"<{layout.lanes} x i32> zeroinitializer"
        return block.say(f"shufflevector {layout.vector} {one}, {layout.vector} poison, {picks}")


def same(layout: Layout, x: str) -> str:
    """An instruction that gives x another name."""
    return f"select i1 true, {layout.vector} {x}, {layout.vector} {x}"


def batch_text(given: LoopText, lanes: int) -> str:
    """`i64 @batch(...)`, with the arguments of a block, over all states; a single one left, singly."""
    arguments = given.arguments
    handed = arguments.replace("i64 %begin", "i64 %b", 1)
    return f"""
declare i64 @llvm.ctpop.i64(i64)
define i64 @batch({arguments}) {{
start:
  br label %test
test:
  %b = phi i64 [%begin, %start], [%next, %many]
  %lost = phi i64 [0, %start], [%sum, %many]
  %more = icmp ult i64 %b, %end
  br i1 %more, label %go, label %done
go:
  %left = sub i64 %end, %b
  %single = icmp eq i64 %left, 1
  br i1 %single, label %one_more, label %many
one_more:
  %bit = call i64 @block_1({handed})
  %last = add i64 %lost, %bit
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
  %sum = add i64 %lost, %count
  br label %test
done:
  ret i64 %lost
}}
"""
