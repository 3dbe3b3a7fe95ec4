"""A Python entry in machine code: it looks at the arrays itself, asks NumPy for the results, and runs the kernel.

Arrays of the kernel's own type, contiguous and of the right shape, for one state or for a batch of not too many, take
this road, which costs as little as a call of a built-in function can; so do `out=` and `threads=1` with them. Inputs of
a single number per state may be Python's and NumPy's floats. All others, and whatever else is unusual, are handed as
they are to a Python function (the entry's `self`). Where objects keep their parts is probed when the process starts to
use kernels (`layout`); where that cannot be told, there is no entry, and that Python function takes its place.

Inputs stay as they are until all results are known to be good. So results that are to go over inputs are first computed
aside, and a state that is lost (see `block_W`) is handed on with all its numbers.
"""

from __future__ import annotations

import ctypes
import math
import struct
import sys
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from .host import Code
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

TYPE_NUMBERS = {"float64": 12, "float32": 11}  # NumPy's
PLAIN = CONTIGUOUS | ALIGNED
OBJECTS = ("array_type", "tuple_type", "float_type", "scalar_type", "description", "out", "threads", "one")
FUNCTIONS = ("new_array", "as_scalar", "vectorcall", "acquire", "release", "new_tuple", "set_item", "allocate", "free")
WORDS = (*OBJECTS, *FUNCTIONS)
FASTCALL_WITH_KEYWORDS = 0x82
METHOD = "@PPiP"  # Python's PyMethodDef: name, function, flags, documentation

Shape = tuple[int, ...]


def usable() -> bool:
    """Whether the entry can read the objects of this process."""
    return object_layout() is not None and array_functions() is not None


def addresses(dtype: str) -> list[int]:
    """What the entry has to know of this process, in the order of WORDS."""
    python, numpy_functions = ctypes.pythonapi, array_functions()
    called = (
        python.PyObject_Vectorcall,
        python.Py_IncRef,
        python.Py_DecRef,
        python.PyTuple_New,
        python.PyTuple_SetItem,
    )
    memory = (python.PyMem_RawMalloc, python.PyMem_RawFree)
    objects = (
        np.ndarray,
        tuple,
        float,
        np.dtype(dtype).type,
        np.dtype(dtype),
        sys.intern("out"),
        sys.intern("threads"),
    )
    return [
        *map(id, objects),
        id(1),  # Python has but one 1
        *(int(numpy_functions[place]) for place in (ARRAY_NEW, ARRAY_RETURN)),
        *(int(ctypes.cast(function, ctypes.c_void_p).value or 0) for function in (*called, *memory)),
    ]


def entered(code: Code, dtype: str, name: str, otherwise: Callable[..., Any]) -> Any:
    """The entry of compiled code as a built-in function, with `otherwise` for the arrays that it does not take."""
    table = (ctypes.c_int64 * len(WORDS)).from_address(code.variable("python"))
    for k, address in enumerate(addresses(dtype)):
        table[k] = address
    label = name.encode("ascii", "replace")
    definition = struct.pack(METHOD, place(label), code.function("entry"), FASTCALL_WITH_KEYWORDS, 0)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return make(place(definition), Otherwise(otherwise, code, definition, label), None)


def place(text: bytes) -> int:
    return int(ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p).value or 0)


class Otherwise(NamedTuple):
    """What the entry hands arrays to; it keeps alive what the entry is made of.

    Python looks at an entry's definition to the last, and the garbage collector empties objects before it frees them,
    but neither tuples nor bytes.
    """

    function: Callable[..., Any]
    code: Code
    definition: bytes
    label: bytes

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.function(*arguments, **named)


class Writer:
    """Instructions that leave for the label %slow when something is not as it should be."""

    def __init__(self, lines: list[str], layout: ObjectLayout) -> None:
        self.lines, self.layout = lines, layout
        self.names = 0

    def say(self, instruction: str) -> str:
        self.names += 1
        name = f"%x{self.names}"
        self.lines.append(f"  {name} = {instruction}")
        return name

    def store(self, kind: str, value: str, pointer: str) -> None:
        self.lines.append(f"  store {kind} {value}, ptr {pointer}")

    def call(self, word: str, result: str, arguments: str) -> str:
        """A function of Python's or NumPy's, by its word in WORDS."""
        function = self.say(f"inttoptr i64 %{word} to ptr")
        if result == "void":
            self.lines.append(f"  call void {function}({arguments})")
            return ""
        return self.say(f"call {result} {function}({arguments})")

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def go(self, label: str) -> None:
        self.lines.append(f"  br label %{label}")

    def branch(self, condition: str, yes: str, no: str) -> None:
        self.lines.append(f"  br i1 {condition}, label %{yes}, label %{no}")

    def fresh(self) -> str:
        self.names += 1
        return f"l{self.names}"

    def insist(self, condition: str, otherwise: str = "slow") -> None:
        ok = self.fresh()
        self.branch(condition, ok, otherwise)
        self.label(ok)

    def offset(self, pointer: str, offset: int) -> str:
        return self.say(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    def at(self, pointer: str, offset: int, kind: str) -> str:
        return self.say(f"load {kind}, ptr {self.offset(pointer, offset)}")

    def equal(self, kind: str, a: str, b: str) -> str:
        return self.say(f"icmp eq {kind} {a}, {b}")

    def is_a(self, thing: str, word: str) -> str:
        """Whether an object is of the type of this word, and of no subtype."""
        return self.equal("i64", self.at(thing, self.layout.type, "i64"), f"%{word}")

    def array(self, thing: str, flags: int, shape: Shape, batched: bool = False) -> tuple[str, str]:
        """Insist on an array of our type, of this shape after the batch, and give its data and its whole shape."""
        layout = self.layout
        self.insist(self.is_a(thing, "array_type"))
        described = self.equal("i64", self.at(thing, layout.array_dtype, "i64"), "%description")
        held = self.say(f"and i32 {self.at(thing, layout.array_flags, 'i32')}, {flags}")
        plain = self.equal("i32", held, str(flags))
        rank = self.equal("i32", self.at(thing, layout.array_rank, "i32"), str(len(shape) + batched))
        self.insist(self.say(f"and i1 {rank}, {self.say(f'and i1 {described}, {plain}')}"))
        place = self.at(thing, layout.array_shape, "ptr")
        for k, size in enumerate(shape):
            self.insist(self.equal("i64", self.at(place, 8 * (k + batched), "i64"), str(size)))
        return self.at(thing, layout.array_data, "ptr"), place

    def number(self, thing: str, dtype: str, k: int) -> str:
        """Where the number of an input without axes is: in an array, in a scalar of our type, or in a Python float."""
        layout, there = self.layout, f"%number{k}"
        array, others, scalar, last, done = (self.fresh() for _ in range(5))
        self.branch(self.is_a(thing, "array_type"), array, others)
        self.label(array)
        self.store("ptr", self.array(thing, PLAIN, ())[0], there)
        self.go(done)
        self.label(others)
        self.branch(self.is_a(thing, "scalar_type"), scalar, last)
        self.label(scalar)
        self.store("ptr", self.offset(thing, getattr(layout, f"{dtype}_value")), there)
        self.go(done)
        self.label(last)
        self.insist(self.is_a(thing, "float_type"))
        if dtype == "float64":
            self.store("ptr", self.offset(thing, layout.float_value), there)
        else:
            rounded = self.say(f"fptrunc double {self.at(thing, layout.float_value, 'double')} to float")
            self.store("float", rounded, f"%rounded{k}")
            self.store("ptr", f"%rounded{k}", there)
        self.go(done)
        self.label(done)
        return self.say(f"load ptr, ptr {there}")

    def options(self, count: int) -> None:
        """Of the keywords, `out` as %theirs; insist on no others but threads=1."""
        self.branch(self.say("icmp eq ptr %names, null"), "asked", "named")
        self.label("named")
        length = self.at("%names", self.layout.tuple_length, "i64")
        self.insist(self.say(f"icmp ule i64 {length}, 2"))
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
        self.store("i64", value, "%theirs")
        self.go(f"known_{k}")
        self.label(f"threads_{k}")
        threads = self.equal("i64", name, "%threads")
        self.insist(self.say(f"and i1 {threads}, {self.equal('i64', value, '%one')}"))
        self.go(f"known_{k}")
        self.label(f"known_{k}")

    def apart(self, one: str, one_bytes: str, other: str, other_bytes: str) -> str:
        """Whether two pieces of memory have nothing in common."""
        a, b = (self.say(f"ptrtoint ptr {p} to i64") for p in (one, other))
        a_end, b_end = self.say(f"add i64 {a}, {one_bytes}"), self.say(f"add i64 {b}, {other_bytes}")
        return self.say(f"or i1 {self.say(f'icmp ule i64 {a_end}, {b}')}, {self.say(f'icmp ule i64 {b_end}, {a}')}")


class Entry(NamedTuple):
    """What the text of an entry depends on."""

    inputs: Sequence[Shape]
    outputs: Sequence[Shape]
    dtype: str
    limit: int  # states that are taken at once
    block_bytes: int  # of memory that one state needs
    batch_bytes: int  # and that a batch needs

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
            *(f"  %{name}{k} = alloca ptr" for k in every for name in ("made", "target")),
            *(f"  %number{k} = alloca ptr\n  %rounded{k} = alloca float" for k in range(count)),
            "  %theirs = alloca i64",
            "  store i64 0, ptr %theirs",
            *(f"  store ptr null, ptr %made{k}" for k in every),
        ]
        for k, word in enumerate(WORDS):
            head += [f"  %{word}_at = getelementptr i64, ptr @python, i64 {k}", f"  %{word} = load i64, ptr %{word}_at"]
        w = Writer(head, layout)
        w.insist(w.equal("i64", "%nargs", str(count)))
        w.options(count)
        theirs = w.say("load ptr, ptr %theirs")
        things = [w.at("%args", 8 * k, "ptr") for k in range(count)]
        leader = next((k for k, shape in enumerate(self.inputs) if shape), 0)  # its axes tell one state from a batch
        is_array, rank = w.is_a(things[leader], "array_type"), len(self.inputs[leader])
        if rank:
            w.insist(is_array)
        else:
            w.insist(is_array, "single")
        ranks = w.at(things[leader], layout.array_rank, "i32")
        w.branch(w.equal("i32", ranks, str(rank)), "single", "several")
        for batched in (False, True):
            self.way(w, things, theirs, batched)

        w.label("give_up")
        for k in every:
            w.call("release", "void", f"ptr {w.say(f'load ptr, ptr %made{k}')}")  # of null it takes no notice
        w.go("slow")
        w.label("failed")
        for k in every:
            w.call("release", "void", f"ptr {w.say(f'load ptr, ptr %made{k}')}")
        w.lines.append("  ret ptr null")
        w.label("slow")
        result = w.call("vectorcall", "ptr", "ptr %self, ptr %args, i64 %nargs, ptr %names")
        w.lines.append(f"  ret ptr {result}")
        return "\n".join([*w.lines, "}", ""])

    def way(self, w: Writer, things: Sequence[str], theirs: str, batched: bool) -> None:
        """One state, or a batch."""
        tag, rows = ("several", "") if batched else ("single", "1")
        w.label(tag)
        data = []
        for k, (thing, shape) in enumerate(zip(things, self.inputs, strict=True)):
            if not batched and not shape:
                data.append(w.number(thing, self.dtype, k))
                continue
            pointer, place = w.array(thing, PLAIN, shape, batched)
            data.append(pointer)
            if batched:
                length = w.at(place, 0, "i64")
                w.insist(w.equal("i64", length, rows) if rows else w.say(f"icmp ule i64 {length}, {self.limit}"))
                rows = rows or length
        itemsize = np.dtype(self.dtype).itemsize
        in_bytes = [w.say(f"mul i64 {rows}, {itemsize * math.prod(shape)}") for shape in self.inputs]
        counts = [w.say(f"mul i64 {rows}, {math.prod(shape)}") for shape in self.outputs]
        given = w.say(f"icmp ne ptr {theirs}, null")
        w.branch(given, f"given_{tag}", f"make_{tag}")

        w.label(f"given_{tag}")
        outs = self.given(w, theirs, rows if batched else "")
        out_bytes = [w.say(f"mul i64 {count}, {itemsize}") for count in counts]
        for i, j in combinations(range(len(outs)), 2):
            w.insist(w.apart(outs[i], out_bytes[i], outs[j], out_bytes[j]))
        for k, out in enumerate(outs):
            w.store("ptr", out, f"%target{k}")
            for pointer, size in zip(data, in_bytes, strict=True):
                w.insist(w.apart(out, out_bytes[k], pointer, size), f"make_{tag}")
        w.go(f"run_{tag}")

        w.label(f"make_{tag}")
        for k, shape in enumerate(self.outputs):
            self.make(w, k, (rows, *shape) if batched else shape)
        w.go(f"run_{tag}")

        w.label(f"run_{tag}")
        targets = [w.say(f"load ptr, ptr %target{k}") for k in range(len(self.outputs))]
        function = f"@batch(i64 0, i64 {rows}, " if batched else "@block_1("
        lost = self.run(w, function, [*data, *targets], self.batch_bytes if batched else self.block_bytes)
        w.insist(w.equal("i64", lost, "0"), "give_up")
        w.branch(given, f"filled_{tag}", f"new_{tag}")

        w.label(f"filled_{tag}")
        aside = w.say("icmp ne ptr " + w.say("load ptr, ptr %made0") + ", null")
        w.branch(aside, f"copy_{tag}", f"return_{tag}")
        w.label(f"copy_{tag}")
        for k, (target, count) in enumerate(zip(targets, counts, strict=True)):
            out = self.theirs_data(w, theirs, k)
            w.lines.append(f"  call void @copy(ptr {out}, ptr {target}, i64 {count})")
            w.call("release", "void", f"ptr {w.say(f'load ptr, ptr %made{k}')}")
        w.go(f"return_{tag}")
        w.label(f"return_{tag}")
        w.call("acquire", "void", f"ptr {theirs}")  # it is returned, so it has one more owner
        w.lines.append(f"  ret ptr {theirs}")

        w.label(f"new_{tag}")
        for k, shape in enumerate(self.outputs):
            if not shape and not batched:  # a number, as NumPy gives it
                scalar = w.call("as_scalar", "ptr", f"ptr {w.say(f'load ptr, ptr %made{k}')}")
                w.store("ptr", scalar, f"%made{k}")
                w.insist(w.say(f"icmp ne ptr {scalar}, null"), "failed")
        made = [w.say(f"load ptr, ptr %made{k}") for k in range(len(self.outputs))]
        if len(made) == 1:
            w.lines.append(f"  ret ptr {made[0]}")
            return
        several = w.call("new_tuple", "ptr", f"i64 {len(made)}")
        w.insist(w.say(f"icmp ne ptr {several}, null"), "failed")
        for k, each in enumerate(made):
            w.call("set_item", "i32", f"ptr {several}, i64 {k}, ptr {each}")
        w.lines.append(f"  ret ptr {several}")

    def given(self, w: Writer, theirs: str, rows: str) -> list[str]:
        """Insist on `out` as it must be: an array, or a tuple of arrays. Where their numbers are."""
        if len(self.outputs) > 1:
            w.insist(w.is_a(theirs, "tuple_type"))
            length = w.at(theirs, w.layout.tuple_length, "i64")
            w.insist(w.equal("i64", length, str(len(self.outputs))))
        found = []
        for k, shape in enumerate(self.outputs):
            pointer, place = w.array(self.theirs_item(w, theirs, k), PLAIN | WRITEABLE, shape, bool(rows))
            if rows:
                w.insist(w.equal("i64", w.at(place, 0, "i64"), rows))
            found.append(pointer)
        return found

    def theirs_item(self, w: Writer, theirs: str, k: int) -> str:
        return theirs if len(self.outputs) == 1 else w.at(theirs, w.layout.tuple_items + 8 * k, "ptr")

    def theirs_data(self, w: Writer, theirs: str, k: int) -> str:
        return w.at(self.theirs_item(w, theirs, k), w.layout.array_data, "ptr")

    def make(self, w: Writer, k: int, shape: Sequence[int | str]) -> None:
        """A new array as %made{k}, its numbers at %target{k}; without memory for it, Python's error."""
        for axis, size in enumerate(shape):
            w.store("i64", str(size), w.say(f"getelementptr i64, ptr %dims, i64 {axis}"))
        kind, number = w.say("inttoptr i64 %array_type to ptr"), TYPE_NUMBERS[self.dtype]
        rest = "ptr null, ptr null, i32 0, i32 0, ptr null"
        new = w.call("new_array", "ptr", f"ptr {kind}, i32 {len(shape)}, ptr %dims, i32 {number}, {rest}")
        w.store("ptr", new, f"%made{k}")
        w.insist(w.say(f"icmp ne ptr {new}, null"), "failed")
        w.store("ptr", w.at(new, w.layout.array_data, "ptr"), f"%target{k}")

    def run(self, w: Writer, function: str, arrays: Sequence[str], work_bytes: int) -> str:
        """Call the kernel, with memory of its own where it needs some; how many states were lost."""
        pointers = ", ".join(f"ptr {pointer}" for pointer in arrays)
        if not work_bytes:
            return w.say(f"call i64 {function}ptr null, {pointers})")
        work = w.call("allocate", "ptr", f"i64 {work_bytes}")
        w.insist(w.say(f"icmp ne ptr {work}, null"), "give_up")
        lost = w.say(f"call i64 {function}ptr {work}, {pointers})")
        w.call("free", "void", f"ptr {work}")
        return lost
