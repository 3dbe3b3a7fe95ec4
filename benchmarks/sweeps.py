"""A thousand different robots, a second of free fall each: as one family against one after another.

python benchmarks/sweeps.py [--robots 1000] [--rounds 3]
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from report import Claim, Section, Table, at_least, at_most, ratios, spread, verdict
from timing import command, one_core, without_cache

import linkwise as lw
from linkwise.simulation import backend
from linkwise.sweeps.samples import replace_entries

ABOUT = (
    "One core. Every link's mass is drawn between 0.8 and 1.2 times its own, every robot starts at rest somewhere else;"
    " rtol 1e-8. The family is `lw.sweep(...)` of all robots with 2 samples of each kept, its compiling and its files"
    " included, nothing remembered. One after another is making a robot from its table and `lw.simulate(...)` of it,"
    " which compiles it; of 16 robots."
)
ROBOTS = ("planar3", "puma560")
ALONE = 16  # robots that are simulated one after another
SECONDS = 1.0


def samples_of(arm: lw.Robot, count: int) -> dict[str, Any]:
    masses = {f"{row['name']}.mass": (0.8 * row["mass"], 1.2 * row["mass"]) for row in arm.rows}
    return lw.sweeps.monte_carlo(count, 1, q0=([-1.0] * arm.n, [1.0] * arm.n), **masses)


def family(arm: lw.Robot, samples: dict[str, Any]) -> tuple[float, dict[str, np.ndarray]]:
    """Seconds for all, and what the sweep found."""
    with tempfile.TemporaryDirectory() as folder:
        backend.compile_solver.cache_clear()
        start = perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", lw.errors.SweepWarning
            )  # no motion depends on the mass of PUMA's first link
            made = lw.sweep(arm, samples, Path(folder) / "falls", SECONDS, samples=2, files="npz", progress=False)
        return perf_counter() - start, made.read()


def one_by_one(arm: lw.Robot, samples: dict[str, Any], count: int) -> tuple[float, np.ndarray]:
    """Seconds for so many, and where they end."""
    backend.compile_solver.cache_clear()
    start, ends = perf_counter(), []
    for k in range(count):
        robot = replace_entries(arm, {name: drawn.values[k] for name, drawn in samples.items() if name != "q0"})
        ends.append(lw.simulate(robot, samples["q0"][k], np.zeros(arm.n), SECONDS, samples=2).q[-1])
    return perf_counter() - start, np.array(ends)


def code(arm: lw.Robot, samples: dict[str, Any]) -> float:
    """Seconds until the first few are there: that is compiling."""
    few = {name: x[:2] if name == "q0" else lw.per_trajectory(x.values[:2]) for name, x in samples.items()}
    return family(arm, few)[0]


def measure(robots: int = 1000, rounds: int = 3) -> Section:
    section = Section("Sweeps over robots", "python benchmarks/sweeps.py", ABOUT)
    rows, gains, compiling, apart = [], {}, {}, {}
    with one_core(), without_cache():
        for name in ROBOTS:
            arm = lw.load(name)
            samples, alone = samples_of(arm, robots), min(ALONE, robots)
            code(arm, samples)  # to warm up
            together: list[float] = []
            each: list[float] = []
            first: list[float] = []
            for _ in range(rounds):
                seconds, found = family(arm, samples)
                together.append(seconds / robots)
                seconds, ends = one_by_one(arm, samples, alone)
                each.append(seconds / alone)
                first.append(code(arm, samples))
            if set(found["status"]) != {"done"}:
                raise AssertionError(f"{name}: not every robot came to the end")
            apart[name] = float(np.abs(found["q_end"][:alone] - ends).max())
            gains[name], compiling[name] = ratios(each, together), first
            rows.append(
                [
                    name,
                    spread(together, 1e3),
                    spread(each, 1e3),
                    spread(gains[name]),
                    spread(first),
                    f"{apart[name]:.1e}",
                ]
            )
    header = ["", "in a family, ms each", "one after another, ms each", "throughput of the family"]
    header += ["a sweep of two robots, s", "ends apart, rad"]
    section.tables = [Table(f"{robots:,} different robots, {SECONDS:g} s of free fall each:", header, rows)]
    section.remarks = [
        "A sweep of two robots compiles twice: the robot of the table, to try the options out, and the family.",
    ]
    section.claims = [
        at_least(
            f"{robots:,} different robots have at least 100 times the throughput of one after another", 100.0, gains
        ),
        at_most(
            "a family of 3 or 6 joints is compiled, and its first robots are there, within a second",
            1.0,
            compiling,
            "s",
        ),
        Claim(
            "ends are the same to 1e-6 as of each robot alone",
            ", ".join(f"{name} {value:.1e}" for name, value in apart.items()),
            verdict([[1e-6 - value] for value in apart.values()]),
        ),
    ]
    return section


if __name__ == "__main__":
    print(measure(**command(__doc__, robots=1000, rounds=3)))
