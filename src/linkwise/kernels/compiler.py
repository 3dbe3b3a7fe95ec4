"""From a recipe to a compiled kernel, by way of the cache."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from ..api.singular import first_singular
from ..errors import SingularError
from ..graph import Count
from ..trace import bind, symbols_of
from ..trace.tracing import function_name
from . import cache
from .host import Code
from .kernel import Argument, Interface, Kernel
from .lock import LOCK
from .spec import LoopRecipe, Recipe

Kept = tuple[dict[str, Any], bytes]  # metadata and code
SUSPECTS = 8  # so many states that came out not finite are looked at for the reason, besides the first singular one


class Compiled(Kernel):
    """A function compiled for a robot. Call it with arrays of one state or of any batch shape.

    kernel(q, qd, qdd)                   a new array
    kernel(q, qd, qdd, out=tau)          into an array of yours
    kernel(q, qd, qdd, threads=1)        on so many threads; otherwise on as many as pay

    Arrays of its `dtype` with contiguous rows are read in place; others are converted first. `count` are its
    operations, `source` the same computation as text to read, `ir` the assembly that LLVM was given, and
    `compile_seconds` how long it took to make, or to load if `from_cache`.
    """

    def __init__(self, recipe: Recipe, kept: Kept | None = None) -> None:
        """From the cache, which may have been asked before (`kept`), or by compiling."""
        started = time.perf_counter()
        self._recipe = recipe
        self.robot = recipe.robot
        with LOCK:
            kept = kept or cache.load(recipe.key)
            self.from_cache = kept is not None
            if kept is not None:
                said, made = kept
                code = Code(recipe.processor, made=made)
                self.count, interface = (
                    unpacked(said, recipe.dtype) if recipe.identity else (recipe.count, recipe.interface)
                )
            else:
                code = Code(recipe.processor, text=recipe.text)
                self.count, interface = recipe.count, recipe.interface
                cache.store(recipe.key, packed(recipe), code.made)
            super().__init__(function_name(recipe.function), code, interface, self._explain, recipe.links)
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
        """The same computation in C, to be read (`lw.c_source` gives it to be used); of loops, the assembly."""
        if isinstance(self._recipe, LoopRecipe):
            return self.ir
        from ..codegen.c.function import CFunction, c_comment  # a kernel from the cache needs none of this
        from ..codegen.c.names import c_name

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
        for index in map(tuple, self._suspects(np.argwhere(bad), rows).tolist()):
            state = {a.name: row[index] for a, row in zip(self.interface.inputs, rows, strict=True)}
            symbols = {name: float(state.pop(name)) for name in symbols_of(self.robot)}
            options = {name: value for name, value in self._recipe.keywords.items() if name not in state}
            robot = bind(self.robot, **symbols) if symbols else self.robot
            try:
                with np.errstate(all="ignore"):
                    self._recipe.function(robot, **state, **options)
            except SingularError as error:
                raise error.in_state(index) from None

    def _suspects(self, bad: np.ndarray, rows: Sequence[np.ndarray]) -> np.ndarray:
        """Which of the states that came out not finite are looked at: the first that is singular.

        Functions other than Linkwise's may have another configuration than q in mind: of them some more are looked at.
        """
        q = next((row for a, row in zip(self.interface.inputs, rows, strict=True) if a == ("q", (self.robot.n,))), None)
        if q is None or self.robot.non_floats:
            return bad[:SUSPECTS]
        found = first_singular(self.robot, q[tuple(bad.T)])
        first = bad[:0] if found is None else bad[found.state, None]
        ours = str(getattr(self._recipe.function, "__module__", "")).startswith("linkwise.api.")
        return first if ours else np.concatenate([first, bad[:SUSPECTS]])


def packed(recipe: Recipe) -> dict[str, Any]:
    """What has to be known of a kernel to load it again without tracing."""
    inputs, outputs = (tuple(map(tuple, arguments)) for arguments in recipe.interface[:2])
    return {"inputs": inputs, "outputs": outputs, "count": asdict(recipe.count)}


def unpacked(said: dict[str, Any], dtype: str) -> tuple[Count, Interface]:
    inputs, outputs = (tuple(Argument(name, tuple(shape)) for name, shape in said[k]) for k in ("inputs", "outputs"))
    count = kept_count(said)
    return count, Interface(inputs, outputs, dtype, count.total)


def kept_count(said: dict[str, Any]) -> Count:
    return Count(**said["count"])
