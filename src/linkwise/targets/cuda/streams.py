"""The stream of a call: it begins when the arrays are there, and everything that the call does happens on it.

A library makes its arrays on its current stream, or an array names the stream that it is made on. Where the call runs
on another, this waits for those by events, the library converts, allocates and copies on the stream of the call, and
arrays of the caller's stay in place until the call is done, even if nobody refers to them any more.
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

NO_TIMES = 2  # of an event
LEGACY = 1  # another number of the default stream, 0


class CallStream:
    """`handle` is the driver's number of the stream: the one that is asked for, or that of the first array."""

    def __init__(self, library: Library, gpu: Device, arrays: Sequence[Any], asked: Any = None) -> None:
        made = library.streams(arrays)
        self.library, self.gpu = library, gpu
        self.handle = stream_handle(asked) if asked is not None else made[0] if made else 0
        self.others: set[int] = set()
        self.captured = gpu.is_capturing(self.handle)  # in a CUDA graph
        self._wait_for(made)

    def wait_for_array(self, array: Any) -> None:
        """Begin nothing before an array is there."""
        self._wait_for(self.library.streams([array]))

    def _wait_for(self, streams: Sequence[int]) -> None:
        for stream in dict.fromkeys(streams):
            if stream != self.handle and stream not in self.others:
                if self.captured and not self.gpu.is_capturing(stream):
                    raise CudaError(
                        "the call is captured in a CUDA graph, and arrays are made on a stream that is not (expected"
                        " the stream that is captured as the library's current one)"
                    )
                wait_for_stream(self.gpu, self.handle, stream)
                self.others.add(stream)
                self.captured = self.captured or self.gpu.is_capturing(self.handle)

    def refuse_temporary(self, why: str) -> None:
        """An error if memory that ends with the call would be written by a graph that captures it: whenever that runs.

        torch keeps the memory of a capture for its graph.
        """
        if self.captured and not self.library.keeps_for_graphs:
            raise CudaError(
                f"{why}, for which the call needs memory of its own, and it is captured in a CUDA graph, which may live"
                " longer (expected contiguous arrays of the kernel's dtype, with the whole batch and apart from out; of"
                " a rollout also qd0 and out)"
            )

    def on_stream(self) -> AbstractContextManager[Any]:
        """What the library does meanwhile, it does on this stream."""
        return self.library.on_stream(self.gpu, self.handle) if self.others else nullcontext()

    def after_launch(self, arrays: Sequence[Any], results: Sequence[Any] = ()) -> None:
        """Keep arrays of the caller's, inputs and results, in place until all that was asked for is done."""
        if self.others:
            if self.library.keeps_for_graphs or not self.captured:  # otherwise they are the caller's who has the graph
                self.library.keep([*arrays, *results], self.gpu, self.handle)
            for stream in self.library.streams(results) if self.library.names_streams else ():
                if stream != self.handle:  # that on which others will look for the results
                    wait_for_stream(self.gpu, stream, self.handle)


def wait_for_stream(gpu: Device, stream: int, other: int) -> None:
    """Begin nothing on a stream before all that was asked for on the other is done."""
    event = record_event(gpu, other)
    with gpu.current() as call:
        try:
            call.call("cuStreamWaitEvent", stream or None, event, 0)
        finally:
            call.call("cuEventDestroy_v2", event)


def record_event(gpu: Device, stream: int) -> c_void_p:
    """An event after all that was asked for on a stream."""
    event = c_void_p()
    with gpu.current() as call:
        call.call("cuEventCreate", byref(event), NO_TIMES)
        call.call("cuEventRecord", event, stream or None)
    return event


def keep_until_done(objects: Sequence[Any], gpu: Device, stream: int) -> None:
    """Refer to objects until all that was asked for on a stream is done; then the next call lets go of them."""
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
    """The driver's handle of a stream: a number, or a stream of torch, CuPy, Numba, or with `__cuda_stream__`."""
    if is_integer(stream) and stream >= 0:
        return canonical_handle(int(stream))
    if hasattr(stream, "__cuda_stream__"):
        return canonical_handle(int(stream.__cuda_stream__()[1]))
    for attribute in ("cuda_stream", "ptr", "handle"):
        found = getattr(stream, attribute, None)
        if found is not None:
            return canonical_handle(int(getattr(found, "value", found) or 0))
    raise TypeError(f"stream is {stream!r} (expected a stream of torch, CuPy or Numba, or its number)")


def canonical_handle(handle: int) -> int:
    return 0 if handle == LEGACY else handle
