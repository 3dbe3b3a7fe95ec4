"""Rollouts on a GPU, for `gpu.py`: robot-steps a second, the bits of the CPU, launch shapes, and JAX."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from report import Claim, Section, Table, at_least, spread
from timing import optional

import linkwise as lw
from linkwise.ode.rollout import Rows, Settings, rollout_of
from linkwise.simulation.problem import Problem, program_of
from linkwise.targets.cuda.driver import LOCAL_BYTES, MULTIPROCESSORS, REGISTERS, device
from linkwise.targets.cuda.memory import DeviceArray
from linkwise.targets.cuda.target import CudaTarget
from linkwise.targets.cuda.trajectories import TARGET, CudaRollout

Race = Callable[[dict[str, Callable[[], None]]], dict[str, list[float]]]  # launches -> seconds of each, by turns
WANTED = {"float32": 6.2, "float64": 3.2}  # 1e9 robot-steps/s
STEP = 1e-3
SHAPES = {
    "lw.rollout": TARGET,
    "32 threads": CudaTarget(threads=32),
    "64 threads": CudaTarget(threads=64),
    "128 threads": CudaTarget(threads=128),
    "64 threads, 5 blocks": CudaTarget(blocks=5),
    "64 threads, 6 blocks": CudaTarget(blocks=6),
    "128 threads, 3 blocks": CudaTarget(threads=128, blocks=3),
}


def starts(robot: lw.Robot, count: int, dtype: str) -> list[np.ndarray]:
    """q, qd and torques."""
    rng = np.random.default_rng(2)
    limits = (1.5, 1.0, 5.0)
    return [rng.uniform(-x, x, (count, robot.n)).astype(dtype) for x in limits]


def compiled(robot: lw.Robot, dtype: str, target: CudaTarget) -> CudaRollout:
    program = program_of(Problem(robot, tau=True, energy_balance=False))
    return CudaRollout(rollout_of(program, "rk4", robot.nq, robot.quaternions), dtype, target)


class Launch:
    """A kernel with its arrays."""

    def __init__(self, robot: lw.Robot, dtype: str, target: CudaTarget, count: int, settings: Settings) -> None:
        self.made = compiled(robot, dtype, target)
        self.inputs = [DeviceArray(device(0), x.shape, dtype).copy_from(x) for x in starts(robot, count, dtype)]
        sizes = [(count, robot.n)] * 2 + [(count,)] + [(count, settings.samples, robot.n)] * 2
        kinds = [dtype, dtype, "int32", dtype, dtype]
        self.outputs = [DeviceArray(device(0), size, kind) for size, kind in zip(sizes, kinds, strict=True)]
        rows = [Rows(x.pointer, robot.n) for x in self.inputs]
        self.arguments = self.made.arguments(count, settings, rows, [x.pointer for x in self.outputs])
        self.module = self.made.code.module(0)
        multiprocessors = device(0).attribute(MULTIPROCESSORS)
        self.threads = self.made.threads(count, multiprocessors) if target is TARGET else target.threads
        self.blocks = -(-count // self.threads)

    def __call__(self) -> None:
        self.module.launch(self.blocks, self.threads, self.arguments[0], 0)

    @property
    def about(self) -> str:
        registers, spilled = (self.module.attribute(which) for which in (REGISTERS, LOCAL_BYTES))
        return f"{self.threads} threads, {registers} registers, {spilled} B"

    def results(self) -> list[np.ndarray]:
        return [x.copy_to_host() for x in self.outputs]


def rollouts(section: Section, robot: lw.Robot, race: Race, count: int = 1 << 16, steps: int = 1000) -> None:
    """What `lw.rollout` launches, and other launch shapes: they take turns."""
    rows, settings, work = [], Settings(steps, 0, 0, STEP), count * steps
    for dtype, wanted in WANTED.items():
        launches: dict[str, Any] = {
            name: Launch(robot, dtype, target, count, settings) for name, target in SHAPES.items()
        }
        often = Settings(steps, 10, steps // 10 + 1, STEP)
        launches["lw.rollout, samples"] = Launch(robot, dtype, TARGET, count, often)
        times = race(launches)
        for name, seconds in times.items():
            rows.append([dtype, name, spread([work / t for t in seconds], 1e-9), launches[name].about])
            print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
        rate = [work / t * 1e-9 for t in times["lw.rollout"]]
        text = f"Panda, RK4 rollouts of {count:,} arms x {steps:,} steps, {dtype}: at least {wanted}e9 robot-steps/s"
        section.claims.append(at_least(text, wanted, {"1e9 robot-steps/s": rate}))
        section.claims.append(same_bits(robot, dtype, launches, count, steps))
    caption = f"Panda, {count:,} rollouts of {steps:,} steps of RK4, a thread each; samples: every 10 steps:"
    section.tables.append(
        Table(caption, ["dtype", "", "1e9 robot-steps/s", "threads of a block, registers, spilled"], rows)
    )


def same_bits(robot: lw.Robot, dtype: str, launches: dict[str, Any], count: int, steps: int) -> Claim:
    """After the last step, of every trajectory and for every launch shape, and of the samples on the way."""
    q, qd, tau = starts(robot, count, dtype)
    started = time.perf_counter()
    expected = lw.rollout(robot, q, qd, steps=steps, dt=STEP, torque=tau, every=10)
    seconds = time.perf_counter() - started
    different = []
    for name, launch in launches.items():
        q_end, qd_end, finite, *samples = launch.results()
        pairs = [(q_end, expected.q_end), (qd_end, expected.qd_end), (finite, expected.finite)]
        pairs += zip(samples, (expected.q, expected.qd), strict=True) if samples[0].size else []
        if not all(np.array_equal(a, b) for a, b in pairs):
            different.append(name)
    text = f"Panda, {dtype}: the bits of the CPU after {steps:,} steps, of all {count:,} arms, for any launch shape"
    said = f"{len(launches)} kernels, {len(different)} different{': ' + '; '.join(different) if different else ''}"
    said += f", {int((expected.finite < steps).sum())} arms lost; on the CPU it took {seconds:.1f} s"
    return Claim(text, said, "**not held**" if different else "held")


def simulations(section: Section, robot: lw.Robot, count: int = 1 << 14, duration: float = 1.0) -> None:
    """Adaptive steps: `lw.simulate` from NumPy arrays to a recording, on the GPU and on the CPU."""
    q, qd, tau = starts(robot, count, "float64")
    rows, recordings = [], {}
    for target in ("cuda", "cpu"):
        options: dict[str, Any] = {"rtol": 1e-6, "samples": 11, "target": target, "progress": False}
        lw.simulate(robot, q[:2], qd[:2], 0.01, tau[:2], **options)  # compiles
        started = time.perf_counter()
        recordings[target] = lw.simulate(robot, q, qd, duration, tau, **options)
        seconds = time.perf_counter() - started
        tried = int((recordings[target].steps + recordings[target].rejected).sum())
        rows.append([target, f"{seconds:.2f}", f"{count / seconds:,.0f}", f"{tried / seconds * 1e-6:.2f}"])
        print("simulate", *rows[-1], sep=" | ", file=sys.stderr, flush=True)
    found, expected = recordings["cuda"], recordings["cpu"]
    same = all(np.array_equal(getattr(found, x), getattr(expected, x), equal_nan=True) for x in ("q", "qd", "steps"))
    text = "Panda, lw.simulate with verner65 and rtol 1e-6 on the GPU: the bits of the CPU"
    said = f"{count:,} trajectories of {duration:g} s, {int((found.status != 'done').sum())} not done"
    section.claims.append(Claim(text, said, "held" if same else "**not held**"))
    header = ["target", "seconds", "trajectories/s", "1e6 steps/s"]
    caption = f"`lw.simulate`, {count:,} trajectories of {duration:g} s with steps of their own (verner65, rtol 1e-6):"
    section.tables.append(Table(caption, header, rows))


def jax_rollout(section: Section, robot: lw.Robot, count: int = 1 << 16, steps: int = 100) -> None:
    """The plain Python text inside `jit`: a loop over steps, and in it one over stages."""
    jax = optional("jax")
    if jax is None or jax.default_backend() not in ("gpu", "cuda"):
        return
    jax.config.update("jax_enable_x64", True)
    xp, rows = jax.numpy, []
    for dtype in WANTED:
        given = [xp.asarray(x) for x in starts(robot, count, dtype)]
        weights, ways = (xp.asarray(x, dtype) for x in ((1 / 6, 1 / 3, 1 / 3, 1 / 6), (0.5, 0.5, 1.0, 1.0)))

        def one(_: Any, state: Any, tau: Any = given[2], weights: Any = weights, ways: Any = ways) -> Any:
            def stage(s: Any, carried: Any) -> Any:
                (q, qd), (sum_q, sum_qd) = carried
                qdd = lw.forward_dynamics(robot, q, qd, tau, method="fewest")
                way = ways[s] * STEP
                sums = sum_q + weights[s] * qd, sum_qd + weights[s] * qdd
                return (state[0] + way * qd, state[1] + way * qdd), sums

            zeros = xp.zeros_like(state[0])
            _, sums = jax.lax.fori_loop(0, 4, stage, (state, (zeros, zeros)))
            return state[0] + STEP * sums[0], state[1] + STEP * sums[1]

        started = time.perf_counter()
        with lw.use_kernels("never"):
            run = jax.jit(lambda q, qd: jax.lax.fori_loop(0, steps, one, (q, qd))).lower(*given[:2]).compile()
        compiling, seconds = time.perf_counter() - started, []
        for _ in range(4):
            started = time.perf_counter()
            jax.block_until_ready(run(*given[:2]))
            seconds.append(time.perf_counter() - started)
        rate = spread([count * steps / t for t in seconds[1:]], 1e-9)
        rows.append([dtype, rate, f"{compiling:.1f} s"])
        print("JAX", *rows[-1], sep=" | ", file=sys.stderr, flush=True)
    header = ["JAX, jit", "1e9 robot-steps/s", "compilation"]
    section.tables.append(Table(f"{count:,} rollouts of {steps} steps in JAX:", header, rows))
