"""A compiled function, called on arrays; made from a spec by way of the cache."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple
from itertools import combinations
from typing import Any

import numpy as np

from ..errors import is_integer
from ..graph import Count
from ..tracing.tracing import USUAL, function_name
from .entry import entry_function, has_entry
from .interface import EXPECTED, Argument, Interface, Links, batch_of, describe_value, internal_overlap, numpy_array
from .lock import LOCK
from .sources import qualified_name
from .spec import KernelSpec, read_count
from .target import Code


class Kernel:
    """A function in machine code, called with arrays of one state or of any batch shape."""

    name: str
    interface: Interface
    options: tuple[str, ...] = ("out", "threads")  # keywords of a call besides the arrays
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
                    " separate memory for each)"
                )
        for (i, one), (j, other) in combinations(enumerate(results), 2):
            if np.may_share_memory(one, other) and np.shares_memory(one, other):
                raise ValueError(f"out[{i}] and out[{j}] share memory (expected a separate array for each result)")
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


class Compiled(Kernel):
    """A function compiled for a robot. Call it with arrays of one state or of any batch shape.

    kernel(q, qd, qdd)                   a new array
    kernel(q, qd, qdd, out=tau)          results into an existing array
    kernel(q, qd, qdd, threads=1)        with this number of threads; by default as many as are worth it

    Contiguous arrays of the dtype that it was compiled for are read in place; others are converted first.

    Attributes
    ----------
    method : str or None
        The compiled method of the function.
    count : Count
        Operations for one state.
    source, ir : str
        The computation as C to read, and the LLVM assembly.
    compile_seconds : float
        Time to compile, or to load if `from_cache`.
    """

    def __init__(self, spec: KernelSpec, explain: Callable[..., None] | None = None) -> None:
        """`explain` raises an error for states with non-finite results, if it finds a reason."""
        started = time.perf_counter()
        self.spec, self.robot = spec, spec.robot
        with LOCK:
            code = spec.load(lambda: metadata(spec))
            self.from_cache = code.from_cache
            if code.from_cache and spec.identity:  # no tracing needed
                self.count, interface = read_metadata(code.metadata, spec.dtype)
            else:
                self.count, interface = spec.count, spec.interface
            super().__init__(function_name(spec.function), code, interface, explain, spec.links)
        self.compile_seconds = time.perf_counter() - started

    @property
    def method(self) -> str | None:
        """The compiled method, by its name in `lw.methods`; None for user functions."""
        return self.spec.keywords.get("method") if qualified_name(self.spec.function) else None

    def __repr__(self) -> str:
        shaped = qualified_name(self.spec.function) is None
        takes = ", ".join(
            f"{name}{list(shape)}" if shaped and shape and name not in USUAL else name
            for name, shape in self.interface.inputs
        )
        method = f", method {self.method!r}" if self.method else ""
        return (
            f"<Kernel {self.name}({takes}) of robot {self.robot.name!r}: {self.interface.dtype}{method}, {self.count}>"
        )

    @property
    def ir(self) -> str:
        """The LLVM assembly."""
        return self.spec.text

    @property
    def source(self) -> str:
        """The computation as C to read, or for loops and rounds as assembly. `lw.c_source` writes C to compile."""
        if not self.spec.straight:
            return self.ir
        from ..codegen.c import CFunction, c_comment, c_name  # a kernel from the cache needs none of this

        names = [f"out_{k}" for k in range(len(self.interface.outputs))] if len(self.interface.outputs) > 1 else ["out"]
        c = CFunction(self.spec.program, c_name(self.name, "f"), tuple(names), self.interface.dtype)
        return c.source(c_comment([f"{self.name}: {self.count}"]))


def metadata(spec: KernelSpec) -> dict[str, str]:
    """The data with which a cached kernel is loaded without tracing."""
    if spec.identity is None:  # traced in any case
        return {}
    inputs, outputs = (" ".join(map(argument_word, arguments)) for arguments in spec.interface[:2])
    return {"inputs": inputs, "outputs": outputs, "count": " ".join(map(str, astuple(spec.count)))}


def read_metadata(data: dict[str, str], dtype: str) -> tuple[Count, Interface]:
    inputs, outputs = (tuple(map(parse_argument, data[name].split())) for name in ("inputs", "outputs"))
    count = read_count(data)
    return count, Interface(inputs, outputs, dtype, count.total)


def argument_word(argument: Argument) -> str:
    """An argument as a word: q,6 for an array q of six numbers."""
    return ",".join(map(str, (argument.name, *argument.shape)))


def parse_argument(word: str) -> Argument:
    name, *shape = word.split(",")
    return Argument(name, tuple(map(int, shape)))
