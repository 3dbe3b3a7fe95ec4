"""The arrays of a rollout: in this machine's memory, or on a GPU."""

from __future__ import annotations

import sys
from typing import Any, Protocol

import numpy as np

from ..errors import one_of
from ..kernels.dispatch import DTYPES
from ..kernels.interface import EXPECTED, described, numpy_array
from ..kernels.kernel import real_array

Shape = tuple[int, ...]
CPU = 1  # in the protocol of DLPack


class Arrays(Protocol):
    """What is done with arrays, wherever they are."""

    dtype: str  # in which is computed
    ordinal: int  # of the GPU
    stream: int
    waits: bool  # whether a call waits until it is done

    def shape(self, name: str, value: Any) -> Shape:
        """The shape of what a caller gave; a TypeError if it is no array of real numbers, or in the wrong place."""

    def rows(self, name: str, value: Any, shape: Shape) -> Any:
        """Its numbers in this shape, to which they broadcast, contiguous and of the dtype."""

    def on_host(self, value: Any) -> np.ndarray | None:
        """Its numbers, if they are in this machine's memory."""

    def copy(self, array: Any) -> Any:
        """Another array with the same numbers, of one that `rows` gave."""

    def zeros(self, shape: Shape) -> Any:
        """As many zeros, for which nobody waits."""

    def new(self, shape: Shape, dtype: str) -> Any:
        """A new array."""

    def temporary(self, why: str, shape: Shape, dtype: str) -> Any:
        """One that the caller perhaps does not hold, and why; refused in a call that a CUDA graph repeats later."""

    def reused(self, name: str, array: Any, shape: Shape, dtype: str) -> Any:
        """An array of the caller's for results; a ValueError if it does not fit."""

    def address(self, array: Any) -> int:
        """Where the numbers of such arrays are."""

    def extent(self, array: Any) -> tuple[int, int]:
        """From which address to which they are."""

    def launched(self) -> None:
        """Arrays of the caller's that are used stay in place until that is done."""

    def finished(self, array: Any) -> Any:
        """A result as the caller gets it."""


class HostArrays:
    """NumPy arrays."""

    ordinal = stream = 0
    waits = True

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype

    def shape(self, name: str, value: Any) -> Shape:
        return np.shape(finite(name, real_array(name, value, self.dtype)))

    def rows(self, name: str, value: Any, shape: Shape) -> np.ndarray:
        return np.ascontiguousarray(np.broadcast_to(real_array(name, value, self.dtype), shape))

    def on_host(self, value: Any) -> np.ndarray | None:
        return real_array("", value, self.dtype)

    def copy(self, array: np.ndarray) -> np.ndarray:
        return array.copy()

    def zeros(self, shape: Shape) -> np.ndarray:
        return np.zeros(shape, self.dtype)

    def new(self, shape: Shape, dtype: str) -> np.ndarray:
        return np.empty(shape, dtype)

    def temporary(self, why: str, shape: Shape, dtype: str) -> np.ndarray:
        return self.new(shape, dtype)

    def reused(self, name: str, array: Any, shape: Shape, dtype: str) -> np.ndarray:
        if not isinstance(array, np.ndarray):
            raise TypeError(f"{name} is {type(array).__name__} (expected a NumPy array, of a batch)")
        if array.shape != shape or array.dtype != dtype:
            raise ValueError(f"{name} has shape {array.shape} and dtype {array.dtype} (expected {shape} and {dtype})")
        if not (array.flags.c_contiguous and array.flags.writeable):
            raise ValueError(f"{name} is not contiguous, or cannot be written to")
        return array

    def address(self, array: np.ndarray) -> int:
        return int(array.ctypes.data)

    def extent(self, array: np.ndarray) -> tuple[int, int]:
        return self.address(array), self.address(array) + array.nbytes

    def launched(self) -> None:
        pass

    def finished(self, array: np.ndarray) -> Any:
        return array if array.ndim else array[()]


class CpuTensors(HostArrays):
    """Tensors of torch in this machine's memory: results are tensors too."""

    def __init__(self, dtype: str, torch: Any) -> None:
        super().__init__(dtype)
        self.torch = torch

    def reused(self, name: str, array: Any, shape: Shape, dtype: str) -> np.ndarray:
        if not isinstance(array, self.torch.Tensor) or array.is_cuda:
            raise TypeError(f"{name} is {described(array)} (expected a tensor of torch on the CPU, as q0)")
        return super().reused(name, array.numpy(), shape, dtype)

    def finished(self, array: np.ndarray) -> Any:
        return self.torch.from_numpy(array)  # in the same memory


class GpuArrays:
    """Arrays of a library, beside q0; numbers of this machine are copied to them."""

    def __init__(self, q0: Any, dtype: str | None, stream: Any) -> None:
        from ..kernels.cuda.arrays import library_of
        from ..kernels.cuda.streams import CallStream

        self.library, self.first = library_of("q0", q0), q0
        self.dtype = dtype or dtype_of(self.library.view(q0).dtype)
        self.waits = self.library.waits
        self.gpu = self.library.device(q0)
        self.ordinal = self.gpu.ordinal
        self.call = CallStream(self.library, self.gpu, [q0], stream)
        self.stream = self.call.handle
        self.given: list[Any] = []  # arrays of the caller's that are read
        self.written: list[Any] = []  # and those that are written

    def shape(self, name: str, value: Any) -> Shape:
        if on_host(value):
            return np.shape(finite(name, real_array(name, value, self.dtype)))
        from ..kernels.cuda.arrays import library_of
        from ..kernels.cuda.kernel import REALS

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
            return self.copied(numbers)
        self.call.after(value)
        self.given.append(value)
        view = self.library.view(value)
        if view.contiguous and view.dtype == self.dtype and view.shape == shape:
            return value
        self.call.refuse_temporary(f"{name} has to be converted or broadcast")
        with self.call.entered():
            return self.library.converted(value, shape, self.dtype)

    def copied(self, numbers: np.ndarray) -> Any:
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
        with self.call.entered():
            return self.library.new(self.first, shape, dtype, self.stream)

    def temporary(self, why: str, shape: Shape, dtype: str) -> Any:
        self.call.refuse_temporary(why)
        return self.new(shape, dtype)

    def reused(self, name: str, array: Any, shape: Shape, dtype: str) -> Any:
        from ..kernels.cuda.arrays import library_of

        if on_host(array) or library_of(name, array) is not self.library or self.library.device(array) is not self.gpu:
            raise TypeError(f"{name} is of another library, or in another place, than q0")
        view = self.library.view(array)
        if view.shape != shape or view.dtype != dtype or not view.contiguous:
            raise ValueError(
                f"{name} has shape {view.shape} and dtype {view.dtype} (expected {shape} and {dtype}, contiguous)"
            )
        if wrong := self.library.unwritable(array, view):
            raise ValueError(f"{name} {wrong}")
        self.call.after(array)
        self.written.append(array)
        return array

    def address(self, array: Any) -> int:
        return self.library.view(array).pointer

    def extent(self, array: Any) -> tuple[int, int]:
        view = self.library.view(array)
        return view.pointer, view.pointer + view.nbytes

    def launched(self) -> None:
        self.call.launched(self.given, self.written)
        for array in self.written:
            self.library.written(array)

    def finished(self, array: Any) -> Any:
        if self.library.waits:
            self.gpu.synchronize(self.stream)
        return self.library.finished(array)


class CopiedArrays(GpuArrays):
    """NumPy arrays that are copied to a GPU, and results that are copied back."""

    def __init__(self, dtype: str) -> None:
        from ..kernels.cuda.driver import device
        from ..kernels.cuda.memory import DeviceArray

        super().__init__(DeviceArray(device(0), (0,), dtype), dtype, None)
        self.waits = True

    def reused(self, name: str, array: Any, shape: Shape, dtype: str) -> Any:
        raise ValueError("out is given, and q0 is a NumPy array that is copied to a GPU (expected q0 that is there)")

    def finished(self, array: Any) -> np.ndarray:
        return array.copy_to_host()[()]  # type: ignore[no-any-return]


def on_host(value: Any) -> bool:
    """Whether it is a number, a list or a NumPy array."""
    protocols = ("__cuda_array_interface__", "__dlpack_device__")
    traced = type(value).__module__.startswith("jax.")  # tracers have no memory
    return isinstance(value, np.ndarray) or not (traced or any(has(value, name) for name in protocols))


def on_gpu(value: Any) -> bool:
    """Whether it is an array in a GPU's memory; other devices are none of ours."""
    if has(value, "__cuda_array_interface__"):
        return True
    return has(value, "__dlpack_device__") and value.__dlpack_device__()[0] != CPU


def has(value: Any, attribute: str) -> bool:
    try:
        return hasattr(value, attribute)
    except RuntimeError:  # it is there, and not shown: torch hides it where gradients are asked for
        return True


def finite(name: str, array: np.ndarray) -> np.ndarray:
    """The array; an error where a number is not finite, except in the states of a batch, where others go on."""
    if name in ("q0", "qd0") and array.ndim > 1:
        return array
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        kind = "" if array.dtype == float else f" of {array.dtype}"
        raise ValueError(f"{name}{list(where) if where else ''} is {array[where]}: expected finite numbers{kind}")
    return array


def arrays_of(target: str, q0: Any, dtype: str | None, stream: Any) -> Arrays:
    """For a target, and the kind of array that q0 is."""
    if dtype is not None:
        one_of(dtype, DTYPES, "dtype")
    if target != "cuda":
        if stream is not None:
            raise ValueError("stream is given, and target is 'cpu' (expected target='cuda')")
        kind, torch = dtype or dtype_of(numpy_array("q0", q0).dtype.name), sys.modules.get("torch")
        tensors = torch is not None and isinstance(q0, torch.Tensor)
        return CpuTensors(kind, torch) if tensors else HostArrays(kind)
    if not on_host(q0):
        return GpuArrays(q0, dtype, stream)
    if stream is not None:
        raise ValueError("stream is given, and q0 is not on a GPU (expected arrays that are there)")
    return CopiedArrays(dtype or dtype_of(numpy_array("q0", q0).dtype.name))


def dtype_of(name: str) -> str:
    """In which is computed, from the dtype that q0 has."""
    return name if name in DTYPES else "float64"
