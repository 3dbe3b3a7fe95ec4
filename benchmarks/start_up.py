"""From nothing to the first result: import, compile, and start with a filled cache.

python benchmarks/start_up.py [--rounds 7]
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from arms import arms
from contestants import FD, ID, PEERS, Task
from report import Section, Table, at_most, ratios, spread
from timing import Times, command, optional

import linkwise as lw

COLD, WARM = "lw.compile, cold", "lw.compile, warm cache"
ROUNDS = 7
TASKS = (ID, FD)
ABOUT = (
    "Every number comes from fresh processes that take turns, files in the page cache and .pyc files written."
    " `import linkwise` leaves its parts, and NumPy, to their first use; the first call is timed from before the import"
    " to after `lw.inverse_dynamics` of a library robot, which runs in plain Python."
    " `lw.compile` is timed in a process that has loaded the robot and both functions, so it includes importing what"
    " compiles; cold is with `LINKWISE_CACHE=off`, and loads LLVM, warm with a cache folder that an earlier process has"
    " filled, and does not (on Linux and x86-64; elsewhere it does)."
)
MODULES = {"pinocchio": "pinocchio", "mujoco": "mujoco", "casadi": "casadi", "jax": "jax"}
IMPORT = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
FIRST_CALL = """
import time
begun = time.perf_counter()
import linkwise as lw
arm = lw.load("stanford")
lw.inverse_dynamics(arm, [0, 1.5, 0.1, 0, 0, 0], [0] * 6, [0] * 6)
print(time.perf_counter() - begun)
"""
COMPILE = """
import time, sys
import linkwise as lw
arm = lw.load(sys.argv[1])
function, compile = lw.{function}, lw.compile
begun = time.perf_counter()
kernel = compile(function, arm)
print(time.perf_counter() - begun)
"""
CASADI = """
import sys
sys.path.insert(0, {here!r})
import casadi_c
import linkwise as lw
print(casadi_c.Loop(lw.{function}, lw.load(sys.argv[1]), {inputs}, {method!r}).seconds)
"""
JAX = """
import sys, time
sys.path.insert(0, {here!r})
import jax_scan, numpy as np
import linkwise as lw
arm = lw.load(sys.argv[1])
f, x = jax_scan.functions(arm)[lw.{function}], np.ones((4096, arm.n))
begun = time.perf_counter()
f(*[x] * {count}).block_until_ready()
print(time.perf_counter() - begun)
"""


def seconds(code: str, *arguments: str, cache: str = "off") -> float:
    """What a fresh process prints."""
    environment = {**os.environ, "LINKWISE_CACHE": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], env=environment, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def imports(rounds: int, peers: Sequence[str]) -> dict[str, Times]:
    modules = ["linkwise", "numpy", *(MODULES[peer] for peer in peers if optional(MODULES[peer]))]
    found: dict[str, Times] = {module: [] for module in modules}
    for turn in range(rounds + 1):
        for module, times in found.items():
            taken = seconds(IMPORT.format(module))
            if turn:
                times.append(taken)
    return found


def first_calls(rounds: int) -> Times:
    return [seconds(FIRST_CALL) for _ in range(rounds)]


def codes(task: Task, peers: Sequence[str]) -> dict[str, str]:
    """What each contestant's process runs."""
    words = {"here": str(Path(__file__).parent), "function": task.function.__name__, "inputs": task.inputs}
    words |= {"method": task.textbook, "count": len(task.inputs)}
    found = {COLD: COMPILE, WARM: COMPILE}
    if "casadi" in peers and optional("casadi_c"):
        found["CasADi: expressions, C, gcc"] = CASADI
    if "jax" in peers and optional("jax_scan"):
        found["JAX: jit of the scan"] = JAX
    return {label: code.format(**words) for label, code in found.items()}


def compiling(robot: lw.Robot, task: Task, rounds: int, peers: Sequence[str]) -> dict[str, Times]:
    with tempfile.TemporaryDirectory() as folder:
        file, cache = Path(folder) / "arm.toml", str(Path(folder) / "cache")
        lw.save(robot, file)
        programs = codes(task, peers)
        found: dict[str, Times] = {label: [] for label in programs}
        for turn in range(rounds + 1):
            for label, code in programs.items():
                taken = seconds(code, str(file), cache=cache if label == WARM else "off")
                if turn:
                    found[label].append(taken)
    return found


def measure(rounds: int = ROUNDS, peers: Sequence[str] = PEERS) -> Section:
    section = Section("Start", "python benchmarks/start_up.py", ABOUT)
    loading = imports(rounds, peers)
    rows = [[f"import {module}", spread(times, 1e3)] for module, times in loading.items()]
    rows.append(["import linkwise, load a robot, first inverse dynamics", spread(first_calls(rounds), 1e3)])
    section.tables.append(Table("Milliseconds to import:", ["", "ms"], rows))
    section.claims.append(at_most("import under 0.15 s", 0.15, {"linkwise": loading["linkwise"]}, "s"))
    cold: dict[str, Times] = {}
    warm: dict[str, Times] = {}  # milliseconds
    columns, header = [], [""]
    for arm in arms():
        for task in TASKS:
            columns.append(compiling(arm.robot, task, rounds, peers))
            header.append(f"{arm.label}, {task.label}")
            warm[header[-1]] = [1e3 * taken for taken in columns[-1][WARM]]
        cold[arm.label] = columns[-1][COLD]
    rows = [[label, *(spread(column[label], 1e3) for column in columns)] for label in columns[0]]
    section.tables.append(Table("Milliseconds until a function is compiled:", header, rows))
    section.claims.append(at_most("cold compile of forward dynamics under 0.3 s", 0.3, cold, "s"))
    section.claims.append(at_most("warm start under 10 ms", 10.0, warm, "ms"))
    if cached := [c for c in columns if statistics.median(ratios(c[COLD], c[WARM])) < 1.5]:
        section.remarks.append(f"A filled cache saves next to nothing in {len(cached)} of {len(columns)} columns.")
    return section


if __name__ == "__main__":
    print(measure(**command(__doc__, rounds=ROUNDS)))
