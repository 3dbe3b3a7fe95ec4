"""Rows of robots' tables, and the error of a wrong one."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import linkwise as lw

Row = dict[str, Any]
NAN, INF = float("nan"), float("inf")
BALL = {"mass": 2.0, "com": (0.1, 0.0, 0.0), "inertia": np.diag([0.1, 0.1, 0.1])}
TURNING = {"joint": "revolute", "a": 0.3, "b": 0.1, "alpha": 0.5, **BALL}
SLIDING = {"joint": "prismatic", "a": 0.3, "alpha": 0.5, "theta": 0.2, **BALL}
FIXED = {"joint": "fixed", "a": 0.3, "b": 0.1, "alpha": 0.5, "theta": 0.2}
PLACED = {"joint": "revolute", "translation": (0.1, 0.2, 0.3), **BALL}


def dh(*rows: Mapping[str, Any], convention: str = "standard", **keywords: Any) -> lw.Robot:
    return lw.Robot.from_dh(rows, convention=convention, **keywords)


def complaint(build: Callable[..., lw.Robot], rows: Any, **keywords: Any) -> str:
    """What building the robot `testbot` is refused with."""
    with pytest.raises(lw.errors.RobotError) as caught:
        build(rows, name="testbot", **keywords)
    return str(caught.value)


def dh_complaint(*rows: Mapping[str, Any], **keywords: Any) -> str:
    return complaint(lw.Robot.from_dh, rows, **{"convention": "standard", **keywords})


def without(row: Mapping[str, Any], *keys: str) -> Row:
    return {key: value for key, value in row.items() if key not in keys}


def entry(matrix: Any, i: int, j: int, value: Any) -> list[list[Any]]:
    """A copy of the matrix with one entry replaced."""
    rows = np.asarray(matrix).tolist()
    rows[i][j] = value
    return rows


# frames, by hand in plain NumPy


def rotation(rng: np.random.Generator) -> np.ndarray:
    q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return q * np.linalg.det(q)


def build(rows: list[Row], convention: str, **keywords: Any) -> lw.Robot:
    if convention == "frames":
        return lw.Robot.from_frames(rows, **keywords)
    return lw.Robot.from_dh(rows, convention=convention, **keywords)
