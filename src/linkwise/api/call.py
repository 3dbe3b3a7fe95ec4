"""The way of a call: a public function checks its arguments, and its result is computed by a kernel or plainly.

    public function       fast path into machine code, if `robot.cache` has an entry (`with_fast_path`)
      its body            arguments checked, arrays brought to one shape and dtype (`States`): a `Call`
      result(call)        a kernel, if there is one or if compiling pays (`kernels.dispatch.kernel_for`), otherwise:
        call.plain()      the algorithm on scalars, joined to an array

A kernel is traced from the body and `plain`, on nodes, below the dispatch. Nodes, symbols and arrays of torch and JAX
that come through the public function run plainly.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, NamedTuple, ParamSpec

import numpy as np

from ..kernels import dispatch
from ..robot import Robot
from ..trace import Input
from .method_table import for_generated_code
from .singular import explained, refuse_singular
from .states import Array, States

P = ParamSpec("P")
MISSING: Any = object()  # an argument that was not passed


class Call(NamedTuple):
    """One call of a public function: its checked arrays, and how the result follows from them."""

    function: Callable[..., Any]
    states: States
    compute: Callable[[], Any]  # the result in nested lists of scalars
    shape: tuple[int, ...]  # of the result for one state
    options: dict[str, Any] | None = None  # that the result depends on besides the arrays; None: never compiled
    divides: bool = False  # by inertias: a joint that nothing resists is an error that names it

    def plain(self) -> Array:
        """By the algorithm itself; infinities and NaN on the way are no reason for warnings."""
        if not self.divides:
            return self._joined()
        with explained(self.states):
            return refuse_singular(self.states, self._joined())

    def _joined(self) -> Array:
        with np.errstate(all="ignore"):
            return self.states.join(self.compute(), self.shape)

    def request(self) -> dispatch.Request | None:
        """What a kernel for this call has to be, or None where none can be."""
        states = self.states
        if self.options is None or not states.numeric or states.robot.non_floats or dispatch.current_mode() == "never":
            return None
        dtype = np.result_type(*states.arrays.values()).name
        if dtype not in dispatch.DTYPES:
            return None
        options = {name: value for name, value in self.options.items() if value is not None}
        keywords, loop_method = for_generated_code(self.function, options)
        loads = ((name, Input(*shape)) for name, shape in states.acting)
        return dispatch.Request(self.function, (*keywords.items(), *loads), dtype, loop_method)

    def by_default(self) -> bool:
        """Whether no option is given, nor a wrench: the fast path is for such calls."""
        return not any((self.options or {}).values()) and not self.states.acting


def result(call: Call) -> Array:
    """From a kernel, if there is one or if compiling pays; otherwise plainly."""
    request, states = call.request(), call.states
    if request is None:
        return call.plain()
    kernel = dispatch.kernel_for(states.robot, request, math.prod(states.batch))
    if kernel is None:
        with dispatch.timed_plain_call(states.robot, request):
            return call.plain()
    name, slow = call.function.__name__, getattr(call.function, "slow", None)
    if slow is not None and name not in states.robot.cache and call.by_default() and request.dtype == "float64":
        states.robot.cache[name] = kernel.entry(partial(after_a_guard, call.function, states.robot))
    out = np.empty((*states.batch, *call.shape), request.dtype)
    non_finite = kernel.run(states.batch, [states.rows(*argument) for argument in kernel.interface.inputs], [out])
    return refuse_singular(states, out[()]) if non_finite and call.divides else out[()]


def after_a_guard(function: Any, robot: Robot, *arrays: Any, **named: Any) -> Array:
    """What an entry does not take itself: without defaults that were passed it may; otherwise the slow way."""
    required = function.only_needed(arrays, named)
    if required is not None and len(required) < len(arrays):
        return robot.cache[function.__name__](*required)
    return function.slow(robot, *arrays, **named)


def public(body: Callable[P, Call]) -> Callable[P, Array]:
    """A public function, from its body."""

    @wraps(body)
    def function(*arguments: P.args, **keywords: P.kwargs) -> Array:
        return result(body(*arguments, **keywords))

    @wraps(body)
    def plain(*arguments: P.args, **keywords: P.kwargs) -> Array:
        return body(*arguments, **keywords).plain()

    vars(function)["plain"] = plain  # what kernels are traced from
    vars(function)["__signature__"] = inspect.signature(body).replace(return_annotation="Array")
    return function


def fast(body: Callable[P, Call]) -> Callable[P, Array]:
    """A public function with a fast path into machine code: one of a robot and arrays, from its body."""
    slow = public(body)
    function = with_fast_path(slow)
    vars(function)["slow"] = slow
    return function


def with_fast_path(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, entered in machine code where `robot.cache` has an entry of its name; see `kernels.entry`.

    The entry takes the arrays that the function needs, in order. Every ten nanoseconds count here: functions of q
    alone have a closure of their own because a call with a tuple of arrays takes longer.
    """
    name = function.__name__
    parameters = list(inspect.signature(function).parameters.values())[1:]
    needed = [p.name for p in parameters if p.default is p.empty]
    defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
    optional = [p.name for p in parameters if p.name in defaults and p.kind is not p.KEYWORD_ONLY]
    count = len(needed)

    def with_q(arm: Any = MISSING, q: Any = MISSING, *more: Any, **named: Any) -> Any:
        if named or more or q is MISSING or (dispatch.NEVER_USED and dispatch.current_mode() == "never"):
            return general(arm, more if q is MISSING else (q, *more), named)
        try:
            entry = arm.cache[name]
        except (AttributeError, KeyError):
            return function(arm, q)
        return entry(q)

    def with_several(arm: Any = MISSING, *arrays: Any, **named: Any) -> Any:
        if named or (dispatch.NEVER_USED and dispatch.current_mode() == "never"):
            return general(arm, arrays, named)
        try:
            entry = arm.cache[name]
        except (AttributeError, KeyError):
            return general(arm, arrays, named)
        return entry(*arrays)

    def general(arm: Any, arrays: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Arrays by name, defaults that are passed, options, and calls that are wrong."""
        positional = () if arm is MISSING else (arm,)
        robot = named.get("arm") if arm is MISSING else arm
        others = {key: value for key, value in named.items() if key != "arm"} if arm is MISSING else named
        required = None if dispatch.current_mode() == "never" else only_needed(arrays, others)
        entry = getattr(robot, "cache", {}).get(name)
        return entry(*required) if required and entry else function(*positional, *arrays, **named)

    def only_needed(arrays: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...] | None:
        """The needed arrays in order, if everything else that was passed is a default; otherwise None."""
        try:
            rest = tuple([named[key] for key in needed[len(arrays) :]])
        except KeyError:
            return None
        if len(rest) == len(named) and len(arrays) <= count:
            return arrays + rest
        options = dict(zip(optional, arrays[count:], strict=False))
        others = {key: value for key, value in named.items() if key not in needed[len(arrays) :]}
        if len(arrays) > count + len(optional) or options.keys() & others.keys():
            return None
        if any(value is not defaults.get(key, MISSING) for key, value in (options | others).items()):
            return None
        return arrays[:count] + rest

    call = with_q if count == 1 else with_several
    vars(call)["only_needed"] = only_needed
    return wraps(function)(call)
