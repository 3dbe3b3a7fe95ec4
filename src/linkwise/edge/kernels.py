"""When calls on NumPy arrays run compiled.

A function is compiled for a robot when it is called with a batch of at least 256 states, or for the 32nd time, or if
the robot has more than 60 links; until then the plain text runs, since compiling takes as long as some hundred plain
calls. Code that would be longer than 6,000 operations becomes loops over the links, where the function is made of
sweeps, and otherwise is not compiled by itself. Robots with equal numbers share what was compiled.
`use_kernels("always")` and `use_kernels("never")`, or the environment variable LINKWISE_KERNELS, replace the rule.
Compiled and plain results agree to a few units in the last place, not to the last bit.
"""

from __future__ import annotations

import inspect
import math
import os
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache, partial, wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np

from ..errors import one_of
from ..robot import Robot
from ..trace import Input
from .arrays import Array, States

if TYPE_CHECKING:
    from .compiling import Compiled

Function = Callable[..., Any]
AnyFunction = TypeVar("AnyFunction", bound=Function)
BATCH, CALLS = 256, 32
LONGEST = 6_000  # operations: beyond that, straight-line code takes long to compile, and is slower than loops
LARGEST = 60  # links: beyond that, it is not even tried
ROLLED: dict[Function, dict[str | None, str]] = {}  # what can loop, and which method is then taken for which
KEPT = 256  # kernels, most recently used
MODES = ("auto", "always", "never")


class Task(NamedTuple):
    """What there is to compile: a function and its options."""

    function: Function
    options: tuple[tuple[str, Any], ...]

    @staticmethod
    def of(function: Function, **options: Any) -> Task:
        return Task(function, tuple(options.items()))

    @property
    def usual(self) -> bool:
        return not any(value for _, value in self.options)

    @property
    def keywords(self) -> dict[str, Any]:
        return {name: value for name, value in self.options if value is not None}


class Found(NamedTuple):
    array: Array
    lost: int  # finite states whose result is not finite


class use_kernels:  # noqa: N801  a function to its users
    """`use_kernels("always" | "never" | "auto")`: from now on, or inside a `with` block.

    >>> import linkwise as lw
    >>> with lw.use_kernels("never"):
    ...     tau = lw.gravity_torque(lw.load("gantry"), [0, 0, 0])
    """

    def __init__(self, mode: str) -> None:
        one_of(mode, MODES, "mode")
        self._before = MODE
        set_mode(mode)

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        set_mode(self._before)


def set_mode(mode: str) -> None:
    global MODE, NEVER
    MODE, NEVER = mode, mode == "never"  # a comparison would take longer


MODE = os.environ.get("LINKWISE_KERNELS", "auto")
one_of(MODE, MODES, "LINKWISE_KERNELS")
NEVER = MODE == "never"
LOCK = threading.RLock()
KERNELS: OrderedDict[tuple[Any, ...], Compiled | None] = OrderedDict()  # None: too long to compile


def entered_directly(function: AnyFunction) -> AnyFunction:
    """Lets calls with plain arrays enter the compiled function at once, where there is one; see `compile.entry`.

    What there is to do in Python counts here, in tens of nanoseconds: hence a text for each list of parameters. Two
    options are named there, since a table for them would take longer to make; more than two take longer to fill in.
    """
    parameters = inspect.signature(function).parameters.values()
    arrays = tuple(p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD)[1:]
    return cast(AnyFunction, wraps(function)(WAYS_IN[arrays](function, function.__name__)))


def with_q(function: Function, name: str) -> Function:
    def call(arm: Any, q: Any, *, method: Any = None, check: Any = False) -> Any:
        if method is not None or check or NEVER:
            return function(arm, q, method=method, check=check)
        try:
            entry = arm.shelf[name]
        except (AttributeError, KeyError):
            return function(arm, q)
        return entry(q)

    return call


def with_rates(function: Function, name: str) -> Function:
    def call(arm: Any, q: Any, qd: Any, **options: Any) -> Any:
        if options or NEVER:
            return function(arm, q, qd, **options)
        try:
            entry = arm.shelf[name]
        except (AttributeError, KeyError):
            return function(arm, q, qd)
        return entry(q, qd)

    return call


def with_rates_and_wrench(function: Function, name: str) -> Function:
    def call(arm: Any, q: Any, qd: Any, wrench: Any = None, **options: Any) -> Any:
        if wrench is not None or options or NEVER:
            return function(arm, q, qd, wrench, **options)
        try:
            entry = arm.shelf[name]
        except (AttributeError, KeyError):
            return function(arm, q, qd)
        return entry(q, qd)

    return call


def with_accelerations(function: Function, name: str) -> Function:
    def call(arm: Any, q: Any, qd: Any, qdd: Any, wrench: Any = None, **options: Any) -> Any:
        if wrench is not None or options or NEVER:
            return function(arm, q, qd, qdd, wrench, **options)
        try:
            entry = arm.shelf[name]
        except (AttributeError, KeyError):
            return function(arm, q, qd, qdd)
        return entry(q, qd, qdd)

    return call


def with_torques(function: Function, name: str) -> Function:
    def call(arm: Any, q: Any, qd: Any, tau: Any, wrench: Any = None, **options: Any) -> Any:
        if wrench is not None or options or NEVER:
            return function(arm, q, qd, tau, wrench, **options)
        try:
            entry = arm.shelf[name]
        except (AttributeError, KeyError):
            return function(arm, q, qd, tau)
        return entry(q, qd, tau)

    return call


WAYS_IN = {
    ("q",): with_q,
    ("q", "qd"): with_rates,
    ("q", "qd", "wrench"): with_rates_and_wrench,
    ("q", "qd", "qdd", "wrench"): with_accelerations,
    ("q", "qd", "tau", "wrench"): with_torques,
}


def compiled_result(states: States, task: Task | None) -> Found | None:
    """The result from a kernel, or None where the plain text is to run."""
    if task is None or MODE == "never" or not states.numeric or states.robot.unusual:
        return None
    dtype = np.result_type(*(array.dtype for array in states.arrays.values())).name
    if dtype not in ("float64", "float32"):
        return None
    key = (task, dtype, states.acting)
    kernel = states.robot.shelf.get(key, "unknown")
    if kernel == "unknown":
        if not due(states, key):
            return None
        kernel = states.robot.shelf[key] = shared_kernel(states.robot, *key)
        if kernel is not None and task.usual and not states.acting and dtype == "float64":
            plain = getattr(task.function, "__wrapped__", None)
            if plain is not None:
                states.robot.shelf[plain.__name__] = kernel.entry(partial(plain, states.robot))
    return None if kernel is None else run(kernel, states)


def due(states: States, key: tuple[Any, ...]) -> bool:
    """Whether compiling pays by now."""
    shelf = states.robot.shelf
    calls = shelf["calls", key] = shelf.get(("calls", key), 0) + 1
    long = states.robot.n > LARGEST  # one plain call takes longer than compiling loops
    return MODE == "always" or long or calls >= CALLS or math.prod(states.batch) >= BATCH


def shared_kernel(
    robot: Robot, task: Task, dtype: str, acting: tuple[tuple[str, tuple[int, ...]], ...]
) -> Compiled | None:
    """The kernel for a robot of these numbers, compiled if there is none yet."""
    from .compiling import Compiled  # the compiler's rooms are entered only when something is compiled
    from .forms import recipe_for, too_long

    key = (robot, task, dtype, acting)
    with LOCK:
        if key not in KERNELS:
            keywords = {**task.keywords, **{name: Input(*shape) for name, shape in acting}}
            try:
                recipe = recipe_for(task.function, robot, dtype, keywords)
                KERNELS[key] = None if too_long(recipe) else Compiled(recipe)
            except ImportError:
                without_llvm()
                return None
        KERNELS.move_to_end(key)
        while len(KERNELS) > KEPT:
            KERNELS.popitem(last=False)
        return KERNELS[key]


@lru_cache(maxsize=1)
def without_llvm() -> None:
    """Say so, once."""
    warnings.warn(
        "llvmlite is not installed, so Linkwise runs its plain text, which is slower: pip install llvmlite",
        RuntimeWarning,
        stacklevel=2,
    )


def run(kernel: Compiled, states: States) -> Found:
    rows = []
    for argument in kernel.interface.inputs:
        full = np.broadcast_to(states.own(argument.name), (*states.batch, *argument.shape))
        rows.append(np.ascontiguousarray(full, dtype=kernel.interface.dtype))
    result = np.empty((*states.batch, *kernel.interface.outputs[0].shape), kernel.interface.dtype)
    lost = kernel.run(states.batch, rows, [result])
    return Found(result[()], lost)
