"""What a kernel takes and gives."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..graph import Port
from ..robot.named_arrays import refuse_gradients, refuse_labels

SHARE = 8_000_000  # operations that are worth a thread of their own: about a third of a millisecond
REALS = {"float64": "double", "float32": "float"}  # LLVM's names
EXPECTED = "expected real numbers: float32, float64 or integers"


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

    def __init__(
        self, table: np.ndarray, tree: np.ndarray, vectors: int, rows: Any = None, gravity: np.ndarray | None = None
    ) -> None:
        """The numbers of the links, the tree that they form, and how many vectors are stored at a time.

        `rows` rearranges the arrays, where links do not have one number each; see `kernels.spec`. Gravity is given
        where it is no constant of the code.
        """
        self.table, self.tree, self.vectors, self.rows, self.gravity = table, tree, vectors, rows, gravity

    @property
    def arguments(self) -> list[int]:
        """What goes before the memory and the arrays."""
        arrays = [self.table, self.tree, *([] if self.gravity is None else [self.gravity])]
        return [len(self.table), *(array.ctypes.data for array in arrays)]


def kind_of(value: Any) -> str:
    """'a numpy.ndarray': what it is, for messages."""
    kind = type(value)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__.partition('.')[0]}.{kind.__name__}"
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def describe_value(value: Any) -> str:
    """'a numpy.ndarray (4, 3)', where it has a shape; otherwise itself."""
    shape = getattr(value, "shape", None)
    return f"{kind_of(value)} {tuple(shape)}" if isinstance(shape, tuple) and shape else repr(value)


def numpy_array(name: str, value: Any) -> np.ndarray:
    """The value as an array, if it is rectangular, nothing in it is masked, and its columns have no names."""
    refuse_labels(name, value)
    masked = getattr(sys.modules.get("numpy.ma"), "MaskedArray", ())  # there is none before this is imported
    if isinstance(value, masked) and np.ma.is_masked(value):
        raise TypeError(f"{name} has masked elements ({EXPECTED}; {name}.filled(np.nan) makes them NaN)")
    try:
        return np.asarray(value)
    except ValueError:
        raise TypeError(f"{name} has rows of different lengths ({EXPECTED}, in a rectangular array)") from None
    except (TypeError, RuntimeError) as error:  # of the library that it is of
        refuse_gradients(name, value)
        if str(getattr(value, "dtype", "")) == "torch.bfloat16":
            raise TypeError(f"{name} has dtype bfloat16 ({EXPECTED})") from None
        raise TypeError(
            f"{name} is not in this machine's memory, or no array: {error} ({EXPECTED}; arrays on a GPU are"
            " for target='cuda')"
        ) from None


def host_array(name: str, value: Any) -> Any:
    """An array of torch, JAX or another library, or a matrix, as an array of NumPy; anything else as it is."""
    if isinstance(value, np.matrix):
        return np.asarray(value)
    foreign = not isinstance(value, np.ndarray) and hasattr(type(value), "__dlpack__")
    return numpy_array(name, value) if foreign else value


def internal_overlap(shape: Sequence[int], strides: Sequence[int], itemsize: int = 1) -> bool:
    """Whether elements of an array share memory with each other; strides and sizes in the same unit."""
    axes = sorted((abs(step), size) for step, size in zip(strides, shape, strict=True) if size > 1)
    end, apart = itemsize, True
    for step, size in axes:
        apart = apart and step >= end
        end += step * (size - 1)
    if apart or 0 in shape:
        return False
    if math.prod(shape) * itemsize > end:  # more than there is room for
        return True
    places = np.zeros(1, np.int64)
    for step, size in axes:
        places = np.add.outer(places, step * np.arange(size)).ravel()
    return bool((np.diff(np.sort(places)) < itemsize).any())


def batch_of(inputs: Sequence[Argument] | Sequence[Port], arrays: Sequence[Any]) -> tuple[int, ...]:
    """The batch shape of arrays whose last axes must have the shapes of the inputs."""
    batches = {}
    for (name, shape), array in zip(((x.name, x.shape) for x in inputs), arrays, strict=True):
        dims = array.ndim - len(shape)
        if dims < 0 or array.shape[dims:] != shape:
            raise ValueError(f"{name} has shape {array.shape} (expected ({', '.join(('...', *map(str, shape)))}))")
        batches[name] = array.shape[:dims]
    return broadcast(batches)


def broadcast(batches: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The one shape of all batches, by name; ValueError where they do not broadcast."""
    different = set(batches.values())
    if len(different) == 1:
        return different.pop()
    try:
        return np.broadcast_shapes(*different)
    except ValueError:
        listed = ", ".join(f"{name} {shape}" for name, shape in batches.items())
        raise ValueError(f"the batch shapes do not fit together: {listed} (expected shapes that broadcast)") from None


def arguments(ports: Iterable[Port]) -> tuple[Argument, ...]:
    return tuple(Argument(port.name, port.shape) for port in ports)
