"""The machines that kernels are compiled for, by the name that `lw.compile(..., target=...)` takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from ..graph import Program
from .host import BatchFunction, MachineCode, host_target
from .interface import Interface, Links

if TYPE_CHECKING:
    from ..codegen.llvm.loops import LoopText


class Target(Protocol):
    """What a target does. Its `repr` is part of cache keys."""

    def text(self, program: Program | LoopText, interface: Interface) -> str:
        """The program in the language of the target."""

    def load(self, text: str = "", binary: bytes = b"") -> MachineCode:
        """Code that can be called, from a text or from the binary that was compiled from it earlier."""

    def call(self, code: MachineCode, interface: Interface, links: Links | None = None) -> BatchFunction:
        """The function in the code that computes some states of a batch."""


TARGETS: dict[str, Callable[[], Target]] = {"cpu": host_target}  # functions: a machine is looked at when it is needed
