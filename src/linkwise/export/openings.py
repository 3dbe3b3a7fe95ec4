"""Steps to states in which an operand affects a result.

An operand in a branch that is not taken, or behind an active limit, has no effect. Each choice between a node and a
result is a *gate*. It is open if the sign of its difference selects the operand that depends on the node. To first
order, a step solves for the tie of a choice and for open gates together, by the shortest change of the inputs.
Signs after a choice are gates too, in products such as x (1 - sign(|x| - 1)): they are kept as in a candidate in which
the choice matters.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..graph.sensitivity import JUMPS, Operand, Sensitivity

SIDES = {  # sign of the difference for which a choice selects each operand
    "min": {0: -1, 1: 1},
    "max": {0: 1, 1: -1},
    "select": {1: 1, 2: -1},
    "where_lt": {2: -1, 3: 1},
    "where_le": {2: -1, 3: 1},
    "where_eq": {2: 0},
}
TIED = 2  # in place of a side: at the tie
PATHS = 2  # results for each target: those behind the fewest gates
STARTS = 6  # candidates from which steps are made to each target
OPEN = (0.5, 2.0**-4)  # distance from its tie to which a gate is opened, relative to the smaller compared number
POWERS = (0.0, 2.0)  # the shortest step, and one that prefers inputs with small effects: rounding spoils it least
LEAST_GAIN = 2.0**-10  # relative to the largest effect
NEAR = 2.0**-8  # distance from a tie at which steps end, on both sides, likewise
TIE_WEIGHT = 16.0  # of the tie, where it contradicts open gates to first order
PASSES = 3  # each pass keeps open the gates that the one before would close


class Target(NamedTuple):
    """The choice whose tie to reach, if any; the gates: choices with the sides on which they are open."""

    tie: int | None
    gates: tuple[tuple[int, int], ...]


class Gates:
    """The choices between each node of a program and its results, by their rows among all choices."""

    def __init__(self, analysis: Sensitivity, visible: np.ndarray) -> None:
        program = analysis.program
        self.analysis, self.visible = analysis, visible  # where a choice matters: (choices, states)
        self.row = {node.index: row for row, node in enumerate(analysis.choices)}
        self.jumps = {row for row, node in enumerate(analysis.choices) if node.op in JUMPS}
        self.operands = [(row, k) for row, node in enumerate(analysis.choices) for k in SIDES.get(node.op, ())]
        self.bit = {(analysis.choices[row].index, k): 1 << n for n, (row, k) in enumerate(self.operands)}
        self.results = {node.index: 0 for node in program.nodes}  # bits: which results depend on each node
        self.after = dict(self.results)  # bits: which of `operands` depend on each node
        for n, node in enumerate(analysis.results):
            self.results[node.index] |= 1 << n
        for node in reversed(program.nodes):
            for k, x in enumerate(node.args):
                self.results[x.index] |= self.results[node.index]
                self.after[x.index] |= self.after_operand((node.index, k))
        zero = np.zeros_like(analysis.difference)
        inputs = [program.nodes[0].graph.input(port.name, k) for port in program.inputs for k in range(port.size)]
        self.gradient = np.array([analysis.gradient.get(node.index, zero) for node in inputs])
        sizes = [[analysis.magnitude(node) for node in pair] for pair in analysis.compared]
        self.scale = np.min(sizes, axis=1)

    def after_operand(self, operand: Operand) -> int:
        return self.after[operand[0]] | self.bit.get(operand, 0)

    def jumps_turned_by(self, operand: Operand) -> set[int]:
        """The jumps whose branch may change where an operand changes."""
        node, k = operand
        later = {int(row) - len(self.analysis.results) for row in self.analysis.rows.get(node, ())}
        compares = node in self.row and k < max(1, len(self.analysis.program.nodes[0].graph.nodes[node].args) - 2)
        return self.jumps & (later | ({self.row[node]} if compares else set()))

    def targets(self, node: int, after: int) -> list[Target]:
        """Where a node has an effect on results; `after` are the operands in `operands` on the way."""
        gate_sets: set[tuple[tuple[int, int], ...]] = set()
        operands = [operand for n, operand in enumerate(self.operands) if after >> n & 1]
        for result in range(self.results[node].bit_length()):
            if self.results[node] >> result & 1:
                sides: dict[int, set[int]] = {}
                for row, k in operands:
                    choice = self.analysis.choices[row]
                    if self.results[choice.index] >> result & 1:
                        sides.setdefault(row, set()).add(SIDES[choice.op][k])
                gate_sets.add(tuple((row, min(side)) for row, side in sides.items() if len(side) == 1))
        return [Target(None, gates) for gates in sorted(gate_sets, key=lambda x: (len(x), x))[:PATHS]]

    def at_tie(self, row: int) -> list[Target]:
        node = self.analysis.choices[row].index
        return [Target(row, gates) for _, gates in self.targets(node, self.after[node])]

    def on_side(self, row: int, side: int) -> list[Target]:
        """Where a continuous choice takes one side and matters: by itself, or at the tie of a later choice."""
        node = self.analysis.choices[row].index
        ways = self.targets(node, self.after[node])
        ways += [way for later in sorted(self.jumps_turned_by((node, 0))) for way in self.at_tie(later)]
        return [Target(tie, (*gates, (row, side))) for tie, gates in ways]

    def with_signs(self, target: Target) -> Target | None:
        """The target with all later signs as in the nearest candidate where its first choice matters.

        A limit may be a product of 1 ± sign(x), so that a sign is a gate, but selects no operand.
        """
        rows = {row for row in (target.tie, *(row for row, _ in target.gates)) if row is not None}
        first = min(rows, default=None)
        if first is None or not self.visible[first].any():
            return None
        later = [self.row[node.index] for node in self.analysis.after[first] if node.op == "sign"]
        later = [row for row in later if row not in rows]
        distance = np.where(self.visible[first], np.abs(self.analysis.difference[first]), np.inf)
        sides = np.nan_to_num(np.sign(self.analysis.difference[later, distance.argmin()])).astype(int).tolist()
        signs = tuple((row, side) for row, side in zip(later, sides, strict=True) if side)
        return Target(target.tie, (*target.gates, *signs)) if signs else None

    def steps(self, target: Target, states: np.ndarray, nth: int) -> list[np.ndarray]:
        """Steps from the nearest candidates: the first STARTS for `nth` 0, then the next."""
        rows, side = [row for row, _ in target.gates], [side for _, side in target.gates]
        ends, hidden = [0.0], np.zeros(len(states), dtype=bool)
        if target.tie is not None:
            rows, side, hidden = [*rows, target.tie], [*side, TIED], ~self.visible[target.tie]
            ends = [0.0] if self.analysis.choices[target.tie].op == "where_eq" else [-NEAR, NEAR]
        if not rows:
            return []
        d, scale, slope = (
            self.analysis.difference[rows].T,
            self.scale[rows].T,
            self.gradient[:, rows].transpose(2, 1, 0),
        )
        with np.errstate(all="ignore"):
            norm = np.sqrt((slope**2).sum(axis=2))
            away = np.sign(d) != side
            far = np.where(away, np.abs(d) / norm, 0.0).max(axis=1)
            far[~np.isfinite(far + norm.sum(axis=1))] = np.inf
        corners = np.array([self.analysis.choices[row].op == "abs" for row in rows])  # steps must not cross these
        if any(self.analysis.choices[row].op == "sign" for row, _ in target.gates):
            nth, hidden = 0, np.zeros(len(states), dtype=bool)  # steps from where those before ended
        start = np.lexsort((far, hidden, (away & corners).sum(axis=1)))[nth * STARTS :][:STARTS]
        start = start[far[start] < np.inf]
        d, scale, slope, norm = d[start], scale[start], slope[start], norm[start]
        weight = np.where(np.array(side) == TIED, TIE_WEIGHT, 1.0) / np.where(norm > 0.0, norm, 1.0)
        states_after = []
        gain = np.sqrt((slope**2).sum(axis=1, keepdims=True))  # of each input
        largest = gain.max(axis=2, keepdims=True)
        gain = np.maximum(gain / np.where(largest > 0.0, largest, 1.0), LEAST_GAIN)
        for beyond, power in zip(OPEN, POWERS, strict=True):
            metric = gain**-power
            for end in ends:
                goal = np.where(np.array(side) == TIED, end, beyond * np.array(side)) * scale
                open_gates = away[start]
                for _ in range(PASSES):
                    weights = open_gates * weight
                    scaled = np.linalg.pinv(slope * metric * weights[..., None]) @ (weights * (goal - d))[..., None]
                    step = metric.transpose(0, 2, 1) * scaled
                    open_gates = open_gates | (np.sign(d + (slope @ step)[..., 0]) != side)
                states_after += [*(states[start] + step[..., 0])]
        return states_after
