"""What kernels are made of: straight-line code customised to a robot, or loops over its links."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import graph
from ..graph import Count, Port, Program
from ..lazy import cached_property
from ..robot import Robot
from ..robot.fingerprint import NoFingerprintError
from ..trace import Input, trace
from ..trace.tracing import ONE_NUMBER, function_name, prefer_fewest
from . import cache
from .host import Processor, processor
from .host import surroundings as surroundings
from .kernel import REALS, Argument, Interface, Links, kernel_text

if TYPE_CHECKING:
    from ..codegen.llvm.block import Layout
    from ..codegen.llvm.loops import LoopText
    from ..trace.rolled import Rolled

PLAIN = (str, int, float, bool, type(None), Input)  # options whose text says all there is to know


class Recipe:
    """A function, a robot and options, to be compiled as straight-line code."""

    def __init__(
        self,
        function: Callable[..., Any],
        robot: Robot,
        dtype: str,
        keywords: dict[str, Any],
        passes: tuple[str, ...] = (),
        target: Processor | None = None,  # otherwise this machine's
    ) -> None:
        self.function, self.robot, self.dtype = function, robot, dtype
        self.keywords, self.passes, self.target = keywords, passes, target

    @cached_property
    def processor(self) -> Processor:
        return self.target or processor()

    @cached_property
    def program(self) -> Program:
        with prefer_fewest():
            return trace(self.function, self.robot, passes=self.passes, **self.keywords)

    @cached_property
    def count(self) -> Count:
        return graph.count(self.program)

    @cached_property
    def interface(self) -> Interface:
        inputs, outputs = arguments(self.program.inputs), arguments(self.program.outputs)
        return Interface(inputs, outputs, self.dtype, self.count.total)

    @cached_property
    def text(self) -> str:
        """LLVM assembly."""
        from ..codegen.llvm.program import (  # here and below: a kernel from the cache needs none of this
            llvm_text,
            work_vectors,
        )

        blocks = llvm_text(self.program, self.layouts)
        return kernel_text(blocks, self.interface, self.processor, work_vectors(self.program))

    @property
    def layouts(self) -> list[Layout]:
        """One state at a time, and as many as the processor's vectors hold."""
        from ..codegen.llvm.block import Layout

        target = self.processor
        return [Layout(REALS[self.dtype], width, target.fused) for width in sorted({1, target.lanes(self.dtype)})]

    @property
    def links(self) -> Links | None:
        """What loops need besides the arrays."""
        return None

    @cached_property
    def key(self) -> str:
        """Under which the compiled code is kept. For functions of Linkwise itself it is known without tracing them."""
        return cache.key(self.identity or self.text, repr(self.processor), self.dtype, *surroundings())

    @cached_property
    def identity(self) -> str | None:
        """All that the text depends on, if that can be said without it."""
        name = own_name(self.function)
        options = [x for value in self.keywords.values() for x in (value if isinstance(value, tuple) else (value,))]
        if name is None or self.robot.non_floats or not all(type(x) in PLAIN for x in options):
            return None  # symbols too: operands of sums and products stand in the order in which they were made
        try:
            robot = self.robot.fingerprint
        except NoFingerprintError:  # a joint of the user's own, say: its text tells
            return None
        return repr((name, sorted(said(self.function, self.keywords).items()), self.passes, robot))


class LoopRecipe(Recipe):
    """The same, to be compiled as loops over the links."""

    @cached_property
    def rolled(self) -> Rolled:
        arrays = {
            name: () if shape is None else shape[1:] for name, shape in inputs_of(self.function, self.keywords).items()
        }
        options = {name: value for name, value in self.keywords.items() if name not in arrays}
        from ..trace.rolled import trace_rolled

        return trace_rolled(self.function, self.robot, arrays, **options)

    @cached_property
    def loops(self) -> LoopText:
        from ..codegen.llvm.loops import LoopText

        return LoopText(self.rolled.program, self.rolled.chain)

    @cached_property
    def count(self) -> Count:
        from ..graph.loops import count_loops

        return count_loops(self.rolled.program, self.rolled.kinds)

    @cached_property
    def interface(self) -> Interface:
        n, program = self.robot.n, self.rolled.program
        inputs = tuple(Argument(port.name, (n, *port.shape)) for port in program.inputs)
        outputs = tuple(Argument(function_name(self.function), (n, *port.shape)) for port in program.outputs)
        return Interface(inputs, outputs, self.dtype, self.count.total)

    @cached_property
    def text(self) -> str:
        return self.loops.text(self.layouts)

    @property
    def links(self) -> Links:
        table = np.ascontiguousarray(self.rolled.table, dtype=self.dtype)
        vectors = self.loops.vectors(self.robot.n, int(self.rolled.tree[0, 0]))
        return Links(table, self.rolled.tree, vectors, self.layouts[-1].lanes)

    @cached_property
    def identity(self) -> None:
        return None  # the text does not depend on the number of links: one kept code serves many robots


def own_name(function: Callable[..., Any]) -> str | None:
    """Where a function of Linkwise is found; None for others, also for one that only bears the name of ours."""
    place = getattr(function, "__module__", None) or ""
    if not place.startswith("linkwise.api."):
        return None
    module, owner, name = sys.modules[place], getattr(function, "__self__", None), function.__name__
    if owner is None:
        return f"{place}.{name}" if getattr(module, name, None) is function else None
    for key, value in vars(module).items():
        if value is owner and getattr(type(owner), name, None) is getattr(function, "__func__", None):
            return f"{place}.{key}.{name}"
    return None


def said(function: Callable[..., Any], keywords: dict[str, Any]) -> dict[str, Any]:
    """The keywords without those that say what the function does by itself."""
    usual = {p.name: p.default for p in inspect.signature(function).parameters.values()}
    return {k: x for k, x in keywords.items() if not (type(x) is type(usual.get(k)) and x == usual.get(k))}


def inputs_of(function: Callable[..., Any], keywords: dict[str, Any]) -> dict[str, tuple[int, ...] | None]:
    """The arrays that a function is to take: None for one number per joint, or the shape that was said."""
    parameters = list(inspect.signature(function).parameters.values())[1:]
    needed = [p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    usual: dict[str, tuple[int, ...] | None] = {name: () if name in ONE_NUMBER else None for name in needed}
    return {**usual, **{name: value.shape for name, value in keywords.items() if isinstance(value, Input)}}


def arguments(ports: Iterable[Port]) -> tuple[Argument, ...]:
    return tuple(Argument(port.name, port.shape) for port in ports)
