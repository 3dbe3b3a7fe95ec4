"""A Runge-Kutta method and its stages, in LLVM assembly.

    @side_W(vector t, ptr y, ptr p, ptr values)                      y' of the program; @gauge_W its events
    @stages_W(vector t, vector h, ptr y, ptr p, ptr k, ptr z)        from k_0 on all stages of a step, and z, its end
    @within_W(vector t, vector h, ptr y, ptr p, ptr k, ptr z, ptr powers)
                                    the stages beyond, and the polynomial in θ on which the states within the step lie

A single trajectory has a lane for each of several components in the sums of the stages; many have one for each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..graph import Node, Program
from .llvm import Nodes
from .llvm_block import Layout
from .llvm_flow import Flow


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


def values_text(program: Program, layout: Layout, widest: int, name: str, which: int) -> str:
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
    value = Angles(flow, nodes, given, [node.index for node in results], widest).written()
    for i, node in enumerate(results):
        flow.store(value[node.index], "%values", i)
    return ended(flow, f"internal void @{name}_{layout.lanes}({layout.vector} %t, ptr %y, ptr %p, ptr %values)")


def read(flow: Flow, node: Node, t: str, y: str, starts: dict[str, int]) -> str:
    name, position = node.payload
    if name == t:
        return "%t"
    return flow.load("%y", position) if name == y else flow.load("%p", starts[name] + position)


class Angles(Nodes):
    """Nodes; of a single state, the sines and cosines of several angles at once, one in each lane."""

    def __init__(
        self, flow: Flow, nodes: Sequence[Node], given: dict[int, str], wanted: Sequence[int], widest: int
    ) -> None:
        super().__init__(flow, nodes, given, wanted)
        self.given, self.room = given, widest if flow.layout.lanes == 1 else 1

    def written(self) -> dict[int, str]:
        if self.room > 1:
            angles = dict.fromkeys(node.args[0] for node in self.nodes if node.op in ("sin", "cos"))
            early = [self.early(angle) for angle in angles if self.is_early(angle)]
            for start in range(0, len(early), self.room):
                self.together(early[start : start + self.room])
        return super().written()

    def is_early(self, node: Node) -> bool:
        """Whether it is a component of the state, or a sum of such."""
        return node.index in self.given or (node.op in ("add", "sub") and all(map(self.is_early, node.args)))

    def early(self, node: Node) -> str:
        for part in node.args:
            self.early(part)
        self.write(node)
        return self.value[node.index]

    def together(self, angles: list[str]) -> None:
        if len(angles) < 2:
            return
        block, v = self.block, f"<{self.room} x double>"
        packed = f"{v} zeroinitializer"
        for lane, angle in enumerate(angles):
            packed = f"{v} {block.say(f'insertelement {packed}, double {angle}, i64 {lane}')}"
        pair = block.say(f"call {{{v}, {v}}} @sine_cosine_{self.room}({packed})")
        both = [block.say(f"extractvalue {{{v}, {v}}} {pair}, {k}") for k in range(2)]
        for lane, angle in enumerate(angles):
            sine, cosine = (block.say(f"extractelement {v} {x}, i64 {lane}") for x in both)
            self.waves[angle] = sine, cosine


def stages_text(method: Method, layout: Layout, widest: int, size: int) -> str:
    flow, v = Flow(layout), layout.vector
    for s in range(1, method.stages):
        stage(flow, method, widest, size, s)
    if not method.first_is_last:  # otherwise the last stage began at the result
        each(flow, size, widest, lambda i: flow.store(moved(flow, method.b, size, i), "%z", i))
    head = f"internal void @stages_{layout.lanes}({v} %t, {v} %h, ptr %y, ptr %p, ptr %k, ptr %z)"
    return ended(flow, head)


def within_text(method: Method, layout: Layout, widest: int, size: int) -> str:
    flow, v = Flow(layout), layout.vector
    for s in range(method.stages, len(method.a)):
        stage(flow, method, widest, size, s)
    total = flow.place("%k", len(method.a) * size)
    each(flow, size, widest, lambda i: flow.store(weighted(flow, "%k", method.b, size, i), total, i))
    for power in range(method.degree):
        weights = [row[power] for row in method.dense]
        place = flow.place("%powers", power * size)

        def write(i: str | int, weights: list[float] = weights, place: str = place) -> None:
            flow.store(weighted(flow, "%k", weights, size, i), place, i)

        each(flow, size, widest, write)
    pointers = ", ".join(f"ptr %{name}" for name in ("y", "p", "k", "z", "powers"))
    return ended(flow, f"internal void @within_{layout.lanes}({v} %t, {v} %h, {pointers})")


def stage(flow: Flow, method: Method, widest: int, size: int, s: int) -> None:
    """k_s; z is where it begins."""
    layout = flow.layout
    each(flow, size, widest, lambda i: flow.store(moved(flow, method.a[s], size, i), "%z", i))
    there = flow.fused("%h", layout.constant(method.c[s]), "%t")
    target = flow.place("%k", s * size)
    flow.lines.append(f"  call void @side_{layout.lanes}({layout.vector} {there}, ptr %z, ptr %p, ptr {target})")


def each(flow: Flow, size: int, widest: int, body: Callable[[str | int], None]) -> None:
    """What is done with every component: in a loop over them; or, with a single trajectory, with several at once."""
    if flow.layout.lanes > 1:
        with flow.counted(size) as i:
            body(i)
        return
    start = 0
    while start < size:
        width = widest
        while width > size - start:
            width //= 2
        with flow.widened(width):
            body(start)
        start += width


def moved(flow: Flow, weights: Sequence[float], size: int, i: str | int) -> str:
    """y_i + h Σ weight_j k_ji"""
    return flow.fused(flow.shared("%h"), weighted(flow, "%k", weights, size, i), flow.load("%y", i))


def weighted(flow: Flow, k: str, weights: Sequence[float], size: int, i: str | int) -> str:
    total = ""
    for j, weight in enumerate(weights):
        if weight:
            there = i + j * size if isinstance(i, int) else flow.say(f"add i64 {i}, {j * size}")
            x, c = flow.load(k, there), flow.layout.constant(weight)
            total = flow.fused(x, c, total) if total else flow.do("fmul", x, c)
    return total
