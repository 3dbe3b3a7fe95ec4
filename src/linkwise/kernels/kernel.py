"""A compiled function, called on arrays."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from ..errors import is_integer
from .entry import entry_function, has_entry
from .interface import EXPECTED, Argument, Interface, Links, batch_of, describe_value, internal_overlap, numpy_array
from .target import Code


class Kernel:
    """A function in machine code, called with arrays of one state or of any batch shape."""

    name: str
    interface: Interface
    options: tuple[str, ...] = ("out", "threads")  # keywords of a call beside arrays
    __call__: Callable[..., Any]  # on arrays, with `out=` and `threads=`; set per kernel

    def __new__(cls, *args: Any, **keywords: Any) -> Kernel:
        # one type per kernel, since Python looks up __call__ in the type: the entry is called directly
        return object.__new__(type(cls.__name__, (cls,), {"__module__": cls.__module__, "__doc__": cls.__doc__}))

    def __init__(
        self,
        name: str,
        code: Code,
        interface: Interface,
        explain: Callable[..., None] | None = None,
        links: Links | None = None,
    ) -> None:
        self.name, self.interface, self.code, self.links = name, interface, code, links
        self._explain = explain
        self._part: Callable[..., Any] = code.target.call(code, interface, links)
        type(self).__call__ = staticmethod(self.entry(self.general))  # type: ignore[method-assign]

    def entry(self, fallback: Callable[..., Any]) -> Any:
        """The fast path into the machine code, with a fallback; the fallback itself if there is none."""
        code: Any = self.code
        if not code.target.entered_from_python or self.links is not None or not has_entry(self.interface):
            return fallback
        return entry_function(code, self.interface.dtype, self.name, fallback)

    def __repr__(self) -> str:
        takes = ", ".join(argument.name for argument in self.interface.inputs)
        return f"<Kernel {self.name}({takes}): {self.interface.dtype}>"

    def __copy__(self) -> Kernel:
        return self  # immutable

    def __deepcopy__(self, known: dict[int, Any]) -> Kernel:
        return self

    def __reduce__(self) -> str:
        raise TypeError(f"{self!r} is machine code of this process (expected: compile it in the other process)")

    def general(self, *arrays: Any, out: Any = None, threads: int | None = None, **named: Any) -> Any:
        """The fallback of the entry: check, convert and broadcast the arrays, then run."""
        inputs = self.interface.inputs
        batch, rows = full_rows(inputs, in_order(self.name, inputs, arrays, named, self.options), self.interface.dtype)
        results = self._results(batch, out)
        targets = [
            result if can_write_directly(result, rows) else np.empty(result.shape, result.dtype) for result in results
        ]
        non_finite = self.run(batch, rows, targets, threads)
        if non_finite and self._explain is not None:
            self._explain(self, rows, targets)
        for result, computed in zip(results, targets, strict=True):
            if result is not computed:
                result[...] = computed
        if out is not None:
            return out
        values = [result[()] for result in results]
        return values[0] if len(values) == 1 else tuple(values)

    def run(
        self,
        batch: tuple[int, ...],
        rows: Sequence[np.ndarray],
        results: Sequence[np.ndarray],
        threads: int | None = None,
    ) -> int:
        """Compute the results from the inputs, all contiguous; the count of finite states with non-finite results."""
        count = math.prod(batch)
        if self.links is not None and self.links.rows is not None:
            rows = [
                self.links.rows.rearrange(argument, row)
                for argument, row in zip(self.interface.inputs, rows, strict=True)
            ]
        return self._run_on_threads(count, (*rows, *results), thread_count(threads, count, self.interface.at_once))

    def _results(self, batch: tuple[int, ...], out: Any) -> list[np.ndarray]:
        shapes = [(*batch, *argument.shape) for argument in self.interface.outputs]
        if out is None:
            return [np.empty(shape, self.interface.dtype) for shape in shapes]
        results = list(out) if isinstance(out, (tuple, list)) else [out]
        if len(results) != len(shapes):
            raise ValueError(f"out has {len(results)} arrays (expected {len(shapes)})")
        for result, shape in zip(results, shapes, strict=True):
            if not isinstance(result, np.ndarray) or result.shape != shape or result.dtype != self.interface.dtype:
                kind = f"{result.dtype} {result.shape}" if isinstance(result, np.ndarray) else describe_value(result)
                raise ValueError(f"out is {kind} (expected a NumPy array of {self.interface.dtype}, {shape})")
            if not result.flags.writeable:
                raise ValueError("out cannot be written to")
            if internal_overlap(shape, result.strides, result.itemsize):
                raise ValueError(
                    f"out has elements that share memory: shape {shape}, strides {result.strides} bytes (expected"
                    " memory of its own for each)"
                )
        for (i, one), (j, other) in combinations(enumerate(results), 2):
            if np.may_share_memory(one, other) and np.shares_memory(one, other):
                raise ValueError(f"out[{i}] and out[{j}] share memory (expected an array of its own for each result)")
        return results

    def _run_on_threads(self, count: int, arrays: Sequence[np.ndarray], threads: int) -> int:
        """Run all states on several threads; the count of non-finite results."""
        if threads == 1:
            return int(self._part(0, count, arrays))
        bounds = [count * k // threads for k in range(threads + 1)]
        non_finite = [0] * threads

        def part(k: int, arrays: Sequence[np.ndarray]) -> None:
            non_finite[k] = self._part(bounds[k], bounds[k + 1], arrays)

        others = []
        for k in range(1, threads):
            thread = threading.Thread(target=part, args=(k, arrays))  # keeps the arrays alive after an interrupt
            try:
                thread.start()
            except RuntimeError:  # no more threads available
                break
            others.append(thread)
        for k in (0, *range(len(others) + 1, threads)):
            part(k, arrays)
        for thread in others:
            thread.join()
        return sum(non_finite)


def can_write_directly(result: np.ndarray, rows: Sequence[np.ndarray]) -> bool:
    """Whether results may be written directly: inputs must stay unchanged until all results are finite."""
    return bool(result.flags.c_contiguous) and not any(np.may_share_memory(result, x) for x in rows)


def in_order(
    function: str, inputs: Sequence[Argument], arrays: Sequence[Any], named: dict[str, Any], options: Sequence[str] = ()
) -> list[Any]:
    """The arrays of a call in the order of the inputs; `options` are further keywords of the function."""
    names = [argument.name for argument in inputs]
    if len(arrays) == len(names) and not named:
        return list(arrays)
    if len(arrays) > len(names):
        raise TypeError(f"{function} takes {len(names)} arrays ({', '.join(names)}), not {len(arrays)}")
    bound = dict(zip(names, arrays, strict=False))
    for name, array in named.items():
        if name not in names:
            raise TypeError(f"{function} takes no {name!r} (expected {', '.join([*names, *options])})")
        if name in bound:
            raise TypeError(f"{function} was given {name!r} twice")
        bound[name] = array
    missing = [name for name in names if name not in bound]
    if missing:
        raise TypeError(f"{function} was not given {', '.join(missing)}")
    return [bound[name] for name in names]


def full_rows(
    inputs: Sequence[Argument], values: Sequence[Any], dtype: str
) -> tuple[tuple[int, ...], list[np.ndarray]]:
    """The batch shape, and contiguous inputs broadcast to it."""
    arrays = [real_array(a.name, x, dtype) for a, x in zip(inputs, values, strict=True)]
    batch = batch_of(inputs, arrays)
    shapes = [(*batch, *argument.shape) for argument in inputs]
    full = [
        np.asarray(array if array.shape == shape else np.broadcast_to(array, shape), order="C")
        for array, shape in zip(arrays, shapes, strict=True)
    ]
    return batch, full


def real_array(name: str, value: Any, dtype: str) -> np.ndarray:
    """The value as an array of `dtype`; a TypeError if it has no real numbers."""
    array = numpy_array(name, value)
    if array.dtype == dtype:
        return array
    if array.dtype.kind not in "fiu" or array.dtype == np.float16:
        raise TypeError(f"{name} has dtype {array.dtype} ({EXPECTED})")
    with np.errstate(over="ignore"):  # overflow to float32 gives infinity
        return array.astype(dtype, copy=False)


def thread_count(threads: int | None, count: int, at_once: int) -> int:
    """The number of threads: the given one, or as many processors as the work is worth."""
    if threads is None:
        setting = os.environ.get("LINKWISE_THREADS", "")
        if setting and not (setting.isdecimal() and int(setting) > 0):
            raise ValueError(f"LINKWISE_THREADS is {setting!r} (expected a whole number from 1 on)")
        return max(1, min(int(setting) if setting else processors(), count // at_once))
    if not is_integer(threads) or threads < 1:
        raise ValueError(f"threads is {threads!r} (expected a whole number from 1 on)")
    return max(1, min(int(threads), count))


def processors() -> int:
    """The number of processors that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
