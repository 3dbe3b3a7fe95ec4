"""Rounds on a GPU: the buffers of a plan, and its launches as one CUDA graph."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from ctypes import byref, c_ulonglong, c_void_p
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import CudaError
from ...kernels.interface import REALS, Argument, Interface, Links
from ...kernels.llvm import load_or_compile
from ...kernels.rounds import Codes, Launch, Order, RoundCode
from .driver import Device, device
from .memory import DeviceArray
from .target import CudaCode, CudaTarget
from .target import Launch as Launcher

if TYPE_CHECKING:
    from ...kernels.rounds import RoundSpec

WARP = 32  # threads of a block: rounds near the base have few pairs, which need many registers
LANES = 4  # states in flight: late rounds leave most of a GPU idle
OWN_STREAM, NO_TIMES, RELAXED = 1, 2, 2  # flags of a non-blocking stream, an event and a capture


class CudaRounds(RoundCode):
    """The programs as PTX, and memory on each GPU in use."""

    def __init__(self, spec: RoundSpec) -> None:
        assert isinstance(spec.target, CudaTarget)
        target = replace(spec.target, threads=WARP)
        super().__init__(spec.plan, Codes(spec.plan, target, spec.dtype))
        widths = {self.plan.shapes[step.source][1] for step in self.plan.steps if isinstance(step, Order)}
        self.gathers = {width: gather_code(target, spec.dtype, width) for width in widths}
        self.lanes: dict[int, list[RoundMemory]] = {}
        self.lock = threading.Lock()

    @property
    def ptx(self) -> str:
        return "\n".join(code.ptx for code in (*self.codes, *(code for code, _ in self.gathers.values())))

    def call(self, code: RoundCode, interface: Interface, links: Links | None = None) -> Launcher:
        """A function that computes states from arrays given by their GPU addresses."""

        def launch(ordinal: int, count: int, addresses: Sequence[int], stream: int) -> None:
            device(ordinal).refuse_capture(stream, "rounds, which are a graph on streams of their own,")
            with self.lock, ExitStack() as held:
                lanes = self.lanes.setdefault(ordinal, [])
                while len(lanes) < min(count, LANES):
                    lanes.append(RoundMemory(self, device(ordinal)))
                for memory in lanes[:count]:
                    memory.wait_for(stream)
                    held.callback(memory.make_stream_wait, stream)
                for state in range(count):
                    lanes[state % len(lanes)].run(state, addresses)

        return launch


class RoundMemory:
    """The buffers of a plan on a GPU, with their own stream."""

    def __init__(self, code: CudaRounds, gpu: Device) -> None:
        self.code, self.plan, self.device = code, code.plan, gpu
        self.dtype = np.dtype(code.codes.dtype)
        stream, event = c_void_p(), c_void_p()
        with gpu.current() as call:
            call.call("cuStreamCreate", byref(stream), OWN_STREAM)
            call.call("cuEventCreate", byref(event), NO_TIMES)
        self.stream, self.event = stream.value or 0, event
        self.buffers = [DeviceArray(gpu, shape, self.dtype.name, self.stream) for shape in self.plan.shapes]
        for number, rows in self.plan.constants.items():
            self.buffers[number].copy_from(rows)
        self.indices: list[DeviceArray] = []
        steps = [self._order(step) if isinstance(step, Order) else self._launch(step) for step in self.plan.steps]
        self.graph = capture_graph(gpu, self.stream, steps)
        weakref.finalize(self, release, gpu, self.stream, event, self.graph).atexit = False

    def wait_for(self, stream: int) -> None:
        """Wait for the work queued on another stream."""
        with self.device.current() as call:
            call.call("cuEventRecord", self.event, stream or None)
            call.call("cuStreamWaitEvent", self.stream, self.event, 0)

    def make_stream_wait(self, stream: int) -> None:
        """Make another stream wait for the work queued here."""
        with self.device.current() as call:
            call.call("cuEventRecord", self.event, self.stream)
            call.call("cuStreamWaitEvent", stream or None, self.event, 0)

    def run(self, state: int, addresses: Sequence[int]) -> None:
        """One state of a batch: copies of its rows, and all rounds."""
        *given, result = (self.buffers[number] for number in (*self.plan.given, self.plan.result))
        *sources, target = addresses
        for buffer, source in zip(given, sources, strict=True):
            self._copy(buffer.pointer, source + state * buffer.nbytes, buffer.nbytes)
        self.launch()
        self._copy(target + state * result.nbytes, result.pointer, result.nbytes)

    def launch(self) -> None:
        """Run all rounds on the contents of the buffers."""
        with self.device.current() as call:
            call.call("cuGraphLaunch", self.graph, self.stream)

    def _copy(self, to: int, source: int, size: int) -> None:
        with self.device.current() as call:
            call.call("cuMemcpyDtoDAsync_v2", to, source, size, self.stream)

    def _address(self, buffer: int, row: int) -> int:
        return self.buffers[buffer].pointer + row * self.plan.shapes[buffer][1] * self.dtype.itemsize

    def _launch(self, step: Launch) -> Callable[[], None]:
        code, interface = self.code.codes[step.program]
        launch, addresses = code.target.call(code, interface), [self._address(*place) for place in step.arrays]
        return lambda: launch(self.device.ordinal, step.rows, addresses, self.stream)

    def _order(self, step: Order) -> Callable[[], None]:
        width, (target, row) = self.plan.shapes[step.source][1], step.target
        numbers, first = len(step.rows) * width, int(step.rows[0])
        to = self._address(target, row)
        if (step.rows == np.arange(first, first + len(step.rows))).all():
            source, size = self._address(step.source, first), numbers * self.dtype.itemsize
            return lambda: self._copy(to, source, size)
        index = DeviceArray(self.device, step.rows.shape, "int64", self.stream).copy_from(step.rows)
        self.indices.append(index)
        code, interface = self.code.gathers[width]
        launch, addresses = code.target.call(code, interface), [index.pointer, self._address(step.source, 0), to]
        return lambda: launch(self.device.ordinal, numbers, addresses, self.stream)


def gather_code(target: CudaTarget, dtype: str, width: int) -> tuple[CudaCode, Interface]:
    """The kernel that gathers rows of `width` numbers by an index."""
    from .text.kernel import gather_text

    inputs, output = (Argument("index", ()), Argument("rows", (width,))), (Argument("out", (width,)),)
    code = load_or_compile("gather", gather_text(REALS[dtype], width), target)
    return code, Interface(inputs, output, dtype, 1)


def capture_graph(gpu: Device, stream: int, steps: Sequence[Callable[[], None]]) -> c_void_p:
    """Capture the steps as one CUDA graph."""
    graph, executable = c_void_p(), c_void_p()
    if not hasattr(gpu.driver.library, "cuGraphInstantiateWithFlags"):
        raise CudaError("the CUDA driver is too old for rounds (expected that of CUDA 11.4 or newer: 470)")
    for step in steps:  # the first launch loads a kernel, which cannot be captured
        step()
    gpu.synchronize(stream)
    with gpu.beside_captures() as call:
        call.call("cuStreamBeginCapture_v2", stream, RELAXED)
        for step in steps:
            step()
        call.call("cuStreamEndCapture", stream, byref(graph))
        call.call("cuGraphInstantiateWithFlags", byref(executable), graph, c_ulonglong(0))
        call.call("cuGraphDestroy", graph)
    return executable


def release(gpu: Device, stream: int, event: Any, graph: Any) -> None:
    """Wait for the last state, and destroy the stream, the event and the graph."""
    if not gpu.driver.forked:
        with gpu.beside_captures() as call:
            call.call("cuStreamSynchronize", stream)
            call.call("cuGraphExecDestroy", graph)
            call.call("cuEventDestroy_v2", event)
            call.call("cuStreamDestroy_v2", stream)
