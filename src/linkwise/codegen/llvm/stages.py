"""A Runge-Kutta method and its stages, in LLVM assembly.

@side_W(vector t, ptr y, ptr p, ptr values)                      y' of the program; @gauge_W its events
@stages_W(vector t, vector h, ptr y, ptr p, ptr k, ptr z)        from k_0 on all stages of a step, and z, its end
@within_W(vector t, vector h, ptr y, ptr p, ptr k, ptr z, ptr powers)
                                the stages beyond, and the polynomial in θ on which the states within the step lie
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...graph import Node, Program
from .block import Layout
from .flow import Flow
from .program import Nodes

# The polynomial through a step to the middle and one to the end: weights of the slopes at the start, in the middle and
# at the end, and of the ways to the middle and to the end, by powers
HALVES = ((1, -6, 13, -12, 4), (0, -8, 32, -40, 16), (0, -1, 5, -8, 4), (0, 16, -32, 16, 0), (0, 7, -34, 52, -24))


@dataclass(frozen=True)
class Method:
    """An embedded Runge-Kutta method, as in simulate/tableaux.toml."""

    name: str
    order: int
    a: tuple[tuple[float, ...], ...]  # also of the stages that only states within a step need
    b: tuple[float, ...]
    c: tuple[float, ...]
    error: tuple[float, ...]
    damp: tuple[float, ...] = ()
    fixed: bool = False  # no error control
    first_is_last: bool = False
    dense: tuple[tuple[float, ...], ...] = ()  # weights of all stages, and at last of Σ b k, by powers

    @property
    def stages(self) -> int:
        """Those of a step."""
        return len(self.b)

    @property
    def degree(self) -> int:
        """Of the polynomial within a step; 0 if there is none."""
        return len(self.dense[0]) if self.dense else 0


def ended(flow: Flow, head: str, result: str = "void") -> str:
    return "\n".join([*sorted(flow.declared), f"define {head} #1 {{", *flow.lines, f"  ret {result}", "}", ""])


def values_text(program: Program, layout: Layout, name: str, which: int) -> str:
    """One result of the program, the right-hand side or the events."""
    flow = Flow(layout)
    t, y, *others = program.inputs
    starts, total = {}, 0
    for port in others:
        starts[port.name] = total
        total += port.size
    results = program.results[which]
    nodes = Program.of(results[0].graph, program.inputs, [program.outputs[which]], [results]).nodes
    given = {node.index: read(flow, node, t.name, y.name, starts) for node in nodes if node.op == "input"}
    value = Nodes(flow, nodes, given, [node.index for node in results]).written()
    for i, node in enumerate(results):
        flow.store(value[node.index], "%values", i)
    return ended(flow, f"internal void @{name}_{layout.lanes}({layout.vector} %t, ptr %y, ptr %p, ptr %values)")


def read(flow: Flow, node: Node, t: str, y: str, starts: dict[str, int]) -> str:
    name, position = node.payload
    if name == t:
        return "%t"
    return flow.load("%y", position) if name == y else flow.load("%p", starts[name] + position)


def stages_text(method: Method, layout: Layout, size: int) -> str:
    flow, v = Flow(layout), layout.vector
    for s in range(1, method.stages):
        stage(flow, method, size, s)
    if not method.first_is_last:  # otherwise the last stage began at the result
        move(flow, method.b, size)
    head = f"internal void @stages_{layout.lanes}({v} %t, {v} %h, ptr %y, ptr %p, ptr %k, ptr %z)"
    return ended(flow, head)


def within_text(method: Method, layout: Layout, size: int) -> str:
    flow, v = Flow(layout), layout.vector
    for s in range(method.stages, len(method.a)):
        stage(flow, method, size, s)
    total = flow.place("%k", len(method.a) * size)
    with flow.counted(size) as i:
        flow.store(weighted(flow, "%k", method.b, size, i), total, i)
    for power in range(method.degree):
        place = flow.place("%powers", power * size)
        with flow.counted(size) as i:
            flow.store(weighted(flow, "%k", [row[power] for row in method.dense], size, i), place, i)
    pointers = ", ".join(f"ptr %{name}" for name in ("y", "p", "k", "z", "powers"))
    return ended(flow, f"internal void @within_{layout.lanes}({v} %t, {v} %h, {pointers})")


def stage(flow: Flow, method: Method, size: int, s: int) -> None:
    """k_s; z is where it begins."""
    layout = flow.layout
    move(flow, method.a[s], size)
    there = flow.fused("%h", layout.constant(method.c[s]), "%t")
    target = flow.place("%k", s * size)
    flow.lines.append(f"  call void @side_{layout.lanes}({layout.vector} {there}, ptr %z, ptr %p, ptr {target})")


def move(flow: Flow, weights: Sequence[float], size: int) -> None:
    """z_i = y_i + h Σ weight_j k_ji"""
    with flow.counted(size) as i:
        flow.store(flow.fused("%h", weighted(flow, "%k", weights, size, i), flow.load("%y", i)), "%z", i)


def weighted(flow: Flow, k: str, weights: Sequence[float], size: int, i: str) -> str:
    """Σ weight_j k_ji"""
    total = ""
    for j, weight in enumerate(weights):
        if weight:
            x, c = flow.load(k, flow.say(f"add i64 {i}, {j * size}")), flow.layout.constant(weight)
            total = flow.fused(x, c, total) if total else flow.do("fmul", x, c)
    return total
