"""The rule by which calls on arrays of NumPy and torch run compiled.

A function, with its keywords and dtype, is compiled for a robot at its 64th call, or earlier once its calls add up to
256 states. For robots of more than 60 links the first call compiles it. Robots of equal numbers share counts and
kernels.

Straight-line code of more than 12,000 operations is replaced by loops over the links, if function, robot and options
have that form. Up to 25,000 operations it is kept if it has at most three quarters of the operations of the loops. Code
without a form with loops and of more than 12,000 operations is compiled at the 64th call, where a batch counts as one
call per 256 states. Beyond 250,000 operations it is never compiled automatically.

Neither the clock nor the disk cache affects the rule: a cached kernel is loaded by the call that would compile it. So a
program gives the same bits in every run and on every machine, unless its own threads race. Compiled and plain results
differ by rounding (docs/compiled.md has the bounds). `use_kernels("always")` and `use_kernels("never")`, or the
environment variable LINKWISE_KERNELS, replace the rule.
Simulations run as "always", unless the mode is "never".
"""

from __future__ import annotations

import os
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from copy import deepcopy
from dataclasses import replace
from functools import lru_cache, wraps
from inspect import signature
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakSet

import numpy as np

from ..errors import one_of
from ..robot import Friction, PerRobot, Robot
from ..robot.fingerprint import NoFingerprintError
from .bridging import HasEntry, Repeated, entry_by_kind, put_entry, rank, rows_of, traced_of_robot, vector_of
from .lock import COUNTING, LOCK

if TYPE_CHECKING:
    from .interface import Interface
    from .kernel import Compiled
    from .spec import KernelSpec

Function = Callable[..., Any]
# Compiling takes as long as 60 to 200 plain calls (0.1 s, against 0.5 ms for inverse and 1.7 ms for forward dynamics of
# six joints). Both grow with the number of operations, so one count serves all robots and functions. A plain call on a
# few hundred states takes a few times as long as on one.
CALLS = 64
STATES = 256
MAX_AT_ONCE = 12_000  # operations of straight-line code: about two seconds to compile
MAX_STRAIGHT_OPERATIONS = 25_000  # if straight-line code has at most SHARE_OF_LOOPS of the operations of loops
SHARE_OF_LOOPS = 0.75
MAX_WITHOUT_LOOPS = 250_000  # operations of code without a form with loops: about thirty seconds to compile
MAX_STRAIGHT_LINKS = 60  # robots with more links are not traced as straight-line code
MAX_KERNELS = 256  # kernels, most recently used; each may hold some MB
MAX_COUNTS = 4096  # counts, most recently used; each takes about 100 bytes
DTYPES = ("float64", "float32")
MODES = ("auto", "always", "never")


class Request(NamedTuple):
    """The request for a kernel: a function with its keywords, and the dtype."""

    function: Function
    keywords: tuple[tuple[str, Any], ...]
    dtype: str
    loop_method: str | None  # method of the form with loops; see `spec`
    target: str | None = None  # name of the target; None: this machine


Key = tuple[str | Robot, Request]  # robots of equal numbers have one; see `identity_of`


class use_kernels:  # noqa: N801  a function to its users
    """Choose whether calls run compiled: from now on, or inside a `with` block.

    The mode is a context variable: other threads do not see it, and new threads start with the default (that of
    LINKWISE_KERNELS, otherwise "auto") unless Python passes the context on. An `asyncio` task starts with the mode of
    the code that creates it.

    Parameters
    ----------
    mode : {"auto", "always", "never"}
        "auto" compiles functions that are called often or on many states (docs/compiled.md).

    Examples
    --------
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
            function.check_mode_on_call()
    MODE.set(mode)


DEFAULT = os.environ.get("LINKWISE_KERNELS", "auto")
one_of(DEFAULT, MODES, "LINKWISE_KERNELS")
MODE: ContextVar[str] = ContextVar("kernels_mode", default=DEFAULT)
NEVER_USED = DEFAULT == "never"  # while False, no context has chosen "never", and the fast path skips the test
ENTERED_DIRECTLY: WeakSet[Any] = WeakSet()  # objects whose calls are their entries while no context is "never"
MISSING: Any = object()  # an argument that was not passed
NO_ENTRY = (LookupError, AttributeError, TypeError)  # raised by robots without the entry, and by other objects
UNKEYED = (*NO_ENTRY, ValueError)  # also raised by calls that have no key
OPTION_TYPES = {bool, int, float, str, Friction}  # of options that are keys of entries
TEXT = {str}
UNDECIDED: Any = object()  # no kernel yet
KERNELS: OrderedDict[Key, Compiled | None] = OrderedDict()  # None: the code is too long to be compiled automatically
CALL_COUNTS: OrderedDict[Key, CallCount] = OrderedDict()


def current_mode() -> str:
    return MODE.get()


vars(current_mode)["_dynamo_marked_constant"] = True  # `torch.compile` reads the mode once, while it makes a graph


class Components:
    """A value of several arrays, such as the motion of a base: a dataclass of them."""

    __slots__ = ()

    @property
    def components(self) -> dict[str, Any]:
        """The arrays that are given, by field."""
        raise NotImplementedError


class EntryKeys:
    """Keys of the entries of one public function in `robot.entries`, by the keywords of a call.

    A call without keywords has the function's name. Options count with their type and value, and arrays such as a
    wrench with the axes that they have beyond those of the first array: an entry takes one shape for a state.
    """

    def __init__(self, function: Function, inputs: Sequence[str] = ()) -> None:
        """`inputs` are the optional arguments that are arrays, in the order of the kernel's inputs."""
        parameters = signature(function).parameters.values()
        self.name, self.names = function.__name__, [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
        self.defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
        self.arrays = [name for name in self.names[1:] if name not in self.defaults]
        self.inputs = tuple(inputs)
        self.parts: dict[tuple[str, ...], tuple[list[tuple[str, Any]], list[str]]] = {}  # of keywords; see `_parts`

    def find(self, arguments: Sequence[Any], keywords: dict[str, Any]) -> tuple[Any, Sequence[Any]]:
        """The key, and the arrays of the call in order; an error of UNKEYED for calls that have no entry."""
        count = len(self.arrays) + 1
        if len(arguments) != count:
            arguments, keywords = self._split(arguments, keywords)
        if not keywords:
            return self.name, arguments[1:]
        names = tuple(keywords)
        options, inputs = self.parts.get(names) or self._parts(names)
        key: list[Any] = [self.name]
        arrays = [*arguments[1:]]
        for name, default in options:
            value = keywords[name]
            if value is not default:
                kind = type(value)
                key += (name, kind, value if kind in OPTION_TYPES else option_key(value))
        for name in inputs:
            value = keywords[name]
            if type(value) is dict or (type(value) is not np.ndarray and isinstance(value, Mapping)):
                key += (name, tuple(value))
                arrays.append(rows_of(value))
            elif isinstance(value, Components):
                parts = value.components
                key += (name, tuple(parts))
                arrays += parts.values()
            elif value is not None:
                beyond = rank(value) - rank(arguments[1])
                if beyond == 0 < rank(value) - 1 and name == "wrench" and value.shape[-2] == len(arguments[0].names):
                    raise ValueError("wrenches on the tip of as many states as links, or on every link")  # refused
                key += (name, beyond)
                arrays.append(value)
        return (tuple(key) if len(key) > 1 else self.name), arrays

    def _split(self, arguments: Sequence[Any], keywords: dict[str, Any]) -> tuple[Sequence[Any], dict[str, Any]]:
        """The robot and the required arrays, and all other arguments as keywords."""
        count = len(self.arrays) + 1
        further = dict(zip(self.names[count:], arguments[count:], strict=False))
        if len(arguments) != count + len(further) or further.keys() & keywords.keys():
            raise TypeError(f"{self.name} was given too many arguments, too few, or one twice")
        return arguments[:count], {**further, **keywords}

    def _parts(self, names: tuple[str, ...]) -> tuple[list[tuple[str, Any]], list[str]]:
        """Of the names of keywords: the options with their defaults, and the arrays in order."""
        if not self.defaults.keys() >= set(names):
            raise TypeError(f"{self.name} takes no {names}")
        options = [(name, self.defaults[name]) for name in names if name not in self.inputs]
        self.parts[names] = parts = options, [name for name in self.inputs if name in names]
        return parts

    def add_entry(
        self,
        function: Function,
        arguments: Sequence[Any],
        keywords: dict[str, Any],
        kernel: HasEntry,
        pack: Function = tuple,
        kind: Any = None,
    ) -> None:
        """Put an entry of the kernel into `robot.entries` for further calls with these keywords.

        Calls that the entry does not take go to the function. Lists of numbers are converted once before that. `pack`
        packs several results. With a `kind` it is an entry for arrays of this kind of `KINDS` alone.
        """
        call = self._repeated(function, arguments, keywords, kernel.interface)
        if call is None:
            return
        robot, key, slow = call
        present: Any = robot.entries.get(key)
        by_kind = hasattr(present, "takes_others")
        if kind is None and present is not None and (not by_kind or present.takes_others):
            return

        def convert(*arrays: Any) -> Any:
            converted = [vector_of(array) if type(array) in (list, tuple) else array for array in arrays]
            return slow(*arrays) if any(array is None for array in converted) else entry(*converted)

        entry = kernel.entry(slow)

        def packed(*arrays: Any) -> Any:
            results = direct(*arrays)
            return pack(results) if type(results) is tuple else results  # those of the function are packed

        direct = kernel.entry(convert) if kind is None else entry
        of_kind = direct if pack is tuple else packed
        if kind is not None:
            put_entry(robot, (kind, key), of_kind)
            if not by_kind:
                put_entry(robot, key, entry_by_kind(call, present))
        else:
            put_entry(robot, key, entry_by_kind(call, of_kind) if by_kind else of_kind)

    def _repeated(
        self, function: Function, arguments: Sequence[Any], keywords: dict[str, Any], interface: Interface
    ) -> Repeated | None:
        """What further calls with these keywords share; None if they have no entry."""
        try:
            key, _ = self.find(arguments, keywords)
        except UNKEYED:
            return None
        arguments, keywords = self._split(arguments, keywords)
        if keywords.get("check"):
            return None  # entries do not check
        robot, given = arguments[0], [name for name in self.inputs if keywords.get(name) is not None]
        fields = {name: tuple(x.components) for name in given if isinstance(x := keywords[name], Components)}
        inputs = [f"{name}_{field}" if field else name for name in given for field in fields.get(name, ("",))]
        if [*self.arrays, *inputs] != [argument.name for argument in interface.inputs]:
            return None
        count = len(self.arrays)
        options = {name: deepcopy(value) for name, value in keywords.items() if name not in given}  # lists may change
        mappings = {name: tuple(keywords[name]) for name in given if isinstance(keywords[name], Mapping)}

        def slow(*arrays: Any) -> Any:
            further = dict(zip(inputs, arrays[count:], strict=True))
            for name, names in fields.items():
                further[name] = replace(keywords[name], **{field: further.pop(f"{name}_{field}") for field in names})
            for name, rows in mappings.items():
                further[name] = {row: further[name][..., k, :] for k, row in enumerate(rows)}
            return call_without_missing(function, self.names, (robot, *arrays[:count]), {**further, **options})

        return Repeated(robot, key, slow)


def option_key(value: Any) -> Any:
    """A hashable value that is equal for equal options of the same types only; a TypeError without one."""
    if type(value) in (tuple, list):
        return tuple([(type(x), option_key(x)) for x in value])
    if type(value) is dict:
        if TEXT.issuperset(map(type, (*value, *value.values()))):
            return tuple(value.items())
        return tuple([(name, type(x), option_key(x)) for name, x in value.items()])
    if type(value) in OPTION_TYPES:
        return value
    raise TypeError(f"{value!r} is no key")


def call_without_missing(
    function: Function, names: Sequence[str], arguments: Sequence[Any], keywords: Mapping[str, Any]
) -> Any:
    """Call the function as the user called it, so that errors are Python's own."""
    if not any(argument is MISSING for argument in arguments):
        return function(*arguments, **keywords)
    passed = zip(names, arguments, strict=False)
    return function(**{name: value for name, value in passed if value is not MISSING}, **keywords)


def with_fast_path(function: Function, keys: EntryKeys) -> Function:
    """The function, entered in machine code if `robot.entries` has an entry of its call; see `kernels.entry`.

    The entry takes the arrays in order; other calls go to `slow`. Every ten nanoseconds count: Python matches
    arguments with parameters, since a call with a tuple of arrays is slower; the flag is a global of this file; missing
    arrays are noticed by the guards of the entry.
    """
    name, find = keys.name, keys.find

    def slow(*arguments: Any, **options: Any) -> Any:
        return call_without_missing(function, keys.names, arguments, options)

    def general(options: dict[str, Any], *arguments: Any) -> Any:
        """Call the entry for these keywords."""
        if NEVER_USED and current_mode() == "never":
            return slow(*arguments, **options)
        try:
            key, arrays = find(arguments, options)
            entry = arguments[0].entries[key]
        except UNKEYED:
            return slow(*arguments, **options)
        return entry(*arrays)

    def of_q(robot: Any = MISSING, q: Any = MISSING, *more: Any, **options: Any) -> Any:
        if more or options or (NEVER_USED and current_mode() == "never"):
            return general(options, robot, q, *more)
        try:
            entry = robot.entries[name]
        except NO_ENTRY:
            return slow(robot, q)
        return entry(q)

    def of_q_qd(robot: Any = MISSING, q: Any = MISSING, qd: Any = MISSING, *more: Any, **options: Any) -> Any:
        if more or options or (NEVER_USED and current_mode() == "never"):
            return general(options, robot, q, qd, *more)
        try:
            entry = robot.entries[name]
        except NO_ENTRY:
            return slow(robot, q, qd)
        return entry(q, qd)

    def of_pair(robot: Any = MISSING, one: Any = MISSING, other: Any = MISSING, /, *more: Any, **options: Any) -> Any:
        """For two arrays of other names."""
        if more or options or (NEVER_USED and current_mode() == "never"):
            return general(options, robot, one, other, *more)
        try:
            entry = robot.entries[name]
        except NO_ENTRY:
            return slow(robot, one, other)
        return entry(one, other)

    def of_q_qd_qdd(
        robot: Any = MISSING,
        q: Any = MISSING,
        qd: Any = MISSING,
        qdd: Any = MISSING,
        *more: Any,
        **options: Any,
    ) -> Any:
        if more or options or (NEVER_USED and current_mode() == "never"):
            return general(options, robot, q, qd, qdd, *more)
        try:
            entry = robot.entries[name]
        except NO_ENTRY:
            return slow(robot, q, qd, qdd)
        return entry(q, qd, qdd)

    def of_q_qd_tau(
        robot: Any = MISSING,
        q: Any = MISSING,
        qd: Any = MISSING,
        tau: Any = MISSING,
        *more: Any,
        **options: Any,
    ) -> Any:
        if more or options or (NEVER_USED and current_mode() == "never"):
            return general(options, robot, q, qd, tau, *more)
        try:
            entry = robot.entries[name]
        except NO_ENTRY:
            return slow(robot, q, qd, tau)
        return entry(q, qd, tau)

    forms: dict[tuple[str, ...], Function] = {
        ("q",): of_q,
        ("q", "qd"): of_q_qd,
        ("q", "qd", "qdd"): of_q_qd_qdd,
        ("q", "qd", "tau"): of_q_qd_tau,
    }
    in_graph = traced_of_robot(slow)
    vars(slow)["_torchdynamo_inline"] = in_graph
    vars(general)["_torchdynamo_inline"] = lambda options, *arguments: in_graph(*arguments, **options)
    return wraps(function)(forms.get(tuple(keys.arrays), of_pair))


class CallCount:
    """Counts the calls of a function, and their states."""

    __slots__ = ("calls", "long", "states")

    def __init__(self) -> None:
        self.states, self.calls = 0, 0
        self.long = False  # whether its code is known to be long and to have no form with loops

    def add_call(self, states: int) -> bool:
        """Count a call; whether the function is now to be compiled."""
        with COUNTING:
            self.states += states
            self.calls += max(1, states // STATES)
        return self.calls >= CALLS or (self.states >= STATES and not self.long)

    def enough_for(self, spec: KernelSpec) -> bool:
        """Whether this spec is to be compiled although its code may be long."""
        from .spec import is_long

        self.long = is_long(spec)
        return not self.long or self.calls >= CALLS or current_mode() == "always"


def kernel_for(robot: Robot, request: Request, states: int) -> Compiled | None:
    """The kernel for a call on `states` states, compiled by the rule above; None to run plain Python."""
    key = identity_of(robot), request
    with COUNTING:
        if key in KERNELS:
            KERNELS.move_to_end(key)
            return KERNELS[key]
        calls = CALL_COUNTS.setdefault(key, CallCount())
        CALL_COUNTS.move_to_end(key)
        while len(CALL_COUNTS) > MAX_COUNTS:
            CALL_COUNTS.popitem(last=False)
    if not calls.add_call(states) and robot.n <= MAX_STRAIGHT_LINKS and current_mode() != "always":
        return None
    with LOCK:  # also guards late imports, which a fork must not interrupt
        if key in KERNELS:
            return KERNELS[key]  # another thread was first
        kernel: Compiled | None = compile_kernel(robot, request, calls)
        if kernel is UNDECIDED:
            return None
        with COUNTING:
            KERNELS[key] = kernel
            while len(KERNELS) > MAX_KERNELS:
                KERNELS.popitem(last=False)
    return kernel


def compile_kernel(robot: Robot, request: Request, calls: CallCount, explain: Function | None = None) -> Any:
    """The kernel; None if the code is too long, UNDECIDED if it may be compiled later."""
    from .kernel import Compiled  # imported only when something is compiled
    from .spec import spec_for, too_long
    from .target import target_by_name

    function, keywords, dtype, loop_method, target = request
    try:
        machine = None if target is None else target_by_name(target)
        spec = spec_for(function, robot, dtype, dict(keywords), loop_method, target=machine)
        if too_long(spec):
            return None
        if not calls.enough_for(spec):
            return UNDECIDED
        return Compiled(spec, explain) if machine is None else machine.kernel(spec, explain)
    except ImportError:
        warn_without_llvm()
        return None


@PerRobot
def identity_of(robot: Robot) -> str | Robot:
    """The key under which robots share kernels: the fingerprint, otherwise the robot itself."""
    try:
        return robot.fingerprint
    except NoFingerprintError:
        return robot


@lru_cache(maxsize=1)
def warn_without_llvm() -> None:
    """Warn once that llvmlite is missing."""
    warnings.warn(
        "llvmlite is not installed, so Linkwise runs plain Python, which is slower: pip install llvmlite",
        RuntimeWarning,
        stacklevel=2,
    )
