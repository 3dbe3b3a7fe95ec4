"""`c_source`: a function, customised to a robot, as a C file with its header."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ..codegen.c.function import TYPES, CFunction, c_comment
from ..codegen.c.names import c_name
from ..codegen.c.self_test import c_self_test, untested_texts
from ..errors import one_of
from ..graph import Program
from ..robot import Description, Robot
from ..tracing import trace
from ..tracing.tracing import function_name, prefer_fewest, traceable
from .header import MARK, head, title
from .self_test_states import samples


class CSource(Description):
    """The text of a C file; `header` is that of its header, `name` what the function is called."""

    header: str
    name: str

    def __new__(cls, text: str, header: str, name: str) -> CSource:
        self = super().__new__(cls, text)
        self.header, self.name = header, name
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return CSource, (str(self), self.header, self.name)

    def save(self, folder: str | os.PathLike[str]) -> tuple[Path, Path]:
        """Writes name.c and name.h and returns their paths. Replaces files that Linkwise wrote, and no others."""
        paths = Path(folder) / f"{self.name}.c", Path(folder) / f"{self.name}.h"
        for path in paths:
            if path.exists() and not written_by_us(path):
                raise FileExistsError(f"{path} was not written by Linkwise (expected another folder, or another name=)")
        paths[0].parent.mkdir(parents=True, exist_ok=True)
        for path, text in zip(paths, (self, self.header), strict=True):
            path.write_text(text, encoding="ascii", newline="\n")
        return paths


def written_by_us(path: Path) -> bool:
    with path.open("rb") as file:
        return MARK.encode() in file.readline(1000)


@prefer_fewest()
def c_source(
    function: Callable[..., Any],
    arm: Robot,
    *,
    dtype: str = "float64",
    name: str | None = None,
    self_test: bool = False,
    passes: Iterable[str] = (),
    **keywords: Any,
) -> CSource:
    """The function, customised to the robot, as one C99 file: no allocation, no loops, nothing but math.h.

    The arguments are plain arrays, matrices row by row: first the inputs, then the results, which may be stored over
    the inputs. `dtype` is "float64" (double) or "float32" (float), `name` what the function is called in C.
    `self_test=True` adds a main that compares with the results of Python, in states chosen so that mistakes show, and
    that prints what they do not test. Keywords as for `lw.trace`;
    where a method could be chosen and none is named, that with the fewest operations is taken.

    >>> import linkwise as lw
    >>> source = lw.c_source(lw.gravity_torque, lw.load("gantry"))
    >>> print(source[source.index("void gravity_torque"):].splitlines()[0])
    void gravity_torque(const double q[3], double tau[3]);
    """
    one_of(dtype, TYPES, "dtype")
    function, keywords = traceable(function, arm, keywords)
    program = trace(function, arm, passes=passes, **keywords)
    if not program.nodes:
        raise ValueError(f"{function_name(function)} has no results (expected at least one number)")
    c = CFunction(program, chosen_name(function, name), result_names(function, program), dtype)
    about = head(c, function, arm, keywords)
    test = ["", f"The main at the end is a self-test: cc {c.name}.c -lm && ./a.out"] if self_test else []
    text = c.source(c_comment([title(f"{c.name}.c"), *about, *test]))
    if self_test:
        tested = samples(function, arm, program, keywords, dtype)
        untested = untested_texts(c, tested.chosen.operands, tested.chosen.branches, tested.chosen.ties)
        text += c_self_test(c, tested.states, tested.results, tested.sizes, tested.tolerance, untested)
    return CSource(text, c.header(c_comment([title(f"{c.name}.h"), *about])), c.name)


def chosen_name(function: Callable[..., Any], name: str | None) -> str:
    """The given name, if C takes it; otherwise that of the function, made safe."""
    if name is None:
        return c_name(function_name(function), "f")
    safe = c_name(str(name), "f")
    if name != safe:
        raise ValueError(f"name is {name!r} (expected a name for C and C++ that is not reserved, such as {safe!r})")
    return safe


def result_names(function: Callable[..., Any], program: Program) -> tuple[str, ...]:
    known: tuple[str, ...] | None = getattr(function, "result_names", None)
    count = len(program.outputs)
    if known is not None:
        return known[:count]  # one sample of a law without a memory has torques alone
    return ("out",) if count == 1 else tuple(f"out_{k}" for k in range(count))
