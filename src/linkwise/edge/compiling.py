"""From a function and a robot to a compiled kernel."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .. import graph
from ..compile.kernel import REALS, Argument, Interface, Kernel, kernel_text
from ..compile.machine import Code, Processor, processor
from ..graph import Count, Port, Program
from ..render.c import CFunction, c_comment
from ..render.llvm import llvm_text
from ..render.llvm_block import Layout
from ..render.names import c_name
from ..robot import Robot
from ..trace import trace
from ..trace.tracing import function_name

SUSPECTS = 8  # of the states that came out not finite, so many are looked at for the reason


class TooLongError(ValueError):
    """Straight-line code would be longer than allowed."""


@dataclass(frozen=True)
class Recipe:
    """What a kernel is made of."""

    function: Callable[..., Any]
    robot: Robot
    dtype: str
    keywords: dict[str, Any]
    passes: tuple[str, ...] = ()
    target: Processor | None = None  # otherwise this machine's

    @cached_property
    def program(self) -> Program:
        return trace(self.function, self.robot, passes=self.passes, **self.keywords)

    @cached_property
    def processor(self) -> Processor:
        return self.target or processor()

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
        target = self.processor
        layouts = [Layout(REALS[self.dtype], width, target.fused) for width in sorted({1, target.lanes(self.dtype)})]
        return kernel_text(llvm_text(self.program, layouts), self.interface, target)


class Compiled(Kernel):
    """A function compiled for a robot. Call it with arrays of one state or of any batch shape.

    kernel(q, qd, qdd)                   a new array
    kernel(q, qd, qdd, out=tau)          into an array of yours
    kernel(q, qd, qdd, threads=1)        on so many threads; otherwise on as many as pay

    Arrays of its `dtype` with contiguous rows are read in place; others are converted first. `count` are its
    operations, `source` the same computation as text to read, `ir` the assembly that LLVM was given.
    """

    def __init__(self, recipe: Recipe, *, longest: int | None = None) -> None:
        started = time.perf_counter()
        self._recipe = recipe
        self.robot = recipe.robot
        self.count = recipe.count
        if longest is not None and self.count.total > longest:
            raise TooLongError(f"{self.count.total} operations")
        code = Code(recipe.processor, text=recipe.text)
        super().__init__(function_name(recipe.function), code, recipe.interface, self._explain)
        self.compile_seconds = time.perf_counter() - started

    def __repr__(self) -> str:
        takes = ", ".join(argument.name for argument in self.interface.inputs)
        return f"<Kernel {self.name}({takes}) of robot {self.robot.name!r}: {self.interface.dtype}, {self.count}>"

    @property
    def ir(self) -> str:
        """The LLVM assembly that it was compiled from."""
        return self._recipe.text

    @property
    def source(self) -> str:
        """The same computation in C, to be read; `lw.c_source` gives it to be used."""
        names = [f"out_{k}" for k in range(len(self.interface.outputs))] if len(self.interface.outputs) > 1 else ["out"]
        c = CFunction(self._recipe.program, c_name(self.name, "f"), tuple(names), self.interface.dtype)
        return c.source(c_comment([f"{self.name}: {self.count}"]))

    def _explain(self, rows: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> None:
        """Let the plain function say why finite states gave numbers that are not finite: it may raise an error."""
        batch = results[0].shape[: results[0].ndim - len(self.interface.outputs[0].shape)]
        bad = np.ones(batch, dtype=bool)
        for row in rows:
            bad &= np.isfinite(row.reshape((*batch, -1))).all(axis=-1)
        bad &= ~np.all([np.isfinite(result.reshape((*batch, -1))).all(axis=-1) for result in results], axis=0)
        for index in np.argwhere(bad)[:SUSPECTS]:
            state = {a.name: row[tuple(index)] for a, row in zip(self.interface.inputs, rows, strict=True)}
            options = {name: value for name, value in self._recipe.keywords.items() if name not in state}
            with np.errstate(all="ignore"):
                self._recipe.function(self.robot, **state, **options)


def arguments(ports: Iterable[Port]) -> tuple[Argument, ...]:
    return tuple(Argument(port.name, port.shape) for port in ports)
