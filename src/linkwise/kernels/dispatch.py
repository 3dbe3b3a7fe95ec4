"""When calls on NumPy arrays run compiled.

A kernel that is available runs from the first call on: one that this process has compiled for a robot of the same
numbers, or one in the cache on disk. The cache is looked at once for each robot, function and dtype: that makes the
key, without tracing, and opens one file. Kernels with loops are not looked for there, nor is anything where LLVM would
have to be loaded (`targets.cpu.image`).

Otherwise a function is compiled for a robot when it is called with a batch of at least 256 states, or if the robot has
more than 60 links, or when its plain calls have cost as much as compiling will: their time is added up, and compiling
is expected to take as long as the last time, for as many links. Until then plain Python runs. Code that would be
longer than 12,000 operations becomes loops over the links, where function, robot and options have that form; up to
25,000 operations it does not, where it has at most three quarters of the operations of the loops. What has no form with
loops and is longer than 12,000 operations is compiled only when its plain calls have cost as much, and not by itself
beyond 250,000. Robots with equal numbers share kernels. `use_kernels("always")` and `use_kernels("never")`, or the
environment variable LINKWISE_KERNELS, replace the rule.

Compiled and plain results differ by rounding (docs/compiled.md has the bounds), and which call is the first compiled
one depends on time and on the cache: for the same bits each time, choose "always" or "never".
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, wraps
from inspect import signature
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakSet

from ..errors import one_of
from ..robot import Robot
from ..robot.fingerprint import NoFingerprintError
from .lock import LOCK

if TYPE_CHECKING:
    from .compiler import Compiled

Function = Callable[..., Any]
BATCH = 256
LOADING, USUAL_PER_LINK = 0.2, 0.02  # seconds, roughly: until LLVM is loaded; to compile, for each link
MAX_AT_ONCE = 12_000  # operations of straight-line code: some two seconds to compile
MAX_STRAIGHT_OPERATIONS = 25_000  # where it has at most this share of the operations that loops would have
SHARE_OF_LOOPS = 0.75
MAX_WITHOUT_LOOPS = 250_000  # of what has no form with loops, if it pays
SECONDS_PER_OPERATION = 1.2e-4  # that compiling such long code takes, roughly
MAX_STRAIGHT_LINKS = 60  # for more, it is not even tried
MAX_KERNELS = 256  # kernels, most recently used
DTYPES = ("float64", "float32")
MODES = ("auto", "always", "never")


class Request(NamedTuple):
    """What a kernel is asked for: a function with its keywords, and the dtype."""

    function: Function
    keywords: tuple[tuple[str, Any], ...]
    dtype: str
    loop_method: str | None  # the method that a form with loops takes; see `spec`


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
    if mode == "never" and not NEVER_USED:
        NEVER_USED = True
        for function in list(ENTERED_DIRECTLY):
            function.ask_for_the_mode()
    MODE.set(mode)


DEFAULT = os.environ.get("LINKWISE_KERNELS", "auto")
one_of(DEFAULT, MODES, "LINKWISE_KERNELS")
MODE: ContextVar[str] = ContextVar("kernels_mode", default=DEFAULT)
current_mode = MODE.get  # looked up once: the fast path calls it
NEVER_USED = DEFAULT == "never"  # while False, no context has chosen "never", and the fast path need not ask
ENTERED_DIRECTLY: WeakSet[Any] = WeakSet()  # objects whose calls are their entries, as long as no context is "never"
MISSING: Any = object()  # an argument that was not passed
NO_ENTRY = (LookupError, AttributeError, TypeError)  # of a robot, and of what is none
UNKNOWN: Any = object()  # no kernel yet; None means that the code is too long to compile
KERNELS: OrderedDict[tuple[Any, ...], Compiled | None] = OrderedDict()
SECONDS_PER_LINK: dict[Function, float] = {}  # that compiling a function took the last time
clock = time.perf_counter


def with_fast_path(function: Function) -> Function:
    """The function, entered in machine code where `robot.cache` has an entry of its name; see `kernels.entry`.

    The entry takes the arrays that the function needs, in order; what it does not take goes to `slow`. Every ten
    nanoseconds count here: Python matches arguments with parameters, since a call with a tuple of arrays takes longer,
    the flag is a global of this file, and arrays that are missing are noticed where the entry refuses them.
    """
    name, parameters = function.__name__, signature(function).parameters.values()
    names = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
    count = len([key for key in names if key not in defaults])
    usual_method = defaults.get("method", MISSING)

    def slow(*arguments: Any, **options: Any) -> Any:
        """The function, called as the user called it, so that errors are Python's own."""
        options = {key: value for key, value in options.items() if value is not MISSING}
        if not any(argument is MISSING for argument in arguments):
            return function(*arguments, **options)
        passed = zip(names, arguments, strict=False)
        return function(**{key: value for key, value in passed if value is not MISSING}, **options)

    def general(options: dict[str, Any], *arguments: Any) -> Any:
        """By the entry, if all that is passed besides the arrays are defaults: of a wrench, None."""
        optional = zip(names[count:], arguments[count:], strict=False)
        changed = [key for key, value in optional if value is not defaults[key]]
        changed += [key for key, value in options.items() if value is not defaults.get(key, MISSING)]
        fits = len(arguments) + ("wrench" in options) <= len(names) and isinstance(arguments[0], Robot)
        if fits and not changed and name in arguments[0].cache and current_mode() != "never":
            return arguments[0].cache[name](*arguments[1:count])
        return slow(*arguments, **options)

    def of_q(arm: Any, q: Any, *, method: Any = usual_method, check: Any = False) -> Any:
        if method is not usual_method or check or (NEVER_USED and current_mode() == "never"):
            return slow(arm, q, method=method, check=check)
        try:
            entry = arm.cache[name]
        except NO_ENTRY:
            return slow(arm, q)
        return entry(q)

    def of_two(arm: Any = MISSING, q: Any = MISSING, qd: Any = MISSING, *more: Any, **options: Any) -> Any:
        if more or options or (NEVER_USED and current_mode() == "never"):
            return general(options, arm, q, qd, *more)
        try:
            entry = arm.cache[name]
        except NO_ENTRY:
            return slow(arm, q, qd)
        return entry(q, qd)

    def of_three(
        arm: Any = MISSING,
        q: Any = MISSING,
        qd: Any = MISSING,
        last: Any = MISSING,
        wrench: Any = None,
        *more: Any,
        **options: Any,
    ) -> Any:
        if wrench is not None or more or options or (NEVER_USED and current_mode() == "never"):
            loads = (wrench, *more) if "wrench" in names or wrench is not None or more else ()
            return general(options, arm, q, qd, last, *loads)
        try:
            entry = arm.cache[name]
        except NO_ENTRY:
            return slow(arm, q, qd, last)
        return entry(q, qd, last)

    call = {2: of_q, 3: of_two, 4: of_three}[count]
    code = call.__code__
    call.__code__ = code.replace(co_varnames=(*names[:count], *code.co_varnames[count:]))  # `last` is qdd or tau
    vars(call)["slow"] = slow
    return wraps(function)(call)


def kernel_for(robot: Robot, request: Request, states: int) -> Compiled | None:
    """The kernel for a call on so many states, compiled if that pays; None where plain Python is to run."""
    kernel: Compiled | None = robot.cache.get(request, UNKNOWN)
    if kernel is UNKNOWN:
        find = shared_kernel if should_compile(robot, request, states) else available_kernel
        kernel = find(robot, request)
        if kernel is UNKNOWN:
            return None
        robot.cache[request] = kernel
    return kernel


def should_compile(robot: Robot, request: Request, states: int) -> bool:
    """Whether compiling pays by now; loops compile faster than one plain call."""
    long = robot.cache.get(("long", request), 0.0)  # how long compiling takes, where that is known to be long
    if current_mode() == "always" or (not long and (robot.n > MAX_STRAIGHT_LINKS or states >= BATCH)):
        return True
    spent = robot.cache.get(("spent", request), 0.0)
    return bool(spent) and spent >= (long or expected_seconds(request.function, robot.n))


@contextmanager
def timed_plain_call(robot: Robot, request: Request) -> Iterator[None]:
    """Adds the time of a plain call to that which this request has cost."""
    started = clock()
    try:
        yield
    finally:
        key = ("spent", request)
        robot.cache[key] = robot.cache.get(key, 0.0) + clock() - started


def expected_seconds(function: Function, n: int) -> float:
    """How long compiling will take, roughly: as the last time, for as many links; LLVM has to be loaded once."""
    loading = 0.0 if llvm_is_loaded() else LOADING
    return loading + n * SECONDS_PER_LINK.get(function, USUAL_PER_LINK)


def available_kernel(robot: Robot, request: Request) -> Any:
    """The kernel if this process has it or, looked for once, the cache on disk; otherwise UNKNOWN.

    Nothing is loaded that takes as long as compiling, such as LLVM. If another thread is compiling, a later call looks.
    """
    key, looked = (kernel_identity(robot), request), ("looked", request)
    kernel = KERNELS.get(key, UNKNOWN)
    if kernel is not UNKNOWN or looked in robot.cache or not LOCK.acquire(blocking=False):
        return kernel
    try:
        robot.cache[looked] = True
        from . import cache

        if cache.folder() is None:
            return UNKNOWN
        from .compiler import cached_kernel

        function, keywords, dtype, loop_method = request
        kernel = cached_kernel(function, robot, dtype, dict(keywords), loop_method=loop_method)
        if kernel is None:
            return UNKNOWN
        store_kernel(key, kernel)
        return kernel
    finally:
        LOCK.release()


def store_kernel(key: tuple[Any, ...], kernel: Compiled | None) -> None:
    KERNELS[key] = kernel
    while len(KERNELS) > MAX_KERNELS:
        KERNELS.popitem(last=False)


def pays_by_now(robot: Robot, request: Request, operations: int) -> bool:
    """Whether so many operations are to be compiled; if they are very many, plain calls must have cost as much."""
    if operations <= MAX_AT_ONCE or operations > MAX_WITHOUT_LOOPS or current_mode() == "always":
        return True  # the last are too many in any case
    robot.cache["long", request] = seconds = operations * SECONDS_PER_OPERATION
    return bool(robot.cache.get(("spent", request), 0.0) >= seconds)


def shared_kernel(robot: Robot, request: Request) -> Any:
    """The kernel for robots of these numbers, compiled if there is none yet; UNKNOWN where that does not pay by now."""
    key = (kernel_identity(robot), request)
    with LOCK:  # also where modules are loaded: a fork must not see one half loaded
        from .compiler import Compiled  # imported only when something is compiled
        from .spec import spec_for, straight_operations, too_long

        if key not in KERNELS:
            started, loaded = clock(), llvm_is_loaded()
            function, keywords, dtype, loop_method = request
            try:
                spec = spec_for(function, robot, dtype, dict(keywords), loop_method)
                if spec.loops is None and not pays_by_now(robot, request, straight_operations(spec)):
                    return UNKNOWN
                kernel = None if too_long(spec) else Compiled(spec)
            except ImportError:
                warn_without_llvm()
                return None
            if kernel is not None and not kernel.from_cache and loaded:  # otherwise the time includes loading LLVM
                SECONDS_PER_LINK[function] = (clock() - started) / max(robot.n, 1)
            store_kernel(key, kernel)
        KERNELS.move_to_end(key)
        return KERNELS[key]


def llvm_is_loaded() -> bool:
    return "llvmlite.binding" in sys.modules


def kernel_identity(robot: Robot) -> str | Robot:
    """What robots that share kernels have in common: their fingerprint, or without one, the robot itself."""
    try:
        return robot.fingerprint
    except NoFingerprintError:
        return robot


@lru_cache(maxsize=1)
def warn_without_llvm() -> None:
    """Warn once."""
    warnings.warn(
        "llvmlite is not installed, so Linkwise runs plain Python, which is slower: pip install llvmlite",
        RuntimeWarning,
        stacklevel=2,
    )
