"""The benchmarks run, on little and beside those peers that the tests need anyway. No time is asserted."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pinocchio", reason="Pinocchio has no wheel for Windows")
pytest.importorskip("mujoco")

import accuracy
import batch
import constrained
import derivatives
import equations
import excitation
import formulation_times
import free_flyers
import gpu
import identification
import inverse_kinematics
import long_chains
import one_call
import open_questions
import precision
import reading
import regressors
import run_all
import second_derivatives
import simulation
import start_up
import sweeps
import task_space
import threads
import timing
import wasm
from arms import arms
from report import Claim, Section

import linkwise as lw
from effort import rest_slow
from fake_cuda import fake_driver

PEERS = ("pinocchio", "mujoco")
PARTS_OF_GPUS = ("panda", "rollout", "simulate", "host", "peers", "loops", "long-chain")
FREE_FLYERS = ("satellite", "ball_chain", "ball_chain, revolute")


@pytest.fixture(autouse=True)
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fast statements are not repeated, and one robot is enough for most."""
    monkeypatch.setattr(timing, "LEAST", 1e-6)
    monkeypatch.setattr(start_up, "TASKS", start_up.TASKS[1:])
    for script in (batch, derivatives, precision, regressors, start_up, threads):
        monkeypatch.setattr(script, "arms", lambda: arms("Stanford"))


@pytest.fixture(autouse=True)
def plain_text() -> Iterator[None]:
    """Benchmarks use kernels, unlike the rest of the suite."""
    with lw.use_kernels("auto"):
        yield


MEASURES = {
    "batch": lambda: batch.measure(states=300, rounds=2, processes=0, peers=PEERS),
    "free_flyers": lambda: free_flyers.measure(states=300, rounds=2, processes=0, peers=PEERS, robots=FREE_FLYERS),
    "derivatives": lambda: derivatives.measure(states=300, rounds=2, processes=0),
    "second_derivatives": lambda: second_derivatives.measure(states=2, rounds=2, robots=["ball_chain"]),
    "constrained": lambda: constrained.measure(states=30, rounds=2, processes=0),
    "task_space": lambda: task_space.measure(states=9, rounds=1, mistakes=1),
    "inverse_kinematics": lambda: inverse_kinematics.measure(poses=40, loops=4, slow=1, rounds=1, arms=("ur5e",)),
    "regressors": lambda: regressors.measure(states=30, rounds=2, processes=0),
    "one_call": lambda: one_call.measure(rounds=2, processes=0, peers=PEERS),
    "threads": lambda: threads.measure(states=300, rounds=2, peers=PEERS),
    "precision": lambda: precision.measure(states=64, rounds=2),
    "accuracy": lambda: accuracy.measure(states=3, peers=PEERS),
    "long_chains": lambda: long_chains.measure(largest=7, work=7 * 64, rounds=2, peers=PEERS),
    "equations": lambda: equations.measure(rounds=2),
    "excitation": lambda: excitation.measure(motions=2, starts=1, robots=["UR5e"], series=[(3, 10.0)]),
    "identification": lambda: identification.measure(samples=1000, rounds=1),
    "simulation": lambda: simulation.measure(falls=8, rounds=2, peers=PEERS),
    "sweeps": lambda: sweeps.measure(robots=9, rounds=1),
    "reading": lambda: reading.measure(rounds=1, peers=PEERS),
    "start_up": lambda: start_up.measure(rounds=1, peers=()),
}


@pytest.mark.parametrize("name", rest_slow(list(MEASURES), ["accuracy"]))
def test_benchmark_runs_and_gives_a_section(name: str) -> None:
    section = MEASURES[name]()
    assert isinstance(section, Section)
    assert section.tables
    for table in section.tables:
        assert table.rows
        assert {len(row) for row in table.rows} == {len(table.header)}
    assert all(isinstance(claim, Claim) and claim.found for claim in section.claims)


@pytest.mark.slow
def test_the_benchmark_of_gpus_gives_a_section() -> None:
    with fake_driver():
        section = gpu.measure(states=7, rounds=1, parts=PARTS_OF_GPUS)
    assert [len(table.rows) for table in section.tables] == [6, 16, 2, 2, 4, 4, 6]
    assert all({len(row) for row in table.rows} == {len(table.header)} for table in section.tables)
    assert len(section.claims) == 13
    assert all(claim.verdict == "held" for claim in section.claims if "bits" in claim.text)


@pytest.mark.slow
def test_the_page_names_no_place_on_this_machine() -> None:
    text = run_all.page("python benchmarks/run_all.py", [long_chains.measure(7, 4, 1, ())], run_all.machine())
    assert "Found" in text
    assert not any(place in text for place in ("/tmp", "/home", "/root", str(run_all.PAGE.parent)))


def test_the_figures_in_the_readme_are_those_of_the_results() -> None:
    readme, results = (path.read_text(encoding="utf-8") for path in (run_all.README, run_all.PAGE))
    assert run_all.with_figures(readme, results) == readme
    assert len(run_all.figures(results)) == 5 + len(run_all.SPEED_UPS) + len(run_all.SECONDS)


@pytest.mark.slow
def test_wasm_prints_a_table() -> None:
    head, _, *rows = wasm.measure(["planar3"], rounds=1, states=3)
    assert "bytes" in head
    assert len(rows) == 6
    assert all(row.count("|") == head.count("|") for row in rows)


def test_factors_of_this_configuration_give_the_dynamics_themselves() -> None:
    robot = lw.load("stanford")
    q, qd, x = np.random.default_rng(0).normal(size=(3, 5, 6))
    tau, qdd = lw.inverse_dynamics(robot, q, qd, x), lw.forward_dynamics(robot, q, qd, x)
    assert np.allclose(open_questions.frozen_torque(robot, q, qd, x, q), tau, rtol=1e-12, atol=1e-12)
    assert np.allclose(open_questions.frozen_acceleration(robot, q, qd, x, q), qdd, rtol=1e-9, atol=1e-9)
    off = open_questions.frozen_torque(robot, q, qd, x, q + 0.1)
    assert np.allclose(open_questions.frozen_acceleration(robot, q, qd, off, q + 0.1), x, rtol=1e-9, atol=1e-9)
    assert np.abs(off - tau).max() > 1e-3


def test_the_page_of_open_questions_has_room_for_its_tables_and_their_pictures() -> None:
    page = (open_questions.DOCS / open_questions.PAGE).read_text(encoding="utf-8")
    for mark in (open_questions.MARK, formulation_times.MARK):
        assert open_questions.with_tables(page, mark, ["| table |"]).count("| table |") == 1
    for picture in (*(picture for _, picture in open_questions.QUESTIONS.values()), formulation_times.PICTURE):
        assert f"(pictures/{picture})" in page
        assert (open_questions.DOCS / "pictures" / picture).read_text(encoding="utf-8").startswith("<?xml")


@pytest.mark.slow
def test_the_scripts_of_open_questions_leave_pictures_and_tables(tmp_path: Path) -> None:
    plan = open_questions.Plan(states=50, curved=5, every=(1, 2), starts=1, tolerances=(1e-4,), seconds=1.1)
    assert open_questions.main(["--out", str(tmp_path)], plan) == 0
    assert formulation_times.main(["--out", str(tmp_path), "--rounds", "1"], sizes=(3, 4)) == 0
    pictures = sorted(tmp_path.glob("*.svg"))
    assert len(pictures) == len(open_questions.QUESTIONS) + 1
    tables = (tmp_path / open_questions.PAGE).read_text(encoding="utf-8")
    assert all(f"### {title}" in tables for title in open_questions.QUESTIONS)
    assert "Where O(n) overtakes" in (tmp_path / "formulation_times.md").read_text(encoding="utf-8")
