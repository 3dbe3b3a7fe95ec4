"""Emits the nodes of a program for one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ....codegen.llvm.flow import Flow
from ....codegen.llvm.program import Nodes
from ....codegen.llvm.sine import polynomials, reduce_angle
from ....graph import Node, Port

SAFE = 2.0**20  # a valid argument of `large_angle`


class ThreadNodes(Nodes):
    """Emits nodes in the given order. Inputs are loaded at their first use; sines and cosines come first.

    Warps diverge at branches. So the leading angles are reduced together, with one unlikely branch for large angles; a
    call for each angle, as on the CPU, would cost a branch each.
    """

    def __init__(self, flow: Flow, nodes: Sequence[Node], live_out: Iterable[int], load: Callable[..., str]) -> None:
        """`load` loads a number of an input by name and position."""
        super().__init__(flow, nodes, {}, live_out)
        self.flow, self.load = flow, load

    def emit_all(self, then: Callable[[int, str], None] | None = None) -> dict[int, str]:
        waves, needed = first_waves(self.nodes)
        for node in self.nodes:
            if node.index in needed and node.index not in self.products:
                self.write(node)
        angles = list(dict.fromkeys(self.value[node.args[0].index] for node in waves))
        if angles:
            self.sine_cosines.update(self.sine_cosines_of(angles))
        for node in self.nodes:
            if node.index not in self.products and node.op not in ("input", "const"):
                self.write(node)
                if then is not None:
                    then(node.index, self.value[node.index])
        return self.value

    def write(self, node: Node) -> None:
        for x in node.args:
            for needed in x.args if x.index in self.products else (x,):
                if needed.op in ("input", "const"):
                    super().write(needed)
        super().write(node)

    def instruction(self, node: Node) -> str:
        return self.load(*node.payload) if node.op == "input" else super().instruction(node)

    def result(self, node: Node) -> str:
        """The name of a result, also if it is an input or a constant."""
        self.write(node)
        return self.value[node.index]

    def sine_cosine(self, angle: str) -> tuple[str, str]:
        if angle not in self.sine_cosines:
            self.sine_cosines.update(self.sine_cosines_of([angle]))
        return self.sine_cosines[angle]

    def sine_cosines_of(self, angles: Sequence[str]) -> dict[str, tuple[str, str]]:
        return sine_cosines(self.flow, angles)


def first_waves(nodes: Sequence[Node]) -> tuple[list[Node], set[int]]:
    """Sines and cosines of angles that depend on no other sine or cosine, and the nodes they need."""
    waving: set[int] = set()
    waves = []
    for node in sorted(nodes, key=lambda node: node.index):  # operands first
        if any(x.index in waving for x in node.args):
            waving.add(node.index)
        elif node.op in ("sin", "cos"):
            waving.add(node.index)
            waves.append(node)
    needed: set[int] = set()
    waiting = [node.args[0] for node in waves]
    while waiting:
        node = waiting.pop()
        if node.index not in needed:
            needed.add(node.index)
            waiting.extend(node.args)
    return waves, needed


def sine_cosines(flow: Flow, angles: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Sine and cosine of each angle, with the bits of @sine_cosine_1 and one branch for large angles."""
    layout, real = flow.layout, flow.layout.real
    near, far, after = (flow.fresh(name) for name in ("near", "far", "waves"))
    flow.go(near)
    flow.enter(near)
    reductions = [reduce_angle(flow, x) for x in angles]
    some = reductions[0][3]
    for *_, large in reductions[1:]:
        some = flow.emit(f"or i1 {some}, {large}")
    flow.lines.append(f"  br i1 {some}, label %{far}, label %{after}, !prof !0")
    flow.enter(far)
    late = [large_reduction(flow, x, *reduction) for x, reduction in zip(angles, reductions, strict=True)]
    flow.go(after)
    flow.enter(after)
    merged = []
    for (*early, _), others in zip(reductions, late, strict=True):
        kinds = (real, real, layout.integers)
        merged.append(
            [
                flow.emit(f"phi {kind} [{x}, %{near}], [{y}, %{far}]") if x else ""
                for kind, x, y in zip(kinds, early, others, strict=True)
            ]
        )
    return {x: polynomials(flow, *parts) for x, parts in zip(angles, merged, strict=True)}


def large_reduction(flow: Flow, x: str, r: str, behind: str, k: str, large: str) -> tuple[str, str, str]:
    """r, its rounding error and k: from `large_angle` if the angle is large, otherwise unchanged."""
    layout, real = flow.layout, flow.layout.real
    safe = flow.select(large, x, layout.constant(SAFE))
    wide = safe if real == "double" else flow.emit(f"fpext float {safe} to double")
    every = flow.emit(f"call {{double, double, i64}} @large_angle(double {wide})")
    r2, behind2, k2 = (flow.emit(f"extractvalue {{double, double, i64}} {every}, {part}") for part in range(3))
    if real == "float":
        r2, k2 = flow.emit(f"fptrunc double {r2} to float"), flow.emit(f"trunc i64 {k2} to i32")
    rest = flow.select(large, behind2, behind) if behind else ""
    return flow.select(large, r2, r), rest, flow.select(large, k2, k, layout.integers)


# The fast path for usual states: finite, without large angles, with divisors of usual size.
#
# Their results have the bits of `ThreadNodes`, with fewer instructions and without branches. `unusual_flag` marks other
# states, whose results are invalid here.

INFINITE = 0x7FF00000  # the upper half of an infinite double
RECIPROCAL = "declare float @llvm.nvvm.rcp.approx.ftz.f(float)"


class FastNodes(ThreadNodes):
    """Emits nodes, and tests for unusual states."""

    def __init__(self, flow: Flow, nodes: Sequence[Node], live_out: Iterable[int], load: Callable[..., str]) -> None:
        super().__init__(flow, nodes, live_out, self.load_and_test)
        self.from_rows = load
        self.flags: list[str] = []
        self.waiting = ""
        self.total = ""
        self.seen = {node.args[0].payload for node in first_waves(nodes)[0] if node.args[0].op == "input"}

    def load_and_test(self, name: str, position: int) -> str:
        x = self.from_rows(name, position)
        if (name, position) not in self.seen:  # an angle is tested where it is reduce_angle
            self.seen.add((name, position))
            self.test(x)
        return x

    def test(self, x: str) -> None:
        """Add a number to the test for finite numbers.

        Floats are multiplied in pairs and the products are summed: the sum is non-finite if a number is, and hardly
        ever otherwise. Doubles, whose products are slower, are tested by their largest exponent.
        """
        flow = self.flow
        if flow.layout.real == "double":
            x = upper_half(flow, x)
            flow.declared.add("declare i32 @llvm.umax.i32(i32, i32)")
            self.total = flow.emit(f"call i32 @llvm.umax.i32(i32 {self.total}, i32 {x})") if self.total else x
        elif not self.waiting:
            self.waiting = x
        else:
            self.total = (
                flow.multiply_add(self.waiting, x, self.total) if self.total else flow.do("fmul", self.waiting, x)
            )
            self.waiting = ""

    def unusual_flag(self, inputs: Sequence[Port], others: Iterable[str]) -> str:
        """The flag of unusual states, an i1, or empty if there are none; `others` are more numbers to test."""
        flow = self.flow
        for port in inputs:
            for position in range(port.size):
                self.load_and_test(port.name, position)
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
        flow, pairs = self.flow, {}
        for x in angles:
            r, behind, k, large = reduce_angle(flow, x)
            self.flags.append(large)
            pairs[x] = polynomials(flow, r, behind, k)
        return pairs

    def instruction(self, node: Node) -> str:
        if node.op == "div" and self.flow.layout.real == "float":
            one = node.args[0]
            if one.op == "const" and one.payload == 1.0:
                return self.reciprocal(self.value[node.args[1].index])
        return super().instruction(node)

    def reciprocal(self, x: str) -> str:
        """Correctly rounded 1/x, by the steps of the driver's compiler for normal x and 1/x.

        The estimate has an error of at most one ulp, so e is below 2⁻²²; for other x the estimate is 0 or infinite.
        """
        flow = self.flow
        constant = flow.layout.constant
        flow.declared.add(RECIPROCAL)
        y = flow.emit(f"call float @llvm.nvvm.rcp.approx.ftz.f(float {x})")
        e = flow.multiply_add(flow.do("fneg", x), y, constant(1.0))
        self.flags.append(flow.emit(f"fcmp uge float {flow.call('fabs', e)}, {constant(0.5)}"))
        return flow.multiply_add(y, e, y)


def upper_half(flow: Flow, x: str) -> str:
    """The upper 32 bits of a double without its sign."""
    halves = flow.emit(f"bitcast double {x} to <2 x i32>")
    return flow.emit(f"and i32 {flow.emit(f'extractelement <2 x i32> {halves}, i32 1')}, {2**31 - 1}")
