"""Stand-ins for torch and CuPy on the GPU of `fake_cuda`: arrays with lazy streams, and memory that is used again.

They have what Linkwise calls, no more. All that is done with an array is asked for on the current stream of its
library. The memory of an array that nobody refers to is given to the next one that is made on the same stream, as both
libraries do; with torch, not before streams of `record_stream` are done with it.
"""

from __future__ import annotations

import ctypes
import sys
import types
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, ClassVar

import numpy as np
import pytest

from fake_cuda import FakeLibrary
from linkwise.kernels import bridging
from linkwise.targets.cuda import arrays
from linkwise.targets.cuda.driver import device


class Stream:
    """`ptr` and `cuda_stream` are its number; a context in which it is the current one."""

    current: ClassVar[list[int]] = [0]

    def __init__(self, handle: int = 0, device: int = 0) -> None:
        self.ptr = self.cuda_stream = handle

    def __enter__(self) -> Stream:
        self.current.append(self.ptr)
        return self

    def __exit__(self, *error: Any) -> None:
        self.current.pop()


class Memory:
    """Blocks that were given back, by stream and size."""

    def __init__(self, library: FakeLibrary) -> None:
        self.library = library
        self.free: dict[tuple[int, int], list[int]] = {}
        self.users: dict[int, set[int]] = {}  # of blocks: streams that use them, besides that of the block

    def block(self, owner: Any, size: int) -> int:
        key = Stream.current[-1], size
        blocks = self.free.setdefault(key, [])
        found = next((x for x in blocks if not self.in_use(x)), None)
        if found is None:
            found = device(0).allocate(size)
        else:
            blocks.remove(found)
        self.users[found] = set()
        weakref.finalize(owner, blocks.append, found).atexit = False
        return found

    def in_use(self, block: int) -> bool:
        library = self.library
        return any(library.done.get(x, 0) < len(library.asked.get(x, [])) for x in self.users[block])


class Array:
    """What torch and CuPy have in common."""

    memory: Memory
    requires_grad, is_nested, layout = False, False, "strided"

    def __init__(self, numbers: np.ndarray, owner: Any = None) -> None:
        """A new one, not yet written; or, with an owner, a part of that."""
        self.owner = owner
        if owner is None:
            pointer = self.memory.block(self, max(numbers.nbytes, 1))
            raw = (ctypes.c_char * max(numbers.nbytes, 1)).from_address(pointer)
            numbers = np.frombuffer(raw, numbers.dtype, numbers.size).reshape(numbers.shape)
        self.numbers = numbers

    @property
    def block(self) -> int:
        return int(self.numbers.ctypes.data) if self.owner is None else self.owner.block

    @property
    def shape(self) -> tuple[int, ...]:
        return self.numbers.shape

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def filled(self, source: Array | np.ndarray) -> Any:
        """With the numbers of another; what is asked for refers to their memory, not to the arrays."""
        to, numbers = self.numbers, source.numbers if isinstance(source, Array) else source.copy()
        self.memory.library.do(lambda: np.copyto(to, numbers, casting="unsafe"), Stream.current[-1])
        return self


class Tensor(Array):
    """Of torch."""

    __module__ = "torch"

    @property
    def dtype(self) -> str:
        return f"torch.{self.numbers.dtype.name}"

    @property
    def device(self) -> Any:
        return types.SimpleNamespace(type="cuda", index=0)

    def data_ptr(self) -> int:
        return int(self.numbers.ctypes.data)

    def is_contiguous(self) -> bool:
        return bool(self.numbers.flags.c_contiguous)

    def is_neg(self) -> bool:
        return False

    def is_inference(self) -> bool:
        return True

    def numel(self) -> int:
        return self.numbers.size

    def stride(self) -> tuple[int, ...]:
        return tuple(step // self.numbers.itemsize for step in self.numbers.strides)

    def detach(self) -> Tensor:
        return self

    resolve_neg = detach

    def to(self, dtype: str) -> Tensor:
        return self if self.numbers.dtype == dtype else Tensor(np.empty(self.shape, dtype)).filled(self)

    def expand(self, shape: tuple[int, ...]) -> Tensor:
        return Tensor(np.broadcast_to(self.numbers, shape), self)

    def contiguous(self) -> Tensor:
        return self if self.is_contiguous() else Tensor(np.empty(self.shape, self.numbers.dtype)).filled(self)

    @property
    def T(self) -> Tensor:
        return Tensor(self.numbers.T, self)

    def copy_(self, source: Tensor) -> Tensor:
        return self.filled(source)

    def record_stream(self, stream: Stream) -> None:
        self.memory.users[self.block].add(stream.cuda_stream)


class NdArray(Array):
    """Of CuPy."""

    __module__ = "cupy"

    @property
    def dtype(self) -> np.dtype:
        return self.numbers.dtype

    @property
    def device(self) -> Any:
        return Device(0)

    @property
    def data(self) -> Any:
        return types.SimpleNamespace(ptr=int(self.numbers.ctypes.data))

    @property
    def flags(self) -> Any:
        return self.numbers.flags

    @property
    def strides(self) -> tuple[int, ...]:
        return self.numbers.strides

    @property
    def itemsize(self) -> int:
        return self.numbers.itemsize

    @property
    def T(self) -> NdArray:
        return NdArray(self.numbers.T, self)

    def astype(self, dtype: str, copy: bool = True) -> NdArray:
        return self if self.dtype == dtype else NdArray(np.empty(self.shape, dtype)).filled(self)

    def __setitem__(self, index: Any, source: NdArray) -> None:
        assert index is ...
        self.filled(source)


class Device(nullcontext):
    def __init__(self, number: int) -> None:
        super().__init__()
        self.id = number


def cupy_module() -> Any:
    cuda = types.SimpleNamespace(
        Device=Device,
        Stream=types.SimpleNamespace(null=Stream(0), from_external=lambda named: Stream(named.__cuda_stream__()[1])),
        get_current_stream=lambda: Stream(Stream.current[-1]),
    )

    def contiguous(x: NdArray) -> NdArray:
        return x if x.flags.c_contiguous else NdArray(np.empty(x.shape, x.dtype)).filled(x)

    module: Any = types.ModuleType("cupy")
    module.cuda, module.ndarray, module.ascontiguousarray = cuda, NdArray, contiguous
    module.broadcast_to = lambda x, shape: NdArray(np.broadcast_to(x.numbers, shape), x)
    module.empty = lambda shape, dtype: NdArray(np.empty(shape, dtype))
    return module


def torch_module() -> Any:
    module: Any = types.ModuleType("torch")
    module.cuda = types.SimpleNamespace(
        current_stream=lambda where: Stream(Stream.current[-1]),
        stream=lambda stream: stream,
        ExternalStream=Stream,
        default_stream=lambda where: Stream(0),
    )
    untouched = types.SimpleNamespace(unpack_dual=lambda x: types.SimpleNamespace(tangent=None))
    module.autograd = types.SimpleNamespace(forward_ad=untouched)
    module.Tensor, module.strided, module.is_grad_enabled = Tensor, "strided", lambda: True
    module.float64, module.float32, module.int32 = "float64", "float32", "int32"
    module.empty = lambda shape, dtype, device: Tensor(np.empty(shape, dtype))
    return module


KINDS: dict[str, tuple[type[Any], Callable[[], Any]]] = {
    "torch": (Tensor, torch_module),
    "cupy": (NdArray, cupy_module),
}


@contextmanager
def fake_arrays(library: FakeLibrary, name: str) -> Iterator[Callable[[np.ndarray], Any]]:
    """A function that makes arrays of a library, on its current stream, for the time of a `with` block."""
    kind, module = KINDS[name]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, name, module())
        patch.setattr(arrays, "_libraries", {})
        patch.setattr(bridging, "BRIDGES", {})
        patch.setattr(Array, "memory", Memory(library), raising=False)
        patch.setattr(Stream, "current", [0])
        library.streams |= {77, 78, 79}
        yield lambda numbers: kind(np.empty(numbers.shape, numbers.dtype)).filled(np.asarray(numbers))
