"""A Python entry in machine code: it looks at the arrays itself, asks NumPy for the result, and runs the kernel.

Arrays of the kernel's own type, contiguous and of the right shape, for one state or for a batch of not too many, take
this road, which costs as little as a call of a built-in function can; so do `out=` and `threads=1` with them. All
others, and whatever else is unusual, are handed as they are to a Python function (the entry's `self`). It relies on the
layouts of Python's objects and NumPy's arrays, which their binary interfaces fix; see `usable`.
"""

from __future__ import annotations

import ctypes
import math
import struct
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .machine import Code

TYPE_NUMBERS = {"float64": 12, "float32": 11}  # NumPy's
PYARRAY_NEW = 93  # its place in the table of NumPy's functions
TYPE, DATA, DIMENSIONS, SHAPE, DESCRIPTION, FLAGS = 8, 16, 24, 32, 56, 64  # where an array keeps what, in bytes
LENGTH, ITEMS = 16, 24  # of a tuple
PLAIN, WRITEABLE = 0x101, 0x501  # flags: contiguous and aligned; and writeable
WORDS = ("array_type", "description", "new_array", "vectorcall", "acquire", "release", "out", "threads", "one")
FASTCALL_WITH_KEYWORDS = 0x82
METHOD = "@PPiP"  # Python's PyMethodDef: name, function, flags, documentation

Shape = tuple[int, ...]


def usable() -> bool:
    """Whether objects lie in memory as the entry expects: CPython with its lock, 64 bits."""
    return (
        sys.implementation.name == "cpython"
        and struct.calcsize("P") == 8
        and "free-threading" not in sys.version
        and not hasattr(sys, "getobjects")  # a debug build that traces references
    )


def addresses(dtype: str) -> list[int]:
    """What the entry has to know of this process, in the order of WORDS."""
    from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

    unpack = ctypes.pythonapi.PyCapsule_GetPointer
    unpack.restype, unpack.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    functions = ctypes.cast(unpack(_multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    python = ctypes.pythonapi
    called = (python.PyObject_Vectorcall, python.Py_IncRef, python.Py_DecRef)
    found = [functions[PYARRAY_NEW], *(ctypes.cast(f, ctypes.c_void_p).value for f in called)]
    words = [id(sys.intern("out")), id(sys.intern("threads")), id(1)]  # Python has but one 1
    return [id(np.ndarray), id(np.dtype(dtype)), *(int(address or 0) for address in found), *words]


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

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.names = 0

    def say(self, instruction: str) -> str:
        self.names += 1
        name = f"%x{self.names}"
        self.lines.append(f"  {name} = {instruction}")
        return name

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def branch(self, condition: str, yes: str, no: str) -> None:
        self.lines.append(f"  br i1 {condition}, label %{yes}, label %{no}")

    def insist(self, condition: str) -> None:
        self.names += 1
        self.branch(condition, f"ok{self.names}", "slow")
        self.label(f"ok{self.names}")

    def at(self, pointer: str, offset: int, kind: str) -> str:
        return self.say(f"load {kind}, ptr {self.say(f'getelementptr i8, ptr {pointer}, i64 {offset}')}")

    def equal(self, kind: str, a: str, b: str) -> str:
        return self.say(f"icmp eq {kind} {a}, {b}")

    def array(self, thing: str, flags: int, shape: Shape, batched: bool = False) -> tuple[str, str]:
        """Insist on an array of our type, of this shape after the batch, and give its data and its whole shape."""
        self.insist(self.equal("i64", self.at(thing, TYPE, "i64"), "%array_type"))
        described = self.equal("i64", self.at(thing, DESCRIPTION, "i64"), "%description")
        plain = self.equal("i32", self.say(f"and i32 {self.at(thing, FLAGS, 'i32')}, {flags}"), str(flags))
        rank = self.equal("i32", self.at(thing, DIMENSIONS, "i32"), str(len(shape) + batched))
        self.insist(self.say(f"and i1 {rank}, {self.say(f'and i1 {described}, {plain}')}"))
        place = self.at(thing, SHAPE, "ptr")
        for k, size in enumerate(shape):
            self.insist(self.equal("i64", self.at(place, 8 * (k + batched), "i64"), str(size)))
        return self.at(thing, DATA, "ptr"), place

    def made(self, shape: Sequence[int | str], number: int, then: str) -> None:
        """A new array as %result; without memory for it, Python's error."""
        for k, size in enumerate(shape):
            self.lines.append(f"  store i64 {size}, ptr {self.say(f'getelementptr i64, ptr %dims, i64 {k}')}")
        make, kind = self.say("inttoptr i64 %new_array to ptr"), self.say("inttoptr i64 %array_type to ptr")
        rest = "ptr null, ptr null, i32 0, i32 0, ptr null"
        new = self.say(f"call ptr {make}(ptr {kind}, i32 {len(shape)}, ptr %dims, i32 {number}, {rest})")
        self.lines.append(f"  store ptr {new}, ptr %result")
        self.branch(self.equal("ptr", new, "null"), f"no_memory_{then}", then)
        self.label(f"no_memory_{then}")
        self.lines.append("  ret ptr null")

    def options(self, count: int) -> None:
        """Of the keywords, `out` as %theirs; insist on no others but threads=1."""
        self.branch(self.say("icmp eq ptr %names, null"), "asked", "named")
        self.label("named")
        length = self.at("%names", LENGTH, "i64")
        self.insist(self.say(f"icmp ule i64 {length}, 2"))
        self.option(count, 0)
        self.branch(self.equal("i64", length, "2"), "second", "asked")
        self.label("second")
        self.option(count, 1)
        self.lines.append("  br label %asked")
        self.label("asked")

    def option(self, count: int, k: int) -> None:
        name, value = self.at("%names", ITEMS + 8 * k, "i64"), self.at("%args", 8 * (count + k), "i64")
        self.branch(self.equal("i64", name, "%out"), f"out_{k}", f"threads_{k}")
        self.label(f"out_{k}")
        self.lines += [f"  store i64 {value}, ptr %theirs", f"  br label %known_{k}"]
        self.label(f"threads_{k}")
        threads = self.equal("i64", name, "%threads")
        self.insist(self.say(f"and i1 {threads}, {self.equal('i64', value, '%one')}"))
        self.lines.append(f"  br label %known_{k}")
        self.label(f"known_{k}")

    def taken(self, array: str, then: str) -> None:
        """Their array as %result; it is returned, so it has one more owner."""
        self.lines.append(f"  store ptr {array}, ptr %result")
        self.lines.append(f"  call void {self.say('inttoptr i64 %acquire to ptr')}(ptr {array})")
        self.lines.append(f"  br label %{then}")

    def insist_apart(self, rows: str, out: str, out_bytes: int, array: str, bytes_: int) -> None:
        """That no row is written before it has been read: the same memory row on row, or none in common."""
        o, a = (self.say(f"ptrtoint ptr {p} to i64") for p in (out, array))
        ends = [self.say(f"add i64 {x}, {self.say(f'mul i64 {rows}, {n}')}") for x, n in ((o, out_bytes), (a, bytes_))]
        before, behind = self.say(f"icmp ule i64 {ends[0]}, {a}"), self.say(f"icmp ule i64 {ends[1]}, {o}")
        apart = self.say(f"or i1 {before}, {behind}")
        same = self.equal("i64", o, a) if out_bytes == bytes_ else "false"
        self.insist(self.say(f"or i1 {apart}, {same}"))

    def returned(self, compute: Callable[[str], str], tag: str) -> None:
        """%result, computed; it is given up, and computed the slow way, if some finite state came out not finite."""
        result = self.say("load ptr, ptr %result")
        lost = compute(self.at(result, DATA, "ptr"))
        self.branch(self.equal("i64", lost, "0"), f"good_{tag}", f"lost_{tag}")
        self.label(f"good_{tag}")
        self.lines.append(f"  ret ptr {result}")
        self.label(f"lost_{tag}")
        self.lines.append(f"  call void {self.say('inttoptr i64 %release to ptr')}(ptr {result})")
        self.lines.append("  br label %slow")


def entry_text(inputs: Sequence[Shape], output: Shape, dtype: str, limit: int) -> str:
    """`@entry`, over `@block_1` and `@batch`; the latter for at most `limit` states at once."""
    number, count = TYPE_NUMBERS[dtype], len(inputs)
    head = [
        f"@python = dso_local global [{len(WORDS)} x i64] zeroinitializer",
        "define ptr @entry(ptr %self, ptr %args, i64 %nargs, ptr %names) #0 {",
        "start:",
        f"  %dims = alloca [{len(output) + 1} x i64]",
        "  %result = alloca ptr",
        "  %theirs = alloca i64",
        "  store i64 0, ptr %theirs",
    ]
    for k, word in enumerate(WORDS):
        head += [f"  %{word}_at = getelementptr i64, ptr @python, i64 {k}", f"  %{word} = load i64, ptr %{word}_at"]
    w = Writer(head)
    w.insist(w.equal("i64", "%nargs", str(count)))
    w.options(count)
    theirs = w.say("load ptr, ptr %theirs")
    given = w.say(f"icmp ne ptr {theirs}, null")
    things = [w.at("%args", 8 * k, "ptr") for k in range(count)]
    w.insist(w.equal("i64", w.at(things[0], TYPE, "i64"), "%array_type"))
    w.branch(w.equal("i32", w.at(things[0], DIMENSIONS, "i32"), str(len(inputs[0]))), "single", "several")

    w.label("single")
    data = [w.array(thing, PLAIN, shape)[0] for thing, shape in zip(things, inputs, strict=True)]
    w.branch(given, "given", "fresh")
    w.label("given")
    w.array(theirs, WRITEABLE, output)
    w.taken(theirs, "run")
    w.label("fresh")
    w.made(output, number, "run")
    w.label("run")
    w.returned(lambda out: w.say(f"call i64 @block_1({', '.join(f'ptr {p}' for p in [*data, out])})"), "single")

    w.label("several")
    data, rows = [], ""
    for thing, shape in zip(things, inputs, strict=True):
        pointer, place = w.array(thing, PLAIN, shape, batched=True)
        found = w.at(place, 0, "i64")
        w.insist(w.equal("i64", found, rows) if rows else w.say(f"icmp ule i64 {found}, {limit}"))
        rows = rows or found
        data.append(pointer)
    w.branch(given, "given_several", "fresh_several")
    w.label("given_several")
    out, place = w.array(theirs, WRITEABLE, output, batched=True)
    w.insist(w.equal("i64", w.at(place, 0, "i64"), rows))
    itemsize = np.dtype(dtype).itemsize
    for pointer, shape in zip(data, inputs, strict=True):
        w.insist_apart(rows, out, itemsize * math.prod(output), pointer, itemsize * math.prod(shape))
    w.taken(theirs, "run_several")
    w.label("fresh_several")
    w.made((rows, *output), number, "run_several")
    w.label("run_several")
    w.returned(
        lambda out: w.say(f"call i64 @batch(i64 0, i64 {rows}, {', '.join(f'ptr {p}' for p in [*data, out])})"), "batch"
    )

    w.label("slow")
    asked = w.say("inttoptr i64 %vectorcall to ptr")
    w.lines.append(f"  ret ptr {w.say(f'call ptr {asked}(ptr %self, ptr %args, i64 %nargs, ptr %names)')}")
    return "\n".join([*w.lines, "}", ""])
