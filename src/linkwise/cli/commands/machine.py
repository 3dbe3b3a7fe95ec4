"""`linkwise demo`, `linkwise doctor` and `linkwise cache`: what works on this machine."""

from __future__ import annotations

import os
import platform
import shlex
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import numpy as np

import linkwise as lw

from ...errors import one_of
from ...extras import EXTRAS
from ...figures import require_matplotlib
from ..declare import arg, command, opt
from ..options import Json
from ..results import print_json
from ..screen import echo, emit, gap, note, print_facts, print_table, print_title
from .bench import best_time

STEPS = (  # title, command line, its options for pictures, which need matplotlib; {0} is the folder
    ("A robot of the library", "", "linkwise draw stanford --q 0.4,1.2,0.3,0,0.5,0 --out {0}/stanford.png"),
    ("Its torques along the motion of Saha's paper", "linkwise torque stanford", "--plot {0}/torques.png"),
    ("What its bearings carry", "linkwise loads stanford --csv {0}/loads.csv", "--plot {0}/loads.png"),
    (
        "An arm that is let go falls",
        "linkwise simulate planar3 --duration 2",
        "--plot {0}/fall.png --animate {0}/fall.gif",
    ),
    (
        "Another arm moves to a target",
        "linkwise simulate puma560 --target 1,-1,1.5,0,0.5,0",
        "--plot {0}/control.png",
    ),
    (
        "A torque, term by term, as Kozłowski's (39) has it",
        "linkwise budget planar3 --q 0.3,-0.4,0.5 --qd 1,-0.7,0.4 --qdd 0.2,0.9,-0.6 --joint 2 --by links",
        "--plot {0}/terms.png",
    ),
    (
        "His operators D and G, their rates in both columns of his Table 1, and c of his (48)",
        "linkwise explain planar3 D_k D_stacked_dot G_stacked_dot G_stacked_inertial xi c_xi"
        " --q 0.3,-0.4,0.5 --qd 1,-0.7,0.4",
        "",
    ),
    ("Equations", "linkwise equations planar3 gravity_torque --symbols", ""),
    ("The inverse of the inertia matrix, as Saha derives it", "linkwise equations planar3 --method elimination", ""),
    (
        "What the joints allow and carry, by Angeles",
        "linkwise explain planar3 T lambda --q 0.6,0.5,0.4 --qdd 1,0,0",
        "",
    ),
    ("Operations, by formulation", "linkwise count stanford inverse_dynamics", ""),
    ("C for its controller", "linkwise export stanford c gravity_torque --self-test --out {0}", ""),
)
GIVES = {  # purpose of each optional package
    "matplotlib": "pictures: --plot, linkwise draw",
    "pyarrow": "--parquet; sweeps in Parquet files",
    "pandas": "tables in Python: recording.to_pandas()",
    "scipy": "--integrator radau, for stiff problems; identification",
    "sympy": "lw.sympy; equations --format sympy",
    "mpmath": "lw.accuracy: numbers of many digits",
    "distributed": "sweeps on a Dask cluster",
    "pin": "Pinocchio in linkwise bench, for comparison",
    "mujoco": "robots from MJCF files; MuJoCo in linkwise bench",
    "wasmtime": 'lw.compile(..., target="wasm")',
}
VARIABLES = ("LINKWISE_CACHE", "LINKWISE_KERNELS", "LINKWISE_THREADS", "NO_COLOR", "MPLBACKEND", "MPLCONFIGDIR")
SECONDS = 0.05  # for each timing
TOLERANCE = 1e-12  # largest relative difference between compiled and plain results


@command(
    ("linkwise demo", "pictures in the folder linkwise-demo"),
    ("linkwise demo --out here", "in another folder"),
)
def demo(
    out: Annotated[
        str, opt("FOLDER", "Folder for pictures and files; default: linkwise-demo.", None, "--out", "-o")
    ] = "linkwise-demo",
) -> int:
    """The main jobs in less than a minute: every step is a command line, which is shown, run and can be changed."""
    from .. import main
    from ..app import INTERRUPTED

    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    begin, worst = time.perf_counter(), 0
    drawn = True
    try:
        require_matplotlib()
    except ImportError as error:
        drawn = False
        note(f"no pictures, as {error}")
    for heading, always, pictures in STEPS:
        line = f"{always} {pictures}".strip() if drawn else always
        if not line:
            continue
        print_title(heading)
        emit(f"$ {line.format(out)}", "cyan")
        words = [word.format(out) for word in shlex.split(line)]
        code = main(words[1:])
        if code == INTERRUPTED:
            return code
        worst = max(worst, code)
        gap.due = True
    made = sorted(path.name for path in folder.iterdir())
    note(f"{time.perf_counter() - begin:.0f} s; in the folder {folder}: {', '.join(made)}")
    echo("Your own robot: a file in place of its name. All commands: linkwise --help")
    return worst


@command(
    ("linkwise doctor", "look at this machine"),
    ("linkwise doctor --json", "the same for a bug report"),
)
def doctor(json: Json = False) -> int:
    """Versions, optional packages and what they give, the compiler, the cache, and a timing.

    A kernel is compiled and compared with plain Python; the exit code is 1 where that fails.
    """
    report: dict[str, Any] = {
        "linkwise": versions(),
        "extras": extras(),
        "processor": processor(),
        "compiler": compiler(),
        "gpu": gpu(),
        "cache": cache_state(),
        "environment": {name: os.environ[name] for name in VARIABLES if name in os.environ},
    }
    if json:
        print_json(report)
    else:
        show(report)
    return 0 if report["compiler"]["works"] else 1


def versions() -> dict[str, str]:
    return {
        "linkwise": lw.__version__,
        "source": str(Path(__file__).resolve().parents[2]),
        "python": f"{platform.python_version()} ({sys.executable})",
        "system": platform.platform(),
        **{name: package_version(name) or "missing" for name in ("numpy", "llvmlite", "typer", "rich")},
    }


def package_version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def extras() -> dict[str, dict[str, Any]]:
    return {
        package: {"version": package_version(package), "extra": EXTRAS[package], "gives": gives}
        for package, gives in GIVES.items()
    }


def processor() -> dict[str, Any]:
    from ...targets.cpu.host import host_target

    host = host_target()
    known = [word[1:] for word in host.features.split(",") if word.startswith("+")]
    features = [name for name in ("sse4.2", "avx", "avx2", "fma", "avx512f", "neon", "sve") if name in known]
    return {
        "name": host.name,
        "cores": os.cpu_count(),
        "vector_bits": 8 * host.vector_bytes,
        "fused": host.fused,
        "features": features,
    }


def gpu() -> dict[str, Any]:
    """Whether target="cuda" works: the driver and the first GPU."""
    from ...targets.cuda.driver import device

    try:
        return {"works": True, "name": device(0).name}
    except lw.errors.CudaError as error:
        return {"works": False, "error": str(error)}


def compiler() -> dict[str, Any]:
    """Compile the inverse dynamics of an arm and compare it with plain Python."""
    robot = lw.load("puma560")
    states = np.random.default_rng(0).normal(size=(3, 1000, robot.n))
    begin = time.perf_counter()
    try:
        kernel = lw.compile(lw.inverse_dynamics, robot)
        seconds = time.perf_counter() - begin
        with lw.use_kernels("never"):
            exact = np.asarray(lw.inverse_dynamics(robot, *states[:, :10]))
        off = float(np.abs(kernel(*states[:, :10]) - exact).max() / np.abs(exact).max())
    except (RuntimeError, OSError, ImportError) as error:
        return {"works": False, "error": str(error)}
    one = best_time(lambda: kernel(*states[:, 0]), SECONDS)
    many = best_time(lambda: kernel(*states), SECONDS) / states.shape[1]
    return {
        "works": off < TOLERANCE,
        "kernel": "inverse dynamics of the Puma 560",
        "seconds_to_compile_or_load": seconds,
        "relative_difference_from_python": off,
        "microseconds_per_call": 1e6 * one,
        "nanoseconds_per_state_in_a_batch": 1e9 * many,
    }


def cache_state() -> dict[str, Any]:
    from ...kernels import cache

    folder = cache.folder()
    if folder is None:
        return {"folder": None, "files": 0, "bytes": 0, "writable": False}
    files, bytes_ = cache.size()
    there = folder if folder.exists() else next(path for path in folder.parents if path.exists())
    return {"folder": str(folder), "files": files, "bytes": bytes_, "writable": os.access(there, os.W_OK)}


def show(report: dict[str, Any]) -> None:
    print_title("Linkwise")
    print_facts(report["linkwise"].items())
    echo()
    print_table(
        ["package", "version", "gives"],
        [[name, extra["version"] or "-", extra["gives"]] for name, extra in report["extras"].items()],
        heading="Optional packages",
    )
    cpu, code, cache = report["processor"], report["compiler"], report["cache"]
    print_title("Compiler")
    lines = [("processor", f"{cpu['name']}, {cpu['cores']} cores, vectors of {cpu['vector_bits']} bits")]
    lines += [("features", ", ".join(cpu["features"]) or "-")]
    if "error" in code:
        lines += [("compiling", f"FAILED: {code['error']}")]
    else:
        agrees = "agrees with plain Python" if code["works"] else "DIFFERS from plain Python"
        lines += [
            ("compiling", f"{code['kernel']} {agrees} to {code['relative_difference_from_python']:.0e}"),
            ("time", f"{code['seconds_to_compile_or_load']:.2f} s to compile, or load from the cache"),
            ("", f"{code['microseconds_per_call']:.2f} µs for one call from Python"),
            ("", f"{code['nanoseconds_per_state_in_a_batch']:.0f} ns for a state in a batch"),
        ]
    cuda = report["gpu"]
    lines += [("GPU", cuda["name"] if cuda["works"] else f'none for target="cuda": {cuda["error"]}')]
    where = (
        "off" if cache["folder"] is None else f"{cache['folder']}: {cache['files']} files, {size_text(cache['bytes'])}"
    )
    lines += [("cache", where if cache["writable"] or cache["folder"] is None else f"{where}; NOT WRITABLE")]
    lines += [(name, value) for name, value in report["environment"].items()]
    print_facts(lines)
    echo()
    missing = {extra["extra"] for extra in report["extras"].values() if extra["version"] is None}
    echo(
        f"To install what is missing: pip install 'linkwise[{','.join(sorted(missing))}]'"
        if missing
        else "Nothing is missing."
    )


@command(
    ("linkwise cache", "the folder, the number of files and their size"),
    ("linkwise cache clear", "remove them; code is compiled again when needed"),
)
def cache(
    action: Annotated[
        str | None, arg("action", "clear removes the files; default: show their number and size", ("clear",))
    ] = None,
    json: Json = False,
) -> int:
    """Compiled code is kept in a folder of yours, so that a second start need not compile.

    LINKWISE_CACHE names another folder; LINKWISE_CACHE=off keeps nothing.
    """
    from ...kernels import cache as kernel_cache

    if action is not None:
        one_of(action, ("clear",), "the action")
    folder = kernel_cache.folder()
    removed = kernel_cache.clear() if action == "clear" and folder is not None else 0
    files, bytes_ = kernel_cache.size() if folder is not None else (0, 0)
    if json:
        print_json({"folder": folder, "files": files, "bytes": bytes_, "removed": removed})
    elif folder is None:
        emit("The cache is off.")
    elif action == "clear":
        emit(f"Removed {file_count(removed)} from {folder}{f'; {file_count(files)} still there' if files else ''}.")
    else:
        emit(f"folder  {folder}\nfiles   {files}\nsize    {size_text(bytes_)}")
    return 1 if action == "clear" and files else 0


def file_count(number: int) -> str:
    return f"{number} file{'' if number == 1 else 's'}"


def size_text(bytes_: int) -> str:
    return f"{bytes_ / 1e6:,.1f} MB" if bytes_ >= 1e6 else f"{bytes_ / 1e3:.1f} kB"
