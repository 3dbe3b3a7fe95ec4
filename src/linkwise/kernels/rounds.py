"""A function in O(log n) rounds: launches of programs over rows of numbers, and gathers of rows between them; kernels
of it for one state of a very long robot.

A plan numbers its buffers; a memory allocates them and launches the programs. A chain needs no gathers: the pairs of a
round are contiguous, and so are their results.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..graph import Count, Graph, Port, Program, count
from ..lazy import cached_property
from ..robot import Robot
from ..robot.walk import Round
from ..tracing.loop_tracing import NotRollableError
from ..tracing.round_tracing import Rounds, RowContraction, trace_rounds
from ..tracing.tracing import function_name
from .interface import Argument, Interface, Links, arguments
from .llvm import load_or_compile
from .sources import plain_of
from .spec import ROUNDS, KernelSpec, constant_arrays, inputs_of, needs_link_rows
from .target import BatchFunction, CodeTarget, Target

Slice = tuple[int, int]  # a buffer, and its row where a program begins to read or write


class Launch(NamedTuple):
    """A program on `rows` rows."""

    program: Program
    rows: int
    arrays: tuple[Slice, ...]  # inputs, then outputs


class Order(NamedTuple):
    """A gather: the rows at these positions of a buffer, copied to another."""

    source: int
    rows: np.ndarray
    target: Slice


class Plan:
    """Buffers and the steps over them, in order. `given` and `result` are the buffers of inputs and result."""

    def __init__(self, rounds: Rounds, tree: Sequence[Round]) -> None:
        self.shapes: list[tuple[int, int]] = []
        self.constants: dict[int, np.ndarray] = {}
        self.steps: list[Launch | Order] = []
        order = np.array([i for kind in rounds.kinds for i in kind], dtype=np.int64)  # of links, kind by kind
        self.n = len(order)
        tables = [self.constant(table) for table in rounds.tables]
        self.given = [self.buffer(self.n, port.size) for port in rounds.phases[0][0].inputs[1:]]
        arrays = [self.gather_rows(buffer, order) for buffer in self.given]
        ends: list[int] = []
        for phase, contraction in zip(rounds.phases, (*rounds.contractions, None), strict=True):
            out, start = self.buffer(self.n, phase[0].outputs[0].size), 0
            for program, kind, table in zip(phase, rounds.kinds, tables, strict=True):
                inputs = [(table, 0), *((buffer, start) for buffer in (*arrays, *ends))]
                self.steps.append(Launch(program, len(kind), (*inputs, (out, start))))
                start += len(kind)
            if contraction is not None:
                ends.append(self.add_contraction(contraction, tree, out, order))
        self.result = self.of_one_state(self.gather_rows(out, np.argsort(order)), self.roots)

    def of_one_state(self, result: int, roots: np.ndarray) -> int:
        """The result, all NaN if any branch of the base has a non-finite number.

        Within a branch NaN spreads by itself, since programs give NaN for rows with a non-finite number.
        """
        if len(roots) == 1:
            return result
        width = self.shapes[result][1]
        first, rows, count = first_of_two(width), self.gather_rows(result, roots), len(roots)
        while count > 1:
            half = (count + 1) // 2  # an odd row in the middle counts twice
            out = self.buffer(half, width)
            self.steps.append(Launch(first, half, ((rows, 0), (rows, count - half), (out, 0))))
            rows, count = out, half
        checked, everywhere = self.buffer(self.n, width), self.gather_rows(rows, np.zeros(self.n, dtype=np.int64))
        self.steps.append(Launch(first, self.n, ((result, 0), (everywhere, 0), (checked, 0))))
        return checked

    def buffer(self, rows: int, width: int) -> int:
        self.shapes.append((rows, width))
        return len(self.shapes) - 1

    def constant(self, rows: np.ndarray) -> int:
        self.constants[number := self.buffer(*rows.shape)] = rows
        return number

    def gather_rows(self, source: int, index: np.ndarray, extra: int = 0) -> int:
        """A buffer of these rows, with `extra` spare rows; the same buffer if these are already its first rows."""
        rows, width = self.shapes[source]
        if not extra and len(index) <= rows and (index == np.arange(len(index))).all():
            return source
        target = self.buffer(len(index) + extra, width)
        self.steps.append(Order(source, index, (target, 0)))
        return target

    def add_contraction(self, how: RowContraction, tree: Sequence[Round], live: int, order: np.ndarray) -> int:
        """Add the rounds of a contraction; the buffer of the ends of all links."""
        undo: list[tuple[Program | None, tuple[Slice, ...], int, np.ndarray]] = []
        ids = order
        for merged, joined in tree:
            for pairs, program in ((merged, how.beside), (joined, how.series)):
                if pairs:
                    live, ids = self.add_round(program, how, pairs, live, ids, undo)
        self.roots = ids
        ends = self.constant(np.tile(how.base, (len(ids), 1)))
        for program, inputs, pairs, back in reversed(undo):
            rest = len(back) - 2 * pairs
            opened = self.buffer(len(back), len(how.base))
            self.steps.append(Launch(program, pairs, (*inputs, (ends, 0), (opened, 0))))
            if rest:
                self.steps.append(Order(ends, np.arange(pairs, pairs + rest), (opened, 2 * pairs)))
            ends = self.gather_rows(opened, back)
        return ends

    def add_round(
        self, program: Program, how: RowContraction, pairs: Any, live: int, ids: np.ndarray, undo: list[Any]
    ) -> tuple[int, np.ndarray]:
        where = np.empty(self.n, dtype=np.int64)
        where[ids] = np.arange(len(ids))
        both = where[np.array(pairs)]
        alone = np.ones(len(ids), dtype=bool)
        alone[both] = False
        rest = np.flatnonzero(alone)
        m, seams = len(both), [self.buffer(len(both), port.size) for port in program.outputs[1:]]
        pair, out = self.gather_rows(live, both.ravel()), self.buffer(m + len(rest), program.outputs[0].size)
        self.steps.append(Launch(program, m, ((pair, 0), (out, 0), *((seam, 0) for seam in seams))))
        if len(rest):
            self.steps.append(Order(live, rest, (out, m)))
        back = np.argsort(np.concatenate([both.ravel(), rest]))
        inputs = ((pair, 0), *((seam, 0) for seam in seams)) if program is how.series else ()
        undo.append((how.between if program is how.series else how.apart, inputs, m, back))
        return out, np.concatenate([ids[both[:, 0]], ids[rest]])


def first_of_two(width: int) -> Program:
    """The first of two rows; NaN if either has a non-finite number, as in all programs."""
    graph, shape = Graph(), (width,)
    row = [graph.input("one", k) for k in range(width)]
    return Program.of(graph, [Port("one", shape), Port("other", shape)], [Port("out", shape)], [row])


class Codes:
    """The distinct programs of a plan, compiled for a target."""

    def __init__(self, plan: Plan, target: CodeTarget[Any], dtype: str) -> None:
        self.target, self.dtype, self.from_cache = target, dtype, True
        self.texts: list[str] = []
        self._compiled: dict[int, tuple[Any, Interface]] = {}  # by the programs' identities
        for step in plan.steps:
            if isinstance(step, Launch) and id(step.program) not in self._compiled:
                interface = interface_of(step.program, dtype)
                self.texts.append(target.text(step.program, interface))
                code = load_or_compile("rounds", self.texts[-1], target)
                self._compiled[id(step.program)] = code, interface
                self.from_cache = self.from_cache and code.from_cache

    def __getitem__(self, program: Program) -> tuple[Any, Interface]:
        return self._compiled[id(program)]

    def __iter__(self) -> Iterator[Any]:
        return (code for code, _ in self._compiled.values())


class HostMemory:
    """The buffers of a plan in the host's memory, and its steps."""

    def __init__(self, plan: Plan, codes: Codes) -> None:
        self.plan = plan
        self.buffers = [np.zeros(shape, codes.dtype) for shape in plan.shapes]
        for number, rows in plan.constants.items():
            self.buffers[number][...] = rows
        self.steps = [
            self._order(step) if isinstance(step, Order) else self._launch(step, codes) for step in plan.steps
        ]

    def run(self, given: Sequence[np.ndarray]) -> np.ndarray:
        """The result for the arrays of one state, a row per link, valid until the next run."""
        for buffer, array in zip(self.plan.given, given, strict=True):
            self.buffers[buffer][...] = array.reshape(self.plan.n, -1)
        for step in self.steps:
            step()
        return self.buffers[self.plan.result]

    def _order(self, step: Order) -> Callable[[], Any]:
        target, row = step.target
        out = self.buffers[target][row : row + len(step.rows)]
        return partial(np.take, self.buffers[step.source], step.rows, axis=0, out=out)

    def _launch(self, step: Launch, codes: Codes) -> Callable[[], Any]:
        code, interface = codes[step.program]
        arrays = [self.buffers[buffer][row:] for buffer, row in step.arrays]
        return partial(codes.target.call(code, interface), 0, step.rows, arrays)


def interface_of(program: Program, dtype: str) -> Interface:
    return Interface(arguments(program.inputs), arguments(program.outputs), dtype, count(program).total)


class RoundSpec(KernelSpec):
    """A function, a robot and options, to be compiled as rounds."""

    straight = False

    @cached_property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        """The inputs, with their shapes for one link."""
        shapes = inputs_of(self.function, self.keywords)
        return {name: () if shape is None else shape[1:] for name, shape in shapes.items()}

    @cached_property
    def rounds(self) -> Rounds:
        options = {name: value for name, value in self.keywords.items() if name not in self.arrays}
        try:
            return trace_rounds(plain_of(self.function), self.robot, self.arrays, **options)
        except NotRollableError as error:
            raise ValueError(
                f"{function_name(self.function)} of robot {self.robot.name!r} has no form in rounds: {error}"
            ) from None

    @cached_property
    def plan(self) -> Plan:
        return Plan(self.rounds, self.robot.contraction)

    @cached_property
    def count(self) -> Count:
        """Operations of all links."""
        counts: dict[int, Count] = {}
        total = Count(0, 0, 0, 0, 0)
        for step in self.plan.steps:
            if isinstance(step, Launch):
                total += counts.setdefault(id(step.program), count(step.program)) * step.rows
        return total

    @cached_property
    def interface(self) -> Interface:
        n, result = self.robot.n, self.rounds.phases[-1][0].outputs[0].size
        inputs = tuple(Argument(name, (n, *shape)) for name, shape in self.arrays.items())
        output = Argument(function_name(self.function), (n,) if result == 1 else (n, result))
        return Interface(inputs, (output,), self.dtype, self.count.total)

    @cached_property
    def text(self) -> str:
        """The LLVM assembly of all programs, one after the other."""
        return "\n".join(self.code.codes.texts)

    @cached_property
    def identity(self) -> None:
        return None  # the texts do not depend on the number of links

    def load(self, metadata: Callable[[], dict[str, str]]) -> RoundCode:
        return self.code

    @cached_property
    def code(self) -> RoundCode:
        """The code, compiled or from the cache."""
        return self.target.rounds(self)


def rounds_for(
    function: Callable[..., Any],
    robot: Robot,
    dtype: str,
    keywords: dict[str, Any],
    passes: tuple[str, ...],
    target: Target | None,
) -> RoundSpec:
    """The spec; a ValueError where there are no rounds."""
    if target is not None and target.rounds_beyond is None:
        raise ValueError("this target takes no rounds (expected target 'cuda' or 'cpu')")
    why = refusal(function, robot, keywords, passes)
    if why:
        raise ValueError(f"{function_name(function)} of robot {robot.name!r} has no form in rounds: {why}")
    return RoundSpec(function, robot, dtype, keywords, target=target)


def refusal(function: Callable[..., Any], robot: Robot, keywords: dict[str, Any], passes: Sequence[str]) -> str:
    """Why a function has no rounds; empty if it may have them."""
    if robot.couplings:
        return f"joint {robot.links[robot.couplings[0].link].name!r} is coupled"
    method = keywords.get("method", ROUNDS)
    if method != ROUNDS:
        return f"its method is {method!r} (expected {ROUNDS!r}, which forward_dynamics has)"
    if needs_link_rows(robot):
        joint = next(joint for joint in robot.moving if joint.kind.degrees > 1)
        return f"joint {joint.joint!r} has {joint.kind.degrees} degrees of freedom"
    for name in constant_arrays(keywords):
        return f"{name} is constant (expected an input: {name}=lw.Input(...), numbers of every link)"
    if robot.non_floats or not robot.n:
        return "it has numbers that are no floats" if robot.n else "it has no joints"
    if passes:
        return "passes are for straight-line code"
    for name, shape in inputs_of(function, keywords).items():
        if shape is not None and shape[:1] != (robot.n,):
            return f"{name} has shape {shape} (expected an entry for each link, ({robot.n}, ...))"
    if not getattr(keywords.get("friction"), "uniform", True):
        return "friction has numbers for each joint"  # the tables of the kinds of links have no columns for them
    return ""


class RoundCode:
    """The loaded programs of the rounds of a robot. It is its own target."""

    entered_from_python = False
    binary = b""  # the programs are cached one by one

    def __init__(self, plan: Plan, codes: Codes) -> None:
        self.plan, self.codes = plan, codes
        self.from_cache, self.metadata = codes.from_cache, dict[str, str]()

    @property
    def target(self) -> RoundCode:
        return self

    def call(self, code: RoundCode, interface: Interface, links: Links | None = None) -> Callable[..., Any]:
        raise NotImplementedError


class HostRounds(RoundCode):
    """Rounds on the host, one state after the other: the reference for other machines."""

    def __init__(self, spec: RoundSpec) -> None:
        super().__init__(spec.plan, Codes(spec.plan, spec.target, spec.dtype))
        self.memory, self.lock = HostMemory(self.plan, self.codes), threading.Lock()

    def call(self, code: RoundCode, interface: Interface, links: Links | None = None) -> BatchFunction:
        sizes = [argument.size for argument in (*interface.inputs, *interface.outputs)]

        def run(begin: int, end: int, arrays: Sequence[np.ndarray]) -> int:
            *inputs, result = (array.reshape(-1, size) for array, size in zip(arrays, sizes, strict=True))
            non_finite = 0
            with self.lock:
                for k in range(begin, end):
                    result[k] = self.memory.run([array[k] for array in inputs]).reshape(-1)
                    finite = np.isfinite(result[k]).all() or not all(np.isfinite(array[k]).all() for array in inputs)
                    non_finite += not finite
            return non_finite

        return run
