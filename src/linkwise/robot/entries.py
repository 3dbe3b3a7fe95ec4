"""Reading the entries of a row: each function returns checked numbers or raises an error that names the entry.

A matrix that is a rotation up to a few digits stands for the nearest one:

    A = R S      polar decomposition: of all rotations, R is nearest to A
    R ← R + ½ R (1 - RᵀR)      converges to it from nearby, the error squared in each step

Zeros are kept: they are put back after each step, which then halves the error. The result is the nearest rotation that
has them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import ErrorWithFields, RobotError
from ..spatial import Matrix, Rotation, Scalar, add, is_zero, mul, sub
from .named_arrays import is_tracer, labels_of, reprs

ANGLE = re.compile(r"\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\s*(deg|rad)\s*")
TURNS = 4.0 * math.pi  # a larger angle in a DH row must have been meant in degrees
UNIT = 1e-6  # how far from 1 the length of an axis, or from 0 the defect of a rotation, may be
ROUNDING = 1e-15  # an axis this close to unit length is one already
TENSOR = 1e-9  # relative slack for symmetry, definiteness and the triangle inequality
ORTHOGONAL = 1e-15  # a defect of this size is rounding
SLOWEST = 0.95  # what a step leaves of the defect at most, as long as it is not rounding
RESIDUE = 1e-14  # relative to the masses and lengths of the table: rounding residue of a zero


class EntryError(ErrorWithFields, RobotError):
    """An entry of a row is wrong. Callers add the robot, the file and the line."""

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(f"{key} {problem}")
        self.key = key


def number(value: Any, key: str, expected: str = "a number") -> Scalar:
    """A Python float, or a symbol or a number of many digits left as it is.

    Tensors may change and may carry a gradient, which what is kept of a robot would not: they become floats.
    """
    if type(value) is float and math.isfinite(value):  # most are
        return value
    if is_tracer(value) or getattr(value, "requires_grad", False) is True:
        what = "is traced by JAX" if is_tracer(value) else "requires a gradient"
        symbols = "lw.symbols() for a number to differentiate by, with lw.derivative or lw.jvp"
        raise EntryError(key, f"{what}, which robots do not keep (expected {expected}, or {symbols})")
    if (
        hasattr(value, "__array__")
        and hasattr(value, "item")
        and not isinstance(value, np.ndarray)
        and not shape_of(value)
    ):
        value = value.item()
    calculates = all(hasattr(value, op) for op in ("__add__", "__sub__", "__mul__"))
    if not calculates or isinstance(value, (bool, np.bool_, complex, np.ndarray)) or shape_of(value):
        raise EntryError(key, f"is {value!r} (expected {expected})")
    if isinstance(value, (int, float, Fraction, Decimal, np.integer, np.floating)):
        try:
            value = float(value)
        except OverflowError:
            raise EntryError(key, f"is too large (expected {expected}, below 1.8e308)") from None
    if not finite(value):
        raise EntryError(key, f"is {value} (expected a finite number)")
    return value


def shape_of(value: Any) -> tuple[int, ...]:
    """() of a number of any library."""
    shape = getattr(value, "shape", ())
    return tuple(shape) if isinstance(shape, tuple) else ()


def is_symbol(value: Scalar) -> bool:
    """Whether the value is a symbol, such as a graph node, which cannot become a float."""
    try:
        float(value)
    except TypeError:
        return True
    return False


def finite(value: Scalar) -> bool:
    return is_symbol(value) or math.isfinite(float(value))


def present(row: Mapping[str, Any], key: str, expected: str) -> Any:
    if key not in row:
        raise EntryError(key, f"is missing (expected {expected})")
    return row[key]


def length(row: Mapping[str, Any], key: str) -> Scalar:
    return number(present(row, key, "a length in m"), key, "a length in m")


def angle(row: Mapping[str, Any], key: str) -> Scalar:
    expected = 'an angle in radians, or text such as "90 deg"'
    value = present(row, key, expected)
    if isinstance(value, str):
        match = ANGLE.fullmatch(value)
        if match is None:
            raise EntryError(key, f"is {value!r} (expected {expected})")
        amount = float(match[1])
        return number(math.radians(amount) if match[2] == "deg" else amount, key, expected)
    radians = number(value, key, expected)
    if key in ("alpha", "theta") and not is_symbol(radians) and abs(radians) > TURNS:
        degrees = f'"{radians:g} deg"'
        raise EntryError(key, f"is {radians:g} radians, over two turns; did you mean {degrees}? (expected {expected})")
    return radians


def not_negative(row: Mapping[str, Any], key: str, default: Scalar | None = None, slack: float = 0.0) -> Scalar:
    """A number that is at least -slack."""
    value = present(row, key, "a number") if default is None else row.get(key, default)
    value = number(value, key)
    if not is_symbol(value) and value < -slack:
        raise EntryError(key, f"is {value} (expected a number that is not negative)")
    return value


def positive_part(value: Scalar) -> Scalar:
    """The value, with 0 for a negative rounding residue."""
    return 0.0 if type(value) is float and value < 0.0 else value


def sequence(value: Any, count: int, key: str = "") -> list[Any] | None:
    """So many items; None of anything else. Items with names are an error about the entry `key`."""
    if type(value) in (tuple, list):  # most are
        return list(value) if len(value) == count else None
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        return None
    labels = None if isinstance(value, tuple) else labels_of(value)
    if labels is not None and not key:
        return None
    if labels is not None:
        raise EntryError(key, f"has names: {reprs(labels)} (expected numbers without names, in order: .to_numpy())")
    items = list(value)
    return items if len(items) == count else None


def vector3(row: Mapping[str, Any], key: str) -> tuple[Scalar, Scalar, Scalar]:
    value = present(row, key, "three numbers")
    items = sequence(value, 3, key)
    if items is None:
        raise EntryError(key, f"is {value!r} (expected three numbers)")
    x, y, z = (number(item, f"{key}[{i}]") for i, item in enumerate(items))
    return x, y, z


def axis(row: Mapping[str, Any], key: str, default: tuple[float, ...]) -> tuple[tuple[Scalar, ...], float]:
    """A unit vector, and how far the length of the given vector is from 1."""
    direction = vector3({key: default, **row}, key)
    size = math.hypot(*map(float, direction))
    if abs(size - 1.0) > UNIT:
        raise EntryError(key, f"is {list(direction)}, of length {size:.6g} (expected a unit vector)")
    unit = tuple(x / size for x in direction) if abs(size - 1.0) > ROUNDING else direction
    return unit, abs(size - 1.0)


def square(row: Mapping[str, Any], key: str, default: Any = None) -> tuple[tuple[Scalar, ...], ...]:
    value = present(row, key, "a 3 x 3 matrix") if default is None else row.get(key, default)
    rows = sequence(value, 3, key)
    if rows is None or any(sequence(r, 3, key) is None for r in rows):
        raise EntryError(key, f"is {value!r} (expected a 3 x 3 matrix, as three rows of three numbers)")
    return tuple(tuple(number(x, f"{key}[{i}][{j}]") for j, x in enumerate(r)) for i, r in enumerate(rows))


def matrix3(row: Mapping[str, Any], key: str) -> tuple[tuple[Scalar, ...], ...]:
    """A matrix that is a rotation within 1e-6, as given."""
    rows = square(row, key)
    m = np.array([[float(x) for x in r] for r in rows])
    expected = "(expected a rotation: orthogonal, with determinant 1)"
    off = np.abs(m @ m.T - np.eye(3)).max() if np.abs(m).max() < 2.0 else math.inf
    if off > UNIT:
        far = f", off by {off:.1e}, more than {UNIT:g}" if off < 1e-2 else ""
        raise EntryError(key, f"is {m.tolist()}{far} {expected}")
    if np.linalg.det(m) < 0:
        raise EntryError(key, f"is {m.tolist()} {expected}")
    return rows


def nearest_rotation(matrix: Rotation) -> Rotation:
    """A rotation, orthogonal to rounding; entries that are 0, 1 or -1 within 1e-12 become so where that is possible."""
    snapped = matrix.snapped()
    if all(type(x) is float and x in (0.0, 1.0, -1.0) for row in snapped.rows for x in row):  # quarter turns
        return snapped
    rotation = polar(snapped, [[not is_zero(x) for x in row] for row in snapped.rows])
    if defect(rotation) > 2.0 * ORTHOGONAL:  # no rotation near by has these zeros
        rotation = polar(matrix, [[True] * 3] * 3)
    return rotation


def polar(matrix: Rotation, free: list[list[bool]]) -> Rotation:
    """The nearest rotation that is 0 where it is not free."""
    turn, left = matrix, defect(matrix)
    while left > ORTHOGONAL:
        step = turn @ (Rotation.identity() - turn.T @ turn)
        closer = Rotation(
            [
                [add(x, mul(0.5, dx)) if may else 0.0 for x, dx, may in zip(*lines, strict=True)]
                for lines in zip(turn.rows, step.rows, free, strict=True)
            ]
        )
        before, left = left, defect(closer)
        if not left < SLOWEST * before:
            break
        turn = closer
    return turn


def defect(turn: Matrix) -> float:
    """The largest entry of R Rᵀ - 1."""
    product = (turn @ turn.T).rows
    return max(abs(float(sub(product[i][j], float(i == j)))) for i in range(3) for j in range(3))


def distance(a: Rotation, b: Rotation) -> float:
    """The largest difference of two entries."""
    pairs = zip(a.rows, b.rows, strict=True)
    return max(abs(float(x) - float(y)) for rows in pairs for x, y in zip(*rows, strict=True))


def tensor(row: Mapping[str, Any], key: str, residue: float) -> tuple[tuple[Scalar, ...], ...]:
    """A symmetric tensor of finite numbers, or of symbols.

    `residue` is the rounding error of a zero entry, in kg m2, for a body of this mass and these lengths.
    """
    rows = square(row, key)
    if any(is_symbol(x) for r in rows for x in r):
        return rows
    m = np.array([[float(x) for x in r] for r in rows])
    if np.abs(m - m.T).max() > TENSOR * np.abs(m).max() + residue:
        raise EntryError(key, f"is not symmetric: {m.tolist()}")
    return rows


IMPOSSIBLE = (
    "it must be about the centre of mass: was it given about the joint, or with the signs of the products reversed?"
    ' With unphysical="warn" it is used as it is'
)


def impossible_body(rows: tuple[tuple[Scalar, ...], ...], residue: float) -> str:
    """Why no body has this inertia about its centre of mass; otherwise nothing."""
    if any(is_symbol(x) for r in rows for x in r):
        return ""
    m = np.array([[float(x) for x in r] for r in rows])
    if not m.any():
        return ""
    slack = TENSOR * np.abs(m).max() + residue
    small, middle, large = (float(x) for x in np.linalg.eigvalsh(m))
    if small < -slack:
        return f"is not positive semidefinite: it has the principal moment {small:.6g} kg m2"
    a, b, c = (f"{0.0 if abs(x) < ROUNDING * large else x:.6g}" for x in (small, middle, large))
    if small + middle < large - slack:
        less = f"{c} by {large - small - middle:.2g}" if float(a) + float(b) >= float(c) else c
        moments = f"{a}, {b} and {c} kg m2, since {a} + {b} < {less}"
        return f"breaks the triangle inequality: no body has the principal moments {moments}"
    return ""


def limits(row: Mapping[str, Any]) -> tuple[float, float] | None:
    if row.get("limits") is None:
        return None
    pair = sequence(row["limits"], 2, "limits")
    expected = "[lower, upper] in radians or m"
    if pair is None:
        raise EntryError("limits", f"is {row['limits']!r} (expected {expected})")
    lower, upper = (float(angle({"limits": x}, "limits")) for x in pair)
    if lower > upper:
        raise EntryError("limits", f"is [{lower}, {upper}] (expected {expected}, lower first)")
    return lower, upper
