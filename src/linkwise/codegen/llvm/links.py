"""The memory of a block of loops, and transposition of arrays into it and back.

The memory consists of vectors with a state in each lane: for each number of the inputs a row of all links, in the
robot's order; then the slots of each link, in the order of visits; then the values that a tree carries. Results replace
inputs. So arrays are transposed in order, and the scattered numbers of a tree are prefetched during other links.
"""

from __future__ import annotations

from .flow import Block, transpose
from .program import zero_or_nan

PREFETCHED = range(16, 513)  # links: the processor prefetches shorter rows, and longer ones would be evicted


class LinkMemory:
    """Emits the addresses, loads and stores of a block function."""

    space = "ptr"  # the type of pointers
    constant_load = ""  # suffix of loads of constants

    def __init__(self, block: Block, rows: int, slots: int, carried: int, columns: int, stride: int = 0) -> None:
        """Numbers of a link in the arrays, in slots, carried, and in the table.

        `stride` is the distance between vectors in numbers.
        """
        self.block, self.layout, self.stride = block, block.layout, stride or block.layout.lanes
        self.rows, self.slots, self.carried_slots, self.columns = rows, slots, carried, columns

    def input(self, row: int, link: str) -> str:
        """A number of a link's inputs."""
        return self.load(self.row_address(row, link))

    def store_result(self, x: str, row: int, link: str) -> None:
        """A number of a link's results."""
        self.store(x, self.row_address(row, link))

    def row_address(self, row: int, link: str) -> str:
        """Address of a number of a link's inputs or results."""
        at = self.block.emit(f"add i64 {self.block.emit(f'mul i64 %n, {row}')}, {link}")
        return self.address(self.block.emit(f"mul i64 {at}, {self.stride}"), 0)

    def slot(self, i: str, slot: int) -> str:
        """The content of a slot of the i-th visited link."""
        return self.load(self.slot_address(i, slot))

    def slot_address(self, i: str, slot: int) -> str:
        """Address of a slot of the i-th visited link."""
        start = self.block.emit(f"mul i64 %n, {self.rows * self.stride}")
        at = self.block.emit(f"mul i64 {i}, {self.slots * self.stride}")
        return self.address(self.block.emit(f"add i64 {start}, {at}"), slot)

    def carry_address(self, level: str, j: int) -> str:
        """Address of a carried value by level; the base has level 0."""
        start = self.block.emit(f"mul i64 %n, {(self.rows + self.slots) * self.stride}")
        at = self.block.emit(f"mul i64 {level}, {self.carried_slots * self.stride}")
        return self.address(self.block.emit(f"add i64 {start}, {at}"), j)

    def address(self, start: str, vector: int) -> str:
        return self.element("%work", self.block.emit(f"add i64 {start}, {vector * self.stride}"))

    def element(self, pointer: str, at: str) -> str:
        return self.block.emit(f"getelementptr {self.layout.real}, {self.space} {pointer}, i64 {at}")

    def load(self, address: str) -> str:
        return self.block.emit(f"load {self.layout.vector}, {self.space} {address}, align {self.layout.bits // 8}")

    def store(self, x: str, address: str) -> None:
        align = self.layout.bits // 8
        self.block.lines.append(f"  store {self.layout.vector} {x}, {self.space} {address}, align {align}")

    def visit(self, i: str) -> list[str]:
        """The i-th visited link, its depth and its kind."""
        at = self.block.emit(f"mul i64 {self.block.emit(f'add i64 {i}, 1')}, 3")
        return [self.tree_entry(self.block.emit(f"add i64 {at}, {k}")) for k in range(3)]

    def tree_entry(self, at: str) -> str:
        return self.block.emit(f"zext i32 {self.load_int32('%tree', at)} to i64")

    def load_int32(self, pointer: str, at: str) -> str:
        """Load a constant 32-bit integer."""
        place = self.block.emit(f"getelementptr i32, {self.space} {pointer}, i64 {at}")
        return self.block.emit(f"load i32, {self.space} {place}{self.constant_load}")

    def prefetch(self, address: str, to_write: bool = False) -> None:
        """Prefetch an address into the processor's cache."""
        self.block.declared.add("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        self.block.lines.append(f"  call void @llvm.prefetch.p0(ptr {address}, i32 {int(to_write)}, i32 3, i32 1)")

    def constant(self, i: str, column: int) -> str:
        """A number of the table of link i, in every lane."""
        block = self.block
        where = block.emit(f"add i64 {block.emit(f'mul i64 {i}, {self.columns}')}, {column}")
        return self.splat(self.load_number("%table", where))

    def gravity(self, component: int) -> str:
        """A component of gravity, in every lane."""
        return self.splat(self.load_number("%gravity", str(component)))

    def load_number(self, pointer: str, at: str) -> str:
        """Load a constant number."""
        place = self.element(pointer, at)
        return self.block.emit(f"load {self.layout.real}, {self.space} {place}{self.constant_load}")

    def splat(self, x: str) -> str:
        """The same number in every lane."""
        block, layout = self.block, self.layout
        if layout.lanes == 1:
            return x
        one = block.emit(f"insertelement {layout.vector} poison, {layout.real} {x}, i64 0")
        picks = f"<{layout.lanes} x i32> zeroinitializer"
        return block.emit(f"shufflevector {layout.vector} {one}, {layout.vector} poison, {picks}")


class Transposition:
    """Transposes an array into vectors or back, by squares of lanes and links, then single links.

    `size` numbers of each link in the array correspond to `size` rows of the memory, from `row` on.
    """

    def __init__(self, memory: LinkMemory, array: str, size: int, row: int) -> None:
        self.memory, self.block, self.layout = memory, memory.block, memory.layout
        self.array, self.size, self.row = array, size, row
        self.starts = self.states(f"%{array}", size)
        self.next_block = self.distance()

    def states(self, pointer: str, size: int) -> list[str]:
        """The address of each lane's state in the array; lanes beyond the last state repeat it."""
        block = self.block
        block.declared.add("declare i64 @llvm.umin.i64(i64, i64)")
        last, row = block.emit("sub i64 %end, 1"), block.emit(f"mul i64 %n, {size}")
        starts = []
        for lane in range(self.layout.lanes):
            state = block.emit(f"call i64 @llvm.umin.i64(i64 {block.emit(f'add i64 %begin, {lane}')}, i64 {last})")
            starts.append(self.memory.element(pointer, block.emit(f"mul i64 {state}, {row}")))
        return starts

    def distance(self) -> str:
        """The distance to the same number of the next block; 0 without prefetching."""
        block = self.block
        links = block.emit(f"sub i64 %n, {PREFETCHED.start}")
        some = block.emit(f"icmp ult i64 {links}, {len(PREFETCHED)}")
        return block.emit(f"select i1 {some}, i64 {block.emit(f'mul i64 %n, {self.size * self.layout.lanes}')}, i64 0")

    def emit_loops(self, before: str, total: str, blank: str = "") -> tuple[str, str]:
        """Emit the loops; the label behind them, and the total, NaN in lanes with a non-finite number.

        Without `blank` the array goes into vectors. With it vectors go back, as NaN in the lanes of this mask.
        """
        block, lines, v, name = self.block, self.block.lines, self.layout.vector, self.array
        whole = block.emit(f"and i64 %n, {-self.layout.lanes}")
        start = "0"
        for part, end, links in ((f"{name}_many", whole, self.layout.lanes), (f"{name}_one", "%n", 1)):
            lines += [f"  br label %{part}_test", f"{part}_test:"]
            lines.append(f"  %{part} = phi i64 [{start}, %{before}], [%{part}_next, %{part}_go]")
            lines.append(f"  %{part}_sum = phi {v} [{total}, %{before}], [%{part}_total, %{part}_go]")
            lines.append(f"  %{part}_more = icmp ult i64 %{part}, {end}")
            lines += [f"  br i1 %{part}_more, label %{part}_go, label %{part}_end", f"{part}_go:"]
            vectors = self.links(f"%{part}", links, blank)
            lines.append(f"  %{part}_total = fadd {v} %{part}_sum, {zero_or_nan(block, vectors)}")
            lines += [f"  %{part}_next = add i64 %{part}, {links}", f"  br label %{part}_test", f"{part}_end:"]
            before, total, start = f"{part}_end", f"%{part}_sum", end
        return before, total

    def links(self, first: str, count: int, blank: str) -> list[str]:
        """Transpose all numbers of `count` links from the first on; the vectors."""
        block, memory = self.block, self.memory
        links = [block.emit(f"add i64 {first}, {k}") for k in range(count)]
        addresses = [memory.row_address(self.row + position, link) for link in links for position in range(self.size)]
        at = block.emit(f"mul i64 {first}, {self.size}")
        vectors = []
        for done in range(0, len(addresses), count):
            here = block.emit(f"add i64 {at}, {done}")
            states = [memory.element(start, here) for start in self.starts]
            vectors += self.square(states, addresses[done : done + count], blank)
        return vectors

    def square(self, states: list[str], addresses: list[str], blank: str) -> list[str]:
        """Transpose a square of contiguous numbers of each state, or a single number; the vectors."""
        memory, block = self.memory, self.block
        if not blank:
            if len(addresses) > 1:  # rows of some dozens of numbers are too short for the processor's own prefetching
                for state in states:
                    memory.prefetch(memory.element(state, self.next_block))
            columns = self.gather(states) if len(addresses) == 1 else transpose(block, [*map(memory.load, states)])
            for x, address in zip(columns, addresses, strict=True):
                memory.store(x, address)
            return columns
        v, nan = self.layout.vector, self.layout.constant(float("nan"))
        columns = [memory.load(address) for address in addresses]
        blanked = [block.emit(f"select {self.layout.mask} {blank}, {v} {nan}, {v} {x}") for x in columns]
        if len(addresses) == 1:
            self.scatter(blanked[0], states)
        else:
            for x, state in zip(transpose(block, blanked), states, strict=True):
                memory.store(x, state)
        return columns

    def gather(self, states: list[str]) -> list[str]:
        real, v, vector = self.layout.real, self.layout.vector, "poison"
        for lane, state in enumerate(states):
            x = self.block.emit(f"load {real}, ptr {state}")
            one = f"insertelement {v} {vector}, {real} {x}, i64 {lane}"
            vector = x if self.layout.lanes == 1 else self.block.emit(one)
        return [vector]

    def scatter(self, x: str, states: list[str]) -> None:
        real, v = self.layout.real, self.layout.vector
        for lane, state in enumerate(states):
            one = f"extractelement {v} {x}, i64 {lane}"
            value = x if self.layout.lanes == 1 else self.block.emit(one)
            self.block.lines.append(f"  store {real} {value}, ptr {state}")
