"""Numbers written past the caches: results of hundreds of kilobytes a state do not stay there until they are read.

A store of an ordinary kind first reads the cache line that it changes. One that is marked does not: whole lines go to
memory once. Lines at both ends of the target are written in the ordinary way.
"""

from __future__ import annotations

from .flow import Flow

LINE = 64  # bytes
STREAM = "!0 = !{i32 1}"  # goes once into every module with such stores
FENCE = "  fence seq_cst"  # before other threads may be told that all is written


def stream(flow: Flow, target: str, source: str, count: int | str) -> None:
    """So many numbers from source to target."""
    real, size, kind = flow.layout.real, flow.layout.bits // 8, flow.layout.vector
    lanes = flow.layout.lanes
    vectors = max(LINE // (size * lanes), 1)
    address = flow.emit(f"ptrtoint ptr {target} to i64")
    missing = flow.emit(f"and i64 {flow.emit(f'sub i64 0, {address}')}, {LINE - 1}")  # bytes until a line begins
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
