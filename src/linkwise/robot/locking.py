"""The rows of a robot some of whose joints are locked: fixed joints where these were moved to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..spatial import Scalar, mul
from .kinds import KINDS
from .tables import as_fixed

Rows = list[dict[str, Any]]


def locked(rows: Rows, values: Mapping[str, Scalar], convention: str) -> Rows:
    """With the joints of these links fixed at their values, and those that are coupled to them where they follow."""
    all_values = dict(values)
    for _ in rows:  # a joint may follow one that follows another
        for row in rows:
            if row.get("coupled_to") in all_values:
                leader = all_values[row["coupled_to"]]
                all_values[row["name"]] = row.get("ratio", 1.0) * leader + row.get("offset", 0.0)
    return [still(row, all_values[row["name"]], convention) if row["name"] in all_values else row for row in rows]


def still(row: dict[str, Any], value: Scalar, convention: str) -> dict[str, Any]:
    """A row with its joint fixed at this value."""
    (joint,) = KINDS[row["joint"]].joints(row)
    turn, slide = mul(joint.axis.angular.z, value), mul(joint.axis.linear.z, value)
    fixed = as_fixed(row)
    if convention != "frames":
        return fixed | {"theta": row["theta"] + turn, "b": row["b"] + slide}
    axis, anchor = np.array(row.get("axis", (0.0, 0.0, 1.0))), np.array(row.get("anchor", (0.0, 0.0, 0.0)))
    place, turned = np.array(row["rotation"]), rotation_about(axis, turn)
    shift = place @ (axis * slide + anchor - turned @ anchor)
    return fixed | {
        "translation": tuple(np.array(row["translation"]) + shift),
        "rotation": tuple(map(tuple, place @ turned)),
    }


def rotation_about(axis: np.ndarray, angle: Scalar) -> np.ndarray:
    """1 + sin θ [e]× + (1 - cos θ) [e]×² (Rodrigues)."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * (cross @ cross))
