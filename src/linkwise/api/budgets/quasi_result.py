"""The results of the budgets of the diagonalized equations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...robot import Robot
from .result import Array, Split, numbers, picked, times
from .terms import element_symbol, numbered, quasi_force_symbol


class QuasiTermArrays(NamedTuple):
    summands: Array  # (..., n, n, n)
    c: Array  # (..., n, n)
    velocity: Array  # (..., n)
    bias_force: Array  # (..., n, links)
    gravity: Array  # (..., n, links)
    wrench: Array  # (..., n, links)


class QuasiBudget(Split, QuasiTermArrays):
    """What C(θ, ν) or C(θ, ξ) is made of: a tuple of arrays with names, and views of them.

    `c` (..., n, n) are the elements c_ki of Kozłowski's equation (48), c_ki = -c_ik off the diagonal, and `summands`
    (..., n, n, n) are what they are the sums of: [..., k, i, m] is the share of joint m. `elements` are c_ki ν_i (or
    ξ_i), with the `velocity` as it was given. `bias_force`, `gravity` and `wrench` are by link. `elements` and these
    three add up to C, `total`. Tables and plots as of `lw.Budget`, by elements, by the summands of each or by kinds.
    """

    kind: str
    views = ("elements", "sums", "kinds")

    def __new__(cls, *arrays: Array, arm: Robot | None = None, kind: str = "", t: Array | None = None) -> QuasiBudget:
        budget = super().__new__(cls, *arrays)
        if arm is not None:
            budget.arm, budget.kind, budget.t = arm, kind, times(t, tuple(budget.gravity.shape[:-2]))
        return budget

    @property
    def total(self) -> Array:
        """C(θ, ν) or C(θ, ξ), with gravity and wrenches in it: (..., n)."""
        _, _, _, bias_force, gravity, wrench = tuple(self)
        return self.elements.sum(-1) + bias_force.sum(-1) + gravity.sum(-1) + wrench.sum(-1)

    @property
    def elements(self) -> Array:
        """c_ki times the velocity of i: (..., n, n)."""
        return self.c * self.velocity[..., None, :]

    @property
    def letter(self) -> str:
        return "ν" if self.kind == "normalized" else "ξ"

    @property
    def symbol(self) -> str:
        return f"C(θ, {self.letter})"

    @property
    def what(self) -> str:
        return f"{self.symbol}, {self.kind},"

    def units(self) -> tuple[str, ...]:
        return ("√J/s",) * self.arm.n if self.kind == "normalized" else self.arm.effort_units

    def limits(self) -> Sequence[float]:
        return [math.inf] * self.arm.n

    @property
    def values(self) -> np.ndarray:
        """(..., n, terms): the summands of every element times the velocity, then bias forces, gravity, wrenches."""
        summands, _, velocity, *others = (numbers(part) for part in tuple(self))
        moved = summands * velocity[..., None, :, None]
        return np.concatenate([moved.reshape((*moved.shape[:-2], -1)), *others], axis=-1)

    def groups(self, by: str) -> dict[str, list[int]]:
        names, links, found = self.arm.v_names, self.arm.names, dict[str, list[int]]()
        for i, joint in enumerate(names):
            for m, other in enumerate(names):
                own = f"c {self.letter} of {joint}"
                label = {"elements": own, "sums": f"{own}, summand of {other}", "kinds": f"c {self.letter}"}[by]
                found.setdefault(label, []).append(i * len(names) + m)
        start = len(names) ** 2
        for part, what in enumerate(("bias force of", "gravity of", "wrench on")):
            for m, link in enumerate(links):
                label = what.rpartition(" ")[0] if by == "kinds" else f"{what} {link}"
                found.setdefault(label, []).append(start + part * len(links) + m)
        return found

    def symbols(self, k: int, by: str) -> dict[str, str]:
        if by == "kinds" or not numbered(self.arm):
            return {}
        n, scaled, found = self.arm.n, self.kind == "normalized", dict[str, str]()
        for label, (column, *_) in self.groups(by).items():
            if column < n * n:
                i, m = divmod(column, n)
                found[label] = element_symbol(k, i, m if by == "sums" else -1, scaled)
            else:
                part, m = divmod(column - n * n, n)
                found[label] = quasi_force_symbol(("bias force", "gravity", "wrench")[part], k, m, scaled)
        return found

    def state(self, index: Any) -> QuasiBudget:
        """The budget of one state of the batch, or of several."""
        self._check_index(index)
        return QuasiBudget(
            *(part[index] for part in tuple(self)), arm=self.arm, kind=self.kind, t=picked(self.t, index)
        )

    def _latex_symbol(self, k: int) -> str:
        letter = r"\nu" if self.kind == "normalized" else r"\xi"
        return rf"C(\theta, {letter})_{{{k + 1}}}"
