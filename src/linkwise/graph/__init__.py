"""Expressions as a graph of shared nodes: the rules that make them, their grammar, their meaning, their count."""

from .collect import Collector, written
from .count import Count, count
from .evaluate import MEANING, evaluate
from .grammar import LEGAL, GrammarError, check
from .node import Graph, Node
from .program import Port, Program
from .symbols import Transplant, symbols

__all__ = [
    "LEGAL",
    "MEANING",
    "Collector",
    "Count",
    "GrammarError",
    "Graph",
    "Node",
    "Port",
    "Program",
    "Transplant",
    "check",
    "count",
    "evaluate",
    "symbols",
    "written",
]
