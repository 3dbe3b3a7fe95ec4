"""The folding rules: which node (or which plain number) an operation gives. There are no others, and no reassociation.

    constants   c1 ∘ c2 = the number                                                    (always a Python float)
    zero        x + 0 = x    x - 0 = x    0 - x = -x    0 · x = 0    0 / x = 0          (also where x is inf or NaN)
    one         1 · x = x    -1 · x = -x    x / 1 = x    x / -1 = -x
    negation    -(-x) = x    x + (-y) = x - y    (-x) + y = y - x    x - (-y) = x + y    (-x) - y = -(x + y)
                (-x) · y = -(x · y)    (-x) / y = -(x / y)    x / (-y) = -(x / y)
                sin(-x) = -sin x    cos(-x) = cos x    sign(-x) = -sign x
    signs       constants are stored positive: x + (-c) = x - c, x · (-c) = -(x · c), and so on
    same        x - x = 0    y - x = -(x - y) where x - y is there already
    order       the operands of + and · stand in the order in which they were made
    select      select(x, a, a) = a    select(c, a, b) = a where c ≥ 0, otherwise b
    powers      xᵏ, k = 0, 1, 2, ...: products by repeated squaring; k negative: 1 / x⁻ᵏ

select(x, a, b) is a where x ≥ 0 and b elsewhere, also where x is NaN: a comparison with NaN is false. The
branch that is not taken has no effect, finite or not.

All are exact in IEEE arithmetic up to the sign of zero, apart from 0 and x - x on infinite values and NaN.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .node import Node


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
        return commutative("add", a, a.graph.constant(b))
    if b.op == "neg":
        return sub(a, b.args[0])
    if a.op == "neg":
        return sub(b, a.args[0])
    return commutative("add", a, b)


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
        return commutative("mul", a, a.graph.constant(b))
    if b.op == "neg":
        return neg(mul(a, b.args[0]))
    return commutative("mul", a, b)


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
    return neg(sin(a.args[0])) if not is_number(a) and a.op == "neg" else function("sin", a)


def cos(a: Any) -> Any:
    return cos(a.args[0]) if not is_number(a) and a.op == "neg" else function("cos", a)


def sign(a: Any) -> Any:
    if is_number(a):
        return float((a > 0) - (a < 0))
    return neg(sign(a.args[0])) if a.op == "neg" else function("sign", a)


def function(name: str, a: Any) -> Any:
    if is_number(a):
        return getattr(math, name)(a)
    return a.graph.make(name, a)


def select(x: Any, a: Any, b: Any) -> Any:
    """a where x ≥ 0, otherwise b: a choice without branching. Numbers of many digits stay what they are."""
    if is_number(x):
        return a if x >= 0 else b
    if a is b or (is_number(a) and is_number(b) and a == b):
        return a
    return x.graph.make("select", x, x.graph.node(a), x.graph.node(b))


def power(a: Any, exponent: Any) -> Any:
    try:
        k = operator.index(exponent)
    except TypeError:
        raise TypeError(
            f"a node can be raised to a whole power only, not to {exponent!r}; use sqrt for roots"
        ) from None
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


def commutative(op: str, a: Node, b: Node) -> Node:
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
    "sqrt": lambda a: function("sqrt", a),
    "select": select,
}
