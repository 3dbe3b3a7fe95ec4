"""Runs modules with wasmtime, a WebAssembly runtime."""

from __future__ import annotations

import atexit
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np

from ...extras import import_optional
from .module import PAGE, align

AT_ONCE = 1 << 22  # bytes of arrays in a module's memory at a time


@lru_cache(maxsize=1)
def runtime() -> tuple[Any, Any]:
    """wasmtime and its compiler."""
    wasmtime = import_optional("wasmtime")
    atexit.register(runtime.cache_clear)  # the compiler must not outlive the package
    return wasmtime, wasmtime.Engine()


class Instances:
    """A module, compiled once, with a separate memory for concurrent calls."""

    def __init__(self, binary: bytes, record: bytes) -> None:
        """`record` is the robot's record for modules that take one, otherwise empty."""
        package, engine = runtime()
        self._module, self._record = package.Module(engine, binary), record
        self._spare: list[Instance] = []

    @contextmanager
    def borrow(self) -> Iterator[Instance]:
        try:
            instance = self._spare.pop()
        except IndexError:
            instance = Instance(self._module, self._record)
        yield instance
        self._spare.append(instance)


class Instance:
    """A module with its memory. From `heap` on: the robot's record, work memory, arrays."""

    def __init__(self, module: Any, record: bytes) -> None:
        package, engine = runtime()
        self._store = package.Store(engine)
        exports = package.Instance(self._store, module, []).exports(self._store)
        self._memory, self._run = exports["memory"], exports["run"]
        self._next = exports["heap"].value(self._store)
        self._first: list[int] = []
        if record:
            robot = self._place(len(record))
            self._bytes(robot, len(record))[:] = np.frombuffer(record, np.uint8)
            self._first = [robot, self._place(exports["work_bytes"](self._store, robot))]

    def run(self, count: int, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], sizes: Sequence[int]) -> int:
        """Compute `count` states on flat arrays; the number of states with non-finite results."""
        arrays = [*inputs, *outputs]
        row = sum(sizes) * arrays[-1].itemsize if arrays else 0
        at_once = max(1, AT_ONCE // max(row, 1))
        non_finite = 0
        for begin in range(0, count, at_once):
            end, here = min(begin + at_once, count), self._next
            parts = [array[size * begin : size * end] for array, size in zip(arrays, sizes, strict=True)]
            places = []
            for part in parts:
                places.append(here)
                here = align(here + part.nbytes)
            self._grow(here)
            for part, place in zip(parts[: len(inputs)], places, strict=False):
                self._bytes(place, part.nbytes)[:] = part.view(np.uint8)
            non_finite += self._run(self._store, end - begin, *self._first, *places)
            for part, place in zip(parts[len(inputs) :], places[len(inputs) :], strict=True):
                part.view(np.uint8)[:] = self._bytes(place, part.nbytes)
        return non_finite

    def _place(self, size: int) -> int:
        """Allocate memory permanently."""
        place, self._next = self._next, align(self._next + size)
        self._grow(self._next)
        return int(place)

    def _grow(self, size: int) -> None:
        missing = size - self._memory.data_len(self._store)
        if missing > 0:
            self._memory.grow(self._store, -(-missing // PAGE))

    def _bytes(self, place: int, size: int) -> np.ndarray:
        """A view of the memory, valid until it grows."""
        buffer = self._memory.get_buffer_ptr(self._store, size, place)
        return np.frombuffer(buffer, np.uint8, size)
