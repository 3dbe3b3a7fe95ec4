"""LLVM assembly, instruction by instruction, over vectors of any width."""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass


@dataclass(frozen=True)
class Layout:
    """What the vectors are made of: `double` or `float`, how many lanes, and whether products may be fused."""

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
    """A constant to its last bit; LLVM writes a float by the bits of the double that it is."""
    if real == "float":
        value = ctypes.c_float(value).value  # infinite if it is too large
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


class Block:
    """Instructions, one after another, each with a fresh name."""

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

    def fused(self, a: str, b: str, c: str) -> str:
        """a b + c, rounded once where the processor can."""
        return self.call("fma", a, b, c) if self.layout.fused else self.do("fadd", self.do("fmul", a, b), c)


def assembled(*texts: str) -> str:
    """One module of several texts; what more than one of them declares is declared once."""
    lines = [line for text in texts for line in text.splitlines()]
    declared = dict.fromkeys(line for line in lines if line.startswith("declare "))
    return "\n".join([*declared, *(line for line in lines if not line.startswith("declare ")), ""])
