"""Tables with odd names of joints come back as they were, here and in pandas, or are refused with their name."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from facts import raises
from linkwise.identification.reading import recordings_of

ODD = [
    "a,b", 'a"b', '"a"', "a;b", "a b", "\u00e9\u7b14", "=1+1", "a.b", "%a", "a#b", "#a", "'a'", "t", "q", "a_1",
    "-", "1e5", "time", "energy", "Q",
]  # fmt: skip
SPACED = [" a", "a "]
OPTIONS: dict[str, Any] = {"columns": None, "dt": None, "degrees": False, "gains": None}


def arm_of(*names: str) -> lw.Robot:
    row = {"joint": "revolute", "a": 0.5, "b": 0, "alpha": 0, "mass": 2.0, "com": (-0.25, 0, 0)}
    rows = [{**row, "name": name, "inertia": [[0.01, 0, 0], [0, 0.04, 0], [0, 0, 0.04]]} for name in names]
    return lw.Robot.from_dh(rows, convention="standard", gravity=(0, -9.81, 0), name="mine")


def robots(name: str) -> list[lw.Robot]:
    """Columns by number, and by the names of coordinates."""
    arm = arm_of("last", name)
    return [arm, arm.with_free_base(mass=10.0, inertia=np.eye(3))]


@pytest.mark.parametrize("name", [*ODD, *SPACED])
def test_recordings_in_tables(name: str, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    for k, arm in enumerate(robots(name)):
        run = lw.simulate(arm, lw.neutral(arm), 0.1 * np.ones(arm.n), duration=0.1, samples=30)
        file = tmp_path / f"run{k}.csv"
        if k and "#" in name:
            with raises(lw.errors.FileError, "run1.csv", "#"):
                run.save(file)
            assert not file.exists()
            continue
        run.save(file)
        assert lw.load_recording(file) == run
        frame = pandas.read_csv(file, comment="#")
        assert list(frame) == list(run.to_pandas())
        assert np.allclose(frame.to_numpy(), run.to_pandas().to_numpy(), rtol=1e-14, atol=0.0)
        assert np.abs(lw.trajectories.read_csv(file, robot=arm)(run.t).q - run.q).max() < 1e-12
        (found,) = recordings_of(arm, file, **OPTIONS)
        assert np.abs(found.q - run.q).max() < 1e-9
        assert np.abs(found.tau - run.tau).max() < 1e-9


@pytest.mark.parametrize("name", [*ODD, *SPACED])
def test_loads_in_tables(name: str, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    for arm in robots(name):
        start = lw.neutral(arm)
        move = lw.trajectories.quintic(start, lw.integrate(arm, start, 0.1 * np.ones(arm.n)), 0.5, robot=arm)
        along = lw.torque_along(arm, move, 30)
        along.to_csv(tmp_path / "loads.csv")
        frame = pandas.read_csv(tmp_path / "loads.csv")
        assert list(frame) == list(along.columns())
        assert np.abs(lw.trajectories.read_csv(tmp_path / "loads.csv", robot=arm)(along.t).q - along.q).max() < 1e-12
        (found,) = recordings_of(arm, frame, **OPTIONS)
        assert np.abs(found.tau - along.tau).max() < 1e-9
        move.to_csv(tmp_path / "move.csv", samples=30, names=True)
        assert np.abs(lw.trajectories.read_csv(tmp_path / "move.csv", robot=arm)(along.t).q - along.q).max() < 1e-12
