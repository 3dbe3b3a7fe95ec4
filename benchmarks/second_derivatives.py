"""How long do all second derivatives of inverse and forward dynamics take, for a state of a batch?

    python benchmarks/second_derivatives.py [robot ...]      the quadruped go1 and the humanoid, unless others are named

Dense results are four tensors of n³ numbers, most of them zeros: beside their time stands what filling the same arrays
with a constant takes. `lw.packed` gives the values that differ, each once; the weighted ones are the four matrices of
the second derivatives of λᵀ τ by q and q̇. Into arrays of the caller's. One thread: processor time, the smallest of
several rounds; all threads: time on the clock. Compiling is processor time of this process, without what the cache has
of earlier processes; forward dynamics finds the packed values of inverse dynamics compiled.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import linkwise as lw

STATES, ROUNDS = 256, 9
PUBLISHED = "36 degrees of freedom, Singh, Russell and Wensing (2023), in C++: 200 µs and 2,100 µs"


def seconds(statement: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    started = clock()
    statement()
    return clock() - started


def functions(arm: lw.Robot) -> dict[str, Any]:
    inverse = lw.inverse_dynamics_second_derivatives
    weighted = lw.derivative(lw.vjp(lw.inverse_dynamics, arm, ("q", "qd")), arm, ("q", "qd"))
    return {
        "inverse dynamics, packed": lw.packed(inverse, arm),
        "inverse dynamics, dense": inverse,
        "inverse dynamics, weighted": weighted,
        "forward dynamics, dense": lw.forward_dynamics_second_derivatives,
    }


def measure(arm: lw.Robot, label: str, function: Any, dtype: str) -> str:
    kernels: list[Any] = []
    compiling = seconds(lambda: kernels.append(lw.compile(function, arm, dtype=dtype)))
    (kernel,) = kernels
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(STATES, *argument.shape)).astype(dtype) for argument in kernel.interface.inputs]
    out = kernel(*arrays, threads=1)
    results = out if isinstance(out, tuple) else (out,)
    one, every, filling = [], [], []
    for _ in range(ROUNDS):
        one.append(seconds(lambda: kernel(*arrays, threads=1, out=out)))
        every.append(seconds(lambda: kernel(*arrays, out=out), time.perf_counter))
        filling.append(seconds(lambda: [array.fill(1.0) for array in results]))
    size = sum(array.nbytes for array in results) / STATES
    times = " | ".join(f"{1e6 * min(each) / STATES:.1f}" for each in (one, every, filling))
    return f"| {label} | {dtype} | {kernel.count.total:,} | {compiling:.1f} | {size / 1e6:.2f} | {times} |"


def main(names: list[str]) -> None:
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    print(f"{os.cpu_count()} processors, load {load}; published: {PUBLISHED}")
    for name in names or ["go1", "humanoid"]:
        arm = lw.load(name)
        print(f"\n{name}, {arm.n} degrees of freedom, µs for one of {STATES} states\n")
        print(
            "| second derivatives | dtype | operations | compile s | MB a state | one thread | all threads | filling |"
        )
        print("| --- | --- | --- | --- | --- | --- | --- | --- |")
        for label, function in functions(arm).items():
            for dtype in ("float64", "float32"):
                print(measure(arm, label, function, dtype), flush=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LINKWISE_CACHE"] = folder
        main(sys.argv[1:])
