"""Arithmetic on numbers of every lane, in LLVM assembly: Python's operators write the instructions."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from .block import Layout
from .flow import Flow

SCALARS = {"real": "double", "whole": "i64", "mask": "i1"}


def arithmetic(word: str, swapped: bool = False) -> Callable[[Value, Any], Value]:
    def write(a: Value, b: Any) -> Value:
        return a.lanes.emit(f"{'f' * (a.kind == 'real')}{word}", a.kind, *((b, a) if swapped else (a, b)))

    return write


def comparison(word: str) -> Callable[[Value, Any], Any]:
    def write(a: Value, b: Any) -> Value:
        of_whole = word if word == "eq" else f"u{word}"
        return a.lanes.emit(f"fcmp o{word}" if a.kind == "real" else f"icmp {of_whole}", a.kind, a, b, result="mask")

    return write


class Value:
    """A number of every lane, real or whole, or a mask; operators write instructions. Python's numbers are constants.

    `&` with Python's True and False, and the product with a direction, 1 or -1, are decided here.
    """

    __slots__ = ("kind", "lanes", "name")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, lanes: Arithmetic, name: str, kind: str = "real") -> None:
        self.lanes, self.name, self.kind = lanes, name, kind

    __radd__, __sub__, __rsub__ = arithmetic("add", True), arithmetic("sub"), arithmetic("sub", True)
    __mul__, __truediv__, __rtruediv__ = arithmetic("mul"), arithmetic("div"), arithmetic("div", True)
    __lt__, __le__, __gt__, __ge__ = comparison("lt"), comparison("le"), comparison("gt"), comparison("ge")
    __eq__ = comparison("eq")

    def __add__(self, other: Any) -> Value:
        if isinstance(other, Value) and other.kind == "mask":  # a count, and whether there is one more
            other = self.lanes.converted(other, "zext", self.kind)
        return arithmetic("add")(self, other)

    def __rmul__(self, other: Any) -> Value:
        if isinstance(other, int) and other in (1, -1):
            return self if other == 1 else -self
        return arithmetic("mul", True)(self, other)

    def __neg__(self) -> Value:
        return self.lanes.emit("fneg", self.kind, self)

    def __and__(self, other: Any) -> Any:
        if isinstance(other, bool):
            return self if other else False
        return self.lanes.emit("and", "mask", self, other)

    def __or__(self, other: Value) -> Value:
        return self.lanes.emit("or", "mask", self, other)

    def __invert__(self) -> Value:
        return self.lanes.emit("xor", "mask", self, True)


def intrinsic(name: str) -> Callable[..., Value]:
    def write(lanes: Arithmetic, *operands: Any) -> Value:
        return Value(lanes, lanes.flow.call(name, *(lanes.operand(x, "real") for x in operands)))

    return write


class Arithmetic:
    """Operations on the numbers of the lanes that `flow` writes; real numbers are doubles."""

    def __init__(self, layout: Layout) -> None:
        self.layout, self.flow = layout, Flow(layout)

    def type(self, kind: str) -> str:
        return self.layout.of(SCALARS[kind])

    def operand(self, value: Any, kind: str) -> str:
        if isinstance(value, Value):
            return value.name
        if kind == "real":
            return self.layout.constant(float(value))
        return self.layout.splat(SCALARS[kind], str(int(value)) if kind == "whole" else str(bool(value)).lower())

    def emit(self, word: str, kind: str, *operands: Any, result: str = "") -> Value:
        """An instruction on operands of one kind."""
        names = ", ".join(self.operand(x, kind) for x in operands)
        return Value(self, self.flow.emit(f"{word} {self.type(kind)} {names}"), result or kind)

    def converted(self, x: Value, word: str, kind: str) -> Value:
        return Value(self, self.flow.emit(f"{word} {self.type(x.kind)} {x.name} to {self.type(kind)}"), kind)

    def where(self, mask: Any, a: Any, b: Any) -> Any:
        return (a if mask else b) if isinstance(mask, bool) else self.chosen(mask, a, b)

    def chosen(self, mask: Value, a: Any, b: Any) -> Value:
        """a in the lanes of the mask, b in the others."""
        known = next((x for x in (a, b) if isinstance(x, Value)), None)
        kind = known.kind if known is not None else "whole" if isinstance(a, int) else "real"
        name = self.flow.select(mask.name, self.operand(a, kind), self.operand(b, kind), self.type(kind))
        return Value(self, name, kind)

    def fma(self, a: Any, b: Any, c: Any) -> Value:
        return Value(self, self.flow.fused(*(self.operand(x, "real") for x in (a, b, c))))

    minimum, maximum, absolute = intrinsic("minnum"), intrinsic("maxnum"), intrinsic("fabs")
    copysign, sqrt, floor = intrinsic("copysign"), intrinsic("sqrt"), intrinsic("floor")
    add, either = staticmethod(operator.add), staticmethod(operator.or_)

    def is_nan(self, x: Value) -> Value:
        return self.emit("fcmp uno", "real", x, x, result="mask")

    def frexp(self, x: Value) -> tuple[Value, Value]:
        """For positive normal numbers."""
        bits = self.converted(x, "bitcast", "whole")
        exponent = self.emit("lshr", "whole", bits, 52) - 1022
        mantissa = self.emit("or", "whole", self.emit("and", "whole", bits, (1 << 52) - 1), 1022 << 52)
        return self.converted(mantissa, "bitcast", "real"), self.converted(exponent, "sitofp", "real")

    def ldexp(self, x: Value, exponent: Value) -> Value:
        """For exponents of moderate size."""
        power = self.converted(exponent, "fptosi", "whole") + 1023
        return x * self.converted(self.emit("shl", "whole", power, 52), "bitcast", "real")
