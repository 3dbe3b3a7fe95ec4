"""The operations of `ode.lanes` as LLVM assembly: one number of each lane is a vector in a register.

Python runs the driver once, and each operation emits its instructions. So a loop body runs once, with a register as its
index, and `when` always emits its branch.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

from .flow import Flow, Layout

# Arithmetic on vectors of lanes: Python's operators emit instructions.

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
    """One number of each lane, real or whole, or a mask. Operators emit instructions; Python numbers are constants.

    `&` with Python's True and False, and the product with a direction, 1 or -1, are evaluated immediately.
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
        if isinstance(other, Value) and other.kind == "mask":  # a count plus a mask
            other = self.lanes.convert(other, "zext", self.kind)
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
    """Operations on vectors of lanes, emitted to `flow`; real numbers are doubles."""

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

    def convert(self, x: Value, word: str, kind: str) -> Value:
        return Value(self, self.flow.emit(f"{word} {self.type(x.kind)} {x.name} to {self.type(kind)}"), kind)

    def where(self, mask: Any, a: Any, b: Any) -> Any:
        return (a if mask else b) if isinstance(mask, bool) else self.select(mask, a, b)

    def select(self, mask: Value, a: Any, b: Any) -> Value:
        """a in the lanes of the mask, b in the others."""
        known = next((x for x in (a, b) if isinstance(x, Value)), None)
        kind = known.kind if known is not None else "whole" if isinstance(a, int) else "real"
        name = self.flow.select(mask.name, self.operand(a, kind), self.operand(b, kind), self.type(kind))
        return Value(self, name, kind)

    def fma(self, a: Any, b: Any, c: Any) -> Value:
        return Value(self, self.flow.multiply_add(*(self.operand(x, "real") for x in (a, b, c))))

    minimum, maximum, absolute = intrinsic("minnum"), intrinsic("maxnum"), intrinsic("fabs")
    copysign, sqrt, floor = intrinsic("copysign"), intrinsic("sqrt"), intrinsic("floor")
    add, either = staticmethod(operator.add), staticmethod(operator.or_)

    def is_nan(self, x: Value) -> Value:
        return self.emit("fcmp uno", "real", x, x, result="mask")

    def frexp(self, x: Value) -> tuple[Value, Value]:
        """For positive normal numbers."""
        bits = self.convert(x, "bitcast", "whole")
        exponent = self.emit("lshr", "whole", bits, 52) - 1022
        mantissa = self.emit("or", "whole", self.emit("and", "whole", bits, (1 << 52) - 1), 1022 << 52)
        return self.convert(mantissa, "bitcast", "real"), self.convert(exponent, "sitofp", "real")

    def ldexp(self, x: Value, exponent: Value) -> Value:
        """For exponents of moderate size."""
        power = self.convert(exponent, "fptosi", "whole") + 1023
        return x * self.convert(self.emit("shl", "whole", power, 52), "bitcast", "real")


Combine = Callable[[Any, Any], Any]  # a binary operation
CHAINS = 4  # independent chains of a reduction over components


class Index:
    """The index of a loop, the same for all lanes. Comparisons return the name of a condition."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, lanes: LlvmLanes, name: str) -> None:
        self.lanes, self.name = lanes, name

    def write(self, word: str, other: Any) -> str:
        return self.lanes.flow.emit(f"{word} i64 {self.name}, {other}")

    def __add__(self, other: int) -> Index:
        return Index(self.lanes, self.write("add", other)) if other else self

    def __and__(self, other: int) -> Index:
        return Index(self.lanes, self.write("and", other))

    def __lt__(self, other: int) -> str:
        return self.write("icmp ult", other)

    def __gt__(self, other: int) -> str:
        return self.write("icmp ugt", other)

    def __eq__(self, other: object) -> str:  # type: ignore[override]
        return self.write("icmp eq", other)


class Array:
    """A vector of each lane in memory."""

    def __init__(self, lanes: LlvmLanes, pointer: str, size: int = 1, offset: int = 0) -> None:
        self.lanes, self.pointer, self.size, self.offset = lanes, pointer, size, offset

    @property
    def address(self) -> str:
        return self.lanes.flow.place(self.pointer, self.offset) if self.offset else self.pointer

    def index(self, i: Any) -> str | int:
        return (i + self.offset).name if isinstance(i, Index) else i + self.offset

    def __getitem__(self, i: Any) -> Any:
        return Value(self.lanes, self.lanes.flow.load(self.pointer, self.index(i)))

    def __setitem__(self, i: Any, value: Any) -> None:
        self.lanes.flow.store(self.lanes.operand(value, "real"), self.pointer, self.index(i))


class Arrays(Array):
    """Contiguous vectors of the same size."""

    def __getitem__(self, j: int) -> Array:
        return Array(self.lanes, self.pointer, self.size, j * self.size)


class Scalars(Array):
    """Numbers in memory that all lanes share."""

    def __getitem__(self, i: Index) -> Value:
        flow = self.lanes.flow
        x = flow.emit(f"load double, ptr {flow.element('double', self.pointer, i.name)}")
        return Value(self.lanes, flow.splat(x))


class Variable(Array):
    value = property(lambda self: self[0], lambda self, value: self.__setitem__(0, value))


class Fold:
    """A reduction over the components of vectors, starting from 0, in independent chains."""

    def __init__(self, lanes: LlvmLanes, combine: Combine) -> None:
        self.combine, self.chains = combine, Array(lanes, lanes.flow.slot(lanes.layout.vector, CHAINS))
        for chain in range(CHAINS):
            self.chains[chain] = 0.0

    def include(self, i: Index, value: Value) -> None:
        chain = i & (CHAINS - 1)
        self.chains[chain] = self.combine(self.chains[chain], value)

    def result(self) -> Any:
        return reduce(self.combine, (self.chains[chain] for chain in range(CHAINS)))


class State:
    """The record of the trajectory in each lane. Reading a field loads it; assignment stores it."""

    lanes: LlvmLanes
    fields: dict[str, tuple[int, str]]

    def __init__(self, lanes: LlvmLanes, kinds: Mapping[str, str]) -> None:
        fields = {name: (k, kind) for k, (name, kind) in enumerate(kinds.items())}
        self.__dict__.update(lanes=lanes, fields=fields)

    def __getattr__(self, name: str) -> Value:
        position, kind = self.fields[name]
        return Value(self.lanes, self.lanes.flow.load("%context", position, self.lanes.type(kind)), kind)

    def __setattr__(self, name: str, value: Any) -> None:
        position, kind = self.fields[name]
        self.lanes.flow.store(self.lanes.operand(value, kind), "%context", position, self.lanes.type(kind))


class LlvmLanes(Arithmetic):
    """The lanes of `advance`; see `driver_text`. %context holds the record of each lane, then reserved vectors."""

    def __init__(
        self, layout: Layout, record: Mapping[str, type], size: int, events: int = 0, parameters: int = 0
    ) -> None:
        super().__init__(layout)
        self.texts: dict[str, str] = {}  # called functions by name
        self.vectors = 0
        self.size, self.events = size, events
        kinds = {name: "whole" if kind is int else "real" for name, kind in record.items()}
        self.state = State(self, kinds)
        self.reserve(len(kinds))
        self.y, self.values = self.array(size), self.array(events)
        self.flow.lines.append(f"  %p = getelementptr {layout.vector}, ptr %context, i64 {self.vectors}")
        self.stored = self.vectors  # numbers of a record to write back
        self.row = self.stored + parameters
        self.reserve(parameters)
        self.index = self.reserve(1)  # the trajectory of each lane; -1: none
        self.end, self.rtol = (Value(self, self.flow.splat(name)) for name in ("%end", "%rtol"))
        self.samples, self.room, self.max_steps = (
            Value(self, self.flow.splat(name, "i64"), "whole") for name in ("%samples", "%room", "%max_steps")
        )
        self.atol = Scalars(self, "%atol")

    # memory

    def reserve(self, vectors: int) -> int:
        start, self.vectors = self.vectors, self.vectors + vectors
        return start

    def array(self, size: int) -> Array:
        return Array(self, self.flow.place("%context", self.reserve(size)), size)

    def arrays(self, count: int, size: int) -> Arrays:
        return Arrays(self, self.flow.place("%context", self.reserve(count * size)), size)

    def variable(self) -> Variable:
        return Variable(self, self.flow.slot(self.layout.vector))

    # control flow

    def components(self, size: int) -> Iterator[Index]:
        return self.repeat(size)

    def repeat(self, count: int) -> Iterator[Index]:
        with self.flow.counted(count) as index:
            yield Index(self, index)

    def forever(self) -> Iterator[None]:
        with self.flow.endless():
            yield

    def when(self, mask: Value, condition: str = "") -> Iterator[None]:
        some = self.flow.emit(f"icmp ne i64 {self.flow.bits(mask.name)}, 0")
        with self.flow.when(self.flow.emit(f"and i1 {condition}, {some}") if condition else some):
            yield

    def leave(self, condition: str) -> bool:
        self.flow.leave(condition)
        return False

    def none(self, mask: Value) -> str:
        return self.flow.emit(f"icmp eq i64 {self.flow.bits(mask.name)}, 0")

    def pick(self, condition: str, a: Any, b: Any) -> Value:
        v = self.layout.vector
        name = self.flow.emit(f"select i1 {condition}, {v} {self.operand(a, 'real')}, {v} {self.operand(b, 'real')}")
        return Value(self, name)

    def number(self, k: Index) -> Value:
        return Value(self, self.flow.splat(self.flow.emit(f"uitofp i64 {k.name} to double")))

    def call(self, function: Callable[..., None], *arguments: Any) -> None:
        """Call a separate function, emitted at its first call."""
        name = f"@{function.__name__}_{self.layout.lanes}"
        kinds = [self.layout.vector if isinstance(x, Value) else "ptr" for x in arguments]
        if name not in self.texts:
            outer, self.flow = self.flow, Flow(self.layout)
            inner = [
                Value(self, f"%a{k}") if isinstance(x, Value) else type(x)(self, f"%a{k}", x.size)
                for k, x in enumerate(arguments)
            ]
            function(*inner)
            heads = ", ".join(f"{kind} %a{k}" for k, kind in enumerate(kinds))
            self.texts[name] = self.flow.function(f"internal void {name}({heads}, ptr %p)")
            self.flow = outer
        names = [x.name if isinstance(x, Value) else x.address for x in arguments]
        passed = ", ".join(f"{kind} {x}" for kind, x in zip(kinds, names, strict=True))
        self.flow.lines.append(f"  call void {name}({passed}, ptr %p)")

    # components, and events

    def fold(self, combine: Combine) -> Fold:
        return Fold(self, combine)

    def per_event(self, numbers: Sequence[float]) -> Sequence[float]:
        return numbers

    def map_events(self, function: Callable[[int], Any]) -> list[Any]:
        return [function(e) for e in range(self.events)]

    def unrolled(self, which: Sequence[int]) -> Iterator[int]:
        yield from which

    def reduce(self, combine: Combine, numbers: Sequence[Any], which: Sequence[int]) -> Any:
        return reduce(combine, (numbers[e] for e in which)) if which else False

    # what is integrated, samples and log

    def rhs(self, t: Value, y: Array, out: Array) -> None:
        self.evaluate("rhs", t, y, out)

    def event_values(self, t: Value, y: Array, out: Array) -> None:
        self.evaluate("event_values", t, y, out)

    def evaluate(self, function: str, t: Value, y: Array, out: Array) -> None:
        name, v = f"@{function}_{self.layout.lanes}", self.layout.vector
        self.flow.lines.append(f"  call void {name}({v} {t.name}, ptr {y.address}, ptr %p, ptr {out.address})")

    def sample_time(self, index: Value) -> Value:
        flow, v, times = self.flow, self.layout.vector, "poison"
        flow.declared.add("declare i64 @llvm.umin.i64(i64, i64)")
        last = flow.emit("sub i64 %samples, 1")
        for lane in range(self.layout.lanes):
            number = flow.emit(f"call i64 @llvm.umin.i64(i64 {flow.of_lane(index.name, lane, 'i64')}, i64 {last})")
            x = flow.emit(f"load double, ptr {flow.element('double', '%times', number)}")
            times = x if self.layout.lanes == 1 else flow.emit(f"insertelement {v} {times}, double {x}, i64 {lane}")
        return Value(self, times)

    def write_sample(self, mask: Value, index: Value, y: Array) -> None:
        for lane, start in self.rows(mask, index, "%out", "%samples", self.size):
            self.copy_lane(y, lane, start)

    def write_log(self, mask: Value, row: Value, t: Value, which: Value, y: Array) -> None:
        for lane, start in self.rows(mask & (row < self.room), row, "%log", "%room", self.size + 2):
            for k, x in enumerate((t, which)):
                target = self.flow.element("double", start, k)
                self.flow.lines.append(f"  store double {self.flow.of_lane(x.name, lane)}, ptr {target}")
            self.copy_lane(y, lane, self.flow.element("double", start, 2))

    def rows(self, mask: Value, row: Value, array: str, rows: str, size: int) -> Iterator[tuple[int, str]]:
        """The lanes of the mask with the addresses of their rows; each trajectory has `rows` of them."""
        flow = self.flow
        index, bits = flow.load("%context", self.index, self.type("whole")), flow.bits(mask.name)
        for lane in range(self.layout.lanes):
            bit = flow.emit(f"and i64 {bits}, {1 << lane}")
            with flow.when(flow.emit(f"icmp ne i64 {bit}, 0")):
                first = flow.emit(f"mul i64 {flow.of_lane(index, lane, 'i64')}, {rows}")
                number = flow.emit(f"add i64 {first}, {flow.of_lane(row.name, lane, 'i64')}")
                yield lane, flow.element("double", array, flow.emit(f"mul i64 {number}, {size}"))

    def copy_lane(self, y: Array, lane: int, target: str) -> None:
        flow = self.flow
        with flow.counted(self.size) as i:
            source = flow.emit(f"add i64 {flow.emit(f'mul i64 {i}, {self.layout.lanes}')}, {lane}")
            x = flow.emit(f"load double, ptr {flow.element('double', y.address, source)}")
            flow.lines.append(f"  store double {x}, ptr {flow.element('double', target, i)}")
