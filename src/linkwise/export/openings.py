"""Steps to states in which nothing hides what is to be tested.

What a limit holds, or a branch that is not taken, has no effect on a result. Each choice on the way from a node to a
result is a *gate*: it is open while the sign of its difference is that for which it takes what depends on the node. A
step solves, to first order, for the tie of a choice and for open gates together, by the shortest change of the inputs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..graph.sensitivity import JUMPS, Operand, Sensitivity

SIDES = {  # the sign of the difference for which a choice takes an operand
    "min": {0: -1, 1: 1},
    "max": {0: 1, 1: -1},
    "select": {1: 1, 2: -1},
    "where_lt": {2: -1, 3: 1},
    "where_le": {2: -1, 3: 1},
    "where_eq": {2: 0},
}
TIED = 2  # in place of a side: at the tie
PATHS = 2  # results for each target: those with the fewest gates on the way
STARTS = 6  # candidates from which steps are made to each target
OPEN = (0.5, 2.0**-4)  # how far from its tie a gate is opened, relative to the smaller of what it compares
NEAR = 2.0**-8  # how far from the tie of a choice steps end, on both sides, likewise
TIE_WEIGHT = 16.0  # where the tie and open gates contradict each other, to first order
PASSES = 3  # gates that a step would close are held open in the next one


class Target(NamedTuple):
    """The choice whose tie is to be met, if there is one; the gates: choices, with the sides on which they are open."""

    tie: int | None
    gates: tuple[tuple[int, int], ...]


class Gates:
    """The choices between each node of a program and its results. They are known by their rows among all choices."""

    def __init__(self, found: Sensitivity, visible: np.ndarray) -> None:
        program = found.program
        self.found, self.visible = found, visible  # where a choice matters: (choices, states)
        self.row = {node.index: row for row, node in enumerate(found.choices)}
        self.jumps = {row for row, node in enumerate(found.choices) if node.op in JUMPS}
        self.taken = [(row, k) for row, node in enumerate(found.choices) for k in SIDES.get(node.op, ())]
        self.bit = {(found.choices[row].index, k): 1 << n for n, (row, k) in enumerate(self.taken)}
        self.results = {node.index: 0 for node in program.nodes}  # bits: the results that depend on each node
        self.after = dict(self.results)  # bits: the operands in `taken` that depend on each node
        for n, node in enumerate(found.results):
            self.results[node.index] |= 1 << n
        for node in reversed(program.nodes):
            for k, x in enumerate(node.args):
                self.results[x.index] |= self.results[node.index]
                self.after[x.index] |= self.after_operand((node.index, k))
        zero = np.zeros_like(found.difference)
        inputs = [program.nodes[0].graph.input(port.name, k) for port in program.inputs for k in range(port.size)]
        self.gradient = np.array([found.gradient.get(node.index, zero) for node in inputs])
        sizes = [[found.magnitude(node) for node in pair] for pair in found.compared]
        self.scale = np.min(sizes, axis=1)

    def after_operand(self, operand: Operand) -> int:
        return self.after[operand[0]] | self.bit.get(operand, 0)

    def turned(self, operand: Operand) -> set[int]:
        """The jumps that may be made the other way where an operand is another number."""
        node, k = operand
        later = {int(row) - len(self.found.results) for row in self.found.rows.get(node, ())}
        compares = node in self.row and k < max(1, len(self.found.program.nodes[0].graph.nodes[node].args) - 2)
        return self.jumps & (later | ({self.row[node]} if compares else set()))

    def targets(self, node: int, after: int) -> list[Target]:
        """Where a node has an effect on results; `after` are the operands in `taken` on the way."""
        found: set[tuple[tuple[int, int], ...]] = set()
        taken = [operand for n, operand in enumerate(self.taken) if after >> n & 1]
        for result in range(self.results[node].bit_length()):
            if self.results[node] >> result & 1:
                sides: dict[int, set[int]] = {}
                for row, k in taken:
                    choice = self.found.choices[row]
                    if self.results[choice.index] >> result & 1:
                        sides.setdefault(row, set()).add(SIDES[choice.op][k])
                found.add(tuple((row, min(side)) for row, side in sides.items() if len(side) == 1))
        return [Target(None, gates) for gates in sorted(found, key=lambda x: (len(x), x))[:PATHS]]

    def at_tie(self, row: int) -> list[Target]:
        node = self.found.choices[row].index
        return [Target(row, gates) for _, gates in self.targets(node, self.after[node])]

    def on_side(self, row: int, side: int) -> list[Target]:
        """Where a choice that is no jump is made in one way, and matters: by itself, or at the tie of a later one."""
        node = self.found.choices[row].index
        ways = self.targets(node, self.after[node])
        ways += [way for later in sorted(self.turned((node, 0))) for way in self.at_tie(later)]
        return [Target(tie, (*gates, (row, side))) for tie, gates in ways]

    def steps(self, target: Target, states: np.ndarray, nth: int) -> list[np.ndarray]:
        """From the nearest candidates; `nth` says from which of them."""
        rows, side = [row for row, _ in target.gates], [side for _, side in target.gates]
        ends, hidden = [0.0], np.zeros(len(states), dtype=bool)
        if target.tie is not None:
            rows, side, hidden = [*rows, target.tie], [*side, TIED], ~self.visible[target.tie]
            ends = [0.0] if self.found.choices[target.tie].op == "where_eq" else [-NEAR, NEAR]
        if not rows:
            return []
        d, scale, slope = self.found.difference[rows].T, self.scale[rows].T, self.gradient[:, rows].transpose(2, 1, 0)
        with np.errstate(all="ignore"):
            norm = np.sqrt((slope**2).sum(axis=2))
            away = np.sign(d) != side
            far = np.where(away, np.abs(d) / norm, 0.0).max(axis=1)
            far[~np.isfinite(far + norm.sum(axis=1))] = np.inf
        corners = np.array([self.found.choices[row].op == "abs" for row in rows])  # no step is to cross these
        start = np.lexsort((far, hidden, (away & corners).sum(axis=1)))[nth * STARTS :][:STARTS]
        start = start[far[start] < np.inf]
        d, scale, slope, norm = d[start], scale[start], slope[start], norm[start]
        weight = np.where(np.array(side) == TIED, TIE_WEIGHT, 1.0) / np.where(norm > 0.0, norm, 1.0)
        moved = []
        for beyond in OPEN:
            for end in ends:
                goal = np.where(np.array(side) == TIED, end, beyond * np.array(side)) * scale
                held = away[start]
                for _ in range(PASSES):
                    own = held * weight
                    step = np.linalg.pinv(slope * own[..., None]) @ (own * (goal - d))[..., None]
                    held = held | (np.sign(d + (slope @ step)[..., 0]) != side)
                moved += [*(states[start] + step[..., 0])]
        return moved
