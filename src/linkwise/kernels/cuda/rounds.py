"""A plan of rounds on a GPU: its buffers there, its launches as one CUDA graph."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import byref, c_int, c_ulonglong, c_void_p

import numpy as np

from ...graph import Program
from ..interface import REALS, Argument, Interface
from ..loader import load_or_compile
from ..rounds import Launch, Order, Plan, interface_of
from .driver import Device, device
from .memory import DeviceArray
from .target import CudaTarget

RELAXED = 2  # mode of a capture: other threads may do what they want meanwhile
WARP = CudaTarget(threads=32)  # one warp in a block: rounds near the base have few pairs, each with all its registers


class CudaMemory:
    """Buffers on a GPU."""

    def __init__(self, plan: Plan, dtype: str = "float64", ordinal: int = 0, target: CudaTarget = WARP) -> None:
        self.plan, self.dtype, self.target, self.device = plan, np.dtype(dtype), target, device(ordinal)
        stream = c_void_p()
        with self.device.current() as call:
            call.call("cuStreamCreate", byref(stream), 0)
        self.stream = stream.value or 0
        self.buffers = [DeviceArray(self.device, shape, dtype, self.stream) for shape in plan.shapes]
        for number, rows in plan.constants.items():
            self.buffers[number].copy_from(rows)
        self.indices: list[DeviceArray] = []
        self.kernels: dict[int, Callable[..., None]] = {}  # by the programs' identities
        self.launches = [self._order(step) if isinstance(step, Order) else self._launch(step) for step in plan.steps]
        self.graph: c_void_p | None = None

    def run(self, given: dict[str, np.ndarray]) -> np.ndarray:
        """The result for NumPy arrays, copied there and back."""
        for name, array in given.items():
            self.buffers[self.plan.given[name]].copy_from(array.reshape(self.plan.n, -1))
        self.launch()
        return self.buffers[self.plan.result].copy_to_host()

    def launch(self) -> None:
        """All rounds, on the numbers that are in the buffers; returns before the GPU is done."""
        if self.graph is None:
            self.graph = self._captured()
        with self.device.current() as call:
            call.call("cuGraphLaunch", self.graph, c_void_p(self.stream))

    def _captured(self) -> c_void_p:
        graph, executable = c_void_p(), c_void_p()
        for launch in self.launches:  # kernels are loaded when they are first launched, which cannot be captured
            launch()
        self.device.synchronize(self.stream)
        with self.device.current() as call:
            call.call("cuStreamBeginCapture_v2", c_void_p(self.stream), c_int(RELAXED))
            for launch in self.launches:
                launch()
            call.call("cuStreamEndCapture", c_void_p(self.stream), byref(graph))
            call.call("cuGraphInstantiateWithFlags", byref(executable), graph, c_ulonglong(0))
        return executable

    def _address(self, buffer: int, row: int) -> int:
        return self.buffers[buffer].pointer + row * self.plan.shapes[buffer][1] * self.dtype.itemsize

    def _launch(self, step: Launch) -> Callable[[], None]:
        launch = self._compiled(step.program)
        addresses = [self._address(*place) for place in step.arrays]
        return lambda: launch(self.device.ordinal, step.rows, addresses, self.stream)

    def _order(self, step: Order) -> Callable[[], None]:
        width, (target, row) = self.plan.shapes[step.source][1], step.target
        numbers, first = len(step.rows) * width, int(step.rows[0])
        to = self._address(target, row)
        if (step.rows == np.arange(first, first + len(step.rows))).all():
            source, size = self._address(step.source, first), numbers * self.dtype.itemsize
            return lambda: copied(self.device, to, source, size, self.stream)
        index = DeviceArray(self.device, step.rows.shape, "int64", self.stream).copy_from(step.rows)
        self.indices.append(index)
        gather, addresses = self._gather(width), [index.pointer, self._address(step.source, 0), to]
        return lambda: gather(self.device.ordinal, numbers, addresses, self.stream)

    def _compiled(self, program: Program) -> Callable[..., None]:
        if id(program) not in self.kernels:
            interface = interface_of(program, self.dtype.name)
            code = load_or_compile("rounds", self.target.text(program, interface), self.target)
            self.kernels[id(program)] = self.target.call(code, interface)
        return self.kernels[id(program)]

    def _gather(self, width: int) -> Callable[..., None]:
        from ...codegen.llvm.cuda.gather import gather_text

        code = load_or_compile("gather", gather_text(REALS[self.dtype.name], width), self.target)
        inputs, output = (Argument("index", ()), Argument("rows", (width,))), (Argument("out", (width,)),)
        return self.target.call(code, Interface(inputs, output, self.dtype.name, 1))


def copied(device: Device, to: int, source: int, size: int, stream: int) -> None:
    with device.current() as call:
        call.call("cuMemcpyDtoDAsync_v2", to, source, size, stream or None)
