"""torch: public functions on tensors as operators over kernels, with derivatives of all orders.

`kernels.dispatch` decides when something is compiled, for gradients as for the functions themselves. What is not
compiled runs the plain text, as does forward-mode differentiation (dual numbers).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd import forward_ad

from ..api.call import BASE_INPUTS, Call
from ..derivatives.derived import DerivedFunction
from ..derivatives.graph_derivatives import VectorJacobian
from ..graph.derivative import TangentMap
from ..kernels import bridging, dispatch
from ..kernels.interface import Interface, batch_of
from ..robot import PerRobot, Robot
from ..tracing.tracing import Prepared
from .torch_library import DTYPES, Operator, operator_of, traceable_operator, with_first_axis

if TYPE_CHECKING:
    from ..kernels.kernel import Compiled

Tensors = Sequence[torch.Tensor]
TARGETS = {"cpu": None, "cuda": "cuda"}  # by type of device; None: this machine
NOT_FITTING = (RuntimeError, TypeError, AttributeError)  # raised by operators for arrays that they do not take


class Gradient(VectorJacobian):
    """The gradient of weighted results by the numbers of the arrays, also by those of quaternions.

    The functions depend on normalized quaternions, so that it has no part along them; and it can be differentiated
    again, as products by velocities cannot.
    """

    @property
    def moves(self) -> dict[str, TangentMap]:
        return {}


class Computation:
    """A function of a robot on tensors: contiguous, of one dtype, device and batch shape, in order."""

    def __init__(self, robot: Robot, request: dispatch.Request) -> None:
        self.robot, self.request = robot, request
        self.gradients: dict[tuple[bool, ...], Computation] = {}  # by the arrays that need one
        self._operator: Operator | None = None

    def operator(self, states: int) -> Operator | None:
        """The operator for a call on so many states; None to run the plain text."""
        if self._operator is None and dispatch.current_mode() != "never":
            kernel = dispatch.kernel_for(self.robot, self.request, states)
            self._operator = None if kernel is None else operator_of(kernel)
        return None if dispatch.current_mode() == "never" else self._operator

    @property
    def has_gradient(self) -> bool:
        """Whether its gradient is derived here: from the graph, which is too long for long robots."""
        return self.robot.n <= dispatch.MAX_STRAIGHT_LINKS or isinstance(self.request.function, Prepared)

    @property
    def interface(self) -> Interface:
        assert self._operator is not None
        return self._operator.kernel.interface

    def takes(self, tensors: Tensors, batch: Sequence[int]) -> bool:
        """Whether a call on such tensors of this batch shape runs by the operator."""
        if not self.has_gradient and torch.is_grad_enabled() and any(x.requires_grad for x in tensors):
            return False
        return self.operator(math.prod(batch) if is_plain(tensors) else ALWAYS) is not None

    def rows(self, tensors: Tensors, batch: Sequence[int]) -> list[torch.Tensor]:
        """The tensors with all axes of the batch, contiguous."""
        shapes = [argument.shape for argument in self.interface.inputs]
        return [x.expand((*batch, *shape)).contiguous() for x, shape in zip(tensors, shapes, strict=True)]

    def gradient(self, needed: tuple[bool, ...]) -> Computation:
        """The gradient of weighted results by the needed arrays, as a function of all arrays and the weights."""
        if needed not in self.gradients:
            arrays = [argument.name for argument in self.interface.inputs]
            wrt = [name for name, need in zip(arrays, needed, strict=True) if need]
            function = Gradient(self.request.function, self.robot, wrt, False, dict(self.request.keywords))
            request = dispatch.Request(function, (), self.request.dtype, None, self.request.target)
            assert [port.name for port in function.function_inputs] == arrays
            self.gradients[needed] = Computation(self.robot, request)
        return self.gradients[needed]

    def derivative(self, tensors: Tensors, weights: Tensors, needed: Sequence[bool]) -> list[torch.Tensor | None]:
        """The gradient by each array, None where it is not needed."""
        gradient, arrays = self.gradient(tuple(needed)), (*tensors, *(weight.contiguous() for weight in weights))
        states = math.prod(batch_shape(arrays[0], gradient)) if is_plain(arrays) else ALWAYS
        if gradient.operator(states) is None:
            results = gradient.request.function.plain(self.robot, *arrays)  # type: ignore[attr-defined]
        else:
            results = gradient(*arrays)
        each = iter(results if type(results) in SEVERAL else (results,))
        return [next(each) if need else None for need in needed]

    def __call__(self, *tensors: torch.Tensor) -> Any:
        """The results, by the operator."""
        assert self._operator is not None
        self._operator.prepare(tensors[0].device.index)
        if transformed():
            return Transformable.apply(self, *tensors)
        if not all(type(x) in KINDS for x in tensors):
            return traceable_operator(self._operator, self.derivative)(*tensors)
        if torch.is_grad_enabled() and any(x.requires_grad for x in tensors):
            return Differentiable.apply(self, *tensors)
        return self._operator.call(*tensors)

    def entry(self, slow: Callable[..., Any]) -> Callable[..., Any]:
        """The fast path of a call on tensors; others go to `slow`."""
        assert self._operator is not None
        call, grad_enabled = self._operator.call, torch.is_grad_enabled
        apply = Differentiable.apply if self.has_gradient else raise_not_fitting

        def enter(*tensors: Any) -> Any:
            if forward_ad._current_level < 0 and not transformed():
                try:
                    if grad_enabled():
                        for x in tensors:
                            if x.requires_grad:
                                return apply(self, *tensors)
                    return call(*tensors)
                except NOT_FITTING:
                    pass  # the general call converts the arrays, or raises its error
            return slow(*tensors)

        return enter


def raise_not_fitting(*arguments: Any) -> Any:
    raise RuntimeError("this computation has no gradient")


class Differentiable(torch.autograd.Function):  # type: ignore[misc]
    """A computation in eager mode; faster than an operator that torch differentiates by itself."""

    @staticmethod
    def forward(ctx: Any, computation: Computation, *tensors: torch.Tensor) -> Any:
        ctx.computation = computation
        ctx.save_for_backward(*tensors)
        return computation._operator.call(*tensors)  # type: ignore[union-attr]

    @staticmethod
    def backward(ctx: Any, *weights: torch.Tensor) -> Any:
        computation, needed = ctx.computation, ctx.needs_input_grad[1:]
        gradient = computation.gradients.get(needed)
        if gradient is None or gradient._operator is None or torch.is_grad_enabled():
            return None, *computation.derivative(ctx.saved_tensors, weights, needed)
        try:
            results = gradient._operator.call(*ctx.saved_tensors, *weights)
        except NOT_FITTING:
            return None, *computation.derivative(ctx.saved_tensors, weights, needed)
        if False not in needed:
            return None, *(results if type(results) in SEVERAL else (results,))
        each = iter(results if type(results) in SEVERAL else (results,))
        return None, *[next(each) if need else None for need in needed]


class Transformable(torch.autograd.Function):  # type: ignore[misc]
    """A computation inside transformations of functions: `torch.func.grad`, `torch.vmap` and their like."""

    @staticmethod
    def forward(computation: Computation, *tensors: torch.Tensor) -> Any:
        return computation(*tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.computation, *tensors = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx: Any, *weights: torch.Tensor) -> Any:
        return None, *ctx.computation.derivative(ctx.saved_tensors, weights, ctx.needs_input_grad[1:])

    @staticmethod
    def vmap(info: Any, axes: Sequence[int | None], computation: Computation, *tensors: torch.Tensor) -> Any:
        return with_first_axis(info, axes[1:], tensors, computation)


def is_plain(tensors: Tensors) -> bool:
    """Whether these are tensors with numbers, outside of transformations of functions."""
    return all(type(x) in KINDS for x in tensors) and not transformed()


def batch_shape(first: torch.Tensor, computation: Computation) -> torch.Size:
    port = computation.request.function.inputs[0]  # type: ignore[attr-defined]
    return first.shape[: first.ndim - len(port.shape)]


@PerRobot
def computation_of(robot: Robot, request: dispatch.Request) -> Computation:
    return Computation(robot, request)


def result(call: Call, enter: Callable[..., None] | None = None) -> Any:
    """The result of a call on tensors: by an operator, if there is one or if compiling pays, otherwise plainly."""
    states = call.states
    arrays = [*states.arrays.values()]
    where = place_of(arrays)
    request = None if where is None else call.request(*where)
    computation = None if request is None else computation_of(states.robot, request)
    if computation is None or not computation.takes(arrays, states.batch):
        return call.plain()
    if enter is not None:
        enter(computation, call.pack_unchecked, kind(arrays[0]))
    names = [argument.name for argument in computation.interface.inputs]
    given = [states.argument(BASE_INPUTS.get(name, name)) for name in names]
    results = computation(*computation.rows(given, states.batch))
    return call.pack_results(list(results) if type(results) in SEVERAL else [results])


def derived_result(function: DerivedFunction, arrays: Sequence[Any]) -> Any:
    """The result of a derivative or a product on tensors, of one dtype."""
    batch, where = batch_of(function.inputs, arrays), place_of(arrays)
    if where is None or function.robot.non_floats or dispatch.current_mode() == "never":
        return function.plain(function.robot, *arrays)
    dtype, target = where
    computation = computation_of(function.robot, dispatch.Request(function, (), dtype, None, target))
    if not computation.takes(arrays, batch):
        return function.plain(function.robot, *arrays)
    results = computation(*computation.rows(arrays, batch))
    return tuple(results) if type(results) in SEVERAL else results


def place_of(tensors: Tensors) -> tuple[str, str | None] | None:
    """The dtype and the target of kernels for tensors, which have one dtype; None if there are none."""
    first, dtype = tensors[0], str(tensors[0].dtype).removeprefix("torch.")
    if not SUPPORTED or first.device.type not in TARGETS or dtype not in DTYPES or forward_ad._current_level >= 0:
        return None
    return dtype, TARGETS[first.device.type]


def direct_call(kernel: Compiled, fallback: Callable[..., Any]) -> Callable[..., Any]:
    """The call of a compiled kernel on tensors, without derivatives; other calls go to the fallback."""
    operator = operator_of(kernel)
    call, prepare = operator.call, operator.prepare

    def enter(*tensors: Any) -> Any:
        known = all(type(x) in KINDS and not x.is_meta for x in tensors)
        usual = known and forward_ad._current_level < 0 and not transformed()
        if not usual or (torch.is_grad_enabled() and any(x.requires_grad for x in tensors)):
            return fallback(*tensors)
        try:
            return call(*tensors)
        except RuntimeError:  # not loaded on this GPU, or tensors that do not fit
            results = fallback(*tensors)
        prepare(tensors[0].device.index)
        return results

    return enter


def add_call(calls: dict[int, Callable[..., Any]], number: int, function: Callable[..., Any]) -> int:
    """Add a function under this number as a call in graphs of `torch.compile`; returns the number.

    torch traces it there on tensors without numbers.
    """
    import torch._dynamo  # slow to import, and there already where graphs are made

    if number not in calls:
        calls[number] = torch._dynamo.nonstrict_trace(function)
    return number


def kind(tensor: torch.Tensor) -> Any:
    """The properties that tensors of one entry share."""
    return tensor.dtype, tensor.is_cuda


transformed = torch._C._are_functorch_transforms_active  # whether a function is being transformed by torch.func
SEVERAL = (tuple, list)  # results of operators with several
SUPPORTED = hasattr(torch.library, "register_vmap")  # by torch from 2.5 on
ALWAYS = dispatch.CALLS * dispatch.STATES  # states for which everything that may be compiled is
KINDS = {torch.Tensor: kind, torch.nn.Parameter: kind}
bridging.KINDS.update(KINDS)
