"""The machines that kernels are compiled for, by the name that `lw.compile(..., target=...)` takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..errors import one_of
from .host import HostTarget, host_target
from .target import Target

if TYPE_CHECKING:
    from .cuda.target import CudaTarget
    from .wasm.target import WasmTarget


def cuda_target() -> CudaTarget:
    from .cuda.target import CudaTarget

    return CudaTarget()


def wasm_target() -> WasmTarget:
    from .wasm.target import WasmTarget

    return WasmTarget()


CPU: Callable[[], HostTarget] = host_target
TARGETS: dict[str, Callable[[], Target[Any]]] = {  # looked at when they are needed
    "cpu": CPU,
    "cuda": cuda_target,
    "wasm": wasm_target,
}

OF_SIMULATIONS = ("cpu", "cuda")  # the targets of drivers and rollouts; for WebAssembly there is `lw.wasm_simulation`


def check_simulation_target(target: str) -> None:
    """An error unless simulations and rollouts run there."""
    if target == "wasm":
        raise ValueError(
            "target is 'wasm' (expected 'cpu' or 'cuda'; lw.wasm_simulation gives a simulation as a module)"
        )
    one_of(target, OF_SIMULATIONS, "target")
