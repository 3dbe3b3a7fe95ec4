"""Derivatives of inverse and forward dynamics beside Pinocchio: one call, a batch, and compiling them.

python benchmarks/derivatives.py [--states 4096] [--rounds 5] [--processes 5]
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from arms import Arm, arms
from contestants import FUNCTION, KERNEL, KERNEL_OUT, whole
from report import Race, Section, against, at_least, at_most, race_tables, wins
from timing import Contestant, agree, interleaved, one_core, optional, pooled, raced, without_cache

import linkwise as lw

ONE, MANY, COMPILED = "one call", "a batch", "compile"
CALL, LOOP = "Pinocchio", "Pinocchio, Python loop"
ABOUT = (
    "Both derivatives of the torques, by q and q̇, and the three of the accelerations, by q, q̇ and τ, computed together:"
    ' the function is `lw.derivative(lw.inverse_dynamics, arm, ("q", "qd"))` as a user calls it, after it has been'
    " compiled; the kernel is `lw.compile` of it. Pinocchio: `pin.computeRNEADerivatives` and"
    " `pin.computeABADerivatives`, which compute the inertia matrix or its inverse besides. Five processes of five"
    " rounds, each pinned to one core where the platform allows it, `LINKWISE_THREADS=1`."
)
REMARKS = [
    "Pinocchio has no batched derivatives: the batch is a loop in Python, whose results are not kept.",
    "Compiling is measured once in each process, without the cache: tracing, differentiating, LLVM, and loading LLVM.",
]


class Slopes(NamedTuple):
    label: str
    function: Callable[..., Any]
    inputs: tuple[str, ...]
    wrt: tuple[str, ...]
    pinocchio: str


SLOPES = (
    Slopes("inverse dynamics", lw.inverse_dynamics, ("q", "qd", "qdd"), ("q", "qd"), "computeRNEADerivatives"),
    Slopes("forward dynamics", lw.forward_dynamics, ("q", "qd", "tau"), ("q", "qd", "tau"), "computeABADerivatives"),
)


def linkwise(arm: Arm, task: Slopes, arrays: list[np.ndarray]) -> list[Contestant]:
    slope = lw.derivative(task.function, arm.robot, task.wrt)
    with lw.use_kernels("always"):
        out = slope(*arrays)
    names = dict(zip(task.inputs, arrays, strict=True))
    names |= {"slope": slope, "kernel": lw.compile(slope, arm.robot), "out": out}
    inputs = ", ".join(task.inputs)
    return [
        Contestant(KERNEL, f"kernel({inputs})", names),
        Contestant(KERNEL_OUT, f"kernel({inputs}, out=out)", names),
        Contestant(FUNCTION, f"slope({inputs})", names),
    ]


def pinocchio(arm: Arm, task: Slopes, arrays: list[np.ndarray], label: str) -> list[Contestant]:
    if arm.pinocchio is None:
        return []
    names: dict[str, Any] = dict(zip(task.inputs, arrays, strict=True))
    names |= {"f": getattr(optional("pinocchio"), task.pinocchio), "model": arm.pinocchio, "np": np, "kept": kept}
    names |= {"data": arm.pinocchio.createData(), "count": len(task.wrt)}
    call, loop = f"f(model, data, {', '.join(task.inputs)})", "[{} for x in zip(" + ", ".join(task.inputs) + ")]"
    if label == CALL:
        return [Contestant(label, call, names, f"np.array(kept({call}, count))")]
    each = loop.format("kept(f(model, data, *x), count)")
    return [Contestant(label, loop.format("f(model, data, *x)"), names, f"np.array({each}).swapaxes(0, 1)")]


def kept(results: Any, count: int) -> list[np.ndarray]:
    """As many of the results as Linkwise gives, copied; the third is a symmetric matrix."""
    first, second, third = (np.array(result) for result in results)
    return [first, second, whole(third)][:count]


def raw(states: int = 4096, rounds: int = 5) -> dict[str, dict[str, Race]]:
    """Seconds by what is measured and robot: for one call, for one state of a batch, to compile."""
    races: dict[str, dict[str, Race]] = {ONE: {}, MANY: {}, COMPILED: {}}
    with one_core():
        for arm in arms():
            for task in SLOPES:
                seconds = compile_seconds(arm, task)
                races[COMPILED].setdefault(arm.label, {})[task.label] = {KERNEL: [seconds]}
        for arm in arms():
            x = arm.states(states)
            for task in SLOPES:
                many = [x[name] for name in task.inputs]
                one = [array[0] for array in many]
                entered = linkwise(arm, task, one) + pinocchio(arm, task, one, CALL)
                agree(entered, 1e-9)
                races[ONE].setdefault(arm.label, {})[task.label] = interleaved(entered, rounds)
                entered = linkwise(arm, task, many) + pinocchio(arm, task, many, LOOP)
                agree(entered, 1e-9)
                times = interleaved(entered, rounds)
                per_state = {label: [t / states for t in each] for label, each in times.items()}
                races[MANY].setdefault(arm.label, {})[task.label] = per_state
    return races


def compile_seconds(arm: Arm, task: Slopes) -> float:
    with without_cache():
        started = time.perf_counter()
        lw.compile(lw.derivative(task.function, arm.robot, task.wrt), arm.robot)
        return time.perf_counter() - started


def measure(states: int = 4096, rounds: int = 5, processes: int = 5) -> Section:
    options = {"states": states, "rounds": rounds}
    races = pooled(__file__, processes, **options) if processes else raw(**options)
    section = Section("Derivatives", "python benchmarks/derivatives.py", ABOUT)
    for kind, what in ((ONE, "call"), (MANY, "state of a batch")):
        for arm, race in races[kind].items():
            section.tables += race_tables(arm, race, what, KERNEL)
        section.remarks += wins(races[kind], [KERNEL, FUNCTION])
    section.remarks += REMARKS
    for task in SLOPES:
        ratio = against(races[ONE], task.label, CALL, FUNCTION)
        text = f"derivatives of {task.label}, one call of the function: at least 4 × `pin.{task.pinocchio}`"
        section.claims.append(at_least(text, 4.0, ratio))
        ratio = against(races[MANY], task.label, LOOP, FUNCTION)
        text = f"derivatives of {task.label}, a batch of {states:,}: at least 20 × `pin.{task.pinocchio}` in a loop"
        section.claims.append(at_least(text, 20.0, ratio))
        seconds = {arm: race[task.label][KERNEL] for arm, race in races[COMPILED].items()}
        section.claims.append(at_most(f"derivatives of {task.label} compile in 1 s", 1.0, seconds, "s"))
    return section


if __name__ == "__main__":
    raced(__doc__, raw, measure, states=4096, rounds=5, processes=5)
