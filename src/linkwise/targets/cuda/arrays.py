"""Arrays of other libraries on a GPU: their memory, their streams, and allocation of results.

torch, CuPy, JAX and Numba have a class each. Other arrays with `__cuda_array_interface__` or `__dlpack__` are read in
place, and their results are `DeviceArray`s. A library is imported when one of its arrays is passed.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from ...kernels.interface import internal_overlap, kind_of
from ...robot.named_arrays import GRADIENTS
from . import dlpack
from .driver import Device, device, device_of
from .memory import DeviceArray
from .streams import canonical_handle, keep_until_done

EXPECTED = "expected arrays on a GPU: of torch, CuPy, JAX or Numba, or others with __cuda_array_interface__ or DLPack"
Shape = tuple[int, ...]


class View(NamedTuple):
    """An array on a GPU, as a kernel reads it. `owner` keeps its memory alive."""

    pointer: int
    shape: Shape
    dtype: str
    strides: Shape | None  # in numbers; None: contiguous, so that kernels read and write it in place
    owner: Any

    @property
    def contiguous(self) -> bool:
        return self.strides is None

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """Size of a contiguous array."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize

    def overlaps(self, other: View) -> bool:
        """Whether two arrays may share memory."""
        if self.contiguous and other.contiguous:
            return self.pointer < other.pointer + other.nbytes and other.pointer < self.pointer + self.nbytes
        try:
            return bool(np.shares_memory(np.asarray(Strided(self)), np.asarray(Strided(other)), max_work=MAX_WORK))  # type: ignore[arg-type]
        except RuntimeError:  # NumPy gives up
            return True

    @property
    def has_internal_overlap(self) -> bool:
        """Whether several elements may be the same number in memory."""
        return self.strides is not None and internal_overlap(self.shape, self.strides)


class Strided:
    """An array for NumPy's overlap test, which uses only the addresses."""

    def __init__(self, view: View) -> None:
        kind = np.dtype(view.dtype)
        strides = None if view.strides is None else tuple(step * kind.itemsize for step in view.strides)
        interface = {"shape": view.shape, "typestr": kind.str, "data": (view.pointer, False), "strides": strides}
        self.__array_interface__ = {**interface, "version": 3}


class Library:
    """Access to the arrays of a library. The base class serves any library with one of the two protocols."""

    waits = True  # whether a call waits for the GPU, since the library may free its arrays on another stream
    keeps_for_graphs = False  # whether memory allocated during a capture is reserved while the graph lives
    names_streams = True  # whether each array names its stream; otherwise the library has a current stream

    def __init__(self, name: str) -> None:
        self.name = name
        self.module: Any = import_module(name) if name else None

    def refusal(self, x: Any) -> str:
        """Why a kernel cannot take the array; empty if it can."""
        if not hasattr(x, "__cuda_array_interface__"):
            return "" if x.__dlpack_device__()[0] in (dlpack.CUDA, dlpack.MANAGED) else ON_CPU
        masked = x.__cuda_array_interface__.get("mask") is not None
        return "has a mask, which kernels do not look at (expected an array without)" if masked else ""

    def view(self, x: Any) -> View:
        if not hasattr(x, "__cuda_array_interface__"):
            content = dlpack.import_array(x.__dlpack__())
            steps = None if is_contiguous(content.shape, content.strides) else content.strides
            return View(content.pointer, content.shape, content.dtype, steps, content.owner)
        interface = x.__cuda_array_interface__
        shape, strides, kind = tuple(interface["shape"]), interface.get("strides"), np.dtype(interface["typestr"])
        steps = tuple(step // kind.itemsize for step in strides) if strides else None
        name = kind.name if kind.isnative else kind.str  # kernels refuse the name of another byte order
        return View(interface["data"][0], shape, name, None if is_contiguous(shape, steps) else steps, x)

    def write_refusal(self, x: Any, view: View) -> str:
        """Why results cannot be written to the array of this view; empty if they can."""
        read_only = getattr(x, "__cuda_array_interface__", {}).get("data", (0, False))[1]
        return "cannot be written to" if read_only else internal_overlap_error(view)

    def device(self, x: Any) -> Device:
        if hasattr(x, "__dlpack_device__"):
            return device(int(x.__dlpack_device__()[1]))
        pointer = self.view(x).pointer
        return device_of(pointer) if pointer else device(0)  # an empty array may have no address

    def streams(self, arrays: Sequence[Any]) -> list[int]:
        """The streams that produce and use the arrays: the library's current one, or those that the arrays name."""
        streams = []
        for x in arrays:
            if not hasattr(x, "__cuda_array_interface__"):
                x.__dlpack__()  # the library makes the default stream wait for the array
                streams.append(0)
            elif x.__cuda_array_interface__.get("stream") is not None:
                streams.append(canonical_handle(int(x.__cuda_array_interface__["stream"])))
        return streams

    @contextmanager
    def on_stream(self, gpu: Device, stream: int) -> Iterator[None]:
        """Make this stream of this GPU the library's current one."""
        yield

    def keep(self, arrays: Sequence[Any], gpu: Device, stream: int) -> None:
        """Reserve the memory of the arrays until the work queued on a stream is done."""
        if not self.waits:
            keep_until_done(arrays, gpu, stream)

    def convert(self, x: Any, shape: Shape, dtype: str) -> Any:
        """A contiguous copy in this dtype, broadcast to this shape."""
        raise TypeError(
            f"{kind_of(x)} has shape {self.view(x).shape} and dtype {self.view(x).dtype} (expected {shape},"
            f" contiguous, and {dtype}: arrays of this library are not converted)"
        )

    def new(self, x: Any, shape: Shape, dtype: str, stream: int) -> Any:
        """A new array on the device of x."""
        return DeviceArray(self.device(x), shape, dtype, stream)

    def assign(self, x: Any, computed: Any, stream: int) -> None:
        """Copy computed numbers into the caller's array."""
        raise TypeError(
            "out is not contiguous, or shares memory with an input (expected neither: results are not copied to"
            f" {kind_of(x)})"
        )

    def mark_written(self, x: Any) -> None:
        """Tell the library that a kernel wrote to the caller's array."""

    def result_for_caller(self, x: Any) -> Any:
        """The result as an array of the caller's library."""
        return x


class Torch(Library):
    """Tensors, on torch's current stream."""

    waits = names_streams = False
    keeps_for_graphs = True

    def refusal(self, x: Any) -> str:
        place = self.place(x)
        if place != "cuda":
            return ON_CPU if place == "cpu" else f"is on device {place!r} ({EXPECTED})"
        if x.is_nested or x.layout is not self.module.strided:
            kind = "nested" if x.is_nested else f"of layout {x.layout}"
            return f"is {kind} (expected a dense tensor of rows of one length)"
        if x.requires_grad and self.module.is_grad_enabled():
            return (
                f"requires a gradient, which is not computed here (expected x.detach(), or torch.no_grad(){GRADIENTS})"
            )
        try:
            lost = not x.data_ptr() and x.numel()
        except RuntimeError:
            lost = True
        if lost:
            return "has no memory of its own (expected a call outside of torch.func, torch.vmap and torch.compile)"
        if self.module.autograd.forward_ad.unpack_dual(x).tangent is not None:
            return "has a tangent, which kernels do not propagate (expected the primal of unpack_dual)"
        return ""

    def place(self, x: Any) -> str:
        return str(x.device.type)

    def view(self, x: Any) -> View:
        direct = x.is_contiguous() and not x.is_neg()  # memory of a negative view holds the opposites
        dtype = str(x.dtype).removeprefix("torch.")
        return View(x.data_ptr(), tuple(x.shape), dtype, None if direct else tuple(x.stride()), x)

    def write_refusal(self, x: Any, view: View) -> str:
        return internal_overlap_error(view)

    def device(self, x: Any) -> Device:
        return device(x.device.index)

    def streams(self, arrays: Sequence[Any]) -> list[int]:
        return [int(self.module.cuda.current_stream(arrays[0].device).cuda_stream)] if arrays else []

    @contextmanager
    def on_stream(self, gpu: Device, stream: int) -> Iterator[None]:
        with self.module.cuda.stream(self._stream(gpu, stream)):
            yield

    def keep(self, arrays: Sequence[Any], gpu: Device, stream: int) -> None:
        for x in arrays:
            x.record_stream(self._stream(gpu, stream))

    def _stream(self, gpu: Device, stream: int) -> Any:
        cuda = self.module.cuda
        return cuda.ExternalStream(stream, gpu.ordinal) if stream else cuda.default_stream(gpu.ordinal)

    def convert(self, x: Any, shape: Shape, dtype: str) -> Any:
        return x.detach().resolve_neg().to(getattr(self.module, dtype)).expand(shape).contiguous()

    def new(self, x: Any, shape: Shape, dtype: str, stream: int) -> Any:
        return self.module.empty(shape, dtype=getattr(self.module, dtype), device=x.device)

    def assign(self, x: Any, computed: Any, stream: int) -> None:
        x.copy_(computed)

    def mark_written(self, x: Any) -> None:
        """Raise the version of the tensor, so that autograd detects the change."""
        if x.is_inference():
            return
        raise_version = getattr(self.module.autograd.graph, "increment_version", None)
        if raise_version is not None:
            raise_version(x)
        else:  # torch before 2.3: any in-place operation raises it
            x.detach().view(-1)[:0].zero_()


class StreamHandle(NamedTuple):
    """A driver stream in the CUDA stream protocol: version 0 and the handle."""

    handle: int

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle


class CuPy(Library):
    """Arrays, on CuPy's current stream."""

    waits = names_streams = False

    def refusal(self, x: Any) -> str:
        return ""

    def view(self, x: Any) -> View:
        steps = None if x.flags.c_contiguous else tuple(step // x.itemsize for step in x.strides)
        return View(x.data.ptr, x.shape, x.dtype.name, steps, x)

    def write_refusal(self, x: Any, view: View) -> str:
        return internal_overlap_error(view)

    def device(self, x: Any) -> Device:
        return device(x.device.id)

    def streams(self, arrays: Sequence[Any]) -> list[int]:
        if not arrays:
            return []
        with arrays[0].device:
            return [canonical_handle(int(self.module.cuda.get_current_stream().ptr))]

    @contextmanager
    def on_stream(self, gpu: Device, stream: int) -> Iterator[None]:
        cuda = self.module.cuda
        with cuda.Device(gpu.ordinal), self.stream(stream) if stream else cuda.Stream.null:
            yield

    def stream(self, handle: int) -> Any:
        cuda = self.module.cuda
        if hasattr(cuda.Stream, "from_external"):  # CuPy 14, where ExternalStream is deprecated
            return cuda.Stream.from_external(StreamHandle(handle))
        return cuda.ExternalStream(handle)

    def convert(self, x: Any, shape: Shape, dtype: str) -> Any:
        with x.device:
            return self.module.ascontiguousarray(self.module.broadcast_to(x.astype(dtype, copy=False), shape))

    def new(self, x: Any, shape: Shape, dtype: str, stream: int) -> Any:
        with x.device:
            return self.module.empty(shape, dtype)

    def assign(self, x: Any, computed: Any, stream: int) -> None:
        with x.device:
            x[...] = computed


class Jax(Library):
    """JAX arrays. JAX does not expose its streams: a call waits for its inputs and for its results."""

    def refusal(self, x: Any) -> str:
        if isinstance(x, self.module.core.Tracer):
            return "is being traced (expected a call outside of jit, vmap and grad)"
        if any(place.platform not in ("gpu", "cuda") for place in x.devices()):
            return ON_CPU
        return "" if len(x.devices()) == 1 else "is spread over several devices (expected one)"

    def view(self, x: Any) -> View:
        if isinstance(x, DeviceArray):
            return super().view(x)
        x.block_until_ready()
        return View(x.unsafe_buffer_pointer(), x.shape, x.dtype.name, None, x)

    def write_refusal(self, x: Any, view: View) -> str:
        return "is an array of JAX, which is never written to (expected no out)"

    def device(self, x: Any) -> Device:
        return device_of(x.unsafe_buffer_pointer()) if x.size else device(0)

    def streams(self, arrays: Sequence[Any]) -> list[int]:
        return []

    def convert(self, x: Any, shape: Shape, dtype: str) -> Any:
        numbers = import_module("jax.numpy").broadcast_to(x.astype(dtype), shape)
        if numbers.dtype != dtype:
            raise TypeError(f"JAX is set up without {dtype} (expected jax.config.update('jax_enable_x64', True))")
        return numbers

    def result_for_caller(self, x: Any) -> Any:
        return import_module("jax.dlpack").from_dlpack(x)


class Numba(Library):
    """Arrays of numba.cuda, on the stream that they were created on."""

    waits = False

    def device(self, x: Any) -> Device:
        pointer = self.view(x).pointer
        return device_of(pointer) if pointer else device(0)

    def streams(self, arrays: Sequence[Any]) -> list[int]:
        return [
            canonical_handle(int(x.__cuda_array_interface__.get("stream") or 0)) for x in arrays
        ]  # None: the default stream

    def new(self, x: Any, shape: Shape, dtype: str, stream: int) -> Any:
        return import_module("numba.cuda").device_array(shape, dtype, stream=self._stream(stream))

    def assign(self, x: Any, computed: Any, stream: int) -> None:
        x.copy_to_device(computed, stream=self._stream(stream))

    def _stream(self, stream: int) -> Any:
        return import_module("numba.cuda").external_stream(stream) if stream else 0


class DeviceArrays(Library):
    """Arrays of class `DeviceArray`."""

    waits = False

    def keep(self, arrays: Sequence[Any], gpu: Device, stream: int) -> None:
        """The driver itself waits before it frees their memory."""


ON_CPU = "is on the CPU"
MAX_WORK = 100_000  # effort of NumPy to find out whether arrays share memory
LIBRARIES = {"torch": Torch, "cupy": CuPy, "jax": Jax, "numba": Numba, "linkwise": DeviceArrays}
_libraries: dict[str, Library] = {}


def library_of(name: str, value: Any) -> Library:
    """The library of an array; a TypeError if kernels cannot take the array."""
    package = package_of(value)
    if package in ("", "linkwise"):
        protocols = ("__cuda_array_interface__", "__dlpack_device__")
        if isinstance(value, np.ndarray) or not any(hasattr(value, protocol) for protocol in protocols):
            raise TypeError(f"{name} is {kind_of(value)} on the CPU ({EXPECTED}; copy=True copies NumPy arrays)")
    if package not in _libraries:
        _libraries[package] = LIBRARIES.get(package, Library)(package)
    library = _libraries[package]
    wrong = library.refusal(value)
    if wrong:
        remedy = "; x.cuda(), or x.numpy() where NumPy arrays are copied" if package == "torch" else ""
        raise TypeError(f"{name}, {kind_of(value)}, {wrong}{f' ({EXPECTED}{remedy})' if wrong is ON_CPU else ''}")
    return library


def package_of(value: Any) -> str:
    """The name of a library in `LIBRARIES`, also for subclasses of its arrays; empty for others."""
    for package, kind in (("torch", "Tensor"), ("cupy", "ndarray")):
        if isinstance(value, getattr(sys.modules.get(package), kind, ())):
            return package
    package = type(value).__module__.partition(".")[0].replace("jaxlib", "jax")
    return package if package in ("jax", "numba", "linkwise") else ""


def internal_overlap_error(view: View) -> str:
    return "has elements that share memory (expected one of its own for each)" if view.has_internal_overlap else ""


def is_contiguous(shape: Shape, strides: Shape | None) -> bool:
    """Whether the last axis varies fastest, without gaps; axes of one element may have any stride."""
    if strides is None or 0 in shape:
        return True
    step = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size != 1 and stride != step:
            return False
        step *= size
    return True
