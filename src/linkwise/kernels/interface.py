"""What a kernel takes and gives."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ..graph import Port

SHARE = 8_000_000  # operations that are worth a thread of their own: about a third of a millisecond
REALS = {"float64": "double", "float32": "float"}  # LLVM's names


class Argument(NamedTuple):
    """An array that goes in or comes out: its name, and its shape for one state."""

    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return math.prod(self.shape)


class Interface(NamedTuple):
    """The arrays of a kernel, their dtype, and its operations for one state."""

    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    dtype: str
    operations: int

    @property
    def at_once(self) -> int:
        """As many states as one thread does in the time that is worth a thread."""
        return max(64, SHARE // max(self.operations, 1))


class Links:
    """What a kernel that loops over links needs besides the arrays; see `codegen.llvm.loops`."""

    def __init__(self, table: np.ndarray, tree: np.ndarray, vectors: int) -> None:
        """The numbers of the links, the tree that they form, and how many vectors are stored at a time."""
        self.table, self.tree, self.vectors = table, tree, vectors

    @property
    def arguments(self) -> list[int]:
        """What goes before the memory and the arrays."""
        return [len(self.table), self.table.ctypes.data, self.tree.ctypes.data]


def arguments(ports: Iterable[Port]) -> tuple[Argument, ...]:
    return tuple(Argument(port.name, port.shape) for port in ports)
