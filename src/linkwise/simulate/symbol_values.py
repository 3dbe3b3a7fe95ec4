"""Values of a robot's symbols in a batch: those that no body has are refused, as `lw.bind` refuses them one by one.

What is looked at are entries of the table that may not be negative. Whether a tensor of symbols is that of a body is
not looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..graph import Program, evaluate
from ..robot import Robot
from ..robot.entries import RESIDUE, is_symbol
from ..robot.rows import size_of
from ..robot.tables import DRIVE
from ..trace import trace

NOT_NEGATIVE = ("mass", *DRIVE[:3])
Place = tuple[int, str]  # of an entry: row and key


def refuse_negative(arm: Robot, values: Mapping[str, np.ndarray]) -> None:
    """Raise an error if an entry is negative for one of the trajectories; `values` are those of all symbols."""
    places, program = entries_of_symbols(arm)
    if program is None:
        return
    arrays = np.broadcast_arrays(*(values[port.name] for port in program.inputs))
    (entries,) = evaluate(program, *arrays)
    if not entries.size or entries.min() >= 0.0:
        return
    for k, (row, key) in enumerate(places):
        slack = RESIDUE * size_of(arm.rows).mass if key == "mass" else 0.0
        negative = np.argwhere(entries[..., k] < -slack)
        if len(negative):
            where = negative[0].tolist()
            which = f" for trajectory {where}" if where else ""
            raise ValueError(
                f"parameters: {key} of link {arm.rows[row]['name']!r} is {entries[(*where, k)]}{which}"
                " (expected a number that is not negative)"
            )


def entries_of_symbols(arm: Robot) -> tuple[list[Place], Program | None]:
    """Those that may not be negative, and the program of the symbols that computes them."""
    known: tuple[list[Place], Program | None] | None = arm.cache.get("entries of symbols")
    if known is None:
        places = [
            (k, key)
            for k, row in enumerate(arm.rows)
            for key in NOT_NEGATIVE
            if is_symbol(row.get(key, 0.0)) and row.get("unphysical") is not True
        ]

        def entries(robot: Any) -> Any:
            return np.stack([robot.rows[k][key] for k, key in places])

        arm.cache["entries of symbols"] = known = places, trace(entries, arm) if places else None
    return known
