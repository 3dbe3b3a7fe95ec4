"""The nodes of a program for states as they usually are: finite, without large angles, with divisors of usual size.

Such a state has the same bits as by `ThreadNodes`, with fewer instructions and without a branch. `unusual` says whether
the state is another one, whose results here are void.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ....codegen.llvm.flow import Flow
from ....codegen.llvm.sine import polynomials, reduced
from ....graph import Node, Port
from .nodes import ThreadNodes, first_waves

INFINITE = 0x7FF00000  # the upper half of an infinite double
RECIPROCAL = "declare float @llvm.nvvm.rcp.approx.ftz.f(float)"


class FastNodes(ThreadNodes):
    """Nodes, and beside them what tells whether the state is unusual."""

    def __init__(self, flow: Flow, nodes: Sequence[Node], wanted: Iterable[int], load: Callable[..., str]) -> None:
        super().__init__(flow, nodes, wanted, self.loaded)
        self.from_rows = load
        self.flags: list[str] = []
        self.waiting = ""
        self.total = ""
        self.seen = {node.args[0].payload for node in first_waves(nodes)[0] if node.args[0].op == "input"}

    def loaded(self, name: str, position: int) -> str:
        x = self.from_rows(name, position)
        if (name, position) not in self.seen:  # an angle is tested where it is reduced
            self.seen.add((name, position))
            self.test(x)
        return x

    def test(self, x: str) -> None:
        """Take note of a number that must be finite.

        Floats are multiplied by pairs and the products added up: the sum is not finite if one of them is not, and
        hardly ever otherwise. Of doubles, which are multiplied at half the rate, the largest exponent is kept.
        """
        flow = self.flow
        if flow.layout.real == "double":
            x = upper_half(flow, x)
            flow.declared.add("declare i32 @llvm.umax.i32(i32, i32)")
            self.total = flow.emit(f"call i32 @llvm.umax.i32(i32 {self.total}, i32 {x})") if self.total else x
        elif not self.waiting:
            self.waiting = x
        else:
            self.total = flow.fused(self.waiting, x, self.total) if self.total else flow.do("fmul", self.waiting, x)
            self.waiting = ""

    def unusual(self, inputs: Sequence[Port], others: Iterable[str]) -> str:
        """An i1, or nothing for a program that has no unusual states; `others` are more numbers to be finite."""
        flow = self.flow
        for port in inputs:
            for position in range(port.size):
                self.loaded(port.name, position)
        for x in others:
            self.test(x)
        if self.waiting:
            self.test(self.waiting)
        flags = list(self.flags)
        if self.total and flow.layout.real == "double":
            flags.append(flow.emit(f"icmp uge i32 {self.total}, {INFINITE}"))
        elif self.total:
            size = flow.call("fabs", self.total)
            flags.append(flow.emit(f"fcmp uge float {size}, {flow.layout.constant(float('inf'))}"))
        some = flags[0] if flags else ""
        for flag in flags[1:]:
            some = flow.emit(f"or i1 {some}, {flag}")
        return some

    def sine_cosines_of(self, angles: Sequence[str]) -> dict[str, tuple[str, str]]:
        flow, found = self.flow, {}
        for x in angles:
            r, behind, k, large = reduced(flow, x)
            self.flags.append(large)
            found[x] = polynomials(flow, r, behind, k)
        return found

    def instruction(self, node: Node) -> str:
        if node.op == "div" and self.flow.layout.real == "float":
            one = node.args[0]
            if one.op == "const" and one.payload == 1.0:
                return self.reciprocal(self.value[node.args[1].index])
        return super().instruction(node)

    def reciprocal(self, x: str) -> str:
        """1/x to the last bit, by the steps that the driver's compiler takes where x and 1/x are normal.

        The estimate is within one unit of its last digit, so e is below 2⁻²²; elsewhere the estimate is 0 or infinite.
        """
        flow = self.flow
        constant = flow.layout.constant
        flow.declared.add(RECIPROCAL)
        y = flow.emit(f"call float @llvm.nvvm.rcp.approx.ftz.f(float {x})")
        e = flow.fused(flow.do("fneg", x), y, constant(1.0))
        self.flags.append(flow.emit(f"fcmp uge float {flow.call('fabs', e)}, {constant(0.5)}"))
        return flow.fused(y, e, y)


def upper_half(flow: Flow, x: str) -> str:
    """Of a double without its sign."""
    halves = flow.emit(f"bitcast double {x} to <2 x i32>")
    return flow.emit(f"and i32 {flow.emit(f'extractelement <2 x i32> {halves}, i32 1')}, {2**31 - 1}")
