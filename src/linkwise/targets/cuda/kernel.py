"""A kernel on a GPU, called on arrays in its memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...kernels import bridging
from ...kernels.interface import EXPECTED, batch_of
from ...kernels.kernel import Compiled, in_order
from ...kernels.target import CodeTarget
from . import checking
from .arrays import Library, View, library_of
from .driver import Device, ordinal_of
from .driver import device as device_at
from .memory import DeviceArray
from .staging import run_on_copies
from .streams import CallStream
from .target import CudaCode

REALS = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


class CudaKernel(Compiled):
    """A function compiled for a robot and for GPUs. Call it with arrays of one state or of any batch shape.

    kernel(q, qd, qdd)                   a new array of the same library, on the same GPU
    kernel(q, qd, qdd, out=tau)          results into an existing array
    kernel(q, qd, qdd, stream=s)         on stream s, after the library's current stream; by default on that one
    kernel(q, qd, qdd, copy=True)        NumPy arrays, copied to GPU `device` (0) and back
    kernel(q, qd, qdd, check=True)       waits, tests the results, and raises the errors of the CPU kernel

    Contiguous torch, CuPy, JAX and Numba arrays of the kernel's `dtype` are read in place; others are converted by
    their library first. A call returns before the GPU is done, as calls of these libraries do. With JAX and with
    `copy=True` it waits. `ptx` is the PTX text that the driver loads.
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
        """Calls on tensors that need no conversion go by an operator of torch, in a tenth of the time."""
        if self.links is not None or not isinstance(self.code.target, CodeTarget):
            return fallback  # loops and rounds, of several launches
        direct: list[Callable[..., Any]] = []

        def enter(*arrays: Any, **options: Any) -> Any:
            if options or not arrays or type(arrays[0]).__module__ not in bridging.BRIDGES:
                return fallback(*arrays, **options)
            if not direct:
                direct.append(bridging.bridge(type(arrays[0]).__module__).direct_call(self, fallback))
            return direct[0](*arrays)

        return enter

    def general(
        self,
        *arrays: Any,
        out: Any = None,
        stream: Any = None,
        copy: bool = False,
        device: int | None = None,
        check: bool = False,
        **named: Any,
    ) -> Any:
        values = in_order(self.name, self.interface.inputs, arrays, named, self.options)
        for name, value in (("copy", copy), ("check", check)):
            if not isinstance(value, (bool, np.bool_)):
                raise TypeError(f"{name} is {value!r} (expected True or False)")
        ordinal = None if device is None else ordinal_of(device)
        if copy:
            if stream is not None:
                raise ValueError("stream is given with copy=True, which uses its own streams (expected no stream)")
            return run_on_copies(self, values, out, ordinal or 0, check)
        outs = [] if out is None else list(out) if isinstance(out, (tuple, list)) else [out]
        library, gpu, first = self._place(values, outs, ordinal)
        call = CallStream(library, gpu, [*values, *outs], stream)
        if check or library.waits:
            gpu.refuse_capture(call.handle, "a call that waits")
        with call.on_stream():
            results = self._launch(call, values, first, None if out is None else outs, check)
        call.after_launch(values, outs)
        if library.waits:
            gpu.synchronize(call.handle)
        if out is not None:
            return out
        finished = [library.result_for_caller(result) for result in results]
        return finished[0] if len(finished) == 1 else tuple(finished)

    def _launch(
        self, call: CallStream, values: Sequence[Any], first: Any, out: Sequence[Any] | None, check: bool
    ) -> list[Any]:
        """Launch the kernel; the results are `out`, or new arrays on the device of `first`."""
        library, gpu, stream = call.library, call.gpu, call.handle
        batch, rows = self._views(call, values)
        results = self._outputs(library, first, batch, out, stream)
        views = [library.view(result) for result in results]
        targets = []  # arrays that the kernel writes
        for result, view in zip(results, views, strict=True):
            direct = view.contiguous and (out is None or not any(view.overlaps(row) for row in rows))
            if not direct:
                call.refuse_temporary("out is not contiguous, or shares memory with an input")
            targets.append(result if direct else library.new(first, view.shape, view.dtype, stream))
        written = [
            view if target is result else library.view(target)
            for result, view, target in zip(results, views, targets, strict=True)
        ]
        count = math.prod(batch)
        if count:
            self._part(gpu.ordinal, count, [view.pointer for view in (*rows, *written)], stream)
            if check:
                checking.check(self, gpu, batch, rows, written, stream)
        for k, result in enumerate(results if out is not None else ()):
            if not views[k].contiguous:
                library.assign(result, targets[k], stream)
                continue
            if result is not targets[k]:
                copy_on_gpu(gpu, views[k], written[k], stream)
            library.mark_written(result)
        return results

    def _place(self, values: Sequence[Any], out: Sequence[Any], ordinal: int | None) -> tuple[Library, Device, Any]:
        """The common library and GPU of all arrays, and one of them as the model for new arrays."""
        names = [argument.name for argument in self.interface.inputs]
        libraries = [library_of(name, value) for name, value in zip(names, values, strict=True)]
        devices = [library.device(value) for library, value in zip(libraries, values, strict=True)]
        for name, library, where in zip(names, libraries, devices, strict=True):
            if library is not libraries[0]:
                raise TypeError(f"{name} is of another library than {names[0]} (expected arrays of one library)")
            if where is not devices[0]:
                raise ValueError(f"{name} is on GPU {where.ordinal} and {names[0]} on GPU {devices[0].ordinal}")
        if values:
            first, library, gpu = values[0], libraries[0], devices[0]
        else:
            first = out[0] if out else DeviceArray(device_at(ordinal or 0), (0,), "float64")
            library = library_of("out", first)
            gpu = library.device(first)
        for result in out:
            if library_of("out", result) is not library or library.device(result) is not gpu:
                raise ValueError("out is of another library, or on another GPU, than the inputs")
        if ordinal not in (None, gpu.ordinal):
            raise ValueError(f"device is {ordinal} and the arrays are on GPU {gpu.ordinal} (expected no device)")
        return library, gpu, first

    def _views(self, call: CallStream, values: Sequence[Any]) -> tuple[tuple[int, ...], list[View]]:
        """The batch shape, and contiguous inputs broadcast to it."""
        inputs, dtype, library = self.interface.inputs, self.interface.dtype, call.library
        views = [library.view(value) for value in values]
        for argument, view in zip(inputs, views, strict=True):
            if view.dtype not in REALS:
                raise TypeError(f"{argument.name} has dtype {view.dtype} ({EXPECTED})")
        batch = batch_of(inputs, views)
        rows = []
        for argument, value, view in zip(inputs, values, views, strict=True):
            shape = (*batch, *argument.shape)
            fits = view.contiguous and view.dtype == dtype and view.shape == shape
            if not fits:
                call.refuse_temporary(f"{argument.name} has to be converted or broadcast")
            rows.append(view if fits else library.view(library.convert(value, shape, dtype)))
        return batch, rows

    def _outputs(
        self, library: Library, first: Any, batch: tuple[int, ...], out: Sequence[Any] | None, stream: int
    ) -> list[Any]:
        shapes, dtype = [(*batch, *argument.shape) for argument in self.interface.outputs], self.interface.dtype
        if out is None:
            return [library.new(first, shape, dtype, stream) for shape in shapes]
        if len(out) != len(shapes):
            raise ValueError(f"out has {len(out)} arrays (expected {len(shapes)})")
        views = [library.view(result) for result in out]
        for result, view, shape in zip(out, views, shapes, strict=True):
            if view.shape != shape or view.dtype != dtype:
                raise ValueError(f"out has shape {view.shape} and dtype {view.dtype} (expected {shape} and {dtype})")
            if wrong := library.write_refusal(result, view):
                raise ValueError(f"out {wrong}")
        for k, view in enumerate(views):
            if any(view.overlaps(other) for other in views[:k]):
                raise ValueError("arrays of out share memory (expected a separate array for each result)")
        return list(out)


def copy_on_gpu(gpu: Device, to: View, source: View, stream: int) -> None:
    if to.nbytes:
        with gpu.current() as call:
            call.call("cuMemcpyDtoDAsync_v2", to.pointer, source.pointer, to.nbytes, stream or None)
