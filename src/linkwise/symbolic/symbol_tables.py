"""Symbols: named parameters of a robot in place of numbers; their expressions as sums of products, sorted by name.

    l1*(m2 + m1) - 0.5*l1*m1   ->   0.5*l1*m1 + l1*m2          sin(a)² = 1 - cos(a)²

Atoms of the polynomials are symbols, functions of expanded expressions, and sums in denominators.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from typing import Any

from ..graph import Graph, Node, rules
from ..graph.node import COMMUTATIVE
from ..graph.polynomial import ARITHMETIC, Algebra, Key, Number, Polynomial, constant_polynomial, power, size


class SymbolGraph(Graph):
    """The graph of all symbols of a process, so that any of them can be used in one robot.

    Copied and unpickled expressions become nodes of this graph: equal ones are the same node. They are pickled as a
    list of steps, without the other symbols.
    """

    def reduced(self, node: Node, protocol: Any) -> Any:
        needed, waiting = {node.index: node}, [node]
        while waiting:
            new = {a.index: a for a in waiting.pop().args if a.index not in needed}
            needed |= new
            waiting += new.values()
        order = sorted(needed)  # arguments come first
        place = {index: k for k, index in enumerate(order)}
        nodes = [needed[index] for index in order]
        return expression, ([(x.op, x.payload, [place[a.index] for a in x.args]) for x in nodes],)


def expression(steps: list[tuple[str, Any, list[int]]]) -> Node:
    """Rebuild an expression from its steps; each refers to earlier ones."""
    nodes: list[Node] = []
    for op, payload, places in steps:
        args = [nodes[k] for k in places]
        if op in COMMUTATIVE:  # in the order of this graph, which may be another
            args.sort(key=lambda x: x.index)
        nodes.append(_SHARED.make(op, *args, payload=payload))
    return nodes[-1]


_SHARED = SymbolGraph(scalar_inputs=True)


def symbols(names: str) -> Any:
    """Make symbols for the lengths, masses, inertias and gravity of a robot.

    Parameters
    ----------
    names : str
        Names with spaces or commas between them: Python identifiers.

    Returns
    -------
    Node or tuple of Node
        One symbol for one name; a tuple for several, and for one name with a comma after it.

    Examples
    --------
    >>> import linkwise as lw
    >>> g = lw.symbols("g")
    >>> l1, m1 = lw.symbols("l1 m1")
    >>> rod = {"joint": "revolute", "a": l1, "b": 0, "alpha": 0, "mass": m1, "com": (-0.5 * l1, 0, 0),
    ...        "inertia": [[0, 0, 0], [0, m1 * l1**2 / 12, 0], [0, 0, m1 * l1**2 / 12]]}
    >>> pendulum = lw.Robot.from_dh([rod], convention="standard", gravity=(0, -g, 0), name="pendulum")
    >>> [port.name for port in lw.trace(lw.inertia_matrix, pendulum).inputs]
    ['q', 'g', 'l1', 'm1']
    """
    if not isinstance(names, str):
        raise TypeError(f"the names of symbols are {names!r} (expected text, such as 'l1 m1')")
    groups = unicodedata.normalize("NFKC", names).split(",")  # as Python reads names
    all_names = [name for group in groups for name in group.split()]
    if not all_names:
        raise ValueError("no symbols are named (expected names with spaces between them, such as 'l1 m1')")
    if not all(group.split() for group in groups[:-1]):
        raise ValueError(f"a name is missing between the commas of {names!r}")
    for name in all_names:
        if not name.isidentifier():
            raise ValueError(f"the symbol {name!r} is not a name (expected letters, digits and underscores)")
        if name == "robot":
            raise ValueError(
                "the symbol 'robot' has the name of an argument of lw.bind and other functions (expected another name)"
            )
    nodes = tuple(_SHARED.input(name) for name in all_names)
    return nodes[0] if len(nodes) == 1 and len(groups) == 1 else nodes


def shared_graph() -> Graph:
    return _SHARED


class Collector(Algebra):
    """Expands expressions of one graph. Atoms are numbered; `names` and `nodes` describe them."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.nodes: list[Any] = []
        self._atoms: dict[str, int] = {}
        self._polynomials: dict[int, Polynomial] = {}  # of nodes, by index

    def __call__(self, x: Any) -> Any:
        """Expand an expression; a number stays one."""
        return float(x) + 0.0 if rules.is_number(x) else self.built(self.polynomial(x))

    def polynomial(self, x: Any) -> Polynomial:
        if rules.is_number(x):
            return constant_polynomial(float(x))
        if x.index not in self._polynomials:
            self._polynomials[x.index] = self._polynomial(x)
        return self._polynomials[x.index]

    def _polynomial(self, x: Node) -> Polynomial:
        if x.op == "const":
            return constant_polynomial(x.payload)
        if x.op == "input":
            return power(self.atom(str(x), x))
        parts = [self.polynomial(a) for a in x.args]
        if x.op in ARITHMETIC:
            return self.arithmetic(x.op, *parts)
        operands = [self.built(part) for part in parts]
        as_it_is = x.op in ("sin", "cos", "sqrt", "sign") and not rules.is_number(operands[0])
        value = rules.apply_function(x.op, operands[0]) if as_it_is else rules.OPERATIONS[x.op](*operands)
        if rules.is_number(value) or any(value is operand for operand in operands):
            return self.polynomial(value)
        inside = f"({', '.join(self.text(part, all_digits) for part in parts)})"
        atom = self.atom(f"{x.op}{inside}", value)
        if x.op == "sin":
            self.cosine[atom] = self.atom(f"cos{inside}", rules.cos(value.args[0]))
        return power(atom)

    def atom(self, name: str, node: Any) -> int:
        """The number of the atom with this name; a new one gets the next number."""
        if name not in self._atoms:
            self._atoms[name] = len(self.names)
            self.names.append(name)
            self.nodes.append(node)
        return self._atoms[name]

    def over(self, a: Polynomial, b: Polynomial) -> Polynomial:
        if len(b) != 1:
            return self.times(a, power(self.atom(f"({self.text(b, all_digits)})", self.built(b)), -1))
        ((key, factor),) = b.items()
        return self.times(a, {tuple((atom, -exponent) for atom, exponent in key): 1 / factor})

    def built(self, x: Polynomial) -> Any:
        """The polynomial as an expression, summed in pairs to keep it shallow."""
        terms = [self._built_term(product, factor) for product, factor in self.ordered(x)]
        while len(terms) > 1:
            pairs = zip(terms[::2], [*terms[1::2], 0.0], strict=False)
            terms = [rules.add(a, b) for a, b in pairs]
        return terms[0] if terms else 0.0

    def _built_term(self, key: Key, factor: Number) -> Any:
        value: Any = float(factor)
        for atom, exponent in key:
            value = rules.mul(value, rules.power(self.nodes[atom], max(exponent, 0)))
            for _ in range(-exponent):
                value = rules.div(value, self.nodes[atom])
        return value

    def ordered(self, x: Polynomial) -> list[tuple[Key, Number]]:
        """The terms and their factors, sorted by name."""

        def named(key: Key) -> list[tuple[str, int]]:
            return sorted((self.names[atom], exponent) for atom, exponent in key)

        terms = sorted((named(key), factor) for key, factor in x.items())
        return [(tuple((self._atoms[name], e) for name, e in key), factor) for key, factor in terms]

    def text(self, x: Polynomial, digits: Callable[[float], str]) -> str:
        """`0.5*l1*m1 - l1**2*m2`"""
        terms = []
        for key, factor in self.ordered(x):
            number = digits(size(factor))
            above = [power_text(self.names[atom], exponent) for atom, exponent in key if exponent > 0]
            below = [power_text(self.names[atom], -exponent) for atom, exponent in key if exponent < 0]
            terms.append((factor < 0, quotient_text(above if above and number == "1" else [number, *above], below)))
        return sum_text(terms)


def six_digits(x: float) -> str:
    return f"{x:.6g}"


def all_digits(x: float) -> str:
    """Format with all digits, for names of atoms, which must be unique."""
    return repr(x).removesuffix(".0")


def sum_text(terms: Iterable[tuple[bool, str]]) -> str:
    """`a - b + c` of terms, each with whether it is negative."""
    text = " ".join(f"{'-' if negative else '+'} {term}" for negative, term in terms)
    return text.replace("- ", "-", 1) if text.startswith("-") else text.removeprefix("+ ") or "0"


def quotient_text(above: list[str], below: list[str]) -> str:
    return "*".join(above or ["1"]) + "".join(f"/{factor}" for factor in below)


def power_text(text: str, exponent: int) -> str:
    return text if exponent == 1 else f"{text}**{exponent}"


def collected_text(x: Any) -> str:
    """An expression or a number as text, expanded."""
    collector = Collector()
    return collector.text(collector.polynomial(x), six_digits)
