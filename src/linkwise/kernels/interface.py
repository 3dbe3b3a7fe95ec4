"""The arguments and results of a kernel, and checks of arrays."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..graph import Port
from ..robot.named_arrays import refuse_gradients, refuse_labels

SHARE = 8_000_000  # operations that justify a thread: about a third of a millisecond
REALS = {"float64": "double", "float32": "float"}  # LLVM's names
EXPECTED = "expected real numbers: float32, float64 or integers"


class Argument(NamedTuple):
    """An input or output array: its name, and its shape for one state."""

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
        """The number of states that justify a thread."""
        return max(64, SHARE // max(self.operations, 1))


class Links:
    """The numbers of links for a kernel that loops over them; see `codegen.llvm.loops`."""

    def __init__(
        self, table: np.ndarray, tree: np.ndarray, vectors: int, rows: Any = None, gravity: np.ndarray | None = None
    ) -> None:
        """Hold the numbers of the links, their tree, and the number of vectors that are stored at a time.

        `rows` rearranges arrays if links do not have one number each; see `kernels.spec`. `gravity` is given if it is
        not a constant of the code.
        """
        self.table, self.tree, self.vectors, self.rows, self.gravity = table, tree, vectors, rows, gravity

    @property
    def arguments(self) -> list[int]:
        """The arguments before the memory and the arrays."""
        arrays = [self.table, self.tree, *([] if self.gravity is None else [self.gravity])]
        return [len(self.table), *(array.ctypes.data for array in arrays)]


def kind_of(value: Any) -> str:
    """The type of a value with an article, for messages: 'a numpy.ndarray'."""
    kind = type(value)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__.partition('.')[0]}.{kind.__name__}"
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def describe_value(value: Any) -> str:
    """The type and shape of an array, 'a numpy.ndarray (4, 3)', or the repr of another value."""
    shape = getattr(value, "shape", None)
    return f"{kind_of(value)} {tuple(shape)}" if isinstance(shape, tuple) and shape else repr(value)


def numpy_array(name: str, value: Any) -> np.ndarray:
    """The value as an array; raise a TypeError if it is ragged, masked, or has named columns."""
    refuse_labels(name, value)
    masked = getattr(sys.modules.get("numpy.ma"), "MaskedArray", ())  # none exist before this is imported
    if isinstance(value, masked) and np.ma.is_masked(value):
        raise TypeError(f"{name} has masked elements ({EXPECTED}; {name}.filled(np.nan) makes them NaN)")
    try:
        return np.asarray(value)
    except ValueError:
        raise TypeError(f"{name} has rows of different lengths ({EXPECTED}, in a rectangular array)") from None
    except (TypeError, RuntimeError) as error:  # of another library
        refuse_gradients(name, value)
        if str(getattr(value, "dtype", "")) == "torch.bfloat16":
            raise TypeError(f"{name} has dtype bfloat16 ({EXPECTED})") from None
        raise TypeError(
            f"{name} is not in this machine's memory, or no array: {error} ({EXPECTED}; arrays on a GPU are"
            " for target='cuda')"
        ) from None


def host_array(name: str, value: Any) -> Any:
    """Convert arrays of torch, JAX and others, and matrices, to arrays of NumPy; other values stay."""
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
    if math.prod(shape) * itemsize > end:  # more elements than places
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
    """The common shape of batches by name; raise a ValueError if they do not broadcast."""
    first, *others = batches.values() or [()]
    if all(batch == first for batch in others):
        return first
    sizes: list[int] = []  # compared alone, since torch's may be symbols, which NumPy does not take
    for axis in range(-max(len(first), *map(len, others)), 0):
        here = [batch[axis] for batch in (first, *others) if len(batch) >= -axis]
        sizes.append(next((size for size in here if size != 1), 1))
        if any(size != 1 and size != sizes[-1] for size in here):
            shapes = ", ".join(f"{name} {shape}" for name, shape in batches.items())
            raise ValueError(f"the batch shapes do not fit together: {shapes} (expected shapes that broadcast)")
    return tuple(sizes)


def arguments(ports: Iterable[Port]) -> tuple[Argument, ...]:
    return tuple(Argument(port.name, port.shape) for port in ports)
