"""The offsets of the fields of CPython's and NumPy's objects, probed on known objects of this process.

The machine-code entry reads tuples, floats and arrays in memory. CPython and NumPy do not guarantee the offsets of
their fields (a tuple's items moved in Python 3.14). So each offset is searched: it must be the only one at which known
objects hold their known values. If there is no such offset, or several, kernels have no entry.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

ABI_VERSIONS = (0x01000009, 0x02000000)  # of NumPy 1 and 2, whose tables of functions have the same order
GET_ABI_VERSION, ARRAY_RETURN, ARRAY_NEW = 0, 76, 93  # indices in that table
CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400  # NumPy's flags


class ObjectLayout(NamedTuple):
    """Offsets in bytes from the start of an object."""

    type: int
    tuple_length: int
    tuple_items: int
    float_value: int
    float64_value: int  # of NumPy's scalars; the entry takes it by the name of its dtype
    float32_value: int
    array_data: int
    array_rank: int
    array_shape: int
    array_dtype: int
    array_flags: int


def supported() -> bool:
    """Whether objects can be read in memory: 64-bit CPython with its global lock."""
    return (
        sys.implementation.name == "cpython"
        and struct.calcsize("P") == 8
        and "free-threading" not in sys.version
        and not hasattr(sys, "getobjects")  # a debug build that traces references
    )


@lru_cache(maxsize=1)
def object_layout() -> ObjectLayout | None:
    """The layout in this process, or None if a probe has no single answer."""
    if not supported():
        return None
    probed = [probe() for probe in PROBES]
    flat = [offset for offsets in probed if offsets is not None for offset in offsets]
    return ObjectLayout(*flat) if None not in probed else None


def array_functions() -> Any:
    """NumPy's table of C functions; None if its version is not known here."""
    try:
        from numpy._core import _multiarray_umath as module  # type: ignore[attr-defined]
    except ImportError:  # NumPy 1
        from numpy.core import _multiarray_umath as module
    unpack = ctypes.pythonapi.PyCapsule_GetPointer
    unpack.restype, unpack.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(unpack(module._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    version = ctypes.CFUNCTYPE(ctypes.c_uint)(table[GET_ABI_VERSION] or 0)()
    return table if version in ABI_VERSIONS else None


# Probes return the offsets of some fields in the order of ObjectLayout, or None.


def probe_type() -> tuple[int] | None:
    objects = [1.5, np.empty(2), (1, 2), np.float64(1.5)]
    return only(range(0, 16, 8), objects, lambda x, at: word(x, at) == id(type(x)))


def probe_tuple() -> tuple[int, int] | None:
    objects = [("a", "bc"), ("bc", "a"), ("a", "bc", 1.5), tuple("abcdefg")]
    offsets = range(0, tuple.__basicsize__ + 8, 8)
    length = only(offsets[:-1], objects, lambda x, at: word(x, at) == len(x))
    items = only(offsets, objects, lambda x, at: (word(x, at), word(x, at + 8)) == (id(x[0]), id(x[1])))
    return (*length, *items) if length and items else None


def probe_floats() -> tuple[int, int, int] | None:
    one, two, three = (probe_float(*kind) for kind in ((float, "<d"), (np.float64, "<d"), (np.float32, "<f")))
    return (*one, *two, *three) if one and two and three else None


def probe_float(kind: Any, code: str) -> tuple[int] | None:
    size = struct.calcsize(code)
    offsets = range(0, kind.__basicsize__ - size + 1, size)
    return only(offsets, [kind(1.5), kind(-2.25), kind(1e30)], lambda x, at: read(x, at, code) == float(x))


def probe_array() -> tuple[int, int, int, int, int] | None:
    kept = np.arange(24.0).reshape(2, 3, 4)
    still = kept[0].copy()
    still.flags.writeable = False
    arrays = [kept, still, kept[:, 1:, ::2], np.arange(5, dtype=np.float32), np.asfortranarray(kept)]
    wide, narrow = range(0, np.ndarray.__basicsize__, 8), range(0, np.ndarray.__basicsize__, 4)
    data = only(wide, arrays, lambda a, at: word(a, at) == a.__array_interface__["data"][0])
    rank = only(narrow, arrays, lambda a, at: read(a, at, "<i") == a.ndim)
    # the lengths of the axes must precede the strides: only then is it safe to read there
    shape = only(wide[:-1], arrays, lambda a, at: word(a, at + 8) - word(a, at) == 8 * a.ndim)
    dtype = only(wide, arrays, lambda a, at: word(a, at) == id(a.dtype))
    flags = only(narrow, arrays, lambda a, at: read(a, at, "<i") == a.flags.num)
    if not (data and rank and shape and dtype and flags):
        return None
    for a in arrays:
        if struct.unpack(f"<{a.ndim}q", ctypes.string_at(word(a, shape[0]), 8 * a.ndim)) != a.shape:
            return None
    plain = CONTIGUOUS | ALIGNED
    meant = kept.flags.num & (plain | WRITEABLE) == plain | WRITEABLE and still.flags.num & WRITEABLE == 0
    return (*data, *rank, *shape, *dtype, *flags) if meant else None


PROBES: Sequence[Callable[[], tuple[int, ...] | None]] = (probe_type, probe_tuple, probe_floats, probe_array)


def only(offsets: Iterable[int], objects: Sequence[Any], holds: Callable[[Any, int], bool]) -> tuple[int] | None:
    """The offset at which `holds` is true for all objects, if it is unique."""
    matching = [at for at in offsets if all(holds(x, at) for x in objects)]
    return (matching[0],) if len(matching) == 1 else None


def read(x: Any, at: int, code: str) -> Any:
    return struct.unpack(code, ctypes.string_at(id(x) + at, struct.calcsize(code)))[0]


def word(x: Any, at: int) -> int:
    return int(read(x, at, "<q"))
