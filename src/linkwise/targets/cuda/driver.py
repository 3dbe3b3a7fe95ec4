"""The CUDA driver, libcuda, called through ctypes. It is loaded at the first use, never by an import."""

from __future__ import annotations

import ctypes
import os
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import POINTER, byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p
from functools import cache
from typing import Any

from ...errors import CudaError, CudaMemoryError, is_integer

OLDEST = 11000  # interface of CUDA 11.0, the first whose drivers read the PTX that LLVM writes
OUT_OF_MEMORY, NO_DEVICE, NO_BINARY, NEWER_PTX, NOT_READY = 2, 100, 209, 222, 600
THREADS, REGISTERS, LOCAL_BYTES = 0, 4, 3  # attributes of a function
MAJOR, MINOR, MULTIPROCESSORS, L2_BYTES = 75, 76, 16, 38  # attributes of a device
ORDINAL = 9  # attribute of a pointer: the device
ERROR_LOG, ERROR_LOG_BYTES = 5, 6  # options of the loader
LOG_BYTES = 8192
IMPLICIT = 906  # error: a captured stream would depend on the default stream
RELAXED = 2  # capture mode of a thread whose calls do not invalidate captures
RETIRED = 16  # modules unloaded together, since each unload waits for the GPU

SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cuInit": (c_uint,),
    "cuDriverGetVersion": (POINTER(c_int),),
    "cuGetErrorName": (c_int, POINTER(c_char_p)),
    "cuGetErrorString": (c_int, POINTER(c_char_p)),
    "cuDeviceGetCount": (POINTER(c_int),),
    "cuDeviceGet": (POINTER(c_int), c_int),
    "cuDeviceGetName": (c_char_p, c_int, c_int),
    "cuDeviceGetAttribute": (POINTER(c_int), c_int, c_int),
    "cuDevicePrimaryCtxRetain": (POINTER(c_void_p), c_int),
    "cuCtxPushCurrent_v2": (c_void_p,),
    "cuCtxPopCurrent_v2": (POINTER(c_void_p),),
    "cuModuleLoadDataEx": (POINTER(c_void_p), c_char_p, c_uint, POINTER(c_int), POINTER(c_void_p)),
    "cuModuleGetFunction": (POINTER(c_void_p), c_void_p, c_char_p),
    "cuModuleUnload": (c_void_p,),
    "cuFuncGetAttribute": (POINTER(c_int), c_int, c_void_p),
    "cuOccupancyMaxActiveBlocksPerMultiprocessor": (POINTER(c_int), c_void_p, c_int, c_size_t),
    "cuLaunchKernel": (c_void_p, *[c_uint] * 7, c_void_p, POINTER(c_void_p), c_void_p),
    "cuPointerGetAttribute": (c_void_p, c_int, c_uint64),
    "cuMemGetInfo_v2": (POINTER(c_size_t), POINTER(c_size_t)),
    "cuMemAlloc_v2": (POINTER(c_uint64), c_size_t),
    "cuMemFree_v2": (c_uint64,),
    "cuMemAllocHost_v2": (POINTER(c_void_p), c_size_t),
    "cuMemFreeHost": (c_void_p,),
    "cuMemcpyHtoDAsync_v2": (c_uint64, c_void_p, c_size_t, c_void_p),
    "cuMemcpyDtoHAsync_v2": (c_void_p, c_uint64, c_size_t, c_void_p),
    "cuMemcpyDtoDAsync_v2": (c_uint64, c_uint64, c_size_t, c_void_p),
    "cuMemsetD8Async": (c_uint64, ctypes.c_ubyte, c_size_t, c_void_p),
    "cuStreamCreate": (POINTER(c_void_p), c_uint),
    "cuStreamDestroy_v2": (c_void_p,),
    "cuStreamSynchronize": (c_void_p,),
    "cuStreamWaitEvent": (c_void_p, c_void_p, c_uint),
    "cuStreamIsCapturing": (c_void_p, POINTER(c_int)),
    "cuThreadExchangeStreamCaptureMode": (POINTER(c_int),),
    "cuStreamBeginCapture_v2": (c_void_p, c_int),
    "cuStreamEndCapture": (c_void_p, POINTER(c_void_p)),
    "cuGraphLaunch": (c_void_p, c_void_p),
    "cuGraphDestroy": (c_void_p,),
    "cuGraphExecDestroy": (c_void_p,),
    "cuEventCreate": (POINTER(c_void_p), c_uint),
    "cuEventDestroy_v2": (c_void_p,),
    "cuEventRecord": (c_void_p, c_void_p),
    "cuEventSynchronize": (c_void_p,),
    "cuEventQuery": (c_void_p,),
    "cuEventElapsedTime": (POINTER(c_float), c_void_p, c_void_p),
}


class Driver:
    """The functions of libcuda by name; a call that fails raises a `CudaError`."""

    def __init__(self) -> None:
        self.library, self.process = load_library(), os.getpid()
        self.call("cuInit", 0)
        version = c_int()
        self.call("cuDriverGetVersion", byref(version))
        self.version = version.value
        if self.version < OLDEST:
            raise too_old_error(f"for CUDA {self.version // 1000}.{self.version % 1000 // 10}")

    @property
    def forked(self) -> bool:
        """Whether this process was forked after the driver was loaded, so that nothing can be called."""
        return os.getpid() != self.process

    def call(self, function: str, *arguments: Any) -> None:
        code = getattr(self.library, function)(*arguments)
        if code:
            raise self.error(code, function)

    def error(self, code: int, function: str, more: str = "") -> CudaError:
        if code == NO_DEVICE:
            return CudaError("the CUDA driver finds no GPU (expected one that CUDA_VISIBLE_DEVICES does not hide)")
        if code == NEWER_PTX:
            return too_old_error("older than the text of the kernel")
        if self.forked:
            return CudaError(
                "the CUDA driver does not work in a process that was forked after it was loaded (expected"
                " multiprocessing's start method 'spawn', or the first use of a GPU after the fork)"
            )
        name, text = c_char_p(), c_char_p()
        self.library.cuGetErrorName(code, byref(name))
        self.library.cuGetErrorString(code, byref(text))
        known = f"{(name.value or b'unknown error').decode()}, {(text.value or b'?').decode()}"
        kind = CudaMemoryError if code == OUT_OF_MEMORY else CudaError
        return kind(f"{function}: {known} ({code}){more}")


def load_library() -> Any:
    """Load libcuda and declare the types of its functions."""
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        library = ctypes.CDLL(name)
    except OSError:
        raise CudaError(
            f"there is no CUDA driver ({name}; expected a machine with an NVIDIA GPU and its driver;"
            " lw.ptx_source gives the text of a kernel without either)"
        ) from None
    for function, types in SIGNATURES.items():
        if not hasattr(library, function):
            raise too_old_error("older than CUDA 11")
        getattr(library, function).argtypes = types
    return library


def too_old_error(what: str) -> CudaError:
    return CudaError(f"the CUDA driver is {what} (expected that of CUDA 11.0 or newer: 450 on Linux, 451 on Windows)")


@cache
def driver() -> Driver:
    return Driver()


class Device:
    """A GPU with its primary context, which it shares with torch, CuPy and JAX."""

    def __init__(self, ordinal: int) -> None:
        self.ordinal, self.driver = ordinal, driver()
        handle, context = c_int(), c_void_p()
        code = self.driver.library.cuDeviceGet(byref(handle), ordinal)
        if code:
            more = f": there is no GPU {ordinal} (expected 0, or another that nvidia-smi shows)"
            raise self.driver.error(code, "cuDeviceGet", more)
        self.handle = handle.value
        self.driver.call("cuDevicePrimaryCtxRetain", byref(context), self.handle)
        self.context = context
        self.lanes: list[Any] = []  # reused by `staging`
        self.retired: list[int] = []  # modules to unload
        self.kept: list[tuple[Any, Any]] = []  # events, and the arrays kept alive until then; see `streams`

    @contextmanager
    def current(self) -> Iterator[Driver]:
        """Make its context current, and restore the previous one at the end."""
        self.driver.call("cuCtxPushCurrent_v2", self.context)
        try:
            yield self.driver
        finally:
            self.driver.call("cuCtxPopCurrent_v2", byref(c_void_p()))

    @contextmanager
    def beside_captures(self) -> Iterator[Driver]:
        """As `current`, for calls that allocate, free, load, copy to or from the host, or wait.

        Such calls would invalidate the stream captures of all threads. In relaxed mode the driver permits them.
        """
        mode = c_int(RELAXED)
        with self.current() as call:
            call.call("cuThreadExchangeStreamCaptureMode", byref(mode))
            try:
                yield call
            finally:
                call.call("cuThreadExchangeStreamCaptureMode", byref(mode))

    def attribute(self, which: int) -> int:
        value = c_int()
        self.driver.call("cuDeviceGetAttribute", byref(value), which, self.handle)
        return value.value

    @property
    def name(self) -> str:
        text = ctypes.create_string_buffer(256)
        self.driver.call("cuDeviceGetName", text, 256, self.handle)
        return text.value.decode()

    @property
    def capability(self) -> tuple[int, int]:
        return self.attribute(MAJOR), self.attribute(MINOR)

    def free_and_total(self) -> tuple[int, int]:
        """Free and total memory in bytes."""
        free, total = c_size_t(), c_size_t()
        with self.beside_captures():
            self.driver.call("cuMemGetInfo_v2", byref(free), byref(total))
        return free.value, total.value

    def allocate(self, size: int) -> int:
        """Allocate memory; returns its address."""
        pointer = c_uint64()
        with self.beside_captures() as call:
            code = call.library.cuMemAlloc_v2(byref(pointer), max(size, 1))
        if code:
            free, total = self.free_and_total()
            more = f": {size:,} bytes were asked for, {free:,} of {total:,} are free on {self.name}"
            raise self.driver.error(code, "cuMemAlloc", more)
        return pointer.value

    def free(self, function: str, pointer: int) -> None:
        """Free memory by the driver function for its kind, except after a fork."""
        if not self.driver.forked:
            with self.beside_captures() as call:
                call.call(function, pointer)

    def unload_retired(self) -> None:
        """Unload collected modules once there are many. The driver waits for their kernels.

        This runs when a module is loaded. When one is collected, the driver may have ended already.
        """
        if len(self.retired) < RETIRED or self.driver.forked:
            return
        with self.beside_captures() as call:
            for _ in range(len(self.retired)):
                call.call("cuModuleUnload", self.retired.pop(0))

    def synchronize(self, stream: int) -> None:
        """Wait for the work that is queued on a stream."""
        with self.beside_captures() as call:
            call.call("cuStreamSynchronize", stream or None)

    def is_capturing(self, stream: int) -> bool:
        """Whether the stream is being captured; an error if work on it would invalidate another stream's capture.

        The default stream is never captured, but blocking streams depend on it.
        """
        status = c_int()
        with self.current() as call:
            code = call.library.cuStreamIsCapturing(stream or None, byref(status))
        if code == IMPLICIT:
            raise CudaError(
                "a stream that waits for the default stream is being captured in a CUDA graph, which calls on the"
                " default stream would end (expected a call outside of the capture, or a capture of a non-blocking"
                " stream)"
            )
        if code:
            raise self.driver.error(code, "cuStreamIsCapturing")
        return bool(status.value)

    def refuse_capture(self, stream: int, what: str) -> None:
        """Raise if the stream is being captured, since the next calls would invalidate the capture."""
        if self.is_capturing(stream):
            raise CudaError(f"{what} cannot be captured in a CUDA graph (expected a call outside of the capture)")


@cache
def device(ordinal: int) -> Device:
    return Device(ordinal)


def ordinal_of(value: Any) -> int:
    """Check the number of a GPU that a caller passed."""
    if not is_integer(value):
        raise TypeError(f"device is {value!r} (expected the number of a GPU, 0 for the first)")
    return int(value)


def device_of(pointer: int) -> Device:
    """The GPU whose memory has this address."""
    ordinal = c_int()
    code = driver().library.cuPointerGetAttribute(byref(ordinal), ORDINAL, pointer)
    if code:
        raise CudaError(f"the address {pointer:#x} is in no GPU's memory (expected an array on a GPU)")
    return device(ordinal.value)


class Module:
    """A kernel loaded onto a GPU from PTX. After it is collected, a later `Module` unloads it."""

    def __init__(self, device: Device, ptx: bytes, name: str) -> None:
        self.device = device
        device.unload_retired()
        log = ctypes.create_string_buffer(LOG_BYTES)
        options = (c_int * 2)(ERROR_LOG, ERROR_LOG_BYTES)
        values = (c_void_p * 2)(ctypes.cast(log, c_void_p), c_void_p(LOG_BYTES))
        module, function = c_void_p(), c_void_p()
        with device.beside_captures() as call:
            code = call.library.cuModuleLoadDataEx(byref(module), ptx + b"\0", 2, options, values)
            if code == NO_BINARY:
                major, minor = device.capability
                raise CudaError(f"{device.name} has compute capability {major}.{minor} (expected 8.0 or higher)")
            if code:
                raise call.error(code, "cuModuleLoadDataEx", f": {log.value.decode(errors='replace')}".rstrip(": "))
            call.call("cuModuleGetFunction", byref(function), module, name.encode())
        self.module, self.function = module, function
        weakref.finalize(self, device.retired.append, module.value or 0).atexit = False

    def attribute(self, which: int) -> int:
        value = c_int()
        with self.device.current() as call:
            call.call("cuFuncGetAttribute", byref(value), which, self.function)
        return value.value

    def launch(self, blocks: int, threads: int, arguments: Any, stream: int) -> None:
        """`arguments` is an array of the addresses of the kernel's arguments."""
        with self.device.current() as call:
            call.call("cuLaunchKernel", self.function, blocks, 1, 1, threads, 1, 1, 0, stream or None, arguments, None)
