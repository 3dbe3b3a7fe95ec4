"""A program: inputs, the nodes that matter in an order in which they can be computed, and outputs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .node import Graph, Node


@dataclass(frozen=True)
class Port:
    """A named array that goes in or comes out, with the shape it has for one state."""

    name: str
    shape: tuple[int, ...]
    quaternions: tuple[int, ...] = ()  # where quaternions begin: of an input that needs them to have a length

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class Program:
    """Straight-line code: `nodes` in order, each using earlier ones only.

    `results[k]` are the nodes of `outputs[k]`, row by row.
    """

    inputs: tuple[Port, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Port, ...]
    results: tuple[tuple[Node, ...], ...]

    @staticmethod
    def of(graph: Graph, inputs: Iterable[Port], outputs: Iterable[Port], values: Iterable[Sequence[Any]]) -> Program:
        """From the values of each output; numbers become constants, nodes that no output needs are left out."""
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
