"""Converts LLVM's object code to an image: sections are laid out side by side, and relocations are applied.

Names and numbers follow 64-bit ELF and its supplement for x86-64. Other object code has no image.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

from .image import MAGIC, PAGE, READ, RUN, WRITE

HEADER, SECTION, SYMBOL, RELOCATION = "<16sHHIQQQIHHHHHH", "<IIQQQQIIQQ", "<IBBHQQ", "<QQq"
ELF = b"\x7fELF\x02\x01\x01"  # 64 bits, little-endian
RELOCATABLE, X86_64 = 1, 62
BITS, SYMBOLS, RELOCATIONS, ZEROS, SHORT_RELOCATIONS, UNWINDING = 1, 2, 4, 8, 9, 0x70000001  # kinds of sections
WRITEABLE, IN_MEMORY, EXECUTABLE, PER_THREAD = 1, 2, 4, 0x400  # flags of sections
DISTANCES = {2: "<i", 4: "<i", 24: "<q"}  # relative relocations R_X86_64_PC32, PLT32, PC64
GLOBAL = 1


class NoImageError(ValueError):
    """Object code has no image, for the reason in the message."""


class Section(NamedTuple):
    name: int
    kind: int
    flags: int
    address: int
    start: int
    size: int
    link: int
    info: int
    alignment: int
    entry: int

    @property
    def use(self) -> str:
        return RUN if self.flags & EXECUTABLE else WRITE if self.flags & WRITEABLE else READ


class Symbol(NamedTuple):
    name: int
    info: int
    other: int
    section: int
    value: int
    size: int


def image_of(code: bytes) -> bytes:
    """The image of LLVM's object code; raises NoImageError."""
    sections = sections_of(code)
    offsets, parts = lay_out_sections(sections)
    memory = bytearray(parts[-1][1] if parts else 0)
    for k, at in offsets.items():
        if sections[k].kind == BITS:
            memory[at : at + sections[k].size] = code[sections[k].start : sections[k].start + sections[k].size]
    functions = {}
    for table in (section for section in sections if section.kind == SYMBOLS):
        names = code[sections[table.link].start :]
        for symbol in (Symbol(*values) for values in records(code, table, SYMBOL)):
            if symbol.info >> 4 == GLOBAL and symbol.section in offsets:
                name = names[symbol.name : names.index(b"\0", symbol.name)].decode()
                functions[name] = offsets[symbol.section] + symbol.value
    for table in sections:
        if table.kind in (RELOCATIONS, SHORT_RELOCATIONS) and table.info in offsets:
            relocate(memory, code, sections, table, offsets)
    lines = (" ".join(str(x) for row in table for x in row).encode() for table in (parts, functions.items()))
    return b"%b%b\n%b\n%b" % (MAGIC, *lines, bytes(memory).rstrip(b"\0"))


def sections_of(code: bytes) -> list[Section]:
    header = struct.unpack_from(HEADER, code)
    if not header[0].startswith(ELF) or header[1:3] != (RELOCATABLE, X86_64):
        raise NoImageError("it is not an ELF object for x86-64")
    table, count = header[6], header[12]
    size = struct.calcsize(SECTION)
    return [Section(*struct.unpack_from(SECTION, code, table + k * size)) for k in range(count)]


def lay_out_sections(sections: list[Section]) -> tuple[dict[int, int], list[tuple[int, int, str]]]:
    """The offset of each section by number, and the parts of the image: start, end and use."""
    offsets: dict[int, int] = {}
    parts = []
    end = 0
    for use in (RUN, READ, WRITE):
        start = end
        for k, section in enumerate(sections):
            if not section.flags & IN_MEMORY or section.kind == UNWINDING or section.use != use:
                continue
            if section.kind not in (BITS, ZEROS) or section.flags & PER_THREAD or section.alignment > PAGE:
                raise NoImageError(f"section {k} is of kind {section.kind}, with flags {section.flags}")
            end += -end % max(section.alignment, 1)
            offsets[k] = end
            end += section.size
        end += -end % PAGE
        if end > start:
            parts.append((start, end, use))
    return offsets, parts


def relocate(memory: bytearray, code: bytes, sections: list[Section], table: Section, offsets: dict[int, int]) -> None:
    """Apply a table of relative relocations to its section."""
    if table.kind != RELOCATIONS:
        raise NoImageError("it has relocations of the short form")
    symbols = [Symbol(*values) for values in records(code, sections[table.link], SYMBOL)]
    for offset, info, addend in records(code, table, RELOCATION):
        symbol, form = symbols[info >> 32], DISTANCES.get(info & 0xFFFFFFFF)
        if form is None:
            raise NoImageError(f"it has a relocation of type {info & 0xFFFFFFFF}")
        if symbol.section not in offsets:
            raise NoImageError("it refers to a symbol outside")
        here = offsets[table.info] + offset
        try:
            struct.pack_into(form, memory, here, offsets[symbol.section] + symbol.value + addend - here)
        except struct.error:
            raise NoImageError("it is too long for its relocations") from None


def records(code: bytes, section: Section, layout: str) -> Iterator[tuple[Any, ...]]:
    return struct.iter_unpack(layout, code[section.start : section.start + section.size])
