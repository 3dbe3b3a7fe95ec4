"""Files of torques over time at the prompt: starts, units, and why a motion is not reproduced."""

import json
from pathlib import Path

import numpy as np
import pytest

import linkwise as lw
from command_line import linkwise
from robots import relative

PLANAR = lw.load("planar3")
MOTION = lw.trajectories.cubic([0, 0, 0], [1, 1, 1], 1.0)


@pytest.fixture(autouse=True)
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lw.torque_along(PLANAR, MOTION, loads=False).to_csv("tau.csv")
    Path("still.csv").write_text("t,q_link1,q_link2,q_link3,link1,link2,link3\n0,0,0,0,0,0,0\n1,0,0,0,0,0,0\n")
    Path("degrees.csv").write_text("t,q1,q2,q3,tau1,tau2,tau3\n0,90,0,0,1,2,3\n1,90,0,0,1,2,3\n")
    Path("part.csv").write_text("t,q1,tau1,tau2,tau3\n0,0,1,2,3\n1,0,1,2,3\n")
    Path("rates.csv").write_text("t,qd1,qd2,qd3,tau1,tau2,tau3\n0,0,0,0,1,2,3\n1,0,0,0,1,2,3\n")
    Path("late.csv").write_text("t,tau1,tau2,tau3\n1,1,2,3\n2,1,2,3\n")


@pytest.mark.parametrize(
    ("options", "facts"),
    [
        ("tau.csv", ["is reproduced"]),
        ("tau.csv --coordinates unnormalized", ["is reproduced"]),
        ("tau.csv --qd0 1,0,0", ["not compared"]),
        ("tau.csv --gravity 0,0,0", ["from 0.006 s", "torques of the file", "gravity"]),
        ("tau.csv --payload 1", ["from 0.006 s", "torques of the file"]),
        ("tau.csv --wrench 0,0,.1,0,0,0", ["from 0.006 s", "torques of the file"]),
        ("still.csv", ["from 0.006 s", "torques of the file"]),
        ("tau.csv --interpolation held", ["from 0.324 s", "--interpolation"]),
    ],
)
def test_the_reason_why_a_motion_does_not_come_back(options: str, facts: list[str]) -> None:
    shown = linkwise(f"rfdsim planar3 {options}")
    assert shown.code == 0, shown.err
    (line,) = [line for line in shown.out.splitlines() if line.startswith("The motion of")]
    assert [fact in line for fact in facts] == [True] * len(facts), line
    assert ("amplifies" in line) is False


def test_json_has_the_round_trip() -> None:
    trip = json.loads(linkwise("rfdsim planar3 tau.csv --json").out)["round_trip"]
    assert trip["off"] < 1e-6
    assert (trip["until"], trip["other_torques"]) == (None, False)
    lw.torque_along(PLANAR, lw.trajectories.cubic([0, 0, 0], [1, 1, 1], 8.0), loads=False).to_csv("long.csv")
    shown = linkwise("rfdsim planar3 long.csv").out
    assert ("amplifies" in shown, "torques of the file" in shown) == (True, False)


@pytest.mark.parametrize(
    ("line", "code", "fact"),
    [
        ("degrees.csv --degrees", 3, "degrees.csv:1: column 'tau1'"),
        ("degrees.csv --degrees --q0 90,0,0 --duration 0.01", 0, ""),
        ("part.csv", 3, "part.csv:1: has 1 joint"),
        ("rates.csv", 3, "rates.csv:1: column 'q1'"),
        ("late.csv", 3, "late.csv:2: column 't' begins at 1"),
        ("tau.csv --torque-history tau.csv", 2, "one of them"),
        ("nothing.csv", 3, "nothing.csv"),
        ("cubic", 2, "--follow cubic"),
    ],
)
def test_starts_and_times_of_a_file_are_checked(line: str, code: int, fact: str) -> None:
    shown = linkwise(f"rfdsim planar3 {line}")
    assert (shown.code, fact in shown.err) == (code, True), shown.err


def test_quasi_velocities_are_shown_and_written() -> None:
    by_kind = {"normalized": ("nu", "epsilon"), "unnormalized": ("xi", "kappa")}
    for kind, (letter, force) in by_kind.items():
        shown = linkwise(f"rfdsim planar3 tau.csv --coordinates {kind} --csv run.csv")
        assert (kind in shown.out, f" {letter}  at (s)" in shown.out) == (True, True)
        run = np.genfromtxt("run.csv", delimiter=",", names=True)
        q, qd = (np.stack([run[f"{word}{k}"] for k in (1, 2, 3)], axis=-1) for word in ("q", "qd"))
        velocity = getattr(lw.formulations, kind).velocity(PLANAR, q, qd)
        assert relative(np.stack([run[f"{letter}{k}"] for k in (1, 2, 3)], axis=-1), velocity) < 1e-12
        assert linkwise(f"ridim planar3 cubic --to 1,1,1 --duration 1 --coordinates {kind} --csv quasi.csv").code == 0
        quasi = np.genfromtxt("quasi.csv", delimiter=",", names=True)
        assert {f"{letter}1", f"{force}3"} <= set(quasi.dtype.names)
        assert relative(quasi[f"{letter}1"], run[f"{letter}1"]) < 1e-6
        assert linkwise("rfdsim planar3 quasi.csv --duration 0.1").code == 0
    assert "by denoc" in linkwise("rfdsim planar3 tau.csv --duration 0.1").out


def test_wrenches_act_on_the_tip_or_at_a_frame() -> None:
    refused = linkwise("ridim panda --wrench 0,0,1,0,0,0 --samples 3")
    assert (refused.code, "@panda_leftfinger" in refused.err) == (2, True), refused.err
    assert "did you mean 'panda_hand'" in linkwise("ridim panda --wrench 0,0,1,0,0,0@panda_hnd --samples 3").err
    assert linkwise("ridim panda --wrench 0,0,1,0,0,0@panda_hand --samples 3").code == 0
    state = "torque planar3 --q 0.1,0.2,0.3 --json --wrench 0,0,0,0,5,0"
    at_frame = json.loads(linkwise(f"{state}@link2").out)["tau"]
    expected = lw.inverse_dynamics(PLANAR, [0.1, 0.2, 0.3], [0, 0, 0], [0, 0, 0], {"link2": [0, 0, 0, 0, 5, 0]})
    assert np.allclose(at_frame, expected, rtol=1e-12)
    assert linkwise("rfdsim planar3 tau.csv --wrench 0,0,.1,0,0,0@link3 --duration 0.1").code == 0


def test_a_base_that_moved_is_among_the_reasons() -> None:
    base = lw.BaseMotion(acceleration=(0.0, 2.0, 0.0))
    lw.simulate(PLANAR, [0, 0, 0], duration=0.5, torque=np.ones(3), base=base, samples=51).save("moved.csv")
    shown = linkwise("rfdsim planar3 moved.csv")
    (line,) = [line for line in shown.out.splitlines() if line.startswith("The motion of")]
    assert "base" in line
    assert "motion of the base" in shown.err


def test_of_coupled_joints_rfdsim_takes_the_method_that_has_them() -> None:
    assert linkwise("ridim panda --duration 0.05 --samples 6 --csv pa.csv").code == 0
    shown = linkwise("rfdsim panda pa.csv --samples 3")
    assert shown.code == 0, shown.err
    assert ("by composite-udu" in shown.out, "--method composite-udu" in shown.err) == (True, True)
    assert linkwise("rfdsim panda pa.csv --samples 3 --method composite-udu").err == ""
    refused = linkwise("rfdsim panda pa.csv --samples 3 --method denoc")
    assert (refused.code, "composite-udu" in refused.err) == (2, True)
