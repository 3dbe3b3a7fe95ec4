"""The fast path of a call: a Python function in machine code that checks the arrays and runs the kernel.

It takes contiguous arrays of the kernel's dtype and of the right shape, for one state or a moderate batch, with or
without `out=` and `threads=1`. Scalar inputs may be Python or NumPy floats. All other calls fail a guard and are passed
unchanged to a Python function, the fallback (the entry's `self`). The offsets of the objects' fields are probed at the
first use of kernels (`object_layout`). If a probe fails, there is no entry and the fallback is called directly.

Inputs are not overwritten before all results are finite: results that share memory with inputs are first computed into
new arrays, and a call with a non-finite result (see `block_W`) goes to the fallback with its inputs intact.
"""

from __future__ import annotations

import ctypes
import math
import struct
import sys
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, NamedTuple, Protocol

import numpy as np

from .interface import Interface
from .object_layout import (
    ALIGNED,
    ARRAY_NEW,
    ARRAY_RETURN,
    CONTIGUOUS,
    WRITEABLE,
    ObjectLayout,
    array_functions,
    object_layout,
)


class EnteredCode(Protocol):
    """Code in the host's memory."""

    def address(self, name: str) -> int:
        """Address of a function or variable; 0 if there is none."""


TYPE_NUMBERS = {"float64": 12, "float32": 11}  # NumPy's
PLAIN = CONTIGUOUS | ALIGNED
OBJECTS = ("array_type", "tuple_type", "float_type", "scalar_type", "description", "out", "threads", "one")
FUNCTIONS = ("new_array", "as_scalar", "vectorcall", "acquire", "release", "new_tuple", "set_item", "allocate", "free")
WORDS = (*OBJECTS, *FUNCTIONS)
FASTCALL_WITH_KEYWORDS = 0x82
METHOD = "@PPiP"  # Python's PyMethodDef: name, function, flags, documentation

Shape = tuple[int, ...]


def supported() -> bool:
    """Whether the objects of this process can be read in memory."""
    return object_layout() is not None and array_functions() is not None


def has_entry(interface: Interface) -> bool:
    """Whether a kernel has an entry, for which it must have inputs and outputs."""
    return supported() and bool(interface.inputs) and bool(interface.outputs)


def addresses(dtype: str) -> list[int]:
    """Addresses of objects and functions of this process, in the order of WORDS."""
    python, numpy_functions = ctypes.pythonapi, array_functions()
    calls = (python.PyObject_Vectorcall, python.Py_IncRef, python.Py_DecRef)
    tuples, memory = (python.PyTuple_New, python.PyTuple_SetItem), (python.PyMem_RawMalloc, python.PyMem_RawFree)
    kind, names = np.dtype(dtype), (sys.intern("out"), sys.intern("threads"))
    objects = (np.ndarray, tuple, float, kind.type, kind, *names)
    return [
        *map(id, objects),
        id(1),  # there is only one object 1
        *(int(numpy_functions[index]) for index in (ARRAY_NEW, ARRAY_RETURN)),
        *(int(ctypes.cast(function, ctypes.c_void_p).value or 0) for function in (*calls, *tuples, *memory)),
    ]


def entry_function(code: EnteredCode, dtype: str, name: str, fallback: Callable[..., Any]) -> Any:
    """The entry of compiled code as a built-in function; `fallback` takes the other calls."""
    table = (ctypes.c_int64 * len(WORDS)).from_address(code.address("python"))
    for k, address in enumerate(addresses(dtype)):
        table[k] = address
    label = name.encode("ascii", "replace")
    definition = struct.pack(METHOD, address_of(label), code.address("entry"), FASTCALL_WITH_KEYWORDS, 0)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return make(address_of(definition), Fallback(fallback, code, definition, label), None)


def address_of(text: bytes) -> int:
    return int(ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p).value or 0)


class Fallback(NamedTuple):
    """The function that the entry calls if a guard fails. It keeps the data of the entry alive.

    Python reads an entry's definition until it frees the entry. The garbage collector clears objects before it frees
    them, except tuples and bytes.
    """

    function: Callable[..., Any]
    code: EnteredCode
    definition: bytes
    label: bytes

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.function(*arguments, **named)


class Writer:
    """Emits instructions; a guard that fails jumps to the label %slow."""

    def __init__(self, lines: list[str], layout: ObjectLayout) -> None:
        self.lines, self.layout = lines, layout
        self.names = 0

    def emit(self, instruction: str) -> str:
        self.names += 1
        name = f"%x{self.names}"
        self.lines.append(f"  {name} = {instruction}")
        return name

    def store(self, kind: str, value: str, pointer: str) -> None:
        self.lines.append(f"  store {kind} {value}, ptr {pointer}")

    def call(self, word: str, result: str, arguments: str) -> str:
        """Call a function of Python or NumPy, by its word in WORDS."""
        function = self.emit(f"inttoptr i64 %{word} to ptr")
        if result == "void":
            self.lines.append(f"  call void {function}({arguments})")
            return ""
        return self.emit(f"call {result} {function}({arguments})")

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def go(self, label: str) -> None:
        self.lines.append(f"  br label %{label}")

    def branch(self, condition: str, yes: str, no: str) -> None:
        self.lines.append(f"  br i1 {condition}, label %{yes}, label %{no}")

    def fresh(self) -> str:
        self.names += 1
        return f"l{self.names}"

    def guard(self, condition: str, failed: str = "slow") -> None:
        """Continue if the condition holds, otherwise jump to the label `failed`."""
        passed = self.fresh()
        self.branch(condition, passed, failed)
        self.label(passed)

    def offset(self, pointer: str, offset: int) -> str:
        return self.emit(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    def at(self, pointer: str, offset: int, kind: str) -> str:
        return self.emit(f"load {kind}, ptr {self.offset(pointer, offset)}")

    def equal(self, kind: str, a: str, b: str) -> str:
        return self.emit(f"icmp eq {kind} {a}, {b}")

    def is_a(self, instance: str, word: str) -> str:
        """Whether an object is exactly of the type of this word."""
        return self.equal("i64", self.at(instance, self.layout.type, "i64"), f"%{word}")

    def array(self, instance: str, flags: int, shape: Shape, batched: bool = False) -> tuple[str, str]:
        """Guard for an array of the dtype and, behind the batch, of this shape; its data and its shape."""
        layout = self.layout
        self.guard(self.is_a(instance, "array_type"))
        described = self.equal("i64", self.at(instance, layout.array_dtype, "i64"), "%description")
        held = self.emit(f"and i32 {self.at(instance, layout.array_flags, 'i32')}, {flags}")
        plain = self.equal("i32", held, str(flags))
        rank = self.equal("i32", self.at(instance, layout.array_rank, "i32"), str(len(shape) + batched))
        self.guard(self.emit(f"and i1 {rank}, {self.emit(f'and i1 {described}, {plain}')}"))
        axes = self.at(instance, layout.array_shape, "ptr")
        for k, size in enumerate(shape):
            self.guard(self.equal("i64", self.at(axes, 8 * (k + batched), "i64"), str(size)))
        return self.at(instance, layout.array_data, "ptr"), axes

    def number(self, instance: str, dtype: str, k: int) -> str:
        """The address of a scalar input: an array, a NumPy scalar of the dtype or a Python float."""
        layout, there = self.layout, f"%number{k}"
        array, others, scalar, last, done = (self.fresh() for _ in range(5))
        self.branch(self.is_a(instance, "array_type"), array, others)
        self.label(array)
        self.store("ptr", self.array(instance, PLAIN, ())[0], there)
        self.go(done)
        self.label(others)
        self.branch(self.is_a(instance, "scalar_type"), scalar, last)
        self.label(scalar)
        self.store("ptr", self.offset(instance, getattr(layout, f"{dtype}_value")), there)
        self.go(done)
        self.label(last)
        self.guard(self.is_a(instance, "float_type"))
        if dtype == "float64":
            self.store("ptr", self.offset(instance, layout.float_value), there)
        else:
            rounded = self.emit(f"fptrunc double {self.at(instance, layout.float_value, 'double')} to float")
            self.store("float", rounded, f"%rounded{k}")
            self.store("ptr", f"%rounded{k}", there)
        self.go(done)
        self.label(done)
        return self.emit(f"load ptr, ptr {there}")

    def options(self, count: int) -> None:
        """Read the keyword `out` as %out_argument; guard against others except threads=1."""
        self.branch(self.emit("icmp eq ptr %names, null"), "asked", "named")
        self.label("named")
        length = self.at("%names", self.layout.tuple_length, "i64")
        self.guard(self.emit(f"icmp ule i64 {length}, 2"))
        self.option(count, 0)
        self.branch(self.equal("i64", length, "2"), "second", "asked")
        self.label("second")
        self.option(count, 1)
        self.go("asked")
        self.label("asked")

    def option(self, count: int, k: int) -> None:
        name = self.at("%names", self.layout.tuple_items + 8 * k, "i64")
        value = self.at("%args", 8 * (count + k), "i64")
        self.branch(self.equal("i64", name, "%out"), f"out_{k}", f"threads_{k}")
        self.label(f"out_{k}")
        self.store("i64", value, "%out_argument")
        self.go(f"known_{k}")
        self.label(f"threads_{k}")
        threads = self.equal("i64", name, "%threads")
        self.guard(self.emit(f"and i1 {threads}, {self.equal('i64', value, '%one')}"))
        self.go(f"known_{k}")
        self.label(f"known_{k}")

    def disjoint(self, one: str, one_bytes: str, other: str, other_bytes: str) -> str:
        """Whether two memory ranges do not overlap."""
        a, b = (self.emit(f"ptrtoint ptr {p} to i64") for p in (one, other))
        a_end, b_end = self.emit(f"add i64 {a}, {one_bytes}"), self.emit(f"add i64 {b}, {other_bytes}")
        return self.emit(f"or i1 {self.emit(f'icmp ule i64 {a_end}, {b}')}, {self.emit(f'icmp ule i64 {b_end}, {a}')}")


class Entry(NamedTuple):
    """The parameters of the text of an entry."""

    inputs: Sequence[Shape]
    outputs: Sequence[Shape]
    dtype: str
    limit: int  # states of one call
    block_bytes: int | None  # work memory of one state; None: it is computed as a batch of one
    batch_bytes: int  # work memory of a batch

    def text(self) -> str:
        """`@entry`, over `@block_1` and `@batch`."""
        layout = object_layout()
        assert layout is not None, "an entry where there can be none"
        every, count = range(len(self.outputs)), len(self.inputs)
        head = [
            f"@python = dso_local global [{len(WORDS)} x i64] zeroinitializer",
            "define ptr @entry(ptr %self, ptr %args, i64 %nargs, ptr %names) #0 {",
            "start:",
            f"  %dims = alloca [{max(map(len, self.outputs)) + 1} x i64]",
            *(f"  %{name}{k} = alloca ptr" for k in every for name in ("result", "target")),
            *(f"  %number{k} = alloca ptr\n  %rounded{k} = alloca float" for k in range(count)),
            "  %out_argument = alloca i64",
            "  store i64 0, ptr %out_argument",
            *(f"  store ptr null, ptr %result{k}" for k in every),
        ]
        for k, word in enumerate(WORDS):
            head += [f"  %{word}_at = getelementptr i64, ptr @python, i64 {k}", f"  %{word} = load i64, ptr %{word}_at"]
        w = Writer(head, layout)
        w.guard(w.equal("i64", "%nargs", str(count)))
        w.options(count)
        out_argument = w.emit("load ptr, ptr %out_argument")
        objects = [w.at("%args", 8 * k, "ptr") for k in range(count)]
        leader = next(
            (k for k, shape in enumerate(self.inputs) if shape), 0
        )  # its axes distinguish one state from a batch
        is_array, rank = w.is_a(objects[leader], "array_type"), len(self.inputs[leader])
        w.guard(is_array, "slow" if rank else "single")
        ranks = w.at(objects[leader], layout.array_rank, "i32")
        w.branch(w.equal("i32", ranks, str(rank)), "single", "several")
        for batched in (False, True):
            self.path(w, objects, out_argument, batched)

        for label, end in (("give_up", "br label %slow"), ("failed", "ret ptr null")):
            w.label(label)
            for k in every:
                w.call("release", "void", f"ptr {w.emit(f'load ptr, ptr %result{k}')}")  # null is ignored
            w.lines.append(f"  {end}")
        w.label("slow")
        result = w.call("vectorcall", "ptr", "ptr %self, ptr %args, i64 %nargs, ptr %names")
        w.lines.append(f"  ret ptr {result}")
        return "\n".join([*w.lines, "}", ""])

    def path(self, w: Writer, objects: Sequence[str], out_argument: str, batched: bool) -> None:
        """The path for one state, or for a batch."""
        tag, rows = ("several", "") if batched else ("single", "1")
        w.label(tag)
        data = []
        for k, (instance, shape) in enumerate(zip(objects, self.inputs, strict=True)):
            if not batched and not shape:
                data.append(w.number(instance, self.dtype, k))
                continue
            pointer, axes = w.array(instance, PLAIN, shape, batched)
            data.append(pointer)
            if batched:
                length = w.at(axes, 0, "i64")
                w.guard(w.equal("i64", length, rows) if rows else w.emit(f"icmp ule i64 {length}, {self.limit}"))
                rows = rows or length
        itemsize = np.dtype(self.dtype).itemsize
        in_bytes = [w.emit(f"mul i64 {rows}, {itemsize * math.prod(shape)}") for shape in self.inputs]
        counts = [w.emit(f"mul i64 {rows}, {math.prod(shape)}") for shape in self.outputs]
        has_out = w.emit(f"icmp ne ptr {out_argument}, null")
        w.branch(has_out, f"into_out_{tag}", f"make_{tag}")

        w.label(f"into_out_{tag}")
        outs = self.out_arrays(w, out_argument, rows if batched else "")
        out_bytes = [w.emit(f"mul i64 {count}, {itemsize}") for count in counts]
        for i, j in combinations(range(len(outs)), 2):
            w.guard(w.disjoint(outs[i], out_bytes[i], outs[j], out_bytes[j]))
        for k, out in enumerate(outs):
            w.store("ptr", out, f"%target{k}")
            for pointer, size in zip(data, in_bytes, strict=True):
                w.guard(w.disjoint(out, out_bytes[k], pointer, size), f"make_{tag}")
        w.go(f"run_{tag}")

        w.label(f"make_{tag}")
        for k, shape in enumerate(self.outputs):
            self.make_array(w, k, (rows, *shape) if batched else shape)
        w.go(f"run_{tag}")

        w.label(f"run_{tag}")
        targets = [w.emit(f"load ptr, ptr %target{k}") for k in range(len(self.outputs))]
        as_batch = batched or self.block_bytes is None
        function = f"@batch(i64 0, i64 {rows}, " if as_batch else "@block_1("
        memory = self.block_bytes if self.block_bytes is not None and not batched else self.batch_bytes
        non_finite = self.run(w, function, [*data, *targets], memory)
        w.guard(w.equal("i64", non_finite, "0"), "give_up")
        w.branch(has_out, f"filled_{tag}", f"new_{tag}")

        w.label(f"filled_{tag}")
        aside = w.emit("icmp ne ptr " + w.emit("load ptr, ptr %result0") + ", null")
        w.branch(aside, f"copy_{tag}", f"return_{tag}")
        w.label(f"copy_{tag}")
        for k, (target, count) in enumerate(zip(targets, counts, strict=True)):
            out = self.out_data(w, out_argument, k)
            w.lines.append(f"  call void @copy(ptr {out}, ptr {target}, i64 {count})")
            w.call("release", "void", f"ptr {w.emit(f'load ptr, ptr %result{k}')}")
        w.go(f"return_{tag}")
        w.label(f"return_{tag}")
        w.call("acquire", "void", f"ptr {out_argument}")  # the returned reference
        w.lines.append(f"  ret ptr {out_argument}")

        w.label(f"new_{tag}")
        for k, shape in enumerate(self.outputs):
            if not shape and not batched:  # a number, as NumPy gives it
                scalar = w.call("as_scalar", "ptr", f"ptr {w.emit(f'load ptr, ptr %result{k}')}")
                w.store("ptr", scalar, f"%result{k}")
                w.guard(w.emit(f"icmp ne ptr {scalar}, null"), "failed")
        results = [w.emit(f"load ptr, ptr %result{k}") for k in range(len(self.outputs))]
        if len(results) == 1:
            w.lines.append(f"  ret ptr {results[0]}")
            return
        several = w.call("new_tuple", "ptr", f"i64 {len(results)}")
        w.guard(w.emit(f"icmp ne ptr {several}, null"), "failed")
        for k, array in enumerate(results):
            w.call("set_item", "i32", f"ptr {several}, i64 {k}, ptr {array}")
        w.lines.append(f"  ret ptr {several}")

    def out_arrays(self, w: Writer, out_argument: str, rows: str) -> list[str]:
        """Guard for `out`, an array or a tuple of arrays; the addresses of their numbers."""
        if len(self.outputs) > 1:
            w.guard(w.is_a(out_argument, "tuple_type"))
            length = w.at(out_argument, w.layout.tuple_length, "i64")
            w.guard(w.equal("i64", length, str(len(self.outputs))))
        pointers = []
        for k, shape in enumerate(self.outputs):
            pointer, axes = w.array(self.out_item(w, out_argument, k), PLAIN | WRITEABLE, shape, bool(rows))
            if rows:
                w.guard(w.equal("i64", w.at(axes, 0, "i64"), rows))
            pointers.append(pointer)
        return pointers

    def out_item(self, w: Writer, out_argument: str, k: int) -> str:
        return out_argument if len(self.outputs) == 1 else w.at(out_argument, w.layout.tuple_items + 8 * k, "ptr")

    def out_data(self, w: Writer, out_argument: str, k: int) -> str:
        return w.at(self.out_item(w, out_argument, k), w.layout.array_data, "ptr")

    def make_array(self, w: Writer, k: int, shape: Sequence[int | str]) -> None:
        """Allocate %result{k}, whose numbers are at %target{k}; if memory is short, raise Python's error."""
        for axis, size in enumerate(shape):
            w.store("i64", str(size), w.emit(f"getelementptr i64, ptr %dims, i64 {axis}"))
        kind, number = w.emit("inttoptr i64 %array_type to ptr"), TYPE_NUMBERS[self.dtype]
        rest = "ptr null, ptr null, i32 0, i32 0, ptr null"
        new = w.call("new_array", "ptr", f"ptr {kind}, i32 {len(shape)}, ptr %dims, i32 {number}, {rest}")
        w.store("ptr", new, f"%result{k}")
        w.guard(w.emit(f"icmp ne ptr {new}, null"), "failed")
        w.store("ptr", w.at(new, w.layout.array_data, "ptr"), f"%target{k}")

    def run(self, w: Writer, function: str, arrays: Sequence[str], work_bytes: int) -> str:
        """Call the kernel, with work memory if needed; the count of non-finite results."""
        pointers = ", ".join(f"ptr {pointer}" for pointer in arrays)
        if not work_bytes:
            return w.emit(f"call i64 {function}ptr null, {pointers})")
        work = w.call("allocate", "ptr", f"i64 {work_bytes}")
        w.guard(w.emit(f"icmp ne ptr {work}, null"), "give_up")
        non_finite = w.emit(f"call i64 {function}ptr {work}, {pointers})")
        w.call("free", "void", f"ptr {work}")
        return non_finite
