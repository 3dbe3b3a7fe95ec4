"""All benchmarks in one run; writes benchmarks/results.md, and the table of figures in README.md.

python benchmarks/run_all.py [--largest 10000]
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from importlib import metadata
from pathlib import Path
from shutil import which

import accuracy
import batch
import equations
import long_chains
import one_call
import precision
import simulation
import start_up
import sweeps
import threads
import timing
from report import Section, claim_lines, markdown
from timing import command

PAGE = Path(__file__).parent / "results.md"
README = PAGE.parent.parent / "README.md"
FIGURES = {  # the start of a claim: what README calls it
    "inverse dynamics at least 30 ×": "inverse dynamics, batch, times as fast as `rneaInParallel` on one core",
    "forward dynamics at least 30 ×": "forward dynamics, batch, times as fast as `abaInParallel` on one core",
    "inverse dynamics, the function": "inverse dynamics, one call from Python, times as fast as `pin.rnea`",
    "forward dynamics, the function": "forward dynamics, one call from Python, times as fast as `pin.aba`",
    "inverse dynamics at least 5 × CasADi": "inverse dynamics, batch, times as fast as CasADi's generated C",
    "a fall is at least": "simulation of a fall, times as fast as SciPy's DOP853 driving `pinocchio.aba`",
    "1,000 different robots": "sweep over 1,000 different robots, times the throughput of one after another",
    "import under": "import",
    "cold compile": "compiling forward dynamics",
}
PACKAGES = (
    *("linkwise", "numpy", "llvmlite", "pin", "mujoco", "casadi", "jax", "jaxlib"),
    *("example-robot-data", "mpmath"),
)
HEAD = """\
# Results of the benchmarks

Written by `{command}` (`make bench` runs it without arguments), all in one run; not edited.
Times depend on the machine and on what else it does. Ratios less so, but they too move by some per cent from run to
run: a claim that is near its bound may be on the other side of it next time.

{machine}

{versions}

{robots}

## How it is measured

{method}
Results are compared before anything is timed: to 1e-9, relative to the largest number.

## Claims

{claims}
"""
ROBOTS = (
    "Robots: the Stanford arm of Linkwise's library, handed to the peers link by link, and the Panda, 7 revolute"
    " joints, from the URDF file of example-robot-data, read by Pinocchio, fingers locked, without armature. Numbers of"
    " its joint placements within 1e-9 of 0, 1 and −1 are made these for Linkwise only; the torques of both agree to"
    " 1e-12."
)


def machine() -> str:
    load = f" Load average at the start: {os.getloadavg()[0]:.2f}." if hasattr(os, "getloadavg") else ""
    system = f"{platform.system()} {platform.release()}, {platform.machine()}"
    return f"Machine: {processor()}, {os.cpu_count()} cores; {system}.{load}"


def processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def versions() -> str:
    found = [f"Python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            found.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            found.append(f"{package} not installed, so its rows are missing")
    gcc = which("gcc") and subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, text=True).stdout.strip()
    return "Versions: " + ", ".join([*found, f"gcc {gcc}" if gcc else "gcc not installed"]) + "."


def page(said: str, sections: list[Section], about: str) -> str:
    claims = [claim for section in sections for claim in section.claims]
    method = (timing.__doc__ or "").partition("\n\n")[2]
    head = HEAD.format(
        command=said,
        machine=about,
        versions=versions(),
        robots=ROBOTS,
        method=method,
        claims="\n".join(claim_lines(claims)),
    )
    return head + "\n" + "\n".join(str(section) for section in sections).rstrip() + "\n"


def figures(results: str) -> list[str]:
    """The table of figures in README, from the claims in the text of results.md."""
    claims = re.findall(r"^- [^:]*: (.*?)\. Found: (.*)\.$", results, re.MULTILINE)
    rows = [[name, next(found for text, found in claims if text.startswith(start))] for start, name in FIGURES.items()]
    return markdown(["measured", "found"], rows)


def with_figures(readme: str, results: str) -> str:
    """README with that table between its two comments."""
    start, _, rest = readme.partition("<!-- figures:")
    first, _, rest = rest.partition("-->\n")
    _, _, end = rest.partition("<!-- end of figures -->")
    return f"{start}<!-- figures:{first}-->\n\n" + "\n".join(figures(results)) + f"\n\n<!-- end of figures -->{end}"


def main(argv: list[str] | None = None) -> None:
    options = command(__doc__, argv, largest=long_chains.SIZES[-1])
    about = machine()
    runs: list[Callable[[], Section]] = [
        batch.measure,
        one_call.measure,
        start_up.measure,
        partial(long_chains.measure, **options),
        threads.measure,
        precision.measure,
        accuracy.measure,
        simulation.measure,
        sweeps.measure,
        equations.measure,
    ]
    sections = []
    for run in runs:
        sections.append(run())
        print(f"{sections[-1].title}: done", file=sys.stderr)
    said = " ".join(["python benchmarks/run_all.py", *(sys.argv[1:] if argv is None else argv)])
    text = page(said, sections, about)
    PAGE.write_text(text, encoding="utf-8")
    README.write_text(with_figures(README.read_text(encoding="utf-8"), text), encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
