"""The stream of a call: it waits for the streams of the arrays, and all work of the call is queued on it.

A library produces its arrays on its current stream, or each array names the stream that produces it. A call on another
stream waits for those by events. The library then converts, allocates and copies on the stream of the call, and the
caller's arrays are kept alive until the call is done.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from ctypes import byref, c_void_p
from typing import TYPE_CHECKING, Any

from ...errors import CudaError, is_integer
from .driver import NOT_READY, Device

if TYPE_CHECKING:
    from .arrays import Library

NO_TIMES = 2  # flag of an event that records no time
LEGACY = 1  # a second handle of the default stream, 0


class CallStream:
    """`handle` is the driver's handle: that of the requested stream, otherwise that of the first array's stream."""

    def __init__(self, library: Library, gpu: Device, arrays: Sequence[Any], requested: Any = None) -> None:
        producers = library.streams(arrays)
        self.library, self.gpu = library, gpu
        self.handle = stream_handle(requested) if requested is not None else producers[0] if producers else 0
        self.others: set[int] = set()
        self.captured = gpu.is_capturing(self.handle)  # in a CUDA graph
        self._wait_for(producers)

    def wait_for_array(self, array: Any) -> None:
        """Wait for the stream that produces the array."""
        self._wait_for(self.library.streams([array]))

    def _wait_for(self, streams: Sequence[int]) -> None:
        for stream in dict.fromkeys(streams):
            if stream != self.handle and stream not in self.others:
                if self.captured and not self.gpu.is_capturing(stream):
                    raise CudaError(
                        "the call is captured in a CUDA graph, but its arrays are made on another stream (expected the"
                        " captured stream as the library's current one)"
                    )
                wait_for_stream(self.gpu, self.handle, stream)
                self.others.add(stream)
                self.captured = self.captured or self.gpu.is_capturing(self.handle)

    def refuse_temporary(self, why: str) -> None:
        """Raise if a captured graph would write temporary memory after the call frees it.

        torch keeps memory that is allocated during a capture as long as the graph lives.
        """
        if self.captured and not self.library.keeps_for_graphs:
            raise CudaError(
                f"{why}, so the call needs temporary memory; but it is captured in a CUDA graph, which may outlive that"
                " memory (expected contiguous arrays of the kernel's dtype, with the full batch, that share no memory"
                " with out; for a rollout also qd0 and out)"
            )

    def on_stream(self) -> AbstractContextManager[Any]:
        """The library works on the stream of the call inside this context."""
        return self.library.on_stream(self.gpu, self.handle) if self.others else nullcontext()

    def after_launch(self, arrays: Sequence[Any], results: Sequence[Any] = ()) -> None:
        """Keep the caller's inputs and results alive until the queued work is done."""
        if self.others:
            if self.library.keeps_for_graphs or not self.captured:  # the caller keeps the arrays of a graph
                self.library.keep([*arrays, *results], self.gpu, self.handle)
            for stream in self.library.streams(results) if self.library.names_streams else ():
                if stream != self.handle:  # others read the results on that stream
                    wait_for_stream(self.gpu, stream, self.handle)


def wait_for_stream(gpu: Device, stream: int, other: int) -> None:
    """Make a stream wait for the work that is queued on the other one."""
    event = record_event(gpu, other)
    with gpu.current() as call:
        try:
            call.call("cuStreamWaitEvent", stream or None, event, 0)
        finally:
            call.call("cuEventDestroy_v2", event)


def record_event(gpu: Device, stream: int) -> c_void_p:
    """An event behind the work that is queued on a stream."""
    event = c_void_p()
    with gpu.current() as call:
        call.call("cuEventCreate", byref(event), NO_TIMES)
        call.call("cuEventRecord", event, stream or None)
    return event


def keep_until_done(objects: Sequence[Any], gpu: Device, stream: int) -> None:
    """Keep objects alive until the work queued on a stream is done. A later call releases them."""
    with gpu.beside_captures() as call:
        for _ in range(len(gpu.kept)):
            try:
                event, held = gpu.kept.pop(0)
            except IndexError:  # another thread was faster
                break
            code = call.library.cuEventQuery(event)
            if code == NOT_READY:
                gpu.kept.append((event, held))
            elif code:
                raise call.error(code, "cuEventQuery")
            else:
                call.call("cuEventDestroy_v2", event)
    gpu.kept.append((record_event(gpu, stream), list(objects)))


def stream_handle(stream: Any) -> int:
    """The driver's handle of a stream, from a number, a stream of torch, CuPy or Numba, or `__cuda_stream__`."""
    if is_integer(stream) and stream >= 0:
        return canonical_handle(int(stream))
    if hasattr(stream, "__cuda_stream__"):
        return canonical_handle(int(stream.__cuda_stream__()[1]))
    for attribute in ("cuda_stream", "ptr", "handle"):
        handle = getattr(stream, attribute, None)
        if handle is not None:
            return canonical_handle(int(getattr(handle, "value", handle) or 0))
    raise TypeError(f"stream is {stream!r} (expected a stream of torch, CuPy or Numba, or its number)")


def canonical_handle(handle: int) -> int:
    return 0 if handle == LEGACY else handle
