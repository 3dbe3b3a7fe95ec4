"""Single beside double precision: how much faster, and how much is lost?

python benchmarks/precision.py [--states 4096] [--rounds 11]
"""

from __future__ import annotations

import numpy as np
from arms import arms
from contestants import TASKS, plain
from report import Section, Table, number, ratios, spread
from timing import ROUNDS, Contestant, command, interleaved, one_core

import linkwise as lw

ABOUT = (
    "`lw.compile(function, arm, dtype=...)` on one core. Errors are against the plain text in double precision on the"
    " same states (numbers that single precision holds exactly), for each state the largest error over its largest"
    " number: the median over the states and the worst."
)


def errors(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """For each state, relative to its largest number."""
    off = np.abs(found - expected).reshape(len(expected), -1).max(axis=1)
    return off / np.abs(expected).reshape(len(expected), -1).max(axis=1)


def measure(states: int = 4096, rounds: int = ROUNDS) -> Section:
    section = Section("Single precision", "python benchmarks/precision.py", ABOUT)
    rows = []
    with one_core():
        for arm in arms():
            given = {name: array.astype(np.float32) for name, array in arm.states(states).items()}
            for task in TASKS:
                contestants = []
                for dtype in ("float64", "float32"):
                    names = {name: given[name].astype(dtype) for name in task.inputs}
                    names["kernel"] = lw.compile(task.function, arm.robot, dtype=dtype)
                    contestants.append(Contestant(dtype, f"kernel({', '.join(task.inputs)})", names))
                expected = plain(task.function, arm.robot, *(given[name].astype(float) for name in task.inputs))
                times = interleaved(contestants, rounds)
                off = [errors(contestant.found(), expected) for contestant in contestants]
                row = [f"{arm.label}, {task.label}", *(spread(each, 1e9 / states) for each in times.values())]
                row.append(spread(ratios(*times.values())))
                rows.append(row + [f"{number(np.median(each))}, {number(each.max())}" for each in off])
    header = ["", "double, ns", "single, ns", "double / single", "error of double", "error of single"]
    section.tables = [Table("Time for one state, and errors (median, worst):", header, rows)]
    return section


if __name__ == "__main__":
    print(measure(**command(__doc__, states=4096, rounds=ROUNDS)))
