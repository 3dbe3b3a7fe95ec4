"""Arrays of nodes, on which NumPy's functions work as on arrays of numbers: np.tanh(q), np.where(q > 0, a, b).

Object arrays of nodes support arithmetic. The functions for which NumPy compares elements (minimum, clip, sign, <) or
calls methods that plain numbers lack are implemented here, element by element.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import conditions, matrices, rules
from .conditions import Condition, as_number, comparison, is_truth


def clip(x: Any, low: Any, high: Any) -> Any:
    """Clip in NumPy's order: where low > high, the result is high."""
    least = x if low is None else rules.extreme("max", x, low)
    return least if high is None else rules.extreme("min", least, high)


def logical_or_numeric(on_truths: Callable[..., Any], on_others: Callable[..., Any]) -> Callable[..., Any]:
    """Dispatch: one function for conditions and truth values, another for other operands."""
    return lambda *xs: on_truths(*xs) if all(map(is_truth, xs)) else on_others(*xs)


def numeric(function: Callable[..., Any]) -> Callable[..., Any]:
    """An operation on numbers, for which a condition counts as 1 or 0."""
    return lambda *xs: function(*map(as_number, xs))


def compare_numbers(name: str, swapped: bool = False) -> Callable[[Any, Any], Any]:
    return numeric(lambda a, b: comparison(name, b, a) if swapped else comparison(name, a, b))


def as_condition(x: Any) -> Any:
    """A number as a condition: it is not zero."""
    return x if is_truth(x) else conditions.logical_not(comparison("where_eq", x, 0.0))


def add(a: Any, b: Any) -> Any:
    """NumPy's sum, which is the logical or of two truth values; `Condition` itself refuses it."""
    return conditions.logical_or(a, b) if is_truth(a) and is_truth(b) else as_number(a) + as_number(b)


def heaviside(x: Any, at_zero: Any) -> Any:
    """0 for x < 0, 1 for x > 0, `at_zero` at 0; NaN stays NaN."""
    rest = rules.where("where_eq", x, 0.0, at_zero, x)
    return rules.where("where_lt", x, 0.0, 0.0, rules.where("where_lt", 0.0, x, 1.0, rest))


def root_of_square(square: Any) -> Any:
    """The root of a sum of squares. Its slope at 0 is 0, as that of |x|; that of sqrt would be NaN."""
    return rules.where("where_eq", square, 0.0, 0.0, rules.OPERATIONS["sqrt"](square))


exp = rules.OPERATIONS["exp"]
FUNCTIONS_OF_ONE: dict[str, Callable[[Any], Any]] = {  # by NumPy's names
    **{name: rules.OPERATIONS[name] for name in ("sin", "cos", "sqrt", "sign")},
    **{name: rules.OPERATIONS[op] for op, name in rules.NUMPY_NAMES.items() if op not in ("atan2", "min", "max")},
    "fabs": rules.absolute,
    "tan": lambda x: rules.div(rules.sin(x), rules.cos(x)),
    "cosh": lambda x: rules.mul(0.5, rules.add(exp(x), exp(rules.neg(x)))),
    "sinh": lambda x: rules.mul(rules.OPERATIONS["tanh"](x), FUNCTIONS_OF_ONE["cosh"](x)),
    "exp2": lambda x: rules.power(2.0, x),
    "log2": lambda x: rules.div(rules.OPERATIONS["log"](x), np.log(2.0)),
    "log10": lambda x: rules.div(rules.OPERATIONS["log"](x), np.log(10.0)),
    "arctan": lambda x: rules.atan2(x, 1.0),
    **dict.fromkeys(("deg2rad", "radians"), lambda x: rules.mul(x, np.pi / 180.0)),
    **dict.fromkeys(("rad2deg", "degrees"), lambda x: rules.mul(x, 180.0 / np.pi)),
}
ELEMENTWISE: dict[str, tuple[int, Callable[..., Any]]] = {  # functions of NumPy, with their number of operands
    **{name: (1, numeric(function)) for name, function in FUNCTIONS_OF_ONE.items()},
    "real": (1, numeric(lambda x: x)),  # np.var calls it
    "add": (2, add),
    "arctan2": (2, numeric(rules.atan2)),
    "hypot": (2, numeric(lambda a, b: root_of_square(rules.add(rules.mul(a, a), rules.mul(b, b))))),
    "multiply": (2, logical_or_numeric(conditions.logical_and, numeric(operator.mul))),
    "subtract": (2, lambda a, b: a - b if is_truth(a) and is_truth(b) else as_number(a) - as_number(b)),
    "divide": (2, numeric(operator.truediv)),
    "power": (2, numeric(operator.pow)),
    "heaviside": (2, numeric(heaviside)),
    "minimum": (2, logical_or_numeric(conditions.logical_and, numeric(rules.OPERATIONS["min"]))),
    "maximum": (2, logical_or_numeric(conditions.logical_or, numeric(rules.OPERATIONS["max"]))),
    "clip": (3, numeric(clip)),
    "less": (2, compare_numbers("where_lt")),
    "less_equal": (2, compare_numbers("where_le")),
    "greater": (2, compare_numbers("where_lt", swapped=True)),
    "greater_equal": (2, compare_numbers("where_le", swapped=True)),
    "equal": (2, conditions.equal),
    "not_equal": (2, lambda a, b: conditions.logical_not(conditions.equal(a, b))),
    "logical_and": (2, lambda a, b: conditions.logical_and(as_condition(a), as_condition(b))),
    "logical_or": (2, lambda a, b: conditions.logical_or(as_condition(a), as_condition(b))),
    "logical_xor": (2, lambda a, b: conditions.logical_xor(as_condition(a), as_condition(b))),
    "logical_not": (1, lambda a: conditions.logical_not(as_condition(a))),
    "bitwise_and": (2, logical_or_numeric(conditions.logical_and, operator.and_)),
    "bitwise_or": (2, logical_or_numeric(conditions.logical_or, operator.or_)),
    "bitwise_xor": (2, logical_or_numeric(conditions.logical_xor, operator.xor)),
    "invert": (1, logical_or_numeric(conditions.logical_not, operator.invert)),
}
IDENTITIES = {np.add: 0.0, np.multiply: 1.0}
COMPARING_UFUNCS = (np.fmax, np.fmin)  # NumPy compares elements in these
UFUNCS = {name: np.frompyfunc(function, operands, 1) for name, (operands, function) in ELEMENTWISE.items()}


class TracedArray(np.ndarray):
    """An object array of nodes and plain numbers, or of conditions."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        return apply_ufunc(ufunc, method, *inputs, **keywords)

    def __array_function__(self, function: Any, types: Any, args: Any, keywords: Any) -> Any:
        return call_function(function, args, keywords)

    def astype(self, dtype: Any, *args: Any, **keywords: Any) -> Any:
        """Convert to float: conditions become 1 or 0, nodes stay."""
        if np.dtype(dtype) == np.float64:
            return traced_result(AS_NUMBERS(as_operand(self)))
        if np.dtype(dtype) != object:
            raise TypeError(f"astype({np.dtype(dtype)}) cannot be traced (expected float: no other rounding is known)")
        return super().astype(dtype, *args, **keywords)

    def std(self, *args: Any, **keywords: Any) -> Any:
        return std(self, *args, **keywords)

    def __getitem__(self, index: Any) -> Any:
        if is_mask(index):
            raise TypeError(
                "x[condition] cannot be traced: its number of elements is not known yet (expected np.where(condition,"
                " x, 0.0), or an assignment x[condition] = number)"
            )
        return super().__getitem__(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        """Assign; an index may be a condition: x[x > 1] = 1."""
        if not is_mask(index):
            super().__setitem__(index, value)
        elif np.ndim(as_operand(value)) or np.shape(index) != self.shape:
            raise TypeError(
                "x[condition] = values can be traced for a condition of the shape of x and one number (expected"
                " np.where(condition, values, x))"
            )
        else:
            self[...] = where(index, value, self)

    def __repr__(self) -> str:
        return repr(self.view(np.ndarray))


def as_traced(array: np.ndarray) -> np.ndarray:
    """The array, as a TracedArray if it has nodes."""
    return array.view(TracedArray) if any(is_traced(x) for x in array.flat) else array


def is_traced(x: Any) -> bool:
    return isinstance(x, Condition) or not rules.is_number(x)


def is_mask(index: Any) -> bool:
    """Whether an index has conditions."""
    return isinstance(index, Condition) or (
        isinstance(index, np.ndarray) and index.dtype == object and any(map(is_traced, index.flat))
    )


def all_truth_values(x: Any) -> bool:
    """Whether all elements are conditions or truth values."""
    return all(map(is_truth, np.ravel(x)))


def as_operand(x: Any) -> Any:
    """An operand for NumPy's own functions: TracedArrays as plain arrays, nodes as 0-d arrays."""
    if isinstance(x, TracedArray):
        return x.view(np.ndarray)
    if is_traced(x):
        box = np.empty((), dtype=object)
        box[()] = x
        return box
    return x


def traced_result(x: Any) -> Any:
    """An object array as a TracedArray; an array of known truth values with dtype bool."""
    if not isinstance(x, np.ndarray) or x.dtype != object:
        return x
    if x.size and all(isinstance(each, (bool, np.bool_)) for each in x.flat):
        return x.astype(bool)
    return x.view(TracedArray)


def apply_ufunc(ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
    """Apply a ufunc to nodes or arrays of nodes."""
    result = ufunc_result(ufunc, method, *inputs, **keywords)
    record = matrices.RECORDS.get(ufunc) if method == "__call__" and not keywords else None
    if record is None or not isinstance(result, np.ndarray) or result.ndim != 2:
        return result
    return traced_result(record(*(np.asarray(as_operand(x)) for x in (*inputs, result))))


def ufunc_result(ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
    implementation, operands = UFUNCS.get(ufunc.__name__, ufunc), list(map(as_operand, inputs))
    if "out" in keywords:
        keywords["out"] = tuple(map(as_operand, keywords["out"]))
    if keywords.get("dtype") is not None and asks_for_numbers(ufunc, np.dtype(keywords.pop("dtype"))):
        operands = [as_operand(AS_NUMBERS(x)) for x in operands]
    if keywords.get("where") is True:
        del keywords["where"]
    if "where" in keywords:
        check_where(ufunc, method, keywords)
        if method == "reduce" and ufunc in IDENTITIES:
            keywords.setdefault("initial", IDENTITIES[ufunc])
    if method != "__call__" and ufunc in (np.add, np.multiply):  # NumPy counts truth values
        implementation, operands[0] = ufunc, as_operand(AS_NUMBERS(operands[0]))
    if method != "__call__" and ufunc in (np.logical_and, np.logical_or):  # also of a single element
        operands[0] = as_operand(AS_CONDITIONS(operands[0]))
    if ufunc is np.matmul and method == "__call__":
        numbers = traced_result(np.matmul(*(as_operand(AS_NUMBERS(x)) for x in operands), **keywords))
        return traced_result(AS_CONDITIONS(as_operand(numbers))) if all(map(all_truth_values, operands)) else numbers
    if implementation is ufunc and (
        all("O" not in types for types in ufunc.types) or ufunc in COMPARING_UFUNCS
    ):  # it has no loop for objects
        node = next(x for operand in operands for x in np.asarray(operand).flat if is_traced(x))
        from .node import untraceable_error  # late: it imports this module

        raise untraceable_error(node, f"np.{ufunc.__name__}")
    if implementation is not ufunc and method == "reduce":
        return traced_result(reduce_axes(implementation, operands[0], **keywords))
    return traced_result(getattr(implementation, method)(*operands, **keywords))


def asks_for_numbers(ufunc: Any, dtype: np.dtype[Any]) -> bool:
    """Whether a result of this dtype has numbers, not truth values. Number types other than float are refused."""
    if dtype.kind == "O" or (dtype.kind == "b" and all(types[-1] in "?O" for types in ufunc.types)):
        return False  # np.any and np.all ask for truth values
    if dtype != np.float64:
        raise TypeError(
            f"dtype={dtype} of np.{ufunc.__name__} cannot be traced (expected float: no other rounding is known)"
        )
    return True


def check_where(ufunc: Any, method: str, keywords: dict[str, Any]) -> None:
    if isinstance(keywords["where"], (TracedArray, Condition)):
        raise TypeError(
            f"where= of np.{ufunc.__name__} cannot be traced (expected np.where(condition, x, 0.0) in its argument)"
        )
    if method == "__call__" and "out" not in keywords:
        raise TypeError(
            f"where= of np.{ufunc.__name__} without out= cannot be traced (expected np.where(condition, x, 0.0))"
        )


def reduce_axes(ufunc: Any, x: Any, axis: Any = 0, keepdims: bool = False, **keywords: Any) -> Any:
    """Reduce one axis after another: NumPy refuses several axes for ufuncs made by frompyfunc."""
    x = np.asarray(x)
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if len(axes) < 2 or keywords.keys() & {"out", "where"}:
        return ufunc.reduce(x, axis=axis, keepdims=keepdims, **keywords)
    sorted_axes = sorted({range(x.ndim)[k] for k in axes})
    for k in sorted_axes:
        x = ufunc.reduce(
            x, axis=k, keepdims=True, **(keywords if k == sorted_axes[-1] else {})
        )  # `initial` counts once
    return (
        x if keepdims else as_operand(x.reshape([size for k, size in enumerate(x.shape) if k not in sorted_axes]))[()]
    )


def call_function(function: Any, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """Call a function of NumPy that is no ufunc: from FUNCTIONS, or NumPy's own."""
    if function in FUNCTIONS:
        return FUNCTIONS[function](*args, **keywords)
    if function.__name__.startswith("nan"):
        raise TypeError(f"np.{function.__name__} cannot be traced (expected np.where(condition, x, 0.0))")
    args = tuple(traced_result(as_operand(x)) if is_traced(x) else x for x in args)
    return traced_result(NUMPY_DISPATCH(np.empty(0), function, (np.ndarray,), args, keywords))


def with_traced_results(function: Callable[..., Any]) -> Callable[..., Any]:
    def traced(*args: Any, **keywords: Any) -> Any:
        result = function(*args, **keywords)
        return tuple(map(traced_result, result)) if isinstance(result, tuple) else traced_result(result)

    return traced


def where(condition: Any, *choices: Any) -> Any:
    if len(choices) != 2:
        raise TypeError("np.where of one argument cannot be traced: the elements that it selects are not known yet")
    return traced_result(WHERE(*map(as_operand, (condition, *choices))))


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    if len(condlist) != len(choicelist):
        raise ValueError(f"np.select has {len(condlist)} conditions and {len(choicelist)} choices (expected as many)")
    result = default
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        result = where(condition, choice, result)
    return result


def clip_arrays(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, **bounds: Any) -> Any:
    low, high = bounds.get("min", a_min), bounds.get("max", a_max)
    if out is not None:
        raise TypeError("np.clip with out= cannot be traced")
    return traced_result(UFUNCS["clip"](*map(as_operand, (a, low, high))))


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """np.interp: the first value, plus the rise in each interval up to x."""
    if period is not None or any(is_traced(entry) for table in (xp, fp) for entry in np.ravel(as_operand(table))):
        raise TypeError(
            "np.interp can be traced only for a table of plain numbers, without period= (expected numbers in xp and fp)"
        )
    at, values = np.asarray(xp, dtype=float), np.asarray(fp, dtype=float)
    if at.ndim != 1 or at.shape != values.shape or not len(at) or not (np.diff(at) > 0.0).all():
        raise ValueError("np.interp has a table that cannot be traced (expected increasing xp and equally many fp)")
    result = values[0] + 0.0 * x
    for start, step, rise in zip(at, np.diff(at), np.diff(values), strict=False):
        result = result + (rise / step) * clip_arrays(x - start, 0.0, step)
    for beyond, value in ((x < at[0], left), (x > at[-1], right)):
        result = result if value is None else where(beyond, value, result)
    return result


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: A002  NumPy's name
    """np.linalg.norm of vectors; without `ord` also of a matrix, as one vector."""
    x = np.asanyarray(as_operand(x)).view(TracedArray)
    if all_truth_values(x):
        raise TypeError("np.linalg.norm of comparisons cannot be traced (expected astype(float))")
    if axis is None and ord is None:
        axis = tuple(range(x.ndim))
    axes = range(x.ndim) if axis is None else np.atleast_1d(axis)
    if ord not in (None, 1, 2, np.inf, -np.inf) or (ord is not None and len(axes) != 1):
        raise TypeError(f"np.linalg.norm with ord={ord!r} cannot be traced (expected 1, 2 or np.inf, of vectors)")
    if ord == 1:
        return np.abs(x).sum(axis=axis, keepdims=keepdims)
    if ord in (np.inf, -np.inf):
        return (np.max if ord > 0 else np.min)(np.abs(x), axis=axis, keepdims=keepdims)
    return traced_result(ROOT_OF_SQUARE(as_operand((x * x).sum(axis=axis, keepdims=keepdims))))


def std(x: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, **keywords: Any) -> Any:
    """The root of the variance. Where all elements are equal its slope is 0."""
    if out is not None:
        raise TypeError("np.std with out= cannot be traced")
    return traced_result(ROOT_OF_SQUARE(as_operand(np.var(x, axis=axis, dtype=dtype, ddof=ddof, **keywords))))


def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, **keywords: Any) -> Any:
    """np.average, also for traced weights: NumPy compares their sum with zero."""
    traced = any(map(is_traced, np.ravel(as_operand(weights))))
    if traced and (returned or np.shape(weights) != np.shape(a)):
        raise TypeError(
            "np.average with returned=True, or with weights of another shape, cannot be traced for weights that are not"
            " known yet (expected np.sum(a * weights) / np.sum(weights))"
        )
    if traced:
        return np.sum(a * weights, axis=axis, **keywords) / np.sum(weights, axis=axis, **keywords)
    keywords |= {"axis": axis, "weights": weights, "returned": returned}
    return traced_result(NUMPY_DISPATCH(np.empty(0), np.average, (np.ndarray,), (a,), keywords))


def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return np.sum(traced_result(AS_CONDITIONS(as_operand(a))), axis=axis, keepdims=keepdims)


def like_function(function: Any) -> Callable[..., Any]:
    """np.zeros_like and others; an error for conditions, for which NumPy would return truth values."""

    def create(a: Any, *args: Any, **keywords: Any) -> Any:
        if keywords.get("dtype") is None and all_truth_values(as_operand(a)):
            raise TypeError(f"np.{function.__name__} of comparisons cannot be traced (expected dtype=float)")
        return traced_result(NUMPY_DISPATCH(np.empty(0), function, (np.ndarray,), (a, *args), keywords))

    return create


ROOT_OF_SQUARE = np.frompyfunc(root_of_square, 1, 1)
NUMPY_DISPATCH: Any = np.ndarray.__array_function__
WHERE = np.frompyfunc(conditions.where, 3, 1)
AS_NUMBERS = np.frompyfunc(as_number, 1, 1)
AS_CONDITIONS = np.frompyfunc(as_condition, 1, 1)
FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.where: where,
    np.select: select,
    np.clip: clip_arrays,
    np.interp: interp,
    np.linalg.norm: norm,
    np.count_nonzero: count_nonzero,
    np.std: std,
    np.average: average,
    **{function: with_traced_results(implementation) for function, implementation in matrices.FUNCTIONS.items()},
    **{function: like_function(function) for function in (np.zeros_like, np.ones_like, np.full_like)},
}
