"""Values of a robot's symbols in a batch: those that no body has are refused, as `lw.bind` refuses them one by one.

What is looked at are entries of the table that may not be negative, and tensors of inertia, I about the mass centre: a
body has it if J = ½ tr(I) 1 - I, the second moments of its mass, is positive semidefinite. Whether that may be wrong is
asked of all trajectories by the minors of J, which is quick, and answered for the others as for any robot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..graph import Program, evaluate
from ..robot import Robot
from ..robot.entries import RESIDUE, TENSOR, impossible_body, is_symbol
from ..robot.rows import size_of
from ..robot.tables import DRIVE
from ..trace import trace

NOT_NEGATIVE = ("mass", *DRIVE[:3])
Place = tuple[int, str]  # of an entry: row and key


def refuse_impossible(arm: Robot, values: Mapping[str, np.ndarray]) -> None:
    """Raise an error if no body has the entries of one of the trajectories; `values` are those of all symbols."""
    places, entries = evaluated(arm, values, "entries of symbols", not_negative)
    if entries.size and entries.min() < 0.0:
        refuse_negative(arm, places, entries)
    places, tensors = evaluated(arm, values, "tensors of symbols", of_tensors)
    if tensors.size:
        refuse_tensors(arm, places, tensors)


def refuse_negative(arm: Robot, places: list[Place], entries: np.ndarray) -> None:
    for k, (row, key) in enumerate(places):
        slack = RESIDUE * size_of(arm.rows).mass if key == "mass" else 0.0
        negative = np.argwhere(entries[..., k] < -slack)
        if len(negative):
            where = negative[0].tolist()
            raise ValueError(
                f"parameters: {key} of link {arm.rows[row]['name']!r} is {entries[(*where, k)]}{which(where)}"
                " (expected a number that is not negative)"
            )


def refuse_tensors(arm: Robot, places: list[Place], tensors: np.ndarray) -> None:
    for k, (row, key) in enumerate(places):
        own = tensors[..., k, :, :]
        asymmetric = np.abs(own - np.swapaxes(own, -1, -2)).max(axis=(-2, -1)) > TENSOR * np.abs(own).max(axis=(-2, -1))
        suspects = np.argwhere(perhaps_impossible(own) | asymmetric)
        if not len(suspects):
            continue
        size = size_of(arm.rows)
        for where in suspects[invalid(own[tuple(suspects.T)].reshape(-1, 3, 3))].tolist():
            numbers = tuple(tuple(line) for line in own[tuple(where)].tolist())
            problem = "is not symmetric" if asymmetric[tuple(where)] else ""
            problem = problem or impossible_body(numbers, RESIDUE * size.length**2 * size.mass)
            if problem:
                raise ValueError(f"parameters: {key} of link {arm.rows[row]['name']!r} {problem}{which(where)}")


def invalid(tensors: np.ndarray) -> np.ndarray:
    """The same of some tensors (count, 3, 3), by their principal moments, which takes longer and is exact."""
    slack = 0.5 * TENSOR * np.abs(tensors).max(axis=(1, 2))
    small, middle, large = np.linalg.eigvalsh(tensors).T
    asymmetric = (tensors != np.swapaxes(tensors, 1, 2)).any(axis=(1, 2))
    return np.asarray((small < -slack) | (small + middle < large - slack) | asymmetric)


def perhaps_impossible(tensors: np.ndarray) -> np.ndarray:
    """Those tensors (..., 3, 3) that no body has, and perhaps some on the border."""
    scale = np.abs(tensors).max(axis=(-2, -1))
    unit = tensors / np.where(scale > 0.0, scale, 1.0)[..., None, None]
    (a, d, e), (b, f), c = [unit[..., 0, j] for j in range(3)], [unit[..., 1, j] for j in (1, 2)], unit[..., 2, 2]
    half = 0.5 * (a + b + c) + 0.5 * TENSOR  # J and half of what is allowed
    x, y, z = half - a, half - b, half - c
    xy, xz, yz = x * y - d * d, x * z - e * e, y * z - f * f
    whole = x * yz - d * (d * z + e * f) - e * (d * f + e * y)
    least = np.minimum.reduce([x, y, z, xy, xz, yz, whole])
    return np.asarray(~(least > 0.0) & (scale > 0.0))


def which(where: list[int]) -> str:
    return f" for trajectory {where}" if where else ""


def not_negative(arm: Robot) -> list[Place]:
    """Entries of symbols that may not be negative."""
    return [
        (k, key)
        for k, row in enumerate(arm.rows)
        for key in NOT_NEGATIVE
        if is_symbol(row.get(key, 0.0)) and row.get("unphysical") is not True
    ]


def of_tensors(arm: Robot) -> list[Place]:
    """Tensors with symbols."""
    return [
        (k, "inertia")
        for k, row in enumerate(arm.rows)
        if any(is_symbol(x) for line in row.get("inertia", ()) for x in line) and row.get("unphysical") is not True
    ]


def evaluated(
    arm: Robot, values: Mapping[str, np.ndarray], name: str, find: Callable[[Robot], list[Place]]
) -> tuple[list[Place], np.ndarray]:
    """Entries of the table, and their numbers: those of a trajectory, or with the batch's axes in front."""
    known: tuple[list[Place], Program | None] | None = arm.cache.get(name)
    if known is None:
        places = find(arm)

        def entries(robot: Any) -> Any:
            return np.stack([np.array(robot.rows[k][key], dtype=object) for k, key in places])

        arm.cache[name] = known = places, trace(entries, arm) if places else None
    places, program = known
    if program is None:
        return places, np.zeros(0)
    arrays = np.broadcast_arrays(*(values[port.name] for port in program.inputs))
    return places, evaluate(program, *arrays)[0]
