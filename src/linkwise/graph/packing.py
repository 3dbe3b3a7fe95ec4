"""Results without what is known of them: elements that are zero, and elements that are equal to others."""

from __future__ import annotations

import numpy as np

from .program import Port, Program


def packed(program: Program, name: str) -> tuple[Program, tuple[np.ndarray, ...]]:
    """The program with one result, the values that can differ, each once; and where they are in each of its results.

    An element of a result is the value of that number, or 0 where it is -1.
    """
    wanted = {node.index for flat in program.results for node in flat if not (node.op == "const" and node.payload == 0)}
    values = tuple(node for node in program.nodes if node.index in wanted)
    number = {node.index: k for k, node in enumerate(values)}
    places = tuple(
        np.array([number.get(node.index, -1) for node in flat], np.int32).reshape(port.shape)
        for port, flat in zip(program.outputs, program.results, strict=True)
    )
    return Program(program.inputs, program.nodes, (Port(name, (len(values),)),), (values,)), places
