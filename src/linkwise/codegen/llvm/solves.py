"""Second derivatives of forward dynamics from those of inverse dynamics, as LLVM assembly; one state after another.

    i64 @batch(i64 begin, i64 end, ptr work, ptr inverse, ptr by_q, ptr by_qd, ptr values, ptr output, ...)     gives 0

I q̈ = τ - bias, differentiated twice. For each joint j, of the rows in which ∂I/∂q_j or a second derivative by q_j or
q̇_j can differ from zero:

    U_j = ∂I/∂q_j [I⁻¹, ∂q̈/∂q, ∂q̈/∂q̇, 0] + [0, ½ ∂²τ/∂q_j∂q, ∂²τ/∂q_j∂q̇, ∂²τ/∂q̇_j∂q̇]      (1)
    [∂²q̈/∂q_j∂τ, H_j, ∂²q̈/∂q_j∂q̇, ∂²q̈/∂q̇_j∂q̇] = -I⁻¹ U_j                                (2)
    ∂²q̈/∂q_j∂q_k = H_jk + H_kj                                                             (3)

Vectors hold numbers of one row, the rows of `work` are padded to whole vectors, and sums stay in registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .flow import Flow, Layout, assemble

# Non-temporal stores: results of hundreds of kilobytes per state would leave the caches before they are read.
#
# An ordinary store first reads its cache line. A non-temporal store writes whole lines directly to memory. Incomplete
# lines at both ends of the target are stored ordinarily.

LINE = 64  # bytes
STREAM = "!0 = !{i32 1}"  # once in every module with such stores
FENCE = "  fence seq_cst"  # makes the stores visible before other threads are notified


def stream(flow: Flow, target: str, source: str, count: int | str) -> None:
    """Copy `count` numbers by non-temporal stores."""
    real, size, kind = flow.layout.real, flow.layout.bits // 8, flow.layout.vector
    lanes = flow.layout.lanes
    vectors = max(LINE // (size * lanes), 1)
    address = flow.emit(f"ptrtoint ptr {target} to i64")
    missing = flow.emit(f"and i64 {flow.emit(f'sub i64 0, {address}')}, {LINE - 1}")  # bytes before the next line
    ahead = flow.emit(f"lshr i64 {missing}, {size.bit_length() - 1}")
    short = flow.emit(f"icmp ult i64 {ahead}, {count}")
    ahead = flow.emit(f"select i1 {short}, i64 {ahead}, i64 {count}")
    lines = flow.emit(f"udiv i64 {flow.emit(f'sub i64 {count}, {ahead}')}, {LINE // size}")

    def one(k: str, _: object) -> tuple[()]:
        x = flow.emit(f"load {real}, ptr {flow.element(real, source, k)}")
        flow.lines.append(f"  store {real} {x}, ptr {flow.element(real, target, k)}")
        return ()

    def line(k: str, _: object) -> tuple[()]:
        begin = flow.emit(f"add i64 {ahead}, {flow.emit(f'mul i64 {k}, {LINE // size}')}")
        places = [flow.element(real, pointer, begin) for pointer in (source, target)]
        loaded = [flow.load(places[0], v) for v in range(vectors)]
        for v, x in enumerate(loaded):
            place = flow.place(places[1], v)
            flow.lines.append(f"  store {kind} {x}, ptr {place}, align {min(LINE, size * lanes)}, !nontemporal !0")
        return ()

    flow.loop("0", ahead, one)
    flow.loop("0", lines, line)
    flow.loop(flow.emit(f"add i64 {ahead}, {flow.emit(f'mul i64 {lines}, {LINE // size}')}"), str(count), one)


OUTPUTS = ("q_tau", "q_q", "q_qd", "qd_qd")  # in the order of (1) and (2)
MATRICES = ("inverse", "by_q", "by_qd")
HALVED = 1
SUMS = 12  # in registers
TALL, WIDE = 4, 3  # sums of (2) at a time: rows, and vectors of columns


class Row(NamedTuple):
    """Row m of a U_j, by positions in the array `values`."""

    m: int
    slopes: Sequence[tuple[int, int]]  # l, and where ∂I_ml/∂q_j is
    seconds: Sequence[Sequence[tuple[int, int]]]  # for each output: columns, and where their second derivatives are


class Solves:
    """The text for a robot of n degrees of freedom with `count` values and these rows of each joint.

    Outputs are computed in turn, so that each stays in the cache until it is complete.
    """

    def __init__(self, n: int, count: int, rows: Sequence[Sequence[Row]], layout: Layout) -> None:
        self.n, self.count, self.rows, self.layout, self.flow = n, count, rows, layout, Flow(layout)
        self.width = -(-n // layout.lanes)  # vectors of a row
        self.u_begin = len(MATRICES) * n * self.width
        self.result_begin = self.u_begin + max(map(len, rows)) * self.width
        self.every = [row for listed in rows for row in listed]
        self.tables: list[str] = []

    @property
    def work_bytes(self) -> int:
        """The matrices of (1), one U_j, and one result."""
        numbers = self.result_begin * self.layout.lanes + self.n**3
        return numbers * self.layout.bits // 8

    def text(self) -> str:
        n, flow = self.n, self.flow
        sizes = {**dict.fromkeys(MATRICES, n * n), "values": self.count, **dict.fromkeys(OUTPUTS, n**3)}
        first = self.table("first", offsets(self.rows))
        which = self.table("rows", [row.m for row in self.every])
        slopes = self.lists("slopes", [row.slopes for row in self.every])

        def state(number: str, _: Any) -> Sequence[str]:
            at = {name: self.at(f"%{name}", self.mul(number, size)) for name, size in sizes.items()}
            for k, name in enumerate(MATRICES):
                self.copy_padded(at[name], k * n * self.width)
            for k, name in enumerate(OUTPUTS):
                self.output(k, at[name], at["values"], first, which, slopes)
            return ()

        flow.loop("%begin", "%end", state)
        names = ", ".join(f"ptr noalias %{name}" for name in ("work", *sizes))
        head = f"define i64 @batch(i64 %begin, i64 %end, {names}) #0 {{"
        size = f"@work_bytes = dso_local constant i64 {self.work_bytes}"
        lines = [head, *flow.lines, FENCE, "  ret i64 0", "}"]
        return assemble(*sorted(flow.declared), *self.tables, size, *lines, STREAM)

    def output(self, k: int, output: str, values: str, first: str, which: str, slopes: tuple[str, str]) -> None:
        """Compute one output for all joints in `work`, and copy it to its array."""
        flow, n = self.flow, self.n
        seconds = self.lists(f"seconds{k}", [row.seconds[k] for row in self.every])
        matrix = flow.place("%work", k * n * self.width) if k < len(MATRICES) else None
        result = flow.place("%work", self.result_begin)

        def joint(j: str, _: Any) -> Sequence[str]:
            start, end = (self.entry(first, j, k) for k in range(2))

            def line(row: str, _: Any) -> Sequence[str]:
                target = self.row_of_u(flow.emit(f"sub i64 {row}, {start}"))
                self.multiply(target, row, slopes, values, matrix)
                self.add_seconds(target, row, seconds, values, halved=k == HALVED)
                return ()

            flow.loop(start, end, line)
            rows = flow.emit(f"getelementptr i32, ptr {which}, i64 {start}")
            self.solve(j, rows, flow.emit(f"sub i64 {end}, {start}"), result)
            return ()

        flow.loop("0", str(n), joint)
        if k == HALVED:
            self.add_transposed(result)
        stream(flow, output, result, n**3)

    def copy_padded(self, matrix: str, begin: int) -> None:
        """Copy a matrix to `work`, with zero padding behind each row."""
        flow, real, zero = self.flow, self.layout.real, self.layout.constant(0.0)

        def row(i: str, _: Any) -> Sequence[str]:
            target = flow.place(flow.place("%work", begin), self.mul(i, self.width))
            flow.store(zero, target, self.width - 1)
            source = self.at(matrix, self.mul(i, self.n))

            def number(k: str, _: Any) -> Sequence[str]:
                x = flow.emit(f"load {real}, ptr {self.at(source, k)}")
                flow.lines.append(f"  store {real} {x}, ptr {self.at(target, k)}")
                return ()

            return flow.loop("0", str(self.n), number)

        flow.loop("0", str(self.n), row)

    def multiply(self, target: str, row: str, slopes: tuple[str, str], values: str, matrix: str | None) -> None:
        """The first part of (1), for one row; without a matrix, zeros."""
        flow, zero = self.flow, self.layout.constant(0.0)
        start, end = (self.entry(slopes[0], row, k) for k in range(2))
        for held in chunks(self.width, SUMS):

            def add(entry: str, sums: Sequence[str], held: Sequence[int] = held) -> Sequence[str]:
                column, slot = (self.entry(slopes[1], self.mul(entry, 2), k) for k in range(2))
                factor, source = (
                    self.splat(values, slot),
                    flow.place(matrix or "", self.mul(column, self.width)),
                )
                return [flow.multiply_add(factor, flow.load(source, k), x) for k, x in zip(held, sums, strict=True)]

            sums = [zero] * len(held)
            for k, x in zip(held, flow.loop(start, end, add, sums) if matrix else sums, strict=True):
                flow.store(x, target, k)

    def add_seconds(self, target: str, row: str, seconds: tuple[str, str], values: str, halved: bool) -> None:
        """The second part of (1), for one row."""
        flow, real = self.flow, self.layout.real
        start, end = (self.entry(seconds[0], row, k) for k in range(2))

        def add(entry: str, _: Any) -> Sequence[str]:
            column, slot = (self.entry(seconds[1], self.mul(entry, 2), k) for k in range(2))
            x, place = flow.emit(f"load {real}, ptr {self.at(values, slot)}"), self.at(target, column)
            x = flow.emit(f"fmul {real} {x}, 0.5") if halved else x
            total = flow.emit(f"fadd {real} {flow.emit(f'load {real}, ptr {place}')}, {x}")
            flow.lines.append(f"  store {real} {total}, ptr {place}")
            return ()

        flow.loop(start, end, add)

    def solve(self, j: str, rows: str, count: str, result: str) -> None:
        """(2)"""
        whole = self.n // TALL

        def some(block: str, _: Any) -> Sequence[str]:
            self.solve_rows(self.mul(block, TALL), TALL, j, rows, count, result)
            return ()

        self.flow.loop("0", str(whole), some)
        if self.n % TALL:
            self.solve_rows(str(whole * TALL), self.n % TALL, j, rows, count, result)

    def solve_rows(self, i: str, tall: int, j: str, rows: str, count: str, result: str) -> None:
        """Rows i, i + 1, ... of (2). I⁻¹, the first matrix, is symmetric."""
        flow, n, lanes = self.flow, self.n, self.layout.lanes
        starts = [flow.emit(f"add i64 {self.mul(flow.emit(f'add i64 {i}, {k}'), n)}, {j}") for k in range(tall)]
        targets = [self.at(result, self.mul(start, n)) for start in starts]
        for held in chunks(self.width, WIDE):

            def add(r: str, sums: Sequence[str], held: Sequence[int] = held) -> Sequence[str]:
                column = self.at(flow.place("%work", self.mul(self.entry(rows, r, 0), self.width)), i)
                loaded, rest = [flow.load(self.row_of_u(r), k) for k in held], iter(sums)
                factors = (self.splat(column, k) for k in range(tall))
                return [flow.multiply_add(factor, x, next(rest)) for factor in factors for x in loaded]

            sums = iter(flow.loop("0", count, add, [self.layout.constant(0.0)] * (tall * len(held))))
            for target in targets:
                for k in held:
                    x = flow.do("fneg", next(sums))
                    self.store_first(x, self.at(target, k * lanes), min(lanes, n - k * lanes))

    def add_transposed(self, result: str) -> None:
        """(3), in place."""
        flow, n, real = self.flow, self.n, self.layout.real

        def matrix(i: str, _: Any) -> Sequence[str]:
            first = self.at(result, self.mul(i, n * n))

            def row(j: str, _: Any) -> Sequence[str]:
                def pair(k: str, _: Any) -> Sequence[str]:
                    positions = [flow.emit(f"add i64 {self.mul(a, n)}, {b}") for a, b in ((j, k), (k, j))]
                    places = [self.at(first, position) for position in positions]
                    x, y = (flow.emit(f"load {real}, ptr {place}") for place in places)
                    total = flow.emit(f"fadd {real} {x}, {y}")
                    flow.lines += [f"  store {real} {total}, ptr {place}" for place in places]
                    return ()

                return flow.loop("0", flow.emit(f"add i64 {j}, 1"), pair)

            return flow.loop("0", str(n), row)

        flow.loop("0", str(n), matrix)

    def store_first(self, x: str, place: str, count: int) -> None:
        """Store the first numbers of a vector by stores of 1, 2, 4, ... numbers: masked stores are slower."""
        flow, real, lanes, done = self.flow, self.layout.real, self.layout.lanes, 0
        if lanes == 1:
            flow.lines.append(f"  store {real} {x}, ptr {place}")
            return
        vector = self.layout.vector
        for size in (lanes >> k for k in range(lanes.bit_length())):
            if count - done >= size:
                picks = ", ".join(f"i32 {done + k}" for k in range(size))
                part = flow.emit(f"shufflevector {vector} {x}, {vector} poison, <{size} x i32> <{picks}>")
                target = self.at(place, done)
                flow.lines.append(f"  store <{size} x {real}> {part}, ptr {target}, align {self.layout.bits // 8}")
                done += size

    # addresses and numbers

    def at(self, pointer: str, position: str | int) -> str:
        return self.flow.element(self.layout.real, pointer, position)

    def mul(self, index: str, size: int) -> str:
        return self.flow.emit(f"mul i64 {index}, {size}")

    def row_of_u(self, number: str) -> str:
        return self.flow.place(self.flow.place("%work", self.u_begin), self.mul(number, self.width))

    def splat(self, pointer: str, position: str | int) -> str:
        x = self.flow.emit(f"load {self.layout.real}, ptr {self.at(pointer, position)}")
        return self.flow.splat(x, self.layout.real)

    # tables

    def table(self, name: str, numbers: Sequence[int]) -> str:
        entries = ", ".join(f"i32 {x}" for x in numbers or (0,))
        self.tables.append(f"@{name} = internal constant [{max(len(numbers), 1)} x i32] [{entries}]")
        return f"@{name}"

    def lists(self, name: str, entries: Sequence[Sequence[tuple[int, int]]]) -> tuple[str, str]:
        """The offsets of the list of each row, and the concatenated lists."""
        pairs = [x for entry in entries for pair in entry for x in pair]
        return self.table(f"{name}_first", offsets(entries)), self.table(name, pairs)

    def entry(self, table: str, index: str, offset: int) -> str:
        place = self.flow.emit(f"getelementptr i32, ptr {table}, i64 {index}")
        place = self.flow.emit(f"getelementptr i32, ptr {place}, i64 {offset}")
        return self.flow.emit(f"zext i32 {self.flow.emit(f'load i32, ptr {place}')} to i64")


def offsets(entries: Sequence[Sequence[Any]]) -> list[int]:
    total = [0]
    for entry in entries:
        total.append(total[-1] + len(entry))
    return total


def chunks(count: int, most: int) -> list[range]:
    """range(count) in parts of nearly equal length."""
    parts = -(-count // most)
    return [range(count * k // parts, count * (k + 1) // parts) for k in range(parts)]
