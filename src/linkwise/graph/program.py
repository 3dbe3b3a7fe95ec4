"""A program: inputs, nodes in order of computation, and outputs; which programs are legal; operation counts, as in
the tables of the literature."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from typing import Any

from .node import Graph, Node


@dataclass(frozen=True)
class Port:
    """A named input or output array of a program.

    Attributes
    ----------
    name : str
    shape : tuple of int
        Its shape for one state.
    quaternions : tuple of int
        Positions in an input where quaternions begin, which must not be zero.
    """

    name: str
    shape: tuple[int, ...]
    quaternions: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class Program:
    """Straight-line code.

    Attributes
    ----------
    inputs, outputs : tuple of Port
    nodes : tuple of Node
        Each uses earlier ones only.
    results : tuple of tuples of Node
        `results[k]` are the nodes of `outputs[k]`, row by row.
    """

    inputs: tuple[Port, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Port, ...]
    results: tuple[tuple[Node, ...], ...]

    @property
    def depth(self) -> int:
        """The length of the longest chain of dependent operations.

        As in `Count`, changes of sign are free.
        """
        depths: dict[int, int] = {}
        for node in self.nodes:
            before = max((depths[argument.index] for argument in node.args), default=0)
            depths[node.index] = before + (bool(node.args) and node.op != "neg")
        return max((depths[node.index] for flat in self.results for node in flat), default=0)

    @staticmethod
    def of(graph: Graph, inputs: Iterable[Port], outputs: Iterable[Port], values: Iterable[Sequence[Any]]) -> Program:
        """The program of some values. Unused nodes are left out.

        Parameters
        ----------
        graph : Graph
        inputs, outputs : iterable of Port
        values : iterable of sequences
            Nodes and numbers of each output, row by row; numbers become constants.
        """
        results = tuple(tuple(graph.node(v) for v in flat) for flat in values)
        needed: set[int] = set()
        waiting = [node for flat in results for node in flat]
        while waiting:
            node = waiting.pop()
            if node.index not in needed:
                needed.add(node.index)
                waiting.extend(node.args)
        nodes = tuple(graph.nodes[i] for i in sorted(needed))
        return Program(tuple(inputs), nodes, tuple(outputs), results)


LEGAL = {  # how many operands each operation takes
    "const": 0,
    "input": 0,
    "neg": 1,
    "sin": 1,
    "cos": 1,
    "sign": 1,
    "sqrt": 1,
    "abs": 1,
    "exp": 1,
    "log": 1,
    "tanh": 1,
    "asin": 1,
    "acos": 1,
    "add": 2,
    "sub": 2,
    "mul": 2,
    "div": 2,
    "atan2": 2,
    "min": 2,
    "max": 2,
    "select": 3,
    "where_lt": 4,
    "where_le": 4,
    "where_eq": 4,
}


class GrammarError(ValueError):
    """A program breaks the grammar: a bug in the code that built it, not in the user's function."""


def check(program: Program) -> Program:
    """The program itself, if it is legal.

    Known operations, operands made earlier, inputs declared, constants finite and folded.
    """
    sizes = {port.name: port.size for port in program.inputs}
    seen: dict[int, Node] = {}
    for node in program.nodes:
        if node.op not in LEGAL:
            raise GrammarError(f"unknown operation {node.op!r}")
        if len(node.args) != LEGAL[node.op]:
            raise GrammarError(f"{node.op} takes {LEGAL[node.op]} operands, not {len(node.args)}")
        if any(seen.get(a.index) is not a for a in node.args):
            raise GrammarError(f"{node!r} uses a node that comes later or is missing")
        if node.op == "input":
            name, position = node.payload
            if not 0 <= position < sizes.get(name, 0):
                raise GrammarError(f"{node!r} is not among the inputs {program.inputs}")
        if node.op == "const" and not math.isfinite(node.payload):
            raise GrammarError(
                f"the constant {node.payload} is not finite (expected finite numbers in what is traced; bounds of"
                " np.clip may be infinite)"
            )
        if LEGAL[node.op] and all(a.op == "const" for a in node.args):
            raise GrammarError(f"{node!r} has constant operands only and should have been folded")
        seen[node.index] = node
    if len(program.outputs) != len(program.results):
        raise GrammarError(f"{len(program.outputs)} outputs are declared and {len(program.results)} are computed")
    for port, result in zip(program.outputs, program.results, strict=True):
        if len(result) != port.size:
            raise GrammarError(f"output {port.name!r} of shape {port.shape} has {len(result)} results")
        if any(seen.get(node.index) is not node for node in result):
            raise GrammarError(f"output {port.name!r} needs a node that the program does not compute")
    return program


ARITHMETIC = ("const", "input", "neg", "add", "sub", "mul", "div")
FUNCTIONS = tuple(op for op in LEGAL if op not in ARITHMETIC)


@dataclass(frozen=True)
class Count:
    """The operations of a program.

    Attributes
    ----------
    multiplications, divisions : int
    additions : int
        Additions and subtractions.
    functions : int
        Sines, cosines, square roots and other functions, and choices between two values.
    negations : int
        Changes of sign, which `total` excludes, as in the literature.
    """

    multiplications: int
    additions: int
    divisions: int
    functions: int
    negations: int

    @property
    def total(self) -> int:
        return self.multiplications + self.additions + self.divisions + self.functions

    def __add__(self, other: Count) -> Count:
        return Count(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def __mul__(self, times: int) -> Count:
        return Count(*(a * times for a in astuple(self)))

    def __str__(self) -> str:
        numbers = {name: getattr(self, f"{name}s") for name in ("multiplication", "addition", "division", "function")}
        return ", ".join(f"{n} {name}{'s' * (n != 1)}" for name, n in numbers.items())

    def _repr_html_(self) -> str:
        names = ("multiplications", "additions", "divisions", "functions", "negations")
        head = "".join(f"<th>{name}</th>" for name in names)
        row = "".join(f"<td>{getattr(self, name)}</td>" for name in names)
        return f"<table><tr>{head}</tr><tr>{row}</tr></table>"


def count(program: Program) -> Count:
    """Count the operations of a program."""
    return count_nodes(program.nodes)


def count_nodes(nodes: Iterable[Node]) -> Count:
    ops = Counter(node.op for node in nodes)
    return Count(
        multiplications=ops["mul"],
        additions=ops["add"] + ops["sub"],
        divisions=ops["div"],
        functions=sum(ops[name] for name in FUNCTIONS),
        negations=ops["neg"],
    )
