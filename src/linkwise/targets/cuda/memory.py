"""Arrays that Linkwise allocates on a GPU, and the protocols by which other libraries read them."""

from __future__ import annotations

import ctypes
import math
import weakref
from typing import Any

import numpy as np

from . import dlpack
from .driver import Device


class DeviceArray:
    """A contiguous array on a GPU, freed when it is collected.

    `cupy.asarray(x)`, `numba.cuda.as_cuda_array(x)`, `torch.from_dlpack(x)` and `jax.dlpack.from_dlpack(x)` share its
    memory.
    """

    def __init__(self, device: Device, shape: tuple[int, ...], dtype: str, stream: int = 0) -> None:
        """`stream` is the stream on which the array is written."""
        self.device, self.shape, self.dtype, self.stream = device, shape, np.dtype(dtype), stream
        self.nbytes = math.prod(shape) * self.dtype.itemsize
        self.pointer = device.allocate(self.nbytes)
        weakref.finalize(self, device.free, "cuMemFree_v2", self.pointer).atexit = False  # the driver ends earlier

    def __repr__(self) -> str:
        return f"<array {self.shape} of {self.dtype} on {self.device.name}, GPU {self.device.ordinal}>"

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.pointer, False),
            "strides": None,
            "version": 3,
            "stream": self.stream or 1,  # 1 is the default stream
        }

    def __dlpack__(self, *, stream: Any = None, **_: Any) -> Any:
        self.device.synchronize(self.stream)  # the other library may use any stream
        kind = dlpack.FLOAT if self.dtype.kind == "f" else dlpack.WHOLE
        return dlpack.export_array(self, self.pointer, self.shape, self.dtype.itemsize, self.device.ordinal, kind)

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack.CUDA, self.device.ordinal

    def copy_from(self, array: np.ndarray) -> DeviceArray:
        """Copy a NumPy array of the same shape and dtype to the GPU, and wait."""
        rows = np.ascontiguousarray(array, self.dtype)
        if rows.shape != self.shape:
            raise ValueError(f"the array has shape {rows.shape} (expected {self.shape})")
        with self.device.beside_captures() as call:
            call.call("cuMemcpyHtoDAsync_v2", self.pointer, rows.ctypes.data, self.nbytes, self.stream or None)
        self.device.synchronize(self.stream)
        return self

    def copy_to_host(self) -> np.ndarray:
        """Wait, and copy to a NumPy array."""
        array = np.empty(self.shape, self.dtype)
        with self.device.beside_captures() as call:
            call.call("cuMemcpyDtoHAsync_v2", array.ctypes.data, self.pointer, self.nbytes, self.stream or None)
        self.device.synchronize(self.stream)
        return array


class PinnedArray:
    """A NumPy array (`numbers`) in page-locked memory, which the GPU copies asynchronously."""

    def __init__(self, device: Device, shape: tuple[int, ...], dtype: str) -> None:
        size = math.prod(shape) * np.dtype(dtype).itemsize
        address = ctypes.c_void_p()
        with device.beside_captures() as call:
            call.call("cuMemAllocHost_v2", ctypes.byref(address), max(size, 1))
        assert address.value is not None
        self.address = address.value
        raw: Any = (ctypes.c_char * max(size, 1)).from_address(self.address)
        self.numbers = np.frombuffer(raw, dtype, math.prod(shape)).reshape(shape)
        weakref.finalize(self, device.free, "cuMemFreeHost", self.address).atexit = False
