"""The machines that kernels are compiled for, by the name that `lw.compile(..., target=...)` takes.

A target writes a program in its language, loads that text, and calls the code. What is computed, node by node, is the
same text for all of them (`codegen.llvm.program`); a target adds the frame around it: how rows of numbers are read and
written, and how the code is entered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ..graph import Program
from .host import HostTarget, host_target
from .interface import Interface, Links

if TYPE_CHECKING:
    from ..codegen.llvm.loops import LoopText
    from .cuda.target import CudaTarget
    from .wasm.target import WasmTarget


class Code(Protocol):
    """Code that is loaded. `binary` is what the cache keeps of it, `metadata` what it keeps beside that."""

    binary: bytes
    metadata: dict[str, str]
    from_cache: bool

    @property
    def target(self) -> Any:
        """The target that loaded it."""


Loaded = TypeVar("Loaded", bound=Code)


class Target(Protocol[Loaded]):
    """What a target does. Its `repr` is part of cache keys."""

    @property
    def memory(self) -> str:
        """Where its kernels take and leave arrays: "host" or "cuda"."""

    @property
    def has_loops(self) -> bool:
        """Whether it takes programs of loops."""

    @property
    def rounds_beyond(self) -> int | None:
        """For how many links rounds are straight-line code at most, see `kernels.rounds`; None if always."""

    def text(self, program: Program | LoopText, interface: Interface) -> str:
        """The program in the language of the target."""

    def load(self, text: str = "", binary: bytes = b"") -> Loaded:
        """Code that can be called, from a text or from the binary that was compiled from it earlier."""

    def call(self, code: Loaded, interface: Interface, links: Links | None = None) -> Callable[..., Any]:
        """The function in the code that computes states; for arrays in the host's memory, a `BatchFunction`."""


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
