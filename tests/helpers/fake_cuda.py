"""A CUDA driver without a GPU: memory is the host's, and a launch runs the kernel's text on the processor.

`FakeLibrary` stands in for libcuda with those functions that Linkwise calls, so that everything but the GPU itself is
tested: loading, launches, streams, arrays that are handed over, and copies. A kernel's PTX is found by the text of
which `ptx_of` made it.

With `lazy=True` a stream does nothing before somebody waits for it, and then only what it was asked for and what that
waits for itself: work that is not ordered by events or by its stream comes too late, and the results are wrong.
"""

import ctypes
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import cuda_emulation
from linkwise.targets.cuda import checking, driver, loops, target

backend, rollouts = (import_module(f"linkwise.simulation.{name}") for name in ("backend", "rollouts"))


class FakeLibrary:
    """The functions of libcuda. They return 0, or the number of an error."""

    def __init__(self, devices: int = 1, version: int = 12040, capacity: int = 1 << 32, lazy: bool = False) -> None:
        self.lazy = lazy
        self.asked: dict[int, list[Callable[[], Any]]] = {}  # of each stream
        self.done: dict[int, int] = {}  # how much of it is done
        self.places: dict[int, tuple[int, int]] = {}  # of events: the stream, and how much it was asked for before
        self.capturing: set[int] = set()  # streams that somebody else captures
        self.blocking = False  # whether one of them waits for the default stream
        self.mode = 0  # of the thread: whether it may do what ends captures of others
        self.invalidated: list[str] = []  # what ended captures
        self.copied: list[int] = []  # bytes that went to the host
        self.devices, self.version, self.capacity = devices, version, capacity
        self.memory: dict[int, tuple[Any, int]] = {}  # by address: the bytes, and the device
        self.contexts: list[int] = []
        self.handles: dict[int, Any] = {}
        self.next_handle = 0x1000
        self.texts: dict[bytes, str] = {}  # LLVM assembly by PTX
        self.launches: list[tuple[int, int, int, int]] = []  # device, blocks, threads, stream
        self.streams = {1, 2}  # the default streams have these numbers too
        self.recorded: dict[int, int] = {}  # the stream of each event
        self.waits: list[tuple[int, int]] = []  # streams that wait, and for which
        self.captured: list[Callable[[], None]] | None = None  # what a stream is to do later, as a graph

    def handle(self, what: Any) -> int:
        self.next_handle += 1
        self.handles[self.next_handle] = what
        return self.next_handle

    def cuInit(self, flags: int) -> int:
        return 0 if self.devices else driver.NO_DEVICE

    def cuDriverGetVersion(self, version: Any) -> int:
        version._obj.value = self.version
        return 0

    def cuGetErrorName(self, code: int, text: Any) -> int:
        text._obj.value = {2: b"CUDA_ERROR_OUT_OF_MEMORY"}.get(code, b"CUDA_ERROR")
        return 0

    def cuGetErrorString(self, code: int, text: Any) -> int:
        text._obj.value = b"what went wrong"
        return 0

    def cuDeviceGet(self, found: Any, ordinal: int) -> int:
        found._obj.value = ordinal
        return 0 if ordinal < self.devices else 101

    def cuDeviceGetName(self, text: Any, size: int, device: int) -> int:
        text.value = b"Imaginary GPU"
        return 0

    def cuDeviceGetAttribute(self, value: Any, which: int, device: int) -> int:
        value._obj.value = {driver.MAJOR: 8, driver.MINOR: 6, driver.MULTIPROCESSORS: 4}.get(which, 0)
        return 0

    def cuDevicePrimaryCtxRetain(self, context: Any, device: int) -> int:
        context._obj.value = 0x100 + device
        return 0

    def cuCtxPushCurrent_v2(self, context: Any) -> int:
        self.contexts.append(context.value - 0x100)
        return 0

    def cuCtxPopCurrent_v2(self, context: Any) -> int:
        self.contexts.pop()
        return 0

    def cuModuleLoadDataEx(self, module: Any, ptx: bytes, count: int, options: Any, values: Any) -> int:
        assert ptx.endswith(b"\0")
        module._obj.value = self.handle((self.contexts[-1], ptx[:-1]))
        return 0

    def cuModuleGetFunction(self, function: Any, module: Any, name: bytes) -> int:
        assert name == b"kernel"
        function._obj.value = self.handle(self.handles[module.value])
        return 0

    def cuModuleUnload(self, module: Any) -> int:
        assert self.contexts[-1] == self.handles.pop(module)[0]
        return 0

    def cuFuncGetAttribute(self, value: Any, which: int, function: Any) -> int:
        value._obj.value = {driver.THREADS: 64, driver.REGISTERS: 96}.get(which, 0)
        return 0

    def cuOccupancyMaxActiveBlocksPerMultiprocessor(self, found: Any, function: Any, threads: int, shared: int) -> int:
        found._obj.value = 1
        return 0

    def cuEventCreate(self, event: Any, flags: int) -> int:
        event._obj.value = self.handle(0.0)
        return 0

    def cuEventRecord(self, event: Any, stream: Any) -> int:
        self.handles[event.value] = time.perf_counter()
        self.recorded[event.value] = stream or 0
        self.places[event.value] = default(stream), len(self.asked.get(default(stream), []))
        return 0

    def cuStreamWaitEvent(self, stream: Any, event: Any, flags: int) -> int:
        assert {stream or 0, self.recorded[event.value]} <= self.streams | {0}
        self.waits.append((stream or 0, self.recorded[event.value]))
        place = self.places[event.value]
        self.do(lambda: self.finish(*place), stream)
        return 0

    def cuEventDestroy_v2(self, event: Any) -> int:
        del self.handles[event.value]
        return 0

    def cuEventSynchronize(self, event: Any) -> int:
        self.finish(*self.places[event.value])
        return 0

    def cuEventQuery(self, event: Any) -> int:
        stream, count = self.places[event.value]
        return 0 if self.done.get(stream, 0) >= count else driver.NOT_READY

    def cuEventElapsedTime(self, milliseconds: Any, start: Any, end: Any) -> int:
        milliseconds._obj.value = 1e3 * (self.handles[end.value] - self.handles[start.value])
        return 0

    def cuLaunchKernel(self, function: Any, *arguments: Any) -> int:
        blocks, _, _, threads, _, _, _, stream, places, _ = arguments
        device, ptx = self.handles[function.value]
        assert self.contexts[-1] == device
        assert stream is None or stream in self.streams
        text = self.texts[ptx]
        kinds = cuda_emulation.kinds_of(text)
        count, *arguments = (
            cuda_emulation.KINDS[kind].from_address(place).value for kind, place in zip(kinds, places, strict=True)
        )
        addresses = [x for kind, x in zip(kinds[1:], arguments, strict=True) if kind == "ptr"]
        assert all(self.owner(address) == device for address in addresses)
        assert blocks == -(-count // threads)
        self.launches.append((device, blocks, threads, stream or 0))
        self.do(lambda: cuda_emulation.launch_at(text, threads, arguments, count), stream)
        return 0

    def do(self, work: Callable[[], Any], stream: Any) -> None:
        if self.captured is not None:
            self.captured.append(work)
        elif self.lazy:
            self.asked.setdefault(default(stream), []).append(work)
        else:
            work()

    def finish(self, stream: int, count: int | None = None) -> None:
        """Let a stream do what it was asked for, or so much of it."""
        asked = self.asked.get(stream, [])
        while self.done.get(stream, 0) < (len(asked) if count is None else count):
            self.done[stream] = self.done.get(stream, 0) + 1
            asked[self.done[stream] - 1]()

    def finish_all(self) -> None:
        for stream in list(self.asked):
            self.finish(stream)

    def cuThreadExchangeStreamCaptureMode(self, mode: Any) -> int:
        mode._obj.value, self.mode = self.mode, mode._obj.value
        return 0

    def cuStreamIsCapturing(self, stream: Any, status: Any) -> int:
        if not stream and self.blocking:
            return driver.IMPLICIT
        status._obj.value = (stream or 0) in self.capturing
        return 0

    def cuStreamBeginCapture_v2(self, stream: Any, mode: Any) -> int:
        self.captured = []
        return 0

    def cuStreamEndCapture(self, stream: Any, graph: Any) -> int:
        graph._obj.value, self.captured = self.handle(self.captured), None
        return 0

    def cuGraphInstantiateWithFlags(self, executable: Any, graph: Any, flags: Any) -> int:
        executable._obj.value = self.handle(self.handles[graph.value])
        return 0

    def cuGraphDestroy(self, graph: Any) -> int:
        del self.handles[graph.value]
        return 0

    cuGraphExecDestroy = cuGraphDestroy  # noqa: N815

    def cuGraphLaunch(self, executable: Any, stream: Any) -> int:
        assert stream in self.streams
        for work in self.handles[executable.value]:
            self.do(work, stream)
        return 0

    def owner(self, address: int) -> int | None:
        for start, (content, device) in self.memory.items():
            if start <= address < start + len(content):
                return device
        return None

    def cuPointerGetAttribute(self, value: Any, which: int, address: int) -> int:
        device = self.owner(address)
        value._obj.value = device or 0
        return 0 if device is not None else 1

    def cuMemGetInfo_v2(self, free: Any, total: Any) -> int:
        free._obj.value, total._obj.value = self.capacity - self.used, self.capacity
        return 0

    @property
    def used(self) -> int:
        return sum(len(content) for content, _ in self.memory.values())

    def allocated(self, size: int, alignment: int = 256) -> tuple[int, Any]:
        raw = (ctypes.c_char * (size + alignment))()
        return ctypes.addressof(raw) + -ctypes.addressof(raw) % alignment, raw

    def cuMemAlloc_v2(self, pointer: Any, size: int) -> int:
        if self.used + size > self.capacity:
            return driver.OUT_OF_MEMORY
        address, raw = self.allocated(size)
        ctypes.memset(address, 0xFF, size)  # NaN: what is not written is seen
        self.memory[address] = (raw, self.contexts[-1])
        pointer._obj.value = address
        return 0

    def cuMemFree_v2(self, pointer: int) -> int:
        self.finish_all()
        del self.memory[pointer]
        return 0

    def cuMemAllocHost_v2(self, pointer: Any, size: int) -> int:
        address, raw = self.allocated(size)
        self.handles[address] = raw
        pointer._obj.value = address
        return 0

    def cuMemFreeHost(self, pointer: int) -> int:
        del self.handles[pointer]
        return 0

    def copy(self, to: int, source: int, size: int, stream: Any) -> int:
        assert stream is None or stream in self.streams
        self.do(lambda: ctypes.memmove(to, source, size), stream)
        return 0

    cuMemcpyHtoDAsync_v2 = cuMemcpyDtoDAsync_v2 = copy  # noqa: N815

    def cuMemcpyDtoHAsync_v2(self, to: int, source: int, size: int, stream: Any) -> int:
        self.copied.append(size)
        return self.copy(to, source, size, stream)

    def cuMemsetD8Async(self, to: int, value: int, size: int, stream: Any) -> int:
        assert stream is None or stream in self.streams
        self.do(lambda: ctypes.memset(to, value, size), stream)
        return 0

    def cuStreamCreate(self, stream: Any, flags: int) -> int:
        stream._obj.value = self.handle("stream")
        self.streams.add(stream._obj.value)
        return 0

    def cuStreamDestroy_v2(self, stream: int) -> int:
        self.streams.remove(stream)
        return 0

    def cuStreamSynchronize(self, stream: Any) -> int:
        self.finish(default(stream))
        return 0


UNSAFE = (
    *("cuMemAlloc_v2", "cuMemFree_v2", "cuMemAllocHost_v2", "cuMemFreeHost", "cuModuleLoadDataEx", "cuModuleUnload"),
    *("cuEventQuery", "cuStreamSynchronize", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2"),
)


def guarded(name: str) -> Callable[..., int]:
    """A function that ends captures of streams, unless the thread is in the mode that lets it be."""
    real = getattr(FakeLibrary, name)

    def call(self: FakeLibrary, *arguments: Any) -> int:
        if self.capturing and self.mode != driver.RELAXED:
            self.invalidated.append(name)
            return 900
        return int(real(self, *arguments))

    return call


for unsafe in UNSAFE:
    setattr(FakeLibrary, unsafe, guarded(unsafe))


def default(stream: Any) -> int:
    """The default stream has two numbers."""
    return 0 if stream in (None, 1) else int(stream)


@contextmanager
def fake_driver(**options: Any) -> Iterator[FakeLibrary]:
    """A driver of this kind for the time of a `with` block."""
    library = FakeLibrary(**options)
    real_ptx = target.ptx_of

    def remembered(text: str, architecture: str) -> str:
        ptx = real_ptx(text, architecture)
        library.texts[ptx.encode()] = text
        return ptx

    forget()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "load_library", lambda: library)
        patch.setattr(target, "ptx_of", remembered)
        yield library
    forget()


def forget() -> None:
    cached_here = (driver.driver, driver.device, loops.work_memory, checking.finite_test)
    for cached in (*cached_here, rollouts.compile_rollout_code, backend.compile_solver):
        cached.cache_clear()


class Foreign:
    """An array of a library that nobody knows, with `__cuda_array_interface__`."""

    def __init__(self, array: np.ndarray, stream: int | None = None, strides: bool = False) -> None:
        self.gpu = driver.device(0)
        self.shape, self.dtype, self.nbytes = array.shape, array.dtype, array.nbytes
        self.pointer = self.gpu.allocate(max(array.nbytes, 1))
        rows = np.ascontiguousarray(array)
        with self.gpu.beside_captures() as call:
            call.call("cuMemcpyHtoDAsync_v2", self.pointer, rows.ctypes.data, array.nbytes, None)
        self.gpu.synchronize(0)
        self.about: dict[str, Any] = {
            "shape": array.shape,
            "typestr": array.dtype.str,
            "data": (self.pointer, False),
            "version": 3,
            "stream": stream,
            "strides": array.strides if strides else None,
        }

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self.about

    def numbers(self) -> np.ndarray:
        rows = np.empty(self.shape, self.dtype)
        with self.gpu.beside_captures() as call:
            call.call("cuMemcpyDtoHAsync_v2", rows.ctypes.data, self.pointer, self.nbytes, None)
        self.gpu.synchronize(0)
        return rows
