"""The arrays of a rollout: the interface of all targets, and arrays in the host's memory."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ..ode.rollout import Rows
from .dispatch import DTYPES
from .interface import describe_value, numpy_array
from .kernel import real_array

Shape = tuple[int, ...]
CPU = 1  # device type of DLPack


class Arrays(Protocol):
    """Access to the arrays of a rollout on any device."""

    dtype: str  # of the computation
    ordinal: int  # number of the GPU
    stream: int
    waits: bool  # whether a call waits for its results

    def shape(self, name: str, value: Any) -> Shape:
        """The shape of an argument; a TypeError if it is no array of real numbers or on another device."""

    def rows(self, name: str, value: Any, shape: Shape) -> Any:
        """A contiguous array of the dtype, broadcast to this shape."""

    def on_host(self, value: Any) -> np.ndarray | None:
        """A NumPy array, if the value is in the host's memory."""

    def copy(self, array: Any) -> Any:
        """A copy of an array returned by `rows`."""

    def zeros(self, shape: Shape) -> Any:
        """A new array of zeros, filled asynchronously."""

    def new(self, shape: Shape, dtype: str) -> Any:
        """A new array."""

    def temporary(self, why: str, shape: Shape, dtype: str) -> Any:
        """A temporary array, for the reason `why`; refused while a CUDA graph captures the call."""

    def output_array(self, name: str, array: Any, shape: Shape, dtype: str) -> Any:
        """The caller's array for results; a ValueError if it does not fit."""

    def address(self, array: Any) -> int:
        """The address of an array's numbers."""

    def extent(self, array: Any) -> tuple[int, int]:
        """The first address of an array, and the address behind its end."""

    def after_launch(self) -> None:
        """Keep the caller's arrays alive until the launched work is done."""

    def result_for_caller(self, array: Any) -> Any:
        """The result as an array of the caller's library."""


class HostArrays:
    """NumPy arrays."""

    ordinal = stream = 0
    waits = True

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype

    def shape(self, name: str, value: Any) -> Shape:
        return np.shape(require_finite(name, real_array(name, value, self.dtype)))

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

    def output_array(self, name: str, array: Any, shape: Shape, dtype: str) -> np.ndarray:
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

    def after_launch(self) -> None:
        pass

    def result_for_caller(self, array: np.ndarray) -> Any:
        return array if array.ndim else array[()]


class CpuTensors(HostArrays):
    """torch tensors in the host's memory; results are tensors too."""

    def __init__(self, dtype: str, torch: Any) -> None:
        super().__init__(dtype)
        self.torch = torch

    def output_array(self, name: str, array: Any, shape: Shape, dtype: str) -> np.ndarray:
        if not isinstance(array, self.torch.Tensor) or array.is_cuda:
            raise TypeError(f"{name} is {describe_value(array)} (expected a tensor of torch on the CPU, as q0)")
        return super().output_array(name, array.numpy(), shape, dtype)

    def result_for_caller(self, array: np.ndarray) -> Any:
        return self.torch.from_numpy(array)  # shares the memory


def on_host(value: Any) -> bool:
    """Whether the value is a number, a list or a NumPy array."""
    protocols = ("__cuda_array_interface__", "__dlpack_device__")
    traced = type(value).__module__.startswith("jax.")  # JAX tracers have no memory
    return isinstance(value, np.ndarray) or not (traced or any(has_attribute(value, name) for name in protocols))


def on_gpu(value: Any) -> bool:
    """Whether the value is an array in a GPU's memory."""
    if has_attribute(value, "__cuda_array_interface__"):
        return True
    return has_attribute(value, "__dlpack_device__") and value.__dlpack_device__()[0] != CPU


def has_attribute(value: Any, attribute: str) -> bool:
    try:
        return hasattr(value, attribute)
    except RuntimeError:  # torch raises this for tensors that require gradients
        return True


def require_finite(name: str, array: np.ndarray) -> np.ndarray:
    """The array. A non-finite number is an error, except in a batch of states, where the others go on."""
    if name in ("q0", "qd0") and array.ndim > 1:
        return array
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        kind = "" if array.dtype == float else f" of {array.dtype}"
        raise ValueError(f"{name}{list(where) if where else ''} is {array[where]}: expected finite numbers{kind}")
    return array


def host_arrays(q0: Any, dtype: str | None) -> HostArrays:
    """Arrays for q0 in the host's memory; without a dtype, in that of q0."""
    kind, torch = dtype or dtype_of(numpy_array("q0", q0).dtype.name), sys.modules.get("torch")
    tensors = torch is not None and isinstance(q0, torch.Tensor)
    return CpuTensors(kind, torch) if tensors else HostArrays(kind)


def dtype_of(name: str) -> str:
    """The dtype of the computation, from the dtype of q0."""
    return name if name in DTYPES else "float64"


def addresses(
    arrays: Arrays, inputs: Sequence[tuple[Any, int]], *others: Sequence[Any]
) -> tuple[list[Rows], list[int], list[int]]:
    """The addresses of inputs, results and other arrays."""
    places, spare = ([arrays.address(array) for array in each] for each in others)
    return [Rows(arrays.address(array), stride) for array, stride in inputs], places, spare
