"""A large batch on one and on two threads: what does the second core bring?

python benchmarks/threads.py [--states 262144] [--threads 2] [--rounds 11]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from arms import Arm, arms
from contestants import FD, ID, PEERS, Task, in_parallel
from report import Section, Table, ratios, spread
from timing import ROUNDS, Contestant, agree, command, interleaved

import linkwise as lw

ABOUT = "Not pinned. `kernel(q, qd, qdd, threads=k)` and Pinocchio's `…InParallel(k, ...)` on the same states."


def entered(arm: Arm, task: Task, states: int, threads: int, peers: Sequence[str]) -> list[Contestant]:
    given = arm.states(states)
    arrays = [given[name] for name in task.inputs]
    names = {"kernel": lw.compile(task.function, arm.robot), **dict(zip(task.inputs, arrays, strict=True))}
    names["out"] = np.empty_like(arrays[0])
    call = f"kernel({', '.join(task.inputs)}, out=out, threads={{}})"
    found = [Contestant(f"Linkwise {k}", call.format(k), names) for k in (1, threads)]
    if "pinocchio" in peers and arm.pinocchio:
        found += [in_parallel(arm, task, arrays, k, f"Pinocchio {k}") for k in (1, threads)]
    return found


def measure(states: int = 262_144, threads: int = 2, rounds: int = ROUNDS, peers: Sequence[str] = PEERS) -> Section:
    title = f"{states:,} states on 1 and {threads} threads"
    section = Section(title, "python benchmarks/threads.py", ABOUT)
    rows = []
    for arm in arms():
        for task in (ID, FD):
            contestants = entered(arm, task, states, threads, peers)
            agree(contestants, 1e-9)
            times = interleaved(contestants, rounds)
            row = [f"{arm.label}, {task.label}"]
            for who in ("Linkwise", "Pinocchio"):
                pair = [times.get(f"{who} {k}") for k in (1, threads)]
                row += [spread(each, 1e9 / states) if each else "" for each in pair]
                row.append(spread(ratios(*pair)) if all(pair) else "")
            rows.append(row)
    header = [""]
    for who in ("Linkwise", "Pinocchio"):
        header += [f"{who}, 1 thread", f"{threads} threads", "gain"]
    section.tables = [Table("Nanoseconds for one state:", header, rows)]
    return section


if __name__ == "__main__":
    print(measure(**command(__doc__, states=262_144, threads=2, rounds=ROUNDS)))
