"""How a thread loads the row of its state and stores the rows of its results.

`DirectRows` accesses the arrays number by number. The threads of a warp then touch many memory lines at a time, which
hardly matters for rows of up to 5 numbers, or of 8 or 12 in programs with more computation.

`StagedRows` copies the 32 contiguous rows of a warp to shared memory, 16 bytes at a time and without passing registers,
and each thread reads its row there. Results go back the same way. In shared memory a row is read in the widest pieces
that divide it, at an odd distance from the next row, which avoids bank conflicts. An incomplete last warp, and arrays
not aligned to 16 bytes, are copied number by number, each row by its thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ....codegen.llvm.flow import Flow
from ....graph import Port, Program

GLOBAL, SHARED = "ptr addrspace(1)", "ptr addrspace(3)"
WARP = 32
SHARED_BYTES = 48 * 1024  # available to every kernel
CP_ASYNC = f"@llvm.nvvm.cp.async.cg.shared.global.16({SHARED}"


class DirectRows:
    """The rows in the arrays."""

    declarations = ""

    def __init__(self, flow: Flow, program: Program, threads: int) -> None:
        self.flow, self.real, self.program = flow, flow.layout.real, program
        self.align = flow.layout.bits // 8
        self.pointers: dict[str, str] = {}
        self.known: dict[tuple[str, int], str] = {}
        self.state = ""

    def enter(self) -> None:
        """Find this thread's state; threads beyond the last leave."""
        flow = self.flow
        thread, block, size = (
            flow.emit(f"zext i32 {flow.emit(f'call i32 @llvm.nvvm.read.ptx.sreg.{name}.x()')} to i64")
            for name in ("tid", "ctaid", "ntid")
        )
        self.state = flow.emit(f"add i64 {flow.emit(f'mul i64 {block}, {size}')}, {thread}")
        flow.branch(flow.emit(f"icmp ult i64 {self.state}, %count"), "inside", "done")
        flow.enter("inside")

    def load(self, name: str, position: int) -> str:
        flow = self.flow
        if name not in self.pointers:
            k = next(k for k, port in enumerate(self.program.inputs) if port.name == name)
            size = self.program.inputs[k].size
            self.pointers[name] = element(flow, GLOBAL, f"%in{k}", flow.emit(f"mul i64 {self.state}, {size}"))
        if (name, position) not in self.known:
            place = element(flow, GLOBAL, self.pointers[name], position)
            self.known[name, position] = flow.emit(
                f"load {self.real}, {GLOBAL} {place}, align {self.align}, !invariant.load !1"
            )
        return self.known[name, position]

    def tested_values(self) -> list[str]:
        """Load all inputs for the test for finite numbers; they stay in registers."""
        return [self.load(port.name, k) for port in self.program.inputs for k in range(port.size)]

    def store_results(self, results: Sequence[Sequence[str]]) -> None:
        """Store the results."""
        flow = self.flow
        for k, values in enumerate(results):
            row = element(flow, GLOBAL, f"%out{k}", flow.emit(f"mul i64 {self.state}, {len(values)}"))
            for position, x in enumerate(values):
                place = element(flow, GLOBAL, row, position)
                flow.lines.append(f"  store {self.real} {x}, {GLOBAL} {place}, align {self.align}")

    def finish(self) -> None:
        """Wait until this thread may store its results again."""


@dataclass(frozen=True)
class Place:
    """The place of an array's rows in a warp's part of shared memory."""

    size: int  # numbers in a row
    wide: int  # numbers in 16 bytes
    start: int  # numbers before the first row

    @property
    def width(self) -> int:
        """Numbers of one access: the largest width that divides the row."""
        return next(width for width in (4, 2, 1) if width <= self.wide and self.size % width == 0)

    @property
    def padded(self) -> bool:
        """Whether each row is padded by 16 bytes, against bank conflicts."""
        return self.width == self.wide and self.size // self.width % 2 == 0

    @property
    def stride(self) -> int:
        return self.size + self.wide * self.padded

    @property
    def numbers(self) -> int:
        """Numbers of shared memory for the rows of a warp."""
        return WARP * self.stride


def places(ports: Sequence[Port], wide: int) -> list[Place]:
    result: list[Place] = []
    for port in ports:
        start = result[-1].start + result[-1].numbers if result else 0
        result.append(Place(port.size, wide, start))
    return result


def tile_numbers(program: Program, wide: int) -> int:
    """Numbers of shared memory for a warp, used for its inputs, then for its results."""
    return max(sum(place.numbers for place in places(ports, wide)) for ports in (program.inputs, program.outputs))


class StagedRows(DirectRows):
    """The rows in shared memory."""

    def __init__(self, flow: Flow, program: Program, threads: int) -> None:
        super().__init__(flow, program, threads)
        self.wide = 16 // self.align
        self.inputs, self.outputs = (places(ports, self.wide) for ports in (program.inputs, program.outputs))
        self.tile, self.threads = tile_numbers(program, self.wide), threads
        self.place_of = {port.name: place for port, place in zip(program.inputs, self.inputs, strict=True)}
        numbers = self.tile * (threads // WARP)
        self.declarations = f"@tile = internal addrspace(3) global [{numbers} x {self.real}] poison, align 16\n"

    def enter(self) -> None:
        flow = self.flow
        thread, block = (flow.emit(f"call i32 @llvm.nvvm.read.ptx.sreg.{name}.x()") for name in ("tid", "ctaid"))
        self.lane = flow.emit(f"and i32 {thread}, {WARP - 1}")
        self.lane64 = flow.emit(f"zext i32 {self.lane} to i64")
        warp = flow.emit(f"zext i32 {flow.emit(f'lshr i32 {thread}, 5')} to i64")
        start = flow.emit(f"mul i64 {flow.emit(f'zext i32 {block} to i64')}, {self.threads}")
        self.first = flow.emit(f"add i64 {start}, {flow.emit(f'shl i64 {warp}, 5')}")
        self.state = flow.emit(f"add i64 {self.first}, {self.lane64}")
        self.warp_tile = element(flow, SHARED, "@tile", flow.emit(f"mul i64 {warp}, {self.tile}"))
        left = flow.emit(f"sub i64 %count, {self.first}")
        full = flow.emit(f"icmp sge i64 {left}, {WARP}")
        self.full_warp = flow.emit(f"and i1 {full}, {self.aligned()}")
        few = flow.emit(f"and i32 {flow.emit(f'trunc i64 {left} to i32')}, {WARP - 1}")
        others = flow.emit(f"xor i32 {flow.emit(f'shl i32 -1, {few}')}, -1")
        self.members = flow.emit(f"select i1 {full}, i32 -1, i32 {others}")
        flow.branch(flow.emit(f"icmp ult i64 {self.state}, %count"), "inside", "done")
        flow.enter("inside")
        flow.branch(self.full_warp, "copy", "take")
        flow.enter("copy")
        for k, place in enumerate(self.inputs):
            self.copy_in_pieces(place, f"%in{k}", into_tile=True)
        flow.declared.add("declare void @llvm.nvvm.cp.async.wait.all()")
        flow.lines.append("  call void @llvm.nvvm.cp.async.wait.all()")
        flow.go("ready")
        flow.enter("take")
        for k, place in enumerate(self.inputs):
            self.copy_row(place, f"%in{k}", into_tile=True)
        flow.go("ready")
        flow.enter("ready")
        self.sync_warp()

    def aligned(self) -> str:
        """A flag: all arrays are aligned to 16 bytes."""
        flow, total = self.flow, ""
        arrays = [*(f"%in{k}" for k in range(len(self.inputs))), *(f"%out{k}" for k in range(len(self.outputs)))]
        for array in arrays:
            address = flow.emit(f"ptrtoint {GLOBAL} {array} to i64")
            total = flow.emit(f"or i64 {total}, {address}") if total else address
        return flow.emit(f"icmp eq i64 {flow.emit(f'and i64 {total}, 15')}, 0")

    def sync_warp(self) -> None:
        """Synchronize the threads of the warp."""
        self.flow.declared.add("declare void @llvm.nvvm.bar.warp.sync(i32)")
        self.flow.lines.append(f"  call void @llvm.nvvm.bar.warp.sync(i32 {self.members})")

    def copy_in_pieces(self, place: Place, array: str, into_tile: bool) -> None:
        """Copy the rows of a warp, 16 bytes per thread at a time."""
        flow, kind = self.flow, f"<{self.wide} x {self.real}>"
        rows = element(flow, GLOBAL, array, flow.emit(f"mul i64 {self.first}, {place.size}"))
        count = WARP * place.size // self.wide
        for done in range(0, count, WARP):
            index = flow.emit(f"add i32 {self.lane}, {done}") if done else self.lane
            after = flow.fresh("after")
            if done + WARP > count:
                some = flow.fresh("some")
                flow.branch(flow.emit(f"icmp ult i32 {index}, {count}"), some, after)
                flow.enter(some)
            to = index
            if place.padded:
                to = flow.emit(f"add i32 {index}, {flow.emit(f'udiv i32 {index}, {place.size // self.wide}')}")
            source = self.piece(GLOBAL, rows, index, 0)
            target = self.piece(SHARED, self.warp_tile, to, place.start)
            if into_tile:
                flow.declared.add(f"declare void {CP_ASYNC}, {GLOBAL})")
                flow.lines.append(f"  call void {CP_ASYNC} {target}, {GLOBAL} {source})")
            else:
                x = flow.emit(f"load {kind}, {SHARED} {target}, align 16")
                flow.lines.append(f"  store {kind} {x}, {GLOBAL} {source}, align 16")
            if done + WARP > count:
                flow.go(after)
                flow.enter(after)

    def piece(self, space: str, pointer: str, index: str, start: int) -> str:
        """The address of the index-th piece of 16 bytes."""
        flow = self.flow
        at = flow.emit(f"zext i32 {flow.emit(f'mul i32 {index}, {self.wide}')} to i64")
        return element(flow, space, pointer, flow.emit(f"add i64 {at}, {start}") if start else at)

    def copy_row(self, place: Place, array: str, into_tile: bool) -> None:
        """Copy this thread's row, number by number."""
        if not place.size:
            return
        flow = self.flow
        outside = element(flow, GLOBAL, array, flow.emit(f"mul i64 {self.state}, {place.size}"))
        inside = self.row_in_tile(place)
        with flow.counted(place.size) as position:
            pair = [(GLOBAL, outside), (SHARED, inside)]
            (source, start), (target, end) = pair if into_tile else pair[::-1]
            x = flow.emit(f"load {self.real}, {source} {element(flow, source, start, position)}, align {self.align}")
            to = element(flow, target, end, position)
            flow.lines.append(f"  store {self.real} {x}, {target} {to}, align {self.align}")

    def row_in_tile(self, place: Place) -> str:
        flow = self.flow
        at = flow.emit(f"mul i64 {self.lane64}, {place.stride}")
        return element(flow, SHARED, self.warp_tile, flow.emit(f"add i64 {at}, {place.start}"))

    def load(self, name: str, position: int) -> str:
        if (name, position) not in self.known:
            place = self.place_of[name]
            if name not in self.pointers:
                self.pointers[name] = self.row_in_tile(place)
            self.known |= self.load_group(name, place, position // place.width * place.width)
        return self.known[name, position]

    def load_group(self, name: str, place: Place, first: int) -> dict[tuple[str, int], str]:
        """Load the numbers of one access."""
        flow, width = self.flow, place.width
        address = element(flow, SHARED, self.pointers[name], first)
        kind = self.real if width == 1 else f"<{width} x {self.real}>"
        x = flow.emit(f"load {kind}, {SHARED} {address}, align {width * self.align}")
        if width == 1:
            return {(name, first): x}
        return {(name, first + k): flow.emit(f"extractelement {kind} {x}, i32 {k}") for k in range(width)}

    def tested_values(self) -> list[str]:
        """As the base, but the numbers are loaded again at each use, since there are too many for registers."""
        values = super().tested_values()
        self.known = {}
        return values

    def store_results(self, results: Sequence[Sequence[str]]) -> None:
        flow = self.flow
        self.sync_warp()  # all inputs have been read
        for place, values in zip(self.outputs, results, strict=True):
            row, width = self.row_in_tile(place), place.width
            for first in range(0, place.size, width):
                kind, x = self.real, values[first]
                if width > 1:
                    kind, x = f"<{width} x {self.real}>", "poison"
                    for k in range(width):
                        x = flow.emit(f"insertelement {kind} {x}, {self.real} {values[first + k]}, i32 {k}")
                address = element(flow, SHARED, row, first)
                flow.lines.append(f"  store {kind} {x}, {SHARED} {address}, align {width * self.align}")
        self.sync_warp()
        flow.branch(self.full_warp, "give", "put")
        flow.enter("give")
        for k, place in enumerate(self.outputs):
            self.copy_in_pieces(place, f"%out{k}", into_tile=False)
        flow.go("written")
        flow.enter("put")
        for k, place in enumerate(self.outputs):
            self.copy_row(place, f"%out{k}", into_tile=False)
        flow.go("written")
        flow.enter("written")

    def finish(self) -> None:
        self.sync_warp()  # others have written parts of this thread's rows


def element(flow: Flow, space: str, pointer: str, index: str | int) -> str:
    if index in (0, "0"):
        return pointer
    return flow.emit(f"getelementptr {flow.layout.real}, {space} {pointer}, i64 {index}")
