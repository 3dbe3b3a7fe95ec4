"""When calls on NumPy arrays run compiled.

A kernel that is at hand runs from the first call on: one that this process has compiled for a robot of the same
numbers, or one that lies in the cache. For that the key is made once for each robot, function and type of numbers,
without tracing, and one file is looked for. Kernels with loops are not looked for, nor is anything where LLVM would
have to be loaded (`kernels.image`).

Otherwise a function is compiled for a robot when it is called with a batch of at least 256 states, or if the robot has
more than 60 links, or when its plain calls have cost as much as compiling will: their time is counted, and compiling is
expected to take as long as the last time, for as many links. Until then the plain text runs. Code that would be longer
than 6,000 operations becomes loops over the links, where the function is made of sweeps, and otherwise is not compiled
by itself. Robots with equal numbers share what was compiled. `use_kernels("always")` and `use_kernels("never")`, or the
environment variable LINKWISE_KERNELS, replace the rule.

Compiled and plain results differ by rounding, and a call may be the first compiled one sooner or later: who needs the
same bits each time chooses "always" or "never". The difference, relative to the largest number of the result, is held
by tests to 20 ε, or 20 κ(I) ε where the inertia matrix is divided by (κ: its condition number); with loops to five
times that. Numbers that are small beside the largest may differ in more of their digits.
"""

from __future__ import annotations

import inspect
import math
import os
import sys
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable
from contextvars import ContextVar
from functools import lru_cache, partial, wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np

from ..api.states import Array, States
from ..errors import one_of
from ..robot import Robot
from ..robot.fingerprint import NoFingerprintError
from ..trace import Input
from .lock import LOCK

if TYPE_CHECKING:
    from .compiler import Compiled

Function = Callable[..., Any]
AnyFunction = TypeVar("AnyFunction", bound=Function)
BATCH = 256
LOADING, USUAL_PER_LINK = 0.2, 0.02  # seconds, roughly: until LLVM is loaded; to compile, for each link
LONGEST = 6_000  # operations: beyond that, straight-line code takes long to compile, and is slower than loops
LARGEST = 60  # links: beyond that, it is not even tried
ROLLED: dict[Function, dict[str | None, str]] = {}  # what can loop, and which method is then taken for which
KEPT = 256  # kernels, most recently used
Acting = tuple[tuple[str, tuple[int, ...]], ...]  # wrench and point, if given, and their shapes for one state
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

    The mode belongs to the context of the caller, as Python's context variables do: other threads do not see it, and
    threads begun later start with the default (that of LINKWISE_KERNELS, otherwise "auto"), where Python does not hand
    contexts on to them. A task of `asyncio` starts with the mode of the code that made it.

    >>> import linkwise as lw
    >>> with lw.use_kernels("never"):
    ...     tau = lw.gravity_torque(lw.load("gantry"), [0, 0, 0])
    """

    def __init__(self, mode: str) -> None:
        one_of(mode, MODES, "mode")
        self._mode, self._before = mode, MODE.get()
        set_mode(mode)

    def __enter__(self) -> None:
        set_mode(self._mode)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        set_mode(self._before)


def set_mode(mode: str) -> None:
    global NEVER_USED
    if mode == "never":
        NEVER_USED = True
    MODE.set(mode)


DEFAULT = os.environ.get("LINKWISE_KERNELS", "auto")
one_of(DEFAULT, MODES, "LINKWISE_KERNELS")
MODE: ContextVar[str] = ContextVar("kernels_mode", default=DEFAULT)
mode_here = MODE.get  # a method looked up each time would take longer
NEVER_USED = DEFAULT == "never"  # otherwise no context is in that mode, and none need be asked
UNKNOWN: Any = object()  # not None, which is a robot's code that is too long to compile
KERNELS: OrderedDict[tuple[Any, ...], Compiled | None] = OrderedDict()  # None: too long to compile
SECONDS_PER_LINK: dict[Function, float] = {}  # that compiling a function took the last time
clock = time.perf_counter


def entered_directly(function: AnyFunction) -> AnyFunction:
    """Lets calls with plain arrays enter the compiled function at once, where there is one; see `kernels.entry`.

    What there is to do in Python counts here, in tens of nanoseconds: hence a text for each list of parameters. Two
    options are named there, since a table for them would take longer to make; more than two take longer to fill in.
    """
    parameters = inspect.signature(function).parameters.values()
    arrays = tuple(p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD)[1:]
    return cast(AnyFunction, wraps(function)(WAYS_IN[arrays](function, function.__name__)))


def with_q(function: Function, name: str) -> Function:
    def call(arm: Any, q: Any, *, method: Any = None, check: Any = False) -> Any:
        if method is not None or check or (NEVER_USED and mode_here() == "never"):
            return function(arm, q, method=method, check=check)
        try:
            entry = arm.cache[name]
        except (AttributeError, KeyError):
            return function(arm, q)
        return entry(q)

    return call


def with_rates(function: Function, name: str) -> Function:
    def call(arm: Any, q: Any, qd: Any, **options: Any) -> Any:
        if options or (NEVER_USED and mode_here() == "never"):
            return function(arm, q, qd, **options)
        try:
            entry = arm.cache[name]
        except (AttributeError, KeyError):
            return function(arm, q, qd)
        return entry(q, qd)

    return call


def with_rates_and_wrench(function: Function, name: str) -> Function:
    def call(arm: Any, q: Any, qd: Any, wrench: Any = None, **options: Any) -> Any:
        if wrench is not None or options or (NEVER_USED and mode_here() == "never"):
            return function(arm, q, qd, wrench, **options)
        try:
            entry = arm.cache[name]
        except (AttributeError, KeyError):
            return function(arm, q, qd)
        return entry(q, qd)

    return call


def with_accelerations(function: Function, name: str) -> Function:
    def call(arm: Any, q: Any, qd: Any, qdd: Any, wrench: Any = None, **options: Any) -> Any:
        if wrench is not None or options or (NEVER_USED and mode_here() == "never"):
            return function(arm, q, qd, qdd, wrench, **options)
        try:
            entry = arm.cache[name]
        except (AttributeError, KeyError):
            return function(arm, q, qd, qdd)
        return entry(q, qd, qdd)

    return call


def with_torques(function: Function, name: str) -> Function:
    def call(arm: Any, q: Any, qd: Any, tau: Any, wrench: Any = None, **options: Any) -> Any:
        if wrench is not None or options or (NEVER_USED and mode_here() == "never"):
            return function(arm, q, qd, tau, wrench, **options)
        try:
            entry = arm.cache[name]
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
    if task is None or MODE.get() == "never" or not states.numeric or states.robot.unusual:
        return None
    dtype = np.result_type(*(array.dtype for array in states.arrays.values())).name
    if dtype not in ("float64", "float32"):
        return None
    key = (task, dtype, states.acting)
    kernel = states.robot.cache.get(key, UNKNOWN)
    if kernel is UNKNOWN:
        kernel = shared_kernel(states.robot, *key) if due(states, key) else kept_kernel(states.robot, *key)
        if kernel is UNKNOWN:
            states.waits_for = key
            return None
        states.robot.cache[key] = kernel
        if kernel is not None and task.usual and not states.acting and dtype == "float64":
            plain = getattr(task.function, "__wrapped__", None)
            if plain is not None:
                states.robot.cache[plain.__name__] = kernel.entry(partial(plain, states.robot))
    return None if kernel is None else run(kernel, states)


def due(states: States, key: tuple[Any, ...]) -> bool:
    """Whether compiling pays by now."""
    robot = states.robot
    long = robot.n > LARGEST  # one plain call takes longer than compiling loops
    if MODE.get() == "always" or long or math.prod(states.batch) >= BATCH:
        return True
    spent = robot.cache.get(("spent", key), 0.0)
    return bool(spent) and spent >= expected_seconds(key[0].function, robot.n)


class plain_run:  # noqa: N801  as `contextmanager` would make it, which takes longer
    """Counts the time of a plain call in place of a kernel."""

    def __init__(self, states: States) -> None:
        self._states = states

    def __enter__(self) -> None:
        self._started = clock()

    def __exit__(self, *_: object) -> None:
        if self._states.waits_for is not None:
            cache, key = self._states.robot.cache, ("spent", self._states.waits_for)
            cache[key] = cache.get(key, 0.0) + clock() - self._started


def expected_seconds(function: Function, n: int) -> float:
    """How long compiling will take, roughly: as the last time, for as many links; LLVM has to be loaded once."""
    loading = 0.0 if llvm_is_loaded() else LOADING
    return loading + n * SECONDS_PER_LINK.get(function, USUAL_PER_LINK)


def kept_kernel(robot: Robot, task: Task, dtype: str, acting: Acting) -> Any:
    """The kernel as far as it is at hand: in this process or, looked for once, in the cache; otherwise UNKNOWN.

    To look is to make the key, which needs no tracing, and to open one file. Nothing is loaded that takes as long as
    compiling: LLVM, for one. Where another thread is compiling, the look is put off.
    """
    key, looked = (numbers_of(robot), task, dtype, acting), ("looked", (task, dtype, acting))
    at_hand = KERNELS.get(key, UNKNOWN)
    if at_hand is not UNKNOWN or looked in robot.cache or not LOCK.acquire(blocking=False):
        return at_hand
    try:
        robot.cache[looked] = True
        from . import cache

        if cache.folder() is None:
            return UNKNOWN
        from .forms import kept

        found = kept(task.function, robot, dtype, keywords_of(task, acting))
        if found is None:
            return UNKNOWN
        remember(key, found)
        return found
    finally:
        LOCK.release()


def keywords_of(task: Task, acting: Acting) -> dict[str, Any]:
    return {**task.keywords, **{name: Input(*shape) for name, shape in acting}}


def remember(key: tuple[Any, ...], kernel: Compiled | None) -> None:
    KERNELS[key] = kernel
    while len(KERNELS) > KEPT:
        KERNELS.popitem(last=False)


def shared_kernel(robot: Robot, task: Task, dtype: str, acting: Acting) -> Compiled | None:
    """The kernel for a robot of these numbers, compiled if there is none yet."""
    key = (numbers_of(robot), task, dtype, acting)
    with LOCK:  # also where modules are loaded: a fork must not find one half loaded
        from .compiler import Compiled  # the compiler's rooms are entered only when something is compiled
        from .forms import recipe_for, too_long

        if key not in KERNELS:
            started, loaded = clock(), llvm_is_loaded()
            try:
                recipe = recipe_for(task.function, robot, dtype, keywords_of(task, acting))
                made = None if too_long(recipe) else Compiled(recipe)
            except ImportError:
                without_llvm()
                return None
            if made is not None and not made.from_cache and loaded:  # otherwise loading LLVM is in the time as well
                SECONDS_PER_LINK[task.function] = (clock() - started) / max(robot.n, 1)
            remember(key, made)
        KERNELS.move_to_end(key)
        return KERNELS[key]


def llvm_is_loaded() -> bool:
    return "llvmlite.binding" in sys.modules


def numbers_of(robot: Robot) -> str | Robot:
    """What robots have in common that share kernels: their fingerprint, or where they have none, the robot itself."""
    try:
        return robot.fingerprint
    except NoFingerprintError:
        return robot


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
