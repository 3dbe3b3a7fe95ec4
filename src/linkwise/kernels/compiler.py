"""Compiled kernels, made from a spec by way of the cache."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import astuple

from ..graph import Count
from ..tracing.tracing import USUAL, function_name
from .interface import Argument, Interface
from .kernel import Kernel
from .lock import LOCK
from .sources import qualified_name
from .spec import KernelSpec, read_count


class Compiled(Kernel):
    """A function compiled for a robot. Call it with arrays of one state or of any batch shape.

    kernel(q, qd, qdd)                   a new array
    kernel(q, qd, qdd, out=tau)          results into an existing array
    kernel(q, qd, qdd, threads=1)        with this number of threads; by default as many as are worth it

    Contiguous arrays of the dtype that it was compiled for are read in place; others are converted first.

    Attributes
    ----------
    method : str or None
        The compiled method of the function.
    count : Count
        Operations for one state.
    source, ir : str
        The computation as C to read, and the LLVM assembly.
    compile_seconds : float
        Time to compile, or to load if `from_cache`.
    """

    def __init__(self, spec: KernelSpec, explain: Callable[..., None] | None = None) -> None:
        """`explain` raises an error for states with non-finite results, if it finds a reason."""
        started = time.perf_counter()
        self.spec, self.robot = spec, spec.robot
        with LOCK:
            code = spec.load(lambda: metadata(spec))
            self.from_cache = code.from_cache
            if code.from_cache and spec.identity:  # no tracing needed
                self.count, interface = read_metadata(code.metadata, spec.dtype)
            else:
                self.count, interface = spec.count, spec.interface
            super().__init__(function_name(spec.function), code, interface, explain, spec.links)
        self.compile_seconds = time.perf_counter() - started

    @property
    def method(self) -> str | None:
        """The compiled method, by its name in `lw.methods`; None for user functions."""
        return self.spec.keywords.get("method") if qualified_name(self.spec.function) else None

    def __repr__(self) -> str:
        shaped = qualified_name(self.spec.function) is None
        takes = ", ".join(
            f"{name}{list(shape)}" if shaped and shape and name not in USUAL else name
            for name, shape in self.interface.inputs
        )
        method = f", method {self.method!r}" if self.method else ""
        return (
            f"<Kernel {self.name}({takes}) of robot {self.robot.name!r}: {self.interface.dtype}{method}, {self.count}>"
        )

    @property
    def ir(self) -> str:
        """The LLVM assembly."""
        return self.spec.text

    @property
    def source(self) -> str:
        """The computation as C to read (`lw.c_source` writes C to use); the assembly for loops and rounds."""
        if not self.spec.straight:
            return self.ir
        from ..codegen.c import CFunction, c_comment, c_name  # a kernel from the cache needs none of this

        names = [f"out_{k}" for k in range(len(self.interface.outputs))] if len(self.interface.outputs) > 1 else ["out"]
        c = CFunction(self.spec.program, c_name(self.name, "f"), tuple(names), self.interface.dtype)
        return c.source(c_comment([f"{self.name}: {self.count}"]))


def metadata(spec: KernelSpec) -> dict[str, str]:
    """The data with which a cached kernel is loaded without tracing."""
    if spec.identity is None:  # traced in any case
        return {}
    inputs, outputs = (" ".join(map(argument_word, arguments)) for arguments in spec.interface[:2])
    return {"inputs": inputs, "outputs": outputs, "count": " ".join(map(str, astuple(spec.count)))}


def read_metadata(data: dict[str, str], dtype: str) -> tuple[Count, Interface]:
    inputs, outputs = (tuple(map(parse_argument, data[name].split())) for name in ("inputs", "outputs"))
    count = read_count(data)
    return count, Interface(inputs, outputs, dtype, count.total)


def argument_word(argument: Argument) -> str:
    """An argument as a word: q,6 for an array q of six numbers."""
    return ",".join(map(str, (argument.name, *argument.shape)))


def parse_argument(word: str) -> Argument:
    name, *shape = word.split(",")
    return Argument(name, tuple(map(int, shape)))
