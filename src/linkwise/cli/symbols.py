"""A robot of numbers made one of symbols, for formulas."""

from __future__ import annotations

from typing import Any

from ..robot import Robot, from_table

LETTERS = {"mass": "m", "a": "a", "b": "b", "rotor_inertia": "J", "viscous_friction": "v", "coulomb_friction": "c"}
AXES = "xyz"


def with_symbols(arm: Robot) -> Robot:
    """Symbols in place of masses (m1), lengths (a1, b1, lx1), mass centres (cx1), inertias (Ixx1) and gravity (g).

    Angles stay numbers, zeros stay zero, and so the formulas stay short.
    """
    rows = [symbolic_row(dict(row), k) for k, row in enumerate(arm.rows, 1)]
    return from_table(rows, arm.convention, gravity(arm), arm.name)


def symbol(name: str) -> Any:
    from ..symbolic import symbols

    return symbols(name)


def symbolic_row(row: dict[str, Any], k: int) -> dict[str, Any]:
    for key, letter in LETTERS.items():
        if row.get(key):
            row[key] = symbol(f"{letter}{k}")
    for key, letter in (("com", "c"), ("translation", "l")):
        if key in row:
            row[key] = tuple(symbol(f"{letter}{AXES[i]}{k}") if x else 0.0 for i, x in enumerate(row[key]))
    if "inertia" in row:
        row["inertia"] = [
            [symbol(f"I{''.join(sorted(AXES[i] + AXES[j]))}{k}") if row["inertia"][i][j] else 0.0 for j in range(3)]
            for i in range(3)
        ]
    return row


def gravity(arm: Robot) -> tuple[Any, ...]:
    """g along the axis in which gravity acts, if it is one."""
    components = [float(x) for x in arm.gravity]
    if sum(x != 0.0 for x in components) != 1:
        return tuple(components)
    g = symbol("g")
    return tuple(-g if x < 0.0 else g if x > 0.0 else 0.0 for x in components)
