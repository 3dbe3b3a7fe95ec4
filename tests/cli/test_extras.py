"""Optional packages: whatever needs one that is missing says in one line what to install."""

import re
import sys
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from command_line import linkwise
from facts import raises
from linkwise.cli.commands.machine import STEPS
from linkwise.extras import EXTRAS, import_optional
from measured import measured, recorded

ROOT = Path(__file__).parents[2]
DEVELOPMENT = {"bench", "peers", "test"}
ARM = lw.load("planar3")
NEEDS: dict[str, list[Callable[[Path], Any] | str]] = {  # functions of a folder, and command lines
    "distributed": [lambda folder: swept(folder, engine="dask://localhost:1")],
    "matplotlib": [
        lambda folder: lw.draw(ARM),
        lambda folder: fall().plot(),
        lambda folder: fall().animate(folder / "fall.gif"),
        lambda folder: lw.torque_along(ARM, motion()).plot(),
        lambda folder: motion().plot(),
        lambda folder: lw.budget(ARM, *np.ones((3, 3))).plot(),
        lambda folder: identified().plot(),
        "draw planar3 --out arm.png",
        "torque planar3 --plot torque.png",
        "loads planar3 --plot loads.svg",
        "simulate planar3 --duration 0.01 --plot fall.pdf",
        "simulate planar3 --duration 0.01 --animate fall.gif",
        "budget planar3 --q 0,0,0 --plot budget.png",
        "excite planar3 --plot move.png",
        "identify planar3 no-such-file.csv --plot fit.png",
    ],
    "mpmath": [lambda folder: lw.accuracy(ARM, *np.ones((3, 3)))],
    "mujoco": [lambda folder: mjcf(folder), "describe model.xml"],
    "pandas": [
        lambda folder: fall().to_pandas(),
        lambda folder: swept(folder, files="npz").to_pandas(),
        lambda folder: identified().parameters.to_pandas(),
    ],
    "pyarrow": [
        lambda folder: fall().save(folder / "fall.parquet"),
        lambda folder: (folder / "old.parquet").write_bytes(b"PAR1") and lw.load_recording(folder / "old.parquet"),
        lambda folder: swept(folder, files="parquet"),
        *(
            f"{command} --parquet table.parquet"
            for command in ("bench planar3", "budget planar3", "count planar3", "excite planar3", "loads planar3")
        ),
        *(f"{command} --parquet table.parquet" for command in ("robots", "simulate planar3", "torque planar3")),
    ],
    "scipy": [
        lambda folder: lw.simulate(ARM, [0.0] * 3, duration=0.01, integrator="radau"),
        "simulate planar3 --duration 0.01 --integrator radau",
    ],
    "sympy": [lambda folder: lw.sympy(lw.gravity_torque, ARM), "equations planar3 gravity_torque --format sympy"],
    "wasmtime": [lambda folder: lw.compile(lw.gravity_torque, ARM, target="wasm")],
}


def mjcf(folder: Path) -> lw.Robot:
    path = folder / "model.xml"
    path.write_text('<mujoco><worldbody><body><joint/><geom size="1"/></body></worldbody></mujoco>')
    return lw.load(path)


def fall() -> lw.Recording:
    return lw.simulate(ARM, [0.0] * 3, duration=0.01)


def motion() -> Any:
    return lw.trajectories.quintic([0.0] * 3, [1.0] * 3, duration=1.0)


def swept(folder: Path, **options: Any) -> Any:
    return lw.sweep(ARM, {"q0": np.zeros((2, 3))}, folder / "sweep", duration=0.01, **options)


@cache
def identified(**options: Any) -> Any:
    return lw.identify(ARM, recorded(ARM, duration=2.0), **options)


def hide(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)


@pytest.mark.parametrize("package", NEEDS)
def test_what_is_missing_is_said_in_one_line(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for other, extra in EXTRAS.items():  # of the same extra: the first that is missing is named
        if extra == EXTRAS[package] and other != package:
            pytest.importorskip(other)
    hide(package, monkeypatch)
    if package == "wasmtime":
        from linkwise.targets.wasm.runtime import runtime

        runtime.cache_clear()
    wanted = f"{package} is not installed: pip install 'linkwise[{EXTRAS[package]}]'"
    for need in NEEDS[package]:
        if isinstance(need, str):
            result = linkwise(need)
            assert (result.code, result.out, result.err) == (1, "", f"error: {wanted}\n"), need
            continue
        with pytest.raises(ImportError) as caught:
            need(tmp_path)
        assert re.fullmatch(f"(.*: )?{re.escape(wanted)}", str(caught.value))
    assert not list(tmp_path.glob("fall*"))  # nor is a file begun


def test_every_extra_is_in_the_list_and_on_the_page() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    names = {extra: {re.split(r"[<>=;\[ ]", line)[0] for line in lines} for extra, lines in extras.items()}
    for package, extra in EXTRAS.items():
        assert package in names[extra]
    users = set(extras) - DEVELOPMENT - {"demo", "identify"}
    assert {extra: {p for p, e in EXTRAS.items() if e == extra} for extra in users} == {e: names[e] for e in users}
    assert set(NEEDS) == {package for package, extra in EXTRAS.items() if extra in users}
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)`(?: \(or `demo`\))? \| [\w, ]+ \| .+ \|$", page, re.M)) >= users | {"identify"}


def test_identification_names_its_own_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    hide("scipy", monkeypatch)
    with pytest.raises(ImportError, match=re.escape("scipy is not installed: pip install 'linkwise[identify]'")):
        lw.identify(ARM, measured(ARM, duration=2.0))


def test_a_package_that_lacks_another_is_not_called_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sympy.py").write_text("import no_such_module")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "sympy"]:
        monkeypatch.delitem(sys.modules, name)
    with raises(ModuleNotFoundError, "no_such_module"):
        import_optional("sympy")


def test_a_demo_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line says what is missing; every command line that is shown runs."""
    monkeypatch.chdir(tmp_path)
    hide("matplotlib", monkeypatch)
    result = linkwise("demo")
    assert result.code == 0
    assert result.err.count("matplotlib is not installed: pip install 'linkwise[plot]'") == 1
    assert "error" not in result.err
    assert result.out.count("$ linkwise") == sum(bool(always) for _, always, _ in STEPS)
    assert not re.search(r"\$ .*--(plot|animate)", result.out)
    assert {path.name for path in (tmp_path / "linkwise-demo").iterdir()} >= {"loads.csv", "gravity_torque.c"}
