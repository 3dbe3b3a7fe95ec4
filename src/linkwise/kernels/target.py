"""What a machine that kernels are compiled for can do: it writes a program, loads that text, and calls the code.

What is computed, node by node, is the same text for all of them (`codegen.llvm.program`); a target adds the frame
around it: how rows of numbers are read and written, and how the code is entered.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from ..graph import Program
from .interface import Interface, Links

if TYPE_CHECKING:
    from ..codegen.llvm.loops import LoopText


class Code(Protocol):
    """Code that is loaded. `binary` is what the cache keeps of it, `metadata` what it keeps beside that."""

    binary: bytes
    metadata: dict[str, str]
    from_cache: bool

    @property
    def target(self) -> Any:
        """The target that loaded it."""


Loaded = TypeVar("Loaded", bound=Code)


class Target(ABC, Generic[Loaded]):
    """A frozen dataclass, whose `repr` is part of cache keys."""

    memory: ClassVar[str] = "host"  # where its kernels take and leave arrays: or "cuda"
    has_loops: ClassVar[bool] = True  # whether it takes programs of loops
    rounds_beyond: ClassVar[int | None] = None  # for how many links rounds are straight-line code at most

    @abstractmethod
    def text(self, program: Program | LoopText, interface: Interface) -> str:
        """The program in the language of the target."""

    @abstractmethod
    def load(self, text: str = "", binary: bytes = b"") -> Loaded:
        """Code that can be called, from a text or from the binary that was compiled from it earlier."""

    @abstractmethod
    def call(self, code: Loaded, interface: Interface, links: Links | None = None) -> Callable[..., Any]:
        """The function in the code that computes states; for arrays in the host's memory, a `BatchFunction`."""
