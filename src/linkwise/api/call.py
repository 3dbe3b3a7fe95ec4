"""The way of a call: a public function checks its arguments, and its result is computed by a kernel or plainly.

    public function       fast path into machine code, if `robot.entries` has an entry (`kernels.dispatch`)
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
from ..tracing import Input
from .method_table import for_generated_code
from .singular import explained, refuse_singular
from .states import Array, States

P = ParamSpec("P")


class Call(NamedTuple):
    """One call of a public function: its checked arrays, and how the result follows from them."""

    function: Callable[..., Any]
    states: States
    compute: Callable[[], Any]  # the result in nested lists of scalars, or a tuple of several
    shape: tuple[int, ...] | list[tuple[int, ...]]  # of the result for one state; a list of shapes for several
    options: dict[str, Any] | None = None  # that the result depends on besides the arrays; None: never compiled
    divides: bool = False  # by inertias: a joint that nothing resists is an error that names it

    def plain(self) -> Array:
        """By the algorithm itself; infinities and NaN on the way are no reason for warnings."""
        if not self.divides:
            return self.returned(self._joined())
        with explained(self.states):
            return self.returned([refuse_singular(self.states, array) for array in self._joined()])

    def _joined(self) -> list[Array]:
        with np.errstate(all="ignore"):
            computed = self.compute()
            values = computed if isinstance(self.shape, list) else (computed,)
            return [self.states.join(value, shape) for value, shape in zip(values, self.shapes, strict=True)]

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        return self.shape if isinstance(self.shape, list) else [self.shape]

    def returned(self, arrays: list[Array]) -> Any:
        """What the public function returns: an array, or a tuple of several."""
        return tuple(arrays) if isinstance(self.shape, list) else arrays[0]

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
        return call.plain()
    name, slow = call.function.__name__, getattr(call.function, "slow", None)
    if slow is not None and name not in states.robot.entries and call.by_default() and request.dtype == "float64":
        states.robot.entries[name] = kernel.entry(partial(slow, states.robot))
    out = [np.empty((*states.batch, *shape), request.dtype) for shape in call.shapes]
    non_finite = kernel.run(states.batch, [states.rows(*argument) for argument in kernel.interface.inputs], out)
    if non_finite and call.divides:
        return call.returned([refuse_singular(states, array[()]) for array in out])
    return call.returned([array[()] for array in out])


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
    return dispatch.with_fast_path(public(body))
