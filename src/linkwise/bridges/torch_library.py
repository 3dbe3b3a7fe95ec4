"""Kernels as operators of torch: `torch.ops.linkwise.NAME`, registered by LibTorch's C interface.

The C interface is that of LibTorch's stable ABI (`torch/csrc/stable/library.h`). Where torch does not have it, or a
kernel is called in another way, `torch.library` registers a function in Python. An operator stays registered, and its
kernel in memory, until the process ends.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import torch

from ..kernels.interface import Interface
from ..kernels.kernel import Compiled
from ..kernels.llvm import binding, parse_module
from ..kernels.lock import LOCK
from ..kernels.target import OperatorBody
from .operator_text import ACTS, Place, operator_text

LIBRARY = torch.library.Library("linkwise", "FRAGMENT")
KEYS = {"cpu": "CPU", "cuda": "CUDA"}  # torch's dispatch keys, by target
DTYPES = {"float64": torch.float64, "float32": torch.float32}
NAMES = dict(
    zip(
        ACTS,
        (
            "get_sizes", "get_dim", "get_dtype", "get_device_type", "get_device_index", "is_contiguous", "get_data_ptr",
            "delete_tensor_object", "empty_strided", "check",
        ),
        strict=True,
    )
)  # fmt: skip
OPERATORS: dict[str, Operator] = {}  # by name
TRACEABLE: dict[str, Callable[..., Any]] = {}


class Operator(NamedTuple):
    """A kernel that torch calls: `call(*tensors)` on contiguous tensors of one dtype, device and batch shape."""

    name: str
    kernel: Compiled
    call: Callable[..., Any]
    body: OperatorBody | None  # None: Python runs it
    code: Any  # machine code

    def prepare(self, ordinal: int | None) -> None:
        """Load the kernel onto the GPU of this number."""
        if self.body is not None:
            self.body.prepare(ordinal or 0)


def operator_of(kernel: Compiled) -> Operator:
    """The operator of a kernel; equal kernels share one."""
    with LOCK:
        name = f"{re.sub(r'[^a-zA-Z0-9_]', '_', kernel.name)[:60]}_{kernel.spec.key[:12]}"
        if name not in OPERATORS:
            OPERATORS[name] = register(name, kernel)
        return OPERATORS[name]


def register(name: str, kernel: Compiled) -> Operator:
    interface, target = kernel.interface, kernel.code.target
    LIBRARY.define(f"{name}{schema(interface)}", tags=(torch.Tag.pt2_compliant_tag,))
    torch.library.register_fake(f"linkwise::{name}", empty_results(interface), lib=LIBRARY)
    body, code = implement(name, kernel, KEYS[target.kind])
    return Operator(name, kernel, getattr(torch.ops.linkwise, name).default, body, code)


def traceable_operator(operator: Operator, derivative: Callable[..., Any]) -> Callable[..., Any]:
    """The operator with the rules by which torch differentiates and maps it in a traced graph: `NAME_d`.

    It is slower to call. `derivative(tensors, weights, needed)` is its gradient.
    """
    with LOCK:
        if operator.name not in TRACEABLE:
            TRACEABLE[operator.name] = register_traceable(operator, derivative)
        return TRACEABLE[operator.name]


def register_traceable(operator: Operator, derivative: Callable[..., Any]) -> Callable[..., Any]:
    name, count, raw = f"{operator.name}_d", len(operator.kernel.interface.inputs), operator.call
    LIBRARY.define(f"{name}{schema(operator.kernel.interface)}", tags=(torch.Tag.pt2_compliant_tag,))
    LIBRARY.impl(name, lambda *tensors: raw(*tensors), "CompositeExplicitAutograd")
    torch.library.register_fake(f"linkwise::{name}", empty_results(operator.kernel.interface), lib=LIBRARY)
    call: Callable[..., Any] = getattr(torch.ops.linkwise, name).default

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    def backward(ctx: Any, *weights: torch.Tensor) -> Any:
        return tuple(derivative(ctx.saved_tensors, weights, ctx.needs_input_grad[:count]))

    def over_axis(info: Any, axes: Sequence[int | None], *tensors: torch.Tensor) -> Any:
        return with_first_axis(info, axes, tensors, call)

    torch.library.register_autograd(f"linkwise::{name}", backward, setup_context=setup_context, lib=LIBRARY)
    torch.library.register_vmap(f"linkwise::{name}", over_axis, lib=LIBRARY)
    return call


def with_first_axis(
    info: Any, axes: Sequence[int | None], tensors: Sequence[torch.Tensor], call: Callable[..., Any]
) -> tuple[Any, Any]:
    """The rule of `torch.vmap`: the mapped axis becomes the first of the batch. The results, and their mapped axes."""
    rows = [
        x.expand((info.batch_size, *x.shape)) if axis is None else x.movedim(axis, 0)
        for x, axis in zip(tensors, axes, strict=True)
    ]
    results = call(*(row.contiguous() for row in rows))
    return results, (0,) * len(results) if isinstance(results, (tuple, list)) else 0


def schema(interface: Interface) -> str:
    inputs = ", ".join(f"Tensor x{k}" for k in range(len(interface.inputs)))
    outputs = ", ".join(["Tensor"] * len(interface.outputs))
    return f"({inputs}) -> {outputs if len(interface.outputs) == 1 else f'({outputs})'}"


def empty_results(interface: Interface) -> Callable[..., Any]:
    """A function that gives results without numbers."""
    rank, shapes = len(interface.inputs[0].shape), [output.shape for output in interface.outputs]

    def empty(*tensors: torch.Tensor) -> Any:
        first = tensors[0]
        batch = first.shape[: first.ndim - rank]
        results = tuple(first.new_empty((*batch, *shape)) for shape in shapes)
        return results if len(results) > 1 else results[0]

    return empty


def implement(name: str, kernel: Compiled, key: str) -> tuple[OperatorBody | None, Any]:
    """Register the kernel under a dispatch key; returns the operator body, and its machine code, which must be kept."""
    functions = c_interface()
    body = None if functions is None else kernel.code.target.operator_body(kernel, library_address)
    if functions is None or body is None:
        LIBRARY.impl(name, python_function(kernel), key)
        return None, None
    place = Place(functions[f"device_type_{key.lower()}"], functions[f"dtype_{kernel.interface.dtype}"])
    engine = compile_text(operator_text(name, kernel.interface, place, functions, body))
    handle, label = ctypes.c_void_p(), name.encode()
    scope = b"linkwise", key.encode(), b"linkwise", ctypes.c_uint32(0), ctypes.byref(handle)
    call_library(functions["init"], *scope)
    call_library(functions["impl"], handle, label, ctypes.c_void_p(engine.get_function_address("operator")))
    return body, engine


def python_function(kernel: Compiled) -> Callable[..., Any]:
    """The kernel on tensors, by Python."""

    def call(*tensors: torch.Tensor) -> Any:
        check_tensors(kernel.interface, tensors)
        results = kernel.general(*(x.detach() for x in tensors))
        return tuple(map(torch.as_tensor, results)) if isinstance(results, tuple) else torch.as_tensor(results)

    return call


def check_tensors(interface: Interface, tensors: Sequence[torch.Tensor]) -> None:
    first, rank = tensors[0], len(interface.inputs[0].shape)
    batch = first.shape[: first.ndim - rank]
    for (name, shape), x in zip(interface.inputs, tensors, strict=True):
        fits = x.shape == (*batch, *shape) and x.dtype is DTYPES[interface.dtype] and x.device == first.device
        if not fits or not x.is_contiguous():
            raise RuntimeError(
                f"{name} is a tensor of {x.dtype}, {tuple(x.shape)}, on {x.device} (expected a contiguous one of"
                f" {interface.dtype}, {(*batch, *shape)}, on {first.device})"
            )


# the C interface


@cache
def torch_libraries() -> list[Any]:
    """The shared libraries of torch that have the C interface; the first is that of the CPU."""
    folder = Path(torch.__file__).parent / "lib"
    files = [next(folder.glob(f"*torch_{part}.*"), None) for part in ("cpu", "cuda")]
    return [ctypes.CDLL(str(file)) for file in files if file is not None and file.suffix in (".so", ".dylib", ".dll")]


@cache
def c_interface() -> dict[str, Any] | None:
    """The functions of the C interface: addresses by act, and those that register. None without.

    Operators end a misfit with a C++ exception, which has been tried through code of LLVM on Linux alone.
    """
    library = next(iter(torch_libraries()), None) if sys.platform == "linux" else None
    names = {act: f"aoti_torch_{name}" for act, name in NAMES.items()}
    more = {"init": "aoti_torch_library_init_impl", "impl": "aoti_torch_library_impl"}
    if library is None or not all(hasattr(library, name) for name in (*names.values(), *more.values())):
        return None
    numbers = {
        f"{kind}_{name}": int(getattr(library, f"aoti_torch_{kind}_{name}")())
        for kind, names_of_kind in (("dtype", DTYPES), ("device_type", ("cpu", "cuda")))
        for name in names_of_kind
    }
    addresses = {act: address_of(getattr(library, name)) for act, name in names.items()}
    return {**addresses, **numbers, **{act: getattr(library, name) for act, name in more.items()}}


def library_address(name: str) -> int:
    """The address of a function of LibTorch; 0 without one."""
    return next((address_of(getattr(library, name)) for library in torch_libraries() if hasattr(library, name)), 0)


def call_library(function: Any, *arguments: Any) -> None:
    if function(*arguments):
        raise RuntimeError(f"LibTorch's {function.__name__} failed (its message is on the standard error)")


def address_of(function: Any) -> int:
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)


def compile_text(text: str) -> Any:
    """Machine code whose frames C++ exceptions may leave: LLVM loads it with its tables for unwinding."""
    library = binding()
    machine = library.Target.from_default_triple().create_target_machine(opt=1, codemodel="jitdefault")
    engine = library.create_mcjit_compiler(parse_module(text), machine)
    engine.finalize_object()
    return engine
