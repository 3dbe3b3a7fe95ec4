"""Converts LLVM's object file to a self-contained WebAssembly module.

An object file differs from a module in three points: it imports its memory and stack pointer, it exports nothing, and
it has linker sections. This file defines the memory and the pointer, adds exports, and drops the linker sections. Data
are at the start of the memory, and the stack is above them.

    exports   memory, the functions, and `heap`: a global, the first byte that the module itself does not use
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

PAGE = 65536  # bytes
STACK = 16384  # bytes: functions are not recursive, and WebAssembly has its own local variables
CUSTOM, TYPES, IMPORTS, FUNCTIONS, MEMORIES, GLOBALS, EXPORTS, CODE, DATA = 0, 1, 2, 3, 5, 6, 7, 10, 11
KEPT = (TYPES, FUNCTIONS, CODE)
FUNCTION, TABLE, MEMORY, GLOBAL = 0, 1, 2, 3  # kinds of imports and exports
I32, CONSTANT, MUTABLE, I32_CONST, END = 0x7F, 0, 1, 0x41, 0x0B
SYMBOL_TABLE, UNDEFINED, EXPLICIT_NAME = 8, 0x10, 0x40
INTERFACE = "linkwise"  # the name of the section that describes the arrays


class ModuleError(RuntimeError):
    """An unexpected object file: a bug in Linkwise."""


class Segment(NamedTuple):
    offset: int
    data: bytes


class Reader:
    """Reads the numbers and names of a binary."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data, self.at = data, at

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def unsigned(self) -> int:
        """Unsigned LEB128."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def signed(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value - (1 << shift) if byte & 64 else value

    def take(self, count: int) -> bytes:
        self.at += count
        return self.data[self.at - count : self.at]

    def name(self) -> str:
        return self.take(self.unsigned()).decode()

    @property
    def has_more(self) -> bool:
        return self.at < len(self.data)


def module_of(binary: bytes, exported: Sequence[str]) -> bytes:
    """The module of an object file, with these functions exported."""
    sections = dict(sections_of(binary))
    check_imports(sections.get(IMPORTS, b"\0"))
    functions = function_symbols(binary)
    segments = segments_of(sections.get(DATA, b"\0"))
    used = max((segment.offset + len(segment.data) for segment in segments), default=0)
    heap = align(align(used) + STACK)
    exports = [
        ("memory", MEMORY, 0),
        ("heap", GLOBAL, 1),
        *((name, FUNCTION, functions[name]) for name in exported if name in functions),
    ]
    sections[MEMORIES], sections[GLOBALS] = memory_section(heap), globals_section(heap, heap)
    sections[EXPORTS] = unsigned_leb128(len(exports)) + b"".join(
        encode_name(name) + bytes([kind]) + unsigned_leb128(index) for name, kind, index in exports
    )
    sections[DATA] = data_section([segment for segment in segments if any(segment.data)])
    order = sorted({*KEPT, MEMORIES, GLOBALS, EXPORTS, DATA} & set(sections))
    return binary[:8] + b"".join(section(kind, sections[kind]) for kind in order)


def with_data(module: bytes, data: bytes, work: int, arrays: int) -> bytes:
    """The module with data at its `heap`. Its new `heap`, with memory for arrays, is `work` bytes behind the data."""
    sections = list(sections_of(module))
    stack, start = globals_of(module)
    heap = align(align(start + len(data)) + work)
    segments = segments_of(next((body for kind, body in sections if kind == DATA), b"\0"))
    new = {MEMORIES: memory_section(heap + arrays), GLOBALS: globals_section(stack, heap)}
    kept = [(kind, new.get(kind, body)) for kind, body in sections if kind != DATA]
    kept.append((DATA, data_section([*segments, *([Segment(start, data)] if data else [])])))
    return module[:8] + b"".join(section(kind, body) for kind, body in kept)


def with_interface(module: bytes, interface: dict[str, Any]) -> bytes:
    """The module with a section that describes its arrays, in JSON."""
    return module + section(CUSTOM, encode_name(INTERFACE) + json.dumps(interface, separators=(",", ":")).encode())


def interface_of(module: bytes) -> dict[str, Any]:
    """The description in the section "linkwise" of a module."""
    try:
        for kind, body in sections_of(module) if module[:4] == b"\0asm" else ():
            reader = Reader(body)
            if kind == CUSTOM and reader.name() == INTERFACE:
                interface: dict[str, Any] = json.loads(body[reader.at :])
                return interface
    except (IndexError, ValueError):  # truncated or damaged
        pass
    raise ValueError("these bytes are not a complete module (expected one made by lw.wasm)")


def heap_of(module: bytes) -> int:
    """The first byte that the module itself does not use."""
    return globals_of(module)[1]


def globals_of(module: bytes) -> list[int]:
    """The stack pointer and the heap."""
    reader = Reader(next(body for kind, body in sections_of(module) if kind == GLOBALS))
    values = []
    for _ in range(reader.unsigned()):
        reader.take(3)
        values.append(reader.signed())
        reader.take(1)
    return values


def sections_of(module: bytes) -> Iterator[tuple[int, bytes]]:
    reader = Reader(module, 8)
    while reader.has_more:
        kind = reader.byte()
        yield kind, reader.take(reader.unsigned())


def check_imports(body: bytes) -> None:
    """Raise if the object imports anything but memory and stack pointer."""
    reader = Reader(body)
    for _ in range(reader.unsigned()):
        reader.name()
        name, kind = reader.name(), reader.byte()
        if name == "__linear_memory":
            limited = reader.unsigned()
            reader.unsigned()
            if limited & 1:
                reader.unsigned()
        elif name == "__stack_pointer":
            reader.take(2)
        else:
            raise ModuleError(f"the code needs {name!r} (kind {kind}), which is nowhere defined")


def function_symbols(binary: bytes) -> dict[str, int]:
    """Indices of the functions of an object by name, from its section `linking`."""
    functions: dict[str, int] = {}
    for kind, body in sections_of(binary):
        reader = Reader(body)
        if kind != CUSTOM or reader.name() != "linking":
            continue
        reader.unsigned()
        while reader.has_more:
            sort, size = reader.byte(), reader.unsigned()
            part = Reader(reader.take(size))
            if sort == SYMBOL_TABLE:
                functions.update(symbols(part))
    return functions


def symbols(reader: Reader) -> Iterator[tuple[str, int]]:
    """The functions among the symbols, which include data, sections and imports."""
    function, data, section_symbol = 0, 1, 3
    for _ in range(reader.unsigned()):
        kind, flags = reader.byte(), reader.unsigned()
        if kind == data:
            reader.name()
            if not flags & UNDEFINED:
                for _ in range(3):
                    reader.unsigned()
        elif kind == section_symbol:
            reader.unsigned()
        else:
            index = reader.unsigned()
            if not flags & UNDEFINED or flags & EXPLICIT_NAME:
                name = reader.name()
                if kind == function:
                    yield name, index


def segments_of(body: bytes) -> list[Segment]:
    reader = Reader(body)
    segments = []
    for _ in range(reader.unsigned()):
        if reader.unsigned() or reader.byte() != I32_CONST:
            raise ModuleError("data without an address")
        offset = reader.signed()
        reader.byte()
        segments.append(Segment(offset, reader.take(reader.unsigned())))
    return segments


def data_section(segments: Sequence[Segment]) -> bytes:
    parts = [
        b"\0"
        + bytes([I32_CONST])
        + signed_leb128(segment.offset)
        + bytes([END])
        + unsigned_leb128(len(segment.data))
        + segment.data
        for segment in segments
    ]
    return unsigned_leb128(len(parts)) + b"".join(parts)


def memory_section(size: int) -> bytes:
    """One growable memory of at least this size."""
    return b"\x01\x00" + unsigned_leb128(-(-size // PAGE))


def globals_section(stack: int, heap: int) -> bytes:
    """The stack pointer and the heap."""
    parts = ((MUTABLE, stack), (CONSTANT, heap))
    return unsigned_leb128(2) + b"".join(
        bytes([I32, kind, I32_CONST]) + signed_leb128(x) + bytes([END]) for kind, x in parts
    )


def section(kind: int, body: bytes) -> bytes:
    return bytes([kind]) + unsigned_leb128(len(body)) + body


def encode_name(name: str) -> bytes:
    return unsigned_leb128(len(name.encode())) + name.encode()


def unsigned_leb128(value: int) -> bytes:
    """Unsigned LEB128."""
    out = b""
    while value >= 128:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def signed_leb128(value: int) -> bytes:
    """Signed LEB128 of a non-negative number."""
    out = b""
    while value >= 64:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def align(size: int, by: int = 16) -> int:
    return -(-size // by) * by
