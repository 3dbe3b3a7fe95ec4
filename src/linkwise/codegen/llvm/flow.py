"""LLVM assembly with loops and branches, over vectors of any width."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .block import Block, Layout

LOG2 = (-1.572386224, 8.480777361, -19.6686561, 25.7024023, -21.04673003, 12.1337429, -4.029151539)  # on [1/2, 1]
EXP2 = (0.001893754058, 0.008949590424, 0.05586033708, 0.2401418182, 0.6931544897, 0.9999998984)  # on [0, 1]


class Flow(Block):
    """A block with labels. `label` is that of the block which is being written."""

    def __init__(self, layout: Layout) -> None:
        super().__init__(layout)
        self.label = "start"
        self.labels = 0
        self.exits: list[str] = []
        self.lines.append("start:")

    def fresh(self, name: str) -> str:
        self.labels += 1
        return f"{name}{self.labels}"

    def enter(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.label = label

    def go(self, label: str) -> None:
        self.lines.append(f"  br label %{label}")

    def branch(self, condition: str, yes: str, no: str) -> None:
        self.lines.append(f"  br i1 {condition}, label %{yes}, label %{no}")

    @contextmanager
    def counted(self, count: int | str) -> Iterator[str]:
        """A loop from 0 on, at least once; gives the index."""
        loop, latch, after = (self.fresh(name) for name in ("loop", "latch", "after"))
        self.go(loop)
        before = self.label
        self.enter(loop)
        index = f"%{loop}_i"
        self.lines.append(f"  {index} = phi i64 [0, %{before}], [%{loop}_next, %{latch}]")
        self.exits.append(after)
        yield index
        self.exits.pop()
        self.go(latch)
        self.enter(latch)
        self.lines.append(f"  %{loop}_next = add i64 {index}, 1")
        self.branch(self.say(f"icmp ult i64 %{loop}_next, {count}"), loop, after)
        self.enter(after)

    def leave(self, condition: str) -> None:
        """Out of the loop that is being written, under a condition."""
        stay = self.fresh("stay")
        self.branch(condition, self.exits[-1], stay)
        self.enter(stay)

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """What is done only under a condition, an i1."""
        yes, after = self.fresh("when"), self.fresh("after")
        self.branch(condition, yes, after)
        self.enter(yes)
        yield
        self.go(after)
        self.enter(after)

    # vectors in memory, one after another

    def place(self, pointer: str, index: str | int) -> str:
        return self.say(f"getelementptr {self.layout.vector}, ptr {pointer}, i64 {index}")

    def load(self, pointer: str, index: str | int = 0, kind: str = "") -> str:
        kind = kind or self.layout.vector
        return self.say(f"load {kind}, ptr {self.place(pointer, index)}, align {self.layout.bits // 8}")

    def store(self, x: str, pointer: str, index: str | int = 0, kind: str = "") -> None:
        kind = kind or self.layout.vector
        self.lines.append(f"  store {kind} {x}, ptr {self.place(pointer, index)}, align {self.layout.bits // 8}")

    # lanes

    def select(self, truths: str, yes: str, no: str, kind: str = "") -> str:
        kind = kind or self.layout.vector
        return self.say(f"select {self.layout.truths} {truths}, {kind} {yes}, {kind} {no}")

    def both(self, a: str, b: str) -> str:
        return self.say(f"and {self.layout.truths} {a}, {b}")

    def neither(self, a: str) -> str:
        return self.say(f"xor {self.layout.truths} {a}, {self.layout.splat('i1', 'true')}")

    def compare(self, word: str, a: str, b: str) -> str:
        return self.say(f"fcmp {word} {self.layout.vector} {a}, {b}")

    def bits(self, truths: str) -> str:
        """A bit for each lane, in an i64."""
        lanes = self.layout.lanes
        packed = truths if lanes == 1 else self.say(f"bitcast <{lanes} x i1> {truths} to i{lanes}")
        return self.say(f"zext i{lanes} {packed} to i64")

    def some(self, truths: str) -> str:
        return self.say(f"icmp ne i64 {self.bits(truths)}, 0")

    def whole(self, value: int) -> str:
        return self.layout.splat("i64", str(value))

    def plus_one(self, counts: str, truths: str) -> str:
        kind = self.layout.of("i64")
        return self.say(f"add {kind} {counts}, {self.say(f'zext {self.layout.truths} {truths} to {kind}')}")

    def spread(self, x: str) -> str:
        """A number in every lane."""
        v, lanes = self.layout.vector, self.layout.lanes
        if lanes == 1:
            return x
        one = self.say(f"insertelement {v} poison, double {x}, i64 0")
        return self.say(f"shufflevector {v} {one}, {v} poison, <{lanes} x i32> zeroinitializer")

    # powers, to some six digits

    def polynomial(self, coefficients: tuple[float, ...], x: str) -> str:
        p = self.layout.constant(coefficients[0])
        for c in coefficients[1:]:
            p = self.fused(p, x, self.layout.constant(c))
        return p

    def rough_log2(self, x: str) -> str:
        """For positive normal numbers."""
        v, integers = self.layout.vector, self.layout.of("i64")
        bits = self.say(f"bitcast {v} {x} to {integers}")
        exponent = self.say(
            f"sub {integers} {self.say(f'lshr {integers} {bits}, {self.whole(52)}')}, {self.whole(1022)}"
        )
        mantissa = self.say(f"and {integers} {bits}, {self.whole((1 << 52) - 1)}")
        mantissa = self.say(f"or {integers} {mantissa}, {self.whole(1022 << 52)}")
        fraction = self.say(f"bitcast {integers} {mantissa} to {v}")
        return self.do("fadd", self.say(f"sitofp {integers} {exponent} to {v}"), self.polynomial(LOG2, fraction))

    def rough_exp2(self, x: str) -> str:
        """For exponents of moderate size."""
        v, integers = self.layout.vector, self.layout.of("i64")
        below = self.call("floor", x)
        fraction = self.polynomial(EXP2, self.do("fsub", x, below))
        exponent = self.say(f"add {integers} {self.say(f'fptosi {v} {below} to {integers}')}, {self.whole(1023)}")
        scale = self.say(f"bitcast {integers} {self.say(f'shl {integers} {exponent}, {self.whole(52)}')} to {v}")
        return self.do("fmul", fraction, scale)
