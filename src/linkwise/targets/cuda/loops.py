"""Launches of loops over links: the robot's numbers and the work memory on each GPU.

A launch has at most as many threads as the GPU holds at a time, and each thread computes several states in turn. So the
size of the work memory depends on the GPU, not on the batch. All loop kernels share it: on different streams they wait
for one another.
"""

from __future__ import annotations

import ctypes
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ctypes import byref, c_int, c_void_p
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...kernels.interface import Interface, Links
from .driver import MULTIPROCESSORS, Device, Module, device
from .memory import DeviceArray

if TYPE_CHECKING:
    from .target import CudaCode, CudaTarget

WARP = 32
SHARE = 4  # work memory takes at most 1 / SHARE of the free memory
NO_TIMES = 2  # flag of an event that records no time


def loop_launcher(target: CudaTarget, code: CudaCode, interface: Interface, links: Links) -> Callable[..., None]:
    """A function that launches the kernel on arrays given by their GPU addresses."""
    robots: dict[int, tuple[RobotNumbers, int]] = {}  # by GPU, with its number of resident threads
    itemsize, threads = np.dtype(interface.dtype).itemsize, code.threads
    bytes_of_warp = WARP * links.vectors * itemsize

    def launch(ordinal: int, count: int, addresses: Sequence[int], stream: int) -> None:
        gpu = device(ordinal)
        gpu.refuse_capture(stream, "loops over links, whose kernels share memory,")
        module = code.module(ordinal)
        if ordinal not in robots:
            robots[ordinal] = (
                RobotNumbers(gpu, interface, links, stream),
                resident_threads(module, target.blocks, threads),
            )
        robot, most = robots[ordinal]
        with work_memory(gpu).reserve(stream, -(-min(count, most) // WARP), bytes_of_warp) as (memory, warps):
            running = min(count, warps * WARP)
            numbers = [*robot.arguments, ctypes.c_uint64(memory), *map(ctypes.c_uint64, addresses)]
            values: list[Any] = [ctypes.c_int64(running), ctypes.c_int64(count), *numbers]
            places = (c_void_p * len(values))(*map(ctypes.addressof, values))
            module.launch(-(-running // threads), threads, places, stream)

    return launch


class RobotNumbers:
    """The robot's tables in a GPU's memory."""

    def __init__(self, gpu: Device, interface: Interface, links: Links, stream: int) -> None:
        arrays = [links.table, visits_of(links.tree)]
        sizes = []
        if links.rows is not None:
            arrays.append(places_of(links))
            q = next(argument for argument in interface.inputs if argument.name == "q")
            sizes = [ctypes.c_int64(q.size), ctypes.c_int64(len(links.rows.bodies))]
        self.arrays = [DeviceArray(gpu, x.shape, x.dtype.name, stream).copy_from(x) for x in arrays]
        table, tree, *places = (ctypes.c_uint64(array.pointer) for array in self.arrays)
        self.arguments = [ctypes.c_int64(len(links.table)), table, tree, *sizes, *places]


def visits_of(tree: np.ndarray) -> np.ndarray:
    """`tree` of the kernel: that of the CPU with one more column, the role of each link among its neighbours."""
    from .text.loops import FIRST, LAST, NEXT, SEVERAL

    depths = tree[1:, 1]
    parents: list[int] = []  # positions in the order of visits; -1: the base
    path: list[int] = []  # the last link visited on each level
    for i, depth in enumerate(depths):
        del path[depth:]
        parents.append(path[-1] if path else -1)
        path.append(i)
    children = Counter(parents)
    last = {parent: i for i, parent in enumerate(parents)}
    roles = [
        NEXT * (children[i] > 0) + SEVERAL * (children[i] > 1) + FIRST * (parent == i - 1) + LAST * (last[parent] == i)
        for i, parent in enumerate(parents)
    ]
    return np.column_stack([tree, np.array([0, *roles], tree.dtype)])


def places_of(links: Links) -> np.ndarray:
    """`places` of the kernel; see `targets.cuda.text.loops`."""
    from .text.loops import BODY, IS_QUATERNION, PLACES, WIDTH

    rows = links.rows
    places = np.full((rows.count, PLACES), -1, np.int32)
    places[:, :WIDTH] = rows.positions
    places[rows.bodies, BODY] = np.arange(len(rows.bodies))
    places[:, IS_QUATERNION] = np.isin(rows.positions[:, 0], rows.quaternions) & (np.ptp(rows.positions, axis=1) > 0)
    return places


def resident_threads(module: Module, blocks: int | None, threads: int) -> int:
    """How many threads of a kernel a GPU holds at a time, with `blocks` per multiprocessor if given."""
    if not blocks:
        active = c_int()
        with module.device.current() as call:
            call.call("cuOccupancyMaxActiveBlocksPerMultiprocessor", byref(active), module.function, threads, 0)
        blocks = max(active.value, 1)
    return blocks * threads * module.device.attribute(MULTIPROCESSORS)


class WorkMemory:
    """Work memory of a GPU, for one launch at a time."""

    def __init__(self, gpu: Device) -> None:
        self.gpu, self.lock, self.event = gpu, threading.Lock(), c_void_p()
        self.array: DeviceArray | None = None
        self.used = False
        with gpu.current() as call:
            call.call("cuEventCreate", byref(self.event), NO_TIMES)

    @contextmanager
    def reserve(self, stream: int, warps: int, bytes_of_warp: int) -> Iterator[tuple[int, int]]:
        """The address, and the number of warps that fit: fewer than requested if memory is short.

        Launches inside this context start after all earlier ones.
        """
        with self.lock:
            if self.array is None or self.array.nbytes < warps * bytes_of_warp:
                held, self.array = self.array, None
                free = self.gpu.free_and_total()[0] + (0 if held is None else held.nbytes)
                warps = max(1, min(warps, free // SHARE // max(bytes_of_warp, 1)))
                if held is None or held.nbytes < warps * bytes_of_warp:
                    del held  # the driver waits for kernels that still use it
                    held = DeviceArray(self.gpu, (warps * bytes_of_warp,), "uint8")
                self.array = held
            with self.gpu.current() as call:
                if self.used:
                    call.call("cuStreamWaitEvent", stream or None, self.event, 0)
                yield self.array.pointer, warps
                call.call("cuEventRecord", self.event, stream or None)
                self.used = True


@cache
def work_memory(gpu: Device) -> WorkMemory:
    return WorkMemory(gpu)
