"""Emits LLVM assembly over vectors of any width, with loops and branches; loads rows of numbers as vectors with a row
in each lane, and stores them."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Layout:
    """The vectors: `double` or `float`, the number of lanes, and whether products may be fused into sums."""

    real: str
    lanes: int
    fused: bool

    @property
    def bits(self) -> int:
        return 64 if self.real == "double" else 32

    @property
    def vector(self) -> str:
        return self.of(self.real)

    @property
    def integers(self) -> str:
        return self.of(f"i{self.bits}")

    @property
    def mask(self) -> str:
        return self.of("i1")

    @property
    def suffix(self) -> str:
        """The type in the names of intrinsic functions."""
        return self.of_suffix(f"f{self.bits}")

    def of(self, scalar: str) -> str:
        return scalar if self.lanes == 1 else f"<{self.lanes} x {scalar}>"

    def of_suffix(self, scalar: str) -> str:
        return scalar if self.lanes == 1 else f"v{self.lanes}{scalar}"

    def constant(self, value: float) -> str:
        return self.splat(self.real, hexadecimal(value, self.real))

    def splat(self, scalar: str, text: str) -> str:
        return text if self.lanes == 1 else f"splat ({scalar} {text})"


def hexadecimal(value: float, real: str) -> str:
    """An exact constant. LLVM writes a float by the bits of its double."""
    if real == "float":
        value = ctypes.c_float(value).value  # infinity on overflow
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


class Block:
    """A sequence of instructions, each with a fresh name."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.lines: list[str] = []
        self.declared: set[str] = set()
        self.values = 0

    def emit(self, instruction: str) -> str:
        self.values += 1
        name = f"%v{self.values}"
        self.lines.append(f"  {name} = {instruction}")
        return name

    def do(self, word: str, *operands: str) -> str:
        return self.emit(f"{word} {self.layout.vector} {', '.join(operands)}")

    def call(self, intrinsic: str, *operands: str) -> str:
        name, vector = f"@llvm.{intrinsic}.{self.layout.suffix}", self.layout.vector
        self.declared.add(f"declare {vector} {name}({', '.join([vector] * len(operands))})")
        return self.emit(f"call {vector} {name}({', '.join(f'{vector} {x}' for x in operands)})")

    def multiply_add(self, a: str, b: str, c: str) -> str:
        """a b + c, fused if the layout permits."""
        return self.call("fma", a, b, c) if self.layout.fused else self.do("fadd", self.do("fmul", a, b), c)


def assemble(*texts: str) -> str:
    """One module of several texts, with unique declarations."""
    lines = [line for text in texts for line in text.splitlines()]
    declared = dict.fromkeys(line for line in lines if line.startswith("declare "))
    return "\n".join([*declared, *(line for line in lines if not line.startswith("declare ")), ""])


class Flow(Block):
    """A function with labels. `label` is that of the current block."""

    def __init__(self, layout: Layout) -> None:
        super().__init__(layout)
        self.label = "start"
        self.labels = 0
        self.exits: list[str] = []
        self.slots: list[str] = []  # stack variables, allocated at the start of the function
        self.lines.append("start:")

    def function(self, head: str) -> str:
        """The complete function with this head."""
        start, *body = self.lines
        lines = [*sorted(self.declared), f"define {head} #1 {{", start, *self.slots, *body, "  ret void", "}", ""]
        return "\n".join(lines)

    def slot(self, kind: str, count: int = 1) -> str:
        """A pointer to variables on the stack."""
        name = f"%slot{len(self.slots)}"
        self.slots.append(f"  {name} = alloca {kind}, i64 {count}")
        return name

    def fresh(self, name: str) -> str:
        self.labels += 1
        return f"{name}{self.labels}"

    def enter(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.label = label

    def go(self, label: str) -> None:
        self.lines.append(f"  br label %{label}")

    def branch(self, condition: str, yes: str, no: str) -> None:
        self.lines.append(f"  br i1 {condition}, label %{yes}, label %{no}")

    @contextmanager
    def counted(self, count: int | str) -> Iterator[str]:
        """A loop over 0, 1, ..., count - 1 that runs at least once; yields the index."""
        loop, latch, after = (self.fresh(name) for name in ("loop", "latch", "after"))
        self.go(loop)
        before = self.label
        self.enter(loop)
        index = f"%{loop}_i"
        self.lines.append(f"  {index} = phi i64 [0, %{before}], [%{loop}_next, %{latch}]")
        self.exits.append(after)
        yield index
        self.exits.pop()
        self.go(latch)
        self.enter(latch)
        self.lines.append(f"  %{loop}_next = add i64 {index}, 1")
        self.branch(self.emit(f"icmp ult i64 %{loop}_next, {count}"), loop, after)
        self.enter(after)

    def loop(
        self, begin: str, end: str, body: Callable[[str, Sequence[str]], Sequence[str]], carried: Sequence[str] = ()
    ) -> list[str]:
        """A loop over begin, ..., end - 1, possibly empty, that carries vectors; returns the last ones.

        `body` maps the index and the carried vectors, first `carried`, to the next vectors.
        """
        head, inside, after = (self.fresh(name) for name in ("head", "inside", "after"))
        before = self.label
        self.go(head)
        self.enter(head)
        place = len(self.lines)
        index, names = f"%{head}_i", [f"%{head}_{k}" for k in range(len(carried))]
        self.branch(self.emit(f"icmp ult i64 {index}, {end}"), inside, after)
        self.enter(inside)
        changed, following = body(index, names), self.emit(f"add i64 {index}, 1")
        self.lines[place:place] = [
            f"  {index} = phi i64 [{begin}, %{before}], [{following}, %{self.label}]",
            *(
                f"  {name} = phi {self.layout.vector} [{first}, %{before}], [{last}, %{self.label}]"
                for name, first, last in zip(names, carried, changed, strict=True)
            ),
        ]
        self.go(head)
        self.enter(after)
        return names

    @contextmanager
    def endless(self) -> Iterator[None]:
        """A loop that ends only by `leave`."""
        loop, after = self.fresh("loop"), self.fresh("after")
        self.go(loop)
        self.enter(loop)
        self.exits.append(after)
        yield
        self.exits.pop()
        self.go(loop)
        self.enter(after)

    def leave(self, condition: str) -> None:
        """Leave the current loop under a condition."""
        stay = self.fresh("stay")
        self.branch(condition, self.exits[-1], stay)
        self.enter(stay)

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """A branch that runs under a condition, an i1."""
        yes, after = self.fresh("when"), self.fresh("after")
        self.branch(condition, yes, after)
        self.enter(yes)
        yield
        self.go(after)
        self.enter(after)

    # vectors in memory, one after another

    def place(self, pointer: str, index: str | int) -> str:
        return self.emit(f"getelementptr {self.layout.vector}, ptr {pointer}, i64 {index}")

    def load(self, pointer: str, index: str | int = 0, kind: str = "") -> str:
        kind = kind or self.layout.vector
        return self.emit(f"load {kind}, ptr {self.place(pointer, index)}, align {self.layout.bits // 8}")

    def store(self, x: str, pointer: str, index: str | int = 0, kind: str = "") -> None:
        kind = kind or self.layout.vector
        self.lines.append(f"  store {kind} {x}, ptr {self.place(pointer, index)}, align {self.layout.bits // 8}")

    # lanes

    def select(self, mask: str, yes: str, no: str, kind: str = "") -> str:
        kind = kind or self.layout.vector
        return self.emit(f"select {self.layout.mask} {mask}, {kind} {yes}, {kind} {no}")

    def bits(self, mask: str) -> str:
        """A bit for each lane, in an i64."""
        lanes = self.layout.lanes
        packed = mask if lanes == 1 else self.emit(f"bitcast <{lanes} x i1> {mask} to i{lanes}")
        return self.emit(f"zext i{lanes} {packed} to i64")

    def splat(self, x: str, scalar: str = "double") -> str:
        """The same number in every lane."""
        lanes, v = self.layout.lanes, self.layout.of(scalar)
        if lanes == 1:
            return x
        one = self.emit(f"insertelement {v} poison, {scalar} {x}, i64 0")
        return self.emit(f"shufflevector {v} {one}, {v} poison, <{lanes} x i32> zeroinitializer")

    def of_lane(self, values: str, lane: int, scalar: str = "double") -> str:
        kind = self.layout.of(scalar)
        return values if self.layout.lanes == 1 else self.emit(f"extractelement {kind} {values}, i64 {lane}")

    def element(self, scalar: str, pointer: str, index: str | int) -> str:
        """The address of a number in an array."""
        return self.emit(f"getelementptr {scalar}, ptr {pointer}, i64 {index}")


MANY = 512  # results: more are stored by loops, since LLVM is slow on many squares
FENCED = 8  # step with a fence in squares of 16, where LLVM otherwise fails on repeated columns


def load_rows(block: Block, pointer: str, size: int) -> list[str]:
    """The columns of `lanes` rows of `size` numbers, each a vector."""
    lanes = block.layout.lanes
    columns: list[str] = []
    for start in range(0, size, lanes):
        count = min(lanes, size - start)
        rows = [load(block, address(block, pointer, row * size + start), count) for row in range(lanes)]
        columns += transpose(block, rows)[:count]
    return columns


def store_rows(block: Block, pointer: str, columns: list[str]) -> None:
    lanes, size = block.layout.lanes, len(columns)
    for start in range(0, size, lanes):
        part = columns[start : start + lanes]
        rows = transpose(block, part + ["poison"] * (lanes - len(part)))
        for row, x in enumerate(rows):
            store(block, x, address(block, pointer, row * size + start), len(part))


def store_rows_by_table(flow: Flow, pointer: str, vectors: str, columns: Sequence[int], name: str) -> None:
    """Store very many columns: `columns` is a table of their positions among the vectors in memory."""
    layout, size = flow.layout, len(columns)
    entries = ", ".join(f"i32 {k}" for k in columns)
    flow.declared.add(f"@{name} = internal constant [{size} x i32] [{entries}]")
    lanes, align = layout.lanes, layout.bits // 8

    def source(column: str) -> str:
        which = flow.emit(f"load i32, ptr {flow.emit(f'getelementptr i32, ptr @{name}, i64 {column}')}")
        return flow.place(vectors, flow.emit(f"zext i32 {which} to i64"))

    squares = size // lanes if lanes > 1 else 0
    if squares:
        with flow.counted(squares) as square:
            column = flow.emit(f"mul i64 {square}, {lanes}")
            places = [source(flow.emit(f"add i64 {column}, {k}")) for k in range(lanes)]
            columns_ = [flow.emit(f"load {layout.vector}, ptr {place}, align {align}") for place in places]
            target = flow.emit(f"getelementptr {layout.real}, ptr {pointer}, i64 {column}")
            for row, x in enumerate(transpose(flow, columns_)):
                place = address(flow, target, row * size)
                flow.lines.append(f"  store {layout.vector} {x}, ptr {place}, align {align}")
    rest = size - squares * lanes
    if not rest:
        return
    with flow.counted(rest) as index:
        column = flow.emit(f"add i64 {index}, {squares * lanes}")
        place, target = source(column), flow.emit(f"getelementptr {layout.real}, ptr {pointer}, i64 {column}")
        for row in range(lanes):
            x = flow.emit(f"load {layout.real}, ptr {address(flow, place, row)}")
            flow.lines.append(f"  store {layout.real} {x}, ptr {address(flow, target, row * size)}")


def address(block: Block, pointer: str, position: int) -> str:
    return block.emit(f"getelementptr {block.layout.real}, ptr {pointer}, i64 {position}") if position else pointer


def load(block: Block, pointer: str, count: int) -> str:
    """Load `count` numbers."""
    layout, align = block.layout, block.layout.bits // 8
    v, mask = layout.vector, layout.mask
    if count == layout.lanes:
        return block.emit(f"load {v}, ptr {pointer}, align {align}")
    name = f"@llvm.masked.load.{layout.suffix}.p0"
    block.declared.add(f"declare {v} {name}(ptr, i32, {mask}, {v})")
    return block.emit(
        f"call {v} {name}(ptr {pointer}, i32 {align}, {mask} {lane_mask(block, count)}, {v} zeroinitializer)"
    )


def store(block: Block, x: str, pointer: str, count: int) -> None:
    layout, align = block.layout, block.layout.bits // 8
    v, mask = layout.vector, layout.mask
    if count == layout.lanes:
        block.lines.append(f"  store {v} {x}, ptr {pointer}, align {align}")
        return
    name = f"@llvm.masked.store.{layout.suffix}.p0"
    block.declared.add(f"declare void {name}({v}, ptr, i32, {mask})")
    block.lines.append(f"  call void {name}({v} {x}, ptr {pointer}, i32 {align}, {mask} {lane_mask(block, count)})")


def lane_mask(block: Block, count: int) -> str:
    return "<" + ", ".join(f"i1 {int(k < count)}" for k in range(block.layout.lanes)) + ">"


def transpose(block: Block, rows: list[str]) -> list[str]:
    """Transpose a square by exchanging halves, quarters, and so on."""
    v, lanes = block.layout.vector, block.layout.lanes
    step = lanes // 2
    while step:
        low = [j if not j & step else j - step + lanes for j in range(lanes)]
        high = [j + step if not j & step else j + lanes for j in range(lanes)]
        exchanged = list(rows)
        for i in (i for i in range(lanes) if not i & step):
            for target, picks in ((i, low), (i + step, high)):
                chosen = ", ".join(f"i32 {p}" for p in picks)
                exchanged[target] = block.emit(
                    f"shufflevector {v} {rows[i]}, {v} {rows[i + step]}, <{lanes} x i32> <{chosen}>"
                )
        if step == FENCED:
            exchanged = [x if x == "poison" else block.call("arithmetic.fence", x) for x in exchanged]
        rows, step = exchanged, step // 2
    return rows
