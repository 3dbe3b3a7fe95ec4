"""Motions as tables of comma-separated numbers: t, q1, q2, ..., qd1, ..., qdd1, ..., all digits."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

from ..files import saving
from ..robot.layout import Layout
from .checks import Floats
from .pieces import JointMotion


def motion_columns(t: Floats, motion: JointMotion, layout: Layout) -> dict[str, Floats]:
    columns = {"t": t}
    for word, values in motion._asdict().items():
        columns |= dict(zip(layout.columns(word), values.T, strict=True))
    return columns


def write_csv(path: str | os.PathLike[str], columns: dict[str, Floats]) -> None:
    """The file is there when it is complete: what stops the writing leaves an earlier one as it was."""
    with saving(Path(path)) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        writer = csv.writer(text)
        writer.writerow(columns)
        writer.writerows(zip(*(map(repr, column.tolist()) for column in columns.values()), strict=True))
        text.detach()
