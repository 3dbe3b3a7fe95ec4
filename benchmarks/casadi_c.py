"""A peer: C code that CasADi generates, compiled by gcc, in a loop over the states.

CasADi's SX scalars are sent through Linkwise's plain text, then `casadi.cse`, `Function.generate`, and
gcc -O3 -march=native. The loop is C as well, in the same file, so that gcc may inline; Python enters by ctypes, without
arguments: the arrays are bound before. Linkwise's own compiler has no part in it.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from shutil import which
from typing import Any

import casadi as cs
import numpy as np

import linkwise as lw

GCC = ["gcc", "-O3", "-march=native", "-shared", "-fPIC", "-o"]
LOOP = """
static long count;
static const double {inputs};
static double *out;

void bind(long states, {parameters}, double *result) {{
    count = states;
    {assignments}
    out = result;
}}

void loop(void) {{
    casadi_int iw[{iw} + 1];
    double w[{w} + 1];
    for (long k = 0; k < count; k++) {{
        const double *arg[{args}] = {{{pointers}}};
        double *res[{ress}] = {{out + k * {size}}};
        f(arg, res, iw, w, 0);
    }}
}}
"""

if which("gcc") is None:
    raise ImportError("CasADi's C needs gcc")


class Loop:
    """A compiled loop over states; `seconds` is what expressions, C and gcc took."""

    def __init__(self, function: Callable[..., Any], arm: lw.Robot, inputs: Sequence[str], method: str | None) -> None:
        started = time.perf_counter()
        given = [symbols(name, arm.n) for name in inputs]
        result = function(arm, *given, **({"method": method} if method else {}))
        self.shape = result.shape
        found = cs.cse(cs.vertcat(*map(cs.SX, result.ravel())))
        f = cs.Function("f", [cs.vertcat(*each) for each in given], [found])
        self._folder = tempfile.TemporaryDirectory()
        here = Path(self._folder.name)
        code = cs.CodeGenerator("f.c")
        code.add(f)
        (here / "f.c").write_text(code.dump() + loop_text(f, arm.n, len(inputs)))
        subprocess.run([*GCC, "f.so", "f.c", "-lm"], cwd=here, check=True)
        self._library = ctypes.CDLL(str(here / "f.so"))
        self.seconds = time.perf_counter() - started

    def bound(self, arrays: Sequence[np.ndarray]) -> tuple[Callable[[], None], np.ndarray]:
        """What runs the loop over these states, and the array that it fills; both as long as this object lives."""
        batch = arrays[0].shape[:-1]
        self.arrays = [*arrays, np.empty((*batch, *self.shape))]
        bind, loop = self._library.bind, self._library.loop
        bind.argtypes = [ctypes.c_long, *[ctypes.c_void_p] * len(self.arrays)]
        bind.restype = loop.restype = None
        bind(int(np.prod(batch)), *(array.ctypes.data for array in self.arrays))
        return loop, self.arrays[-1]


def symbols(name: str, n: int) -> np.ndarray:
    """Scalars: CasADi's matrices would not go into an array one by one if NumPy were asked to make it of them."""
    array = np.empty(n, dtype=object)
    for i in range(n):
        array[i] = cs.SX.sym(f"{name}{i}")
    return array


def loop_text(f: Any, n: int, inputs: int) -> str:
    names = [f"x{i}" for i in range(inputs)]
    return LOOP.format(
        inputs=", ".join(f"*{name}" for name in names),
        parameters=", ".join(f"const double *given_{name}" for name in names),
        assignments=" ".join(f"{name} = given_{name};" for name in names),
        pointers=", ".join(f"{name} + k * {n}" for name in names),
        size=f.nnz_out(),
        iw=f.sz_iw(),
        w=f.sz_w(),
        args=f.sz_arg(),
        ress=f.sz_res(),
    )
