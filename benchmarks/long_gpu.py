"""One state of a long chain on a GPU: forward dynamics in O(log n) rounds, all of them one CUDA graph.

    python benchmarks/long_gpu.py [--links 10000] [--rounds 200]

Also the part `long-chain` of `gpu.py`. It needs an NVIDIA GPU with its driver, NumPy and llvmlite, and mpmath for the
error against 50 digits, which takes half a minute for 10,000 links.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from ctypes import byref, c_float, c_void_p
from typing import Any

import numpy as np
from report import FAILED, HELD, UNKNOWN, Claim, Section, Table, at_most, spread

import linkwise as lw
from linkwise.dynamics import articulated
from linkwise.kernels.rounds import Launch
from linkwise.spatial import Wrench
from linkwise.targets.cuda.driver import Device, device
from linkwise.targets.cuda.memory import DeviceArray

ABOUT = (
    "One state in float64. The graph alone and the call on arrays that are on the GPU, which copies them to its own"
    " buffers, are timed by the driver's events; the others by the clock. The error is ‖error‖ / ‖q̈‖ against"
    " articulated bodies in 50 digits; κ(I) is from power iterations, and hence not too large."
)
MOST_MILLISECONDS, MOST_KAPPA_EPS, BATCH, SAME = 1.0, 10.0, 16, 100


def by_events(gpu: Device, stream: int, work: Callable[[], Any], repeats: int) -> list[float]:
    """Milliseconds."""
    begin, end, found = c_void_p(), c_void_p(), []
    with gpu.current() as call:
        call.call("cuEventCreate", byref(begin), 0)
        call.call("cuEventCreate", byref(end), 0)
        for _ in range(repeats):
            call.call("cuEventRecord", begin, stream or None)
            work()
            call.call("cuEventRecord", end, stream or None)
            call.call("cuEventSynchronize", end)
            elapsed = c_float()
            call.call("cuEventElapsedTime", byref(elapsed), begin, end)
            found.append(elapsed.value)
    return found


def by_clock(work: Callable[[], Any], repeats: int, states: int = 1) -> list[float]:
    """Milliseconds for each state."""
    found = []
    for _ in range(repeats):
        begun = time.perf_counter()
        work()
        found.append(1e3 * (time.perf_counter() - begun) / states)
    return found


def error(robot: lw.Robot, given: np.ndarray, *found: np.ndarray) -> list[float]:
    """‖error‖ / ‖q̈‖ of each result, against 50 digits."""
    import mpmath

    with mpmath.workdps(50):
        digits = [[mpmath.mpf(float(x)) for x in array] for array in given]
        exact = articulated.forward_dynamics(robot.cast(mpmath.mpf), *digits, [Wrench.zero()] * robot.n)
        size = np.linalg.norm([float(x) for x in exact])
        off = [[float(mpmath.mpf(float(x)) - y) for x, y in zip(each, exact, strict=True)] for each in found]
        return [float(np.linalg.norm(each) / size) for each in off]


def condition(robot: lw.Robot, q: np.ndarray) -> float:
    """κ(I), from below."""
    floating, still, kappa = robot.with_gravity((0, 0, 0)), np.zeros(robot.n), 1.0
    for function in (lw.inverse_dynamics, lw.forward_dynamics):
        kernel = lw.compile(function, floating)
        x = np.random.default_rng(1).normal(size=robot.n)
        for _ in range(200):
            x = kernel(q, still, x / np.linalg.norm(x))
        kappa *= float(np.linalg.norm(x))
    return kappa


def long_chain(section: Section, links: int = 10_000, repeats: int = 200) -> None:
    robot, gpu = lw.chain(links, seed=1), device(0)
    given = np.random.default_rng(0).normal(size=(3, links)) * [[1.0], [0.1], [1.0]]
    kernel: Any = lw.compile(lw.forward_dynamics, robot, target="cuda", method="parallel", form="rounds")
    cpu = lw.compile(lw.forward_dynamics, robot, method="parallel", form="rounds")
    usual = lw.compile(lw.forward_dynamics, robot, method="articulated")
    there = [DeviceArray(gpu, x.shape, "float64").copy_from(x) for x in given]
    out, expected = DeviceArray(gpu, (links,), "float64"), cpu(*given)
    found = [kernel(*there, out=out).copy_to_host() for _ in range(SAME)]
    section.claims.append(same_bits(links, [(x == expected).all() for x in found]))
    many = [DeviceArray(gpu, (BATCH, links), "float64").copy_from(np.tile(x, (BATCH, 1))) for x in given]
    memory = kernel.code.lanes[0][0]

    def batch() -> None:
        kernel(*many)
        gpu.synchronize(0)

    batch()
    times = {
        "the graph alone": by_events(gpu, memory.stream, memory.launch, repeats),
        "a call on arrays on the GPU": by_events(gpu, 0, lambda: kernel(*there, out=out), repeats),
        "a call on NumPy arrays, with copies": by_clock(lambda: kernel(*given, copy=True), repeats),
        f"{BATCH} states in a call, for each": by_clock(batch, max(repeats // BATCH, 1), BATCH),
        "the same rounds on the CPU": by_clock(lambda: cpu(*given), 3),
        'method "articulated", loops, one core': by_clock(lambda: usual(*given), max(repeats // 10, 1)),
    }
    launches = sum(isinstance(step, Launch) for step in cpu.spec.plan.steps)  # type: ignore[attr-defined]
    caption = f"Chain of {links:,} links, {len(robot.contraction)} rounds, {launches} launches, ms:"
    section.tables.append(Table(caption, ["", "ms"], [[name, spread(x)] for name, x in times.items()]))
    text = f"n = {links:,}, one state, float64: forward dynamics on the GPU at most {MOST_MILLISECONDS:g} ms"
    timed = {name: times[name] for name in list(times)[:2]}
    section.claims.append(at_most(text, MOST_MILLISECONDS, timed, "ms"))
    section.claims.append(accuracy(robot, given, found[0], usual(*given)))


def same_bits(links: int, same: list[Any]) -> Claim:
    text = f"n = {links:,}: the bits of the kernel for the CPU, in {len(same)} runs"
    return Claim(text, f"{sum(map(bool, same))} the same", HELD if all(same) else FAILED)


def accuracy(robot: lw.Robot, given: np.ndarray, found: np.ndarray, usual: np.ndarray) -> Claim:
    text = f"n = {robot.n:,}: error at most {MOST_KAPPA_EPS:g} κ ε against 50 digits"
    try:
        off, other = error(robot, given, found, usual)
    except ImportError:
        return Claim(text, "mpmath is not installed", UNKNOWN)
    kappa = condition(robot, given[0])
    least = off / (kappa * np.finfo(float).eps)
    said = f'{off:.1e} = {least:.1e} κ ε with κ = {kappa:.1e}; method "articulated" on the CPU {other:.1e}'
    return Claim(text, said, HELD if least <= MOST_KAPPA_EPS else FAILED)


def measure(links: int = 10_000, rounds: int = 200) -> Section:
    gpu = device(0)
    section = Section("A long chain on a GPU", "python benchmarks/long_gpu.py", f"{gpu.name}. {ABOUT}")
    long_chain(section, links, rounds)
    return section


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--links", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=200)
    asked = parser.parse_args()
    print(measure(asked.links, asked.rounds))
