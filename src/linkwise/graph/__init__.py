"""Expressions as a graph of shared nodes: folding rules, grammar, interpreter, operation count."""

from .arrays import TracedArray, as_traced
from .evaluation import MEANING, evaluate
from .node import Graph, Node
from .program import LEGAL, Count, GrammarError, Port, Program, check, count

__all__ = [
    "LEGAL",
    "MEANING",
    "Count",
    "GrammarError",
    "Graph",
    "Node",
    "Port",
    "Program",
    "TracedArray",
    "as_traced",
    "check",
    "count",
    "evaluate",
]


def __dir__() -> list[str]:
    return __all__  # without the submodules
