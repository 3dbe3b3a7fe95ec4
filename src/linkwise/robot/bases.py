"""The rows of a robot whose base floats, or is fixed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..spatial import Rotation, is_zero
from .build import BASE
from .tables import DH, as_fixed

Rows = list[dict[str, Any]]


def on_free_base(rows: Rows, name: str, body: Mapping[str, Any], convention: str) -> Rows:
    """With a row for the base in front, on which all stands that stood on the ground."""
    place = {"translation": (0.0, 0.0, 0.0)} if convention == "frames" else dict.fromkeys(DH, 0.0)
    base = {"name": name, "parent": None, "joint": "free", **place, **body}
    ground = ("", None) if any(row["name"] == BASE for row in rows) else (BASE, "", None)
    return [base, *({**row, "parent": name if row["parent"] in ground else row["parent"]} for row in rows)]


def on_fixed_base(rows: Rows, floating: Iterable[str]) -> Rows:
    """With the joints of these names fixed; rows that then say nothing are left out."""
    kept: Rows = []
    gone: dict[str, str] = {}
    for row in rows:
        row = {**row, "parent": gone.get(row["parent"], row["parent"])}
        if row["name"] in floating:
            row = as_fixed(row)
            if is_nothing(row):
                gone[row["name"]] = row["parent"]
                continue
        kept.append(row)
    return kept


def is_nothing(row: Mapping[str, Any]) -> bool:
    """Whether a row has no mass and leaves its frame where its parent's is."""
    numbers = [row["mass"], *row["com"], *(x for line in row["inertia"] for x in line)]
    if "translation" in row:
        return row["rotation"] == Rotation.identity().rows and all(map(is_zero, [*numbers, *row["translation"]]))
    return all(map(is_zero, [*numbers, *(row[key] for key in DH)]))
