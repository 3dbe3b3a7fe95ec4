"""Laws for the hand of a Panda as C: time of one call, and what the self-test of the file notices.

python benchmarks/task_space.py [--states 1000] [--rounds 9] [--mistakes 30]
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from report import Claim, Section, Table, at_most, spread
from timing import command

import linkwise as lw

HAND = "panda_link7"
BENT = np.array([0.1, -0.5, 0.2, -1.8, 0.1, 1.5, 0.7, 0.01])
STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror"]
OPTIMIZED = {"gcc -O2": ["-O2"], "gcc -O3 -march=native": ["-O3", "-march=native"]}
OPERATORS = ((" + ", " - "), (" - ", " + "), ("*", "*1.01*"))  # a changed sign, a factor that is off by a percent
LOOP = """
void loop(long count, const double *q, const double *qd, double *tau)
{{
    for (long k = 0; k < count; ++k)
        {name}(0.0, q + 8 * k, qd + 8 * k, tau + 8 * k);
}}
"""
ABOUT = (
    "The Panda of Linkwise's library with its fingers, 8 degrees of freedom: its hand goes to a pose, with a posture"
    " for what the hand leaves free, or is held there by springs. `lw.c_source(law, robot, self_test=True)` is compiled"
    " by gcc with warnings as errors; the calls run one after another in a loop in C, over different states. A mistake"
    " is a sign that was changed in a statement of the function, or a factor that was made larger by a percent."
)


def laws() -> dict[str, Any]:
    goal = lw.poses(lw.load("panda"), BENT + 0.1, frame=HAND)
    posture: dict[str, Any] = {"posture": BENT, "posture_kp": 10, "posture_kd": 6}
    return {
        "operational space": lw.control.operational_space(HAND, goal, 100, 20, **posture),
        "impedance": lw.control.impedance(HAND, goal, [20, 30, 40, 300, 400, 500], [2, 2, 2, 20, 20, 20]),
    }


def compiled(folder: Path, text: str, *options: str) -> Path:
    (folder / "law.c").write_text(text)
    subprocess.run(["gcc", *STRICT, *options, "law.c", "-o", "law", "-lm"], cwd=folder, check=True)
    return folder / "law"


def passes(program: Path) -> bool:
    return subprocess.run([program], capture_output=True, check=False).returncode == 0


def with_mistakes(text: str, count: int) -> Iterator[str]:
    """The file with one changed statement of its function, so many times."""
    lines = text.splitlines()
    end = next(k for k, line in enumerate(lines) if "Self-test" in line)
    statements = ((k, lines[k].partition(" = ")) for k in range(end) if lines[k].startswith("    const double"))
    places = [(k, parts, pair) for k, parts in statements for pair in OPERATORS if pair[0] in parts[2]]
    for choice in np.random.default_rng(0).choice(len(places), size=count, replace=False):
        k, (head, equals, right), (old, new) = places[choice]
        yield "\n".join([*lines[:k], head + equals + right.replace(old, new, 1), *lines[k + 1 :], ""])


def seconds_of_a_call(folder: Path, source: Any, options: list[str], states: int, rounds: int) -> list[float]:
    (folder / "loop.c").write_text(str(source) + LOOP.format(name=source.name))
    build = ["gcc", "-DLINKWISE_NO_MAIN", *options, "-shared", "-fPIC", "loop.c", "-o", "loop.so", "-lm"]
    subprocess.run(build, cwd=folder, check=True)
    loop = ctypes.CDLL(str(folder / "loop.so")).loop
    rng = np.random.default_rng(0)
    q, qd, tau = BENT + 0.3 * rng.normal(size=(states, 8)), rng.normal(size=(states, 8)), np.empty((states, 8))
    addresses = [ctypes.c_void_p(array.ctypes.data) for array in (q, qd, tau)]
    times = []
    for _ in range(rounds + 1):
        begun = time.perf_counter()
        loop(ctypes.c_long(states), *addresses)
        times.append((time.perf_counter() - begun) / states)
    return times[1:]


def measure(states: int = 1000, rounds: int = 9, mistakes: int = 30) -> Section:
    section = Section("Laws for a frame", "python benchmarks/task_space.py", ABOUT)
    robot, rows, slowest = lw.load("panda"), [], {}
    for name, law in laws().items():
        source = lw.c_source(law, robot, self_test=True)
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            correct = passes(compiled(folder, str(source), "-O2"))
            noticed = sum(not passes(compiled(folder, text, "-O0")) for text in with_mistakes(str(source), mistakes))
            times = {
                label: seconds_of_a_call(folder, source, options, states, rounds)
                for label, options in OPTIMIZED.items()
            }
        slowest[name] = [1e6 * x for x in times["gcc -O2"]]
        counted = lw.compile(law, robot).count.total
        rows.append([name, f"{counted:,}", *(spread(x, 1e9) for x in times.values()), f"{noticed} of {mistakes}"])
        found = f"{noticed} of {mistakes}, and the file itself {'passes' if correct else 'fails'}"
        text = f"the self-test of {name} notices every mistake"
        section.claims.append(Claim(text, found, "held" if correct and noticed == mistakes else "**not held**"))
    header = ["law", "operations", *(f"{label}, ns" for label in OPTIMIZED), "mistakes noticed"]
    section.tables.append(Table("One call:", header, rows))
    section.claims.append(at_most("a law for the hand of a Panda in C, below 1 µs", 1.0, slowest, "µs"))
    return section


if __name__ == "__main__":
    print(measure(**command(__doc__, states=1000, rounds=9, mistakes=30)))
