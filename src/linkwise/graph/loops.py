"""Programs for any number of links: loops over the links, with a body for every kind of link.

A recursion from base to tip (or back) carries values from link to link. Its body is traced once for each kind of link,
over nodes for the carried values, the link's numbers and its inputs. All loops are traced in one graph, so that a node
may use what an earlier loop computed for the same link. The schedule decides in which loop each node is computed, and
which values are stored per link for a later loop:

    nodes that need carried values     in the last loop whose carried values they need
    sines and cosines of inputs        in a first loop, which carries nothing
    other nodes                        in every loop that needs them, from the inputs and numbers of the link

Stored values have slots, per link. A slot is reused after its last load, so that long robots need less memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .node import Node
from .program import Count, Port, count_nodes

WAVES = ("sin", "cos")
UNASSIGNED = -1
GRAVITY = "gravity"  # input of three numbers that all links share, where gravity is no constant


class Recursion(NamedTuple):
    """A loop as it was traced; `carried[j]` is `start[j]` at first, and `passed[kind][j]` after a link of that kind."""

    outward: bool
    carried: tuple[Node, ...]
    start: tuple[float | Node | None, ...]  # None: no start value; a node: of gravity
    passed: tuple[tuple[Node | None, ...], ...]


@dataclass
class Body:
    """The body of a loop for one kind of link: it loads from slots, computes, then stores to slots.

    Keys are indices of nodes.
    """

    nodes: tuple[Node, ...]
    passed: tuple[Node, ...]
    loads: dict[int, int]  # from which slot
    stores: dict[int, int]  # to which slot
    inputs: dict[int, int] = field(default_factory=dict)  # position among the link's inputs
    numbers: dict[int, int] = field(default_factory=dict)  # column in the table of the link's numbers
    results: tuple[int, ...] = ()


@dataclass
class Loop:
    outward: bool
    carried: tuple[Node, ...]
    start: tuple[float | Node, ...]
    bodies: tuple[Body, ...]


@dataclass(frozen=True)
class LoopProgram:
    """Loops in order; the last one computes the outputs.

    Ports have the shape they have for one link. Inputs are nodes ("input", (name, kind · size + position)), numbers of
    the links ("input", (table, column)), gravity ("input", (GRAVITY, component)). Of the table of a kind,
    `columns[kind]` are needed, in that order.
    """

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    columns: tuple[tuple[int, ...], ...]
    loops: tuple[Loop, ...]
    slots: int  # numbers of a link that are stored at a time


class Schedule:
    """Decides, from the last loop to the first, which nodes each body computes, loads and stores."""

    def __init__(self, recursions: Sequence[Recursion], results: Sequence[Sequence[Node]]) -> None:
        self.recursions, self.kinds = recursions, range(len(results))
        carriers = {node.index: s for s, r in enumerate(recursions) for node in r.carried}
        nodes = results[0][0].graph.nodes
        self.level: list[int] = []  # for each node: the last loop whose carried values it needs, or -1
        for node in nodes:
            below = max((self.level[a.index] for a in node.args), default=-1)
            self.level.append(carriers.get(node.index, below))
        count = len(recursions)
        self.roots: list[list[dict[int, Node]]] = [[{} for _ in self.kinds] for _ in range(count)]
        for kind in self.kinds:
            self.roots[-1][kind] = {node.index: node for node in results[kind]}

    def loop_of(self, node: Node) -> int:
        """The loop that computes a node; -1: every loop that needs it."""
        if node.op in WAVES and self.level[node.index] < 0:
            return 0
        return self.level[node.index]

    def loops(self) -> list[Loop]:
        last_first = [self.loop(s) for s in reversed(range(len(self.recursions)))]
        return list(reversed(last_first))

    def loop(self, s: int) -> Loop:
        recursion = self.recursions[s]
        live: dict[int, Node] = {}  # carried values that are used
        stored = [dict(self.roots[s][kind]) for kind in self.kinds]
        while True:
            reached = [self.reach(s, self.roots[s][kind].values()) for kind in self.kinds]
            new = {
                j: c for j, c in enumerate(recursion.carried) if any(c.index in r for r in reached) and j not in live
            }
            if not new:
                break
            live.update(new)
            for j in new:
                for kind in self.kinds:
                    node = recursion.passed[kind][j]
                    if node is None or recursion.start[j] is None:
                        raise ValueError("the values that a recursion carries change their structure from link to link")
                    self.roots[s][kind][node.index] = node
        carried = dict(sorted(live.items()))
        bodies = tuple(self.body(s, kind, reached[kind], stored[kind], carried) for kind in self.kinds)
        start = tuple(start_value(recursion.start[j]) for j in carried)
        return Loop(recursion.outward, tuple(carried.values()), start, bodies)

    def body(
        self, s: int, kind: int, reached: dict[int, Node], stored: dict[int, Node], carried: dict[int, Node]
    ) -> Body:
        """A body, still without columns and slots."""
        loads = {i: UNASSIGNED for i, node in reached.items() if 0 <= self.loop_of(node) < s}
        for index in loads:
            self.roots[self.loop_of(reached[index])][kind][index] = reached[index]
        nodes = tuple(reached[i] for i in sorted(reached))
        stores = {} if s == len(self.recursions) - 1 else dict.fromkeys(stored, UNASSIGNED)
        passed = tuple(self.recursions[s].passed[kind][j] for j in carried)
        return Body(nodes, tuple(node for node in passed if node is not None), loads, stores)

    def reach(self, s: int, roots: Iterable[Node]) -> dict[int, Node]:
        """The nodes that the loop computes, loads or carries for these roots."""
        reached: dict[int, Node] = {}
        waiting = list(roots)
        while waiting:
            node = waiting.pop()
            if node.index not in reached:
                reached[node.index] = node
                if not 0 <= self.loop_of(node) < s:
                    waiting.extend(node.args)
        return reached


def start_value(x: float | Node | None) -> float | Node:
    """The start value of a loop, constants as numbers."""
    if isinstance(x, Node):
        return float(x.payload) if x.op == "const" else x
    return float(x or 0.0)


def assign_slots(bodies: Sequence[Body]) -> int:
    """Assign slots to the loads and stores of one kind of link; returns their number."""
    last = {index: s for s, body in enumerate(bodies) for index in body.loads}
    slot: dict[int, int] = {}
    free: list[int] = []
    count = 0
    for s, body in enumerate(bodies):
        body.loads = {index: slot[index] for index in body.loads}
        free += [released for index, released in body.loads.items() if last[index] == s]
        for index in body.stores:
            if not free:
                free, count = [count], count + 1
            slot[index] = free.pop()
        body.stores = {index: slot[index] for index in body.stores}
    return count


def assign_columns(bodies: Sequence[Body], table: str) -> tuple[int, ...]:
    """Assign columns to the numbers of one kind of link; returns the columns of the table in their new order.

    Columns of the same loops are adjacent, so that each loop reads little of the table.
    """
    loops: dict[int, list[int]] = {}
    for s, body in enumerate(bodies):
        for node in body.nodes:
            if node.op == "input" and node.payload[0] == table:
                loops.setdefault(node.payload[1], []).append(s)
    order = sorted(loops, key=lambda column: (loops[column][-1], loops[column][0], column))
    for body in bodies:
        mine = [node for node in body.nodes if node.op == "input" and node.payload[0] == table]
        body.numbers = {node.index: order.index(node.payload[1]) for node in mine}
    return tuple(order)


def schedule_loops(
    recursions: Sequence[Recursion],
    inputs: Sequence[Port],
    outputs: Iterable[Port],
    tables: Sequence[str],
    results: Sequence[Sequence[Node]],
) -> LoopProgram:
    """The program of traced recursions, with a first loop for sines and cosines."""
    loops = Schedule([Recursion(True, (), (), tuple(() for _ in results)), *recursions], results).loops()
    graph, slots, columns = results[0][0].graph, 0, []
    for kind, result in enumerate(results):
        bodies = [loop.bodies[kind] for loop in loops]
        elements = [(port.name, kind * port.size + position) for port in inputs for position in range(port.size)]
        positions = {graph.input(*element).index: position for position, element in enumerate(elements)}
        for body in bodies:
            body.inputs = {node.index: positions[node.index] for node in body.nodes if node.index in positions}
        bodies[-1].results = tuple(node.index for node in result)
        columns.append(assign_columns(bodies, tables[kind]))
        slots = max(slots, assign_slots(bodies))
    return LoopProgram(tuple(inputs), tuple(outputs), tuple(columns), tuple(loops), slots)


def count_loops(program: LoopProgram, kinds: Sequence[int]) -> Count:
    """The operations for one state of a robot with links of these kinds."""
    links, total = Counter(kinds), Count(0, 0, 0, 0, 0)
    for loop in program.loops:
        for kind, body in enumerate(loop.bodies):
            computed = [node for node in body.nodes if node.index not in body.loads]
            total = total + count_nodes(computed) * links[kind]
    return total
