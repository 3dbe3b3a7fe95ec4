"""The plan of the house: what each room may import, and how large its files may grow."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from effort import in_turn

HOUSE = Path(__file__).parents[2] / "src" / "linkwise"
PAGE = (HOUSE.parent.parent / "docs" / "design.md").read_text(encoding="utf-8")
MAY_IMPORT = {  # each room: the rooms that it uses, from the table of the design
    room: set(re.findall(r"`(\w+)`", uses))
    for room, uses in re.findall(r"^\| `(\w+)/` \| .* \| ([^|\n]*)\|$", PAGE, re.M)
}
SHARED = {path.stem for path in HOUSE.glob("*.py")} - {
    *("__init__", "__main__", "formulations", "notebook", "notebook_figure", "results")
}
WITHOUT_SHARED = {"spatial", "dynamics", "graph", "tracing", "codegen"}
MAY_IMPORT_OUTSIDE = {
    "bridges": {"numpy", "torch"},
    "kernels": {"llvmlite", "numpy"},
    "targets": {"numpy", "wasmtime"},
    "cli": {"matplotlib", "mujoco", "numpy", "pinocchio", "pyarrow", "rich", "sympy", "typer"},
    "codegen": set(),
    "drawing": {"PIL", "matplotlib", "numpy"},
    "dynamics": set(),
    "explanation": {"mpmath", "numpy", "sympy"},
    "formats": {"mujoco", "numpy"},
    "identification": {"matplotlib", "numpy", "pandas", "scipy"},
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
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "import_optional":  # of an optional package
            found.update(ast.literal_eval(argument) for argument in node.args)
    return found


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_rooms_import_only_what_they_may(room: str) -> None:
    outside = MAY_IMPORT_OUTSIDE.get(room, {"numpy"})
    allowed = MAY_IMPORT[room] | {room} | (set() if room in WITHOUT_SHARED else SHARED)
    if room == "cli":
        allowed.add("")  # the public names, as people use them
    for path in (HOUSE / room).rglob("*.py"):
        for name in imports(path):
            top, _, rest = name.partition(".")
            if top == "linkwise":
                assert rest.split(".")[0] in allowed, f"{path.name} imports {name}"
            else:
                assert top in outside or top in sys.stdlib_module_names, f"{path.name} imports {name}"


def test_every_room_is_in_the_table() -> None:
    rooms = {path.parent.name for path in HOUSE.glob("*/*.py")}
    assert rooms == set(MAY_IMPORT)


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_the_table_lists_no_room_that_is_not_used(room: str) -> None:
    used = {name.split(".")[1] for path in (HOUSE / room).rglob("*.py") for name in imports(path) if "." in name}
    assert MAY_IMPORT[room] <= used


def test_a_room_uses_only_rooms_below_it_in_the_drawing() -> None:
    drawing = PAGE[PAGE.index("```rooms\n") :].split("```")[1]
    rows = [set(re.findall(r"\w+", row.partition("|")[2])) for row in drawing.splitlines()[1:]]
    assert sorted(room for row in rows for room in row) == sorted(MAY_IMPORT)
    for k, row in enumerate(rows):
        below = set().union(*rows[k + 1 :])
        assert all(MAY_IMPORT[room] <= below for room in row), row


def test_the_paths_through_the_source_are_there() -> None:
    """Each hop of docs/design.md: a file, and the name beside it in that file."""
    paths = PAGE[PAGE.index("## Four paths") : PAGE.index("## Choices")]
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
        "scipy", "matplotlib", "pandas", "pyarrow", "torch", "jax", "sympy", "mpmath", "llvmlite",
        "distributed", "rich", "typer",
    )  # fmt: skip
    code = f"import sys, linkwise; print([m for m in {heavy} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
