"""A function in O(log n) rounds as launches: programs over rows of numbers, and rows put in order between them.

The plan knows buffers by their numbers of rows; where they are, and what launches a program there, is the memory's
business. A chain needs no order: the pairs of a round lie one after another, and what they become does too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..graph import Program, count
from ..robot.contraction import Round
from ..trace.round_tracing import Rounds, RowContraction
from .host import HostTarget
from .interface import Interface, arguments
from .kernel import Kernel
from .loader import load_or_compile

Slice = tuple[int, int]  # a buffer, and its row where a program begins to read or write


class Launch(NamedTuple):
    """A program on so many rows."""

    program: Program
    rows: int
    arrays: tuple[Slice, ...]  # inputs, then outputs


class Order(NamedTuple):
    """Rows of a buffer, by their positions, to another."""

    source: int
    rows: np.ndarray
    target: Slice


class Plan:
    """Buffers and what is done with them, one after the other. `given` and `result` are the buffers of the arrays."""

    def __init__(self, rounds: Rounds, tree: Sequence[Round], names: Sequence[str]) -> None:
        self.shapes: list[tuple[int, int]] = []
        self.constants: dict[int, np.ndarray] = {}
        self.steps: list[Launch | Order] = []
        order = np.array([i for kind in rounds.kinds for i in kind], dtype=np.int64)  # of links, kind by kind
        self.n, self.given = len(order), {}
        tables = [self.constant(table) for table in rounds.tables]
        arrays = []
        for name, port in zip(names, rounds.phases[0][0].inputs[1:], strict=True):
            self.given[name] = self.buffer(self.n, port.size)
            arrays.append(self.ordered(self.given[name], order))
        ends: list[int] = []
        for phase, contraction in zip(rounds.phases, (*rounds.contractions, None), strict=True):
            out, start = self.buffer(self.n, phase[0].outputs[0].size), 0
            for program, kind, table in zip(phase, rounds.kinds, tables, strict=True):
                inputs = [(table, 0), *((buffer, start) for buffer in (*arrays, *ends))]
                self.steps.append(Launch(program, len(kind), (*inputs, (out, start))))
                start += len(kind)
            if contraction is not None:
                ends.append(self.contracted(contraction, tree, out, order))
        self.result = self.ordered(out, np.argsort(order))

    def buffer(self, rows: int, width: int) -> int:
        self.shapes.append((rows, width))
        return len(self.shapes) - 1

    def constant(self, rows: np.ndarray) -> int:
        self.constants[number := self.buffer(*rows.shape)] = rows
        return number

    def ordered(self, source: int, index: np.ndarray, extra: int = 0) -> int:
        """A buffer of these rows, with room for more; the same buffer where they are its first rows already."""
        rows, width = self.shapes[source]
        if not extra and len(index) <= rows and (index == np.arange(len(index))).all():
            return source
        target = self.buffer(len(index) + extra, width)
        self.steps.append(Order(source, index, (target, 0)))
        return target

    def contracted(self, how: RowContraction, tree: Sequence[Round], live: int, order: np.ndarray) -> int:
        """The buffer of the ends of all links."""
        undo: list[tuple[Program | None, tuple[Slice, ...], int, np.ndarray]] = []
        ids = order
        for merged, joined in tree:
            for pairs, program in ((merged, how.beside), (joined, how.series)):
                if pairs:
                    live, ids = self.joined(program, how, pairs, live, ids, undo)
        ends = self.constant(np.tile(how.base, (len(ids), 1)))
        for program, inputs, pairs, back in reversed(undo):
            rest = len(back) - 2 * pairs
            opened = self.buffer(len(back), len(how.base))
            self.steps.append(Launch(program, pairs, (*inputs, (ends, 0), (opened, 0))))
            if rest:
                self.steps.append(Order(ends, np.arange(pairs, pairs + rest), (opened, 2 * pairs)))
            ends = self.ordered(opened, back)
        return ends

    def joined(
        self, program: Program, how: RowContraction, pairs: Any, live: int, ids: np.ndarray, undo: list[Any]
    ) -> tuple[int, np.ndarray]:
        where = np.empty(self.n, dtype=np.int64)
        where[ids] = np.arange(len(ids))
        both = where[np.array(pairs)]
        alone = np.ones(len(ids), dtype=bool)
        alone[both] = False
        rest = np.flatnonzero(alone)
        m, seams = len(both), [self.buffer(len(both), port.size) for port in program.outputs[1:]]
        pair, out = self.ordered(live, both.ravel()), self.buffer(m + len(rest), program.outputs[0].size)
        self.steps.append(Launch(program, m, ((pair, 0), (out, 0), *((seam, 0) for seam in seams))))
        if len(rest):
            self.steps.append(Order(live, rest, (out, m)))
        back = np.argsort(np.concatenate([both.ravel(), rest]))
        inputs = ((pair, 0), *((seam, 0) for seam in seams)) if program is how.series else ()
        undo.append((how.between if program is how.series else how.apart, inputs, m, back))
        return out, np.concatenate([ids[both[:, 0]], ids[rest]])


class Memory(Protocol):
    """Where the buffers of a plan are."""

    def run(self, given: dict[str, np.ndarray]) -> np.ndarray:
        """The result of the plan for these arrays, a row for each link."""


class HostMemory:
    """Buffers and kernels of this machine."""

    def __init__(self, plan: Plan, target: HostTarget, dtype: str = "float64") -> None:
        self.plan = plan
        self.kernels: dict[int, Kernel] = {}  # by the programs' identities
        self.buffers = [np.zeros(shape, dtype) for shape in plan.shapes]
        for number, rows in plan.constants.items():
            self.buffers[number][...] = rows
        for step in plan.steps:
            if isinstance(step, Launch) and id(step.program) not in self.kernels:
                interface = interface_of(step.program, dtype)
                code = load_or_compile("rounds", target.text(step.program, interface), target)
                self.kernels[id(step.program)] = Kernel("rounds", code, interface)

    def run(self, given: dict[str, np.ndarray]) -> np.ndarray:
        for name, array in given.items():
            self.buffers[self.plan.given[name]][...] = array.reshape(self.plan.n, -1)
        for step in self.plan.steps:
            if isinstance(step, Order):
                target, row = step.target
                np.take(
                    self.buffers[step.source], step.rows, axis=0, out=self.buffers[target][row : row + len(step.rows)]
                )
            else:
                kernel = self.kernels[id(step.program)]
                rows = [self.buffers[buffer][row:] for buffer, row in step.arrays]
                inputs = len(step.program.inputs)
                kernel.run((step.rows,), rows[:inputs], rows[inputs:])
        return self.buffers[self.plan.result].copy()


def interface_of(program: Program, dtype: str) -> Interface:
    return Interface(arguments(program.inputs), arguments(program.outputs), dtype, count(program).total)
