"""A batch of 4,096 states on one core: how long does each state take?

python benchmarks/batch.py [--states 4096] [--rounds 5] [--processes 5]
"""

from __future__ import annotations

from collections.abc import Sequence

from arms import arms
from contestants import CASADI, FD, ID, KERNEL, PARALLEL, PEERS, TASKS, absent, batch
from report import Race, Section, against, at_least, closest, race_tables, wins
from timing import agree, interleaved, one_core, pooled, raced

ABOUT = (
    "Five processes of five rounds, each pinned to one core where the platform allows it, `LINKWISE_THREADS=1`. The"
    ' kernel is `lw.compile(function, arm)`, called as `kernel(q, qd, qdd)`; "out=" writes into an array given;'
    ' "function" is `lw.inverse_dynamics(arm, q, qd, qdd)` itself; "plain text" is the same with'
    ' `lw.use_kernels("never")`, on NumPy. States are rows of arrays (4096, n); Pinocchio and JAX get them laid out as'
    " they like best, outside the clock."
)
REMARKS = [
    "Batches of one axis enter the machine code directly, with `out=` and `threads=1` too, up to as many states as are"
    " not worth a second thread. More axes, more threads and other layouts take the general way in, through Python.",
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


def raw(states: int = 4096, rounds: int = 5, peers: Sequence[str] = PEERS) -> dict[str, Race]:
    """Seconds for one state, by robot."""
    races: dict[str, Race] = {}
    with one_core():
        for arm in arms():
            race = races.setdefault(arm.label, {})
            for task in TASKS:
                entered = batch(arm, task, states, peers)
                agree(entered, 1e-9)
                times = interleaved(entered, rounds)
                race[task.label] = {label: [t / states for t in each] for label, each in times.items()}
    return races


def measure(states: int = 4096, rounds: int = 5, processes: int = 5, peers: Sequence[str] = PEERS) -> Section:
    options = {"states": states, "rounds": rounds}
    races = pooled(__file__, processes, **options) if processes else raw(**options, peers=peers)
    section = Section(f"A batch of {states:,} states on one core", "python benchmarks/batch.py", ABOUT)
    for arm, race in races.items():
        section.tables += race_tables(arm, race, "state", KERNEL, absent=absent(peers))
    section.remarks = [*wins(races, [KERNEL]), *closest(races, KERNEL), *REMARKS]
    for task, name in ((ID, "rneaInParallel"), (FD, "abaInParallel")):
        ratio = against(races, task.label, PARALLEL, KERNEL)
        section.claims.append(at_least(f"{task.label} at least 30 × Pinocchio's `{name}` on one thread", 30.0, ratio))
        section.claims.append(at_least(f"{task.label}, the aim: 45 × `{name}`", 45.0, ratio))
        ratio = against(races, task.label, CASADI, KERNEL)
        section.claims.append(at_least(f"{task.label} at least 5 × CasADi's C in a loop", 5.0, ratio))
    return section


if __name__ == "__main__":
    raced(__doc__, raw, measure, states=4096, rounds=5, processes=5)
