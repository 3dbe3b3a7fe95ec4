"""A sweep goes on with the program it was begun with, and with no other."""

from functools import partial

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises
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


CONTROLLER, (CLOSED, CHANGE_LIST) = Controller(1.0), closing_over([1.0])
CHANGES = {
    "a global": ({"torque": by_global}, lambda: GLOBAL.update(gain=2.0), "options.torque differs: its formulas"),
    "an attribute": (
        {"torque": CONTROLLER},
        lambda: setattr(CONTROLLER, "gain", 2.0),
        "options.torque differs: its form",
    ),
    "a closed-over list": ({"torque": CLOSED}, CHANGE_LIST, "options.torque differs: its formulas"),
    "a threshold": (
        {"events": lw.Event(threshold, "high")},
        lambda: GLOBAL.update(limit=0.6),
        r"options.events.function differs: its formulas",
    ),
    "in Python": (
        {"torque": in_python, "compiled": False, "rtol": 1e-3},
        lambda: GLOBAL.update(gain=2.0),
        "options.torque differs: its values",
    ),
    "vary": ({"vary": lighter}, lambda: GLOBAL.update(mass=0.5), "vary.robots.0 was .*, is"),
    "a gain": ({"torque": lw.control.pd_gravity(0, 5, 1)}, None, r"options.torque.kp was 5.0, is 50.0"),
}


ROWS_OF = [
    (change, rows) for change in CHANGES for rows in ("one robot", "family") if change != "vary" or rows != "family"
]


@pytest.mark.parametrize(
    ("change", "rows"), rest_slow(ROWS_OF, [each for each in ROWS_OF if (each[1] == "family") == (each[0] == "a gain")])
)
def test_a_sweep_is_not_resumed_with_another_program(change, rows, tmp_path, monkeypatch):
    options, act, said = CHANGES[change]
    for name, value in {"gain": 1.0, "limit": 0.5, "mass": 0.4}.items():
        monkeypatch.setitem(GLOBAL, name, value)
    monkeypatch.setattr(CONTROLLER, "gain", 1.0)
    closing_over_again = CLOSED.__closure__[0].cell_contents
    closing_over_again[0] = 1.0
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
    with pytest.raises(ValueError, match=rf"begun with other inputs: .*{said}"):
        again(**options)
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == {
        name: stamp for name, stamp in before.items() if name != "chunk-00001.npz"
    }


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

    again = partial(
        short, {**SEVEN, "number": lw.per_trajectory(np.arange(7))}, tmp_path / "new", chunk=4, vary=fragile
    )
    with pytest.warns(lw.errors.SweepWarning, match="1 failed"):
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


def test_an_opened_sweep_with_events_says_that_they_are_missing(tmp_path):
    short(SEVEN, tmp_path, events=[lw.Event(low, "low")])
    with raises(ValueError, "events", "low", "lw.sweep"):
        lw.sweeps.open_sweep(tmp_path).resume()
