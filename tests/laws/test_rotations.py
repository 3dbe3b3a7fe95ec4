"""Rotations and axes with few digits: made orthogonal when the robot is made, and said so."""

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from facts import raises, warns
from linkwise.spatial import Rotation
from robots import relative, states

BODY = {"mass": 1.0, "com": (0.1, 0.0, 0.0), "inertia": np.diag([0.01, 0.02, 0.02])}
EPS = 2.0**-52


def defect(turn: Any) -> float:
    m = np.array(turn, dtype=float)
    return float(np.abs(m @ m.T - np.eye(3)).max())


def short_rows(robot: lw.Robot, digits: int = 7) -> list[dict[str, Any]]:
    """The table of a robot with its rotations and axes written with so many digits."""
    return [row | {key: np.round(row[key], digits) for key in ("rotation", "axis")} for row in robot.rows]


def turn(axis: int, angle: float) -> np.ndarray:
    c, s = math.cos(angle), math.sin(angle)
    m = np.eye(3)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    m[i, i], m[i, j], m[j, i], m[j, j] = c, -s, s, c
    return m


def quiet(rows: list[dict[str, Any]], name: str = "short") -> lw.Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return lw.Robot.from_frames(rows, name=name)


def test_rotations_of_few_digits_become_orthogonal_to_rounding():
    for seed in range(20):
        arm = quiet(short_rows(lw.random_tree(6, seed=seed)))
        assert max(defect(link.placement.axes.rows) for link in arm.links) < 8 * EPS
        assert max(defect(link.frame.axes.rows) for link in arm.links) < 8 * EPS
        given = [np.array(row["rotation"]) for row in arm.rows]
        assert max(map(defect, given)) > 1e-8  # the table is as it was given


def test_the_nearest_rotation_is_taken():
    """R of the polar decomposition A = R S, from the singular values."""
    for seed in range(50):
        exact = np.array(lw.random_tree(1, seed=seed).rows[0]["rotation"])
        given = exact + np.random.default_rng(seed).uniform(-1e-7, 1e-7, (3, 3))
        arm = quiet([{**BODY, "joint": "revolute", "translation": (0, 0, 0), "rotation": given}])
        left, _, right = np.linalg.svd(given)
        assert np.abs(np.array(arm.links[0].placement.axes.rows) - left @ right).max() < 1e-14


@pytest.mark.parametrize("seed", range(4))
def test_methods_agree_on_a_robot_whose_rotations_have_few_digits(seed: int):
    arm = quiet(short_rows(lw.random_tree(7, seed=seed)))
    q, qd, qdd, _ = states(arm)
    first, *others = (lw.inertia_matrix(arm, q, method=m) for m in lw.methods(lw.inertia_matrix))
    assert max(relative(first, other) for other in others) < 1e-12
    tau, *others = (lw.inverse_dynamics(arm, q, qd, qdd, method=m) for m in lw.methods(lw.inverse_dynamics))
    assert max(relative(tau, other) for other in others) < 1e-12


def test_zeros_and_ones_that_are_typed_stay():
    rng = np.random.default_rng(0)
    patterns = [turn(i, a) @ turn(j, b) for a, b in rng.uniform(0.3, 1.2, (5, 2)) for i in range(3) for j in range(3)]
    patterns += [np.eye(3)[[1, 2, 0]], np.diag([1.0, -1.0, -1.0])]
    for exact in patterns:
        given = np.where(np.abs(exact) < 1e-15, 0.0, np.round(exact, 7))
        arm = quiet([{**BODY, "joint": "revolute", "translation": (0, 0, 0), "rotation": given}])
        used = np.array(arm.links[0].placement.axes.rows)
        assert ((used == 0.0) == (given == 0.0)).all()
        assert ((np.abs(used) == 1.0) == (np.abs(given) == 1.0)).all()
        assert defect(used) < 8 * EPS
        assert np.abs(used - given).max() < 3e-7


def test_one_warning_names_the_links_and_exact_numbers_give_none():
    exact = lw.random_tree(4, seed=1)  # no warning: the suite turns warnings into errors
    rows = [dict(row) for row in exact.rows]
    rows[2]["rotation"] = np.round(rows[2]["rotation"], 7)
    with warns(UserWarning, "mine", "link3", "rotation") as seen:
        lw.Robot.from_frames(rows, name="mine")
    assert len(seen) == 1
    rows[1]["axis"] = np.array(rows[1]["axis"]) * (1.0 + 5e-7)
    with warns(UserWarning, "link2", "axis", "1") as seen:
        lw.Robot.from_frames(rows, name="mine")
    assert len(seen) == 1
    rows[2]["rotation"] = exact.rows[2]["rotation"] + np.full((3, 3), 1e-14)
    rows[1]["axis"] = exact.rows[1]["axis"]
    lw.Robot.from_frames(rows, name="mine")


def test_what_is_no_rotation_is_refused_and_told_how_far_off_it_is():
    given = turn(2, 0.7)
    given[0, 0] += 1e-5
    with raises(lw.errors.RobotError, "link1", "rotation", "1.5e-05"):
        lw.Robot.from_frames([{**BODY, "joint": "revolute", "translation": (0, 0, 0), "rotation": given}])


def test_a_reload_gives_the_same_robot(tmp_path: Path):
    arm = quiet(short_rows(lw.random_tree(6, seed=3)))
    lw.save(arm, tmp_path / "arm.toml")
    with warns(UserWarning, "link 'link1'", "rotation"):
        again = lw.load(tmp_path / "arm.toml")
    assert again == arm
    assert again.rows == arm.rows


@pytest.mark.parametrize("angle", [1e-13, 3e-13, 1e-9, 1e-7, 1.3e-6, 1e-3])
@pytest.mark.parametrize("around", [0.0, math.pi / 2, math.pi])
def test_small_angles_keep_rotations_orthogonal(angle: float, around: float):
    """An entry is snapped to 1 only where those beside it are snapped to 0."""
    row = {**BODY, "joint": "revolute", "a": 0.1, "b": 0.0, "alpha": around + angle, "theta": angle - around}
    for convention in ("standard", "modified"):
        arm = lw.Robot.from_dh([row, row], convention=convention)
        for link in arm.links:
            assert defect(link.placement.axes.rows) < 4 * EPS
            assert defect(link.frame.axes.rows) < 4 * EPS
    axis = (math.sin(angle), 0.0, math.cos(angle))
    turned = [turn(0, angle).tolist(), (turn(0, 0.3) @ turn(1, angle) @ turn(2, 0.4)).tolist()]
    rows = [{**BODY, "joint": "revolute", "translation": (0, 0, 0), "axis": axis, "rotation": m} for m in turned]
    for link in lw.Robot.from_frames(rows).links:
        assert defect(link.placement.axes.rows) < 8 * EPS
        assert defect(link.frame.axes.rows) < 8 * EPS


def test_quarter_turns_are_still_exact():
    row = {**BODY, "joint": "revolute", "a": 0.0, "b": 0.0, "alpha": "90 deg", "theta": "-90 deg"}
    arm = lw.Robot.from_dh([row], convention="modified")
    assert arm.links[0].placement.axes == Rotation([[0.0, 1.0, 0.0], [0.0, 0.0, -1.0], [-1.0, 0.0, 0.0]])
