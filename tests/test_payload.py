"""Bodies: which are refused, whatever their size, and what a payload makes of a robot."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from robots import ALL, relative, states

ROD = {"joint": "revolute", "a": 0.5, "b": 0.0, "alpha": 0.0, "mass": 2.0, "com": (-0.25, 0.0, 0.0)}


def rod(inertia: Any, mass: float = 2.0, unit: tuple[float, float] = (1.0, 1.0), **entries: Any) -> lw.Robot:
    """A link of that inertia, in other units of mass and length."""
    kg, m = unit
    row = {**ROD, "a": 0.5 * m, "mass": mass * kg, "com": (-0.25 * m, 0.0, 0.0)}
    return lw.Robot.from_dh([{**row, "inertia": np.array(inertia) * kg * m * m, **entries}], convention="standard")


UNITS = [(1.0, 1.0), (1e-6, 1e-3), (1e-12, 1e-6), (1e3, 1.0), (1e6, 1e3), (1.0, 1e-3), (1e-9, 1.0)]
RESIDUES = {
    "a negative zero": np.diag([-1.4e-20, 0.0, 0.0]),
    "a point mass": np.diag([0.0, -1.4e-17, -2e-17]),
    "an asymmetry alone": [[0.0, 1e-17, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]],
    "an asymmetry": [[0.01, 1e-17, 0.0], [0.0, 0.01, 0.0], [0.0, 0.0, 0.01]],
    "a rod": np.diag([-1e-18, 0.04, 0.04]),
    "a triangle": np.diag([1e-17, 1e-17, 3e-17]),
}
BAD = {
    "a negative moment": np.diag([-1e-6, 0.04, 0.04]),
    "nothing but a negative moment": np.diag([-1e-9, 0.0, 0.0]),
    "an asymmetry": [[0.01, 1e-6, 0.0], [0.0, 0.01, 0.0], [0.0, 0.0, 0.01]],
    "a triangle": np.diag([0.01, 0.01, 0.05]),
    "a small triangle": np.diag([1e-9, 1e-9, 5e-9]),
}


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("inertia", RESIDUES.values(), ids=RESIDUES)
def test_what_rounding_left_of_a_zero_is_zero_in_any_units(inertia: Any, unit: tuple[float, float]):
    arm = rod(inertia, unit=unit)
    assert min(arm.links[0].inertia.upper[k] for k in (0, 3, 5)) >= 0.0  # used as 0


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("inertia", BAD.values(), ids=BAD)
def test_impossible_inertias_are_refused_in_any_units(inertia: Any, unit: tuple[float, float]):
    with pytest.raises(lw.RobotError, match="link 'link1': inertia (is not|breaks)"):
        rod(inertia, unit=unit)


def test_small_bodies_with_impossible_inertias_are_refused():
    micro = {"mass": 1e-6, "com": (0.0, 0.0, 0.0), "a": 1e-3}
    with pytest.raises(lw.RobotError, match="triangle"):
        rod(np.diag([1e-12, 1e-12, 5e-12]), **micro)
    with pytest.raises(lw.RobotError, match="not positive semidefinite"):
        rod(np.diag([-1e-13, 1e-12, 1e-12]), **micro)


def test_a_body_without_lengths_of_its_own_is_measured_by_the_robot():
    """A residue on a wrist whose own row has only zeros."""
    wrist = {"joint": "revolute", "a": 0.0, "b": 0.0, "alpha": 0.0, "mass": 1.0, "com": (0.0, 0.0, 0.0)}
    residue = {"inertia": np.diag([-1.4e-20, 0.0, 0.0])}
    rows = [{**ROD, "inertia": np.zeros((3, 3))}, {**wrist, **residue}]
    assert lw.Robot.from_dh(rows, convention="standard").links[1].inertia.xx == 0.0


@pytest.mark.parametrize("unit", UNITS)
def test_a_negative_mass_is_refused_unless_rounding_left_it(unit: tuple[float, float]):
    kg, m = unit
    first = {**ROD, "a": 0.5 * m, "mass": 2.0 * kg, "com": (-0.25 * m, 0.0, 0.0), "inertia": np.zeros((3, 3))}
    arm = lw.Robot.from_dh([first, {**first, "mass": -1.4e-20 * kg}], convention="standard")
    assert arm.links[1].mass == 0.0
    for mass in (-1e-9, -2.0):
        with pytest.raises(lw.RobotError, match="link 'link2': mass is -"):
            lw.Robot.from_dh([first, {**first, "mass": mass * kg}], convention="standard")
    with pytest.raises(lw.RobotError, match="link 'link1': mass is -"):
        lw.Robot.from_dh([{**first, "mass": -1.4e-20 * kg}], convention="standard")


def test_a_residue_survives_a_file(tmp_path: Path):
    arm = rod(np.diag([-1.4e-20, 0.0, 0.0]))
    lw.save(arm, tmp_path / "arm.toml")
    assert lw.load(tmp_path / "arm.toml") == arm
