"""Registers and spilled bytes of kernels, as `ptxas` reports them: the compiler that the driver has too.

python tests/helpers/ptxas.py          writes the golden file anew; it needs the package nvidia-cuda-nvcc
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

import linkwise as lw
from linkwise.ode.rollout import rollout_of
from linkwise.simulation.problem import Problem, program_of
from linkwise.targets.cuda.trajectories import CudaRollout

GOLDEN = Path(__file__).parents[1] / "golden" / "ptxas.json"
FUNCTIONS = {"inverse_dynamics": lw.inverse_dynamics, "forward_dynamics": lw.forward_dynamics}
DTYPES = ("float32", "float64")
ARCHITECTURES = ("sm_80", "sm_90")
ROLLOUTS = ("planar3", "fr3", "quadruped")  # of all robots they would take too long
LOOPS = ("fr3", "humanoid", "g1")


def command() -> str | None:
    """Where ptxas is: in the package, or in a toolkit."""
    try:
        files = metadata.files("nvidia-cuda-nvcc") or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name in ("ptxas", "ptxas.exe"):
            return str(file.locate())
    return shutil.which("ptxas")


def version(ptxas: str) -> str:
    text = subprocess.run([ptxas, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"V(\d+\.\d+\.\d+)", text)
    return found[1] if found else text.strip()


def versions(ptxas: str) -> dict[str, str]:
    return {"ptxas": version(ptxas), "llvmlite": metadata.version("llvmlite")}


def assembled(ptxas: str, ptx: str, architecture: str) -> dict[str, int]:
    """Registers of a thread and bytes that it spills, in the kernel itself; whatever ptxas refuses is an error."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "kernel.ptx"
        source.write_text(ptx, encoding="ascii")
        words = [ptxas, f"-arch={architecture}", "-v", str(source), "-o", str(source.with_suffix(".cubin"))]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]
    report = done.stderr[done.stderr.index("'kernel'") :]
    registers, spilled = re.search(r"Used (\d+) registers", report), re.search(r"(\d+) bytes spill stores", report)
    assert registers is not None
    assert spilled is not None
    return {"registers": int(registers[1]), "spilled": int(spilled[1])}


def kernels(ptxas: str, name: str) -> dict[str, dict[str, int]]:
    """Those of a robot of the library."""
    found = {}
    for label, function in FUNCTIONS.items():
        for dtype in DTYPES:
            ptx = lw.ptx_source(function, lw.load(name), dtype=dtype)
            for architecture in ARCHITECTURES:
                found[f"{name} {label} {dtype} {architecture}"] = assembled(ptxas, ptx, architecture)
    return found


def rollouts(ptxas: str, name: str) -> dict[str, dict[str, int]]:
    """Rollouts of a robot of the library, with constant torques."""
    arm, found = lw.load(name), {}
    for dtype in DTYPES:
        program = program_of(Problem(arm, tau=True, energy_balance=False))
        made = CudaRollout(rollout_of(program, "rk4", arm.nq, arm.quaternions), dtype)
        for architecture in ARCHITECTURES:
            found[f"{name} rollout {dtype} {architecture}"] = assembled(ptxas, made.code.ptx, architecture)
    return found


def loops(ptxas: str, name: str) -> dict[str, dict[str, int]]:
    """Loops over the links of a robot of the library."""
    found = {}
    for label, function in FUNCTIONS.items():
        for dtype in DTYPES:
            kernel: Any = lw.compile(function, lw.load(name), dtype=dtype, target="cuda", form="loops")
            for architecture in ARCHITECTURES:
                found[f"{name} {label} loops {dtype} {architecture}"] = assembled(ptxas, kernel.ptx, architecture)
    return found


def golden() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return content


def written(content: dict[str, Any]) -> str:
    """One line for each kernel."""
    lines = [f"    {json.dumps(name)}: {json.dumps(figures)}" for name, figures in content["kernels"].items()]
    return (
        "{\n"
        + f'  "versions": {json.dumps(content["versions"])},\n  "kernels": {{\n'
        + ",\n".join(lines)
        + "\n  }\n}\n"
    )


if __name__ == "__main__":
    where = command()
    if where is None:
        sys.exit("ptxas was not found: pip install nvidia-cuda-nvcc")
    every: dict[str, dict[str, int]] = {}
    for robot in lw.LIBRARY:
        every |= kernels(where, robot)
        print(robot, flush=True)
    for robot in ROLLOUTS:
        every |= rollouts(where, robot)
    for robot in LOOPS:
        every |= loops(where, robot)
    GOLDEN.write_text(written({"versions": versions(where), "kernels": every}), encoding="utf-8")
