"""Operation counts of programs, as in the tables of the literature."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import astuple, dataclass

from .grammar import LEGAL
from .node import Node
from .program import Program

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
