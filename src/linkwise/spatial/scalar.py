"""Generic scalars: one arithmetic for floats, NumPy, torch and JAX arrays, mpmath numbers and graph nodes.

A scalar is anything that knows + - * / among its own kind and with Python floats. A *constant* is a Python float,
nothing else: the numbers of a robot are constants, the components of a state never are. Constants fold:

    0 + x = x      0 - x = -x      0 · x = 0      1 · x = x      -1 · x = -x

so a zero or a one in a robot's table costs nothing, whatever x is: no array is touched, no node is made. 0 · x = 0 also
where x is infinite or not a number; the public functions look for such states themselves.
"""

import math
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

Scalar: TypeAlias = Any
Scalars: TypeAlias = Sequence[Any]


def is_zero(x: Scalar) -> bool:
    """Whether it is the constant zero."""
    return type(x) is float and x == 0.0


def add(a: Scalar, b: Scalar) -> Scalar:
    if type(a) is float and a == 0.0:
        return b
    if type(b) is float and b == 0.0:
        return a
    return a + b


def sub(a: Scalar, b: Scalar) -> Scalar:
    if type(b) is float and b == 0.0:
        return a
    if type(a) is float and a == 0.0:
        return -b
    return a - b


def mul(a: Scalar, b: Scalar) -> Scalar:
    if type(a) is float:
        if a == 0.0:
            return 0.0
        if a == 1.0:
            return b
        if a == -1.0:
            return -b
    if type(b) is float:
        if b == 0.0:
            return 0.0
        if b == 1.0:
            return a
        if b == -1.0:
            return -a
    return a * b


def dot_product(left: Iterable[Scalar], right: Iterable[Scalar]) -> Scalar:
    """The sum of the products, in order, with constants folded."""
    total: Scalar = 0.0
    for a, b in zip(left, right, strict=True):
        total = add(total, mul(a, b))
    return total


def reciprocal(x: Scalar) -> Scalar:
    return 1.0 / x


def sin(x: Scalar) -> Scalar:
    return _function("sin", x)


def cos(x: Scalar) -> Scalar:
    return _function("cos", x)


def sqrt(x: Scalar) -> Scalar:
    return _function("sqrt", x)


def sign(x: Scalar) -> Scalar:
    """-1, 0 or 1."""
    return _function("sign", x)


TINY = 1e-36  # for x = √TINY, sin x rounds to x, also in single precision


def cos_and_sinc(square: Scalar) -> tuple[Scalar, Scalar]:
    """cos x and sin x / x for x = √square, with finite derivatives at 0.

    √(square + 1e-36) stands for x: nothing is divided by zero, and neither function sees the difference in double
    precision. Numbers of many digits do without.
    """
    if _is_object_array(square):
        return tuple(_frompyfunc(cos_and_sinc, 1, 2)(square))
    context = _mpmath_context_of(square)
    if context is not None:
        x = context.sqrt(square)
        return context.cos(x), context.sin(x) / x if x else context.one
    x = sqrt(add(square, TINY))
    return cos(x), sin(x) / x


HALVINGS, TERMS = 3, 9


def atan_quotient(slope: Scalar, square: Scalar) -> Scalar:
    """atan(slope x) / x for x = √square ≥ 0 and 0 ≤ slope x ≤ 1, smooth at x = 0; arithmetic and square roots alone.

        atan t = 2 atan(t / (1 + √(1 + t²))),    atan t = t - t³/3 + t⁵/5 - ...

    With t = slope x only slope and t² = slope² square are needed. Three halvings leave t < 0.0985, for which the ninth
    power of t² is below 1e-18. Numbers of many digits take their own arctangent.
    """
    if _is_object_array(square):
        return _frompyfunc(atan_quotient, 2, 1)(slope, square)
    context = _mpmath_context_of(square)
    if context is not None:
        x = context.sqrt(square)
        return context.atan(slope * x) / x if x else slope
    for _ in range(HALVINGS):
        slope = slope / (1.0 + sqrt(1.0 + slope * slope * square))
    t_square = slope * slope * square
    series: Scalar = 1.0 / (2 * TERMS - 1)
    for k in reversed(range(TERMS - 1)):
        series = 1.0 / (2 * k + 1) - t_square * series
    return 2.0**HALVINGS * slope * series


def _is_object_array(x: Scalar) -> bool:
    return hasattr(x, "dtype") and str(x.dtype) == "object"


def _mpmath_context_of(x: Scalar) -> Any:
    """The mpmath context of x; None if x is no mpmath number."""
    return x.context if type(x).__module__.partition(".")[0] == "mpmath" else None


def _function(name: str, x: Scalar) -> Scalar:
    """A function of x from the library that x comes from."""
    if type(x) in (float, int):
        return float((x > 0.0) - (x < 0.0)) if name == "sign" else getattr(math, name)(x)
    if _is_object_array(x):
        return _each(name, x)
    if hasattr(type(x), name):  # graph nodes and torch tensors carry their functions with them
        return getattr(x, name)()
    return getattr(_library_of(x), name)(x)


def _each(name: str, array: Any) -> Any:
    """A function of every element of an array of symbols or of many-digit numbers."""
    return _frompyfunc(lambda x: _function(name, x), 1, 1)(array)


def _frompyfunc(function: Any, inputs: int, outputs: int) -> Any:
    import numpy

    return numpy.frompyfunc(function, inputs, outputs)


def _library_of(x: Scalar) -> Any:
    package = type(x).__module__.partition(".")[0]
    if package == "mpmath":
        return x.context
    if package in ("jax", "jaxlib"):
        return sys.modules["jax.numpy"]
    if package in ("cupy", "sympy"):
        return sys.modules[package]
    import numpy

    return numpy
