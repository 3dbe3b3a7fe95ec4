"""Copies NumPy arrays to a GPU and back in parts, so that copies overlap with computation."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ...kernels.kernel import full_rows
from . import dlpack
from .checking import explain
from .driver import Device, device
from .memory import DeviceArray, PinnedArray

if TYPE_CHECKING:
    from .kernel import CudaKernel

PART = 1 << 22  # bytes of a part, inputs and outputs: enough for full copy speed
LANES = 3  # parts in flight
ALIGN = 256  # bytes: alignment of the arrays in a part


class Lane:
    """A stream with memory for one part on the host and on the GPU."""

    def __init__(self, gpu: Device, size: int) -> None:
        handle = ctypes.c_void_p()
        self.pinned = PinnedArray(gpu, (size,), "uint8")
        self.there = DeviceArray(gpu, (size,), "uint8")
        with gpu.current() as call:
            call.call("cuStreamCreate", ctypes.byref(handle), 1)  # 1: independent of the default stream
        self.gpu, self.size, self.stream = gpu, size, handle.value or 0
        self.waiting: list[tuple[np.ndarray, np.ndarray]] = []  # pinned results, and the arrays they are copied to

    def start(self, kernel: CudaKernel, count: int, rows: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> None:
        """Queue the copies and the kernel of one part."""
        starts = [0]
        for array in (*rows, *results):
            starts.append(starts[-1] + padded_size(array.nbytes))
        pinned = [
            self.pinned.numbers[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
            for start, array in zip(starts, (*rows, *results), strict=False)
        ]
        for space, row in zip(pinned, rows, strict=False):
            space[...] = row
        sent, total = starts[len(rows)], starts[-1]
        with self.gpu.beside_captures() as call:
            if sent:
                call.call("cuMemcpyHtoDAsync_v2", self.there.pointer, self.pinned.address, sent, self.stream)
            addresses = [self.there.pointer + start for start in starts[:-1]]
            kernel._part(self.gpu.ordinal, count, addresses, self.stream)
            if total > sent:
                places = self.pinned.address + sent, self.there.pointer + sent
                call.call("cuMemcpyDtoHAsync_v2", *places, total - sent, self.stream)
        self.waiting = list(zip(pinned[len(rows) :], results, strict=True))

    def finish(self) -> None:
        """Wait for the part in flight and copy its results."""
        if self.waiting:
            self.gpu.synchronize(self.stream)
            for computed, result in self.waiting:
                result[...] = computed
            self.waiting = []

    def close(self) -> None:
        with self.gpu.current() as call:
            call.call("cuStreamDestroy_v2", self.stream)


@contextmanager
def lane(gpu: Device, size: int) -> Iterator[Lane]:
    """Borrow a lane of the GPU, or make one. Pinned memory is slow to allocate."""
    try:
        used = gpu.lanes.pop()
    except IndexError:
        used = Lane(gpu, max(size, PART))
    if used.size < size:
        used.close()
        used = Lane(gpu, size)
    try:
        yield used
    finally:
        gpu.synchronize(used.stream)
        used.waiting = []
        if used.size == PART and len(gpu.lanes) < 2 * LANES:
            gpu.lanes.append(used)
        else:
            used.close()


def on_gpu(value: Any) -> bool:
    if hasattr(value, "__dlpack_device__"):
        return value.__dlpack_device__()[0] in (dlpack.CUDA, dlpack.MANAGED)
    return hasattr(value, "__cuda_array_interface__")


def padded_size(size: int) -> int:
    return -(-size // ALIGN) * ALIGN


def run_on_copies(kernel: CudaKernel, values: Sequence[Any], out: Any, ordinal: int, check: bool = False) -> Any:
    """Run a kernel on NumPy arrays, with the results of the CPU kernel."""
    for argument, value in zip(kernel.interface.inputs, values, strict=True):
        if on_gpu(value):
            raise TypeError(f"{argument.name} is on a GPU already (expected NumPy arrays, or no copy=True)")
    batch, rows = full_rows(kernel.interface.inputs, values, kernel.interface.dtype)
    results = kernel._results(batch, out)
    count, gpu = math.prod(batch), device(ordinal)
    inputs, outputs = ([argument.size for argument in part] for part in kernel.interface[:2])
    flat = [row.reshape(count, size) for row, size in zip(rows, inputs, strict=True)]
    computed = [np.empty((count, size), kernel.interface.dtype) for size in outputs]
    state = sum((*inputs, *outputs)) * np.dtype(kernel.interface.dtype).itemsize
    padding = ALIGN * (len(inputs) + len(outputs))
    states = max(1, min(count, (PART - padding) // max(1, state)))
    parts = [slice(start, min(start + states, count)) for start in range(0, count, states)]
    with ExitStack() as stack:
        lanes = [stack.enter_context(lane(gpu, state * states + padding)) for _ in range(min(LANES, len(parts)))]
        for k, part in enumerate(parts):
            used = lanes[k % len(lanes)]
            used.finish()
            used.start(
                kernel, part.stop - part.start, [row[part] for row in flat], [result[part] for result in computed]
            )
        for used in lanes:
            used.finish()
    shaped = [numbers.reshape(result.shape) for result, numbers in zip(results, computed, strict=True)]
    if check:
        explain(kernel, rows, shaped)
    for result, numbers in zip(results, shaped, strict=True):
        result[...] = numbers
    if out is not None:
        return out
    scalars = [result[()] for result in results]
    return scalars[0] if len(scalars) == 1 else tuple(scalars)
