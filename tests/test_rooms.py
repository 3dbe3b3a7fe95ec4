"""The plan of the house: what each room may import, and how large its files may grow."""

import ast
import re
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from effort import in_turn

HOUSE = Path(__file__).parent.parent / "src" / "linkwise"
MAY_IMPORT = {  # each room: the rooms below it that it uses
    "spatial": set(),
    "robot": {"errors", "lazy", "notices", "printing", "spatial"},
    "dynamics": {"robot", "spatial"},
    "graph": set(),
    "tracing": {"graph", "robot"},
    "codegen": {"graph"},
    "symbolic": {"extras", "graph"},
    "formats": {"api", "errors", "extras", "files", "notices", "robot", "spatial"},
    "comparison": {"dynamics", "errors", "formats", "lazy", "robot", "spatial"},
    "kernels": {"codegen", "errors", "files", "graph", "lazy", "ode", "robot", "tracing"},
    "targets": {"codegen", "errors", "extras", "graph", "kernels", "lazy", "ode", "robot", "tracing"},
    "api": {"dynamics", "errors", "figures", "kernels", "lazy", "printing", "robot", "spatial", "symbolic", "tracing"},
    "derivatives": {"api", "dynamics", "errors", "graph", "kernels", "lazy", "notices", "robot", "spatial", "tracing"},
    "regressors": {"api", "dynamics", "errors", "robot", "spatial", "symbolic"},
    "explanation": {"api", "dynamics", "errors", "extras", "printing", "robot", "spatial", "symbolic"},
    "export": {"api", "codegen", "errors", "graph", "printing", "robot", "symbolic", "tracing", "version"},
    "control": {"api", "errors", "robot", "spatial"},
    "trajectories": {"api", "errors", "figures", "graph", "notices", "robot", "spatial", "tables"},
    "identification": {
        "api",
        "array_files",
        "derivatives",
        "errors",
        "extras",
        "figures",
        "lazy",
        "notices",
        "printing",
        "progress",
        "regressors",
        "robot",
        "tables",
        "trajectories",
    },
    "ode": {"codegen", "errors", "extras", "graph", "lazy"},
    "drawing": {"api", "errors", "extras", "figures", "files", "progress", "robot", "trajectories"},
    "recording": {
        "api",
        "array_files",
        "drawing",
        "errors",
        "extras",
        "figures",
        "files",
        "lazy",
        "printing",
        "robot",
        "tables",
    },
    "simulation": {
        "api",
        "control",
        "dynamics",
        "errors",
        "graph",
        "kernels",
        "lazy",
        "notices",
        "ode",
        "progress",
        "recording",
        "robot",
        "spatial",
        "targets",
        "tracing",
    },
    "sweeps": {
        "api",
        "array_files",
        "errors",
        "extras",
        "files",
        "graph",
        "kernels",
        "lazy",
        "progress",
        "recording",
        "robot",
        "simulation",
        "tracing",
        "version",
    },
    "cli": {
        "",
        "api",
        "drawing",
        "errors",
        "extras",
        "figures",
        "files",
        "identification",
        "kernels",
        "progress",
        "recording",
        "robot",
        "symbolic",
        "tables",
        "targets",
        "trajectories",
    },
}
MAY_IMPORT_OUTSIDE = {
    "kernels": {"llvmlite", "numpy"},
    "targets": {"numpy", "wasmtime"},
    "cli": {"matplotlib", "mujoco", "numpy", "pinocchio", "pyarrow", "rich", "sympy", "typer"},
    "codegen": set(),
    "drawing": {"PIL", "matplotlib", "numpy"},
    "dynamics": set(),
    "explanation": {"mpmath", "numpy", "sympy"},
    "formats": {"mujoco", "numpy"},
    "identification": {"clarabel", "cvxpy", "matplotlib", "numpy", "pandas"},
    "ode": {"numpy", "scipy"},
    "recording": {"matplotlib", "numpy", "pandas", "pyarrow"},
    "simulation": {"numpy"},
    "sweeps": {"distributed", "numpy", "pandas", "pyarrow"},
    "symbolic": {"sympy"},
    "trajectories": {"matplotlib", "numpy"},
}  # beyond the standard library; others: NumPy


@cache
def imports(path: Path) -> set[str]:
    """Dotted names of all that a file imports, its own package as `linkwise`."""
    found: set[str] = set()
    package = ["linkwise", *path.relative_to(HOUSE).parent.parts]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            root = package[: len(package) - node.level + 1] if node.level else []
            start = ".".join([*root, *([node.module] if node.module else [])])
            found.update(f"{start}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "imported":  # of an optional package
            found.update(ast.literal_eval(argument) for argument in node.args)
    return found


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_rooms_import_only_what_they_may(room: str) -> None:
    outside = MAY_IMPORT_OUTSIDE.get(room, {"numpy"})
    for path in (HOUSE / room).rglob("*.py"):
        for name in imports(path):
            top, _, rest = name.partition(".")
            if top == "linkwise":
                assert rest.split(".")[0] in MAY_IMPORT[room] | {room}, f"{path.name} imports {name}"
            else:
                assert top in outside or top in sys.stdlib_module_names, f"{path.name} imports {name}"


def test_every_room_is_in_the_table() -> None:
    rooms = {path.parent.name for path in HOUSE.glob("*/*.py")}
    assert rooms == set(MAY_IMPORT)


def test_rooms_import_each_other_in_one_direction() -> None:
    list(TopologicalSorter(MAY_IMPORT).static_order())  # raises CycleError, with the cycle


def test_the_paths_through_the_source_are_there() -> None:
    """Each hop of docs/design.md: a file, and the name beside it in that file."""
    text = (HOUSE.parent.parent / "docs" / "design.md").read_text(encoding="utf-8")
    paths = text[text.index("## Four paths") : text.index("## Choices")]
    hops = re.findall(r"`([a-z_/]+\.py)`(?: `(?:[A-Za-z]+\.)?([A-Za-z_]+)`)?", paths)
    assert len(hops) > 30
    for file, name in hops:
        assert f" {name}" in (HOUSE / file).read_text(encoding="utf-8"), f"{file} has no {name}"


@in_turn(sorted(HOUSE.rglob("*.py")))
def test_files_stay_short(path: Path) -> None:
    limit = 150 if path.parent.name == "dynamics" else 500
    assert len(path.read_text().splitlines()) <= limit


def test_batching_and_joint_kinds_stay_out_of_dynamics() -> None:
    for path in (HOUSE / "dynamics").glob("*.py"):
        names = {node.id for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name)}
        attributes = {node.attr for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute)}
        assert not (names | attributes) & {
            "Revolute",
            "Prismatic",
            "balls",
            "isinstance",
            "kind",
            "shape",
            "dtype",
            "device",
        }


def test_import_is_light() -> None:
    heavy = (
        "scipy",
        "matplotlib",
        "pandas",
        "pyarrow",
        "torch",
        "jax",
        "sympy",
        "mpmath",
        "llvmlite",
        "distributed",
        "rich",
        "typer",
    )
    code = f"import sys, linkwise; print([m for m in {heavy} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_the_table_of_the_design_is_that_of_the_rooms() -> None:
    page = (HOUSE.parent.parent / "docs" / "design.md").read_text(encoding="utf-8")
    found = {}
    for room, column in re.findall(r"^\| `(\w+)/` \| .* \| ([^|\n]*)\|$", page, re.M):
        named = set(re.findall(r"`(\w+)`", column))
        found[room] = set(MAY_IMPORT) - {room} - named if column.startswith("all above except") else named
    assert found == {room: others & set(MAY_IMPORT) for room, others in MAY_IMPORT.items()}
