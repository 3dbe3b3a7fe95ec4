"""The operations in which the driver and its events are written, for NumPy: every trajectory of a batch is a lane.

A scalar of each lane is an array (B,), a mask is an array of bools (B,), and a vector of each lane is an array
(size, B). `codegen.llvm.lanes` has the same operations and emits machine code over registers. The driver serves both,
so its control flow consists of operations too:

    for i in lanes.components(size):     all components of a vector: here one slice, in machine code a loop
    for k in lanes.repeat(count):        a loop
    for _ in lanes.when(mask):           once, if any lane is in the mask
    if lanes.leave(condition): break     leave the loop
    lanes.call(function, *arguments)     a call; machine code emits a separate function
    variable.value                       a number that is written in a branch and read after it

`fold` combines numbers over components (sum, maximum). `map_events`, `unrolled` and `reduce` run over the events,
which are few.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .trajectories import Trajectories

Function = Callable[[np.ndarray, np.ndarray], np.ndarray]  # t (B,), y (B, size) -> (B, size), or (B, events)
ALL = slice(None)


class Functions(NamedTuple):
    """The right-hand side, and the values of the events."""

    rhs: Function
    event_values: Function | None = None


class Variable:
    def __init__(self, value: Any) -> None:
        self.value = value


class Fold:
    """A reduction over the components of vectors, from 0 on."""

    def __init__(self, combine: np.ufunc) -> None:
        self.combine, self.value = combine, np.zeros(())

    def include(self, i: Any, numbers: np.ndarray) -> None:
        self.value = self.combine(self.value, self.combine.reduce(numbers, axis=0))

    def result(self) -> np.ndarray:
        return self.value


class NumpyLanes:
    """The lanes of a batch of trajectories, integrated until `end`."""

    def __init__(
        self,
        state: Trajectories,
        functions: Functions,
        end: float,
        times: np.ndarray,
        out: np.ndarray,
        rtol: float,
        atol: np.ndarray,
        max_steps: float = np.inf,
    ) -> None:
        self.state, self.functions = state, functions
        self.y, self.values = state.y.T, state.values.T
        self.end, self.rtol, self.atol, self.max_steps = end, rtol, atol[:, None], max_steps
        self.times, self.out, self.samples, self.room = times, out, len(times), state.log.shape[1]

    where = staticmethod(np.where)
    minimum, maximum, absolute, add, either = np.fmin, np.fmax, np.abs, np.add, np.logical_or
    copysign, sqrt, floor, is_nan, frexp = np.copysign, np.sqrt, np.floor, np.isnan, np.frexp

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        return a * b + c

    def ldexp(self, x: Any, exponent: Any) -> Any:
        """x · 2^exponent; the exponents are floats with integer values."""
        return np.ldexp(x, exponent.astype(int))

    # memory

    def array(self, size: int) -> np.ndarray:
        return np.zeros((size, len(self.state.t)))

    def arrays(self, count: int, size: int) -> np.ndarray:
        return np.zeros((count, size, len(self.state.t)))

    def variable(self, value: Any = 0.0) -> Variable:
        return Variable(value)

    # control flow

    def components(self, size: int) -> Iterator[Any]:
        yield ALL

    def repeat(self, count: int) -> Iterator[Any]:
        yield from range(count)

    def forever(self) -> Iterator[Any]:
        yield from itertools.count()

    def when(self, mask: Any, condition: bool = True) -> Iterator[None]:
        if condition and np.any(mask):
            yield

    def leave(self, condition: bool) -> bool:
        return condition

    def none(self, mask: Any) -> bool:
        return not np.any(mask)

    def pick(self, condition: bool, a: Any, b: Any) -> Any:
        """One of two numbers, by a condition common to all lanes."""
        return a if condition else b

    def number(self, k: int) -> float:
        """The index of a loop as a number of every lane."""
        return float(k)

    def call(self, function: Callable[..., None], *arguments: Any) -> None:
        function(*arguments)

    # components, and events

    def fold(self, combine: np.ufunc) -> Fold:
        return Fold(combine)

    def per_event(self, numbers: Sequence[float]) -> Any:
        return np.array(numbers)[:, None]

    def map_events(self, function: Callable[[Any], Any]) -> Any:
        """The function's value for each event."""
        return function(ALL)

    def unrolled(self, which: Sequence[int]) -> Iterator[Any]:
        yield list(which)

    def reduce(self, combine: np.ufunc, numbers: Any, which: Sequence[int]) -> Any:
        """Combine the numbers, or masks, of some events."""
        return combine.reduce(numbers[list(which)], axis=0)

    # functions, samples and log

    def rhs(self, t: Any, y: np.ndarray, out: np.ndarray) -> None:
        out[:] = self.functions.rhs(t, np.ascontiguousarray(y.T)).T

    def event_values(self, t: Any, y: np.ndarray, out: np.ndarray) -> None:
        assert self.functions.event_values is not None
        out[:] = self.functions.event_values(t, np.ascontiguousarray(y.T)).T

    def sample_time(self, index: np.ndarray) -> np.ndarray:
        """The times of samples; after the last sample, the last time."""
        return np.asarray(self.times[np.minimum(index, self.samples - 1)])

    def write_sample(self, mask: np.ndarray, index: np.ndarray, y: np.ndarray) -> None:
        self.out[mask, index[mask]] = y.T[mask]

    def write_log(self, mask: np.ndarray, row: np.ndarray, t: Any, which: Any, y: np.ndarray) -> None:
        mask = mask & (row < self.room)
        self.state.log[mask, row[mask]] = np.stack([t, which, *y], axis=1)[mask]
