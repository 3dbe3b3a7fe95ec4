"""Check GPU results for NaN and infinity; diagnose on the host."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from ...errors import SingularError
from ...kernels.interface import REALS, Argument, Interface
from ...kernels.llvm import load_or_compile
from .arrays import View
from .driver import Device
from .memory import DeviceArray
from .target import CudaTarget, Launch

if TYPE_CHECKING:
    from .kernel import CudaKernel

BLOCK = 1 << 26  # bytes copied to the host at a time


def check(
    kernel: CudaKernel, gpu: Device, batch: tuple[int, ...], rows: Sequence[View], results: Sequence[View], stream: int
) -> None:
    """Wait for the results and raise the error that a CPU kernel raises for these states, if any."""
    if not non_finite_rows(gpu, results, 1, stream)[0] or kernel._explain is None:
        return
    count = math.prod(batch)
    suspects = np.flatnonzero(non_finite_rows(gpu, results, count, stream) & ~non_finite_rows(gpu, rows, count, stream))
    states = max(1, BLOCK // max(1, sum(view.nbytes for view in (*rows, *results)) // count))
    for start, indices in blocks_of(suspects, states):
        some = slice(start, min(start + states, count))
        here = [
            [on_host(gpu, view, len(batch), count, some, stream)[indices - start] for view in views]
            for views in (rows, results)
        ]
        try:
            kernel._explain(kernel, *here)
        except SingularError as error:
            first, *others = error.state
            state = tuple(map(int, np.unravel_index(indices[first], batch)))
            raise SingularError(error.message, error.reason, (*state, *others)) from None


def non_finite_rows(gpu: Device, views: Sequence[View], rows: int, stream: int) -> np.ndarray:
    """Which of the rows have a number that is not finite."""
    marks = DeviceArray(gpu, (rows,), "uint8", stream)
    with gpu.current() as call:
        call.call("cuMemsetD8Async", marks.pointer, 0, marks.nbytes, stream or None)
    for view in views:
        numbers = view.nbytes // np.dtype(view.dtype).itemsize
        if numbers:
            finite_test(view.dtype)(gpu.ordinal, numbers, [view.pointer, numbers // rows, marks.pointer], stream)
    return marks.copy_to_host().astype(bool)


def blocks_of(suspects: np.ndarray, states: int) -> Iterator[tuple[int, np.ndarray]]:
    """The blocks of `states` states that have suspects: the first state of each block, and its suspects."""
    first = suspects // states
    ends = np.flatnonzero(np.diff(first)) + 1
    for indices in np.split(suspects, ends) if len(suspects) else ():
        yield int(indices[0]) // states * states, indices


def explain(kernel: CudaKernel, rows: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> None:
    """`check` for arrays on the host."""
    if kernel._explain is not None and not all(np.isfinite(result).all() for result in results):
        kernel._explain(kernel, rows, results)


def on_host(gpu: Device, view: View, axes: int, count: int, some: slice, stream: int) -> np.ndarray:
    """A copy on the host of some states of a batch with `axes` axes and `count` states."""
    array = np.empty((some.stop - some.start, *view.shape[axes:]), view.dtype)
    if array.nbytes:
        with gpu.beside_captures() as call:
            source = view.pointer + some.start * (view.nbytes // count)
            call.call("cuMemcpyDtoHAsync_v2", array.ctypes.data, source, array.nbytes, stream or None)
        gpu.synchronize(stream)
    return array


@cache
def finite_test(dtype: str) -> Launch:
    from .text.kernel import finite_text

    code = load_or_compile("finite", finite_text(REALS[dtype]), CudaTarget())
    interface = Interface((Argument("numbers", ()), Argument("width", ())), (Argument("marks", ()),), dtype, 1)
    return code.target.call(code, interface)
