"""How long all second derivatives of inverse and forward dynamics take, for a state of a batch.

python benchmarks/second_derivatives.py [--states 256] [--rounds 9]
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from report import Section, Table, at_most, number, spread
from timing import command, one_core, without_cache

import linkwise as lw

ROBOTS = ("go1", "humanoid")
PACKED, DENSE, WEIGHTED = "inverse dynamics, packed", "inverse dynamics, dense", "inverse dynamics, weighted"
FORWARD = "forward dynamics, dense"
LIMITS = {PACKED: 50.0, DENSE: 50.0, FORWARD: 500.0}  # microseconds, of the humanoid
ABOUT = (
    "Second derivatives by q, q̇ and q̈, or q, q̇ and τ, into arrays of the caller's. Dense results are tensors of n³"
    " numbers, most of them zeros: beside their time stands what filling the same arrays with a constant takes."
    " `lw.derivatives.packed` gives the values that differ, each once. The weighted ones are the four matrices of the"
    " second derivatives of λᵀ τ by q and q̇, as differential dynamic programming needs them. One thread. Compiling is"
    " without the cache; forward dynamics finds the packed values of inverse dynamics compiled. Published for a robot"
    " of 36 degrees of freedom in C++: 200 µs and 2,100 µs (Singh, Russell and Wensing 2023)."
)


class Timed(NamedTuple):
    operations: int
    compiling: float
    bytes_a_state: float
    seconds: list[float]  # a state, round by round
    filling: list[float]


def functions(arm: lw.Robot) -> dict[str, Any]:
    inverse = lw.inverse_dynamics_second_derivatives
    return {
        PACKED: lw.derivatives.packed(inverse, arm),
        DENSE: inverse,
        WEIGHTED: lw.derivative(lw.vjp(lw.inverse_dynamics, arm, ("q", "qd")), arm, ("q", "qd")),
        FORWARD: lw.forward_dynamics_second_derivatives,
    }


def seconds(statement: Callable[[], object]) -> float:
    started = time.perf_counter()
    statement()
    return time.perf_counter() - started


def timed(arm: lw.Robot, function: Any, dtype: str, states: int, rounds: int) -> Timed:
    kernels: list[Any] = []
    compiling = seconds(lambda: kernels.append(lw.compile(function, arm, dtype=dtype)))
    (kernel,) = kernels
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(states, *argument.shape)).astype(dtype) for argument in kernel.interface.inputs]
    out = kernel(*arrays, threads=1)
    results = out if isinstance(out, tuple) else (out,)
    times: list[float] = []
    filling: list[float] = []
    for _ in range(rounds):
        times.append(seconds(lambda: kernel(*arrays, threads=1, out=out)) / states)
        filling.append(seconds(lambda: [array.fill(1.0) for array in results]) / states)
    size = sum(array.nbytes for array in results) / states
    return Timed(kernel.count.total, compiling, size, times, filling)


def measure(states: int = 256, rounds: int = 9, robots: Sequence[str] = ROBOTS) -> Section:
    section = Section("Second derivatives", "python benchmarks/second_derivatives.py", ABOUT)
    header = ["", "dtype", "operations", "compile, s", "kB a state", "µs a state", "filling, µs"]
    for name in robots:
        arm, rows = lw.load(name), []
        with without_cache(), one_core():
            for label, function in functions(arm).items():
                for dtype in ("float64", "float32"):
                    found = timed(arm, function, dtype, states, rounds)
                    cells = [f"{found.operations:,}", number(found.compiling), number(found.bytes_a_state / 1e3)]
                    rows.append([label, dtype, *cells, spread(found.seconds, 1e6), spread(found.filling, 1e6)])
                    if arm.n > 30 and dtype == "float64" and label in LIMITS:
                        text = f"second derivatives of {label}: at most {LIMITS[label]:.0f} µs a state"
                        taken = {name: [1e6 * t for t in found.seconds]}
                        section.claims.append(at_most(text, LIMITS[label], taken, "µs"))
        section.tables.append(Table(f"{name}, {arm.n} degrees of freedom, {states} states:", header, rows))
    return section


if __name__ == "__main__":
    print(measure(**command(__doc__, states=256, rounds=9)))
