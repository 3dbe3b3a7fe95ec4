"""A sweep goes on with the program it was begun with, and with no other."""

from functools import partial

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises, warns
from short_sweeps import PLANAR, REST, SEVEN, low, short

GLOBAL = {"gain": 1.0, "limit": 0.5, "mass": 0.4}


class Controller:
    def __init__(self, gain):
        self.gain = gain

    def __call__(self, arm, t, q, qd):
        return -self.gain * qd


def by_global(arm, t, q, qd):
    return -GLOBAL["gain"] * qd


def in_python(arm, t, q, qd):
    return [-GLOBAL["gain"] * max(rate, 0.0) for rate in qd]


def threshold(arm, t, q, qd):
    return q[0] - GLOBAL["limit"]


def lighter(arm, row):
    rows = arm.rows
    rows[1]["mass"] = GLOBAL["mass"]
    return lw.Robot.from_dh(rows, convention="standard", gravity=arm.gravity)


def closing_over(numbers):
    def torque(arm, t, q, qd):
        return -numbers[0] * qd

    return torque, lambda: numbers.__setitem__(0, 2.0)


PLAIN = {"compiled": False, "rtol": 1e-3}
CONTROLLER, (CLOSED, CHANGE_LIST) = Controller(1.0), closing_over([1.0])
LIST = CLOSED.__closure__[0].cell_contents
CHANGES = {
    "a global": ({"torque": by_global}, lambda: GLOBAL.update(gain=2.0), "options.torque"),
    "an attribute": ({"torque": CONTROLLER}, lambda: setattr(CONTROLLER, "gain", 2.0), "options.torque"),
    "a closed-over list": ({"torque": CLOSED}, CHANGE_LIST, "options.torque"),
    "a threshold": (
        {"events": lw.Event(threshold, "high")},
        lambda: GLOBAL.update(limit=0.6),
        "options.events.function",
    ),
    "in Python": ({"torque": in_python, **PLAIN}, lambda: GLOBAL.update(gain=2.0), "options.torque"),
    "vary": ({"vary": lighter}, lambda: GLOBAL.update(mass=0.5), "vary.robots.0"),
    "a gain": ({"torque": lw.control.pd_gravity(0, 5, 1)}, None, "options.torque.kp was 5.0, is 50.0"),
}


ROWS_OF = [
    (change, rows) for change in CHANGES for rows in ("one robot", "family") if change != "vary" or rows != "family"
]


@pytest.mark.parametrize(
    ("change", "rows"), rest_slow(ROWS_OF, [each for each in ROWS_OF if (each[1] == "family") == (each[0] == "a gain")])
)
def test_a_sweep_is_not_resumed_with_another_program(change, rows, tmp_path, monkeypatch):
    options, act, fact = CHANGES[change]
    monkeypatch.setattr(CONTROLLER, "gain", 1.0)
    for numbers, name, value in ((GLOBAL, "gain", 1.0), (GLOBAL, "limit", 0.5), (GLOBAL, "mass", 0.4), (LIST, 0, 1.0)):
        numbers[name] = value
    samples = {**SEVEN, **({"link2.mass": np.linspace(0.3, 0.5, 7)} if rows == "family" else {})}
    seconds = 0.001 if change == "in Python" else 0.1
    again = partial(lw.sweep, PLANAR, samples, tmp_path, seconds, chunk=4, **REST)
    again(**options)
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    again(**options)
    (tmp_path / "chunk-00001.npz").unlink()
    if act is None:
        options = {"torque": lw.control.pd_gravity(0, 50, 1)}
    else:
        act()
    with raises(ValueError, fact):
        again(**options)
    del before["chunk-00001.npz"]
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before


def test_another_text_of_the_same_program_goes_on(tmp_path):
    short(SEVEN, tmp_path, torque=lambda arm, t, q, qd: -0.5 * qd)
    half = 0.5

    def damped(arm, t, q, qd):
        """The same, said at length."""
        return -half * qd

    assert short(SEVEN, tmp_path, torque=damped).done == [0]


def test_a_vary_that_failed_at_a_row_may_be_mended(tmp_path):
    broken = tmp_path / "broken"
    broken.touch()

    def fragile(arm, row):
        if row["number"] == 0 and broken.exists():
            raise ZeroDivisionError("the first")
        return arm

    numbered = {**SEVEN, "number": lw.per_trajectory(np.arange(7))}
    again = partial(short, numbered, tmp_path / "new", chunk=4, vary=fragile)
    with warns(lw.errors.SweepWarning, "1 failed"):
        again()
    broken.unlink()
    assert again().done == [0, 1]


SCRIPT = """
import sys, numpy as np, linkwise as lw
def torque(arm, t, q, qd, kp):
    return lw.gravity_torque(arm, q) - kp * qd
def robots():
    rows = lw.load("planar3").rows
    length, mass = lw.symbols("length mass")
    rows[0]["a"], rows[1]["mass"] = 0.1 + 2.0 * length, mass * mass
    made = lw.Robot.from_dh(rows, convention="standard", gravity=(0, -9.81, 0))
    return {"regrouped": lw.load("planar3").regrouped(), "symbols": lw.bind(made, length=0.1, mass=0.6)}
for name, arm in robots().items():
    for more in ({}, {"torque": torque, "events": lw.Event(lambda arm, t, q, qd: q[0] - 0.2, "high")}):
        samples = {"q0": np.full((4, arm.n), 0.1)} | ({"kp": lw.per_trajectory(np.arange(4.0))} if more else {})
        if more and name == "symbols":
            samples["link2.mass"] = np.linspace(0.3, 0.5, 4)
        rest = {"chunk": 2, "files": "npz", "keep": "ends"}
        made = lw.sweep(arm, samples, f"{sys.argv[1]}/{name}{len(more)}", 0.05, **rest, **more)
        print(name, made.done, made.plan["sha256"])
"""


@pytest.mark.slow
def test_sweeps_of_regrouped_and_bound_robots_go_on_in_another_process(tmp_path):
    import os
    import subprocess
    import sys

    said = []
    for seed in ("1", "2"):
        code = [sys.executable, "-W", "error", "-c", SCRIPT, str(tmp_path)]
        done = subprocess.run(code, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True)
        assert done.stderr == ""
        said.append(done.stdout)
        for name in ("regrouped0", "symbols0"):
            (tmp_path / name / "chunk-00001.npz").unlink()
            assert lw.sweeps.open_sweep(tmp_path / name).resume().done == [0, 1]
        (tmp_path / "symbols2" / "chunk-00000.npz").unlink()
    assert said[0] == said[1]
    assert said[0].count("[0, 1]") == 4
    for name in ("regrouped2", "symbols2"):
        with raises(ValueError, "torque", "lw.sweep"):
            lw.sweeps.open_sweep(tmp_path / name).resume()


@pytest.mark.parametrize(("name", "given"), [("events", [lw.Event(low, "low")]), ("torque", by_global)])
def test_an_opened_sweep_says_which_functions_are_missing(name, given, tmp_path):
    short(SEVEN, tmp_path, **{name: given})
    with raises(ValueError, name, "low" if name == "events" else "by_global", "lw.sweep"):
        lw.sweeps.open_sweep(tmp_path).resume()
