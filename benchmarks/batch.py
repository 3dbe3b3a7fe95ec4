"""A batch of 4,096 states on one core: how long does each state take?

python benchmarks/batch.py [--states 4096] [--rounds 11]
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from arms import Arm, arms
from contestants import (
    CASADI,
    FD,
    ID,
    KERNEL,
    PARALLEL,
    PEERS,
    TASKS,
    Task,
    batch,
)
from timing import ROUNDS, Section, Table, Times, agree, at_least, command, interleaved, one_core, ratios, spread

ABOUT = (
    "One process, pinned to one core where the platform allows it, `LINKWISE_THREADS=1`. The kernel is"
    ' `lw.compile(function, arm)`, called as `kernel(q, qd, qdd)`; "out=" writes into an array given; "function" is'
    ' `lw.inverse_dynamics(arm, q, qd, qdd)` itself; "plain text" is the same with `lw.use_kernels("never")`, on'
    " NumPy. States are rows of arrays (4096, n); Pinocchio and JAX get them laid out as they like best, outside the"
    " clock."
)
REMARKS = [
    "With `out=` or `threads=` a batch takes the general way in, through Python, which costs some tens of microseconds"
    " a call; without them it enters the machine code directly. Of 4,096 fast states that shows.",
    "Pinocchio has batched functions for inverse and forward dynamics only; the rest is a loop in Python, whose results"
    " are not kept. Its inertia matrix and its inverse have the upper triangle filled; Linkwise fills both.",
    "Pinocchio's wheel is built without AVX (4.1.0: no ymm or zmm register in its libraries, by objdump), and works for"
    " any robot that is loaded; Linkwise compiles for this processor and this robot. Pinocchio built from source with"
    " -march=native was not measured.",
    "MuJoCo has no batched inverse dynamics; each state is set, computed with contacts and constraints off, and copied"
    " out, in a loop in Python.",
    "CasADi's C comes from SX scalars sent through Linkwise's plain text (Newton-Euler, articulated bodies, composite"
    " bodies), `casadi.cse`, gcc -O3 -march=native, and a loop in C; \"our equations\" is the same with those that"
    " Linkwise compiles (`method=\"fewest\"`), so that the rest of the ratio is the code, not the equations.",
    "JAX is a recursion by `lax.scan` written for this benchmark in jax.numpy, `jit(vmap(...))`, float64: articulated"
    " bodies for forward dynamics, n inverse dynamics for the inertia matrix, `jnp.linalg.inv` for its inverse.",
]  # fmt: skip
Found = dict[Task, dict[str, Times]]


def race(arm: Arm, states: int, rounds: int, peers: Sequence[str]) -> Found:
    """Seconds for one state."""
    found: Found = {}
    for task in TASKS:
        entered = batch(arm, task, states, peers)
        agree(entered, 1e-9)
        times = interleaved(entered, rounds)
        found[task] = {label: [t / states for t in each] for label, each in times.items()}
    return found


def tables(arm: Arm, found: Found) -> list[Table]:
    labels = list(dict.fromkeys(label for each in found.values() for label in each))
    header = [arm.label, *(task.label for task in found)]
    times = [
        [label, *(spread(each[label], 1e9) if label in each else "" for each in found.values())] for label in labels
    ]
    slower = [
        [label, *(spread(ratios(each[label], each[KERNEL])) if label in each else "" for each in found.values())]
        for label in labels
        if label != KERNEL
    ]
    return [
        Table(f"{arm.label}, {arm.robot.n} joints, nanoseconds for one state:", header, times),
        Table(f"{arm.label}, how many times as long as the Linkwise kernel:", header, slower),
    ]


def against(everything: dict[str, Found], task: Task, label: str) -> dict[str, list[float]]:
    """Ratios to the kernel, by robot."""
    return {
        name: ratios(found[task][label], found[task][KERNEL])
        for name, found in everything.items()
        if label in found[task]
    }


def closest(everything: dict[str, Found]) -> list[str]:
    """Where the nearest peer comes nearest."""
    found = [
        (statistics.median(ratio := ratios(times, each[KERNEL])), f"{label} at {task.label} of {name}: {spread(ratio)}")
        for name, tasks in everything.items()
        for task, each in tasks.items()
        for label, times in each.items()
        if not label.startswith("Linkwise")
    ]
    return [f"The closest race is {min(found)[1]} × the kernel's time."] if found else []


def wins(everything: dict[str, Found]) -> list[str]:
    """A remark for each peer that is faster than the kernel."""
    said = []
    for name, found in everything.items():
        for task, each in found.items():
            for label in each:
                ratio = ratios(each[label], each[KERNEL])
                if not label.startswith("Linkwise") and statistics.median(ratio) < 1.0:
                    said.append(
                        f"**{label} is faster** at {task.label} of {name}: {spread(ratio)} of the kernel's time."
                    )
    return said or ["No peer is faster than the kernel at anything in these tables."]


def measure(states: int = 4096, rounds: int = ROUNDS, peers: Sequence[str] = PEERS) -> Section:
    section = Section(f"A batch of {states:,} states on one core", "python benchmarks/batch.py", ABOUT)
    with one_core():
        everything = {arm.label: (arm, race(arm, states, rounds, peers)) for arm in arms()}
    for arm, found in everything.values():
        section.tables += tables(arm, found)
    times = {label: found for label, (_, found) in everything.items()}
    section.remarks = [*wins(times), *closest(times), *REMARKS]
    for task, name in ((ID, "rneaInParallel"), (FD, "abaInParallel")):
        ratio = against(times, task, PARALLEL)
        section.claims.append(at_least(f"{task.label} at least 30 × Pinocchio's `{name}` on one thread", 30.0, ratio))
        section.claims.append(at_least(f"{task.label}, the aim: 45 × `{name}`", 45.0, ratio))
        ratio = against(times, task, CASADI)
        section.claims.append(at_least(f"{task.label} at least 5 × CasADi's C in a loop", 5.0, ratio))
    return section


if __name__ == "__main__":
    print(measure(**command(__doc__, None, states=4096, rounds=ROUNDS)))
