"""Between arrays and scalars: array libraries, shapes, masks of non-finite states; arrays split and joined."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any, Literal, get_args

import numpy as np

from ..errors import one_of
from ..kernels.dispatch import MAX_STRAIGHT_LINKS
from ..kernels.interface import EXPECTED as EXPECTED
from ..kernels.interface import broadcast, numpy_array
from ..robot import Robot, WrenchFrames, require_robot
from ..robot.coordinates import CONFIGURATIONS
from ..robot.layout import reorder_columns, zero_quaternion_message
from ..robot.named_arrays import is_tracer, refuse_labels
from ..tracing import Input
from ..tracing.tracing import array_of_objects
from .wrenches import OnTip, wrench_frames, wrench_on_tip

Array = Any
ComponentAxes = Literal["base", "frame"]  # components along the axes of the base, or of a frame itself
AXES = get_args(ComponentAxes)
NUMBER_TYPES = (
    int,
    float,
    np.integer,
    np.floating,
    Fraction,
    Decimal,
)  # converted to floats in object arrays
REAL = ("float32", "float64")
FLOAT = np.dtype(float)


def library_of(values: Sequence[Any]) -> Any:
    """The array library of the values: torch, jax.numpy or (untested) cupy, otherwise NumPy."""
    for value in values:
        package = type(value).__module__.partition(".")[0]
        if package in ("torch", "cupy"):
            return sys.modules[package]
        if package in ("jax", "jaxlib"):
            return sys.modules["jax.numpy"]
    return np


def as_array(xp: Any, value: Any, name: str, like: Array | None) -> Array:
    """The value as an array of the library `xp`; text, booleans and complex numbers are refused.

    Integers become floating numbers when all arrays of a call are brought to one dtype.
    """
    if xp is not np:
        keywords = {} if like is None or dtype_name(like) not in REAL else {"dtype": like.dtype}
        if xp.__name__ == "torch" and like is not None:
            keywords["device"] = like.device
        if hasattr(value, "dtype") and library_of([value]) is xp:
            array = value
        else:
            refuse_labels(name, value)
            array = xp.asarray(value, **keywords)
        kind = dtype_name(array)
        if kind in REAL or "int" in kind:
            return array
        raise TypeError(f"{name} has dtype {array.dtype} ({EXPECTED})")
    array = numpy_array(name, value)
    if array.dtype.kind == "f" and array.dtype.itemsize >= 4:
        return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
    if array.dtype.kind in "iu":
        return array.astype(np.float64)
    if array.dtype.kind == "O" and all(isinstance(x, NUMBER_TYPES) and not isinstance(x, bool) for x in array.flat):
        return array.astype(np.float64)
    if array.dtype.kind == "O":
        for x in array.flat:
            if not is_scalar_object(x):
                raise TypeError(f"{name} holds {x!r} ({EXPECTED})")
        return array
    hint = "; for complex-step derivatives call the functions of linkwise.dynamics" if array.dtype.kind == "c" else ""
    raise TypeError(f"{name} has dtype {array.dtype} ({EXPECTED}{hint})")


def reference_array(xp: Any, values: Sequence[Any]) -> Array:
    """The first array of the library with a floating dtype, otherwise its first array."""
    candidates = [value for value in values if library_of([value]) is xp]
    return next((value for value in candidates if dtype_name(value) in REAL), candidates[0])


def promote_dtypes(xp: Any, arrays: list[Array]) -> list[Array]:
    """All arrays in their common floating dtype; integers alone become the library's default."""
    dtypes = {array.dtype for array in arrays}
    common = reduce(xp.promote_types, dtypes)
    if "float" not in str(common):
        common = (arrays[0] * 1.0).dtype
    if dtypes == {common}:
        return arrays
    return [array.to(common) if xp.__name__ == "torch" else array.astype(common) for array in arrays]


def dtype_name(array: Array) -> str:
    return str(array.dtype).removeprefix("torch.")


def is_scalar_object(x: object) -> bool:
    """Whether an element of an object array is a scalar: a node, a symbol, a many-digit number."""
    return all(hasattr(x, op) for op in ("__add__", "__sub__", "__mul__")) and not isinstance(x, (bool, complex))


def stack_wrenches(values: Mapping[str, Any], convert: Callable[[str, Any], Any]) -> Array:
    """The wrenches at frames as one array (..., frames, 6)."""
    arrays = [convert(f"wrench[{name!r}]", value) for name, value in values.items()]
    for name, array in zip(values, arrays, strict=True):
        if tuple(array.shape[-1:]) != (6,):
            raise ValueError(
                f"wrench[{name!r}] has shape {tuple(array.shape)} (expected (..., 6): moment, then force, at the"
                " frame's origin)"
            )
    xp = library_of(arrays)
    if xp is not np:
        arrays = promote_dtypes(xp, arrays)
    shape = broadcast({f"wrench[{name!r}]": tuple(a.shape) for name, a in zip(values, arrays, strict=True)})
    return xp.stack([a if tuple(a.shape) == shape else xp.broadcast_to(a, shape) for a in arrays], -2)


class States:
    """The arrays of one call: checked, brought to one batch shape, and ready to be split into scalars."""

    def __init__(
        self,
        robot: Robot,
        arrays: Mapping[str, Any],
        wrench: Any = None,
        check: bool = False,
        others: Mapping[str, tuple[Any, tuple[int, ...]]] | None = None,
        point: Any = None,
        axes: str = "base",
    ) -> None:
        require_robot(robot)
        self.robot, self.links, self.coordinates = robot, robot.uncoupled, robot.coordinates
        self.tip: int | None = None  # the link on which a single external wrench acts
        self.at: WrenchFrames | None = None  # the frames at which wrenches act
        self.on_tip = False  # whether an array of wrenches is known to be on the tip
        one_of(axes, AXES, "axes")
        if isinstance(wrench, Mapping):
            self.at = wrench_frames(robot, wrench, point, axes)
            wrench = dict(wrench) or None
        elif isinstance(point, WrenchFrames):
            self.at, point = point, None
        elif isinstance(point, OnTip):
            self.on_tip, point = True, point.point
        elif axes != "base":
            raise ValueError(f"axes is {axes!r} without wrenches by frame (expected wrench={{frame: (..., 6)}})")
        self.trailing: dict[str, int] = {}  # how many axes of each array belong to one state
        self.of_joints = frozenset(arrays)  # those with numbers of joints
        coordinates = {name: (reorder_columns(robot, name, x), (robot.size_of(name),)) for name, x in arrays.items()}
        arguments = {**coordinates, **(others or {})}
        given = [value for value, _ in arguments.values()]
        given += wrench.values() if isinstance(wrench, dict) else [wrench]
        self.xp = library_of(given)
        first = None if self.xp is np else reference_array(self.xp, given)
        if isinstance(wrench, dict):
            wrench = stack_wrenches(wrench, lambda name, value: as_array(self.xp, value, name, first))
        self.arrays: dict[str, Array] = {}
        for name, (value, shape) in arguments.items():
            array = as_array(self.xp, value, name, first)
            if robot.symbolic and self.xp is np:
                array = array.astype(object)  # mixed with symbols elementwise
            self.arrays[name] = array
            self.trailing[name] = len(shape)
            if tuple(array.shape[len(array.shape) - len(shape) :]) != shape or len(array.shape) < len(shape):
                raise ValueError(
                    f"{name} has shape {tuple(array.shape)} (expected {self._expected_shape(name, shape)})"
                )
        self.batch = self._batch_shape()
        spread = robot.n > MAX_STRAIGHT_LINKS and wrench is not None and self._fits_every_link(wrench)
        if spread:
            wrench, point = self._on_every_link(wrench)
        for name, value, per_link in (
            ("wrench", wrench, self._with_link_axis),
            ("point", point, self._point_with_link_axis),
        ):
            if value is not None:
                self.arrays[name] = per_link(as_array(self.xp, value, name, first))
                self.trailing[name] = 2
                self.batch = self._batch_shape()
        self.at = None if spread else self.at
        self._promote()
        if check:
            self._check_finite()

    @property
    def numeric(self) -> bool:
        """Whether these are NumPy arrays of plain numbers."""
        return self.xp is np and all(array.dtype.kind == "f" for array in self.arrays.values())

    def _promote(self) -> None:
        """Bring all arrays to their common dtype, so that nothing is computed with fewer digits than the result.

        Integers alone become the library's default floating dtype.
        """
        dtypes = {array.dtype for array in self.arrays.values()}
        if self.xp is np and (any(dtype.kind == "O" for dtype in dtypes) or dtypes == {FLOAT}):
            return
        promoted = promote_dtypes(self.xp, list(self.arrays.values()))
        self.arrays = dict(zip(self.arrays, promoted, strict=True))

    def _expected_shape(self, name: str, shape: tuple[int, ...]) -> str:
        if name not in self.of_joints:
            return "(..., " + ", ".join(map(str, shape)) + ")"
        what = "joint" if self.robot.nq == len(self.robot.names) else "coordinate" if name in CONFIGURATIONS else "rate"
        labels = abbreviate(self.robot.labels_of(name))
        return f"(..., {shape[0]}): one number for each {what} of robot {self.robot.name!r}: {labels}"

    def _batch_shape(self) -> tuple[int, ...]:
        return broadcast({k: tuple(a.shape[: len(a.shape) - self.trailing[k]]) for k, a in self.arrays.items()})

    def _with_link_axis(self, wrench: Array) -> Array:
        """An external wrench with an axis for links, or for frames: see `wrench_on_tip`."""
        if not (self.on_tip or (self.at is None and wrench_on_tip(self.robot, tuple(wrench.shape), self.batch))):
            return wrench
        self.tip = self.robot.leaves[0]
        return wrench[..., None, :]

    def _fits_every_link(self, wrench: Array) -> bool:
        """Whether wrenches by frame can be wrenches on every link with their points, which loops over links take."""
        if self.at is None or self.at.axes != "base" or self.robot.non_floats or self.xp is not np:
            return False
        links = [self.robot.frame(name).link for name in self.at.names]
        return len(set(links)) == len(links) and wrench.dtype.kind == "f"

    def _on_every_link(self, wrench: Array) -> tuple[Array, Array]:
        frames = [self.robot.frame(name) for name in ([] if self.at is None else self.at.names)]
        dtype = np.result_type(wrench, *(array for array in self.arrays.values() if array.dtype.kind == "f"))
        count, links = len(self.robot.names), [frame.link for frame in frames]
        wrenches, points = np.zeros((*wrench.shape[:-2], count, 6), dtype), np.zeros((count, 3), dtype)
        wrenches[..., links, :], points[links] = wrench, [frame.point for frame in frames]
        return wrenches, points

    def _point_with_link_axis(self, point: Array) -> Array:
        """The points of the wrenches, with an axis for links: (..., 3) on the tip, (..., m, 3) on every link."""
        if "wrench" not in self.arrays:
            raise ValueError("point is given without a wrench (expected wrench=... that acts there)")
        expected = (len(self.robot.names), 3) if self.tip is None else (3,)
        shape = tuple(point.shape)
        if shape[-len(expected) :] != expected or len(shape) > len(self.batch) + len(expected):
            links = "on every link" if self.tip is None else "on the tip"
            raise ValueError(
                f"point has shape {shape} (expected {expected}, or with the batch {self.batch} in front: the point"
                f" where the wrench {links} acts, in the link's table frame)"
            )
        return point if self.tip is None else point[..., None, :]

    @property
    def load_shapes(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """The names of wrench and point, if given, with their shapes for one state."""
        names = [name for name in ("wrench", "point") if name in self.arrays]
        return tuple((name, tuple(self.argument(name).shape[-(1 + (self.tip is None)) :])) for name in names)

    @property
    def loads(self) -> dict[str, Any]:
        """Wrench and point, if they are given, as inputs for tracing; in place of a point the frames."""
        return {**{name: Input(*shape) for name, shape in self.load_shapes}, **self.frames}

    @property
    def frames(self) -> dict[str, Any]:
        """The frames at which wrenches act, as the argument `point` of functions."""
        return {} if self.at is None or "wrench" not in self.arrays else {"point": self.at}

    def argument(self, name: str) -> Array:
        """The argument with the axes of the call: a wrench on the tip, and its point, have no axis for links."""
        array = self.arrays[name]
        return array[..., 0, :] if name in ("wrench", "point") and self.tip is not None else array

    def expanded_copy(self, name: str) -> np.ndarray:
        """A float64 copy of the argument, with all axes of the batch."""
        array = self.argument(name)
        axes = 1 + (name in ("wrench", "point") and self.tip is None)
        shape = (*self.batch, *array.shape[array.ndim - axes :])
        return (array if array.shape == shape else np.broadcast_to(array, shape)).astype(float)

    def rows(self, name: str, shape: tuple[int, ...]) -> Array:
        """The argument broadcast to this shape for each state of the batch, contiguous."""
        return np.ascontiguousarray(np.broadcast_to(self.argument(name), (*self.batch, *shape)))

    def _check_finite(self) -> None:
        for name, array in self.arrays.items():
            if array.dtype == object:
                continue
            if is_tracer(array):
                raise TypeError(
                    f"check=True needs the numbers of {name}, which JAX traces (jit, grad or vmap; expected no check)"
                )
            array = self.argument(name)
            mask = self.xp.isfinite(array)
            if self.xp.count_nonzero(mask) < math.prod(mask.shape):  # faster than `all`
                bad = self.xp.argwhere(~mask)
                index = tuple(int(i) for i in bad[0])
                where = f", joint {self.robot.labels_of(name)[index[-1]]!r}" if name in self.of_joints else ""
                if name == "wrench" and self.at is not None:
                    where = f", at frame {self.at.names[index[-2]]!r}"
                more = f", and {len(bad) - 1} more" if len(bad) > 1 else ""
                raise ValueError(f"{name}{list(index)}{where} is {array[index].item()}{more} (expected finite numbers)")
            for start in self._quaternions(name):
                bad = self.xp.argwhere(~is_normalizable(self.xp, array, start))
                if len(bad):
                    where = f"{name}{[*map(int, bad[0]), start]}"
                    raise ValueError(zero_quaternion_message(self.robot, where, start))

    def scalars(self, name: str) -> list[Any]:
        """The components of an argument, each a scalar or an array of the batch."""
        array = self.arrays[name]
        return [component(array, i) for i in range(array.shape[-1])]

    def positions(self, name: str = "q") -> list[Any]:
        """The coordinate of each link, for the algorithms."""
        return self.coordinates.positions(self.scalars(name))

    def rates(self, name: str = "qd") -> list[Any]:
        """The rate of each link's coordinate."""
        return self.coordinates.rates(self.scalars(name))

    def accelerations(self) -> list[Any]:
        """The acceleration of each link's coordinate: θ̈ of qd and qdd."""
        return self.coordinates.accelerations(self.scalars("qd"), self.scalars("qdd"))

    def motion(self) -> tuple[list[Any], list[Any], list[Any]]:
        """Coordinates, rates and accelerations of the links: those of q, qd and qdd."""
        return self.positions(), self.rates(), self.accelerations()

    def wrenches(self) -> list[tuple[int, list[Any]]]:
        """The link and the six components of each wrench."""
        return self._rows("wrench", 6)

    def points(self) -> list[list[Any]]:
        """The points of the wrenches, three components of each; empty without points."""
        return [components for _, components in self._rows("point", 3)]

    def _rows(self, name: str, count: int) -> list[tuple[int, list[Any]]]:
        """The link and the components of each row of wrench or point."""
        if name not in self.arrays:
            return []
        if self.at is not None:
            links = [self.robot.seat(self.robot.frame(frame))[0] for frame in self.at.names]
        else:
            links = [joint.link for joint in self.robot.moving] if self.tip is None else [self.tip]
        array = self.arrays[name]
        return [(link, [component(array, row, k) for k in range(count)]) for row, link in enumerate(links)]

    def join(self, values: Any, shape: tuple[int, ...]) -> Array:
        """Nested lists of scalars as an array (*batch, *shape), NaN for each state with a number that is not finite."""
        flat = flatten(values, len(shape))
        xp, dtypes = self.xp, [a.dtype for a in self.arrays.values()]
        if xp is np and any(dtype.kind == "O" for dtype in dtypes):
            return array_of_objects(flat, self.batch, shape)[()]
        keywords: dict[str, Any] = {"dtype": dtypes[0]}
        if xp.__name__ == "torch":
            keywords["device"] = next(iter(self.arrays.values())).device
        if not flat:
            return xp.zeros((*self.batch, *shape), **keywords)
        if xp is np:
            out = stack_components(flat, self.batch, dtypes[0]).reshape((*self.batch, *shape))
            return self._mask_non_finite(out, len(shape))[()]
        expanded_copy = [
            xp.broadcast_to(v, self.batch) if hasattr(v, "shape") else xp.full(self.batch, v, **keywords) for v in flat
        ]
        return self._mask_non_finite(xp.stack(expanded_copy, -1).reshape((*self.batch, *shape)), len(shape))

    def finite(self) -> Array:
        """The mask (batch shape) of the states with finite numbers only."""
        arrays = ((array, self.trailing[name], self._quaternions(name)) for name, array in self.arrays.items())
        return finite_states(self.xp, arrays, self.batch)

    def _quaternions(self, name: str) -> tuple[int, ...]:
        return self.robot.quaternions if name in CONFIGURATIONS and name in self.arrays else ()

    def _mask_non_finite(self, out: Array, dims: int) -> Array:
        mask = self.finite()
        return out if self.xp is np and mask.all() else nan_unless(self.xp, mask, out, dims)


def finite_states(xp: Any, arrays: Iterable[tuple[Array, int, Sequence[int]]], batch: tuple[int, ...]) -> Array:
    """The mask (batch shape) of the states with finite numbers only, and quaternions of nonzero length.

    Each array comes with the number of its axes for one state, and the starts of quaternions in it.
    """
    mask: Any = True
    for array, axes, quaternions in arrays:
        finite = xp.isfinite(array)
        for _ in range(axes):
            finite = finite.all(-1)
        for start in quaternions:
            finite = finite & is_normalizable(xp, array, start)
        mask = finite & mask
    return xp.broadcast_to(mask, batch)


def nan_unless(xp: Any, mask: Array, out: Array, dims: int) -> Array:
    """The array with NaN for all states outside the mask; `dims` of its axes belong to one state."""
    mask = mask.reshape((*mask.shape, *(1,) * dims))
    return xp.where(mask, out, xp.asarray(float("nan"), dtype=out.dtype))


def is_normalizable(xp: Any, array: Array, start: int) -> Array:
    """Whether the quaternion that begins at `start` can be divided by its length, for each state."""
    with np.errstate(all="ignore"):
        square = (array[..., start : start + 4] ** 2).sum(-1)
        return xp.isfinite(square) & xp.isfinite(1.0 / square)


def component(array: Array, *index: int) -> Any:
    """One number of every state: an array of the batch shape, or the number itself where there is no batch."""
    part = array[(..., *index)]
    return part[()] if isinstance(part, np.ndarray) else part


def flatten(values: Any, depth: int) -> list[Any]:
    if depth == 0:
        return [values]
    return [x for value in values for x in flatten(value, depth - 1)]


def stack_components(values: Sequence[Any], batch: tuple[int, ...], dtype: Any) -> np.ndarray:
    """One array (*batch, len(values)). Zeros, most elements of large tensors, are written in bulk."""
    places = [k for k, value in enumerate(values) if not (type(value) is float and value == 0.0)]
    if not places:
        return np.zeros((*batch, len(values)), dtype)
    rows = np.empty((len(places), *batch), dtype)
    for row, k in enumerate(places):
        rows[row] = values[k]
    columns = np.ascontiguousarray(np.moveaxis(rows, 0, -1))
    if len(places) == len(values):
        return columns
    out = np.zeros((*batch, len(values)), dtype)
    out.reshape((math.prod(batch), len(values)))[:, places] = columns.reshape((math.prod(batch), len(places)))
    return out


def abbreviate(names: Sequence[str]) -> str:
    parts = [*names[:4], "...", names[-1]] if len(names) > 6 else names
    return ", ".join(parts)
