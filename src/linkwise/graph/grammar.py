"""Which programs are legal. `check` runs wherever a program has been made or changed."""

from __future__ import annotations

import math

from .node import Node
from .program import Program

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
