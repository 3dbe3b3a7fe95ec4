"""The state of every trajectory of a batch, as a record in memory that compiled drivers read and write; chattering.

A right-hand side that jumps, such as np.sign of a rate, can chatter: error control keeps the step at one small size,
and a rate changes its sign again and again. If the end of the motion is out of reach with such steps, the trajectory
is given up.

The operations in which the driver and its events are written, for NumPy: every trajectory of a batch is a lane.

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

# Status of a trajectory
RUNNING = 0
DONE = 1
STEP_TOO_SMALL = 2
NOT_FINITE = 3
STOPPED = 4  # by an event
LOG_FULL = 5  # of events: it goes on when they have been copied
TOO_MANY_STEPS = 6
CHATTERING = 7
CODES = {
    "running": RUNNING,
    "done": DONE,
    "step too small": STEP_TOO_SMALL,
    "not finite": NOT_FINITE,
    "stopped": STOPPED,
    "log full": LOG_FULL,
    "too many steps": TOO_MANY_STEPS,
    "chattering": CHATTERING,
}
WINDOW = 1000  # accepted steps between two checks
SHARE, RARE = 0.25, 0.1  # share of steps in which a rate changes its sign
TOO_FAR = 1_000_000  # steps left; in Python, most of an hour
HOPELESS = 30  # times as many steps, about a day: give up even at the share RARE, which a fast vibration may have

LEAST_ERROR_BEFORE = 1e-4  # lower bound of the previous error in step control
RECORD: dict[str, type] = {  # the fields of a record; y, the values of the events and the parameters follow
    "t": float,
    "h": float,  # the next step
    "error": float,  # of the last accepted step
    "refused": float,  # 1 if the last step was
    "next": int,  # index of the next sample time
    "steps": int,
    "rejected": int,
    "status": int,
    "logged": int,  # filled rows of the log
}


class Field:
    """A field of all records, as a view."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.column = list(RECORD).index(name)
        self.view = "records" if RECORD[name] is float else "integers"

    def __get__(self, trajectories: Trajectories, owner: type | None = None) -> np.ndarray:
        column: np.ndarray = getattr(trajectories, self.view)[:, self.column]
        return column

    def __set__(self, trajectories: Trajectories, value: np.ndarray | float) -> None:
        getattr(trajectories, self.view)[:, self.column] = value


class Trajectories:
    """The records of a batch and its events."""

    t, h, error, refused = Field(), Field(), Field(), Field()
    next, steps, rejected, status, logged = Field(), Field(), Field(), Field(), Field()

    def __init__(self, y: np.ndarray, first_step: float, events: int = 0, room: int = 0) -> None:
        count, size = y.shape
        self.first_value = len(RECORD) + size
        self.width = self.first_value + events
        self.set_records(np.zeros((count, self.width)))
        self.records[:, len(RECORD) : self.first_value] = y
        if events:
            self.records[:, self.first_value :] = np.nan
        self.h, self.error = first_step, LEAST_ERROR_BEFORE
        self.log = np.empty((count, room if events else 0, 2 + size))  # rows: time, which events, state
        self.log.fill(np.nan)
        self.met: list[list[np.ndarray]] = [[] for _ in range(count)]  # rows copied from the log
        self.evaluations: np.ndarray | None = None  # if they are counted
        self.chattering: dict[int, int] = {}  # trajectory -> chattering component of its state

    @property
    def y(self) -> np.ndarray:
        return self.records[:, len(RECORD) : self.first_value]

    @property
    def values(self) -> np.ndarray:
        """Values of the events at the last accepted state, from `Events.store_values`; NaN at the start."""
        return self.records[:, self.first_value : self.width]

    def with_parameters(self, parameters: np.ndarray) -> np.ndarray:
        """Append the parameters to the records, and return the records."""
        if parameters.shape[1]:
            self.set_records(np.concatenate([self.records[:, : self.width], parameters], axis=1))
        return self.records

    def set_records(self, records: np.ndarray) -> None:
        self.records, self.integers = records, records.view(np.int64)

    def single(self, k: int) -> Trajectories:
        """Trajectory k as a batch of one, in the same memory."""
        one = object.__new__(Trajectories)
        one.__dict__.update(self.__dict__, log=self.log[k : k + 1], met=[self.met[k]])
        one.set_records(self.records[k : k + 1])
        return one

    def restart(self, which: np.ndarray, first_step: np.ndarray | float) -> None:
        """Reset the step control of some trajectories, after a jump of the right-hand side."""
        self.h[which], self.error[which], self.refused[which] = first_step, LEAST_ERROR_BEFORE, 0.0

    def empty_logs(self) -> None:
        """Copy the logs to `met`; trajectories with a full log go on."""
        for k in np.flatnonzero(self.logged).tolist():
            self.met[k].extend(self.log[k, : self.logged[k]].copy())
        self.logged = 0
        self.status[self.status == LOG_FULL] = RUNNING


class Chattering:
    """Counts sign changes of rates; a chattering trajectory with more than `too_far` steps to go is given up."""

    def __init__(self, too_far: float = TOO_FAR) -> None:
        self.too_far = too_far
        self.steps: np.ndarray | None = None

    def start(self, count: int, size: int) -> np.ndarray:
        self.direction = np.zeros((count, size))
        self.turns = np.zeros((count, size), dtype=int)
        self.since = np.full(count, np.nan)
        return np.zeros(count, dtype=int)

    def watch(self, trajectories: Trajectories, which: np.ndarray, change: np.ndarray, end: float) -> None:
        """Count a step of the trajectories `which`; `change` is the change of all states."""
        if self.steps is None:
            self.steps = self.start(*change.shape)
        direction = np.sign(change[which])
        self.turns[which] += direction * self.direction[which] < 0
        self.direction[which] = direction
        self.steps[which] += 1
        for k in which[self.steps[which] >= WINDOW].tolist():
            advance = (trajectories.t[k] - self.since[k]) / WINDOW  # NaN in the first window
            component = int(np.argmax(self.turns[k]))
            shortest = (end - trajectories.t[k]) / self.too_far
            turns = self.turns[k, component] / WINDOW
            if (advance < shortest and turns > SHARE) or (advance < shortest / HOPELESS and turns > RARE):
                trajectories.status[k] = CHATTERING
                trajectories.chattering[k] = component
            self.turns[k], self.steps[k], self.since[k] = 0, 0, trajectories.t[k]


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
