"""Nodes: scalars that record their operations. Equal expressions are the same node (hash-consing).

A node behaves as a number in + - * / and **. NumPy's functions accept it, as np.tanh(x): see `arrays`. A node has no
value, so a program cannot branch on it: a comparison gives a condition, for `np.where`. The folding rules are in
`rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from hashlib import sha256
from typing import Any, NoReturn

import numpy as np

from . import arrays, conditions, rules
from .text import PRINTED, infix

COMMUTATIVE = ("add", "mul")


TRACEABLE = (
    "+, -, *, /, ** with a number as the exponent; np.sin, cos, tan, tanh, sinh, cosh, exp, log, sqrt,"
    " arcsin, arccos, arctan, arctan2, abs, sign, minimum, maximum, clip, and np.where of comparisons;"
    " np.linalg.solve, inv, det, cholesky, lstsq and norm;"
    " sums, products and slices of arrays made of these, and the functions of Linkwise"
)


class UntraceableError(TypeError, AttributeError):
    """An operation that nodes lack. It is also an AttributeError, so that `hasattr` returns False."""


def untraceable_operation(what: str) -> Callable[..., NoReturn]:
    def method(self: Node, *_: Any) -> NoReturn:
        raise untraceable_error(self, what)

    return method


class Node:
    """An operation on earlier nodes, an input, or a constant."""

    __slots__ = ("args", "graph", "index", "op", "payload")

    def __init__(self, graph: Graph, index: int, op: str, args: tuple[Node, ...], payload: Any) -> None:
        self.graph, self.index, self.op, self.args, self.payload = graph, index, op, args, payload

    def __add__(self, other: Any) -> Any:
        return rules.add(self, other) if is_scalar(other) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return rules.add(other, self) if is_scalar(other) else NotImplemented

    def __sub__(self, other: Any) -> Any:
        return rules.sub(self, other) if is_scalar(other) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return rules.sub(other, self) if is_scalar(other) else NotImplemented

    def __mul__(self, other: Any) -> Any:
        return rules.mul(self, other) if is_scalar(other) else NotImplemented

    def __rmul__(self, other: Any) -> Any:
        return rules.mul(other, self) if is_scalar(other) else NotImplemented

    def __truediv__(self, other: Any) -> Any:
        return rules.div(self, other) if is_scalar(other) else NotImplemented

    def __rtruediv__(self, other: Any) -> Any:
        return rules.div(other, self) if is_scalar(other) else NotImplemented

    def __neg__(self) -> Any:
        return rules.neg(self)

    def __pos__(self) -> Node:
        return self

    def __pow__(self, exponent: Any) -> Any:
        return rules.power(self, exponent) if is_scalar(exponent) else NotImplemented

    def __rpow__(self, base: Any) -> Any:
        return rules.power(base, self) if is_scalar(base) else NotImplemented

    def sin(self) -> Any:
        return rules.sin(self)

    def cos(self) -> Any:
        return rules.cos(self)

    def sign(self) -> Any:
        return rules.sign(self)

    def sqrt(self) -> Any:
        return rules.apply_function("sqrt", self)

    def __abs__(self) -> Any:
        return rules.absolute(self)

    def exp(self) -> Any:
        return rules.apply_elementary("exp", self)

    def log(self) -> Any:
        return rules.apply_elementary("log", self)

    def tanh(self) -> Any:
        return rules.OPERATIONS["tanh"](self)

    def arcsin(self) -> Any:
        return rules.OPERATIONS["asin"](self)

    def arccos(self) -> Any:
        return rules.apply_elementary("acos", self)

    def arctan(self) -> Any:
        return rules.atan2(self, 1.0)

    def arctan2(self, other: Any) -> Any:
        return rules.atan2(self, other)

    def conjugate(self) -> Node:
        """The node itself, since it is real. np.var and np.linalg.norm call this."""
        return self

    def clip(self, low: Any = None, high: Any = None) -> Any:
        return arrays.clip(self, low, high)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        return arrays.apply_ufunc(ufunc, method, *inputs, **keywords)

    def __array_function__(self, function: Any, types: Any, args: Any, keywords: Any) -> Any:
        return arrays.call_function(function, args, keywords)

    @property
    def infix(self) -> str:
        """The expression, or the name of its operation where that would be long."""
        return infix(self)

    @property
    def fingerprint(self) -> str:
        """A hash of the expression: the same in every process and for every order in which nodes were made."""
        return self.graph.fingerprint(self)

    @property
    def symbol_names(self) -> set[str]:
        """The names of the inputs in the expression."""
        seen, waiting = {self.index}, [self]
        names = set()
        while waiting:
            node = waiting.pop()
            if node.op == "input":
                names.add(node.payload[0])
            waiting += (a for a in node.args if a.index not in seen)
            seen.update(a.index for a in node.args)
        return names

    def __getattr__(self, name: str) -> Any:
        """`np.cosh` of an object array calls `x.cosh`, `np.hypot(x, y)` calls `x.hypot`."""
        if name in arrays.FUNCTIONS_OF_ONE or name == "hypot":
            return partial(arrays.ELEMENTWISE[name][1], self)
        if name.startswith("_"):
            raise AttributeError(f"'Node' object has no attribute {name!r}")
        raise untraceable_error(self, f"{name!r} (np.{name}, or .{name} of a number)")

    def __hash__(self) -> int:
        return id(self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.graph.reduced(self, protocol)

    def __bool__(self) -> NoReturn:
        raise no_value_error(self, "be true or false")

    def __float__(self) -> NoReturn:
        raise no_value_error(self, "become a float")

    __int__ = untraceable_operation("int()")
    __index__ = untraceable_operation("its use as an index")
    __round__ = untraceable_operation("round()")
    __floor__ = untraceable_operation("math.floor()")
    __ceil__ = untraceable_operation("math.ceil()")
    __trunc__ = untraceable_operation("math.trunc()")
    __mod__ = __rmod__ = untraceable_operation("% (an angle is wrapped by np.arctan2(np.sin(x), np.cos(x)))")
    __floordiv__ = __rfloordiv__ = untraceable_operation("//")
    __divmod__ = __rdivmod__ = untraceable_operation("divmod()")

    def __lt__(self, other: Any) -> Any:
        return compare("where_lt", self, other)

    def __le__(self, other: Any) -> Any:
        return compare("where_le", self, other)

    def __gt__(self, other: Any) -> Any:
        return compare("where_lt", other, self)

    def __ge__(self, other: Any) -> Any:
        return compare("where_le", other, self)

    def __eq__(self, other: object) -> Any:
        return compare("where_eq", self, other)

    def __ne__(self, other: object) -> Any:
        condition = compare("where_eq", self, other)
        return condition if condition is NotImplemented else conditions.logical_not(condition)

    def __str__(self) -> str:
        return infix(self, PRINTED)

    def __repr__(self) -> str:
        readable = not self.args or self.graph.scalar_inputs  # users read expressions of their symbols
        return f"<{infix(self)}>" if readable else f"<{self.op} #{self.index}>"


class Graph:
    """Nodes in the order of creation, each expression once.

    Parameters
    ----------
    scalar_inputs : bool
        Inputs are single numbers, printed by name without a position.
    """

    def __init__(self, *, scalar_inputs: bool = False) -> None:
        self.scalar_inputs = scalar_inputs
        self.nodes: list[Node] = []
        self._known: dict[tuple[Any, ...], Node] = {}
        self._fingerprints: list[str] = []  # of the first nodes, computed on demand
        self.matrices: dict[Any, Any] = {}  # those that are positive definite by construction; see `matrices`
        self.solutions: dict[Any, Any] = {}  # X of A X = B with such an A: B, and the factors of A

    def make(self, op: str, *args: Node, payload: Any = None) -> Node:
        key = (op, payload, *(self.own(a).index for a in args))
        node = self._known.get(key)
        if node is None:
            node = self._known[key] = Node(self, len(self.nodes), op, args, payload)
            self.nodes.append(node)
        return node

    def find(self, op: str, *args: Node) -> Node | None:
        """The node of this operation, if it exists."""
        return self._known.get((op, None, *(a.index for a in args)))

    def constant(self, value: float) -> Node:
        return self.make("const", payload=float(value) + 0.0)  # -0.0 and 0.0 are one constant

    def input(self, name: str, position: int = 0) -> Node:
        return self.make("input", payload=(name, position))

    def node(self, value: Any) -> Node:
        """The value as a node: itself, or a constant."""
        return self.own(value) if isinstance(value, Node) else self.constant(value)

    def fingerprint(self, node: Node) -> str:
        """A hash of the expression; see `Node.fingerprint`. Arguments come before their operation."""
        for earlier in self.nodes[len(self._fingerprints) : self.own(node).index + 1]:
            payload = earlier.payload.hex() if earlier.op == "const" else repr(earlier.payload)
            args = [self._fingerprints[a.index] for a in earlier.args]
            if earlier.op in COMMUTATIVE:  # operands stand in the order of creation
                args.sort()
            text = " ".join((earlier.op, payload, *args))
            self._fingerprints.append(sha256(text.encode()).hexdigest())
        return self._fingerprints[node.index]

    def substitution(self, values: Mapping[str, float]) -> Callable[[Any], Any]:
        """A function that puts values for inputs into expressions of this graph and cancels terms."""
        from .passes import Transplant  # late: it imports this module

        return Transplant(self, values)

    def reduced(self, node: Node, protocol: Any) -> Any:
        """Pickle and copy a node with its graph."""
        return object.__reduce_ex__(node, protocol)

    def own(self, node: Node) -> Node:
        if node.graph is not self:
            raise ValueError(f"{node!r} is a node of another graph: trace the whole function at once")
        return node


def is_scalar(x: object) -> bool:
    return isinstance(x, (Node, float, int, np.floating, np.integer)) and not isinstance(x, bool)


def compare(name: str, x: Any, y: Any) -> Any:
    """A condition; arrays compare their elements themselves."""
    if isinstance(x, np.ndarray) or isinstance(y, np.ndarray):
        return NotImplemented
    for value, other in ((x, y), (y, x)):
        if not is_scalar(value):
            raise no_value_error(other, f"be compared with {value!r}")
    return conditions.comparison(name, x, y)


def untraceable_error(node: Node, what: str) -> UntraceableError:
    return UntraceableError(
        f"{what} cannot be traced: the node {node!r} stands for a number that is not known yet."
        f" What can be traced: {TRACEABLE}"
    )


def no_value_error(node: Node, action: str) -> TypeError:
    if action == "become a float":
        instead = (
            "write np.stack([...]) instead of assignments into np.zeros(n), np.sin instead of math.sin, and"
            " leave out float() and dtype=float"
        )
    else:
        instead = "write np.where(x > 0, a, b), or branch on the robot and on plain Python values"
    return TypeError(
        f"the node {infix(node)} stands for a number that is not known yet, so it cannot {action}: {instead}"
    )
