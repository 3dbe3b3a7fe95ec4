"""A program: inputs, nodes in order of computation, and outputs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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
