"""Kozłowski's quasi-velocities and forces at samples, for screens and tables."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import linkwise as lw

from ..robot.layout import Layout
from .screen import echo, gap, print_sentence, print_table

LETTERS = {"normalized": ("nu", "epsilon"), "unnormalized": ("xi", "kappa")}
FORMULAS = {
    "nu": "ν = D^½ Uᵀ q̇",
    "epsilon": "ε = D^-½ U⁻¹ τ",
    "xi": "ξ = Uᵀ q̇",
    "kappa": "κ = U⁻¹ τ",
}


class QuasiCoordinates(NamedTuple):
    """Velocities and forces by their letters, each (samples, n); none in joint coordinates."""

    robot: lw.Robot
    values: dict[str, Any]
    t: Any = None

    @staticmethod
    def of(coordinates: str, robot: lw.Robot, q: Any, qd: Any, tau: Any = None, t: Any = None) -> QuasiCoordinates:
        """Those of states q, qd; of torques tau too if these are given. `t`: the times of the states, if any."""
        if coordinates == "joint":
            return QuasiCoordinates(robot, {})
        of_kind, (velocity, force) = getattr(lw.formulations, coordinates), LETTERS[coordinates]
        values = {velocity: np.asarray(of_kind.velocity(robot, q, qd))}
        if tau is not None:
            values[force] = np.asarray(of_kind.force(robot, q, tau))
        return QuasiCoordinates(robot, values, t)

    def columns(self) -> dict[str, Any]:
        """Columns of tables, a row for each sample."""
        names = Layout.of(self.robot).columns("tau")
        return {
            name.replace("tau", letter, 1): values.reshape(-1, self.robot.n)[:, k]
            for letter, values in self.values.items()
            for k, name in enumerate(names)
        }

    def show(self) -> None:
        for letter, values in self.values.items():
            largest = "; the largest of each" if self.t is not None else ""
            what = "Forces" if letter in ("epsilon", "kappa") else "Velocities"
            gap.due = True
            print_sentence(f"{what} of quasi-coordinates, {FORMULAS[letter]}{largest}:")
            echo()
            if self.t is None:
                rows = [[k, *map(float, row)] for k, row in enumerate(values, 1)]
                print_table(["row", *self.robot.v_names], rows)
                continue
            where = np.abs(values).argmax(axis=0)
            peaks = [(float(abs(values[i, k])), float(self.t[i])) for k, i in enumerate(where)]
            print_table(
                ["joint", letter, "at (s)"], [[x, *row] for x, row in zip(self.robot.v_names, peaks, strict=True)]
            )
