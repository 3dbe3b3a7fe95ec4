"""A kernel on a GPU, called on arrays that are there."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..compiler import Compiled
from ..interface import batch_of
from . import checking
from .arrays import Library, View, library_of
from .driver import Device
from .staging import through_pinned_memory
from .target import CudaCode

REALS = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


class CudaKernel(Compiled):
    """A function compiled for a robot and for GPUs. Call it with arrays of one state or of any batch shape.

    kernel(q, qd, qdd)                   a new array of the same library, on the same GPU
    kernel(q, qd, qdd, out=tau)          into an array of yours
    kernel(q, qd, qdd, stream=s)         on this stream; otherwise on the library's current one
    kernel(q, qd, qdd, copy=True)        NumPy arrays, copied to GPU `device` (0) and back
    kernel(q, qd, qdd, check=True)       with the errors of a kernel of the CPU: it waits, and tests the results

    torch, CuPy, JAX and Numba arrays are read where they are, if they have the kernel's `dtype` and contiguous rows;
    others are converted by their library first. A call returns before the GPU is done, as calls of these libraries do;
    with JAX and with `copy=True` it waits. `ptx` is what the driver is given.
    """

    code: CudaCode
    options = ("out", "stream", "copy", "device", "check")

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, for CUDA>"

    @property
    def ptx(self) -> str:
        """The kernel in PTX."""
        return self.code.ptx

    def entry(self, fallback: Callable[..., Any]) -> Any:
        return fallback

    def general(
        self,
        *arrays: Any,
        out: Any = None,
        stream: Any = None,
        copy: bool = False,
        device: int = 0,
        check: bool = False,
        **named: Any,
    ) -> Any:
        values = self._bound(arrays, named)
        if copy:
            return through_pinned_memory(self, values, out, device, check)
        library, gpu = self._place(values)
        handle = library.stream(values[0]) if stream is None else stream_handle(stream)
        batch, rows = self._views(library, values)
        results = self._outputs(library, gpu, values[0], batch, out, handle)
        targets = []
        for result in results:
            seen = library.view(result)
            direct = seen.contiguous and not any(seen.overlaps(row) for row in rows)
            targets.append(result if direct else library.new(values[0], seen.shape, seen.dtype, handle))
        count = math.prod(batch)
        if count:
            pointers = [view.pointer for view in (*rows, *map(library.view, targets))]
            self._part(gpu.ordinal, count, pointers, handle)
            if check:
                checking.check(self, gpu, rows, [*map(library.view, targets)], handle)
        for result, computed in zip(results, targets, strict=True):
            if result is not computed:
                self._copied(library, gpu, result, computed, handle)
        if library.waits:
            gpu.synchronize(handle)
        if out is not None:
            return out
        finished = [library.finished(result) for result in results]
        return finished[0] if len(finished) == 1 else tuple(finished)

    def _copied(self, library: Library, gpu: Device, result: Any, computed: Any, stream: int) -> None:
        """Into an array of the user's, which could not be written while the kernel ran."""
        to, source = library.view(result), library.view(computed)
        if not to.contiguous:
            library.assign(result, computed)
        elif to.nbytes:
            with gpu.current() as call:
                call.call("cuMemcpyDtoDAsync_v2", to.pointer, source.pointer, to.nbytes, stream or None)

    def _place(self, values: Sequence[Any]) -> tuple[Library, Device]:
        """The one library and the one GPU of all arrays."""
        names = [argument.name for argument in self.interface.inputs]
        libraries = [library_of(name, value) for name, value in zip(names, values, strict=True)]
        devices = [library.device(value) for library, value in zip(libraries, values, strict=True)]
        for name, library, where in zip(names, libraries, devices, strict=True):
            if library is not libraries[0]:
                raise TypeError(f"{name} is of another library than {names[0]} (expected arrays of one library)")
            if where is not devices[0]:
                raise ValueError(f"{name} is on GPU {where.ordinal} and {names[0]} on GPU {devices[0].ordinal}")
        return libraries[0], devices[0]

    def _views(self, library: Library, values: Sequence[Any]) -> tuple[tuple[int, ...], list[View]]:
        """The batch shape, and every input with all its rows, contiguous."""
        inputs, dtype = self.interface.inputs, self.interface.dtype
        views = [library.view(value) for value in values]
        for argument, view in zip(inputs, views, strict=True):
            if view.dtype not in REALS:
                raise TypeError(f"{argument.name} has dtype {view.dtype} (expected real numbers)")
        batch = batch_of(inputs, views)
        rows = []
        for argument, value, view in zip(inputs, values, views, strict=True):
            shape = (*batch, *argument.shape)
            fits = view.contiguous and view.dtype == dtype and view.shape == shape
            rows.append(view if fits else library.view(library.converted(value, shape, dtype)))
        return batch, rows

    def _outputs(
        self, library: Library, gpu: Device, first: Any, batch: tuple[int, ...], out: Any, stream: int
    ) -> list[Any]:
        shapes, dtype = [(*batch, *argument.shape) for argument in self.interface.outputs], self.interface.dtype
        if out is None:
            return [library.new(first, shape, dtype, stream) for shape in shapes]
        results = list(out) if isinstance(out, tuple) else [out]
        if len(results) != len(shapes):
            raise ValueError(f"out has {len(results)} arrays (expected {len(shapes)})")
        for result, shape in zip(results, shapes, strict=True):
            if library_of("out", result) is not library or library.device(result) is not gpu:
                raise ValueError("out is of another library, or on another GPU, than the inputs")
            if library.read_only(result):
                raise ValueError("out cannot be written to")
            view = library.view(result)
            if view.shape != shape or view.dtype != dtype:
                raise ValueError(f"out has shape {view.shape} and dtype {view.dtype} (expected {shape} and {dtype})")
        views = [library.view(result) for result in results]
        for k, view in enumerate(views):
            if any(view.overlaps(other) for other in views[:k]):
                raise ValueError("arrays of out share memory (expected an array of its own for each result)")
        return results


def stream_handle(stream: Any) -> int:
    """The driver's handle of a stream: a number, or a stream of torch, CuPy, Numba, or with `__cuda_stream__`."""
    if isinstance(stream, int):
        return stream
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    for attribute in ("cuda_stream", "ptr", "handle"):
        found = getattr(stream, attribute, None)
        if found is not None:
            return int(getattr(found, "value", found) or 0)
    raise TypeError(f"stream is {stream!r} (expected a stream of torch, CuPy or Numba, or its number)")
