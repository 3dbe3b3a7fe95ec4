"""Motions as tables of comma-separated numbers: t, q1, q2, ..., qd1, ..., qdd1, ..., all digits."""

from __future__ import annotations

import csv
import os

from ..robot.layout import Layout
from .checks import Floats
from .pieces import JointMotion


def motion_columns(t: Floats, motion: JointMotion, layout: Layout) -> dict[str, Floats]:
    columns = {"t": t}
    for word, values in motion._asdict().items():
        columns |= dict(zip(layout.columns(word), values.T, strict=True))
    return columns


def write_csv(path: str | os.PathLike[str], columns: dict[str, Floats]) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*(map(repr, column.tolist()) for column in columns.values()), strict=True))
