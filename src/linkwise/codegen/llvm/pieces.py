"""Very long programs in pieces: functions of a few thousand operations each, which hand values on in memory.

LLVM takes longer for an operation the longer the function is in which it stands: in pieces a program of 30,000
operations compiles in less than half the time, and it runs faster. What a piece computes and a later one needs goes to
%work, as the results do; a value is loaded where a piece first needs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...graph import Node, Program

LONG = 12_000  # operations: more than that are written in pieces
PIECE = 1_500


class Pieces:
    """The nodes of a program in pieces, and the slots in %work: of results first, then of what is handed on."""

    def __init__(self, program: Program, results: dict[int, int]) -> None:
        computed = [node for node in program.nodes if node.op not in ("input", "const")]
        self.parts = [computed[k : k + PIECE] for k in range(0, len(computed), PIECE)]
        self.first = [node for node in program.nodes if node.op == "input"]
        constants = [node for node in program.nodes if node.op == "const" and node.index in results]
        self.given = [*self.first, *constants]  # that no piece computes
        where = {node.index: k for k, part in enumerate(self.parts) for node in part}
        self.slots = dict(results)
        next_slot = len(results) + 1  # after the results comes their sum
        for k, part in enumerate(self.parts):
            for x in operands(part):
                if x.op != "const" and x.index not in self.slots and where.get(x.index) != k:
                    self.slots[x.index] = next_slot
                    next_slot += 1
        self.vectors = next_slot


def operands(nodes: Sequence[Node]) -> Iterable[Node]:
    return (x for node in nodes for x in node.args)


def is_long(program: Program) -> bool:
    return len(program.nodes) > LONG
