"""One state of a long chain on a GPU: forward dynamics in O(log n) rounds, as one CUDA graph.

    python benchmarks/long_gpu.py [--links 10000] [--rounds 200] [--exact]

Times are of the graph alone, by the driver's events, and with copies from and to NumPy arrays, by the clock. `--exact`
compares with 50 digits by articulated bodies (mpmath; minutes for 10,000 links), and with κ(I) by power iteration.
"""

from __future__ import annotations

import argparse
import statistics
import time
from ctypes import byref, c_float, c_void_p

import numpy as np

import linkwise as lw
from linkwise.dynamics import articulated
from linkwise.kernels.cuda.rounds import CudaMemory
from linkwise.kernels.host import host_target
from linkwise.kernels.rounds import HostMemory, Launch, Plan
from linkwise.kernels.sources import plain_of
from linkwise.spatial import Wrench
from linkwise.trace.round_tracing import trace_rounds

NAMES = ("q", "qd", "tau")


def microseconds(memory: CudaMemory, repeats: int) -> list[float]:
    """Of the graph, by events."""
    begin, end, found = c_void_p(), c_void_p(), []
    with memory.device.current() as call:
        call.call("cuEventCreate", byref(begin), 0)
        call.call("cuEventCreate", byref(end), 0)
        for _ in range(repeats):
            call.call("cuEventRecord", begin, memory.stream)
            memory.launch()
            call.call("cuEventRecord", end, memory.stream)
            call.call("cuEventSynchronize", end)
            elapsed = c_float()
            call.call("cuEventElapsedTime", byref(elapsed), begin, end)
            found.append(1e3 * elapsed.value)
    return found


def with_copies(memory: CudaMemory, given: dict[str, np.ndarray], repeats: int) -> list[float]:
    found = []
    for _ in range(repeats):
        begun = time.perf_counter()
        memory.run(given)
        found.append(1e6 * (time.perf_counter() - begun))
    return found


def spread(times: list[float]) -> str:
    return f"{statistics.median(times):.0f} µs ({min(times):.0f}–{max(times):.0f})"


def error(robot: lw.Robot, given: dict[str, np.ndarray], found: np.ndarray) -> float:
    """‖error‖ / ‖q̈‖, against 50 digits."""
    import mpmath

    with mpmath.workdps(50):
        digits = [[mpmath.mpf(float(x)) for x in array] for array in given.values()]
        exact = articulated.forward_dynamics(robot.cast(mpmath.mpf), *digits, [Wrench.zero()] * robot.n)
        difference = [float(mpmath.mpf(float(x)) - y) for x, y in zip(found, exact, strict=True)]
        return float(np.linalg.norm(difference) / np.linalg.norm([float(x) for x in exact]))


def condition(robot: lw.Robot, q: np.ndarray) -> float:
    """κ(I), from below."""
    floating, still, kappa = robot.with_gravity((0, 0, 0)), np.zeros(robot.n), 1.0
    for function in (lw.inverse_dynamics, lw.forward_dynamics):
        x = np.random.default_rng(1).normal(size=robot.n)
        for _ in range(200):
            x = function(floating, q, still, x / np.linalg.norm(x))
        kappa *= float(np.linalg.norm(x))
    return kappa


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--links", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--exact", action="store_true")
    options = parser.parse_args()
    robot = lw.chain(options.links, seed=1)
    numbers = np.random.default_rng(0).normal(size=(3, robot.n)) * [[1.0], [0.1], [1.0]]
    given = dict(zip(NAMES, numbers, strict=True))
    begun = time.perf_counter()
    rounds = trace_rounds(plain_of(lw.forward_dynamics), robot, dict.fromkeys(NAMES, ()), method="parallel")
    plan = Plan(rounds, robot.contraction, NAMES)
    gpu, cpu = CudaMemory(plan), HostMemory(plan, host_target())
    found, want = gpu.run(given)[:, 0], cpu.run(given)[:, 0]
    launches = sum(isinstance(step, Launch) for step in plan.steps)
    print(f"{gpu.device.name}: {robot.n} links, {len(robot.contraction)} rounds, {launches} launches,", end=" ")
    print(f"made in {time.perf_counter() - begun:.1f} s; the bits of the CPU: {bool((found == want).all())}")
    print(f"  graph {spread(microseconds(gpu, options.rounds))}")
    print(f"  with copies from and to NumPy {spread(with_copies(gpu, given, options.rounds))}")
    usual = lw.forward_dynamics(robot, *given.values(), method="articulated")
    times = []
    for _ in range(20):
        begun = time.perf_counter()
        lw.forward_dynamics(robot, *given.values(), method="articulated")
        times.append(1e6 * (time.perf_counter() - begun))
    print(f"  articulated bodies in loops on one core {spread(times)}")
    print(f"  largest difference to these {np.abs(found - usual).max() / np.abs(usual).max():.1e} of the largest")
    if options.exact:
        off, kappa = error(robot, given, found), condition(robot, given["q"])
        print(f"  error {off:.1e} = {off / (kappa * np.finfo(float).eps):.1e} κ ε, κ = {kappa:.1e}")


if __name__ == "__main__":
    main()
