"""How long do all second derivatives of inverse dynamics take, for a state of a batch on one thread?

    python benchmarks/second_derivatives.py [robot ...]      the quadruped go1 and the humanoid, unless others are named

Beside it, what filling the same arrays with a constant takes: results are n³ numbers each, four times, and most of them
are zeros. Compiling is of this process alone, without the cache. Times are processor time, the smallest of several
rounds.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np

import linkwise as lw

STATES, ROUNDS = 1024, 7


def seconds(statement: Callable[[], object]) -> float:
    started = time.process_time()
    statement()
    return time.process_time() - started


def measure(name: str, dtype: str) -> str:
    arm = lw.load(name)
    started = time.process_time()
    kernel = lw.compile(lw.inverse_dynamics_second_derivatives, arm, dtype=dtype)
    compiling = time.process_time() - started
    rng = np.random.default_rng(0)
    q = rng.normal(size=(STATES, arm.nq)).astype(dtype)
    qd, qdd = rng.normal(size=(2, STATES, arm.n)).astype(dtype)
    out = kernel(q, qd, qdd, threads=1)
    took = min(seconds(lambda: kernel(q, qd, qdd, threads=1, out=out)) for _ in range(ROUNDS))
    filling = min(seconds(lambda: [array.fill(1.0) for array in out]) for _ in range(ROUNDS))
    size = sum(array.nbytes for array in out) / STATES
    return (
        f"| {name} | {arm.n} | {dtype} | {kernel.count.total:,} | {compiling:.1f} | {size / 1e6:.2f}"
        f" | {1e6 * took / STATES:.1f} | {1e6 * filling / STATES:.1f} |"
    )


def main(names: list[str]) -> None:
    print("| robot | n | dtype | operations | compile s | MB a state | µs a state | of these, filling |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in names or ["go1", "humanoid"]:
        for dtype in ("float64", "float32"):
            print(measure(name, dtype), flush=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LINKWISE_CACHE"] = folder
        main(sys.argv[1:])
