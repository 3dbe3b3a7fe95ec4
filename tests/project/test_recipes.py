"""The recipes of CONTRIBUTING.md for a method, a file format and a public function, each followed to the letter.

Those for joints, targets and integrators are in test_new_joint.py, test_targets.py and test_new_integrator.py.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from command_line import linkwise
from facts import raises
from linkwise.api import functions, references
from linkwise.api.call import PublicFunction
from linkwise.api.method_table import METHODS
from linkwise.api.states import States
from linkwise.cli.options import complete_robots
from linkwise.dynamics import ALL_INVERSE_DYNAMICS, ANY_LENGTH, composite, newton_euler
from linkwise.errors import FileError, RobotError, RowError
from linkwise.formats import files
from linkwise.robot import Robot
from linkwise.spatial import Wrench, add, dot_product
from linkwise.tables import read_table
from robots import FREE, QUICK, relative, states

# A method: a function of a file in dynamics/, a line in its list, a line in references.py.


def by_inertia_matrix(
    robot: Robot, q: Any, qd: Any, qdd: Any, external: Sequence[Wrench], base: Any = None
) -> list[Any]:
    """τ = I q̈ + C q̇ + g"""
    bias = newton_euler.inverse_dynamics(robot, q, qd, [0.0] * robot.n, external, base)
    return [add(dot_product(row, qdd), x) for row, x in zip(composite.inertia_matrix(robot, q), bias, strict=True)]


@pytest.fixture
def method(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(ALL_INVERSE_DYNAMICS, "by-inertia-matrix", by_inertia_matrix)
    monkeypatch.setitem(references.SOURCES, "by-inertia-matrix", [("angeles", "eq. (7.62)")])
    return "by-inertia-matrix"


@pytest.mark.parametrize("robot", [*QUICK, FREE[0]], ids=lambda robot: robot.name)
def test_a_method_agrees_wherever_it_is_asked_for(method: str, robot: lw.Robot) -> None:
    q, qd, qdd, _ = states(robot)
    q = lw.random_configuration(robot, np.random.default_rng(1), (3,)) if robot.nq != robot.n else q
    wrench = np.random.default_rng(2).normal(size=(3, len(robot.names), 6))
    expected = lw.inverse_dynamics(robot, q, qd, qdd, wrench)
    assert relative(lw.inverse_dynamics(robot, q, qd, qdd, wrench, method=method), expected) < 1e-11
    assert relative(lw.bias_torque(robot, q, qd, method=method), lw.bias_torque(robot, q, qd)) < 1e-11


def test_a_method_is_listed_counted_cited_and_compiled(method: str) -> None:
    assert method in lw.methods(lw.inverse_dynamics)
    robot, function = lw.load("stanford"), lw.inverse_dynamics
    assert lw.count(function, robot, method=method).total > lw.count(function, robot).total
    assert "(7.62)" in str(lw.cite(method))
    assert "(7.62)" in lw.c_source(function, robot, method=method)
    kernel, (q, qd, qdd, _) = lw.compile(function, robot, method=method), states(robot)
    assert relative(kernel(q, qd, qdd), function(robot, q, qd, qdd)) < 1e-12
    assert method in linkwise("count stanford inverse_dynamics").out


def test_a_method_that_does_not_say_so_has_no_loops(method: str) -> None:
    assert by_inertia_matrix not in ANY_LENGTH
    with raises(ValueError, "loops"):
        lw.compile(lw.inverse_dynamics, lw.chain(40), method=method, form="loops")


# A file format: a file in formats/ with `read(path, options)`, and its ending in READERS.

KEYS = ("joint", "a", "b", "alpha", "theta", "mass")


def read(path: Path, options: files.Options) -> lw.Robot:
    """A table of comma-separated values, a row for each link; bodies are balls of 0.1 m about the frames' origins."""
    options.refuse(path, "mimic", "ignore")
    table = read_table(path)
    if tuple(table.names) != KEYS:
        raise FileError(
            f"{table.where}: columns are {', '.join(table.names) or 'missing'} (expected {', '.join(KEYS)})"
        )
    rows = []
    for (_, cells), numbers in zip(table.rows, table.numbers(picked=range(1, len(KEYS))), strict=True):
        row = dict(zip(KEYS, [cells[0], *numbers], strict=True))
        rows.append({**row, "com": (0, 0, 0), "inertia": np.eye(3) * 0.004 * row["mass"]})
    try:
        robot = Robot.from_dh(rows, convention="standard", name=path.stem, unphysical=options.unphysical)
    except RowError as error:
        raise FileError(f"{path}:{table.rows[error.row][0]}: {error}") from None
    except RobotError as error:
        raise FileError(f"{table.where}: {error}") from None
    return files.with_base(robot, options, str(path))


HEADER = "joint, a, b, alpha, theta, mass\n"


@pytest.fixture
def file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setitem(files.READERS, ".dh", read)
    path = tmp_path / "two.dh"
    path.write_text(f"{HEADER}revolute, 0.4, 0, 0, 0, 2.0\n\nprismatic, 0, 0.1, 1.5707963267948966, 0, 1.0\n")
    return path


def test_a_format_is_read_everywhere(file: Path) -> None:
    robot = lw.load(file)
    assert robot.joints == "RP"
    assert "RP" in linkwise(f"describe {file}").out
    assert str(file) in complete_robots(str(file)[:-2])
    lw.save(robot, file.with_suffix(".toml"))
    assert lw.compare(str(file), str(file.with_suffix(".toml"))).same
    assert lw.load(file, base="free").n == 8
    with raises(FileError, ".dh"):
        lw.load(file.with_suffix(".other"))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1), ("\n\n", 2), (HEADER, 1), ("revolute, 0.4, 0, 0, 0, 2.0\n", 1), (f"{HEADER}revolute, 0.4, 0\n", 2),
        (f"{HEADER}revolute, 0, 0, 0, 0, 1\n\n\nrevolute, 0, 0, 0, 0, -1\n", 5), (f"{HEADER}fixed, 0, 0, 0, 0, 1\n", 2),
        (f"{HEADER}revolute, 0, 0, 0, x, 1\n", 2),
    ],
)  # fmt: skip
def test_errors_of_a_format_name_file_and_line(file: Path, text: str, line: int) -> None:
    file.write_text(text)
    with pytest.raises(FileError) as error:
        lw.load(file)
    assert str(error.value).startswith(f"{file}:{line}: ")


def test_a_format_refuses_what_it_cannot_have(file: Path) -> None:
    for options in ({"ignore": ["x"]}, {"mimic": "independent"}, {"base": {"link1": "free"}}):
        with pytest.raises(FileError, match=next(iter(options))) as error:
            lw.load(file, **options)
        assert str(error.value).startswith(f"{file}: ")


# A public function: its signature, its docstring and its declaration, and its name in LAZY_IMPORTS.


def drive_power(states: States, algorithm: Any) -> Any:
    at_rest, nothing = [0.0] * len(states.robot.links), [Wrench.zero()] * len(states.robot.links)
    torques = algorithm(states.links, states.positions(), at_rest, at_rest, nothing)
    return dot_product(states.coordinates.torques(torques), states.scalars("qd"))


def gravity_power(arm: lw.Robot, q: Any, qd: Any, *, method: str | None = None, check: bool = False) -> Any:
    """The power of the drives against gravity, gᵀ q̇: (...)."""


@pytest.fixture
def function(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.setattr(gravity_power, "__module__", functions.__name__)  # where it would stand
    declared = PublicFunction((), drive_power, result_names=("power",))(gravity_power)
    monkeypatch.setattr(functions, "gravity_power", declared, raising=False)
    monkeypatch.setattr(lw, "gravity_power", declared, raising=False)
    monkeypatch.setitem(lw.PACKAGE_OF, "gravity_power", "api.functions")
    monkeypatch.setitem(METHODS, "gravity_power", METHODS["gravity_torque"])
    return declared


def test_a_public_function_is_like_the_others(function: Callable[..., Any]) -> None:
    robot = lw.load("stanford")
    q, qd, _, tau = states(robot)
    expected = np.sum(lw.gravity_torque(robot, q) * qd, axis=-1)
    for method in lw.methods(function):
        assert relative(function(robot, q, qd, method=method), expected) < 1e-12
    assert relative(lw.compile(function, robot)(q, qd), expected) < 1e-12
    with lw.use_kernels("always"):
        assert [relative(function(robot, q, qd), expected) < 1e-12 for _ in range(3)] == [True] * 3
    assert relative(lw.derivative(function, robot, "qd")(q, qd), lw.gravity_torque(robot, q)) < 1e-12
    assert lw.count(function, robot).total > lw.count(lw.gravity_torque, robot).total
    assert "power[0] = " in lw.c_source(function, robot)
    assert lw.wasm(function, robot)[:4] == b"\0asm"
    with pytest.raises(ValueError, match="qd"):
        function(robot, q, tau[:, :4])
    with pytest.raises(ValueError, match="joint"):
        function(robot, q, np.full(6, np.nan), check=True)
