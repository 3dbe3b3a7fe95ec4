"""The folding rules: the node or plain number of an operation. There are no others, and no reassociation.

    constants   c1 ∘ c2 = the number                                                    (always a Python float)
    zero        x + 0 = x    x - 0 = x    0 - x = -x    0 · x = 0    0 / x = 0          (also where x is inf or NaN)
    one         1 · x = x    -1 · x = -x    x / 1 = x    x / -1 = -x
    negation    -(-x) = x    x + (-y) = x - y    (-x) + y = y - x    x - (-y) = x + y    (-x) - y = -(x + y)
                (-x) · y = -(x · y)    (-x) / y = -(x / y)    x / (-y) = -(x / y)
                sin(-x) = -sin x    cos(-x) = cos x    sign(-x) = -sign x    |-x| = |x|
                tanh(-x) = -tanh x    asin(-x) = -asin x    atan2(-y, x) = -atan2(y, x)
    signs       constants are stored positive: x + (-c) = x - c, x · (-c) = -(x · c), and so on
    same        x - x = 0    y - x = -(x - y) where x - y exists already
    order       the operands of + and · stand in the order of creation
    select      select(x, a, a) = a    select(c, a, b) = a where c ≥ 0, otherwise b
    where       where(x < y, a, a) = a    where(c < d, a, b) = a or b    where(x ≥ 0, a, b) = select(x, a, b)
    extremes    min(x, x) = x    min(x, inf) = x    max(x, -inf) = x
    powers      xᵏ, k = 0, 1, 2, ...: products by repeated squaring; k negative: 1 / x⁻ᵏ
                k = m + ½: xᵐ √x; other k: exp(k log x), NaN for x < 0 as in NumPy; where k > 1, where(x = 0, 0, xᵏ),
                without which the slope at 0 would be NaN. cˣ = exp(x log c) for a number c > 0

select(x, a, b) is a where x ≥ 0 and b elsewhere, also where x is NaN: a comparison with NaN is false. where_lt,
where_le and where_eq of (x, y, a, b) are a where x < y, x ≤ y or x = y, and b elsewhere. The branch that is not taken
has no effect, finite or not. min and max are NaN where an operand is.

All are exact in IEEE arithmetic up to the sign of zero, apart from 0 and x - x on infinite values and NaN.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .node import Node

NUMPY_NAMES = {  # of operations that NumPy has
    "abs": "absolute",
    "exp": "exp",
    "log": "log",
    "tanh": "tanh",
    "asin": "arcsin",
    "acos": "arccos",
    "atan2": "arctan2",
    "min": "minimum",
    "max": "maximum",
}
COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "where_lt": operator.lt,
    "where_le": operator.le,
    "where_eq": operator.eq,
}


def is_number(x: Any) -> bool:
    return not hasattr(x, "graph")


def add(a: Any, b: Any) -> Any:
    if is_number(a):
        if is_number(b):
            return float(a) + float(b)
        a, b = b, a
    if is_number(b):
        b = float(b)
        if b == 0.0:
            return a
        if b < 0.0:
            return sub(a, -b)
        if a.op == "neg":
            return sub(b, a.args[0])
        return make_commutative("add", a, a.graph.constant(b))
    if b.op == "neg":
        return sub(a, b.args[0])
    if a.op == "neg":
        return sub(b, a.args[0])
    return make_commutative("add", a, b)


def sub(a: Any, b: Any) -> Any:
    if is_number(a) and is_number(b):
        return float(a) - float(b)
    if a is b:
        return 0.0
    if is_number(b):
        b = float(b)
        if b == 0.0:
            return a
        if b < 0.0:
            return add(a, -b)
        b = a.graph.constant(b)
    elif b.op == "neg":
        return add(a, b.args[0])
    if is_number(a):
        a = float(a)
        if a == 0.0:
            return neg(b)
        if a < 0.0:
            return neg(add(b, -a))
        a = b.graph.constant(a)
    elif a.op == "neg":
        return neg(add(a.args[0], b.payload if b.op == "const" else b))
    opposite = a.graph.find("sub", b, a)
    return a.graph.make("sub", a, b) if opposite is None else neg(opposite)


def mul(a: Any, b: Any) -> Any:
    if is_number(a):
        if is_number(b):
            return float(a) * float(b)
        a, b = b, a
    if a.op == "neg":
        return neg(mul(a.args[0], b))
    if is_number(b):
        b = float(b)
        if b == 0.0:
            return 0.0
        if b < 0.0:
            return neg(mul(a, -b))
        if b == 1.0:
            return a
        return make_commutative("mul", a, a.graph.constant(b))
    if b.op == "neg":
        return neg(mul(a, b.args[0]))
    return make_commutative("mul", a, b)


def div(a: Any, b: Any) -> Any:
    if is_number(a) and is_number(b):
        return float(a) / float(b)
    if is_number(b):
        b = float(b)
        if b == 0.0:
            raise ZeroDivisionError(f"{a!r} is divided by the constant 0")
        if b < 0.0:
            return neg(div(a, -b))
        if b == 1.0:
            return a
        b = a.graph.constant(b)
    elif b.op == "neg":
        return neg(div(a, b.args[0]))
    if is_number(a):
        a = float(a)
        if a == 0.0:
            return 0.0
        if a < 0.0:
            return neg(div(-a, b))
        a = b.graph.constant(a)
    elif a.op == "neg":
        return neg(div(a.args[0], b.payload if b.op == "const" else b))
    return a.graph.make("div", a, b)


def neg(a: Any) -> Any:
    if is_number(a):
        return -float(a)
    return a.args[0] if a.op == "neg" else a.graph.make("neg", a)


def sin(a: Any) -> Any:
    return neg(sin(a.args[0])) if not is_number(a) and a.op == "neg" else apply_function("sin", a)


def cos(a: Any) -> Any:
    return cos(a.args[0]) if not is_number(a) and a.op == "neg" else apply_function("cos", a)


def sign(a: Any) -> Any:
    if is_number(a):
        return float((a > 0) - (a < 0))
    return neg(sign(a.args[0])) if a.op == "neg" else apply_function("sign", a)


def apply_function(name: str, a: Any) -> Any:
    if is_number(a):
        return getattr(math, name)(a)
    return a.graph.make(name, a)


def select(x: Any, a: Any, b: Any) -> Any:
    """a where x ≥ 0, otherwise b, without branching. Operands of extended precision keep their type."""
    if is_number(x):
        return a if x >= 0 else b
    if a is b or (is_number(a) and is_number(b) and a == b):
        return a
    return x.graph.make("select", x, x.graph.node(a), x.graph.node(b))


def odd_function(name: str) -> Callable[[Any], Any]:
    def rule(a: Any) -> Any:
        return neg(rule(a.args[0])) if not is_number(a) and a.op == "neg" else apply_elementary(name, a)

    return rule


def apply_elementary(name: str, *operands: Any) -> Any:
    """A function that NumPy has too. Of numbers it is NumPy's result, also where that is infinite or NaN."""
    if all(map(is_number, operands)):
        with np.errstate(all="ignore"):
            return float(getattr(np, NUMPY_NAMES[name])(*map(float, operands)))
    graph = next(x.graph for x in operands if not is_number(x))
    return graph.make(name, *map(graph.node, operands))


def absolute(a: Any) -> Any:
    return absolute(a.args[0]) if not is_number(a) and a.op == "neg" else apply_elementary("abs", a)


def atan2(y: Any, x: Any) -> Any:
    if not is_number(x) and ((is_number(y) and y < 0.0) or (not is_number(y) and y.op == "neg")):
        return neg(atan2(neg(y), x))
    return apply_elementary("atan2", y, x)


def extreme(name: str, a: Any, b: Any) -> Any:
    """min or max; of equal operands the first."""
    idle = math.inf if name == "min" else -math.inf
    if a is b or (is_number(b) and b == idle):
        return a
    return b if is_number(a) and a == idle else apply_elementary(name, a, b)


def where(name: str, x: Any, y: Any, a: Any, b: Any) -> Any:
    """a where x < y, x ≤ y or x = y, otherwise b: `name` is where_lt, where_le or where_eq."""
    if is_number(x) and is_number(y):
        return a if COMPARED[name](x, y) else b
    if a is b or (is_number(a) and is_number(b) and a == b):
        return a
    if name == "where_le" and is_number(x) and x == 0.0:
        return select(y, a, b)
    graph = (y if is_number(x) else x).graph
    return graph.make(name, *map(graph.node, (x, y, a, b)))


def power(a: Any, exponent: Any) -> Any:
    if not is_number(exponent):
        if is_number(a) and float(a) > 0.0:
            return apply_elementary("exp", mul(exponent, math.log(a)))
        raise TypeError(
            f"{'a number' if is_number(a) else 'a node'} cannot be raised to a power that is not known yet (expected a"
            " number as the exponent, or a positive number as the base: write np.exp(y * np.log(x)) for x > 0)"
        )
    if float(exponent) % 1.0:
        return fractional_power(a, float(exponent))
    k = int(exponent)
    if k < 0:
        return div(1.0, power(a, -k))
    result: Any = 1.0
    while k:
        if k & 1:
            result = mul(result, a)
        k >>= 1
        if k:
            a = mul(a, a)
    return result


def fractional_power(a: Any, k: float) -> Any:
    if k < 0.0:
        return div(1.0, fractional_power(a, -k))
    halves = 2.0 * k
    if halves.is_integer():
        result = mul(power(a, int(k)), apply_function("sqrt", a))
    else:
        result = apply_elementary("exp", mul(apply_elementary("log", a), k))
    return where("where_eq", a, 0.0, 0.0, result) if k > 1.0 else result


def make_commutative(op: str, a: Node, b: Node) -> Node:
    return a.graph.make(op, a, b) if a.index <= b.index else a.graph.make(op, b, a)


OPERATIONS: dict[str, Callable[..., Any]] = {
    "neg": neg,
    "add": add,
    "sub": sub,
    "mul": mul,
    "div": div,
    "sin": sin,
    "cos": cos,
    "sign": sign,
    "sqrt": lambda a: apply_function("sqrt", a),
    "select": select,
    "abs": absolute,
    "exp": partial(apply_elementary, "exp"),
    "log": partial(apply_elementary, "log"),
    "tanh": odd_function("tanh"),
    "asin": odd_function("asin"),
    "acos": partial(apply_elementary, "acos"),
    "atan2": atan2,
    "min": partial(extreme, "min"),
    "max": partial(extreme, "max"),
    "where_lt": partial(where, "where_lt"),
    "where_le": partial(where, "where_le"),
    "where_eq": partial(where, "where_eq"),
}
