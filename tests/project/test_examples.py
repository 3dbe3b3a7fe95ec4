"""The examples run, and show what they say."""

import importlib.util
import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from base64 import b64decode
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import linkwise as lw

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FOLDER = EXAMPLES[0].parent


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example_runs_and_leaves_its_pictures(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with lw.use_kernels("auto"):  # as they run for a user: some take minutes in plain Python
        load(path).main(["--out", str(tmp_path)])
    endings = ("png", "html", "svg", "tex")
    pictures, pages, drawings, sheets = (sorted(tmp_path.glob(f"*.{ending}")) for ending in endings)
    assert pictures or pages or drawings or sheets
    assert all(ElementTree.parse(drawing).getroot().tag.endswith("svg") for drawing in drawings)
    assert all(page.read_text(encoding="utf-8").startswith("<!doctype html>") for page in pages)
    for picture in pictures:
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert picture.stat().st_size > 10_000
    assert str(tmp_path) in capsys.readouterr().out


def test_the_hand_reaches_its_goal_by_rollouts() -> None:
    pytest.importorskip("llvmlite")
    with lw.use_kernels("auto"):
        distances, torques = load(FOLDER / "mppi.py").reach(rollouts=128, periods=20)
    assert distances[-1] < 0.3 * distances[0]
    assert torques.shape == (20, 7)


def test_the_page_has_its_modules_and_their_names() -> None:
    pytest.importorskip("llvmlite")
    example = load(FOLDER / "wasm_page.py")
    found = re.search(r"const MODULES = (\{.*\});", example.page())
    assert found
    modules = {name: lw.results.WasmModule(b64decode(text)).interface for name, text in json.loads(found[1]).items()}
    names = {name: [x["name"] for x in about.get("numbers", about.get("arguments"))] for name, about in modules.items()}
    assert {"t", "q", "qd", "m2", "goal", "work"} <= set(names["simulation"])
    for name in ("poses", "energy"):
        assert {*names[name][:-1]} <= set(names["simulation"])


def test_the_row_that_kozlowski_draws_is_that_of_his_equation() -> None:
    example = load(FOLDER / "kozlowski.py")
    xi, terms = example.last_row()
    q, _ = example.STATE
    split = lw.formulations.unnormalized.budget(example.ARM, q, xi[::-1])
    assert np.allclose(terms.sum(), split.total[0] - split.bias_force[0].sum() - split.gravity[0].sum())
    assert np.allclose(np.tril(terms.T, -1), 0)  # V(m) has the rates of m and of links inboard
    assert max(max(errors) for *_, a, b in example.table_1() for errors in [(a, b)]) < 1e-7
    picture = (FOLDER.parent / "docs" / "pictures" / "kozlowski_fig1.svg").read_text(encoding="utf-8")
    assert picture == example.figure(xi, terms)


def test_two_links_keep_the_laws_of_their_equations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = load(FOLDER / "two_links.py")
    example.main(["--out", str(tmp_path)])
    assert "I^-1[2,2] = α'12^2/m̂1 + 1/m̂2" in capsys.readouterr().out
    assert "\\hat{m}_{2} &= i_{22}" in (tmp_path / "two_links.tex").read_text(encoding="utf-8")
    laws = example.laws(lw.explain(lw.bind(example.rods(), **example.NUMBERS), *example.STATE))
    assert max(value for *_, value in laws) < 1e-13


@pytest.mark.parametrize("name", ["arm_in_motion", "saha_figures", "kozlowski", "two_links"])
def test_a_folder_that_cannot_be_made_is_said(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit):
        load(FOLDER / f"{name}.py").main(["--out", str(tmp_path / "file" / "below")])
    assert "below: cannot make this folder" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["arm_in_motion", pytest.param("saha_figures", marks=pytest.mark.slow)])
def test_without_matplotlib_the_text_is_there(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in [each for each in sys.modules if each.startswith("matplotlib.")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with lw.use_kernels("auto"):
        load(FOLDER / f"{name}.py").main(["--out", str(tmp_path)])
    assert "matplotlib" in capsys.readouterr().out.splitlines()[-1]
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_the_satellite_turns_with_momentum_zero() -> None:
    example = load(FOLDER / "satellite_reaction.py")
    recording = example.motion()
    assert np.abs(lw.momentum(recording.robot, recording.q, recording.qd)).max() < 1e-9
    assert np.abs(recording.q[-1, 7:] - recording.q[0, 7:]).max() < 0.01
    assert example.turned(recording)[-1] < -20.0


@pytest.mark.slow
def test_the_person_flies_on_a_parabola_and_turns_over() -> None:
    example = load(FOLDER / "humanoid_flight.py")
    recording = example.motion()
    arm, t = recording.robot, recording.t[:, None]
    centre = lw.centre_of_mass(arm, recording.q)
    assert np.abs(centre - (centre[0] + t * example.JUMP + 0.5 * t**2 * arm.gravity)).max() < 1e-10
    momentum = lw.momentum(arm, recording.q, recording.qd)[:, :3]
    assert np.abs(momentum - momentum[0]).max() < 1e-9
    assert recording.qd[:, 4].max() > 1.8 * recording.qd[0, 4]


@pytest.mark.slow
def test_the_handle_flips_when_eulers_solution_says() -> None:
    example = load(FOLDER / "spinning_top.py")
    recording = example.motion()
    moments = np.diag(recording.robot.rows[0]["inertia"])
    found = np.diff(example.flips(recording))
    assert len(found) == 4
    assert found == pytest.approx(example.time_between_flips(moments), rel=1e-5)


def test_the_feet_carry_the_standing_robot() -> None:
    example = load(FOLDER / "quadruped_stand.py")
    arm = lw.load("quadruped")
    q = example.standing(arm, example.ANGLES[::6])
    forces = example.ground_forces(arm, q)
    assert forces.min() > 60.0
    assert np.abs(example.holding(arm, q, forces)[:, :6]).max() < 1e-9
    height = lw.poses(arm, q)[:, arm.names.index("hind_left_shank")] @ [0, 0, -example.LEG, 1]
    assert np.abs(height[:, 2]).max() < 1e-12


def test_the_feet_stand_still_while_the_weight_is_shifted() -> None:
    example = load(FOLDER / "weight_shift.py")
    robot = lw.load("go1")
    t, q, qd, qdd = example.motion(robot)
    assert np.abs(example.feet_of(robot, q) - example.feet_of(robot, q[0])).max() < 1e-12
    step = 2 * (t[1] - t[0])
    assert np.abs(lw.difference(robot, q[:-2], q[2:]) / step - qd[1:-1]).max() < 0.05 * np.abs(qd).max()
    assert np.abs((qd[2:] - qd[:-2]) / step - qdd[1:-1]).max() < 0.5 * np.abs(qdd).max()  # which jumps in between
    support = lw.inverse_dynamics(robot, q, qd, qdd, contacts=example.FEET)
    assert np.abs(support.missing).max() < 1e-9


def test_the_tool_follows_the_circle() -> None:
    example = load(FOLDER / "panda_circle.py")
    robot = lw.load("panda")
    _, poses, solution = example.follow(robot)
    assert solution.reached.all()
    assert np.abs(lw.poses(robot, solution.q, frame=example.TOOL) - poses).max() < 1e-9


def test_osqp_finds_forces_within_the_pyramids_of_friction() -> None:
    pytest.importorskip("osqp")
    example = load(FOLDER / "weight_shift.py")
    robot = lw.load("go1")
    _, q, qd, qdd = (x[::10] for x in example.motion(robot))
    bounds = lw.control.contact_bounds(
        robot, q, qd, qdd, contacts=example.FEET, coefficient=example.FRICTION, least=1.0
    )
    forces = example.within_friction(bounds)
    assert forces[..., 2].min() > 1.0 - 1e-6
    assert example.slope(forces).max() < example.FRICTION + 1e-6
    wrenches = {foot: np.pad(forces[:, k], ((0, 0), (3, 0))) for k, foot in enumerate(example.FEET)}
    assert np.abs(lw.inverse_dynamics(robot, q, qd, qdd, wrenches)[:, :6]).max() < 1e-6
