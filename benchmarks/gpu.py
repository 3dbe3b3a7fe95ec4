"""States a second on a GPU, beside the bandwidth of its memory and beside other ways to program it.

python benchmarks/gpu.py [--states 24] [--rounds 60] [--parts check,panda,rollout,...]

`--states` is the logarithm to base 2 of how many. It needs an NVIDIA GPU with its driver, NumPy and llvmlite; CuPy (for
NVRTC), torch, JAX, MJX and MuJoCo Warp are measured where they are installed.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from gpu_loops import loops
from gpu_mujoco import STEP, TASK_FUNCTIONS, mujoco_peers
from gpu_peers import jax_peer, nvrtc_peer, timed, torch_peer
from gpu_rollout import jax_rollout, rollouts, simulations
from long_gpu import long_chain
from report import Claim, Section, Table, at_least, spread

import linkwise as lw
from linkwise.api.compiling import spec_of
from linkwise.targets.cuda.driver import L2_BYTES, LOCAL_BYTES, MULTIPROCESSORS, REGISTERS, device, driver
from linkwise.targets.cuda.kernel import CudaKernel
from linkwise.targets.cuda.memory import DeviceArray
from linkwise.targets.cuda.target import CudaTarget

ABOUT = (
    "One launch of a kernel on arrays (states, n) that are in the GPU's memory and several times as large as its cache,"
    " timed by the driver's events. What a table compares takes turns in random order, launch by launch, and so does a"
    " copy from device to device that reads and writes as many bytes: the clock of the card moves with its power and"
    ' temperature. "of copy" is the ratio of the two times within a round. Figures are medians, with the smallest and'
    " the largest in brackets. Before it is timed a kernel must give the bits of the kernel for the CPU."
)
# By default; "variants" only if asked for.
PARTS = (
    "check",
    "panda",
    "rollout",
    "simulate",
    "long",
    "rows",
    "shapes",
    "host",
    "peers",
    "rollout-peers",
    "mujoco",
    "loops",
    "long-chain",
)
ID, FD, M = lw.inverse_dynamics, lw.forward_dynamics, lw.inertia_matrix
NAMES = {ID: "inverse dynamics", FD: "forward dynamics", M: "inertia matrix"}
DTYPES = ("float32", "float64")


@cache
def robot(label: str) -> lw.Robot:
    """A robot by its label: the Panda, a chain or a random tree of so many joints."""
    if label == "Panda":
        return lw.load(Path(__file__).with_name("panda.toml"))
    kind, _, joints = label.partition(" ")
    return lw.random_tree(int(joints)) if kind == "tree" else lw.chain(int(joints))


@cache
def kernel(label: str, function: Callable[..., Any], dtype: str, target: CudaTarget | None = None) -> CudaKernel:
    spec = spec_of(function, robot(label), dtype, {}, "straight", target=target or CudaTarget())
    made = spec.target.kernel(spec)
    assert isinstance(made, CudaKernel)
    return made


@dataclass(frozen=True)
class Contestant:
    """Something that is launched: `run` starts it on the default stream."""

    label: str
    run: Callable[[], None]
    states: int
    moved: int  # bytes read and written
    about: str = ""


class Clock:
    """Seconds on the GPU, between two events."""

    def __init__(self) -> None:
        import ctypes

        self.gpu, self.driver = device(0), driver()
        self.events = [ctypes.c_void_p(), ctypes.c_void_p()]
        with self.gpu.current() as call:
            for event in self.events:
                call.call("cuEventCreate", ctypes.byref(event), 0)
        self.elapsed = ctypes.c_float()
        self.reference = ctypes.byref(self.elapsed)

    def __call__(self, run: Callable[[], None]) -> float:
        with self.gpu.current() as call:
            call.call("cuEventRecord", self.events[0], None)
            run()
            call.call("cuEventRecord", self.events[1], None)
            call.call("cuEventSynchronize", self.events[1])
            call.call("cuEventElapsedTime", self.reference, *self.events)
        return self.elapsed.value * 1e-3


def interleaved(contestants: Sequence[Contestant], rounds: int) -> dict[str, list[float]]:
    clock, draw = Clock(), random.Random(0)
    times: dict[str, list[float]] = {one.label: [] for one in contestants}
    for one in contestants:
        clock(one.run)
        clock(one.run)
    for _ in range(rounds):
        for one in draw.sample(list(contestants), len(contestants)):
            times[one.label].append(clock(one.run))
    return times


@dataclass
class Arrays:
    """The arrays of a kernel on the GPU, filled with random numbers."""

    inputs: list[DeviceArray]
    outputs: list[DeviceArray]

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in (*self.inputs, *self.outputs))

    @property
    def pointers(self) -> list[int]:
        return [array.pointer for array in (*self.inputs, *self.outputs)]


_arrays: dict[tuple[Any, ...], Arrays] = {}


def arrays(made: CudaKernel, states: int) -> Arrays:
    """Those of the last kernel again, if they fit."""
    inputs, outputs = ([argument.shape for argument in part] for part in made.interface[:2])
    key = (states, made.interface.dtype, tuple(inputs), tuple(outputs))
    if key not in _arrays:
        _arrays.clear()
        dtype, rng = made.interface.dtype, np.random.default_rng(0)
        block = min(states, 1 << 18)
        filled = []
        for shape in inputs:
            whole = np.resize(rng.uniform(-2.0, 2.0, (block, *shape)).astype(dtype), (states, *shape))
            filled.append(DeviceArray(device(0), (states, *shape), dtype).copy_from(whole))
        _arrays[key] = Arrays(filled, [DeviceArray(device(0), (states, *shape), dtype) for shape in outputs])
    return _arrays[key]


def ours(label: str, made: CudaKernel, states: int) -> Contestant:
    import ctypes

    content = arrays(made, states)
    values = [ctypes.c_int64(states), *map(ctypes.c_uint64, content.pointers)]
    places = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
    module, threads = made.code.module(0), made.code.threads
    blocks = -(-states // threads)
    about = f"{module.attribute(REGISTERS)} registers, {module.attribute(LOCAL_BYTES)} bytes spilled, {threads} threads"

    def run() -> None:
        assert len(values) == len(content.pointers) + 1  # it keeps both alive
        module.launch(blocks, threads, places, 0)

    return Contestant(label, run, states, content.nbytes, about)


def copy_of(moved: int) -> Contestant:
    """A copy that reads half of these bytes and writes the other half."""
    half = moved // 2
    source, target = (DeviceArray(device(0), (half // 4,), "float32") for _ in range(2))
    call = driver()

    def run() -> None:
        call.call("cuMemcpyDtoDAsync_v2", target.pointer, source.pointer, half, None)

    return Contestant("copy", run, 0, moved)


# parts


def same_bits(labels: Sequence[str], states: int = (1 << 15) + 77) -> list[Claim]:
    """Results of the GPU against those of the CPU: as they come, for large angles, for any launch shape, again."""
    compared, different = 0, []
    shapes = [CudaTarget(threads=threads) for threads in (32, 64, 128, 256)]
    shapes += [CudaTarget(staged=staged, fast=fast) for staged in (True, False) for fast in (True, False)]
    shapes += [CudaTarget(blocks=6)]
    for label in labels:
        for function in (ID, FD, M):
            for dtype in DTYPES:
                expected_by = lw.compile(function, robot(label), dtype=dtype, form="straight")
                rng = np.random.default_rng(1)
                count = states if label == "Panda" else states // 8 + 5
                given = [rng.uniform(-3.0, 3.0, (count, *x.shape)) for x in expected_by.interface.inputs]
                given[0][count // 2 :] *= 10.0 ** rng.uniform(-3.0, 12.0, given[0][count // 2 :].shape)
                given[-1][7, 0], given[0][11, -1] = np.nan, np.inf
                given = [x.astype(dtype) for x in given]
                expected = expected_by(*given)
                for target in shapes if expected_by.robot.n < 20 else shapes[1:2]:
                    made = kernel(label, function, dtype, target)
                    there = [DeviceArray(device(0), x.shape, dtype).copy_from(x) for x in given]
                    for _ in range(100 if target == CudaTarget() and label == "Panda" and function is FD else 1):
                        compared += 1
                        found = made(*there).copy_to_host()
                        if not np.array_equal(found, expected, equal_nan=True):
                            different.append(f"{label}, {NAMES[function]}, {dtype}, {target}")
                    kernel.cache_clear()
    text = "The GPU gives the bits of the CPU: for any launch shape, for large angles, in 100 runs"
    said = f"{compared} comparisons, {len(different)} different{': ' + '; '.join(different[:8]) if different else ''}"
    return [Claim(text, said, "held" if not different else "**not held**")]


def race(caption: str, labels: Sequence[str], functions: Sequence[Any], states: int, rounds: int) -> tuple[Table, dict]:
    """Kernels beside a copy; and the ratios to it."""
    rows, found = [], {}
    for label in labels:
        for function in functions:
            for dtype in DTYPES:
                one = ours(dtype, kernel(label, function, dtype), states)
                times = interleaved([one, copy_of(one.moved)], rounds)
                found[label, function, dtype] = (one.states, times[one.label], times["copy"])
                rows.append([f"{label}, {NAMES[function]}", dtype, *columns(one, times), one.about])
                print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    header = ["", "dtype", "1e9 states/s", "TB/s", "copy, TB/s", "of copy", "kernel"]
    return Table(caption, header, rows), found


def columns(one: Contestant, times: dict[str, list[float]]) -> list[str]:
    seconds, copy = times[one.label], times["copy"]
    return [
        spread([one.states / t for t in seconds], 1e-9),
        spread([one.moved / t for t in seconds], 1e-12),
        spread([one.moved / t for t in copy], 1e-12),
        spread([b / a for a, b in zip(seconds, copy, strict=True)]),
    ]


def panda(section: Section, states: int, rounds: int) -> None:
    table, found = race(f"Panda (7 joints), {states:,} states:", ["Panda"], [ID, FD, M], states, rounds)
    section.tables.append(table)
    for dtype, wanted in (("float32", 0.85), ("float64", 0.92)):
        _, seconds, copy = found["Panda", ID, dtype]
        share = [b / a for a, b in zip(seconds, copy, strict=True)]
        text = f"Panda, inverse dynamics, {dtype}: at least {wanted:.0%} of the bandwidth of a copy"
        section.claims.append(at_least(text, wanted, {"of copy": share}))
    for dtype, wanted in (("float32", 24e9), ("float64", 12e9)):
        count, seconds, _ = found["Panda", FD, dtype]
        rate = [count / t * 1e-9 for t in seconds]
        text = f"Panda, forward dynamics, {dtype}: at least {wanted * 1e-9:.0f}e9 states/s"
        section.claims.append(at_least(text, wanted * 1e-9, {"1e9 states/s": rate}))


def long_robots(section: Section, states: int, rounds: int) -> None:
    states = max(1024, states // 8)
    caption = f"Longer robots, {states:,} states:"
    table, found = race(caption, ["chain 12", "tree 20", "tree 30", "chain 30"], [ID, FD], states, rounds // 3 or 1)
    section.tables.append(table)
    _, seconds, copy = found["tree 30", ID, "float32"]
    share = [b / a for a, b in zip(seconds, copy, strict=True)]
    text = "A robot of 30 joints (a tree), inverse dynamics, float32: at least 80% of the bandwidth of a copy"
    section.claims.append(at_least(text, 0.8, {"of copy": share}))


def forms(
    caption: str, cases: Sequence[tuple[str, Any]], choices: dict[str, CudaTarget], states: int, rounds: int
) -> Table:
    """The same kernel in several forms, which take turns."""
    rows = []
    for label, function in cases:
        for dtype in DTYPES:
            contestants = [
                ours(name, kernel(label, function, dtype, choice), states) for name, choice in choices.items()
            ]
            times = interleaved([*contestants, copy_of(contestants[0].moved)], rounds)
            cells = []
            for one in contestants:
                registers, spilled, _ = one.about.split(", ")
                rate = statistics.median(one.states / t for t in times[one.label]) * 1e-9
                cells.append(f"{rate:.2f} ({registers.split()[0]} registers, {spilled.split()[0]} B)")
            copy = statistics.median(contestants[0].moved / t for t in times["copy"]) * 1e-12
            rows.append([f"{label}, {NAMES[function]}", dtype, *cells, f"{copy:.2f}"])
            print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    return Table(caption, ["", "dtype", *choices, "copy, TB/s"], rows)


def rows_rule(section: Section, states: int, rounds: int) -> None:
    cases = [(f"tree {n}", ID) for n in (6, 7, 8, 9, 10, 12, 16, 24, 30)] + [("Panda", M)]
    choices = {"direct": CudaTarget(staged=False), "staged": CudaTarget(staged=True)}
    caption = "Rows read directly or through shared memory, 1e9 states/s:"
    section.tables.append(forms(caption, cases, choices, max(1024, states // 8), rounds // 4 or 1))


def launch_shapes(section: Section, states: int, rounds: int) -> None:
    choices = {f"{threads} threads": CudaTarget(threads=threads) for threads in (32, 64, 128, 256)}
    choices |= {f"64 threads, {blocks} blocks": CudaTarget(blocks=blocks) for blocks in (5, 6, 7, 8)}
    cases = [("Panda", ID), ("Panda", FD)]
    section.tables.append(forms("Launch shapes, 1e9 states/s:", cases, choices, states, rounds // 4 or 1))


def variants(section: Section, states: int, rounds: int) -> None:
    """What the rules for rows and for fast paths are made from."""
    both = {f"{how} rows, {path} path": (how, path) for how in ("direct", "staged") for path in ("full", "fast")}
    choices = {
        name: CudaTarget(staged=how == "staged", fast=path == "fast", blocks=0) for name, (how, path) in both.items()
    }
    choices["as chosen"] = CudaTarget()
    more = {f"fast path, {threads} threads": CudaTarget(threads=threads, fast=True, blocks=0) for threads in (32, 128)}
    more |= {f"fast path, {blocks} blocks": CudaTarget(fast=True, blocks=blocks) for blocks in (6, 12, 14, 16)}
    more |= {"staged rows, fast path, 14 blocks": CudaTarget(staged=True, fast=True, blocks=14)}
    cases = [("Panda", ID), ("Panda", FD)]
    caption = "Forms of a kernel, 1e9 states/s:"
    section.tables.append(forms(caption, cases, choices | more, states, rounds // 3 or 1))
    labels = ("chain 4", "chain 6", "chain 8", "tree 4", "tree 6", "tree 8", "tree 12")
    cases = [(label, function) for label in labels for function in (ID, FD)] + [("chain 12", ID)]
    caption = "Rows and paths, 1e9 states/s:"
    section.tables.append(forms(caption, cases, choices, states // 4, rounds // 6 or 1))


def from_the_host(section: Section, states: int, rounds: int) -> None:
    """NumPy arrays there and back; and what a call costs in Python."""
    rows = []
    for dtype in DTYPES:
        made, count = kernel("Panda", FD, dtype), max(1024, states // 16)
        given = [np.random.default_rng(k).uniform(-2.0, 2.0, (count, 7)).astype(dtype) for k in range(3)]
        out, seconds = np.empty((count, 7), dtype), []
        for _ in range(5):
            started = time.perf_counter()
            made(*given, out=out, copy=True)
            seconds.append(time.perf_counter() - started)
        moved = 4 * out.nbytes
        there = [DeviceArray(device(0), (64, 7), dtype).copy_from(x[:64]) for x in given]
        target = DeviceArray(device(0), (64, 7), dtype)
        calls = []
        for _ in range(7):
            started = time.perf_counter()
            for _ in range(200):
                made(*there, out=target)
            calls.append((time.perf_counter() - started) / 200)
            device(0).synchronize(0)
        cells = [spread([count / t for t in seconds[1:]], 1e-9), spread([moved / t for t in seconds[1:]], 1e-9)]
        rows.append([f"Panda, forward dynamics, {count:,} states", dtype, *cells, spread(calls, 1e6)])
    header = ["", "dtype", "1e9 states/s from NumPy and back", "GB/s", "µs for a call on 64 states"]
    section.tables.append(Table("From Python:", header, rows))


def beside_peers(section: Section, states: int, rounds: int) -> None:
    rows = []
    for function in (ID, FD):
        for dtype in DTYPES:
            made = kernel("Panda", function, dtype)
            own = ours("Linkwise", made, states)
            entered = [own]
            nvrtc = nvrtc_peer(robot("Panda"), function, dtype, arrays(made, states).pointers, states)
            if nvrtc is not None:
                entered.append(Contestant("NVRTC", nvrtc, states, own.moved))
            times = interleaved(entered, rounds // 2 or 1)
            row = [f"Panda, {NAMES[function]}", dtype]
            row += [
                spread([states / t for t in times[name]], 1e-9) if name in times else ""
                for name in ("Linkwise", "NVRTC")
            ]
            fewer = min(states, 1 << 20)
            for peer in (torch_peer, jax_peer):
                seconds = peer(robot("Panda"), function, dtype, fewer)
                row.append(spread([fewer / t for t in seconds], 1e-9) if seconds else "")
            rows.append(row)
            print(*row, sep=" | ", file=sys.stderr, flush=True)
    header = ["1e9 states/s", "dtype", "Linkwise", "NVRTC", "torch, plain", "JAX, jit"]
    section.tables.append(Table("Other ways to run the same equations:", header, rows))
    section.remarks.append(
        "NVRTC compiles the C text of `lw.c_source` as a CUDA kernel with a thread for each state, with its own sine"
        " and cosine and its own choice of fused products; it is called through CuPy. torch and JAX run Linkwise's"
        " plain Python text on their arrays, JAX inside `jit`, on a million states, timed by the host's clock."
    )


def rolling(section: Section, states: int, rounds: int) -> None:
    """A step takes as long as the forward dynamics of four states; the launches are as long for any `--states`."""

    def race(launches: dict[str, Callable[[], None]]) -> dict[str, list[float]]:
        return interleaved([Contestant(name, run, 0, 0) for name, run in launches.items()], rounds // 3 or 1)

    rollouts(section, robot("Panda"), race, *((1 << 16, 1000) if states >= 1 << 16 else (70, 20)))


def simulating(section: Section, states: int, rounds: int) -> None:
    simulations(section, robot("Panda"), *((1 << 14, 1.0) if states >= 1 << 16 else (10, 0.1)))


def rolling_in_jax(section: Section, states: int, rounds: int) -> None:
    jax_rollout(section, robot("Panda"))


def beside_mujoco(section: Section, states: int, rounds: int) -> None:
    """MJX and MuJoCo Warp; whole calls by the host's clock."""
    arm = robot("Panda")

    def own(task: str, dtype: str, given: list[np.ndarray], steps: int) -> list[float]:
        there = [DeviceArray(device(0), x.shape, dtype).copy_from(x) for x in given]
        made = kernel("Panda", TASK_FUNCTIONS[task], dtype) if task in TASK_FUNCTIONS else None

        def call() -> Any:
            if made is not None:
                return made(*there)
            return lw.rollout(arm, there[0], there[1], steps=steps, dt=STEP, torque=there[2], target="cuda")

        return timed(call, lambda _: device(0).synchronize(0))

    mujoco_peers(section, arm, own, 1 << 14 if states >= 1 << 16 else 40)


def looping(section: Section, states: int, rounds: int) -> None:
    def race(launches: dict[str, Callable[[], None]]) -> dict[str, list[float]]:
        return interleaved([Contestant(name, run, 0, 0) for name, run in launches.items()], rounds // 6 or 1)

    small = states < 1 << 16
    loops(section, race, *((1, ("chain 8",)) if small else (1 << 31,)))


def rounds_of_a_long_chain(section: Section, states: int, rounds: int) -> None:
    long_chain(section, *((10_000, 200) if states >= 1 << 16 else (3, 1)))


def machine() -> str:
    gpu = device(0)
    version = driver().version
    names = ("numpy", "llvmlite", "torch", "jax", "cupy-cuda13x", "cupy-cuda12x", "mujoco-mjx", "mujoco-warp")
    found = []
    for name in names:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    try:
        query = ["nvidia-smi", "--query-gpu=driver_version,clocks.max.sm,power.limit", "--format=csv,noheader"]
        smi = subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip().splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        smi = "unknown"
    major, minor = gpu.capability
    memory = gpu.free_and_total()[1] / 2**30
    return (
        f"{time.strftime('%Y-%m-%d')}, {gpu.name} (compute capability {major}.{minor}, {gpu.attribute(MULTIPROCESSORS)}"
        f" multiprocessors, {memory:.0f} GiB, L2 {gpu.attribute(L2_BYTES) / 2**20:.0f} MiB; driver, SM clock, power"
        f" limit: {smi}), CUDA {version // 1000}.{version % 1000 // 10}, Python"
        f" {sys.version.split()[0]}, {', '.join(found)}, Linkwise {lw.__version__}."
    )


def measure(states: int = 24, rounds: int = 60, parts: Sequence[str] = PARTS) -> Section:
    count = 1 << states
    section = Section("Kernels on a GPU", "python benchmarks/gpu.py", f"{machine()} {ABOUT}")
    if "check" in parts:
        section.claims += same_bits(["Panda", "tree 12", "tree 30"])
    work = {"panda": panda, "rollout": rolling, "simulate": simulating, "long": long_robots, "rows": rows_rule}
    work |= {"shapes": launch_shapes, "host": from_the_host, "peers": beside_peers, "rollout-peers": rolling_in_jax}
    work |= {"mujoco": beside_mujoco, "loops": looping, "variants": variants, "long-chain": rounds_of_a_long_chain}
    for name, part in work.items():
        if name in parts:
            started = time.perf_counter()
            part(section, count, rounds)
            kernel.cache_clear()
            print(f"{name}: {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
    return section


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--states", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--parts", default=",".join(PARTS))
    given = parser.parse_args()
    print(measure(given.states, given.rounds, given.parts.split(",")))
