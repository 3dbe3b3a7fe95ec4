"""DLPack: arrays handed from one library to another in a capsule, as the C structure `DLManagedTensor`.

https://dmlc.github.io/dlpack/latest/c_api.html
"""

from __future__ import annotations

import ctypes
import weakref
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint64,
    c_void_p,
)
from typing import Any, NamedTuple

CPU, CUDA, PINNED, MANAGED = 1, 2, 3, 13  # kinds of memory
WHOLE, FLOAT = 0, 2  # kinds of numbers
FRESH, TAKEN = b"dltensor", b"used_dltensor"  # names of capsules
Deleter = CFUNCTYPE(None, c_void_p)


class Tensor(Structure):
    """DLManagedTensor, with the DLTensor that it begins with."""

    _fields_ = (
        ("data", c_void_p),
        ("device_kind", c_int32),
        ("device", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
        ("context", c_void_p),
        ("deleter", c_void_p),
    )


class Content(NamedTuple):
    """An array of another library, valid while `owner` lives."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None  # in numbers; None: contiguous
    dtype: str
    owner: Owner


class Owner:
    """Calls the deleter of the other library when it is collected."""

    def __init__(self, address: int, deleter: int | None) -> None:
        if deleter:
            weakref.finalize(self, Deleter(deleter), address).atexit = False


_exported: dict[int, tuple[Any, ...]] = {}  # kept alive until the other library calls the deleter


def delete(address: int) -> None:
    _exported.pop(address, None)


DELETE = Deleter(delete)


def python_function(name: str, result: Any, *types: Any) -> Any:
    """A function of Python's C API with a prototype that no other user of ctypes.pythonapi sees."""
    return ctypes.PYFUNCTYPE(result, *types)((name, ctypes.pythonapi))


NEW = python_function("PyCapsule_New", ctypes.py_object, c_void_p, c_char_p, c_void_p)
IS_VALID = python_function("PyCapsule_IsValid", c_int, c_void_p, c_char_p)
POINTER_OF_DYING = python_function("PyCapsule_GetPointer", c_void_p, c_void_p, c_char_p)
POINTER_OF = python_function("PyCapsule_GetPointer", c_void_p, ctypes.py_object, c_char_p)
RENAME = python_function("PyCapsule_SetName", c_int, ctypes.py_object, c_char_p)


def dispose(capsule: int) -> None:
    """Release the array of a capsule that nobody consumed."""
    if IS_VALID(capsule, FRESH):
        _exported.pop(POINTER_OF_DYING(capsule, FRESH), None)


DISPOSE = ctypes.PYFUNCTYPE(None, c_void_p)(dispose)


def export_array(
    owner: Any, pointer: int, shape: tuple[int, ...], itemsize: int, device: int, kind: int = FLOAT
) -> Any:
    """A capsule of an array on a GPU; it keeps `owner` alive while the array is used."""
    sizes = (c_int64 * max(len(shape), 1))(*shape)
    steps = (c_int64 * max(len(shape), 1))()
    step = 1
    for k in reversed(range(len(shape))):
        steps[k], step = step, step * shape[k]
    deleter = ctypes.cast(DELETE, c_void_p)
    tensor = Tensor(pointer, CUDA, device, len(shape), kind, 8 * itemsize, 1, sizes, steps, 0, None, deleter)
    address = ctypes.addressof(tensor)
    _exported[address] = (tensor, sizes, steps, owner)
    return NEW(address, FRESH, ctypes.cast(DISPOSE, c_void_p))


def import_array(capsule: Any) -> Content:
    """Consume a capsule and return its array."""
    address = POINTER_OF(capsule, FRESH)
    tensor = Tensor.from_address(address)
    RENAME(capsule, TAKEN)
    shape = tuple(tensor.shape[k] for k in range(tensor.ndim))
    strides = tuple(tensor.strides[k] for k in range(tensor.ndim)) if tensor.strides else None
    kinds = {WHOLE: "int", 1: "uint", FLOAT: "float"}
    dtype = f"{kinds.get(tensor.code, 'other')}{tensor.bits}"
    pointer = (tensor.data or 0) + tensor.byte_offset
    return Content(pointer, shape, strides, dtype, Owner(address, tensor.deleter))
