"""Whether results on a GPU are finite; where they are not, the states come to the host, where it is said why."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from ..interface import REALS, Argument, Interface
from ..loader import load_or_compile
from .arrays import View
from .driver import Device
from .memory import DeviceArray
from .target import CudaTarget, Launch

if TYPE_CHECKING:
    from .kernel import CudaKernel


def check(kernel: CudaKernel, gpu: Device, rows: Sequence[View], results: Sequence[View], stream: int) -> None:
    """Wait for the results; raise the error that a kernel of the CPU raises for these states, if it does."""
    flag = DeviceArray(gpu, (1,), "int32", stream).copy_from(np.zeros(1, np.int32))
    for result in results:
        count = result.nbytes // np.dtype(result.dtype).itemsize
        if count:
            finite_test(result.dtype)(gpu.ordinal, count, [result.pointer, flag.pointer], stream)
    if flag.copy_to_host()[0]:
        explain(kernel, *([on_host(gpu, view, stream) for view in views] for views in (rows, results)))


def explain(kernel: CudaKernel, rows: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> None:
    """The same of arrays on the host."""
    if kernel._explain is not None and not all(np.isfinite(result).all() for result in results):
        kernel._explain(kernel, rows, results)


def on_host(gpu: Device, view: View, stream: int) -> np.ndarray:
    array = np.empty(view.shape, view.dtype)
    if array.nbytes:
        with gpu.current() as call:
            call.call("cuMemcpyDtoHAsync_v2", array.ctypes.data, view.pointer, array.nbytes, stream or None)
        gpu.synchronize(stream)
    return array


@cache
def finite_test(dtype: str) -> Launch:
    from ...codegen.llvm.cuda.finite import finite_text

    code = load_or_compile("finite", finite_text(REALS[dtype]), CudaTarget())
    interface = Interface((Argument("numbers", ()),), (Argument("flag", ()),), dtype, 1)
    return code.target.call(code, interface)
