"""The arrays of a rollout on a GPU: in the library of q0, or copied from the host and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.arrays import Arrays, Shape, dtype_of, on_host, require_finite
from ...kernels.interface import EXPECTED, numpy_array
from ...kernels.kernel import real_array
from .arrays import library_of
from .driver import device
from .kernel import REALS
from .memory import DeviceArray
from .streams import CallStream


class GpuArrays:
    """Arrays of the library and GPU of q0; arrays of the host are copied to the GPU."""

    def __init__(self, q0: Any, dtype: str | None, stream: Any) -> None:
        self.library, self.first = library_of("q0", q0), q0
        self.dtype = dtype or dtype_of(self.library.view(q0).dtype)
        self.waits = self.library.waits
        self.gpu = self.library.device(q0)
        self.ordinal = self.gpu.ordinal
        self.call = CallStream(self.library, self.gpu, [q0], stream)
        self.stream = self.call.handle
        self.inputs: list[Any] = []  # the caller's inputs
        self.outputs: list[Any] = []  # the caller's outputs

    def shape(self, name: str, value: Any) -> Shape:
        if on_host(value):
            return np.shape(require_finite(name, real_array(name, value, self.dtype)))
        if library_of(name, value) is not self.library:
            raise TypeError(f"{name} is of another library than q0 (expected arrays of one library, or of NumPy)")
        if self.library.device(value) is not self.gpu:
            raise ValueError(f"{name} is on another GPU than q0")
        view = self.library.view(value)
        if view.dtype not in REALS:
            raise TypeError(f"{name} has dtype {view.dtype} ({EXPECTED})")
        return view.shape

    def rows(self, name: str, value: Any, shape: Shape) -> Any:
        if on_host(value):
            numbers = np.ascontiguousarray(np.broadcast_to(real_array(name, value, self.dtype), shape))
            return self.copy_to_gpu(numbers)
        self.call.wait_for_array(value)
        self.inputs.append(value)
        view = self.library.view(value)
        if view.contiguous and view.dtype == self.dtype and view.shape == shape:
            return value
        self.call.refuse_temporary(f"{name} has to be converted or broadcast")
        with self.call.on_stream():
            return self.library.convert(value, shape, self.dtype)

    def copy_to_gpu(self, numbers: np.ndarray) -> Any:
        if numbers.size:
            self.gpu.refuse_capture(self.stream, "a copy of numbers that are not on the GPU")
        array = self.new(numbers.shape, numbers.dtype.name)
        if numbers.size:
            with self.gpu.beside_captures() as call:
                to = self.address(array)
                call.call("cuMemcpyHtoDAsync_v2", to, numbers.ctypes.data, numbers.nbytes, self.stream or None)
            self.gpu.synchronize(self.stream)
        return array

    def on_host(self, value: Any) -> np.ndarray | None:
        return real_array("", value, self.dtype) if on_host(value) else None

    def copy(self, array: Any) -> Any:
        view = self.library.view(array)
        copy = self.temporary("q0 or qd0 shares memory with out", view.shape, view.dtype)
        with self.gpu.current() as call:
            to, size = self.address(copy), view.nbytes
            call.call("cuMemcpyDtoDAsync_v2", to, view.pointer, size, self.stream or None)
        return copy

    def zeros(self, shape: Shape) -> Any:
        array = self.temporary("there is no qd0", shape, self.dtype)
        with self.gpu.current() as call:
            call.call("cuMemsetD8Async", self.address(array), 0, self.library.view(array).nbytes, self.stream or None)
        return array

    def new(self, shape: Shape, dtype: str) -> Any:
        with self.call.on_stream():
            return self.library.new(self.first, shape, dtype, self.stream)

    def temporary(self, why: str, shape: Shape, dtype: str) -> Any:
        self.call.refuse_temporary(why)
        return self.new(shape, dtype)

    def output_array(self, name: str, array: Any, shape: Shape, dtype: str) -> Any:
        if on_host(array) or library_of(name, array) is not self.library or self.library.device(array) is not self.gpu:
            raise TypeError(f"{name} is of another library, or in another place, than q0")
        view = self.library.view(array)
        if view.shape != shape or view.dtype != dtype or not view.contiguous:
            raise ValueError(
                f"{name} has shape {view.shape} and dtype {view.dtype} (expected {shape} and {dtype}, contiguous)"
            )
        if wrong := self.library.write_refusal(array, view):
            raise ValueError(f"{name} {wrong}")
        self.call.wait_for_array(array)
        self.outputs.append(array)
        return array

    def address(self, array: Any) -> int:
        return self.library.view(array).pointer

    def extent(self, array: Any) -> tuple[int, int]:
        view = self.library.view(array)
        return view.pointer, view.pointer + view.nbytes

    def after_launch(self) -> None:
        self.call.after_launch(self.inputs, self.outputs)
        for array in self.outputs:
            self.library.mark_written(array)

    def result_for_caller(self, array: Any) -> Any:
        if self.library.waits:
            self.gpu.synchronize(self.stream)
        return self.library.result_for_caller(array)


class CopiedArrays(GpuArrays):
    """NumPy arrays copied to a GPU, and results copied back."""

    def __init__(self, dtype: str) -> None:
        super().__init__(DeviceArray(device(0), (0,), dtype), dtype, None)
        self.waits = True

    def output_array(self, name: str, array: Any, shape: Shape, dtype: str) -> Any:
        raise ValueError("out is given, and q0 is a NumPy array that is copied to a GPU (expected q0 on a GPU)")

    def result_for_caller(self, array: Any) -> np.ndarray:
        return array.copy_to_host()[()]  # type: ignore[no-any-return]


def gpu_arrays(q0: Any, dtype: str | None, stream: Any) -> Arrays:
    """Arrays on the GPU of q0, or copies if q0 is on the host."""
    if not on_host(q0):
        return GpuArrays(q0, dtype, stream)
    if stream is not None:
        raise ValueError("stream is given, and q0 is not on a GPU (expected arrays on a GPU)")
    return CopiedArrays(dtype or dtype_of(numpy_array("q0", q0).dtype.name))
