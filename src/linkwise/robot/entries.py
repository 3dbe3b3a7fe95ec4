"""Checks of the entries of a table: each function returns numbers or raises an error that names the entry `key`.

A matrix that is almost a rotation is replaced by the nearest rotation:

    A = R S                    polar decomposition: R is the nearest rotation to A
    R ← R + ½ R (1 - RᵀR)      Newton-Schulz iteration; converges quadratically from nearby

Zeros are preserved: they are restored after each step, which then halves the error. The result is the nearest rotation
with these zeros.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import ErrorWithFields, RobotError
from ..spatial import Matrix, Rotation, Scalar, add, is_zero, mul, sub
from .named_arrays import is_tracer, labels_of, reprs

LENGTH = "a length in m"
ANGLE_IN_WORDS = 'an angle in radians, or text such as "90 deg"'
ANGLE = re.compile(r"\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\s*(deg|rad)\s*")
TURNS = 4.0 * math.pi  # larger angles in a DH row are taken for degrees
UNIT = 1e-6  # tolerance of the length of an axis and of the defect of a rotation
ROUNDING = 1e-15  # axes this close to unit length are not normalized
TENSOR = 1e-9  # relative tolerance for symmetry, definiteness and the triangle inequality
ORTHOGONAL = 1e-15  # a defect of this size is rounding error
SLOWEST = 0.95  # the iteration stops if a step leaves more than this share of the defect
RESIDUE = 1e-14  # rounding residue of a zero, relative to the masses and lengths of the table
Rows = tuple[tuple[Scalar, ...], ...]  # of a matrix


class EntryError(ErrorWithFields, RobotError):
    """A wrong entry of a row. Callers add robot, file and line."""

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(f"{key} {problem}")
        self.key = key


def check_number(value: Any, key: str, expected: str = "a number") -> Scalar:
    """A Python float; symbols and multiprecision numbers are returned unchanged.

    Tensors become floats: they are mutable, and a robot would not carry their gradient.
    """
    if type(value) is float and math.isfinite(value):  # the common case
        return value
    if is_tracer(value) or getattr(value, "requires_grad", False) is True:
        what = "is traced by JAX" if is_tracer(value) else "requires a gradient"
        symbols = "lw.symbols() for a number to differentiate by, with lw.derivative or lw.jvp"
        raise EntryError(key, f"{what}, and a robot does not carry gradients (expected {expected}, or {symbols})")
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
    if not is_finite(value):
        raise EntryError(key, f"is {value} (expected a finite number)")
    return value


def shape_of(value: Any) -> tuple[int, ...]:
    """The shape of an array; () of numbers of any library."""
    shape = getattr(value, "shape", ())
    return tuple(shape) if isinstance(shape, tuple) else ()


def is_symbol(value: Scalar) -> bool:
    """Whether the value cannot become a float, such as a graph node."""
    try:
        float(value)
    except TypeError:
        return True
    return False


def is_finite(value: Scalar) -> bool:
    return is_symbol(value) or math.isfinite(float(value))


def check_length(value: Any, key: str) -> Scalar:
    return check_number(value, key, LENGTH)


def check_angle(value: Any, key: str) -> Scalar:
    if isinstance(value, str):
        match = ANGLE.fullmatch(value)
        if match is None:
            raise EntryError(key, f"is {value!r} (expected {ANGLE_IN_WORDS})")
        amount = float(match[1])
        return check_number(math.radians(amount) if match[2] == "deg" else amount, key, ANGLE_IN_WORDS)
    radians = check_number(value, key, ANGLE_IN_WORDS)
    if key in ("alpha", "theta") and not is_symbol(radians) and abs(radians) > TURNS:
        question = f'did you mean "{radians:g} deg"? (expected {ANGLE_IN_WORDS})'
        raise EntryError(key, f"is {radians:g} radians, over two turns; {question}")
    return radians


def check_not_negative(value: Any, key: str, slack: float = 0.0) -> Scalar:
    """A number of at least -slack."""
    value = check_number(value, key)
    if not is_symbol(value) and value < -slack:
        raise EntryError(key, f"is {value} (expected a number that is not negative)")
    return value


def check_any_sign(value: Any, key: str, slack: float = 0.0) -> Scalar:
    """A number, whatever its sign."""
    return check_number(value, key)


def check_positive(value: Any, key: str, slack: float = 0.0) -> Scalar:
    """A number above 0."""
    value = check_number(value, key)
    if not is_symbol(value) and value <= 0.0:
        raise EntryError(key, f"is {value} (expected a number above 0)")
    return value


def positive_part(value: Scalar) -> Scalar:
    """max(value, 0) for floats; other numbers unchanged."""
    return 0.0 if type(value) is float and value < 0.0 else value


def items_of(value: Any, count: int, key: str = "") -> list[Any] | None:
    """The `count` items of an ordered collection, otherwise None. Items with names are an error about `key`."""
    if type(value) in (tuple, list):  # the common case
        return list(value) if len(value) == count else None
    unordered = isinstance(value, (str, bytes, Mapping, Set))
    if unordered or not isinstance(value, Iterable) or getattr(value, "ndim", 1) == 0:
        return None
    labels = labels_of(value)
    if labels is not None and not key:
        return None
    if labels is not None:
        expected = "(expected numbers without names, in order: tuple() or .to_numpy())"
        raise EntryError(key, f"has names: {reprs(labels)} {expected}")
    items = list(value)
    return items if len(items) == count else None


def check_vector(value: Any, key: str) -> tuple[Scalar, Scalar, Scalar]:
    items = items_of(value, 3, key)
    if items is None:
        raise EntryError(key, f"is {value!r} (expected three numbers)")
    x, y, z = (check_number(item, f"{key}[{i}]") for i, item in enumerate(items))
    return x, y, z


def check_unit_vector(value: Any, key: str) -> tuple[tuple[Scalar, ...], float]:
    """A unit vector, and the distance of its original length from 1."""
    direction = check_vector(value, key)
    size = math.hypot(*map(float, direction))
    if abs(size - 1.0) > UNIT:
        raise EntryError(key, f"is {list(direction)}, of length {size:.6g} (expected a unit vector)")
    unit = tuple(x / size for x in direction) if abs(size - 1.0) > ROUNDING else direction
    return unit, abs(size - 1.0)


def check_matrix(value: Any, key: str) -> Rows:
    """A 3 x 3 matrix."""
    rows = items_of(value, 3, key)
    if rows is None or any(items_of(r, 3, key) is None for r in rows):
        raise EntryError(key, f"is {value!r} (expected a 3 x 3 matrix, as three rows of three numbers)")
    return tuple(tuple(check_number(x, f"{key}[{i}][{j}]") for j, x in enumerate(r)) for i, r in enumerate(rows))


def array_of(rows: Rows) -> np.ndarray:
    return np.array([[float(x) for x in r] for r in rows])


def check_rotation(value: Any, key: str) -> Rows:
    """A matrix that is a rotation within 1e-6, unchanged."""
    rows = check_matrix(value, key)
    m = array_of(rows)
    expected = "(expected a rotation: orthogonal, with determinant 1)"
    off = np.abs(m @ m.T - np.eye(3)).max() if np.abs(m).max() < 2.0 else math.inf
    if off > UNIT:
        far = f", off by {off:.1e}, more than {UNIT:g}" if off < 1e-2 else ""
        raise EntryError(key, f"is {m.tolist()}{far} {expected}")
    if np.linalg.det(m) < 0:
        raise EntryError(key, f"is {m.tolist()} {expected}")
    return rows


def nearest_rotation(matrix: Rotation) -> Rotation:
    """A rotation, orthogonal to rounding; entries within 1e-12 of 0, 1 or -1 become exact if possible."""
    snapped = matrix.snapped()
    if all(type(x) is float and x in (0.0, 1.0, -1.0) for row in snapped.rows for x in row):  # quarter turns
        return snapped
    rotation = polar_factor(snapped, [[not is_zero(x) for x in row] for row in snapped.rows])
    if defect(rotation) > 2.0 * ORTHOGONAL:  # no nearby rotation has these zeros
        rotation = polar_factor(matrix, [[True] * 3] * 3)
    return rotation


def polar_factor(matrix: Rotation, free: list[list[bool]]) -> Rotation:
    """The nearest rotation with zeros where `free` is False."""
    turn, error = matrix, defect(matrix)
    while error > ORTHOGONAL:
        step = turn @ (Rotation.identity() - turn.T @ turn)
        closer = Rotation(
            [
                [add(x, mul(0.5, dx)) if may else 0.0 for x, dx, may in zip(*lines, strict=True)]
                for lines in zip(turn.rows, step.rows, free, strict=True)
            ]
        )
        before, error = error, defect(closer)
        if not error < SLOWEST * before:
            break
        turn = closer
    return turn


def defect(turn: Matrix) -> float:
    """The largest entry of R Rᵀ - 1."""
    product = (turn @ turn.T).rows
    return max(abs(float(sub(product[i][j], float(i == j)))) for i in range(3) for j in range(3))


def distance(a: Rotation, b: Rotation) -> float:
    """The largest difference of entries."""
    pairs = zip(a.rows, b.rows, strict=True)
    return max(abs(float(x) - float(y)) for rows in pairs for x, y in zip(*rows, strict=True))


def check_tensor(value: Any, key: str, residue: float) -> Rows:
    """A symmetric tensor of finite numbers, or of symbols; `residue` is the rounding error of a zero entry in kg m2."""
    rows = check_matrix(value, key)
    if not any(is_symbol(x) for r in rows for x in r):
        m = array_of(rows)
        if np.abs(m - m.T).max() > TENSOR * np.abs(m).max() + residue:
            raise EntryError(key, f"is not symmetric: {m.tolist()}")
    return rows


INERTIA_HINT = (
    "it must be about the centre of mass: was it given about the joint, or with the signs of the products reversed?"
    ' With unphysical="warn" it is used as it is'
)


def inconsistency_of_inertia(rows: Rows, residue: float) -> str:
    """Why this inertia about the centre of mass is not physically consistent; "" if it is."""
    if any(is_symbol(x) for r in rows for x in r):
        return ""
    m = array_of(rows)
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
        return f"breaks the triangle inequality: principal moments {moments}"
    return ""


def friction_problems(drive: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Numbers of friction with which it would drive a joint, and why."""
    numbers = {key: x for key, x in drive.items() if not is_symbol(x)}
    level = numbers.get("coulomb_friction", math.nan)
    offset, at_rest = (numbers.get(key, math.nan) for key in ("coulomb_offset", "stribeck_friction"))
    if abs(offset) > level:
        yield (
            "coulomb_offset",
            f"is {offset}, and coulomb_friction {level} (expected at most that, in either direction)",
        )
    if at_rest < level:
        yield "stribeck_friction", f"is {at_rest}, and coulomb_friction {level} (expected at least that, or none)"
    if numbers.get("load_friction", 0.0) >= 1.0:
        yield "load_friction", f"is {numbers['load_friction']} (expected a share of the load, below 1)"


def check_limits(value: Any, key: str) -> tuple[float, float]:
    """The limits of travel of one coordinate."""
    pair = items_of(value, 2, key)
    expected = "[lower, upper] in radians or m"
    if pair is None:
        raise EntryError(key, f"is {value!r} (expected {expected})")
    lower, upper = (float(check_angle(x, key)) for x in pair)
    if lower > upper:
        raise EntryError(key, f"is [{lower}, {upper}] (expected {expected}, lower first)")
    return lower, upper
