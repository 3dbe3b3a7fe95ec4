"""Check values of a robot's symbols in a batch: physically inconsistent values are refused, as by `lw.bind`.

Checked are entries of the table that may not be negative, and inertia tensors I about the mass centre: a tensor is
consistent if J = ½ tr(I) 1 - I, the second moments of the mass, is positive semidefinite. The minors of J are computed
for all trajectories at once; trajectories with a negative minor are then checked like a robot of numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

import numpy as np

from ..graph import Program, evaluate
from ..robot import PerRobot, Robot
from ..robot.entries import RESIDUE, TENSOR, inconsistency_of_inertia, is_symbol
from ..robot.symbols import symbols_of
from ..robot.tables import DRIVE, table_size
from ..tracing import trace

NOT_NEGATIVE = ("mass", *DRIVE[:3])
Place = tuple[int, str]  # of an entry: row and key


def refuse_inconsistent_values(robot: Robot, values: Mapping[str, np.ndarray]) -> None:
    """Raise a ValueError if the values of a trajectory are not physically consistent.

    `values` are those of the known symbols. Entries that depend on others are NaN and are not checked. The values of
    the last check are kept, since runs in a loop often have the same ones.
    """
    last = last_values(robot)[0]
    if last.keys() == values.keys() and all(np.array_equal(array, last[name]) for name, array in values.items()):
        return
    places = nonnegative_entries(robot)
    if places:
        entries = evaluate_for_values(program_of_entries(robot), values)
        if (entries < 0.0).any():
            refuse_negative(robot, places, entries)
    places = tensor_entries(robot)
    if places:
        least = evaluate_for_values(program_of_minors(robot), values)
        everything_known = len(values) == len(symbols_of(robot))
        suspects = np.argwhere((least < 0.0) | (not everything_known))
        if len(suspects):
            refuse_tensors(robot, places, values, suspects)
    last_values(robot)[0] = {name: array.copy() for name, array in values.items()}


@PerRobot
def last_values(robot: Robot) -> list[dict[str, np.ndarray]]:
    """A list of one element: the values that were checked last, {} at first."""
    return [{}]


def refuse_negative(robot: Robot, places: list[Place], entries: np.ndarray) -> None:
    for k, (row, key) in enumerate(places):
        slack = RESIDUE * table_size(robot.rows).mass if key == "mass" else 0.0
        negative = np.argwhere(entries[..., k] < -slack)
        if len(negative):
            where = negative[0].tolist()
            raise ValueError(
                f"parameters: {key} of link {robot.rows[row]['name']!r} is {entries[(*where, k)]}"
                f"{trajectory_text(where)} (expected zero or more)"
            )


def refuse_tensors(robot: Robot, places: list[Place], values: Mapping[str, np.ndarray], suspects: np.ndarray) -> None:
    batch = np.broadcast_shapes(*(array.shape for array in values.values()))
    suspect_values = {name: np.broadcast_to(array, batch)[tuple(suspects.T)].ravel() for name, array in values.items()}
    tensors, size = evaluate_for_values(program_of_tensors(robot), suspect_values), table_size(robot.rows)
    tensors = tensors.reshape(-1, len(places), 3, 3)
    tensors = np.where(np.isfinite(tensors).all(axis=(2, 3), keepdims=True), tensors, 0.0)
    for k, (row, key) in enumerate(places):
        for m in np.flatnonzero(inconsistent_tensors(tensors[:, k])).tolist():
            numbers = tensors[m, k]
            asymmetric = np.abs(numbers - numbers.T).max() > TENSOR * np.abs(numbers).max()
            problem = (
                "is not symmetric"
                if asymmetric
                else inconsistency_of_inertia(tuple(map(tuple, numbers.tolist())), RESIDUE * size.length**2 * size.mass)
            )
            if problem:
                where = trajectory_text(suspects[m].tolist())
                raise ValueError(f"parameters: {key} of link {robot.rows[row]['name']!r} {problem}{where}")


def inconsistent_tensors(tensors: np.ndarray) -> np.ndarray:
    """Which tensors (count, 3, 3) are inconsistent or on the border, from their principal moments."""
    slack = 0.5 * TENSOR * np.abs(tensors).max(axis=(1, 2))
    small, middle, large = np.linalg.eigvalsh(tensors).T
    asymmetric = (tensors != np.swapaxes(tensors, 1, 2)).any(axis=(1, 2))
    return np.asarray((small < -slack) | (small + middle < large - slack) | asymmetric)


def least_minor(places: list[Place], robot: Any) -> Any:
    """Negative if one of the tensors is inconsistent, and perhaps if one is on the border."""
    return reduce(np.minimum, [x for k, key in places for x in minors(robot.rows[k][key])])


def minors(tensor: Any) -> list[Any]:
    """The minors of J with half the tolerance, and the margin by which the tensor is symmetric."""
    (a, d, e), (g, b, f), (h, i, c) = tensor
    trace = a + b + c
    half = (0.5 + 0.25 * TENSOR) * trace
    x, y, z = half - a, half - b, half - c
    determinant = x * (y * z - f * f) - d * (d * z + e * f) - e * (d * f + e * y)
    pairs = [(one, other) for one, other in ((d, g), (e, h), (f, i)) if is_symbol(one - other)]
    symmetric = [0.5 * TENSOR * trace - np.abs(one - other) for one, other in pairs]
    return [x, y, z, x * y - d * d, x * z - e * e, y * z - f * f, determinant, *symmetric]


def trajectory_text(where: list[int]) -> str:
    return f" for trajectory {where}" if where else ""


@PerRobot
def nonnegative_entries(robot: Robot) -> list[Place]:
    """Entries with symbols that may not be negative."""
    return [
        (k, key)
        for k, row in enumerate(robot.rows)
        for key in NOT_NEGATIVE
        if is_symbol(row.get(key, 0.0)) and row.get("unphysical") is not True
    ]


@PerRobot
def tensor_entries(robot: Robot) -> list[Place]:
    """Inertia tensors with symbols."""
    return [
        (k, "inertia")
        for k, row in enumerate(robot.rows)
        if any(is_symbol(x) for line in row.get("inertia", ()) for x in line) and row.get("unphysical") is not True
    ]


def entries_at(places: list[Place], robot: Any) -> Any:
    return np.stack([np.array(robot.rows[k][key], dtype=object) for k, key in places])


@PerRobot
def program_of_entries(robot: Robot) -> Program:
    return trace(lambda bound: entries_at(nonnegative_entries(robot), bound), robot)


@PerRobot
def program_of_tensors(robot: Robot) -> Program:
    return trace(lambda bound: entries_at(tensor_entries(robot), bound), robot)


@PerRobot
def program_of_minors(robot: Robot) -> Program:
    return trace(lambda bound: least_minor(tensor_entries(robot), bound), robot)


def evaluate_for_values(program: Program, values: Mapping[str, np.ndarray]) -> np.ndarray:
    """Evaluate the program with these values of the symbols for each trajectory."""
    arrays = np.broadcast_arrays(*(values.get(port.name, np.nan) for port in program.inputs))
    with np.errstate(all="ignore"):
        return evaluate(program, *arrays)[0]
