"""Loads rows of numbers as vectors with a row in each lane, and stores them; accesses only the rows."""

from __future__ import annotations

from collections.abc import Sequence

from .flow import Block, Flow

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
