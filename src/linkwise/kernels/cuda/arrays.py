"""Arrays of other libraries on a GPU: where their numbers are, on which stream they are made, and new ones like them.

torch, CuPy, JAX and Numba have a class each. Whatever else has `__cuda_array_interface__` or `__dlpack__` is read in
place, and gets results as `DeviceArray`. A library is imported only where one of its arrays was passed.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from . import dlpack
from .driver import Device, device, device_of
from .memory import DeviceArray

EXPECTED = "expected arrays on a GPU: of torch, CuPy, JAX or Numba, or others with __cuda_array_interface__ or DLPack"
Shape = tuple[int, ...]


class View(NamedTuple):
    """An array on a GPU, as a kernel sees it. `owner` keeps the numbers alive."""

    pointer: int
    shape: Shape
    dtype: str
    contiguous: bool
    owner: Any

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """Of a contiguous array."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize

    def overlaps(self, other: View) -> bool:
        """Whether two contiguous arrays share memory."""
        return self.pointer < other.pointer + other.nbytes and other.pointer < self.pointer + self.nbytes


class Library:
    """What is done with the arrays of a library; here for any that has one of the two protocols."""

    waits = True  # whether a call waits for the GPU: the library may free its arrays on another stream

    def __init__(self, name: str) -> None:
        self.name = name
        self.module: Any = import_module(name) if name else None

    def refusal(self, x: Any) -> str:
        """Why a kernel cannot take it; nothing if it can."""
        on_gpu = hasattr(x, "__cuda_array_interface__") or x.__dlpack_device__()[0] in (dlpack.CUDA, dlpack.MANAGED)
        return "" if on_gpu else ON_CPU

    def view(self, x: Any) -> View:
        if not hasattr(x, "__cuda_array_interface__"):
            content = dlpack.imported(x.__dlpack__())
            contiguous = is_contiguous(content.shape, content.strides)
            return View(content.pointer, content.shape, content.dtype, contiguous, content.owner)
        about = x.__cuda_array_interface__
        shape, strides, kind = tuple(about["shape"]), about.get("strides"), np.dtype(about["typestr"])
        steps = tuple(step // kind.itemsize for step in strides) if strides else None
        name = kind.name if kind.isnative else kind.str  # of numbers in another byte order, which no kernel takes
        return View(about["data"][0], shape, name, is_contiguous(shape, steps), x)

    def read_only(self, x: Any) -> bool:
        about = x.__cuda_array_interface__ if not self.name and hasattr(x, "__cuda_array_interface__") else {}
        return bool(about.get("data", (0, False))[1])

    def device(self, x: Any) -> Device:
        if hasattr(x, "__dlpack_device__"):
            return device(int(x.__dlpack_device__()[1]))
        pointer = self.view(x).pointer
        return device_of(pointer) if pointer else device(0)  # an empty array may be nowhere

    def stream(self, x: Any) -> int:
        """That on which the array was made, and on which the library will use the results."""
        return int(getattr(x, "__cuda_array_interface__", {}).get("stream") or 0)

    def converted(self, x: Any, shape: Shape, dtype: str) -> Any:
        """The numbers in this shape, to which they broadcast, and dtype."""
        raise TypeError(
            f"{described(x)} has shape {self.view(x).shape} and dtype {self.view(x).dtype} (expected {shape},"
            f" contiguous, and {dtype}: arrays of this library are not converted)"
        )

    def new(self, x: Any, shape: Shape, dtype: str, stream: int) -> Any:
        """A new array beside x."""
        return DeviceArray(self.device(x), shape, dtype, stream)

    def assign(self, x: Any, computed: Any) -> None:
        """Copy the numbers into an array of the user's."""
        raise TypeError(f"out is not contiguous, or shares memory with an input, and {described(x)} is not copied to")

    def finished(self, x: Any) -> Any:
        """A result as it is given to the caller."""
        return x


class Torch(Library):
    """Tensors, on torch's current stream."""

    waits = False

    def refusal(self, x: Any) -> str:
        if not x.is_cuda:
            return ON_CPU
        if x.requires_grad and self.module.is_grad_enabled():
            return "requires a gradient, which kernels do not give (expected x.detach(), or torch.no_grad())"
        return ""

    def view(self, x: Any) -> View:
        return View(x.data_ptr(), tuple(x.shape), str(x.dtype).removeprefix("torch."), x.is_contiguous(), x)

    def device(self, x: Any) -> Device:
        return device(x.device.index)

    def stream(self, x: Any) -> int:
        return int(self.module.cuda.current_stream(x.device).cuda_stream)

    def converted(self, x: Any, shape: Shape, dtype: str) -> Any:
        return x.detach().to(getattr(self.module, dtype)).expand(shape).contiguous()

    def new(self, x: Any, shape: Shape, dtype: str, stream: int) -> Any:
        return self.module.empty(shape, dtype=getattr(self.module, dtype), device=x.device)

    def assign(self, x: Any, computed: Any) -> None:
        x.copy_(computed)


class CuPy(Library):
    """Arrays, on CuPy's current stream."""

    waits = False

    def refusal(self, x: Any) -> str:
        return ""

    def view(self, x: Any) -> View:
        return View(x.data.ptr, x.shape, x.dtype.name, bool(x.flags.c_contiguous), x)

    def device(self, x: Any) -> Device:
        return device(x.device.id)

    def stream(self, x: Any) -> int:
        with x.device:
            return int(self.module.cuda.get_current_stream().ptr)

    def converted(self, x: Any, shape: Shape, dtype: str) -> Any:
        with x.device:
            return self.module.ascontiguousarray(self.module.broadcast_to(x.astype(dtype, copy=False), shape))

    def new(self, x: Any, shape: Shape, dtype: str, stream: int) -> Any:
        with x.device:
            return self.module.empty(shape, dtype)

    def assign(self, x: Any, computed: Any) -> None:
        with x.device:
            x[...] = computed


class Jax(Library):
    """JAX tells nobody its streams: a call waits for its inputs before, and for its results after."""

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
        return View(x.unsafe_buffer_pointer(), x.shape, x.dtype.name, True, x)

    def device(self, x: Any) -> Device:
        return device_of(x.unsafe_buffer_pointer()) if x.size else device(0)

    def stream(self, x: Any) -> int:
        return 0

    def converted(self, x: Any, shape: Shape, dtype: str) -> Any:
        numbers = import_module("jax.numpy").broadcast_to(x.astype(dtype), shape)
        if numbers.dtype != dtype:
            raise TypeError(f"JAX is set up without {dtype} (expected jax.config.update('jax_enable_x64', True))")
        return numbers

    def assign(self, x: Any, computed: Any) -> None:
        raise TypeError("out is an array of JAX, which is never written to (expected no out)")

    def finished(self, x: Any) -> Any:
        return import_module("jax.dlpack").from_dlpack(x)


class Numba(Library):
    """Arrays of numba.cuda, on the stream that they were made on."""

    waits = False

    def device(self, x: Any) -> Device:
        pointer = self.view(x).pointer
        return device_of(pointer) if pointer else device(0)

    def new(self, x: Any, shape: Shape, dtype: str, stream: int) -> Any:
        return import_module("numba.cuda").device_array(shape, dtype)

    def assign(self, x: Any, computed: Any) -> None:
        x.copy_to_device(computed)


class Own(Library):
    """`DeviceArray`."""

    waits = False


ON_CPU = "is on the CPU"
LIBRARIES = {"torch": Torch, "cupy": CuPy, "jax": Jax, "numba": Numba, "linkwise": Own}
_libraries: dict[str, Library] = {}


def library_of(name: str, value: Any) -> Library:
    """That of an array; a TypeError where it is none that a kernel can take."""
    package = type(value).__module__.partition(".")[0].replace("jaxlib", "jax")
    if package not in LIBRARIES:
        package = ""
        protocols = ("__cuda_array_interface__", "__dlpack_device__")
        if isinstance(value, np.ndarray) or not any(hasattr(value, protocol) for protocol in protocols):
            raise TypeError(f"{name} is {described(value)} on the CPU ({EXPECTED}; copy=True copies NumPy arrays)")
    if package not in _libraries:
        _libraries[package] = LIBRARIES.get(package, Library)(package)
    library = _libraries[package]
    wrong = library.refusal(value)
    if wrong:
        raise TypeError(f"{name}, {described(value)}, {wrong}{f' ({EXPECTED})' if wrong is ON_CPU else ''}")
    return library


def described(value: Any) -> str:
    kind = type(value)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__.partition('.')[0]}.{kind.__name__}"
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


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
